//! Normalized names: equal, byte by byte, if and only if distinguishedNameMatch holds (RFC 4517 section 4.2.15).
//!
//! A normalized RDN is text of the same grammar: canonical types, normalized values, pairs sorted. Each RDN is
//! normalized by itself, so that a name can be followed down the tree RDN by RDN.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Ava, Dn, Rdn, write_ava};
use crate::error::TextError;

/// What names have to be told about attribute types.
pub trait NamingRules {
    /// Appends the normalized form of a value, by the type's equality rule, to `out`, and returns the one name of the
    /// type by which all its names are replaced. The error says what was expected.
    fn normalize<'s>(
        &'s self,
        attribute: &'s str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Cow<'s, str>, &'static str>;
}

/// Appends the normalized form of a pair's value, and returns the one name of its type.
fn normalize<'s>(
    ava: &Ava<'s>,
    rules: &'s (impl NamingRules + ?Sized),
    value: &mut Vec<u8>,
) -> Result<Cow<'s, str>, TextError> {
    let wrong = |expected| TextError::new(ava.offset(), expected);
    rules.normalize(ava.attribute, &ava.value(), value).map_err(wrong)
}

impl Rdn<'_> {
    /// Appends the normalized form. Offsets in errors count from the start of the name the RDN was taken from.
    pub fn normalize(&self, rules: &(impl NamingRules + ?Sized), out: &mut String) -> Result<(), TextError> {
        let mut value = Vec::with_capacity(self.as_str().len());
        let mut avas = self.avas();
        // Almost every RDN is one pair, which needs no sorting.
        if let Some(ava) = avas.next()
            && avas.is_empty()
        {
            let name = normalize(&ava, rules, &mut value)?;
            write_ava(out, &name, &value).expect("a string takes whatever is written to it");
            return Ok(());
        }
        let (mut pairs, mut types) = (Vec::new(), HashSet::new());
        for ava in self.avas() {
            value.clear();
            let name = normalize(&ava, rules, &mut value)?;
            let mut pair = String::new();
            write_ava(&mut pair, &name, &value).expect("a string takes whatever is written to it");
            pairs.push(pair);
            if !types.insert(name) {
                return Err(TextError::new(
                    ava.offset(),
                    "another attribute type, as this RDN has a value of this one",
                ));
            }
        }
        pairs.sort_unstable();
        out.push_str(&pairs.join("+"));
        Ok(())
    }
}

impl Dn<'_> {
    /// Appends the normalized form of the whole name.
    pub fn normalize(&self, rules: &(impl NamingRules + ?Sized), out: &mut String) -> Result<(), TextError> {
        for (n, rdn) in self.rdns().enumerate() {
            if n > 0 {
                out.push(',');
            }
            rdn.normalize(rules, out)?;
        }
        Ok(())
    }
}
