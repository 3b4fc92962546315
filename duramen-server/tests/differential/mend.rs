//! Everything that both hold, and making it the same again after a difference that was meant.

use std::collections::BTreeMap;

use duramen_ldap::message::ChangeKind;

use crate::answer::{Answer, comparable_name};
use crate::client::Client;
use crate::controls::Kind;
use crate::request::{Operation, Request, Values};
use crate::world;

/// All that a server holds; or how it failed to tell: slapd may die of a search.
pub fn everything(client: &mut Client) -> Answer {
    let [entries, subentries] = world::everything();
    let (mut all, more) = (client.ask(&entries), client.ask(&subentries));
    if all.is_done() && !more.is_done() {
        return more;
    }
    all.entries.extend(more.entries);
    all.raw.extend(more.raw);
    all
}

/// Makes the second server hold what the first holds. Whether it does afterwards.
pub fn mend(theirs: &mut Client, ours: &mut Client) -> bool {
    let (wanted, found) = (everything(theirs), everything(ours));
    if !wanted.is_done() {
        return false;
    }
    let mut requests = Vec::new();
    let mut gone: Vec<&String> = found.entries.keys().filter(|name| !wanted.entries.contains_key(*name)).collect();
    gone.sort_by_key(|name| std::cmp::Reverse(name.len()));
    requests.extend(gone.into_iter().map(|name| Operation::Delete { name: name.clone() }));
    let mut missing: Vec<&(String, Vec<Values>)> = Vec::new();
    for entry in &wanted.raw {
        let key = comparable_name(&entry.0);
        match found.entries.get(&key) {
            None => missing.push(entry),
            Some(there) if Some(there) != wanted.entries.get(&key) => requests.push(replace(entry, &found)),
            Some(_) => {}
        }
    }
    missing.sort_by_key(|(name, _)| name.len());
    requests.extend(
        missing
            .into_iter()
            .map(|(name, attributes)| Operation::Add { name: name.clone(), attributes: attributes.clone() }),
    );
    for operation in requests {
        ours.ask(&Request::from(operation).with(Kind::ManageDsaIt.critical()).with(Kind::Relax.critical()));
    }
    everything(theirs).entries == everything(ours).entries
}

/// Sets all attributes of an entry.
fn replace((name, attributes): &(String, Vec<Values>), found: &Answer) -> Operation {
    let mut values: BTreeMap<String, Values> = BTreeMap::new();
    let key = comparable_name(name);
    for description in found.entries.get(&key).into_iter().flat_map(|entry| entry.keys()) {
        values.insert(description.clone(), (description.clone(), Vec::new()));
    }
    for attribute in attributes {
        values.insert(attribute.0.to_ascii_lowercase(), attribute.clone());
    }
    let changes = values.into_values().map(|values| (ChangeKind::Replace, values)).collect();
    Operation::Modify { name: name.clone(), changes }
}
