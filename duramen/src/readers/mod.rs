//! What the processes that have a database open share: who reads which snapshot, who writes, what is newest.
//!
//! Owns: [`Shared`], one opened handle's part in that. Must not know: pages, meta pages, tables, what the words of a
//! [`Published`] mean.
//!
//! The state lives in `NAME-lock` and holds nothing that a crash may lose. Who is alive is told by the kernel: a handle
//! holds locks on bytes of the lock file (far beyond its end), which go when it does, however it dies.
//! - `OPENER`: held by every handle, shared. The first opener holds it exclusively while it recovers, so the others wait.
//! - `WRITER`: held by the writer, unless it is favoured ([`favour`]).
//! - `GROWTH`: held while a block is appended.
//! - `SUCCESSION`: held while another data file's lock file is replaced ([`joining`]).
//! - one byte for each handle that has been favoured, held by it.
//! - one byte for each block of reader slots, held by the handle that owns the block.
//!
//! Invariants: a slot is written only by the owner of its block, or by whoever holds the dead owner's lock instead. All
//! locks but the writer's are taken and dropped under the mutex of [`blocks::Blocks`], since threads of one handle do
//! not exclude each other by them.
//!
//! The lock file must not be removed or replaced while the database is open anywhere: those who open it then would not
//! know of those who have it open, nor be kept from writing at the same time. But where another data file has been put
//! in the place of one that is still open, as programs do that make a file anew and rename it over the old one, those who
//! open the new one get a new lock file: see [`joining`].

mod blocks;
mod favour;
mod joining;
mod memory;
mod protocol;
mod turn;
mod unregistered;

#[cfg(test)]
mod doubt_tests;
#[cfg(test)]
mod process_tests;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::ids::Txnid;
use crate::os::fork::ForkGuard;
use crate::os::lock::{self, Kind, LockFile};
use crate::os::thread::this_thread;
use crate::os::{coarse_unix_ms, file};

use blocks::Blocks;
use favour::Favour;
use joining::admit;
pub(crate) use joining::{DataFile, may_be_lock_file, vouched};
pub(crate) use memory::RECORD_WORDS;
use memory::{BLOCK_SLOTS, Memory, Slot};
pub(crate) use turn::{Inherited, Wait};
use turn::{Pause, Turn};
pub(crate) use unregistered::{UnregisteredReader, unregistered};

/// The answer to a lock file that somebody has written into.
#[cold]
pub(crate) fn no_record() -> Error {
    Error::Usage {
        what: "the lock file holds no record of the newest commit: close the database everywhere, then open it again",
    }
}

/// The header's `doubt` counts the flushes of the data file that are under way: each of a handle that counts its own in its
/// block, as one, since their deaths are noticed; this for each of another handle,
const UNCOUNTED: u64 = 1 << 16;
/// and this after a failure that leaves unknown what is on disk, or the death of who was flushing.
const FAILED: u64 = 1 << 32;

/// The lock of block 0; the others follow.
const BLOCK_LOCKS: u64 = 1 << 40;
const OPENER: Range<u64> = byte(1 << 41);
const WRITER: Range<u64> = byte((1 << 41) + 1);
const GROWTH: Range<u64> = byte((1 << 41) + 2);
/// Held by who replaces the lock file.
const SUCCESSION: Range<u64> = byte((1 << 41) + 3);
/// Fruitless attempts to copy the newest record after which something must be wrong with the lock file.
const ATTEMPTS_MAX: u32 = 1000;
/// So often a handle tries to join, some seconds in all, where who is in the lock file does not get ready.
const TRIES: u32 = 2000;

/// After so long somebody who reads again and again is told that time goes by.
const WHILE_MS: u64 = 1 << 13;

const fn byte(at: u64) -> Range<u64> {
    at..at + 1
}

/// Whether a handle is the first to have the database open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Nobody else has it open: recover, publish, then call [`Shared::let_others_in`].
    First,
    /// Others have it open, or had until they died; the state is theirs.
    Joined,
}

/// What a reader needs to know of a commit, in words that the engine gives a meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Published {
    /// The commit.
    pub txnid: Txnid,
    /// What was said of it.
    pub words: [u64; RECORD_WORDS],
}

/// A reader's place in the table, to be given back by [`Shared::end_read`] of the same handle, on any thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReadSlot(u32);

/// For how long somebody reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stay {
    /// For as long as a caller likes, who is a reader.
    Long,
    /// For a look that the engine takes for itself.
    Brief,
}

/// One running read transaction, for display.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReaderInfo {
    /// Its process, by the number that the process knows itself by.
    pub pid: u64,
    /// The snapshot it reads.
    pub txnid: Txnid,
    /// When it began, in milliseconds since 1970.
    pub since: u64,
    /// The thread that began it, as its process names it.
    pub thread: u64,
}

/// One opened handle's view of the shared state.
pub(crate) struct Shared {
    memory: Arc<Memory>,
    blocks: Blocks,
    turn: Turn,
    favour: Favour,
    guard: ForkGuard,
    id: u64,
    /// The block in which it counts its flushes, if it has one.
    counts_in: Option<u32>,
    /// Others were flushing when this handle joined them, and may be yet.
    joined_amid_flushes: AtomicBool,
    /// See [`Shared::take_time_passed`].
    time_passed: AtomicBool,
}

/// Where a thread found its last slot, so that it looks there first.
#[derive(Clone, Copy)]
struct Hint {
    handle: u64,
    /// The slot among all of the file's.
    slot: u32,
    /// The slot among those of the handle's own blocks.
    position: u32,
}

thread_local! {
    static HINT: Cell<Hint> = const { Cell::new(Hint { handle: 0, slot: 0, position: 0 }) };
}

impl Shared {
    /// Opens or makes the lock file; a new one gets this mode. Waits while another handle recovers.
    ///
    /// What a crash left in the file, or anything else in it, is of no account, unless it is the state of this data file,
    /// and that holds what was published last.
    pub(crate) fn open(path: &Path, mode: u32, data: &dyn DataFile) -> Result<(Shared, Role)> {
        let mut pause = Pause::new();
        for _ in 0..TRIES {
            let lock_file = LockFile::twice(|| file::open_lock(path, mode, &|made| data.share(made)))?;
            let admitted = lock_file.map_or(Ok(None), |lock_file| admit(lock_file, path, data))?;
            if let Some((memory, role)) = admitted {
                let mut shared = Shared::new(memory);
                // While there is room for it: on a disk that is full later, nobody could begin to read. Where there is
                // none now, reading says so.
                let taken = shared.blocks.take_another(&shared.memory, 0);
                shared.counts_in = taken.ok().map(|()| shared.blocks.get(0));
                shared.joined_amid_flushes = AtomicBool::new(shared.do_others_flush());
                return Ok((shared, role));
            }
            pause.wait();
        }
        // Nobody would ever get ready what those have who are in it.
        Err(Error::Usage { what: memory::CHANGED_BY_OTHERS })
    }

    /// State that is shared by the users of this handle only: for media without a lock file. The role is `First`.
    pub(crate) fn private() -> Result<Shared> {
        Memory::private().map(Shared::new)
    }

    fn new(memory: Memory) -> Shared {
        static HANDLES: AtomicU64 = AtomicU64::new(1);
        let id = HANDLES.fetch_add(1, Ordering::Relaxed);
        Shared {
            memory: Arc::new(memory),
            blocks: Blocks::new(),
            turn: Turn::new(),
            favour: Favour::default(),
            guard: ForkGuard::new(),
            id,
            counts_in: None,
            joined_amid_flushes: AtomicBool::new(false),
            time_passed: AtomicBool::new(false),
        }
    }

    /// Tells this handle from all others of the process.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Lets the others in: the first opener's recovered state is published.
    pub(crate) fn let_others_in(&self) -> Result<()> {
        self.check()?;
        self.memory.header().ready.store(1, Ordering::Release);
        match self.memory.file() {
            Some(file) => lock::lock(file, OPENER, Kind::Shared),
            None => Ok(()),
        }
    }

    /// If nobody else has the database open, nobody can join any more before this handle is gone; whether it is so. For who
    /// closes. When two close at once it may be neither.
    pub(crate) fn lock_out_others(&self) -> Result<bool> {
        self.check()?;
        self.memory.file().map_or(Ok(true), |file| lock::try_lock(file, OPENER, Kind::Exclusive))
    }

    /// Whether this is a child of the process that opened the handle.
    pub(crate) fn is_forked(&self) -> bool {
        self.guard.forked()
    }

    /// [`Error::Forked`] in a child of the process that opened the handle.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        self.guard.check()
    }

    /// Makes a commit the newest. The writer alone calls this, in the order of txnids.
    pub(crate) fn publish(&self, published: &Published) -> Result<()> {
        self.check()?;
        self.memory.record(published.txnid.0).write(published.txnid, &published.words);
        protocol::publish(&self.memory.header().newest.word, published.txnid);
        Ok(())
    }

    /// The commit published last.
    #[inline]
    pub(crate) fn newest(&self) -> Txnid {
        Txnid(self.memory.header().newest.word.load(Ordering::SeqCst))
    }

    /// The newest commit known to survive a power cut.
    pub(crate) fn durable(&self) -> Txnid {
        Txnid(self.memory.header().durable.word.load(Ordering::Acquire))
    }

    /// Notes that commits up to this one survive a power cut; never goes back.
    pub(crate) fn set_durable(&self, txnid: Txnid) -> Result<()> {
        self.check()?;
        self.memory.header().durable.word.fetch_max(txnid.0, Ordering::AcqRel);
        Ok(())
    }

    /// What was published with a txnid, if that was among the last few dozen.
    pub(crate) fn record(&self, txnid: Txnid) -> Option<Published> {
        if txnid > self.newest() {
            return None;
        }
        self.memory.record(txnid.0).read(txnid).map(|words| Published { txnid, words })
    }

    /// Takes hold of the newest snapshot.
    #[inline]
    pub(crate) fn begin_read(&self, stay: Stay) -> Result<(ReadSlot, Published)> {
        self.check()?;
        let hint = HINT.get();
        let (number, slot, claimed) = match self.claim_hinted() {
            Some(claim) => claim,
            None => self.claim_any()?,
        };
        if stay == Stay::Long {
            let (now, before) = (coarse_unix_ms(), slot.since.load(Ordering::Relaxed));
            slot.since.store(now, Ordering::Relaxed);
            if now / WHILE_MS != before / WHILE_MS {
                self.time_passed.store(true, Ordering::Relaxed);
            }
            slot.thread.store(this_thread(), Ordering::Relaxed);
        } else {
            // Its next reader is to have the place that it had before.
            HINT.set(hint);
        }
        match self.settle(slot, claimed) {
            Some(published) => Ok((ReadSlot(number), published)),
            None => {
                protocol::release(&slot.mark);
                Err(no_record())
            }
        }
    }

    /// Whether some seconds have gone by since somebody read before, at the last time that somebody who stays began to. It is told
    /// once, and then forgotten.
    #[inline]
    pub(crate) fn take_time_passed(&self) -> bool {
        self.time_passed.load(Ordering::Relaxed) && self.time_passed.swap(false, Ordering::Relaxed)
    }

    /// Gives a snapshot back.
    #[inline]
    pub(crate) fn end_read(&self, slot: ReadSlot) {
        if !self.guard.forked()
            && let Some(slot) = self.memory.slot(slot.0)
        {
            protocol::release(&slot.mark);
        }
    }

    #[inline]
    fn claim_hinted(&self) -> Option<(u32, &Slot, Txnid)> {
        let hint = HINT.get();
        if hint.handle != self.id {
            return None;
        }
        self.claim(hint.slot)
    }

    #[inline]
    fn claim(&self, number: u32) -> Option<(u32, &Slot, Txnid)> {
        let slot = self.memory.slot(number)?;
        protocol::claim(&slot.mark, &self.memory.header().newest.word).map(|claimed| (number, slot, claimed))
    }

    /// Looks through all slots of the own blocks, from the thread's last one on; takes another block if all are taken.
    #[cold]
    fn claim_any(&self) -> Result<(u32, &Slot, Txnid)> {
        let hint = HINT.get();
        let from = if hint.handle == self.id { hint.position } else { 0 };
        loop {
            let owned = self.blocks.count();
            let slots = owned * BLOCK_SLOTS;
            for position in (from..slots).chain(0..from.min(slots)) {
                let number = self.blocks.get(position / BLOCK_SLOTS) * BLOCK_SLOTS + position % BLOCK_SLOTS;
                if let Some(claim) = self.claim(number) {
                    HINT.set(Hint { handle: self.id, slot: number, position });
                    return Ok(claim);
                }
            }
            self.blocks.take_another(&self.memory, owned)?;
        }
    }

    /// Holds the newest snapshot whose record can be copied whole: the ring may wrap around between the two.
    #[inline]
    fn settle(&self, slot: &Slot, claimed: Txnid) -> Option<Published> {
        let newest = &self.memory.header().newest.word;
        let mut held = claimed;
        for _ in 0..ATTEMPTS_MAX {
            held = protocol::settle(&slot.mark, newest, held);
            if let Some(words) = self.memory.record(held.0).read(held) {
                return Some(Published { txnid: held, words });
            }
        }
        None
    }

    /// Fills `out` with the snapshots that anyone holds, ascending, each once. Every reader of a snapshot older than
    /// what was newest before the call is in it. Readers that died are cleared away.
    pub(crate) fn collect_live(&self, out: &mut Vec<Txnid>) -> Result<()> {
        self.check()?;
        out.clear();
        // Holding the newest keeps nothing from being reused, so it is not worth asking the kernel about.
        let newest = self.newest();
        for number in 0..self.memory.blocks()? {
            let before = out.len();
            out.extend(self.slots(number).iter().filter_map(|slot| protocol::scan(&slot.mark)));
            if out[before..].iter().any(|&held| held != newest) && self.blocks.clear_if_dead(&self.memory, number) > 0 {
                out.truncate(before);
            }
        }
        out.sort_unstable();
        out.dedup();
        Ok(())
    }

    /// Tells the others that the data file is about to be flushed. If the process dies before [`Flushing::end`] nobody knows how
    /// that ended.
    pub(crate) fn announce_flush(&self) -> Flushing {
        let flushing = Flushing { memory: self.memory.clone(), counted_in: self.counts_in };
        // In this order, so that those of the dead are in doubt.
        self.doubt().fetch_add(flushing.weight(), Ordering::AcqRel);
        flushing.count().inspect(|count| _ = count.fetch_add(1, Ordering::AcqRel));
        flushing
    }

    /// Whether others are not in doubt while this handle flushes.
    pub(crate) fn counts_flushes(&self) -> bool {
        self.counts_in.is_some()
    }

    /// Notes that the data file has been flushed just now.
    pub(crate) fn note_flush(&self) {
        self.memory.header().flushed_at.word.store(coarse_unix_ms(), Ordering::Relaxed);
    }

    /// How long ago a flush succeeded, in any process. As long as can be if the clock was set back since.
    pub(crate) fn since_flush(&self) -> Duration {
        let at = self.memory.header().flushed_at.word.load(Ordering::Relaxed);
        coarse_unix_ms().checked_sub(at).map_or(Duration::MAX, Duration::from_millis)
    }

    /// Has the next writer make a checkpoint before it writes anything over.
    pub(crate) fn ask_for_checkpoint(&self) {
        self.checkpoints_due().fetch_add(1, Ordering::SeqCst);
    }

    /// Whether that was asked of this writer. It is so until [`Shared::note_checkpoint`].
    pub(crate) fn is_checkpoint_asked_for(&self) -> bool {
        self.checkpoints_due().load(Ordering::SeqCst) != 0
    }

    /// Whether it was asked so many times.
    pub(crate) fn are_all_of(&self, asked: u64) -> bool {
        self.checkpoints_due().load(Ordering::SeqCst) == asked
    }

    /// There is no need any more for so many of the checkpoints that were asked for.
    pub(crate) fn withdraw(&self, asked: u64) {
        let less = |due: u64| Some(due.saturating_sub(asked));
        let _ = self.checkpoints_due().fetch_update(Ordering::SeqCst, Ordering::Relaxed, less);
    }

    /// Notes that what was asked for has been done, by the writer.
    pub(crate) fn note_checkpoint(&self) {
        self.checkpoints_due().store(0, Ordering::SeqCst);
    }

    fn checkpoints_due(&self) -> &AtomicU64 {
        &self.memory.header().checkpoints_due.word
    }

    /// Notes that what is in the page cache may never reach the disk.
    pub(crate) fn note_failure(&self) {
        self.doubt().fetch_or(FAILED, Ordering::AcqRel);
    }

    /// Whether that may be so, as the writer sees it: not while those who flush are alive, unless they were at it before this
    /// handle joined them. Those who died while they flushed are cleared away.
    pub(crate) fn look_into_doubt(&self) -> bool {
        if self.look_again_for_flushers() {
            return true;
        }
        if self.doubt().load(Ordering::Acquire) == 0 {
            return false;
        }
        // Who cannot be asked is alive.
        let _ = self.blocks.clear_dead_who_flushed(&self.memory);
        self.doubt().load(Ordering::Acquire) >= UNCOUNTED
    }

    /// Whether others still flush who did when this handle joined them; once they do not, that is noted. The kernel tells of a
    /// failure who has the file open by then, and nobody who opens it later. Until they say how it ended it may have failed.
    pub(crate) fn look_again_for_flushers(&self) -> bool {
        self.joined_amid_flushes.load(Ordering::Relaxed) && {
            let still = self.do_others_flush();
            // Who is done has left word of a failure before.
            self.joined_amid_flushes.fetch_and(still, Ordering::Relaxed);
            still
        }
    }

    fn do_others_flush(&self) -> bool {
        let others = (0..self.memory.blocks().unwrap_or(0)).filter(|number| Some(*number) != self.counts_in);
        let mut counts = others.filter_map(|number| blocks::flushes_of(&self.memory, number));
        self.doubt().load(Ordering::Acquire) % FAILED >= UNCOUNTED
            || counts.any(|count| count.load(Ordering::Acquire) > 0)
    }

    /// As [`Shared::look_into_doubt`]; whether it is not only that somebody flushes.
    pub(crate) fn look_into_failure(&self) -> bool {
        self.look_into_doubt() && self.doubt().load(Ordering::Acquire) >= FAILED
    }

    /// Ends all doubt: what there was of it has been written again, and flushed.
    pub(crate) fn clear_doubt(&self) {
        self.joined_amid_flushes.store(false, Ordering::Relaxed);
        self.doubt().fetch_and(UNCOUNTED - 1, Ordering::AcqRel);
    }

    fn doubt(&self) -> &AtomicU64 {
        &self.memory.header().doubt.word
    }

    /// All running read transactions; readers that died are cleared away.
    pub(crate) fn list_readers(&self) -> Result<Vec<ReaderInfo>> {
        self.clear_dead()?;
        let mut readers = Vec::new();
        for number in 0..self.memory.blocks()? {
            readers.extend(self.slots(number).iter().filter_map(info));
        }
        Ok(readers)
    }

    /// How many slots have been used since somebody opened the database who found nobody else: by those who had the slots of
    /// this handle before, and by all other handles.
    pub(crate) fn used_by_others(&self) -> Result<(u32, u32)> {
        self.check()?;
        let of_others = (0..self.memory.blocks()?).filter(|&number| !self.blocks.is_own(number));
        Ok((self.blocks.used_before(), of_others.map(|number| blocks::used(self.memory.block(number))).sum()))
    }

    /// Frees the slots of readers that died, and counts them.
    pub(crate) fn clear_dead(&self) -> Result<usize> {
        self.check()?;
        let mut cleared = 0;
        for number in 0..self.memory.blocks()? {
            if self.slots(number).iter().any(|slot| protocol::scan(&slot.mark).is_some()) {
                cleared += self.blocks.clear_if_dead(&self.memory, number);
            }
        }
        Ok(cleared)
    }

    fn slots(&self, block: u32) -> &[Slot] {
        self.memory.block(block).map_or(&[], |slots| slots)
    }

    /// Becomes the writer, among all threads and processes; [`Error::Busy`] if that takes longer than allowed. Tells
    /// whether the writer before died without [`Shared::unlock_writer`], or left something to settle.
    pub(crate) fn lock_writer(&self, wait: Wait) -> Result<Inherited> {
        self.check()?;
        self.turn.take(wait, |wait| match self.memory.file() {
            Some(file) => self.favour.enter(file, self.memory.header(), wait),
            None => Ok(()),
        })?;
        match self.memory.header().writing.word.swap(1, Ordering::AcqRel) {
            0 => Ok(Inherited::Clean),
            _ => Ok(Inherited::Unsettled),
        }
    }

    /// Changes where somebody else may have been the writer since this handle was. For the writer.
    pub(crate) fn strangers(&self) -> u64 {
        self.favour.strangers()
    }

    /// Has the first writer find [`Inherited::Unsettled`] and be in doubt. For a first opener that may not write.
    pub(crate) fn leave_unsettled(&self) -> Result<()> {
        self.check()?;
        self.note_failure();
        self.memory.header().writing.word.store(1, Ordering::Release);
        Ok(())
    }

    /// Lets the next writer in. Only to be called by the writer, on any thread; nothing happens in a forked child.
    pub(crate) fn unlock_writer(&self) {
        if self.guard.forked() {
            return;
        }
        self.memory.header().writing.word.store(0, Ordering::Release);
        self.unlock_unsettled();
    }

    /// Lets the next writer in, which then finds [`Inherited::Unsettled`] as this one did.
    pub(crate) fn unlock_unsettled(&self) {
        if self.guard.forked() {
            return;
        }
        self.turn.give(|| {
            // A failure leaves the lock with this handle, which then is the only one to write until it closes.
            let left = self.memory.file().map(|file| self.favour.leave(file, self.memory.header()));
            if let Some(Err(error)) = left {
                tracing::error!(%error, "the writer's lock could not be dropped");
            }
        });
    }
}

/// A flush of the data file that is under way, to be ended on any thread.
pub(crate) struct Flushing {
    memory: Arc<Memory>,
    counted_in: Option<u32>,
}

impl Flushing {
    fn weight(&self) -> u64 {
        if self.counted_in.is_some() { 1 } else { UNCOUNTED }
    }

    fn count(&self) -> Option<&AtomicU64> {
        blocks::flushes_of(&self.memory, self.counted_in?)
    }

    /// Tells that it is over: well, or else what is in the page cache may never reach the disk.
    pub(crate) fn end(self, well: bool) {
        let doubt = &self.memory.header().doubt.word;
        if !well {
            doubt.fetch_or(FAILED, Ordering::AcqRel);
        }
        let one_less = |count: u64| count.checked_sub(1);
        self.count().inspect(|count| _ = count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_less));
        // Who got others out of doubt has not counted those that were not to be told from the dead's.
        let (weight, of) = (self.weight(), if self.counted_in.is_some() { UNCOUNTED } else { FAILED });
        let less = |doubt: u64| (doubt % of >= weight).then(|| doubt - weight);
        let _ = doubt.fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The locks go after this, with the file.
        if !self.guard.forked() {
            self.blocks.clear_own(&self.memory);
        }
    }
}

fn info(slot: &Slot) -> Option<ReaderInfo> {
    let txnid = protocol::scan(&slot.mark)?;
    let of = |word: &AtomicU64| word.load(Ordering::Relaxed);
    Some(ReaderInfo { pid: of(&slot.pid), txnid, since: of(&slot.since), thread: of(&slot.thread) })
}
