//! Matching rules (RFC 4517 section 4, RFC 4523, RFC 4530): normalized forms, under which matching is comparing bytes.
//!
//! Owns: rules, string preparation. Must not know: which attribute has which rule; it asks through [`Names`].

mod address;
mod authz;
mod certificate;
mod csn;
mod integer;
mod names;
mod prepare;
mod relation;
mod rule;
mod substrings;

pub use names::{Names, WithoutSchema};
pub use prepare::is_plain;
pub use rule::{RULES, Rule, RuleKind};
pub use substrings::{Place, SubstringsAssertion};

#[cfg(test)]
mod tests;
