//! References: values that are names of other entries, and follow these when they are renamed, or go with them.
//!
//! Owns: which names an update takes away, and which entries have them as values. Must not know: how entries are deleted
//! or renamed, how values are stored.
//!
//! It is done when the entries themselves have changed, in the same transaction. The rules of the schema hold: where a
//! class requires an attribute whose last value goes, the empty name takes its place, as people write it who make groups
//! without members. Access rules are not asked: nobody asks for these changes.

use std::collections::BTreeMap;

use duramen_ldap::message::{ModifyDnRequest, Request, ResultCode};

use super::batch::Batch;
use super::context::Context;
use super::modify;
use crate::attribute::form;
use crate::failure::Result;
use crate::index::{Reach, equal};
use crate::names;
use crate::schema::AttributeId;
use crate::tables::Id;

/// Names that entries have had until an update.
#[derive(Default)]
pub(super) struct Moved {
    entries: Vec<(Id, String)>,
    are_deleted: bool,
}

/// A name as a value: as it is written, and the form in which it is compared.
#[derive(Clone)]
pub(super) struct Value {
    pub bytes: Vec<u8>,
    pub form: Vec<u8>,
}

/// A value that is to be another, or to go.
pub(super) struct Reference {
    pub attribute: AttributeId,
    pub old: Value,
    pub new: Option<Value>,
}

impl Moved {
    /// The names that a request takes away, if values are to follow any.
    pub fn of(context: &Context<'_>, request: &Request<'_>) -> Result<Moved> {
        let (name, are_deleted) = match request {
            Request::Delete(name) => (*name, true),
            Request::ModifyDn(ModifyDnRequest { name, .. }) => (*name, false),
            _ => return Ok(Moved::default()),
        };
        if context.scene.state.references.is_empty() {
            return Ok(Moved::default());
        }
        let (names, entries) = (context.scene.tables.name()?, context.scene.tables.entry()?);
        let top = context.find(name)?;
        let (mut moved, mut done) = (vec![(top, names::name_of(&entries, top)?)], 0);
        while let Some((id, above)) = moved.get(done).cloned() {
            done += 1;
            for child in names::children_of(&names, id)? {
                let rdn = names::entry(&entries, child)?.rdn().to_string();
                moved.push((child, format!("{rdn},{above}")));
            }
        }
        Ok(Moved { entries: moved, are_deleted })
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What has to be changed so that no value refers to one of these names, once the update itself is made. What cannot
    /// be changed is left, and the log says so.
    pub fn followed(&self, context: &Context<'_>) -> Result<Vec<Batch>> {
        let mut batches = Vec::new();
        for (id, references) in self.references(context)? {
            match modify::refer(context, id, &references) {
                Ok(batch) => batches.extend(batch),
                Err(failure) if failure.code == ResultCode::OTHER => return Err(failure),
                Err(failure) => {
                    let entry = names::name_of(&context.scene.tables.entry()?, id)?;
                    tracing::warn!(entry, "values keep a name that is gone: {failure}");
                }
            }
        }
        Ok(batches)
    }

    /// By the entry that has them.
    fn references(&self, context: &Context<'_>) -> Result<BTreeMap<Id, Vec<Reference>>> {
        let (schema, index, entries) = (context.schema(), context.scene.tables.index()?, context.scene.tables.entry()?);
        let mut found: BTreeMap<Id, Vec<Reference>> = BTreeMap::new();
        for (id, name) in &self.entries {
            let new = if self.are_deleted { None } else { Some(names::name_of(&entries, *id)?.into_bytes()) };
            for &attribute in &context.scene.state.references {
                let form = |name: &[u8]| form(schema, schema.attribute(attribute).equality, name);
                let old = Value { bytes: name.clone().into_bytes(), form: form(name.as_bytes()) };
                let new = new.as_ref().map(|bytes| Value { bytes: bytes.clone(), form: form(bytes) });
                // Spelt otherwise it is the same name.
                if new.as_ref().is_some_and(|new| new.form == old.form) {
                    continue;
                }
                for referring in equal(&index, attribute, &old.form, &Reach::all())?.iter() {
                    let reference = Reference { attribute, old: old.clone(), new: new.clone() };
                    found.entry(referring).or_default().push(reference);
                }
            }
        }
        Ok(found)
    }
}
