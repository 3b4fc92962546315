//! Details in which duramend is meant to answer otherwise than slapd, whatever else is in the answers, and why.

use crate::answer::Answer;
use crate::case::Case;
use crate::controls::Kind;

/// A detail that may be different beside others: slapd's answer as it would be without it.
pub struct Detail {
    /// The clause, and what it says.
    pub why: &'static str,
    pub settle: fn(&Case<'_>, &mut Answer),
}

pub static DETAILS: [Detail; 3] = [
    Detail {
        why: "RFC 4511 section 4.5.1.3: an entry that aliases lead to again is given once. slapd gives it again",
        settle: |case, theirs| {
            if case.ours.twice.is_empty() {
                theirs.twice.clear();
            }
        },
    },
    Detail {
        why: "RFC 3876 section 2: attributes without values that match are left out. slapd keeps those that it makes",
        settle: |case, theirs| leave_out(case, theirs, &["entrydn", "hassubordinates", "subschemasubentry"]),
    },
    Detail {
        why: "RFC 4517 section 4.2.26: a class is equal to itself only, and no value that is kept for one above it",
        settle: |case, theirs| {
            if asks_for_superior_class(case) {
                leave_out(case, theirs, &["structuralobjectclass"]);
            }
        },
    },
];

/// Whether a filter asks for a structural class that others are kinds of.
pub fn asks_for_superior_class(case: &Case<'_>) -> bool {
    let superior = ["=", "~=", ":=", ":dn:="].map(|sign| {
        ["person)", "2.5.6.7)", "top)", "fThing)", "fItem)", "FTHING)", "fBase)", "fOtherBase)"]
            .map(|class| format!("structuralObjectClass{sign}{class}"))
    });
    superior.iter().flatten().any(|item| case.filters_have(item))
}

/// Takes attributes away that slapd shows with values that match, and duramend does not.
fn leave_out(case: &Case<'_>, theirs: &mut Answer, attributes: &[&str]) {
    if !case.has(|kind| matches!(kind, Kind::MatchedValues(_))) {
        return;
    }
    for (name, entry) in &mut theirs.entries {
        let ours = case.ours.entries.get(name);
        entry.retain(|name, _| !attributes.contains(&name.as_str()) || ours.is_none_or(|ours| ours.contains_key(name)));
    }
}
