//! Fixed-size values of a key, as many as stand side by side.

use super::{Inner, Pair, Position, Trunk};
use crate::error::{Error, Result};
use crate::tree::duplicates::item_of;
use crate::tree::sub_page::SubPage;
use crate::tree::{AnyLeaf, Pages, at, damaged, open_cells};

impl Position {
    /// The next page of fixed-size values.
    pub(crate) fn next_multiple<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        if self.next_duplicate(pages, t)?.is_none() {
            return Ok(None);
        }
        self.multiple(pages, t)
    }

    /// The fixed-size values from this one to the end of its page, side by side; the position is then on the last of
    /// them.
    pub(crate) fn multiple<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        let Some((key, value)) = self.current(pages, t)? else {
            return Ok(None);
        };
        let values = match &mut self.inner {
            Inner::One => value,
            Inner::Sub(i) => {
                let step = self.path.leaf();
                let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
                let sub = at(step.page, SubPage::open(cell.value, item_of(t.tree)))?;
                let from = std::mem::replace(i, sub.len() - 1);
                sub.packed(from..sub.len())
            }
            Inner::Tree => {
                let step = self.inner_path.leaf();
                let AnyLeaf::Packed(page) = self.inner_path.open_leaf(pages)? else {
                    return Err(damaged(step.page, "fixed-size duplicates that are not packed"));
                };
                self.inner_path.leaf_mut().index = page.len() - 1;
                at(step.page, page.keys(step.index..page.len()))?
            }
        };
        Ok(Some((key, values)))
    }

    /// As [`Position::multiple`], from the page's first value on.
    pub(crate) fn whole_multiple<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        if self.is_on() {
            match &mut self.inner {
                Inner::One => {}
                Inner::Sub(i) => *i = 0,
                Inner::Tree => self.inner_path.leaf_mut().index = 0,
            }
        }
        self.multiple(pages, t)
    }

    /// As [`Position::multiple`], for the page before: its values up to the last before this one's page.
    pub(crate) fn multiple_before<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        if !self.is_on() || !matches!(self.inner, Inner::Tree) {
            return Ok(None);
        }
        if !self.inner_path.prev_leaf(pages, &t.orders.duplicate)? {
            return Ok(None);
        }
        self.inner_path.leaf_mut().index = 0;
        let pair = self.multiple(pages, t)?;
        self.inner_path.leaf_mut().index = 0;
        Ok(pair)
    }
}

/// Only values of one size stand side by side.
fn must_be_fixed(t: Trunk<'_>) -> Result<()> {
    if t.tree.has_fixed() {
        return Ok(());
    }
    Err(Error::Incompatible { what: "it has no fixed-size duplicates to return several of" })
}
