//! What is wrong with the settings of a configuration by themselves, whatever a directory keeps: all of it at once.
//!
//! Owns: which setting a fault is of. Must not know: what settings mean, how a directory is opened.

use std::sync::Arc;

use crate::config::{Config, Index};
use crate::error::OpenError;
use crate::index::{Indices, bits};
use crate::schema::Schema;
use crate::state;

/// A setting of a [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The suffix at this place.
    Suffix(usize),
    /// The schema; messages name file and line.
    Schema,
    /// The index at this place.
    Index(usize),
    /// The access rules; messages name file and line.
    Access,
    /// The administrator.
    Administrator,
    /// The rule at this place of `identities`.
    Identity(usize),
    /// The limits at this place of `limits_for`.
    LimitsFor(usize),
    /// The attribute at this place of `references`.
    Reference(usize),
    /// The attribute at this place of `unique`.
    Unique(usize),
}

/// What is wrong with a setting.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ConfigFault {
    /// The setting.
    pub setting: Setting,
    /// What is wrong with it.
    pub error: OpenError,
}

#[derive(Default)]
struct Faults(Vec<ConfigFault>);

impl Faults {
    /// What a setting stands for, if it has no fault.
    fn note<T>(&mut self, setting: Setting, outcome: Result<T, OpenError>) -> Option<T> {
        outcome.map_err(|error| self.0.push(ConfigFault { setting, error })).ok()
    }
}

/// Finds them. Of the schema, and of the access rules, the first fault is told.
pub(crate) fn find(config: &Config) -> Vec<ConfigFault> {
    let mut faults = Faults::default();
    let Some(schema) = faults.note(Setting::Schema, state::chosen_schema(config)) else {
        // All else is about the schema.
        return faults.0;
    };
    faults.0.extend(of_schema(&schema, &config.suffixes, config));
    let mut ready = Indices::default();
    ready.set(schema.known().object_class, bits::EQUALITY);
    for index in config.indices.clone().unwrap_or_else(Index::defaults) {
        if let Ok((id, kinds)) = state::asked_index(&schema, &index) {
            ready.set(id, ready.get(id) | kinds);
        }
    }
    faults.0.extend(of_indices(&schema, &ready, config));
    faults.0
}

/// Those that a schema shows, with these `suffixes`.
pub(crate) fn of_schema(schema: &Arc<Schema>, suffixes: &[String], config: &Config) -> Vec<ConfigFault> {
    let mut faults = Faults::default();
    let mut right = Vec::new();
    for (n, text) in suffixes.iter().enumerate() {
        right.extend(faults.note(Setting::Suffix(n), state::suffix(schema, &right, text)));
    }
    for (n, index) in config.indices.iter().flatten().enumerate() {
        faults.note(Setting::Index(n), state::asked_index(schema, index));
    }
    faults.note(Setting::Administrator, state::administrator(schema, config));
    faults.note(Setting::Access, state::rules(schema, &right, config));
    for (n, rule) in config.identities.iter().enumerate() {
        faults.note(Setting::Identity(n), state::identity(rule));
    }
    for (n, chosen) in config.limits_for.iter().enumerate() {
        faults.note(Setting::LimitsFor(n), state::limits_for(schema, chosen));
    }
    faults.0
}

/// Those that depend on which indices are complete.
pub(crate) fn of_indices(schema: &Schema, ready: &Indices, config: &Config) -> Vec<ConfigFault> {
    let mut faults = Faults::default();
    for (n, name) in config.references.iter().enumerate() {
        faults.note(Setting::Reference(n), state::reference(schema, ready, name));
    }
    for (n, name) in config.unique.iter().enumerate() {
        faults.note(Setting::Unique(n), state::unique(schema, ready, name));
    }
    faults.0
}

/// A line for each.
pub(crate) fn lines(faults: &[ConfigFault]) -> String {
    faults.iter().map(ConfigFault::to_string).collect::<Vec<_>>().join("\n")
}
