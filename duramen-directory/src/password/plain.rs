//! The message of SASL's mechanism PLAIN (RFC 4616).

use std::fmt;

/// What a client says who authenticates by PLAIN. Its `Debug` does not show the password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Plain<'a> {
    /// Whom it wants to act as; empty: itself.
    pub authorization: &'a str,
    /// Who it is. Never empty.
    pub user: &'a str,
    /// Its password. Never empty.
    pub password: &'a str,
}

impl<'a> Plain<'a> {
    /// Takes a message apart: `[authorization] NUL user NUL password`, in UTF-8. `None` of anything else.
    pub fn parse(message: &'a [u8]) -> Option<Plain<'a>> {
        let text = std::str::from_utf8(message).ok()?;
        let mut parts = text.split('\0');
        let (authorization, user, password) = (parts.next()?, parts.next()?, parts.next()?);
        let complete = parts.next().is_none() && !user.is_empty() && !password.is_empty();
        complete.then_some(Plain { authorization, user, password })
    }
}

impl fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain")
            .field("authorization", &self.authorization)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
