//! Key orders, and the byte strings ("views") under which the built-in ones are plain bytewise order.
//!
//! Owns: comparison, heads, separators. Must not know: pages.
//!
//! Every order but a custom one has a *view*: a byte string for each key such that comparing views byte by byte
//! gives the table's order. Heads, common prefixes and short separators are taken from views, so that the search
//! inside branch pages is the same for all of them.

use crate::width::{low, to_u32};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A comparison function given by the user: a total order, the same in every process that opens the table. With one that is
/// none, entries of the table may be lost or found twice, and loading it as a whole may panic; nothing else is damaged.
pub type Comparator = Arc<dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync>;

/// How the keys (or the duplicates) of a table sort.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Order {
    /// Byte by byte, shorter first.
    #[default]
    Bytes,
    /// Byte by byte from the last byte to the first, shorter first.
    Reversed,
    /// Unsigned integers in the machine's byte order: of 4 bytes or of 8, all keys of a table the same.
    Native,
    /// As the function says.
    Custom(Comparator),
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Order {
    /// The order's name, as [`TableStats`](crate::TableStats) shows it: `bytes`, `reversed`, `native` or `custom`.
    pub fn name(&self) -> &'static str {
        Order::name_of(self.code())
    }

    /// The name of the order that a file stores under this number.
    pub(crate) fn name_of(code: u8) -> &'static str {
        ["bytes", "reversed", "native", "custom"][usize::from(code) % 4]
    }

    /// The number under which a file stores the order.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Order::Bytes => 0,
            Order::Reversed => 1,
            Order::Native => 2,
            Order::Custom(_) => 3,
        }
    }

    /// The order of this number; none of a custom one, whose function no file has.
    pub(crate) fn built_in(code: u8) -> Option<Order> {
        match code {
            0 => Some(Order::Bytes),
            1 => Some(Order::Reversed),
            2 => Some(Order::Native),
            _ => None,
        }
    }

    /// Compares two keys.
    #[inline]
    pub fn cmp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytes => a.cmp(b),
            Order::Reversed => a.iter().rev().cmp(b.iter().rev()),
            // Integers of different sizes never stand in one table, and must never seem the same to a search.
            Order::Native => native(a).cmp(&native(b)).then(a.len().cmp(&b.len())),
            Order::Custom(f) => f(a, b),
        }
    }

    /// Whether keys have views (see the module's head), so that heads and short separators can be used.
    #[inline]
    pub(crate) fn has_views(&self) -> bool {
        !matches!(self, Order::Custom(_))
    }

    /// Appends the key's view to `out`. For a custom order: the key itself.
    pub(crate) fn view_into(&self, key: &[u8], out: &mut Vec<u8>) {
        match self {
            Order::Bytes | Order::Custom(_) => out.extend_from_slice(key),
            Order::Reversed => out.extend(key.iter().rev()),
            Order::Native if key.len() == 4 => out.extend_from_slice(&low(native(key)).to_be_bytes()),
            Order::Native => out.extend_from_slice(&native(key).to_be_bytes()),
        }
    }

    /// The 4 bytes of the key's view after its first `skip`, as a big-endian number, zero-padded.
    #[inline]
    pub(crate) fn head(&self, key: &[u8], skip: usize) -> u32 {
        match self {
            Order::Bytes => head_of(key, skip),
            Order::Native => {
                let n = native(key);
                let view = if key.len() == 4 { n << 32 } else { n };
                if skip >= 8 { 0 } else { ((view << (skip * 8)) >> 32) as u32 }
            }
            Order::Reversed => {
                let rest = &key[..key.len().saturating_sub(skip)];
                let mut head = [0; 4];
                for (to, from) in head.iter_mut().zip(rest.iter().rev()) {
                    *to = *from;
                }
                u32::from_be_bytes(head)
            }
            Order::Custom(_) => 0,
        }
    }

    /// As [`Order::head`], of 8 bytes.
    #[inline]
    pub(crate) fn start(&self, key: &[u8], skip: usize) -> u64 {
        if let (Order::Bytes, Some(eight)) = (self, key.get(skip..).and_then(<[u8]>::first_chunk)) {
            return u64::from_be_bytes(*eight);
        }
        u64::from(self.head(key, skip)) << 32 | u64::from(self.head(key, skip.saturating_add(4)))
    }

    /// How many bytes the views of two keys share at their start.
    pub(crate) fn common_prefix(&self, a: &[u8], b: &[u8]) -> usize {
        match self {
            Order::Bytes => common(a, b),
            Order::Reversed => a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count(),
            Order::Native if a.len() == b.len() => {
                let (x, y) = (native(a), native(b));
                let same = ((x ^ y).leading_zeros() / 8) as usize;
                if a.len() == 4 { same.saturating_sub(4) } else { same }
            }
            _ => 0,
        }
    }
}

/// The number in a native integer key; lengths other than 4 and 8 are refused before they get here, except in a
/// damaged file, where any answer will do.
#[inline]
fn native(key: &[u8]) -> u64 {
    if let Ok(bytes) = <[u8; 8]>::try_from(key) {
        u64::from_ne_bytes(bytes)
    } else if let Ok(bytes) = <[u8; 4]>::try_from(key) {
        u64::from(u32::from_ne_bytes(bytes))
    } else {
        0
    }
}

/// How many bytes two strings share at their start: eight at a time while they last.
fn common(a: &[u8], b: &[u8]) -> usize {
    let eights = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    for (i, (x, y)) in eights.enumerate() {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return 8 * i + differing.trailing_zeros() as usize / 8;
        }
    }
    let whole = a.len().min(b.len()) & !7;
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(x, y)| x == y).count()
}

/// The 4 bytes of `view` after its first `skip`, as a big-endian number, zero-padded.
#[inline]
pub(crate) fn head_of(view: &[u8], skip: usize) -> u32 {
    let rest = view.get(skip..).unwrap_or(&[]);
    if let Some(four) = rest.first_chunk::<4>() {
        return u32::from_be_bytes(*four);
    }
    // Fewer than four: the last four of the whole, without those that were skipped.
    if let Some(four) = view.last_chunk::<4>() {
        return u32::from_be_bytes(*four).checked_shl(8 * (4 - to_u32(rest.len()))).unwrap_or(0);
    }
    rest.iter().zip([24, 16, 8]).fold(0, |head, (&byte, shift)| head | u32::from(byte) << shift)
}

/// A key being searched for: its bytes and its view, computed once for the whole descent.
pub(crate) struct Needle<'a> {
    /// The key as given.
    pub key: &'a [u8],
    view: View<'a>,
}

enum View<'a> {
    Same(&'a [u8]),
    Short([u8; 8], usize),
    Long(Vec<u8>),
}

impl<'a> Needle<'a> {
    /// A needle for a table of this order.
    #[inline]
    pub(crate) fn new(key: &'a [u8], order: &Order) -> Needle<'a> {
        let view = match order {
            Order::Bytes | Order::Custom(_) => View::Same(key),
            Order::Native if key.len() == 4 => {
                let mut bytes = [0; 8];
                bytes[..4].copy_from_slice(&low(native(key)).to_be_bytes());
                View::Short(bytes, 4)
            }
            Order::Native => View::Short(native(key).to_be_bytes(), 8),
            Order::Reversed => View::Long(key.iter().rev().copied().collect()),
        };
        Needle { key, view }
    }

    /// The key's view.
    #[inline]
    pub(crate) fn view(&self) -> &[u8] {
        match &self.view {
            View::Same(key) => key,
            View::Short(bytes, len) => &bytes[..*len],
            View::Long(bytes) => bytes,
        }
    }

    /// The head of the view after `skip` bytes.
    #[inline]
    pub(crate) fn head(&self, skip: usize) -> u32 {
        head_of(self.view(), skip)
    }
}

/// The shortest view `s` with `left < s <= right`, to stand between two neighbouring keys in a branch page.
/// For a custom order it is the right key itself.
pub(crate) fn separator(order: &Order, left: &[u8], right: &[u8], out: &mut Vec<u8>) {
    out.clear();
    order.view_into(right, out);
    if order.has_views() {
        out.truncate(order.common_prefix(left, right) + 1);
    }
}
