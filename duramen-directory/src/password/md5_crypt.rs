//! The `$1$` form of `crypt`: a thousand rounds of MD5. Only verified, for passwords that are there already.

use md5::{Digest, Md5};

use super::crypt64;
use super::same;

const PREFIX: &str = "$1$";
const SALT_BYTES_MAX: usize = 8;
const ROUNDS: usize = 1000;

pub(super) fn verify(text: &str, password: &[u8]) -> bool {
    let Some((salt, expected)) = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('$')) else { return false };
    salt.len() <= SALT_BYTES_MAX && same(expected.as_bytes(), print(&compute(password, salt.as_bytes())).as_bytes())
}

fn compute(password: &[u8], salt: &[u8]) -> [u8; 16] {
    let inner: [u8; 16] = Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();
    let mut first = Md5::new().chain_update(password).chain_update(PREFIX).chain_update(salt);
    for at in (0..password.len()).step_by(16) {
        first.update(&inner[..(password.len() - at).min(16)]);
    }
    // For each bit of the length a zero byte or the password's first: so it has always been.
    let mut bits = password.len();
    while bits > 0 {
        first.update(if bits & 1 == 1 { &[0] } else { &password[..1] });
        bits >>= 1;
    }
    (0..ROUNDS).fold(first.finalize().into(), |last, n| round(n, &last, password, salt))
}

fn round(n: usize, last: &[u8; 16], password: &[u8], salt: &[u8]) -> [u8; 16] {
    let odd = n % 2 == 1;
    let mut hasher = Md5::new().chain_update(if odd { password } else { last });
    if !n.is_multiple_of(3) {
        hasher.update(salt);
    }
    if !n.is_multiple_of(7) {
        hasher.update(password);
    }
    hasher.update(if odd { last } else { password });
    hasher.finalize().into()
}

/// In the order that the form has.
fn print(digest: &[u8; 16]) -> String {
    let group = |n: usize| [digest[n], digest[n + 6], digest[if n == 4 { 5 } else { n + 12 }]];
    let groups: [_; 5] = std::array::from_fn(group);
    crypt64::print(groups.iter().map(|group| &group[..]).chain([&digest[11..12]]))
}
