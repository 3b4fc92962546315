//! An entry as a provider has sent it, as it is stored here.
//!
//! Owns: what is taken of it, and what cannot be. Must not know: where it stands, what was there before.
//!
//! All is taken as it was sent, by whatever rules it was made: only what is made when an entry is read is left out. But the
//! schema has to know each type and each class: without them nothing could be found or compared by them, and leaving them out
//! would make another entry of it.

use duramen_ldap::message::{ResultCode, SearchEntry};

use crate::attribute::describe_stored;
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::history::Uuid;
use crate::index::{Extractor, KeySet};
use crate::large;
use crate::schema::{AttributeId, Schema};
use crate::state::State;
use crate::tables::{Id, Tables};
use crate::update::{Draft, check};

/// What to do about what the schema lacks.
const CURE: &str = "add what the provider's schema has to `directory.schema`, and reload";

fn refuse<T>(code: ResultCode, text: String) -> Result<T> {
    Err(Failure::new(code, text))
}

/// The attributes of an entry.
///
/// # Errors
/// undefinedAttributeType and invalidAttributeSyntax of types and classes that the schema does not have;
/// objectClassViolation of an entry without classes; adminLimitExceeded of one with more attributes than are stored.
pub(super) fn draft<'e>(schema: &'e Schema, sent: &SearchEntry<'e>, uuid: Uuid) -> Result<Draft<'e>> {
    let (mut draft, known) = (Draft::default(), schema.known());
    for attribute in sent.attributes {
        let described = describe_stored(schema, attribute.description).map_err(advised)?;
        if known.is_derived(described.attribute.id) || attribute.values.is_empty() {
            continue;
        }
        draft.values_mut(&described)?.extend(attribute.values.iter().map(Into::into));
    }
    check::classes(schema, &draft).map_err(advised)?;
    if !draft.has(known.object_class) {
        let text = "it has no objectClass: whoever binds at the provider has to be able to read everything";
        return refuse(ResultCode::OBJECT_CLASS_VIOLATION, text.into());
    }
    // The control has the last word on which entry it is.
    let is_said = |value: &[u8]| uuid::Uuid::try_parse_ascii(value).is_ok_and(|said| *said.as_bytes() == uuid);
    if !draft.plain_values(known.entry_uuid).any(is_said) {
        draft.set(schema.attribute(known.entry_uuid), uuid::Uuid::from_bytes(uuid).to_string().into_bytes());
    }
    Ok(draft)
}

fn advised(failure: Failure) -> Failure {
    let diagnostic = format!("{}; {CURE}", failure.diagnostic);
    Failure { diagnostic, ..failure }
}

/// The attributes of what stands only for a name that others are below.
pub(super) fn glue(schema: &Schema) -> Draft<'_> {
    let (mut draft, known) = (Draft::default(), schema.known());
    draft.put(schema.attribute(known.object_class), vec![b"top".into(), b"glue".into()]);
    draft.set(schema.attribute(known.structural_object_class), &b"glue"[..]);
    draft
}

/// The attributes of what stands for an entry of this identifier, which was deleted, by a change with this number.
pub(super) fn held(schema: &Schema, uuid: Uuid, number: Vec<u8>) -> Draft<'_> {
    let (mut draft, known) = (glue(schema), schema.known());
    draft.set(schema.attribute(known.entry_uuid), uuid::Uuid::from_bytes(uuid).to_string().into_bytes());
    draft.set(schema.attribute(known.entry_csn), number);
    draft
}

/// The keys of an entry in the index, without those of values in table `value`.
pub(super) fn keys(state: &State, entry: &Entry<'_>) -> KeySet {
    let mut keys = KeySet::default();
    Extractor::new(&state.schema, &state.kept).entry(entry, |_| true, &mut |key| keys.insert(key));
    keys
}

/// Adds the keys of a value of an attribute.
pub(super) fn add_keys(state: &State, attribute: AttributeId, value: &[u8], keys: &mut KeySet) {
    Extractor::new(&state.schema, &state.kept).value(attribute, value, &mut |key| keys.insert(key));
}

/// The keys of an entry in the index, all of them.
pub(super) fn all_keys(state: &State, tables: &Tables<'_>, id: Id, entry: &Entry<'_>) -> Result<KeySet> {
    let mut keys = keys(state, entry);
    for large in entry.large() {
        for value in large::values(&tables.value()?, id, large.id)? {
            add_keys(state, large.id, value?, &mut keys);
        }
    }
    Ok(keys)
}
