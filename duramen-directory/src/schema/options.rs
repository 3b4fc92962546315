//! Which options an attribute type can have behind it (RFC 4512 section 2.5).
//!
//! Owns: whether options and a type go together. Must not know: what descriptions with options are used for.

use duramen_ldap::syntax::Syntax;

use super::Attribute;

/// The option of values that are transferred in BER (RFC 4522).
const BINARY: &str = "binary";

/// Options of a description, as many as slapd takes: those of filters are looked for among those of entries, one by one.
const OPTIONS_MAX: usize = 128;

impl Attribute {
    /// That the type can have these options, which are in lower case. What is operational has none, as in slapd: the
    /// program gives such types a meaning, and would look for them without options.
    ///
    /// # Errors
    /// Why not: such a description is undefined.
    pub(crate) fn check_options(&self, options: &[String]) -> Result<(), &'static str> {
        if self.is_operational() && !options.is_empty() {
            return Err("it is operational, and operational attributes have no options");
        }
        if options.len() > OPTIONS_MAX {
            return Err("it has more than 128 options");
        }
        let is_of_bytes = self.syntax.is_none_or(Syntax::may_be_binary);
        if !is_of_bytes && options.iter().any(|option| option == BINARY) {
            return Err("values of its syntax are not transferred in BER, so there is no option binary (RFC 4522)");
        }
        Ok(())
    }
}
