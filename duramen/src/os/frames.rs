//! Memory for pages that are being changed.
//!
//! Owns: frames, each for one page, by number, with a note on each. Must not know: what is in them, what the notes say.
//!
//! # Safety
//! A frame's memory is a part of a chunk that no other frame has. It stays where it is as long as the frames do, and nobody else
//! has it: who borrows the frames borrows it. What is handed out is made of the frame's own address alone: who has one mutably
//! says nothing of the others, to which somebody may still have references. A chunk's address is taken once, since each time it is
//! taken from the chunk those that were taken before go bad.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

use super::direct::Block;
use super::memory;

/// Bytes allocated at once: little, since a handle may be opened for a single small transaction.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that stay when all frames are given up (64 MiB).
const KEPT_CHUNKS: usize = 256;

/// Frames of the same size, with a note of type `T` on each.
pub(crate) struct Frames<T> {
    size: usize,
    frames: Vec<Frame<T>>,
    chunks: Vec<Chunk>,
}

struct Frame<T> {
    memory: NonNull<u8>,
    note: T,
}

/// Aligned as the file's pages are in the map: what is copied from there, and to the kernel, is copied fastest so.
struct Chunk {
    start: NonNull<u8>,
    memory: Block,
}

// SAFETY: the memory belongs to the frames, and to nobody else.
unsafe impl<T: Send> Send for Frames<T> {}
// SAFETY: as above; who shares them can only read it.
unsafe impl<T: Sync> Sync for Frames<T> {}

impl<T> Frames<T> {
    /// None yet, each of `size` bytes: a power of two.
    pub(crate) fn new(size: usize) -> Frames<T> {
        assert!(size.is_power_of_two() && size <= CHUNK_BYTES, "frames that do not fill a chunk");
        Frames { size, frames: Vec::new(), chunks: Vec::new() }
    }

    /// Bytes in a frame.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// One more, with any content; and where the memory lies that was allocated for it, if some was.
    pub(crate) fn add(&mut self, note: T) -> Option<Range<*const u8>> {
        let offset = self.frames.len() * self.size;
        let is_full = offset == self.chunks.len() * CHUNK_BYTES;
        if is_full {
            self.chunks.push(Chunk::new());
        }
        let chunk = self.chunks[offset / CHUNK_BYTES].start;
        // SAFETY: it lies within the chunk, since chunks are filled by whole frames.
        let memory = unsafe { chunk.add(offset % CHUNK_BYTES) };
        self.frames.push(Frame { memory, note });
        let start = chunk.as_ptr().cast_const();
        is_full.then(|| start..start.wrapping_add(CHUNK_BYTES))
    }

    /// Gives all up; much of the memory stays.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        let kept = self.chunks.len().min(KEPT_CHUNKS);
        self.chunks.drain(kept..).for_each(|mut chunk| memory::give_back(&mut chunk.memory));
    }

    /// The note on a frame and what is in it, if there is such a frame.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<(&T, &[u8])> {
        let frame = self.frames.get(index as usize)?;
        // SAFETY: see the module's head.
        Some((&frame.note, unsafe { slice::from_raw_parts(frame.memory.as_ptr(), self.size) }))
    }

    /// What is in a frame that there is, to be changed.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, index: u32) -> &mut [u8] {
        let frame = &self.frames[index as usize];
        // SAFETY: see the module's head.
        unsafe { slice::from_raw_parts_mut(frame.memory.as_ptr(), self.size) }
    }

    /// The note on a frame that there is.
    #[inline]
    pub(crate) fn note_mut(&mut self, index: u32) -> &mut T {
        &mut self.frames[index as usize].note
    }

    /// Copies what is in a frame over what is in another.
    pub(crate) fn copy(&mut self, from: u32, to: u32) {
        assert_ne!(from, to, "a frame copied over itself");
        let (from, to) = (self.frames[from as usize].memory, self.frames[to as usize].memory);
        // SAFETY: two frames, which share nothing.
        unsafe { from.copy_to_nonoverlapping(to, self.size) };
    }
}

impl Chunk {
    fn new() -> Chunk {
        let mut memory = Block::new(CHUNK_BYTES);
        Chunk { start: NonNull::from(&mut memory[..]).cast(), memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough for several chunks.
    fn some(n: u32) -> Frames<u32> {
        let mut frames = Frames::new(4096);
        for i in 0..n {
            frames.add(i);
            let bytes = frames.bytes_mut(i);
            (bytes[0], bytes[4095]) = (i as u8, i as u8);
        }
        frames
    }

    #[test]
    fn each_has_its_own_memory_and_note() {
        let frames = some(200);
        for i in 0..200 {
            let (note, bytes) = frames.get(i).expect("it was added");
            assert_eq!((*note, bytes.len()), (i, 4096));
            assert_eq!((bytes[0], bytes[4095]), (i as u8, i as u8));
            assert_eq!(bytes.as_ptr().addr() % 4096, 0);
        }
        assert!(frames.get(200).is_none());
    }

    #[test]
    fn memory_is_told_of_when_it_is_allocated() {
        let mut frames = Frames::new(65536);
        let told: Vec<bool> = (0..8).map(|i| frames.add(i).is_some()).collect();
        assert_eq!(told, [true, false, false, false, true, false, false, false]);
        let first = frames.get(0).expect("it was added").1.as_ptr();
        frames.clear();
        assert!(frames.get(0).is_none());
        assert_eq!(frames.add(8), None);
        assert_eq!(frames.get(0).map(|(note, bytes)| (*note, bytes.as_ptr())), Some((8, first)));
    }

    #[test]
    fn a_copy_changes_nothing_else() {
        let mut frames = some(130);
        frames.copy(1, 129);
        *frames.note_mut(129) = 7;
        let at = |i| frames.get(i).map(|(note, bytes)| (*note, bytes[0], bytes[4095]));
        assert_eq!([at(1), at(128), at(129)], [Some((1, 1, 1)), Some((128, 128, 128)), Some((7, 1, 1))]);
    }
}
