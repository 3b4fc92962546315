//! A table, for reading: in a snapshot, or in a write transaction as it stands.

use std::fmt;

use super::cursor::Cursor;
use super::iter::{Iter, Keys};
use super::key_range::KeyRange;
use super::snapshot::Snapshot;
use super::work::Work;
use crate::error::{Error, Result};
use crate::format::leaf::Cell;
use crate::format::page::{self, Child};
use crate::ids::Txnid;
use crate::order::{Needle, Order};
use crate::tree::cursor::{Pair, Position, Trunk};
use crate::tree::duplicates::{self, Orders};
use crate::tree::{Pages, Tree, get, get_many, value};

/// Where a table's pages come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'t> {
    Snapshot(&'t Snapshot<'t>),
    Work(&'t Work),
}

/// Runs an expression over the source's own type, so that the hot paths are compiled for each.
macro_rules! on {
    ($source:expr, $pages:ident => $body:expr) => {
        match $source {
            Source::Snapshot($pages) => $body,
            Source::Work($pages) => $body,
        }
    };
}
pub(crate) use on;

/// A table, for reading. Keys and values that it returns live as long as the transaction is borrowed.
pub struct Table<'t> {
    pub(super) source: Source<'t>,
    pub(super) tree: Tree,
    pub(super) orders: Orders,
}

/// A table as a snapshot had it, without that snapshot: [`Snapshot::attach`] opens it once more in another snapshot of
/// the same commit, without a search for its name.
#[derive(Clone, Debug)]
pub struct DetachedTable {
    pub(super) commit: Commit,
    pub(super) tree: Tree,
    pub(super) orders: Orders,
}

/// A commit as one handle of a database knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Commit {
    pub handle: u64,
    pub txnid: Txnid,
}

/// What a table consists of. Pages of the trees of duplicates in it are not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStats {
    /// Entries, each duplicate counted.
    pub entries: u64,
    /// Levels of the tree; a single leaf is 1, an empty table 0.
    pub depth: u32,
    /// Branch pages.
    pub branch_pages: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Overflow pages.
    pub overflow_pages: u64,
    /// Bytes in a page.
    pub page_size: usize,
    /// Key order by name: [`Order::name`].
    pub order: &'static str,
    /// Order of the duplicates by name, if the table has them.
    pub duplicates: Option<&'static str>,
    /// Whether all duplicates have one size.
    pub fixed_size: bool,
    /// Size of fixed-size duplicates; 0 before the first.
    pub item_bytes: u16,
    /// The sixteen bits given at creation.
    pub user_bits: u16,
}

impl TableStats {
    /// Whether its keys, or the duplicates, are in an order that only a program's function knows.
    pub fn is_custom(&self) -> bool {
        self.order == "custom" || self.duplicates == Some("custom")
    }
}

pub(super) fn stats_of(tree: &Tree, page_size: usize) -> TableStats {
    TableStats {
        entries: tree.entries,
        depth: u32::from(tree.depth),
        branch_pages: tree.branches,
        leaf_pages: tree.leaves,
        overflow_pages: tree.overflows,
        page_size,
        order: Order::name_of(tree.order),
        duplicates: tree.has_duplicates().then(|| Order::name_of(tree.duplicate_order)),
        fixed_size: tree.has_fixed(),
        item_bytes: tree.item,
        user_bits: tree.user,
    }
}

impl fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({} entries)", self.len())
    }
}

/// All entries in order, as [`Table::iter`] gives them.
impl<'t> IntoIterator for &Table<'t> {
    type Item = Result<Pair<'t>>;
    type IntoIter = Iter<'t>;

    fn into_iter(self) -> Iter<'t> {
        self.iter()
    }
}

impl<'t> Table<'t> {
    pub(super) fn new(source: Source<'t>, tree: Tree, orders: Orders) -> Table<'t> {
        Table { source, tree, orders }
    }

    pub(super) fn trunk(&self) -> Trunk<'_> {
        Trunk { tree: &self.tree, orders: &self.orders }
    }

    /// The value of a key, in place; the first one if it has several.
    ///
    /// It lies where the file has it: one of some 2,000 bytes and more (half a page), in a snapshot, at a multiple of 64 bytes in
    /// memory; a smaller one at a multiple of 2, and of 8 where the lengths of all keys and values in the table are.
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<&'t [u8]>> {
        on!(self.source, pages => get_in(pages, &self.tree, &self.orders, key.as_ref()))
    }

    /// The values of many keys, in the order of the keys: `None` for those that are not there. Several times faster than
    /// one [`Table::get`] after the other, because the searches wait for memory together.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("people.dm"))?;
    /// # db.update(|txn| txn.table("people")?.put(b"bjensen", b"Barbara"))?;
    /// let snapshot = db.read()?;
    /// let values = snapshot.table("people")?.get_many(&[b"bjensen", b"nobody_"])?;
    /// assert_eq!(values, [Some(&b"Barbara"[..]), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<&'t [u8]>>> {
        on!(self.source, pages => get_many_in(pages, &self.tree, &self.orders, keys))
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let needle = Needle::new(key.as_ref(), &self.orders.key);
        on!(self.source, pages => Ok(get(pages, &self.tree, &self.orders.key, &needle)?.is_some()))
    }

    /// Whether the key has this value (among others, in a table with duplicates).
    pub fn contains(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.cursor().seek_pair(key, value)?.is_some())
    }

    /// Entries in the table, each duplicate counted. O(1).
    pub fn len(&self) -> u64 {
        self.tree.entries
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.tree.entries == 0
    }

    /// The commit that changed the table last, whatever others have changed since: as long as it stays the same, so do the
    /// entries. `None` of a table that is empty, and of one that this transaction has changed. The commit that a write
    /// transaction goes on from may still be on its way to the disk, which is the last that can be taken back.
    pub fn changed_in(&self) -> Result<Option<Txnid>> {
        let root = self.tree.root;
        if self.is_empty() || root.is_dirty() {
            return Ok(None);
        }
        // Whatever changes a page writes all that is above it anew.
        let birth = page::birth(on!(self.source, pages => pages.page(root))?);
        let is_own = matches!(self.source, Source::Work(work) if work.txnid == birth);
        Ok((!is_own).then_some(birth))
    }

    /// The first entry.
    pub fn first(&self) -> Result<Option<(&'t [u8], &'t [u8])>> {
        self.cursor().first()
    }

    /// The last entry.
    pub fn last(&self) -> Result<Option<(&'t [u8], &'t [u8])>> {
        self.cursor().last()
    }

    /// All entries in order, from either end.
    pub fn iter(&self) -> Iter<'t> {
        Iter::new(self)
    }

    /// The entries whose keys lie in a range, in order, from either end. An inverted range is empty.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("people.dm"))?;
    /// # db.update(|txn| txn.table("people")?.put(b"bjensen", b"Barbara"))?;
    /// let snapshot = db.read()?;
    /// for item in snapshot.table("people")?.range(b"a"..b"c")? {
    ///     let (key, value) = item?;
    ///     assert_eq!((key, value), (&b"bjensen"[..], &b"Barbara"[..]));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyLength`] for a bound among native integers that is of another size.
    pub fn range(&self, range: impl KeyRange) -> Result<Iter<'t>> {
        Iter::ranged(self, &range)
    }

    /// The entries whose keys begin with these bytes, in order.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the table's order is not bytewise: such keys then do not lie side by side.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Iter<'t>> {
        if self.tree.order != Order::Bytes.code() {
            return Err(Error::Incompatible {
                what: "its order is not bytewise, so keys with one beginning are no range of it",
            });
        }
        Ok(Iter::prefixed(self, prefix.as_ref()))
    }

    /// All keys in order, values not looked at; a key with several values comes once.
    pub fn keys(&self) -> Keys<'t> {
        Keys::new(self)
    }

    /// The values of one key, in order.
    pub fn values_of(&self, key: impl AsRef<[u8]>) -> Result<Iter<'t>> {
        Iter::of_key(self, key.as_ref())
    }

    /// A cursor that stands nowhere yet.
    pub fn cursor(&self) -> Cursor<'t> {
        Cursor::new(Table { source: self.source, tree: self.tree, orders: self.orders.clone() }, Position::default())
    }

    /// The table without its snapshot. `None` if it is one of a write transaction, which may change.
    #[inline]
    pub fn detached(&self) -> Option<DetachedTable> {
        let Source::Snapshot(snapshot) = self.source else { return None };
        Some(DetachedTable { commit: snapshot.commit(), tree: self.tree, orders: self.orders.clone() })
    }

    /// What the table consists of.
    pub fn stats(&self) -> TableStats {
        stats_of(&self.tree, on!(self.source, pages => pages.page_size()))
    }
}

fn get_many_in<'t, P: Pages, K: AsRef<[u8]>>(
    pages: &'t P,
    tree: &Tree,
    orders: &Orders,
    keys: &[K],
) -> Result<Vec<Option<&'t [u8]>>> {
    let needles: Vec<Needle<'_>> = keys.iter().map(|key| Needle::new(key.as_ref(), &orders.key)).collect();
    let mut values = Vec::with_capacity(keys.len());
    get_many(pages, tree, &orders.key, &needles, |found| {
        values.push(found.map(|(leaf, cell)| first_value(pages, tree, leaf, &cell)).transpose()?);
        Ok(())
    })?;
    Ok(values)
}

#[inline]
pub(super) fn get_in<'t, P: Pages>(pages: &'t P, tree: &Tree, orders: &Orders, key: &[u8]) -> Result<Option<&'t [u8]>> {
    let needle = Needle::new(key, &orders.key);
    let Some((leaf, cell)) = get(pages, tree, &orders.key, &needle)? else {
        return Ok(None);
    };
    first_value(pages, tree, leaf, &cell).map(Some)
}

/// The value of a cell's key; the first one if it has several.
#[inline]
fn first_value<'t, P: Pages>(pages: &'t P, tree: &Tree, leaf: Child, cell: &Cell<'t>) -> Result<&'t [u8]> {
    if tree.has_duplicates() { duplicates::first(pages, tree, leaf, cell) } else { value::load(pages, leaf, cell) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::error::Error;
    use crate::format::overflow::Stub;
    use crate::format::page::Child;
    use crate::order::Order;
    use crate::tree::Direction;
    use crate::tree::path::Path;
    use crate::{Database, TableOptions};

    /// A snapshot that is said to have few pages.
    struct Few<'s>(&'s Snapshot<'s>, u64);

    impl Pages for Few<'_> {
        fn page_size(&self) -> usize {
            self.0.page_size()
        }

        fn page_count(&self) -> u64 {
            self.1
        }

        fn page(&self, child: Child) -> Result<&[u8]> {
            self.0.page(child)
        }

        fn value(&self, stub: Stub) -> Result<&[u8]> {
            self.0.value(stub)
        }
    }

    /// Leaves that a walk meets from one end to the other.
    fn walk(pages: &Few<'_>, tree: &Tree, order: &Order, direction: Direction) -> Result<u64> {
        let mut path = Path::default();
        path.end_leaf(pages, tree, direction.entrance())?;
        let next_leaf = match direction {
            Direction::Forwards => Path::next_leaf,
            Direction::Backwards => Path::prev_leaf,
        };
        let mut leaves = 1;
        while next_leaf(&mut path, pages, order)? {
            leaves += 1;
        }
        Ok(leaves)
    }

    #[test]
    fn a_walk_in_a_programs_order_needs_no_function_and_meets_no_more_leaves_than_there_are_pages() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db")).unwrap();
        let descending = TableOptions::new().order(Order::Custom(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a))));
        db.update(|txn| {
            let mut table = txn.table_with("t", &descending)?;
            (1000..4000).try_for_each(|n| table.put(n.to_string(), [b'v'; 50]))
        })
        .unwrap();
        let snapshot = db.read().unwrap();
        let table = snapshot.table_with("t", &descending).unwrap();
        let leaves = table.stats().leaf_pages;
        assert!(leaves > 20);
        let any = Order::Custom(Arc::new(|a: &[u8], b: &[u8]| a.cmp(b)));
        for direction in [Direction::Forwards, Direction::Backwards] {
            assert_eq!(walk(&Few(&snapshot, leaves), &table.tree, &any, direction).unwrap(), leaves);
            let walked = walk(&Few(&snapshot, leaves / 2), &table.tree, &any, direction);
            assert!(matches!(walked, Err(Error::Corrupt { .. })), "{walked:?}");
        }
    }
}
