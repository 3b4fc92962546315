//! Files that are damaged, or made to do harm: an error or an answer, never a crash. The fuzzer (`cargo xtask fuzz`)
//! goes on where this ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use std::path::Path;

use duramen_sim::hostile::{Scratch, exercise, recipe, seal, seeds, visit_file, visit_recipe};

fn exercise_recipes(seeds_of_recipes: std::ops::Range<u64>) -> u64 {
    let (files, scratch) = (seeds::all(), Scratch::new());
    let mut opened = 0;
    for seed in seeds_of_recipes {
        let recipe = recipe::random(&mut fastrand::Rng::with_seed(seed));
        let file = recipe::cook(&recipe, &files);
        match catch_unwind(AssertUnwindSafe(|| exercise(&scratch, &file))) {
            Ok(how_far) => opened += u64::from(how_far > 0),
            Err(_) => panic!("recipe of seed {seed}: {recipe:?}"),
        }
    }
    opened
}

#[test]
fn mutated_files_give_errors_or_answers() {
    let opened = exercise_recipes(0..10_000);
    assert!(opened > 2000, "{opened} of 10000 files opened: too few to say anything");
}

#[test]
fn files_cut_off_anywhere_give_errors_or_answers() {
    let scratch = Scratch::new();
    for file in seeds::all() {
        for bytes in (0..file.len()).step_by(509) {
            exercise(&scratch, &file[..bytes]);
        }
    }
}

#[test]
fn whole_files_open_and_can_be_written_to() {
    let scratch = Scratch::new();
    for (i, file) in seeds::all().iter().enumerate() {
        assert_eq!(scratch.check(file), Ok(0), "seed file {i}");
        assert_eq!(exercise(&scratch, file), 5, "seed file {i}");
    }
}

/// Gives the inputs that the fuzzer's runs left for a target (`cargo xtask fuzz --keep`) to what the target does.
fn replay(target: &str, visit: impl Fn(&[u8]) -> u32) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let (mut inputs, mut opened) = (0, 0);
    for entry in std::fs::read_dir(&kept).unwrap() {
        let path = entry.unwrap().path();
        let input = std::fs::read(&path).unwrap();
        match catch_unwind(AssertUnwindSafe(|| visit(&input))) {
            Ok(how_far) => opened += u32::from(how_far > 0),
            Err(_) => panic!("kept input {}", path.display()),
        }
        inputs += 1;
    }
    assert!(inputs > 10 && opened > 5, "{opened} of {inputs} kept inputs for {target} open: too few to say anything");
}

#[test]
fn what_the_fuzzer_kept_gives_errors_or_answers() {
    let (files, scratch) = (seeds::all(), Scratch::new());
    replay("recipe", |input| visit_recipe(&scratch, &files, input));
    replay("file", |input| visit_file(&scratch, input));
}

const PAGE: usize = 4096;

/// The child pointers of the branch at the beginning of `page`.
fn children(page: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    let half = |at: usize| usize::from(u16::from_le_bytes([page[at], page[at + 1]]));
    let (count, prefix) = (half(26), half(32).next_multiple_of(8));
    page[40 + prefix + 4 * count..][..8 * count].chunks_exact_mut(8)
}

/// A file whose table (the main one is "") has so many levels, of one page each: all children of a branch are the same page.
/// (Its lowest branch is copied, level by level.) Nothing is to be proven, unless all is.
fn file_of_ways_that_meet(table: &str, depth: u8, proven: bool) -> Vec<u8> {
    let directory = duramen_sim::scratch();
    let path = directory.path().join("ways.dm");
    let db = duramen::Database::options().without_lock_file().open(&path).unwrap();
    db.bulk_load(table, duramen::BulkOptions::new())
        .and_then(|mut load| {
            (0..3000u32).try_for_each(|i| load.push(i.to_be_bytes(), [7; 60]))?;
            load.finish()
        })
        .unwrap();
    db.close().unwrap();
    let mut file = std::fs::read(&path).unwrap();
    let mut branch = file.chunks_exact(PAGE).skip(4).find(|page| page[24] == 2).expect("a branch").to_vec();
    let mut below = children(&mut branch).next().expect("a child").to_vec();
    for level in 2..=depth {
        branch[25] = level;
        children(&mut branch).for_each(|child| child.copy_from_slice(&below));
        below = ((file.len() / PAGE) as u64 | 0xffff << 48).to_le_bytes().to_vec();
        file.extend(&branch);
    }
    let pages = (file.len() / PAGE) as u64;
    let lengthen = |record: &mut [u8]| {
        record[..6].copy_from_slice(&below[..6]);
        // Entries, branches and leaves: as many as can be.
        for (at, most) in [(8, 1u64 << 62), (16, 1 << 47), (24, 1 << 47)] {
            record[at..at + 8].copy_from_slice(&most.to_le_bytes());
        }
        record[40] = depth;
    };
    for slot in file.chunks_exact_mut(PAGE).take(4).filter(|slot| slot[48..56] != [0; 8]) {
        slot[56..64].copy_from_slice(&pages.to_le_bytes());
        if table.is_empty() {
            lengthen(&mut slot[64..112]);
        }
        if proven {
            slot.copy_within(48..56, 128);
        } else {
            slot[128..136].fill(0);
            // Nor is there a receipt.
            slot[3584..3592].fill(0);
        }
    }
    seal::reseal(&mut file, true);
    if !table.is_empty() {
        change_leaves_with(&mut file, table.as_bytes(), |leaf, _, cell| {
            lengthen(&mut leaf[cell + table.len().next_multiple_of(2)..][..48])
        });
    }
    file
}

#[test]
fn a_check_goes_into_each_page_once_however_many_ways_lead_there() {
    for depth in [2, 32] {
        let findings = Scratch::new().check(&file_of_ways_that_meet("", depth, true)).unwrap();
        assert!(findings > 1, "{findings} findings in {depth} levels");
    }
}

#[test]
fn a_commit_is_not_proven_by_more_pages_than_there_are() {
    let (_dir, db) = opened(&file_of_ways_that_meet("", 32, false));
    assert_eq!(db.read().unwrap().txnid(), duramen::Txnid(0));
}

#[test]
fn no_more_pages_are_freed_than_there_are() {
    for depth in [4, 32] {
        let (_dir, db) = opened(&file_of_ways_that_meet("t", depth, true));
        let mut txn = db.begin_write().unwrap();
        assert!(is_damage(txn.drop_table("t")), "{depth} levels");
    }
}

/// A file as a database left it that was filled like this.
fn file_with(fill: impl FnOnce(&mut duramen::WriteTxn<'_>) -> duramen::Result<()>) -> Vec<u8> {
    let directory = duramen_sim::scratch();
    let path = directory.path().join("sound.dm");
    let db = duramen::Database::options().without_lock_file().open(&path).unwrap();
    db.update(fill).unwrap();
    db.close().unwrap();
    std::fs::read(&path).unwrap()
}

fn half(page: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([page[at], page[at + 1]]))
}

/// Changes the leaves in which a cell has this key, given with the offset of that cell's slot and of the cell; right
/// checksums for all.
fn change_leaves_with(file: &mut [u8], key: &[u8], change: impl Fn(&mut [u8], usize, usize)) {
    let mut changed = 0;
    for leaf in file.chunks_exact_mut(PAGE).skip(4).filter(|page| page[24] == 7) {
        for i in 0..half(leaf, 26) {
            let slot = 40 + 4 * half(leaf, 26) + 6 * i;
            let cell = half(leaf, slot);
            if half(leaf, slot + 2) & 0x3fff == key.len() && leaf[cell..].starts_with(key) {
                change(leaf, slot, cell);
                changed += 1;
            }
        }
    }
    assert!(changed > 0, "no leaf has the key {key:?}");
    seal::reseal(file, false);
}

/// Takes steps until there is nothing more; whether damage ended them.
fn ends_in_damage<T: std::fmt::Debug>(mut step: impl FnMut() -> duramen::Result<Option<T>>) -> bool {
    loop {
        match step() {
            Ok(Some(_)) => {}
            end => return is_damage(end),
        }
    }
}

#[test]
fn no_walk_goes_from_a_leaf_to_one_with_lesser_keys() {
    let mut file = file_with(|txn| {
        let mut table = txn.table("t")?;
        (0..3000u32).try_for_each(|i| table.put(i.to_be_bytes(), [7; 60]))
    });
    let branch = file.chunks_exact_mut(PAGE).skip(4).find(|page| page[24] == 2 && page[25] == 2).expect("a branch");
    let mut swapped: Vec<&mut [u8]> = children(branch).skip(5).take(2).collect();
    let (one, other) = swapped.split_at_mut(1);
    one[0].swap_with_slice(other[0]);
    seal::reseal(&mut file, false);
    let (_dir, db) = opened(&file);
    let snapshot = db.read().unwrap();
    let table = snapshot.table("t").unwrap();
    let (mut forwards, mut backwards) = (table.iter(), table.iter().rev());
    assert!(ends_in_damage(|| forwards.next().transpose()) && ends_in_damage(|| backwards.next().transpose()));
    let (mut forwards, mut backwards) = (table.cursor(), table.cursor());
    assert!(ends_in_damage(|| forwards.next()) && ends_in_damage(|| backwards.prev()));
    let mut txn = db.begin_write().unwrap();
    let id = txn.open_table("t", None).unwrap();
    let (mut forwards, mut backwards) = (txn.cursor(id).unwrap(), txn.cursor(id).unwrap());
    assert!(ends_in_damage(|| forwards.next(&txn)) && ends_in_damage(|| backwards.prev(&txn)));
}

/// Opens a changed file.
fn opened(file: &[u8]) -> (tempfile::TempDir, duramen::Database) {
    let directory = duramen_sim::scratch();
    let path = directory.path().join("hostile.dm");
    std::fs::write(&path, file).unwrap();
    let db = duramen::Database::options().without_lock_file().open(&path).unwrap();
    (directory, db)
}

fn is_damage<T: std::fmt::Debug>(result: duramen::Result<T>) -> bool {
    matches!(result, Err(duramen::Error::Corrupt { .. }))
}

#[test]
fn a_cursor_whose_search_met_damage_can_be_moved_on() {
    let number = u64::to_be_bytes;
    let mut file = file_with(|txn| {
        let mut table = txn.table("t")?;
        (0..20).try_for_each(|i| table.put(number(i), "value"))
    });
    change_leaves_with(&mut file, &number(15), |leaf, slot, _| leaf[slot..slot + 2].fill(0xff));
    let (_dir, db) = opened(&file);
    let snapshot = db.read().unwrap();
    let table = snapshot.table("t").unwrap();
    let mut cursor = table.cursor();
    let first = Some((&number(0)[..], &b"value"[..]));
    assert_eq!(cursor.first().unwrap(), first);
    assert!(is_damage(cursor.seek(number(15))));
    assert_eq!(cursor.current().unwrap(), None);
    assert!(cursor.count().is_err());
    assert_eq!(cursor.next().unwrap(), first);
}

#[test]
fn a_cursor_whose_search_met_damage_among_the_values_of_a_key_can_be_moved_on() {
    let number = u64::to_be_bytes;
    let duplicates = duramen::TableOptions::new().duplicates(duramen::Duplicates::sorted());
    let mut file = file_with(|txn| {
        let mut table = txn.table_with("t", &duplicates)?;
        table.put("a", "value")?;
        (0..100).try_for_each(|i| table.put("b", [[7; 40], [number(i)[7]; 40]].concat()))
    });
    // The values' leaf says that it has none.
    change_leaves_with(&mut file, &[[7; 40], [99; 40]].concat(), |leaf, slot, _| leaf[slot..slot + 2].fill(0xff));
    let (_dir, db) = opened(&file);
    let snapshot = db.read().unwrap();
    let mut cursor = snapshot.table("t").unwrap().cursor();
    let first = Some((&b"a"[..], &b"value"[..]));
    assert_eq!(cursor.first().unwrap(), first);
    assert!(is_damage(cursor.seek_pair("b", [[7; 40], [99; 40]].concat())));
    assert_eq!(cursor.current().unwrap(), None);
    assert_eq!(cursor.next().unwrap(), first);
}

#[test]
fn a_value_that_is_longer_than_any_of_several_may_be_gets_no_tree() {
    let duplicates = duramen::TableOptions::new().duplicates(duramen::Duplicates::sorted());
    let mut file = file_with(|txn| {
        let mut table = txn.table_with("t", &duplicates)?;
        [(1, 300), (2, 900)].into_iter().try_for_each(|(byte, len)| table.put("key1", vec![byte; len]))
    });
    // The first value is said to be empty: then the second has 1,200 bytes.
    change_leaves_with(&mut file, b"key1", |leaf, _, cell| leaf[cell + 4 + 2..][..2].fill(0));
    let (_dir, db) = opened(&file);
    assert!(is_damage(db.update(|txn| txn.table_with("t", &duplicates)?.put("key1", vec![3; 900]))));
}

#[test]
fn a_page_that_is_joined_with_its_neighbour_is_looked_at_before() {
    let number = u64::to_be_bytes;
    let mut file = file_with(|txn| {
        let mut table = txn.table("t")?;
        (0..80).try_for_each(|i| table.append(number(i), [7; 100]))?;
        table.append(number(80), [9; 9000])
    });
    // The value in the last of three leaves is said to lie in a writer's memory.
    change_leaves_with(&mut file, &number(80), |leaf, _, cell| leaf[cell + 8 + 5] |= 0x80);
    let (_dir, db) = opened(&file);
    let emptied = db.update(|txn| {
        let mut table = txn.table("t")?;
        (34..68).try_for_each(|i| table.delete(number(i)).map(drop))
    });
    assert!(is_damage(emptied));
    assert_eq!(db.read().unwrap().table("t").unwrap().get(number(0)).unwrap(), Some(&[7; 100][..]));
}

#[test]
fn a_renaming_that_meets_damage_leaves_a_transaction_that_can_only_be_aborted() {
    let mut file = file_with(|txn| ["a", "b"].iter().try_for_each(|name| txn.table(name)?.put("key", "value")));
    // Nothing is wrong with what is found there; but so many bytes are not used.
    change_leaves_with(&mut file, b"a", |leaf, _, _| leaf[30] += 2);
    let (_dir, db) = opened(&file);
    let mut txn = db.begin_write().unwrap();
    assert!(is_damage(txn.rename_table("a", "z")));
    assert!(matches!(txn.drop_table("a"), Err(duramen::Error::TxnFailed)));
    assert!(matches!(txn.commit(), Err(duramen::Error::TxnFailed)));
    assert_eq!(db.read().unwrap().table("a").unwrap().get("key").unwrap(), Some(&b"value"[..]));
}

#[test]
fn more_duplicates_than_can_be_counted_are_damage() {
    let duplicates = duramen::TableOptions::new().duplicates(duramen::Duplicates::sorted());
    let keys = 0..100u8;
    let mut file = file_with(|txn| {
        let mut table = txn.table_with("t", &duplicates)?;
        let mut pairs = keys.clone().flat_map(|key| (0..30u8).map(move |value| (key, value)));
        pairs.try_for_each(|(key, value)| table.put([key; 8], [value; 100]))
    });
    for key in keys {
        let count = (1u64 << 62).to_le_bytes();
        change_leaves_with(&mut file, &[key; 8], |leaf, _, cell| leaf[cell + 8 + 8..][..8].copy_from_slice(&count));
    }
    let (_dir, db) = opened(&file);
    assert!(is_damage(db.update(|txn| txn.table_with("t", &duplicates)?.clear())));
}

#[test]
fn a_search_in_a_write_transaction_follows_no_way_out_of_the_file() {
    let number = u64::to_be_bytes;
    let mut file = file_with(|txn| {
        let mut table = txn.table("t")?;
        (0..200).try_for_each(|i| table.append(number(i), [7; 100]))
    });
    // All leaves are said to be the first page in a writer's memory.
    for branch in file.chunks_exact_mut(PAGE).skip(4).filter(|page| page[24] == 2) {
        children(branch).for_each(|child| child.copy_from_slice(&(1_u64 << 47).to_le_bytes()));
    }
    seal::reseal(&mut file, false);
    let (_dir, db) = opened(&file);
    let mut txn = db.begin_write().unwrap();
    txn.table("other").unwrap().put(number(7), "an entry of another table").unwrap();
    assert!(is_damage(txn.table("t").unwrap().get(number(7))));
}
