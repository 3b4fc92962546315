//! Which entries are in the scope of a search.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use duramen::Table;
use duramen_ldap::message::Scope;
use roaring::RoaringBitmap;

use crate::failure::Result;
use crate::names::{self, Changes};
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
    /// By which what is known of it is brought up to date.
    pub changes: Arc<Changes>,
}

impl Area {
    pub fn new(base: Id, scope: Scope, whole: bool, changes: &Arc<Changes>) -> Area {
        let whole = whole && scope == Scope::Subtree;
        Area { base, scope, whole, through: HashSet::new(), last: Cell::new((base, true)), changes: changes.clone() }
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

    /// The ids in it, if they are no more than `most`: found by walking down, one level after the other.
    pub fn walked(&self, names: &Table<'_>, most: u64) -> Result<Option<RoaringBitmap>> {
        let mut found: RoaringBitmap = self.through.iter().copied().collect();
        let mut level: RoaringBitmap = if self.scope == Scope::One { RoaringBitmap::new() } else { found.clone() };
        level.insert(self.base);
        if matches!(self.scope, Scope::Base | Scope::Subtree) {
            found.insert(self.base);
        }
        while self.scope != Scope::Base && !level.is_empty() {
            let mut below = RoaringBitmap::new();
            for parent in names::parents_among(names, &level)? {
                let count = u64::from(names::child_count(names, parent)?);
                if found.len() + below.len() + count > most {
                    return Ok(None);
                }
                names::children(names, parent, |child, _| {
                    below.insert(child);
                    true
                })?;
            }
            below -= &found;
            found |= &below;
            level = if self.scope == Scope::One { RoaringBitmap::new() } else { below };
        }
        Ok(Some(found))
    }
}
