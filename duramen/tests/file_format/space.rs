//! The space log, read as docs/file-format.md says, page by page.
//!
//! Owns: the chain, deltas and bases. Must not know: trees.

use std::collections::{BTreeMap, BTreeSet};

use crate::reader::File;
use crate::tables::{FORMAT, little};

/// What a page that nobody reaches is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Idle {
    Free,
    /// Birth and death.
    Retired(u64, u64),
}

/// All free and retired pages, and what the log consisted of.
#[derive(Default)]
pub struct Space {
    pub idle: BTreeMap<u64, Idle>,
    pub txnid: u64,
    /// Pages of all runs of the log, and of those that hold the base.
    pub chain_pages: u64,
    pub base_pages: u64,
    /// First pages and births of all runs, newest first.
    pub runs: Vec<(u64, u64)>,
    /// Runs that the newest commit in the chain has added to it, and those that hold the base.
    pub newest_runs: usize,
    pub base_runs: usize,
    pub deltas: u64,
    /// The forms of sets that were met.
    pub forms: BTreeSet<u64>,
}

impl Space {
    pub fn read(file: &mut File) -> Space {
        let (meta, run) = (&FORMAT.meta, &FORMAT.space_run);
        let (mut chain, mut runs) = (Vec::new(), Vec::new());
        let mut at = file.meta("space head");
        while at != 0 {
            let payload = file.run(at, "space run");
            let (pages, birth) = (file.seen[&at].pages, file.seen[&at].birth);
            runs.push((at, birth));
            at = run.number(&payload, "previous");
            chain.push((payload, pages, birth));
        }
        let mut space = Space { runs, ..Space::default() };
        let records: Vec<u8> =
            chain.iter().rev().flat_map(|(payload, ..)| run.bytes(payload, "records")).copied().collect();
        let mut records = &records[..];
        space.newest_runs = chain.iter().take_while(|run| run.2 == chain[0].2).count();
        space.chain_pages = chain.iter().map(|(_, pages, _)| pages).sum();
        let begins_base: Vec<u64> = chain.iter().rev().map(|(payload, ..)| run.number(payload, "base")).collect();
        assert!(begins_base.iter().skip(1).all(|base| *base == 0), "only the oldest run begins with a base");
        if begins_base.first() == Some(&1) {
            let (_, _, birth) = chain[chain.len() - 1];
            space.base_pages = chain.iter().filter(|run| run.2 == birth).map(|(_, pages, _)| pages).sum();
            space.base_runs = chain.iter().filter(|run| run.2 == birth).count();
            space.base(&mut records);
            space.txnid = birth;
        }
        space.replay(records);
        let tail = &meta.bytes(&file.slot, "tail")[..file.meta("tail bytes") as usize];
        space.replay(tail);
        space
    }

    fn replay(&mut self, mut records: &[u8]) {
        while !records.is_empty() {
            self.delta(&mut records);
        }
    }

    fn delta(&mut self, input: &mut &[u8]) {
        let (mut txnid, mut end) = (0, 0);
        let mut lists = BTreeMap::new();
        for row in FORMAT.delta.rows() {
            match (row.cells[1].as_str(), row.cells[2].as_str()) {
                ("txnid", "number") => txnid = number(input),
                ("end", "number") => end = number(input),
                (list, form) => {
                    let numbers = usize::from(form == "list of extents, each with a number");
                    assert!(numbers == 1 || form == "list of extents", "a delta has no {form:?}");
                    lists.insert(list.to_string(), extents(input, numbers));
                }
            }
        }
        if txnid <= self.txnid {
            return;
        }
        self.deltas += 1;
        self.txnid = txnid;
        for page in pages(&lists["taken"]) {
            assert!(self.idle.remove(&page.0).is_some(), "page {} was taken but not free", page.0);
        }
        for (page, numbers) in pages(&lists["retired"]) {
            assert!(self.idle.insert(page, Idle::Retired(txnid - numbers[0], txnid)).is_none());
        }
        for page in pages(&lists["added"]) {
            assert!(self.idle.insert(page.0, Idle::Free).is_none());
        }
        self.idle.retain(|page, _| *page < end);
    }

    fn base(&mut self, input: &mut &[u8]) {
        let mut newest = 0;
        for row in FORMAT.base.rows() {
            match row.cells[1].as_str() {
                "newest death" => newest = number(input),
                "free" => self.idle.extend(set(input, &mut self.forms).into_iter().map(|page| (page, Idle::Free))),
                "retired" => {
                    for _ in 0..number(input) {
                        let death = newest - number(input);
                        let retired = Idle::Retired(death - number(input), death);
                        for page in set(input, &mut self.forms) {
                            assert!(self.idle.insert(page, retired).is_none());
                        }
                    }
                }
                other => panic!("a base has no {other:?}"),
            }
        }
    }
}

/// Start, length, and the numbers that go with it.
type Extents = Vec<(u64, u64, Vec<u64>)>;

fn extents(input: &mut &[u8], numbers: usize) -> Extents {
    let mut end = 0;
    let mut extents = Extents::new();
    for _ in 0..number(input) {
        let start = end + number(input);
        let pages = number(input);
        extents.push((start, pages, (0..numbers).map(|_| number(input)).collect()));
        end = start + pages;
    }
    extents
}

fn pages(extents: &Extents) -> impl Iterator<Item = (u64, &[u64])> {
    extents.iter().flat_map(|(start, pages, numbers)| (*start..start + pages).map(|page| (page, &numbers[..])))
}

/// A set of pages.
fn set(input: &mut &[u8], forms: &mut BTreeSet<u64>) -> Vec<u64> {
    let form = number(input);
    forms.insert(form);
    match FORMAT.set.name_of(form) {
        "list of extents" => pages(&extents(input, 0)).map(|(page, _)| page).collect(),
        _ => {
            let (first, len) = (number(input), number(input));
            let (words, rest) = input.split_at(8 * len as usize);
            *input = rest;
            let of_word = |(word, bytes): (u64, &[u8])| {
                let bits = little(bytes);
                (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 64 * word + bit)
            };
            (first..).zip(words.chunks(8)).flat_map(of_word).collect()
        }
    }
}

fn number(input: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = input[0];
        *input = &input[1..];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}
