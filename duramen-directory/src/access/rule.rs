//! What a rule is made of: what it selects, and clauses of who gets what.

use std::borrow::Cow;

use duramen_ldap::matching::Rule as MatchingRule;
use regex::Regex;

use super::What;
use super::asked::Asked;
use super::condition::{Condition, Test};
use super::level::Change;
use super::name::{NamePattern, Span, captures, in_hex, is_near, normalized_name};
use super::peer::PeerPattern;
use super::set::Set;
use super::template::{Parts, Template};
use super::words::Place;
use crate::schema::{Attribute, AttributeId, Schema};

/// Rules whose normalized forms are text that is to be read as the value. Expressions are held against other values as they
/// are written, and sets have them so.
const OF_TEXT: [&str; 10] = [
    "caseIgnoreMatch",
    "caseExactMatch",
    "caseIgnoreIA5Match",
    "caseExactIA5Match",
    "caseIgnoreListMatch",
    "numericStringMatch",
    "telephoneNumberMatch",
    "integerMatch",
    "distinguishedNameMatch",
    "uniqueMemberMatch",
];

/// `access to <what> [by <who> <access> <control>]...`
#[derive(Debug)]
pub(super) struct Rule {
    pub place: Place,
    /// The text up to the first `by`.
    pub text: String,
    pub names: NamePattern,
    pub filter: Option<Condition>,
    /// `None` is everything.
    pub attributes: Option<Selection>,
    pub value: Option<ValuePattern>,
    pub clauses: Vec<Clause>,
    /// Whether a clause refers to parts of what was selected.
    pub needs_parts: bool,
}

/// Which attributes a rule is about.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub entry: bool,
    pub children: bool,
    /// Sorted.
    pub attributes: Vec<AttributeId>,
}

/// Which values of its one attribute a rule is about.
#[derive(Debug)]
pub(super) enum ValuePattern {
    Equal(Test),
    /// With the rule by which values are normalized that it is held against.
    Regex(Regex, Option<&'static MatchingRule>),
    Near {
        base: String,
        span: Span,
    },
}

/// `by <who> <access> <control>`
#[derive(Debug)]
pub(super) struct Clause {
    pub place: Place,
    pub text: String,
    /// All of these have to hold.
    pub who: Vec<Who>,
    /// Whether it is only about values that are the requester's own name.
    pub own_value: bool,
    pub change: Change,
    pub control: Control,
}

/// Whom a clause is about.
#[derive(Debug)]
pub(super) enum Who {
    Everybody,
    Anonymous,
    Users,
    /// The entry itself; or the one so many levels above the requester; or, negative, the one of whom the entry is so
    /// many levels below.
    Itself(i32),
    Name(NamePattern),
    /// Whoever this attribute of the entry names.
    NamedIn(AttributeId),
    Group {
        name: Template,
        attribute: AttributeId,
    },
    Peer(PeerPattern),
    /// Whoever asks while there is something in it.
    Set(Set),
    /// Whoever's connection is protected by this many bits.
    Strength(u32),
}

/// What happens after a clause that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// It was the last.
    Stop,
    /// The next clause.
    Continue,
    /// The next rule.
    Break,
}

/// Why a rule is not about what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    Attribute,
    Name,
    Filter,
    Value,
}

impl Rule {
    /// Whether it is about the same of every entry, as far as names, filters and values go.
    pub fn is_certain(&self) -> bool {
        matches!(self.names, NamePattern::Any) && self.filter.is_none() && self.value.is_none()
    }

    /// Whether it is about this part of entries.
    pub fn selects_part(&self, what: What<'_>) -> bool {
        let Some(selection) = &self.attributes else { return true };
        match what {
            What::Entry => selection.entry,
            What::Children => selection.children,
            What::Attribute(id, _) => selection.attributes.binary_search(&id).is_ok(),
        }
    }

    /// Whether it is about this entry and value, given that it is about this part; the parts that its clauses refer to.
    pub fn select(&self, asked: &Asked<'_>) -> Result<Parts, Passed> {
        let Asked { target, what, asker } = *asked;
        let schema = asker.schema;
        let mut parts = Parts::default();
        if self.needs_parts {
            parts.name = self.names.parts(target).ok_or(Passed::Name)?;
        } else if !self.names.selects(target, schema) {
            return Err(Passed::Name);
        }
        if let Some(pattern) = &self.value {
            let What::Attribute(_, Some(value)) = what else { return Err(Passed::Value) };
            parts.value = pattern.parts(value, schema).ok_or(Passed::Value)?;
        }
        if let Some(filter) = &self.filter
            && filter.matches(target, schema) != Some(true)
        {
            return Err(Passed::Filter);
        }
        Ok(parts)
    }
}

impl ValuePattern {
    /// The parts of a value that fits; `None` if it does not.
    fn parts(&self, value: &[u8], schema: &Schema) -> Option<Vec<String>> {
        match self {
            ValuePattern::Equal(test) => test.passes(value, schema, &mut Vec::new())?.then(Vec::new),
            ValuePattern::Regex(regex, rule) => captures(regex, &as_text(value, *rule, schema)),
            ValuePattern::Near { base, span } => is_near(&normalized_name(value, schema)?, base, *span).then(Vec::new),
        }
    }
}

/// The equality rule of an attribute, if its normalized forms are text.
pub(super) fn text_rule(attribute: &Attribute) -> Option<&'static MatchingRule> {
    attribute.equality.filter(|rule| OF_TEXT.contains(&rule.name))
}

/// A value as expressions see it: normalized, so that none passes a rule by with other spaces. Rules are about bytes that are no
/// text, too.
fn as_text(value: &[u8], rule: Option<&MatchingRule>, schema: &Schema) -> String {
    String::from_utf8_lossy(&text_bytes(value, rule, schema)).into_owned()
}

/// A value in its normalized form by a rule, names in it as expressions see them; as it is if it has none.
pub(super) fn text_bytes(value: &[u8], rule: Option<&MatchingRule>, schema: &Schema) -> Vec<u8> {
    let mut form = Vec::new();
    let normalized = rule.filter(|rule| rule.normalize_in_name(value, schema, &mut form).is_ok());
    let Some(rule) = normalized else { return value.to_vec() };
    match std::str::from_utf8(&form).map(in_hex) {
        Ok(Cow::Owned(text)) if rule.asks_about_names() => text.into_bytes(),
        _ => form,
    }
}
