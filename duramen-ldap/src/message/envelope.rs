//! The LDAPMessage around every operation.

use super::{Control, LdapResult, Request, Response, control::write_controls, op};
use crate::ber::{List, Reader, Writer, tag};
use crate::error::DecodeError;

/// A messageID: 1 to 2^31 - 1; 0 in an unsolicited notification, and in the first request of some clients.
pub type MessageId = u32;

/// What can stand in a message.
pub trait Operation {
    /// Encodes the operation with its tag.
    fn write(&self, writer: &mut Writer<'_>);
}

/// A message to be sent, or one that was decoded in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a, T> {
    /// Its number: a response has its request's.
    pub id: MessageId,
    /// The operation.
    pub operation: T,
    /// Controls, often none.
    pub controls: List<'a, Control<'a>>,
}

impl<'a, T> Message<'a, T> {
    /// Without controls.
    pub fn new(id: MessageId, operation: T) -> Message<'a, T> {
        Message { id, operation, controls: List::default() }
    }
}

impl<T: Operation> Message<'_, T> {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).sequence(|w| {
            w.unsigned(tag::INTEGER, self.id);
            self.operation.write(w);
            write_controls(w, self.controls);
        });
    }
}

impl<'a> Message<'a, Request<'a>> {
    /// Decodes a whole request at once.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let envelope = Envelope::decode(bytes)?;
        Ok(Message { id: envelope.id, operation: envelope.request()?, controls: envelope.controls()? })
    }

    /// As [`Message::decode`], of what [`Message::encode`] made of a request that was decoded before: what was checked then
    /// is not checked again.
    pub fn decode_again(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let envelope = Envelope::decode(bytes)?;
        let operation = Request::read(envelope.tag, envelope.content, true)?;
        Ok(Message { id: envelope.id, operation, controls: envelope.controls()? })
    }
}

impl<'a> Message<'a, Response<'a>> {
    /// Decodes a whole response at once.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let envelope = Envelope::decode(bytes)?;
        Ok(Message { id: envelope.id, operation: envelope.response()?, controls: envelope.controls()? })
    }
}

/// A message taken apart as far as is needed to answer it.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The message's number.
    pub id: MessageId,
    /// Tag of the operation: one of [`op`].
    pub tag: u8,
    content: Reader<'a>,
    controls: Option<Reader<'a>>,
}

impl<'a> Envelope<'a> {
    /// Takes apart exactly one message, as [`crate::ber::frame`] delimits it.
    ///
    /// An error means that the session cannot go on (RFC 4511 section 4.1.1).
    pub fn decode(bytes: &'a [u8]) -> Result<Envelope<'a>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut message = reader.sequence("an LDAPMessage, a SEQUENCE")?;
        reader.finish("the end of the message")?;
        let id = message.unsigned(tag::INTEGER, "a messageID of 0 to 2147483647")?;
        let (tag, content) = message.any("a protocolOp")?;
        if !is_operation(tag) {
            return Err(DecodeError { offset: content.offset(), expected: "the tag of a known protocolOp" });
        }
        let controls = message.optional(tag::context_constructed(0))?;
        message.ignore_rest()?;
        Ok(Envelope { id, tag, content, controls })
    }

    /// The operation of a message sent by a client.
    pub fn request(&self) -> Result<Request<'a>, DecodeError> {
        Request::read(self.tag, self.content, false)
    }

    /// The operation of a message sent by a server.
    pub fn response(&self) -> Result<Response<'a>, DecodeError> {
        Response::read(self.tag, self.content)
    }

    /// The controls.
    pub fn controls(&self) -> Result<List<'a, Control<'a>>, DecodeError> {
        self.controls.map_or(Ok(List::default()), List::decode)
    }

    /// What says `result` to the sender: the response that belongs to the operation, even if its content is
    /// nonsense. `None` for what is never answered (unbind, abandon, responses).
    pub fn answer<'r>(&self, result: LdapResult<'r>) -> Option<Response<'r>> {
        Some(match self.tag {
            op::BIND_REQUEST => Response::Bind(result.into()),
            op::SEARCH_REQUEST => Response::SearchDone(result),
            op::MODIFY_REQUEST => Response::Modify(result),
            op::ADD_REQUEST => Response::Add(result),
            op::DELETE_REQUEST => Response::Delete(result),
            op::MODIFY_DN_REQUEST => Response::ModifyDn(result),
            op::COMPARE_REQUEST => Response::Compare(result),
            op::EXTENDED_REQUEST => Response::Extended(result.into()),
            _ => return None,
        })
    }
}

fn is_operation(tag: u8) -> bool {
    use op::*;
    matches!(
        tag,
        BIND_REQUEST..=BIND_RESPONSE
            | UNBIND_REQUEST
            | SEARCH_REQUEST..=ADD_RESPONSE
            | DELETE_REQUEST
            | DELETE_RESPONSE..=COMPARE_RESPONSE
            | ABANDON_REQUEST
            | SEARCH_REFERENCE
            | EXTENDED_REQUEST..=INTERMEDIATE_RESPONSE
    )
}
