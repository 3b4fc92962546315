//! Which entries are in the scope of a search.

use std::cell::Cell;

use duramen::Table;
use duramen_ldap::message::Scope;
use roaring::RoaringBitmap;

use crate::failure::Result;
use crate::index::Set;
use crate::names;
use crate::tables::Id;

/// A part of the tree: that of the base, or what an alias leads to.
#[derive(Debug)]
pub(crate) struct Area {
    pub base: Id,
    pub scope: Scope,
    /// Whether everything there is lies in it: no entry has to be asked.
    pub whole: bool,
    /// A parent that was looked at last, and whether it is in the area.
    last: Cell<(Id, bool)>,
}

impl Area {
    pub fn new(base: Id, scope: Scope, whole: bool) -> Area {
        let whole = whole && scope == Scope::Subtree;
        Area { base, scope, whole, last: Cell::new((base, true)) }
    }

    /// Whether an entry with this parent is in it.
    #[inline]
    pub fn has(&self, entries: &Table<'_>, id: Id, parent: Id) -> Result<bool> {
        if self.whole {
            return Ok(true);
        }
        match self.scope {
            Scope::Base => Ok(id == self.base),
            Scope::One => Ok(parent == self.base),
            Scope::Subtree if id == self.base => Ok(true),
            Scope::Subordinates if id == self.base => Ok(false),
            _ => self.is_below(entries, parent),
        }
    }

    fn is_below(&self, entries: &Table<'_>, parent: Id) -> Result<bool> {
        let (last, within) = self.last.get();
        if last == parent {
            return Ok(within);
        }
        let within = names::is_within(entries, parent, self.base)?;
        self.last.set((parent, within));
        Ok(within)
    }

    /// The ids in it, if they are few of all: then they are better walked than all entries.
    pub fn members(&self, names: &Table<'_>, total: u64) -> Result<Option<Set>> {
        if self.whole {
            return Ok(None);
        }
        if self.scope == Scope::Base {
            return Ok(Some(Set::one(self.base)));
        }
        let most = total / 4;
        let mut found = RoaringBitmap::new();
        if self.scope == Scope::Subtree {
            found.insert(self.base);
        }
        let mut waiting = vec![self.base];
        while let Some(id) = waiting.pop() {
            let count = names::child_count(names, id)?;
            if found.len() + u64::from(count) > most && total > 64 {
                return Ok(None);
            }
            if count > 0 {
                names::children(names, id, |child, _| {
                    found.insert(child);
                    if self.scope != Scope::One {
                        waiting.push(child);
                    }
                    true
                })?;
            }
        }
        Ok(Some(Set::Many(found)))
    }
}
