//! From a filter to a test.

use std::cell::RefCell;

use duramen_ldap::attribute::{Assertion, AttributeDescription};
use duramen_ldap::filter::{Extensible, Filter, Node, Substrings};
use duramen_ldap::matching::{Rule, RuleKind, SubstringsAssertion};
use duramen_ldap::syntax::Syntax;
use smallvec::SmallVec;

use super::{Quick, Subject, Test, gather::gather, options};
use crate::access::{Level, Plan};
use crate::names;
use crate::schema::{Attribute, AttributeId, Schema};

/// Binds filters to the schema, for one requester. What is not known there, or not to be searched by the requester,
/// is undefined (RFC 4511 section 4.5.1.7).
pub(crate) struct Compiler<'c> {
    pub schema: &'c Schema,
    pub plan: &'c Plan,
    /// Whether single values are held against the tests ([`super::Value`]), not entries. Then nothing is true of all:
    /// every entry has an objectClass, and not every value is one.
    pub of_values: bool,
    /// Whether what is made when an entry is read is undefined: who has a copy of entries is not told when it changes (RFC 4533
    /// section 3.2).
    pub of_copies: bool,
    /// What was found out of rules that are used without a type: a filter may have thousands of such items.
    pub fitting: RefCell<Vec<(&'static Rule, Searchable)>>,
}

/// Types that may be searched, and whether that depends on the entry.
pub(crate) type Searchable = (SmallVec<[AttributeId; 2]>, bool);

impl Compiler<'_> {
    pub fn compile(&self, filter: Filter<'_>) -> Test {
        match filter.node() {
            Node::And(list) => self.and(list.iter().map(|part| self.compile(part))),
            Node::Or(list) => self.or(list.iter().map(|part| self.compile(part))),
            Node::Not(part) => match self.compile(part) {
                Test::True => Test::False,
                Test::False => Test::True,
                Test::Undefined => Test::Undefined,
                test => Test::Not(Box::new(test)),
            },
            Node::Present(description) => self.present(description),
            Node::Equality(assertion) | Node::Approx(assertion) => self.equality(assertion),
            Node::GreaterOrEqual(assertion) => self.ordering(assertion, true),
            Node::LessOrEqual(assertion) => self.ordering(assertion, false),
            Node::Substrings(substrings) => self.substrings(substrings),
            Node::Extensible(extensible) => self.extensible(extensible),
            _ => Test::Undefined,
        }
    }

    fn and(&self, parts: impl Iterator<Item = Test>) -> Test {
        let mut kept: Vec<Test> = parts.filter(|part| !matches!(part, Test::True)).collect();
        match kept.len() {
            0 => Test::True,
            1 => kept.swap_remove(0),
            _ if kept.iter().any(|part| matches!(part, Test::False)) => Test::False,
            _ => Test::And(kept),
        }
    }

    fn or(&self, parts: impl Iterator<Item = Test>) -> Test {
        let mut kept: Vec<Test> = parts.filter(|part| !matches!(part, Test::False)).collect();
        match kept.len() {
            0 => Test::False,
            1 => kept.swap_remove(0),
            _ if kept.iter().any(|part| matches!(part, Test::True)) => Test::True,
            _ => gather(kept),
        }
    }

    /// The attributes that a description means; `None` if there are none that the requester may search.
    fn subject(&self, description: &str) -> Option<(&Attribute, Subject)> {
        let parsed = AttributeDescription::parse(description).ok()?;
        let attribute = self.schema.find(parsed.kind)?;
        let options = options(&parsed);
        attribute.check_options(&options).ok()?;
        let (types, checked) = self.searchable(attribute.family.iter().copied());
        let made = self.schema.known().is_derived(attribute.id) && options.is_empty();
        (!types.is_empty()).then_some((attribute, Subject { types, options, checked, made }))
    }

    /// Those types that may be searched, and whether that depends on the entry.
    fn searchable(&self, types: impl Iterator<Item = AttributeId>) -> Searchable {
        let mut checked = false;
        let known = self.schema.known();
        let types = types.filter(|id| *id != known.context_csn && !(self.of_copies && known.is_derived(*id)));
        let allowed = types.filter(|id| match self.plan.everywhere(Some(*id), Level::Search) {
            Some(allowed) => allowed,
            None => {
                checked = true;
                true
            }
        });
        (allowed.collect(), checked)
    }

    /// The types that a rule can be used with.
    fn fitting(&self, rule: &'static Rule) -> Searchable {
        let mut known = self.fitting.borrow_mut();
        if let Some((_, found)) = known.iter().find(|(other, _)| std::ptr::eq(*other, rule)) {
            return found.clone();
        }
        let fitting = self.schema.attributes().filter(|attribute| applies(rule, attribute));
        let found = self.searchable(fitting.map(|attribute| attribute.id));
        known.push((rule, found.clone()));
        found
    }

    fn present(&self, description: &str) -> Test {
        match self.subject(description) {
            None => Test::Undefined,
            Some((attribute, subject)) => {
                let known = self.schema.known();
                let always = attribute.id == known.object_class
                    || (known.is_derived(attribute.id) && attribute.id != known.member_of);
                if always && !self.of_values && !subject.checked && subject.options.is_empty() {
                    Test::True
                } else {
                    Test::Present(subject)
                }
            }
        }
    }

    fn equality(&self, assertion: Assertion<'_>) -> Test {
        let Some((attribute, subject)) = self.subject(assertion.description) else { return Test::Undefined };
        self.equal(attribute, subject, attribute.equality, assertion.value)
    }

    fn equal(&self, attribute: &Attribute, subject: Subject, rule: Option<&'static Rule>, value: &[u8]) -> Test {
        let known = self.schema.known();
        if attribute.id == known.object_class {
            return self.class(subject, value);
        }
        let Some(rule) = rule else { return Test::Undefined };
        let mut normalized = Vec::new();
        if !attribute.can_be(rule, value) || names::asserted(self.schema, rule, value, &mut normalized).is_err() {
            return Test::Undefined;
        }
        if known.is_derived(attribute.id) && !self.of_values {
            return made(&subject, value, self.derived(attribute.id, normalized, value));
        }
        if !rule.is_equality(&normalized) {
            return Test::Related { subject, rule, normalized };
        }
        Test::Equal { subject, rule, quick: Quick::of(rule), normalized, asserted: value.to_vec() }
    }

    fn derived(&self, id: AttributeId, normalized: Vec<u8>, value: &[u8]) -> Test {
        let known = self.schema.known();
        let text = String::from_utf8_lossy(&normalized).into_owned();
        if id == known.entry_dn {
            Test::Name(text)
        } else if id == known.member_of {
            Test::MemberOf(text)
        } else if id == known.has_subordinates {
            Test::HasSubordinates(text == "TRUE")
        } else if id == known.subschema_subentry {
            if text == "cn=subschema" { Test::True } else { Test::False }
        } else {
            let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            number.map_or(Test::False, Test::NumSubordinates)
        }
    }

    fn class(&self, subject: Subject, value: &[u8]) -> Test {
        let Some(class) = self.schema.find_class(value) else {
            return Test::Undefined;
        };
        if class.name == "top" && !subject.checked && !self.of_values && subject.options.is_empty() {
            return Test::True;
        }
        Test::Class { subject, class: class.id }
    }

    fn ordering(&self, assertion: Assertion<'_>, at_least: bool) -> Test {
        let Some((attribute, subject)) = self.subject(assertion.description) else { return Test::Undefined };
        let Some(rule) = attribute.ordering else { return Test::Undefined };
        let (mut normalized, value) = (Vec::new(), assertion.value);
        if !attribute.can_be(rule, value) || names::asserted(self.schema, rule, value, &mut normalized).is_err() {
            return Test::Undefined;
        }
        if at_least { Test::AtLeast { subject, rule, normalized } } else { Test::AtMost { subject, rule, normalized } }
    }

    fn substrings(&self, substrings: Substrings<'_>) -> Test {
        let Some((attribute, subject)) = self.subject(substrings.description) else { return Test::Undefined };
        let Some(rule) = attribute.substrings else { return Test::Undefined };
        match SubstringsAssertion::new(rule, substrings.pieces) {
            Ok(assertion) => Test::Substrings { subject, rule, assertion },
            Err(_) => Test::Undefined,
        }
    }

    fn extensible(&self, extensible: Extensible<'_>) -> Test {
        let rule = match extensible.rule.map(Rule::find) {
            Some(None) => return Test::Undefined,
            Some(found) => found,
            None => None,
        };
        let (rule, subject) = match (extensible.description, rule) {
            (Some(description), rule) => {
                let Some((attribute, subject)) = self.subject(description) else { return Test::Undefined };
                let is_own = |rule: &'static Rule| attribute.equality.is_some_and(|own| std::ptr::eq(own, rule));
                // What is made when an entry is read is compared by its own rule only.
                let is_made = self.schema.known().is_derived(attribute.id) && rule.is_some_and(is_own);
                if (rule.is_none() || is_made) && !extensible.dn_attributes {
                    return self.equal(attribute, subject, attribute.equality, extensible.value);
                }
                let Some(rule) = rule.or(attribute.equality) else { return Test::Undefined };
                if !applies(rule, attribute) {
                    return Test::Undefined;
                }
                (rule, subject)
            }
            (None, Some(rule)) => {
                let (types, checked) = self.fitting(rule);
                (rule, Subject { types, options: Vec::new(), checked, made: false })
            }
            (None, None) => return Test::Undefined,
        };
        self.by_rule(rule, subject, extensible)
    }

    fn by_rule(&self, rule: &'static Rule, subject: Subject, extensible: Extensible<'_>) -> Test {
        let mut normalized = Vec::new();
        let is_wrong = Syntax::find(rule.syntax).is_some_and(|syntax| syntax.check(extensible.value).is_err());
        let is_asserted = rule.kind == RuleKind::Substrings || !is_wrong;
        if !is_asserted || names::asserted(self.schema, rule, extensible.value, &mut normalized).is_err() {
            return Test::Undefined;
        }
        let (of_name, types) = (subject.clone(), &subject.types);
        // What names an entry has no options, so it is no kind of a type with some (RFC 4512 section 2.5.2).
        let is_in_names = extensible.dn_attributes && subject.options.is_empty();
        let is_class = extensible.rule.is_none() && types.as_slice() == [self.schema.known().object_class];
        let is_name = types.as_slice() == [self.schema.known().entry_dn] && !self.of_values;
        let test = match rule.kind {
            RuleKind::Equality if is_class => self.class(subject, extensible.value),
            RuleKind::Equality if rule.is_equality(&normalized) => {
                let asserted = extensible.value.to_vec();
                Test::Equal { subject, rule, quick: Quick::of(rule), normalized: normalized.clone(), asserted }
            }
            RuleKind::BitAnd | RuleKind::BitOr => Test::Bits { subject, rule, value: extensible.value.to_vec() },
            RuleKind::Ordering => Test::Less { subject, rule, normalized: normalized.clone() },
            RuleKind::Substrings => return self.pieces(rule, subject, extensible.value),
            _ if is_name => {
                made(&subject, extensible.value, Test::NameRelated { rule, normalized: normalized.clone() })
            }
            _ => Test::Related { subject, rule, normalized: normalized.clone() },
        };
        if !is_in_names {
            return test;
        }
        Test::WithName { test: Box::new(test), subject: of_name, rule, normalized }
    }

    /// The assertion of a substrings rule as text: pieces between asterisks (RFC 4517 section 3.3.30).
    fn pieces(&self, rule: &'static Rule, subject: Subject, value: &[u8]) -> Test {
        let Ok(text) = std::str::from_utf8(value) else { return Test::Undefined };
        let filter = duramen_ldap::filter::FilterBuf::parse(&format!("(x={text})"));
        let Ok(filter) = filter else { return Test::Undefined };
        let Node::Substrings(substrings) = filter.as_filter().node() else { return Test::Undefined };
        match SubstringsAssertion::new(rule, substrings.pieces) {
            Ok(assertion) => Test::Substrings { subject, rule, assertion },
            Err(_) => Test::Undefined,
        }
    }
}

/// A test of an attribute that is made when an entry is read: of one alone, as it is no kind of another.
fn made(subject: &Subject, asserted: &[u8], test: Test) -> Test {
    match subject.types.first() {
        Some(&id) if subject.checked => Test::Made { id, asserted: asserted.to_vec(), test: Box::new(test) },
        _ => test,
    }
}

/// Syntaxes whose values are directory strings, or of a type that directory strings can be of: those of countries, of
/// printable strings and of telephone numbers too (RFC 4517 section 4.2.11).
const DIRECTORY_STRINGS: [&str; 4] = ["11", "15", "44", "50"];

/// Whether a rule can be used with an attribute: it is one of its own, or is about values of its syntax.
fn applies(rule: &'static Rule, attribute: &Attribute) -> bool {
    let own = [attribute.equality, attribute.ordering, attribute.substrings];
    let is_own = own.iter().flatten().any(|known| std::ptr::eq(*known, rule));
    let number = |oid: &'static str| oid.strip_prefix("1.3.6.1.4.1.1466.115.121.1.").unwrap_or(oid);
    let about: &[&str] = match number(rule.syntax) {
        "15" => &DIRECTORY_STRINGS,
        // What is asserted are pieces; the rule's name says of what.
        "58" if rule.name.contains("IA5") => &["26"],
        // What is asserted tells a certificate or a list from others (RFC 4523 sections 3.1 and 3.5).
        "1.3.6.1.1.15.1" => &["8"],
        "1.3.6.1.1.15.3" => &["10"],
        "1.3.6.1.1.15.5" => &["9"],
        "1.3.6.1.1.15.7" => &["49"],
        "1.3.6.1.4.1.4203.666.11.10.2.2" => &["1.3.6.1.4.1.4203.666.11.10.2.1"],
        "58" if rule.name.starts_with("case") && !rule.name.contains("List") => &DIRECTORY_STRINGS,
        other => return is_own || attribute.syntax.is_some_and(|syntax| number(syntax.oid) == other),
    };
    is_own || attribute.syntax.is_some_and(|syntax| about.contains(&number(syntax.oid)))
}
