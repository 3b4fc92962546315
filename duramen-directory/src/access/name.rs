//! Patterns of names. Names are normalized, so that they are compared byte by byte.

use std::borrow::Cow;

use duramen_ldap::dn::Dn;
use duramen_ldap::message::Scope;
use regex::Regex;

use super::Target;
use super::template::{Parts, Reach, Template};
use crate::expression::compile_in_any_case;
use crate::schema::Schema;

/// Which names stand in which relation to a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// The base itself and everything below.
    Subtree,
    /// Everything below the base.
    Children,
    /// What is so many levels below the base: 0 is the base itself.
    Level(usize),
}

impl Span {
    /// What a search of this scope looks at.
    pub fn of(scope: Scope) -> Span {
        match scope {
            Scope::One => Span::Level(1),
            Scope::Subtree => Span::Subtree,
            Scope::Subordinates => Span::Children,
            _ => Span::Level(0),
        }
    }
}

/// A pattern of names.
#[derive(Debug)]
pub(super) enum NamePattern {
    Any,
    Near { base: String, span: Span },
    NearExpanded { base: Template, span: Span },
    Regex(Regex),
    RegexExpanded(Template),
}

impl NamePattern {
    /// Whether it is the same pattern whatever a rule selected.
    pub fn is_fixed(&self) -> bool {
        !matches!(self, NamePattern::NearExpanded { .. } | NamePattern::RegexExpanded(_))
    }

    /// Whether it can be about nobody, whose name is empty. Nobody is below no name, not even the root's.
    pub fn takes_nobody(&self) -> bool {
        !matches!(self, NamePattern::Near { .. })
    }

    /// Whether no other entry can have a name that fits, for a name below which there is nothing, or for the root's.
    pub fn means_only(&self, name: &str) -> bool {
        match self {
            NamePattern::Near { base, span: Span::Level(0) } => base == name,
            NamePattern::Near { base, span: Span::Subtree } => base == name && !name.is_empty(),
            NamePattern::Regex(regex) => {
                let whole = regex.as_str().strip_prefix('^').and_then(|rest| rest.strip_suffix('$'));
                whole.is_some_and(|whole| whole.eq_ignore_ascii_case(name))
            }
            _ => false,
        }
    }

    /// How many parts there can be of a name that fits.
    pub fn reach(&self) -> usize {
        match self {
            NamePattern::Any | NamePattern::Near { span: Span::Level(0), .. } => 1,
            NamePattern::Near { .. } => 2,
            _ => Reach::EXPRESSION,
        }
    }

    /// What is wrong with a place that no part can ever stand in, if there is one.
    pub fn unfilled(&self, reach: Reach) -> Option<String> {
        match self {
            NamePattern::NearExpanded { base, .. } => base.unfilled(reach),
            NamePattern::RegexExpanded(expression) => expression.unfilled(reach),
            _ => None,
        }
    }

    /// Whether a name fits; `parts` are of what the rule selected.
    pub fn matches(&self, name: &str, parts: &Parts, schema: &Schema) -> bool {
        match self {
            NamePattern::Any => true,
            NamePattern::Near { base, span } => is_near(name, base, *span),
            NamePattern::NearExpanded { base, span } => {
                // An empty one is nobody's, as in slapd: that all names are below the root is not meant.
                let fits = |base: String| base.is_empty() == name.is_empty() && is_near(name, &base, *span);
                expanded_name(base, parts, schema).is_some_and(fits)
            }
            NamePattern::Regex(regex) => regex.is_match(&in_hex(name)),
            NamePattern::RegexExpanded(template) => {
                // What is put in is a name's text, not part of the expression.
                let text = template.expand(parts, |part| regex::escape(&in_hex(part)));
                compile_in_any_case(&text).is_ok_and(|regex| regex.is_match(&in_hex(name)))
            }
        }
    }

    /// As [`NamePattern::matches`], of what a rule may be about.
    pub fn selects(&self, target: &dyn Target, schema: &Schema) -> bool {
        match self {
            NamePattern::Any => true,
            NamePattern::Regex(regex) => regex.is_match(&target.name_in_hex()),
            _ => self.matches(target.name(), &Parts::default(), schema),
        }
    }

    /// The parts of its name, if it fits: the whole; then the base, or what stood in parentheses. `None` if it does not.
    pub fn parts(&self, target: &dyn Target) -> Option<Vec<String>> {
        let name = target.name();
        match self {
            NamePattern::Any => Some(vec![name.to_owned()]),
            NamePattern::Near { base, span } => is_near(name, base, *span).then(|| vec![name.to_owned(), base.clone()]),
            NamePattern::Regex(regex) => captures(regex, &target.name_in_hex()),
            NamePattern::NearExpanded { .. } | NamePattern::RegexExpanded(_) => None,
        }
    }
}

/// The name that a text with its parts is: these may be written in any way, and are normalized along with the rest, for
/// it may take both to make an RDN. What has no places is normalized already. `None` if it is no name.
pub(super) fn expanded_name(text: &Template, parts: &Parts, schema: &Schema) -> Option<String> {
    let name = text.expand(parts, str::to_owned);
    if text.has_places() { normalized_name(name.as_bytes(), schema) } else { Some(name) }
}

/// A normalized name as expressions see it, which are written for OpenLDAP's form: each character of a value that means
/// something in names is a backslash and two hex digits. A comma is a separator then, and `[^,]+` all of a value.
pub(crate) fn in_hex(name: &str) -> Cow<'_, str> {
    let (mut text, mut rest, mut is_escaped, mut is_in_value) = (String::new(), 0, false, false);
    for (at, byte) in name.bytes().enumerate() {
        let escape = match byte {
            _ if is_escaped => (!byte.is_ascii_hexdigit()).then_some(""),
            b'=' if is_in_value => Some("\\"),
            _ => None,
        };
        is_escaped = byte == b'\\' && !is_escaped;
        is_in_value = byte == b'=' || is_in_value && (escape.is_some() || !matches!(byte, b',' | b'+'));
        if let Some(escape) = escape {
            text += &format!("{}{escape}{byte:02X}", &name[rest..at]);
            rest = at + 1;
        }
    }
    if rest == 0 { Cow::Borrowed(name) } else { Cow::Owned(text + &name[rest..]) }
}

/// The whole that an expression found, and what stood in its parentheses.
pub(super) fn captures(regex: &Regex, text: &str) -> Option<Vec<String>> {
    // Most texts do not match, which is found out for less.
    let found = regex.is_match(text).then(|| regex.captures(text))??;
    Some(found.iter().map(|part| part.map_or(String::new(), |part| part.as_str().to_owned())).collect())
}

/// Whether a name stands in this relation to a base.
pub(crate) fn is_near(name: &str, base: &str, span: Span) -> bool {
    let Some(above) = name.strip_suffix(base) else { return false };
    let levels = match above {
        "" => Some(0),
        // Everything is below the root, and the root's own text has no separator in front.
        _ if base.is_empty() => None,
        _ => match above.strip_suffix(',') {
            Some(rdns) if !ends_escaped(rdns) => None,
            _ => return false,
        },
    };
    match span {
        Span::Subtree => true,
        Span::Children => levels.is_none(),
        Span::Level(wanted) => wanted == levels.unwrap_or_else(|| depth(above.trim_end_matches(','))),
    }
}

/// The name so many levels up. `None` above the root.
pub(super) fn ancestor(name: &str, levels: usize) -> Option<&str> {
    (0..levels).try_fold(name, |name, _| match (name, separators(name).next()) {
        ("", _) => None,
        (_, Some(at)) => Some(&name[at + 1..]),
        (_, None) => Some(""),
    })
}

/// How many RDNs a text that is not empty has.
fn depth(name: &str) -> usize {
    separators(name).count() + 1
}

/// Where separators stand that are not escaped.
fn separators(name: &str) -> impl Iterator<Item = usize> {
    let commas = name.match_indices(',').map(|(at, _)| at);
    commas.filter(|&at| !ends_escaped(&name[..at]))
}

/// Whether the character behind this text is escaped.
fn ends_escaped(text: &str) -> bool {
    text.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

/// The normalized form of a value that is a name. `None` if it is not one.
pub(super) fn normalized_name(value: &[u8], schema: &Schema) -> Option<String> {
    let mut normalized = String::with_capacity(value.len());
    let name = Dn::parse(std::str::from_utf8(value).ok()?).ok()?;
    name.normalize(schema, &mut normalized).ok()?;
    Some(normalized)
}
