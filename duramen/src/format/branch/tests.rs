//! A branch against a sorted vector of separators; and against bytes that no writer wrote.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::format::cases;
use crate::ids::Pgno;

const PAGE: usize = 1024;

/// Separators and children; the first separator is empty.
type Model = Vec<(Vec<u8>, Child)>;

/// Views that collide: few letters, zero bytes at their ends, long common parts, the longest allowed.
fn view() -> impl Strategy<Value = Vec<u8>> {
    let letters = || prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(255)], 0..8);
    prop_oneof![
        4 => letters(),
        4 => letters().prop_map(|k| [&b"common/"[..], &k].concat()),
        1 => letters().prop_map(|k| [&[b'c'; 249][..], &k].concat()),
        2 => any::<u64>().prop_map(|n| n.to_be_bytes()[..5].to_vec()),
    ]
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        3 => Just(Order::Bytes),
        1 => Just(Order::Custom(Arc::new(|a: &[u8], b: &[u8]| a.iter().rev().cmp(b.iter().rev())))),
    ]
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<u8>),
    InsertFirst(Vec<u8>),
    MoveBorder(Vec<u8>),
    Remove(usize),
    SetChild(usize),
    Seal,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => view().prop_map(Op::Insert),
        2 => view().prop_map(Op::InsertFirst),
        4 => view().prop_map(Op::MoveBorder),
        4 => any::<usize>().prop_map(Op::Remove),
        1 => any::<usize>().prop_map(Op::SetChild),
        1 => Just(Op::Seal),
    ];
    prop::collection::vec(op, 1..if cfg!(miri) { 20 } else { 150 })
}

fn empty(order: &Order) -> Vec<u8> {
    let mut bytes = vec![0x55; PAGE];
    BranchMut::init(&mut bytes, 2, !order.has_views());
    bytes
}

/// Which child covers the view, by definition.
fn covering(model: &Model, view: &[u8], order: &Order) -> usize {
    model[1..].partition_point(|(s, _)| order.cmp(s, view) != Ordering::Greater)
}

fn check(bytes: &[u8], model: &Model, needles: &[Vec<u8>], order: &Order) {
    if model.is_empty() {
        assert_eq!(page::count(bytes), 0);
        return;
    }
    validate(bytes).unwrap();
    let branch = Branch::open(bytes).unwrap();
    assert_eq!(branch.len(), model.len());
    let mut separator = Vec::new();
    for (i, (wanted, child)) in model.iter().enumerate() {
        branch.separator(i, &mut separator).unwrap();
        assert_eq!((&separator, branch.child(i).unwrap()), (wanted, *child));
    }
    for view in needles.iter().chain(model.iter().map(|(s, _)| s)) {
        for view in [&view[..], &view[..view.len() / 2], &[&view[..], &[0]].concat(), b""] {
            let found = branch.search(&Needle::new(view, order), order).unwrap();
            assert_eq!(found, covering(model, view, order), "{view:?}, prefix {:?}", branch.prefix);
        }
    }
}

struct Pair {
    order: Order,
    bytes: Vec<u8>,
    model: Model,
    next: u64,
}

impl Pair {
    fn new(order: Order) -> Pair {
        Pair { bytes: empty(&order), order, model: Model::new(), next: 1 }
    }

    fn child(&mut self) -> Child {
        self.next += 1;
        Child::page(Pgno(self.next), 5)
    }

    fn apply(&mut self, op: &Op) {
        let n = self.model.len();
        match op {
            Op::Insert(view) => self.insert(view),
            Op::InsertFirst(view)
                if n > 0 && self.model.get(1).is_none_or(|(s, _)| self.order.cmp(view, s).is_lt()) =>
            {
                let child = self.child();
                if BranchMut::new(&mut self.bytes).insert(0, view, child) {
                    self.model[0].0 = view.clone();
                    self.model.insert(0, (Vec::new(), child));
                }
            }
            Op::MoveBorder(view) if n > 1 => self.move_border(view),
            Op::Remove(i) if n > 0 => {
                BranchMut::new(&mut self.bytes).remove(i % n);
                self.model.remove(i % n);
                self.model.first_mut().into_iter().for_each(|first| first.0.clear());
            }
            Op::SetChild(i) if n > 0 => {
                let child = self.child();
                BranchMut::new(&mut self.bytes).set_child(i % n, child);
                self.model[i % n].1 = child;
            }
            Op::Seal => BranchMut::new(&mut self.bytes).seal(),
            _ => {}
        }
    }

    fn insert(&mut self, view: &[u8]) {
        let child = self.child();
        let i = if self.model.is_empty() { 0 } else { 1 + covering(&self.model, view, &self.order) };
        if i > 1 && self.model[i - 1].0 == view {
            return;
        }
        let before = self.bytes.clone();
        if BranchMut::new(&mut self.bytes).insert(i, view, child) {
            self.model.insert(i, (if i == 0 { Vec::new() } else { view.to_vec() }, child));
        } else {
            assert_eq!(self.bytes, before, "a refused insertion changes nothing");
        }
    }

    /// Gives the nearest border this place.
    fn move_border(&mut self, view: &[u8]) {
        let i = covering(&self.model, view, &self.order).max(1);
        let before = self.bytes.clone();
        if BranchMut::new(&mut self.bytes).replace_separator(i, view) {
            self.model[i].0 = view.to_vec();
        } else {
            assert_eq!(self.bytes, before, "a refused replacement changes nothing");
        }
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn any_operations_agree_with_a_sorted_vector(order in orders(), ops in ops()) {
        let mut pair = Pair::new(order);
        let mut needles = Vec::new();
        for op in &ops {
            pair.apply(op);
            if let Op::Insert(view) = op {
                needles.push(view.clone());
            }
            check(&pair.bytes, &pair.model, &needles, &pair.order);
        }
    }

    #[test]
    fn a_damaged_page_never_panics(
        order in orders(),
        ops in ops(),
        flips in prop::collection::vec((prop_oneof![24..HEADER, HEADER..300, 0..PAGE], 0..8u8), 0..4),
        noise in prop::option::of(prop::collection::vec(any::<u8>(), PAGE)),
    ) {
        let mut pair = Pair::new(order);
        ops.iter().for_each(|op| pair.apply(op));
        let mut bytes = pair.bytes;
        if let Some(noise) = noise {
            bytes = noise;
            (bytes[24], bytes[27], bytes[29], bytes[33]) = (2, 0, bytes[29] & 3, bytes[33] & 1);
        }
        for (at, bit) in flips {
            bytes[at] ^= 1 << bit;
        }
        read_everything(&bytes, &pair.order);
        edit_if_valid(&mut bytes, &ops);
    }

    #[test]
    fn build_takes_what_fits_and_nothing_else(views in prop::collection::btree_set(view(), 1..80)) {
        let model: Model = (1..).map(|i| Child::page(Pgno(i), 1)).zip(views).map(|(c, v)| (v, c)).collect();
        let mut bytes = empty(&Order::Bytes);
        let before = bytes.clone();
        let fits = BranchMut::new(&mut bytes).build(model.clone());
        let mut one_by_one = empty(&Order::Bytes);
        let mut page = BranchMut::new(&mut one_by_one);
        let inserted = model.iter().enumerate().all(|(i, (view, child))| page.insert(i, view, *child));
        prop_assert_eq!(fits, inserted);
        if fits {
            let mut model = model;
            model[0].0.clear();
            check(&bytes, &model, &[], &Order::Bytes);
        } else {
            prop_assert_eq!(bytes, before);
        }
    }
}

fn read_everything(bytes: &[u8], order: &Order) {
    let Ok(branch) = Branch::open(bytes) else { return };
    let mut out = Vec::new();
    for i in 0..=branch.len() {
        let _ = (branch.child(i), branch.separator(i, &mut out));
    }
    let _ = (branch.used(), branch.free_space());
    for key in [&b""[..], b"common/ab", b"\0\0\0\0\0\0\0\0", b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"] {
        if let Ok(i) = branch.search(&Needle::new(key, order), order) {
            assert!(i < branch.len());
        }
    }
}

fn edit_if_valid(bytes: &mut [u8], ops: &[Op]) {
    for op in ops {
        if validate(bytes).is_err() {
            return;
        }
        let mut page = BranchMut::new(bytes);
        let n = page.len();
        match op {
            Op::Insert(view) | Op::InsertFirst(view) => {
                page.insert(view.len() % (n + 1), view, Child(3));
            }
            Op::MoveBorder(view) if n > 1 => {
                page.replace_separator(1 + view.len() % (n - 1), view);
            }
            Op::Remove(i) => page.remove(i % n),
            Op::SetChild(i) => page.set_child(i % n, Child(4)),
            _ => page.seal(),
        }
    }
}

#[test]
fn three_of_the_longest_keys_fit_whatever_they_share() {
    for size in [4096, 65536] {
        let longest = key_max(size);
        for whole in [false, true] {
            let mut bytes = vec![0; size];
            let mut page = BranchMut::init(&mut bytes, 2, whole);
            for i in 0..3u8 {
                assert!(page.insert(usize::from(i), &vec![i; longest], Child(u64::from(i))), "page size {size}");
            }
            validate(&bytes).unwrap();
        }
    }
}

#[test]
fn a_page_of_long_similar_separators_stores_their_common_part_once() {
    let mut bytes = vec![0; 4096];
    let mut page = BranchMut::init(&mut bytes, 2, false);
    let mut n = 0;
    while page.insert(n, format!("a/long/common/part/of/all/keys/{n:04}").as_bytes(), Child(n as u64)) {
        n += 1;
    }
    assert!(n >= 280, "{n} entries");
    assert_eq!(page.branch().prefix, b"a/long/common/part/of/all/keys/0");
}

#[test]
fn sealing_gives_a_prefix_to_a_page_whose_heads_are_all_the_same() {
    let mut bytes = vec![0; 4096];
    let mut page = BranchMut::init(&mut bytes, 2, false);
    for i in 0..10 {
        assert!(page.insert(i, format!("user:{i:06}").as_bytes(), Child(i as u64)));
    }
    assert_eq!(page.branch().prefix, b"");
    page.seal();
    assert_eq!(page.branch().prefix, b"user:00000");
    let order = Order::Bytes;
    for (key, child) in [("user:000007x", 7), ("user:000000", 0), ("a", 0), ("v", 9), ("user", 0)] {
        assert_eq!(page.branch().search(&Needle::new(key.as_bytes(), &order), &order), Ok(child), "{key}");
    }
}

#[test]
fn dirty_children_are_refused_in_a_page_from_the_file() {
    let mut bytes = vec![0; 4096];
    let mut page = BranchMut::init(&mut bytes, 2, false);
    page.insert(0, b"", Child::dirty(3));
    assert!(validate(&bytes).is_err());
}
