//! The tables that a transaction has looked up, by their handles.
//!
//! Owns: how a handle becomes a table of the engine, once in a transaction. Must not know: entries, how transactions
//! begin and end.
//!
//! # Safety
//! Tables of a read transaction refer to the snapshot in it: as the head of `txn` says, they are dropped before it is.
#![allow(unsafe_code)]

use std::ptr;

use duramen::{DetachedTable, Table, TableId, TableMut, TableStats, WriteTxn};

use super::{BLOCKED, FINISHED, Txn, View};
use crate::abi::{CORE_DBS, MAIN_DBI, MdbCmp};
use crate::dbs::{self, Slot};
use crate::errors::{BAD_TXN, EINVAL, INCOMPATIBLE, NOTFOUND, Result};

/// A table that the transaction has looked up.
pub(crate) enum Db {
    /// Not looked up yet.
    Unseen,
    /// Not this transaction's to use.
    Invalid,
    /// Open by its handle, but not there (any more).
    Missing(u32),
    Read(Table<'static>, u32),
    /// As the transaction had it when it read before; good for the same commit.
    Known(DetachedTable, u32),
    Write(TableId, u32),
}

/// The program's functions for the order of a table's keys and of its duplicates.
#[derive(Default)]
pub(super) struct Functions {
    dbi: u32,
    /// State of the handles at which they were found: none at 0.
    as_of: u64,
    of: [Option<MdbCmp>; 2],
}

/// A table to be written to. It fits into a register, which what the engine knows it by does not.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) dbi: u32,
    pub(crate) flags: u32,
}

impl Txn {
    /// A table by its handle, looked up if need be.
    #[inline]
    pub(crate) fn db(&mut self, dbi: u32) -> Result<&Db> {
        let at = dbi as usize;
        if !matches!(self.dbs.get(at), Some(Db::Read(..) | Db::Write(..))) {
            self.find(dbi)?;
        }
        Ok(&self.dbs[at])
    }

    /// Sees to it that a handle which may be used has been looked up.
    #[inline(never)]
    fn find(&mut self, dbi: u32) -> Result {
        let db = self.dbs.get(dbi as usize);
        let (is_known, is_unseen) = (matches!(db, Some(Db::Known(..))), matches!(db, None | Some(Db::Unseen)));
        if (is_known || is_unseen) && self.is_reader() {
            self.looked_up.push(dbi);
        }
        if is_known {
            self.look_again(dbi)?;
        } else if is_unseen {
            self.look_up(dbi)?;
        }
        match &self.dbs[dbi as usize] {
            Db::Invalid | Db::Unseen | Db::Known(..) => Err(EINVAL),
            _ => Ok(()),
        }
    }

    /// Flags of a table by its handle.
    pub(crate) fn db_flags(&mut self, dbi: u32) -> Result<u32> {
        match self.db(dbi)? {
            Db::Read(_, flags) | Db::Write(_, flags) | Db::Missing(flags) => Ok(*flags),
            Db::Invalid | Db::Unseen | Db::Known(..) => Err(EINVAL),
        }
    }

    /// Flags of a table by its handle, and the program's functions for the order of its keys and of its duplicates. There are
    /// programs that compare a key with each step, so that the list of all handles is looked into once.
    pub(crate) fn orders(&mut self, dbi: u32) -> Result<(u32, [Option<MdbCmp>; 2])> {
        // Programs compare whatever state the transaction is in: there is nothing to look up in it then.
        if self.flags & BLOCKED != 0 {
            let slot = self.env().dbs.find(self, dbi).ok_or(EINVAL)?;
            return Ok((slot.flags, [slot.key_order, slot.duplicate_order]));
        }
        let flags = self.db_flags(dbi)?;
        let as_of = self.env().dbs.changes();
        if (self.functions.dbi, self.functions.as_of) != (dbi, as_of) {
            let slot = self.env().dbs.find(self, dbi).ok_or(EINVAL)?;
            self.functions = Functions { dbi, as_of, of: [slot.key_order, slot.duplicate_order] };
        }
        Ok((flags, self.functions.of))
    }

    /// What the table of this name consists of, if there is one.
    pub(crate) fn table_stats(&mut self, name: &[u8]) -> Result<Option<TableStats>> {
        if self.is_reader() { self.view()?.table_stats(name) } else { Ok(self.writer()?.table_stats(name)?) }
    }

    /// What a handle stands for, to be written to.
    #[inline]
    pub(crate) fn target(&mut self, dbi: u32) -> Result<Target> {
        match self.db(dbi)? {
            Db::Write(_, flags) => Ok(Target { dbi, flags: *flags }),
            Db::Missing(_) => Err(NOTFOUND),
            _ => Err(EINVAL),
        }
    }

    /// The engine's table behind a handle that has been looked up for writing.
    #[inline]
    pub(crate) fn table_mut(&mut self, dbi: u32) -> Result<TableMut<'_>> {
        let Some(Db::Write(id, _)) = self.dbs.get(dbi as usize) else { return Err(EINVAL) };
        let id = *id;
        Ok(self.writer()?.table_by_id(id)?)
    }

    /// Notes what a handle was found to be.
    pub(crate) fn remember(&mut self, dbi: u32, db: Db) {
        let at = dbi as usize;
        if self.dbs.len() <= at {
            self.dbs.resize_with(at + 1, || Db::Unseen);
        }
        self.dbs[at] = db;
    }

    #[cold]
    fn look_up(&mut self, dbi: u32) -> Result {
        let env = self.env();
        let found = match env.dbs.find(self, dbi) {
            None => Db::Invalid,
            Some(_) if self.flags & FINISHED != 0 => return Err(EINVAL),
            Some(_) if self.flags & BLOCKED != 0 => return Err(BAD_TXN),
            Some(slot) if self.is_reader() => self.find_to_read(dbi, &slot)?,
            Some(slot) => self.find_to_write(dbi, &slot)?,
        };
        self.remember(dbi, found);
        Ok(())
    }

    /// A table that was found before: without a search, if there has been no commit since.
    fn look_again(&mut self, dbi: u32) -> Result {
        if self.flags & BLOCKED != 0 {
            return Err(if self.flags & FINISHED != 0 { EINVAL } else { BAD_TXN });
        }
        let view = self.view()?;
        let db = &mut self.dbs[dbi as usize];
        if let Db::Known(table, flags) = db
            && let View::Snapshot(snapshot) = view
            && let Some(table) = snapshot.attach(table)
        {
            *db = Db::Read(table, *flags);
            return Ok(());
        }
        self.look_up(dbi)
    }

    fn find_to_read(&self, dbi: u32, slot: &Slot) -> Result<Db> {
        let view = self.view()?;
        if dbi == MAIN_DBI {
            let options = dbs::options_as_made(&view.main_stats(), slot);
            let table = view.main_table(&options)?;
            let flags = dbs::flags_of(&table.stats()) | if table.is_empty() { slot.flags } else { 0 };
            return Ok(Db::Read(table, flags));
        }
        let name = slot.name.as_deref().unwrap_or_default();
        let table = match view.find_table(name, None) {
            // Its order is a function of the program's.
            Err(duramen::Error::TableOptions { .. }) => {
                let Some(stats) = view.table_stats(name)? else { return Ok(Db::Missing(slot.flags)) };
                view.find_table(name, Some(&dbs::options_as_made(&stats, slot)))?
            }
            found => found?,
        };
        match table {
            None => Ok(Db::Missing(slot.flags)),
            Some(table) if dbs::flags_of(&table.stats()) != slot.flags => Err(INCOMPATIBLE),
            Some(table) => Ok(Db::Read(table, slot.flags)),
        }
    }

    fn find_to_write(&mut self, dbi: u32, slot: &Slot) -> Result<Db> {
        // A named table may be made anew, and its record with it. (No cursor is in a gap of a main table that is looked at for
        // the first time, or has changed its order; but one may be borrowed.)
        if dbi != MAIN_DBI && (slot.key_order.is_some() || slot.duplicate_order.is_some()) {
            self.leave_gaps(MAIN_DBI, ptr::null())?;
        }
        let writer = self.writer()?;
        if dbi == MAIN_DBI {
            let stats = writer.main_stats();
            let wanted = Slot { flags: slot.flags | dbs::flags_of(&stats), ..slot.clone() };
            let differs = wanted.flags != dbs::flags_of(&stats) || dbs::wants_other_order(&stats, slot);
            if differs && stats.entries == 0 {
                writer.set_main_options(&dbs::options_to_make(&wanted))?;
            } else {
                writer.set_main_options(&dbs::options_as_made(&stats, slot))?;
            }
            let flags = dbs::flags_of(&writer.main_stats());
            return Ok(Db::Write(writer.main_table(), flags));
        }
        let name = slot.name.as_deref().unwrap_or_default();
        let id = match find_named(writer, name, slot)? {
            Some(id) => id,
            None if self.emptied.is_none() => return Ok(Db::Missing(slot.flags)),
            None => make(self.writer()?, name, slot)?,
        };
        let writer = self.writer()?;
        if dbs::flags_of(&writer.view(id)?.stats()) != slot.flags {
            return Err(INCOMPATIBLE);
        }
        Ok(Db::Write(id, slot.flags))
    }

    /// A transaction that begins reading forgets what it knows of tables if any handle has changed since.
    pub(super) fn check_tables(&mut self) {
        let as_of = self.env().dbs.changes();
        if self.dbs_as_of != as_of {
            self.dbs.clear();
            self.dbs_as_of = as_of;
        }
    }

    /// Lets go of the snapshot that the tables are of.
    pub(super) fn detach_tables(&mut self) {
        for dbi in self.looked_up.drain(..) {
            let Some(db) = self.dbs.get_mut(dbi as usize) else { continue };
            *db = match db {
                Db::Read(table, flags) => table.detached().map_or(Db::Unseen, |table| Db::Known(table, *flags)),
                _ => Db::Unseen,
            };
        }
        debug_assert!(!self.dbs.iter().any(|db| matches!(db, Db::Read(..))));
    }

    /// The main table has been emptied: no handle's table is there any more. LMDB has a copy of a table's record in the
    /// handle, and what a transaction has used is there again when it commits: programs that empty all tables begin with
    /// the main one, or end with it.
    pub(crate) fn forget_named(&mut self) {
        let used = (0..).zip(&self.dbs).skip(CORE_DBS).filter(|(_, db)| matches!(db, Db::Write(..)));
        let used: Vec<u32> = used.map(|(dbi, _)| dbi).collect();
        self.emptied.get_or_insert_default().extend(used);
        self.dbs.truncate(CORE_DBS);
    }

    /// Makes the tables anew that were used before the main table was emptied, but for those whose handles are gone.
    pub(super) fn bring_back(&mut self) -> Result {
        for dbi in self.emptied.take().unwrap_or_default() {
            self.emptied = Some(Vec::new());
            if self.env().dbs.find(self, dbi).is_some() {
                self.db(dbi)?;
            }
        }
        Ok(())
    }
}

/// A table with the slot's functions. One that should have had them when it was made is made anew while it is empty.
fn find_named(writer: &mut WriteTxn<'static>, name: &[u8], slot: &Slot) -> Result<Option<TableId>> {
    if slot.key_order.is_none() && slot.duplicate_order.is_none() {
        match writer.find_table(name, None) {
            // It was made with a function that the program has not given.
            Err(duramen::Error::TableOptions { .. }) => {}
            found => return Ok(found?),
        }
    }
    let Some(stats) = writer.table_stats(name)? else { return Ok(None) };
    if dbs::flags_of(&stats) != slot.flags {
        return Err(INCOMPATIBLE);
    }
    if stats.entries == 0 && dbs::wants_other_order(&stats, slot) {
        writer.drop_table(name)?;
        return make(writer, name, slot).map(Some);
    }
    Ok(writer.find_table(name, Some(&dbs::options_as_made(&stats, slot)))?)
}

/// Makes a table with what stands in the slot.
fn make(writer: &mut WriteTxn<'static>, name: &[u8], slot: &Slot) -> Result<TableId> {
    let id = writer.open_table(name, Some(&dbs::options_to_make(slot)))?;
    writer.enter_table(id)?;
    Ok(id)
}

/// What a nested transaction begins with.
pub(super) fn copy_of(db: &Db) -> Db {
    match db {
        Db::Write(id, flags) => Db::Write(*id, *flags),
        Db::Missing(_) | Db::Read(..) | Db::Known(..) | Db::Unseen | Db::Invalid => Db::Unseen,
    }
}
