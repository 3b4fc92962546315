//! Requests about attribute types that are kinds of each other, and about classes.

use duramen_ldap::message::{ChangeKind, Deref, Scope};

use super::Random;
use crate::controls::{Control, Kind as ControlKind};
use crate::families::{CLASSES, FAMILY, OTHER_NAMES, SELECTIONS};
use crate::request::{Bytes, Operation, Request, Search, Values};
use crate::servers::SUFFIX;

impl Random {
    /// From here on all requests are about families.
    pub fn choose_families(&mut self) {
        self.kinds = FAMILY.iter().collect();
        self.is_about_families = true;
    }

    /// What an attribute is called, perhaps by another name.
    pub(super) fn called(&mut self, name: &str) -> String {
        let others: Vec<_> = OTHER_NAMES.iter().filter(|(of, _)| *of == name).map(|(_, other)| *other).collect();
        if others.is_empty() || !self.chance(4) { name.to_owned() } else { self.of(&others).to_owned() }
    }

    fn classes(&mut self, count: usize) -> Values {
        ("objectClass".to_owned(), (0..count).map(|_| self.of(&CLASSES).into()).collect())
    }

    fn thing(&mut self) -> String {
        self.existing_with(&["cn=thing", "cn=made", "fleaf=", "fsingle=", "ftop="]).unwrap_or_else(|| self.existing())
    }

    /// An entry of some classes, with what they require most of the time.
    fn add_thing(&mut self) -> Operation {
        let name = format!("thing{}", self.less_than(20));
        let count = 1 + self.less_than(2);
        let mut attributes = vec![self.classes(count), ("cn".into(), vec![name.as_str().into()])];
        let asked = |classes: &[Bytes], words: &[&str]| {
            let is_one = |class: &Bytes| words.iter().any(|word| class.0.eq_ignore_ascii_case(word.as_bytes()));
            classes.iter().any(is_one)
        };
        let (is_special, is_aux) = (
            asked(&attributes[0].1, &["fSpecial", "1.3.6.1.4.1.99999.9.22"]),
            asked(&attributes[0].1, &["fAux", "fAuxBelow"]),
        );
        if is_aux && !self.chance(6) {
            attributes[0].1.push("fThing".into());
        }
        if is_special && !self.chance(6) {
            attributes.push(("fLeaf".into(), vec!["red".into()]));
        }
        if is_aux && !self.chance(6) {
            attributes.push(("fSingle".into(), vec!["1".into()]));
        }
        for _ in 0..self.less_than(3) {
            let more = self.values_of_a_kind();
            if !attributes.iter().any(|(there, _)| *there == more.0) {
                attributes.push(more);
            }
        }
        Operation::Add { name: format!("cn={name},ou=places,{SUFFIX}"), attributes }
    }

    fn modify_thing(&mut self) -> Operation {
        let kinds = [ChangeKind::Add, ChangeKind::Add, ChangeKind::Delete, ChangeKind::Replace];
        let mut changes = Vec::new();
        for _ in 0..1 + self.less_than(3) {
            let kind = kinds[self.less_than(kinds.len())];
            let is_class = self.chance(3);
            let count = 1 + self.less_than(2);
            let mut values = if is_class { self.classes(count) } else { self.values_of_a_kind() };
            if kind != ChangeKind::Add && !is_class && self.chance(3) {
                values.1.clear();
            }
            changes.push((kind, values));
        }
        // What all may have.
        if self.chance(3) {
            let kind = kinds[self.less_than(kinds.len())];
            changes = vec![(kind, ("fTop".to_owned(), vec![self.of(&["Red", "blue", "two  words"]).into()]))];
        }
        // What goes together: a class, and what it requires.
        if self.chance(4) {
            let (class, attribute, value) =
                if self.chance(2) { ("fAux", "fSingle", "2") } else { ("fSpecial", "fLeaf", "blue") };
            let kind = if self.chance(3) { ChangeKind::Delete } else { ChangeKind::Add };
            let of = |name: &str, value: &str| (kind, (name.to_owned(), vec![Bytes::from(value)]));
            changes = vec![of("objectClass", class), of(attribute, value)];
        }
        Operation::Modify { name: self.thing(), changes }
    }

    fn rename_thing(&mut self) -> Operation {
        let value = self.less_than(9);
        let rdn = match self.less_than(5) {
            0 => format!("fLeaf=leaf{value}"),
            1 => format!("fSingle={value}"),
            2 => format!("fHead=head{value}"),
            3 => format!("cn=made{value}+fTop=x"),
            _ => format!("cn=made{value}"),
        };
        Operation::ModifyDn { name: self.thing(), rdn, delete_old: self.chance(2), superior: None }
    }

    fn search_things(&mut self) -> Operation {
        let item = |random: &mut Random| match random.less_than(5) {
            0 => format!("({}={})", random.of(&["objectClass", "structuralObjectClass"]), random.of(&CLASSES)),
            _ => random.item_about_kinds(),
        };
        let filter = match self.less_than(4) {
            0 => format!("(&{}{})", item(self), item(self)),
            1 => format!("(&(cn=*)(!{}))", item(self)),
            _ => item(self),
        };
        Operation::Search(Search {
            base: format!("ou=places,{SUFFIX}"),
            scope: Scope::Subtree,
            deref: Deref::Never,
            filter,
            attributes: self.selection_of_things(),
            size_limit: 0,
            types_only: self.chance(10),
        })
    }

    fn selection_of_things(&mut self) -> Vec<String> {
        self.of(&SELECTIONS).iter().map(|name| name.to_string()).collect()
    }

    pub(super) fn about_families(&mut self) -> Request {
        let operation = match self.less_than(20) {
            0..=3 => self.add_thing(),
            4..=9 => self.modify_thing(),
            10 => self.rename_thing(),
            11 => Operation::Delete { name: self.thing() },
            12 | 13 => {
                let (attribute, mut values) = self.values_of_a_kind();
                Operation::Compare { name: self.thing(), attribute, value: values.remove(0) }
            }
            _ => self.search_things(),
        };
        let mut request = Request::from(operation);
        if self.chance(5) {
            let kind = match (&mut request.operation, self.less_than(3)) {
                (Operation::Search(_), 0) => ControlKind::MatchedValues(vec![self.item_about_kinds()]),
                (Operation::Search(search), _) => {
                    let key = self.of(&["fTop", "fLeaf", "fSingle", "fExact"]);
                    search.attributes = vec![key.to_owned()];
                    ControlKind::Sort(vec![(key, None, self.chance(2))])
                }
                (Operation::Modify { .. }, 0) => ControlKind::Permissive,
                (Operation::Modify { .. } | Operation::Delete { .. }, 1) => {
                    ControlKind::PreRead(self.selection_of_things())
                }
                (Operation::Modify { .. } | Operation::Add { .. }, 2) => {
                    ControlKind::PostRead(self.selection_of_things())
                }
                _ => ControlKind::Assertion(self.item_about_kinds()),
            };
            request.controls.push(Control { kind, critical: self.chance(2) });
        }
        request
    }
}
