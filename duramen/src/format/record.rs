//! The 48-byte record that describes a tree: in the catalog for a table, in a leaf for a tree of duplicates, in the
//! meta page for the catalog itself.
//!
//! Owns: the record's layout, which records can be. Must not know: what is in a tree's pages.

use crate::error::Damage;
use crate::ids::Pgno;
use crate::order::Order;

use super::page::Child;

/// Bytes of an encoded record.
pub(crate) const BYTES: usize = 48;

/// Deepest tree that is followed. With two children a branch it would hold 2^31 leaves; real ones have hundreds.
pub(crate) const DEPTH_MAX: usize = 32;

/// The table holds several sorted values for a key.
pub(crate) const DUPLICATES: u8 = 1;
/// All duplicates have one size, kept in `item` (0 until the first is stored).
pub(crate) const FIXED: u8 = 2;

/// A tree of duplicates whose leaves are packed with keys of `item` bytes.
pub(crate) const PACKED: u8 = 4;

/// More entries than fit in a file.
const ENTRIES_MAX: u64 = 1 << 62;

/// A tree: where its root is, and exact counts of what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tree {
    /// Root page; meaningless while `depth` is 0.
    pub root: Child,
    /// Entries, each duplicate counted.
    pub entries: u64,
    /// Branch pages of this tree (without the trees of duplicates in it).
    pub branches: u64,
    /// Leaf pages, likewise.
    pub leaves: u64,
    /// Overflow pages, likewise.
    pub overflows: u64,
    /// Levels; 0 = empty.
    pub depth: u8,
    /// Key order ([`Order::code`]).
    pub order: u8,
    /// Order of the duplicates.
    pub duplicate_order: u8,
    /// [`DUPLICATES`], [`FIXED`], [`PACKED`].
    pub flags: u8,
    /// Size of the fixed-size duplicates; in a tree of duplicates: of its packed keys, 0 if they vary.
    pub item: u16,
    /// Bits that the user of the table chose.
    pub user: u16,
}

impl Tree {
    /// An empty tree.
    pub(crate) fn new(order: &Order) -> Tree {
        Tree {
            root: Child::default(),
            entries: 0,
            branches: 0,
            leaves: 0,
            overflows: 0,
            depth: 0,
            order: order.code(),
            duplicate_order: 0,
            flags: 0,
            item: 0,
            user: 0,
        }
    }

    /// The same kind of tree, emptied.
    pub(crate) fn emptied(&self) -> Tree {
        Tree { root: Child::default(), entries: 0, branches: 0, leaves: 0, overflows: 0, depth: 0, ..*self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.depth == 0
    }

    pub(crate) fn has_duplicates(&self) -> bool {
        self.flags & DUPLICATES != 0
    }

    pub(crate) fn has_fixed(&self) -> bool {
        self.flags & FIXED != 0
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.flags & PACKED != 0
    }

    pub(crate) fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let words = [self.root.0, self.entries, self.branches, self.leaves, self.overflows];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[40..44].copy_from_slice(&[self.depth, self.order, self.duplicate_order, self.flags]);
        bytes[44..46].copy_from_slice(&self.item.to_le_bytes());
        bytes[46..48].copy_from_slice(&self.user.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Tree, Damage> {
        let bytes: &[u8; BYTES] = bytes.try_into().map_err(|_| Damage("a tree record of the wrong length"))?;
        let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
        let tree = Tree {
            root: Child(word(0)),
            entries: word(1),
            branches: word(2),
            leaves: word(3),
            overflows: word(4),
            depth: bytes[40],
            order: bytes[41],
            duplicate_order: bytes[42],
            flags: bytes[43],
            item: u16::from_le_bytes([bytes[44], bytes[45]]),
            user: u16::from_le_bytes([bytes[46], bytes[47]]),
        };
        if usize::from(tree.depth) > DEPTH_MAX {
            return Err(Damage("a tree record with an absurd depth"));
        }
        if tree.order > 3 || tree.duplicate_order > 3 || tree.flags & !(DUPLICATES | FIXED | PACKED) != 0 {
            return Err(Damage("a tree record with unknown options"));
        }
        // So they can be added to.
        let pages = tree.branches.max(tree.leaves).max(tree.overflows);
        if pages > Pgno::LIMIT || tree.entries > ENTRIES_MAX {
            return Err(Damage("a tree record with impossible counts"));
        }
        Ok(tree)
    }

    /// The root in a record, which need not be read for more.
    #[inline]
    pub(crate) fn root_in(bytes: &[u8]) -> Result<Child, Damage> {
        let root = bytes.first_chunk().ok_or(Damage("a tree record that ends too soon"))?;
        Ok(Child(u64::from_le_bytes(*root)))
    }

    /// Decodes the record of a table.
    pub(crate) fn decode_table(bytes: &[u8]) -> Result<Tree, Damage> {
        let tree = Tree::decode(bytes)?;
        if tree.is_packed() || tree.has_fixed() && !tree.has_duplicates() {
            return Err(Damage("a table with the options of a tree of duplicates"));
        }
        Ok(tree)
    }

    /// Decodes the record of the tree of a key's duplicates in `table`.
    pub(crate) fn decode_duplicates(bytes: &[u8], table: &Tree) -> Result<Tree, Damage> {
        let tree = Tree::decode(bytes)?;
        if tree.has_duplicates() || tree.has_fixed() || tree.is_packed() != table.has_fixed() {
            return Err(Damage("a tree of duplicates with options that its table has not"));
        }
        if tree.is_packed() && (tree.item == 0 || tree.item != table.item) {
            return Err(Damage("a tree of duplicates of another size than its table's"));
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_no_file_holds_are_refused() {
        let tree = Tree::new(&Order::Bytes);
        Tree::decode(&Tree { entries: ENTRIES_MAX, leaves: Pgno::LIMIT, ..tree }.encode()).unwrap();
        let bad = [
            Tree { entries: u64::MAX, ..tree },
            Tree { branches: u64::MAX, ..tree },
            Tree { leaves: u64::MAX, ..tree },
            Tree { overflows: u64::MAX, ..tree },
        ];
        for tree in bad {
            Tree::decode(&tree.encode()).unwrap_err();
        }
    }

    #[test]
    fn a_table_is_not_packed() {
        let table = Tree { flags: DUPLICATES | FIXED, item: 8, ..Tree::new(&Order::Bytes) };
        assert_eq!(Tree::decode_table(&table.encode()), Ok(table));
        for flags in [PACKED, PACKED | DUPLICATES | FIXED, FIXED] {
            Tree::decode_table(&Tree { flags, ..table }.encode()).unwrap_err();
        }
    }

    #[test]
    fn a_tree_of_duplicates_suits_its_table() {
        let table = |flags, item| Tree { flags, item, ..Tree::new(&Order::Bytes) };
        let (sorted, fixed) = (table(DUPLICATES, 0), table(DUPLICATES | FIXED, 8));
        let (plain, packed) = (table(0, 0), table(PACKED, 8));
        assert_eq!(Tree::decode_duplicates(&plain.encode(), &sorted), Ok(plain));
        assert_eq!(Tree::decode_duplicates(&packed.encode(), &fixed), Ok(packed));
        for (tree, table) in [(plain, fixed), (packed, sorted), (fixed, fixed), (sorted, sorted)] {
            Tree::decode_duplicates(&tree.encode(), &table).unwrap_err();
        }
        for item in [0, 4, 9] {
            let other = Tree { item, ..packed };
            Tree::decode_duplicates(&other.encode(), &fixed).unwrap_err();
            Tree::decode_duplicates(&packed.encode(), &Tree { item, ..fixed }).unwrap_err();
        }
        Tree::decode_duplicates(&Tree { item: 0, ..packed }.encode(), &Tree { item: 0, ..fixed }).unwrap_err();
    }
}
