//! Table handles: small numbers that programs keep, and what stands behind them.
//!
//! Owns: which number is which table, who may see it, comparison functions. Must not know: how tables are opened.
//!
//! A handle opened in a transaction is that transaction's own until it commits; others see it from then on, if they
//! begin later.
//!
//! # Safety
//! Comparison functions come from the program, which promises that they can be called with any two values of the
//! table, from any thread.
#![allow(unsafe_code)]

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use duramen::{Comparator, Duplicates, Order, TableOptions, TableStats};

use crate::abi::{CORE_DBS, MdbCmp, MdbVal, db};
use crate::errors::{DBS_FULL, Result};
use crate::forks::{Locked, Whole};
use crate::integers;
use crate::txn::Txn;

/// What stands behind a handle.
#[derive(Clone, Default)]
pub struct Slot {
    /// The table's name; empty for the main table, none if the number is free.
    pub name: Option<Arc<[u8]>>,
    /// Its persistent flags.
    pub flags: u32,
    /// The program's order of keys.
    pub key_order: Option<MdbCmp>,
    /// The program's order of duplicates.
    pub duplicate_order: Option<MdbCmp>,
    /// The transaction that it is private to.
    pub owner: usize,
    /// That is one that writes, and commits: who writes after it sees the handle, even before it is everybody's.
    pub commits: bool,
    /// A transaction that began before this does not see it,
    pub since: u64,
    /// unless it began between these two: then the number stood for another table, and it finds what has this one's name
    /// in its snapshot, as with LMDB.
    pub before: Option<(u64, u64)>,
}

/// See the module's head.
pub struct Dbs {
    /// By number.
    slots: Whole<Vec<Slot>>,
    /// Rises whenever handles become everybody's.
    now: AtomicU64,
    /// Rises with every change of a handle.
    changes: AtomicU64,
}

impl Default for Dbs {
    fn default() -> Dbs {
        let main = Slot { name: Some(Arc::from(&b""[..])), ..Slot::default() };
        Dbs { slots: Whole::new(vec![Slot::default(), main]), now: AtomicU64::new(0), changes: AtomicU64::new(1) }
    }
}

impl Dbs {
    fn lock(&self) -> Locked<'_, Vec<Slot>> {
        self.slots.lock()
    }

    /// For who changes handles.
    fn lock_to_change(&self) -> Locked<'_, Vec<Slot>> {
        let slots = self.lock();
        self.changes.fetch_add(1, Release);
        slots
    }

    /// The state of all handles: what was found out at another number may be wrong.
    pub fn changes(&self) -> u64 {
        self.changes.load(Acquire)
    }

    /// The moment, for a transaction that begins.
    pub fn now(&self) -> u64 {
        self.now.load(Acquire)
    }

    /// What stands behind a handle, if the transaction may see it.
    pub fn find(&self, txn: &Txn, dbi: u32) -> Option<Slot> {
        let slots = self.lock();
        let slot = slots.get(dbi as usize)?;
        is_visible(slot, txn).then(|| slot.clone())
    }

    /// The handle that a name has already.
    pub fn by_name(&self, txn: &Txn, name: &[u8]) -> Option<u32> {
        let slots = self.lock();
        let mut named = slots.iter().enumerate().skip(CORE_DBS);
        let found = named.find(|(_, slot)| slot.name.as_deref() == Some(name) && is_visible(slot, txn));
        found.and_then(|(dbi, _)| u32::try_from(dbi).ok())
    }

    /// Refuses another table if there may be none.
    pub fn check_vacancy(&self, max: u32) -> Result {
        vacancy(&self.lock(), max).map(drop)
    }

    /// Gives a number, the lowest that is free, to a table that the transaction has opened: other threads may open some
    /// at the same time.
    pub fn add(&self, txn: &Txn, max: u32, name: &[u8], flags: u32) -> Result<u32> {
        let mut slots = self.lock_to_change();
        let dbi = vacancy(&slots, max)?;
        let at = dbi as usize;
        if slots.len() <= at {
            slots.resize(at + 1, Slot::default());
        }
        let before = slots[at].before;
        slots[at] = Slot { name: Some(Arc::from(name)), flags, owner: txn.id(), before, ..Slot::default() };
        Ok(dbi)
    }

    /// Changes what stands behind a handle.
    pub fn change(&self, dbi: u32, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.lock_to_change().get_mut(dbi as usize) {
            change(slot);
        }
    }

    /// A transaction that writes is about to commit. The next one may begin before the handles are everybody's, and is not
    /// to open the same tables once more.
    pub fn commits(&self, txn: &Txn, opened: &[u32]) {
        let mut slots = self.lock();
        for &dbi in opened {
            if let Some(slot) = slots.get_mut(dbi as usize).filter(|slot| slot.owner == txn.id()) {
                slot.commits = true;
            }
        }
    }

    /// A transaction's own handles become everybody's, or its parent's.
    pub fn publish(&self, txn: &Txn, opened: &[u32], parent: Option<&Txn>) {
        let mut slots = self.lock_to_change();
        let now = self.now.load(Acquire) + 1;
        for &dbi in opened {
            if let Some(slot) = slots.get_mut(dbi as usize).filter(|slot| slot.owner == txn.id()) {
                slot.owner = parent.map_or(0, Txn::id);
                slot.since = now;
            }
        }
        self.now.store(now, Release);
    }

    /// Frees the numbers that a transaction has opened, as far as they are its own still.
    pub fn close_own(&self, txn: &Txn, opened: &[u32]) {
        let mut slots = self.lock_to_change();
        for &dbi in opened {
            if let Some(slot) = slots.get_mut(dbi as usize).filter(|slot| slot.owner == txn.id()) {
                // Who has kept it from everybody else leaves no trace.
                *slot = Slot { before: slot.before, ..Slot::default() };
            }
        }
    }

    /// Frees a number.
    pub fn close(&self, dbi: u32) {
        if dbi as usize >= CORE_DBS
            && let Some(slot) = self.lock_to_change().get_mut(dbi as usize)
        {
            // As in `close_own`.
            let before = if slot.owner == 0 { Some((slot.since, self.now())) } else { slot.before };
            *slot = Slot { before, ..Slot::default() };
        }
    }
}

/// The lowest free number, if there may be another one.
fn vacancy(slots: &[Slot], max: u32) -> Result<u32> {
    let free = slots.iter().skip(CORE_DBS).position(|slot| slot.name.is_none());
    let dbi = free.map_or(slots.len(), |i| i + CORE_DBS);
    u32::try_from(dbi).ok().filter(|_| dbi < CORE_DBS + max as usize).ok_or(DBS_FULL)
}

fn is_visible(slot: &Slot, txn: &Txn) -> bool {
    let is_own_or_public = if slot.owner == 0 { slot.since <= txn.began() } else { txn.descends_from(slot.owner) };
    let is_seen = is_own_or_public || slot.commits && (!txn.is_reader() || txn.is_within());
    let was_seen =
        || slot.before.is_some_and(|(since, until)| txn.is_reader() && (since..=until).contains(&txn.began()));
    slot.name.is_some() && (is_seen || was_seen())
}

/// A program's function as an order of ours. The engine names what is stored first, and then what is looked for; LMDB's programs
/// get that first, and may tell them apart.
pub fn comparator(function: MdbCmp) -> Comparator {
    Arc::new(move |stored, sought| {
        let (sought, stored) = (MdbVal::of(sought), MdbVal::of(stored));
        // SAFETY: see the module's head.
        unsafe { function(&sought, &stored) }.cmp(&0).reverse()
    })
}

/// What LMDB falls back to where a program gives no function for a table that was made with one.
fn stand_in() -> Comparator {
    Arc::new(|a: &[u8], b: &[u8]| -> Ordering { a.cmp(b) })
}

/// Marks user bits that hold all flags, because the engine's own options do not tell them.
const ALL_FLAGS: u16 = 0x8000;

fn flags_by_options(stats: &TableStats) -> u32 {
    let mut flags = match stats.order {
        "native" => db::INTEGERKEY,
        "reversed" => db::REVERSEKEY,
        _ => 0,
    };
    if let Some(duplicates) = stats.duplicates {
        flags |= db::DUPSORT | if stats.fixed_size { db::DUPFIXED } else { 0 };
        flags |= match duplicates {
            "native" => db::INTEGERDUP,
            "reversed" => db::REVERSEDUP,
            _ => 0,
        };
    }
    flags
}

/// The flags that a table was created with.
pub fn flags_of(stats: &TableStats) -> u32 {
    match u32::from(stats.user_bits) {
        bits if bits & u32::from(ALL_FLAGS) != 0 => bits & db::PERSISTENT,
        db::INTEGERDUP => flags_by_options(stats) & !db::DUPFIXED,
        _ => flags_by_options(stats),
    }
}

/// The user bits of a table with these flags. Integers that were not said to have a fixed size have a word of their
/// own, which the `duramen` command knows too.
fn user_bits(flags: u32) -> u16 {
    let loose = flags & db::INTEGERDUP != 0 && flags & db::DUPFIXED == 0 && flags & db::DUPSORT != 0;
    let duplicates = flags & (db::DUPSORT | db::DUPFIXED | db::INTEGERDUP | db::REVERSEDUP);
    let odd = duplicates != 0 && flags & db::DUPSORT == 0
        || flags & db::INTEGERDUP != 0 && flags & db::REVERSEDUP != 0
        || flags & db::INTEGERKEY != 0 && flags & db::REVERSEKEY != 0;
    match (odd, loose) {
        (true, _) => ALL_FLAGS | (flags & 0xFFFF) as u16,
        (false, true) => (db::INTEGERDUP & 0xFFFF) as u16,
        (false, false) => 0,
    }
}

/// The options of a table to be made with what stands in the slot.
pub fn options_to_make(slot: &Slot) -> TableOptions {
    let flags = slot.flags;
    let order = match &slot.key_order {
        Some(compare) => Order::Custom(comparator(*compare)),
        None if flags & db::REVERSEKEY != 0 => Order::Reversed,
        None if flags & db::INTEGERKEY != 0 => Order::Native,
        None => Order::Bytes,
    };
    let bits = if slot.key_order.is_some() || slot.duplicate_order.is_some() {
        ALL_FLAGS | (flags & 0xFFFF) as u16
    } else {
        user_bits(flags)
    };
    let options = TableOptions::new().order(order).user_bits(bits);
    if flags & db::DUPSORT == 0 {
        return options;
    }
    let duplicates = match &slot.duplicate_order {
        Some(compare) => Duplicates::compared(comparator(*compare)),
        None if flags & db::INTEGERDUP != 0 => Duplicates::integers(),
        None if flags & db::REVERSEDUP != 0 => Duplicates::reversed(),
        None => Duplicates::sorted(),
    };
    options.duplicates(if flags & db::DUPFIXED != 0 { duplicates.fixed_size() } else { duplicates })
}

/// The options that open a table as it is, with the slot's functions where it needs any.
pub fn options_as_made(stats: &TableStats, slot: &Slot) -> TableOptions {
    let custom = |given: Option<MdbCmp>| given.map_or_else(stand_in, comparator);
    let of_integers = integers::order_of(flags_of(stats));
    let order = match stats.order {
        "reversed" => Order::Reversed,
        "native" => Order::Native,
        "custom" => Order::Custom(custom(slot.key_order)),
        _ => Order::Bytes,
    };
    let options = TableOptions::new().order(order).user_bits(stats.user_bits);
    let Some(duplicates) = stats.duplicates else { return options };
    let duplicates = match duplicates {
        "reversed" => Duplicates::reversed(),
        "native" => Duplicates::integers(),
        "custom" => Duplicates::compared(custom(slot.duplicate_order.or(of_integers))),
        _ => Duplicates::sorted(),
    };
    options.duplicates(if stats.fixed_size { duplicates.fixed_size() } else { duplicates })
}

/// Whether the table should have been made with the slot's functions, and was not.
pub fn wants_other_order(stats: &TableStats, slot: &Slot) -> bool {
    slot.key_order.is_some() && stats.order != "custom"
        || slot.duplicate_order.is_some() && stats.duplicates.is_some_and(|order| order != "custom")
}
