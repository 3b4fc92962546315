//! Binds, extended operations, controls.

use duramen_ldap::oid::control as oid;

use super::Random;
use crate::controls::{By, Control, Kind};
use crate::request::{Operation, Request};
use crate::servers::ADMINISTRATOR;
use crate::words::{KEYS, PASSWORDS};

/// Attributes whose values are names, and some that are not there, or are others.
const FOLLOWED: [&str; 8] = ["member", "uniqueMember", "manager", "seeAlso", "roleOccupant", "owner", "cn", "nothing"];
/// What is wanted of the entries that they name.
const WANTED: [&str; 7] = ["cn", "uid", "objectClass", "sn", "telephoneNumber", "entryUUID", "nothing"];

impl Random {
    fn password(&mut self) -> String {
        self.of(&PASSWORDS).to_owned()
    }

    fn somebody(&mut self) -> String {
        match self.rng.u32(..8) {
            0 => ADMINISTRATOR.to_owned(),
            1 => String::new(),
            2 => self.name(),
            _ => {
                let people: Vec<_> = self.names.iter().filter(|name| name.starts_with("uid=")).cloned().collect();
                if people.is_empty() { String::new() } else { people[self.less_than(people.len())].clone() }
            }
        }
    }

    /// A bind, or what is about who one is.
    pub(super) fn other(&mut self) -> Operation {
        if self.chance(3) {
            return self.extended();
        }
        let name = self.somebody();
        // Half of the time the password that it had at the beginning.
        let own = name.strip_prefix("uid=").and_then(|rest| rest.split(',').next()).unwrap_or("secret");
        let password = if self.chance(2) { own.to_owned() } else { self.password() };
        Operation::Bind { name, password }
    }

    pub(super) fn extended(&mut self) -> Operation {
        match self.rng.u32(..6) {
            0 => Operation::Extended { name: "1.3.6.1.4.1.99999.2" },
            1..=3 => Operation::WhoAmI,
            _ => {
                let user = if self.chance(3) { None } else { Some(self.somebody()) };
                let old = if self.chance(2) { None } else { Some(self.password()) };
                let new = if self.chance(4) { None } else { Some(self.password()) };
                Operation::PasswordModify { user, old, new }
            }
        }
    }

    /// One or two controls, mostly such as belong to the operation.
    pub(super) fn controls(&mut self, request: &mut Request) {
        for _ in 0..1 + self.rng.u32(..4) / 3 {
            let kind = if self.chance(10) { self.any() } else { self.fitting(&request.operation) };
            let critical = self.chance(2);
            // Values that were sorted by have to be there to be compared.
            if let (Kind::Sort(keys), Operation::Search(search)) = (&kind, &mut request.operation) {
                search.attributes = keys.iter().map(|(name, ..)| name.to_string()).collect();
            }
            request.controls.push(Control { kind, critical });
        }
    }

    fn fitting(&mut self, operation: &Operation) -> Kind {
        match (operation, self.rng.u32(..10)) {
            (Operation::Bind { .. }, _) => Kind::Unknown,
            (_, 0) => Kind::ManageDsaIt,
            (_, 1) => Kind::Assertion(self.filter(1)),
            (Operation::Search(_), 2 | 3) => Kind::Paged(1 + self.rng.u32(..5)),
            (Operation::Search(_), 4 | 5) => self.sort(),
            (Operation::Search(_), 6) => Kind::MatchedValues((0..1 + self.less_than(4)).map(|_| self.item()).collect()),
            (Operation::Search(_), 7) => Kind::DomainScope,
            (Operation::Search(_), 8) => self.dereference(),
            (Operation::Search(_), _) => Kind::Subentries(self.chance(2)),
            (Operation::Modify { .. }, 2 | 3) => Kind::Permissive,
            (Operation::Delete { .. }, 2 | 3) => Kind::PreRead(self.selection()),
            (Operation::Add { .. }, 2..=4) => Kind::PostRead(self.selection()),
            (_, 4) => Kind::PreRead(self.selection()),
            (_, 5) => Kind::PostRead(self.selection()),
            (_, 6) => Kind::Relax,
            _ => self.any(),
        }
    }

    /// Names that are followed, and what is wanted of their entries.
    fn dereference(&mut self) -> Kind {
        let mut followed = FOLLOWED.to_vec();
        let wanted = (0..1 + self.rng.usize(..3) / 2).map(|_| {
            let followed = followed.swap_remove(self.rng.usize(..followed.len()));
            (followed, (0..1 + self.rng.usize(..3)).map(|_| self.of(&WANTED).to_string()).collect())
        });
        Kind::Dereference(wanted.collect())
    }

    fn sort(&mut self) -> Kind {
        let key = |random: &mut Random| -> By {
            let key = random.of(&KEYS);
            let rule = match random.less_than(8) {
                0 => Some("noSuchMatch"),
                1 if ["uid", "cn", "sn"].contains(&key) => Some("caseIgnoreOrderingMatch"),
                2 if ["uid", "cn", "sn"].contains(&key) => Some("2.5.13.3"),
                3 if ["uidNumber", "gidNumber"].contains(&key) => Some("integerOrderingMatch"),
                _ => None,
            };
            (key, rule, random.chance(2))
        };
        Kind::Sort((0..1 + self.rng.u32(..4) / 2).map(|_| key(self)).collect())
    }

    fn any(&mut self) -> Kind {
        match self.rng.u32(..15) {
            0 => Kind::Paged(2),
            1 => self.sort(),
            2 => Kind::Assertion(self.filter(0)),
            3 => Kind::PreRead(self.selection()),
            4 => Kind::PostRead(self.selection()),
            5 => Kind::ManageDsaIt,
            6 => Kind::Subentries(true),
            7 => Kind::Permissive,
            8 => Kind::Relax,
            9 => Kind::Proxied(format!("dn:{}", self.somebody())),
            10 => Kind::Nonsense(self.of(&[
                oid::PAGED_RESULTS,
                oid::SORT_REQUEST,
                oid::ASSERTION,
                oid::PRE_READ,
                oid::MATCHED_VALUES,
                oid::SUBENTRIES,
                oid::MANAGE_DSA_IT,
            ])),
            11 => Kind::Proxied(String::new()),
            12 => Kind::TreeDelete,
            13 => Kind::DomainScope,
            _ => Kind::Unknown,
        }
    }
}
