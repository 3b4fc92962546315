//! Normalized names: equal, byte by byte, if and only if distinguishedNameMatch holds (RFC 4517 section 4.2.15).
//!
//! A normalized RDN is text of the same grammar: canonical types, normalized values, pairs sorted. Each RDN is
//! normalized by itself, so that a name can be followed down the tree RDN by RDN.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Dn, Rdn, write_ava};
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

impl Rdn<'_> {
    /// Appends the normalized form. Offsets in errors count from the start of the name the RDN was taken from.
    pub fn normalize(&self, rules: &(impl NamingRules + ?Sized), out: &mut String) -> Result<(), TextError> {
        let (mut pairs, mut types) = (Vec::new(), HashSet::new());
        let mut value = Vec::new();
        let mut avas = self.avas();
        while let Some(ava) = avas.next() {
            value.clear();
            let name = rules
                .normalize(ava.attribute, &ava.value(), &mut value)
                .map_err(|expected| TextError::new(ava.offset(), expected))?;
            // Almost every RDN is one pair, which needs no sorting.
            if pairs.is_empty() && avas.clone().next().is_none() {
                write_ava(out, &name, &value).expect("a string takes whatever is written to it");
                return Ok(());
            }
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
