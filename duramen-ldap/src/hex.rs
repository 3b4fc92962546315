//! Two hex digits and the byte they stand for.

use std::fmt;

/// The byte that two hex digits stand for.
pub(crate) fn byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    Some(digit(*high)? << 4 | digit(*low)?)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Writes a backslash and two hex digits for each byte.
pub(crate) fn write_escaped(out: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "\\{byte:02x}"))
}
