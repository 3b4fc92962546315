//! Comparing a stored value with a normalized one, as a rule without normalizing where that can be.

use duramen_ldap::matching::{Names, Rule, is_plain};

/// What is known of a rule beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quick {
    /// Text; case does not count.
    IgnoreCase,
    /// Text; case counts.
    Exact,
    /// Text; neither case nor spaces and hyphens count.
    Telephone,
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
            "telephoneNumberMatch" => Quick::Telephone,
            "octetStringMatch" | "CSNMatch" => Quick::Octets,
            _ => Quick::Other,
        }
    }

    /// Whether a stored value is equal to a normalized one under `rule`, whose kind this is.
    #[inline]
    pub fn equal(self, rule: &Rule, names: &dyn Names, value: &[u8], normalized: &[u8], scratch: &mut Vec<u8>) -> bool {
        let same = match self {
            Quick::Octets => return value == normalized,
            Quick::Other => false,
            Quick::Telephone if is_visible(value) => return is_number(value, normalized),
            Quick::Telephone => false,
            _ if self.differs(value, normalized) => return false,
            Quick::IgnoreCase => value.eq_ignore_ascii_case(normalized),
            Quick::Exact => value == normalized,
        };
        if same {
            return true;
        }
        if matches!(self, Quick::IgnoreCase | Quick::Exact) && is_plain(value) {
            return false;
        }
        scratch.clear();
        rule.normalize(value, names, scratch).is_ok() && scratch == normalized
    }

    /// Whether the first characters that are not the same tell that a value is another one. What is as it is in a normalized
    /// value stays so, but for case, and so does a character behind it if that and the next one are ASCII and can be seen:
    /// nothing can combine with it.
    #[inline]
    fn differs(self, value: &[u8], normalized: &[u8]) -> bool {
        let is_same = |(byte, other): &(&u8, &u8)| match self {
            Quick::IgnoreCase => byte.to_ascii_lowercase() == **other,
            _ => byte == other,
        };
        let same = value.iter().zip(normalized).take_while(is_same).count();
        let is_visible = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_graphic);
        same < normalized.len() && value.get(same..same + 2).is_some_and(is_visible)
    }
}

/// Whether a value is ASCII and can be seen, or is a space.
fn is_visible(value: &[u8]) -> bool {
    value.iter().all(|byte| (b' '..0x7F).contains(byte))
}

/// Whether a telephone number that [`is_visible`] has this normalized form.
fn is_number(value: &[u8], normalized: &[u8]) -> bool {
    let kept = value.iter().filter(|byte| !matches!(byte, b' ' | b'-'));
    kept.map(u8::to_ascii_lowercase).eq(normalized.iter().copied())
}

#[cfg(test)]
mod tests {
    use duramen_ldap::matching::RULES;
    use proptest::prelude::*;

    use super::*;
    use crate::schema::tests::built_in;

    /// Text of few pieces, so that many values are equal: spaces, what is mapped, what combines with what is before it.
    fn text() -> impl Strategy<Value = String> {
        let pieces =
            ["a", "A", "e", "E", " ", "-", "\0", "e\u{301}", "E\u{301}", "\u{e9}", "\u{ad}", "\u{df}", "\u{301}"];
        prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn quick_comparing_says_what_normalizing_says(a in text(), b in text()) {
            let schema = built_in("").unwrap();
            for rule in RULES.iter().filter(|rule| Quick::of(rule) != Quick::Other) {
                let (mut form, mut other, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
                if rule.normalize(b.as_bytes(), &schema, &mut form).is_err() {
                    continue;
                }
                let expected = rule.normalize(a.as_bytes(), &schema, &mut other).is_ok() && other == form;
                let quick = Quick::of(rule).equal(rule, &schema, a.as_bytes(), &form, &mut scratch);
                prop_assert_eq!(quick, expected, "{} of {:?} and {:?}", rule.name, a, b);
            }
        }
    }
}
