//! The shared state between processes: this test program runs itself as a child, or forks.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::tests::{Data, Place, commit, live, write_alone};
use super::*;
use crate::os::fork::in_forked_child;
use crate::os::identity::Identity;

const TASK: &str = "DURAMEN_TEST_TASK";
const LOCK_FILE: &str = "DURAMEN_TEST_LOCK_FILE";
const ENTRY: &str = "readers::process_tests::what_a_child_process_does";

/// What the children take their data file for.
const OURS: Identity = [1, 2, 3, 4, 5, 6];
const MOUNTED_AGAIN: Identity = [9, 2, 3, 4, 5, 6];

/// A child at its task, killed when dropped.
struct Worker(Child, BufReader<std::process::ChildStdout>);

impl Worker {
    fn start(task: &str, place: &Place) -> Worker {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", ENTRY, "--nocapture", "--test-threads=1"])
            .env(TASK, task)
            .env(LOCK_FILE, place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Worker(child, output)
    }

    /// Waits until the child says that it got there.
    fn expect(&mut self, word: &str) {
        for line in self.1.by_ref().lines() {
            if line.unwrap().ends_with(&format!("@{word}")) {
                return;
            }
        }
        panic!("the child ended before it said {word:?}");
    }

    fn go_on(&mut self) {
        writeln!(self.0.stdin.as_mut().unwrap()).unwrap();
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn say(word: &str) {
    println!("@{word}");
}

/// Returns at the parent's word; never, if the parent kills this process first.
fn wait_for_parent() {
    std::io::stdin().lines().next();
}

/// Leaves a forked child, which ends when nobody has the other end of the standard input any more.
fn fork_one_that_stays() {
    let (mut told, mut tell) = std::io::pipe().unwrap();
    std::thread::spawn(move || {
        in_forked_child(|| {
            tell.write_all(b"!").unwrap();
            std::io::stdin().lines().next().is_none()
        })
    });
    told.read_exact(&mut [0]).unwrap();
}

/// Not a test unless one of those below runs it in a child.
#[test]
fn what_a_child_process_does() {
    let Some(task) = std::env::var_os(TASK) else { return };
    let path = std::env::var_os(LOCK_FILE).unwrap();
    let (shared, role) =
        Shared::open(Path::new(&path), 0o600, &Data { identity: Some(OURS), ..Data::default() }).unwrap();
    match task.to_str().unwrap() {
        "read" => {
            let slots: Vec<_> = (0..100).map(|_| shared.begin_read(Stay::Long).unwrap()).collect();
            say("reading");
            wait_for_parent();
            drop(slots);
        }
        "write" => {
            shared.lock_writer(Wait::Forever).unwrap();
            say("writing");
            wait_for_parent();
            shared.unlock_writer();
            say("written");
            wait_for_parent();
        }
        "flush" => {
            let flushing = shared.announce_flush();
            say("flushing");
            wait_for_parent();
            flushing.end(true);
            say("flushed");
            wait_for_parent();
        }
        "fork, then write" => {
            fork_one_that_stays();
            let _reading = shared.begin_read(Stay::Long).unwrap();
            shared.lock_writer(Wait::Forever).unwrap();
            say("writing");
            std::thread::park();
        }
        "fork, then write favoured" => {
            write_alone(&shared);
            shared.lock_writer(Wait::Forever).unwrap();
            fork_one_that_stays();
            say("writing");
            std::thread::park();
        }
        "write favoured" => {
            write_alone(&shared);
            say("written");
            wait_for_parent();
            shared.lock_writer(Wait::Forever).unwrap();
            say("writing");
            wait_for_parent();
        }
        "recover" => {
            assert_eq!(role, Role::First);
            say("recovering");
            wait_for_parent();
            shared.publish(&commit(7)).unwrap();
            shared.let_others_in().unwrap();
            say("recovered");
            wait_for_parent();
        }
        "work" => work(&shared),
        "churn" => {
            say("churning");
            loop {
                let (slot, published) = shared.begin_read(Stay::Long).unwrap();
                assert_eq!(published, commit(published.txnid.0));
                shared.end_read(slot);
            }
        }
        other => panic!("no task {other:?}"),
    }
}

/// All that the first process does, until its flush fails.
fn work(shared: &Shared) {
    shared.publish(&commit(7)).unwrap();
    shared.set_durable(Txnid(5)).unwrap();
    shared.let_others_in().unwrap();
    let _reading = shared.begin_read(Stay::Long).unwrap();
    shared.publish(&commit(8)).unwrap();
    say("working");
    wait_for_parent();
    shared.lock_writer(Wait::No).unwrap();
    let flushing = shared.announce_flush();
    say("flushing");
    wait_for_parent();
    flushing.end(true);
    say("flushed");
    wait_for_parent();
    shared.note_failure();
    say("failed");
    wait_for_parent();
}

/// A place whose only process was killed when it had said this.
fn killed_when(word: &str) -> Place {
    let place = Place::new();
    let mut worker = Worker::start("work", &place);
    for said in ["working", "flushing", "flushed", "failed"] {
        worker.expect(said);
        if said == word {
            break;
        }
        worker.go_on();
    }
    worker.kill();
    place
}

#[test]
fn what_the_dead_left_is_gone_on_with() {
    let place = killed_when("working");
    let (shared, role) = place.inherit(OURS, 8);
    assert_eq!((role, shared.newest(), shared.durable()), (Role::Joined, Txnid(8), Txnid(5)));
    assert_eq!(place.joined().newest(), Txnid(8), "others are let in");
    assert_eq!(live(&shared), [], "the dead hold nothing");
    assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Clean);
}

#[test]
fn who_died_while_writing_leaves_that_to_be_settled() {
    let place = killed_when("flushed");
    let (shared, role) = place.inherit(OURS, 8);
    assert_eq!((role, shared.look_into_doubt()), (Role::Joined, false));
    assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Unsettled);
}

#[test]
fn nothing_is_gone_on_with_that_may_be_another_files_or_not_reach_the_disk() {
    for (word, identity, holds) in [
        ("working", [1, 2, 3, 4, 5, 7], 8),
        ("working", MOUNTED_AGAIN, 8),
        ("working", OURS, 7),
        ("flushing", OURS, 8),
        ("failed", OURS, 8),
    ] {
        let (shared, role) = killed_when(word).inherit(identity, holds);
        assert_eq!((role, shared.newest(), shared.look_into_doubt()), (Role::First, Txnid(0), false), "{word}");
    }
}

#[test]
fn a_flush_is_in_doubt_once_its_process_has_died_and_not_before() {
    let place = Place::new();
    let shared = place.first(1);
    let mut flusher = Worker::start("flush", &place);
    flusher.expect("flushing");
    let flushing = shared.announce_flush();
    assert!(!shared.look_into_doubt(), "two are at it, and alive");
    flusher.go_on();
    flusher.expect("flushed");
    assert!(!shared.look_into_doubt());
    flusher.kill();
    assert!(!shared.look_into_doubt(), "it had flushed before");
    for taken_over in [false, true] {
        let mut flusher = Worker::start("flush", &place);
        flusher.expect("flushing");
        flusher.kill();
        let others = taken_over.then(|| place.joined());
        assert!(shared.look_into_doubt());
        assert!(others.is_none_or(|other| other.look_into_doubt()), "who has its place knows as well");
        shared.clear_doubt();
        assert!(!shared.look_into_doubt());
    }
    assert_eq!(shared.doubt().load(Ordering::Acquire), 1, "its own flush is under way");
    flushing.end(true);
    assert_eq!(shared.doubt().load(Ordering::Acquire), 0);
    shared.note_failure();
    assert!(shared.look_into_doubt());
}

#[test]
fn a_reader_that_was_killed_is_cleared_by_the_next_scan() {
    let place = Place::new();
    let shared = place.first(1);
    let mut reader = Worker::start("read", &place);
    reader.expect("reading");
    shared.publish(&commit(2)).unwrap();
    assert_eq!(live(&shared), [1]);
    assert_eq!(shared.clear_dead().unwrap(), 0, "it lives");
    assert_eq!(shared.list_readers().unwrap().len(), 100);
    assert_eq!(shared.list_readers().unwrap()[0].pid, u64::from(reader.0.id()));
    reader.kill();
    assert_eq!(live(&shared), []);
    assert_eq!(shared.list_readers().unwrap(), []);
}

#[test]
fn readers_that_were_killed_on_the_newest_snapshot_are_counted_when_cleared() {
    let place = Place::new();
    let shared = place.first(1);
    let mut reader = Worker::start("read", &place);
    reader.expect("reading");
    reader.kill();
    assert_eq!(live(&shared), [1], "holding the newest costs nothing, so nobody asked");
    assert_eq!(shared.clear_dead().unwrap(), 100);
    assert_eq!(live(&shared), []);
}

#[test]
fn the_block_of_a_killed_reader_is_taken_over_without_its_readers() {
    let place = Place::new();
    let shared = place.first(1);
    let mut reader = Worker::start("read", &place);
    reader.expect("reading");
    reader.kill();
    shared.publish(&commit(2)).unwrap();
    let (slot, _) = shared.begin_read(Stay::Long).unwrap();
    assert_eq!(slot, ReadSlot(0));
    assert_eq!(live(&shared), [2]);
}

#[test]
fn a_writer_that_was_killed_leaves_its_lock_and_a_warning() {
    let place = Place::new();
    let shared = place.first(1);
    let mut writer = Worker::start("write", &place);
    writer.expect("writing");
    assert!(matches!(shared.lock_writer(Wait::For(Duration::from_millis(20))), Err(Error::Busy)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| shared.lock_writer(Wait::Forever));
        writer.kill();
        assert_eq!(waiting.join().unwrap().unwrap(), Inherited::Unsettled);
    });
    shared.unlock_writer();
    assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Clean);
}

#[test]
fn a_favoured_writer_that_was_killed_leaves_a_warning() {
    let place = Place::new();
    let shared = place.first(1);
    let mut writer = Worker::start("write favoured", &place);
    writer.expect("written");
    writer.go_on();
    writer.expect("writing");
    assert!(matches!(shared.lock_writer(Wait::For(Duration::from_millis(20))), Err(Error::Busy)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| shared.lock_writer(Wait::Forever));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        writer.kill();
        assert_eq!(waiting.join().unwrap().unwrap(), Inherited::Unsettled);
    });
    shared.unlock_writer();
    write_alone(&shared);
}

#[test]
fn a_favoured_handle_keeps_nobody_waiting_between_its_transactions() {
    let place = Place::new();
    let shared = place.first(1);
    let mut writer = Worker::start("write favoured", &place);
    writer.expect("written");
    let pid = rustix::process::Pid::from_child(&writer.0);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Clean);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    writer.go_on();
    std::thread::sleep(Duration::from_millis(20));
    shared.unlock_writer();
    writer.expect("writing");
    assert!(matches!(shared.lock_writer(Wait::No), Err(Error::Busy)));
    writer.kill();
    assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Unsettled);
}

#[test]
fn a_writer_that_ends_in_order_leaves_no_warning() {
    let place = Place::new();
    let shared = place.first(1);
    let mut writer = Worker::start("write", &place);
    writer.expect("writing");
    writer.go_on();
    writer.expect("written");
    assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Clean);
}

#[test]
fn whoever_opens_second_waits_for_the_firsts_recovery() {
    let place = Place::new();
    let mut first = Worker::start("recover", &place);
    first.expect("recovering");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| place.open());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!second.is_finished());
        first.go_on();
        let (shared, role) = second.join().unwrap();
        assert_eq!((role, shared.newest()), (Role::Joined, Txnid(7)));
        assert_eq!(shared.begin_read(Stay::Long).unwrap().1, commit(7));
        first.expect("recovered");
        assert!(!shared.lock_out_others().unwrap());
    });
}

#[test]
fn if_the_first_dies_in_its_recovery_exactly_one_of_the_others_is_first() {
    let place = Place::new();
    let mut first = Worker::start("recover", &place);
    first.expect("recovering");
    std::thread::scope(|scope| {
        let open = || {
            let (shared, role) = place.open();
            if role == Role::First {
                shared.publish(&commit(9)).unwrap();
                shared.let_others_in().unwrap();
            }
            (shared, role)
        };
        let others = [(); 3].map(|()| scope.spawn(open));
        std::thread::sleep(Duration::from_millis(30));
        first.kill();
        let opened = others.map(|other| other.join().unwrap());
        assert_eq!(opened.iter().filter(|(_, role)| *role == Role::First).count(), 1);
        assert!(opened.iter().all(|(shared, _)| shared.newest() == Txnid(9)));
    });
}

#[test]
fn what_a_crash_left_behind_is_forgotten_by_the_first_opener() {
    let place = Place::new();
    let mut only = Worker::start("recover", &place);
    only.expect("recovering");
    only.go_on();
    only.expect("recovered");
    only.kill();
    let (shared, role) = place.open();
    assert_eq!((role, shared.newest(), shared.list_readers().unwrap().len()), (Role::First, Txnid(0), 0));
}

#[test]
fn processes_read_whole_records_while_one_publishes_and_are_cleared_when_killed() {
    let place = Place::new();
    let shared = place.first(1);
    let workers = [(); 2].map(|()| {
        let mut worker = Worker::start("churn", &place);
        worker.expect("churning");
        worker
    });
    for txnid in 2..50_000 {
        shared.publish(&commit(txnid)).unwrap();
        if txnid % 64 == 0 {
            live(&shared);
        }
    }
    workers.into_iter().for_each(|mut worker| {
        assert!(worker.0.try_wait().unwrap().is_none(), "a reader found a torn record");
        worker.kill();
    });
    shared.publish(&commit(50_000)).unwrap();
    assert_eq!(live(&shared), []);
}

#[test]
fn in_a_forked_child_every_entry_says_so_and_nothing_of_the_parents_changes() {
    let place = Place::new();
    let shared = place.first(1);
    let (slot, _) = shared.begin_read(Stay::Long).unwrap();
    shared.lock_writer(Wait::No).unwrap();
    // Owned by the child's copy of this value as well: dropping it there must leave the parent's part alone.
    let mut handle = Some(shared);
    assert!(in_forked_child(|| {
        let shared = handle.take().unwrap();
        let refused = [
            shared.begin_read(Stay::Long).err(),
            shared.lock_writer(Wait::No).err(),
            shared.publish(&commit(2)).err(),
            shared.set_durable(Txnid(2)).err(),
            shared.collect_live(&mut Vec::new()).err(),
            shared.list_readers().err(),
            shared.clear_dead().err(),
            shared.let_others_in().err(),
            shared.lock_out_others().err(),
        ];
        shared.end_read(slot);
        shared.unlock_writer();
        drop(shared);
        refused.iter().all(|error| matches!(error, Some(Error::Forked)))
    }));
    let shared = handle.unwrap();
    assert_eq!(live(&shared), [1]);
    let other = place.joined();
    assert!(matches!(other.lock_writer(Wait::No), Err(Error::Busy)));
    assert_eq!(other.clear_dead().unwrap(), 0);
    shared.unlock_writer();
    assert_eq!(other.lock_writer(Wait::No).unwrap(), Inherited::Clean);
}

#[test]
fn a_forked_child_does_not_keep_the_locks_of_a_handle_that_its_parent_closes() {
    let place = Place::new();
    let shared = place.first(1);
    std::thread::scope(|scope| {
        let child = scope.spawn(|| {
            in_forked_child(|| {
                std::thread::sleep(Duration::from_millis(400));
                true
            })
        });
        std::thread::sleep(Duration::from_millis(100));
        drop(shared);
        let (_next, role) = place.open();
        assert_eq!((role, child.is_finished()), (Role::First, false));
    });
}

#[test]
fn a_forked_child_does_not_keep_the_locks_of_a_parent_that_is_killed() {
    for task in ["fork, then write", "fork, then write favoured"] {
        let place = Place::new();
        let shared = place.first(1);
        let mut parent = Worker::start(task, &place);
        parent.expect("writing");
        // Until this goes the child is there.
        let stays = parent.0.stdin.take();
        assert!(matches!(shared.lock_writer(Wait::No), Err(Error::Busy)));
        parent.kill();
        assert_eq!(shared.lock_writer(Wait::For(Duration::from_secs(10))).unwrap(), Inherited::Unsettled, "{task}");
        shared.publish(&commit(2)).unwrap();
        assert_eq!(live(&shared), []);
        shared.unlock_writer();
        drop(stays);
    }
}

#[test]
fn a_forked_child_may_open_the_database_anew() {
    let place = Place::new();
    let shared = place.first(1);
    assert!(in_forked_child(|| {
        let own = place.joined();
        let (slot, published) = own.begin_read(Stay::Long).unwrap();
        let seen = live(&own);
        own.end_read(slot);
        published == commit(1) && seen == [1] && shared.check().is_err()
    }));
    assert_eq!(live(&shared), []);
}
