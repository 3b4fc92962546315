//! The thread that seals a bulk load's pages and writes them, while the next ones are filled.
//!
//! Owns: the order of writes, and how they reach the disk. Must not know: what is in pages.
//!
//! The thread has ended before anybody reads what it wrote, gives pages back, or cuts off the file. Where a program forgets a load
//! instead of ending it, the thread goes on until it finds the transaction's [`Gate`] closed.

use std::io::IoSlice;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::format::page;
use crate::ids::{Pgno, Txnid};
use crate::os::direct::Block;
use crate::os::fork::WithThread;
use crate::sort::{join, spawn};
use crate::store::Store;

/// Bytes written at once.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
/// Blocks that wait to be written, beside those being filled and the one being written.
const WAITING: usize = 2;
/// Pieces for the page cache: of longer ones the kernel makes large folios, whose small changes cost as if they were of
/// the whole.
const CACHED_PIECE: usize = 32 << 10;

/// Passed by each write; closed by who ends the transaction, when none is under way.
#[derive(Default)]
pub(in crate::txn) struct Gate(Mutex<bool>);

impl Gate {
    /// From now on nothing is written.
    pub(in crate::txn) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn pass<R>(&self, write: impl FnOnce() -> Result<R>) -> Result<R> {
        let is_closed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_closed { Err(Error::TxnFailed) } else { write() }
    }
}

/// What has been written.
#[derive(Default)]
pub(super) struct Totals {
    /// Of checksums.
    pub sum: u64,
    pub pages: u64,
}

/// Pages to be written.
pub(super) struct Filled {
    pub start: Pgno,
    pub block: Block,
    /// Bytes of it.
    pub filled: usize,
    /// They have their checksums.
    pub is_sealed: bool,
}

/// The thread, as those who give it work see it.
pub(super) struct BlockWriter {
    store: Arc<Store>,
    /// `None` once it was waited for.
    running: Option<WithThread<Running>>,
}

struct Running {
    blocks: SyncSender<Filled>,
    /// Blocks to be filled again.
    empty: Receiver<Block>,
    thread: JoinHandle<Result<Totals>>,
}

impl BlockWriter {
    /// Pages get the birth `birth`. `keep_cached`: they shall be in the page cache afterwards.
    pub(super) fn start(store: &Arc<Store>, gate: Arc<Gate>, birth: Txnid, keep_cached: bool) -> Result<BlockWriter> {
        let (blocks, todo) = sync_channel(WAITING);
        let (done, empty) = channel();
        let shared = store.clone();
        let thread = spawn("duramen load", move || write_all((&shared, &gate), birth, keep_cached, &todo, &done))?;
        Ok(BlockWriter { store: store.clone(), running: Some(WithThread::new(Running { blocks, empty, thread })) })
    }

    /// A block to be filled.
    pub(super) fn block(&mut self) -> Block {
        let running = self.running.as_mut().and_then(|running| running.get().ok());
        running.and_then(|running| running.empty.try_recv().ok()).unwrap_or_else(|| Block::new(BLOCK_BYTES))
    }

    /// Hands over pages; the error is that of an earlier write.
    pub(super) fn send(&mut self, filled: Filled) -> Result<()> {
        let Some(running) = &mut self.running else { return Err(Error::TxnFailed) };
        match running.get()?.blocks.send(filled) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.wait().err().unwrap_or(Error::TxnFailed)),
        }
    }

    /// Lets the thread write what it has, and end.
    pub(super) fn wait(&mut self) -> Result<Totals> {
        let Some(running) = self.running.take() else { return Err(Error::TxnFailed) };
        let Running { blocks, thread, .. } = running.into_inner()?;
        // Without a sender there is nothing more to come.
        drop(blocks);
        join(thread).inspect_err(|error| {
            self.store.crowded.fetch_or(error.is_disk_full(), Ordering::Relaxed);
        })
    }
}

impl Drop for BlockWriter {
    fn drop(&mut self) {
        if self.running.is_some() {
            // The load was given up, and what its last writes met is of no account.
            drop(self.wait());
        }
    }
}

fn write_all(
    (store, gate): (&Store, &Gate),
    birth: Txnid,
    keep_cached: bool,
    todo: &Receiver<Filled>,
    done: &Sender<Block>,
) -> Result<Totals> {
    let (page_size, file_id) = (store.pager.page_size, store.pager.file_id);
    let mut totals = Totals::default();
    while let Ok(Filled { start, mut block, filled, is_sealed }) = todo.recv() {
        if !is_sealed {
            for (pgno, page) in (start.0..).zip(block[..filled].chunks_exact_mut(page_size)) {
                totals.sum = totals.sum.wrapping_add(page::seal(page, Pgno(pgno), birth, file_id));
                totals.pages += 1;
            }
        }
        gate.pass(|| write(store, keep_cached, start.0 * page_size as u64, &block[..filled]))?;
        // Nobody fills blocks any more: the load is ending.
        let _ = done.send(block);
    }
    Ok(totals)
}

fn write(store: &Store, keep_cached: bool, offset: u64, bytes: &[u8]) -> Result<()> {
    let failed = Error::io("write to the data file");
    if !keep_cached {
        return store.medium.write_past_cache(offset, bytes).map_err(failed);
    }
    let mut at = offset;
    let written = bytes.chunks(CACHED_PIECE).try_for_each(|piece| {
        store.medium.write_at(at, &[IoSlice::new(piece)])?;
        at += piece.len() as u64;
        Ok(())
    });
    written.map_err(failed)?;
    store.medium.begin_flush(offset..at);
    Ok(())
}
