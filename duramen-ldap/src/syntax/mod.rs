//! Syntaxes (RFC 4517 section 3, RFC 4523, RFC 2307, RFC 4530): which values are ones.
//!
//! Owns: the table of syntaxes, the check of each. Must not know: which attribute has which syntax.

mod authz;
mod check;
mod guide;
mod subtree;
mod text;

use crate::error::TextError;

pub use authz::{Authz, AuthzNames, AuthzUser, parse as parse_authz};
pub(crate) use check::{check_bit_string, check_boolean, check_oid, parse_uuid};
pub use check::{join_uid, split_uid};
pub(crate) use text::presentation_address as check_presentation_address;

/// A syntax.
#[derive(Debug)]
pub struct Syntax {
    /// Its number.
    pub oid: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Whether values can be shown to people.
    pub readable: bool,
    check: fn(&[u8]) -> Result<(), TextError>,
}

impl Syntax {
    /// The syntax of this number.
    pub fn find(oid: &str) -> Option<&'static Syntax> {
        SYNTAXES.iter().find(|syntax| syntax.oid == oid)
    }

    /// Whether `value` is of this syntax; the error says at which byte it is not. To be answered with
    /// invalidAttributeSyntax.
    pub fn check(&self, value: &[u8]) -> Result<(), TextError> {
        (self.check)(value)
    }

    /// Whether values have to be transferred with the option `;binary` (RFC 4522, RFC 4523).
    pub fn is_binary(&self) -> bool {
        let number = self.oid.strip_prefix("1.3.6.1.4.1.1466.115.121.1.");
        matches!(number, Some("8" | "9" | "10" | "49")) || self.oid == ATTRIBUTE_CERTIFICATE
    }

    /// Whether they can be transferred with it, as they are BER. RFC 2798 has values of the syntax Binary so.
    pub fn may_be_binary(&self) -> bool {
        self.is_binary() || matches!(self.oid, BINARY | PRIVATE_KEY)
    }
}

const fn readable(oid: &'static str, name: &'static str, check: fn(&[u8]) -> Result<(), TextError>) -> Syntax {
    Syntax { oid, name, readable: true, check }
}

const fn opaque(oid: &'static str, name: &'static str, check: fn(&[u8]) -> Result<(), TextError>) -> Syntax {
    Syntax { oid, name, readable: false, check }
}

macro_rules! rfc4517 {
    ($number:literal) => {
        concat!("1.3.6.1.4.1.1466.115.121.1.", $number)
    };
}

const BINARY: &str = rfc4517!(5);
const PRIVATE_KEY: &str = "1.2.840.113549.1.8.1.1";
/// OpenLDAP's: X.509 gives attribute certificates none.
const ATTRIBUTE_CERTIFICATE: &str = "1.3.6.1.4.1.4203.666.11.10.2.1";

/// All syntaxes that are known.
pub static SYNTAXES: [Syntax; 58] = [
    readable(rfc4517!(3), "Attribute Type Description", text::attribute_type),
    opaque(rfc4517!(4), "Audio", check::anything),
    opaque(BINARY, "Binary", check::anything),
    readable(rfc4517!(6), "Bit String", check::check_bit_string),
    readable(rfc4517!(7), "Boolean", check::check_boolean),
    opaque(rfc4517!(8), "Certificate", check::certificate),
    opaque(rfc4517!(9), "Certificate List", check::certificate_list),
    opaque(rfc4517!(10), "Certificate Pair", check::certificate_pair),
    readable(rfc4517!(11), "Country String", check::country),
    readable(rfc4517!(12), "DN", text::dn),
    readable(rfc4517!(13), "Data Quality", check::directory_string),
    readable(rfc4517!(14), "Delivery Method", text::delivery_method),
    readable(rfc4517!(15), "Directory String", check::directory_string),
    readable(rfc4517!(16), "DIT Content Rule Description", text::content_rule),
    readable(rfc4517!(17), "DIT Structure Rule Description", text::structure_rule),
    readable(rfc4517!(19), "DSA Quality", text::dsa_quality),
    readable(rfc4517!(21), "Enhanced Guide", guide::enhanced_guide),
    readable(rfc4517!(22), "Facsimile Telephone Number", text::facsimile),
    opaque(rfc4517!(23), "Fax", check::anything),
    readable(rfc4517!(24), "Generalized Time", text::generalized_time),
    readable(rfc4517!(25), "Guide", guide::guide),
    readable(rfc4517!(26), "IA5 String", check::ia5_string),
    readable(rfc4517!(27), "INTEGER", crate::value::check_integer),
    opaque(rfc4517!(28), "JPEG", check::anything),
    readable(rfc4517!(30), "Matching Rule Description", text::matching_rule),
    readable(rfc4517!(31), "Matching Rule Use Description", text::matching_rule_use),
    readable(rfc4517!(34), "Name And Optional UID", text::name_and_uid),
    readable(rfc4517!(35), "Name Form Description", text::name_form),
    readable(rfc4517!(36), "Numeric String", check::numeric_string),
    readable(rfc4517!(37), "Object Class Description", text::object_class),
    readable(rfc4517!(38), "OID", check::check_oid),
    readable(rfc4517!(39), "Other Mailbox", text::other_mailbox),
    opaque(rfc4517!(40), "Octet String", check::anything),
    readable(rfc4517!(41), "Postal Address", text::postal_address),
    readable(rfc4517!(42), "Protocol Information", check::directory_string),
    readable(rfc4517!(43), "Presentation Address", text::presentation_address),
    readable(rfc4517!(44), "Printable String", check::printable_string),
    readable(rfc4517!(45), "Subtree Specification", subtree::specification),
    opaque(rfc4517!(49), "Supported Algorithm", check::supported_algorithm),
    readable(rfc4517!(50), "Telephone Number", check::printable_string),
    readable(rfc4517!(51), "Teletex Terminal Identifier", text::teletex_terminal),
    readable(rfc4517!(52), "Telex Number", text::telex),
    readable(rfc4517!(53), "UTC Time", text::utc_time),
    readable(rfc4517!(54), "LDAP Syntax Description", text::ldap_syntax),
    readable(rfc4517!(58), "Substring Assertion", text::substring_assertion),
    readable("1.3.6.1.1.1.0.0", "NIS Netgroup Triple", text::netgroup_triple),
    readable("1.3.6.1.1.1.0.1", "Boot Parameter", text::boot_parameter),
    readable("1.3.6.1.1.15.1", "Certificate Exact Assertion", check::certificate_assertion),
    readable("1.3.6.1.1.15.3", "Certificate Pair Exact Assertion", check::pair_assertion),
    readable("1.3.6.1.1.15.5", "Certificate List Exact Assertion", check::list_assertion),
    readable("1.3.6.1.1.15.7", "Algorithm Identifier", check::algorithm_assertion),
    readable("1.3.6.1.1.16.1", "UUID", check::uuid),
    readable("1.2.36.79672281.1.5.0", "RDN", text::rdn),
    opaque(PRIVATE_KEY, "PKCS#8 PrivateKeyInfo", check::private_key),
    readable("1.3.6.1.4.1.4203.666.2.7", "OpenLDAP authz", authz::check),
    opaque(ATTRIBUTE_CERTIFICATE, "Attribute Certificate", check::attribute_certificate),
    readable("1.3.6.1.4.1.4203.666.11.10.2.2", "Attribute Certificate Exact Assertion", check::attribute_assertion),
    readable("1.3.6.1.4.1.4203.666.11.2.1", "CSN", check::ia5_string),
];

#[cfg(test)]
mod tests;
