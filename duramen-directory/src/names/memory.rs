//! What a thread remembers of names: where they lead in one commit, and how one schema normalizes them.
//!
//! Owns: how much is remembered, and when it is forgotten.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use duramen::Txnid;

use super::name_by;
use crate::failure::Result;
use crate::schema::Schema;
use crate::tables::{Id, Tables};

/// One state of one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub directory: u64,
    pub txnid: Txnid,
}

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    pub id: Id,
    pub is_suffix: bool,
}

/// An entry that others are below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Above {
    pub id: Id,
    /// Its marks, and those of all above it.
    pub marks: u8,
}

/// Names that a thread remembers; then it begins anew.
const REMEMBERED: usize = 4096;
/// Longer names are not remembered: clients write them.
const NAME_BYTES_MAX: usize = 512;

#[derive(Default)]
struct Memory {
    commit: Option<Commit>,
    names: HashMap<Id, Arc<str>>,
    /// By what is written.
    bases: HashMap<String, Base>,
    /// By normalized name.
    above: HashMap<String, Above>,
    /// Marks that no entry of a part of the tree has, which is its top and all below; 0 is the top of all.
    absent: HashSet<(u8, Id)>,
}

/// Names that one schema normalized.
#[derive(Default)]
struct Normalized {
    schema: Option<u64>,
    names: HashMap<String, Arc<str>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
    static NORMALIZED: RefCell<Normalized> = RefCell::default();
}

impl Memory {
    fn at(&mut self, commit: Commit) -> &mut Memory {
        let full = self.names.len() + self.bases.len() + self.above.len() + self.absent.len() > REMEMBERED;
        if self.commit != Some(commit) || full {
            self.names.clear();
            self.bases.clear();
            self.above.clear();
            self.absent.clear();
            self.commit = Some(commit);
        }
        self
    }
}

impl Normalized {
    fn by(&mut self, schema: &Schema) -> &mut HashMap<String, Arc<str>> {
        if self.schema != Some(schema.number()) || self.names.len() >= REMEMBERED {
            self.names.clear();
            self.schema = Some(schema.number());
        }
        &mut self.names
    }
}

/// As [`super::name_of`], for parents: remembered.
pub(crate) fn remembered_name(tables: &Tables<'_>, commit: Commit, id: Id) -> Result<Arc<str>> {
    let known = |id| MEMORY.with_borrow_mut(|memory| memory.at(commit).names.get(&id).cloned());
    if let Some(name) = known(id) {
        return Ok(name);
    }
    let name: Arc<str> = name_by(&tables.entry()?, id, known)?.into();
    MEMORY.with_borrow_mut(|memory| memory.at(commit).names.insert(id, name.clone()));
    Ok(name)
}

/// The entry that a name, exactly as it is written here, was found to lead to.
pub(crate) fn remembered_base(commit: Commit, name: &str) -> Option<Base> {
    MEMORY.with_borrow_mut(|memory| memory.at(commit).bases.get(name).copied())
}

/// Remembers to which entry a name leads.
pub(crate) fn remember_base(commit: Commit, name: &str, base: Base) {
    if name.len() <= NAME_BYTES_MAX {
        MEMORY.with_borrow_mut(|memory| memory.at(commit).bases.insert(name.to_string(), base));
    }
}

/// The entry of a normalized name that others were found below.
pub(super) fn above(commit: Commit, name: &str) -> Option<Above> {
    MEMORY.with_borrow_mut(|memory| memory.at(commit).above.get(name).copied())
}

/// Remembers the entry of a normalized name.
pub(super) fn remember_above(commit: Commit, name: &str, above: Above) {
    if name.len() <= NAME_BYTES_MAX {
        MEMORY.with_borrow_mut(|memory| memory.at(commit).above.insert(name.to_string(), above));
    }
}

/// Whether it is remembered that no entry from `top` on down has a mark; 0 is above all entries.
pub(crate) fn remembered_absent(commit: Commit, mark: u8, top: Id) -> bool {
    MEMORY.with_borrow_mut(|memory| memory.at(commit).absent.contains(&(mark, top)))
}

/// Remembers that no entry from `top` on down has a mark.
pub(crate) fn remember_absent(commit: Commit, mark: u8, top: Id) {
    MEMORY.with_borrow_mut(|memory| memory.at(commit).absent.insert((mark, top)));
}

/// What a name, exactly as it is written here, was normalized to.
pub(super) fn normalized(schema: &Schema, name: &str) -> Option<Arc<str>> {
    NORMALIZED.with_borrow_mut(|normalized| normalized.by(schema).get(name).cloned())
}

/// Remembers the normalized form of a name.
pub(super) fn remember_normalized(schema: &Schema, name: &str, form: &str) {
    if name.len() <= NAME_BYTES_MAX && form.len() <= NAME_BYTES_MAX {
        NORMALIZED.with_borrow_mut(|normalized| normalized.by(schema).insert(name.to_string(), form.into()));
    }
}
