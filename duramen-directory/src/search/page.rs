//! Paged results (RFC 2696), with cookies that say everything: the server keeps nothing between pages.

use duramen_ldap::message::{ResultCode, SearchRequest};

use crate::failure::{Failure, Result};

/// A page of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    /// Entries in it.
    pub size: u32,
    /// Where it begins: an id, or a place in the sorted order.
    pub from: u32,
    /// Entries in the pages before it.
    pub before: u32,
    /// What makes a cookie belong to its search.
    pub check: u32,
}

/// What a search is about, in 32 bits (FNV-1a), so that a cookie of another search is noticed.
fn check(request: &SearchRequest<'_>) -> u32 {
    let parts = [request.base.as_bytes(), &[request.scope as u8], request.filter.encoded()];
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes.fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl Page {
    /// The page that a request asks for.
    pub fn parse(size: u32, cookie: &[u8], request: &SearchRequest<'_>) -> Result<Page> {
        let check = check(request);
        if cookie.is_empty() {
            return Ok(Page { size, from: 0, before: 0, check });
        }
        let fail = || {
            let diagnostic = "the cookie of the paged results control is not one of this search";
            Failure::new(ResultCode::UNWILLING_TO_PERFORM, diagnostic)
        };
        let cookie: [u8; 12] = cookie.try_into().map_err(|_| fail())?;
        let number = |at: usize| u32::from_be_bytes([cookie[at], cookie[at + 1], cookie[at + 2], cookie[at + 3]]);
        if number(0) != check {
            return Err(fail());
        }
        Ok(Page { size, from: number(4), before: number(8), check })
    }

    /// The cookie of the page after this one.
    pub fn cookie(&self, next: u32, given: u32) -> Vec<u8> {
        [self.check, next, self.before + given].iter().flat_map(|number| number.to_be_bytes()).collect()
    }
}
