use std::collections::{BTreeMap, BTreeSet};

use roaring::RoaringBitmap;

use super::container::{LOW, add_to, both, changed, decode};
use super::copied::each_record;
use super::key::{key, trigram_key, value_of};
use super::*;
use crate::schema::AttributeId;
use crate::tables::{Id, Ids};

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
                let less = changed(&bytes, &[], &[low]);
                assert_eq!(less.is_some(), model.remove(&low));
                bytes = less.unwrap_or(bytes);
            } else {
                let more = changed(&bytes, &[low], &[]);
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
        let rare: Vec<u16> = model.iter().copied().step_by(97).collect();
        let others = encode(&rare.iter().copied().chain([spread]).collect::<Vec<u16>>());
        assert!(bytes.is_empty() || both(&bytes, &others) == rare && both(&others, &bytes) == rare);
        assert!((0..spread).all(|low| has(&bytes, low) == model.contains(&low)));
        assert!(bytes.len() <= 1024);
    }
}

#[test]
fn many_changes_of_a_container_at_once_are_those_changes() {
    let mut random = fastrand::Rng::with_seed(4);
    for round in 0..300 {
        let (mut model, mut bytes) = (BTreeSet::new(), Vec::new());
        // Scattered, and side by side.
        let spread = [40, 500, 8191][round % 3];
        for _ in 0..12 {
            let (start, length) = (random.u16(..spread), random.u16(..spread / 4));
            let some: BTreeSet<u16> = match random.bool() {
                true => (0..random.usize(..300)).map(|_| random.u16(..spread)).collect(),
                false => (start..spread.min(start + length)).collect(),
            };
            let (come, go): (Vec<u16>, Vec<u16>) =
                some.into_iter().partition(|low| random.u8(..8) > low.count_ones() as u8);
            let before = model.clone();
            model.extend(&come);
            model.retain(|low| go.binary_search(low).is_err());
            let now = changed(&bytes, &come, &go);
            assert_eq!(now.is_some(), model != before);
            bytes = now.unwrap_or(bytes);
            assert_eq!(read(&bytes), model.iter().copied().collect::<Vec<_>>());
            assert!(if bytes.is_empty() { model.is_empty() } else { is_container(&bytes) });
        }
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

fn keys(places: &BTreeSet<usize>) -> KeySet {
    let mut keys = KeySet::default();
    for place in places {
        let mut made = Vec::new();
        key(&mut made, ATTRIBUTE, Kind::Trigram, &TRIGRAMS[*place]);
        keys.insert(&made);
    }
    keys
}

/// Searches find whoever has all of some trigrams, and nobody who is not there; nobody else either if nothing is waiting, but
/// for a few of a window who have two of them.
fn check_searches(index: &duramen::Table<'_>, waiting: &Waiting<'_>, model: &Model) {
    for chosen in 1u32..1 << TRIGRAMS.len() {
        let places: BTreeSet<usize> = (0..TRIGRAMS.len()).filter(|place| chosen >> place & 1 == 1).collect();
        let wanted: Vec<Trigram> = places.iter().map(|place| TRIGRAMS[*place]).collect();
        let found = trigrams(index, waiting, ATTRIBUTE, &wanted, None, &Reach::all()).unwrap().into_bitmap();
        let right: RoaringBitmap =
            model.iter().filter(|(_, has)| has.is_superset(&places)).map(|(id, _)| *id).collect();
        assert!(found.is_superset(&right) && found.iter().all(|id| model.contains_key(&id)), "{places:?}");
        let more = &found - &right;
        assert!(
            !waiting.table.is_empty() || more.iter().all(|id| may_be_more(id, &found, model, &places)),
            "{places:?}"
        );
        check_within(index, waiting, &wanted, &right);
        check_portions(index, waiting, &wanted, &right);
    }
}

/// Whether one who lacks a trigram was not worth being told from others.
fn may_be_more(id: Id, found: &RoaringBitmap, model: &Model, places: &BTreeSet<usize>) -> bool {
    let first = id >> CONTAINER_BITS << CONTAINER_BITS;
    let of_window = found.range(first..=first | LOW).count();
    model[&id].intersection(places).count() >= 2 && of_window <= 1
}

/// Whoever has the trigrams and is among some is found, when only these matter.
fn check_within(index: &duramen::Table<'_>, waiting: &Waiting<'_>, wanted: &[Trigram], right: &RoaringBitmap) {
    for step in [1, 2, 5] {
        let some = Set::of_sorted(ids().into_iter().step_by(step).collect());
        let found = trigrams(index, waiting, ATTRIBUTE, wanted, Some(&some), &Reach::all()).unwrap().into_bitmap();
        assert!(found.is_superset(&(right & some.into_bitmap())), "every {step}th of {wanted:?}");
    }
}

/// What is found by portions, each of more windows than the one before, is what is found at once; or at least what is right,
/// of three trigrams and more, of which not all are looked at where few entries are left.
fn check_portions(index: &duramen::Table<'_>, waiting: &Waiting<'_>, wanted: &[Trigram], right: &RoaringBitmap) {
    let whole = trigrams(index, waiting, ATTRIBUTE, wanted, None, &Reach::all()).unwrap();
    let (mut found, mut from) = (Vec::new(), Some(0));
    for most in 1.. {
        let Some(begin) = from else { break };
        let reach = Reach::of(begin, most);
        let mut portion = trigrams(index, waiting, ATTRIBUTE, wanted, None, &reach).unwrap();
        from = reach.end();
        from.into_iter().for_each(|end| portion.cut(end));
        found.extend(portion.iter().filter(|id| *id >= begin));
        assert!(from.is_none_or(|end| end > begin), "{wanted:?}");
    }
    if wanted.len() <= 2 {
        assert_eq!(found, whole.iter().collect::<Vec<_>>(), "{wanted:?}");
    }
    assert!(found.is_sorted() && right.iter().all(|id| found.binary_search(&id).is_ok()), "{wanted:?}");
}

/// The index, and what is waiting, are what entries have.
fn check_contents(index: &duramen::Table<'_>, waiting: &duramen::Table<'_>, model: &Model) {
    for id in ids() {
        let waiting = waiting_changes(waiting, id).unwrap();
        for (place, trigram) in TRIGRAMS.into_iter().enumerate() {
            let key = trigram_key(ATTRIBUTE, id >> CONTAINER_BITS, trigram);
            let is_in = index.get(key).unwrap().is_some_and(|container| has(container, low_of(id)));
            let change = waiting.iter().find(|change| change.key() == key);
            assert!(change.is_none_or(|change| change.comes() != is_in), "what is waiting is to be done");
            let has = change.map_or(is_in, |change| change.comes());
            assert_eq!(has, model.get(&id).is_some_and(|places| places.contains(&place)), "{id}");
        }
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
fn entries_with_all_of_some_trigrams_are_found_in_whatever_windows_merged_or_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let db = duramen::Database::open(folder.path().join("index")).unwrap();
    let (mut random, mut model, ids) = (fastrand::Rng::with_seed(9), Model::new(), ids());
    for round in 0..60 {
        db.update(|txn| {
            let tables = Ids::open(txn)?;
            for _ in 0..random.usize(1..30) {
                let id = ids[random.usize(..ids.len())];
                let gone = random.usize(..3) == 0 || round == 59;
                let now = (!gone).then(|| (0..TRIGRAMS.len()).filter(|_| random.bool()).collect::<BTreeSet<usize>>());
                change_index(txn, tables, id, model.get(&id).map(keys), now.as_ref().map(keys))?;
                match now {
                    Some(now) => drop(model.insert(id, now)),
                    None => drop(model.remove(&id)),
                }
            }
            if random.usize(..3) == 0 { merge_all(txn) } else { Ok(()) }
        })
        .unwrap();
        let snapshot = db.read().unwrap();
        let (index, waiting) = (snapshot.table("index").unwrap(), snapshot.table("waiting").unwrap());
        check_contents(&index, &waiting, &model);
        check_searches(&index, &Waiting::of(waiting, 1).unwrap(), &model);
        let [told, kept] = windows(&index);
        assert_eq!(told, kept);
        let mut gathered = Windows::default();
        index.iter().for_each(|item| gathered.note(item.unwrap().0));
        assert!(gathered.into_records().all(|(key, container)| {
            index.get(&key).unwrap().is_some_and(|kept| decode(kept) == decode(&container))
        }));
    }
}

#[test]
fn of_what_came_while_it_is_waiting_only_what_has_all_trigrams_comes_into_question() {
    let folder = tempfile::tempdir().unwrap();
    let db = duramen::Database::open(folder.path().join("index")).unwrap();
    let set = |places: &[usize]| Some(keys(&places.iter().copied().collect()));
    db.update(|txn| {
        let tables = Ids::open(txn)?;
        for (id, places) in [(1, [0, 1]), (2, [0, 2]), (3, [0, 1])] {
            change_index(txn, tables, id, None, set(&places))?;
        }
        // It went and came back: a record of the same entry is no longer all there is of it.
        change_index(txn, tables, 4, None, set(&[0, 1, 2]))?;
        merge_all(txn)?;
        change_index(txn, tables, 4, set(&[0, 1, 2]), None)?;
        change_index(txn, tables, 4, None, set(&[0, 1, 3]))?;
        for (id, places) in [(5, [0, 1]), (6, [0, 2])] {
            change_index(txn, tables, id, None, set(&places))?;
        }
        change_index(txn, tables, 3, set(&[0, 1]), None)
    })
    .unwrap();
    let snapshot = db.read().unwrap();
    let (index, waiting) = (snapshot.table("index").unwrap(), snapshot.table("waiting").unwrap());
    let waiting = Waiting::of(waiting, 2).unwrap();
    let found = |wanted: &[Trigram]| {
        Vec::from_iter(trigrams(&index, &waiting, ATTRIBUTE, wanted, None, &Reach::all()).unwrap().into_bitmap())
    };
    assert_eq!(found(&[TRIGRAMS[0], TRIGRAMS[1]]), [1, 4, 5]);
    assert_eq!(found(&[TRIGRAMS[2]]), [2, 6]);
    assert_eq!(found(&[TRIGRAMS[0], TRIGRAMS[3]]), [4]);
}

#[test]
fn an_entry_with_very_many_trigrams_is_not_kept_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let db = duramen::Database::open(folder.path().join("index")).unwrap();
    let mut many = KeySet::default();
    for n in 0..3000u16 {
        let mut made = Vec::new();
        let [high, low] = n.to_be_bytes();
        key(&mut made, ATTRIBUTE, Kind::Trigram, &[b'x', high, low]);
        many.insert(&made);
    }
    db.update(|txn| {
        let tables = Ids::open(txn)?;
        change_index(txn, tables, 7, None, Some(many))
    })
    .unwrap();
    let snapshot = db.read().unwrap();
    let (index, waiting) = (snapshot.table("index").unwrap(), snapshot.table("waiting").unwrap());
    assert!(waiting.is_empty());
    let waiting = Waiting::of(waiting, 3).unwrap();
    assert_eq!(trigrams(&index, &waiting, ATTRIBUTE, &[[b'x', 11, 3]], None, &Reach::all()).unwrap(), Set::one(7));
}

/// What a thread remembers of them is what the table has: when it is asked for the first time, and again, whether it fits or is
/// too much, after it has changed, and beside another directory's.
#[test]
fn records_are_told_of_as_they_are_however_often_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let databases = [8u64, 9].map(|number| {
        let db = duramen::Database::open(folder.path().join(number.to_string())).unwrap();
        (number, db)
    });
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..12 {
        let (number, db) = &databases[random.usize(..2)];
        let records = if round % 4 == 3 { 80 } else { random.usize(1..60) };
        let stored: Vec<(Id, Vec<u8>)> = (1..=records as Id)
            .map(|id| {
                let bytes = 1 + 6 * random.usize(900..1000);
                (id * 3, std::iter::repeat_with(|| random.u8(..2)).take(bytes).collect())
            })
            .collect();
        db.update(|txn| {
            let mut waiting = txn.table("waiting")?;
            waiting.clear()?;
            stored.iter().try_for_each(|(id, bytes)| waiting.put(id.to_be_bytes(), bytes).map(drop))
        })
        .unwrap();
        let snapshot = db.read().unwrap();
        for _ in 0..4 {
            let waiting = Waiting::of(snapshot.table("waiting").unwrap(), *number).unwrap();
            let mut told = Vec::new();
            each_record(&waiting, |id, record| {
                let whole = std::iter::once(u8::from(record.is_whole));
                told.push((id, whole.chain(record.steps.iter().flatten().copied()).collect::<Vec<u8>>()));
            })
            .unwrap();
            assert_eq!(told, stored, "round {round}");
        }
    }
}

#[test]
fn no_value_has_the_key_of_a_longer_one() {
    let of = |value: &[u8]| {
        let mut out = Vec::new();
        key(&mut out, AttributeId(1), Kind::Equality, value);
        out
    };
    let long = [1; 500];
    // What its key has of it, as a value.
    let made = of(&long);
    let shown = &value_of(&[&made[..], &[0; 3]].concat()).unwrap().to_vec();
    assert_eq!(shown.len(), 400, "no zero is in it, that keys have otherwise");
    assert_ne!(of(shown), made);
    assert!(of(&long[..399])[3..].starts_with(&long[..399]) && !of(&long[..400])[3..].starts_with(&long[..400]));
}
