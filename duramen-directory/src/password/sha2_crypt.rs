//! The `$5$` and `$6$` forms of `crypt`: rounds of SHA-256 and SHA-512. Only verified.
//!
//! The digest is the crate's, and the form is read here: `crypt`, and who calls it (`openssl passwd -salt`), takes salts of any
//! characters but a dollar, or none, and the crate no others than digits of its own.

use sha_crypt::{Params, sha256_crypt, sha512_crypt};

use super::crypt64::print;
use super::same;

/// More rounds than this are computed for no password: some seconds.
const ROUNDS_MAX: u32 = 5_000_000;
const SALT_BYTES_MAX: usize = 16;

/// Whether a text that begins with `$5$` or `$6$` was made of a password.
pub(super) fn verify(text: &str, password: &[u8]) -> bool {
    let Some((params, salt, expected)) = parts(&text[3..]) else { return false };
    let computed = match text.starts_with("$5$") {
        true => print_sha256(&sha256_crypt(password, salt.as_bytes(), params)),
        false => print_sha512(&sha512_crypt(password, salt.as_bytes(), params)),
    };
    same(expected.as_bytes(), computed.as_bytes())
}

/// Rounds, salt and digest.
fn parts(text: &str) -> Option<(Params, &str, &str)> {
    let (params, rest) = match text.strip_prefix("rounds=") {
        Some(text) => {
            let (rounds, rest) = text.split_once('$')?;
            let rounds = rounds.parse().ok().filter(|rounds| *rounds <= ROUNDS_MAX && !text.starts_with(['0', '+']))?;
            (Params::new(rounds).ok()?, rest)
        }
        None => (Params::RECOMMENDED, text),
    };
    let (salt, digest) = rest.split_once('$')?;
    (salt.len() <= SALT_BYTES_MAX).then_some((params, salt, digest))
}

/// A byte of each third of the digest; which third comes first goes round.
fn print_sha256(digest: &[u8; 32]) -> String {
    let groups = (0..10).map(|n| [[0, 10, 20], [20, 0, 10], [10, 20, 0]][n % 3].map(|third| digest[third + n]));
    let groups: Vec<_> = groups.collect();
    print(groups.iter().map(|group| &group[..]).chain([&[digest[31], digest[30]][..]]))
}

fn print_sha512(digest: &[u8; 64]) -> String {
    let groups = (0..21).map(|n| [[0, 21, 42], [21, 42, 0], [42, 0, 21]][n % 3].map(|third| digest[third + n]));
    let groups: Vec<_> = groups.collect();
    print(groups.iter().map(|group| &group[..]).chain([&digest[63..]]))
}
