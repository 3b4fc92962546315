//! Which forms of stored passwords there are.

use std::fmt;
use std::str::FromStr;

/// A form in which passwords are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scheme {
    /// As it is.
    Clear,
    /// `{ARGON2}`: takes memory and time. What new passwords get if nobody says otherwise.
    #[default]
    Argon2,
    /// `{CRYPT}`: the forms of Unix's `crypt`.
    Crypt,
    /// `{SCRAM-SHA-256}`: what the mechanism of that name needs, which does not reveal the password.
    ScramSha256,
    /// `{SSHA}` and the like: a digest, of password and salt if salted.
    Digest(Digest),
    /// `{PBKDF2-SHA256}` and the like.
    Pbkdf2(Pbkdf2),
}

/// A digest, with salt or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest {
    /// The function.
    pub function: Function,
    /// Whether a salt is part of it.
    pub salted: bool,
}

/// A digest function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the functions' own")]
pub enum Function {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// The function that PBKDF2 repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the functions' own")]
pub enum Pbkdf2 {
    Sha1,
    Sha256,
    Sha512,
}

const fn digest(function: Function, salted: bool) -> Scheme {
    Scheme::Digest(Digest { function, salted })
}

/// Names of schemes; the first of each is the one that is written.
const NAMES: [(&str, Scheme); 19] = [
    ("ARGON2", Scheme::Argon2),
    ("SSHA", digest(Function::Sha1, true)),
    ("SSHA256", digest(Function::Sha256, true)),
    ("SSHA384", digest(Function::Sha384, true)),
    ("SSHA512", digest(Function::Sha512, true)),
    ("SHA", digest(Function::Sha1, false)),
    ("SHA256", digest(Function::Sha256, false)),
    ("SHA384", digest(Function::Sha384, false)),
    ("SHA512", digest(Function::Sha512, false)),
    ("SMD5", digest(Function::Md5, true)),
    ("MD5", digest(Function::Md5, false)),
    ("CRYPT", Scheme::Crypt),
    ("PBKDF2-SHA1", Scheme::Pbkdf2(Pbkdf2::Sha1)),
    ("PBKDF2", Scheme::Pbkdf2(Pbkdf2::Sha1)),
    ("PBKDF2-SHA256", Scheme::Pbkdf2(Pbkdf2::Sha256)),
    ("PBKDF2-SHA512", Scheme::Pbkdf2(Pbkdf2::Sha512)),
    ("SCRAM-SHA-256", Scheme::ScramSha256),
    ("CLEARTEXT", Scheme::Clear),
    ("CLEAR", Scheme::Clear),
];

impl Scheme {
    /// All schemes that passwords can be made in, once each.
    pub fn all() -> impl Iterator<Item = Scheme> {
        NAMES.iter().filter(|(name, scheme)| scheme.name() == *name).map(|(_, scheme)| *scheme)
    }

    /// The scheme of a stored password, and what stands behind its name. A value without `{NAME}` in front is clear
    /// text. `None` if the name is unknown.
    pub fn split(stored: &[u8]) -> Option<(Scheme, &[u8])> {
        let Some(inner) = stored.strip_prefix(b"{") else { return Some((Scheme::Clear, stored)) };
        match inner.iter().position(|&byte| byte == b'}') {
            None | Some(0) => Some((Scheme::Clear, stored)),
            Some(end) => {
                let name = std::str::from_utf8(&inner[..end]).ok()?;
                Some((name.parse().ok()?, &inner[end + 1..]))
            }
        }
    }

    /// Its name, without braces.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, scheme)| *scheme == self).map_or("", |(name, _)| name)
    }

    /// Whether verifying takes long by intention.
    pub fn is_costly(self) -> bool {
        !matches!(self, Scheme::Clear | Scheme::Digest(_))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no scheme's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no scheme of passwords: expected {known}", known = known())]
pub struct UnknownScheme(String);

fn known() -> String {
    Scheme::all().map(Scheme::name).collect::<Vec<_>>().join(", ")
}

/// In any case, with braces or without.
impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(text: &str) -> Result<Scheme, UnknownScheme> {
        let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, scheme)| *scheme).ok_or_else(|| UnknownScheme(text.to_owned()))
    }
}
