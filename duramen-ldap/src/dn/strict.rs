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
            let attribute = name_of(ava.attribute).unwrap_or(ava.attribute);
            match ava.encoding() {
                // Whether the type's syntax has a string form is for others to know.
                Some(encoding) => write!(out, "{attribute}={encoding}")?,
                None => write_ava(out, attribute, &ava.value())?,
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
