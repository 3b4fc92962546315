//! Where duramend is meant to answer otherwise than slapd, and why.

use crate::client::Answer;
use crate::request::Request;

/// A difference that is meant.
struct Difference {
    /// The clause, and what it says.
    why: &'static str,
    /// Given the request and both result codes: slapd's, duramend's.
    applies: fn(&Request, u32, u32) -> bool,
}

const DIFFERENCES: [Difference; 6] = [
    Difference {
        why: "RFC 4511 section 4.1.9: of several errors, one is told. slapd looks at values before it looks for the entry, \
              duramend looks for the entry first, and at the changes one by one",
        applies: |_, theirs, ours| {
            IN_REQUEST.contains(&theirs) && (IN_ENTRY.contains(&ours) || IN_REQUEST.contains(&ours))
        },
    },
    Difference {
        why: "RFC 4511 appendix A.2: a name below which there is no data is that of no object (32). slapd refers to nobody (53, 71)",
        applies: |request, theirs, ours| {
            let outside = |name: &str| !name.to_lowercase().replace(' ', "").ends_with("dc=example,dc=com");
            let elsewhere = match request {
                Request::ModifyDn { name, superior, .. } => outside(name) || superior.as_deref().is_some_and(outside),
                Request::Delete { name } | Request::Modify { name, .. } | Request::Add { name, .. } => outside(name),
                _ => false,
            };
            elsewhere && [53, 71].contains(&theirs) && [32, 53].contains(&ours)
        },
    },
    Difference {
        why: "RFC 4511 section 4.6: what the entry is named by is not removed (67). slapd says that the name lacks it (64)",
        applies: |_, theirs, ours| theirs == 64 && [65, 67].contains(&ours),
    },
    Difference {
        why: "RFC 4511 section 4.9: a suffix is not renamed here (53). slapd sees a move to another server (71)",
        applies: |request, theirs, ours| matches!(request, Request::ModifyDn { .. }) && theirs == 71 && ours == 53,
    },
    Difference {
        why: "RFC 4511 section 4.1.9: that an entry would be above or below itself (53) is told after that the superior is not \
              there (32) or the name is taken (68)",
        applies: |request, theirs, ours| {
            matches!(request, Request::ModifyDn { .. }) && theirs == 53 && [32, 68].contains(&ours)
        },
    },
    Difference {
        why: "RFC 4512 section 5.1: the root DSE is read by a search; for all else it is no entry (32). slapd compares (5, 16) \
              and refuses to change it (53)",
        applies: |request, theirs, ours| match request {
            Request::Compare { name, .. } => name.is_empty() && [5, 6, 16, 21].contains(&theirs) && ours == 32,
            Request::Modify { name, .. } | Request::Delete { name } | Request::ModifyDn { name, .. } => {
                name.is_empty() && theirs == 53 && ours == 32
            }
            _ => false,
        },
    },
];

/// Errors that can be seen in a request alone: protocol, unknown types, constraints, values twice, syntax, names, classes.
const IN_REQUEST: [u32; 8] = [2, 17, 19, 20, 21, 34, 65, 69];
/// Errors that need a look at the directory.
const IN_ENTRY: [u32; 8] = [16, 20, 32, 53, 65, 66, 67, 68];

/// Whether two answers are meant to differ so: the reason.
pub fn intended(request: &Request, theirs: &Answer, ours: &Answer) -> Option<&'static str> {
    let mut known = DIFFERENCES.iter();
    let fails = ![0, 5, 6].contains(&ours.code) && theirs.code != 0;
    known
        .find(|difference| fails && (difference.applies)(request, theirs.code, ours.code))
        .map(|difference| difference.why)
}
