//! From the name under which a mechanism knows somebody to that of an entry: OpenLDAP's `authz-regexp`.
//!
//! Owns: the form of these rules, and what they make of a name. Must not know: how an entry is searched for.

use duramen_ldap::dn::Dn;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::Scope;
use duramen_ldap::url::LdapUrl;
use regex::Regex;

use super::name::{captures, in_hex};
use super::template::{Parts, Reach, Template};
use crate::expression::compile_in_any_case;

/// What may stand in the parentheses of a name: a value, a number, a whole RDN, nothing.
const PARTS: [&str; 4] = ["a", "1", "a=a", ""];

/// A rule: names that match are those of others.
#[derive(Debug)]
pub(crate) struct Identity {
    matches: Regex,
    target: Target,
}

/// Whom names that match stand for.
#[derive(Debug)]
enum Target {
    Name(Template),
    /// Whoever a search finds, if it is one.
    Search {
        base: Template,
        scope: Scope,
        filter: Option<Template>,
    },
}

/// Whom a name stands for.
#[derive(Debug)]
pub(crate) enum Stands {
    /// For this one.
    Name(String),
    /// For the one entry that is found.
    Search {
        /// From here.
        base: String,
        /// So far.
        scope: Scope,
        /// With this.
        filter: FilterBuf,
    },
}

impl Identity {
    /// From an expression, and a name or a URL with places for what stood in its parentheses.
    pub fn parse(expression: &str, text: &str) -> Result<Identity, String> {
        let matches = compile_in_any_case(expression)
            .map_err(|error| format!("'{expression}' is not a regular expression: {error}"))?;
        let reach = Reach { name: matches.captures_len(), value: 0 };
        let template = |text: &str| {
            let template = Template::parse(text);
            let no_part = template.unfilled(reach).is_some();
            if no_part {
                Err(format!("'{text}' has a place for a group that '{expression}' does not have"))
            } else {
                Ok(template)
            }
        };
        let target = match Url::parse(text)? {
            None => Target::Name(template(text)?),
            Some(Url { base, scope, filter }) => Target::Search {
                base: template(&base)?,
                scope,
                filter: filter.map(|filter| template(&filter)).transpose()?,
            },
        };
        let identity = Identity { matches, target };
        // With something in its places, so that a wrong filter, or what is never a name, is found now.
        let tried = PARTS.map(|part| identity.filled_with(part, text));
        if tried.iter().any(Result::is_ok) {
            return Ok(identity);
        }
        tried.into_iter().find_map(Result::err).map_or(Ok(identity), Err)
    }

    /// Whom the normalized name of somebody stands for, if it matches. What cannot be searched for is an error.
    pub fn apply(&self, name: &str) -> Option<Result<Stands, String>> {
        captures(&self.matches, &in_hex(name)).map(|parts| self.stands(&parts))
    }

    /// That this rule, written as `text`, stands for somebody if all of its places have this.
    fn filled_with(&self, part: &str, text: &str) -> Result<(), String> {
        let (Stands::Name(name) | Stands::Search { base: name, .. }) =
            self.stands(&vec![part.to_owned(); self.matches.captures_len()])?;
        let no_name = |_| {
            format!(
                "'{text}' is nobody's name: write one like uid=$1,ou=people,dc=example,dc=com, or a URL like ldap:///dc=example,dc=com??sub?(uid=$1)"
            )
        };
        Dn::parse(&name).map(drop).map_err(no_name)
    }

    fn stands(&self, parts: &[String]) -> Result<Stands, String> {
        let parts = Parts { name: parts.to_vec(), value: Vec::new() };
        let in_name = |template: &Template| template.expand(&parts, str::to_owned);
        match &self.target {
            Target::Name(name) => Ok(Stands::Name(in_name(name))),
            Target::Search { base, scope, filter } => {
                let text = filter.as_ref().map(|filter| filter.expand(&parts, in_filter));
                let text = text.as_deref().unwrap_or("(objectClass=*)");
                let filter = FilterBuf::parse(text).map_err(|error| format!("the filter '{text}': {error}"))?;
                Ok(Stands::Search { base: in_name(base), scope: *scope, filter })
            }
        }
    }
}

/// A part of a name as a filter has it: nothing in it is part of the filter, and `\2C` is a comma in both.
fn in_filter(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for (at, c) in part.char_indices() {
        match c {
            '\\' if part.get(at + 1..at + 3).is_some_and(|pair| pair.bytes().all(|byte| byte.is_ascii_hexdigit())) => {
                text.push('\\')
            }
            '\\' | '(' | ')' | '*' | '\0' => text.push_str(&format!("\\{:02X}", c as u32)),
            _ => text.push(c),
        }
    }
    text
}

/// What of a URL says where to search: places in it keep it from being one.
struct Url {
    base: String,
    scope: Scope,
    filter: Option<String>,
}

impl Url {
    /// `None` of what is no URL.
    fn parse(text: &str) -> Result<Option<Url>, String> {
        let is_url = text.split_once("://").is_some_and(|(scheme, _)| !scheme.contains('='));
        if !is_url {
            return Ok(None);
        }
        let wrong = || format!("'{text}' is not of the form ldap:///BASE??SCOPE?FILTER");
        let start = text.get(..8).filter(|start| start.eq_ignore_ascii_case("ldap:///")).ok_or_else(wrong)?;
        let fields: Vec<&str> = text[start.len()..].split('?').collect();
        let field = |n: usize| fields.get(n).copied().filter(|field| !field.is_empty());
        if fields.len() > 4 || field(1).is_some() {
            return Err(wrong());
        }
        let scope = match field(2) {
            None => Scope::Base,
            Some(word) => {
                LdapUrl::parse(&format!("ldap:///??{word}")).ok().and_then(|url| url.scope).ok_or_else(wrong)?
            }
        };
        let decode = |n: usize| field(n).map(|text| duramen_ldap::url::decode(text).map_err(|_| wrong())).transpose();
        Ok(Some(Url { base: decode(0)?.unwrap_or_default(), scope, filter: decode(3)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(expression: &str, target: &str, name: &str) -> String {
        match Identity::parse(expression, target).unwrap().apply(name) {
            None => "no match".into(),
            Some(Ok(Stands::Name(name))) => name,
            Some(Ok(Stands::Search { base, scope, filter })) => format!("{base} {scope:?} {}", filter.as_filter()),
            Some(Err(error)) => error,
        }
    }

    #[test]
    fn what_stood_in_parentheses_is_put_into_names_and_filters() {
        let (sasl, people) = ("uid=([^,]+),cn=[^,]+,cn=auth", "uid=$1,ou=people,dc=example,dc=com");
        assert_eq!(stands(sasl, people, "uid=ann,cn=plain,cn=auth"), "uid=ann,ou=people,dc=example,dc=com");
        assert_eq!(stands(sasl, people, "cn=ann,o=us"), "no match");
        let mail = "ldap:///dc=example,dc=com??sub?(&(mail=$1)(!(ou=%28)))";
        assert_eq!(
            stands(sasl, &mail.replace("%28", "\\28"), "uid=ann@example.com,cn=plain,cn=auth"),
            "dc=example,dc=com Subtree (&(mail=ann@example.com)(!(ou=\\28)))"
        );
        let item = "ldap:///dc=example,dc=com??sub?(&(objectClass=person)($1))";
        assert_eq!(
            stands("^([^,]+),cn=[^,]+,cn=auth", item, "uid=ann,cn=plain,cn=auth"),
            "dc=example,dc=com Subtree (&(objectClass=person)(uid=ann))"
        );
        assert_eq!(
            stands("^cn=([^,]+),o=us$", "LDAP:///ou=$1%20x,dc=com", "cn=ann,o=us"),
            "ou=ann x,dc=com Base (objectClass=*)"
        );
    }

    #[test]
    fn nothing_of_a_users_name_becomes_part_of_a_filter_or_ends_an_rdn() {
        let (sasl, search) = ("uid=([^,]*),cn=auth", "ldap:///dc=a??one?(uid=$1)");
        for (user, filter) in [
            ("a)(uid=*", "(uid=a\\29\\28uid=\\2a)"),
            ("*", "(uid=\\2a)"),
            (r"a\,b", "(uid=a,b)"),
            (r"a\\2a", "(uid=a\\5c2a)"),
            (r"a\\", "(uid=a\\5c)"),
        ] {
            let found = stands(sasl, search, &format!("uid={user},cn=auth"));
            assert_eq!(found, format!("dc=a One {filter}"), "{user}");
        }
        assert_eq!(stands(sasl, "uid=$1,dc=a", r"uid=a\,dc=b,cn=auth"), r"uid=a\2Cdc\3Db,dc=a");
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_told() {
        for (expression, target, told) in [
            ("uid=(", "uid=$1", "is not a regular expression"),
            ("uid=(.*)", "uid=$2,dc=a", "has a place for a group that 'uid=(.*)' does not have"),
            ("uid=(.*)", "ldap://other/dc=a??sub?(uid=$1)", "is not of the form"),
            ("uid=(.*)", "ldap:///dc=a?mail?sub?(uid=$1)", "is not of the form"),
            ("uid=(.*)", "ldap:///dc=a??all?(uid=$1)", "is not of the form"),
            ("uid=(.*)", "ldap:///dc=a??sub?(uid=$1", "the filter"),
            ("uid=(.*)", "foo", "'foo' is nobody's name"),
            ("uid=(.*)", "uid=$1,foo", "'uid=$1,foo' is nobody's name"),
            ("uid=(.*)", "ldap:///foo??sub?(uid=$1)", "is nobody's name"),
        ] {
            let error = Identity::parse(expression, target).unwrap_err();
            assert!(error.contains(told), "{expression} {target}: {error}");
        }
    }

    #[test]
    fn what_some_part_of_a_name_makes_a_name_is_taken() {
        for target in ["$1", "$1,$2", "uid=$1,$2", "$1=$2,dc=a", "1.$1=$2,dc=a", "uid=ann$1", "ldap:///$1??sub?($2)"] {
            Identity::parse("(.*),(.*)", target).unwrap();
        }
    }
}
