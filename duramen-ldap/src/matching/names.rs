//! What matching has to be told by the schema.

use std::borrow::Cow;

use super::prepare::{Case, prepare};
use crate::dn::NamingRules;

/// Answers about names: by a schema, or by [`WithoutSchema`].
pub trait Names: NamingRules {
    /// The OID of an attribute type, object class or rule of this name, so that name and number are equal.
    fn oid(&self, name: &str) -> Option<&str>;

    /// The OID of an attribute type of this name or number.
    fn attribute_oid(&self, name: &str) -> Option<&str> {
        self.oid(name)
    }

    /// The OID of an object class of this name or number.
    fn class_oid(&self, name: &str) -> Option<&str> {
        self.oid(name)
    }
}

/// For programs that have no schema: types in lower case, all values by caseIgnoreMatch.
#[derive(Debug, Clone, Copy, Default)]
pub struct WithoutSchema;

impl NamingRules for WithoutSchema {
    fn normalize<'s>(
        &'s self,
        attribute: &'s str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Cow<'s, str>, &'static str> {
        match std::str::from_utf8(value) {
            Ok(text) => prepare(text, Case::Ignore, out),
            Err(_) => out.extend_from_slice(value),
        }
        let lower = attribute.bytes().all(|byte| !byte.is_ascii_uppercase());
        Ok(if lower { Cow::Borrowed(attribute) } else { Cow::Owned(attribute.to_ascii_lowercase()) })
    }
}

impl Names for WithoutSchema {
    fn oid(&self, _: &str) -> Option<&str> {
        None
    }
}
