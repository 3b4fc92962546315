//! Entries that are made up: the root DSE (RFC 4512 section 5.1), the subschema subentry (section 4.2), `cn=monitor`.

use duramen_ldap::message::Scope;
use duramen_ldap::oid::feature;

use crate::access::MadeUp;
use crate::controls::{SUPPORTED, SUPPORTED_WITH_HISTORY};
use crate::entry::{Builder, Entry};
use crate::failure::{Result, damaged};
use crate::inner::Inner;
use crate::names;
use crate::schema::Schema;
use crate::state::State;
use crate::view::{Scene, View};

use super::sort::Order;

/// A made up entry: its name, and its bytes as if it was stored.
#[derive(Debug)]
pub(crate) struct Special {
    pub name: String,
    pub bytes: Vec<u8>,
    /// How many others are directly below it.
    pub children: u32,
}

/// Attributes with values.
type Attributes = Vec<(String, Vec<String>)>;

/// The made up entries in the scope of a base; `None` if the base is none of them.
pub(crate) fn find(inner: &Inner, state: &State, base: &str, scope: Scope) -> Option<Vec<Special>> {
    match MadeUp::of(base)? {
        MadeUp::RootDse => (scope == Scope::Base).then(|| vec![build(&state.schema, "", root_dse(inner, state))]),
        MadeUp::Subschema if matches!(scope, Scope::Base | Scope::Subtree) => Some(vec![subschema(state)]),
        MadeUp::Subschema => Some(Vec::new()),
        MadeUp::Monitor => monitor(inner, state, base, scope),
    }
}

/// What stands for an entry of `cn=monitor` where there is no server that counts: its name, by which access rules tell it.
pub(crate) fn unseen(schema: &Schema, base: &str) -> Option<Special> {
    let is_there = MadeUp::of(base) == Some(MadeUp::Monitor);
    is_there.then(|| build(schema, base, vec![("objectClass".into(), texts(["top", "monitor"]))]))
}

/// Puts made up entries in order.
pub(super) fn put_in_order(entries: &mut Vec<Special>, order: &Order, scene: &Scene<'_>) -> Result<()> {
    let rank = |special: Special| {
        let entry = Entry::parse(&special.bytes).ok_or_else(|| damaged(&special.name))?;
        Ok((order.rank(&View::made_up(scene, entry, &special.name, special.children))?, special))
    };
    let mut ranked = entries.drain(..).map(rank).collect::<Result<Vec<_>>>()?;
    ranked.sort_by(|(one, _), (other, _)| one.cmp(other));
    entries.extend(ranked.into_iter().map(|(_, special)| special));
    Ok(())
}

fn texts<'s>(values: impl IntoIterator<Item = &'s str>) -> Vec<String> {
    values.into_iter().map(str::to_string).collect()
}

fn root_dse(inner: &Inner, state: &State) -> Attributes {
    let with_history = SUPPORTED_WITH_HISTORY.into_iter().filter(|_| state.history > 0);
    let controls = texts(SUPPORTED.into_iter().chain(with_history));
    let mut attributes: Attributes = vec![
        ("objectClass".into(), texts(["top"])),
        ("namingContexts".into(), state.suffixes.iter().map(|suffix| suffix.text.clone()).collect()),
        ("subschemaSubentry".into(), texts(["cn=Subschema"])),
        ("supportedLDAPVersion".into(), texts(["3"])),
        ("supportedControl".into(), controls),
        (
            "supportedFeatures".into(),
            texts([
                feature::MODIFY_INCREMENT,
                feature::ALL_OPERATIONAL_ATTRIBUTES,
                feature::OBJECT_CLASS_ATTRIBUTES,
                feature::TRUE_FALSE_FILTERS,
                feature::LANGUAGE_TAGS,
                feature::LANGUAGE_RANGES,
            ]),
        ),
    ];
    if inner.monitor().is_some() {
        attributes.push(("monitorContext".into(), texts(["cn=Monitor"])));
    }
    attributes.extend(inner.root_dse().iter().cloned());
    attributes
}

fn subschema(state: &State) -> Special {
    let mut attributes: Attributes = vec![
        ("objectClass".into(), texts(["top", "subentry", "subschema", "extensibleObject"])),
        ("cn".into(), texts(["Subschema"])),
        ("structuralObjectClass".into(), texts(["subentry"])),
        // RFC 4512 section 4.2: by these clients know whether what they remember of the schema still holds.
        ("createTimestamp".into(), vec![state.since.timestamp()]),
        ("modifyTimestamp".into(), vec![state.since.timestamp()]),
    ];
    let described = state.schema.subschema().iter();
    attributes.extend(described.map(|(name, values)| (name.to_string(), values.clone())));
    build(&state.schema, "cn=Subschema", attributes)
}

fn monitor(inner: &Inner, state: &State, base: &str, scope: Scope) -> Option<Vec<Special>> {
    let entries = inner.monitor()?().into_iter().filter_map(|(front, attributes)| {
        let name = if front.is_empty() { "cn=Monitor".to_string() } else { format!("{front},cn=Monitor") };
        Some((names::normalize(&state.schema, &name).ok()?, name, attributes))
    });
    let entries: Vec<_> = entries.collect();
    entries.iter().find(|(normalized, ..)| normalized == base)?;
    let below =
        |name: &str, base: &str| names::below_suffix(name, base).map(|front| front.split_terminator(',').count());
    let chosen = entries.iter().filter(|(normalized, ..)| {
        below(normalized, base).is_some_and(|depth| match scope {
            Scope::Base => depth == 0,
            Scope::One => depth == 1,
            Scope::Subtree => true,
            _ => depth > 0,
        })
    });
    let built = chosen.map(|(normalized, name, attributes)| {
        let children = entries.iter().filter(|(other, ..)| below(other, normalized) == Some(1)).count();
        let children = u32::try_from(children).unwrap_or(u32::MAX);
        Special { children, ..build(&state.schema, name, attributes.clone()) }
    });
    Some(built.collect())
}

/// Puts an entry together; attributes that the schema does not have are left out.
fn build(schema: &Schema, name: &str, attributes: Attributes) -> Special {
    let mut builder = Builder::default();
    for operational in [false, true] {
        for (description, values) in attributes.iter().filter(|(_, values)| !values.is_empty()) {
            let Some(attribute) = schema.find(description) else { continue };
            if attribute.is_operational() == operational && !schema.known().is_derived(attribute.id) {
                builder.attribute(attribute.id, (operational, false), &attribute.name, values);
            }
        }
    }
    Special { name: name.to_string(), bytes: builder.finish(0, name, 0), children: 0 }
}
