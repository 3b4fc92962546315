//! How values are written down, whoever sent them: names in the strict form of RFC 4514, as servers have to send
//! them (RFC 4511 section 4.1.3), attribute types and object classes by the schema's name. Clients compare them as text.
//!
//! What cannot be read so stays as it is: others say what is wrong with it.

use std::borrow::Cow;

use duramen_ldap::syntax::{join_uid, split_uid};

use super::draft::Value;
use crate::names::strict;
use crate::schema::{Attribute, Schema};

/// Syntaxes with a name in their values (RFC 4517 sections 3.3.9 and 3.3.21).
const DN: &str = "1.3.6.1.4.1.1466.115.121.1.12";
const NAME_AND_UID: &str = "1.3.6.1.4.1.1466.115.121.1.34";

/// A value of an attribute.
pub(crate) fn value<'v>(schema: &Schema, attribute: &Attribute, value: &'v [u8]) -> Value<'v> {
    let written = if attribute.id == schema.known().object_class {
        schema.find_class(value).filter(|class| class.name.as_bytes() != value).map(|class| class.name.clone())
    } else {
        let text = || std::str::from_utf8(value).ok();
        match attribute.syntax.map(|syntax| syntax.oid) {
            Some(DN) => text().and_then(|text| strict(schema, text)),
            Some(NAME_AND_UID) => text().and_then(|text| name_and_uid(schema, text)),
            _ => None,
        }
    };
    match written {
        Some(written) if written.as_bytes() != value => Cow::Owned(written.into_bytes()),
        _ => Cow::Borrowed(value),
    }
}

fn name_and_uid(schema: &Schema, text: &str) -> Option<String> {
    let (name, uid) = split_uid(text);
    Some(join_uid(strict(schema, name)?, uid))
}
