//! What the cookies of paged results are signed with: HMAC-SHA-256 (RFC 2104).

use duramen_ldap::control::SortKeys;
use duramen_ldap::message::SearchRequest;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a signature: as many of the function's as nobody can guess.
pub(crate) const SIGNATURE_BYTES: usize = 16;

/// What a search is about, so that a cookie of another one is noticed.
pub(crate) type About = [u8; 32];

/// What cookies are signed with, as long as the directory is open: a client that could write its own would have other
/// limits.
#[derive(Clone)]
pub(crate) struct Seal([u8; 32]);

impl Seal {
    /// Another one each time; an error where the system has no random numbers.
    pub fn new() -> Result<Seal, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Seal(key))
    }

    /// What a search is about, and how its entries are sorted.
    pub fn about(&self, request: &SearchRequest<'_>, sort: Option<SortKeys<'_>>) -> About {
        // With their lengths, so that no end of one is a beginning of the next.
        let (base, filter) = (request.base.as_bytes(), request.filter.encoded());
        let lengths = [base.len(), filter.len()].map(usize::to_be_bytes).concat();
        let keys = sort.map_or(&[][..], |keys| keys.0.encoded());
        self.code(b"search", &[&lengths, base, &[request.scope as u8], filter, keys])
    }

    /// The signature of a cookie: of what search it is, and what the cookie says.
    pub fn sign(&self, about: &About, cookie: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let code = self.code(b"cookie", &[about, cookie]);
        let mut signature = [0; SIGNATURE_BYTES];
        signature.copy_from_slice(&code[..SIGNATURE_BYTES]);
        signature
    }

    /// The code of some bytes; `purpose` keeps those of one kind from being taken for those of the other.
    fn code(&self, purpose: &[u8; 6], parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(purpose);
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_beginning_of_hmac_sha_256_and_of_one_directory() {
        let seal = Seal([7; 32]);
        let mut mac = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
        mac.update(&[&b"cookie"[..], &[1; 32], &[0, 0, 0, 5, 0, 0, 0, 9]].concat());
        let whole: [u8; 32] = mac.finalize().into_bytes().into();
        let cookie = [0, 0, 0, 5, 0, 0, 0, 9];
        assert_eq!(seal.sign(&[1; 32], &cookie), whole[..SIGNATURE_BYTES]);
        let signed = || Seal::new().unwrap().sign(&[1; 32], &cookie);
        assert_ne!(signed(), signed());
    }
}
