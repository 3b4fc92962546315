//! Attributes of the entries that values name, given with the entry that has the values (draft-masarati-ldap-deref-00).
//!
//! Owns: what is wanted of which entries, what of it may be seen. Must not know: how the entry with the values was found.

use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::{Element, List, Writer};
use duramen_ldap::control::{DereferenceRequest, DereferenceResponse, Dereferenced};
use duramen_ldap::matching::Rule;
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::{Payload, oid};

use super::select::{Picker, Selection, give};
use crate::access::{Level, What};
use crate::failure::{Failure, Result};
use crate::filter::each_value;
use crate::names;
use crate::schema::{AttributeId, Schema};
use crate::sink::Sink;
use crate::view::{Members, Scene, View};

/// So many values of an entry are followed at most: nobody else is served by the thread meanwhile.
const FOLLOWED_MAX: usize = 100_000;

/// What is wanted of the entries that values name.
#[derive(Debug)]
pub(super) struct Dereferencing(Vec<Wanted>);

/// What is wanted of the entries that an attribute's values name.
#[derive(Debug)]
struct Wanted {
    attribute: AttributeId,
    /// The attribute as the request has it.
    description: String,
    selection: Selection,
}

impl Dereferencing {
    /// From a request. Of an attribute that is not known, or whose values are no names, nothing is given.
    ///
    /// # Errors
    /// protocolError: an attribute is there twice; adminLimitExceeded.
    pub fn new(schema: &Schema, request: &DereferenceRequest<'_>) -> Result<Dereferencing> {
        let mut all: Vec<Wanted> = Vec::new();
        for wanted in request.0 {
            let are_names =
                |attribute: &&crate::schema::Attribute| attribute.equality.is_some_and(Rule::asks_about_names);
            let Some(found) = schema.find(wanted.description).filter(are_names) else { continue };
            if all.iter().any(|other| other.attribute == found.id) {
                let text = format!("dereference: {} is there twice", wanted.description);
                return Err(Failure::new(ResultCode::PROTOCOL_ERROR, text));
            }
            let selection = Selection::new(schema, wanted.attributes, false)?;
            all.push(Wanted { attribute: found.id, description: wanted.description.to_string(), selection });
        }
        Ok(Dereferencing(all))
    }

    /// Gives an entry to a sink, with what is wanted of others.
    pub fn give(
        &self,
        selection: &Selection,
        view: &View<'_, '_>,
        picked: &mut Vec<u8>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let mut followed = Vec::new();
        let mut count = 0;
        for wanted in &self.0 {
            wanted.follow(view, &mut count, &mut followed)?;
        }
        if followed.is_empty() {
            return give(selection, view, picked, sink);
        }
        let (mut value, mut controls) = (Vec::new(), Vec::new());
        DereferenceResponse(List::trusted(&followed)).encode(&mut value);
        let control = Control { oid: oid::control::DEREFERENCE, critical: false, value: Some(&value) };
        let controls = List::build(&mut controls, [control]);
        sink.entry(view.name, &Picker::new(view, selection).pick(picked)?, controls);
        Ok(())
    }
}

impl Wanted {
    /// Appends what is wanted of the entries that values of this one name. Only values that may be read are followed.
    fn follow(&self, view: &View<'_, '_>, count: &mut usize, out: &mut Vec<u8>) -> Result<()> {
        let mut picked = Vec::new();
        let mut each = |value: &[u8]| {
            if !view.may_read(self.attribute, Some(value)) {
                return Ok(());
            }
            *count += 1;
            if *count > FOLLOWED_MAX {
                let text = format!("dereference: an entry has more than {FOLLOWED_MAX} values to be followed");
                return Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
            }
            let found = self.pick(view.scene, value, &mut picked)?;
            let attributes = found.as_deref().map(List::<Attribute<'_>>::trusted);
            let found = Dereferenced { description: &self.description, value, attributes };
            found.write(&mut Writer::new(out));
            Ok(())
        };
        if view.scene.state.schema.known().is_derived(self.attribute) {
            let mut failed = Ok(());
            view.derived(self.attribute, &mut |value| {
                if failed.is_ok() {
                    failed = each(value);
                }
            })?;
            return failed;
        }
        each_value(&view.scene.tables, view.id, &view.entry, self.attribute, each)
    }

    /// What is wanted of the entry of a name, encoded. `None` if there is none, or none that may be seen.
    fn pick(&self, scene: &Scene<'_>, name: &[u8], picked: &mut Vec<u8>) -> Result<Option<Vec<u8>>> {
        let Ok(name) = std::str::from_utf8(name) else { return Ok(None) };
        let Ok(normalized) = names::normalize(&scene.state.schema, name) else { return Ok(None) };
        let Some(id) = Members::of(scene).find(&normalized)? else { return Ok(None) };
        let entry = names::entry(&scene.tables.entry()?, id)?;
        let name = scene.name_of(id, &entry)?;
        let view = View::new(scene, id, entry, &name);
        if !view.allows(What::Entry, Level::Read) {
            return Ok(None);
        }
        let pieces = Picker::new(&view, &self.selection).pick(picked)?;
        Ok(Some(pieces.concat()))
    }
}
