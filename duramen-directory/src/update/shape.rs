//! What a thread remembers of shapes: which types an entry has, and what its values of objectClass are. That is all that the
//! rules of classes ask about, and most entries that are changed are of few shapes. A shape is remembered once it was found to
//! be right; what was only let pass is not.
//!
//! Owns: how many are remembered, and when they are forgotten. Must not know: the rules.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::draft::Draft;
use crate::schema::{ClassId, Schema};

/// What follows from a shape that all rules of its classes allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub structural: ClassId,
    /// Marks of the entry.
    pub marks: u8,
}

/// So many are remembered; then it begins anew.
const SHAPES_MAX: usize = 256;
/// Longer ones are not remembered: clients write them.
const BYTES_MAX: usize = 1024;

#[derive(Default)]
struct Memory {
    /// The schema by which they are right.
    schema: Option<u64>,
    // A client that finds shapes with one hash makes the few that there are be compared.
    shapes: FxHashMap<Vec<u8>, Shape>,
    scratch: Vec<u8>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

impl Memory {
    /// Writes a shape to `scratch`. What has lost its last value is no part of a draft any more.
    fn describe(&mut self, schema: &Schema, draft: &Draft<'_>) {
        let out = &mut self.scratch;
        out.clear();
        for attribute in &draft.attributes {
            out.extend_from_slice(&attribute.id.number().to_be_bytes());
            if attribute.id == schema.known().object_class {
                out.push(attribute.options.is_empty().into());
                out.extend_from_slice(&attribute.count().to_be_bytes());
                for value in attribute.values() {
                    out.extend_from_slice(&value.len().to_be_bytes());
                    out.extend_from_slice(value);
                }
            }
        }
        // No number is as great.
        out.extend_from_slice(&u16::MAX.to_be_bytes());
        draft.kept_large().for_each(|large| out.extend_from_slice(&large.stored.id.number().to_be_bytes()));
    }
}

/// What is known of a draft's shape; `None` unless it was found to be right lately.
pub(super) fn known(schema: &Schema, draft: &Draft<'_>) -> Option<Shape> {
    MEMORY.with_borrow_mut(|memory| {
        if memory.schema != Some(schema.number()) {
            return None;
        }
        memory.describe(schema, draft);
        memory.shapes.get(memory.scratch.as_slice()).copied()
    })
}

/// Remembers that a draft's shape is right.
pub(super) fn remember(schema: &Schema, draft: &Draft<'_>, shape: Shape) {
    MEMORY.with_borrow_mut(|memory| {
        if memory.schema != Some(schema.number()) || memory.shapes.len() >= SHAPES_MAX {
            memory.shapes.clear();
            memory.schema = Some(schema.number());
        }
        memory.describe(schema, draft);
        if memory.scratch.len() <= BYTES_MAX {
            memory.shapes.insert(memory.scratch.clone(), shape);
        }
    });
}
