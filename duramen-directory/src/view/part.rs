//! A part of the tree, from an entry on down.

use duramen_ldap::message::Scope;

use super::Scene;
use crate::failure::Result;
use crate::names;
use crate::tables::Id;

/// A part of the tree.
pub(crate) struct Part<'a, 's> {
    /// What it is seen in.
    pub scene: &'a Scene<'s>,
    /// The entry at its top.
    pub base: Id,
    /// What of it and below it.
    pub scope: Scope,
}

impl Part<'_, '_> {
    /// Whether an entry is in it.
    pub fn contains(&self, id: Id) -> Result<bool> {
        let entries = self.scene.tables.entry()?;
        Ok(match self.scope {
            Scope::Base => id == self.base,
            Scope::One => names::parent(&entries, id)? == self.base,
            Scope::Subordinates if id == self.base => false,
            _ => names::is_within(&entries, id, self.base)?,
        })
    }

    /// Whether it has such an entry, found by looking at one after the other.
    pub fn walk(&self, mut has: impl FnMut(Id) -> Result<bool>) -> Result<bool> {
        let (names, mut waiting) = (self.scene.tables.name()?, vec![self.base]);
        while let Some(id) = waiting.pop() {
            let is_base = id == self.base;
            if (!is_base || matches!(self.scope, Scope::Base | Scope::Subtree)) && has(id)? {
                return Ok(true);
            }
            let goes_down = match self.scope {
                Scope::Base => false,
                Scope::One => is_base,
                _ => true,
            };
            if goes_down {
                waiting.extend(names::children_of(&names, id)?);
            }
        }
        Ok(false)
    }
}
