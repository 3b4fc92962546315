//! Whole files, as they are or with right checksums (as the last byte says).
#![no_main]

use std::sync::LazyLock;

use duramen_sim::hostile::{Scratch, recipe, visit_file};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static SCRATCH: LazyLock<Scratch> = LazyLock::new(Scratch::new);

fuzz_target!(|data: &[u8]| {
    visit_file(&SCRATCH, data);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut rng = fastrand::Rng::with_seed(u64::from(seed));
    if rng.bool() {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut file = data[..size].to_vec();
    recipe::alter(&mut file, &recipe::random(&mut rng));
    let size = file.len().min(max_size);
    data[..size].copy_from_slice(&file[..size]);
    size
});
