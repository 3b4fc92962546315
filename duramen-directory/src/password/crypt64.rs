//! The digits of `crypt`: six bits a character, in an order of their own.
//!
//! Owns: the alphabet. Must not know: which bytes a form writes in which order.

pub(super) const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Three bytes in four characters each, fewer at the end in one more than they are; the lowest bits of the last of them first.
pub(super) fn print<'b>(groups: impl IntoIterator<Item = &'b [u8]>) -> String {
    let mut text = String::new();
    for group in groups {
        let value = group.iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
        text.extend((0..=group.len()).map(|n| char::from(ALPHABET[(value >> (6 * n)) as usize & 0x3F])));
    }
    text
}
