//! Bringing together what servers have changed that take changes of one suffix: what one of them tells is held against what is here,
//! in one transaction.
//!
//! Owns: which of two states of an entry counts, and what becomes of what cannot all be so. Must not know: cookies, positions.
//!
//! Of each entry, by its UUID, the state with the greatest change sequence number counts, a deletion being one. So wherever all
//! has been heard, in whatever order, there are the same states. An entry stands below the UUID that it was told with: what that
//! one is called does not matter. Where these states do not make a tree, somebody makes a change that has them make one, and all
//! hear of it: of two entries with one name that of the greater UUID gets another; what would be below itself stays where it is;
//! what is deleted and has something below it stays.
//!
//! What cannot be made at once, as a name is not free yet or nothing is above it, waits for what else is told: until there is a
//! cookie, as up to there all fits together where it comes from.

use duramen::TableId;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::message::{ResultCode, SearchEntry};

use super::ReplicaError;
use super::content;
use super::tree::split;
use super::writer::{Before, Writer, number_of_sent};
use crate::clock::Moment;
use crate::failure::{Failure, Result};
use crate::history::{Uuid, What};
use crate::knowledge::Knowledge;
use crate::membership::{self, Member, Tomb, Twin};
use crate::names::{self, child_key};
use crate::state::State;
use crate::tables::Id;
use crate::update::{Draft, Place};

/// Length of a change sequence number.
const CSN: usize = 40;

/// The class of what only stands for an entry.
const GLUE: &[u8] = b"glue";

/// What waits for what else is told.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub puts: Vec<Put>,
    pub gone: Vec<Deletion>,
}

/// An entry that was told of.
#[derive(Clone, Debug)]
pub(super) struct Put {
    pub name: String,
    pub uuid: Uuid,
    /// What it is below.
    pub parent: Option<Uuid>,
    csn: Vec<u8>,
    /// Encoded.
    attributes: Vec<u8>,
}

impl Put {
    /// Whether it only stands for an entry that was deleted.
    fn is_glue(&self) -> bool {
        let attributes: List<'_, Attribute<'_>> = List::trusted(&self.attributes);
        let is_class = |attribute: &Attribute<'_>| attribute.description.eq_ignore_ascii_case("structuralObjectClass");
        attributes.into_iter().find(is_class).is_some_and(|class| class.values.iter().next() == Some(GLUE))
    }
}

/// An entry that was told to be gone.
#[derive(Clone, Debug)]
pub(super) struct Deletion {
    pub uuid: Uuid,
    csn: Vec<u8>,
    pub name: String,
}

/// Why an entry cannot stand where it is to stand.
pub(super) enum Obstacle {
    /// Nothing is above it.
    NoParent,
    /// It would be below itself.
    Circle,
    /// Another one has the name.
    Held(Id),
}

/// See the head.
pub(super) struct Merge<'m, 'w, 't> {
    pub writer: &'m mut Writer<'w, 't>,
    pub table: TableId,
    pub member: Member,
    pub number: Moment,
    /// What was known before.
    pub known: &'m Knowledge,
    pub waiting: &'m mut Waiting,
    /// Another server has had the number of this one, and it is to be made good.
    pub twin: Option<Twin>,
    /// It has changed something itself.
    pub has_changed: bool,
}

/// That a change sequence number is one.
fn check_number(name: &str, csn: &[u8]) -> Result<(), ReplicaError> {
    if csn.len() == CSN && Moment::of_csn(csn).is_some() {
        return Ok(());
    }
    let text = "it has no change sequence number, by which it would be known whether it is newer than what is here";
    let failure = Failure::new(ResultCode::CONSTRAINT_VIOLATION, text);
    Err(ReplicaError::Refused { entry: name.to_string(), failure })
}

impl Merge<'_, '_, '_> {
    /// An entry was told of, below one with this UUID.
    pub fn receive(&mut self, sent: &SearchEntry<'_>, uuid: Uuid, parent: &[u8]) -> Result<(), ReplicaError> {
        let csn = number_of_sent(sent).unwrap_or_default();
        check_number(sent.name, csn)?;
        if let Some(id) = self.writer.find(&uuid)? {
            self.writer.unsettled.present.insert(id);
        }
        let put = Put {
            name: sent.name.to_string(),
            uuid,
            parent: Uuid::try_from(parent).ok(),
            csn: csn.to_vec(),
            attributes: sent.attributes.encoded().to_vec(),
        };
        if !self.try_put(&put)? {
            self.waiting.puts.retain(|other| other.uuid != uuid);
            self.waiting.puts.push(put);
        }
        Ok(())
    }

    /// It was told that an entry is gone.
    pub fn receive_gone(&mut self, uuid: Uuid, csn: &[u8], name: &str) -> Result<(), ReplicaError> {
        check_number(name, csn)?;
        let deletion = Deletion { uuid, csn: csn.to_vec(), name: name.to_string() };
        if !self.try_delete(&deletion)? {
            self.waiting.gone.push(deletion);
        }
        Ok(())
    }

    fn tomb(&self, uuid: &Uuid) -> Result<Option<Tomb>> {
        Ok(membership::tomb(&self.writer.txn.view(self.table)?, uuid)?)
    }

    /// Notes that an entry is gone, which is not here.
    pub(super) fn put_tomb(&mut self, uuid: Uuid, csn: &[u8], name: &str) -> Result<()> {
        let tomb = Tomb { at: self.number, csn: String::from_utf8_lossy(csn).into_owned(), name: name.to_string() };
        membership::put_tomb(self.writer.txn, &uuid, &tomb)?;
        Ok(())
    }

    /// Whether an entry as it was told is newer than what is known here. What only stands for an entry is nothing beside that entry,
    /// whichever is newer.
    pub(super) fn is_news(&mut self, put: &Put) -> Result<bool> {
        let there = self.writer.find(&put.uuid)?;
        if let Some(id) = there {
            let stored = self.writer.number_of_stored(id)?.unwrap_or_default();
            match (put.is_glue(), self.is_glue(id)?) {
                (true, false) => {
                    if put.csn > stored {
                        self.revive(id)?;
                    }
                    return Ok(false);
                }
                (false, true) => {}
                _ if stored >= put.csn => return Ok(false),
                _ => {}
            }
        }
        match self.tomb(&put.uuid)? {
            Some(tomb) if tomb.csn.as_bytes() >= put.csn.as_slice() => {
                // Who tells of it may have forgotten that it is gone.
                self.put_tomb(put.uuid, tomb.csn.as_bytes(), &tomb.name)?;
                self.writer.note_absent(put.uuid, tomb.name.clone())?;
                let name = &put.name;
                tracing::info!("{name:?} was deleted after it was changed elsewhere: that change is dropped");
                Ok(false)
            }
            Some(_) => Ok(true),
            // It has come and gone, and it is long ago.
            None => Ok(there.is_some() || !self.knows(&put.csn)),
        }
    }

    /// Whether a change was known before. Of those with a number that two servers had that cannot be told.
    pub(super) fn knows(&self, csn: &[u8]) -> bool {
        self.known.covers(csn) && self.twin.as_ref().is_none_or(|twin| !twin.hides(csn))
    }

    /// Makes an entry as it was told, if it is newer than what is here; `false` where that cannot be yet.
    pub(super) fn try_put(&mut self, put: &Put) -> Result<bool, ReplicaError> {
        if !self.is_news(put)? {
            self.writer.counts.unchanged += 1;
            return Ok(true);
        }
        match self.place(put)? {
            Ok(place) => self.store(put, &place, false).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// The place of an entry as it was told, or why it cannot have that.
    pub(super) fn place(&mut self, put: &Put) -> Result<std::result::Result<Place, Obstacle>, ReplicaError> {
        let (schema, base) = (&self.writer.state.schema, self.writer.base);
        let refuse = |failure| ReplicaError::Refused { entry: put.name.clone(), failure };
        let normalized = names::normalize(schema, &put.name).map_err(refuse)?;
        if names::below_suffix(&normalized, &base.normalized).is_none() {
            let text = format!("it is not below {:?}, which is what was asked for", base.text);
            return Err(refuse(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text)));
        }
        let there = self.writer.find(&put.uuid)?;
        let place = if normalized == base.normalized {
            Place { parent: 0, key: child_key(0, &normalized), rdn: put.name.clone() }
        } else {
            let rdn = split(&put.name)?.0;
            let Some(parent) = self.parent(put)? else { return Ok(Err(Obstacle::NoParent)) };
            if let Some(id) = there
                && names::is_within(&self.writer.tables().entry()?, parent, id)?
            {
                return Ok(Err(Obstacle::Circle));
            }
            Place { parent, key: child_key(parent, &names::normalized_rdn(schema, rdn)?), rdn: rdn.to_string() }
        };
        Ok(match self.writer.holder(&place.key)? {
            Some(holder) if Some(holder) != there => Err(Obstacle::Held(holder)),
            _ => Ok(place),
        })
    }

    /// What an entry stands below.
    fn parent(&self, put: &Put) -> Result<Option<Id>> {
        let known = put.parent.as_ref().map(|uuid| self.writer.find(uuid)).transpose()?.flatten();
        if known.is_some() {
            return Ok(known);
        }
        // The suffix may have been made by several, and have another UUID here; glue has none.
        let above = names::normalize(&self.writer.state.schema, split(&put.name)?.1)?;
        if above == self.writer.base.normalized || put.parent.is_none() { self.writer.at(&above) } else { Ok(None) }
    }

    /// Makes an entry what it is from now on; `is_own`: by a change of this server.
    pub(super) fn store(&mut self, put: &Put, place: &Place, is_own: bool) -> Result<(), ReplicaError> {
        let refuse = |failure: Failure| match failure.code {
            ResultCode::ADMIN_LIMIT_EXCEEDED | ResultCode::INVALID_DN_SYNTAX => {
                ReplicaError::Refused { entry: put.name.clone(), failure }
            }
            _ => failure.into(),
        };
        let (there, state) = (self.writer.find(&put.uuid)?, self.writer.state);
        let stored = there.map(|id| self.writer.number_of_stored(id)).transpose()?.flatten();
        let mut draft = draft(state, put)?;
        if is_own || stored.is_some_and(|stored| stored >= put.csn) {
            self.has_changed = true;
            let number = self.member.csn(self.number).to_vec();
            draft.set(state.schema.attribute(state.schema.known().entry_csn), number);
        }
        let id = match there {
            None => self.writer.add(place, draft, Some(What::Added)).map_err(refuse)?,
            Some(id) => self.change(id, place, draft).map_err(refuse)?,
        };
        self.writer.counts.put += 1;
        self.writer.unsettled.present.insert(id);
        membership::forget_tomb(self.writer.txn, &put.uuid, None)?;
        Ok(())
    }

    /// Puts an entry in the place of another one, with what is below that.
    pub(super) fn take_over(&mut self, put: &Put, holder: Id, place: &Place) -> Result<(), ReplicaError> {
        let draft = draft(self.writer.state, put)?;
        self.writer.replace(holder, place, draft, Before::Glue)?;
        self.writer.counts.put += 1;
        self.writer.unsettled.present.insert(holder);
        Ok(())
    }

    fn change(&mut self, id: Id, place: &Place, draft: Draft<'_>) -> Result<Id> {
        let (parent, key) = self.stands(id)?;
        // It may have left that name already.
        if self.writer.holder(&key)? == Some(id) {
            if key == place.key {
                self.writer.replace(id, place, draft, Before::Here)?;
                return Ok(id);
            }
            self.writer.leave(id)?;
        }
        self.writer.replace(id, place, draft, Before::Elsewhere(&key))?;
        self.writer.tidy(parent)?;
        Ok(id)
    }

    /// What an entry is below, and the key of its name.
    pub(super) fn stands(&self, id: Id) -> Result<(Id, Vec<u8>)> {
        let entries = self.writer.tables().entry()?;
        let entry = names::entry(&entries, id)?;
        Ok((entry.parent, names::key_of(&self.writer.state.schema, &entry)?))
    }

    /// Whether an entry only stands for one that was deleted.
    pub(super) fn is_glue(&self, id: Id) -> Result<bool> {
        let entries = self.writer.tables().entry()?;
        let class = self.writer.state.schema.known().structural_object_class;
        let entry = names::entry(&entries, id)?;
        Ok(entry.of_type(class).flat_map(|found| found.values()).next() == Some(GLUE))
    }

    /// Gives an entry that stays as it is a number of this server.
    pub(super) fn restamp(&mut self, id: Id) -> Result<()> {
        self.has_changed = true;
        let number = self.member.csn(self.number);
        self.writer.rewrite(id, None, Some(&number))
    }

    /// Takes an entry away that was told to be gone, unless it is newer; `false` where it has something below it.
    pub(super) fn try_delete(&mut self, deletion: &Deletion) -> Result<bool> {
        let Deletion { uuid, csn, name } = deletion;
        let there = self.writer.find(uuid)?;
        let stored = there.map(|id| self.writer.number_of_stored(id)).transpose()?.flatten();
        match (there, stored) {
            (Some(_), Some(stored)) if stored > *csn => {
                tracing::info!("{name:?} was changed after it was deleted elsewhere: it stays");
                Ok(true)
            }
            (Some(id), Some(_)) => self.bury(id, *uuid, csn),
            _ => {
                let is_known = match self.tomb(uuid)? {
                    Some(tomb) => tomb.csn.as_bytes() >= csn.as_slice(),
                    None => there.is_none() && self.knows(csn),
                };
                if !is_known {
                    self.put_tomb(*uuid, csn, name)?;
                    self.writer.note_absent(*uuid, name.clone())?;
                }
                Ok(true)
            }
        }
    }

    /// Takes an entry away; `false` where it has something below it.
    pub(super) fn bury(&mut self, id: Id, uuid: Uuid, csn: &[u8]) -> Result<bool> {
        if names::child_count(&self.writer.tables().name()?, id)? > 0 {
            return Ok(false);
        }
        let name = names::name_of(&self.writer.tables().entry()?, id)?;
        self.put_tomb(uuid, csn, &name)?;
        self.writer.forget(id, &uuid);
        self.writer.counts.deleted += 1;
        self.writer.remove(id)?;
        Ok(true)
    }
}

/// The attributes of an entry that was told of.
fn draft<'e>(state: &'e State, put: &'e Put) -> Result<Draft<'e>, ReplicaError> {
    let attributes: List<'e, Attribute<'e>> = List::trusted(&put.attributes);
    let draft = content::draft(&state.schema, &SearchEntry { name: &put.name, attributes }, put.uuid);
    draft.map_err(|failure| ReplicaError::Refused { entry: put.name.clone(), failure })
}
