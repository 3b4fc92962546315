//! Requests and responses (RFC 4511 section 4), borrowed from the bytes of a message.
//!
//! Owns: the envelope, every operation's fields, result codes. Must not know: which control or extended operation
//! means what, schema, sessions.
//!
//! A message is decoded in two steps, because faults in them have different consequences (RFC 4511 section 4.1.1):
//! without an [`Envelope`] the session ends with a notice of disconnection; with one, its operation is answered with
//! protocolError.

mod bind;
mod control;
mod envelope;
mod extended;
mod request;
mod response;
mod result;
mod search;
mod update;

pub use crate::attribute::{Assertion, Attribute};
pub use bind::{Authentication, BindRequest, BindResponse};
pub use control::Control;
pub use envelope::{Envelope, Message, MessageId, Operation};
pub use extended::{ExtendedRequest, ExtendedResponse, IntermediateResponse, NOTICE_OF_DISCONNECTION};
pub use request::Request;
pub use response::{Response, notice_of_disconnection};
pub use result::{LdapResult, ResultCode};
pub use search::{Deref, Scope, SearchEntry, SearchRequest, write_search_entry, write_search_entry_head};
pub use update::{AddRequest, Change, ChangeKind, CompareRequest, ModifyDnRequest, ModifyRequest};

/// Tags of the operations.
pub mod op {
    #![allow(missing_docs, reason = "the names are RFC 4511's")]
    pub const BIND_REQUEST: u8 = 0x60;
    pub const BIND_RESPONSE: u8 = 0x61;
    pub const UNBIND_REQUEST: u8 = 0x42;
    pub const SEARCH_REQUEST: u8 = 0x63;
    pub const SEARCH_ENTRY: u8 = 0x64;
    pub const SEARCH_DONE: u8 = 0x65;
    pub const SEARCH_REFERENCE: u8 = 0x73;
    pub const MODIFY_REQUEST: u8 = 0x66;
    pub const MODIFY_RESPONSE: u8 = 0x67;
    pub const ADD_REQUEST: u8 = 0x68;
    pub const ADD_RESPONSE: u8 = 0x69;
    pub const DELETE_REQUEST: u8 = 0x4A;
    pub const DELETE_RESPONSE: u8 = 0x6B;
    pub const MODIFY_DN_REQUEST: u8 = 0x6C;
    pub const MODIFY_DN_RESPONSE: u8 = 0x6D;
    pub const COMPARE_REQUEST: u8 = 0x6E;
    pub const COMPARE_RESPONSE: u8 = 0x6F;
    pub const ABANDON_REQUEST: u8 = 0x50;
    pub const EXTENDED_REQUEST: u8 = 0x77;
    pub const EXTENDED_RESPONSE: u8 = 0x78;
    pub const INTERMEDIATE_RESPONSE: u8 = 0x79;
}

#[cfg(test)]
mod differential;
#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
