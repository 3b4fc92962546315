//! Values of extended operations.
//!
//! StartTLS has none; that of a Who am I? response is an [`crate::authz::AuthzId`] as text.

use std::fmt;

use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;
use crate::message::{Control, MessageId};
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

/// A request to end a transaction (RFC 5805 section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionEndRequest<'a> {
    /// Whether its updates are to be made.
    pub commit: bool,
    /// What the server called it when it was started.
    pub identifier: &'a [u8],
}

impl<'a> Payload<'a> for TransactionEndRequest<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("the end of a transaction, a SEQUENCE")?;
        let commit = content.optional(tag::BOOLEAN)?.map_or(Ok(true), Reader::into_boolean)?;
        let identifier = content.octets(tag::OCTETS, "a transaction's identifier")?;
        content.ignore_rest()?;
        Ok(TransactionEndRequest { commit, identifier })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            if !self.commit {
                w.boolean(tag::BOOLEAN, false);
            }
            w.octets(tag::OCTETS, self.identifier);
        });
    }
}

/// What there is to say of a transaction's updates (RFC 5805 section 2.3). Where that is nothing, the response has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionEndResponse<'a> {
    /// The message of the update that failed.
    pub failed: Option<MessageId>,
    /// Of updates with whose response controls would have come.
    pub controls: List<'a, UpdateControls<'a>>,
}

/// The controls that belong to the response to an update of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateControls<'a> {
    /// The update's message.
    pub id: MessageId,
    /// The controls.
    pub controls: List<'a, Control<'a>>,
}

impl<'a> Element<'a> for UpdateControls<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("an update's controls, a SEQUENCE")?;
        let id = content.unsigned(tag::INTEGER, "a messageID of 0 to 2147483647")?;
        let controls = List::decode(content.sequence("controls, a SEQUENCE")?)?;
        content.ignore_rest()?;
        Ok(UpdateControls { id, controls })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.unsigned(tag::INTEGER, self.id);
            w.sequence(|w| w.raw(self.controls.encoded()));
        });
    }
}

impl<'a> Payload<'a> for TransactionEndResponse<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("what became of a transaction, a SEQUENCE")?;
        let failed = match content.peek() {
            Some(tag::INTEGER) => Some(content.unsigned(tag::INTEGER, "a messageID of 0 to 2147483647")?),
            _ => None,
        };
        let controls = content.optional(tag::SEQUENCE)?.map_or(Ok(List::default()), List::decode)?;
        content.ignore_rest()?;
        Ok(TransactionEndResponse { failed, controls })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            if let Some(id) = self.failed {
                w.unsigned(tag::INTEGER, id);
            }
            if !self.controls.is_empty() {
                w.sequence(|w| w.raw(self.controls.encoded()));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_transaction_comes_back_rfc5805_2_3() {
        for (commit, encoded) in [(true, &b"\x30\x03\x04\x017"[..]), (false, b"\x30\x06\x01\x01\x00\x04\x017")] {
            let request = TransactionEndRequest { commit, identifier: b"7" };
            let mut value = Vec::new();
            request.encode(&mut value);
            assert_eq!(value, encoded);
            assert_eq!(TransactionEndRequest::decode(encoded).unwrap(), request);
        }
        let said = b"\x30\x06\x01\x01\xFF\x04\x017";
        assert!(TransactionEndRequest::decode(said).unwrap().commit, "what is the default may be said");
        TransactionEndRequest::decode(b"\x30\x03\x01\x01\xFF").unwrap_err();
    }

    #[test]
    fn what_became_of_a_transaction_comes_back_rfc5805_2_3() {
        let mut memory = [Vec::new(), Vec::new()];
        let [controls, updates] = &mut memory;
        let control = Control { oid: "1.2", critical: false, value: Some(b"x") };
        let of_update = UpdateControls { id: 9, controls: List::build(controls, [control]) };
        let controls = List::build(updates, [of_update]);
        let with_controls = b"\x30\x13\x30\x11\x30\x0F\x02\x01\x09\x30\x0A\x30\x08\x04\x031.2\x04\x01x";
        for (response, encoded) in [
            (TransactionEndResponse { failed: Some(300), ..Default::default() }, &b"\x30\x04\x02\x02\x01\x2C"[..]),
            (TransactionEndResponse { failed: None, controls }, with_controls),
        ] {
            let mut value = Vec::new();
            response.encode(&mut value);
            assert_eq!(value, encoded);
            assert_eq!(TransactionEndResponse::decode(encoded).unwrap(), response);
        }
        TransactionEndResponse::decode(b"\x30\x02\x30\x02").unwrap_err();
    }

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
