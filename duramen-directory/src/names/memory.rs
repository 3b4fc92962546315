//! What a thread remembers of names: where they lead while none is changed, and how one schema normalizes them.
//!
//! Owns: how much is remembered, and when it is forgotten.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use duramen::{Snapshot, Txnid, WriteTxn};
use duramen_ldap::message::Scope;
use rustc_hash::{FxHashMap, FxHashSet};

use super::name_by;
use crate::failure::Result;
use crate::schema::Schema;
use crate::tables::{Id, Ids, Tables};

/// One state of all names of one directory. Most updates leave them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Naming {
    directory: u64,
    /// Suffixes, normalized forms and indices may be others with another.
    schema: u64,
    /// The commit that changed table `name` last.
    pub(super) changed: Txnid,
    /// Of an import that has not come to the index yet, which tells of marks: the commit.
    loading: Option<Txnid>,
}

impl Naming {
    /// The number of the directory.
    pub fn directory(self) -> u64 {
        self.directory
    }

    /// Whether only updates can have made one of the other.
    pub(super) fn differs_in_commit_only(self, other: Naming) -> bool {
        self.loading.is_none() && Naming { changed: other.changed, ..self } == other
    }

    /// Of what a snapshot of a directory with this number shows.
    pub fn of(directory: u64, schema: &Schema, snapshot: &Snapshot<'_>) -> Result<Naming> {
        let tables = Tables::Snapshot(snapshot);
        let loading = tables.index()?.is_empty().then(|| snapshot.txnid());
        let changed = tables.name()?.changed_in()?.unwrap_or_default();
        Ok(Naming { directory, schema: schema.number(), changed, loading })
    }

    /// Of what a write transaction goes on from, if nobody can take it back any more.
    pub fn within(directory: u64, schema: &Schema, txn: &WriteTxn<'_>, ids: Ids) -> Result<Option<Naming>> {
        let settled = |changed: &Txnid| changed.0 + 1 < txn.txnid().0;
        let changed = txn.view(ids.name)?.changed_in()?.filter(settled);
        let changed = changed.filter(|_| !txn.view(ids.index).is_ok_and(|index| index.is_empty()));
        Ok(changed.map(|changed| Naming { directory, schema: schema.number(), changed, loading: None }))
    }
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

/// Ids are the directory's, and have a hash that is quick; names are what clients write, and have one that nobody foresees.
#[derive(Default)]
struct Memory {
    naming: Option<Naming>,
    names: FxHashMap<Id, Arc<str>>,
    /// By what is written.
    bases: HashMap<String, Base>,
    /// By normalized name.
    above: HashMap<String, Above>,
    /// Marks that no entry of a part of the tree has; 0 is the top of all.
    absent: FxHashSet<(u8, Id, Scope)>,
}

/// The two forms in which a name can be put.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Normalized,
    Strict,
}

/// Names that one schema has put into a form, by what was written.
#[derive(Default)]
struct Written {
    schema: Option<u64>,
    normalized: HashMap<String, Arc<str>>,
    strict: HashMap<String, Arc<str>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
    static WRITTEN: RefCell<Written> = RefCell::default();
}

impl Memory {
    fn at(&mut self, naming: Naming) -> &mut Memory {
        let full = self.names.len() + self.bases.len() + self.above.len() + self.absent.len() > REMEMBERED;
        if self.naming != Some(naming) || full {
            self.names.clear();
            self.bases.clear();
            self.above.clear();
            self.absent.clear();
            self.naming = Some(naming);
        }
        self
    }
}

impl Written {
    fn by(&mut self, schema: &Schema, form: Form) -> &mut HashMap<String, Arc<str>> {
        if self.schema != Some(schema.number()) || self.normalized.len() + self.strict.len() >= REMEMBERED {
            self.normalized.clear();
            self.strict.clear();
            self.schema = Some(schema.number());
        }
        match form {
            Form::Normalized => &mut self.normalized,
            Form::Strict => &mut self.strict,
        }
    }
}

/// As [`super::name_of`], for parents: remembered.
pub(crate) fn remembered_name(tables: &Tables<'_>, naming: Naming, id: Id) -> Result<Arc<str>> {
    let known = |id| MEMORY.with_borrow_mut(|memory| memory.at(naming).names.get(&id).cloned());
    if let Some(name) = known(id) {
        return Ok(name);
    }
    let name: Arc<str> = name_by(&tables.entry()?, id, known)?.into();
    MEMORY.with_borrow_mut(|memory| memory.at(naming).names.insert(id, name.clone()));
    Ok(name)
}

/// The entry that a name, exactly as it is written here, was found to lead to.
pub(crate) fn remembered_base(naming: Naming, name: &str) -> Option<Base> {
    MEMORY.with_borrow_mut(|memory| memory.at(naming).bases.get(name).copied())
}

/// Remembers to which entry a name leads.
pub(crate) fn remember_base(naming: Naming, name: &str, base: Base) {
    if name.len() <= NAME_BYTES_MAX {
        MEMORY.with_borrow_mut(|memory| memory.at(naming).bases.insert(name.to_string(), base));
    }
}

/// The entry of a normalized name that others were found below.
pub(super) fn above(naming: Naming, name: &str) -> Option<Above> {
    MEMORY.with_borrow_mut(|memory| memory.at(naming).above.get(name).copied())
}

/// Remembers the entry of a normalized name.
pub(super) fn remember_above(naming: Naming, name: &str, above: Above) {
    if name.len() <= NAME_BYTES_MAX {
        MEMORY.with_borrow_mut(|memory| memory.at(naming).above.insert(name.to_string(), above));
    }
}

/// Whether it is remembered that no entry in this scope of `top` has a mark; 0 is above all entries.
pub(crate) fn remembered_absent(naming: Naming, mark: u8, top: Id, scope: Scope) -> bool {
    MEMORY.with_borrow_mut(|memory| memory.at(naming).absent.contains(&(mark, top, scope)))
}

/// Remembers that no entry in this scope of `top` has a mark.
pub(crate) fn remember_absent(naming: Naming, mark: u8, top: Id, scope: Scope) {
    MEMORY.with_borrow_mut(|memory| memory.at(naming).absent.insert((mark, top, scope)));
}

/// What a name, exactly as it is written here, became in a form.
pub(super) fn written(schema: &Schema, form: Form, name: &str) -> Option<Arc<str>> {
    WRITTEN.with_borrow_mut(|written| written.by(schema, form).get(name).cloned())
}

/// Remembers what a name became in a form.
pub(super) fn remember_written(schema: &Schema, form: Form, name: &str, text: &str) {
    if name.len() <= NAME_BYTES_MAX && text.len() <= NAME_BYTES_MAX {
        WRITTEN.with_borrow_mut(|written| written.by(schema, form).insert(name.to_string(), text.into()));
    }
}
