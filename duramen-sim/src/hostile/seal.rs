//! Right checksums for wrong pages, so that what stands behind the checksums is tried too.
//!
//! Owns: where checksums and page numbers stand in a file (as the file format says; a test holds it against the
//! engine). Must not know: what the pages hold.

use xxhash_rust::xxh3::xxh3_64_with_seed;

const SLOT: usize = 4096;
const SLOTS: usize = 4;
const SLOT_TAIL_BYTES: usize = 192;
const SLOT_TAIL_SUM: usize = 240;
const SLOT_SUM: usize = 248;
const SLOT_TAIL: usize = 256;
const SLOT_RECEIPT: usize = 3584;
const MAGIC: &[u8] = b"DURAMEN\x1a";
const RUN_HEADER: usize = 64;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Page size and id of a file, by the slot with the highest sequence number, as far as they can be.
pub fn identity(file: &[u8]) -> Option<(usize, u64)> {
    let slots = file.chunks_exact(SLOT).take(SLOTS).filter(|slot| slot.starts_with(MAGIC));
    let newest = slots.max_by_key(|slot| word(slot, 40))?;
    let page_size = half(newest, 12);
    let possible = (4096..=65536).contains(&page_size) && page_size.is_power_of_two();
    possible.then(|| (page_size, word(newest, 32)))
}

/// Gives every meta page and page of a file the checksum that it should have; with `renumber` also its own number.
pub fn reseal(file: &mut [u8], renumber: bool) {
    for slot in file.chunks_exact_mut(SLOT).take(SLOTS).filter(|slot| slot.starts_with(MAGIC)) {
        let id = word(slot, 32);
        let tail_bytes = word(slot, SLOT_TAIL_BYTES).min((SLOT - SLOT_TAIL) as u64) as usize;
        let tail = xxh3_64_with_seed(&slot[SLOT_TAIL..][..tail_bytes], id);
        slot[SLOT_TAIL_SUM..SLOT_SUM].copy_from_slice(&tail.to_le_bytes());
        let head = xxh3_64_with_seed(&slot[..SLOT_SUM], id);
        slot[SLOT_SUM..SLOT_TAIL].copy_from_slice(&head.to_le_bytes());
        if word(slot, SLOT_RECEIPT) != 0 && tail_bytes <= SLOT_RECEIPT - SLOT_TAIL {
            let receipt = xxh3_64_with_seed(&slot[..SLOT_TAIL], id);
            slot[SLOT_RECEIPT..][..8].copy_from_slice(&receipt.to_le_bytes());
        }
    }
    let Some((page_size, id)) = identity(file) else { return };
    let pages = file.len() / page_size;
    let mut page = (SLOT * SLOTS).div_ceil(page_size);
    while page < pages {
        page += reseal_page(&mut file[page * page_size..pages * page_size], page_size, page, id, renumber);
    }
}

/// Reseals the page (or run) at the start of `rest`; how many pages it has.
fn reseal_page(rest: &mut [u8], page_size: usize, page: usize, id: u64, renumber: bool) -> usize {
    let is_run = matches!(rest[24], 5 | 6);
    let (end, pages) = match is_run {
        false => (page_size, 1),
        true => (RUN_HEADER + half(rest, 28), half(rest, 36).max(1)),
    };
    if end > rest.len() || pages > rest.len() / page_size || !matches!(rest[24], 2..=7) {
        return 1;
    }
    if renumber {
        rest[8..16].copy_from_slice(&(page as u64).to_le_bytes());
    }
    let sum = xxh3_64_with_seed(&rest[8..end], id);
    rest[..8].copy_from_slice(&sum.to_le_bytes());
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostile::seeds;

    #[test]
    fn whole_files_have_the_checksums_already() {
        for seed in seeds::all() {
            let mut again = seed.clone();
            reseal(&mut again, true);
            // What is free may be anything; what is in use is found again.
            let scratch = crate::hostile::Scratch::new();
            assert_eq!(scratch.check(&again), Ok(0), "nothing to be found");
            let mut flipped = seed.clone();
            let middle = flipped.len() - 100;
            flipped[middle] ^= 1;
            reseal(&mut flipped, true);
            assert!(scratch.check(&flipped).is_ok(), "no checksum is wrong after resealing");
        }
    }
}
