//! Which entries are in the scope of a search.

use std::cell::Cell;
use std::collections::HashSet;

use duramen::Table;
use duramen_ldap::message::Scope;
use roaring::RoaringBitmap;

use crate::failure::Result;
use crate::index::Set;
use crate::names;
use crate::tables::Id;

/// Parts of the tree: that of the base, and what aliases lead to.
#[derive(Debug)]
pub(crate) struct Area {
    pub base: Id,
    pub scope: Scope,
    /// Whether everything there is lies in it: no entry has to be asked.
    pub whole: bool,
    /// What aliases lead to (RFC 4511 section 4.5.1.3): these entries, and but for [`Scope::One`] those below them.
    through: HashSet<Id>,
    /// A parent that was looked at last, and whether it is in the area.
    last: Cell<(Id, bool)>,
}

impl Area {
    pub fn new(base: Id, scope: Scope, whole: bool) -> Area {
        let whole = whole && scope == Scope::Subtree;
        Area { base, scope, whole, through: HashSet::new(), last: Cell::new((base, true)) }
    }

    /// Adds what an alias leads to.
    pub fn add(&mut self, target: Id) {
        self.through.insert(target);
        self.last.set((self.base, true));
    }

    /// Whether it is the base and what is below it, and nothing else.
    pub fn is_plain(&self) -> bool {
        self.through.is_empty()
    }

    /// Whether an entry with this parent is in it.
    #[inline]
    pub fn has(&self, entries: &Table<'_>, id: Id, parent: Id) -> Result<bool> {
        if self.whole || self.through.contains(&id) {
            return Ok(true);
        }
        match self.scope {
            Scope::Base => Ok(id == self.base),
            Scope::One => Ok(parent == self.base),
            Scope::Subtree if id == self.base => Ok(true),
            Scope::Subordinates if id == self.base && self.is_plain() => Ok(false),
            _ => self.is_below(entries, parent),
        }
    }

    fn is_below(&self, entries: &Table<'_>, parent: Id) -> Result<bool> {
        let (last, within) = self.last.get();
        if last == parent {
            return Ok(within);
        }
        // In a chain of entries the last parent is above this one, and the way ends there.
        let within = names::climb(entries, parent, |id| match id {
            _ if id == last => Some(within),
            _ if id == self.base || self.through.contains(&id) => Some(true),
            _ => None,
        })?;
        self.last.set((parent, within));
        Ok(within)
    }

    /// The ids in it, if they are few of all: then they are better walked than all entries.
    pub fn members(&self, names: &Table<'_>, total: u64) -> Result<Option<Set>> {
        if self.whole {
            return Ok(None);
        }
        let mut found: RoaringBitmap = self.through.iter().copied().collect();
        if matches!(self.scope, Scope::Base | Scope::Subtree) {
            found.insert(self.base);
        }
        let mut waiting = if self.scope == Scope::Base { Vec::new() } else { vec![self.base] };
        if self.scope != Scope::One {
            waiting.extend(&self.through);
        }
        let most = total / 4;
        while let Some(id) = waiting.pop() {
            let count = names::child_count(names, id)?;
            if found.len() + u64::from(count) > most && total > 64 {
                return Ok(None);
            }
            if count > 0 {
                names::children(names, id, |child, _| {
                    if found.insert(child) && self.scope != Scope::One {
                        waiting.push(child);
                    }
                    true
                })?;
            }
        }
        Ok(Some(Set::Many(found)))
    }
}
