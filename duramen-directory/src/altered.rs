//! What a schema that takes the place of another means for what is stored: keys of indices, names and keys of large
//! attributes are made of values as their rules normalize them.
//!
//! Owns: which indices are no longer right, which schemas what is stored does not go with. Must not know: where either
//! schema comes from.

use duramen::Table;
use duramen_ldap::dn::Dn;
use duramen_ldap::matching::Rule;

use crate::entry::Entry;
use crate::error::OpenError;
use crate::index::bits;
use crate::large;
use crate::schema::{Attribute, AttributeId, Class, Schema};

/// The kinds of an attribute's index that are made anew, because its keys are others than before.
pub(crate) fn kinds(before: &Schema, now: &Schema, id: AttributeId) -> u8 {
    let (Some(old), Some(new)) = (before.get(id), now.get(id)) else { return 0 };
    let is_equality = is_compared_otherwise(old, new)
        || old.single_value != new.single_value
        || (id == now.known().object_class && !have_same_kinds(before, now));
    let is_substring = oid(old.substrings) != oid(new.substrings);
    let bit = |set, bit| if set { bit } else { 0 };
    bit(is_equality, bits::EQUALITY) | bit(is_substring, bits::SUBSTRING)
}

/// Sees to it that entries are not named by types, nor have very many values of them, whose values are equal by another
/// rule now, or that have lost the name that stands in names: nobody would find them. `entries` is table `entry`.
pub(crate) fn check(before: &Schema, now: &Schema, entries: &Table<'_>) -> Result<(), OpenError> {
    let is_altered =
        |old: &Attribute| now.get(old.id).is_some_and(|new| is_compared_otherwise(old, new) || old.key != new.key);
    let are_in_place = |old: &Attribute| now.get(old.id).is_some_and(|new| large::may_be(old) && !large::may_be(new));
    if !before.attributes().any(|old| is_altered(old) || are_in_place(old)) {
        return Ok(());
    }
    for item in entries.range(..)? {
        let Some(entry) = Entry::parse(item?.1) else { continue };
        let of_name = named_by(before, entry.rdn()).map(|old| (old, "there are entries named by it"));
        let many: Vec<&Attribute> = entry.large().filter_map(|large| before.get(large.id)).collect();
        if let Some(old) = many.iter().find(|old| are_in_place(old)) {
            // Where these are, they have keys of equality alone.
            return Err(OpenError::Schema(format!(
                "{}: {MANY}, so it stays a user attribute without a rule for substrings: {ANEW}",
                old.name
            )));
        }
        let of_values = many.into_iter().map(|old| (old, MANY));
        if let Some((old, why)) = of_name.chain(of_values).find(|(old, _)| is_altered(old)) {
            return Err(refusal(old, why));
        }
    }
    Ok(())
}

const MANY: &str = "there are entries with very many values of it";
/// What to do where a schema cannot change.
const ANEW: &str = "export the directory, and import it into a new folder with the new schema";

fn refusal(old: &Attribute, why: &str) -> OpenError {
    let (name, rule) = (&old.name, old.equality.map_or("no", |rule| rule.name));
    OpenError::Schema(format!("{name}: {why}, so it keeps this name, and {rule} as its rule of equality: {ANEW}"))
}

/// The types in an RDN, or in the name of a suffix.
fn named_by<'s>(schema: &'s Schema, name: &str) -> impl Iterator<Item = &'s Attribute> {
    let name = Dn::parse(name).ok();
    let pairs = name.into_iter().flat_map(|name| name.rdns().flat_map(|rdn| rdn.avas()));
    pairs.filter_map(|pair| schema.find(pair.attribute))
}

fn oid(rule: Option<&Rule>) -> Option<&str> {
    rule.map(|rule| rule.oid)
}

fn is_compared_otherwise(old: &Attribute, new: &Attribute) -> bool {
    oid(old.equality) != oid(new.equality)
}

/// Whether each class that there was is a kind of the same classes: an entry is in the index under all of them.
fn have_same_kinds(before: &Schema, now: &Schema) -> bool {
    let above = |schema: &Schema, class: &Class| {
        let mut oids: Vec<String> = class.lineage.iter().map(|id| schema.class(*id).oid.clone()).collect();
        oids.sort_unstable();
        oids
    };
    let is_same = |old: &Class| now.find_class(&old.oid).is_some_and(|new| above(before, old) == above(now, new));
    before.classes().all(is_same)
}
