//! Which windows have a trigram.
//!
//! Owns: these, where containers are made all at once. Must not know: what a trigram is part of.

use std::collections::HashMap;

use duramen::Table;

use super::container::{CONTAINER_BITS, encode, has};
use super::key::{in_window, is_trigram, window_of, windows_key};
use super::write::low_of;

/// Gathers windows by trigram.
#[derive(Default)]
pub(crate) struct Windows {
    /// By the key, without its window, that they are to be under.
    of_trigrams: HashMap<Vec<u8>, Vec<u32>>,
    key: Vec<u8>,
}

impl Windows {
    /// Takes note of a container, which comes once, if it is a trigram's.
    pub fn note(&mut self, key: &[u8]) {
        let Some(window) = window_of(key).filter(|_| is_trigram(key)) else { return };
        windows_key(&mut self.key, key);
        match self.of_trigrams.get_mut(&self.key) {
            Some(windows) => windows.push(window),
            None => drop(self.of_trigrams.insert(self.key.clone(), vec![window])),
        }
    }

    /// Keys and containers, in no order.
    pub fn into_records(self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        self.of_trigrams.into_iter().flat_map(|(key, mut windows)| {
            windows.sort_unstable();
            let same = windows.chunk_by(|a, b| a >> CONTAINER_BITS == b >> CONTAINER_BITS);
            same.map(|windows| record(&key, windows)).collect::<Vec<_>>()
        })
    }
}

fn record(key: &[u8], windows: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let mut full = Vec::new();
    in_window(&mut full, key, windows[0] >> CONTAINER_BITS);
    (full, encode(&windows.iter().map(|window| low_of(*window)).collect::<Vec<u16>>()))
}

/// Whether a container has its window among those of its trigram. Others than a trigram's need not.
pub(crate) fn has_window(index: &Table<'_>, key: &[u8]) -> duramen::Result<bool> {
    let Some(window) = window_of(key).filter(|_| is_trigram(key)) else { return Ok(true) };
    let (mut of_trigram, mut full) = (Vec::new(), Vec::new());
    windows_key(&mut of_trigram, key);
    in_window(&mut full, &of_trigram, window >> CONTAINER_BITS);
    Ok(index.get(&full)?.is_some_and(|windows| has(windows, low_of(window))))
}
