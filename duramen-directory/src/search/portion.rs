//! The candidates of a search, portion by portion where it may end before it needs them all.
//!
//! Owns: how large a portion is. A search of which a page or a few entries are wanted finds the first candidates first; each
//! further portion is larger, so that who needs all of them pays for few.

use std::cell::{Cell, RefCell};

use crate::failure::Result;
use crate::filter::{Candidates, Planner, Test};
use crate::index::{Reach, Set};
use crate::names::Naming;
use crate::tables::Id;
use crate::view::Scene;

use super::members;
use super::scope::Area;

/// Windows of the first portion, and how many times as many the next one has.
const FIRST: usize = 2;
const GROWTH: usize = 4;

/// Some candidates.
pub(super) struct Portion {
    /// `None` is all entries.
    pub set: Option<Set>,
    /// Whether all of them match, but for those that are looked at whatever the filter says.
    pub exact: bool,
    /// Those behind them.
    pub rest: Option<Rest>,
    /// How they were found.
    pub notes: Vec<String>,
}

/// Candidates that have yet to be found.
#[derive(Debug)]
pub(super) struct Rest {
    from: Id,
    windows: usize,
    /// How many entries are wanted of them.
    wanted: u32,
    /// Entries that are looked at whatever the filter says.
    also: Set,
}

impl Rest {
    /// All candidates from an id on, at once.
    pub fn at_once(from: Id, also: Set) -> Rest {
        Rest { from, windows: usize::MAX, wanted: u32::MAX, also }
    }

    /// All candidates from an id on, portion by portion, where so many entries may be enough.
    pub fn by_portions(from: Id, wanted: u32, also: Set) -> Rest {
        Rest { from, windows: FIRST, wanted, also }
    }

    /// Finds the next candidates.
    pub fn find(self, scene: &Scene<'_>, naming: Naming, area: &Area, test: &Test, explain: bool) -> Result<Portion> {
        let (state, tables) = (scene.state, scene.tables);
        let planner = Planner {
            schema: &state.schema,
            indices: &state.ready,
            suffixes: &state.suffixes,
            naming,
            tables,
            index: tables.index()?,
            nested_groups: state.nested_groups,
            total: tables.entry()?.len(),
            reach: Reach::of(self.from, self.windows),
            wanted: u64::from(self.wanted),
            notes: explain.then(Default::default),
            spent: Cell::new(0),
        };
        // A part of the tree that has few entries says more than most of what a filter may ask for.
        let members = if planner.is_looked_up(test) {
            None
        } else {
            members::find(area, scene, members::most_before_indices(planner.total))?
        };
        let Candidates { set, exact } = planner.candidates(test, members.as_ref())?;
        let end = planner.reach.end();
        let rest = end.filter(|_| set.is_some()).map(|from| Rest {
            from,
            windows: self.windows.saturating_mul(GROWTH),
            wanted: self.wanted,
            also: self.also.clone(),
        });
        let mut notes = planner.notes.map(RefCell::into_inner).unwrap_or_default();
        let set = match set {
            Some(set) => Some(members::narrow(area, scene, self.and_also(set, end), members, &mut notes)?),
            None => None,
        };
        Ok(Portion { exact, rest, set, notes })
    }

    fn and_also(mut self, set: Set, end: Option<Id>) -> Set {
        if self.also.len() == 0 {
            return set;
        }
        end.into_iter().for_each(|end| self.also.cut(end));
        Set::Many(set.into_bitmap() | self.also.into_bitmap())
    }
}
