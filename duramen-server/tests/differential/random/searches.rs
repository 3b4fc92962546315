//! Searches and comparisons.

use duramen_ldap::message::{Deref, Scope};

use super::Random;
use crate::request::{Operation, Search};
use crate::servers::SUFFIX;
use crate::words::{RULES, SELECTIONS, escape};

impl Random {
    pub(super) fn search(&mut self) -> Operation {
        let scopes = [Scope::Base, Scope::One, Scope::Subtree, Scope::Subtree, Scope::Subordinates];
        let derefs = [Deref::Never, Deref::Never, Deref::InSearching, Deref::FindingBase, Deref::Always];
        let depth = if self.chance(20) { 8 } else { 3 };
        Operation::Search(Search {
            // What the root DSE has is each server's own.
            base: if self.chance(2) {
                SUFFIX.into()
            } else {
                Some(self.name()).filter(|name| !name.is_empty()).unwrap_or(SUFFIX.into())
            },
            scope: scopes[self.less_than(scopes.len())],
            deref: derefs[self.less_than(derefs.len())],
            filter: self.filter(depth),
            attributes: self.selection(),
            size_limit: if self.chance(8) { [1, 2, 3, 1000][self.less_than(4)] } else { 0 },
            types_only: self.chance(10),
        })
    }

    pub(super) fn selection(&mut self) -> Vec<String> {
        self.of(&SELECTIONS).iter().map(|name| name.to_string()).collect()
    }

    pub(super) fn compare(&mut self) -> Operation {
        let (attribute, value) = self.asked();
        Operation::Compare { name: self.name(), attribute: attribute.into(), value }
    }

    pub(super) fn filter(&mut self, depth: u32) -> String {
        match self.rng.u32(..if depth == 0 { 8 } else { 14 }) {
            0..=7 => self.item(),
            8 | 9 => format!("(&{})", self.filters(depth)),
            10 | 11 => format!("(|{})", self.filters(depth)),
            _ => format!("(!{})", self.filter(depth - 1)),
        }
    }

    fn filters(&mut self, depth: u32) -> String {
        (0..self.rng.u32(..4)).map(|_| self.filter(depth - 1)).collect()
    }

    /// A filter without others in it.
    pub(super) fn item(&mut self) -> String {
        let (name, value) = self.asked();
        let escaped = escape(&value.0);
        // Each server makes up its own: whether one is less than another says nothing.
        let is_made_up = name == "entryUUID";
        match self.rng.u32(..16) {
            0 | 1 => format!("({name}=*)"),
            2 if !is_made_up => format!("({name}>={escaped})"),
            3 if !is_made_up => format!("({name}<={escaped})"),
            4..=6 if value.0.len() > 1 => self.substrings(name, &value.0),
            7 => self.extensible(name, &escaped),
            8 => "(objectClass=*)".to_owned(),
            9 if self.chance(2) => format!("({name}~={escaped})"),
            _ => format!("({name}={escaped})"),
        }
    }

    pub(super) fn substrings(&mut self, name: &str, value: &[u8]) -> String {
        let text = String::from_utf8_lossy(value).into_owned();
        let characters: Vec<char> = text.chars().collect();
        let (from, to) = (self.less_than(characters.len()), self.less_than(characters.len() + 1));
        let piece: String = characters[from.min(to)..from.max(to)].iter().collect();
        let piece = if self.chance(4) { piece } else { piece.trim().to_owned() };
        match (self.rng.u32(..5), escape(piece.as_bytes())) {
            (_, piece) if piece.is_empty() => format!("({name}=*)"),
            (0, piece) => format!("({name}={piece}*)"),
            (1, piece) => format!("({name}=*{piece})"),
            (2, piece) => format!("({name}=*{piece}*)"),
            (3, piece) => format!("({name}={piece}*{piece})"),
            (_, piece) => {
                let (first, last) = (escape(characters[0].to_string().as_bytes()), characters[characters.len() - 1]);
                format!("({name}={first}*{piece}*{})", escape(last.to_string().as_bytes()))
            }
        }
    }

    fn extensible(&mut self, name: &str, value: &str) -> String {
        let rule = self.of(&RULES);
        match self.rng.u32(..6) {
            0 => format!("({name}:={value})"),
            1 => format!("({name}:dn:={value})"),
            2 => format!("(:{rule}:={value})"),
            3 => format!("(:dn:{rule}:={value})"),
            4 => format!("({name}:dn:{rule}:={value})"),
            _ => format!("({name}:{rule}:={value})"),
        }
    }
}
