//! Requests about attributes of the test's own.

use duramen_ldap::message::{ChangeKind, Deref, Scope};

use super::Random;
use crate::controls::{By, Control, Kind as ControlKind};
use crate::kinds::{self, KINDS, Kind};
use crate::request::{Bytes, Operation, Request, Search, Values};
use crate::servers::SUFFIX;
use crate::words::{self, RULES, escape};

/// So many kinds are asked about in one world, so that requests meet.
const KINDS_OF_A_WORLD: usize = 4;

/// Kinds of whose values only those that are listed are sent: of others slapd has its own mind.
const AS_THEY_ARE: [&str; 7] = ["kPostal", "kOid", "kTriple", "kBoot", "kDelivery", "kNameUid", "kName"];

/// Kinds of which entries have very many values, and what stands before their numbers.
const MANY: [(&str, &str); 8] = [
    ("kInteger", ""),
    ("kNumber", ""),
    ("kName", "cn=v"),
    ("kNameUid", "cn=v"),
    ("kTextBare", "Value "),
    ("kOctetsBare", "o"),
    ("kText", "v"),
    ("kTelephone", "+1 "),
];

fn numbered(kind: &Kind, n: usize) -> Bytes {
    let before = MANY.iter().find(|(name, _)| *name == kind.name).map_or("", |(_, before)| before);
    format!("{before}{n}").as_str().into()
}

/// A value in a name, each byte escaped that is no letter and no digit.
fn in_name(value: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    value.iter().map(|&byte| if plain(byte) { char::from(byte).into() } else { format!("\\{byte:02x}") }).collect()
}

impl Random {
    /// From here on all requests are about a few of them.
    pub fn choose_kinds(&mut self) {
        self.kinds = (0..KINDS_OF_A_WORLD).map(|_| &KINDS[self.less_than(KINDS.len())]).collect();
    }

    /// From here on all requests are about attributes of very many values.
    pub fn choose_many(&mut self) {
        self.kinds = MANY.iter().filter_map(|(name, _)| kinds::find(name)).collect();
        self.is_about_many = true;
    }

    pub fn has_kinds(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// What has to be done before requests about them: everybody may have them.
    pub fn beginning(&mut self) -> Vec<Request> {
        let people =
            self.names.iter().filter(|name| self.has_kinds() && !self.is_about_families && name.starts_with("uid="));
        let class = || ("objectClass".to_owned(), vec![Bytes::from("extensibleObject")]);
        let all = people.map(|name| Request {
            operation: Operation::Modify { name: name.clone(), changes: vec![(ChangeKind::Add, class())] },
            controls: vec![Control { kind: ControlKind::Permissive, critical: true }],
        });
        let mut all: Vec<_> = all.collect();
        if self.is_about_many {
            for _ in 0..6 {
                let changes = self.kinds.clone().into_iter().map(|kind| (ChangeKind::Replace, self.very_many_of(kind)));
                let changes = changes.collect();
                all.push(Operation::Modify { name: self.person(), changes }.into());
            }
        }
        all
    }

    /// More values than are kept in an entry.
    fn very_many_of(&mut self, kind: &Kind) -> Values {
        let first = self.less_than(40);
        let count = 250 + self.less_than(60);
        (kind.name.to_owned(), (first..first + count).map(|n| numbered(kind, n)).collect())
    }

    fn kind(&mut self) -> &'static Kind {
        self.kinds[self.rng.usize(..self.kinds.len())]
    }

    /// One of its values, or something like it.
    fn value_of(&mut self, kind: &Kind) -> Bytes {
        if self.is_about_many {
            let value = numbered(kind, self.less_than(360));
            return if self.chance(8) && !AS_THEY_ARE.contains(&kind.name) { self.like(value) } else { value };
        }
        loop {
            let value = words::bytes(self.of(kind.values));
            let value = if self.chance(4) && !AS_THEY_ARE.contains(&kind.name) { self.like(value) } else { value };
            if kind.is_checked() || kind.is_right(&value.0) {
                return value;
            }
        }
    }

    /// A value that is perhaps equal, perhaps none at all.
    fn like(&mut self, value: Bytes) -> Bytes {
        let Ok(text) = String::from_utf8(value.0.clone()) else { return value };
        let half = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2).unwrap_or(0);
        let (front, back) = text.split_at(half);
        let text = match self.less_than(10) {
            0 => text.to_uppercase(),
            1 => text.to_lowercase(),
            2 => format!(" {text}"),
            3 => format!("{text} "),
            4 => text.replace(' ', "   "),
            5 => format!("{front}-{back}"),
            6 => format!("{text}x"),
            7 => front.to_owned(),
            8 => format!("{front} {back}"),
            _ => format!("{text}{text}"),
        };
        text.as_str().into()
    }

    fn kind_and_value(&mut self) -> (&'static Kind, Bytes) {
        // Some kinds have no values for names.
        let kind = if self.chance(8) { &KINDS[self.less_than(KINDS.len())] } else { self.kind() };
        (kind, self.value_of(kind))
    }

    fn values_of(&mut self, kind: &Kind) -> Values {
        if self.is_about_many && self.chance(8) {
            let (_, values) = self.very_many_of(kind);
            return (self.description_of(kind), values);
        }
        let count = [1, 1, 1, 2, 3][self.less_than(5)];
        let values = (0..count).map(|_| self.value_of(kind)).collect();
        (self.description_of(kind), values)
    }

    fn description_of(&mut self, kind: &Kind) -> String {
        match self.less_than(16) {
            0 => format!("{};lang-de", kind.name),
            1 => kind.name.to_uppercase(),
            _ => self.called(kind.name),
        }
    }

    pub(super) fn about_kinds(&mut self) -> Request {
        let operation = match self.less_than(20) {
            0..=6 => self.modify_kinds(),
            7..=14 => self.search_kinds(),
            15 | 16 => {
                let kind = self.kind();
                let value = self.value_of(kind);
                Operation::Compare { name: self.person(), attribute: self.description_of(kind), value }
            }
            17 | 18 => self.rename_by_kinds(),
            _ => self.add_with_kinds(),
        };
        let mut request = Request::from(operation);
        if self.chance(4) {
            let kind = self.control_about_kinds(&mut request.operation);
            request.controls.push(Control { kind, critical: self.chance(2) });
        }
        request
    }

    fn modify_kinds(&mut self) -> Operation {
        let kinds = [ChangeKind::Add, ChangeKind::Add, ChangeKind::Delete, ChangeKind::Replace, ChangeKind::Replace];
        let one = self.kind();
        let count = 1 + self.less_than(3);
        let changes = (0..count).map(|_| {
            let kind = if self.chance(4) { self.kind() } else { one };
            let (description, mut values) = self.values_of(kind);
            let change = if self.chance(12) { ChangeKind::Increment } else { kinds[self.less_than(kinds.len())] };
            match change {
                ChangeKind::Delete | ChangeKind::Replace if self.chance(4) => values.clear(),
                ChangeKind::Increment => values = vec![self.of(&["3", "-1", "0", "x", "", "1.5"]).into()],
                _ => {}
            }
            (change, (description, values))
        });
        Operation::Modify { changes: changes.collect(), name: self.person() }
    }

    fn search_kinds(&mut self) -> Operation {
        let filter = match self.less_than(4) {
            0 => format!("(&{}{})", self.item_about_kinds(), self.item_about_kinds()),
            1 => format!("(|{}(!{}))", self.item_about_kinds(), self.item_about_kinds()),
            _ => self.item_about_kinds(),
        };
        Operation::Search(Search {
            base: SUFFIX.into(),
            scope: Scope::Subtree,
            deref: Deref::Never,
            filter,
            attributes: self.names_of_kinds(),
            size_limit: 0,
            types_only: false,
        })
    }

    fn names_of_kinds(&self) -> Vec<String> {
        self.kinds.iter().map(|kind| kind.name.to_owned()).collect()
    }

    pub(super) fn values_of_a_kind(&mut self) -> Values {
        let kind = self.kind();
        self.values_of(kind)
    }

    pub(super) fn item_about_kinds(&mut self) -> String {
        let kind = self.kind();
        let (name, value) = (self.description_of(kind), self.value_of(kind));
        let escaped = escape(&value.0);
        match self.less_than(12) {
            0 => format!("({name}=*)"),
            1 => format!("({name}>={escaped})"),
            2 => format!("({name}<={escaped})"),
            // slapd takes half an escape of an address for none, and spaces beside a dollar sign for spaces.
            3 | 4
                if value.0.len() > 1
                    && !(kind.name == "kPostal" && value.0.iter().any(|byte| b"\\ ".contains(byte))) =>
            {
                self.substrings(&name, &value.0)
            }
            // Only spaces are no name for slapd.
            5 if !value.0.trim_ascii().is_empty() => {
                let own = if kind.equality.is_empty() { "octetStringMatch" } else { kind.equality };
                let rule = if self.chance(3) { self.of(&RULES) } else { own };
                match self.less_than(4) {
                    0 => format!("({name}:={escaped})"),
                    1 => format!("(:dn:{rule}:={escaped})"),
                    2 => format!("({name}:dn:{rule}:={escaped})"),
                    _ => format!("({name}:{rule}:={escaped})"),
                }
            }
            _ => format!("({name}={escaped})"),
        }
    }

    fn rdn_of_kinds(&mut self) -> String {
        loop {
            let (kind, value) = self.kind_and_value();
            let text = std::str::from_utf8(&value.0).unwrap_or_default();
            // slapd takes no others in names.
            if text.contains(char::is_alphanumeric) && !["kUuid", "kCountry"].contains(&kind.name) {
                return format!("{}={}", kind.name, in_name(&value.0));
            }
        }
    }

    fn rename_by_kinds(&mut self) -> Operation {
        let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.name.to_lowercase()).collect();
        let renamed = self.names.iter().find(|name| kinds.iter().any(|kind| name.starts_with(kind))).cloned();
        let name = renamed.filter(|_| self.chance(2)).unwrap_or_else(|| self.person());
        let rdn = match self.less_than(4) {
            0 => format!("uid=back{}", self.less_than(9)),
            1 => format!("{}+{}", self.rdn_of_kinds(), self.rdn_of_kinds()),
            _ => self.rdn_of_kinds(),
        };
        Operation::ModifyDn { name, rdn, delete_old: self.chance(2), superior: None }
    }

    fn add_with_kinds(&mut self) -> Operation {
        let rdn = if self.chance(2) { format!("uid=new{}", self.less_than(9)) } else { self.rdn_of_kinds() };
        let classes = ["account", "extensibleObject"].map(Bytes::from).to_vec();
        let mut attributes = vec![("objectClass".to_owned(), classes)];
        for _ in 0..1 + self.less_than(3) {
            let kind = self.kind();
            let values = self.values_of(kind);
            attributes.push(values);
        }
        if !rdn.starts_with("uid=") {
            attributes.push(("uid".into(), vec!["x".into()]));
        }
        Operation::Add { name: format!("{rdn},ou=people,{SUFFIX}"), attributes }
    }

    fn control_about_kinds(&mut self, operation: &mut Operation) -> ControlKind {
        match (operation, self.less_than(3)) {
            (Operation::Search(_), 0 | 1) => {
                ControlKind::MatchedValues((0..1 + self.less_than(3)).map(|_| self.item_about_kinds()).collect())
            }
            (Operation::Search(search), _) => {
                let kind = self.kind();
                let key: By = (kind.name, None, self.chance(2));
                search.attributes.push(kind.name.to_owned());
                ControlKind::Sort(vec![key])
            }
            (Operation::Modify { .. }, 0) => ControlKind::Permissive,
            (Operation::Modify { .. } | Operation::Add { .. } | Operation::ModifyDn { .. }, 1) => {
                ControlKind::PostRead(self.names_of_kinds())
            }
            _ => ControlKind::Assertion(self.item_about_kinds()),
        }
    }
}
