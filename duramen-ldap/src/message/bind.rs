//! Bind (RFC 4511 section 4.2).

use std::fmt;

use super::{LdapResult, op};
use crate::ber::{Reader, Writer, tag};
use crate::error::DecodeError;

const SIMPLE: u8 = tag::context(0);
const SASL: u8 = tag::context_constructed(3);
const SERVER_SASL_CREDENTIALS: u8 = tag::context(7);

/// A request to authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindRequest<'a> {
    /// Version of the protocol: 3, or what the client believes.
    pub version: u32,
    /// Who: a DN, or nothing.
    pub name: &'a str,
    /// How.
    pub authentication: Authentication<'a>,
}

/// How a client wants to authenticate. Its `Debug` does not show secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authentication<'a> {
    /// By password; an empty one is no authentication (RFC 4513 section 5.1).
    Simple(&'a [u8]),
    /// By a SASL mechanism.
    Sasl {
        /// Its name.
        mechanism: &'a str,
        /// What the client says in this step.
        credentials: Option<&'a [u8]>,
    },
    /// A choice with this tag that this crate does not know: to be answered with authMethodNotSupported.
    Unknown(u8),
}

impl fmt::Debug for Authentication<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Authentication::Simple(password) => write!(f, "Simple({} bytes)", password.len()),
            Authentication::Sasl { mechanism, .. } => write!(f, "Sasl({mechanism:?})"),
            Authentication::Unknown(tag) => write!(f, "Unknown({tag:#x})"),
        }
    }
}

impl<'a> BindRequest<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let version = content.unsigned(tag::INTEGER, "a protocol version")?;
        let name = content.text(tag::OCTETS, "a bind name")?;
        let (tag, choice) = content.any("an authentication choice")?;
        let authentication = match tag {
            SIMPLE => Authentication::Simple(choice.rest()),
            SASL => read_sasl(choice)?,
            unknown => Authentication::Unknown(unknown),
        };
        content.ignore_rest()?;
        Ok(BindRequest { version, name, authentication })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::BIND_REQUEST, |w| {
            w.unsigned(tag::INTEGER, self.version);
            w.text(self.name);
            match self.authentication {
                Authentication::Simple(password) => w.octets(SIMPLE, password),
                Authentication::Sasl { mechanism, credentials } => w.constructed(SASL, |w| {
                    w.text(mechanism);
                    if let Some(credentials) = credentials {
                        w.octets(tag::OCTETS, credentials);
                    }
                }),
                Authentication::Unknown(tag) => w.octets(tag, b""),
            }
        });
    }
}

fn read_sasl(mut choice: Reader<'_>) -> Result<Authentication<'_>, DecodeError> {
    let mechanism = choice.text(tag::OCTETS, "a SASL mechanism")?;
    let credentials = choice.optional(tag::OCTETS)?.map(|credentials| credentials.rest());
    choice.ignore_rest()?;
    Ok(Authentication::Sasl { mechanism, credentials })
}

/// The answer to a bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindResponse<'a> {
    /// The result.
    pub result: LdapResult<'a>,
    /// What the server says in this step of a SASL exchange.
    pub sasl_credentials: Option<&'a [u8]>,
}

impl<'a> From<LdapResult<'a>> for BindResponse<'a> {
    fn from(result: LdapResult<'a>) -> Self {
        BindResponse { result, sasl_credentials: None }
    }
}

impl<'a> BindResponse<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let result = LdapResult::read_components(&mut content)?;
        let sasl_credentials = content.optional(SERVER_SASL_CREDENTIALS)?.map(|credentials| credentials.rest());
        content.ignore_rest()?;
        Ok(BindResponse { result, sasl_credentials })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::BIND_RESPONSE, |w| {
            self.result.write_components(w);
            if let Some(credentials) = self.sasl_credentials {
                w.octets(SERVER_SASL_CREDENTIALS, credentials);
            }
        });
    }
}
