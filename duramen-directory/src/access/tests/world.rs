//! A small directory in memory, and the questions that tests ask about it.

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use duramen_ldap::message::Scope;
use duramen_ldap::url::LdapUrl;

use super::super::condition::Condition;
use super::super::walk::Nobody;
use super::super::*;
use crate::requester::{Method, Name, Peer};
use crate::schema::tests::built_in;

/// Attributes and their values.
type Attributes = &'static [(&'static str, &'static [&'static str])];

/// Entries: name, attributes and values.
pub const ENTRIES: &[(&str, Attributes)] = &[
    ("dc=example,dc=com", &[("objectClass", &["dcObject", "organization"]), ("dc", &["example"]), ("o", &["Example"])]),
    ("ou=people,dc=example,dc=com", &[("objectClass", &["organizationalUnit"]), ("ou", &["people"])]),
    ("ou=groups,dc=example,dc=com", &[("objectClass", &["organizationalUnit"]), ("ou", &["groups"])]),
    (
        "uid=alice,ou=people,dc=example,dc=com",
        &[
            ("objectClass", &["inetOrgPerson"]),
            ("uid", &["alice"]),
            ("cn", &["Alice A"]),
            ("sn", &["A"]),
            ("mail", &["alice@example.com", "a@example.org"]),
            ("employeeType", &["boss"]),
            ("userPassword", &["secret"]),
        ],
    ),
    (
        "uid=bob,ou=people,dc=example,dc=com",
        &[
            ("objectClass", &["inetOrgPerson"]),
            ("uid", &["bob"]),
            ("cn", &["Bob B", "Robert B"]),
            ("sn", &["B"]),
            ("mail", &["bob@example.com"]),
            ("manager", &["uid=alice,ou=people,dc=example,dc=com"]),
            ("userPassword", &["secret"]),
        ],
    ),
    (
        "uid=carol,ou=people,dc=example,dc=com",
        &[
            ("objectClass", &["inetOrgPerson"]),
            ("uid", &["carol"]),
            ("cn", &["Carol C"]),
            ("sn", &["C"]),
            ("employeeType", &["clerk"]),
            ("manager", &["uid=bob,ou=people,dc=example,dc=com", "uid=carol,ou=people,dc=example,dc=com"]),
        ],
    ),
    (
        "cn=x,uid=carol,ou=people,dc=example,dc=com",
        &[("objectClass", &["organizationalRole"]), ("cn", &["x"]), ("description", &["below carol"])],
    ),
    (
        "uid=d\\, e\\+f=g,ou=people,dc=example,dc=com",
        &[
            ("objectClass", &["inetOrgPerson"]),
            ("uid", &["d, e+f=g"]),
            ("cn", &["D"]),
            ("sn", &["D"]),
            ("manager", &["uid=d\\, e\\+f=g,ou=people,dc=example,dc=com"]),
        ],
    ),
    (
        "cn=team,ou=groups,dc=example,dc=com",
        &[
            ("objectClass", &["groupOfNames"]),
            ("cn", &["team"]),
            ("member", &["uid=alice,ou=people,dc=example,dc=com", "cn=other"]),
        ],
    ),
    (
        "cn=all,ou=groups,dc=example,dc=com",
        &[
            ("objectClass", &["groupOfNames"]),
            ("cn", &["all"]),
            ("member", &["cn=team,ou=groups,dc=example,dc=com", "cn=loop,ou=groups,dc=example,dc=com"]),
        ],
    ),
    (
        "cn=loop,ou=groups,dc=example,dc=com",
        &[
            ("objectClass", &["groupOfNames"]),
            ("cn", &["loop"]),
            (
                "member",
                &[
                    "cn=all,ou=groups,dc=example,dc=com",
                    "uid=bob,ou=people,dc=example,dc=com",
                    "uid=d\\, e\\+f=g,ou=people,dc=example,dc=com",
                ],
            ),
            ("seeAlso", &["UID=Carol, OU=people,dc=example,dc=com"]),
        ],
    ),
    (
        "cn=unique,ou=groups,dc=example,dc=com",
        &[
            ("objectClass", &["groupOfUniqueNames"]),
            ("cn", &["unique"]),
            ("uniqueMember", &["uid=carol,ou=people,dc=example,dc=com"]),
        ],
    ),
];

/// The same as LDIF.
pub fn ldif() -> String {
    let mut text = String::new();
    for (name, attributes) in ENTRIES {
        text += &format!("dn: {name}\n");
        for (attribute, values) in *attributes {
            values.iter().for_each(|value| text += &format!("{attribute}: {value}\n"));
        }
        text.push('\n');
    }
    text
}

pub static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(built_in("").unwrap()));

/// Rules, the entries, and where requesters come from.
pub struct World {
    pub rules: Arc<Rules>,
    peer: Arc<Peer>,
    ssf: u32,
    /// How often other entries were asked about.
    pub asked: Cell<usize>,
}

struct Entry<'a>(&'a str);

fn values(entry: &str, attribute: AttributeId) -> impl Iterator<Item = &'static str> {
    let attributes = ENTRIES.iter().find(|(name, _)| *name == entry).map_or(&[][..], |(_, attributes)| attributes);
    let named = attributes.iter().filter(move |(name, _)| SCHEMA.find(name).unwrap().id == attribute);
    named.flat_map(|(_, values)| values.iter().copied())
}

impl Target for Entry<'_> {
    fn name(&self) -> &str {
        self.0
    }

    fn values(&self, attribute: AttributeId, each: &mut dyn FnMut(&[u8]) -> bool) {
        let _ = values(self.0, attribute).all(|value| each(value.as_bytes()));
    }

    fn has_value(&self, attribute: AttributeId, form: &[u8]) -> bool {
        let Some(rule) = SCHEMA.attribute(attribute).equality else { return false };
        values(self.0, attribute).any(|value| {
            let mut normalized = Vec::new();
            rule.normalize(value.as_bytes(), &**SCHEMA, &mut normalized).is_ok() && normalized == form
        })
    }
}

impl Groups for World {
    fn has_member(&self, group: &str, attribute: AttributeId, member: &str) -> bool {
        values(group, attribute).any(|value| value == member)
    }

    fn values(&self, name: &str, attribute: AttributeId, each: &mut dyn FnMut(&[u8]) -> bool) {
        self.asked.set(self.asked.get() + 1);
        Entry(name).values(attribute, each);
    }

    fn has_value(&self, name: &str, attribute: AttributeId, form: &[u8]) -> bool {
        self.asked.set(self.asked.get() + 1);
        Entry(name).has_value(attribute, form)
    }

    fn holders(&self, attribute: AttributeId, form: &[u8], each: &mut dyn FnMut(&str) -> bool) -> bool {
        let _ = ENTRIES.iter().filter(|(name, _)| Entry(name).has_value(attribute, form)).all(|(name, _)| each(name));
        true
    }

    fn find(&self, url: &LdapUrl, each: &mut dyn FnMut(Option<&dyn Target>) -> bool) {
        self.asked.set(self.asked.get() + 1);
        let span = Span::of(url.scope.unwrap_or(Scope::Base));
        let condition = url.filter.as_ref().map(|filter| Condition::compile(filter.as_filter(), &SCHEMA).unwrap());
        let _ = ENTRIES.iter().all(|(name, _)| {
            let is_found = is_near(name, &url.dn, span)
                && condition.as_ref().is_none_or(|filter| filter.matches(&Entry(name), &SCHEMA) == Some(true));
            each(is_found.then_some(&Entry(name)))
        });
    }
}

impl World {
    pub fn new(rules: &str) -> World {
        let suffixes = [ENTRIES[0].0.to_owned()];
        let rules = Rules::parse("rules", rules, &suffixes, &SCHEMA).unwrap_or_else(|error| panic!("{error}\n{rules}"));
        let mut world = World { rules: Arc::new(rules), peer: Arc::new(Peer::Internal), ssf: 0, asked: Cell::new(0) };
        world.from("192.0.2.1:5000", 0);
        world
    }

    pub fn from(&mut self, address: &str, ssf: u32) {
        self.peer = Arc::new(Peer::Network(address.parse().unwrap()));
        self.ssf = ssf;
    }

    pub fn attribute(&self, name: &str) -> AttributeId {
        SCHEMA.find(name).unwrap_or_else(|| panic!("{name}")).id
    }

    fn requester(&self, who: &str) -> Requester {
        let (name, peer) = (Name { written: who.into(), normalized: who.into() }, self.peer.clone());
        Requester { name, method: Method::Password, ..Requester::anonymous(peer, self.ssf) }
    }

    pub fn plan(&self, who: &str) -> Plan {
        self.rules.plan(&self.requester(who), self)
    }

    /// `entry`, `children`, or an attribute with `:value` behind it or not.
    pub fn what<'a>(&self, text: &'a str) -> What<'a> {
        match text.split_once(':') {
            _ if text == "entry" => What::Entry,
            _ if text == "children" => What::Children,
            Some((name, value)) => What::Attribute(self.attribute(name), Some(value.as_bytes())),
            None => What::Attribute(self.attribute(text), None),
        }
    }

    pub fn granted(&self, who: &str, entry: &str, what: &str) -> Privileges {
        let (plan, what) = (self.plan(who), self.what(what));
        let rules = &self.rules.classes[self.rules.class(what)];
        plan.walk(rules, &Entry(entry), self, what, None, &mut Nobody).unwrap()
    }

    pub fn allows(&self, who: &str, entry: &str, what: What<'_>, level: Level) -> bool {
        self.allows_again(&self.plan(who), entry, what, level, &Known::default())
    }

    /// With what is known of the entry.
    pub fn allows_again(&self, plan: &Plan, entry: &str, what: What<'_>, level: Level, known: &Known) -> bool {
        plan.allows(&Entry(entry), self, what, level, known)
    }

    pub fn explain(&self, who: &str, entry: &str, what: &str) -> Explanation {
        self.rules.explain(&self.requester(who), &Entry(entry), self, self.what(what))
    }
}
