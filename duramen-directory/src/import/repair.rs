//! What is left out of a record so that the rest of it can be taken.

use std::collections::HashMap;

use crate::schema::Schema;
use crate::update::{Draft, check};

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
