//! Pages, nodes and records of tables, as bytes.
//!
//! Owns: where what stands. Works on slices that may hold anything; must not know where they come from.

use crate::error::Damage;

/// Bytes of a page before its list of nodes.
pub(crate) const HEADER: usize = 16;
/// Bytes of a table's record.
pub(crate) const RECORD: usize = 48;
/// First bytes of a file that tell whether it is one, and all that is read of a meta page.
pub(crate) const META: usize = HEADER + 24 + 2 * RECORD + 16;
/// Deepest tree that there is.
const DEPTH_MAX: u16 = 32;

const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
/// A leaf of keys of one length, without nodes.
const LEAF_FIXED: u16 = 0x20;

/// The value stands on pages of its own.
const BIG: u16 = 0x01;
/// The value is a table's record
const RECORD_HERE: u16 = 0x02;
/// or one of many values.
const DUPLICATES: u16 = 0x04;

/// Bytes of a node before its key.
const NODE: usize = 8;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes(bytes.try_into().expect("two bytes")))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

/// The number at an offset; 0 behind the end.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

/// What a file is by its first bytes.
pub(crate) enum Kind {
    Foreign,
    /// LMDB's, but not to be read here.
    Other(String),
    Readable,
}

/// Looks at a file's first bytes, [`META`] of them if it has so many.
pub(crate) fn kind(head: &[u8]) -> Kind {
    let (magic, version) = (u32_at(head, HEADER), u32_at(head, HEADER + 4));
    match (magic, version) {
        (MAGIC, VERSION) if head.len() >= META => Kind::Readable,
        (MAGIC, VERSION) => Kind::Foreign,
        (MAGIC, other) => Kind::Other(format!("a data file of LMDB of format version {other}, not 1")),
        (swapped, _) if swapped.swap_bytes() == MAGIC => {
            Kind::Other("a data file of LMDB from a machine of the other byte order".into())
        }
        // Of a page's header the number takes four bytes there; those of LMDB 1.0 have a longer one.
        _ if u32_at(head, HEADER - 4) == MAGIC => Kind::Other("a data file of LMDB from a 32-bit machine".into()),
        _ if u32_at(head, HEADER + 8) == MAGIC => Kind::Other("a data file of LMDB 1.0".into()),
        _ => Kind::Foreign,
    }
}

/// What names a snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Meta {
    pub page_size: usize,
    pub main: Record,
    pub last_page: u64,
    pub txnid: u64,
}

impl Meta {
    /// The meta page that stands at the beginning of these bytes.
    pub(crate) fn decode(page: &[u8]) -> Result<Meta, Damage> {
        if !matches!(kind(page), Kind::Readable) {
            return Err("not a meta page");
        }
        let records = HEADER + 24;
        let page_size = u32_at(page, records) as usize;
        if !(512..=65536).contains(&page_size) || !page_size.is_power_of_two() {
            return Err("an impossible page size");
        }
        let main = Record::decode(&page[records + RECORD..records + 2 * RECORD])?;
        let last_page = u64_at(page, records + 2 * RECORD);
        if last_page >= 1 << 48 {
            return Err("an impossible length of the file");
        }
        Ok(Meta { page_size, main, last_page, txnid: u64_at(page, records + 2 * RECORD + 8) })
    }
}

/// A table's record: what it is and where its tree begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Record {
    pub flags: u16,
    pub depth: u16,
    pub entries: u64,
    pub root: u64,
}

impl Record {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Record, Damage> {
        if bytes.len() != RECORD {
            return Err("a table's record of a wrong length");
        }
        let (flags, depth) = (u16_at(bytes, 4), u16_at(bytes, 6));
        if depth > DEPTH_MAX {
            return Err("a tree deeper than any");
        }
        Ok(Record { flags, depth, entries: u64_at(bytes, 32), root: u64_at(bytes, 40) })
    }
}

/// What a page, or a part of one that is built as one, is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PageKind {
    Branch,
    Leaf,
    /// Keys of so many bytes.
    Fixed(usize),
}

/// A page's head, found possible.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub kind: PageKind,
    pub len: usize,
}

impl Head {
    pub(crate) fn decode(page: &[u8]) -> Result<Head, Damage> {
        if page.len() < HEADER {
            return Err("shorter than a page's head");
        }
        let flags = u16_at(page, 10);
        let kind = match flags & (BRANCH | LEAF | OVERFLOW | LEAF_FIXED) {
            BRANCH => PageKind::Branch,
            LEAF => PageKind::Leaf,
            both if both == LEAF | LEAF_FIXED => PageKind::Fixed(usize::from(u16_at(page, 8))),
            _ => return Err("neither branch nor leaf"),
        };
        let len = usize::from(u16_at(page, 12)).checked_sub(HEADER).ok_or("a list of nodes that ends in the head")? / 2;
        let (bytes, end) = match kind {
            PageKind::Fixed(size) => (len * size, page.len()),
            _ => (len * 2, nodes_begin(page)),
        };
        if HEADER + bytes > end {
            return Err("more nodes than there is room for");
        }
        Ok(Head { kind, len })
    }
}

/// Where the free part of a page ends, and its nodes begin.
fn nodes_begin(page: &[u8]) -> usize {
    usize::from(u16_at(page, 14))
}

/// What stands from a node on.
fn node_at(page: &[u8], i: usize) -> Option<&[u8]> {
    let at = usize::from(u16_at(page, HEADER + 2 * i));
    page.get(at..).filter(|node| at >= nodes_begin(page) && node.len() >= NODE)
}

/// A key of a page of keys of one length.
pub(crate) fn fixed_key(page: &[u8], size: usize, i: usize) -> &[u8] {
    &page[HEADER + i * size..][..size]
}

/// The page that a branch refers to.
pub(crate) fn child(page: &[u8], i: usize) -> Result<u64, Damage> {
    let node = node_at(page, i).ok_or("a node outside of where they stand")?;
    Ok(u64::from(u32_at(node, 0)) | u64::from(u16_at(node, 4)) << 32)
}

/// An entry of a leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'p> {
    pub key: &'p [u8],
    pub value: Value<'p>,
}

/// An entry's value, or where it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'p> {
    Here(&'p [u8]),
    /// On pages of its own from this one on.
    Overflow {
        page: u64,
        bytes: usize,
    },
    /// A table.
    Table(&'p [u8]),
    /// Many values, as the keys of what is built as a page
    Page(&'p [u8]),
    /// or of a tree.
    Tree(&'p [u8]),
}

impl<'p> Node<'p> {
    pub(crate) fn decode(page: &'p [u8], i: usize) -> Result<Node<'p>, Damage> {
        let outside = "an entry outside the page";
        let node = node_at(page, i).ok_or("an entry outside of where they stand")?;
        let (bytes, flags) = (u32_at(node, 0) as usize, u16_at(node, 4));
        let (key, rest) = node[NODE..].split_at_checked(usize::from(u16_at(node, 6))).ok_or(outside)?;
        let here = if flags & BIG != 0 { 8 } else { bytes };
        let here = rest.get(..here).ok_or(outside)?;
        let value = match flags & (BIG | RECORD_HERE | DUPLICATES) {
            0 => Value::Here(here),
            BIG => Value::Overflow { page: u64_at(here, 0), bytes },
            RECORD_HERE => Value::Table(here),
            DUPLICATES => Value::Page(here),
            both if both == DUPLICATES | RECORD_HERE => Value::Tree(here),
            _ => return Err("an entry of an impossible kind"),
        };
        Ok(Node { key, value })
    }

    /// The key of an entry that is none of many values, which may be empty.
    pub(crate) fn key_of_table(&self) -> Result<&'p [u8], Damage> {
        if self.key.is_empty() { Err("an entry without a key") } else { Ok(self.key) }
    }
}

/// Damage unless these bytes are the head of overflow pages that hold so many bytes.
pub(crate) fn check_overflow(head: &[u8], bytes: usize, page_size: usize) -> Result<(), Damage> {
    if u16_at(head, 10) & OVERFLOW == 0 {
        return Err("not the pages of a long value");
    }
    let room = (u32_at(head, 12) as usize).checked_mul(page_size).and_then(|room| room.checked_sub(HEADER));
    if room.is_none_or(|room| room < bytes) {
        return Err("pages too few for their value");
    }
    Ok(())
}
