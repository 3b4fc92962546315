//! Argon2 (RFC 9106) in the PHC string form, which is what OpenLDAP's module keeps behind `{ARGON2}`.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, MIN_SALT_LEN, Params, PasswordHasher, PasswordVerifier, Version};

/// More memory than this, in KiB, is taken for no password.
const MEMORY_MAX: u32 = 256 << 10;
/// More memory times passes than this, in KiB, is computed for no password: some seconds.
const WORK_MAX: u64 = 4 << 20;

pub(super) fn verify(text: &str, password: &[u8]) -> bool {
    parse(text).is_some_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
}

/// Whether some password may match.
pub(super) fn is_known(text: &str) -> bool {
    parse(text).is_some()
}

/// What is stored, if it has all its parts, and its memory and its work are within the limits.
fn parse(text: &str) -> Option<PasswordHash> {
    let hash = PasswordHash::new(text).ok()?;
    let params = Params::try_from(&hash).ok()?;
    let work = u64::from(params.m_cost()) * u64::from(params.t_cost());
    let is_cheap = params.m_cost() <= MEMORY_MAX && work <= WORK_MAX;
    Algorithm::try_from(hash.algorithm.as_str()).ok()?;
    hash.version.map(Version::try_from).transpose().ok()?;
    let is_whole = hash.hash.is_some() && hash.salt.as_ref().is_some_and(|salt| salt.len() >= MIN_SALT_LEN);
    (is_cheap && is_whole).then_some(hash)
}

/// Argon2id of 19 MiB and two passes. `None` if the password is too long for it.
pub(super) fn make(password: &[u8], salt: &[u8]) -> Option<String> {
    Some(Argon2::default().hash_password_with_salt(password, salt).ok()?.to_string())
}
