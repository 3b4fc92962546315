//! Names in certificates, and as RFC 4514 writes them.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::OID;
use crate::ber::{Reader, tag};
use crate::dn::write_value;
use crate::error::DecodeError;

const UTF8_STRING: u8 = 0x0C;
const NUMERIC_STRING: u8 = 0x12;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const VISIBLE_STRING: u8 = 0x1A;
const UNIVERSAL_STRING: u8 = 0x1C;
const BMP_STRING: u8 = 0x1E;

/// A name: RDNs, the suffix's first.
#[derive(Debug)]
pub struct Name<'a> {
    rdns: Vec<Vec<Pair<'a>>>,
}

/// A type and a value.
#[derive(Debug)]
struct Pair<'a> {
    oid: String,
    tag: u8,
    content: &'a [u8],
    /// The value with its tag and length.
    element: &'a [u8],
}

impl<'a> Name<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Name<'a>, DecodeError> {
        let mut name = reader.sequence("a name")?;
        let mut rdns = Vec::new();
        while !name.is_empty() {
            let mut set = name.element(tag::SET, "an RDN")?;
            let mut rdn = vec![Pair::read(&mut set)?];
            while !set.is_empty() {
                rdn.push(Pair::read(&mut set)?);
            }
            rdns.push(rdn);
        }
        Ok(Name { rdns })
    }

    /// Appends the name as text (RFC 4514 section 2): the suffix comes last. `type_name` says how a type is written, of
    /// which it is given the number.
    pub fn write(&self, type_name: impl Fn(&str) -> &str, out: &mut String) {
        for (n, rdn) in self.rdns.iter().rev().enumerate() {
            for (m, pair) in rdn.iter().enumerate() {
                out.push_str(match (n, m) {
                    (0, 0) => "",
                    (_, 0) => ",",
                    _ => "+",
                });
                pair.write(type_name(&pair.oid), out).expect("a string takes whatever is written to it");
            }
        }
    }
}

impl<'a> Pair<'a> {
    fn read(set: &mut Reader<'a>) -> Result<Pair<'a>, DecodeError> {
        let mut pair = set.sequence("a type and a value")?;
        let oid = dotted(pair.element(OID, "an attribute type")?)?;
        let before = pair.rest();
        let (tag, content) = pair.any("a value")?;
        let element = &before[..before.len() - pair.rest().len()];
        pair.finish("the end of the value")?;
        Ok(Pair { oid, tag, content: content.rest(), element })
    }

    fn write(&self, type_name: &str, out: &mut String) -> fmt::Result {
        write!(out, "{type_name}=")?;
        match self.text() {
            Some(text) => write_value(out, text.as_bytes()),
            None => {
                out.push('#');
                self.element.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
            }
        }
    }

    /// The value if it is text.
    fn text(&self) -> Option<Cow<'a, str>> {
        let content = self.content;
        match self.tag {
            UTF8_STRING | NUMERIC_STRING | PRINTABLE_STRING | IA5_STRING | VISIBLE_STRING => {
                std::str::from_utf8(content).ok().map(Cow::Borrowed)
            }
            // T.61 by its book, Latin-1 as it is used.
            TELETEX_STRING => Some(content.iter().map(|&byte| char::from(byte)).collect()),
            BMP_STRING => {
                let (units, rest) = content.as_chunks::<2>();
                let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
                let text = char::decode_utf16(units).collect::<Result<String, _>>().ok()?;
                rest.is_empty().then_some(Cow::Owned(text))
            }
            UNIVERSAL_STRING => {
                let (units, rest) = content.as_chunks::<4>();
                let text = units.iter().map(|unit| char::from_u32(u32::from_be_bytes(*unit))).collect::<Option<_>>()?;
                rest.is_empty().then_some(Cow::Owned(text))
            }
            _ => None,
        }
    }
}

/// An OID's content as numbers between dots.
pub(super) fn dotted(content: Reader<'_>) -> Result<String, DecodeError> {
    let mut numbers = Vec::new();
    let mut number: u128 = 0;
    for octet in content.rest() {
        if number >> 121 != 0 {
            return content.fail("an OID of numbers of at most 128 bits");
        }
        number = number << 7 | u128::from(octet & 0x7F);
        if octet & 0x80 == 0 {
            numbers.push(std::mem::take(&mut number));
        }
    }
    let is_whole = content.rest().last().is_some_and(|octet| octet & 0x80 == 0);
    let [first, others @ ..] = numbers.as_slice() else { return content.fail("an OID") };
    if !is_whole {
        return content.fail("an OID");
    }
    // The first two numbers are one.
    let root = (*first / 40).min(2);
    let mut text = format!("{root}.{}", first - root * 40);
    others.iter().for_each(|number| write!(text, ".{number}").expect("a string takes whatever is written to it"));
    Ok(text)
}
