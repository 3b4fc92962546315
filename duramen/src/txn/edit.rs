//! Changing a value by what it is: one way down the tree, to read it and to write it.
//!
//! Owns: what an edit may do, what differs between two values. Must not know: how entries are stored.

use std::borrow::Cow;

use super::ops;
use super::place::spill_if_large;
use super::update::{self, Value, check_key};
use super::work::Work;
use crate::error::{Error, Result};
use crate::format::leaf::CellKind;
use crate::tree::{Pages, Path, at, open_cells, value};

/// What becomes of a key's value: see [`super::TableMut::edit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit<'v> {
    /// It stays as it is.
    Keep,
    /// This is the key's value from now on.
    Put(Cow<'v, [u8]>),
    /// The key goes.
    Delete,
}

/// Has `decide` look at a key's value, and does what it says.
pub(super) fn edit<'v>(
    work: &mut Work,
    i: usize,
    key: &[u8],
    decide: impl FnOnce(Option<&[u8]>) -> Edit<'v>,
) -> Result<()> {
    work.check()?;
    if work.tables[i].tree.has_duplicates() {
        return Err(Error::Incompatible { what: "a key with several values has none to be edited" });
    }
    check_key(work.page_size(), &work.tables[i], key)?;
    spill_if_large(work)?;
    let mut path = Path::default();
    let found = update::seek(work, i, &mut path, key)?;
    let old = if found { Some(read(work, &path)?) } else { None };
    match decide(old) {
        Edit::Put(bytes) => {
            let splice = old.filter(|_| ops::may_splice(work)).and_then(|old| Splice::between(old, &bytes));
            update::put_here(work, i, &mut path, found, (key, &bytes))?;
            match splice {
                Some(splice) => ops::splice(work, i, key, &splice),
                None => ops::put(work, i, key, &Value::Bytes(&bytes)),
            }
            Ok(())
        }
        Edit::Delete if found => update::delete_at(work, i, &mut path, key),
        Edit::Keep | Edit::Delete => Ok(()),
    }
}

/// What makes one value of another: at a place some bytes go and others come. It takes less room in the log than the
/// whole value does, where little of much is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Splice<'v> {
    pub at: u32,
    pub removed: u32,
    pub inserted: &'v [u8],
}

impl<'v> Splice<'v> {
    /// From the old value to the new one; nothing if that saves next to nothing.
    fn between(old: &[u8], new: &'v [u8]) -> Option<Splice<'v>> {
        const SAVES_AT_LEAST: usize = 32;
        let at = same_at_start(old, new);
        let (old, rest) = (&old[at..], &new[at..]);
        let behind = same_at_end(old, rest);
        if at + behind < SAVES_AT_LEAST {
            return None;
        }
        let (at, removed) = (u32::try_from(at).ok()?, u32::try_from(old.len() - behind).ok()?);
        Some(Splice { at, removed, inserted: &rest[..rest.len() - behind] })
    }

    /// The new value; nothing if there is no such place in the old one.
    pub fn apply(&self, old: &[u8]) -> Option<Vec<u8>> {
        let (start, rest) = old.split_at_checked(self.at as usize)?;
        Some([start, self.inserted, rest.get(self.removed as usize..)?].concat())
    }
}

/// How many bytes two values begin with in common.
fn same_at_start(a: &[u8], b: &[u8]) -> usize {
    let chunks = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0).take_while(|(a, b)| a == b).count() * 16;
    chunks + a[chunks..].iter().zip(&b[chunks..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes two values end with in common.
fn same_at_end(a: &[u8], b: &[u8]) -> usize {
    let (chunks_a, chunks_b) = (a.as_rchunks::<16>().1.iter().rev(), b.as_rchunks::<16>().1.iter().rev());
    let chunks = chunks_a.zip(chunks_b).take_while(|(a, b)| a == b).count() * 16;
    let (a, b) = (&a[..a.len() - chunks], &b[..b.len() - chunks]);
    chunks + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// The value at a path.
fn read<'w>(work: &'w Work, path: &Path) -> Result<&'w [u8]> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(work, step.page)?.cell(step.index))?;
    if cell.kind == CellKind::Table {
        return Err(Error::Incompatible { what: "a table has this name" });
    }
    value::load(work, step.page, &cell)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_splice_makes_the_new_value_of_the_old(
            start in prop::collection::vec(0..2u8, 0..60),
            gone in prop::collection::vec(0..2u8, 0..20),
            come in prop::collection::vec(0..2u8, 0..20),
            end in prop::collection::vec(0..2u8, 0..60),
        ) {
            let (old, new) = ([&start[..], &gone, &end].concat(), [&start[..], &come, &end].concat());
            match Splice::between(&old, &new) {
                Some(splice) => {
                    prop_assert_eq!(splice.apply(&old), Some(new.clone()));
                    prop_assert!(splice.inserted.len() + 32 <= new.len());
                    prop_assert_eq!(splice.apply(&old[..splice.at as usize]).is_some(), splice.removed == 0);
                }
                None => prop_assert!(start.len() + end.len() < 32),
            }
        }
    }
}
