//! What both hold at the beginning.

use duramen_ldap::message::Scope;

use crate::request::{Request, Values};
use crate::servers::SUFFIX;

/// Attributes with a value each.
type More = &'static [(&'static str, &'static str)];

/// People, in the order of their numbers: uid, cn, sn, more.
const PEOPLE: [(&str, &str, &str, More); 8] = [
    (
        "alice",
        "Alice Smith",
        "Smith",
        &[("mail", "alice@example.com"), ("telephoneNumber", "+49 30 1234"), ("employeeType", "boss")],
    ),
    (
        "bob",
        "Bob  Jones",
        "Jones",
        &[("mail", "bob@example.com"), ("manager", "uid=alice,ou=people,dc=example,dc=com")],
    ),
    (
        "carol",
        "Carol Müller",
        "Müller",
        &[("givenName", "Carol"), ("title", "Engineer"), ("description", "likes (parentheses) and *stars*")],
    ),
    ("dave", "dave smith", "smith", &[("telephoneNumber", "+493055"), ("l", "Graz"), ("preferredLanguage", "de")]),
    ("erin", "Erin O'Neil", "O'Neil", &[("seeAlso", "cn=team,ou=groups,dc=example,dc=com"), ("roomNumber", "12 b")]),
    ("frank", "Frank, the \\Third", "Third", &[("description", " spaces  inside ")]),
    ("grace", "Grace Straße", "Straße", &[("postalAddress", "Street 1$12345 Town"), ("employeeNumber", "7")]),
    ("heidi", "Heidi", "H", &[("carLicense", "ABC 123"), ("mail", "heidi@example.org")]),
];

fn values(list: &[(&str, &[&str])]) -> Vec<Values> {
    list.iter()
        .map(|(name, values)| (name.to_string(), values.iter().map(|value| value.to_string()).collect()))
        .collect()
}

fn add(name: String, attributes: Vec<Values>) -> Request {
    Request::Add { name, attributes }
}

/// Requests that add it.
pub fn entries() -> Vec<Request> {
    let mut entries = vec![add(
        SUFFIX.into(),
        values(&[("objectClass", &["dcObject", "organization"]), ("dc", &["example"]), ("o", &["Example"])]),
    )];
    for ou in ["people", "groups", "places"] {
        let attributes = values(&[("objectClass", &["organizationalUnit"]), ("ou", &[ou])]);
        entries.push(add(format!("ou={ou},{SUFFIX}"), attributes));
    }
    for (n, (uid, cn, sn, more)) in PEOPLE.iter().enumerate() {
        let (number, home) = ((1000 + n).to_string(), format!("/home/{uid}"));
        let classes: &[&str] = if n % 2 == 0 {
            &["inetOrgPerson", "posixAccount"]
        } else {
            &["top", "person", "organizationalPerson", "inetOrgPerson"]
        };
        let mut attributes = values(&[("objectClass", classes), ("uid", &[uid]), ("cn", &[cn]), ("sn", &[sn])]);
        if n % 2 == 0 {
            attributes.extend(values(&[
                ("uidNumber", &[&number]),
                ("gidNumber", &["100"]),
                ("homeDirectory", &[&home]),
            ]));
        }
        attributes.extend(more.iter().map(|(name, value)| (name.to_string(), vec![value.to_string()])));
        entries.push(add(format!("uid={uid},ou=people,{SUFFIX}"), attributes));
    }
    let member = ["uid=alice,ou=people,dc=example,dc=com", "UID=Bob, ou=People,dc=example,dc=com"];
    entries.push(add(
        format!("cn=team,ou=groups,{SUFFIX}"),
        values(&[("objectClass", &["groupOfNames"]), ("cn", &["team"]), ("member", &member)]),
    ));
    entries.push(add(
        format!("cn=role,ou=groups,{SUFFIX}"),
        values(&[("objectClass", &["organizationalRole"]), ("cn", &["role", "Rolle"]), ("roleOccupant", &member[..1])]),
    ));
    entries
        .push(add(format!("l=Graz,ou=places,{SUFFIX}"), values(&[("objectClass", &["locality"]), ("l", &["Graz"])])));
    entries
}

/// A search that finds all user attributes of all entries.
pub fn everything() -> Request {
    Request::Search {
        base: SUFFIX.into(),
        scope: Scope::Subtree,
        filter: "(objectClass=*)".into(),
        attributes: Vec::new(),
        size_limit: 0,
        types_only: false,
    }
}
