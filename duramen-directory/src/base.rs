//! From a name in a request to an entry: aliases and referrals on the way (RFC 4511 sections 4.1.10 and 4.5.1.3).

use duramen_ldap::dn::Dn;
use duramen_ldap::message::{ResultCode, Scope};

use crate::access::{Level, What};
use crate::entry::mark;
use crate::failure::{Failure, Result};
use crate::names::{self, Found, no_such_object};
use crate::referral;
use crate::schema::Schema;
use crate::tables::Id;
use crate::view::{Scene, View};

/// How a name is followed.
#[derive(Clone, Copy)]
pub(crate) struct Follow {
    /// Aliases are followed.
    pub aliases: bool,
    /// Referral objects are ordinary entries.
    pub manage: bool,
    /// The scope of a search, for referrals.
    pub scope: Option<Scope>,
}

/// Aliases lead to aliases at most so often.
const ALIASES_MAX: usize = 32;

/// Finds the entry of a name.
///
/// # Errors
/// noSuchObject with the deepest entry above that may be known of, invalidDNSyntax, referral, aliasProblem and so on.
pub(crate) fn find(scene: &Scene<'_>, name: &str, follow: Follow) -> Result<Id> {
    find_normalized(scene, name, names::normalize(&scene.state.schema, name)?, follow)
}

/// As [`find`], of a name whose normalized form is known.
pub(crate) fn find_normalized(scene: &Scene<'_>, name: &str, normalized: String, follow: Follow) -> Result<Id> {
    walk(scene, name, normalized, follow).map_err(|failure| match failure.code {
        // What leads somewhere does so however it is written.
        ResultCode::NO_SUCH_OBJECT => names::judged(&scene.state.schema, name).err().unwrap_or(failure),
        _ => failure,
    })
}

fn walk(scene: &Scene<'_>, name: &str, mut normalized: String, follow: Follow) -> Result<Id> {
    let table = scene.tables.name()?;
    let stop = if follow.manage { 0 } else { mark::REFERRAL } | if follow.aliases { mark::ALIAS } else { 0 };
    let mut aliases: Vec<Id> = Vec::new();
    while aliases.len() < ALIASES_MAX {
        let found = match scene.naming {
            Some(naming) => names::find_in(naming, &table, &scene.state.suffixes, &normalized, stop),
            None => names::find(&table, &scene.state.suffixes, &normalized, stop),
        };
        match found? {
            Found::Entry(id) => return Ok(id),
            Found::Elsewhere => return Err(elsewhere(scene, name)),
            Found::Nothing { above } => return Err(missing(scene, name, above)?),
            Found::Through { id, marks, remaining } if marks & mark::REFERRAL != 0 => {
                return Err(referred(scene, name, id, remaining, follow.scope)?);
            }
            Found::Through { id, remaining, .. } => {
                normalized = match through_alias(scene, id, &normalized, remaining) {
                    Err(_) if !may_be_known(scene, id)? => return Err(missing_entry(scene, name, id)?),
                    followed => followed?,
                };
                aliases.push(id);
            }
        }
    }
    Err(circle(scene, name, &aliases)?)
}

/// What to say of a name that leads through aliases without end. The one where it begins to go round is the last entry that
/// was found (RFC 4511 section 4.1.9).
fn circle(scene: &Scene<'_>, name: &str, aliases: &[Id]) -> Result<Failure> {
    let again = (1..aliases.len()).find(|&n| aliases[..n].contains(&aliases[n]));
    let alias = again.map_or(aliases.last(), |n| aliases.get(n)).copied().unwrap_or(0);
    if !may_be_known(scene, alias)? {
        return missing_entry(scene, name, alias);
    }
    let matched_dn = names::name_of(&scene.tables.entry()?, alias)?;
    let diagnostic = format!("the aliases in {name:?} lead round and round");
    Ok(Failure { matched_dn, ..Failure::new(ResultCode::ALIAS_PROBLEM, diagnostic) })
}

/// A name of another directory.
pub(crate) fn elsewhere(scene: &Scene<'_>, name: &str) -> Failure {
    match scene.state.referrals.as_slice() {
        [] if scene.state.suffixes.is_empty() => no_such_object(String::new(), name),
        [] => {
            let suffixes: Vec<&str> = scene.state.suffixes.iter().map(|suffix| suffix.text.as_str()).collect();
            let text =
                format!("{name:?} is none of the directory's names, which are those below {}", suffixes.join(" or "));
            Failure::new(ResultCode::NO_SUCH_OBJECT, text)
        }
        urls => Failure::referral("", urls),
    }
}

/// What is told of an entry that is not to be known of: the same as if it was not there.
pub(crate) fn hidden(view: &View<'_, '_>) -> Failure {
    missing(view.scene, view.asked, view.entry.parent).unwrap_or_else(|failure| failure)
}

/// Whether an entry may be known of.
pub(crate) fn may_be_known(scene: &Scene<'_>, id: Id) -> Result<bool> {
    let entries = scene.tables.entry()?;
    let (entry, name) = (names::entry(&entries, id)?, names::name_of(&entries, id)?);
    Ok(View::new(scene, id, entry, &name).allows(What::Entry, Level::Disclose))
}

/// As [`hidden`], of an entry on the way to what was asked for.
fn missing_entry(scene: &Scene<'_>, name: &str, id: Id) -> Result<Failure> {
    missing(scene, name, names::parent(&scene.tables.entry()?, id)?)
}

fn missing(scene: &Scene<'_>, name: &str, above: Id) -> Result<Failure> {
    let entries = scene.tables.entry()?;
    let mut id = above;
    // Nobody learns by matchedDN of what is not to be known of.
    while id != 0 {
        let text = names::name_of(&entries, id)?;
        let entry = names::entry(&entries, id)?;
        if View::new(scene, id, entry, &text).allows(What::Entry, Level::Disclose) {
            return Ok(no_such_object(text, name));
        }
        id = entry.parent;
    }
    Ok(no_such_object(String::new(), name))
}

/// The first RDNs of a name, without the comma behind them.
fn first_rdns(name: &str, count: usize) -> String {
    let name = Dn::parse(name).unwrap_or_default();
    name.rdns().take(count).map(|rdn| rdn.as_str()).collect::<Vec<_>>().join(",")
}

fn referred(scene: &Scene<'_>, name: &str, id: Id, remaining: usize, scope: Option<Scope>) -> Result<Failure> {
    let entries = scene.tables.entry()?;
    let (entry, above) = (names::entry(&entries, id)?, names::name_of(&entries, id)?);
    if !View::new(scene, id, entry, &above).allows(What::Entry, Level::Disclose) {
        return missing(scene, name, entry.parent);
    }
    let below = first_rdns(name, remaining);
    let urls = referral::continued(&scene.state.schema, &entry, &above, &below, scope);
    Ok(Failure::referral(above, &urls))
}

/// The target of an alias (RFC 4512 section 2.6), normalized.
pub(crate) fn alias_target(scene: &Scene<'_>, id: Id) -> Result<String> {
    let schema: &Schema = &scene.state.schema;
    let entry = names::entry(&scene.tables.entry()?, id)?;
    let value = entry.of_type(schema.known().aliased_object_name).flat_map(|found| found.values()).next();
    let target = value.and_then(|value| std::str::from_utf8(value).ok());
    let target = target.ok_or_else(|| Failure::new(ResultCode::ALIAS_PROBLEM, "an alias has no aliasedObjectName"))?;
    names::normalize(schema, target)
}

fn through_alias(scene: &Scene<'_>, id: Id, name: &str, remaining: usize) -> Result<String> {
    let target = alias_target(scene, id)?;
    let found = names::find_entry(&scene.tables.name()?, &scene.state.suffixes, &target)?;
    if found.is_none() {
        let diagnostic = format!("the alias leads to {target:?}, and there is no such entry");
        let matched_dn = names::name_of(&scene.tables.entry()?, id)?;
        return Err(Failure { matched_dn, ..Failure::new(ResultCode::ALIAS_PROBLEM, diagnostic) });
    }
    let below = first_rdns(name, remaining);
    Ok(if below.is_empty() { target } else { format!("{below},{target}") })
}
