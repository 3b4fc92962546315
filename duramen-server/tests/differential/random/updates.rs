//! Updates.

use duramen_ldap::message::ChangeKind;

use super::Random;
use crate::request::{Bytes, Operation, Values};
use crate::servers::SUFFIX;
use crate::words::{self, CLASSES, FITTING, Fitting, OF_PEOPLE, RDNS, VALUES};

/// The pairs of an RDN, unescaped as far as the words go.
fn pairs(rdn: &str) -> Vec<(String, Bytes)> {
    let Ok(parsed) = duramen_ldap::dn::Rdn::parse(rdn) else { return Vec::new() };
    parsed.avas().map(|ava| (ava.attribute.to_owned(), Bytes(ava.value().into_owned()))).collect()
}

impl Random {
    fn values(&mut self) -> Values {
        let (name, values) = VALUES[self.less_than(VALUES.len())];
        let count = if self.chance(5) { 2 } else { 1 };
        (name.to_owned(), (0..count).map(|_| words::bytes(self.of(values))).collect())
    }

    pub(super) fn add(&mut self) -> Operation {
        if self.chance(3) { self.wild_add() } else { self.fitting_add() }
    }

    pub(super) fn modify(&mut self) -> Operation {
        if self.chance(2) { self.wild_modify() } else { self.fitting_modify() }
    }

    /// An entry as its class has it, most likely new, below one that may have some below it.
    fn fitting_add(&mut self) -> Operation {
        let Fitting { class, naming, must, may } = &FITTING[self.less_than(FITTING.len())];
        let value = format!("{}{}", self.of(&["zoe", "Yves", "x ", "new"]), self.less_than(100));
        let mut attributes: Vec<Values> = vec![("objectClass".into(), vec![Bytes::from(*class)])];
        if !self.chance(4) {
            attributes.push((naming.to_string(), vec![value.as_str().into()]));
        }
        attributes.extend(must.iter().map(|&(name, value)| (name.to_owned(), vec![Bytes::from(value)])));
        for _ in 0..self.less_than(4) {
            let (name, values) = may[self.less_than(may.len())];
            if !attributes.iter().any(|(there, _)| there == name) {
                attributes.push((name.to_owned(), vec![self.of(values).into()]));
            }
        }
        let parent = self.container();
        Operation::Add { name: format!("{naming}={value},{parent}"), attributes }
    }

    /// A change of a person that its class allows.
    fn fitting_modify(&mut self) -> Operation {
        let name = self.person();
        let changes = (0..1 + self.less_than(2)).map(|_| {
            let (attribute, values) = OF_PEOPLE[self.less_than(OF_PEOPLE.len())];
            let kinds = [ChangeKind::Replace, ChangeKind::Replace, ChangeKind::Add, ChangeKind::Delete];
            let kind = kinds[self.less_than(kinds.len())];
            let mut values: Vec<Bytes> = vec![self.of(values).into()];
            if kind == ChangeKind::Delete && self.chance(2) {
                values.clear();
            }
            (kind, (attribute.to_owned(), values))
        });
        Operation::Modify { changes: changes.collect(), name }
    }

    fn wild_add(&mut self) -> Operation {
        let rdn = self.of(&RDNS);
        let parent = if self.chance(3) { self.name() } else { format!("ou=people,{SUFFIX}") };
        let one = |name: &str, value: &str| (name.to_owned(), vec![Bytes::from(value)]);
        let class = self.of(&CLASSES);
        let mut attributes = vec![one("objectClass", class)];
        for (name, value) in pairs(rdn) {
            if !self.chance(8) {
                attributes.push((name, vec![value]));
            }
        }
        for (of, name, value) in [
            ("erson", "cn", "new"),
            ("erson", "sn", "new"),
            ("groupOfNames", "member", "uid=alice,ou=people,dc=example,dc=com"),
            ("alias", "aliasedObjectName", "uid=bob,ou=people,dc=example,dc=com"),
            ("referral", "ref", "ldap://elsewhere.example/ou=x"),
        ] {
            let there = attributes.iter().any(|(there, _)| there.eq_ignore_ascii_case(name));
            if class.ends_with(of) && !there && !self.chance(8) {
                attributes.push(one(name, value));
            }
        }
        if ["alias", "referral", "posixAccount"].contains(&class) || self.chance(10) {
            attributes[0].1.push("extensibleObject".into());
        }
        while self.chance(2) {
            let more = self.values();
            attributes.push(more);
        }
        Operation::Add { name: format!("{rdn},{parent}"), attributes }
    }

    pub(super) fn delete(&mut self) -> Operation {
        Operation::Delete { name: self.name() }
    }

    fn wild_modify(&mut self) -> Operation {
        let kinds = [
            ChangeKind::Add,
            ChangeKind::Add,
            ChangeKind::Delete,
            ChangeKind::Replace,
            ChangeKind::Replace,
            ChangeKind::Increment,
        ];
        let count = 1 + self.less_than(3);
        let changes = (0..count).map(|_| {
            let kind = kinds[self.less_than(kinds.len())];
            let mut values = self.values();
            if kind == ChangeKind::Increment && !self.chance(3) {
                let name = self.of(&["uidNumber", "gidNumber", "shadowLastChange"]);
                values = (name.into(), vec![self.of(&["3", "-1", "0", "x", "99999999999"]).into()]);
            } else if self.chance(3) && (matches!(kind, ChangeKind::Delete | ChangeKind::Replace) || self.chance(8)) {
                values.1.clear();
            }
            (kind, values)
        });
        let changes = changes.collect();
        Operation::Modify { name: self.name(), changes }
    }

    pub(super) fn rename(&mut self) -> Operation {
        let superior = if self.chance(3) { Some(self.name()) } else { None };
        let name = self.name();
        // Its own name again, a piece of it, or another one.
        let rdn = match self.rng.u32(..8) {
            0 => name.split(',').next().unwrap_or_default().to_owned(),
            1 => name.split(['+', ',']).next().unwrap_or_default().to_uppercase(),
            _ => self.of(&RDNS).to_owned(),
        };
        Operation::ModifyDn { name, rdn, delete_old: self.chance(2), superior }
    }
}
