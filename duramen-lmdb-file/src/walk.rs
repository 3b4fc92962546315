//! The way through a tree, entry by entry.
//!
//! Owns: where it stands. Must not know: what entries hold.

use crate::error::{Result, damaged};
use crate::file::Inner;
use crate::layout::{Head, Node, PageKind, Record, Value, child, fixed_key};

/// A way through a tree, from its first entry to its last.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Where it goes next, once its levels are passed.
    root: Option<u64>,
    depth: usize,
    levels: Vec<Level>,
}

/// A page on the way.
#[derive(Debug)]
struct Level {
    number: u64,
    page: Box<[u8]>,
    head: Head,
    next: usize,
}

impl Walk {
    /// Through a tree.
    pub(crate) fn tree(record: &Record) -> Walk {
        let root = (record.depth > 0).then_some(record.root);
        Walk { root, depth: usize::from(record.depth), levels: Vec::new() }
    }

    /// Through what is built as a page, and stands on this one.
    pub(crate) fn sub_page(number: u64, page: &[u8]) -> Result<Walk> {
        let head = Head::decode(page).map_err(damaged(number))?;
        if head.kind == PageKind::Branch {
            return Err(damaged(number)("values in a branch"));
        }
        Ok(Walk { root: None, depth: 1, levels: vec![Level { number, page: page.into(), head, next: 0 }] })
    }

    /// The next entry, and the page that it stands on. `left`: how many pages may be read still.
    pub(crate) fn step(&mut self, file: &Inner, left: &mut u64) -> Result<Option<(u64, Node<'_>)>> {
        if let Some(root) = self.root.take() {
            self.enter(file, root, left)?;
        }
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            if level.next == level.head.len {
                self.levels.pop();
                continue;
            }
            level.next += 1;
            if level.head.kind != PageKind::Branch {
                break;
            }
            let next = child(&level.page, level.next - 1).map_err(damaged(level.number))?;
            self.enter(file, next, left)?;
        }
        let level = self.levels.last().expect("a leaf was found");
        level.entry(level.next - 1).map(Some)
    }

    fn enter(&mut self, file: &Inner, number: u64, left: &mut u64) -> Result<()> {
        let damaged = damaged(number);
        *left = left.checked_sub(1).ok_or_else(|| damaged("its tree has more pages than the file"))?;
        let page = file.page(number)?;
        let head = Head::decode(&page).map_err(&damaged)?;
        let is_deepest = self.levels.len() + 1 == self.depth;
        if is_deepest == (head.kind == PageKind::Branch) {
            return Err(damaged("a branch where a leaf belongs, or a leaf where a branch does"));
        }
        self.levels.push(Level { number, page, head, next: 0 });
        Ok(())
    }
}

impl Level {
    fn entry(&self, i: usize) -> Result<(u64, Node<'_>)> {
        let node = match self.head.kind {
            PageKind::Fixed(size) => Node { key: fixed_key(&self.page, size, i), value: Value::Here(&[]) },
            _ => Node::decode(&self.page, i).map_err(damaged(self.number))?,
        };
        Ok((self.number, node))
    }
}
