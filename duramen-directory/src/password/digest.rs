//! Digests of a password and a salt, in base64: the digest, and behind it the salt.

use super::scheme::{Digest, Function};
use super::{base64, same};

pub(super) fn verify(digest: Digest, text: &str, password: &[u8]) -> bool {
    parse(digest, text).is_some_and(|(expected, salt)| same(&expected, &compute(digest.function, password, &salt)))
}

/// Whether some password may match.
pub(super) fn is_known(digest: Digest, text: &str) -> bool {
    parse(digest, text).is_some()
}

/// The digest and the salt. One that claims to be salted and is not was made by no known program.
fn parse(digest: Digest, text: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut stored = base64::decode(text)?;
    let salt = (stored.len() >= bytes(digest.function)).then(|| stored.split_off(bytes(digest.function)))?;
    (salt.is_empty() != digest.salted).then_some((stored, salt))
}

/// The text of a password's digest; without a salt if the scheme has none.
pub(super) fn make(digest: Digest, password: &[u8], salt: &[u8]) -> String {
    let salt = if digest.salted { salt } else { b"" };
    let mut stored = compute(digest.function, password, salt);
    stored.extend_from_slice(salt);
    base64::encode(&stored)
}

fn bytes(function: Function) -> usize {
    match function {
        Function::Md5 => 16,
        Function::Sha1 => 20,
        Function::Sha256 => 32,
        Function::Sha384 => 48,
        Function::Sha512 => 64,
    }
}

fn compute(function: Function, password: &[u8], salt: &[u8]) -> Vec<u8> {
    fn of<D: sha1::Digest>(password: &[u8], salt: &[u8]) -> Vec<u8> {
        D::new().chain_update(password).chain_update(salt).finalize().to_vec()
    }
    match function {
        Function::Md5 => of::<md5::Md5>(password, salt),
        Function::Sha1 => of::<sha1::Sha1>(password, salt),
        Function::Sha256 => of::<sha2::Sha256>(password, salt),
        Function::Sha384 => of::<sha2::Sha384>(password, salt),
        Function::Sha512 => of::<sha2::Sha512>(password, salt),
    }
}
