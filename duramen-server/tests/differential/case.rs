//! What was asked, who asked it, and both answers: what rules about differences are made of.

use duramen_ldap::dn::Dn;
use duramen_ldap::message::ChangeKind;

use crate::USERS;
use crate::answer::{Answer, Entry, SIZE_LIMIT_EXCEEDED, SUCCESS};
use crate::controls::{Control, Kind};
use crate::request::{Bytes, Operation, Request, Search, Values};

/// What descriptions have that no schema knows.
const UNKNOWN: [&str; 7] = ["99999.9.99", "nothing", "x-more", "@", "zoe", "title;binary", "modifyTimestamp;lang-de"];

const ASSERTION_FAILED: u32 = 122;

/// What was asked, and both answers.
pub struct Case<'a> {
    pub request: &'a Request,
    pub theirs: &'a Answer,
    pub ours: &'a Answer,
    /// Who asks, as in `USERS`.
    pub who: &'a str,
    /// Whether ours was made to hold the same again, so that others changed its entries.
    pub mended: bool,
}

impl Case<'_> {
    pub fn codes(&self) -> (u32, u32) {
        (self.theirs.code, self.ours.code)
    }

    pub fn said(&self, words: &str) -> bool {
        self.theirs.text.contains(words)
    }

    pub fn search(&self) -> Option<&Search> {
        match &self.request.operation {
            Operation::Search(search) => Some(search),
            _ => None,
        }
    }

    /// The filter of a search, and those in controls.
    fn filters(&self) -> impl Iterator<Item = &str> {
        fn of_control(control: &Control) -> &[String] {
            match &control.kind {
                Kind::Assertion(filter) => std::slice::from_ref(filter),
                Kind::MatchedValues(filters) => filters,
                _ => &[],
            }
        }
        let in_controls = self.request.controls.iter().flat_map(of_control);
        self.search().map(|search| &search.filter).into_iter().chain(in_controls).map(String::as_str)
    }

    /// Whether a filter has some words.
    pub fn filters_have(&self, words: &str) -> bool {
        self.filters().any(|filter| filter.contains(words))
    }

    /// What stands before and behind the first equals sign of each part of the filters.
    pub fn items(&self) -> Vec<(&str, &str)> {
        self.filters().flat_map(|filter| filter.split(['(', ')'])).filter_map(|part| part.split_once('=')).collect()
    }

    /// Whether it makes a difference to it if a sharp s is two letters s.
    pub fn is_about_sharp_s(&self) -> bool {
        let text = self.request.to_string().to_lowercase();
        ["strasse", "straße"].iter().any(|word| text.contains(word))
            || self.items().iter().any(|(_, pattern)| fits(pattern, "strasse") != fits(pattern, "straße"))
    }

    pub fn has(&self, wanted: impl Fn(&Kind) -> bool) -> bool {
        self.request.controls.iter().any(|control| wanted(&control.kind))
    }

    pub fn attribute_is(&self, names: &[&str]) -> bool {
        matches!(&self.request.operation, Operation::Compare { attribute, .. } if names.contains(&attribute.as_str()))
    }

    /// Whether both ended alike, and agree about the entries that both found.
    pub fn found_in_common(&self) -> bool {
        // With sorting, slapd loses references.
        let is_sorted = self.has(|kind| matches!(kind, Kind::Sort(_)));
        let (theirs, ours) = (&self.theirs.references, &self.ours.references);
        (theirs == ours || (is_sorted && theirs.is_empty())) && self.agrees_about_entries()
    }

    /// As [`Case::found_in_common`], whatever references were given.
    pub fn agrees_about_entries(&self) -> bool {
        let same = |(name, entry)| self.ours.entries.get(name).is_none_or(|other| other == entry);
        self.theirs.code == self.ours.code && self.theirs.entries.iter().all(same)
    }

    /// Whether a filter that finds more finds more, as none of it is negated.
    pub fn is_positive(&self) -> bool {
        !self.filters_have("(!")
    }

    /// Whether slapd found what duramend found, and perhaps more; the opposite is possible only of what is negated.
    pub fn theirs_is_more(&self) -> bool {
        let more = || self.ours.entries.keys().all(|name| self.theirs.entries.contains_key(name));
        self.found_in_common() && (!self.is_positive() || more())
    }

    /// Whether duramend found what slapd found, and perhaps more; the opposite is possible only of what is negated.
    pub fn ours_is_more(&self) -> bool {
        let more = || self.theirs.entries.keys().all(|name| self.ours.entries.contains_key(name));
        self.found_in_common() && (!self.is_positive() || more())
    }

    /// As [`Case::ours_is_more`], or as far as a limit or an assertion lets see it: a filter is true of more for duramend.
    pub fn ours_is_truer(&self) -> bool {
        self.ours_is_more() || self.is_truer(self.ours.code, self.theirs.code)
    }

    /// As [`Case::theirs_is_more`], or as far as a limit or an assertion lets see it: a filter is true of more for slapd.
    pub fn theirs_is_truer(&self) -> bool {
        self.theirs_is_more() || self.is_truer(self.theirs.code, self.ours.code)
    }

    /// Whether codes can be those of two servers for the first of which a filter is true of more; if there are negations in it,
    /// for either.
    fn is_truer(&self, first: u32, second: u32) -> bool {
        let is = |first: u32, second: u32| {
            (first, second) == (SIZE_LIMIT_EXCEEDED, SUCCESS) || (first != second && second == ASSERTION_FAILED)
        };
        is(first, second) || (!self.is_positive() && is(second, first))
    }

    /// Whether both found the same entries, and duramend shows all values that slapd shows, and perhaps more that match.
    pub fn ours_shows_more(&self) -> bool {
        self.shows_more(self.ours, self.theirs)
    }

    /// As [`Case::ours_shows_more`], the other way round.
    pub fn theirs_shows_more(&self) -> bool {
        self.shows_more(self.theirs, self.ours)
    }

    fn shows_more(&self, more: &Answer, less: &Answer) -> bool {
        let is_part = |less: &Entry, more: &Entry| {
            less.iter().all(|(name, values)| more.get(name).is_some_and(|others| values.is_subset(others)))
        };
        let mut pairs = less.entries.iter().zip(&more.entries);
        let with = Answer { entries: self.ours.entries.clone(), ..self.theirs.clone() };
        self.has(|kind| matches!(kind, Kind::MatchedValues(_)))
            && with == *self.ours
            && less.entries.len() == more.entries.len()
            && pairs.all(|((name, less), (other, more))| name == other && is_part(less, more))
    }

    /// Whether it is perhaps nobody who asks: nobody from the beginning, or a guest who binds on the way.
    pub fn may_be_nobody(&self) -> bool {
        USERS.iter().any(|(who, binds)| *who == self.who && (*binds || who.is_empty()))
            || self.has(|kind| matches!(kind, Kind::Proxied(id) if ["", "dn:"].contains(&id.as_str())))
    }

    /// Whether it is perhaps somebody whom access rules bind.
    pub fn may_be_bound_by_rules(&self) -> bool {
        self.who != "the administrator" || self.has(|kind| matches!(kind, Kind::Proxied(_)))
    }

    /// Whether it is perhaps the administrator who asks: guests bind as anybody.
    pub fn may_be_administrator(&self) -> bool {
        self.who == "the administrator" || USERS.contains(&(self.who, true))
    }

    /// Names in the request, apart from values.
    pub fn names(&self) -> Vec<&str> {
        match &self.request.operation {
            Operation::Add { name, .. } | Operation::Delete { name } | Operation::Modify { name, .. } => vec![name],
            Operation::ModifyDn { name, rdn, superior, .. } => {
                [name, rdn].into_iter().chain(superior).map(String::as_str).collect()
            }
            Operation::Bind { name, .. } | Operation::Compare { name, .. } => vec![name],
            Operation::Search(search) => vec![&search.base],
            Operation::PasswordModify { user, .. } => user.iter().map(String::as_str).collect(),
            Operation::WhoAmI | Operation::Extended { .. } => Vec::new(),
        }
    }

    pub fn changes(&self) -> &[(ChangeKind, Values)] {
        match &self.request.operation {
            Operation::Modify { changes, .. } => changes,
            _ => &[],
        }
    }

    /// Whether something of the request can be what a code says, by itself.
    pub fn can_be(&self, code: u32) -> bool {
        let operation = &self.request.operation;
        let controls = &self.request.controls;
        let is = |wanted: &[&str]| wanted.contains(&operation.kind());
        let lacks_values = |(kind, (_, values)): &(ChangeKind, Values)| {
            values.is_empty() && matches!(kind, ChangeKind::Add | ChangeKind::Increment)
        };
        match code {
            2 => !controls.is_empty() || self.changes().iter().any(lacks_values),
            8 => self.may_be_nobody(),
            10 => !self.has(|kind| matches!(kind, Kind::ManageDsaIt)),
            12 => controls.iter().any(|control| control.critical),
            17 => UNKNOWN.iter().any(|word| self.request.to_string().contains(word)),
            16 | 67 | 69 => is(&["modify", "rename"]),
            18 if is(&["compare"]) => true,
            18 | 19 | 20 | 65 => {
                is(&["add", "modify", "rename"]) || matches!(operation, Operation::PasswordModify { .. })
            }
            21 => is(&["add", "modify", "compare"]),
            34 => is(&["add", "rename"]) || self.names().iter().any(|name| Dn::parse(name).is_err()),
            50 => self.may_be_bound_by_rules(),
            53 => !is(&["search", "compare"]),
            64 => is(&["add", "modify", "rename"]),
            33 | 68 => is(&["add", "rename"]),
            66 => is(&["delete", "rename"]),
            122 => self.has(|kind| matches!(kind, Kind::Assertion(_))),
            123 => self.has(|kind| matches!(kind, Kind::Proxied(_))),
            _ => false,
        }
    }

    /// Parts of the request that can be wrong each by itself.
    pub fn parts(&self) -> usize {
        let parts = match &self.request.operation {
            Operation::Add { attributes, .. } => 1 + attributes.len(),
            Operation::Modify { changes, .. } => 1 + changes.len(),
            Operation::ModifyDn { superior, .. } => 2 + usize::from(superior.is_some()),
            Operation::Compare { .. } | Operation::Bind { .. } => 2,
            _ => 1,
        };
        parts + self.request.controls.len()
    }
}

/// Whether a word fits a pattern with asterisks, capitals or not.
fn fits(pattern: &str, word: &str) -> bool {
    let pattern = pattern.to_lowercase();
    let mut pieces = pattern.split('*');
    let Some(mut rest) = word.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// A value; the one that has a sharp s with two letters s in its place.
pub fn without_sharp_s(value: Bytes) -> Bytes {
    let folded = String::from_utf8_lossy(&value.0).to_lowercase().replace('ß', "ss");
    if folded == "strasse" { folded.as_str().into() } else { value }
}
