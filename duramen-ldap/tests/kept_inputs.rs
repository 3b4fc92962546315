//! Inputs kept for the fuzz targets, as they are and with a few bytes changed.

use std::panic::catch_unwind;
use std::path::Path;

mod visits;

/// Changed inputs, for each input kept; `DURAMEN_CASES` asks for more.
fn changes() -> u64 {
    std::env::var("DURAMEN_CASES").ok().and_then(|number| number.parse().ok()).unwrap_or(200)
}

/// Visits all inputs kept for a target, and changed ones made from a seed.
fn replay(target: &str, visit: fn(&[u8]) -> bool) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let inputs: Vec<_> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let mut accepted = 0;
    for (path, input) in paths.iter().zip(&inputs) {
        let visited = catch_unwind(|| visit(input));
        accepted += u32::from(visited.unwrap_or_else(|_| panic!("kept input {}", path.display())));
        for seed in 0..changes() {
            let changed = change(input, &inputs, seed);
            assert!(
                catch_unwind(|| visit(&changed)).is_ok(),
                "{}, changed by seed {seed}: {changed:?}",
                path.display()
            );
        }
    }
    assert!(
        accepted > 5,
        "{accepted} of {} kept inputs for {target} are accepted: too few to say anything",
        paths.len()
    );
}

/// Changes bytes, takes some away, or puts in some of another input.
fn change(input: &[u8], others: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut changed = input.to_vec();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(0..=changed.len());
        let to = (at + rng.usize(0..6)).min(changed.len());
        let other = &others[rng.usize(0..others.len())];
        let from = rng.usize(0..=other.len());
        let taken = &other[from..(from + rng.usize(0..6)).min(other.len())];
        match rng.u8(0..4) {
            0 => changed[at..to].iter_mut().for_each(|byte| *byte = rng.u8(..)),
            1 => drop(changed.drain(at..to)),
            _ => drop(changed.splice(at..to, taken.iter().copied())),
        }
    }
    changed
}

#[test]
fn what_was_kept_gives_errors_or_comes_back() {
    replay("message", visits::message);
    replay("filter", visits::filter);
    replay("dn", visits::dn);
    replay("ldif", visits::ldif);
    replay("schema", visits::schema);
    replay("certificate", visits::certificate);
    replay("value", visits::value);
    replay("url", visits::url);
}
