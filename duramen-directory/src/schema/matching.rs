//! The syntaxes and matching rules that attribute types name.
//!
//! Owns: which are known, or described by the files, and which rule goes with which syntax. Must not know: other types.

use duramen_ldap::matching::{Rule, RuleKind};
use duramen_ldap::schema::{self as text, AttributeType, Definition, LdapSyntax, Located};
use duramen_ldap::syntax::Syntax;
use rustc_hash::{FxHashMap, FxHashSet};

use super::EARLIER_TIMES;
use super::bind::{BindError, error};

/// What files describe besides what the program knows.
#[derive(Default)]
pub(super) struct Vocabulary {
    /// By number; `None`: any value is right.
    syntaxes: FxHashMap<String, Option<&'static Syntax>>,
    /// Names, in lower case, and numbers of rules. Nothing is matched by them.
    rules: FxHashSet<String>,
}

impl Vocabulary {
    pub fn new(source: &text::Schema) -> Result<Vocabulary, BindError> {
        let mut vocabulary = Vocabulary::default();
        for of in &source.syntaxes {
            let meant = vocabulary.substitute(of)?;
            vocabulary.syntaxes.insert(of.item.definition.oid.clone(), meant);
        }
        let words = |definition: &Definition| {
            let names = definition.names.iter().map(|name| name.to_ascii_lowercase());
            names.chain([definition.oid.clone()]).collect::<Vec<_>>()
        };
        vocabulary.rules = source.matching_rules.iter().flat_map(|of| words(&of.item.definition)).collect();
        Ok(vocabulary)
    }

    /// The syntax that stands for a described one: OpenLDAP's extension X-SUBST.
    fn substitute(&self, of: &Located<LdapSyntax>) -> Result<Option<&'static Syntax>, BindError> {
        let definition = &of.item.definition;
        let mut extensions = definition.extensions.iter();
        let Some((_, oids)) = extensions.find(|(name, _)| name.eq_ignore_ascii_case("X-SUBST")) else {
            return Ok(None);
        };
        let oid = oids.first().map_or("", String::as_str);
        self.find(oid).ok_or_else(|| error(of, definition, format!("its X-SUBST {oid:?} is no syntax that is known")))
    }

    fn find(&self, oid: &str) -> Option<Option<&'static Syntax>> {
        Syntax::find(oid).map(Some).or_else(|| self.syntaxes.get(oid).copied())
    }

    /// The syntax of a number; `None` if any value is right.
    pub fn syntax(&self, of: &Located<AttributeType>, oid: &str) -> Result<Option<&'static Syntax>, BindError> {
        match self.find(oid) {
            Some(found) => Ok(found),
            None if &*of.file == EARLIER_TIMES => Ok(None),
            None => {
                let cure = format!("name another, or describe it: ldapsyntax ( {oid} DESC 'any value' )");
                Err(error(of, &of.item.definition, format!("its syntax {oid} is not known: {cure}")))
            }
        }
    }

    /// The rule of a name. It has to decide what it is named for (RFC 4512 section 4.1.2), of values of the syntax.
    pub fn rule(
        &self,
        of: &Located<AttributeType>,
        word: &str,
        kind: RuleKind,
        syntax: Option<&'static Syntax>,
    ) -> Result<Option<&'static Rule>, BindError> {
        let known = Rule::find(word);
        let fault = match (known, syntax) {
            (Some(rule), _) if rule.kind != kind => format!("{word} is no rule that {}", decides(kind)),
            (Some(rule), Some(syntax)) if !rule.applies_to(syntax) => {
                let own = Syntax::find(rule.syntax).map_or(rule.syntax, |syntax| syntax.name);
                format!("its rule {word} is for {own}, and its syntax is {}: name a rule for that", syntax.name)
            }
            (None, _) if !self.rules.contains(&word.to_ascii_lowercase()) => {
                format!("its rule {word} is not known: name one that cn=subschema shows, or none")
            }
            _ => return Ok(known),
        };
        if &*of.file == EARLIER_TIMES { Ok(None) } else { Err(error(of, &of.item.definition, fault)) }
    }
}

fn decides(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Ordering => "orders values",
        RuleKind::Substrings => "is about substrings",
        _ => "says which values are equal",
    }
}
