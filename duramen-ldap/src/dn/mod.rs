//! Distinguished names in their string form (RFC 4514).
//!
//! Owns: the grammar, escapes, taking names apart and putting them together. Must not know: schema; it is asked for
//! through [`NamingRules`].
//!
//! A [`Dn`] is a checked string. Its RDNs are found by looking for separators that are neither escaped nor in quotes,
//! from either end, so that nothing is kept beside the text, and the parent of a name is a slice of it.
//!
//! Beyond the grammar, and as others do: spaces around separators are allowed, `;` between RDNs, and quotes around a value
//! (RFC 2253 section 4).

mod ava;
mod check;
mod normal;
mod strict;
mod value;

pub use ava::{Ava, Avas, Rdn};
pub use normal::NamingRules;
pub use value::{write_ava, write_value};

use std::fmt;

use crate::error::TextError;

/// A distinguished name: RDNs from the entry's own up to the suffix's last.
#[derive(Clone, Copy, Default)]
pub struct Dn<'a> {
    text: &'a str,
}

impl<'a> Dn<'a> {
    /// The empty name: the root DSE, above all suffixes.
    pub const ROOT: Dn<'static> = Dn { text: "" };

    /// Checks a name.
    pub fn parse(text: &'a str) -> Result<Dn<'a>, TextError> {
        check::dn(text)?;
        Ok(Dn { text: if text.trim_ascii().is_empty() { "" } else { text } })
    }

    /// The first RDN of a name's text and what stands behind it, both unchecked. `None` if it has one RDN at most.
    pub fn split_first(text: &str) -> Option<(&str, &str)> {
        let (first, behind) = ava::split_first(text, is_separator);
        behind.map(|behind| (first, behind))
    }

    /// The text, as it was parsed.
    pub const fn as_str(&self) -> &'a str {
        self.text
    }

    /// Whether it is the empty name.
    pub const fn is_root(&self) -> bool {
        self.text.is_empty()
    }

    /// The first RDN: the entry's own. `None` of the root.
    pub fn rdn(&self) -> Option<Rdn<'a>> {
        self.rdns().next()
    }

    /// The name without its first RDN. `None` of the root.
    pub fn parent(&self) -> Option<Dn<'a>> {
        let mut rdns = self.rdns();
        rdns.next()?;
        Some(Dn { text: rdns.rest.unwrap_or("") })
    }

    /// RDNs, from the entry's own up; backwards, from the suffix down.
    pub fn rdns(&self) -> Rdns<'a> {
        Rdns { rest: Some(self.text).filter(|text| !text.is_empty()), start: 0 }
    }

    /// How many RDNs it has.
    pub fn depth(&self) -> usize {
        self.rdns().count()
    }

    /// The name of the entry `rdn` directly below this one.
    pub fn child(&self, rdn: Rdn<'_>) -> String {
        if self.is_root() { rdn.to_string() } else { format!("{rdn},{self}") }
    }

    /// What it becomes by a modify DN operation; without a new superior, it stays below its parent. `None` of the root.
    pub fn renamed(&self, rdn: Rdn<'_>, new_superior: Option<Dn<'_>>) -> Option<String> {
        let parent = self.parent()?;
        Some(new_superior.unwrap_or(parent).child(rdn))
    }
}

impl fmt::Display for Dn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl fmt::Debug for Dn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text, f)
    }
}

/// RDNs of a name, from either end.
#[derive(Debug, Clone)]
pub struct Rdns<'a> {
    /// What has not been given out; `None` at the end.
    rest: Option<&'a str>,
    /// Where it begins in the name.
    start: usize,
}

impl<'a> Iterator for Rdns<'a> {
    type Item = Rdn<'a>;

    fn next(&mut self) -> Option<Rdn<'a>> {
        let rest = self.rest?;
        let start = self.start;
        let (first, behind) = ava::split_first(rest, is_separator);
        self.rest = behind;
        self.start += first.len() + 1;
        Some(Rdn::new(first, start))
    }
}

impl<'a> DoubleEndedIterator for Rdns<'a> {
    fn next_back(&mut self) -> Option<Rdn<'a>> {
        let rest = self.rest?;
        let bytes = rest.as_bytes();
        let mut quoted = false;
        let at = (0..bytes.len()).rev().find(|&at| match bytes[at] {
            b'"' if !is_escaped(bytes, at) => {
                quoted = !quoted;
                false
            }
            byte => is_separator(byte) && !quoted && !is_escaped(bytes, at),
        });
        let begin = at.map_or(0, |at| at + 1);
        self.rest = at.map(|at| &rest[..at]);
        Some(Rdn::new(&rest[begin..], self.start + begin))
    }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b';')
}

/// Whether an odd number of backslashes stands before `bytes[at]`.
pub(crate) fn is_escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests;
