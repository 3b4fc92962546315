//! Paged results (RFC 2696), with cookies that say everything: the server keeps nothing between pages.

use duramen_ldap::message::{ResultCode, SearchRequest};
use subtle::ConstantTimeEq;

use crate::failure::{Failure, Result};
use crate::seal::{About, SIGNATURE_BYTES, Seal};

/// Where to go on, entries before that, and the signature of both.
const COOKIE_BYTES: usize = 8 + SIGNATURE_BYTES;

/// A page of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    /// Entries in it.
    pub size: u32,
    /// Where it begins: an id, or a place in the sorted order.
    pub from: u32,
    /// Entries in the pages before it.
    pub before: u32,
    about: About,
}

impl Page {
    /// The page that a request asks for.
    pub fn parse(seal: &Seal, size: u32, cookie: &[u8], request: &SearchRequest<'_>) -> Result<Page> {
        let about = seal.about(request);
        if cookie.is_empty() {
            return Ok(Page { size, from: 0, before: 0, about });
        }
        let fail = || {
            let diagnostic = "the cookie of the paged results control is not one of this search";
            Failure::new(ResultCode::UNWILLING_TO_PERFORM, diagnostic)
        };
        let cookie: [u8; COOKIE_BYTES] = cookie.try_into().map_err(|_| fail())?;
        let number = |at: usize| u32::from_be_bytes([cookie[at], cookie[at + 1], cookie[at + 2], cookie[at + 3]]);
        let (from, before) = (number(0), number(4));
        let is_signed: bool = seal.sign(&about, from, before).ct_eq(&cookie[8..]).into();
        if is_signed { Ok(Page { size, from, before, about }) } else { Err(fail()) }
    }

    /// The cookie of the page after this one.
    pub fn cookie(&self, seal: &Seal, next: u32, given: u32) -> Vec<u8> {
        let before = self.before.saturating_add(given);
        [&next.to_be_bytes()[..], &before.to_be_bytes(), &seal.sign(&self.about, next, before)].concat()
    }
}
