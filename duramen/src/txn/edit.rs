//! Changing a value by what it is: one way down the tree, to read it and to write it.
//!
//! Owns: what an edit may do. Must not know: how entries are stored.

use std::borrow::Cow;

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
    let edit = decide(if found { Some(read(work, &path)?) } else { None });
    match edit {
        Edit::Put(bytes) => update::put_here(work, i, &mut path, found, key, &Value::Bytes(&bytes)),
        Edit::Delete if found => update::delete_at(work, i, &mut path, key),
        Edit::Keep | Edit::Delete => Ok(()),
    }
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
