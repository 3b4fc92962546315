//! An import into a directory that has entries already, and one that is only tried.

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use duramen::WriteTxn;
use duramen_ldap::message::ResultCode;

use super::prepare::Prepared;
use super::{Identifiers, ImportError, ImportOptions, Imported, Listener, Taken, Taker, prepared, set_parent};
use crate::clock::Moment;
use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::history::{self, Change, What};
use crate::index::{Extractor, KeySet, Reach, equal, merge_all};
use crate::inner::Inner;
use crate::meta;
use crate::names::{self, child_key};
use crate::state::State;
use crate::tables::{COPY, Id, Ids, Tables, read_id};
use crate::update::structure::{self, Governing};
use crate::update::{Batch, Draft, identifiers_are_indexed, is_identifier_of_another, same_identifier};

/// Entries of one transaction, at most: there may be fewer where the text has to be waited for.
const TOGETHER: u64 = 500;

pub(super) fn run(
    inner: &Inner,
    file: &str,
    text: &mut dyn BufRead,
    options: ImportOptions,
    listener: Listener<'_>,
) -> Result<Imported, ImportError> {
    if options.dry_run {
        return try_out(inner, file, text, options, listener);
    }
    let state = inner.state();
    let identifiers = if identifiers_are_indexed(&state) { Identifiers::Taker } else { Identifiers::memory() };
    let mut batches = Batches { inner, state, txn: None, count: 0 };
    let imported = prepared(inner, (file, text), options, identifiers, listener, &mut batches);
    // What came before a problem is kept: it is told where to go on.
    batches.pause()?;
    imported
}

/// Entries on their way into the directory. A transaction is open only while there are some to be added: others who want
/// to write wait for it, and the text may come from somebody who says nothing for hours.
struct Batches<'i> {
    inner: &'i Inner,
    state: Arc<State>,
    txn: Option<WriteTxn<'static>>,
    /// Entries that were looked at in it.
    count: u64,
}

impl Taker for Batches<'_> {
    fn take(&mut self, entry: Prepared) -> Result<Taken, ImportError> {
        let open = match &mut self.txn {
            Some(open) => open,
            none => {
                let mut begun = begin(self.inner)?;
                let ids = Ids::open(&mut begun)?;
                self.state = self.inner.state_in(&begun, ids)?;
                none.insert(begun)
            }
        };
        let added = add(open, &self.state, entry, self.inner.clock.now());
        // Those that are refused take their time, too.
        self.count += 1;
        if self.count >= TOGETHER {
            self.pause()?;
        }
        Ok(added?.map_or(Taken::Yes, Taken::Early))
    }

    fn pause(&mut self) -> Result<(), ImportError> {
        self.count = 0;
        self.txn.take().map_or(Ok(()), commit)?;
        Ok(())
    }
}

/// Begins a transaction. Where all entries have gone since the last one another import may have begun, which would take away
/// what is added now if it failed.
fn begin(inner: &Inner) -> Result<WriteTxn<'static>, ImportError> {
    let mut txn = inner.db.begin_write()?;
    match meta::is_importing(&mut txn)? {
        true => Err(Failure::new(ResultCode::BUSY, meta::IMPORTING).into()),
        false => Ok(txn),
    }
}

/// Commits, with what the entries have in the index: they have most of it in common.
fn commit(mut txn: WriteTxn<'_>) -> duramen::Result<()> {
    merge_all(&mut txn)?;
    txn.commit()
}

/// Adds one entry; gives it back if its parent is not there.
fn add(
    txn: &mut WriteTxn<'_>,
    state: &State,
    mut entry: Prepared,
    now: Moment,
) -> Result<Option<Prepared>, ImportError> {
    let ids = Ids::open(txn)?;
    if is_copied(txn, &entry.name)? {
        let text = "it is below a suffix that is a copy of another server's (`[replica]` of the configuration): import it there";
        return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text).into());
    }
    let batch = {
        let tables = Tables::Txn(txn, ids);
        let (names, entries) = (tables.name()?, tables.entry()?);
        let parent = match entry.parent() {
            None => 0,
            Some(name) => match names::find_entry(&names, &state.suffixes, name)? {
                Some(id) => id,
                None => return Ok(Some(entry)),
            },
        };
        let key = child_key(parent, entry.rdn());
        if names.contains_key(&key)? {
            let text = format!("there is an entry {:?} already", entry.name);
            return Err(Failure::new(ResultCode::ENTRY_ALREADY_EXISTS, text).into());
        }
        unlike_stored(state, &tables, &entry)?;
        structure::placed_below(&state.schema, &tables, &entry.rules, parent, entry.rdn())?;
        let last = entries.last()?.map_or(Some(0), |(key, _)| read_id(key));
        let id: Id = last.and_then(|last| last.checked_add(1)).ok_or_else(|| damaged("table `entry`"))?;
        set_parent(&mut entry.bytes, parent);
        let mut batch = Batch::default();
        if state.history > 0 {
            let number = history::next(&tables.history()?, now)?;
            batch.notes.kept = state.history;
            batch.notes.changes.push(Change { number, nth: 0, id, what: What::Added });
            batch.notes.foreign = Some(number).filter(|_| keeps_number(state, &entry.bytes, number));
            if batch.notes.foreign.is_none() {
                entry.bytes = numbered(state, &entry.bytes, number)?;
            }
        }
        let mut keys = KeySet::default();
        let mut extractor = Extractor::new(&state.schema, &state.kept);
        let mut keep = |key: &[u8]| keys.insert(key);
        let parsed = Entry::parse(&entry.bytes).ok_or_else(|| damaged("the new entry"))?;
        extractor.entry(&parsed, |_| true, &mut keep);
        let large: Vec<_> = parsed.large().collect();
        for (mut key, value) in entry.values {
            key[..4].copy_from_slice(&id.to_be_bytes());
            let kind = large.iter().find(|large| key[4..6] == large.id.number().to_be_bytes());
            if let Some(kind) = kind {
                extractor.value(kind.id, &value, &mut keep);
            }
            batch.value(key, Some(value));
        }
        batch.index(id, None, Some(keys));
        batch.put_name(key, id, entry.marks);
        batch.add_children(parent, 1);
        batch.put_entry(id, entry.bytes);
        batch
    };
    batch.apply(txn, ids)?;
    Ok(None)
}

/// Whether an entry keeps the number that it came with: if it is later than that of its change. Whoever keeps a copy would pass over
/// others (slapd does).
fn keeps_number(state: &State, entry: &[u8], number: Moment) -> bool {
    let known = state.schema.known().entry_csn;
    let said = Entry::parse(entry).and_then(|entry| entry.of_type(known).next()?.values().iter().next());
    said.is_some_and(|said| said > &number.csn()[..])
}

/// An entry with the number of its change.
fn numbered(state: &State, entry: &[u8], number: Moment) -> Result<Vec<u8>> {
    let entry = Entry::parse(entry).ok_or_else(|| damaged("the new entry"))?;
    let (schema, mut draft) = (&state.schema, Draft::of(&entry));
    draft.set(schema.attribute(schema.known().entry_csn), number.csn().to_vec());
    draft.build(schema, entry.parent, entry.rdn(), entry.marks())
}

/// Whether a normalized name is in a copy of another server's entries, which that one has filled.
fn is_copied(txn: &mut WriteTxn<'_>, name: &str) -> duramen::Result<bool> {
    let table = txn.table(COPY)?;
    if table.is_empty() {
        return Ok(false);
    }
    for item in table.iter() {
        let (suffix, _) = item?;
        if std::str::from_utf8(suffix).is_ok_and(|suffix| names::below_suffix(name, suffix).is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// That no entry below the same suffix has the same entryUUID, as far as an index can tell.
fn unlike_stored(state: &State, tables: &Tables<'_>, entry: &Prepared) -> Result<()> {
    let Some(identifier) = entry.identifier else { return Ok(()) };
    if !is_identifier_of_another(state, tables, identifier, None)? {
        return Ok(());
    }
    let Some(suffix) = names::suffix_of(&state.suffixes, &entry.name) else { return Ok(()) };
    let Some(top) = names::find_entry(&tables.name()?, &state.suffixes, &suffix.normalized)? else { return Ok(()) };
    let known = state.schema.known().entry_uuid;
    let (all, entries) = (equal(&tables.index()?, known, identifier.as_bytes(), &Reach::all())?, tables.entry()?);
    for id in all.iter() {
        if names::is_within(&entries, id, top)? {
            return Err(same_identifier(&entry.name, identifier));
        }
    }
    Ok(())
}

/// Checks everything, and writes nothing.
fn try_out(
    inner: &Inner,
    file: &str,
    text: &mut dyn BufRead,
    options: ImportOptions,
    listener: Listener<'_>,
) -> Result<Imported, ImportError> {
    let state = inner.state();
    let snapshot = inner.db.read()?;
    let tables = Tables::Snapshot(&snapshot);
    let table = tables.name()?;
    // Names, and the structure rules that govern what they are of.
    let mut seen: HashMap<String, Governing> = HashMap::new();
    prepared(inner, (file, text), options, Identifiers::memory(), listener, &mut |entry: Prepared| {
        let find = |name: &str| names::find_entry(&table, &state.suffixes, name);
        if seen.contains_key(&entry.name) || find(&entry.name)?.is_some() {
            let text = format!("there is an entry {:?} already", entry.name);
            return Err(Failure::new(ResultCode::ENTRY_ALREADY_EXISTS, text).into());
        }
        let (rules, rdn) = (&entry.rules, entry.rdn());
        let governing = match entry.parent().map(|parent| (parent, seen.get(parent))) {
            None => structure::placed(&state.schema, rules, None, rdn)?,
            Some((_, Some(above))) => structure::placed(&state.schema, rules, Some(above), rdn)?,
            Some((parent, None)) => match find(parent)? {
                Some(id) => structure::placed_below(&state.schema, &tables, rules, id, rdn)?,
                None => return Ok(Taken::Early(entry)),
            },
        };
        unlike_stored(&state, &tables, &entry)?;
        seen.insert(entry.name, governing);
        Ok(Taken::Yes)
    })
}
