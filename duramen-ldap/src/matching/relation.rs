//! Rules under which a value need not be equal to what is asserted: where a name stands to another, and values of parts
//! of which only some are asserted.

use std::str::from_utf8;

use super::rule::{Form, Rule, RuleKind};
use crate::dn::Dn;

impl Rule {
    /// Whether a value matches this normalized assertion if and only if its own form is the same.
    pub fn is_equality(&self, asserted: &[u8]) -> bool {
        let is_whole = match self.form {
            Form::CertificatePair => parts(asserted).all(|part| !part.is_empty()),
            Form::PresentationAddress => false,
            _ => true,
        };
        self.kind == RuleKind::Equality && is_whole
    }

    /// Whether a value matches, both in normalized form, under rules of names, and of equality. Others do not come here.
    pub fn relates(&self, value: &[u8], asserted: &[u8]) -> bool {
        match (self.kind, self.form) {
            (RuleKind::Subtree, _) => below(value, asserted).is_some(),
            (RuleKind::OneLevel, _) => below(value, asserted) == Some(1),
            (RuleKind::Subordinate, _) => below(value, asserted).is_some_and(|distance| distance > 0),
            (RuleKind::Superior, _) => below(asserted, value).is_some_and(|distance| distance > 0),
            (_, Form::CertificatePair) => {
                parts(asserted).zip(parts(value)).all(|(asserted, own)| asserted.is_empty() || asserted == own)
            }
            (_, Form::PresentationAddress) => {
                // Selectors, and then addresses, of which the value has to have those that are asserted: both are in order.
                let (mut asserted, mut own) = (parts(asserted), parts(value));
                asserted.next() == own.next() && asserted.all(|address| own.any(|other| other == address))
            }
            _ => value == asserted,
        }
    }
}

/// What stands before each NUL.
fn parts(form: &[u8]) -> impl Iterator<Item = &[u8]> {
    form.strip_suffix(b"\0").unwrap_or(form).split(|&byte| byte == 0)
}

/// By how many RDNs a normalized name is below another; `None` if it is not.
fn below(lower: &[u8], upper: &[u8]) -> Option<usize> {
    let (lower, upper) = (Dn::parse(from_utf8(lower).ok()?).ok()?, Dn::parse(from_utf8(upper).ok()?).ok()?);
    let mut own = lower.rdns().rev();
    let is_above = upper.rdns().rev().all(|rdn| own.next().is_some_and(|own| own.as_str() == rdn.as_str()));
    is_above.then(|| own.count())
}
