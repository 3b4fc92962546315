//! Random requests, right and wrong ones.

use duramen_ldap::message::{ChangeKind, Scope};
use fastrand::Rng;

use crate::request::{Request, Values};
use crate::servers::SUFFIX;

/// Attributes, and values of them: equal ones that look different, and wrong ones at the end of some.
const VALUES: [(&str, &[&str]); 20] = [
    (
        "cn",
        &[
            "Alice Smith",
            "alice  smith",
            "ALICE SMITH",
            "Bob Jones",
            "x",
            "Carol Müller",
            "role",
            "Frank, the \\Third",
            "new",
        ],
    ),
    ("sn", &["Smith", "SMITH", "Jones", "Straße", "strasse", "H", "x", ""]),
    ("givenName", &["Carol", "carol ", "Eve"]),
    ("uid", &["alice", "ALICE", "bob", "zoe", "carol"]),
    ("mail", &["alice@example.com", "ALICE@EXAMPLE.COM", "heidi@example.org", "é@x"]),
    ("telephoneNumber", &["+49 30 1234", "+49301234", "+493055", "+49-30-55", "?"]),
    ("uidNumber", &["1000", "1002", "-5", "01000", "abc", "99999999999999999999"]),
    ("gidNumber", &["100", "0", "1 "]),
    ("homeDirectory", &["/home/alice", "/HOME/ALICE", "/home/x"]),
    ("employeeType", &["boss", "Boss", "clerk"]),
    ("description", &["likes (parentheses) and *stars*", "spaces inside", "a", "ä", "likes"]),
    ("title", &["Engineer", "engineer"]),
    ("l", &["Graz", "graz", "Wien"]),
    ("manager", &["uid=alice,ou=people,dc=example,dc=com", "UID=Alice, ou=People, dc=example,dc=com", "not a name"]),
    ("member", &["uid=alice,ou=people,dc=example,dc=com", "uid=bob,ou=people,dc=example,dc=com", "uid=zoe", "no name"]),
    ("seeAlso", &["cn=team,ou=groups,dc=example,dc=com", "cn=nobody"]),
    (
        "objectClass",
        &["inetOrgPerson", "person", "posixAccount", "groupOfNames", "extensibleObject", "2.5.6.6", "nothing"],
    ),
    ("ou", &["people", "sales"]),
    ("postalAddress", &["Street 1$12345 Town", "street 1$12345  town"]),
    ("nothing", &["x"]),
];

const RDNS: [&str; 12] = [
    "uid=zoe",
    "uid=alice",
    "cn=new",
    "cn=Alice Smith",
    "uid=zoe+cn=Zoe",
    "ou=sales",
    "l=Wien",
    "uid=",
    "nothing=x",
    "zoe",
    "cn=a\\,b",
    "UID=Carol",
];

pub struct Random {
    rng: Rng,
    /// Names of entries that are there, or have been.
    names: Vec<String>,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        let people = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"];
        let mut names: Vec<_> = people.iter().map(|uid| format!("uid={uid},ou=people,{SUFFIX}")).collect();
        names.extend(
            ["ou=people", "ou=groups", "ou=places", "cn=team,ou=groups", "l=Graz,ou=places"]
                .map(|rdn| format!("{rdn},{SUFFIX}")),
        );
        names.push(SUFFIX.to_owned());
        Random { rng: Rng::with_seed(seed), names }
    }

    /// These entries are there now.
    pub fn learn<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        self.names = names.cloned().collect();
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.rng.usize(..list.len())]
    }

    fn chance(&mut self, one_in: u32) -> bool {
        self.rng.u32(..one_in) == 0
    }

    fn name(&mut self) -> String {
        let name = self.names[self.rng.usize(..self.names.len())].clone();
        match self.rng.u32(..12) {
            0 => name.to_uppercase(),
            1 => name.replace(',', " , "),
            2 => format!("cn=nobody,{name}"),
            3 => self.of(&["dc=elsewhere", "", "no name", "uid=x,dc=example,dc=org"]).to_owned(),
            _ => name,
        }
    }

    fn pair(&mut self) -> (&'static str, &'static str) {
        let (name, values) = VALUES[self.rng.usize(..VALUES.len())];
        (name, self.of(values))
    }

    pub fn request(&mut self) -> Request {
        match self.rng.u32(..20) {
            0..=8 => self.search(),
            9 | 10 => {
                let (attribute, value) = self.pair();
                Request::Compare { name: self.name(), attribute: attribute.into(), value: value.into() }
            }
            11 | 12 => self.add(),
            13 => Request::Delete { name: self.name() },
            14..=17 => self.modify(),
            _ => self.rename(),
        }
    }

    fn search(&mut self) -> Request {
        let scopes = [Scope::Base, Scope::One, Scope::Subtree, Scope::Subtree, Scope::Subordinates];
        let attributes: &[&str] = self.of(&[
            &[][..],
            &["*"],
            &["1.1"],
            &["cn"],
            &["name"],
            &["CN", "2.5.4.4"],
            &["@person"],
            &["sn", "nothing", "mail"],
            &["*", "cn"],
            &["structuralObjectClass"],
            &["cn;lang-de"],
        ]);
        Request::Search {
            base: if self.chance(2) { SUFFIX.into() } else { self.name() },
            scope: scopes[self.rng.usize(..scopes.len())],
            filter: self.filter(3),
            attributes: attributes.iter().map(|name| name.to_string()).collect(),
            size_limit: if self.chance(10) { 3 } else { 0 },
            types_only: self.chance(10),
        }
    }

    fn filter(&mut self, depth: u32) -> String {
        let (name, value) = self.pair();
        let escaped = escape(value);
        match self.rng.u32(..if depth == 0 { 10 } else { 16 }) {
            0 => format!("({name}=*)"),
            1 => format!("({name}>={escaped})"),
            2 => format!("({name}<={escaped})"),
            3 => format!("({name}~={escaped})"),
            4 | 5 if value.chars().count() > 1 => self.substrings(name, value),
            6 => format!("({name}:caseExactMatch:={escaped})"),
            7 => "(objectClass=*)".to_owned(),
            10 | 11 => format!("(&{})", self.filters(depth)),
            12 | 13 => format!("(|{})", self.filters(depth)),
            14 => format!("(!{})", self.filter(depth - 1)),
            _ => format!("({name}={escaped})"),
        }
    }

    fn filters(&mut self, depth: u32) -> String {
        (0..self.rng.u32(..4)).map(|_| self.filter(depth - 1)).collect()
    }

    fn substrings(&mut self, name: &str, value: &str) -> String {
        let characters: Vec<char> = value.chars().collect();
        let (from, to) = (self.rng.usize(..characters.len()), self.rng.usize(..=characters.len()));
        let piece: String = characters[from.min(to)..from.max(to)].iter().collect();
        match (self.rng.u32(..4), escape(&piece)) {
            (_, piece) if piece.is_empty() => format!("({name}=*)"),
            (0, piece) => format!("({name}={piece}*)"),
            (1, piece) => format!("({name}=*{piece})"),
            (2, piece) => format!("({name}=*{piece}*)"),
            (_, piece) => format!("({name}={piece}*{piece})"),
        }
    }

    fn values(&mut self) -> Values {
        let (name, values) = VALUES[self.rng.usize(..VALUES.len())];
        let count = self.of(&[&1, &1, &1, &1, &2]);
        (name.to_owned(), (0..*count).map(|_| self.of(values).to_owned()).collect())
    }

    fn add(&mut self) -> Request {
        let rdn = self.of(&RDNS);
        let parent = if self.chance(3) { self.name() } else { format!("ou=people,{SUFFIX}") };
        let one = |name: &str, value: &str| (name.to_owned(), vec![value.to_owned()]);
        let class = self.of(&[
            "inetOrgPerson",
            "inetOrgPerson",
            "organizationalUnit",
            "locality",
            "person",
            "groupOfNames",
            "nothing",
            "posixAccount",
        ]);
        let mut attributes = vec![one("objectClass", class)];
        for pair in rdn.split('+').filter_map(|pair| pair.split_once('=')) {
            if !self.chance(8) {
                attributes.push(one(pair.0, &pair.1.replace('\\', "")));
            }
        }
        for name in ["cn", "sn"] {
            let there = attributes.iter().any(|(there, _)| there.eq_ignore_ascii_case(name));
            if class.ends_with("erson") && !there && !self.chance(8) {
                attributes.push(one(name, "new"));
            }
        }
        if self.chance(2) {
            let more = self.values();
            if !attributes.iter().any(|(there, _)| *there == more.0) || self.chance(4) {
                attributes.push(more);
            }
        }
        Request::Add { name: format!("{rdn},{parent}"), attributes }
    }

    fn modify(&mut self) -> Request {
        let kinds = [
            ChangeKind::Add,
            ChangeKind::Add,
            ChangeKind::Delete,
            ChangeKind::Replace,
            ChangeKind::Replace,
            ChangeKind::Increment,
        ];
        let count = 1 + self.rng.usize(..3);
        let changes = (0..count).map(|_| {
            let kind = kinds[self.rng.usize(..kinds.len())];
            let mut values = self.values();
            if kind == ChangeKind::Increment && self.chance(2) {
                values = ("uidNumber".into(), vec!["3".into()]);
            } else if matches!(kind, ChangeKind::Delete | ChangeKind::Replace) && self.chance(3) {
                values.1.clear();
            }
            (kind, values)
        });
        let changes = changes.collect();
        Request::Modify { name: self.name(), changes }
    }

    fn rename(&mut self) -> Request {
        let superior = if self.chance(3) { Some(self.name()) } else { None };
        Request::ModifyDn { name: self.name(), rdn: self.of(&RDNS).to_owned(), delete_old: self.chance(2), superior }
    }
}

/// A value as it stands in a filter.
fn escape(value: &str) -> String {
    value.chars().map(|c| if "()*\\".contains(c) { format!("\\{:02x}", c as u32) } else { c.to_string() }).collect()
}
