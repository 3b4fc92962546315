//! Transactions: beginning, ending, resetting, nesting. The tables that one has looked up are in `txn/tables.rs`.
//!
//! Owns: what a transaction pointer points at, its list of cursors. Must not know: entries, movements.
//!
//! A write transaction and its children are one transaction of the engine with nesting levels; the outermost holds it.
//!
//! # Safety
//! A transaction is a box that never moves: tables and cursors of a read transaction refer to the snapshot in it, and
//! are dropped before it is. It is freed by `commit` or `abort`. One thread at a time uses it, and what is nested in
//! it. Its environment outlives it, but for a read transaction that it has let go of (`txn/left.rs`). Cursors are boxes too; each is in the list of its transaction, and leaves it, or is
//! told, before either goes.
#![allow(unsafe_code)]

mod left;
mod readers;
mod tables;

use std::ffi::c_uint;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen::{Snapshot, TableId, WriteTxn};

use crate::abi::{MAIN_DBI, db, env as flag, size};
use crate::cancel::{self, Uncancelled};
use crate::cursor::{Cursor, Standing};
use crate::cursors::Cursors;
use crate::env::{self, Env, Interface, Open};
use crate::errors::{BAD_TXN, EDEADLK, EINVAL, PANIC, Result};
use crate::forks;
use crate::mapsize::{self, Budget};
use crate::names_of_tables::Names;
use crate::spares::Spares;
use crate::threads::Place;
pub(crate) use left::Alive;
use readers::Readers;
pub(crate) use readers::View;
use tables::Functions;
pub(crate) use tables::{Db, Target};

/// Bits of a transaction's flags: those of `mdb_txn_begin`, and
const FINISHED: u32 = 0x01;
/// an operation failed, the transaction can only be aborted;
const FAILED: u32 = 0x02;
/// a child is active.
const HAS_CHILD: u32 = 0x10;
const BLOCKED: u32 = FINISHED | FAILED | HAS_CHILD;
const BEGIN_FLAGS: u32 = flag::NOSYNC | flag::NOMETASYNC | flag::RDONLY;

/// How often who waits for a thread of this process looks whether that still runs.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// See the module's head. Begins as LMDB's does: there are programs (RDF4J) that read the third word, to make the map
/// larger in time.
#[repr(C)]
pub struct Txn {
    parent: *mut Txn,
    child: *mut Txn,
    /// Behind the last page that it reads, or is to write, counted as the map size counts.
    next_page: usize,
    /// Null once that has been closed.
    env: *const Env,
    flags: u32,
    /// It is in the environment's list.
    is_listed: bool,
    /// How many forks there were before it began to read.
    forks: u64,
    /// Moment of the handles at which it began.
    began: u64,
    /// The commit that it reads, or read until it was reset.
    reads: u64,
    dbs: Vec<Db>,
    /// Those that a read transaction has looked up since it began.
    looked_up: Vec<u32>,
    /// State of the handles at which `dbs` were found.
    dbs_as_of: u64,
    /// The program's functions of the table that was asked for last.
    functions: Functions,
    /// Handles opened by it.
    opened: Vec<u32>,
    /// The main table was emptied: of the named ones these are there again at the end, and any other that is used before.
    emptied: Option<Vec<u32>>,
    pub(crate) cursors: Cursors,
    /// The last that was closed, for use once more.
    pub(crate) closed: Option<Box<Cursor>>,
    /// Where the cursors of the parent stood when this child began, in the order of `cursors`.
    kept: Vec<(*mut Cursor, Standing)>,
    place: Option<Place>,
    snapshot: Option<Snapshot<'static>>,
    writer: Option<WriteTxn<'static>>,
    /// The engine's transaction that it reads in, if it is one of the readers of its parent.
    within: *const WriteTxn<'static>,
    readers: Readers,
    /// What the thread that writes leaves with.
    owner: u64,
    pub(crate) budget: Budget,
    /// Room for copies of a key and of a value.
    pub(crate) key_room: Vec<u8>,
    pub(crate) value_room: Vec<u8>,
    pub(crate) names: Names,
}

/// The transaction behind a pointer.
///
/// # Safety
/// As the module's head says.
#[inline]
pub(crate) unsafe fn of<'t>(txn: *mut Txn) -> Result<&'t mut Txn> {
    // SAFETY: promised by the caller.
    unsafe { txn.as_mut() }.ok_or(EINVAL)
}

impl Txn {
    fn new(env: &Env, parent: *mut Txn, flags: u32) -> Txn {
        Txn {
            parent,
            child: ptr::null_mut(),
            next_page: 0,
            env,
            flags,
            is_listed: false,
            forks: 0,
            began: 0,
            reads: 0,
            dbs: Vec::new(),
            looked_up: Vec::new(),
            dbs_as_of: 0,
            functions: Functions::default(),
            opened: Vec::new(),
            emptied: None,
            cursors: Cursors::default(),
            closed: None,
            kept: Vec::new(),
            place: None,
            snapshot: None,
            writer: None,
            within: ptr::null(),
            readers: Readers::default(),
            owner: 0,
            budget: Budget::default(),
            key_room: Vec::new(),
            value_room: Vec::new(),
            names: Names::default(),
        }
    }

    pub(crate) fn env(&self) -> &'static Env {
        // SAFETY: see the module's head; the environment outlives the transaction, or takes itself out of it.
        unsafe { self.env.as_ref() }.unwrap_or_else(left::closed)
    }

    /// Tells it from others.
    pub(crate) fn id(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    pub(crate) fn began(&self) -> u64 {
        self.began
    }

    /// Whether the transaction of this id is this one, or one that it is nested in.
    pub(crate) fn descends_from(&self, id: usize) -> bool {
        let mut txn = ptr::from_ref(self);
        while !txn.is_null() && txn.addr() != id {
            // SAFETY: see the module's head; parents outlive their children.
            txn = unsafe { (*txn).parent };
        }
        !txn.is_null()
    }

    #[inline]
    pub(crate) fn is_reader(&self) -> bool {
        self.flags & flag::RDONLY != 0
    }

    /// Refuses a transaction that cannot work now.
    #[inline]
    pub(crate) fn check(&self) -> Result {
        if self.flags & BLOCKED == 0 { Ok(()) } else { Err(BAD_TXN) }
    }

    /// Refuses a transaction that cannot write now.
    #[inline]
    pub(crate) fn check_writer(&self) -> Result {
        if self.is_reader() { Err(self.env().read_only()) } else { self.check() }
    }

    /// The engine's transaction.
    #[inline]
    pub(crate) fn writer(&mut self) -> Result<&mut WriteTxn<'static>> {
        let mut txn = self;
        while !txn.parent.is_null() {
            // SAFETY: see the module's head; parents outlive their children, which are used in their stead.
            txn = unsafe { &mut *txn.parent };
        }
        txn.writer.as_mut().ok_or(BAD_TXN)
    }

    /// An error after which the transaction can only be aborted makes it so.
    pub(crate) fn judge<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(crate::errors::MAP_FULL | BAD_TXN) = result {
            self.flags |= FAILED;
        }
        result
    }

    /// Whether `more` pages and what has been changed fit into the map.
    #[inline]
    pub(crate) fn check_room(&mut self, more: u64) -> Result {
        let env = self.env();
        let mut txn = &mut *self;
        while !txn.parent.is_null() {
            // SAFETY: as in `writer`.
            txn = unsafe { &mut *txn.parent };
        }
        let writer = txn.writer.as_mut().ok_or(BAD_TXN)?;
        let next_page = mapsize::counted(writer.pages() + writer.pages_unplaced());
        let result = env.limit.check_room(writer, &mut txn.budget, more);
        self.next_page = next_page;
        result
    }

    /// A handle opened by this transaction.
    pub(crate) fn opened(&mut self, dbi: u32) {
        self.opened.push(dbi);
        self.remember(dbi, Db::Unseen);
    }

    /// The cursors on a table, of this transaction and of those that it is nested in.
    pub(crate) fn cursors_on(&self, dbi: u32) -> impl Iterator<Item = *mut Cursor> + '_ {
        self.cursors.on(dbi)
    }

    /// Those but for one, which the program has named and who asks has borrowed.
    pub(crate) fn others_on(&self, dbi: u32, but: *const Cursor) -> impl Iterator<Item = *mut Cursor> + '_ {
        self.cursors_on(dbi).filter(move |&cursor| !ptr::eq(cursor, but))
    }

    /// Before anything is stored in a table or deleted from it: cursors in gaps there stand on what comes after them, but
    /// for the one that the program has named, which is borrowed.
    pub(crate) fn leave_gaps(&mut self, dbi: u32, but: *const Cursor) -> Result {
        for i in self.cursors.range(dbi) {
            let cursor = self.cursors.at(i);
            if !ptr::eq(cursor, but) {
                // SAFETY: see the module's head: what is in the list is alive; nobody has borrowed it.
                unsafe { &mut (*cursor).state }.leave_gap(self)?;
            }
        }
        Ok(())
    }

    fn begin_reading(&mut self) -> Result {
        let env = self.env();
        let open = env.opened()?;
        self.forks = forks::count();
        let place = match self.place {
            None => open.readers.enter()?,
            Some(place) => open.readers.enter_again(place)?,
        };
        self.check_tables();
        match read(env, open) {
            Ok(snapshot) => {
                self.next_page = mapsize::counted(snapshot.pages());
                self.reads = snapshot.txnid().0;
                self.snapshot = Some(snapshot);
            }
            Err(error) => {
                match self.place {
                    None => open.readers.leave(place, false),
                    Some(_) => open.readers.rest(place),
                }
                return Err(error);
            }
        }
        self.place = Some(place);
        self.began = env.dbs.now();
        Ok(())
    }

    fn begin_writing(&mut self) -> Result {
        // Until it is noted whose turn it is.
        let _through = Uncancelled::new();
        let env = self.env();
        let mut writer = wait_to_write(env)?;
        env.limit.check_write(&writer)?;
        writer.set_pages_wanted(env.limit.pages());
        self.next_page = mapsize::counted(writer.pages());
        self.writer = Some(writer);
        self.began = env.dbs.now();
        self.owner = env.writer.enter();
        env.writing.store(self, Ordering::Release);
        Ok(())
    }

    fn begin_nested(&mut self) -> Result {
        // SAFETY: see the module's head.
        let parent = unsafe { &mut *self.parent };
        parent.writer()?.begin_nested()?;
        self.began = parent.began;
        self.next_page = parent.next_page;
        self.dbs = parent.dbs.iter().map(tables::copy_of).collect();
        self.emptied.clone_from(&parent.emptied);
        self.cursors.clone_from(&parent.cursors);
        let (this, writer) = (ptr::from_mut(self), parent.writer()?);
        for cursor in self.cursors.iter() {
            // SAFETY: see the module's head: what is in the list is alive.
            let held = unsafe { &mut *cursor };
            self.kept.push((cursor, held.state.standing(writer)));
            held.txn = this;
        }
        parent.flags |= HAS_CHILD;
        parent.child = self;
        Ok(())
    }

    /// A cursor on this table has been closed.
    pub(crate) fn remove(&mut self, dbi: u32, cursor: *mut Cursor) {
        self.cursors.remove(dbi, cursor);
        self.kept.retain(|(other, _)| *other != cursor);
        // SAFETY: see the module's head.
        if let Some(parent) = unsafe { self.parent.as_mut() } {
            parent.remove(dbi, cursor);
        }
    }

    /// Lets go of everything that refers to the snapshot.
    fn release(&mut self, leave: impl Fn(&mut Cursor)) {
        for cursor in self.cursors.iter() {
            // SAFETY: see the module's head: what is in the list is alive.
            leave(unsafe { &mut *cursor });
        }
        self.detach_tables();
        self.names.clear();
        self.snapshot = None;
    }

    fn end_reading(&mut self) {
        self.release(|cursor| cursor.state.unset());
        for cursor in std::mem::take(&mut self.cursors).iter() {
            // SAFETY: as above.
            unsafe { &mut *cursor }.txn = ptr::null_mut();
        }
        if let (Some(place), Ok(open)) = (self.place.take(), self.env().opened()) {
            open.readers.leave(place, self.flags & FINISHED != 0);
        }
    }

    /// Ends the cursors of a write transaction: those of a child only, if it is one.
    fn end_cursors(&mut self, keep: bool) {
        let mut kept = std::mem::take(&mut self.kept).into_iter().peekable();
        for cursor in std::mem::take(&mut self.cursors).iter() {
            // SAFETY: see the module's head: what is in the list is alive.
            let held = unsafe { &mut *cursor };
            if let Some((_, before)) = kept.next_if(|&(other, _)| other == cursor) {
                held.txn = self.parent;
                if !keep {
                    held.state.go_back(&before);
                }
            } else {
                held.txn = ptr::null_mut();
                held.state.unset();
                self.env().adopt(cursor);
            }
        }
    }

    fn commit_writing(&mut self) -> Result {
        let env = self.env();
        let more = self.flags;
        self.bring_back()?;
        self.writer()?.enter_tables()?;
        if self.writer()?.has_changes() {
            self.check_room(0)?;
        }
        let mut writer = self.writer.take().ok_or(BAD_TXN)?;
        writer.set_durability(env.durability(more));
        let number = env.limit.to_store(&writer);
        writer.set_user_number(number);
        if !self.opened.is_empty() {
            env.dbs.commits(self, &self.opened);
        }
        writer.commit()?;
        Ok(())
    }

    fn end_writing(&mut self) {
        self.writer = None;
        self.budget = Budget::default();
        self.dbs.clear();
        self.emptied = None;
        self.names.clear();
        self.env().writer.leave(self.owner);
        let _ = self.env().writing.compare_exchange(self, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }

    fn end_nested(&mut self, keep: bool) -> Result {
        // SAFETY: see the module's head.
        let parent = unsafe { &mut *self.parent };
        parent.flags &= !HAS_CHILD;
        parent.next_page = parent.next_page.max(self.next_page);
        parent.child = ptr::null_mut();
        parent.names.append(&mut self.names);
        let ended = if keep { parent.writer()?.commit_nested() } else { parent.writer()?.abort_nested() };
        if keep && ended.is_ok() {
            parent.dbs = std::mem::take(&mut self.dbs);
            parent.emptied = self.emptied.take();
        }
        Ok(ended?)
    }

    /// Ends it, in whatever state it is.
    fn end(&mut self, keep: bool) -> Result {
        let env = self.env();
        if self.is_reader() {
            self.end_reading();
            self.end_handles(env, keep);
            if self.is_within() {
                self.leave();
            }
            return Ok(());
        }
        let keep_it = keep && self.flags & FAILED == 0;
        let result = match (keep_it, self.parent.is_null()) {
            (true, true) => self.commit_writing(),
            (_, false) => self.end_nested(keep_it),
            (false, true) => Ok(()),
        };
        let kept = keep_it && result.is_ok();
        // SAFETY: see the module's head.
        let parent = unsafe { self.parent.as_mut() };
        if let Some(parent) = parent.filter(|_| keep && !kept) {
            // What the program takes to be in it is not.
            parent.flags |= FAILED;
        }
        self.end_cursors(kept);
        if self.parent.is_null() {
            self.end_writing();
        }
        self.end_handles(env, kept);
        if keep && !keep_it { Err(BAD_TXN) } else { result }
    }

    fn end_handles(&mut self, env: &Env, keep: bool) {
        let opened = std::mem::take(&mut self.opened);
        if opened.is_empty() {
            return;
        }
        if !keep {
            return env.dbs.close_own(self, &opened);
        }
        // Handles of one that reads become everybody's, whatever it is nested in.
        let parent = if self.is_reader() { ptr::null_mut() } else { self.parent };
        // SAFETY: see the module's head.
        let parent = unsafe { parent.as_mut() };
        env.dbs.publish(self, &opened, parent.as_deref());
        if let Some(parent) = parent {
            parent.opened.extend(opened);
        }
    }
}

fn read(env: &Env, open: &'static Open) -> Result<Snapshot<'static>> {
    let db = open.db()?;
    let snapshot = db.read()?;
    env.limit.check_read(db, &snapshot)?;
    Ok(snapshot)
}

/// Waits for other writers. In vain would be waited for one of this thread, and for one of this process whose thread has
/// ended without ending it.
fn wait_to_write(env: &Env) -> Result<WriteTxn<'static>> {
    let open = env.opened()?;
    let db = open.db()?;
    if env.writer.is_this() || open.is_written_here() {
        return Err(EDEADLK);
    }
    while env.writer.is_here() {
        if env.writer.is_gone() {
            return Err(PANIC);
        }
        match db.begin_write_within(LOOK_AFTER) {
            Err(duramen::Error::Busy) => {}
            begun => return Ok(begun?),
        }
    }
    Ok(db.begin_write()?)
}

pub(crate) unsafe fn begin(env: *mut Env, parent: *mut Txn, flags: c_uint, out: *mut *mut Txn) -> Result {
    // SAFETY: see the module's head; `out` is a place for a pointer.
    let (env, out) = unsafe { (env::of(env)?, out.as_mut().ok_or(EINVAL)?) };
    let flags = flags & BEGIN_FLAGS;
    if env.flags() & flag::RDONLY & !flags != 0 {
        return Err(env.read_only());
    }
    // SAFETY: see the module's head.
    if !parent.is_null() && flags & flag::RDONLY != 0 && env.is_of(Interface::V1_0) && !unsafe { is_reader(parent) } {
        // SAFETY: as above.
        *out = unsafe { begin_within(env, parent, flags)? };
        return Ok(());
    }
    // SAFETY: as above.
    let inherited = unsafe { parent.as_ref() }.map_or(Ok(0), |parent| inherited_from(parent, env, flags))?;
    let spare = if parent.is_null() { spares(env, flags).take() } else { None };
    let mut txn = spare.unwrap_or_else(|| Box::new(Txn::new(env, parent, 0)));
    txn.flags = flags | inherited;
    match (parent.is_null(), flags & flag::RDONLY != 0) {
        (true, true) => txn.begin_reading()?,
        (true, false) => txn.begin_writing()?,
        (false, _) => txn.begin_nested()?,
    }
    let is_listed = txn.is_listed || !txn.is_reader();
    *out = Box::into_raw(txn);
    if !is_listed {
        // SAFETY: it has just come from a box.
        unsafe { left::list(*out) };
    }
    Ok(())
}

/// Whether a transaction reads. Others may begin to read in it at this moment.
unsafe fn is_reader(txn: *mut Txn) -> bool {
    // SAFETY: promised by the caller; this flag never changes.
    unsafe { (*txn).flags & flag::RDONLY != 0 }
}

/// Begins to read in a transaction that writes.
unsafe fn begin_within(env: &Env, parent: *mut Txn, flags: u32) -> Result<*mut Txn> {
    let mut txn = Box::new(Txn::new(env, parent, flags));
    // SAFETY: promised by the caller. It never moves, being in a box.
    unsafe { txn.begin_within()? };
    Ok(Box::into_raw(txn))
}

/// The flags that a nested transaction has from its parent, if that may have one with these.
fn inherited_from(parent: &Txn, env: &Env, flags: u32) -> Result<u32> {
    if parent.is_reader() {
        return Err(EINVAL);
    }
    let maps = env.flags() & flag::WRITEMAP != 0;
    if maps && env.is_of(Interface::V1_0) {
        return Err(EINVAL);
    }
    if maps || (flags & flag::RDONLY) | (parent.flags & BLOCKED) != 0 {
        return Err(BAD_TXN);
    }
    Ok(parent.flags & BEGIN_FLAGS)
}

/// Where transactions of this kind wait to be used again.
fn spares(env: &Env, flags: u32) -> &Spares<Txn> {
    if flags & flag::RDONLY != 0 { &env.spares } else { &env.spare_writers }
}

/// Lets go of the read transactions that an environment leaves behind, which is closed.
pub(crate) unsafe fn leave_behind(env: &Env) {
    // SAFETY: promised by the caller.
    unsafe { left::leave_behind(env) }
}

/// Ends a transaction and frees it; its children first.
unsafe fn end(txn: *mut Txn, keep: bool) -> Result {
    // SAFETY: see the module's head.
    let ended = unsafe { of(txn)? };
    let (child, _through) = (ended.child, (!ended.is_reader()).then(Uncancelled::new));
    while let Some(reader) = ended.reader() {
        // SAFETY: as above; one that has ended is its parent's no more.
        unsafe { end(reader, keep)? };
    }
    let children = match child.is_null() {
        true => Ok(()),
        // SAFETY: as above.
        false => unsafe { end(child, keep) },
    };
    // SAFETY: it came from a box, and the program uses it no more.
    let mut txn = unsafe { Box::from_raw(txn) };
    let result = txn.end(keep && children.is_ok());
    if txn.parent.is_null() && !txn.env.is_null() {
        spares(txn.env(), txn.flags).keep(txn);
    } else if txn.forks == left::FORGOTTEN {
        Box::leak(txn);
    }
    children.and(result)
}

pub(crate) unsafe fn commit(txn: *mut Txn) -> Result {
    // SAFETY: see the module's head.
    let ended = unsafe { of(txn)? };
    // A reader that was reset has ended well.
    let finished = ended.flags & FINISHED != 0 && !ended.is_reader();
    let writes = !ended.is_reader() && ended.parent.is_null();
    // SAFETY: as above.
    let result = unsafe { end(txn, !finished) };
    if writes {
        cancel::point();
    }
    if finished { Err(BAD_TXN) } else { result }
}

pub(crate) unsafe fn abort(txn: *mut Txn) {
    // SAFETY: see the module's head.
    let _: Result = unsafe { end(txn, false) };
}

pub(crate) unsafe fn reset(txn: *mut Txn) {
    // SAFETY: see the module's head.
    let Ok(txn) = (unsafe { of(txn) }) else { return };
    if !txn.is_reader() || txn.is_within() || txn.flags & FINISHED != 0 {
        return;
    }
    txn.release(Cursor::rest);
    txn.flags |= FINISHED;
    if let (Some(place), Ok(open)) = (txn.place, txn.env().opened()) {
        open.readers.rest(place);
    }
}

pub(crate) unsafe fn renew(txn: *mut Txn) -> Result {
    // SAFETY: see the module's head.
    let txn = unsafe { of(txn)? };
    if !txn.is_reader() || txn.flags & FINISHED == 0 {
        return Err(EINVAL);
    }
    txn.begin_reading()?;
    txn.flags &= !FINISHED;
    Ok(())
}

pub(crate) unsafe fn txn_env(txn: *mut Txn) -> *mut Env {
    // SAFETY: see the module's head.
    unsafe { of(txn) }.map_or(ptr::null_mut(), |txn| txn.env.cast_mut())
}

pub(crate) unsafe fn txn_id(txn: *mut Txn) -> usize {
    // SAFETY: see the module's head.
    let Ok(txn) = (unsafe { of(txn) }) else { return 0 };
    match txn.is_reader() {
        true => size(txn.reads),
        false => txn.writer().map_or(0, |writer| size(writer.txnid().0)),
    }
}

/// Whether a transaction only reads: of its flags LMDB 1.0 tells no more.
pub(crate) unsafe fn txn_flags(txn: *mut Txn, out: *mut c_uint) -> Result {
    // SAFETY: see the module's head; `out` is a place for a number.
    let (txn, out) = unsafe { (of(txn)?, out.as_mut().ok_or(EINVAL)?) };
    *out = txn.flags & flag::RDONLY;
    Ok(())
}

/// A table that is new in the program's eyes is entered in the main table at once.
pub(crate) fn enter(txn: &mut Txn, table: TableId) -> Result {
    txn.leave_gaps(MAIN_DBI, ptr::null())?;
    Ok(txn.writer()?.enter_table(table)?)
}

/// Whether a table's flags say that a key may have several values.
pub(crate) fn has_duplicates(flags: u32) -> bool {
    flags & db::DUPSORT != 0
}
