//! Which keys the pages of a tree may hold, by the separators on the way to each.
//!
//! Owns: what has been met of one tree. Must not know: what else is looked at in a page.
//!
//! A walk visits parents before their children and these in order, so that each page is the next child of the last branch
//! one level above it.

use crate::error::Damage;
use crate::format::branch::Branch;
use crate::order::Order;
use crate::tree::AnyLeaf;

/// Views from the first, if there is one, to before the second.
#[derive(Clone, Default)]
struct Span {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
}

impl Span {
    fn holds(&self, view: &[u8]) -> bool {
        self.from.as_deref().is_none_or(|from| view >= from) && self.to.as_deref().is_none_or(|to| view < to)
    }
}

/// A branch that is gone into.
struct Fork {
    level: u8,
    /// What its children may hold, from the first that has not been met on.
    children: std::vec::IntoIter<Span>,
}

/// See the module's head.
#[derive(Default)]
pub(super) struct Spans {
    forks: Vec<Fork>,
    /// Of the page met last.
    span: Span,
}

impl Spans {
    /// A page at this level is met.
    pub(super) fn meet(&mut self, level: u8) {
        while self.forks.last().is_some_and(|fork| fork.level <= level) {
            self.forks.pop();
        }
        // A branch that is too damaged to be taken apart says nothing of its children.
        let above = self.forks.last_mut().filter(|fork| fork.level == level + 1);
        self.span = above.and_then(|fork| fork.children.next()).unwrap_or_default();
    }

    /// What was met is this branch, whose separators are views. They have to rise, and to lie where it may hold keys.
    pub(super) fn part(&mut self, level: u8, branch: &Branch<'_>) -> Result<(), Damage> {
        let mut separators = Vec::with_capacity(branch.len());
        for i in 1..branch.len() {
            let mut separator = Vec::new();
            branch.separator(i, &mut separator)?;
            separators.push(separator);
        }
        let rise = separators.is_sorted_by(|a, b| a < b);
        // The first child has a part of its own, too.
        let is_at_edge = separators.first().is_some_and(|first| self.span.from.as_ref() == Some(first));
        let are_within = separators.iter().all(|it| self.span.holds(it)) && !is_at_edge;
        let lows = std::iter::once(self.span.from.take()).chain(separators.iter().cloned().map(Some));
        let highs = separators.iter().cloned().map(Some).chain([self.span.to.take()]);
        let children: Vec<_> = lows.zip(highs).map(|(from, to)| Span { from, to }).collect();
        self.forks.push(Fork { level, children: children.into_iter() });
        match rise && are_within {
            true => Ok(()),
            false => Err(Damage("its separators do not part its children")),
        }
    }

    /// What was met is this leaf, whose keys rise: they have to lie where it may hold some.
    pub(super) fn hold(&self, leaf: &AnyLeaf<'_>, order: &Order) -> Result<(), Damage> {
        let Some(last) = leaf.len().checked_sub(1) else { return Ok(()) };
        for i in [0, last] {
            let mut view = Vec::new();
            order.view_into(leaf.key(i)?, &mut view);
            if !self.span.holds(&view) {
                return Err(Damage("a key that the pages above it look for elsewhere"));
            }
        }
        Ok(())
    }
}
