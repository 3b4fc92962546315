//! An import into an empty directory: tables loaded as a whole.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::BufRead;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;

use duramen::{BulkOptions, Table};
use duramen_ldap::message::ResultCode;
use uuid::Uuid;

use super::lines::Lines;
use super::prepare::Prepared;
use super::{
    Identifiers, ImportError, ImportEvent, ImportOptions, ImportProblem, Imported, Listener, Taken, prepared,
    set_parent,
};
use crate::failure::{Failure, Result};
use crate::index::{CONTAINER_BITS, Extractor, Kind, Reach, Set, Windows, encode, equal, shared};
use crate::inner::Inner;
use crate::names::{self, child_key, child_value};
use crate::reindex::{Postings, collect};
use crate::schema::{AttributeId, Schema};
use crate::state::State;
use crate::tables::{ENTRY, INDEX, Id, NAME, Tables, VALUE, read_id};
use crate::update::same_identifier;
use crate::update::structure::{self, Governing};

pub(super) fn run(
    inner: &Inner,
    file: &str,
    text: &mut dyn BufRead,
    options: ImportOptions,
    listener: Listener<'_>,
) -> Result<Imported, ImportError> {
    let (state, mut tree, mut lines) = (inner.state(), Tree::default(), Lines::default());
    let schema = &state.schema;
    let mut entries = inner.db.bulk_load(ENTRY, BulkOptions::new().sorted(true))?;
    // The index tells it as well, but only when everything is loaded, and too late to leave something out.
    let is_indexed = state.kept.has_kind(schema.known().entry_uuid, Kind::Equality as u8) && !options.skip_problems;
    let identifiers = if is_indexed { Identifiers::Taker } else { Identifiers::memory() };
    let imported = prepared(inner, (file, text), options, identifiers, listener, &mut |mut entry: Prepared| {
        let Some((id, parent)) = tree.place(schema, &entry)? else { return Ok(Taken::Early(entry)) };
        set_parent(&mut entry.bytes, parent);
        lines.push(entry.line);
        entries.push(id.to_be_bytes(), &entry.bytes)?;
        for (mut key, value) in entry.values {
            key[..4].copy_from_slice(&id.to_be_bytes());
            tree.values.push((key, value));
        }
        Ok(Taken::Yes)
    })?;
    entries.finish()?;
    tree.write(inner)?;
    index(inner, listener)?;
    if is_indexed {
        unlike_each_other(inner, schema.known().entry_uuid, file, &lines)?;
    }
    Ok(imported)
}

/// That no two entries below one suffix have one entryUUID. Told is the first that has that of one before it.
fn unlike_each_other(inner: &Inner, known: AttributeId, file: &str, lines: &Lines) -> Result<(), ImportError> {
    let snapshot = inner.db.read()?;
    let tables = Tables::Snapshot(&snapshot);
    let (index, entries) = (tables.index()?, tables.entry()?);
    let mut first: Option<(Id, Uuid)> = None;
    shared(&index, known, &mut |value| {
        let second = second_below_one(&entries, &equal(&index, known, value, &Reach::all())?)?;
        let identifier = Uuid::from_slice(value).unwrap_or_default();
        if let Some(id) = second.filter(|id| first.is_none_or(|(other, _)| *id < other)) {
            first = Some((id, identifier));
        }
        Ok(())
    })?;
    let Some((id, identifier)) = first else { return Ok(()) };
    let name = names::name_of(&entries, id)?;
    let what = same_identifier(&name, identifier).to_string();
    Err(ImportProblem { file: file.to_string(), line: lines.line(id), what }.into())
}

/// The first of some entries that is below the same suffix as one before it.
fn second_below_one(entries: &Table<'_>, ids: &Set) -> Result<Option<Id>> {
    let mut tops = HashSet::new();
    for id in ids.iter() {
        if !tops.insert(names::top(entries, id)?) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// What is known of the entries that were taken.
#[derive(Default)]
struct Tree {
    /// Two hashes of a normalized name, to the id. Half the memory of names.
    ids: HashMap<u128, Id>,
    hashers: (RandomState, RandomState),
    /// Keys and values of table `name`: length of the key, key, value.
    names: Vec<u8>,
    /// By id.
    children: Vec<u32>,
    values: Vec<(Vec<u8>, Vec<u8>)>,
    /// Structure rules that govern entries, by id; empty without such rules.
    governing: Vec<Governing>,
}

impl Tree {
    fn hash(&self, name: &str) -> u128 {
        u128::from(self.hashers.0.hash_one(name)) << 64 | u128::from(self.hashers.1.hash_one(name))
    }

    /// Gives an entry its id, and finds its parent's. `None` if that has not come yet.
    fn place(&mut self, schema: &Schema, entry: &Prepared) -> Result<Option<(Id, Id)>> {
        let parent = match entry.parent() {
            None => 0,
            Some(name) => match self.ids.get(&self.hash(name)) {
                Some(id) => *id,
                None => return Ok(None),
            },
        };
        let hash = self.hash(&entry.name);
        if self.ids.contains_key(&hash) {
            let text = format!("{}: an entry of this name came before", entry.name);
            return Err(Failure::new(ResultCode::ENTRY_ALREADY_EXISTS, text));
        }
        let id =
            Id::try_from(self.ids.len() + 1).map_err(|_| Failure::new(ResultCode::OTHER, "there are no more ids"))?;
        self.govern(schema, entry, parent)?;
        self.ids.insert(hash, id);
        self.children.resize(id as usize + 1, 0);
        self.children[parent as usize] += 1;
        let key = child_key(parent, entry.rdn());
        let key_bytes = u16::try_from(key.len()).expect("keys of names are short");
        self.names.extend_from_slice(&key_bytes.to_le_bytes());
        self.names.extend_from_slice(&key);
        self.names.extend_from_slice(&child_value(id, entry.marks));
        Ok(Some((id, parent)))
    }

    /// Finds the structure rules that govern the next entry.
    fn govern(&mut self, schema: &Schema, entry: &Prepared, parent: Id) -> Result<()> {
        if schema.rules().structures.is_empty() {
            return Ok(());
        }
        // Ids begin with 1.
        let above = (parent as usize).checked_sub(1).map(|place| self.governing[place].as_slice());
        self.governing.push(structure::placed(schema, &entry.rules, above, entry.rdn())?);
        Ok(())
    }

    fn write(self, inner: &Inner) -> Result<(), ImportError> {
        drop(self.ids);
        let mut names = inner.db.bulk_load(NAME, BulkOptions::new())?;
        let mut rest = self.names.as_slice();
        while let Some((length, behind)) = rest.split_first_chunk::<2>() {
            let (key, behind) = behind.split_at(usize::from(u16::from_le_bytes(*length)));
            let (value, behind) = behind.split_at(5);
            names.push(key, value)?;
            rest = behind;
        }
        for (id, count) in (0u32..).zip(&self.children).filter(|(id, count)| *id != 0 && **count > 0) {
            names.push(id.to_be_bytes(), count.to_be_bytes())?;
        }
        names.finish()?;
        let mut values = inner.db.bulk_load(VALUE, BulkOptions::new())?;
        for (key, value) in &self.values {
            values.push(key, value)?;
        }
        values.finish()?;
        Ok(())
    }
}

/// Makes table `index` of the entries that are stored: each thread takes windows of as many ids as a container has.
fn index(inner: &Inner, listener: Listener<'_>) -> Result<(), ImportError> {
    let state = inner.state();
    let total = inner.db.read()?.table(ENTRY)?.len();
    let last = u32::try_from(total).unwrap_or(Id::MAX) >> CONTAINER_BITS;
    let mut load = inner.db.bulk_load(INDEX, BulkOptions::new())?;
    let mut windows = Windows::default();
    let next = AtomicU32::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<Result<Postings>>(threads);
        for _ in 0..threads {
            let (send, state, next) = (send.clone(), &state, &next);
            scope.spawn(move || {
                loop {
                    let high = next.fetch_add(1, Ordering::Relaxed);
                    if high > last || send.send(window(inner, state, high)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for (n, postings) in (1u64..).zip(&receive) {
            for (key, lows) in postings? {
                windows.note(&key);
                load.push(key, encode(&lows))?;
            }
            let done = total.min(n << CONTAINER_BITS);
            if !listener(ImportEvent::Indexed { done, total }) {
                return Err(ImportError::Stopped);
            }
        }
        Ok(())
    })?;
    windows.into_records().try_for_each(|(key, container)| load.push(key, container))?;
    load.finish()?;
    Ok(())
}

/// The keys of the entries whose ids have these upper bits.
fn window(inner: &Inner, state: &State, high: u32) -> Result<Postings> {
    let snapshot = inner.db.read()?;
    let tables = Tables::Snapshot(&snapshot);
    let mut extractor = Extractor::new(&state.schema, &state.kept);
    let mut postings = Postings::default();
    let first = high << CONTAINER_BITS;
    for item in tables.entry()?.range(first.to_be_bytes()..)? {
        let (key, bytes) = item?;
        let Some(id) = read_id(key).filter(|id| id >> CONTAINER_BITS == high) else { break };
        collect(&mut extractor, &tables, id, bytes, &mut postings)?;
    }
    Ok(postings)
}
