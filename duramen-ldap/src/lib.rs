//! LDAPv3's wire format and vocabulary. Pure: nothing here opens a file or a socket, and nothing keeps state.
//!
//! | module | what | RFC |
//! |---|---|---|
//! | [`ber`] | elements, lists, where a message ends in a stream | 4511 section 5.1 |
//! | [`attribute`] | attributes and assertions as they stand in messages | 4511 |
//! | [`message`] | requests and responses | 4511 |
//! | [`filter`] | filters and their string form | 4511, 4515, 4526 |
//! | [`control`], [`extended`], [`oid`] | values of controls and extended operations, their numbers | 2696, 2891, 3062, 3296, 3672, 3876, 3909, 4370, 4527, 4528, 4532 |
//! | [`authz`] | authorization identities | 4513 |
//! | [`dn`] | distinguished names | 4514 |
//! | [`schema`] | descriptions, schema files, the standards' schema | 4512, 4519, 4524, 2798, 2307 |
//! | [`certificate`] | X.509 certificates and lists, as far as they are matched; assertions about them | 4523, 5280 |
//! | [`syntax`] | which values are right | 4517, 4523, 4530, 2307 |
//! | [`matching`] | matching rules, string preparation | 4517, 4518, 4530 |
//! | [`ldif`] | entries and changes as text | 2849 |
//! | [`url`] | LDAP URLs | 4516 |
//!
//! What is decoded borrows from the bytes it came from. A list (of attributes, values, controls) is checked when its
//! message is decoded, and walked in place afterwards: decoding allocates nothing.
//!
//! ```
//! use duramen_ldap::ber::{Frame, frame};
//! use duramen_ldap::message::{Envelope, Message, Request, Response, LdapResult, ResultCode};
//!
//! let received = [0x30, 0x0C, 0x02, 0x01, 0x01, 0x60, 0x07, 0x02, 0x01, 0x03, 0x04, 0x00, 0x80, 0x00];
//! let Frame::Complete(length) = frame(&received, 1 << 20)? else { panic!("more bytes are needed") };
//! let envelope = Envelope::decode(&received[..length])?;        // fails: the session has to end
//! let Request::Bind(bind) = envelope.request()? else { panic!() }; // fails: answer protocolError
//! assert_eq!((bind.version, bind.name), (3, ""));
//!
//! let mut buffer = Vec::new();
//! Message::new(envelope.id, Response::Bind(LdapResult::new(ResultCode::SUCCESS).into())).encode(&mut buffer);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//! Whatever decodes bytes may return [`DecodeError`], whatever parses text or checks a value [`TextError`]: at which byte it is
//! wrong, and what should have been there. Making one allocates nothing. No bytes and no text lead to a panic.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

pub mod attribute;
pub mod authz;
pub mod ber;
pub mod certificate;
pub mod control;
pub mod dn;
mod error;
pub mod extended;
pub mod filter;
mod gser;
mod hex;
pub mod ldif;
pub mod matching;
pub mod message;
pub mod oid;
mod payload;
pub mod schema;
pub mod syntax;
mod time;
pub mod url;
mod value;

pub use error::{DecodeError, TextError};
pub use payload::Payload;
