//! The dynamic groups that a thread has bound lately.
//!
//! Owns: for whom, and for how long, they are remembered. To take the URLs of all groups apart takes longer than to ask them
//! about an entry; a client asks again and again in one commit.

use std::cell::RefCell;
use std::sync::Arc;

use duramen::Txnid;

use super::Group;
use crate::clock::Moment;
use crate::requester::Requester;
use crate::state::State;
use crate::tables::Tables;
use crate::view::Scene;

/// So many sets of groups a thread remembers, and so many URLs in each at most: some hundred bytes each.
const REMEMBERED: usize = 4;
const URLS_MAX: usize = 4096;

/// What groups are bound in: a state of the directory, and who asks.
#[derive(PartialEq, Eq)]
pub(super) struct Occasion {
    directory: u64,
    commit: Txnid,
    /// The state that is made of the configuration, by its place and when it was made: another one may get the place later.
    state: (*const State, Moment),
    requester: Requester,
}

type Groups = Arc<Vec<Group>>;

thread_local! {
    static MEMORY: RefCell<Vec<(Occasion, Groups)>> = const { RefCell::new(Vec::new()) };
}

impl Occasion {
    /// `None` in a transaction, where nothing stays as it is.
    pub fn of(directory: u64, scene: &Scene<'_>, requester: &Requester) -> Option<Occasion> {
        let Tables::Snapshot(snapshot) = scene.tables else { return None };
        let state = (std::ptr::from_ref(scene.state), scene.state.since);
        Some(Occasion { directory, commit: snapshot.txnid(), state, requester: requester.clone() })
    }

    /// What is remembered of it.
    pub fn recall(&self) -> Option<Groups> {
        MEMORY.with_borrow(|memory| memory.iter().find(|(of, _)| of == self).map(|(_, groups)| groups.clone()))
    }

    /// Remembers it in place of what was remembered first.
    pub fn remember(self, groups: &Groups) {
        if groups.iter().map(|group| group.found.urls.len()).sum::<usize>() > URLS_MAX {
            return;
        }
        MEMORY.with_borrow_mut(|memory| {
            if memory.len() == REMEMBERED {
                memory.remove(0);
            }
            memory.push((self, groups.clone()));
        });
    }
}
