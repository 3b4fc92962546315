//! Keys and values as the command line writes them: text, hexadecimal, numbers, or the bytes as they are.
//!
//! Owns: both directions. Text in is taken as it is; text out escapes what would not be text (`\` and two hexadecimal
//! digits), so that an entry stays on its line and a terminal is safe.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use clap::ValueEnum;
use duramen_dump::nibble;
use serde_json::{Map, Value};

use crate::failure::{Failure, Result};

/// How keys and values are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Form {
    /// As text, other bytes escaped as \xx
    Text,
    /// Two hexadecimal digits a byte
    Hex,
    /// The bytes as they are
    Raw,
}

/// How keys and values are read and printed.
#[derive(clap::Args, Clone, Copy)]
pub struct FormArgs {
    /// Keys and values are hexadecimal, on the command line and in the output
    #[arg(long)]
    pub hex: bool,
    /// How keys and values are printed
    #[arg(long, value_enum, value_name = "FORM")]
    output: Option<Form>,
}

impl FormArgs {
    /// The form of the output.
    pub fn form(&self) -> Form {
        self.output.unwrap_or(if self.hex { Form::Hex } else { Form::Text })
    }
}

/// What the bytes of a key or value mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Text, or anything.
    Bytes,
    /// An unsigned integer in the machine's byte order; so many bytes when it is written.
    Number(usize),
}

/// The bytes that an argument stands for.
pub fn parse(argument: &OsStr, hex: bool, meaning: Meaning) -> Result<Vec<u8>> {
    match meaning {
        _ if hex => parse_hex(argument.as_bytes()),
        Meaning::Bytes => Ok(argument.as_bytes().to_vec()),
        Meaning::Number(width) => {
            let wrong = || {
                Failure::Usage(format!("{} is not a number of {width} bytes, as this table takes", argument.display()))
            };
            let n: u64 = argument.to_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
            match width {
                4 => Ok(u32::try_from(n).map_err(|_| wrong())?.to_ne_bytes().to_vec()),
                _ => Ok(n.to_ne_bytes().to_vec()),
            }
        }
    }
}

/// The bytes that hexadecimal digits stand for; white space between them is skipped.
pub fn parse_hex(text: &[u8]) -> Result<Vec<u8>> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        Failure::Usage(format!("{text:?} is not hexadecimal: two digits a byte, as in 00ff"))
    })
}

/// Two hexadecimal digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number that the bytes are, if they mean one.
fn number(bytes: &[u8], meaning: Meaning) -> Option<u64> {
    if meaning == Meaning::Bytes {
        return None;
    }
    match bytes.len() {
        4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// Writes a field of a line: text without line breaks, tabs and other controls.
pub fn write_field(out: &mut impl Write, bytes: &[u8], form: Form, meaning: Meaning) -> io::Result<()> {
    match form {
        Form::Raw => out.write_all(bytes),
        Form::Hex => out.write_all(hex(bytes).as_bytes()),
        Form::Text => match number(bytes, meaning) {
            Some(n) => write!(out, "{n}"),
            None => write_escaped(out, bytes, |c| c.is_control() || c == '\\'),
        },
    }
}

/// Writes a value that stands alone. As text, line breaks and backslashes are its own affair.
pub fn write_value(out: &mut impl Write, bytes: &[u8], form: Form, meaning: Meaning) -> io::Result<()> {
    if form != Form::Text || number(bytes, meaning).is_some() {
        return write_field(out, bytes, form, meaning);
    }
    write_text(out, bytes)
}

/// Writes text of several lines so that nothing in it is a command to the terminal.
pub fn write_text(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    write_escaped(out, text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

fn write_escaped(out: &mut impl Write, bytes: &[u8], escape: impl Fn(char) -> bool) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        let mut written = 0;
        for (at, c) in text.char_indices().filter(|&(_, c)| escape(c)) {
            out.write_all(&text.as_bytes()[written..at])?;
            written = at + c.len_utf8();
            write_codes(out, &text.as_bytes()[at..written])?;
        }
        out.write_all(&text.as_bytes()[written..])?;
        write_codes(out, chunk.invalid())?;
    }
    Ok(())
}

fn write_codes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    bytes.iter().try_for_each(|byte| write!(out, "\\{byte:02x}"))
}

/// Adds a field to a JSON object: a number, a string, or (what is no text, or if hexadecimal was asked for) the digits
/// under `NAME_hex`.
pub fn add_json(object: &mut Map<String, Value>, name: &str, bytes: &[u8], form: Form, meaning: Meaning) {
    let plain = match (form, number(bytes, meaning)) {
        (Form::Hex, _) => None,
        (_, Some(n)) => Some(Value::from(n)),
        _ => std::str::from_utf8(bytes).ok().map(Value::from),
    };
    match plain {
        Some(value) => object.insert(name.to_string(), value),
        None => object.insert(format!("{name}_hex"), Value::from(hex(bytes))),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_keep_an_entry_on_its_line_and_values_keep_their_line_breaks() {
        let bytes = b"a\tb\n\\ \xc3\xa4\xff\x1b[0m";
        let field = shown(|out| write_field(out, bytes, Form::Text, Meaning::Bytes));
        assert_eq!(field, "a\\09b\\0a\\5c ä\\ff\\1b[0m");
        let value = shown(|out| write_value(out, bytes, Form::Text, Meaning::Bytes));
        assert_eq!(value, "a\tb\n\\ ä\\ff\\1b[0m");
        assert_eq!(shown(|out| write_field(out, b"\x00\xff", Form::Hex, Meaning::Bytes)), "00ff");
    }

    #[test]
    fn numbers_are_read_and_shown_as_numbers() {
        let bytes = parse(OsStr::new("258"), false, Meaning::Number(4)).unwrap();
        assert_eq!(bytes, 258u32.to_ne_bytes());
        assert_eq!(shown(|out| write_value(out, &bytes, Form::Text, Meaning::Number(4))), "258");
        assert!(parse(OsStr::new("4294967296"), false, Meaning::Number(4)).is_err());
        assert!(parse(OsStr::new("x"), false, Meaning::Number(8)).is_err());
    }

    #[test]
    fn hexadecimal_takes_whole_bytes_only() {
        assert_eq!(parse_hex(b"00 fF\n").unwrap(), [0, 255]);
        assert!(parse_hex(b"0").is_err());
        assert!(parse_hex(b"0g").is_err());
    }

    #[test]
    fn json_names_what_is_hexadecimal() {
        let mut object = Map::new();
        add_json(&mut object, "key", b"\"k\"", Form::Text, Meaning::Bytes);
        add_json(&mut object, "value", b"\xff", Form::Text, Meaning::Bytes);
        add_json(&mut object, "n", &7u64.to_ne_bytes(), Form::Text, Meaning::Number(8));
        assert_eq!(Value::from(object).to_string(), r#"{"key":"\"k\"","n":7,"value_hex":"ff"}"#);
    }
}
