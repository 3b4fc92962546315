use super::*;
use crate::format::meta::{Proof, SpaceRoot};
use crate::order::Order;
use crate::store::log::Mark;

fn meta(sequence: u64, txnid: u64) -> Meta {
    Meta {
        page_size: 4096,
        file_id: 5,
        sequence,
        txnid: Txnid(txnid),
        page_count: 4,
        catalog: Tree::new(&Order::Bytes),
        user: 0,
        proof: Proof::of(Txnid(txnid)),
        space: SpaceRoot::default(),
        committed_ns: 0,
        tail: Vec::new(),
        has_receipt: false,
    }
}

/// The start of a file with these meta pages.
fn head(metas: [(u64, u64); SLOTS]) -> Vec<u8> {
    metas.into_iter().flat_map(|(sequence, txnid)| meta(sequence, txnid).encode_whole()).collect()
}

#[test]
fn what_a_dead_writer_left_is_gone_on_with_if_it_is_the_commit_on_its_way_or_one_on_top_of_it() {
    let newest = published(&meta(7, 6), 1, 0, Mark::START);
    let is_so = |last: (u64, u64), unsettled| {
        as_published(&head([(6, 5), (7, 6), (5, 4), last]), HEAD_BYTES, &newest, unsettled).is_some()
    };
    assert_eq!([is_so((4, 3), false), is_so((4, 3), true)], [true; 2], "nothing newer is there");
    for n in 1..=2 {
        assert!(is_so((7 + n, 6 + n), true), "{n} ahead");
        assert!(!is_so((7 + n, 6 + n), false), "nobody died, {n} ahead");
        assert!(!is_so((7 + n, 6), true), "the same commit again, {n} ahead");
        assert!(!is_so((7 + n, 6 - n), true), "an older commit {n} ahead");
    }
    assert!(!is_so((7, 6), true), "it is there twice");
    assert!(!is_so((10, 9), true), "more than a dead writer leaves");
    assert!(is_so((5, 7), true), "what was written before is of no account");
}

#[test]
fn a_file_that_holds_not_what_was_published_is_not_as_that() {
    let slots = [(6, 5), (7, 6), (5, 4), (4, 3)];
    let newest = |meta: &Meta, slot| published(meta, slot, 0, Mark::START);
    let is_so = |newest: &Published, bytes| as_published(&head(slots), bytes, newest, false).is_some();
    assert!(is_so(&newest(&meta(7, 6), 1), HEAD_BYTES));
    assert!(!is_so(&newest(&meta(7, 6), 2), HEAD_BYTES), "in another slot");
    assert!(!is_so(&newest(&meta(8, 7), 1), HEAD_BYTES), "a later one");
    assert!(!is_so(&newest(&meta(6, 5), 0), HEAD_BYTES), "not the newest");
    let long = Meta { page_count: 5, ..meta(7, 6) };
    let whole = [meta(6, 5), long.clone(), meta(5, 4), meta(4, 3)].map(|meta| meta.encode_whole()).concat();
    let bytes = 5 * 4096;
    assert!(as_published(&whole, bytes, &newest(&long, 1), false).is_some());
    assert!(as_published(&whole, bytes - 1, &newest(&long, 1), false).is_none(), "the file is shorter");
}
