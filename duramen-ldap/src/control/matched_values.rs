//! Matched values (RFC 3876).

use crate::ber::{List, Reader, Writer, tag};
use crate::error::DecodeError;
use crate::filter::{Filter, Node};
use crate::payload::Payload;

/// Only values that one of these filters matches are to be returned. None of them has filters within, and in none do
/// values of the name count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedValues<'a>(pub List<'a, Filter<'a>>);

impl<'a> Payload<'a> for MatchedValues<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let content = reader.sequence("a list of simple filters")?;
        if content.is_empty() {
            return content.fail("a simple filter");
        }
        let mut rest = content;
        while !rest.is_empty() {
            let before = rest;
            match Filter::read(&mut rest)?.node() {
                Node::And(_) | Node::Or(_) | Node::Not(_) => return before.fail("a filter without others in it"),
                Node::Extensible(extensible) if extensible.dn_attributes => {
                    return before.fail("an extensible match without dnAttributes");
                }
                _ => {}
            }
        }
        Ok(MatchedValues(List::trusted(content.rest())))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octets(tag::SEQUENCE, self.0.encoded());
    }
}
