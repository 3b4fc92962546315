//! Values of extended operations.
//!
//! StartTLS has none; that of a Who am I? response is an [`crate::authz::AuthzId`] as text.

use std::fmt;

use crate::ber::{Reader, Writer, tag};
use crate::error::DecodeError;
use crate::message::MessageId;
use crate::payload::Payload;

const USER: u8 = tag::context(0);
const OLD_PASSWORD: u8 = tag::context(1);
const NEW_PASSWORD: u8 = tag::context(2);
const GENERATED: u8 = tag::context(0);

/// A request to change a password (RFC 3062); its value may be absent, which is a request of three times `None`.
/// `Debug` does not show passwords.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordModifyRequest<'a> {
    /// Whose, in whatever form the server knows users; without one, the session's own.
    pub user: Option<&'a [u8]>,
    /// The present password.
    pub old_password: Option<&'a [u8]>,
    /// The new one; without one, the server makes one up.
    pub new_password: Option<&'a [u8]>,
}

impl fmt::Debug for PasswordModifyRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.map(String::from_utf8_lossy);
        write!(f, "PasswordModifyRequest({user:?}, {}, {})", self.old_password.is_some(), self.new_password.is_some())
    }
}

impl<'a> Payload<'a> for PasswordModifyRequest<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a password change, a SEQUENCE")?;
        let mut field = |tag| content.optional(tag).map(|field| field.map(|field| field.rest()));
        let request = PasswordModifyRequest {
            user: field(USER)?,
            old_password: field(OLD_PASSWORD)?,
            new_password: field(NEW_PASSWORD)?,
        };
        content.ignore_rest()?;
        Ok(request)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let fields = [(USER, self.user), (OLD_PASSWORD, self.old_password), (NEW_PASSWORD, self.new_password)];
        writer.sequence(|w| {
            for (tag, field) in fields {
                if let Some(field) = field {
                    w.octets(tag, field);
                }
            }
        });
    }
}

/// The password that the server made up (RFC 3062).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordModifyResponse<'a> {
    /// It, if there is one.
    pub generated: Option<&'a [u8]>,
}

impl<'a> Payload<'a> for PasswordModifyResponse<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a generated password, a SEQUENCE")?;
        let generated = content.optional(GENERATED)?.map(|password| password.rest());
        content.ignore_rest()?;
        Ok(PasswordModifyResponse { generated })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            if let Some(password) = self.generated {
                w.octets(GENERATED, password);
            }
        });
    }
}

/// A request to cancel an operation (RFC 3909).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelRequest {
    /// The operation's message.
    pub id: MessageId,
}

impl<'a> Payload<'a> for CancelRequest {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a cancelID, in a SEQUENCE")?;
        let id = content.unsigned(tag::INTEGER, "a messageID of 0 to 2147483647")?;
        content.ignore_rest()?;
        Ok(CancelRequest { id })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| w.unsigned(tag::INTEGER, self.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_change_comes_back_and_does_not_show_rfc3062_2() {
        let request = PasswordModifyRequest { user: Some(b"uid=x"), old_password: None, new_password: Some(b"secret") };
        let mut value = Vec::new();
        request.encode(&mut value);
        assert_eq!(value, b"\x30\x0F\x80\x05uid=x\x82\x06secret");
        assert_eq!(PasswordModifyRequest::decode(&value).unwrap(), request);
        assert!(!format!("{request:?}").contains("secret"));
        assert_eq!(PasswordModifyRequest::decode(b"\x30\x00").unwrap(), PasswordModifyRequest::default());
    }

    #[test]
    fn a_generated_password_comes_back_rfc3062_2() {
        let mut value = Vec::new();
        PasswordModifyResponse { generated: Some(b"abc") }.encode(&mut value);
        assert_eq!(value, b"\x30\x05\x80\x03abc");
        assert_eq!(PasswordModifyResponse::decode(&value).unwrap().generated, Some(&b"abc"[..]));
    }

    #[test]
    fn a_cancel_request_comes_back_rfc3909_2_1() {
        let mut value = Vec::new();
        CancelRequest { id: 300 }.encode(&mut value);
        assert_eq!(value, b"\x30\x04\x02\x02\x01\x2C");
        assert_eq!(CancelRequest::decode(&value).unwrap().id, 300);
        assert!(CancelRequest::decode(b"\x30\x03\x02\x01\xFF").is_err());
    }
}
