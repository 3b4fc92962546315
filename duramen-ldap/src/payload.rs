//! What controls and extended operations carry: BER elements in an OCTET STRING.

use crate::ber::{Reader, Writer};
use crate::error::DecodeError;

/// A value of a control or an extended operation.
pub trait Payload<'a>: Sized {
    /// Decodes one.
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;
    /// Encodes one.
    fn write(&self, writer: &mut Writer<'_>);

    /// Decodes a whole value. Offsets in errors count from its start.
    fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value);
        let payload = Self::read(&mut reader)?;
        reader.finish("the end of the value")?;
        Ok(payload)
    }

    /// Appends the value to `out`.
    fn encode(&self, out: &mut Vec<u8>) {
        self.write(&mut Writer::new(out));
    }
}
