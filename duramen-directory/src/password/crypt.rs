//! The forms of Unix's `crypt`: which function made one, and its limits.

use sha_crypt::{PasswordHasher, ShaCrypt};

use super::{des_crypt, md5_crypt, same, sha2_crypt, yescrypt};

/// Longer passwords than libxcrypt takes match nothing: SHA's forms take time with the square of the length.
const PASSWORD_BYTES_MAX: usize = 511;
/// A greater cost than this is computed for no password: some seconds.
const BCRYPT_COST_MAX: u32 = 16;

/// A form: what its texts begin with, and what verifies them.
type Form = (&'static str, fn(&str, &[u8]) -> bool);

const FORMS: [Form; 7] = [
    ("$1$", md5_crypt::verify),
    ("$5$", sha2_crypt::verify),
    ("$6$", sha2_crypt::verify),
    ("$y$", yescrypt::verify),
    ("$2a$", verify_bcrypt),
    ("$2b$", verify_bcrypt),
    ("$2y$", verify_bcrypt),
];

fn form(text: &str) -> Option<fn(&str, &[u8]) -> bool> {
    let found = FORMS.iter().find(|(prefix, _)| text.starts_with(prefix)).map(|(_, verify)| *verify);
    found.or(des_crypt::is(text).then_some(des_crypt::verify))
}

pub(super) fn verify(text: &str, password: &[u8]) -> bool {
    takes(password) && form(text).is_some_and(|verify| verify(text, password))
}

/// Whether some password may match.
pub(super) fn is_known(text: &str) -> bool {
    form(text).is_some()
}

/// Whether somebody wrote it who wanted no password to match: too short for any form, or with a character in front that
/// begins none.
pub(super) fn is_locked(text: &str) -> bool {
    text.len() <= 2 || text.starts_with(['*', '!'])
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
