//! [`Space`] by itself, a case at a time.

use super::*;

fn extent(start: u64, pages: u64) -> Extent {
    Extent::new(Pgno(start), pages)
}

fn space(free: &[(u64, u64)]) -> Space {
    let mut space = Space::new();
    for &(start, pages) in free {
        space.add_free(extent(start, pages)).unwrap();
    }
    space
}

#[test]
fn a_page_stays_retired_exactly_while_a_live_snapshot_sees_it() {
    let mut space = Space::new();
    space.retire(extent(10, 2), Txnid(3), Txnid(7)).unwrap();
    for snapshot in [3, 6] {
        space.release(&[Txnid(2), Txnid(snapshot), Txnid(7)]);
        assert_eq!((space.free_pages(), space.retired_pages()), (0, 2));
        assert_eq!(space.blocked_by(Txnid(snapshot)), 2);
    }
    assert_eq!((space.blocked_by(Txnid(2)), space.blocked_by(Txnid(7))), (0, 0));
    space.release(&[Txnid(2), Txnid(7)]);
    assert_eq!((space.free_pages(), space.retired_pages()), (2, 0));
}

#[test]
fn tight_fit_takes_the_smallest_hole_that_holds_all_and_else_the_longest_ones() {
    let holes = [(10, 3), (20, 8), (40, 5), (50, 6)];
    assert_eq!(space(&holes).take_up_to(4, Fit::Tight), [extent(40, 4)]);
    assert_eq!(space(&holes).take_up_to(11, Fit::Tight), [extent(10, 3), extent(20, 8)]);
    assert_eq!(space(&holes).take_up_to(15, Fit::Tight), [extent(10, 1), extent(20, 8), extent(50, 6)]);
    assert_eq!(space(&holes).take_up_to(99, Fit::Tight).iter().map(|e| e.pages).sum::<u64>(), 22);
    assert_eq!(space(&holes).take_up_to(0, Fit::Tight), []);
}

#[test]
fn low_fit_takes_the_lowest_hole_that_holds_all_and_else_the_lowest_long_ones() {
    let holes = [(10, 3), (20, 8), (40, 5), (60, 9)];
    assert_eq!(space(&holes).take_up_to(4, Fit::Low), [extent(20, 4)]);
    assert_eq!(space(&holes).take_up_to(12, Fit::Low), [extent(20, 8), extent(40, 4)]);
    assert_eq!(space(&holes).take_up_to(23, Fit::Low), [extent(10, 3), extent(20, 8), extent(40, 3), extent(60, 9)]);
    assert_eq!(space(&holes).take(5), Some(extent(40, 5)));
    assert_eq!(space(&holes).take(10), None);
}

#[test]
fn beside_long_values_single_pages_come_to_lie_where_these_find_no_room() {
    let holes = [(10, 25), (60, 3), (70, 9), (90, 2), (100, 30)];
    let mut space = space(&holes);
    assert_eq!(space.take(20), Some(extent(10, 20)));
    assert_eq!(space.take_up_to(12, Fit::Tight), [extent(30, 5), extent(60, 3), extent(70, 4)], "a few: the lowest");
    let many = [extent(74, 5), extent(90, 2), extent(100, 13)];
    assert_eq!(space.take_up_to(20, Fit::Low), many, "many: long holes last");
}

#[test]
fn what_is_free_or_retired_cannot_be_freed_again() {
    let mut space = space(&[(10, 4)]);
    space.retire(extent(20, 4), Txnid(1), Txnid(2)).unwrap();
    for (start, pages) in [(9, 2), (13, 1), (5, 20), (19, 2), (22, 9)] {
        assert!(space.add_free(extent(start, pages)).is_err());
        assert!(space.retire(extent(start, pages), Txnid(1), Txnid(2)).is_err());
    }
    assert_eq!((space.free_pages(), space.retired_pages()), (4, 4));
}

#[test]
fn impossible_extents_and_lifetimes_are_refused() {
    let mut space = Space::new();
    for (start, pages) in [(Pgno::LIMIT, 1), (1, u64::MAX), (u64::MAX, 2)] {
        assert!(space.add_free(Extent { start: Pgno(start), pages }).is_err());
    }
    assert!(space.add_free(Extent { start: Pgno(1), pages: 0 }).is_err());
    assert!(space.retire(extent(1, 1), Txnid(3), Txnid(2)).is_err());
    assert!(space.retire_all(vec![(extent(1, 1), Txnid(3))], Txnid(2)).is_err());
    let beyond = Extent { start: Pgno(u64::MAX), pages: 2 };
    assert!(space.retire_all(vec![(beyond, Txnid(1)), (extent(1, 1), Txnid(1))], Txnid(2)).is_err());
    space.add_free(extent(0, 100_000)).unwrap();
    assert_eq!(space.take(u64::MAX), None);
    assert_eq!(space.take(100_000), Some(extent(0, 100_000)));
}

#[test]
fn the_end_is_trimmed_only_where_it_is_free() {
    let mut space = space(&[(10, 2), (18, 2)]);
    assert_eq!(space.trim_end(Pgno(21)), Pgno(21));
    assert_eq!(space.trim_end(Pgno(20)), Pgno(18));
    assert_eq!(space.trim_end(Pgno(18)), Pgno(18));
    assert_eq!(space.free_pages(), 2);
}

#[test]
fn lists_of_extents_are_subtracted_page_by_page() {
    let from = [extent(20, 5), extent(0, 4), extent(4, 6), extent(30, 1)];
    let minus = [extent(22, 1), extent(2, 4), extent(8, 13), extent(24, 9)];
    assert_eq!(subtract(&from, &minus), [extent(0, 2), extent(6, 2), extent(21, 1), extent(23, 1)]);
    assert_eq!(subtract(&from, &from), []);
    assert_eq!(subtract(&[extent(1, 2)], &[]), [extent(1, 2)]);
}

#[test]
fn what_is_freed_beyond_the_files_end_takes_no_memory_and_must_be_forgotten() {
    let mut space = Space::new();
    space.set_limit(Some(100));
    space.add_free(extent(90, Pgno::LIMIT - 90)).unwrap();
    space.take_anywhere(extent(95, 1000)).unwrap();
    assert_eq!((space.free_pages(), space.check_within(Pgno(4), Pgno(100)).is_ok()), (5, false));
    space.truncate(Pgno(101));
    assert!(space.check_within(Pgno(4), Pgno(100)).is_err());
    space.truncate(Pgno(92));
    assert_eq!((space.free_pages(), space.check_within(Pgno(4), Pgno(100)).is_ok()), (2, true));
}

#[test]
fn pages_outside_the_file_are_found() {
    let mut space = space(&[(10, 2)]);
    space.retire(extent(20, 2), Txnid(1), Txnid(2)).unwrap();
    assert!(space.check_within(Pgno(10), Pgno(22)).is_ok());
    assert!(space.check_within(Pgno(11), Pgno(22)).is_err());
    assert!(space.check_within(Pgno(10), Pgno(21)).is_err());
    space.retire_all(vec![(extent(8, 1), Txnid(1)), (extent(30, 1), Txnid(1))], Txnid(2)).unwrap();
    assert!(space.check_within(Pgno(8), Pgno(31)).is_ok());
    assert!(space.check_within(Pgno(9), Pgno(31)).is_err());
    assert!(space.check_within(Pgno(8), Pgno(30)).is_err());
}
