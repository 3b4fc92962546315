//! PBKDF2 (RFC 8018) as OpenLDAP's module keeps it: `rounds$salt$key`, both in base64 with `.` for `+` and no padding.

use super::scheme::Pbkdf2;
use super::{base64, same};

/// Rounds of new passwords.
const ROUNDS: u32 = 210_000;
/// More rounds than this are computed for no password: some seconds.
const ROUNDS_MAX: u32 = 10_000_000;

pub(super) fn verify(function: Pbkdf2, text: &str, password: &[u8]) -> bool {
    let Some((rounds, salt, expected)) = parse(function, text) else { return false };
    same(&expected, &compute(function, password, &salt, rounds))
}

/// Whether some password may match.
pub(super) fn is_known(function: Pbkdf2, text: &str) -> bool {
    parse(function, text).is_some()
}

/// The rounds, the salt and the key.
fn parse(function: Pbkdf2, text: &str) -> Option<(u32, Vec<u8>, Vec<u8>)> {
    let (rounds, rest) = text.split_once('$')?;
    let (salt, key) = rest.split_once('$')?;
    let (rounds, key) = (rounds.parse().ok()?, base64::decode_adapted(key)?);
    let is_known = (1..=ROUNDS_MAX).contains(&rounds) && key.len() == bytes(function);
    is_known.then_some((rounds, base64::decode_adapted(salt)?, key))
}

pub(super) fn make(function: Pbkdf2, password: &[u8], salt: &[u8]) -> String {
    let key = compute(function, password, salt, ROUNDS);
    format!("{ROUNDS}${}${}", base64::encode_adapted(salt), base64::encode_adapted(&key))
}

fn bytes(function: Pbkdf2) -> usize {
    match function {
        Pbkdf2::Sha1 => 20,
        Pbkdf2::Sha256 => 32,
        Pbkdf2::Sha512 => 64,
    }
}

fn compute(function: Pbkdf2, password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
    let mut key = vec![0; bytes(function)];
    match function {
        Pbkdf2::Sha1 => pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, rounds, &mut key),
        Pbkdf2::Sha256 => pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, rounds, &mut key),
        Pbkdf2::Sha512 => pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, rounds, &mut key),
    }
    key
}
