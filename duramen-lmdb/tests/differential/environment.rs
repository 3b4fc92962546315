//! What concerns the environment as a whole, in the midst of transactions or between them.
//!
//! Owns: which of it may be asked when.

use duramen_lmdb::abi::env;
use fastrand::Rng;

/// The flags that a world's environment is opened with. Commits do not wait for the disk.
pub fn flags(seed: u64) -> u32 {
    let more = [0, 0, env::WRITEMAP, env::WRITEMAP | env::MAPASYNC, env::NORDAHEAD | env::NOMEMINIT, env::NOMETASYNC];
    let nolock = if (seed / 6).is_multiple_of(4) { env::NOLOCK } else { 0 };
    env::NOTLS | env::NOSYNC | more[(seed % 6) as usize] | nolock
}

#[derive(Clone, Debug)]
pub enum Environment {
    Sync {
        force: bool,
    },
    SetFlags {
        flags: u32,
        on: bool,
    },
    /// Limits, and the count of readers.
    Info,
    ReaderCheck,
    /// A copy that is opened and read.
    Copy {
        compact: bool,
    },
    MapSize {
        bytes: usize,
    },
}

impl Environment {
    /// One that may be asked for in this state. LMDB moves its map when its size is set, and waits for the writer to copy what is there.
    pub fn choose(rng: &mut Rng, writing: bool, reading: bool) -> Option<Environment> {
        // Those by which commits do not wait for the disk.
        let flags = [env::NOMETASYNC, env::MAPASYNC, env::NOMETASYNC | env::MAPASYNC];
        match rng.u32(0..100) {
            0..10 => Some(Environment::Sync { force: rng.bool() }),
            10..20 => Some(Environment::SetFlags { flags: flags[rng.usize(0..3)], on: rng.bool() }),
            20..50 => Some(Environment::Info),
            50..70 => Some(Environment::ReaderCheck),
            70..80 if !writing => Some(Environment::Copy { compact: rng.bool() }),
            80..100 if !writing && !reading => {
                let sizes = [0, 1 << 30, 100 << 20, 3 << 30, (1 << 30) + 4096];
                Some(Environment::MapSize { bytes: sizes[rng.usize(0..sizes.len())] })
            }
            _ => None,
        }
    }
}
