//! Making here what a provider has told, in one transaction.
//!
//! Owns: what becomes of the entries, their index keys, and what is noted of it for clients that keep copies of this one. Must
//! not know: in which order a provider tells, cookies.
//!
//! Each step leaves the tables fitting together. What fails takes the whole transaction with it.

use std::collections::BTreeMap;

use duramen::{Txnid, WriteTxn};
use duramen_ldap::message::{ResultCode, SearchEntry};

use super::content;
use super::tree::Unsettled;
use super::{Counts, ReplicaError};
use crate::attribute::form;
use crate::clock::Moment;
use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::history::{self, Change, Gone, Uuid, What, uuid_of};
use crate::index::{KeySet, Reach, equal, merge_all};
use crate::inner::Inner;
use crate::knowledge::Knowledge;
use crate::large;
use crate::names::{self, Suffix};
use crate::state::State;
use crate::tables::{Id, Ids, Tables, read_id};
use crate::update::{self, Batch, Draft, Place};

/// Entries have most of their keys in common where so many are written together.
const MERGED_FROM: u64 = 256;

/// The attribute by which states of an entry are told apart.
const ENTRY_CSN: &str = "entryCSN";

/// A transaction in which a copy is brought further.
pub(super) struct Writer<'w, 't> {
    pub inner: &'w Inner,
    pub txn: &'w mut WriteTxn<'t>,
    pub ids: Ids,
    pub state: &'w State,
    /// The suffix that is copied.
    pub base: &'w Suffix,
    /// The number of its changes, if such are noted.
    pub number: Option<Moment>,
    nth: u32,
    renames: Option<Txnid>,
    pub counts: Counts,
    pub unsettled: &'w mut Unsettled,
    /// What is told now was changed in this order.
    pub is_in_order: bool,
}

/// What a transaction has made, which has yet to be committed.
pub(super) struct Made {
    pub counts: Counts,
    /// Which commit it is, if names change.
    pub renames: Option<Txnid>,
}

/// What an entry was before, as far as it stays.
#[derive(Clone, Copy)]
pub(super) enum Before<'k> {
    /// It had this place.
    Here,
    /// It had the place with this key, and has left it.
    Elsewhere(&'k [u8]),
    /// It was something that stands only for its name.
    Glue,
}

impl<'w, 't> Writer<'w, 't> {
    pub fn new(
        inner: &'w Inner,
        (txn, ids): (&'w mut WriteTxn<'t>, Ids),
        state: &'w State,
        (base, unsettled): (&'w Suffix, &'w mut Unsettled),
        number: Option<Moment>,
    ) -> Writer<'w, 't> {
        let (nth, renames, counts, is_in_order) = Default::default();
        Writer { inner, txn, ids, state, base, number, nth, renames, counts, unsettled, is_in_order }
    }

    pub fn tables(&self) -> Tables<'_> {
        Tables::Txn(self.txn, self.ids)
    }

    /// The entry with an identifier.
    pub fn find(&self, uuid: &Uuid) -> Result<Option<Id>> {
        find(self.state, &self.tables(), self.base, uuid)
    }

    /// Makes an entry as it was sent.
    pub fn put(&mut self, sent: &SearchEntry<'_>, uuid: Uuid) -> Result<(), ReplicaError> {
        let state = self.state;
        let refuse = |failure| ReplicaError::Refused { entry: sent.name.to_string(), failure };
        let draft = content::draft(&state.schema, sent, uuid).map_err(refuse)?;
        let normalized = names::normalize(&state.schema, sent.name).map_err(refuse)?;
        if names::below_suffix(&normalized, &self.base.normalized).is_none() {
            let text = format!("it is not below {:?}, which is what was asked for", self.base.text);
            return Err(refuse(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text)));
        }
        self.arrive(sent.name, &normalized, uuid, draft).map(drop).map_err(|failure| match failure.code {
            // Of a database nothing is said so.
            ResultCode::ADMIN_LIMIT_EXCEEDED | ResultCode::INVALID_DN_SYNTAX => refuse(failure),
            _ => failure.into(),
        })
    }

    /// As [`Writer::put`], unless the entry is there as it is then, or later.
    pub fn put_newer(&mut self, sent: &SearchEntry<'_>, uuid: Uuid) -> Result<(), ReplicaError> {
        if let (Some(id), Some(sent_number)) = (self.find(&uuid)?, number_of_sent(sent))
            && self.number_of_stored(id)?.is_some_and(|stored| stored.as_slice() >= sent_number)
        {
            self.counts.unchanged += 1;
            return Ok(());
        }
        self.is_in_order = true;
        let put = self.put(sent, uuid);
        self.is_in_order = false;
        put
    }

    /// Whether an entry that is outdated, as it was sent, is there at all; `None` where it is news. Where several servers change what
    /// is copied, it may be another one since, or have come and gone, and whoever tells of it has not heard of that yet. `known`:
    /// which changes the copy has had for long.
    pub fn outdated(&mut self, sent: &SearchEntry<'_>, uuid: Uuid, known: &Knowledge) -> Result<Option<bool>> {
        let number = number_of_sent(sent).unwrap_or_default();
        let is_there = match self.find(&uuid)? {
            None => known.covers(number).then_some(false),
            Some(id) => {
                let is_older = self.number_of_stored(id)?.is_some_and(|stored| stored.as_slice() > number);
                self.unsettled.present.extend(Some(id).filter(|_| is_older));
                is_older.then_some(true)
            }
        };
        self.counts.unchanged += u64::from(is_there.is_some());
        Ok(is_there)
    }

    /// The number of the last change of an entry that is there.
    pub(super) fn number_of_stored(&self, id: Id) -> Result<Option<Vec<u8>>> {
        let entries = self.tables().entry()?;
        let entry = names::entry(&entries, id)?;
        let stored = entry.of_type(self.state.schema.known().entry_csn).flat_map(|found| found.values()).next();
        Ok(stored.map(<[u8]>::to_vec))
    }

    /// Takes note that an entry is there as it was; whether it is.
    pub fn keep(&mut self, uuid: &Uuid) -> Result<bool> {
        let found = self.find(uuid)?;
        self.unsettled.present.extend(found);
        Ok(found.is_some())
    }

    /// Takes an entry away; what has something below it stays as a name.
    pub fn delete(&mut self, uuid: &Uuid) -> Result<()> {
        let Some(id) = self.find(uuid)? else { return Ok(()) };
        self.forget(id, uuid);
        self.counts.deleted += 1;
        if names::child_count(&self.tables().name()?, id)? > 0 { self.hollow(id) } else { self.remove(id) }
    }

    /// Gives an entry that stays as it is otherwise another place, or another number, or both.
    pub fn rewrite(&mut self, id: Id, place: Option<Place>, number: Option<&[u8]>) -> Result<()> {
        let left = if place.is_some() { Some(self.leave(id)?.1) } else { None };
        let stored = names::entry_bytes(&self.tables().entry()?, id)?.to_vec();
        let (old, schema, mut batch) = (parsed(&stored)?, &self.state.schema, Batch::default());
        let mut draft = Draft::of(&old);
        if let Some(number) = number {
            draft.set(schema.attribute(schema.known().entry_csn), number.to_vec());
        }
        let (parent, rdn) = place.as_ref().map_or((old.parent, old.rdn()), |place| (place.parent, &place.rdn));
        let bytes = draft.build(schema, parent, rdn, old.marks())?;
        let new = parsed(&bytes)?;
        batch.index(id, Some(content::keys(self.state, &old)), Some(content::keys(self.state, &new)));
        let what = left.map_or(What::Modified, What::Renamed);
        if let Some(place) = place {
            batch.put_name(place.key, id, old.marks());
            batch.add_children(place.parent, 1);
        }
        self.note(&mut batch, id, what);
        batch.change_entry(id, bytes);
        self.write(batch)
    }

    /// Notes that an entry is gone that is not here, or was gone before.
    pub fn note_absent(&mut self, uuid: Uuid, name: String) -> Result<()> {
        // Of an id that no entry has had.
        let id = 0xF000_0000 | uuid.last_chunk().map_or(0, |bytes| Id::from_be_bytes(*bytes)) >> 4;
        let mut batch = Batch::default();
        self.note(&mut batch, id, What::Deleted(Gone { uuid, key: Vec::new(), name }));
        self.write(batch)
    }

    /// Ends it: with what it shares with all transactions that change entries.
    pub fn finish(self) -> Result<Made> {
        if self.counts.put + self.counts.deleted >= MERGED_FROM {
            merge_all(self.txn)?;
        } else {
            self.inner.merge_when_due(self.txn.view(self.ids.waiting)?.len());
        }
        Ok(Made { counts: self.counts, renames: self.renames })
    }

    pub fn write(&mut self, batch: Batch) -> Result<()> {
        self.renames = update::write(self.inner, (self.txn, self.ids), batch)?.or(self.renames);
        Ok(())
    }

    /// Notes a change down, if such is kept.
    pub fn note(&mut self, batch: &mut Batch, id: Id, what: What) {
        let Some(number) = self.number else { return };
        batch.notes.kept = self.state.history;
        batch.notes.member = self.state.member;
        batch.notes.changes.push(Change { number, nth: self.nth, id, what });
        batch.notes.foreign = Some(number);
        self.nth += 1;
    }

    /// What is noted of an entry that is there no more.
    pub fn note_gone(&mut self, batch: &mut Batch, id: Id, entry: &Entry<'_>, key: Vec<u8>) -> Result<()> {
        if self.number.is_some()
            && let Some(uuid) = uuid_of(&self.state.schema, entry)
        {
            let name = names::name_of(&self.tables().entry()?, id)?;
            self.note(batch, id, What::Deleted(Gone { uuid, key, name }));
        }
        Ok(())
    }

    pub fn next_id(&self) -> Result<Id> {
        let entries = self.tables().entry()?;
        let last = entries.last()?.map_or(Some(0), |(key, _)| read_id(key)).ok_or_else(|| damaged("table `entry`"))?;
        last.checked_add(1).ok_or_else(|| Failure::new(ResultCode::UNWILLING_TO_PERFORM, "there are no more ids"))
    }

    /// Stores an entry that is new.
    pub fn add(&mut self, place: &Place, mut draft: Draft<'_>, what: Option<What>) -> Result<Id> {
        let (state, id) = (self.state, self.next_id()?);
        move_out(state, &mut draft, id);
        let bytes = draft.build(&state.schema, place.parent, &place.rdn, draft.marks(&state.schema))?;
        let entry = parsed(&bytes)?;
        let (mut batch, mut keys) = (Batch::default(), content::keys(state, &entry));
        for large in draft.large {
            for (key, change) in large.changes {
                change.value.iter().for_each(|value| content::add_keys(state, large.stored.id, value, &mut keys));
                batch.value(key, change.value);
            }
        }
        batch.index(id, None, Some(keys));
        batch.put_name(place.key.clone(), id, entry.marks());
        batch.add_children(place.parent, 1);
        batch.put_entry(id, bytes);
        what.into_iter().for_each(|what| self.note(&mut batch, id, what));
        self.write(batch)?;
        Ok(id)
    }

    /// Puts another content, and perhaps another place, in place of what an entry has. Whether that is another.
    pub fn replace(&mut self, id: Id, place: &Place, mut draft: Draft<'_>, before: Before<'_>) -> Result<bool> {
        let state = self.state;
        move_out(state, &mut draft, id);
        let bytes = draft.build(&state.schema, place.parent, &place.rdn, draft.marks(&state.schema))?;
        let (new, mut batch) = (parsed(&bytes)?, Batch::default());
        let entries = self.tables().entry()?;
        let stored = names::entry_bytes(&entries, id)?;
        let old = parsed(stored)?;
        let (mut gone, mut come) = (KeySet::default(), KeySet::default());
        let differs = self.change_large((id, &old), &draft, (&mut gone, &mut come), &mut batch)?;
        if matches!(before, Before::Here) && !differs && stored == bytes {
            return Ok(false);
        }
        gone.append(&content::keys(state, &old));
        come.append(&content::keys(state, &new));
        batch.index(id, Some(gone), Some(come));
        let what = match before {
            Before::Here => What::Modified,
            Before::Elsewhere(key) => What::Renamed(key.to_vec()),
            Before::Glue => What::Added,
        };
        let is_moved = matches!(before, Before::Elsewhere(_));
        if is_moved || old.marks() != new.marks() {
            batch.put_name(place.key.clone(), id, new.marks());
        }
        if is_moved {
            batch.add_children(place.parent, 1);
        }
        self.note(&mut batch, id, what);
        batch.change_entry(id, bytes);
        self.write(batch)?;
        Ok(true)
    }

    /// What changes of the values of an entry that are outside of it, and of their keys in the index; whether anything does.
    fn change_large(
        &self,
        (id, old): (Id, &Entry<'_>),
        draft: &Draft<'_>,
        (gone, come): (&mut KeySet, &mut KeySet),
        batch: &mut Batch,
    ) -> Result<bool> {
        if !old.has_large() && draft.large.is_empty() {
            return Ok(false);
        }
        let (state, table, mut differs) = (self.state, self.tables().value()?, false);
        let mut wanted: BTreeMap<&[u8], (&[u8], _)> = BTreeMap::new();
        for large in &draft.large {
            let values = large.changes.iter().filter_map(|(key, change)| Some((key, change.value.as_ref()?)));
            wanted.extend(values.map(|(key, value)| (key.as_slice(), (value.as_slice(), large.stored.id))));
        }
        // What has gone from under an option may still be outside.
        for large in &draft.large {
            let rule = state.schema.attribute(large.stored.id).equality;
            for value in old.of_type(large.stored.id).flat_map(|found| found.values()) {
                if wanted.contains_key(&large::key(id, large.stored.id, &form(&state.schema, rule, value))[..]) {
                    content::add_keys(state, large.stored.id, value, come);
                }
            }
        }
        for large in old.large() {
            for pair in large::pairs(&table, id, large.id)? {
                let (key, value) = pair?;
                match wanted.remove(key) {
                    Some((new, _)) if new == value => {}
                    Some((new, _)) => {
                        batch.value(key.to_vec(), Some(new.to_vec()));
                        differs = true;
                    }
                    None => {
                        content::add_keys(state, large.id, value, gone);
                        batch.value(key.to_vec(), None);
                        differs = true;
                    }
                }
            }
        }
        for (key, (value, attribute)) in wanted {
            content::add_keys(state, attribute, value, come);
            batch.value(key.to_vec(), Some(value.to_vec()));
            differs = true;
        }
        Ok(differs)
    }

    /// Takes an entry away that has nothing below it, and what stands above it only for its sake.
    pub fn remove(&mut self, id: Id) -> Result<()> {
        let state = self.state;
        let stored = names::entry_bytes(&self.tables().entry()?, id)?.to_vec();
        let (entry, mut batch) = (parsed(&stored)?, Batch::default());
        let (parent, key) = (entry.parent, names::key_of(&state.schema, &entry)?);
        batch.index(id, Some(content::all_keys(state, &self.tables(), id, &entry)?), None);
        batch.delete_name(key.clone());
        batch.add_children(parent, -1);
        batch.delete_entry(id);
        self.note_gone(&mut batch, id, &entry, key)?;
        self.write(batch)?;
        self.tidy(parent)
    }

    /// Leaves nothing of an entry but its name, which others are below.
    fn hollow(&mut self, id: Id) -> Result<()> {
        let state = self.state;
        let stored = names::entry_bytes(&self.tables().entry()?, id)?.to_vec();
        let old = parsed(&stored)?;
        let (key, mut batch) = (names::key_of(&state.schema, &old)?, Batch::default());
        let bytes = content::glue(&state.schema).build(&state.schema, old.parent, old.rdn(), 0)?;
        let gone = content::all_keys(state, &self.tables(), id, &old)?;
        batch.index(id, Some(gone), Some(content::keys(state, &parsed(&bytes)?)));
        for large in old.large() {
            for pair in large::pairs(&self.tables().value()?, id, large.id)? {
                batch.value(pair?.0.to_vec(), None);
            }
        }
        batch.put_name(key.clone(), id, 0);
        batch.change_entry(id, bytes);
        self.note_gone(&mut batch, id, &old, key)?;
        self.write(batch)
    }
}

/// The number of the last change of an entry that was sent.
pub(super) fn number_of_sent<'a>(sent: &SearchEntry<'a>) -> Option<&'a [u8]> {
    let number = sent.attributes.iter().find(|attribute| attribute.description.eq_ignore_ascii_case(ENTRY_CSN));
    number.and_then(|attribute| attribute.values.iter().next())
}

/// Moves values out of an entry that has very many.
fn move_out(state: &State, draft: &mut Draft<'_>, id: Id) {
    draft.move_out(&state.schema, id);
    draft.large.iter_mut().for_each(update::LargeDraft::count);
}

pub(super) fn parsed(bytes: &[u8]) -> Result<Entry<'_>> {
    Entry::parse(bytes).ok_or_else(|| damaged("a copied entry"))
}

/// The entry of a copy with an identifier. Entries of other suffixes, which are copied by themselves, may have the same: the provider
/// may have moved an entry from one to the other, or keep them in databases of their own.
pub(super) fn find(state: &State, tables: &Tables<'_>, base: &Suffix, uuid: &Uuid) -> Result<Option<Id>> {
    let found = equal(&tables.index()?, state.schema.known().entry_uuid, uuid, &Reach::all())?;
    if state.suffixes.len() == 1 {
        return Ok(found.iter().next());
    }
    let entries = tables.entry()?;
    for id in found.iter() {
        // By the entries themselves: who is on the way to another name has none meanwhile.
        let top = names::entry(&entries, names::top(&entries, id)?)?;
        if names::normalize(&state.schema, top.rdn())? == base.normalized {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// How the changes of a transaction are numbered: by that of the change as of which the copy is afterwards, so that who keeps a
/// copy of this one can ask either server what has changed since. In between, and where changes of this server's own have
/// greater ones, the next. `None` where nothing is noted. `is_all`: the provider has told all there is.
pub(super) fn number_of(
    (txn, ids): (&mut WriteTxn<'_>, Ids),
    state: &State,
    now: Moment,
    as_of: Option<Moment>,
    is_all: bool,
) -> Result<Numbered> {
    if state.history == 0 {
        return Ok(Numbered::Not);
    }
    history::begin(txn, state.history, now)?;
    let span =
        history::span(&txn.view(ids.entry)?, &txn.view(ids.history)?)?.ok_or_else(|| damaged("table `history`"))?;
    Ok(match as_of {
        Some(as_of) if as_of > span.end => Numbered::By(as_of),
        Some(as_of) if is_all && as_of < span.end => Numbered::Anew(as_of),
        _ => Numbered::By(span.end.after(1)),
    })
}

/// How changes of a transaction are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbered {
    /// Nothing is noted.
    Not,
    /// All get this number.
    By(Moment),
    /// What is noted begins anew behind them, with this number.
    Anew(Moment),
}
