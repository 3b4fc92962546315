//! The entries in a part of the tree: whether it is small enough to be walked, and what is remembered of that.
//!
//! Owns: when walking down is less work than looking at candidates, or at all entries. A search below a department must not
//! take longer the more there is beside it, so candidates are held against what is in scope, unless that is more than they are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use duramen_ldap::message::Scope;
use roaring::RoaringBitmap;

use crate::entry::Entry;
use crate::failure::Result;
use crate::index::{self, Set};
use crate::names::{self, Naming};
use crate::tables::Id;
use crate::view::Scene;

use super::scope::Area;

/// So few candidates are sooner looked at than narrowed down.
const FEW: u64 = 32;
/// Looking at a candidate costs several times as much as coming to an entry from above: of so many candidates for each entry
/// little is lost where a part of the tree turns out to be too large.
const CANDIDATES: u64 = 2;
/// So many times as many entries are walked where it has been asked before: what is known need not be walked again, and
/// looking at the candidates of a search takes longer still.
const AGAIN: u64 = 4;
/// Finding out where an entry is takes so many times as long as coming to it from above.
const ASKED: u64 = 8;
/// So many entries may have changed, where it is only known that a part is large.
const CHANGED: u64 = 64;
/// Ids that are remembered at most: some 2 bytes each, by each thread.
const REMEMBERED: u64 = 1 << 20;

/// How many entries are walked at most where all would be looked at else.
pub(super) fn most_of_all(total: u64) -> u64 {
    (total / 4).max(64)
}

/// How many entries are walked at most before indices are asked: about what it costs to read a key that all entries have.
pub(super) fn most_before_indices(total: u64) -> u64 {
    (total / 256).clamp(64, 4096)
}

/// What is known of a part of the tree.
#[derive(Clone)]
enum Extent {
    Known(Arc<RoaringBitmap>),
    MoreThan(u64),
}

/// What a thread remembers, each for the state of the names that it was found in.
#[derive(Default)]
struct Memory {
    ids: u64,
    extents: HashMap<Part, (Naming, Extent)>,
}

/// A directory, the base, and what of it.
type Part = (u64, Id, Scope);

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

impl Memory {
    fn remember(&mut self, part: Part, naming: Naming, extent: Extent) {
        self.forget(part);
        let ids = extent.cost();
        if ids > REMEMBERED {
            return;
        }
        if self.ids + ids > REMEMBERED {
            *self = Memory::default();
        }
        self.ids += ids;
        self.extents.insert(part, (naming, extent));
    }

    fn forget(&mut self, part: Part) -> Option<(Naming, Extent)> {
        let forgotten = self.extents.remove(&part);
        self.ids -= forgotten.as_ref().map_or(0, |(_, extent)| extent.cost());
        forgotten
    }
}

impl Extent {
    /// Of parts of which only that they are large is known there may be many, too.
    fn cost(&self) -> u64 {
        16 + if let Extent::Known(ids) = self { ids.len() } else { 0 }
    }

    /// What is known once some entries may have come, gone or moved; `None` if it is less work to walk than to find out.
    fn after(self, changed: &RoaringBitmap, area: &Area, scene: &Scene<'_>) -> Result<Option<Extent>> {
        match self {
            // Whatever else is below an entry that has moved may have gone with it.
            Extent::MoreThan(_) if !names::parents_among(&scene.tables.name()?, changed)?.is_empty() => Ok(None),
            Extent::MoreThan(count) => Ok(Some(Extent::MoreThan(count.saturating_sub(changed.len())))),
            Extent::Known(mut ids) => {
                Ok(update(Arc::make_mut(&mut ids), changed, area, scene)?.then_some(Extent::Known(ids)))
            }
        }
    }
}

/// Asks of some entries whether they are in an area now. Those below one that came or went did so with it: no entry but these
/// has another parent. False if it is less work to walk.
fn update(ids: &mut RoaringBitmap, changed: &RoaringBitmap, area: &Area, scene: &Scene<'_>) -> Result<bool> {
    let (entries, names) = (scene.tables.entry()?, scene.tables.name()?);
    for id in changed {
        let parent = entries.get(id.to_be_bytes())?.and_then(Entry::parent_of);
        let is_in = parent.map_or(Ok(false), |parent| area.has(&entries, id, parent))?;
        if is_in == ids.contains(id) {
            continue;
        }
        let mut moved = RoaringBitmap::from([id]);
        if area.scope != Scope::One && names::child_count(&names, id)? > 0 {
            let below = Area::new(id, Scope::Subtree, false, &area.changes);
            let most = ids.len() / 2;
            match below.walked(&names, most)? {
                Some(below) if !below.contains(area.base) => moved = below,
                _ => return Ok(false),
            }
        }
        if is_in {
            *ids |= moved;
        } else {
            *ids -= moved;
        }
    }
    Ok(true)
}

/// What is remembered of a part, brought up to date.
fn recall(part: Part, naming: Naming, area: &Area, scene: &Scene<'_>) -> Result<Option<Extent>> {
    let known = MEMORY.with_borrow(|memory| memory.extents.get(&part).filter(|(of, _)| *of == naming).cloned());
    if let Some((_, extent)) = known {
        return Ok(Some(extent));
    }
    let Some((of, extent)) = MEMORY.with_borrow_mut(|memory| memory.forget(part)) else { return Ok(None) };
    let most = if let Extent::Known(ids) = &extent { ids.len() / ASKED } else { CHANGED };
    let Some(changed) = area.changes.between(of, naming, most) else { return Ok(None) };
    let extent = extent.after(&changed, area, scene)?;
    if let Some(extent) = &extent {
        MEMORY.with_borrow_mut(|memory| memory.remember(part, naming, extent.clone()));
    }
    Ok(extent)
}

/// The entries in an area, if they are no more than `most`, or known anyway.
pub(super) fn find(area: &Area, scene: &Scene<'_>, most: u64) -> Result<Option<Set>> {
    find_again(area, scene, most, most)
}

/// As [`find`], where so many are walked if it is known that there are more than `most`.
fn find_again(area: &Area, scene: &Scene<'_>, mut most: u64, again: u64) -> Result<Option<Set>> {
    if area.whole {
        return Ok(None);
    }
    let known_by = scene.naming.filter(|_| area.is_plain());
    let known_by = known_by.map(|naming| ((naming.directory(), area.base, area.scope), naming));
    let extent = known_by.map_or(Ok(None), |(part, naming)| recall(part, naming, area, scene))?;
    match extent {
        Some(Extent::Known(ids)) => return Ok(Some(Set::Many((*ids).clone()))),
        Some(Extent::MoreThan(count)) if count >= most.max(again) => return Ok(None),
        Some(Extent::MoreThan(count)) if count >= most => most = again,
        _ => {}
    }
    let found = area.walked(&scene.tables.name()?, most)?;
    if let Some((part, naming)) = known_by {
        let extent = found.clone().map_or(Extent::MoreThan(most), |ids| Extent::Known(Arc::new(ids)));
        MEMORY.with_borrow_mut(|memory| memory.remember(part, naming, extent));
    }
    Ok(found.map(Set::Many))
}

/// Those of some candidates that are in an area, if it is not too large to tell. `members` are the entries in it, if they are
/// known already.
pub(super) fn narrow(
    area: &Area,
    scene: &Scene<'_>,
    candidates: Set,
    members: Option<Set>,
    notes: &mut Vec<String>,
) -> Result<Set> {
    let members = match members {
        None if candidates.len() > FEW => {
            let most = candidates.len() / CANDIDATES;
            find_again(area, scene, most, (AGAIN * most).min(REMEMBERED / 2))?
        }
        members => members,
    };
    let Some(members) = members else { return Ok(candidates) };
    notes.push(format!("{} entries in scope", members.len()));
    Ok(index::intersect(candidates, members))
}

#[cfg(test)]
mod tests;
