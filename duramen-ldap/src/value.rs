//! What values of many kinds are made of: text in UTF-8, integers as text.

use crate::error::TextError;

/// A value as text.
pub(crate) fn text(value: &[u8]) -> Result<&str, TextError> {
    std::str::from_utf8(value).map_err(|error| TextError::new(error.valid_up_to(), "UTF-8"))
}

/// RFC 4517 section 3.3.16: no needless zeros, no negative zero.
pub(crate) fn check_integer(value: &[u8]) -> Result<(), TextError> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let offset = value.len() - digits.len();
    if let Some(at) = digits.iter().position(|byte| !byte.is_ascii_digit()) {
        return Err(TextError::new(offset + at, "a digit"));
    }
    match digits {
        [] => Err(TextError::new(offset, "a digit")),
        [b'0', ..] if value.len() > 1 => Err(TextError::new(offset, "an integer without leading zeros")),
        _ => Ok(()),
    }
}
