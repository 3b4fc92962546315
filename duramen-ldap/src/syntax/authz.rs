//! OpenLDAP's rules of who may act as whom: names, users, groups, searches as URLs.

use crate::dn::Dn;
use crate::error::TextError;
use crate::url::{LdapUrl, Scheme};
use crate::value::text;

/// A rule taken apart.
pub(crate) enum Authz<'a> {
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
pub(super) fn check(value: &[u8]) -> Result<(), TextError> {
    parse(value).map(drop)
}

/// Takes a rule apart.
pub(crate) fn parse(value: &[u8]) -> Result<Authz<'_>, TextError> {
    let whole = text(value)?;
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
