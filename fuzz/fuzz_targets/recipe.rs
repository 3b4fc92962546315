//! Mutations of whole databases, found by small inputs: see `duramen_sim::hostile::recipe`.
#![no_main]

use std::sync::LazyLock;

use duramen_sim::hostile::{Scratch, seeds, visit_recipe};
use libfuzzer_sys::fuzz_target;

static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(seeds::all);
static SCRATCH: LazyLock<Scratch> = LazyLock::new(Scratch::new);

fuzz_target!(|data: &[u8]| {
    visit_recipe(&SCRATCH, &SEEDS, data);
});
