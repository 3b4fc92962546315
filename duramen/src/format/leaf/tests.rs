//! A leaf against a sorted vector, for all orders; and against bytes that no writer wrote.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::format::cases;
use crate::format::page::{get16, put16};

const PAGE: usize = 1024;

type Model = Vec<(Vec<u8>, Vec<u8>)>;

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        2 => Just(Order::Bytes),
        1 => Just(Order::Reversed),
        1 => Just(Order::Native),
        1 => Just(Order::Custom(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a)))),
    ]
}

/// Keys that collide: few letters, zero bytes at their ends, long common parts, the longest allowed.
fn key(order: &Order) -> BoxedStrategy<Vec<u8>> {
    let letters = || prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(255)], 0..7);
    match order {
        Order::Native => prop_oneof![0..300u64, any::<u64>()].prop_map(|n| n.to_ne_bytes().to_vec()).boxed(),
        Order::Reversed => letters().prop_map(|k| [&k, &b"/common"[..]].concat()).boxed(),
        _ => prop_oneof![
            4 => letters(),
            4 => letters().prop_map(|k| [&b"common/"[..], &k].concat()),
            1 => letters().prop_map(|k| [&[7; 256 - 6][..], &k].concat()),
        ]
        .boxed(),
    }
}

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<u8>, usize),
    Remove(usize),
    Seal,
    SplitAndMerge(usize),
}

fn ops() -> impl Strategy<Value = (Order, Vec<Op>)> {
    let most = if cfg!(miri) { 20 } else { 150 };
    orders().prop_flat_map(move |order| {
        let op = prop_oneof![
            12 => (key(&order), prop_oneof![0..40usize, 0..200usize]).prop_map(|(key, vlen)| Op::Put(key, vlen)),
            4 => any::<usize>().prop_map(Op::Remove),
            1 => Just(Op::Seal),
            1 => any::<usize>().prop_map(Op::SplitAndMerge),
        ];
        (Just(order), prop::collection::vec(op, 1..most))
    })
}

fn search(model: &Model, key: &[u8], order: &Order) -> Result<usize, usize> {
    model.binary_search_by(|(k, _)| order.cmp(k, key))
}

fn check(bytes: &[u8], model: &Model) {
    validate(bytes).unwrap();
    let leaf = Leaf::open(bytes).unwrap();
    assert_eq!(leaf.len(), model.len());
    for (i, (key, value)) in model.iter().enumerate() {
        assert_eq!(leaf.cell(i).unwrap(), Cell { key, value, kind: CellKind::Plain });
    }
    let used: usize = model.iter().map(|(k, v)| cell_bytes(k.len(), v.len())).sum();
    assert_eq!((leaf.used(), leaf.free_space()), (used, PAGE - HEADER - used));
}

fn check_searches(bytes: &[u8], model: &Model, key: &[u8], order: &Order) {
    let leaf = Leaf::open(bytes).unwrap();
    let needle = Needle::new(key, order);
    let wanted = search(model, key, order);
    let (at, found) = leaf.find(&needle, order).unwrap();
    assert_eq!(if found { Ok(at) } else { Err(at) }, wanted, "find {key:?}, prefix {}", leaf.prefix);
    let value = leaf.get(&needle, order).unwrap().map(|cell| cell.value);
    assert_eq!(value, wanted.ok().map(|i| &model[i].1[..]), "get {key:?}");
}

/// Writes the key as the tree would: a new cell, or a new value for the old one.
fn put(bytes: &mut [u8], model: &mut Model, key: &[u8], vlen: usize, order: &Order) {
    let value = vec![key.len() as u8 ^ vlen as u8; vlen];
    let mut page = LeafMut::new(bytes);
    match search(model, key, order) {
        Ok(i) => {
            if let Some(space) = page.resize_value(i, vlen, CellKind::Plain, order) {
                space.copy_from_slice(&value);
                model[i].1 = value;
            } else {
                assert!(cell_bytes(key.len(), vlen) > page.free_space());
            }
        }
        Err(i) if page.fits(key.len(), vlen) => {
            page.insert(i, key, vlen, CellKind::Plain, order).copy_from_slice(&value);
            model.insert(i, (key.to_vec(), value));
        }
        Err(_) => {}
    }
}

fn split_and_merge(bytes: &mut [u8], at: usize, order: &Order) {
    let from = bytes.to_vec();
    let from = Leaf::open(&from).unwrap();
    let at = at % (from.len() + 1);
    let mut right = vec![0xAA; PAGE];
    let mut left = LeafMut::init(bytes);
    left.copy_range(&from, 0..at, order).unwrap();
    let mut page = LeafMut::init(&mut right);
    page.copy_range(&from, at..from.len(), order).unwrap();
    left.seal(order);
    page.seal(order);
    validate(&right).unwrap();
    left.copy_range(&Leaf::open(&right).unwrap(), 0..from.len() - at, order).unwrap();
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn any_operations_agree_with_a_sorted_vector((order, ops) in ops()) {
        let mut bytes = vec![0x55; PAGE];
        LeafMut::init(&mut bytes);
        let mut model = Model::new();
        let mut keys = vec![vec![0; 8]];
        for op in ops {
            match op {
                Op::Put(key, vlen) if cell_bytes(key.len(), vlen) <= max_inline(PAGE) => {
                    put(&mut bytes, &mut model, &key, vlen, &order);
                    keys.push(key);
                }
                Op::Put(..) => {}
                Op::Remove(_) if model.is_empty() => {}
                Op::Remove(i) => {
                    let i = i % model.len();
                    LeafMut::new(&mut bytes).remove(i);
                    model.remove(i);
                }
                Op::Seal => LeafMut::new(&mut bytes).seal(&order),
                Op::SplitAndMerge(at) => split_and_merge(&mut bytes, at, &order),
            }
            check(&bytes, &model);
            for key in &keys {
                check_searches(&bytes, &model, key, &order);
            }
        }
    }

    #[test]
    fn a_sealed_page_finds_keys_that_do_not_share_its_prefix(
        order in orders(),
        keys in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0u8), Just(9)], 8), 2..12),
        wanted in prop::collection::vec(prop_oneof![Just(0u8), Just(9), Just(4)], 8),
    ) {
        let mut bytes = vec![0; PAGE];
        LeafMut::init(&mut bytes);
        let mut model = Model::new();
        keys.iter().for_each(|key| put(&mut bytes, &mut model, key, 3, &order));
        LeafMut::new(&mut bytes).seal(&order);
        for len in if matches!(order, Order::Native) { 8..9 } else { 0..9 } {
            check_searches(&bytes, &model, &wanted[..len], &order);
        }
    }

    #[test]
    fn a_split_leaves_room_for_the_new_cell(
        sizes in prop::collection::vec(0..max_inline(PAGE) - cell_bytes(4, 0), 1..60),
        at: prop::sample::Index,
    ) {
        let order = Order::Bytes;
        let (mut bytes, mut model) = (vec![0; PAGE], Model::new());
        LeafMut::init(&mut bytes);
        for (i, &size) in sizes.iter().enumerate() {
            put(&mut bytes, &mut model, &(i as u32 * 2).to_be_bytes(), size / (1 + i % 3), &order);
        }
        let leaf = Leaf::open(&bytes).unwrap();
        let at = at.index(model.len() + 1);
        let m = leaf.best_split(at, max_inline(PAGE)).unwrap();
        prop_assert!((1..=model.len()).contains(&m));
        let kept = if at < m { m - 1 } else { m };
        let size = |range: std::ops::Range<usize>| range.map(|i| leaf.bytes_of(i).unwrap()).sum::<usize>();
        let (mut left, mut right) = (size(0..kept), size(kept..model.len()));
        *(if at < m { &mut left } else { &mut right }) += max_inline(PAGE);
        prop_assert!(left.max(right) <= PAGE - HEADER);
    }

    #[test]
    fn a_damaged_page_never_panics(
        (order, ops) in ops(),
        flips in prop::collection::vec((prop_oneof![24..HEADER, HEADER..200, 0..PAGE], 0..8u8), 0..4),
        noise in prop::option::of(prop::collection::vec(any::<u8>(), PAGE)),
    ) {
        let mut bytes = vec![0; PAGE];
        LeafMut::init(&mut bytes);
        let mut model = Model::new();
        for op in &ops {
            if let Op::Put(key, vlen) = op && cell_bytes(key.len(), *vlen) <= max_inline(PAGE) {
                put(&mut bytes, &mut model, key, *vlen, &order);
            }
        }
        if let Some(noise) = noise {
            bytes = noise;
            (bytes[24], bytes[25], bytes[27], bytes[29]) = (7, 1, 0, bytes[29] & 3);
        }
        for (at, bit) in flips {
            bytes[at] ^= 1 << bit;
        }
        read_everything(&bytes, &order);
        edit_if_valid(&mut bytes, &ops, &order);
    }
}

fn read_everything(bytes: &[u8], order: &Order) {
    let Ok(leaf) = Leaf::open(bytes) else { return };
    for i in 0..=leaf.len() {
        let _ = (leaf.key(i), leaf.cell(i), leaf.bytes_of(i), leaf.best_split(i, 100));
    }
    let _ = (leaf.used(), leaf.free_space(), leaf.outside());
    for key in [&b"commonab"[..], b"\0\0\0\0\0\0\0\0", b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"] {
        let needle = Needle::new(key, order);
        let _ = leaf.get(&needle, order);
        if let Ok((at, _)) = leaf.find(&needle, order) {
            assert!(at <= leaf.len());
        }
    }
    let mut copy = vec![0; bytes.len()];
    if LeafMut::init(&mut copy).copy_range(&leaf, 0..leaf.len(), order).is_ok() {
        validate(&copy).unwrap();
    }
}

fn edit_if_valid(bytes: &mut [u8], ops: &[Op], order: &Order) {
    for op in ops {
        if validate(bytes).is_err() {
            return;
        }
        let mut page = LeafMut::new(bytes);
        match op {
            Op::Put(key, vlen) if cell_bytes(key.len(), *vlen) <= max_inline(PAGE) => {
                let i = key.len() % (page.len() + 1);
                if page.fits(key.len(), *vlen) {
                    page.insert(i, key, *vlen, CellKind::SubPage, order).fill(0xFF);
                } else if i < page.len() {
                    page.value_mut(i).fill(0xFF);
                    let klen = page.leaf().key(i).unwrap().len();
                    if cell_bytes(klen, *vlen) <= max_inline(PAGE) {
                        page.resize_value(i, *vlen, CellKind::Plain, order);
                    }
                }
            }
            Op::Remove(i) if page.len() > 0 => page.remove(i % page.len()),
            _ => page.seal(order),
        }
    }
}

fn page_with(cells: &[(&[u8], usize)]) -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    let mut page = LeafMut::init(&mut bytes);
    for (i, (key, vlen)) in cells.iter().enumerate() {
        page.insert(i, key, *vlen, CellKind::Plain, &Order::Bytes).fill(1);
    }
    bytes
}

#[test]
fn where_all_lengths_are_multiples_of_8_so_are_all_places() {
    let mut bytes = vec![0; 4096];
    let mut page = LeafMut::init(&mut bytes);
    for i in 0..70u64 {
        let at = (i * 37 % 70).min(page.len() as u64) as usize;
        page.insert(at, &i.to_le_bytes(), 8 * (i % 4) as usize, CellKind::Plain, &Order::Bytes).fill(1);
    }
    for i in 0..30 {
        page.resize_value(i, 8 * (i % 7), CellKind::Plain, &Order::Bytes).unwrap().fill(2);
        page.remove(i / 2);
    }
    let start = page.leaf().bytes.as_ptr() as usize;
    for i in 0..page.len() {
        let cell = page.leaf().cell(i).unwrap();
        assert_eq!((cell.key.as_ptr() as usize - start) % 8, 0);
        assert_eq!((cell.value.as_ptr() as usize - start) % 8, 0);
    }
}

#[test]
fn overlapping_cells_are_damage() {
    let mut bytes = page_with(&[(b"aa", 30), (b"bb", 30)]);
    let slots = HEADER + 8;
    let first = get16(&bytes, slots);
    put16(&mut bytes, slots + SLOT, first);
    assert_eq!(validate(&bytes), Err(Damage("two of its cells overlap")));
}

#[test]
fn cells_of_other_kinds_are_counted_and_have_their_length() {
    let mut bytes = page_with(&[(b"aa", 30)]);
    let mut page = LeafMut::new(&mut bytes);
    page.insert(1, b"bb", STUB, CellKind::Overflow, &Order::Bytes).fill(2);
    page.insert(2, b"cc", record::BYTES, CellKind::Table, &Order::Bytes).fill(3);
    assert_eq!(page.leaf().outside(), 2);
    page.resize_value(1, 9, CellKind::Plain, &Order::Bytes).unwrap().fill(4);
    assert_eq!(page.leaf().outside(), 1);
    assert_eq!(page.leaf().cell(1).unwrap(), Cell { key: b"bb", value: &[4; 9], kind: CellKind::Plain });
    page.resize_value(0, record::BYTES, CellKind::SubTree, &Order::Bytes).unwrap().fill(5);
    page.remove(2);
    assert_eq!(page.leaf().outside(), 1);
    validate(&bytes).unwrap();
    bytes[HEADER + 8 + 4] -= 1;
    assert!(validate(&bytes).is_err(), "a tree record of 47 bytes");
}

#[test]
fn the_largest_page_takes_two_of_the_largest_cells() {
    let mut bytes = vec![0; PAGE_MAX];
    let mut page = LeafMut::init(&mut bytes);
    let klen = key_max(PAGE_MAX);
    let vlen = max_inline(PAGE_MAX) - cell_bytes(klen, 0);
    for i in 0..2u8 {
        assert!(page.fits(klen, vlen));
        page.insert(usize::from(i), &vec![i; klen], vlen, CellKind::Plain, &Order::Bytes).fill(i);
    }
    assert!(!page.fits(0, 0));
    validate(&bytes).unwrap();
    let needle = vec![1; klen];
    let cell = Leaf::open(&bytes).unwrap().get(&Needle::new(&needle, &Order::Bytes), &Order::Bytes).unwrap().unwrap();
    assert_eq!(cell.value, vec![1; vlen]);
}

#[test]
fn keys_that_share_no_prefix_any_more_are_found_after_an_insert() {
    let mut bytes = page_with(&[(b"common1", 1), (b"common2", 1)]);
    let mut page = LeafMut::new(&mut bytes);
    page.seal(&Order::Bytes);
    assert_eq!(page.leaf().prefix, 6);
    page.insert(2, b"comx", 1, CellKind::Plain, &Order::Bytes).fill(1);
    assert_eq!(page.leaf().prefix, 3);
    page.insert(3, b"d", 1, CellKind::Plain, &Order::Bytes).fill(1);
    assert_eq!(page.leaf().prefix, 0);
    for (i, key) in [&b"common1"[..], b"common2", b"comx", b"d"].iter().enumerate() {
        assert_eq!(page.leaf().find(&Needle::new(key, &Order::Bytes), &Order::Bytes), Ok((i, true)));
    }
}

#[test]
fn a_cell_that_ends_behind_its_page_is_not_copied() {
    for (at, klen, vlen) in [(PAGE, 0, 0), (PAGE - 1, 0, 1), (PAGE - 1, 1, 0), (PAGE - 1, 0, 0)] {
        let mut bytes = page_with(&[(b"", 1)]);
        let slot = Slot::new(at, klen, vlen, CellKind::Plain).bytes();
        bytes[HEADER + 4..HEADER + ENTRY].copy_from_slice(&slot);
        let mut copy = vec![0; PAGE];
        let copied = LeafMut::init(&mut copy).copy_range(&Leaf::open(&bytes).unwrap(), 0..1, &Order::Bytes);
        assert_eq!(copied, Err(CELL_OUTSIDE), "{klen} and {vlen} bytes at {at}");
        assert!(validate(&bytes).is_err());
    }
}

#[test]
fn the_prefix_of_a_damaged_page_is_no_longer_than_its_shortest_key() {
    let mut bytes = page_with(&[(b"common1", 1), (b"com", 1), (b"common2", 1)]);
    LeafMut::new(&mut bytes).seal(&Order::Bytes);
    validate(&bytes).unwrap();
    let mut other = page_with(&[(b"common0", 1)]);
    let len = Leaf::open(&bytes).unwrap().len();
    LeafMut::new(&mut other).copy_range(&Leaf::open(&bytes).unwrap(), 0..len, &Order::Bytes).unwrap();
    validate(&other).unwrap();
}

#[test]
fn dirty_pointers_are_refused_in_a_page_from_the_file() {
    for (kind, len) in
        [(CellKind::SubTree, record::BYTES), (CellKind::Table, record::BYTES), (CellKind::Overflow, STUB)]
    {
        let mut bytes = vec![0; 4096];
        let mut page = LeafMut::init(&mut bytes);
        page.insert(0, b"a", len, kind, &Order::Bytes).fill(0);
        validate(&bytes).unwrap();
        let mut page = LeafMut::new(&mut bytes);
        page.value_mut(0)[..8].copy_from_slice(&Child::dirty(3).0.to_le_bytes());
        validate_cells(&bytes).unwrap();
        validate(&bytes).unwrap_err();
    }
}

#[test]
fn an_empty_page_of_a_damaged_file_may_have_a_prefix() {
    let mut bytes = vec![0; 4096];
    LeafMut::init(&mut bytes);
    page::set_prefix(&mut bytes, 7);
    validate(&bytes).unwrap();
    LeafMut::new(&mut bytes).insert(0, b"key", 5, CellKind::Plain, &Order::Bytes).fill(1);
    let leaf = Leaf::open(&bytes).unwrap();
    let found = leaf.get(&Needle::new(b"key", &Order::Bytes), &Order::Bytes).unwrap();
    assert_eq!(found.map(|cell| cell.value), Some(&[1; 5][..]));
}

#[test]
fn a_cell_pushed_is_one_inserted_behind_all_others() {
    // Keys that share more and less, so that the prefix is shortened on the way.
    let keys: Vec<Vec<u8>> = (0u32..4000).map(|i| (i * i).to_be_bytes().repeat(1 + i as usize % 3)).collect();
    for order in [Order::Bytes, Order::Reversed] {
        let mut keys = keys.clone();
        keys.sort_by(|a, b| order.cmp(a, b));
        keys.dedup();
        let (mut pushed, mut inserted) = (vec![0; PAGE], vec![0; PAGE]);
        LeafMut::init(&mut pushed);
        LeafMut::init(&mut inserted);
        let mut n = 0;
        while let Some(space) = LeafMut::new(&mut pushed).push_plain(&keys[n], n % 20, &order) {
            space.fill(n as u8);
            LeafMut::new(&mut inserted).insert(n, &keys[n], n % 20, CellKind::Plain, &order).fill(n as u8);
            n += 1;
        }
        assert!(n > 20 && pushed == inserted, "{n} cells");
        let mut page = LeafMut::new(&mut pushed);
        assert!(!page.fits(keys[n].len(), n % 20));
        // What is free between other cells is not taken: they would have to be moved.
        while !page.fits(keys[n].len(), 100) {
            page.remove(n / 2);
        }
        assert_eq!(page.push_plain(&keys[n], 100, &order), None);
    }
}
