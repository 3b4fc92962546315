//! What a server keeps of a password for SCRAM-SHA-256.

use std::fmt;

use sha2::{Digest, Sha256};

use super::super::{base64, same};
use super::{KEY_BYTES, Key, hmac};

/// Iterations for new credentials.
pub const ITERATIONS: u32 = 10_000;
/// More iterations than this are computed for no password: some seconds.
const ITERATIONS_MAX: u32 = 10_000_000;
/// Bytes of the salt that is made up for those who do not exist.
const PRETENDED_SALT_BYTES: usize = 16;

/// What a server keeps of a password: the password does not follow from it (RFC 5802 section 3). Its text, behind
/// `{SCRAM-SHA-256}` in a stored password, is that of RFC 5803: `iterations:salt$StoredKey:ServerKey`.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    pub(super) stored_key: Key,
    pub(super) server_key: Key,
}

impl Credentials {
    /// Credentials of a password; costs `iterations` times two SHA-256.
    pub fn derive(password: &[u8], salt: &[u8], iterations: u32) -> Credentials {
        let mut salted: Key = [0; KEY_BYTES];
        pbkdf2::pbkdf2_hmac::<Sha256>(&prepared(password), salt, iterations.max(1), &mut salted);
        let client_key = hmac(&salted, b"Client Key");
        Credentials {
            iterations: iterations.max(1),
            salt: salt.to_vec(),
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac(&salted, b"Server Key"),
        }
    }

    /// From their text; the form that Dovecot writes, `iterations,salt,StoredKey,ServerKey`, is taken too. `None` of
    /// anything else, and of more than ten million iterations.
    pub fn parse(text: &str) -> Option<Credentials> {
        let mut parts = text.split([':', '$', ',']);
        let iterations = parts.next()?.parse().ok().filter(|count| (1..=ITERATIONS_MAX).contains(count))?;
        let salt = base64::decode(parts.next()?)?;
        let stored_key = base64::decode(parts.next()?)?.try_into().ok()?;
        let server_key = base64::decode(parts.next()?)?.try_into().ok()?;
        parts.next().is_none().then_some(Credentials { iterations, salt, stored_key, server_key })
    }

    /// Credentials that no password fits, for a user who does not exist: always the same ones for the same name, so
    /// that nobody learns from them who exists. `secret` is the server's.
    pub fn pretend(secret: &[u8], user: &str) -> Credentials {
        let seed = hmac(secret, user.as_bytes());
        Credentials {
            iterations: ITERATIONS,
            salt: Credentials::salt_for(secret, user),
            stored_key: hmac(&seed, b"no client has this key"),
            server_key: hmac(&seed, b"no server has this key"),
        }
    }

    /// The salt that [`Credentials::pretend`] gives a user: for credentials derived anew from clear text, so that they
    /// cannot be told from pretended ones.
    pub fn salt_for(secret: &[u8], user: &str) -> Vec<u8> {
        hmac(secret, user.as_bytes())[..PRETENDED_SALT_BYTES].to_vec()
    }

    /// Whether they are of this password.
    pub fn verify(&self, password: &[u8]) -> bool {
        same(&Credentials::derive(password, &self.salt, self.iterations).stored_key, &self.stored_key)
    }
}

/// SASLprep (RFC 4013); what that refuses is taken as it is.
fn prepared(password: &[u8]) -> Vec<u8> {
    let prepared = std::str::from_utf8(password).ok().and_then(|text| stringprep::saslprep(text).ok());
    prepared.map_or_else(|| password.to_vec(), |text| text.into_owned().into_bytes())
}

impl fmt::Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] = [&self.salt[..], &self.stored_key, &self.server_key].map(base64::encode);
        write!(f, "{}:{salt}${stored}:{server}", self.iterations)
    }
}

/// Without what is secret.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}
