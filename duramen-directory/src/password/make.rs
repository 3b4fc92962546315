//! New stored passwords.

use super::{Scheme, argon2, crypt, digest, pbkdf2, scram};

/// Bytes of salt in new passwords.
const SALT_BYTES: usize = 16;
/// Bytes of salt in digests, as OpenLDAP writes them.
const DIGEST_SALT_BYTES: usize = 8;

/// Why a password cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// No password matches the empty one.
    #[error("the password is empty")]
    Empty,
    /// The scheme would confuse it with others.
    #[error("the scheme {0} cannot keep this password: it has a zero byte or is too long")]
    Unfit(Scheme),
    /// A salt has to be random.
    #[error("the operating system gave no random bytes for the salt")]
    NoRandom,
}

/// The value that is stored for `password`: `{NAME}` and what the scheme makes of it, with a salt from the operating
/// system; of [`Scheme::Clear`] the password itself, behind `{CLEARTEXT}` only where it would be taken for another.
pub fn hash(scheme: Scheme, password: &[u8]) -> Result<Vec<u8>, HashError> {
    if password.is_empty() {
        return Err(HashError::Empty);
    }
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|_| HashError::NoRandom)?;
    let text = match scheme {
        Scheme::Clear => return Ok(clear(password)),
        Scheme::Argon2 => argon2::make(password, &salt).ok_or(HashError::Unfit(scheme))?,
        Scheme::Crypt => crypt::make(password, &salt[..12]).ok_or(HashError::Unfit(scheme))?,
        Scheme::ScramSha256 => scram::Credentials::derive(password, &salt, scram::ITERATIONS).to_string(),
        Scheme::Digest(algorithm) => digest::make(algorithm, password, &salt[..DIGEST_SALT_BYTES]),
        Scheme::Pbkdf2(function) => pbkdf2::make(function, password, &salt),
    };
    Ok(format!("{{{scheme}}}{text}").into_bytes())
}

fn clear(password: &[u8]) -> Vec<u8> {
    match Scheme::split(password) {
        Some((Scheme::Clear, rest)) if rest == password => password.to_vec(),
        _ => [b"{CLEARTEXT}", password].concat(),
    }
}
