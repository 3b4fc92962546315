//! Names as those who write them have to write them: a value in one is of its attribute type's syntax (RFC 4514 section 2.4,
//! RFC 4512 section 2.5). What is stored from other times need not be, and has its form all the same.

use std::borrow::Cow;

use duramen_ldap::dn::NamingRules;
use duramen_ldap::matching::Names;

use super::{Schema, UNKNOWN_TYPE};

/// A schema that refuses names with values which their types cannot have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judging<'s>(pub &'s Schema);

impl NamingRules for Judging<'_> {
    fn normalize<'n>(
        &'n self,
        attribute: &'n str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Cow<'n, str>, &'static str> {
        let found = self.0.find(attribute).ok_or(UNKNOWN_TYPE)?;
        found.syntax.map_or(Ok(()), |syntax| syntax.check(value)).map_err(|error| error.expected)?;
        // A name within is judged, too.
        let names: &dyn Names = if found.equality.is_some_and(|rule| rule.asks_about_names()) { self } else { self.0 };
        found.normalize_in_name(value, names, out)
    }
}

impl Names for Judging<'_> {
    fn oid(&self, name: &str) -> Option<&str> {
        self.0.oid(name)
    }

    fn attribute_oid(&self, name: &str) -> Option<&str> {
        self.0.attribute_oid(name)
    }

    fn class_oid(&self, name: &str) -> Option<&str> {
        self.0.class_oid(name)
    }
}
