//! OpenLDAP's rules of who may act as whom: names, users, groups, searches as URLs.

use super::names::Names;
use super::rule;
use crate::dn::Dn;
use crate::error::TextError;
use crate::filter::{Filter, Node};
use crate::message::Scope;
use crate::url::{LdapUrl, Scheme};

/// A rule taken apart.
enum Authz<'a> {
    /// Names: how they are to be taken, and a name or `*`.
    Names(&'static str, &'a str),
    /// An expression that names match.
    Expression(&'a str),
    /// A user, with a mechanism and a realm or without: all of it behind the first letter.
    User(&'a str),
    /// Members of a group: class and attribute, which need not be there, and the group's name.
    Group(Option<&'a str>, Option<&'a str>, &'a str),
    /// Whom a search finds.
    Search(Box<LdapUrl>),
}

const STYLES: [(&str, &str); 6] = [
    ("dn", "dn:"),
    ("dn.exact", "dn:"),
    ("dn.children", "dn.children:"),
    ("dn.subtree", "dn.subtree:"),
    ("dn.onelevel", "dn.onelevel:"),
    ("dn.regex", ""),
];

/// Whether a value is a rule.
pub(crate) fn check(value: &[u8]) -> Result<(), TextError> {
    parse(value).map(drop)
}

/// Appends a rule's form: names and what stands for their styles alike however they are written.
pub(super) fn normalize(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    match parse(value)? {
        Authz::Names(_, "*") => out.push(b'*'),
        Authz::Names(style, name) => {
            out.extend_from_slice(style.as_bytes());
            rule::dn(name, names, out)?;
        }
        Authz::Expression(text) => out.extend_from_slice(format!("dn.regex:{text}").as_bytes()),
        Authz::User(user) => out.extend_from_slice(format!("u{user}").as_bytes()),
        Authz::Group(class, attribute, name) => {
            let class = class.map_or(Ok(""), |word| names.class_oid(word).ok_or(NO_CLASS))?;
            let attribute = attribute.map_or(Ok(""), |word| names.attribute_oid(word).ok_or(NO_ATTRIBUTE))?;
            out.extend_from_slice(format!("group/{class}/{attribute}:").as_bytes());
            rule::dn(name, names, out)?;
        }
        Authz::Search(url) => {
            out.extend_from_slice(b"ldap:///");
            rule::dn(&url.dn, names, out)?;
            if let Some(filter) = &url.filter {
                check_attributes(filter.as_filter(), names)?;
            }
            let filter = url.filter.map_or(String::new(), |filter| filter.to_string().to_lowercase());
            let scope = url.scope.unwrap_or(Scope::Base);
            out.extend_from_slice(format!("??{scope:?}?{filter}").as_bytes());
        }
    }
    Ok(())
}

const NO_CLASS: TextError = TextError::new(0, "a class that the schema has behind group/");
const NO_ATTRIBUTE: TextError = TextError::new(0, "an attribute type that the schema has");

/// That the schema has all attribute types of a filter.
fn check_attributes(filter: Filter<'_>, names: &dyn Names) -> Result<(), TextError> {
    let description = match filter.node() {
        Node::And(list) | Node::Or(list) => return list.iter().try_for_each(|filter| check_attributes(filter, names)),
        Node::Not(filter) => return check_attributes(filter, names),
        Node::Equality(item) | Node::GreaterOrEqual(item) | Node::LessOrEqual(item) | Node::Approx(item) => {
            Some(item.description)
        }
        Node::Substrings(item) => Some(item.description),
        Node::Present(description) => Some(description),
        Node::Extensible(item) => item.description,
        Node::Unknown(..) => None,
    };
    let name = description.and_then(|description| description.split(';').next());
    if name.is_none_or(|name| names.attribute_oid(name).is_some()) { Ok(()) } else { Err(NO_ATTRIBUTE) }
}

fn parse(value: &[u8]) -> Result<Authz<'_>, TextError> {
    let whole = rule::text(value)?;
    let text = without_place(whole);
    let start = whole.len() - text.len();
    rest(text).map_err(|error| error.after(start))
}

/// The text behind `{3}`, by which rules can be put in an order.
fn without_place(text: &str) -> &str {
    match text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        Some((place, behind)) if !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit()) => behind,
        _ => text,
    }
}

fn rest(text: &str) -> Result<Authz<'_>, TextError> {
    if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("ldap:")) {
        return search(text);
    }
    let Some((kind, behind)) = text.split_once(':') else { return name("dn:", text, 0) };
    let start = kind.len() + 1;
    let lower = kind.to_ascii_lowercase();
    if let Some((_, style)) = STYLES.iter().find(|(style, _)| *style == lower) {
        return if style.is_empty() { Ok(Authz::Expression(behind)) } else { name(style, behind, start) };
    }
    let mut words = kind.splitn(3, '/');
    match words.next() {
        Some(word) if word.eq_ignore_ascii_case("group") => {
            Dn::parse(behind).map_err(|error| error.after(start))?;
            Ok(Authz::Group(words.next(), words.next(), behind))
        }
        _ if lower == "u" || lower.starts_with("u.") => Ok(Authz::User(&text[1..])),
        _ => name("dn:", text, 0),
    }
}

fn name<'a>(style: &'static str, text: &'a str, start: usize) -> Result<Authz<'a>, TextError> {
    if text != "*" {
        Dn::parse(text).map_err(|error| error.after(start))?;
    }
    Ok(Authz::Names(style, text))
}

/// A URL without a server, attributes and extensions.
fn search(text: &str) -> Result<Authz<'_>, TextError> {
    let url = LdapUrl::parse(text)?;
    let is_local = url.scheme == Scheme::Ldap && url.host.is_none() && url.port.is_none();
    if is_local && url.attributes.is_empty() && url.extensions.is_empty() {
        Ok(Authz::Search(Box::new(url)))
    } else {
        Err(TextError::new(0, "a URL of base, scope and filter only"))
    }
}
