//! What becomes of changes of several servers that cannot all be so.
//!
//! Owns: the order in which what waits is tried, and what is decided where it stays so. Must not know: which state of an entry counts.
//!
//! What is decided is a change of this server's own, with a number of its own, which all hear of. Others may decide the same at the
//! same time: then the greater number counts, and nothing of it is another thing.

use super::ReplicaError;
use super::content;
use super::merge::{Merge, Obstacle, Put, Waiting};
use super::tree::split;
use crate::entry::Entry;
use crate::failure::{Result, damaged};
use crate::history::{Uuid, What, uuid_of};
use crate::knowledge::Knowledge;
use crate::membership::{self, Tomb};
use crate::names::{self, child_key};
use crate::tables::{Id, read_id};
use crate::update::Place;

/// The RDN that an entry has where another one has its name.
fn own_rdn(rdn: &str, uuid: &Uuid) -> String {
    format!("{rdn}+entryUUID={}", uuid::Uuid::from_bytes(*uuid))
}

impl Merge<'_, '_, '_> {
    /// Deals with all that waits, as all has been told that belongs to it.
    pub fn settle(&mut self) -> Result<(), ReplicaError> {
        loop {
            let Waiting { puts, gone } = std::mem::take(self.waiting);
            let count = puts.len() + gone.len();
            for put in puts {
                if !self.try_put(&put)? {
                    self.waiting.puts.push(put);
                }
            }
            for deletion in gone {
                if !self.try_delete(&deletion)? {
                    self.waiting.gone.push(deletion);
                }
            }
            if self.waiting.puts.len() + self.waiting.gone.len() == count {
                break;
            }
        }
        let Waiting { puts, gone } = std::mem::take(self.waiting);
        self.leave_names(&puts)?;
        puts.iter().try_for_each(|put| self.force(put))?;
        for deletion in gone {
            if !self.try_delete(&deletion)?
                && let Some(id) = self.writer.find(&deletion.uuid)?
            {
                self.revive(id)?;
            }
        }
        Ok(self.drop_stand_ins()?)
    }

    /// Takes the names of entries away that are to have others: where these go round none would be free.
    fn leave_names(&mut self, puts: &[Put]) -> Result<()> {
        for put in puts {
            if self.is_news(put)?
                && let Some(id) = self.writer.find(&put.uuid)?
            {
                let (parent, key) = self.stands(id)?;
                if parent != 0 && self.writer.holder(&key)? == Some(id) {
                    self.writer.leave(id)?;
                }
            }
        }
        Ok(())
    }

    /// Makes an entry as it was told as far as that can be.
    fn force(&mut self, put: &Put) -> Result<(), ReplicaError> {
        if !self.is_news(put)? {
            return Ok(());
        }
        let mut place = self.place(put)?;
        if matches!(place, Err(Obstacle::NoParent)) {
            self.hold_parent(put)?;
            place = self.place(put)?;
        }
        match place {
            Ok(place) => self.store(put, &place, false),
            Err(Obstacle::Held(holder)) => self.give_way(put, holder),
            Err(Obstacle::NoParent | Obstacle::Circle) => {
                let name = &put.name;
                tracing::warn!(
                    "{name:?} was moved to where it would be below itself, as that was moved, too: it stays where it is"
                );
                let place = self.own_place(put)?;
                self.store(put, &place, true)
            }
        }
    }

    /// Where an entry is that has been moved, or a name of its own there.
    fn own_place(&mut self, put: &Put) -> Result<Place, ReplicaError> {
        let id = self.writer.find(&put.uuid)?.ok_or_else(|| damaged("table `entry`"))?;
        let (parent, key) = self.stands(id)?;
        let entries = self.writer.tables().entry()?;
        let rdn = names::entry(&entries, id)?.rdn().to_string();
        match self.writer.holder(&key)? {
            Some(holder) if holder != id => Ok(self.place_of(parent, own_rdn(&rdn, &put.uuid))?),
            _ => Ok(Place { parent, key, rdn }),
        }
    }

    fn place_of(&self, parent: Id, rdn: String) -> Result<Place> {
        let key = child_key(parent, &names::normalized_rdn(&self.writer.state.schema, &rdn)?);
        Ok(Place { parent, key, rdn })
    }

    /// Has something stand above an entry, which was deleted here: who has it brings it back.
    fn hold_parent(&mut self, put: &Put) -> Result<()> {
        let above = split(&put.name)?.1.to_string();
        let normalized = names::normalize(&self.writer.state.schema, &above)?;
        let Some(uuid) = put.parent.filter(|_| normalized != self.writer.base.normalized) else {
            return self.writer.above(&above, &normalized).map(drop);
        };
        tracing::warn!("{:?} was changed below an entry that is deleted: that one is kept for it", put.name);
        let (rdn, further) = split(&above)?;
        let normalized = names::normalize(&self.writer.state.schema, further)?;
        let (there, entries) = (self.writer.find(&put.uuid)?, self.writer.tables().entry()?);
        let is_own = |parent| there.map_or(Ok(false), |id| names::is_within(&entries, parent, id));
        let parent = match self.writer.at(&normalized)? {
            Some(parent) if !is_own(parent)? => parent,
            _ => {
                let base = self.writer.base;
                self.writer.above(&base.text, &base.normalized)?
            }
        };
        let mut place = self.place_of(parent, rdn.to_string())?;
        if self.writer.holder(&place.key)?.is_some() {
            place = self.place_of(parent, own_rdn(rdn, &uuid))?;
        }
        let draft = content::held(&self.writer.state.schema, uuid, self.member.csn(self.number).to_vec());
        self.has_changed = true;
        let id = self.writer.add(&place, draft, Some(What::Added))?;
        self.writer.unsettled.present.insert(id);
        membership::forget_tomb(self.writer.txn, &uuid, None)?;
        membership::put_stand_in(self.writer.txn, &self.writer.base.normalized, &uuid)?;
        Ok(())
    }

    /// Takes away what stood for entries that have come back, or have nothing below them any more.
    fn drop_stand_ins(&mut self) -> Result<()> {
        let suffix = &self.writer.base.normalized;
        for uuid in membership::stand_ins(&self.writer.txn.view(self.table)?, suffix)? {
            if let Some(id) = self.writer.find(&uuid)?
                && self.is_glue(id)?
            {
                let number = self.member.csn(self.number);
                if !self.bury(id, uuid, &number)? {
                    continue;
                }
                self.has_changed = true;
            }
            membership::forget_stand_in(self.writer.txn, suffix, &uuid)?;
        }
        Ok(())
    }

    /// Makes an entry whose name another one has.
    fn give_way(&mut self, put: &Put, holder: Id) -> Result<(), ReplicaError> {
        let stored = names::entry_bytes(&self.writer.tables().entry()?, holder)?.to_vec();
        let entry = Entry::parse(&stored).ok_or_else(|| damaged("an entry"))?;
        let other = uuid_of(&self.writer.state.schema, &entry);
        if entry.parent == 0 {
            return self.share_suffix(put, (holder, other));
        }
        let is_stand_in = self.is_glue(holder)?;
        let (parent, rdn) = (entry.parent, entry.rdn().to_string());
        match other {
            // What stands only for a name has it until somebody comes.
            None => {
                let place = self.place_of(parent, split(&put.name)?.0.to_string())?;
                let glue = self.writer.make_room(&place.key)?;
                self.store(put, &place, false)?;
                if let (Some(glue), Some(id)) = (glue, self.writer.find(&put.uuid)?) {
                    self.writer.adopt(glue, id)?;
                }
            }
            Some(uuid) if is_stand_in || put.uuid < uuid => {
                let place = self.place_of(parent, own_rdn(&rdn, &uuid))?;
                let number = self.member.csn(self.number);
                self.has_changed = true;
                tracing::warn!(
                    "two entries are called {:?}: the one that was made later is called {:?} now",
                    put.name,
                    place.rdn
                );
                self.writer.rewrite(holder, Some(place), Some(&number))?;
                let place = self.place_of(parent, split(&put.name)?.0.to_string())?;
                self.store(put, &place, false)?;
            }
            Some(_) => {
                let place = self.place_of(parent, own_rdn(split(&put.name)?.0, &put.uuid))?;
                tracing::warn!(
                    "two entries are called {:?}: the one that was made later is called {:?} now",
                    put.name,
                    place.rdn
                );
                self.store(put, &place, true)?;
            }
        }
        Ok(())
    }

    /// Two servers have made the suffix: the one that was made first counts, and all is below that.
    fn share_suffix(&mut self, put: &Put, (holder, other): (Id, Option<Uuid>)) -> Result<(), ReplicaError> {
        let number = self.member.csn(self.number);
        if let Some(other) = other {
            self.has_changed = true;
            tracing::warn!("{:?} was made by two servers: what the later one has made of it is dropped", put.name);
            if put.uuid > other {
                self.put_tomb(put.uuid, &number, &put.name)?;
                return Ok(self.writer.note_absent(put.uuid, put.name.clone())?);
            }
            self.put_tomb(other, &number, &put.name)?;
            self.writer.note_other(holder)?;
        }
        let place = Place { parent: 0, key: self.stands(holder)?.1, rdn: put.name.clone() };
        self.take_over(put, holder, &place)
    }

    /// An entry that was deleted elsewhere stays, as something is below it.
    pub(super) fn revive(&mut self, id: Id) -> Result<()> {
        let name = names::name_of(&self.writer.tables().entry()?, id)?;
        tracing::warn!("{name:?} was deleted elsewhere, and something was put below it meanwhile: it stays");
        self.restamp(id)
    }

    /// Takes away what another server has had, by what it knows, and has not told of.
    pub fn prune(&mut self, known: &Knowledge) -> Result<(), ReplicaError> {
        // Who sees nothing would have everything deleted here.
        let base = self.writer.base;
        if self.writer.at(&base.normalized)?.is_some_and(|top| !self.writer.unsettled.present.contains(top)) {
            return Err(ReplicaError::Empty(base.text.clone()));
        }
        let mut absent = self.absent(known)?;
        loop {
            let count = absent.len();
            let mut left = Vec::new();
            for (id, uuid, csn) in absent {
                if !self.bury(id, uuid, &csn)? {
                    left.push((id, uuid, csn));
                }
            }
            absent = left;
            if absent.len() == count {
                break;
            }
        }
        Ok(absent.into_iter().try_for_each(|(id, ..)| self.revive(id))?)
    }

    /// The entries that were not told of, and are known; what came last first. What others may not have heard of is none.
    fn absent(&self, known: &Knowledge) -> Result<Vec<(Id, Uuid, Vec<u8>)>, ReplicaError> {
        let is_hidden = |number: &[u8]| self.twin.as_ref().is_some_and(|twin| twin.hides(number));
        let present = &self.writer.unsettled.present;
        let mut absent =
            self.changed_by(|id, number| !present.contains(id) && known.covers(number) && !is_hidden(number))?;
        absent.reverse();
        Ok(absent)
    }

    /// The entries below the suffix whose last change is meant, by its number.
    fn changed_by(&self, is_meant: impl Fn(Id, &[u8]) -> bool) -> Result<Vec<(Id, Uuid, Vec<u8>)>, ReplicaError> {
        let (state, base) = (self.writer.state, self.writer.base);
        let tables = self.writer.tables();
        let Some(top) = self.writer.at(&base.normalized)? else { return Ok(Vec::new()) };
        let (entries, mut all) = (tables.entry()?, Vec::new());
        for item in entries.iter() {
            let (key, bytes) = item?;
            let (Some(id), Some(entry)) = (read_id(key), Entry::parse(bytes)) else {
                return Err(damaged("an entry").into());
            };
            let number = entry.of_type(state.schema.known().entry_csn).flat_map(|found| found.values()).next();
            if let Some(number) = number.filter(|number| is_meant(id, number))
                && let Some(uuid) = uuid_of(&state.schema, &entry)
                && (state.suffixes.len() == 1 || names::is_within(&entries, id, top)?)
            {
                all.push((id, uuid, number.to_vec()));
            }
        }
        Ok(all)
    }

    /// Gives what this server has changed while another one had its number a number that no other change has, so that all hear of
    /// it. What is known elsewhere has been told before.
    pub fn reclaim(&mut self) -> Result<(), ReplicaError> {
        let Some(twin) = self.twin.take() else { return Ok(()) };
        let mine = self.changed_by(|_, number| twin.hides(number))?;
        mine.iter().try_for_each(|(id, ..)| self.restamp(*id))?;
        let (schema, base) = (&self.writer.state.schema, &self.writer.base.normalized);
        let is_below =
            |name: &str| names::normalize(schema, name).is_ok_and(|name| names::below_suffix(&name, base).is_some());
        let is_mine = |tomb: &Tomb| twin.hides(tomb.csn.as_bytes()) && is_below(&tomb.name);
        let gone = membership::tombs(&self.writer.txn.view(self.table)?, is_mine)?;
        tracing::info!(
            "another server had the number of this one: {} entries of {:?} that were changed here since, and {} that were \
             deleted, are told to all others",
            mine.len(),
            self.writer.base.text,
            gone.len()
        );
        let number = self.member.csn(self.number);
        for (uuid, tomb) in gone {
            self.has_changed = true;
            self.put_tomb(uuid, &number, &tomb.name)?;
            self.writer.note_absent(uuid, tomb.name)?;
        }
        Ok(membership::forget_twin(self.writer.txn, base)?)
    }
}
