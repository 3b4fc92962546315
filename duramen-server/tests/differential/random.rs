//! Random requests, right and wrong ones.

mod families;
mod kinds;
mod others;
mod searches;
mod updates;

use fastrand::Rng;

use crate::kinds::Kind;
use crate::request::{Bytes, Request};
use crate::servers::SUFFIX;
use crate::words::{self, ASKED, VALUES};

pub struct Random {
    rng: Rng,
    /// Names of entries that are there, or have been.
    names: Vec<String>,
    /// What all requests are about, if there are some.
    kinds: Vec<&'static Kind>,
    is_about_families: bool,
    is_about_many: bool,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random {
            rng: Rng::with_seed(seed),
            names: vec![SUFFIX.to_owned()],
            kinds: Vec::new(),
            is_about_families: false,
            is_about_many: false,
        }
    }

    /// These entries are there now.
    pub fn learn<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        self.names = names.cloned().collect();
    }

    pub fn less_than(&mut self, end: usize) -> usize {
        self.rng.usize(..end)
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.rng.usize(..list.len())]
    }

    pub fn chance(&mut self, one_in: u32) -> bool {
        self.rng.u32(..one_in) == 0
    }

    /// The name of an entry that is there.
    fn existing(&mut self) -> String {
        self.names[self.rng.usize(..self.names.len())].clone()
    }

    /// The name of an entry whose RDN begins so.
    fn existing_with(&mut self, prefixes: &[&str]) -> Option<String> {
        let has = |name: &&String| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let names: Vec<_> = self.names.iter().filter(has).collect();
        if names.is_empty() { None } else { Some(names[self.rng.usize(..names.len())].clone()) }
    }

    /// The name of a person, if there is still one.
    pub fn person(&mut self) -> String {
        self.existing_with(&["uid="]).unwrap_or_else(|| self.existing())
    }

    /// The name of an entry that can have others below it.
    fn container(&mut self) -> String {
        self.existing_with(&["ou=", "l=", "dc="]).unwrap_or_else(|| SUFFIX.to_owned())
    }

    fn name(&mut self) -> String {
        let name = self.existing();
        match self.rng.u32(..16) {
            0 => name.to_uppercase(),
            1 => name.replace(',', " , "),
            2 => format!("cn=nobody,{name}"),
            3 => self.of(&["dc=elsewhere", "", "no name", "uid=x,dc=example,dc=org"]).to_owned(),
            4 => name.replace("uid=", "0.9.2342.19200300.100.1.1="),
            5 => in_quotes(&name),
            _ => name,
        }
    }

    /// An attribute of those that entries have, and a value.
    fn pair(&mut self) -> (&'static str, Bytes) {
        let (name, values) = VALUES[self.rng.usize(..VALUES.len())];
        (name, words::bytes(self.of(values)))
    }

    /// An attribute that can be asked for, and a value.
    fn asked(&mut self) -> (&'static str, Bytes) {
        if self.chance(8) {
            let (name, values) = ASKED[self.rng.usize(..ASKED.len())];
            return (name, words::bytes(self.of(values)));
        }
        self.pair()
    }

    /// Of anybody; who binds and sets passwords is a guest.
    pub fn request(&mut self, guest: bool) -> Request {
        if self.is_about_families {
            return self.about_families();
        }
        if !self.kinds.is_empty() {
            return self.about_kinds();
        }
        let operation = match self.rng.u32(..24) {
            _ if guest && self.chance(2) => self.other(),
            0..=10 => self.search(),
            11 | 12 => self.compare(),
            13 | 14 => self.add(),
            15 => self.delete(),
            16..=20 => self.modify(),
            21 | 22 => self.rename(),
            _ => self.extended(),
        };
        let mut request = Request::from(operation);
        if self.chance(4) {
            self.controls(&mut request);
        }
        request
    }
}

/// The name with its first value in quotes, as LDAPv2 had them.
fn in_quotes(name: &str) -> String {
    let parts = name.split_once('=').and_then(|(attribute, rest)| Some((attribute, rest.split_once(',')?)));
    parts.map_or_else(|| name.to_owned(), |(attribute, (value, above))| format!("{attribute}=\"{value}\",{above}"))
}
