//! What the cookies of paged results are signed with.

use std::hash::{BuildHasher, RandomState};

use duramen_ldap::message::SearchRequest;

/// What cookies are signed with, as long as the directory is open: a client that could write its own would have other
/// limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seal(RandomState);

impl Seal {
    /// A number that tells what a search is about.
    pub fn about(&self, request: &SearchRequest<'_>) -> u64 {
        self.0.hash_one((request.base, request.scope as u8, request.filter.encoded()))
    }

    /// The signature of a cookie: of what search it is, and where that goes on.
    pub fn sign(&self, about: u64, from: u32, before: u32) -> [u8; 8] {
        self.0.hash_one((about, from, before)).to_be_bytes()
    }
}
