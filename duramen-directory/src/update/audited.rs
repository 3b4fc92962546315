//! What the audit log is to have of an update: all that makes the entries what they become, passwords as they are stored.
//!
//! Owns: which changes those are. Must not know: how they look in the file.

use std::borrow::Cow;

use duramen_ldap::message::ChangeKind;

use super::batch::Batch;
use super::change::Checked;
use super::context::Context;
use super::draft::Draft;
use crate::audit::{self, Author, Told};
use crate::failure::Result;
use crate::names;
use crate::policy::Edits;
use crate::schema::AttributeId;
use crate::tables::Id;

impl<'c> Context<'c> {
    /// Whether there is such a log.
    pub fn is_audited(&self) -> bool {
        self.scene.state.is_audited
    }

    fn author(&self, name: &str) -> Author<'_> {
        let state = self.scene.state;
        let suffix = match state.suffixes.as_slice() {
            [only] => Some(only),
            all => names::normalize(&state.schema, name).ok().and_then(|name| names::suffix_of(all, &name)),
        };
        Author {
            who: self.requester_name(),
            asked_by: self.asked_by,
            acts: self.asked_by.name.normalized != self.requester.name.normalized,
            now: self.now,
            suffix: suffix.map_or("", |suffix| &suffix.text),
        }
    }

    /// An entry of this name is added.
    pub fn audit_add(&self, batch: &mut Batch, name: &str, draft: &Draft<'_>) {
        if self.is_audited() {
            let name = names::strict(self.schema(), name).map_or(Cow::Borrowed(name), Cow::Owned);
            let pairs = draft.attributes.iter().flat_map(|it| it.values().map(move |value| (it.description(), value)));
            audit::add(&mut batch.records, &self.author(&name), &name, pairs);
        }
    }

    /// An entry is deleted.
    pub fn audit_delete(&self, batch: &mut Batch, id: Id) -> Result<()> {
        if self.is_audited() {
            let name = names::name_of(&self.scene.tables.entry()?, id)?;
            audit::delete(&mut batch.records, &self.author(&name), &name);
        }
        Ok(())
    }

    /// An entry gets another RDN, and a parent if one is named.
    pub fn audit_rename(
        &self,
        batch: &mut Batch,
        name: &str,
        (rdn, delete_old, parent): (&str, bool, Option<Id>),
    ) -> Result<()> {
        if self.is_audited() {
            let superior = parent.map(|id| names::name_of(&self.scene.tables.entry()?, id)).transpose()?;
            let change = (rdn, delete_old, superior.as_deref());
            audit::rename(&mut batch.records, &self.author(name), name, change);
        }
        Ok(())
    }

    /// An entry is changed so; and what the directory keeps of it is as the draft has it, of these types.
    pub fn audit_modify(
        &self,
        batch: &mut Batch,
        id: Id,
        changes: &[Told<'_>],
        (draft, kept): (&Draft<'_>, &[AttributeId]),
    ) -> Result<()> {
        if self.is_audited() {
            let name = names::name_of(&self.scene.tables.entry()?, id)?;
            let kept = kept.iter().map(|id| {
                let values = draft.plain_values(*id).map(Cow::Borrowed).collect();
                Told { kind: ChangeKind::Replace, description: (&self.schema().attribute(*id).name).into(), values }
            });
            let changes: Vec<Told<'_>> = changes.iter().cloned().chain(kept).collect();
            let is_permissive = self.controls.permissive;
            audit::modify(&mut batch.records, &self.author(&name), &name, is_permissive, &changes);
        }
        Ok(())
    }

    /// What a request changes.
    pub fn told<'e>(&self, changes: &'e [Checked<'e>]) -> Vec<Told<'e>> {
        let told = |change: &'e Checked<'e>| Told {
            kind: change.kind,
            description: (&*change.described.description).into(),
            values: change.values.iter().map(|(value, _)| Cow::Borrowed(&**value)).collect(),
        };
        if self.is_audited() { changes.iter().map(told).collect() } else { Vec::new() }
    }

    /// What the directory changes of its own.
    pub fn told_of_edits<'e>(&self, edits: &Edits) -> Vec<Told<'e>>
    where
        'c: 'e,
    {
        let told = |(id, values): (&AttributeId, &Vec<Vec<u8>>)| Told {
            kind: ChangeKind::Replace,
            description: (&self.schema().attribute(*id).name).into(),
            values: values.iter().cloned().map(Cow::Owned).collect(),
        };
        if self.is_audited() { edits.iter().map(|(id, values)| told((id, values))).collect() } else { Vec::new() }
    }
}
