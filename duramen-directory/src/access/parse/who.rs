//! Whom a clause is about.

use super::super::name::{NamePattern, Span};
use super::super::peer::PeerPattern;
use super::super::rule::Who;
use super::super::template::{Reach, Template};
use super::super::words::Word;
use super::{Keyed, Wrong, is, keyed, names, set, what};
use crate::schema::Schema;

pub(super) const EXPECTED: &str =
    "expected *, anonymous, users, self, dn=, dnattr=, group=, set=, peername= or ssf=, some with a style";

/// Whom a word is about; `None` if it is about nobody and may be an access level.
pub(super) fn parse(word: &Word, schema: &Schema) -> Result<Option<Who>, Wrong> {
    let text = &*word.text;
    if let Some(who) = plain(text) {
        return Ok(Some(who));
    }
    let Some(keyed) = keyed(text) else {
        let is_aci = is(text, "aci");
        return if is_aci { Err((word.place, format!("'aci' is not supported: {EXPECTED}"))) } else { Ok(None) };
    };
    of_key(&keyed, schema).map(Some).map_err(|problem| (word.place, problem))
}

/// Words without a value. Where nobody acts for another, "real" ones are the same.
fn plain(text: &str) -> Option<Who> {
    let word = text.strip_prefix("real").unwrap_or(text).to_ascii_lowercase();
    match &*word {
        "*" => Some(Who::Everybody),
        "anonymous" => Some(Who::Anonymous),
        "users" => Some(Who::Users),
        "self" => Some(Who::Itself(0)),
        _ => {
            let levels = word.strip_prefix("self.level{")?.strip_suffix('}')?.parse().ok()?;
            Some(Who::Itself(levels))
        }
    }
}

fn of_key(keyed: &Keyed<'_>, schema: &Schema) -> Result<Who, String> {
    let mut parts = keyed.key.split('/');
    let key = parts.next().unwrap_or_default().to_ascii_lowercase();
    let key = key.strip_prefix("real").unwrap_or(&key);
    match key {
        "dn" => name(keyed, schema),
        "dnattr" => {
            let attribute = what::attribute(keyed.value, schema)?;
            is_name(attribute, "dnattr")?;
            Ok(Who::NamedIn(attribute.id))
        }
        "group" => group(keyed, parts.next(), parts.next(), schema),
        "set" => match (&*keyed.style, &keyed.modifiers[..]) {
            ("" | "exact" | "base", []) => set::parse(keyed.value, false, schema).map(Who::Set),
            ("expand" | "regex", []) => set::parse(keyed.value, true, schema).map(Who::Set),
            (style, []) => Err(format!("a set has no style '{style}': expected exact or expand")),
            (_, others) => Err(format!("a set has no modifier '{}': write set.expand=", others.join(","))),
        },
        "peername" => Ok(Who::Peer(PeerPattern::parse(&keyed.style, keyed.value)?)),
        "ssf" | "transport_ssf" | "tls_ssf" => keyed
            .value
            .parse()
            .map(Who::Strength)
            .map_err(|_| format!("'{}' is no strength: expected a number of bits, such as 128", keyed.value)),
        "sockname" | "domain" | "sockurl" | "dynacl" | "aci" | "sasl_ssf" => {
            Err(format!("'{key}' is not supported: {EXPECTED}"))
        }
        _ => Err(format!("'{}' is nobody: {EXPECTED}", keyed.key)),
    }
}

fn name(keyed: &Keyed<'_>, schema: &Schema) -> Result<Who, String> {
    let expands = match &keyed.modifiers[..] {
        [] => keyed.style == "regex",
        [modifier] if modifier == "expand" => true,
        other => return Err(format!("a name has no modifier '{}': expected expand", other.join(","))),
    };
    let pattern = match expands {
        true => names::expanded(&keyed.style, keyed.value, schema)?,
        false => names::fixed(&keyed.style, keyed.value, schema)?,
    };
    Ok(match pattern {
        NamePattern::Any => Who::Everybody,
        NamePattern::Near { base, span: Span::Level(0) } if base.is_empty() => Who::Anonymous,
        pattern => Who::Name(pattern),
    })
}

fn group(keyed: &Keyed<'_>, class: Option<&str>, attribute: Option<&str>, schema: &Schema) -> Result<Who, String> {
    let class_name = class.unwrap_or("groupOfNames");
    let class =
        schema.find_class(class_name).ok_or_else(|| format!("the schema has no object class '{class_name}'"))?;
    let attribute = what::attribute(attribute.unwrap_or("member"), schema)?;
    if !class.allows(schema, attribute.id) {
        return Err(format!(
            "the class {} does not allow {}: name one that groups of this class have",
            class.name, attribute.name
        ));
    }
    // Those whom a URL finds are members, too.
    if !schema.attribute(schema.known().labeled_uri).family.contains(&attribute.id) {
        is_name(attribute, "group")?;
    }
    let name = match &*keyed.style {
        "" | "exact" | "base" => Template::literal(names::normalize(keyed.value, schema)?),
        "expand" | "regex" => names::base(keyed.value, schema)?,
        style => return Err(format!("a group has no style '{style}': expected exact or expand")),
    };
    Ok(Who::Group { name, attribute: attribute.id })
}

/// Members have to be names.
fn is_name(attribute: &crate::schema::Attribute, key: &str) -> Result<(), String> {
    let rule = attribute.equality.map_or("", |rule| rule.name);
    match is(rule, "distinguishedNameMatch") || is(rule, "uniqueMemberMatch") {
        true => Ok(()),
        false => Err(format!("values of {} are not names, which '{key}' needs", attribute.name)),
    }
}

/// What is wrong with a reference to a part that what the rule is about never has, if there is one.
pub(super) fn unfilled(who: &Who, reach: Reach) -> Option<String> {
    match who {
        Who::Name(pattern) => pattern.unfilled(reach),
        Who::Group { name, .. } => name.unfilled(reach),
        Who::Set(set) => set.unfilled(reach),
        _ => None,
    }
}
