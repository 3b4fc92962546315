//! Mutations as data: a seed file, flags, and steps of eight bytes. Any bytes are a recipe.
//!
//! Owns: what the steps mean. Must not know: what the engine makes of the result.

use super::seal;

/// Bytes of a step.
const STEP: usize = 8;
/// Most steps of a recipe.
const STEPS_MAX: usize = 64;
/// Longest file that a recipe makes.
const BYTES_MAX: usize = 1 << 20;

/// Give the pages right checksums.
const RESEAL: u8 = 1;
/// Give the pages right numbers too.
const RENUMBER: u8 = 2;

/// Fields of a page's header: offset and bytes.
const PAGE_FIELDS: [(usize, usize); 12] =
    [(8, 8), (16, 8), (24, 1), (25, 1), (26, 2), (28, 2), (30, 2), (28, 4), (32, 2), (34, 2), (36, 4), (24, 2)];

/// Fields of a meta page.
const META_FIELDS: [(usize, usize); 24] = [
    (8, 4),
    (12, 4),
    (24, 4),
    (32, 8),
    (40, 8),
    (48, 8),
    (56, 8),
    (64, 8),
    (72, 8),
    (80, 8),
    (88, 8),
    (96, 8),
    (104, 4),
    (108, 4),
    (128, 8),
    (136, 8),
    (144, 8),
    (152, 8),
    (160, 8),
    (168, 8),
    (176, 8),
    (192, 8),
    (256, 8),
    (264, 8),
];

struct Step {
    op: u8,
    page: usize,
    at: usize,
    value: u32,
}

impl Step {
    fn read(bytes: &[u8]) -> Step {
        let at = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        let value = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        Step { op: bytes[0], page: usize::from(bytes[1]), at, value }
    }

    /// The value as a number that may be of interest.
    fn number(&self) -> u64 {
        let low = u64::from(self.value & 0xffff);
        match self.value >> 28 {
            0..6 => low,
            6 => u64::from(self.value),
            7 => u64::MAX - low,
            8 => 1 << (low % 64),
            9 => (1 << (low % 64)) - 1,
            10 => low | 1 << 47,
            11 => low | low << 48,
            12 => (1 << 47) - 1 - low,
            13 => u64::from(u32::MAX) - low,
            14 => 0xffff - low % 0x1000,
            _ => low << 12,
        }
    }
}

/// The kind of visit that a byte of flags asks for.
pub fn visit_of(flags: u8) -> u8 {
    flags >> 2
}

/// A recipe with random steps.
pub fn random(rng: &mut fastrand::Rng) -> Vec<u8> {
    let steps = [1, 1, 2, 3, 6, 12][rng.usize(..6)];
    (0..2 + steps * STEP).map(|_| rng.u8(..)).collect()
}

/// The file that a recipe makes of the seeds.
pub fn cook(recipe: &[u8], seeds: &[Vec<u8>]) -> Vec<u8> {
    let (&[seed, flags], _) = recipe.split_first_chunk().unwrap_or((&[0, 0], &[]));
    let mut file = seeds[usize::from(seed) % seeds.len()].clone();
    alter(&mut file, recipe);
    if flags & RESEAL != 0 {
        seal::reseal(&mut file, flags & RENUMBER != 0);
    }
    file
}

/// Does a recipe's steps to a file.
pub fn alter(file: &mut Vec<u8>, recipe: &[u8]) {
    let page_size = seal::identity(file).map_or(4096, |(page_size, _)| page_size);
    for step in recipe.get(2..).unwrap_or(&[]).chunks_exact(STEP).take(STEPS_MAX) {
        mutate(file, page_size, &Step::read(step));
    }
}

/// A file from its bytes and, as the last one, the flags that say what to seal.
pub fn sealed(data: &[u8]) -> Vec<u8> {
    let (&flags, file) = data.split_last().unwrap_or((&0, &[]));
    let mut file = file.to_vec();
    if flags & RESEAL != 0 {
        seal::reseal(&mut file, flags & RENUMBER != 0);
    }
    file
}

fn mutate(file: &mut Vec<u8>, page_size: usize, step: &Step) {
    let pages = file.len() / page_size;
    if pages == 0 {
        return;
    }
    let page = step.page % pages * page_size;
    let other = step.value as usize % pages * page_size;
    match step.op % 16 {
        0 => file[page + step.at % page_size] ^= 1 << (step.value % 8),
        1 => set(file, page + step.at % page_size, 1, step.number()),
        2 => set(file, page + step.at % page_size, 2, step.number()),
        3 => set(file, page + step.at % page_size, 4, step.number()),
        4 => set(file, page + step.at % page_size, 8, step.number()),
        5 => file.copy_within(other..other + page_size, page),
        6 => (0..page_size).for_each(|i| file.swap(page + i, other + i)),
        7 => file[page..page + page_size].fill(step.value as u8),
        8 => file.truncate(page + step.at % page_size),
        9 if file.len() < BYTES_MAX => file.extend_from_within(page..page + page_size),
        10 | 11 => {
            let (at, bytes) = PAGE_FIELDS[step.at % PAGE_FIELDS.len()];
            set(file, page + at, bytes, step.number());
        }
        12 => set(file, page + 40 + step.at % 160, 2, step.number()),
        13 => {
            let (at, bytes) = META_FIELDS[step.at % META_FIELDS.len()];
            set(file, step.page % 4 * 4096 + at, bytes, step.number());
        }
        14 => {
            let bytes = 1 + step.page % 64;
            let (from, to) = (page + step.at % page_size, page + step.value as usize % page_size);
            if from.max(to) + bytes <= file.len() {
                file.copy_within(from..from + bytes, to);
            }
        }
        _ => set(file, page + page_size - 1 - step.at % 512, 8, step.number()),
    }
}

/// Stores the low bytes of a number, as far as the file is long.
fn set(file: &mut [u8], at: usize, bytes: usize, number: u64) {
    if let Some(place) = file.get_mut(at..at + bytes) {
        place.copy_from_slice(&number.to_le_bytes()[..bytes]);
    }
}
