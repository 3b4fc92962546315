//! Authorization identities (RFC 4513 section 5.2.1.8): who somebody is, or wants to be taken for.

use std::fmt;

use crate::error::DecodeError;

/// An authorization identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthzId<'a> {
    /// Nobody.
    Anonymous,
    /// Whoever has this name; not checked for being one.
    Dn(&'a str),
    /// Whoever the server knows under this user name.
    User(&'a str),
}

impl<'a> AuthzId<'a> {
    /// Decodes `dn:NAME`, `u:NAME` or nothing.
    pub fn decode(bytes: &'a [u8]) -> Result<AuthzId<'a>, DecodeError> {
        let expected = "'dn:' and a name, 'u:' and a user, or nothing";
        let fail = |offset| DecodeError { offset, expected };
        let text = std::str::from_utf8(bytes).map_err(|error| fail(error.valid_up_to()))?;
        match text.split_once(':') {
            None if text.is_empty() => Ok(AuthzId::Anonymous),
            Some((kind, name)) if kind.eq_ignore_ascii_case("dn") => Ok(AuthzId::Dn(name)),
            Some((kind, name)) if kind.eq_ignore_ascii_case("u") => Ok(AuthzId::User(name)),
            _ => Err(fail(0)),
        }
    }
}

impl fmt::Display for AuthzId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuthzId::Anonymous => Ok(()),
            AuthzId::Dn(name) => write!(f, "dn:{name}"),
            AuthzId::User(name) => write!(f, "u:{name}"),
        }
    }
}
