//! Sorting more records than memory holds.
//!
//! Owns: the sorter: records are gathered in memory, a second thread sorts what has been gathered and writes it to a
//! temporary file as a *run*, and in the end all runs are merged. Must not know: pages, transactions, what values are.
//!
//! Records that compare as equal come out in the order in which they went in.

mod chunk;
mod merge;
mod run;

use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::order::Order;
use crate::os::direct::{ALIGNMENT, TemporaryFile};
use crate::os::fork::WithThread;
use chunk::{Chunk, Entry};
pub(crate) use merge::Merge;
use run::Runs;

/// What is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    /// A bit of the caller's own.
    pub flag: bool,
}

/// What records are sorted by: keys, then values if these have an order.
#[derive(Clone)]
pub(crate) struct By {
    pub key: Order,
    pub value: Option<Order>,
}

impl By {
    #[inline]
    fn cmp(&self, a: Record<'_>, b: Record<'_>) -> Ordering {
        let side = self.key.cmp(a.key, b.key);
        match &self.value {
            Some(value) => side.then_with(|| value.cmp(a.value, b.value)),
            None => side,
        }
    }
}

/// How memory is dealt out.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// What is gathered before it is sorted; twice that while another chunk is being written.
    chunk_bytes: usize,
    /// What is read from a run or written to one at once.
    block_bytes: usize,
    /// Runs merged at once; two blocks each.
    fan_in: usize,
    /// Longest record.
    record_bytes: usize,
}

const BLOCK_MIN: usize = 8 << 10;
const BLOCK_MAX: usize = 1 << 20;
const CHUNK_MIN: usize = 32 << 10;
/// Offsets in a chunk have 32 bits.
const CHUNK_MAX: usize = 3 << 30;

impl Budget {
    fn of(memory_bytes: usize, record_bytes: usize) -> Budget {
        let block_bytes = (memory_bytes / 512).clamp(BLOCK_MIN, BLOCK_MAX) / ALIGNMENT * ALIGNMENT;
        Budget {
            chunk_bytes: (memory_bytes / 16 * 7).clamp(CHUNK_MIN, CHUNK_MAX),
            block_bytes,
            fan_in: (memory_bytes / 4 / block_bytes).max(3),
            record_bytes: record_bytes.next_multiple_of(ALIGNMENT),
        }
    }
}

/// Takes records in any order. [`Sorter::finish`] gives them back in order.
pub(crate) struct Sorter {
    by: By,
    budget: Budget,
    directory: PathBuf,
    chunk: Chunk,
    /// The first key: how much all share with it is what all share.
    first: Option<Arc<[u8]>>,
    worker: Option<WithThread<Worker>>,
}

impl Sorter {
    /// A sorter that uses about this much memory, and a temporary file in the directory if that is not enough. No record
    /// may be longer than `record_bytes`, key and value together.
    pub(crate) fn new(by: By, memory_bytes: usize, record_bytes: usize, directory: PathBuf) -> Sorter {
        let budget = Budget::of(memory_bytes, record_bytes + chunk::HEAD);
        Sorter { by, budget, directory, chunk: Chunk::default(), first: None, worker: None }
    }

    /// Takes a record.
    #[inline]
    pub(crate) fn push(&mut self, record: Record<'_>) -> Result<()> {
        debug_assert!(record.key.len() + record.value.len() + chunk::HEAD <= self.budget.record_bytes);
        self.chunk.push(record);
        if self.chunk.used() >= self.budget.chunk_bytes { self.chunk_is_full() } else { Ok(()) }
    }

    fn first(&mut self) -> Arc<[u8]> {
        let first = || self.chunk.first().map_or(&[][..], |record| record.key).into();
        self.first.get_or_insert_with(first).clone()
    }

    /// Hands the chunk to the other thread and goes on with another one.
    #[cold]
    fn chunk_is_full(&mut self) -> Result<()> {
        let first = self.first();
        if self.worker.is_none() {
            let worker = Worker::start(&self.by, self.budget, first, &self.directory)?;
            self.worker = Some(WithThread::new(worker));
        }
        let worker = self.worker.as_mut().expect("started just now").get()?;
        if let Some(empty) = worker.exchange(std::mem::take(&mut self.chunk)) {
            self.chunk = empty;
            return Ok(());
        }
        let ended = self.worker.take().map(|worker| worker.into_inner().and_then(Worker::finish));
        Err(ended.and_then(Result::err).expect("the thread ends early on errors only"))
    }

    /// All records, in order. `step` is called now and then while that takes long; its error ends it.
    pub(crate) fn finish(mut self, step: &mut dyn FnMut() -> Result<()>) -> Result<Merge> {
        let first = self.first();
        let rest = chunk::sort(self.chunk, Vec::new(), &self.by, &first);
        let mut runs = match self.worker {
            Some(worker) => worker.into_inner()?.finish()?,
            None => Runs::default(),
        };
        while runs.len() >= self.budget.fan_in {
            let file = Arc::new(TemporaryFile::new(&self.directory)?);
            let mut merged = Runs::new(file, self.directory.clone());
            for some in runs.groups(self.budget.fan_in) {
                let mut merge = Merge::new(self.by.clone(), self.budget, &some, None)?;
                let mut run = merged.begin(self.budget.block_bytes);
                while let Some(record) = merge.next()? {
                    run.push(record)?;
                    if run.has_written() {
                        step()?;
                    }
                }
                let shared = some.shared();
                merged.end(run, shared)?;
            }
            runs = merged;
        }
        Merge::new(self.by, self.budget, &runs, Some(rest))
    }
}

/// The thread that sorts chunks and writes them as runs.
struct Worker {
    chunks: SyncSender<Chunk>,
    empty: Receiver<Chunk>,
    /// Chunks handed out so far.
    handed: u64,
    thread: JoinHandle<Result<Runs>>,
}

impl Worker {
    fn start(by: &By, budget: Budget, first: Arc<[u8]>, directory: &std::path::Path) -> Result<Worker> {
        let (chunks, todo) = sync_channel::<Chunk>(1);
        let (done, empty) = channel();
        let (by, directory) = (by.clone(), directory.to_path_buf());
        let work = move || {
            let mut runs = Runs::new(Arc::new(TemporaryFile::new(&directory)?), directory);
            let mut entries: Vec<Entry> = Vec::new();
            while let Ok(chunk) = todo.recv() {
                let sorted = chunk::sort(chunk, entries, &by, &first);
                let mut run = runs.begin(budget.block_bytes);
                sorted.records().try_for_each(|record| run.push(record))?;
                runs.end(run, sorted.shared)?;
                let (mut chunk, used) = sorted.into_parts();
                chunk.clear();
                entries = used;
                if done.send(chunk).is_err() {
                    break;
                }
            }
            Ok(runs)
        };
        let thread = spawn("duramen sort", work)?;
        Ok(Worker { chunks, empty, handed: 0, thread })
    }

    /// Hands over a full chunk for an empty one; `None` if the thread has ended, which it does on an error.
    fn exchange(&mut self, full: Chunk) -> Option<Chunk> {
        self.chunks.send(full).ok()?;
        self.handed += 1;
        if self.handed == 1 { Some(Chunk::default()) } else { self.empty.recv().ok() }
    }

    fn finish(self) -> Result<Runs> {
        drop(self.chunks);
        join(self.thread)
    }
}

/// Starts a thread.
pub(crate) fn spawn<R: Send + 'static>(name: &str, work: impl FnOnce() -> R + Send + 'static) -> Result<JoinHandle<R>> {
    std::thread::Builder::new().name(name.to_string()).spawn(work).map_err(Error::io("start a thread"))
}

/// Waits for a thread; its panic goes on here.
pub(crate) fn join<R>(thread: JoinHandle<R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn orders() -> impl Strategy<Value = Order> {
        prop_oneof![
            Just(Order::Bytes),
            Just(Order::Reversed),
            Just(Order::Custom(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a))))
        ]
    }

    /// Sorts records of the given seed with hardly any memory, so that they are merged several times; how many.
    fn sorts(by: By, records: usize, seed: u64, prefix: &[u8], directory: &std::path::Path) {
        let mut random = seed;
        let mut below = move |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let mut model = Vec::new();
        let mut sorter = Sorter::new(by.clone(), 1, 4096, directory.to_path_buf());
        for i in 0..records {
            let mut key = prefix.to_vec();
            key.extend((0..below(12)).map(|_| below(4) as u8 * 60));
            let value = vec![i as u8; below(if i % 50 == 0 { 2000 } else { 40 }) as usize];
            sorter.push(Record { key: &key, value: &value, flag: i % 3 == 0 }).unwrap();
            model.push((key, value, i % 3 == 0));
        }
        model.sort_by(|a, b| {
            let side = by.key.cmp(&a.0, &b.0);
            side.then_with(|| by.value.as_ref().map_or(Ordering::Equal, |value| value.cmp(&a.1, &b.1)))
        });
        let mut steps = 0;
        let mut merge = sorter
            .finish(&mut || {
                steps += 1;
                Ok(())
            })
            .unwrap();
        for (i, (key, value, flag)) in model.iter().enumerate() {
            let expected = Record { key, value, flag: *flag };
            assert_eq!(merge.next().unwrap(), Some(expected), "record {i}");
        }
        assert_eq!(merge.next().unwrap(), None);
        assert!(records < 20_000 || steps > 0, "only one merge");
    }

    proptest! {
        #![proptest_config(crate::format::cases(24))]

        #[test]
        fn records_come_out_in_order_and_equal_ones_as_they_went_in(
            key in orders(),
            value in prop::option::of(orders()),
            records in prop_oneof![0..5usize, 0..3000usize],
            seed in any::<u64>(),
            prefix in prop::collection::vec(any::<u8>(), 0..12),
        ) {
            let directory = tempfile::tempdir().unwrap();
            sorts(By { key, value }, records, seed, &prefix, directory.path());
            prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn many_runs_are_merged_in_several_passes() {
        let directory = tempfile::tempdir().unwrap();
        sorts(By { key: Order::Bytes, value: None }, 20_000, 1, b"", directory.path());
    }

    #[test]
    fn a_missing_directory_is_an_error_that_names_it() {
        let by = By { key: Order::Bytes, value: None };
        let mut sorter = Sorter::new(by, 1, 4096, "/nowhere/at/all".into());
        let record = Record { key: b"k", value: &[0; 4000], flag: false };
        let outcome = (0..1000).try_for_each(|_| sorter.push(record));
        let error = outcome.unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }

    /// Some records, of which not all are in memory.
    fn with_some(records: u32, directory: &std::path::Path) -> Sorter {
        let by = By { key: Order::Bytes, value: None };
        let mut sorter = Sorter::new(by, 1, 4096, directory.to_path_buf());
        for i in 0..records {
            let key = i.wrapping_mul(77_777_777).to_be_bytes();
            sorter.push(Record { key: &key, value: &[1; 90], flag: false }).unwrap();
        }
        sorter
    }

    #[test]
    fn a_step_that_fails_ends_the_merging() {
        let directory = tempfile::tempdir().unwrap();
        let stopped = with_some(20_000, directory.path()).finish(&mut || Err(Error::Busy));
        assert!(matches!(stopped.err(), Some(Error::Busy)));
    }

    /// It would wait for a thread that only its parent has.
    #[test]
    fn a_forked_child_cannot_go_on_with_a_merge() {
        let directory = tempfile::tempdir().unwrap();
        let mut merge = with_some(20_000, directory.path()).finish(&mut || Ok(())).unwrap();
        assert!(crate::os::fork::in_forked_child(|| {
            loop {
                match merge.next() {
                    Ok(Some(_)) => {}
                    ended => return matches!(ended, Err(Error::Forked)),
                }
            }
        }));
        assert!(merge.next().unwrap().is_some());
    }
}
