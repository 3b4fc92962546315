//! Why a directory cannot be opened, or a configuration not be taken into use.

use crate::faults::{self, ConfigFault};

/// Why a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The database cannot.
    #[error(transparent)]
    Database(#[from] duramen::Error),
    /// The schema is not one.
    #[error("{0}")]
    Schema(String),
    /// The access rules are none.
    #[error("{0}")]
    Access(String),
    /// Settings that make no sense: all of them.
    #[error("{}", faults::lines(.0))]
    Settings(Vec<ConfigFault>),
    /// Something else that was chosen makes no sense.
    #[error("{what}: {why}")]
    Config {
        /// The setting.
        what: String,
        /// What is wrong with it.
        why: String,
    },
}
