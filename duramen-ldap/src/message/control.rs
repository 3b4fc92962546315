//! Controls (RFC 4511 section 4.1.11).

use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;

/// One control of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control<'a> {
    /// What it is: a dotted OID.
    pub oid: &'a str,
    /// Whether the operation has to be refused by a server that does not know it.
    pub critical: bool,
    /// Its value, to be decoded by what `oid` says.
    pub value: Option<&'a [u8]>,
}

impl<'a> Element<'a> for Control<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a control, a SEQUENCE")?;
        let oid = content.text(tag::OCTETS, "a control's OID")?;
        let critical = content.optional(tag::BOOLEAN)?.map_or(Ok(false), Reader::into_boolean)?;
        let value = content.optional(tag::OCTETS)?.map(|value| value.rest());
        content.ignore_rest()?;
        Ok(Control { oid, critical, value })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.text(self.oid);
            if self.critical {
                w.boolean(tag::BOOLEAN, true);
            }
            if let Some(value) = self.value {
                w.octets(tag::OCTETS, value);
            }
        });
    }
}

/// Writes the controls of a message, if there are any.
pub(super) fn write_controls(writer: &mut Writer<'_>, controls: List<'_, Control<'_>>) {
    if !controls.is_empty() {
        writer.octets(tag::context_constructed(0), controls.encoded());
    }
}
