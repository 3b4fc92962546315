//! Who may see and do what: OpenLDAP's access rules.
//!
//! Owns: the rules' language, what they come to for a requester, why. Must not know: which privileges an operation
//! needs, how entries are stored; it sees them through [`Target`].
//!
//! The rest of the crate asks through [`Rules`], [`Plan`], [`Target`], [`Whom`] and `Identity` only.
//!
//! | module | owns |
//! |---|---|
//! | `level` | levels, privileges |
//! | `words`, `parse` | the language |
//! | `rule` | what a rule is about |
//! | `name`, `template`, `condition`, `peer` | patterns of names, text with parts of what was selected, filters, where connections come from |
//! | `set`, `elements` | sets, what they come to |
//! | `made_up` | which rules are about entries that are made up |
//! | `who` | whether somebody is the one whom a clause is about |
//! | `whom` | the same, without a rule |
//! | `identity` | whom a name stands for that a mechanism knows somebody by |
//! | `plan` | what holds for all entries |
//! | `walk` | what holds for one |
//! | `explain` | and why |

mod asked;
mod condition;
mod elements;
mod explain;
mod identity;
mod level;
mod made_up;
mod name;
mod parse;
mod peer;
mod plan;
mod rule;
mod set;
mod template;
mod walk;
mod who;
mod whom;
mod words;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_ldap::url::LdapUrl;

pub use explain::{Explanation, Step};
pub(crate) use identity::{Identity, Stands};
pub use level::{Level, Privileges};
pub(crate) use made_up::{MONITOR, MadeUp, SUBSCHEMA};
pub(crate) use name::{Span, in_hex, is_near};
pub use parse::RuleError;
pub use plan::{Known, Plan};
pub use whom::Whom;

use crate::requester::Requester;
use crate::schema::{AttributeId, Schema};
use made_up::Lists;
use parse::Parsed;
use rule::Rule;

/// What of an entry is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// The entry itself: that it is there, adding, deleting, renaming it.
    Entry,
    /// Entries directly below it being added or deleted.
    Children,
    /// An attribute; a value of it, or all of them.
    Attribute(AttributeId, Option<&'a [u8]>),
}

/// An entry as rules see it.
pub trait Target {
    /// Its normalized name.
    fn name(&self) -> &str;
    /// That name as expressions see it.
    fn name_in_hex(&self) -> Cow<'_, str> {
        in_hex(self.name())
    }
    /// Calls `each` with every value of an attribute, until it returns false.
    fn values(&self, attribute: AttributeId, each: &mut dyn FnMut(&[u8]) -> bool);
    /// Whether it has a value of this normalized form.
    fn has_value(&self, attribute: AttributeId, form: &[u8]) -> bool;
}

/// What rules ask about other entries.
pub trait Groups {
    /// Whether the entry `group` (a normalized name) has this value of an attribute; `member` is a normalized name.
    fn has_member(&self, group: &str, attribute: AttributeId, member: &str) -> bool;
    /// Calls `each` with every value that the entry `name` (normalized) has of an attribute, until it returns false.
    fn values(&self, name: &str, attribute: AttributeId, each: &mut dyn FnMut(&[u8]) -> bool);
    /// Whether that entry has a value of this normalized form.
    fn has_value(&self, name: &str, attribute: AttributeId, form: &[u8]) -> bool;
    /// Calls `each` with the normalized names of all entries that have such a value, until it returns false. False if only
    /// looking at every entry would tell.
    fn holders(&self, attribute: AttributeId, form: &[u8], each: &mut dyn FnMut(&str) -> bool) -> bool;
    /// Calls `each` with every entry that a search for a URL looks at, or with `None` if that is not one that it finds, until
    /// it returns false: whoever may see them.
    fn find(&self, url: &LdapUrl, each: &mut dyn FnMut(Option<&dyn Target>) -> bool);
}

/// What holds without any configuration: nobody reads passwords, nor those of the past, whoever binds is authenticated by them,
/// and everybody may change the own one; everybody reads all else; only the administrator writes.
pub const STANDARD: &str = "\
access to attrs=userPassword
    by self =xw
    by anonymous auth
    by * none
access to attrs=pwdHistory
    by * none
access to *
    by * read
";

/// Entries of slapd's configuration that rules are of, in the order in which they are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Of those about all entries that are stored; none if there was nothing to choose from.
    pub stored: Vec<String>,
    /// Of those about `cn=monitor`; none if it has none of its own.
    pub monitor: Vec<String>,
}

/// Rules, made ready for one schema.
#[derive(Debug)]
pub struct Rules {
    /// Where they come from, for messages.
    source: String,
    entries: Vec<String>,
    of_content: bool,
    schema: Arc<Schema>,
    rules: Vec<Arc<Rule>>,
    /// Of each rule, which of all clauses is its first.
    first_clauses: Vec<usize>,
    /// Numbers of the rules that attributes of a class are about.
    classes: Vec<Vec<usize>>,
    /// Of each class, whether values have to be asked about one by one.
    by_value: Vec<bool>,
    /// The class of each attribute by its number; of those beyond the end, `other_class`.
    attribute_classes: Vec<u16>,
    entry_class: usize,
    children_class: usize,
    other_class: usize,
    /// How many parts of sets are kept for a request; `None` without sets.
    places: Option<usize>,
    /// Those about entries that are made up; `None` if these are such.
    made_up: Option<Box<MadeUpRules>>,
}

#[derive(Debug)]
struct MadeUpRules {
    root_dse: Arc<Rules>,
    subschema: Arc<Rules>,
    monitor: Arc<Rules>,
}

impl Rules {
    /// [`STANDARD`].
    pub fn standard(schema: &Arc<Schema>) -> Arc<Rules> {
        let rules = Rules::parse("the standard access rules", STANDARD, &[], schema);
        Arc::new(rules.expect("the standard rules name only what is built in"))
    }

    /// Rules from their text; `source` says in messages where it comes from. Text without any rule grants nothing. Where
    /// it has rules of several databases of slapd, those for `suffixes` (normalized names) are taken.
    pub fn parse(source: &str, text: &str, suffixes: &[String], schema: &Arc<Schema>) -> Result<Rules, RuleError> {
        let Parsed { lists, entries, monitor_entries, of_content, places } =
            parse::rules(source, text, suffixes, schema)?;
        let Lists { stored, root_dse, subschema, monitor } = lists;
        let of = |rules| Rules { places, of_content, ..Rules::classify(source, rules, schema) };
        let made_up = MadeUpRules {
            root_dse: Rules::or_read_by_everybody(of(root_dse)),
            subschema: Rules::or_read_by_everybody(of(subschema)),
            monitor: Arc::new(Rules { entries: monitor_entries, ..of(monitor) }),
        };
        Ok(Rules { entries, made_up: Some(Box::new(made_up)), ..of(stored) })
    }

    /// What holds without any rules in place of none.
    fn or_read_by_everybody(rules: Rules) -> Arc<Rules> {
        if !rules.is_empty() {
            return Arc::new(rules);
        }
        let mut of_content = false;
        let standard = parse::list(made_up::STANDARD, &rules.schema, &mut of_content);
        let standard = standard.expect("it names only what is built in").into_iter().map(Arc::new).collect();
        Arc::new(Rules::classify("the standard access rule of an entry that is made up", standard, &rules.schema))
    }

    /// Whether there are none, which grants nobody anything.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The entries of slapd's configuration that the rules are of, if the text had several.
    pub fn origins(&self) -> Origins {
        let monitor = self.made_up.as_ref().map_or(Vec::new(), |made_up| made_up.monitor.entries.clone());
        Origins { stored: self.entries.clone(), monitor }
    }

    /// Those about an entry that is made up, or else about all that are stored.
    pub(crate) fn about(self: &Arc<Rules>, made_up: Option<MadeUp>) -> &Arc<Rules> {
        match (made_up, &self.made_up) {
            (Some(MadeUp::RootDse), Some(rules)) => &rules.root_dse,
            (Some(MadeUp::Subschema), Some(rules)) => &rules.subschema,
            (Some(MadeUp::Monitor), Some(rules)) => &rules.monitor,
            _ => self,
        }
    }

    /// Whether they are asked about each value of a new entry, too: slapd's `add_content_acl`.
    pub fn are_of_content(&self) -> bool {
        self.of_content
    }

    /// What the rules come to for one requester.
    pub fn plan(self: &Arc<Rules>, requester: &Requester, groups: &dyn Groups) -> Plan {
        Plan::new(self.clone(), requester, groups)
    }

    /// Finds out which attributes are treated alike.
    fn classify(source: &str, rules: Vec<Arc<Rule>>, schema: &Arc<Schema>) -> Rules {
        let mut numbers = BTreeMap::new();
        let mut class = |what: Option<What<'_>>| {
            let selects = |rule: &Rule| what.map_or(rule.attributes.is_none(), |what| rule.selects_part(what));
            let selected: Vec<usize> = (0..rules.len()).filter(|&n| selects(&rules[n])).collect();
            let next = u16::try_from(numbers.len()).expect("fewer classes than attributes have numbers");
            *numbers.entry(selected).or_insert(next)
        };
        let (entry_class, children_class) = (class(Some(What::Entry)), class(Some(What::Children)));
        let other_class = class(None);
        let mut attribute_classes = Vec::new();
        for attribute in schema.attributes() {
            let number = usize::from(attribute.id.number());
            if attribute_classes.len() <= number {
                attribute_classes.resize(number + 1, other_class);
            }
            attribute_classes[number] = class(Some(What::Attribute(attribute.id, None)));
        }
        let mut classes = vec![Vec::new(); numbers.len()];
        numbers.into_iter().for_each(|(selected, n)| classes[usize::from(n)] = selected);
        let of_value = |rule: &Rule| rule.value.is_some() || rule.clauses.iter().any(|clause| clause.own_value);
        let by_value = classes.iter().map(|class| class.iter().any(|&n| of_value(&rules[n]))).collect();
        let first_clauses = rules
            .iter()
            .scan(0, |next, rule| {
                let first = *next;
                *next += rule.clauses.len();
                Some(first)
            })
            .collect();
        Rules {
            source: source.to_owned(),
            entries: Vec::new(),
            of_content: false,
            schema: schema.clone(),
            rules,
            first_clauses,
            classes,
            by_value,
            attribute_classes,
            entry_class: usize::from(entry_class),
            children_class: usize::from(children_class),
            other_class: usize::from(other_class),
            places: None,
            made_up: None,
        }
    }

    fn class(&self, what: What<'_>) -> usize {
        match what {
            What::Entry => self.entry_class,
            What::Children => self.children_class,
            What::Attribute(attribute, _) => self.class_of(attribute),
        }
    }

    #[inline]
    fn class_of(&self, attribute: AttributeId) -> usize {
        let class = self.attribute_classes.get(usize::from(attribute.number()));
        class.map_or(self.other_class, |class| usize::from(*class))
    }
}

#[cfg(test)]
mod tests;
