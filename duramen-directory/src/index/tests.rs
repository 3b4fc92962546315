use std::collections::BTreeSet;

use roaring::RoaringBitmap;

use super::container::add_to;
use super::key::key;
use super::*;
use crate::schema::AttributeId;

fn read(bytes: &[u8]) -> Vec<u16> {
    let mut set = RoaringBitmap::new();
    add_to(&mut set, 0, bytes);
    set.iter().map(|id| id as u16).collect()
}

#[test]
fn containers_hold_what_was_put_in_whatever_their_form() {
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..60 {
        let (mut model, mut bytes) = (BTreeSet::new(), Vec::new());
        let spread = [16, 300, 8192][round % 3];
        for _ in 0..random.usize(1..3000) {
            let low = random.u16(..spread);
            if random.u8(..4) == 0 {
                let less = if bytes.is_empty() { None } else { without(&bytes, low) };
                assert_eq!(less.is_some(), model.remove(&low));
                bytes = less.unwrap_or(bytes);
            } else {
                let more = if bytes.is_empty() { Some(encode(&[low])) } else { with(&bytes, low) };
                assert_eq!(more.is_some(), model.insert(low));
                bytes = more.unwrap_or(bytes);
            }
            assert!(bytes.is_empty() || is_container(&bytes));
        }
        assert_eq!(read(&bytes), model.iter().copied().collect::<Vec<_>>());
        assert_eq!(count(&bytes), model.len() as u64);
        assert!((0..spread).all(|low| has(&bytes, low) == model.contains(&low)));
        assert!(bytes.len() <= 1024);
    }
}

#[test]
fn ids_side_by_side_take_a_few_bytes() {
    assert_eq!(encode(&(0..8192).collect::<Vec<u16>>()).len(), 5);
    assert_eq!(encode(&[7]).len(), 2);
}

#[test]
fn keys_sort_as_values_do_and_end_where_their_value_does() {
    let values: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"\0a", b"a", b"a\0", b"ab"];
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for value in values {
        for high in [0, 0x7_FFFF] {
            let mut bytes = Vec::new();
            key(&mut bytes, AttributeId(1), Kind::Equality, value);
            put_high(&mut bytes, high);
            assert_eq!(high_of(&bytes), Some(high));
            keys.push(bytes);
        }
    }
    assert!(keys.is_sorted());
    let long = |last: u8| {
        let mut bytes = Vec::new();
        key(&mut bytes, AttributeId(1), Kind::Equality, &[vec![b'x'; 5000], vec![last]].concat());
        bytes
    };
    assert!(long(1) != long(2) && long(1).len() < 500);
}
