//! Integers of any size as byte strings that sort as the integers do.
//!
//! A non-negative integer is its number of decimal digits, then the digits, two in a byte; zero has none. In front
//! stands a bit, which is set. A negative one is its absolute value with all bits turned over.

use crate::error::TextError;

/// Digit counts from this on take four more bytes.
const LONG: u8 = 0x7F;

/// Appends the key of the integer that `value` writes in decimal (RFC 4517 section 3.3.16).
pub(super) fn key(value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    let (negative, digits) = split(value)?;
    let start = out.len();
    match u8::try_from(digits.len()) {
        Ok(count) if count < LONG => out.push(0x80 | count),
        _ => {
            let count = u32::try_from(digits.len()).map_err(|_| TextError::new(0, "fewer digits"))?;
            out.push(0xFF);
            out.extend_from_slice(&count.to_be_bytes());
        }
    }
    let pack = |two: &[u8]| (two[0] - b'0') << 4 | two.get(1).map_or(0, |low| low - b'0');
    out.extend(digits.chunks(2).map(pack));
    if negative && !digits.is_empty() {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

/// Appends the integer that `value` writes in decimal as it is written with the fewest characters.
pub(super) fn decimal(value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    let (negative, digits) = split(value)?;
    match (negative, digits.is_empty()) {
        (_, true) => out.push(b'0'),
        (true, false) => out.push(b'-'),
        (false, false) => {}
    }
    out.extend_from_slice(digits);
    Ok(())
}

/// Whether there is a minus, and the digits without zeros in front: none of zero.
fn split(value: &[u8]) -> Result<(bool, &[u8]), TextError> {
    let (negative, digits) = match value.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    let offset = usize::from(negative);
    if let Some(at) = digits.iter().position(|byte| !byte.is_ascii_digit()) {
        return Err(TextError::new(offset + at, "a digit"));
    }
    if digits.is_empty() {
        return Err(TextError::new(offset, "a digit"));
    }
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    Ok((negative, &digits[zeros..]))
}
