//! The shared state within one process: threads, handles, a model.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::joining::{MAGIC, VERSION};
use super::*;
use crate::os::identity::{self, Identity};

/// A data file as tests want it: of this identity, and with this commit in it.
#[derive(Default)]
pub(super) struct Data {
    pub identity: Option<Identity>,
    pub holds: Option<u64>,
    pub is_gone: bool,
}

impl DataFile for Data {
    fn identity(&self) -> Option<Identity> {
        self.identity
    }

    fn is_another(&self, known: &Identity) -> bool {
        self.identity.is_some_and(|mine| identity::is_another_file(&mine, known))
    }

    fn share(&self, _lock_file: &std::fs::File) {}

    fn is_in_place(&self) -> Result<bool> {
        Ok(!self.is_gone)
    }

    fn gives_lock_file_its_name(&self) -> bool {
        true
    }

    fn check_lock_file(&self, _lock_file: &std::fs::File) -> Result<()> {
        Ok(())
    }

    fn holds(&self, newest: &Published, _unsettled: bool) -> bool {
        self.holds.is_some_and(|txnid| *newest == commit(txnid))
    }
}

/// A directory with room for a lock file.
pub(super) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("data-lock")
    }

    pub(super) fn open(&self) -> (Shared, Role) {
        Shared::open(&self.path(), 0o600, &Data::default()).unwrap()
    }

    pub(super) fn open_for(&self, data: &Data) -> Result<(Shared, Role)> {
        Shared::open(&self.path(), 0o600, data)
    }

    /// As one who may go on with what the dead left: a data file of this identity that holds this commit.
    pub(super) fn inherit(&self, identity: Identity, holds: u64) -> (Shared, Role) {
        self.open_for(&Data { identity: Some(identity), holds: Some(holds), is_gone: false }).unwrap()
    }

    /// The first handle, with a commit published and the others let in.
    pub(super) fn first(&self, txnid: u64) -> Shared {
        let (shared, role) = self.open();
        assert_eq!(role, Role::First);
        shared.publish(&commit(txnid)).unwrap();
        shared.let_others_in().unwrap();
        shared
    }

    pub(super) fn joined(&self) -> Shared {
        let (shared, role) = self.open();
        assert_eq!(role, Role::Joined);
        shared
    }
}

pub(super) fn commit(txnid: u64) -> Published {
    let mut words = [0; RECORD_WORDS];
    for (at, word) in words.iter_mut().enumerate() {
        *word = txnid.wrapping_mul(1_000_003) + at as u64;
    }
    Published { txnid: Txnid(txnid), words }
}

pub(super) fn live(shared: &Shared) -> Vec<u64> {
    let mut out = vec![Txnid(999)];
    shared.collect_live(&mut out).unwrap();
    out.iter().map(|txnid| txnid.0).collect()
}

#[test]
fn a_handle_is_used_by_all_threads_at_once() {
    fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<Shared>();
    shared_by_threads::<UnregisteredReader>();
    shared_by_threads::<crate::map::Map>();
    shared_by_threads::<crate::map::Verified>();
}

#[test]
fn a_reader_holds_the_newest_commit_until_it_ends() {
    for shared in [Place::new().first(4), private(4)] {
        let (slot, published) = shared.begin_read(Stay::Long).unwrap();
        assert_eq!(published, commit(4));
        shared.publish(&commit(5)).unwrap();
        assert_eq!(live(&shared), [4]);
        let (later, published) = shared.begin_read(Stay::Long).unwrap();
        assert_eq!(published, commit(5));
        assert_eq!(live(&shared), [4, 5]);
        shared.end_read(slot);
        assert_eq!(live(&shared), [5]);
        shared.end_read(later);
        assert_eq!(live(&shared), []);
    }
}

fn private(txnid: u64) -> Shared {
    let shared = Shared::private().unwrap();
    shared.publish(&commit(txnid)).unwrap();
    shared.let_others_in().unwrap();
    shared
}

#[test]
fn a_read_may_end_on_another_thread() {
    let shared = private(1);
    let (slot, _) = shared.begin_read(Stay::Long).unwrap();
    std::thread::scope(|scope| scope.spawn(|| shared.end_read(slot)).join().unwrap());
    assert_eq!(live(&shared), []);
}

#[test]
fn one_thread_beginning_and_ending_reads_stays_in_one_slot() {
    let shared = private(1);
    let (first, _) = shared.begin_read(Stay::Long).unwrap();
    shared.end_read(first);
    for _ in 0..10 {
        let (slot, _) = shared.begin_read(Stay::Long).unwrap();
        assert_eq!(slot, first);
        shared.end_read(slot);
    }
}

#[test]
fn reading_before_anything_is_published_is_an_error() {
    let shared = Shared::private().unwrap();
    assert!(matches!(shared.begin_read(Stay::Long), Err(Error::Usage { .. })));
    assert_eq!(live(&shared), []);
}

#[test]
fn readers_are_unlimited_and_their_blocks_are_taken_over_by_the_next_handle() {
    let place = Place::new();
    let keeper = place.first(3);
    let many = place.joined();
    let slots: Vec<ReadSlot> = (0..1000).map(|_| many.begin_read(Stay::Long).unwrap().0).collect();
    assert_eq!(keeper.list_readers().unwrap().len(), 1000);
    keeper.publish(&commit(4)).unwrap();
    assert_eq!(live(&keeper), [3]);
    for slot in &slots {
        many.end_read(*slot);
    }
    assert_eq!(live(&keeper), []);
    drop(many);
    let bytes = std::fs::metadata(place.path()).unwrap().len();
    let next = place.joined();
    for _ in 0..1000 {
        next.begin_read(Stay::Long).unwrap();
    }
    assert_eq!(std::fs::metadata(place.path()).unwrap().len(), bytes);
    assert_eq!(live(&keeper), [4]);
    drop(next);
    assert_eq!(live(&keeper), [], "a closing handle takes its readers with it");
}

#[test]
fn readers_are_listed_with_process_and_time() {
    let shared = private(8);
    let _slot = shared.begin_read(Stay::Long).unwrap();
    let readers = shared.list_readers().unwrap();
    assert_eq!(readers.len(), 1);
    assert_eq!((readers[0].pid, readers[0].txnid), (u64::from(std::process::id()), Txnid(8)));
    assert!(readers[0].since.abs_diff(coarse_unix_ms()) < 5000);
}

#[test]
fn who_reads_again_after_a_while_is_told_so_once() {
    let shared = private(8);
    let (slot, _) = shared.begin_read(Stay::Long).unwrap();
    shared.end_read(slot);
    shared.take_time_passed();
    shared.memory.slot(slot.0).unwrap().since.store(1, Ordering::Relaxed);
    let (again, _) = shared.begin_read(Stay::Long).unwrap();
    assert_eq!(again, slot);
    assert!(shared.take_time_passed());
    assert!(!shared.take_time_passed());
}

#[test]
fn old_records_are_forgotten_and_future_ones_unknown() {
    let shared = private(1);
    for txnid in 2..=100 {
        shared.publish(&commit(txnid)).unwrap();
    }
    assert_eq!(shared.record(Txnid(100)), Some(commit(100)));
    assert_eq!(shared.record(Txnid(37)), Some(commit(37)));
    assert_eq!(shared.record(Txnid(36)), None);
    assert_eq!(shared.record(Txnid(101)), None);
    assert_eq!(shared.record(Txnid(0)), None);
}

#[test]
fn the_durable_commit_never_goes_back() {
    let shared = private(9);
    shared.set_durable(Txnid(7)).unwrap();
    shared.set_durable(Txnid(6)).unwrap();
    assert_eq!((shared.newest(), shared.durable()), (Txnid(9), Txnid(7)));
}

#[test]
fn two_handles_of_one_process_share_readers_and_exclude_writers() {
    let place = Place::new();
    let (a, b) = (place.first(2), place.joined());
    assert_eq!(b.newest(), Txnid(2));
    let (slot, _) = b.begin_read(Stay::Long).unwrap();
    a.publish(&commit(3)).unwrap();
    assert_eq!((live(&a), live(&b)), (vec![2], vec![2]));
    a.lock_writer(Wait::Forever).unwrap();
    assert!(matches!(b.lock_writer(Wait::No), Err(Error::Busy)));
    a.unlock_writer();
    assert_eq!(b.lock_writer(Wait::No).unwrap(), Inherited::Clean);
    b.unlock_writer();
    b.end_read(slot);
    assert!(!a.lock_out_others().unwrap());
    drop(b);
    assert!(a.lock_out_others().unwrap());
}

#[test]
fn whoever_opens_waits_for_the_last_one_that_closes_and_goes_on_with_the_state() {
    let place = Place::new();
    let shared = place.first(5);
    assert!(shared.lock_out_others().unwrap());
    let opener = std::thread::spawn({
        let path = place.path();
        move || Shared::open(&path, 0o600, &Data::default()).unwrap()
    });
    std::thread::sleep(Duration::from_millis(30));
    assert!(!opener.is_finished(), "whoever opens waits for the one that closes");
    drop(shared);
    let (next, role) = opener.join().unwrap();
    assert_eq!((role, next.newest()), (Role::Joined, Txnid(5)));
}

#[test]
fn waiting_for_the_writer_ends_in_time_between_threads_and_between_handles() {
    for favoured in [false, true] {
        waiting_for_the_writer_ends_in_time(favoured);
    }
}

fn waiting_for_the_writer_ends_in_time(favoured: bool) {
    let place = Place::new();
    let (a, b) = (place.first(1), place.joined());
    if favoured {
        write_alone(&a);
    }
    a.lock_writer(Wait::No).unwrap();
    assert_ne!(asked_the_kernel(&b), favoured);
    for waiting in [&a, &b] {
        assert!(matches!(waiting.lock_writer(Wait::No), Err(Error::Busy)));
        let started = Instant::now();
        let limit = Duration::from_millis(50);
        assert!(matches!(waiting.lock_writer(Wait::For(limit)), Err(Error::Busy)));
        assert!(started.elapsed() >= limit && started.elapsed() < limit * 40, "{:?}", started.elapsed());
    }
    std::thread::scope(|scope| {
        let forever = scope.spawn(|| b.lock_writer(Wait::Forever).unwrap());
        let limited = scope.spawn(|| a.lock_writer(Wait::For(Duration::from_secs(60))).unwrap());
        std::thread::sleep(Duration::from_millis(20));
        a.unlock_writer();
        // Each gives it back for the other; which one is first does not matter.
        while !(forever.is_finished() && limited.is_finished()) {
            if forever.is_finished() {
                b.unlock_writer();
                break;
            }
            if limited.is_finished() {
                a.unlock_writer();
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!((forever.join().unwrap(), limited.join().unwrap()), (Inherited::Clean, Inherited::Clean));
    });
}

/// Writes until the kernel is not asked any more.
pub(super) fn write_alone(shared: &Shared) {
    for _ in 0..16 {
        assert_eq!(shared.lock_writer(Wait::Forever).unwrap(), Inherited::Clean);
        shared.unlock_writer();
    }
}

/// Whether a writer of another handle than this holds the kernel's lock.
fn asked_the_kernel(shared: &Shared) -> bool {
    lock::conflict(shared.memory.file().unwrap(), WRITER).unwrap().is_some()
}

#[test]
fn who_writes_alone_asks_the_kernel_no_more_until_somebody_else_has_written() {
    let place = Place::new();
    let (a, b) = (place.first(1), place.joined());
    for _ in 0..3 {
        write_alone(&a);
        a.lock_writer(Wait::No).unwrap();
        assert!(!asked_the_kernel(&b));
        a.unlock_writer();
        b.lock_writer(Wait::No).unwrap();
        assert!(asked_the_kernel(&a));
        assert!(matches!(a.lock_writer(Wait::No), Err(Error::Busy)));
        b.unlock_writer();
        a.lock_writer(Wait::No).unwrap();
        assert!(asked_the_kernel(&b));
        a.unlock_writer();
        // Each in turn: nobody is favoured for that.
        for _ in 0..40 {
            for (writer, other) in [(&a, &b), (&b, &a)] {
                writer.lock_writer(Wait::No).unwrap();
                assert!(asked_the_kernel(other));
                writer.unlock_writer();
            }
        }
    }
}

#[test]
fn who_has_been_refused_beside_the_favoured_holds_nothing() {
    let place = Place::new();
    let (a, b, c) = (place.first(1), place.joined(), place.joined());
    write_alone(&a);
    a.lock_writer(Wait::No).unwrap();
    assert!(matches!(b.lock_writer(Wait::No), Err(Error::Busy)));
    assert!(!asked_the_kernel(&c));
    a.unlock_writer();
    c.lock_writer(Wait::No).unwrap();
    c.unlock_writer();
    // Both have been favoured by now, and one of them has not heard yet that it is no more.
    write_alone(&c);
    c.lock_writer(Wait::No).unwrap();
    assert!(!asked_the_kernel(&b));
    assert!(matches!(a.lock_writer(Wait::No), Err(Error::Busy)));
    assert!(!asked_the_kernel(&b));
    c.unlock_writer();
    a.lock_writer(Wait::No).unwrap();
}

#[test]
fn what_a_damaged_lock_file_counts_favours_nobody_and_is_counted_on() {
    let place = Place::new();
    let (a, b) = (place.first(1), place.joined());
    a.memory.header().taken.word.store(u64::MAX - 12, Ordering::Relaxed);
    for writes in 0..13 {
        a.lock_writer(Wait::No).unwrap();
        assert!(asked_the_kernel(&b), "{writes}");
        a.unlock_writer();
    }
    write_alone(&a);
}

#[test]
fn a_handle_that_closes_is_favoured_no_more() {
    let place = Place::new();
    let (a, b, c) = (place.first(1), place.joined(), place.joined());
    write_alone(&a);
    a.lock_writer(Wait::No).unwrap();
    // Not given back: as if it had died.
    drop(a);
    assert_eq!(b.lock_writer(Wait::No).unwrap(), Inherited::Unsettled);
    b.unlock_writer();
    write_alone(&b);
    drop(b);
    assert_eq!(c.lock_writer(Wait::No).unwrap(), Inherited::Clean);
}

#[test]
fn handles_that_are_favoured_by_turns_never_write_at_once() {
    let place = Place::new();
    let handles = [place.first(1), place.joined(), place.joined()];
    // Counted in two steps, so that two who write at once lose a count.
    let (count, favours) = (AtomicU64::new(0), AtomicU64::new(0));
    let bursts: u64 = 400;
    std::thread::scope(|scope| {
        for (number, shared) in handles.iter().enumerate() {
            let (count, favours) = (&count, &favours);
            scope.spawn(move || {
                for burst in 0..bursts {
                    for _ in 0..(burst * 7 + number as u64 * 5) % 50 {
                        shared.lock_writer(Wait::Forever).unwrap();
                        let before = count.load(Ordering::Relaxed);
                        if shared.memory.header().inside.word.load(Ordering::Relaxed) != 0 {
                            favours.fetch_add(1, Ordering::Relaxed);
                        }
                        std::hint::spin_loop();
                        count.store(before + 1, Ordering::Relaxed);
                        shared.unlock_writer();
                    }
                    if burst % 8 == number as u64 {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
            });
        }
    });
    let expected: u64 = (0..3).flat_map(|number| (0..bursts).map(move |burst| (burst * 7 + number * 5) % 50)).sum();
    assert_eq!(count.into_inner(), expected);
    assert!(favours.into_inner() > 0, "nobody was ever favoured");
}

#[test]
fn an_absurdly_long_wait_is_no_overflow() {
    let shared = private(1);
    assert_eq!(shared.lock_writer(Wait::For(Duration::MAX)).unwrap(), Inherited::Clean);
    shared.unlock_writer();
}

#[test]
fn whatever_is_in_a_lock_file_the_first_opener_makes_it_anew() {
    let mut other_version = vec![0; 20_000];
    other_version[..8].copy_from_slice(&MAGIC.to_le_bytes());
    other_version[8..24].copy_from_slice(&[9; 16]);
    let big = 4 << 20;
    for content in [vec![], b"x".to_vec(), vec![0xFF; 16_384], vec![0xA5; 100_000], other_version, vec![1; big]] {
        let place = Place::new();
        std::fs::write(place.path(), &content).unwrap();
        let shared = place.first(6);
        assert_eq!(shared.begin_read(Stay::Long).unwrap().1, commit(6));
        assert_eq!(live(&shared), [6]);
        assert_eq!((shared.list_readers().unwrap().len(), shared.durable()), (1, Txnid(0)));
        assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Clean);
        assert!(std::fs::metadata(place.path()).unwrap().len() < 100_000);
    }
}

#[test]
fn who_comes_after_the_last_one_does_not_go_on_with_what_cannot_be() {
    let ours = [1, 2, 3, 4, 5, 6];
    let left = |change: &dyn Fn(&Shared)| {
        let place = Place::new();
        let (shared, _) = place.inherit(ours, 6);
        shared.publish(&commit(6)).unwrap();
        shared.set_durable(Txnid(6)).unwrap();
        shared.let_others_in().unwrap();
        change(&shared);
        drop(shared);
        place.inherit(ours, 6).1
    };
    assert_eq!(left(&|_| ()), Role::Joined);
    assert_eq!(left(&|shared| shared.memory.header().blocks.word.store(1000, Ordering::Relaxed)), Role::First);
    assert_eq!(left(&|shared| shared.set_durable(Txnid(7)).unwrap()), Role::First);
}

#[test]
fn snapshots_are_told_in_their_order_whatever_slots_their_readers_have() {
    let shared = Place::new().first(4);
    let (first, _) = shared.begin_read(Stay::Long).unwrap();
    shared.publish(&commit(5)).unwrap();
    shared.begin_read(Stay::Long).unwrap();
    shared.end_read(first);
    shared.publish(&commit(6)).unwrap();
    // A thread that has not read yet takes the first slot that is free.
    std::thread::scope(|threads| threads.spawn(|| shared.begin_read(Stay::Long).unwrap()).join().unwrap());
    assert_eq!(live(&shared), [5, 6]);
}

#[test]
fn a_lock_file_vouches_for_what_was_published_last_whether_or_not_somebody_goes_on_with_it() {
    let ours = [1, 2, 3, 4, 5, 6];
    let place = Place::new();
    let by = |identity, holds| vouched(&place.path(), &Data { identity, holds: Some(holds), is_gone: false });
    assert_eq!(by(Some(ours), 6), None);
    assert!(!place.path().exists());
    let (shared, _) = place.inherit(ours, 6);
    shared.publish(&commit(6)).unwrap();
    assert_eq!(by(Some(ours), 6), None, "still being recovered");
    shared.let_others_in().unwrap();
    assert_eq!(by(Some(ours), 6), Some(Txnid(6)));
    for (other, holds) in [(None, 6), (Some(ours), 5), (Some([1, 2, 3, 4, 9, 6]), 6), (Some([9, 2, 3, 4, 5, 6]), 6)] {
        assert_eq!(by(other, holds), None);
    }
    let flushing = shared.announce_flush();
    assert_eq!(by(Some(ours), 6), Some(Txnid(6)), "the page cache has what is being flushed");
    flushing.end(false);
    assert_eq!(by(Some(ours), 6), None, "and may have forgotten some of it");
    shared.clear_doubt();
    drop(shared);
    assert_eq!(by(Some(ours), 6), Some(Txnid(6)));
    std::fs::OpenOptions::new().write(true).open(place.path()).unwrap().set_len(5000).unwrap();
    assert_eq!(by(Some(ours), 6), None);
}

#[test]
fn a_program_of_another_version_that_has_it_open_is_named_as_the_reason() {
    let place = Place::new();
    let shared = place.first(1);
    shared.memory.header().version.store(VERSION + 1, Ordering::Relaxed);
    let error = Shared::open(&place.path(), 0o600, &Data::default()).err().unwrap();
    assert!(error.to_string().contains("another version"), "{error}");
}

#[test]
fn a_lock_file_that_cannot_be_made_is_named_in_the_error() {
    let place = Place::new();
    let error = Shared::open(&place.path().join("below"), 0o600, &Data::default()).err().unwrap();
    assert!(error.to_string().contains("data-lock/below"), "{error}");
}

#[test]
fn hostile_words_in_the_lock_file_end_in_errors() {
    let place = Place::new();
    let shared = place.first(1);
    shared.memory.header().newest.word.store(u64::MAX, Ordering::Relaxed);
    assert!(shared.begin_read(Stay::Long).is_err());
    shared.memory.header().blocks.word.store(u64::MAX, Ordering::Relaxed);
    assert!(shared.collect_live(&mut Vec::new()).is_err());
    assert!(shared.list_readers().is_err());
    assert!(shared.clear_dead().is_err());
}

/// Readers on many threads and two handles, and one writer which notes each snapshot that nobody holds as reused.
#[test]
fn no_reader_ever_holds_a_snapshot_that_a_scan_missed() {
    const COMMITS: u64 = 20_000;
    let place = Place::new();
    let (a, b) = (place.first(0), place.joined());
    let reused: Vec<AtomicBool> = (0..=COMMITS).map(|_| AtomicBool::new(false)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for shared in [&a, &a, &b, &b] {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let (slot, published) = shared.begin_read(Stay::Long).unwrap();
                    assert_eq!(published, commit(published.txnid.0));
                    assert!(!reused[published.txnid.0 as usize].load(Ordering::SeqCst));
                    std::hint::spin_loop();
                    assert!(!reused[published.txnid.0 as usize].load(Ordering::SeqCst));
                    shared.end_read(slot);
                }
            });
        }
        let mut held = Vec::new();
        let mut kept: Vec<Txnid> = Vec::new();
        for txnid in 1..=COMMITS {
            kept.push(Txnid(txnid - 1));
            a.publish(&commit(txnid)).unwrap();
            a.collect_live(&mut held).unwrap();
            kept.retain(|old| {
                let free = held.binary_search(old).is_err();
                reused[old.0 as usize].fetch_or(free, Ordering::SeqCst);
                !free
            });
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[derive(Clone, Debug)]
enum Step {
    Publish,
    Begin(bool),
    End(usize),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Publish),
        8 => any::<bool>().prop_map(Step::Begin),
        6 => any::<usize>().prop_map(Step::End),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_table_behaves_like_a_list_of_held_snapshots(steps in prop::collection::vec(step(), 0..300)) {
        let place = Place::new();
        let mut newest = 1;
        let keeper = place.first(newest);
        let mut second = place.joined();
        let mut held: Vec<(bool, ReadSlot, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Publish => {
                    newest += 1;
                    keeper.publish(&commit(newest)).unwrap();
                }
                Step::Begin(first) => {
                    let (slot, published) = if first { &keeper } else { &second }.begin_read(Stay::Long).unwrap();
                    prop_assert_eq!(published, commit(newest));
                    held.push((first, slot, newest));
                }
                Step::End(at) if !held.is_empty() => {
                    let (first, slot, _) = held.swap_remove(at % held.len());
                    if first { &keeper } else { &second }.end_read(slot);
                }
                Step::End(_) => {}
                Step::Reopen => {
                    drop(second);
                    held.retain(|(first, ..)| *first);
                    second = place.joined();
                }
            }
            let mut model = BTreeMap::<u64, usize>::new();
            held.iter().for_each(|(_, _, txnid)| *model.entry(*txnid).or_default() += 1);
            prop_assert_eq!(live(&second), model.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(second.list_readers().unwrap().len(), held.len());
        }
    }
}

#[test]
fn who_opens_a_file_that_took_anothers_place_gets_a_lock_file_of_his_own() {
    let file = |inode| Data { identity: Some([1, 2, 3, 4, inode, 6]), ..Data::default() };
    let place = Place::new();
    let open = |data: &Data, expected| {
        let (shared, role) = place.open_for(data).unwrap();
        assert_eq!(role, expected);
        shared
    };
    let old = open(&file(5), Role::First);
    old.publish(&commit(7)).unwrap();
    old.let_others_in().unwrap();
    for elsewhere in [[9, 8, 8, 4, 5, 6], [1, 2, 8, 44, 5, 6]] {
        let beside = open(&Data { identity: Some(elsewhere), ..Data::default() }, Role::Joined);
        assert_eq!(beside.newest(), Txnid(7), "the same file in a container, perhaps");
    }

    let late = Data { is_gone: true, ..file(50) };
    assert!(matches!(place.open_for(&late), Err(Error::Usage { .. })), "its name is another's by now");
    let new = open(&file(50), Role::First);
    new.publish(&commit(1)).unwrap();
    new.let_others_in().unwrap();
    assert_eq!(open(&file(50), Role::Joined).newest(), Txnid(1));
    assert_eq!(old.newest(), Txnid(7));
    assert_eq!(old.lock_writer(Wait::No).unwrap(), Inherited::Clean);
    assert_eq!(new.lock_writer(Wait::No).unwrap(), Inherited::Clean, "each writes to a file of its own");
}

#[test]
fn who_finds_a_lock_file_that_its_users_did_not_make_so_is_told() {
    let place = Place::new();
    let (first, _) = place.open();
    first.let_others_in().unwrap();
    let ready = &first.memory.header().ready;
    ready.store(0, Ordering::Release);
    let error = place.open_for(&Data::default()).err().unwrap();
    assert!(error.to_string().contains("another program has changed the lock file"), "{error}");
    ready.store(1, Ordering::Release);
    assert_eq!(place.open().1, Role::Joined);
}
