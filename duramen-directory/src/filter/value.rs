//! Comparing a stored value with a normalized one, as a rule without normalizing where that can be.

use duramen_ldap::matching::{Names, Rule};

/// What is known of a rule beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quick {
    /// Text; case does not count.
    IgnoreCase,
    /// Text; case counts.
    Exact,
    /// Bytes.
    Octets,
    /// Nothing: values have to be normalized.
    Other,
}

impl Quick {
    pub fn of(rule: &Rule) -> Quick {
        match rule.name {
            "caseIgnoreMatch" | "caseIgnoreIA5Match" => Quick::IgnoreCase,
            "caseExactMatch" | "caseExactIA5Match" => Quick::Exact,
            "octetStringMatch" | "CSNMatch" => Quick::Octets,
            _ => Quick::Other,
        }
    }

    /// Whether a stored value is equal to a normalized one under `rule`, whose kind this is.
    #[inline]
    pub fn equal(self, rule: &Rule, names: &dyn Names, value: &[u8], normalized: &[u8], scratch: &mut Vec<u8>) -> bool {
        let same = match self {
            Quick::Octets => return value == normalized,
            Quick::IgnoreCase => value.eq_ignore_ascii_case(normalized),
            Quick::Exact => value == normalized,
            Quick::Other => false,
        };
        if same {
            return true;
        }
        if self != Quick::Other && is_plain(value) {
            return false;
        }
        scratch.clear();
        rule.normalize(value, names, scratch).is_ok() && scratch == normalized
    }
}

/// Whether normalizing a value changes nothing but case: ASCII, with no spaces that do not count.
#[inline]
pub(crate) fn is_plain(value: &[u8]) -> bool {
    let mut before = b' ';
    for &byte in value {
        if !(b' '..0x7F).contains(&byte) || (byte == b' ' && before == b' ') {
            return false;
        }
        before = byte;
    }
    before != b' '
}
