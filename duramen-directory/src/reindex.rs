//! Building indices while the directory is in use.
//!
//! Owns: the order of the steps. From the moment when an index is asked for, updates keep it; what is older is added
//! piece by piece, in transactions that share commits with updates; then searches use it. Whoever stops in between
//! leaves an index that is not complete and is begun anew.

use std::collections::HashMap;
use std::sync::Arc;

use duramen::{Error, WriteTxn};
use duramen_ldap::message::ResultCode;

use crate::error::OpenError;
use crate::failure::{Failure, Result};
use crate::filter::each_value;
use crate::index::{
    CONTAINER_BITS, Extractor, Indices, Kind, add_all, bits, in_window, kind_prefix, low_of, merge_all,
};
use crate::inner::Inner;
use crate::schema::AttributeId;
use crate::state::{self, State};
use crate::tables::{ENTRY, INDEX, Id, Ids, Tables, WAITING, read_id};

/// Entries of one piece.
const PIECE: usize = 500;

/// Lower bits of ids by key.
pub(crate) type Postings = HashMap<Vec<u8>, Vec<u16>>;

const KINDS: [(Kind, u8); 5] = [
    (Kind::Presence, bits::PRESENCE),
    (Kind::Equality, bits::EQUALITY),
    (Kind::Several, bits::EQUALITY),
    (Kind::Trigram, bits::SUBSTRING),
    (Kind::Windows, bits::SUBSTRING),
];

impl Inner {
    pub(crate) fn reindex(self: &Arc<Inner>, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<()> {
        let state = self.state_of(&self.db.read()?)?;
        self.db.submit(merge_all)?;
        self.drop_leftovers(&state)?;
        if state.wanted.is_empty() {
            return Ok(());
        }
        let mut missing = Indices::default();
        state.wanted.iter().for_each(|(id, kinds)| missing.set(*id, *kinds));
        let missing = Arc::new(missing);
        let wanted = state.wanted.clone();
        self.step(&state, move |txn| clear(txn, &wanted))?;
        let total = self.db.read()?.table(ENTRY)?.len();
        let (mut from, mut done) = (Some(0), 0);
        while let Some(id) = from {
            let (of, missing) = (state.clone(), missing.clone());
            let (next, count) = self.step(&state, move |txn| piece(txn, &of, &missing, id))?;
            from = next;
            done += count;
            if !progress(done, total) {
                let text = "stopped: the indices that were being built are not complete";
                return Err(Failure::new(ResultCode::CANCELED, text));
            }
        }
        let finished = state.clone();
        self.step(&state, move |txn| complete(txn, &finished))?;
        self.reload().map_err(|error| Failure::new(ResultCode::OTHER, error.to_string()))
    }

    /// Builds all indices anew, whatever is there of them: in one transaction, since other processes search by them.
    pub(crate) fn rebuild_indices(&self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<()> {
        let failed = |error: OpenError| Failure::new(ResultCode::OTHER, error.to_string());
        let mut txn = self.db.begin_write()?;
        let state = self.renewed(&mut txn).map_err(failed)?;
        [INDEX, WAITING].into_iter().try_for_each(|name| txn.table(name)?.clear().map(drop))?;
        let (total, mut from, mut done) = (txn.table(ENTRY)?.len(), Some(0), 0);
        while let Some(id) = from {
            let (next, count) = piece(&mut txn, &state, &state.kept, id)?;
            from = next;
            done += count;
            if !progress(done, total) {
                return Err(Failure::new(ResultCode::CANCELED, "stopped: the indices are as they were"));
            }
        }
        for attribute in state.schema.attributes() {
            let kinds = state.kept.get(attribute.id);
            state::write_index(&mut txn, &state.schema, attribute.id, kinds, kinds)?;
        }
        txn.commit()?;
        self.reload().map_err(failed)
    }

    /// Makes a change, if schema and indices are still those of the state: who has changed them since may have made updates that
    /// did not keep what is being built, or keep what is being deleted.
    fn step<R: Send + 'static>(
        &self,
        state: &State,
        change: impl FnOnce(&mut WriteTxn<'_>) -> duramen::Result<R> + Send + 'static,
    ) -> Result<R> {
        let as_of = state.as_of;
        let step = move |txn: &mut WriteTxn<'_>| {
            let ids = Ids::open(txn)?;
            match txn.view(ids.meta)?.changed_in()? {
                found if found.is_some() && found == as_of => change(txn),
                _ => Err(Error::Usage { what: "another program has changed the directory meanwhile: begin anew" }),
            }
        };
        Ok(self.db.submit(step)?)
    }

    /// Deletes keys of indices that are not kept.
    fn drop_leftovers(&self, state: &State) -> Result<()> {
        let snapshot = self.db.read()?;
        let table = snapshot.table(INDEX)?;
        let mut left = Vec::new();
        let mut from = vec![0u8];
        while let Some(item) = table.range(&from[..]..)?.next() {
            let (key, _) = item?;
            let Some(&[high, low, kind]) = key.first_chunk::<3>() else { break };
            let id = AttributeId(u16::from_be_bytes([high, low]));
            if !state.kept.has_kind(id, kind) {
                left.push([high, low, kind]);
            }
            let Some(behind) = behind([high, low, kind]) else { break };
            from = behind.to_vec();
        }
        drop(snapshot);
        for prefix in left {
            self.step(state, move |txn| delete_prefix(txn, prefix))?;
        }
        Ok(())
    }
}

fn delete_prefix(txn: &mut WriteTxn<'_>, prefix: [u8; 3]) -> duramen::Result<()> {
    let mut table = txn.table(INDEX)?;
    match behind(prefix) {
        Some(end) => table.delete_range(prefix..end),
        None => table.delete_range(prefix..),
    }
    .map(drop)
}

/// What follows all keys of a prefix; `None` behind the last, which only damage brings about.
fn behind([high, low, kind]: [u8; 3]) -> Option<[u8; 3]> {
    let [_, high, low, kind] = u32::from_be_bytes([0, high, low, kind]).checked_add(1)?.to_be_bytes();
    ([high, low, kind] != [0; 3]).then_some([high, low, kind])
}

/// Takes away what is there of kinds that are to be built.
fn clear(txn: &mut WriteTxn<'_>, wanted: &[(AttributeId, u8)]) -> duramen::Result<()> {
    merge_all(txn)?;
    for (id, kinds) in wanted {
        for (kind, bit) in KINDS {
            if kinds & bit != 0 {
                delete_prefix(txn, kind_prefix(*id, kind))?;
            }
        }
    }
    Ok(())
}

/// Adds the keys of one entry: to those of its container.
pub(crate) fn collect(
    extractor: &mut Extractor<'_>,
    tables: &Tables<'_>,
    id: Id,
    bytes: &[u8],
    postings: &mut Postings,
) -> Result<()> {
    let entry = crate::entry::Entry::parse(bytes).ok_or_else(|| crate::failure::damaged(format_args!("entry {id}")))?;
    let low = low_of(id);
    let mut whole = Vec::new();
    let mut add = |key: &[u8]| {
        in_window(&mut whole, key, id >> CONTAINER_BITS);
        match postings.get_mut(&whole) {
            Some(lows) if lows.last() == Some(&low) => {}
            Some(lows) => lows.push(low),
            None => drop(postings.insert(whole.clone(), vec![low])),
        }
    };
    extractor.entry(&entry, |_| true, &mut add);
    for large in entry.large() {
        each_value(tables, id, &entry, large.id, |value| {
            extractor.value(large.id, value, &mut add);
            Ok(())
        })?;
    }
    Ok(())
}

/// Adds the keys of some entries; where the next piece begins, and how many entries these were.
fn piece(txn: &mut WriteTxn<'_>, state: &State, missing: &Indices, from: Id) -> duramen::Result<(Option<Id>, u64)> {
    let ids = Ids::open(txn)?;
    // What is waiting says how an entry differs from what the index has of it, which is about to change.
    merge_all(txn)?;
    let mut postings = Postings::new();
    let (mut next, mut count) = (None, 0);
    {
        let tables = Tables::Txn(txn, ids);
        let mut extractor = Extractor::new(&state.schema, missing);
        for item in tables.entry()?.range(from.to_be_bytes()..)? {
            let (key, bytes) = item?;
            let damaged = Error::Usage { what: "an entry is damaged: run `duramen directory check`" };
            let Some(id) = read_id(key) else { return Err(damaged) };
            if count == PIECE as u64 {
                next = Some(id);
                break;
            }
            collect(&mut extractor, &tables, id, bytes, &mut postings).map_err(|_| damaged)?;
            count += 1;
        }
    }
    let mut postings: Vec<_> = postings.into_iter().collect();
    postings.sort_unstable();
    let mut index = txn.table_by_id(ids.index)?;
    for (key, lows) in postings {
        add_all(&mut index, &key, &lows)?;
    }
    Ok((next, count))
}

/// Says that the indices are complete, as far as they are still asked for: others no update has kept meanwhile.
fn complete(txn: &mut WriteTxn<'_>, state: &State) -> duramen::Result<()> {
    for (id, kinds) in &state.wanted {
        let (ready, wanted) = state::read_index(txn, &state.schema, *id)?;
        state::write_index(txn, &state.schema, *id, ready | (kinds & wanted), wanted)?;
    }
    Ok(())
}
