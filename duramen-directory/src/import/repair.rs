//! What is left out of a record so that the rest of it can be taken.

use std::collections::HashMap;

use crate::schema::Schema;
use crate::update::{Draft, check};

/// Takes away classes that the schema does not have where there are others, and with them what another server made of them.
/// What was wrong with each.
pub(super) fn classes(schema: &Schema, draft: &mut Draft<'_>) -> Vec<String> {
    let known = schema.known();
    let mut left_out = Vec::new();
    for attribute in draft.attributes.iter_mut().filter(|attribute| attribute.id == known.object_class) {
        let values = attribute.values_mut();
        if !values.iter().any(|value| check::class(schema, 1, value).is_ok()) {
            continue;
        }
        let mut n = 0;
        values.retain(|value| {
            n += 1;
            let judged = check::class(schema, n, value);
            left_out.extend(judged.as_ref().err().map(|failure| failure.diagnostic.clone()));
            judged.is_ok()
        });
    }
    if !left_out.is_empty() {
        draft.attributes.retain(|attribute| attribute.id != known.structural_object_class);
    }
    left_out
}

/// Takes away attributes that none of the classes which are left allows: those of classes that were left out, too. What was
/// wrong with each. What the entry is named by is there again later, and then it is judged.
pub(super) fn attributes(schema: &Schema, draft: &mut Draft<'_>) -> Vec<String> {
    let Ok(classes) = check::classes(schema, draft) else { return Vec::new() };
    let Ok(structural) = check::structural(schema, &classes) else { return Vec::new() };
    let rule = schema.rules().contents.get(&structural.id);
    let mut left_out = Vec::new();
    draft.attributes.retain(|attribute| {
        let judged = check::allowed(schema, &classes, rule, attribute.id);
        left_out.extend(judged.as_ref().err().map(|failure| failure.diagnostic.clone()));
        judged.is_ok()
    });
    left_out
}

/// Takes away values that are not of their attribute's syntax, and those that are the same as one before. What was wrong
/// with each. Of a value that the entry's name has there is one again later, and then it is judged.
pub(super) fn values(schema: &Schema, draft: &mut Draft<'_>) -> Vec<String> {
    let mut left_out = Vec::new();
    for attribute in &mut draft.attributes {
        let (kind, description) = (schema.attribute(attribute.id), attribute.description().to_string());
        let (mut n, mut seen) = (0, HashMap::new());
        attribute.values_mut().retain(|value| {
            n += 1;
            let judged = check::compared(schema, kind, &description, n, value);
            let what = match judged.map(|form| *seen.entry(form).or_insert(n)) {
                Ok(first) if first == n => return true,
                Ok(first) => check::is_the_same(&description, n, first).diagnostic,
                Err(failure) => failure.diagnostic,
            };
            left_out.push(what);
            false
        });
    }
    draft.drop_empty();
    left_out
}
