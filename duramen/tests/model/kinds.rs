//! The kinds of table under test, and the keys and values that suit each.
//!
//! Owns: table options by kind, the *rank* of a key (a byte string that sorts bytewise as the table sorts the key),
//! and the making of keys and values from small numbers, so that failures shrink well. Must not know: operations.

use std::sync::Arc;

use duramen::{Comparator, Duplicates, Order, TableOptions};

/// An order of keys or of duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorting {
    /// Byte by byte.
    Bytes,
    /// Byte by byte from the end.
    Reversed,
    /// Native integers of 4 bytes.
    U32,
    /// Native integers of 8 bytes.
    U64,
    /// A function: shorter first, and among equally long ones descending.
    Custom,
}

/// What stands beside a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One value of any length.
    One,
    /// Several, each of any length up to that of a key.
    Many(Sorting),
    /// Several of this many bytes each.
    Fixed(Sorting, u16),
}

/// A kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub keys: Sorting,
    pub values: Values,
}

/// All key orders.
pub const SORTINGS: [Sorting; 5] = [Sorting::Bytes, Sorting::Reversed, Sorting::U32, Sorting::U64, Sorting::Custom];

/// All that a table can do about duplicates.
pub const VALUES: [Values; 10] = [
    Values::One,
    Values::Many(Sorting::Bytes),
    Values::Many(Sorting::Reversed),
    Values::Many(Sorting::Custom),
    Values::Fixed(Sorting::U32, 4),
    Values::Fixed(Sorting::U64, 8),
    Values::Fixed(Sorting::Bytes, 2),
    Values::Fixed(Sorting::Bytes, 40),
    Values::Fixed(Sorting::Reversed, 1000),
    Values::Fixed(Sorting::Custom, 7),
];

fn compare() -> Comparator {
    Arc::new(|a, b| a.len().cmp(&b.len()).then_with(|| b.cmp(a)))
}

impl Sorting {
    fn order(self) -> Order {
        match self {
            Sorting::Bytes => Order::Bytes,
            Sorting::Reversed => Order::Reversed,
            Sorting::U32 | Sorting::U64 => Order::Native,
            Sorting::Custom => Order::Custom(compare()),
        }
    }

    /// A byte string that sorts bytewise as this order sorts `key`; no two keys have the same.
    pub fn rank(self, key: &[u8]) -> Vec<u8> {
        match self {
            Sorting::Bytes => key.to_vec(),
            Sorting::Reversed => key.iter().rev().copied().collect(),
            Sorting::U32 => u32::from_ne_bytes(key.try_into().unwrap()).to_be_bytes().to_vec(),
            Sorting::U64 => u64::from_ne_bytes(key.try_into().unwrap()).to_be_bytes().to_vec(),
            Sorting::Custom => {
                let descending = key.iter().map(|byte| !byte);
                (key.len() as u32).to_be_bytes().into_iter().chain(descending).collect()
            }
        }
    }
}

impl Kind {
    pub fn options(self) -> TableOptions {
        let options = TableOptions::new().order(self.keys.order());
        let order = |sorting| match sorting {
            Sorting::Bytes => Duplicates::sorted(),
            Sorting::Reversed => Duplicates::reversed(),
            Sorting::U32 | Sorting::U64 => Duplicates::integers(),
            Sorting::Custom => Duplicates::compared(compare()),
        };
        match self.values {
            Values::One => options,
            Values::Many(sorting) => options.duplicates(order(sorting)),
            Values::Fixed(sorting, _) => options.duplicates(order(sorting).fixed_size()),
        }
    }

    pub fn has_duplicates(self) -> bool {
        self.values != Values::One
    }

    /// Whether the file tells the two kinds apart: it does not know the sizes of integers and fixed values.
    pub fn looks_like(self, other: Kind) -> bool {
        let shape = |kind: Kind| format!("{:?}", kind.options());
        shape(self) == shape(other)
    }

    pub fn key_rank(self, key: &[u8]) -> Vec<u8> {
        self.keys.rank(key)
    }

    /// The rank of a value among those of its key; none where a key has one.
    pub fn value_rank(self, value: &[u8]) -> Option<Vec<u8>> {
        match self.values {
            Values::One => None,
            Values::Many(sorting) | Values::Fixed(sorting, _) => Some(sorting.rank(value)),
        }
    }
}

/// A key in small numbers.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Which of the shapes below.
    pub shape: u8,
    pub number: u16,
}

/// A value in small numbers: `shape` says how long, `seed` what is in it.
#[derive(Clone, Copy, Debug)]
pub struct ValueSpec {
    pub shape: u8,
    pub length: u16,
    pub seed: u8,
}

fn scattered(number: u16) -> u64 {
    u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A byte string of at most `max` bytes.
fn bytes_of(spec: KeySpec, max: usize) -> Vec<u8> {
    let number = spec.number.to_be_bytes();
    let n = usize::from(spec.number);
    let mut key = match spec.shape % 6 {
        // The shortest keys of all, the empty one among them.
        0 => number.iter().copied().skip_while(|&byte| byte == 0).collect(),
        1 => scattered(spec.number).to_be_bytes().to_vec(),
        // A long common prefix.
        2 => [&[b'p'; 230][..], &number].concat(),
        // Keys that differ in nothing but their trailing zeros.
        3 => [&[n as u8 % 3][..], &vec![0; n / 3 % 60]].concat(),
        // The longest keys, different early, in the middle, or at the very end.
        4 => {
            let mut key = vec![b'm'; max];
            let at = [1, max / 2, max - 3][n % 3];
            key[at..at + 2].copy_from_slice(&number);
            key
        }
        // Every length.
        _ => (0..n % (max + 1)).map(|i| (i / 7) as u8).collect(),
    };
    key.truncate(max);
    key
}

fn fixed(spec: KeySpec, bytes: usize) -> Vec<u8> {
    let mut item = bytes_of(spec, bytes.max(8));
    item.resize(bytes, 0);
    item
}

fn integer(spec: KeySpec) -> u64 {
    let n = u64::from(spec.number);
    match spec.shape % 6 {
        0 => n,
        1 => scattered(spec.number),
        2 => u64::MAX - n,
        3 => n << 16,
        4 => (n << 48) | (n << 24),
        _ => 1 << (n % 64),
    }
}

fn sorted_bytes(sorting: Sorting, spec: KeySpec, max: usize) -> Vec<u8> {
    match sorting {
        Sorting::U32 => (integer(spec) as u32).to_ne_bytes().to_vec(),
        Sorting::U64 => integer(spec).to_ne_bytes().to_vec(),
        Sorting::Bytes | Sorting::Custom => bytes_of(spec, max),
        // So that what is common stands where this order begins.
        Sorting::Reversed => bytes_of(spec, max).into_iter().rev().collect(),
    }
}

impl Kind {
    pub fn key(self, spec: KeySpec, page_size: usize) -> Vec<u8> {
        sorted_bytes(self.keys, spec, key_max(page_size))
    }

    pub fn value(self, spec: ValueSpec, key_bytes: usize, page_size: usize) -> Vec<u8> {
        let item = KeySpec { shape: spec.shape, number: spec.length };
        match self.values {
            Values::One => one_value(spec, key_bytes, page_size),
            Values::Many(sorting) => sorted_bytes(sorting, item, key_max(page_size)),
            Values::Fixed(Sorting::U32, _) => sorted_bytes(Sorting::U32, item, 4),
            Values::Fixed(Sorting::U64, _) => sorted_bytes(Sorting::U64, item, 8),
            Values::Fixed(_, bytes) => fixed(item, usize::from(bytes)),
        }
    }
}

pub fn key_max(page_size: usize) -> usize {
    (page_size / 4).min(16383)
}

/// A value of a length at which something changes.
fn one_value(spec: ValueSpec, key_bytes: usize, page_size: usize) -> Vec<u8> {
    let n = usize::from(spec.length);
    let bytes = match spec.shape % 6 {
        0 => n % 4,
        1 => n % 100,
        2 => n % 1000,
        // About as long as still stands in the leaf.
        3 => (page_size / 2).saturating_sub(key_bytes + 40) + n % 40,
        // About as long as fits a whole number of pages.
        4 => (n / 8 % 3 + 1) * page_size - 44 + n % 8,
        _ => n % (5 * page_size),
    };
    (0..bytes).map(|i| (i as u8).wrapping_mul(31) ^ spec.seed).collect()
}
