//! Filters in their string form (RFC 4515).

use std::fmt;

use super::{Extensible, Filter, Node, Substring, Substrings};
use crate::attribute::Assertion;
use crate::ber::List;
use crate::hex::write_escaped;

impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        match self.node() {
            Node::And(filters) => write_list(f, '&', filters)?,
            Node::Or(filters) => write_list(f, '|', filters)?,
            Node::Not(filter) => write!(f, "!{filter}")?,
            Node::Equality(assertion) => write_assertion(f, assertion, "=")?,
            Node::Substrings(substrings) => write_substrings(f, substrings)?,
            Node::GreaterOrEqual(assertion) => write_assertion(f, assertion, ">=")?,
            Node::LessOrEqual(assertion) => write_assertion(f, assertion, "<=")?,
            Node::Present(description) => write!(f, "{description}=*")?,
            Node::Approx(assertion) => write_assertion(f, assertion, "~=")?,
            Node::Extensible(extensible) => write_extensible(f, extensible)?,
            Node::Unknown(..) => f.write_str("?=undefined")?,
        }
        f.write_str(")")
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, operator: char, filters: List<'_, Filter<'_>>) -> fmt::Result {
    write!(f, "{operator}")?;
    filters.iter().try_for_each(|filter| fmt::Display::fmt(&filter, f))
}

fn write_assertion(f: &mut fmt::Formatter<'_>, assertion: Assertion<'_>, operator: &str) -> fmt::Result {
    write!(f, "{}{operator}", assertion.description)?;
    write_value(f, assertion.value)
}

fn write_substrings(f: &mut fmt::Formatter<'_>, substrings: Substrings<'_>) -> fmt::Result {
    write!(f, "{}=", substrings.description)?;
    let mut ended = false;
    for piece in substrings.pieces {
        match piece {
            Substring::Initial(bytes) => write_value(f, bytes)?,
            Substring::Any(bytes) => {
                f.write_str("*")?;
                write_value(f, bytes)?;
            }
            Substring::Final(bytes) => {
                f.write_str("*")?;
                write_value(f, bytes)?;
                ended = true;
            }
        }
    }
    if ended { Ok(()) } else { f.write_str("*") }
}

fn write_extensible(f: &mut fmt::Formatter<'_>, extensible: Extensible<'_>) -> fmt::Result {
    f.write_str(extensible.description.unwrap_or(""))?;
    if extensible.dn_attributes {
        f.write_str(":dn")?;
    }
    if let Some(rule) = extensible.rule {
        write!(f, ":{rule}")?;
    }
    f.write_str(":=")?;
    write_value(f, extensible.value)
}

/// Escapes what has a meaning in filters, control characters, and what is not UTF-8.
fn write_value(f: &mut fmt::Formatter<'_>, value: &[u8]) -> fmt::Result {
    use fmt::Write;
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '(' | ')' | '*' | '\\' | '\x00'..='\x1F' | '\x7F' => write_escaped(f, &[c as u8])?,
                _ => f.write_char(c)?,
            }
        }
        write_escaped(f, chunk.invalid())?;
    }
    Ok(())
}
