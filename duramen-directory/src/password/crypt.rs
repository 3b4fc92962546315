//! The forms of Unix's `crypt`: which function made one, and its limits.

use sha_crypt::{PasswordHashRef, PasswordHasher, PasswordVerifier, ShaCrypt};

use super::{md5_crypt, same, yescrypt};

/// Longer passwords than libxcrypt takes match nothing: SHA's forms take time with the square of the length.
const PASSWORD_BYTES_MAX: usize = 511;
/// More rounds than this are computed for no password: some seconds.
const SHA_ROUNDS_MAX: u32 = 5_000_000;
/// A greater cost than this is computed for no password: some seconds.
const BCRYPT_COST_MAX: u32 = 16;

pub(super) fn verify(text: &str, password: &[u8]) -> bool {
    if !takes(password) {
        return false;
    }
    match text.get(..3) {
        Some("$1$") => md5_crypt::verify(text, password),
        Some("$5$" | "$6$") => verify_sha(text, password),
        Some("$y$") => yescrypt::verify(text, password),
        _ if ["$2a$", "$2b$", "$2y$"].iter().any(|prefix| text.starts_with(prefix)) => verify_bcrypt(text, password),
        _ => false,
    }
}

/// Whether `crypt` can tell this password from others: it ends at a zero byte.
pub(super) fn takes(password: &[u8]) -> bool {
    password.len() <= PASSWORD_BYTES_MAX && !password.contains(&0)
}

/// SHA-512's form, of 5000 rounds.
pub(super) fn make(password: &[u8], salt: &[u8]) -> Option<String> {
    if !takes(password) {
        return None;
    }
    Some(ShaCrypt::SHA512.hash_password_with_salt(password, salt).ok()?.as_str().to_owned())
}

fn verify_sha(text: &str, password: &[u8]) -> bool {
    let rounds = text[3..].strip_prefix("rounds=").and_then(|rest| rest.split('$').next());
    if rounds.is_some_and(|rounds| rounds.parse().map_or(true, |rounds: u32| rounds > SHA_ROUNDS_MAX)) {
        return false;
    }
    let Ok(hash) = PasswordHashRef::new(text) else { return false };
    ShaCrypt::default().verify_password(password, hash).is_ok()
}

fn verify_bcrypt(text: &str, password: &[u8]) -> bool {
    let Ok(parts) = text.parse::<bcrypt::HashParts>() else { return false };
    let cost = parts.get_cost();
    if !(4..=BCRYPT_COST_MAX).contains(&cost) {
        return false;
    }
    // Salt and digest, the last 53 characters, do not depend on the version's letter.
    let Ok(computed) = bcrypt::hash_with_salt(password, cost, parts.get_salt_raw()) else { return false };
    let computed = computed.format_for_version(bcrypt::Version::TwoB);
    same(&text.as_bytes()[4..], &computed.as_bytes()[4..])
}
