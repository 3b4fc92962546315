//! OpenLDAP's rules of who may act as whom: names, users, groups, searches as URLs.

use crate::dn::Dn;
use crate::error::TextError;
use crate::url::{LdapUrl, Scheme};
use crate::value::text;

/// A rule of who may act as whom, taken apart: whom it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authz<'a> {
    /// Whoever has a name that stands so to this one; of `*`, whoever has one.
    Names(AuthzNames, &'a str),
    /// Whoever has a name that matches this expression.
    Expression(&'a str),
    /// A user.
    User(AuthzUser<'a>),
    /// Members of a group: class and attribute, which need not be there, and the group's name.
    Group(Option<&'a str>, Option<&'a str>, &'a str),
    /// Whom a search finds.
    Search(Box<LdapUrl>),
}

/// Which names a rule means by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthzNames {
    /// That one.
    Exact,
    /// All below it.
    Children,
    /// It, and all below.
    Subtree,
    /// All one level below it.
    OneLevel,
}

/// A user as a mechanism knows him.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthzUser<'a> {
    /// The mechanism, if it is said.
    pub mechanism: Option<&'a str>,
    /// The realm, if it is said.
    pub realm: Option<&'a str>,
    /// What the mechanism calls him.
    pub user: &'a str,
}

const STYLES: [(&str, Option<AuthzNames>); 6] = [
    ("dn", Some(AuthzNames::Exact)),
    ("dn.exact", Some(AuthzNames::Exact)),
    ("dn.children", Some(AuthzNames::Children)),
    ("dn.subtree", Some(AuthzNames::Subtree)),
    ("dn.onelevel", Some(AuthzNames::OneLevel)),
    ("dn.regex", None),
];

/// Whether a value is a rule.
pub(super) fn check(value: &[u8]) -> Result<(), TextError> {
    parse(value).map(drop)
}

/// Takes a rule of who may act as whom apart, a value of the syntax "OpenLDAP authz".
pub fn parse(value: &[u8]) -> Result<Authz<'_>, TextError> {
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
    let Some((kind, behind)) = text.split_once(':') else { return name(AuthzNames::Exact, text, 0) };
    let start = kind.len() + 1;
    let lower = kind.to_ascii_lowercase();
    if let Some((_, style)) = STYLES.iter().find(|(style, _)| *style == lower) {
        return style.map_or(Ok(Authz::Expression(behind)), |style| name(style, behind, start));
    }
    let mut words = kind.splitn(3, '/');
    match words.next() {
        Some(word) if word.eq_ignore_ascii_case("group") => {
            Dn::parse(behind).map_err(|error| error.after(start))?;
            Ok(Authz::Group(words.next(), words.next(), behind))
        }
        _ if lower == "u" || lower.starts_with("u.") => Ok(Authz::User(user(&kind[1..], behind))),
        _ => name(AuthzNames::Exact, text, 0),
    }
}

/// A user, behind `.MECHANISM/REALM` or nothing.
fn user<'a>(kind: &'a str, user: &'a str) -> AuthzUser<'a> {
    let Some(mechanism) = kind.strip_prefix('.') else { return AuthzUser { mechanism: None, realm: None, user } };
    let (mechanism, realm) = mechanism.split_once('/').map_or((mechanism, None), |(one, other)| (one, Some(other)));
    AuthzUser { mechanism: Some(mechanism), realm, user }
}

fn name<'a>(style: AuthzNames, text: &'a str, start: usize) -> Result<Authz<'a>, TextError> {
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
