//! The normalized form of OpenLDAP's rules of who may act as whom.

use super::names::Names;
use super::rule;
use crate::error::TextError;
use crate::filter::{Filter, Node};
use crate::message::Scope;
use crate::syntax::{Authz, AuthzNames, AuthzUser, parse_authz};

/// Appends a rule's form: names and what stands for their styles alike however they are written.
pub(super) fn normalize(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    match parse_authz(value)? {
        Authz::Names(_, "*") => out.push(b'*'),
        Authz::Names(style, name) => {
            out.extend_from_slice(word(style).as_bytes());
            rule::dn(name, names, out)?;
        }
        Authz::Expression(text) => out.extend_from_slice(format!("dn.regex:{text}").as_bytes()),
        Authz::User(AuthzUser { mechanism, realm, user }) => {
            let part = |mark: &str, part: Option<&str>| part.map_or(String::new(), |part| format!("{mark}{part}"));
            out.extend_from_slice(format!("u{}{}:{user}", part(".", mechanism), part("/", realm)).as_bytes());
        }
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

fn word(style: AuthzNames) -> &'static str {
    match style {
        AuthzNames::Exact => "dn:",
        AuthzNames::Children => "dn.children:",
        AuthzNames::Subtree => "dn.subtree:",
        AuthzNames::OneLevel => "dn.onelevel:",
    }
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
