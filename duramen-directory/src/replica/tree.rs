//! Where copied entries stand in the tree of names.
//!
//! Owns: what is done where a name is not free, or nothing is above it. Must not know: what entries hold.
//!
//! A provider need not tell of what is above an entry before it, nor of what leaves a name before what gets it: a name that is
//! needed and not there is held by glue, an entry that stands only for its name, until its own comes; and who holds a name that
//! another one has now waits aside for the own word, with all that is below, as `entryUUID=...` below the suffix.
//!
//! Nor need what a name leads to be what it will lead to at the end: what is above may have another name by then, and take with it
//! what was put below. So where something above was not told of, what was told is remembered; and at the end what stands
//! elsewhere is put there, and who waits aside, and was not told of, goes back. Behind a refresh changes are told in the order in
//! which they were made: names are right when they are told, and need not be any more at the end.

use std::collections::HashMap;

use duramen::Table;
use duramen_ldap::dn::Dn;
use roaring::RoaringBitmap;

use super::content;
use super::writer::{Before, Writer, parsed};
use crate::entry::Entry;
use crate::failure::{Result, bad_name};
use crate::history::{Uuid, What, uuid_of};
use crate::names::{self, child_key};
use crate::schema::Schema;
use crate::tables::{Id, read_id};
use crate::update::{Batch, Draft, Place};

/// How often at most it is tried to put all where it belongs: names may depend on each other.
const ROUNDS: usize = 64;

/// What of a conversation is to be remembered until its end.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    /// Entries that have been put or kept.
    pub present: RoaringBitmap,
    /// Those of them that are where they belong, as all above them is.
    confirmed: RoaringBitmap,
    /// Those that were put, and of which that is not known; with the names that were told.
    told: HashMap<Uuid, String>,
    in_doubt: RoaringBitmap,
    /// Who waits aside, with the place from before: the entry above and the RDN.
    aside: HashMap<Uuid, (Id, String)>,
}

impl Unsettled {
    /// All stands where it belongs.
    fn settle(&mut self) {
        self.told = HashMap::new();
        self.aside = HashMap::new();
        self.confirmed = RoaringBitmap::new();
        self.in_doubt = RoaringBitmap::new();
    }
}

/// What the key of an entry begins with that waits aside.
const ASIDE: &str = "entryuuid=";

/// Whether entries below a suffix wait aside: a conversation has broken off.
pub(super) fn has_aside(names: &Table<'_>, base: Id) -> Result<bool> {
    Ok(names.prefix(child_key(base, ASIDE))?.next().is_some())
}

/// Whether an entry stands only for its name: all others can be told apart.
fn is_glue(schema: &Schema, entry: &Entry<'_>) -> bool {
    uuid_of(schema, entry).is_none()
}

/// The first RDN of a name, and what is above.
pub(super) fn split(name: &str) -> Result<(&str, &str)> {
    if let Some(split) = Dn::split_first(name) {
        return Ok(split);
    }
    let parsed = Dn::parse(name).map_err(|error| bad_name(name, error))?;
    Ok((parsed.rdn().map_or("", |rdn| rdn.as_str()), parsed.parent().unwrap_or(Dn::ROOT).as_str()))
}

/// Whether somebody waits aside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Nobody,
    /// As before.
    Still,
    /// Fewer than before.
    Less,
}

impl Writer<'_, '_> {
    /// Puts an entry where it belongs, as it is now; which one it is here.
    pub(super) fn arrive(&mut self, written: &str, normalized: &str, uuid: Uuid, draft: Draft<'_>) -> Result<Id> {
        let id = self.arrived(written, normalized, uuid, draft)?;
        self.unsettled.present.insert(id);
        self.unsettled.aside.remove(&uuid);
        if self.is_in_order || self.is_confirmed(id)? {
            self.unsettled.told.remove(&uuid);
            self.unsettled.in_doubt.remove(id);
        } else {
            self.unsettled.told.insert(uuid, written.to_string());
            self.unsettled.in_doubt.insert(id);
        }
        Ok(id)
    }

    /// Of an entry that is gone nothing is to be remembered.
    pub(super) fn forget(&mut self, id: Id, uuid: &Uuid) {
        self.unsettled.in_doubt.remove(id);
        self.unsettled.confirmed.remove(id);
        self.unsettled.present.remove(id);
        self.unsettled.aside.remove(uuid);
        self.unsettled.told.remove(uuid);
    }

    /// Whether all above an entry has been told of, and is where it belongs: then the name is what it will be.
    fn is_confirmed(&mut self, id: Id) -> Result<bool> {
        let (entries, mut path) = (self.tables().entry()?, Vec::new());
        let is_known = |above: Id| self.unsettled.confirmed.contains(above);
        let mut above = names::parent(&entries, id)?;
        while above != 0 && !is_known(above) {
            if !self.unsettled.present.contains(above) || self.unsettled.in_doubt.contains(above) {
                return Ok(false);
            }
            path.push(above);
            above = names::parent(&entries, above)?;
        }
        self.unsettled.confirmed.extend(path);
        Ok(true)
    }

    fn arrived(&mut self, written: &str, normalized: &str, uuid: Uuid, draft: Draft<'_>) -> Result<Id> {
        let there = self.at(normalized)?;
        let mut known = self.find(&uuid)?;
        if let Some(id) = known.filter(|_| known == there) {
            return self.stay(id, written, normalized, draft);
        }
        // The suffix itself has one place, whoever has it.
        if normalized == self.base.normalized && known.take().is_some() {
            self.delete(&uuid)?;
            self.counts.deleted -= 1;
        }
        self.counts.put += 1;
        match known {
            Some(id) => self.move_to(id, written, normalized, draft),
            None => self.come(written, normalized, draft),
        }
    }

    /// The entry of a normalized name.
    pub(super) fn at(&self, normalized: &str) -> Result<Option<Id>> {
        names::find_entry(&self.tables().name()?, &self.state.suffixes, normalized)
    }

    fn stay(&mut self, id: Id, written: &str, normalized: &str, draft: Draft<'_>) -> Result<Id> {
        let place = self.place(written, normalized)?;
        if self.replace(id, &place, draft, Before::Here)? {
            self.counts.put += 1;
        } else {
            self.counts.unchanged += 1;
        }
        Ok(id)
    }

    /// An entry that was not there.
    fn come(&mut self, written: &str, normalized: &str, draft: Draft<'_>) -> Result<Id> {
        let place = self.place(written, normalized)?;
        let Some(there) = self.holder(&place.key)? else { return self.add(&place, draft, Some(What::Added)) };
        if self.is_glue(there)? {
            self.replace(there, &place, draft, Before::Glue)?;
            return Ok(there);
        }
        if place.parent == 0 {
            // What is below stays where it is.
            self.note_other(there)?;
            self.replace(there, &place, draft, Before::Glue)?;
            return Ok(there);
        }
        self.displace(there)?;
        self.add(&place, draft, Some(What::Added))
    }

    /// Notes that an entry whose place another one takes, and all below with it, is gone.
    pub(super) fn note_other(&mut self, id: Id) -> Result<()> {
        let stored = names::entry_bytes(&self.tables().entry()?, id)?.to_vec();
        let (entry, mut batch) = (parsed(&stored)?, Batch::default());
        let key = names::key_of(&self.state.schema, &entry)?;
        self.note_gone(&mut batch, id, &entry, key)?;
        self.write(batch)
    }

    /// An entry that has another name.
    fn move_to(&mut self, id: Id, written: &str, normalized: &str, draft: Draft<'_>) -> Result<Id> {
        // Its name leads nowhere meanwhile: nothing that is below it is found as what is above it.
        let (parent, key) = self.leave(id)?;
        let place = self.place(written, normalized)?;
        let glue = self.make_room(&place.key)?;
        self.replace(id, &place, draft, Before::Elsewhere(&key))?;
        glue.map_or(Ok(()), |glue| self.adopt(glue, id))?;
        self.tidy(parent)?;
        Ok(id)
    }

    /// As [`Writer::move_to`], of an entry that stays as it is otherwise.
    fn relocate(&mut self, id: Id, written: &str, normalized: &str) -> Result<()> {
        let (parent, key) = self.leave(id)?;
        let place = self.place(written, normalized)?;
        let glue = self.make_room(&place.key)?;
        self.stand(id, place, key)?;
        glue.map_or(Ok(()), |glue| self.adopt(glue, id))?;
        self.tidy(parent)
    }

    /// Frees a name; the glue that had it, which has left it, and has yet to be dealt with.
    pub(super) fn make_room(&mut self, key: &[u8]) -> Result<Option<Id>> {
        let Some(there) = self.holder(key)? else { return Ok(None) };
        if self.is_glue(there)? {
            self.leave(there)?;
            return Ok(Some(there));
        }
        self.displace(there)?;
        Ok(None)
    }

    /// Takes the name of an entry away. The entry above, and the key that the name had.
    pub(super) fn leave(&mut self, id: Id) -> Result<(Id, Vec<u8>)> {
        let entries = self.tables().entry()?;
        let entry = names::entry(&entries, id)?;
        let (parent, key) = (entry.parent, names::key_of(&self.state.schema, &entry)?);
        let mut batch = Batch::default();
        batch.delete_name(key.clone());
        batch.add_children(parent, -1);
        self.write(batch)?;
        Ok((parent, key))
    }

    /// The entry that has the name with this key.
    pub(super) fn holder(&self, key: &[u8]) -> Result<Option<Id>> {
        Ok(self.tables().name()?.get(key)?.and_then(read_id))
    }

    fn is_glue(&self, id: Id) -> Result<bool> {
        Ok(is_glue(&self.state.schema, &names::entry(&self.tables().entry()?, id)?))
    }

    /// The place of a name, below what is there or glue.
    fn place(&mut self, written: &str, normalized: &str) -> Result<Place> {
        if normalized == self.base.normalized {
            return Ok(Place { parent: 0, key: child_key(0, normalized), rdn: written.to_string() });
        }
        let (rdn, above) = split(written)?;
        let parent = self.above(above, split(normalized)?.1)?;
        // Of what is written: the key has to be found again from there.
        let key = child_key(parent, &names::normalized_rdn(&self.state.schema, rdn)?);
        Ok(Place { parent, key, rdn: rdn.to_string() })
    }

    /// The entry of a name that something is to be below; glue where there is none.
    pub(super) fn above(&mut self, written: &str, normalized: &str) -> Result<Id> {
        let (mut missing, mut name) = (Vec::new(), (written, normalized));
        let mut parent = loop {
            match self.at(name.1)? {
                Some(id) => break id,
                None if name.1 == self.base.normalized => {
                    let text = self.base.text.clone();
                    let place = Place { parent: 0, key: child_key(0, name.1), rdn: text };
                    break self.add(&place, content::glue(&self.state.schema), None)?;
                }
                None => {
                    let ((rdn, above), (_, above_normalized)) = (split(name.0)?, split(name.1)?);
                    missing.push(rdn);
                    name = (above, above_normalized);
                }
            }
        };
        for rdn in missing.into_iter().rev() {
            let key = child_key(parent, &names::normalized_rdn(&self.state.schema, rdn)?);
            let place = Place { parent, key, rdn: rdn.to_string() };
            parent = self.add(&place, content::glue(&self.state.schema), None)?;
        }
        Ok(parent)
    }

    /// Takes an entry out of the way of another one, with all that is below it: it is told of by itself, or is gone.
    fn displace(&mut self, id: Id) -> Result<()> {
        let entries = self.tables().entry()?;
        let entry = names::entry(&entries, id)?;
        let uuid = uuid_of(&self.state.schema, &entry).unwrap_or_default();
        let before = (entry.parent, entry.rdn().to_string());
        self.unsettled.aside.entry(uuid).or_insert(before);
        let rdn = format!("entryUUID={}", uuid::Uuid::from_bytes(uuid));
        let parent = self.above(&self.base.text.clone(), &self.base.normalized.clone())?;
        let key = child_key(parent, &names::normalized_rdn(&self.state.schema, &rdn)?);
        self.rename(id, Place { parent, key, rdn })
    }

    /// Gives an entry another place, and leaves it as it is otherwise.
    fn rename(&mut self, id: Id, place: Place) -> Result<()> {
        let (_, key) = self.leave(id)?;
        self.stand(id, place, key)
    }

    /// Has an entry that has left its name, whose key that is, stand elsewhere.
    fn stand(&mut self, id: Id, place: Place, key: Vec<u8>) -> Result<()> {
        let stored = names::entry_bytes(&self.tables().entry()?, id)?.to_vec();
        let (entry, mut batch) = (parsed(&stored)?, Batch::default());
        let schema = &self.state.schema;
        let bytes = Draft::of(&entry).build(schema, place.parent, &place.rdn, entry.marks())?;
        batch.put_name(place.key, id, entry.marks());
        batch.add_children(place.parent, 1);
        batch.change_entry(id, bytes);
        if !is_glue(schema, &entry) {
            self.note(&mut batch, id, What::Renamed(key));
        }
        self.write(batch)
    }

    /// Has all that is below glue, whose name another entry has now, be below that one.
    pub(super) fn adopt(&mut self, glue: Id, to: Id) -> Result<()> {
        // Names may go round: where two have the same, what is below either comes together.
        let mut waiting = vec![(glue, to)];
        while let Some((from, to)) = waiting.pop() {
            for child in names::children_of(&self.tables().name()?, from)? {
                let entries = self.tables().entry()?;
                let rdn = names::entry(&entries, child)?.rdn().to_string();
                let key = child_key(to, &names::normalized_rdn(&self.state.schema, &rdn)?);
                match self.holder(&key)? {
                    None => self.rename_below(child, to, key, rdn)?,
                    Some(holder) if self.is_glue(child)? => waiting.push((child, holder)),
                    Some(holder) if self.is_glue(holder)? => {
                        self.leave(holder)?;
                        self.rename_below(child, to, key, rdn)?;
                        waiting.push((holder, child));
                    }
                    Some(holder) => {
                        self.displace(holder)?;
                        self.rename_below(child, to, key, rdn)?;
                    }
                }
            }
            self.tidy(from)?;
        }
        Ok(())
    }

    fn rename_below(&mut self, child: Id, parent: Id, key: Vec<u8>, rdn: String) -> Result<()> {
        self.rename(child, Place { parent, key, rdn })
    }

    /// Takes glue away, which may have left its name already.
    fn take_off(&mut self, id: Id) -> Result<()> {
        let entries = self.tables().entry()?;
        let (entry, mut batch) = (names::entry(&entries, id)?, Batch::default());
        let key = names::key_of(&self.state.schema, &entry)?;
        batch.index(id, Some(content::keys(self.state, &entry)), None);
        if self.holder(&key)? == Some(id) {
            batch.delete_name(key);
            batch.add_children(entry.parent, -1);
        }
        batch.delete_entry(id);
        self.write(batch)
    }

    /// Puts all where it belongs, once all has been told. Whether that can be.
    pub(super) fn settle(&mut self) -> Result<bool> {
        for _ in 0..ROUNDS {
            let (is_moved, waits) = (self.settle_told()?, self.settle_aside()?);
            match (is_moved, waits) {
                (false, Waits::Nobody) => {
                    self.unsettled.settle();
                    return Ok(true);
                }
                (false, Waits::Still) => return Ok(false),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Puts what does not have the name that was told where that leads, from above; whether there was such.
    fn settle_told(&mut self) -> Result<bool> {
        let mut told = Vec::with_capacity(self.unsettled.told.len());
        for (uuid, name) in &self.unsettled.told {
            let depth = Dn::parse(name).map_err(|error| bad_name(name, error))?.depth();
            told.push((depth, name.clone(), *uuid));
        }
        told.sort_unstable();
        let mut is_moved = false;
        for (_, name, uuid) in told {
            let Some(id) = self.find(&uuid)? else { continue };
            let normalized = names::normalize(&self.state.schema, &name)?;
            if self.at(&normalized)? != Some(id) {
                self.relocate(id, &name, &normalized)?;
                self.unsettled.aside.remove(&uuid);
                is_moved = true;
            }
        }
        Ok(is_moved)
    }

    /// Lets those go back who wait aside, and were not told of.
    fn settle_aside(&mut self) -> Result<Waits> {
        let aside: Vec<(Uuid, (Id, String))> =
            self.unsettled.aside.iter().map(|(uuid, place)| (*uuid, place.clone())).collect();
        let mut waits = if aside.is_empty() { Waits::Nobody } else { Waits::Still };
        for (uuid, (parent, rdn)) in aside {
            let Some(id) = self.find(&uuid)? else {
                self.unsettled.aside.remove(&uuid);
                waits = Waits::Less;
                continue;
            };
            let key = child_key(parent, &names::normalized_rdn(&self.state.schema, &rdn)?);
            let is_free = match self.holder(&key)? {
                None => self.tables().entry()?.get(parent.to_be_bytes())?.is_some(),
                Some(holder) => self.is_glue(holder)?,
            };
            // Nobody goes below himself.
            if is_free && !names::is_within(&self.tables().entry()?, parent, id)? {
                let (_, left) = self.leave(id)?;
                let glue = self.make_room(&key)?;
                self.stand(id, Place { parent, key, rdn }, left)?;
                glue.map_or(Ok(()), |glue| self.adopt(glue, id))?;
                self.unsettled.aside.remove(&uuid);
                waits = Waits::Less;
            }
        }
        Ok(waits)
    }

    /// Takes away what has nothing below it any more, and stands only for its name.
    pub(super) fn tidy(&mut self, mut id: Id) -> Result<()> {
        while id != 0 && self.tables().entry()?.get(id.to_be_bytes())?.is_some() {
            if names::child_count(&self.tables().name()?, id)? > 0 || !self.is_glue(id)? {
                break;
            }
            let parent = names::parent(&self.tables().entry()?, id)?;
            self.take_off(id)?;
            id = parent;
        }
        Ok(())
    }
}
