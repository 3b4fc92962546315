use std::collections::{BTreeMap, BTreeSet};

use roaring::RoaringBitmap;

use super::container::{add_to, both, decode, with, without};
use super::key::key;
use super::*;
use crate::schema::AttributeId;
use crate::tables::Id;

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
        let spread = [16, 300, 8191][round % 3];
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
        let other = encode(&model.iter().copied().filter(|low| low % 3 > 0).chain([spread]).collect::<Vec<u16>>());
        let common: Vec<u16> = model.iter().copied().filter(|low| low % 3 > 0).collect();
        assert!(bytes.is_empty() || both(&bytes, &other) == common && both(&other, &bytes) == common);
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
            key::put_window(&mut bytes, high);
            assert_eq!(window_of(&bytes), Some(high));
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

/// Ids on both sides of borders: of windows, and of windows of windows.
fn ids() -> Vec<Id> {
    let borders = [1, 1 << 13, 1 << 14, 100 << 13, 1 << 26, 1 << 27, 1 << 31];
    borders.iter().flat_map(|border| border - 1..border + 2).chain([Id::MAX]).collect()
}

const ATTRIBUTE: AttributeId = AttributeId(5);
const TRIGRAMS: [Trigram; 6] = [*b"abc", *b"abd", *b"a\0b", [255, 0, 255], [0, 0, 0], [1, b'a', 2]];

/// Trigrams, by their places, of entries.
type Model = BTreeMap<Id, BTreeSet<usize>>;

fn keys(places: Option<&BTreeSet<usize>>) -> KeySet {
    let mut keys = KeySet::default();
    for place in places.into_iter().flatten() {
        let mut made = Vec::new();
        key(&mut made, ATTRIBUTE, Kind::Trigram, &TRIGRAMS[*place]);
        keys.insert(&made);
    }
    keys
}

fn check_trigrams(index: &duramen::Table<'_>, model: &Model) {
    for chosen in 1u32..1 << TRIGRAMS.len() {
        let places: BTreeSet<usize> = (0..TRIGRAMS.len()).filter(|place| chosen >> place & 1 == 1).collect();
        let wanted: Vec<Trigram> = places.iter().map(|place| TRIGRAMS[*place]).collect();
        let found: Vec<Id> = trigrams(index, ATTRIBUTE, &wanted).unwrap().into_bitmap().into_iter().collect();
        let right = model.iter().filter(|(_, has)| has.is_superset(&places)).map(|(id, _)| *id);
        assert_eq!(found, right.collect::<Vec<_>>(), "{places:?}");
    }
}

/// Windows of trigrams, as the containers tell and as they are kept.
fn windows(index: &duramen::Table<'_>) -> [BTreeSet<(Vec<u8>, u32)>; 2] {
    let (mut told, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for item in index.iter() {
        let (key, container) = item.unwrap();
        let (mut of_trigram, window) = (Vec::new(), window_of(key).unwrap());
        if is_trigram(key) {
            key::windows_key(&mut of_trigram, key);
            told.insert((of_trigram, window));
        } else {
            let lows = decode(container).into_iter();
            kept.extend(lows.map(|low| (key[..key.len() - 3].to_vec(), window << CONTAINER_BITS | u32::from(low))));
        }
    }
    [told, kept]
}

#[test]
fn entries_with_all_of_some_trigrams_are_found_in_whatever_windows() {
    let folder = tempfile::tempdir().unwrap();
    let db = duramen::Database::open(folder.path().join("index")).unwrap();
    let (mut random, mut model, ids) = (fastrand::Rng::with_seed(9), Model::new(), ids());
    for round in 0..40 {
        db.update(|txn| {
            let mut index = txn.table("index")?;
            for _ in 0..random.usize(1..30) {
                let id = ids[random.usize(..ids.len())];
                let gone = random.usize(..3) == 0 || round == 39;
                let now = (!gone).then(|| (0..TRIGRAMS.len()).filter(|_| random.bool()).collect::<BTreeSet<usize>>());
                change_index(&mut index, id, keys(model.get(&id)), keys(now.as_ref()))?;
                match now {
                    Some(now) => drop(model.insert(id, now)),
                    None => drop(model.remove(&id)),
                }
            }
            Ok(())
        })
        .unwrap();
        let snapshot = db.read().unwrap();
        let index = snapshot.table("index").unwrap();
        check_trigrams(&index, &model);
        let [told, kept] = windows(&index);
        assert_eq!(told, kept);
        let mut gathered = Windows::default();
        index.iter().for_each(|item| gathered.note(item.unwrap().0));
        assert!(gathered.into_records().all(|(key, container)| {
            index.get(&key).unwrap().is_some_and(|kept| decode(kept) == decode(&container))
        }));
    }
}
