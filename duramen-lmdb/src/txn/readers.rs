//! Read transactions in one that writes, which LMDB has from 1.0 on: any number at the same time, in any threads. They see what
//! that has changed so far, and it waits until the last of them has ended.
//!
//! Owns: the list of them that a write transaction has, and what they read from. Must not know: how transactions begin and end.
//!
//! # Safety
//! The write transaction does nothing while it has readers, so that they share what is in it. What changes meanwhile, the list
//! and the mark in its flags, is changed under the list's lock; nobody has a reference to all of it.
#![allow(unsafe_code)]

use std::ptr;

use duramen::{Snapshot, Table, TableOptions, TableStats, WriteTxn};

use super::{BEGIN_FLAGS, BLOCKED, HAS_CHILD, Txn};
use crate::errors::{BAD_TXN, EINVAL, Result};
use crate::forks::Whole;

/// See the module's head.
#[derive(Default)]
pub(super) struct Readers(Whole<Vec<*mut Txn>>);

/// What tables to be read are of.
#[derive(Clone, Copy)]
pub(crate) enum View {
    Snapshot(&'static Snapshot<'static>),
    Writer(&'static WriteTxn<'static>),
}

impl View {
    pub(crate) fn main_stats(self) -> TableStats {
        match self {
            View::Snapshot(snapshot) => snapshot.main_stats(),
            View::Writer(writer) => writer.main_stats(),
        }
    }

    pub(crate) fn table_stats(self, name: &[u8]) -> Result<Option<TableStats>> {
        Ok(match self {
            View::Snapshot(snapshot) => snapshot.table_stats(name)?,
            View::Writer(writer) => writer.table_stats(name)?,
        })
    }

    pub(crate) fn main_table(self, options: &TableOptions) -> Result<Table<'static>> {
        Ok(match self {
            View::Snapshot(snapshot) => snapshot.main_table_with(options)?,
            View::Writer(writer) => writer.view_main(options)?,
        })
    }

    pub(crate) fn find_table(
        self,
        name: &[u8],
        options: Option<&TableOptions>,
    ) -> duramen::Result<Option<Table<'static>>> {
        match self {
            View::Snapshot(snapshot) => snapshot.find_table(name, options),
            View::Writer(writer) => writer.view_table(name, options),
        }
    }
}

impl Txn {
    /// What its tables are of, if it reads.
    pub(crate) fn view(&self) -> Result<View> {
        // SAFETY: both are where they do not move, and tables are dropped before either changes or goes.
        unsafe {
            match (&self.snapshot, self.within.as_ref()) {
                (Some(snapshot), _) => Ok(View::Snapshot(&*ptr::from_ref(snapshot))),
                (None, Some(writer)) => Ok(View::Writer(writer)),
                (None, None) => Err(BAD_TXN),
            }
        }
    }

    /// Whether it reads in a transaction that writes.
    pub(crate) fn is_within(&self) -> bool {
        !self.within.is_null()
    }

    /// Begins to read in its parent.
    ///
    /// # Safety
    /// That is a transaction, and will be as long as this one is.
    pub(super) unsafe fn begin_within(&mut self) -> Result {
        // SAFETY: see the module's head.
        unsafe {
            self.within = engine_of(self.parent)?;
            self.flags |= enter(self.parent, self)?;
            (self.began, self.next_page) = ((*self.parent).began, (*self.parent).next_page);
        }
        self.reads = self.writing()?.txnid().0;
        Ok(())
    }

    /// The engine's transaction that it reads in.
    fn writing(&self) -> Result<&WriteTxn<'static>> {
        // SAFETY: see the module's head.
        unsafe { self.within.as_ref() }.ok_or(BAD_TXN)
    }

    /// Has ended reading in its parent.
    pub(super) fn leave(&mut self) {
        // SAFETY: see the module's head.
        unsafe {
            let mut readers = list_of(self.parent).0.lock();
            readers.retain(|&reader| !ptr::eq(reader, self));
            if readers.is_empty() {
                (*self.parent).flags &= !HAS_CHILD;
            }
        }
        self.within = ptr::null();
    }

    /// One that reads in it.
    #[inline]
    pub(super) fn reader(&self) -> Option<*mut Txn> {
        // Most have no child, and no use for a lock.
        if self.flags & HAS_CHILD == 0 { None } else { self.readers.0.lock().last().copied() }
    }
}

/// The engine's transaction that one which writes is part of.
unsafe fn engine_of(mut txn: *mut Txn) -> Result<*const WriteTxn<'static>> {
    // SAFETY: see the module's head; parents outlive their children.
    unsafe {
        while !(*txn).parent.is_null() {
            txn = (*txn).parent;
        }
        let writer = &(*txn).writer;
        writer.as_ref().map(ptr::from_ref).ok_or(BAD_TXN)
    }
}

unsafe fn list_of<'t>(txn: *mut Txn) -> &'t Readers {
    // SAFETY: see the module's head.
    unsafe { &(*txn).readers }
}

/// Notes a reader in a transaction, if that may have one; the flags that it has from there.
unsafe fn enter(txn: *mut Txn, reader: *mut Txn) -> Result<u32> {
    // SAFETY: see the module's head.
    unsafe {
        let mut readers = list_of(txn).0.lock();
        let flags = (*txn).flags;
        let in_the_way = if readers.is_empty() { BLOCKED } else { BLOCKED & !HAS_CHILD };
        if flags & in_the_way != 0 {
            return Err(EINVAL);
        }
        (*txn).flags |= HAS_CHILD;
        readers.push(reader);
        Ok(flags & BEGIN_FLAGS)
    }
}
