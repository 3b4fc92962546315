//! Flushes by several handles of one process: what the others are told of them, and until when.

use super::tests::{Place, commit};
use super::*;

/// What the data file is taken for.
const OURS: [u64; 6] = [1, 2, 3, 4, 5, 6];

/// A handle that has not got a block to count its flushes in, as on a full disk.
fn uncounted(place: &Place) -> Shared {
    let mut shared = place.joined();
    shared.counts_in = None;
    shared
}

#[test]
fn a_flush_that_failed_leaves_all_handles_in_doubt_until_somebody_has_written_everything_again() {
    let place = Place::new();
    let (one, other) = (place.first(1), place.joined());
    let flushing = one.announce_flush();
    assert!(!other.look_into_doubt());
    flushing.end(false);
    assert!(one.look_into_doubt() && other.look_into_failure());
    assert_eq!(one.doubt().load(Ordering::Acquire), FAILED);
    other.clear_doubt();
    assert!(!one.look_into_doubt() && !other.look_into_failure());
}

#[test]
fn who_comes_while_others_flush_is_in_doubt_until_they_are_done() {
    let place = Place::new();
    let one = place.first(1);
    for by_counting in [true, false] {
        let flusher = if by_counting { place.joined() } else { uncounted(&place) };
        let flushing = flusher.announce_flush();
        let (late, later) = (place.joined(), place.joined());
        assert_eq!(one.look_into_doubt(), !by_counting, "it was there before, and would hear of a failure");
        assert!(late.look_into_doubt() && later.look_again_for_flushers() && !late.look_into_failure());
        later.clear_doubt();
        assert!(!later.look_into_doubt(), "it has written everything again");
        flushing.end(true);
        assert!(!late.look_into_doubt());
        let again = flusher.announce_flush();
        assert!(!late.look_again_for_flushers(), "it hears of those that begin later");
        again.end(true);
        assert_eq!(one.doubt().load(Ordering::Acquire), 0);
    }
}

#[test]
fn who_cannot_count_flushes_has_the_others_in_doubt_while_it_flushes() {
    let place = Place::new();
    let (one, other) = (place.first(1), uncounted(&place));
    let flushing = other.announce_flush();
    assert!(one.look_into_doubt() && !one.look_into_failure());
    one.clear_doubt();
    assert!(!one.look_into_doubt());
    flushing.end(true);
    assert_eq!(one.doubt().load(Ordering::Acquire), 0, "it is not counted off twice");
    let counted = one.announce_flush();
    one.doubt().store(UNCOUNTED, Ordering::Release);
    counted.end(true);
    assert_eq!(one.doubt().load(Ordering::Acquire), UNCOUNTED, "that is another's");
}

#[test]
fn what_was_asked_for_is_due_until_it_is_done_or_withdrawn() {
    let place = Place::new();
    let (one, other) = (place.first(1), place.joined());
    assert!(!one.is_checkpoint_asked_for() && one.are_all_of(0));
    one.ask_for_checkpoint();
    other.ask_for_checkpoint();
    assert!(one.is_checkpoint_asked_for() && one.are_all_of(2) && !one.are_all_of(1));
    one.withdraw(1);
    assert!(other.are_all_of(1));
    one.withdraw(5);
    assert!(!other.is_checkpoint_asked_for());
    other.ask_for_checkpoint();
    one.note_checkpoint();
    assert!(!other.is_checkpoint_asked_for());
}

#[test]
fn what_is_left_unsettled_is_found_so_and_in_doubt() {
    let place = Place::new();
    let shared = place.first(1);
    shared.leave_unsettled().unwrap();
    assert!(shared.look_into_failure());
    assert_eq!(shared.lock_writer(Wait::No).unwrap(), Inherited::Unsettled);
}

#[test]
fn what_is_unsettled_is_not_all_on_the_disk_whatever_is_said_of_the_newest_commit() {
    let mounted_again = [9, 2, 3, 4, 5, 6];
    for (unsettled, identity, role) in
        [(0, mounted_again, Role::Joined), (1, OURS, Role::Joined), (1, mounted_again, Role::First)]
    {
        let place = Place::new();
        let (shared, _) = place.inherit(OURS, 6);
        shared.publish(&commit(6)).unwrap();
        shared.set_durable(Txnid(6)).unwrap();
        shared.let_others_in().unwrap();
        shared.memory.header().writing.word.store(unsettled, Ordering::Release);
        drop(shared);
        assert_eq!(place.inherit(identity, 6).1, role, "{unsettled}");
    }
}

#[test]
fn a_flush_in_the_future_is_as_long_ago_as_can_be() {
    let shared = Place::new().first(1);
    shared.note_flush();
    assert!(shared.since_flush() < Duration::from_secs(600));
    shared.memory.header().flushed_at.word.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(shared.since_flush(), Duration::MAX);
}

#[test]
fn slots_that_others_have_used_are_counted_and_own_ones_are_not() {
    let place = Place::new();
    let (one, other) = (place.first(1), place.joined());
    let slots = [&one, &one, &other].map(|shared| shared.begin_read(Stay::Long).unwrap().0);
    assert_eq!((one.used_by_others().unwrap(), other.used_by_others().unwrap()), ((0, 1), (0, 2)));
    other.end_read(slots[2]);
    drop(other);
    assert_eq!(one.used_by_others().unwrap(), (0, 1), "it was used");
    assert_eq!(place.joined().used_by_others().unwrap(), (1, 2), "and who has its place counts it as before");
}
