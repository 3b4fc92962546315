//! A second reader of Duramen files: slow, short, and knowing no more of the format than docs/file-format.md says.
//!
//! Owns: the way from the meta slot to every entry. Must not know: offsets and codes (`tables`), the free space
//! (`space`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::tables::{FORMAT, Table, little};

/// A page or run that was met on the way.
pub struct Seen {
    pub pages: u64,
    pub birth: u64,
    pub checksum: u64,
}

/// A cell of a leaf, or an item of a packed leaf.
pub struct Cell {
    pub kind: String,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// A file in memory.
pub struct File {
    pub bytes: Rc<[u8]>,
    /// The newest valid meta slot.
    pub slot: Vec<u8>,
    /// Every page and run read so far, by number.
    pub seen: BTreeMap<u64, Seen>,
    /// How often each kind of page, and each kind of cell, was met.
    pub kinds: BTreeMap<String, u64>,
}

impl File {
    pub fn new(bytes: Vec<u8>) -> File {
        let meta = &FORMAT.meta;
        let slots = (0..4).map(|slot| &bytes[slot * 4096..(slot + 1) * 4096]).filter(|slot| is_valid(meta, slot));
        let slot = slots.max_by_key(|slot| meta.number(slot, "sequence")).expect("a valid slot").to_vec();
        File { bytes: bytes.into(), slot, seen: BTreeMap::new(), kinds: BTreeMap::new() }
    }

    /// A field of the meta slot.
    pub fn meta(&self, field: &str) -> u64 {
        FORMAT.meta.number(&self.slot, field)
    }

    /// The record of the main table.
    pub fn catalog(&self) -> Vec<u8> {
        FORMAT.meta.bytes(&self.slot, "catalog").to_vec()
    }

    pub fn page_size(&self) -> usize {
        self.meta("page size") as usize
    }

    fn meet(&mut self, what: &str) {
        *self.kinds.entry(what.to_string()).or_default() += 1;
    }

    /// A page of a tree, verified.
    fn page(&mut self, pgno: u64) -> Vec<u8> {
        let size = self.page_size();
        let page = self.bytes[pgno as usize * size..][..size].to_vec();
        self.verify(pgno, &page, size, 1);
        assert_eq!(FORMAT.header.number(&page, "run pages"), 0);
        page
    }

    /// The payload of a run, verified.
    pub fn run(&mut self, pgno: u64, kind: &str) -> Vec<u8> {
        let (header, of_run) = (&FORMAT.header, &FORMAT.run_header);
        let bytes = self.bytes.clone();
        let first = &bytes[pgno as usize * self.page_size()..];
        let payload = of_run.number(first, "payload bytes") as usize;
        let pages = of_run.number(first, "run pages");
        assert_eq!(self.kind(first), kind, "page {pgno}");
        for field in ["level", "count", "prefix", "item"] {
            assert_eq!(header.number(first, field), 0, "page {pgno}: {field}");
        }
        assert!(of_run.bytes(first, "zero").iter().all(|&byte| byte == 0), "page {pgno}");
        let at = FORMAT.overflow.place("payload", &[]);
        let needed = (at + payload).div_ceil(self.page_size()) as u64;
        assert!(pages == needed || kind == "space run" && pages > needed, "page {pgno}: {pages} for {needed}");
        self.verify(pgno, first, at + payload, pages);
        first[at..at + payload].to_vec()
    }

    fn kind(&self, page: &[u8]) -> String {
        let code = FORMAT.header.number(page, "kind");
        FORMAT.page_kinds.name_of(code).to_string()
    }

    fn verify(&mut self, pgno: u64, page: &[u8], end: usize, pages: u64) {
        let header = &FORMAT.header;
        let sealed = header.range("checksum").end..end;
        let checksum = header.number(page, "checksum");
        assert_eq!(checksum, xxh3_64_with_seed(&page[sealed], self.meta("file id")), "page {pgno}: checksum");
        assert_eq!(header.number(page, "page number"), pgno);
        let birth = header.number(page, "birth");
        assert!(birth <= self.meta("txnid") && pgno + pages <= self.meta("page count"), "page {pgno}");
        assert!(self.seen.insert(pgno, Seen { pages, birth, checksum }).is_none(), "page {pgno} is in use twice");
        let kind = self.kind(page);
        self.meet(&kind);
    }

    /// All cells of a tree in order; compares what it meets with the record's counts.
    pub fn cells(&mut self, record: &[u8]) -> Vec<Cell> {
        let tree = &FORMAT.tree;
        let depth = tree.number(record, "depth");
        let mut cells = Vec::new();
        let mut counts = [0; 2];
        if depth > 0 {
            let root = tree.number(record, "root");
            assert_eq!(FORMAT.child.bits(root, "entries"), 0);
            self.visit(root, depth, record, &mut cells, &mut counts);
        }
        let found = counts.map(|count| count as u64);
        assert_eq!(found, [tree.number(record, "branches"), tree.number(record, "leaves")]);
        cells
    }

    fn visit(&mut self, child: u64, level: u64, record: &[u8], out: &mut Vec<Cell>, counts: &mut [usize; 2]) {
        let pointer = &FORMAT.child;
        assert_eq!(pointer.bits(child, "dirty"), 0);
        let page = self.page(pointer.bits(child, "page"));
        assert_eq!(FORMAT.header.number(&page, "level"), level);
        match self.kind(&page).as_str() {
            "branch" => {
                counts[0] += 1;
                self.branch(&page, level, record, out, counts);
            }
            "leaf" => {
                counts[1] += 1;
                let cells = self.leaf(&page, record);
                out.extend(cells);
            }
            "packed leaf" => {
                counts[1] += 1;
                out.extend(packed(&page, record));
            }
            other => panic!("a page of kind {other} in a tree"),
        }
    }

    fn branch(&mut self, page: &[u8], level: u64, record: &[u8], out: &mut Vec<Cell>, counts: &mut [usize; 2]) {
        let (header, layout) = (&FORMAT.header, &FORMAT.branch);
        let prefix = header.number(page, "prefix") as usize;
        let count = header.number(page, "count") as usize;
        let variables = variables(page, self.page_size());
        let children = layout.place("children", &variables);
        let order = order(record);
        assert_eq!(header.number(page, "item"), u64::from(order == "custom"));
        let at = layout.place("prefix", &variables);
        let (bytes, padding) = page[at..layout.place("heads", &variables)].split_at(prefix);
        assert!(padding.iter().all(|byte| *byte == 0));
        let mut used = 0;
        for i in 0..count {
            let (separator, heap) = separator(page, &variables, i, bytes, order == "custom");
            used += heap;
            let child = little(&page[children + 8 * i..][..8]);
            let first = out.len();
            self.visit(child, level - 1, record, out, counts);
            let entries = FORMAT.child.bits(child, "entries");
            let plain = out[first..].iter().all(|cell| cell.kind == "plain");
            let expected = if level == 2 && plain { (out.len() - first) as u64 } else { 65535 };
            assert_eq!(entries, expected);
            if i > 0 && order != "custom" {
                assert!(view(&out[first - 1].key, &order) < separator, "separator {i} is not above the keys before");
                assert!(separator <= view(&out[first].key, &order), "separator {i} is above its child's keys");
            }
        }
        assert_eq!(header.number(page, "heap") - header.number(page, "dead"), used as u64);
    }

    fn leaf(&mut self, page: &[u8], record: &[u8]) -> Vec<Cell> {
        let (header, layout) = (&FORMAT.header, &FORMAT.leaf);
        let variables = variables(page, self.page_size());
        let count = header.number(page, "count") as usize;
        let (heads, slots) = (layout.place("heads", &variables), layout.place("slots", &variables));
        let heap = layout.place("heap", &variables);
        let (order, prefix) = (order(record), header.number(page, "prefix") as usize);
        let mut used = 0;
        let mut cells = Vec::new();
        for i in 0..count {
            let (cell, place) = cell(page, slots + 6 * i);
            assert!(place.start >= heap && place.start.is_multiple_of(2));
            used += place.len();
            let head = if order == "custom" { 0 } else { head(view(&cell.key, &order).get(prefix..).unwrap_or(&[])) };
            assert_eq!(little(&page[heads + 4 * i..][..4]), head, "head {i}");
            self.meet(&format!("{} cell", cell.kind));
            cells.push(cell);
        }
        assert_eq!(header.number(page, "heap") - header.number(page, "dead"), used as u64);
        let outside = cells.iter().filter(|cell| cell.kind != "plain").count();
        assert_eq!(header.number(page, "item"), outside as u64);
        cells
    }

    /// The values that a cell stands for.
    pub fn values(&mut self, cell: &Cell, record: &[u8]) -> Vec<Vec<u8>> {
        match cell.kind.as_str() {
            "plain" => vec![cell.value.clone()],
            "overflow" => {
                let stub = &FORMAT.stub;
                let pgno = FORMAT.child.bits(stub.number(&cell.value, "run"), "page");
                let value = self.run(pgno, "overflow run");
                assert_eq!(stub.number(&cell.value, "value bytes"), value.len() as u64);
                vec![value]
            }
            "sub-page" => sub_page(&cell.value, record),
            "sub-tree" => self.cells(&cell.value).into_iter().map(|cell| cell.key).collect(),
            other => panic!("a cell of kind {other} in a table"),
        }
    }
}

fn is_valid(meta: &Table, slot: &[u8]) -> bool {
    let sealed = &slot[..meta.range("checksum").start];
    let tail = &meta.bytes(slot, "tail")[..meta.number(slot, "tail bytes") as usize];
    let sum = |bytes: &[u8]| xxh3_64_with_seed(bytes, meta.number(slot, "file id"));
    meta.bytes(slot, "magic") == b"DURAMEN\x1a"
        && meta.number(slot, "checksum") == sum(sealed)
        && meta.number(slot, "tail checksum") == sum(tail)
}

/// What the formulas of the tables of parts are about.
fn variables(page: &[u8], page_size: usize) -> [(&'static str, usize); 4] {
    let header = &FORMAT.header;
    let field = |name| header.number(page, name) as usize;
    let padded = field("prefix").next_multiple_of(8);
    [("n", field("count")), ("p", padded), ("heap", field("heap")), ("page size", page_size)]
}

/// Separator `i` of a branch, and what it takes of the heap.
fn separator(page: &[u8], variables: &[(&str, usize)], i: usize, prefix: &[u8], whole: bool) -> (Vec<u8>, usize) {
    let layout = &FORMAT.branch;
    let (heads, tails) = (layout.place("heads", variables), layout.place("tails", variables));
    let head = little(&page[heads + 4 * i..][..4]);
    let tail = little(&page[tails + 2 * i..][..2]) as usize;
    if i == 0 {
        assert_eq!((head, tail), (0, 0));
        return (Vec::new(), 0);
    }
    let mut separator = prefix.to_vec();
    if tail == 0 {
        let mut remainder = (head as u32).to_be_bytes().to_vec();
        remainder.truncate(remainder.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        separator.extend(remainder);
        return (separator, 0);
    }
    assert!(tail >= layout.place("heap", variables));
    let bytes = little(&page[tail..tail + 2]) as usize;
    let remainder = &page[tail + 2..][..bytes];
    assert_eq!(head, if whole { 0 } else { self::head(remainder) });
    separator.extend(remainder);
    (separator, 2 + bytes)
}

/// The cell whose slot is at this offset of a leaf, and where it is.
fn cell(page: &[u8], slot: usize) -> (Cell, Range<usize>) {
    let (layout, fields) = (&FORMAT.slot, &FORMAT.cell_word);
    let (key, word) = (layout.number(&page[slot..], "cell") as usize, layout.number(&page[slot..], "word"));
    let length = |field| fields.bits(word, field) as usize;
    let code = fields.bits(word, "kind, upper bits") << 1 | fields.bits(word, "kind, lowest bit");
    let kind = FORMAT.cell_kinds.name_of(code).to_string();
    let value = key + length("key bytes").next_multiple_of(2);
    let end = value + length("value bytes");
    let cell = Cell { kind, key: page[key..key + length("key bytes")].to_vec(), value: page[value..end].to_vec() };
    (cell, key..end.next_multiple_of(2).max(key + 2))
}

fn packed(page: &[u8], record: &[u8]) -> Vec<Cell> {
    let header = &FORMAT.header;
    let item = header.number(page, "item") as usize;
    assert_eq!(item as u64, FORMAT.tree.number(record, "item"));
    assert!(flag(record, "packed"));
    let at = FORMAT.packed.place("items", &[]);
    let items = page[at..].chunks(item).take(header.number(page, "count") as usize);
    items.map(|key| Cell { kind: "plain".into(), key: key.to_vec(), value: Vec::new() }).collect()
}

fn sub_page(bytes: &[u8], record: &[u8]) -> Vec<Vec<u8>> {
    if flag(record, "fixed") {
        let item = FORMAT.tree.number(record, "item") as usize;
        return bytes.chunks_exact(item).map(<[u8]>::to_vec).collect();
    }
    let count = little(&bytes[..2]) as usize;
    let ends: Vec<usize> = bytes[2..2 + 2 * count].chunks(2).map(|end| little(end) as usize).collect();
    let body = &bytes[2 + 2 * count..];
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, end)| body[start..*end].to_vec()).collect()
}

/// Whether a tree record has a flag.
pub fn flag(record: &[u8], flag: &str) -> bool {
    let flags = FORMAT.tree.number(record, "flags");
    FORMAT.tree_flags.bits(flags, flag) == 1
}

fn order(record: &[u8]) -> String {
    let code = FORMAT.tree.number(record, "order");
    FORMAT.orders.name_of(code).to_string()
}

fn view(key: &[u8], order: &str) -> Vec<u8> {
    match order {
        "reversed" => key.iter().rev().copied().collect(),
        "native integers" if cfg!(target_endian = "little") => key.iter().rev().copied().collect(),
        _ => key.to_vec(),
    }
}

/// The first four bytes, padded with zeros, as a big-endian number.
fn head(bytes: &[u8]) -> u64 {
    (0..4).fold(0, |head, i| head << 8 | u64::from(bytes.get(i).copied().unwrap_or(0)))
}
