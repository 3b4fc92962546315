//! What is wrong with the settings of a configuration by themselves, whatever a directory keeps: all of it at once.
//!
//! Owns: which setting a fault is of. Must not know: what settings mean, how a directory is opened.

use std::sync::Arc;

use crate::config::{Config, Index};
use crate::error::{ConfigFault, OpenError, Setting};
use crate::index::{Indices, bits};
use crate::schema::Schema;
use crate::settings;

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
    let Some(schema) = faults.note(Setting::Schema, settings::chosen_schema(config)) else {
        // All else is about the schema.
        return faults.0;
    };
    faults.0.extend(of_schema(&schema, &config.suffixes, config));
    let mut ready = Indices::default();
    ready.set(schema.known().object_class, bits::EQUALITY);
    for index in config.indices.clone().unwrap_or_else(Index::defaults) {
        if let Ok((id, kinds)) = settings::asked_index(&schema, &index) {
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
        right.extend(faults.note(Setting::Suffix(n), settings::suffix(schema, &right, text)));
    }
    for (n, index) in config.indices.iter().flatten().enumerate() {
        faults.note(Setting::Index(n), settings::asked_index(schema, index));
    }
    faults.note(Setting::Administrator, settings::administrator(schema, config));
    faults.note(Setting::Access, settings::rules(schema, &right, config));
    faults.note(Setting::PasswordPolicies, settings::policies(schema, config));
    let mut copies = Vec::new();
    for (n, copy) in config.copies.iter().flatten().enumerate() {
        copies.extend(faults.note(Setting::Copy(n), settings::copy(schema, (&right, &copies), copy)));
    }
    for (n, rule) in config.identities.iter().enumerate() {
        faults.note(Setting::Identity(n), settings::identity(rule));
    }
    for (n, chosen) in config.constraints.iter().enumerate() {
        if let Err((part, error)) = settings::constraint(schema, &right, config, chosen) {
            faults.0.push(ConfigFault { setting: Setting::Constraint(n, part), error });
        }
    }
    for (n, chosen) in config.dynamic_lists.iter().enumerate() {
        if let Err((part, error)) = settings::dynamic_list(schema, &right, config, chosen) {
            faults.0.push(ConfigFault { setting: Setting::DynamicList(n, part), error });
        }
    }
    for (n, chosen) in config.limits_for.iter().enumerate() {
        faults.note(Setting::LimitsFor(n), settings::limits_for(schema, chosen));
    }
    faults.0
}

/// Those that depend on which indices are complete.
pub(crate) fn of_indices(schema: &Schema, ready: &Indices, config: &Config) -> Vec<ConfigFault> {
    let mut faults = Faults::default();
    for (n, name) in config.references.iter().enumerate() {
        faults.note(Setting::Reference(n), settings::reference(schema, ready, name));
    }
    for (n, name) in config.unique.iter().enumerate() {
        faults.note(Setting::Unique(n), settings::unique(schema, ready, name));
    }
    faults.0
}
