//! Whether the tables of a directory fit together.
//!
//! Owns: what is looked at. Must not know: how anything is mended.

use std::collections::{HashMap, HashSet};

use duramen::{Snapshot, Table};
use duramen_ldap::ber::tlv_len;
use uuid::Uuid;

use crate::entry::{Entry, LargeAttribute};
use crate::failure::Result;
use crate::index::{
    Extractor, Kind, Reach, count, equal, has, has_window, is_container, is_of_windows, is_trigram, low_of, records,
    shared, waiting_changes, window_of,
};
use crate::inner::Inner;
use crate::large;
use crate::names;
use crate::reindex::{Postings, collect};
use crate::schema::AttributeId;
use crate::state::State;
use crate::tables::{ALL, COPY, INDEX, Id, Tables, WAITING, read_id};
use crate::update::{self, Draft};

/// Problems that are told; then the rest is only counted.
const TOLD: u64 = 100;

/// Whether a container has an entry.
fn is_in(index: &Table<'_>, key: &[u8], id: Id) -> Result<bool> {
    let container = index.get(key)?.filter(|bytes| is_container(bytes));
    Ok(container.is_some_and(|bytes| has(bytes, low_of(id))))
}

struct Checker<'c> {
    state: &'c State,
    tables: Tables<'c>,
    problem: &'c mut dyn FnMut(String),
    problems: u64,
    /// Ids that the index should have, all keys counted, and those that are about to go.
    postings: u64,
    /// Waiting trigrams that entries have.
    coming: u64,
}

impl Inner {
    pub(crate) fn check(&self, problem: &mut dyn FnMut(String), progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let snapshot = self.db.read()?;
        let state = self.state_of(&snapshot)?;
        let tables = Tables::Snapshot(&snapshot);
        let mut checker = Checker { state: &state, tables, problem, problems: 0, postings: 0, coming: 0 };
        if !checker.readable(&snapshot)? {
            return Ok(());
        }
        let entries = tables.entry()?;
        let mut extractor = Extractor::new(&state.schema, &state.ready);
        for (n, item) in (1..).zip(entries.iter()) {
            let (key, bytes) = item?;
            match (read_id(key), Entry::parse(bytes)) {
                (Some(id), Some(entry)) => checker.entry(id, &entry, bytes, &mut extractor)?,
                (id, _) => checker.say(format!("entry {}: it cannot be read", id.unwrap_or(0))),
            }
            if n % 1000 == 0 {
                progress(n, entries.len());
            }
        }
        checker.names()?;
        checker.waiting()?;
        checker.index()?;
        checker.identifiers()?;
        if checker.problems > TOLD {
            let more = checker.problems - TOLD;
            (checker.problem)(format!("and {more} more"));
        }
        Ok(())
    }
}

impl Checker<'_> {
    fn say(&mut self, text: String) {
        self.problems += 1;
        if self.problems <= TOLD {
            (self.problem)(text);
        }
    }

    /// Whether everything can be read at all. Else it says what cannot, and what to do: the indices can be made anew.
    fn readable(&mut self, snapshot: &Snapshot<'_>) -> Result<bool> {
        let mut damaged = Vec::new();
        for name in ALL {
            match snapshot.table(name).and_then(|table| table.iter().try_for_each(|item| item.map(drop))) {
                Ok(()) => {}
                // Versions that made no copies did not have it.
                Err(duramen::Error::NoSuchTable { .. }) if name == COPY => {}
                Err(duramen::Error::Corrupt { page, what }) => {
                    self.say(format!("table `{name}`: page {page} is damaged: {what}"));
                    damaged.push(name);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if damaged.iter().any(|name| ![INDEX, WAITING].contains(name)) {
            self.say("restore the directory from a backup or an export".to_string());
        } else if !damaged.is_empty() {
            let cure = "the entries are whole: `duramen directory reindex --all` makes the indices anew; should that fail, \
                        import what `duramen directory export` writes into a new folder";
            self.say(cure.to_string());
        }
        Ok(damaged.is_empty())
    }

    fn entry(&mut self, id: Id, entry: &Entry<'_>, bytes: &[u8], extractor: &mut Extractor<'_>) -> Result<()> {
        let names = self.tables.name()?;
        let normalized = if entry.parent == 0 {
            names::normalize(&self.state.schema, entry.rdn())
        } else {
            names::normalized_rdn(&self.state.schema, entry.rdn())
        };
        let found = match normalized {
            Ok(rdn) => names.get(names::child_key(entry.parent, &rdn))?.and_then(read_id),
            Err(_) => None,
        };
        if found != Some(id) {
            self.say(format!("entry {id} ({}): its name leads to {found:?}", entry.rdn()));
        }
        if entry.parent != 0 && self.tables.entry()?.get(entry.parent.to_be_bytes())?.is_none() {
            self.say(format!("entry {id} ({}): there is no entry {}, its parent", entry.rdn(), entry.parent));
        }
        self.structural(id, entry);
        for stored in entry.large() {
            self.outside(id, &stored)?;
        }
        self.keys(id, bytes, extractor)
    }

    /// That values outside an entry are as many and as long as it notes.
    fn outside(&mut self, id: Id, stored: &LargeAttribute) -> Result<()> {
        let (name, mut count, mut bytes) = (&stored.description, 0, 0);
        for value in large::values(&self.tables.value()?, id, stored.id)? {
            (count, bytes) = (count + 1, bytes + tlv_len(value?.len()));
        }
        if count != stored.count {
            self.say(format!("entry {id}: {name} has {count} values and should have {}", stored.count));
        }
        if bytes != stored.bytes as usize {
            self.say(format!("entry {id}: the values of {name} take {bytes} bytes and should take {}", stored.bytes));
        }
        Ok(())
    }

    /// That the structural class is the one that follows from the classes.
    fn structural(&mut self, id: Id, entry: &Entry<'_>) {
        let schema = &self.state.schema;
        let draft = Draft::of(entry);
        let classes = update::check::classes(schema, &draft);
        let structural = classes.and_then(|classes| update::check::structural(schema, &classes));
        // Classes may be gone from the schema since.
        let Ok(structural) = structural else { return };
        if let Err(failure) = update::check::said_structural(schema, &draft, structural) {
            self.say(format!("entry {id} ({}): {}", entry.rdn(), failure.diagnostic));
        }
    }

    /// That the index has an entry under every key it should.
    fn keys(&mut self, id: Id, bytes: &[u8], extractor: &mut Extractor<'_>) -> Result<()> {
        let mut postings = Postings::new();
        collect(extractor, &self.tables, id, bytes, &mut postings)?;
        let (index, waiting) = (self.tables.index()?, self.tables.waiting()?);
        let waiting: HashMap<_, _> =
            waiting_changes(&waiting, id)?.into_iter().map(|change| (change.key().to_vec(), change.comes())).collect();
        for key in postings.keys() {
            let comes = waiting.get(key).copied();
            if !comes.map_or_else(|| is_in(&index, key, id), Ok)? {
                self.say(format!("entry {id}: the index lacks it under {:02x?}", &key[..key.len().min(24)]));
            }
            *if comes == Some(true) { &mut self.coming } else { &mut self.postings } += 1;
        }
        Ok(())
    }

    /// That what is waiting is to be done.
    fn waiting(&mut self) -> Result<()> {
        let (index, mut coming) = (self.tables.index()?, 0);
        for record in records(&self.tables.waiting()?) {
            let (id, record) = record?;
            for change in record.changes(id) {
                if !self.is_ready(&change.key()) {
                    continue;
                }
                *if change.comes() { &mut coming } else { &mut self.postings } += 1;
                if is_in(&index, &change.key(), id)? == change.comes() {
                    self.say(format!("entry {id}: it is waiting, and done, under {:02x?}", change.key()));
                }
            }
        }
        self.at_most(coming, self.coming, "waiting trigrams");
        Ok(())
    }

    /// Whether a key is of an index that is complete.
    fn is_ready(&self, key: &[u8]) -> bool {
        let Some(&[high, low, kind]) = key.first_chunk::<3>() else { return false };
        self.state.ready.has_kind(AttributeId(u16::from_be_bytes([high, low])), kind)
    }

    /// That every name leads to an entry, and that numbers of children are right.
    fn names(&mut self) -> Result<()> {
        let (names, entries) = (self.tables.name()?, self.tables.entry()?);
        let mut parent: Option<(Id, u32, u32)> = None;
        let mut seen = 0;
        for item in names.iter() {
            let (key, value) = item?;
            let (Some(of), Some(number)) = (read_id(key), read_id(value)) else {
                self.say("table `name`: a record is too short".to_string());
                continue;
            };
            if key.len() == 4 {
                self.children(parent.replace((of, number, 0)));
                continue;
            }
            seen += 1;
            match &mut parent {
                Some((id, _, children)) if *id == of => *children += 1,
                _ if of == 0 => {}
                _ => self.say(format!("entry {of} has entries below it, and no number of them")),
            }
            if entries.get(number.to_be_bytes())?.is_none() {
                self.say(format!("table `name`: a name below entry {of} leads to {number}, which is not there"));
            }
        }
        self.children(parent);
        if seen != entries.len() {
            self.say(format!("there are {seen} names and {} entries", entries.len()));
        }
        Ok(())
    }

    fn children(&mut self, parent: Option<(Id, u32, u32)>) {
        if let Some((id, said, counted)) = parent
            && said != counted
        {
            self.say(format!("entry {id}: {said} entries should be below it, and {counted} are"));
        }
    }

    /// That the index has nothing else, and that windows of trigrams are those that have them.
    fn index(&mut self) -> Result<()> {
        let index = self.tables.index()?;
        let (mut counted, mut trigrams, mut windows) = (0, 0, 0);
        for item in index.iter() {
            let (key, bytes) = item?;
            let known = &key[..key.len().min(24)];
            if !is_container(bytes) || window_of(key).is_none() {
                self.say(format!("index: what is under {known:02x?} is no set of ids"));
            } else if !self.is_ready(key) {
                continue;
            } else if is_of_windows(key) {
                windows += count(bytes);
            } else {
                counted += count(bytes);
                trigrams += u64::from(is_trigram(key));
                if !has_window(&index, key)? {
                    self.say(format!("index: the windows of a trigram lack the one of {known:02x?}"));
                }
            }
        }
        self.at_most(counted, self.postings, "ids");
        self.at_most(windows, trigrams, "windows of trigrams");
        Ok(())
    }

    /// That one entry has an entryUUID, as far as an index can tell.
    fn identifiers(&mut self) -> Result<()> {
        let known = self.state.schema.known().entry_uuid;
        if !self.state.ready.has_kind(known, Kind::Equality as u8) {
            return Ok(());
        }
        shared(&self.tables.index()?, known, &mut |value| {
            if self.are_of_different_suffixes(value)? {
                return Ok(());
            }
            let identifier = Uuid::from_slice(value).unwrap_or_default();
            self.say(format!("more than one entry has the entryUUID {identifier}"));
            Ok(())
        })
    }

    /// Whether entries with one entryUUID are each below another suffix: copies of what was moved from one to the other, or is in
    /// databases of their own elsewhere.
    fn are_of_different_suffixes(&self, identifier: &[u8]) -> Result<bool> {
        let known = self.state.schema.known().entry_uuid;
        let ids = equal(&self.tables.index()?, known, identifier, &Reach::all())?;
        let entries = self.tables.entry()?;
        let tops: HashSet<Id> = ids.iter().map(|id| names::top(&entries, id)).collect::<Result<_>>()?;
        Ok(tops.len() as u64 == ids.len())
    }

    fn at_most(&mut self, counted: u64, right: u64, what: &str) {
        if counted > right {
            let more = counted - right;
            self.say(format!("the indices have {more} {what} too many: run `duramen directory reindex --all`"));
        }
    }
}
