//! Entries as clients that keep copies are told of them on the way to what they are, because of what slapd makes of what it is told.
//!
//! Owns: what is said then. Must not know: when. Whatever is said has the number of the change before: the entry comes again with its own,
//! and is taken then.

use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::{Element, List, Writer};
use duramen_ldap::dn::Rdn;

use crate::clock::Moment;
use crate::knowledge::server_of;
use crate::schema::Schema;
use crate::view::View;

/// Attributes of an entry whose name is `cn=name` for a while.
pub(super) fn named(schema: &Schema, attributes: &[u8], name: &str) -> Vec<u8> {
    written(schema, attributes, Some(name))
}

/// Attributes of an entry that has its name.
pub(super) fn before(schema: &Schema, attributes: &[u8]) -> Vec<u8> {
    written(schema, attributes, None)
}

/// Whether an entry has more values of an attribute that names it than that one.
pub(super) fn has_kept_values(view: &View<'_, '_>) -> bool {
    let schema = &view.scene.state.schema;
    let count = |id| view.entry.of_type(id).map(|found| found.values().iter().count()).sum::<usize>();
    let Ok(rdn) = Rdn::parse(view.entry.rdn()) else { return false };
    rdn.avas().any(|ava| schema.find(ava.attribute).is_some_and(|found| count(found.id) > 1))
}

fn written(schema: &Schema, attributes: &[u8], name: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    let mut has_name = false;
    let attributes: List<'_, Attribute<'_>> = List::trusted(attributes);
    for attribute in attributes {
        let is = |id| schema.find(attribute.description).is_some_and(|found| found.id == id);
        let (mut values, mut changed) = (Vec::new(), Vec::new());
        if let Some(name) = name
            && attribute.description.eq_ignore_ascii_case("cn")
        {
            has_name = true;
            changed.extend(attribute.values.iter().chain([name.as_bytes()]).map(<[u8]>::to_vec));
        } else if is(schema.known().entry_csn) {
            changed.extend(attribute.values.iter().next().and_then(number_before));
        }
        if changed.is_empty() {
            attribute.write(&mut writer);
        } else {
            let values = List::build(&mut values, changed.iter().map(Vec::as_slice));
            Attribute { values, ..attribute }.write(&mut writer);
        }
    }
    if let (Some(name), false) = (name, has_name) {
        let mut values = Vec::new();
        let values = List::build(&mut values, [name.as_bytes()]);
        Attribute { description: "cn", values }.write(&mut writer);
    }
    out
}

/// The number before one, of the same server.
fn number_before(number: &[u8]) -> Option<Vec<u8>> {
    let before = Moment(Moment::of_csn(number)?.0.saturating_sub(1));
    Some(before.csn_of(server_of(number).unwrap_or_default()).to_vec())
}
