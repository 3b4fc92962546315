//! Tables that a thread has opened before: to open one again in the same commit takes no search.
//!
//! Owns: what is remembered, and of which commit. Must not know: pages.
//!
//! A commit never changes, so what a name was found to stand for in one stays true. Another commit is another question,
//! and so is another handle: nothing needs to be forgotten when either goes.

use std::cell::RefCell;

use super::table::Commit;
use crate::tree::Tree;
use crate::width::to_u8;

/// Longest name that is remembered.
const NAME_MAX: usize = 24;
/// Tables that a thread remembers; each has one place where it may be.
const PLACES: usize = 8;

struct Known {
    commit: Commit,
    len: u8,
    name: [u8; NAME_MAX],
    tree: Tree,
}

impl Known {
    fn is(&self, commit: Commit, name: &[u8]) -> bool {
        self.commit == commit && self.name[..usize::from(self.len)] == *name
    }
}

thread_local! {
    static KNOWN: RefCell<[Option<Known>; PLACES]> = const { RefCell::new([const { None }; PLACES]) };
}

/// Where a table of this name would be remembered.
fn place(name: &[u8]) -> usize {
    let ends = [name.first(), name.last()].map(|byte| usize::from(byte.copied().unwrap_or_default()));
    (ends[0] + ends[1] + name.len()) % PLACES
}

/// The table of this name in this commit, if it is remembered.
#[inline]
pub(super) fn recall(commit: Commit, name: &[u8]) -> Option<Tree> {
    KNOWN
        .with_borrow(|known| known[place(name)].as_ref().filter(|known| known.is(commit, name)).map(|known| known.tree))
}

/// Remembers a table, instead of what was remembered in its place.
pub(super) fn remember(commit: Commit, name: &[u8], tree: Tree) {
    if name.len() > NAME_MAX {
        return;
    }
    let mut copy = [0; NAME_MAX];
    copy[..name.len()].copy_from_slice(name);
    let known = Known { commit, len: to_u8(name.len()), name: copy, tree };
    KNOWN.with_borrow_mut(|places| places[place(name)] = Some(known));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Txnid;
    use crate::order::Order;

    #[test]
    fn a_table_is_remembered_under_its_whole_name_in_its_commit() {
        let commit = |handle, txnid| Commit { handle, txnid: Txnid(txnid) };
        let tree = Tree { entries: 7, ..Tree::new(&Order::Bytes) };
        remember(commit(1, 5), b"people", tree);
        assert_eq!(recall(commit(1, 5), b"people"), Some(tree));
        assert_eq!(recall(commit(2, 5), b"people"), None, "another database");
        assert_eq!(recall(commit(1, 6), b"people"), None, "another commit");
        let others: [&[u8]; 4] = [b"peopl", b"pEople", b"people\0", b""];
        for other in others {
            assert_eq!(recall(commit(1, 5), other), None, "{other:?}");
        }
        let long = [b'x'; NAME_MAX + 1];
        remember(commit(1, 5), &long, tree);
        assert_eq!(recall(commit(1, 5), &long), None, "too long to be remembered");
        assert_eq!(recall(commit(1, 5), &long[..NAME_MAX]), None);
        std::thread::spawn(move || assert_eq!(recall(commit(1, 5), b"people"), None, "each thread has its own"))
            .join()
            .unwrap();
    }
}
