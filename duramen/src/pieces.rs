//! Copying long values.
//!
//! Owns: in what pieces. Must not know: what is copied.
//!
//! For more than some 2 KiB C libraries use a single instruction, `rep movsb`, where the processor says that it is fast.
//! On AMD's Zen 3 and 4 it is, unless the target lies up to 63 bytes further within its page than the source within its
//! own: then it takes ten times as long. Large pieces of memory begin 16 bytes into a page as `malloc` gives them, and
//! values lie behind headers, so this is not rare. Smaller pieces are copied by vector instructions, as fast as can be.

/// Fewer bytes than what `rep movsb` is used for.
const PIECE_BYTES: usize = 2048;

/// Copies all of `from` to `to`, which is as long.
#[inline]
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    if from.len() <= PIECE_BYTES {
        return to.copy_from_slice(from);
    }
    assert_eq!(to.len(), from.len());
    to.chunks_mut(PIECE_BYTES).zip(from.chunks(PIECE_BYTES)).for_each(|(to, from)| to.copy_from_slice(from));
}

/// Appends all of `from` to `to`.
pub(crate) fn append(to: &mut Vec<u8>, from: &[u8]) {
    to.reserve(from.len());
    from.chunks(PIECE_BYTES).for_each(|piece| to.extend_from_slice(piece));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_copied_whatever_the_length() {
        for len in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 5 * PIECE_BYTES, 5 * PIECE_BYTES + 7] {
            let from: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let (mut to, mut appended) = (vec![0; len], vec![9]);
            copy(&mut to, &from);
            append(&mut appended, &from);
            assert!(to == from && appended[1..] == from, "{len}");
        }
    }
}
