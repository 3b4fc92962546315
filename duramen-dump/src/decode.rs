//! Bytes from the text that stands for them.

use crate::problem::Problem;

/// The value of a hexadecimal digit.
pub fn nibble(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|n| u8::try_from(n).ok())
}

/// Bytes written as two hexadecimal digits each.
pub(crate) fn hex(data: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
    if !data.len().is_multiple_of(2) {
        return Err(Problem::OddDigits);
    }
    out.reserve(data.len() / 2);
    for (i, pair) in data.chunks_exact(2).enumerate() {
        match (nibble(pair[0]), nibble(pair[1])) {
            (Some(high), Some(low)) => out.push(high << 4 | low),
            _ => return Err(Problem::NoDigits { digits: pair.escape_ascii().to_string(), column: 2 * i + 2 }),
        }
    }
    Ok(())
}

/// Bytes written as they are where they can be printed, and as `\` and two digits elsewhere.
pub(crate) fn print(data: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
    let mut rest = data;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let code = match rest {
            [b'\\', ..] => Some((b'\\', 1)),
            [high, low, ..] => nibble(*high).zip(nibble(*low)).map(|(high, low)| (high << 4 | low, 2)),
            _ => None,
        };
        let (byte, used) = code.ok_or(Problem::Backslash)?;
        out.push(byte);
        rest = &rest[used..];
    }
    out.extend_from_slice(rest);
    Ok(())
}
