//! Where duramend is meant to answer otherwise than slapd, and why.

use crate::client::Answer;
use crate::request::Request;

/// A difference that is meant.
struct Difference {
    /// The clause, and what it says.
    why: &'static str,
    applies: fn(&Request, &Answer, &Answer) -> bool,
}

const DIFFERENCES: [Difference; 0] = [];

/// Whether two answers are meant to differ so.
pub fn intended(request: &Request, theirs: &Answer, ours: &Answer) -> bool {
    DIFFERENCES.iter().any(|difference| (difference.applies)(request, theirs, ours))
}
