//! Paged results (RFC 2696), with cookies that say everything: the server keeps nothing between pages.

use duramen_ldap::control::{PagedResults, SortKeys};
use duramen_ldap::message::{ResultCode, SearchRequest};
use subtle::ConstantTimeEq;

use crate::failure::{Failure, Result};
use crate::seal::{About, SIGNATURE_BYTES, Seal};
use crate::tables::Id;

use super::sort::Rank;

/// A page of a search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Entries in it.
    pub size: u32,
    pub start: Start,
    /// Entries in the pages before it.
    pub before: u32,
    about: About,
}

/// Where a page begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// Of what is sorted, that of the entry before it; else where the walk goes on.
    pub id: Id,
    /// What that entry was sorted by. It need not be there any more. Nothing where there is no such entry, or no order.
    pub rank: Rank,
}

impl Page {
    /// The page that a request asks for.
    pub fn parse(
        seal: &Seal,
        asked: PagedResults<'_>,
        request: &SearchRequest<'_>,
        sort: Option<SortKeys<'_>>,
    ) -> Result<Page> {
        let (size, about) = (asked.size, seal.about(request, sort));
        if asked.cookie.is_empty() {
            return Ok(Page { size, start: Start::default(), before: 0, about });
        }
        let (said, signature) = asked.cookie.split_last_chunk::<SIGNATURE_BYTES>().ok_or_else(bad_cookie)?;
        let is_signed: bool = seal.sign(&about, said).ct_eq(signature).into();
        match said {
            &[a, b, c, d, e, f, g, h, ref rank @ ..] if is_signed => {
                let start = Start { id: Id::from_be_bytes([a, b, c, d]), rank: rank.to_vec() };
                Ok(Page { size, start, before: u32::from_be_bytes([e, f, g, h]), about })
            }
            _ => Err(bad_cookie()),
        }
    }

    /// A cookie is of a search that was sorted if this one is: with another schema its attribute may have come or gone.
    pub fn check_sorted(&self, is_sorted: bool) -> Result<()> {
        let was_sorted = !self.start.rank.is_empty();
        if self.start.id > 0 && was_sorted != is_sorted { Err(bad_cookie()) } else { Ok(()) }
    }

    /// The cookie of the page after this one.
    pub fn cookie(&self, seal: &Seal, next: &Start, given: u32) -> Vec<u8> {
        let before = self.before.saturating_add(given);
        let mut cookie = [&next.id.to_be_bytes()[..], &before.to_be_bytes(), &next.rank].concat();
        cookie.extend(seal.sign(&self.about, &cookie));
        cookie
    }
}

/// That a cookie is not one of the search.
fn bad_cookie() -> Failure {
    let diagnostic = "the cookie of the paged results control is not one of this search";
    Failure::new(ResultCode::UNWILLING_TO_PERFORM, diagnostic)
}
