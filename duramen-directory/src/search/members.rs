//! The entries in a part of the tree: whether it is small enough to be walked, and what is remembered of that.
//!
//! Owns: when walking down is less work than looking at candidates, or at all entries. A search below a department must not
//! take longer the more there is beside it, so candidates are held against what is in scope, unless that is more than they are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use duramen_ldap::message::Scope;
use roaring::RoaringBitmap;

use crate::failure::Result;
use crate::index::{self, Set};
use crate::names::Naming;
use crate::tables::Id;
use crate::view::Scene;

use super::scope::Area;

/// So few candidates are sooner looked at than narrowed down.
const FEW: u64 = 32;
/// Looking at a candidate costs several times as much as coming to an entry from above: of so many candidates for each entry
/// little is lost where a part of the tree turns out to be too large.
const CANDIDATES: u64 = 2;
/// So many times as many entries are walked where it has been asked before: as long as no name changes it need not be walked
/// again, and looking at the candidates of a search takes longer still.
const AGAIN: u64 = 4;
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

/// What a thread remembers while no name is changed.
#[derive(Default)]
struct Memory {
    naming: Option<Naming>,
    ids: u64,
    extents: HashMap<(Id, Scope), Extent>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

impl Memory {
    fn at(&mut self, naming: Naming) -> &mut Memory {
        if self.naming != Some(naming) {
            *self = Memory { naming: Some(naming), ..Memory::default() };
        }
        self
    }

    fn remember(&mut self, part: (Id, Scope), extent: Extent) {
        // Of parts of which only that they are large is known there may be many, too.
        let ids = 16 + if let Extent::Known(ids) = &extent { ids.len() } else { 0 };
        if ids > REMEMBERED {
            return;
        }
        if self.ids + ids > REMEMBERED {
            (self.ids, self.extents) = (0, HashMap::new());
        }
        self.ids += ids;
        self.extents.insert(part, extent);
    }
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
    let (part, naming) = ((area.base, area.scope), scene.naming.filter(|_| area.is_plain()));
    match naming.and_then(|naming| MEMORY.with_borrow_mut(|memory| memory.at(naming).extents.get(&part).cloned())) {
        Some(Extent::Known(ids)) => return Ok(Some(Set::Many((*ids).clone()))),
        Some(Extent::MoreThan(count)) if count >= most.max(again) => return Ok(None),
        Some(Extent::MoreThan(count)) if count >= most => most = again,
        _ => {}
    }
    let found = area.walked(&scene.tables.name()?, most)?;
    if let Some(naming) = naming {
        let extent = found.clone().map_or(Extent::MoreThan(most), |ids| Extent::Known(Arc::new(ids)));
        MEMORY.with_borrow_mut(|memory| memory.at(naming).remember(part, extent));
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
