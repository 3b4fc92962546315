//! Power cuts at any moment of seeded workloads. `cargo xtask crash` judges as many more as one likes.

use duramen::BulkOptions;
use duramen_sim::crash::{self, Tally};
use duramen_sim::disk::Mark;
use duramen_sim::judge::{Depth, Judge};
use duramen_sim::model::{Kind, Model, TableModel};
use duramen_sim::platter::Platters;
use duramen_sim::workload::{Commits, Life, Profile};

fn judge_workloads(seeds: std::ops::Range<u64>, images: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        match crash::workload(seed, images) {
            Ok(more) => tally.add(more),
            Err(finding) => panic!("workload {seed}: {finding}"),
        }
    }
    assert!(tally.newest > 0 && tally.oldest > 0, "the power was cut early and late: {tally:?}");
    tally
}

#[test]
fn after_a_power_cut_a_database_has_the_state_of_a_commit_and_none_before_the_last_durable_one() {
    let tally = judge_workloads(1..90, 24);
    assert!(tally.faults > 0, "calls to the disk failed before, too: {tally:?}");
}

#[test]
fn after_a_power_cut_what_many_handles_and_threads_did_is_there_in_its_order() {
    let mut tally = Tally::default();
    for seed in 1..16 {
        tally.add(crash::crowd(seed, 40).unwrap_or_else(|finding| panic!("crowd {seed}: {finding}")));
    }
    assert!(tally.newest > 0 && tally.oldest > 0, "the power was cut early and late: {tally:?}");
}

#[test]
fn a_transaction_of_more_pages_than_one_flush_proves_is_there_or_not_there() {
    // Multiples of 150 are big.
    judge_workloads(150..151, 150);
}

/// There the flush of a meta page fails, and the write that takes it back, too; then the file is opened again.
#[test]
fn a_meta_page_that_is_in_the_page_cache_alone_is_not_built_on() {
    judge_workloads(53396..53397, 250);
}

/// Without a lock file the first transaction does that, and the disk fails it.
#[test]
fn what_was_found_and_cannot_be_written_again_harms_nothing() {
    judge_workloads(71178..71179, 40);
}

#[test]
fn a_creation_may_be_cut_off_anywhere() {
    let tally = crash::creations(1, 200).unwrap_or_else(|finding| panic!("{finding}"));
    assert!(tally.images > 250, "{tally:?}");
}

#[test]
fn a_judge_finds_a_lost_commit_a_torn_page_and_a_wrong_state() {
    let mut rng = fastrand::Rng::with_seed(7);
    let commits = Commits::Durable;
    let profile = Profile { commits, kills: false, faults: false, steps: 12, ..Profile::small(&mut rng) };
    let mut life = Life::begin(profile.clone(), 3);
    life.live().unwrap();
    let mut platters = Platters::new(&Default::default(), Default::default());
    life.disk.events().iter().for_each(|event| {
        platters.apply(event);
    });
    let image = platters.files(&platters.nth(0));
    let mut judge = Judge::new(life.states.clone(), profile.page_size);
    let depth = Depth { write: false, again: (0, 0) };
    let newest = life.states.len() - 1;
    let allowed = platters.allowed().clone();
    assert_eq!(judge.judge(&image, &allowed, depth, &mut rng), Ok(newest));

    let mut more = allowed.clone();
    more.mark(Mark::Durable(0));
    judge.judge(&image, &duramen_sim::platter::Allowed::only(0), depth, &mut rng).unwrap_err();

    let torn: Vec<String> = (32..image.data.len() / 512)
        .filter_map(|sector| {
            let mut image = image.clone();
            image.data[sector * 512..sector * 512 + 512].fill(0);
            judge.judge(&image, &allowed, depth, &mut rng).err()
        })
        .collect();
    assert!(!torn.is_empty(), "not one sector of the file matters");
}

#[test]
fn a_table_loaded_as_a_whole_is_there_or_not_there() {
    for (seed, records, sorted) in [(1, 300, false), (2, 300, true), (3, 5000, false)] {
        let mut rng = fastrand::Rng::with_seed(seed);
        let profile = Profile { commits: Commits::Durable, kills: false, ..Profile::small(&mut rng) };
        let mut life = Life::begin(profile.clone(), seed);
        life.open().unwrap().unwrap();
        let mut after = Model::default();
        let mut table = TableModel::new(Kind::Large);
        let mut txn = life.db().unwrap().begin_write().unwrap();
        let options = BulkOptions::new().memory_budget(1 << 16).sorted(sorted);
        let mut load = txn.bulk_load("t", options).unwrap();
        for i in 0..records as u32 {
            let key = (if sorted { i } else { i.wrapping_mul(0x9E37_79B9) }).to_be_bytes();
            let value = vec![i as u8; if i % 9 == 0 { 20_000 } else { 1500 }];
            load.push(key, &value).unwrap();
            table.put(&key, &value);
        }
        load.finish().unwrap();
        after.tables.insert(b"t".to_vec(), table);
        life.commit(txn, after, true).unwrap();
        life.close().unwrap();
        let tally = crash::judge(&life, &profile, if records > 1000 { 30 } else { 150 }, &mut rng).unwrap();
        assert!(tally.newest > 0 && tally.oldest > 0, "{tally:?}");
    }
}
