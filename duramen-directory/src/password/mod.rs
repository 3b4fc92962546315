//! Passwords: stored ones verified and made, and what SASL's mechanisms with passwords say.
//!
//! Owns: the forms in which passwords are kept (RFC 2307's `{SCHEME}` in front), SCRAM-SHA-256 (RFC 5802, RFC 7677),
//! the message of PLAIN (RFC 4616). Must not know: entries, who asks, threads.
//!
//! What is stored may have been written by anybody who may write a password, so it is met like bytes from the
//! network: nothing of it makes anything panic, and one that asks for more memory or rounds than the limits of its
//! module matches no password. Comparisons take the same time wherever the difference is.
//!
//! | module | forms |
//! |---|---|
//! | `scheme` | which there are, their names, which are costly |
//! | `digest` | `{SSHA}`, `{SHA}`, `{SMD5}`, `{MD5}`, `{SSHA256}` ... `{SHA512}` |
//! | `crypt`, `crypt64`, `des_crypt`, `md5_crypt`, `sha2_crypt`, `yescrypt` | `{CRYPT}`: DES, `$1$`, `$5$`, `$6$`, `$y$`, `$2a$`, `$2b$`, `$2y$` |
//! | `argon2` | `{ARGON2}`: argon2id, argon2i, argon2d |
//! | `pbkdf2` | `{PBKDF2}`, `{PBKDF2-SHA1}`, `{PBKDF2-SHA256}`, `{PBKDF2-SHA512}` |
//! | `scram` | `{SCRAM-SHA-256}`, and the server's side of the exchange |

mod argon2;
mod base64;
mod crypt;
mod crypt64;
mod des_crypt;
mod digest;
mod make;
mod md5_crypt;
mod pbkdf2;
mod plain;
mod scheme;
pub mod scram;
mod sha2_crypt;
mod yescrypt;

pub use make::{HashError, hash};
pub use plain::Plain;
pub use scheme::Scheme;

use subtle::ConstantTimeEq;

/// Whether `password` is the one that `stored` was made of: a value of `userPassword`.
///
/// The empty password matches nothing (RFC 4513 section 5.1.2), nor does any password a value whose scheme is unknown
/// or whose text is malformed. Takes up to some hundred milliseconds where [`is_costly`].
pub fn verify(stored: &[u8], password: &[u8]) -> bool {
    if password.is_empty() {
        return false;
    }
    let Some((scheme, rest)) = Scheme::split(stored) else { return false };
    if scheme == Scheme::Clear {
        return same(rest, password);
    }
    let Ok(text) = std::str::from_utf8(rest) else { return false };
    match scheme {
        Scheme::Clear => same(rest, password),
        Scheme::Argon2 => argon2::verify(text, password),
        Scheme::Crypt => crypt::verify(text, password),
        Scheme::ScramSha256 => scram::Credentials::parse(text).is_some_and(|stored| stored.verify(password)),
        Scheme::Digest(algorithm) => digest::verify(algorithm, text, password),
        Scheme::Pbkdf2(function) => pbkdf2::verify(function, text, password),
    }
}

/// The scheme of a stored password, in braces, if this is one that no password matches because its form is not known
/// here. Of one that is locked, as `*` and `!` in place of what `crypt` makes lock it, nothing is told.
pub fn unmatchable(stored: &[u8]) -> Option<String> {
    let in_braces = |name: &str| Some(format!("{{{name}}}"));
    match Scheme::split(stored) {
        Some((Scheme::Clear, _)) => None,
        Some((scheme, rest)) => {
            let is_known = std::str::from_utf8(rest).is_ok_and(|text| is_known(scheme, text));
            if is_known { None } else { in_braces(scheme.name()) }
        }
        None => {
            let name = stored.get(1..).and_then(|inner| inner.split(|&byte| byte == b'}').next()).unwrap_or_default();
            in_braces(&String::from_utf8_lossy(name))
        }
    }
}

/// Whether some password may match what stands behind the scheme, or it is locked.
fn is_known(scheme: Scheme, text: &str) -> bool {
    match scheme {
        Scheme::Clear => true,
        Scheme::Argon2 => argon2::is_known(text),
        Scheme::Crypt => crypt::is_known(text) || crypt::is_locked(text),
        Scheme::ScramSha256 => scram::Credentials::parse(text).is_some(),
        Scheme::Digest(algorithm) => digest::is_known(algorithm, text),
        Scheme::Pbkdf2(function) => pbkdf2::is_known(function, text),
    }
}

/// Whether verifying a password against this value takes long by intention, from some tenths of a millisecond up, so
/// that a server had better not do it on a thread that others wait for.
pub fn is_costly(stored: &[u8]) -> bool {
    Scheme::split(stored).is_some_and(|(scheme, _)| scheme.is_costly())
}

/// Whether two secrets are the same bytes, in a time that depends on their lengths only.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests;
