//! Values that several entries have.
//!
//! Owns: finding those of an attribute in its index of equality. Must not know: whether there may be any.

use duramen::Table;

use super::container::count;
use super::key::{Kind, value_key, value_of};
use crate::failure::Result;
use crate::schema::AttributeId;

/// Calls `each` with every value, in normalized form, that more than one entry has.
pub(crate) fn shared(
    index: &Table<'_>,
    attribute: AttributeId,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut prefix = Vec::new();
    value_key(&mut prefix, attribute, Kind::Equality, b"");
    // Keys of one value follow each other, one for each window.
    let (mut last, mut is_told) = (Vec::new(), false);
    for item in index.prefix(prefix)? {
        let (key, container) = item?;
        let Some(value) = value_of(key) else { continue };
        let is_same = value == last.as_slice();
        if !is_same {
            last.clear();
            last.extend_from_slice(value);
            is_told = false;
        }
        if !is_told && (is_same || count(container) > 1) {
            is_told = true;
            each(&unescaped(value))?;
        }
    }
    Ok(())
}

/// A byte 0 of a value is followed by 255 in keys.
fn unescaped(value: &[u8]) -> Vec<u8> {
    let is_filler = |n: usize| n > 0 && value[n - 1] == 0;
    (0..value.len()).filter(|n| !is_filler(*n)).map(|n| value[n]).collect()
}
