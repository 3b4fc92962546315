//! What entries are named by, and below what they stand: name forms and structure rules (RFC 4512 section 4.1.7).
//!
//! Owns: which structure rules govern an entry. That is not stored: it follows from classes and names, from the suffix
//! down. Without such rules in the schema nothing is looked at.

use duramen_ldap::message::ResultCode;

use super::naming;
use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::names;
use crate::schema::{AttributeId, ClassId, Schema};
use crate::tables::{Id, Tables};

/// Structure rules, by their places in the schema.
pub(crate) type Governing = Vec<usize>;

fn violation<T>(text: String) -> Result<T> {
    Err(Failure::new(ResultCode::NAMING_VIOLATION, text))
}

fn rdn_types(schema: &Schema, rdn: &str) -> Result<Vec<AttributeId>> {
    Ok(naming::pairs(schema, rdn)?.iter().map(|(attribute, _)| attribute.id).collect())
}

/// That an RDN is one for a structural class; the structure rules that an entry of both can be governed by.
pub(crate) fn named(schema: &Schema, class: ClassId, rdn: &str) -> Result<Governing> {
    let rules = schema.rules();
    if !rules.are_about_names() {
        return Ok(Governing::new());
    }
    let types = rdn_types(schema, rdn)?;
    if rules.allow_rdn(class, &types) {
        return Ok(rules.candidates(class, &types));
    }
    let forms: Vec<_> = rules.forms_of(class).map(|(_, form)| form.name.as_str()).collect();
    violation(format!(
        "the name {rdn:?} does not follow name form {} of object class {} (RFC 4512 4.1.7.2)",
        forms.join(" or "),
        schema.class(class).name
    ))
}

/// That an entry which `candidates` may govern stands where it may; the rules that govern it. `above`: those that
/// govern its parent; `None` above a suffix.
pub(crate) fn placed(schema: &Schema, candidates: &[usize], above: Option<&[usize]>, rdn: &str) -> Result<Governing> {
    let rules = schema.rules();
    let governing = rules.governing(candidates, above);
    if !governing.is_empty() {
        return Ok(governing);
    }
    let names = |places: &[usize]| {
        let names: Vec<_> = places.iter().map(|&place| rules.structures[place].name.as_str()).collect();
        names.join(" or ")
    };
    match above {
        _ if !candidates.is_empty() => violation(format!(
            "structure rule {}: {rdn:?} cannot stand here, since no rule that it names as superior governs the entry \
             above (RFC 4512 4.1.7.1)",
            names(candidates)
        )),
        Some(above) if !above.is_empty() => violation(format!(
            "structure rule {} governs the entry above, and no rule below it is about {rdn:?} (RFC 4512 4.1.7.1)",
            names(above)
        )),
        _ => Ok(governing),
    }
}

/// As [`placed`], below an entry that is stored; 0 is above suffixes.
pub(crate) fn placed_below(
    schema: &Schema,
    tables: &Tables<'_>,
    candidates: &[usize],
    parent: Id,
    rdn: &str,
) -> Result<Governing> {
    if schema.rules().structures.is_empty() {
        return Ok(Governing::new());
    }
    let above = governing_of(schema, tables, parent)?;
    placed(schema, candidates, above.as_deref(), rdn)
}

/// The rules that govern an entry that is stored; `None` of 0. What stands there against the rules has none.
fn governing_of(schema: &Schema, tables: &Tables<'_>, id: Id) -> Result<Option<Governing>> {
    let mut above = None;
    for entry in names::lineage(&tables.entry()?, id)?.iter().rev() {
        let candidates = candidates_of(schema, entry)?;
        above = Some(schema.rules().governing(&candidates, above.as_deref()));
    }
    Ok(above)
}

fn candidates_of(schema: &Schema, entry: &Entry<'_>) -> Result<Governing> {
    let structural = entry.of_type(schema.known().structural_object_class).flat_map(|found| found.values()).next();
    let class = structural.and_then(|name| schema.find_class(name));
    let class = class.ok_or_else(|| damaged("the structural class of an entry"))?;
    Ok(schema.rules().candidates(class.id, &rdn_types(schema, naming::first_rdn(entry.rdn()))?))
}

/// That everything below an entry stands where it may when other rules govern the entry than before.
fn below_stays(schema: &Schema, tables: &Tables<'_>, id: Id, (old, new): (Governing, Governing)) -> Result<()> {
    let (table, entries) = (tables.name()?, tables.entry()?);
    let mut changed = vec![(id, old, new)];
    while let Some((id, old, new)) = changed.pop() {
        if old == new {
            continue;
        }
        for child in names::children_of(&table, id)? {
            let entry = names::entry(&entries, child)?;
            let candidates = candidates_of(schema, &entry)?;
            let before = schema.rules().governing(&candidates, Some(&old));
            changed.push((child, before, placed(schema, &candidates, Some(&new), entry.rdn())?));
        }
    }
    Ok(())
}

/// As [`placed_below`], of an entry that is stored and gets another name: what is below it has to stand right, too.
pub(crate) fn moved(
    schema: &Schema,
    tables: &Tables<'_>,
    id: Id,
    candidates: &[usize],
    (parent, rdn): (Id, &str),
) -> Result<()> {
    if schema.rules().structures.is_empty() {
        return Ok(());
    }
    let old = governing_of(schema, tables, id)?.unwrap_or_default();
    let new = placed_below(schema, tables, candidates, parent, rdn)?;
    below_stays(schema, tables, id, (old, new))
}
