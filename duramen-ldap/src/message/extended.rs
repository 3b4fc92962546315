//! Extended operations and intermediate responses (RFC 4511 sections 4.12 and 4.13).

use std::fmt;

use super::{LdapResult, op};
use crate::ber::{Reader, Writer, tag};
use crate::error::DecodeError;

/// Name of the unsolicited notification that a server sends before it closes a session (RFC 4511 section 4.4.1).
pub const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";

const REQUEST_NAME: u8 = tag::context(0);
const REQUEST_VALUE: u8 = tag::context(1);
const RESPONSE_NAME: u8 = tag::context(10);
const RESPONSE_VALUE: u8 = tag::context(11);

/// A request for an operation defined elsewhere. Its `Debug` does not show the value, which may be a password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ExtendedRequest<'a> {
    /// The operation: a dotted OID.
    pub name: &'a str,
    /// Its parameters, to be decoded by what `name` says.
    pub value: Option<&'a [u8]>,
}

impl fmt::Debug for ExtendedRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExtendedRequest({}, {:?} bytes)", self.name, self.value.map(<[u8]>::len))
    }
}

impl<'a> ExtendedRequest<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let name = content.text(REQUEST_NAME, "the name of an extended operation")?;
        let value = content.optional(REQUEST_VALUE)?.map(|value| value.rest());
        content.ignore_rest()?;
        Ok(ExtendedRequest { name, value })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::EXTENDED_REQUEST, |w| {
            write_optional(w, REQUEST_NAME, Some(self.name.as_bytes()));
            write_optional(w, REQUEST_VALUE, self.value);
        });
    }
}

/// The answer to an extended operation, or an unsolicited notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedResponse<'a> {
    /// The result.
    pub result: LdapResult<'a>,
    /// What the response is, if that has to be said.
    pub name: Option<&'a str>,
    /// Its value.
    pub value: Option<&'a [u8]>,
}

impl<'a> From<LdapResult<'a>> for ExtendedResponse<'a> {
    fn from(result: LdapResult<'a>) -> Self {
        ExtendedResponse { result, name: None, value: None }
    }
}

impl<'a> ExtendedResponse<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let result = LdapResult::read_components(&mut content)?;
        let name = content.optional(RESPONSE_NAME)?.map(Reader::into_text).transpose()?;
        let value = content.optional(RESPONSE_VALUE)?.map(|value| value.rest());
        content.ignore_rest()?;
        Ok(ExtendedResponse { result, name, value })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::EXTENDED_RESPONSE, |w| {
            self.result.write_components(w);
            write_optional(w, RESPONSE_NAME, self.name.map(str::as_bytes));
            write_optional(w, RESPONSE_VALUE, self.value);
        });
    }
}

/// Something a server says before its final response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntermediateResponse<'a> {
    /// What it is.
    pub name: Option<&'a str>,
    /// Its value.
    pub value: Option<&'a [u8]>,
}

impl<'a> IntermediateResponse<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let name = content.optional(REQUEST_NAME)?.map(Reader::into_text).transpose()?;
        let value = content.optional(REQUEST_VALUE)?.map(|value| value.rest());
        content.ignore_rest()?;
        Ok(IntermediateResponse { name, value })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::INTERMEDIATE_RESPONSE, |w| {
            write_optional(w, REQUEST_NAME, self.name.map(str::as_bytes));
            write_optional(w, REQUEST_VALUE, self.value);
        });
    }
}

fn write_optional(writer: &mut Writer<'_>, tag: u8, content: Option<&[u8]>) {
    if let Some(content) = content {
        writer.octets(tag, content);
    }
}
