//! Names in the strict form of RFC 4514, in which they are sent: no spaces around separators, no `;`, no escapes but
//! those that are needed.

use std::fmt::{Result, Write};

use super::{Dn, Rdn, write_ava};

impl Rdn<'_> {
    /// Writes the RDN. `name_of` tells the name that is to stand for an attribute type's names and OID, if it has one.
    pub fn write_strict<'s>(&self, name_of: &impl Fn(&str) -> Option<&'s str>, out: &mut impl Write) -> Result {
        for (n, ava) in self.avas().enumerate() {
            if n > 0 {
                out.write_char('+')?;
            }
            let name = name_of(ava.attribute);
            let attribute = name.unwrap_or(ava.attribute);
            match ava.encoding() {
                // What is no string may be of a syntax that has no string form, and so may whatever is of an unknown type.
                Some(encoding) if name.is_none() || !ava.is_of_string() => write!(out, "{attribute}={encoding}")?,
                _ => write_ava(out, attribute, &ava.value())?,
            }
        }
        Ok(())
    }
}

impl Dn<'_> {
    /// Writes the name: see [`Rdn::write_strict`].
    pub fn write_strict<'s>(&self, name_of: &impl Fn(&str) -> Option<&'s str>, out: &mut impl Write) -> Result {
        for (n, rdn) in self.rdns().enumerate() {
            if n > 0 {
                out.write_char(',')?;
            }
            rdn.write_strict(name_of, out)?;
        }
        Ok(())
    }
}
