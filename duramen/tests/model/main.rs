//! The engine against a sorted map: random runs of every operation on every kind of table.
//!
//! Each test draws runs, and shrinks one that fails to its smallest form. It then prints the seed: set `DURAMEN_SEED`
//! to it to see the same runs again. `DURAMEN_CASES` says how many runs a test makes.

mod act;
mod compare;
mod kinds;
mod known;
mod operations;
mod reference;
mod rising;
#[path = "../roles/mod.rs"]
mod roles;
mod run;
mod special;
mod uneven;

use duramen::Durability;
use operations::{Flavour, Step, steps};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use run::{Setup, run};

const SMALL: Setup =
    Setup { page_size: 4096, memory_budget: 256 << 20, file_memory: 1 << 30, durability: Durability::Durable };

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Draws runs and compares; panics with the smallest that fails, and its seed.
fn explore(cases: u32, setup: Setup, runs: impl Strategy<Value = Vec<Step>>) {
    let fresh = || std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_nanos() as u64;
    let seed = number("DURAMEN_SEED").unwrap_or_else(fresh);
    let cases = number("DURAMEN_CASES").map_or(cases, |cases| cases as u32);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 3000, ..Config::default() };
    let outcome = TestRunner::new_with_rng(config, rng).run(&runs, |steps| run(setup, &steps));
    if let Err(failure) = outcome {
        panic!("DURAMEN_SEED={seed} {setup:?}: {failure}");
    }
}

#[test]
fn every_kind_of_table_is_a_sorted_map() {
    explore(400, SMALL, steps(Flavour::Tables, 60));
}

#[test]
fn relaxed_commits_store_the_same() {
    explore(120, Setup { durability: Durability::Relaxed, ..SMALL }, steps(Flavour::Tables, 60));
}

#[test]
fn large_pages_hold_the_same() {
    explore(120, Setup { page_size: 65536, ..SMALL }, steps(Flavour::Tables, 40));
}

#[test]
fn with_little_memory_for_the_file_everything_is_the_same() {
    explore(120, Setup { file_memory: 0, ..SMALL }, steps(Flavour::Bulk, 40));
}

#[test]
fn child_transactions_are_all_or_nothing() {
    explore(400, SMALL, steps(Flavour::Children, 80));
}

#[test]
fn cursors_stay_right_through_each_others_writes() {
    explore(400, SMALL, steps(Flavour::Cursors, 80));
}

#[test]
fn deep_trees_grow_and_shrink() {
    explore(200, SMALL, steps(Flavour::Bulk, 40));
}

#[test]
fn a_transaction_larger_than_its_memory_is_written_early() {
    explore(200, Setup { memory_budget: 1, ..SMALL }, steps(Flavour::Bulk, 40));
}

#[test]
fn child_transactions_larger_than_their_memory_are_all_or_nothing() {
    explore(200, Setup { memory_budget: 1, ..SMALL }, steps(Flavour::Children, 80));
}
