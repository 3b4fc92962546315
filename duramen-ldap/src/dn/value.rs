//! Values in names: escapes and the hex form (RFC 4514 sections 2.4 and 3).

use std::borrow::Cow;
use std::fmt;

use crate::ber::{Reader, tag};
use crate::hex;

/// UTF8String, NumericString, PrintableString, TeletexString, IA5String: types whose content is the value.
const STRING_TAGS: [u8; 6] = [tag::OCTETS, 0x0C, 0x12, 0x13, 0x14, 0x16];

/// The value that checked text stands for.
pub(super) fn read(raw: &str) -> Cow<'_, [u8]> {
    if let Some(digits) = raw.strip_prefix('#') {
        return Cow::Owned(decode_hex(digits.as_bytes()).unwrap_or_default());
    }
    let raw = raw.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"')).unwrap_or(raw);
    if raw.contains('\\') { Cow::Owned(unescape(raw.as_bytes())) } else { Cow::Borrowed(raw.as_bytes()) }
}

/// The value whose BER encoding the hex digits are: a string's content, or the whole encoding of anything else.
pub(super) fn decode_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let encoding: Vec<u8> = digits.chunks(2).map(hex::byte).collect::<Option<_>>()?;
    let mut reader = Reader::new(&encoding);
    let (tag, content) = reader.any("an element").ok()?;
    reader.finish("the end").ok()?;
    Some(if STRING_TAGS.contains(&tag) { content.rest().to_vec() } else { encoding })
}

/// Whether an encoding, as it is written from the `#` on, is that of a string.
pub(super) fn is_of_string(written: &str) -> bool {
    written.as_bytes().get(1..3).and_then(hex::byte).is_some_and(|tag| STRING_TAGS.contains(&tag))
}

fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        match (raw[at], raw.get(at + 1)) {
            (b'\\', Some(&byte)) if is_escapable(byte) => {
                value.push(byte);
                at += 2;
            }
            (b'\\', Some(_)) => {
                value.extend(raw.get(at + 1..at + 3).and_then(hex::byte));
                at += 3;
            }
            (byte, _) => {
                value.push(byte);
                at += 1;
            }
        }
    }
    value
}

/// What may stand behind a backslash as itself.
pub(super) fn is_escapable(byte: u8) -> bool {
    matches!(byte, b' ' | b'#' | b'=' | b'"' | b'+' | b',' | b';' | b'<' | b'>' | b'\\')
}

/// Writes `attribute=value`, the value with its escapes.
pub fn write_ava(out: &mut impl fmt::Write, attribute: &str, value: &[u8]) -> fmt::Result {
    out.write_str(attribute)?;
    out.write_char('=')?;
    write_value(out, value)
}

/// Writes a value with the escapes it needs in a name: also for control characters and what is not UTF-8.
pub fn write_value(out: &mut impl fmt::Write, value: &[u8]) -> fmt::Result {
    let last = value.len().saturating_sub(1);
    let stands_for_itself = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'@');
    if let Ok(text) = std::str::from_utf8(value)
        && value.iter().all(stands_for_itself)
    {
        return out.write_str(text);
    }
    let mut at = 0;
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                ' ' if at == 0 || at == last => out.write_str("\\ ")?,
                '#' if at == 0 => out.write_str("\\#")?,
                '"' | '+' | ',' | ';' | '<' | '>' | '\\' => {
                    out.write_char('\\')?;
                    out.write_char(c)?;
                }
                '\x00'..='\x1F' | '\x7F' => hex::write_escaped(out, &[c as u8])?,
                _ => out.write_char(c)?,
            }
            at += c.len_utf8();
        }
        hex::write_escaped(out, chunk.invalid())?;
        at += chunk.invalid().len();
    }
    Ok(())
}
