//! Files that are damaged, or made to do harm: an error or an answer, never a crash. The fuzzer (`cargo xtask fuzz`)
//! goes on where this ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use std::path::Path;

use duramen_sim::hostile::{Scratch, exercise, recipe, seeds, visit_file, visit_recipe};

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
