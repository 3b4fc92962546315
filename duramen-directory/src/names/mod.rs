//! The tree of names: table `name`.
//!
//! Owns: finding an entry by its name, the name of an entry, who is below whom. Must not know: attributes.
//!
//! A name is followed from its suffix down, RDN by RDN, so renaming a subtree is renaming its top. Threads remember what
//! comes again and again, which is mostly the names of parents: see [`memory`].

mod changes;
mod memory;

use std::ops::Range;
use std::sync::Arc;

use duramen::Table;
use duramen_ldap::TextError;
use duramen_ldap::dn::{Dn, NamingRules, Rdn};
use duramen_ldap::matching::Rule;
use roaring::RoaringBitmap;
use sha2::{Digest, Sha256};

use crate::entry::Entry;
use crate::failure::{Failure, Result, bad_name, damaged};
use crate::requester::Name;
use crate::schema::{Judging, Schema};
use crate::tables::{Id, id_of};

pub(crate) use changes::Changes;
use memory::{Above, Form};
pub(crate) use memory::{
    Base, Naming, remember_absent, remember_base, remembered_absent, remembered_base, remembered_name,
};

/// distinguishedNameMatch.
const DN_MATCH: &str = "2.5.13.1";
/// Longest part of a key that is made of a normalized RDN. What is as long ends in a hash, and nothing else is: else the end of
/// an RDN could be what is made of a longer one.
const RDN_MAX: usize = 400;

/// The key of the entry with this normalized RDN below a parent.
pub(crate) fn child_key(parent: Id, rdn: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(4 + rdn.len().min(RDN_MAX));
    key.extend_from_slice(&parent.to_be_bytes());
    if rdn.len() < RDN_MAX {
        key.extend_from_slice(rdn.as_bytes());
    } else {
        key.extend_from_slice(&rdn.as_bytes()[..RDN_MAX - 32]);
        key.extend_from_slice(&Sha256::digest(rdn));
    }
    key
}

/// The value of that key.
pub(crate) fn child_value(id: Id, marks: u8) -> [u8; 5] {
    let [a, b, c, d] = id.to_be_bytes();
    [a, b, c, d, marks]
}

/// A suffix: its name as it was written, and normalized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suffix {
    pub text: String,
    pub normalized: String,
}

/// Where a name leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// To this entry.
    Entry(Id),
    /// To an entry with this mark (alias or referral) that is above it; and how many RDNs of the name remain below.
    Through { id: Id, marks: u8, remaining: usize },
    /// To nothing; the deepest entry above that is there, 0 if there is none.
    Nothing { above: Id },
    /// To no suffix of this directory.
    Elsewhere,
}

/// A normalized name that is stored, stands in the configuration or leads to an entry: whatever its values are.
pub(crate) fn normalize(schema: &Schema, name: &str) -> Result<String> {
    if let Ok(normalized) = judged(schema, name) {
        return Ok(normalized);
    }
    let mut normalized = String::with_capacity(name.len());
    let named = Dn::parse(name).and_then(|parsed| parsed.normalize(schema, &mut normalized));
    named.map(|()| normalized).map_err(|error| bad_name(name, error))
}

/// A normalized name that is to be stored, or leads nowhere: its values are of their types' syntaxes (RFC 4511 appendix A.2).
/// Of names below one parent, the parent is normalized once.
///
/// # Errors
/// invalidDNSyntax.
pub(crate) fn judged(schema: &Schema, name: &str) -> Result<String> {
    let fail = |error| bad_name(name, error);
    let rules = Judging(schema);
    let mut normalized = String::with_capacity(name.len());
    if let Some((rdn, parent)) = Dn::split_first(name)
        && let Some(above) = memory::written(schema, Form::Normalized, parent)
    {
        Rdn::parse(rdn).and_then(|rdn| rdn.normalize(&rules, &mut normalized)).map_err(fail)?;
        normalized.push(',');
        normalized.push_str(&above);
        return Ok(normalized);
    }
    let parsed = Dn::parse(name).map_err(fail)?;
    parsed.normalize(&rules, &mut normalized).map_err(fail)?;
    if let (Some(parent), Some((_, above))) = (parsed.parent(), Dn::split_first(&normalized)) {
        memory::remember_written(schema, Form::Normalized, parent.as_str(), above);
    }
    Ok(normalized)
}

/// A name of a request, or somebody's in the configuration, in both its forms.
pub(crate) fn both(schema: &Schema, name: &str) -> Result<Name> {
    let normalized = judged(schema, name)?.into();
    Ok(Name { written: strict(schema, name).map_or_else(|| name.into(), Into::into), normalized })
}

/// Appends the normalized form of a value by a rule: as [`Rule::normalize`], names as [`normalize`] has them.
pub(crate) fn normalize_value(schema: &Schema, rule: &Rule, value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    if put_name(rule, value, |text| normalize(schema, text), out) {
        return Ok(());
    }
    rule.normalize(value, schema, out)
}

/// Appends what `form` makes of a value that is a name as a whole; false, and nothing, of others.
fn put_name(rule: &Rule, value: &[u8], form: impl Fn(&str) -> Result<String>, out: &mut Vec<u8>) -> bool {
    if !rule.asks_about_names() || rule.oid != DN_MATCH {
        return false;
    }
    let normalized = std::str::from_utf8(value).ok().and_then(|text| form(text).ok());
    normalized.iter().for_each(|normalized| out.extend_from_slice(normalized.as_bytes()));
    normalized.is_some()
}

/// As [`normalize_value`], of a value that is to be stored: names in it are judged.
pub(crate) fn judged_value(schema: &Schema, rule: &Rule, value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    if put_name(rule, value, |text| judged(schema, text), out) {
        return Ok(());
    }
    match rule.asks_about_names() {
        true => rule.normalize(value, &Judging(schema), out),
        false => rule.normalize(value, schema, out),
    }
}

/// Appends the normalized form of what is asserted by a rule; names in it are judged.
pub(crate) fn asserted(schema: &Schema, rule: &Rule, value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    match rule.asks_about_names() {
        true => rule.normalize_assertion(value, &Judging(schema), out),
        false => rule.normalize_assertion(value, schema, out),
    }
}

/// A name, or an RDN, in the form in which names are written down: RFC 4514's, types by the schema's name. As with
/// [`normalize`], what is above is put into it once.
pub(crate) fn strict(schema: &Schema, text: &str) -> Option<String> {
    let name_of = |attribute: &str| schema.find(attribute).map(|attribute| attribute.name.as_str());
    let mut strict = String::with_capacity(text.len());
    if let Some((rdn, parent)) = Dn::split_first(text)
        && let Some(above) = memory::written(schema, Form::Strict, parent)
    {
        Rdn::parse(rdn).ok()?.write_strict(&name_of, &mut strict).ok()?;
        strict.push(',');
        strict.push_str(&above);
        return Some(strict);
    }
    let parsed = Dn::parse(text).ok()?;
    parsed.write_strict(&name_of, &mut strict).ok()?;
    if let (Some(parent), Some((_, above))) = (parsed.parent(), Dn::split_first(&strict)) {
        memory::remember_written(schema, Form::Strict, parent.as_str(), above);
    }
    Some(strict)
}

/// What stands before a suffix in a normalized name; `None` if the name is not below it.
pub(crate) fn below_suffix<'n>(name: &'n str, suffix: &str) -> Option<&'n str> {
    let front = name.strip_suffix(suffix)?;
    if front.is_empty() {
        return Some("");
    }
    let front = front.strip_suffix(',')?;
    let escapes = front.bytes().rev().take_while(|byte| *byte == b'\\').count();
    (escapes % 2 == 0).then_some(front)
}

/// The suffix that a normalized name is of: none is below another.
pub(crate) fn suffix_of<'s>(suffixes: &'s [Suffix], name: &str) -> Option<&'s Suffix> {
    suffixes.iter().find(|suffix| below_suffix(name, &suffix.normalized).is_some())
}

/// The key of the entry of a normalized RDN in table `name`, as it is found.
fn child(names: &Table<'_>, parent: Id, rdn: &str) -> Result<Option<(Id, u8)>> {
    let Some(value) = names.get(child_key(parent, rdn))? else { return Ok(None) };
    Ok(Some((id_of(value, "table `name`")?, value.get(4).copied().unwrap_or(0))))
}

/// Follows a normalized name. Stops above it at entries with one of `stop`'s marks.
pub(crate) fn find(names: &Table<'_>, suffixes: &[Suffix], name: &str, stop: u8) -> Result<Found> {
    Ok(follow(names, suffixes, name, stop)?.0)
}

/// As [`find`], in one state of all names: where parents are is remembered.
pub(crate) fn find_in(naming: Naming, names: &Table<'_>, suffixes: &[Suffix], name: &str, stop: u8) -> Result<Found> {
    let Some((rdn, parent)) = Dn::split_first(name) else { return find(names, suffixes, name, stop) };
    if let Some(above) = memory::above(naming, parent).filter(|above| above.marks & stop == 0) {
        return Ok(match child(names, above.id, rdn)? {
            Some((id, marks)) => arrived(id, marks, stop),
            None => Found::Nothing { above: above.id },
        });
    }
    let (found, above) = follow(names, suffixes, name, stop)?;
    if let Some(above) = above {
        memory::remember_above(naming, parent, above);
    }
    Ok(found)
}

fn arrived(id: Id, marks: u8, stop: u8) -> Found {
    if marks & stop != 0 { Found::Through { id, marks, remaining: 0 } } else { Found::Entry(id) }
}

/// Where a name leads; and, if it leads to the end, the entry above that.
fn follow(names: &Table<'_>, suffixes: &[Suffix], name: &str, stop: u8) -> Result<(Found, Option<Above>)> {
    let Some(suffix) = suffix_of(suffixes, name) else { return Ok((Found::Elsewhere, None)) };
    let front = below_suffix(name, &suffix.normalized).unwrap_or_default();
    let Some((mut id, mut marks)) = child(names, 0, &suffix.normalized)? else {
        return Ok((Found::Nothing { above: 0 }, None));
    };
    let Ok(relative) = Dn::parse(front) else { return Ok((Found::Nothing { above: id }, None)) };
    let mut remaining = relative.depth();
    let mut above: Option<Above> = None;
    for rdn in relative.rdns().rev() {
        if marks & stop != 0 {
            return Ok((Found::Through { id, marks, remaining }, None));
        }
        above = Some(Above { id, marks: marks | above.map_or(0, |above| above.marks) });
        match child(names, id, rdn.as_str())? {
            Some(found) => (id, marks) = found,
            None => return Ok((Found::Nothing { above: id }, None)),
        }
        remaining -= 1;
    }
    Ok((arrived(id, marks, stop), above))
}

/// The entry of a normalized name, whatever it and those above it are.
pub(crate) fn find_entry(names: &Table<'_>, suffixes: &[Suffix], name: &str) -> Result<Option<Id>> {
    Ok(match find(names, suffixes, name, 0)? {
        Found::Entry(id) => Some(id),
        _ => None,
    })
}

/// The entries of some normalized names, whatever they and those above them are; names of nothing lead to none. Those below
/// parents that are remembered are found together.
pub(crate) fn find_entries(
    naming: Naming,
    table: &Table<'_>,
    suffixes: &[Suffix],
    names: &[String],
) -> Result<Vec<Id>> {
    let (mut keys, mut found) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for name in names {
        let below = Dn::split_first(name).and_then(|(rdn, parent)| Some((rdn, memory::above(naming, parent)?)));
        match below {
            Some((rdn, above)) => keys.push(child_key(above.id, rdn)),
            None => {
                if let Found::Entry(id) = find_in(naming, table, suffixes, name, 0)? {
                    found.push(id);
                }
            }
        }
    }
    for value in table.get_many(&keys)?.into_iter().flatten() {
        found.push(id_of(value, "table `name`")?);
    }
    Ok(found)
}

/// How many entries are directly below one.
pub(crate) fn child_count(names: &Table<'_>, id: Id) -> Result<u32> {
    Ok(match names.get(id.to_be_bytes())? {
        Some(value) => id_of(value, "table `name`")?,
        None => 0,
    })
}

/// Calls `each` with the ids and marks of the entries directly below one, until it returns false.
pub(crate) fn children(names: &Table<'_>, id: Id, mut each: impl FnMut(Id, u8) -> bool) -> Result<()> {
    for item in names.prefix(id.to_be_bytes())? {
        let (key, value) = item?;
        if key.len() > 4 && !each(id_of(value, "table `name`")?, value.get(4).copied().unwrap_or(0)) {
            break;
        }
    }
    Ok(())
}

/// Those of some entries that have others below them.
pub(crate) fn parents_among(names: &Table<'_>, ids: &RoaringBitmap) -> Result<Vec<Id>> {
    let (mut found, mut from) = (Vec::new(), Some(0));
    while let Some(id) = from.and_then(|from| ids.range(from..).next()) {
        // The next key tells whose turn it is: none of those between have any, and most ids are next to each other.
        let Some(item) = names.range(id.to_be_bytes()..)?.next() else { break };
        let parent = id_of(item?.0, "a key of table `name`")?;
        if parent == id {
            found.push(id);
        }
        from = if parent == id { id.checked_add(1) } else { Some(parent) };
    }
    Ok(found)
}

/// All that are directly below an entry.
pub(crate) fn children_of(names: &Table<'_>, id: Id) -> Result<Vec<Id>> {
    let mut found = Vec::new();
    children(names, id, |child, _| {
        found.push(child);
        true
    })?;
    Ok(found)
}

/// The bytes of an entry that a table says is there.
pub(crate) fn entry_bytes<'t>(entries: &Table<'t>, id: Id) -> Result<&'t [u8]> {
    entries.get(id.to_be_bytes())?.ok_or_else(|| damaged(format_args!("entry {id}")))
}

/// An entry that a table says is there.
pub(crate) fn entry<'t>(entries: &Table<'t>, id: Id) -> Result<Entry<'t>> {
    Entry::parse(entry_bytes(entries, id)?).ok_or_else(|| damaged(format_args!("entry {id}")))
}

/// An entry cannot have more above it than there are entries; what has is damaged, and goes round.
fn steps(entries: &Table<'_>) -> Range<u64> {
    0..entries.len() + 1
}

/// The parent of an entry that a table says is there.
pub(crate) fn parent(entries: &Table<'_>, id: Id) -> Result<Id> {
    Entry::parent_of(entry_bytes(entries, id)?).ok_or_else(|| damaged(format_args!("entry {id}")))
}

/// The name of an entry, as it was written.
pub(crate) fn name_of(entries: &Table<'_>, id: Id) -> Result<String> {
    name_by(entries, id, |_| None)
}

/// As [`name_of`]; `known` may know names of those above.
fn name_by(entries: &Table<'_>, mut id: Id, known: impl Fn(Id) -> Option<Arc<str>>) -> Result<String> {
    let mut name = String::new();
    for _ in steps(entries) {
        if id == 0 {
            return Ok(name);
        }
        if !name.is_empty() {
            name.push(',');
        }
        if let Some(rest) = known(id) {
            name.push_str(&rest);
            return Ok(name);
        }
        let found = entry(entries, id)?;
        name.push_str(found.rdn());
        id = found.parent;
    }
    Err(damaged(format_args!("the name of entry {id}")))
}

/// An entry, its parent and so on, up to the suffix; nothing of 0.
pub(crate) fn lineage<'t>(entries: &Table<'t>, id: Id) -> Result<Vec<Entry<'t>>> {
    let (mut lineage, mut next) = (Vec::new(), id);
    for _ in steps(entries) {
        if next == 0 {
            return Ok(lineage);
        }
        let entry = entry(entries, next)?;
        lineage.push(entry);
        next = entry.parent;
    }
    Err(damaged(format_args!("the name of entry {id}")))
}

/// Whether an entry is `top` or below it.
pub(crate) fn is_within(entries: &Table<'_>, id: Id, top: Id) -> Result<bool> {
    climb(entries, id, |id| (id == top).then_some(true))
}

/// The entry of the suffix that an entry is below.
pub(crate) fn top(entries: &Table<'_>, id: Id) -> Result<Id> {
    let mut top = id;
    climb(entries, id, |id| {
        top = if id == 0 { top } else { id };
        None
    })?;
    Ok(top)
}

/// Asks `decide` of an entry, its parent and so on, until it has an answer; false above all.
pub(crate) fn climb(entries: &Table<'_>, mut id: Id, mut decide: impl FnMut(Id) -> Option<bool>) -> Result<bool> {
    for _ in steps(entries) {
        if let Some(decided) = decide(id) {
            return Ok(decided);
        }
        if id == 0 {
            return Ok(false);
        }
        id = parent(entries, id)?;
    }
    Err(damaged(format_args!("the name of entry {id}")))
}

/// The normalized RDN of an entry.
pub(crate) fn normalized_rdn(schema: &Schema, rdn: &str) -> Result<String> {
    rdn_by(schema, rdn)
}

/// The key of an entry in table `name`.
pub(crate) fn key_of(schema: &Schema, entry: &Entry<'_>) -> Result<Vec<u8>> {
    let normalized = match entry.parent {
        0 => normalize(schema, entry.rdn())?,
        _ => normalized_rdn(schema, entry.rdn())?,
    };
    Ok(child_key(entry.parent, &normalized))
}

/// The normalized RDN that an entry is to have: its values are judged.
pub(crate) fn judged_rdn(schema: &Schema, rdn: &str) -> Result<String> {
    rdn_by(&Judging(schema), rdn)
}

fn rdn_by(rules: &impl NamingRules, rdn: &str) -> Result<String> {
    let mut normalized = String::with_capacity(rdn.len());
    let parsed = Rdn::parse(rdn).and_then(|parsed| parsed.normalize(rules, &mut normalized));
    parsed.map(|()| normalized).map_err(|error| bad_name(rdn, error))
}

/// The failure of an operation about a name that is not there.
pub(crate) fn no_such_object(matched_dn: String, name: &str) -> Failure {
    let code = duramen_ldap::message::ResultCode::NO_SUCH_OBJECT;
    Failure { matched_dn, ..Failure::new(code, format!("there is no entry {name:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::built_in;

    #[test]
    fn the_key_of_a_long_rdn_is_that_of_no_other() {
        let long = format!("cn={}", "x".repeat(500));
        let key = child_key(7, &long);
        assert_eq!(key.len(), 4 + RDN_MAX);
        // Names are text, which a hash is hardly ever: its length decides all the same.
        for length in [RDN_MAX - 1, RDN_MAX, RDN_MAX + 1] {
            let rdn = &long[..length];
            let is_itself = child_key(7, rdn)[4..] == *rdn.as_bytes();
            assert_eq!(is_itself, length < RDN_MAX, "{length} bytes");
        }
    }

    /// What was put into a form before makes the next one quicker, and no other.
    #[test]
    fn a_name_has_one_form_whatever_was_asked_before() {
        let parents =
            ["dc=example,dc=com", "DC=Example , DC=com", "ou=a\\2cb,dc=x", "o=\"quoted, too\",c=de", "dc=x;dc=y", ""];
        let rdns = [
            "cn=a",
            "CN = A B ",
            " cn=a",
            "cn=a ",
            "cn=a\\ ",
            "cn=\"a,b\"",
            "2.5.4.3=a",
            "cn=a+sn=b",
            "sn=b+cn=a",
            "cn=#0401ff",
            "cn=",
            "nothing",
            "cn=a\\",
            "cn=a\\,b",
            "unknown=a",
            "uid=a;b",
        ];
        let names: Vec<String> = rdns.iter().flat_map(|rdn| parents.map(|parent| format!("{rdn},{parent}"))).collect();
        let forms = |schema: &Schema, name: &str| (normalize(schema, name).ok(), strict(schema, name));
        // Each of them first, by a schema of its own.
        let alone: Vec<_> = names.iter().map(|name| forms(&built_in("").unwrap(), name)).collect();
        assert!(alone.iter().filter(|(normalized, strict)| normalized.is_some() && strict.is_some()).count() > 30);
        let schema = built_in("").unwrap();
        for _ in 0..2 {
            for (name, alone) in names.iter().zip(&alone) {
                assert_eq!(forms(&schema, name), *alone, "{name:?}");
            }
        }
    }
}
