//! Why a directory cannot be opened, or a configuration not be taken into use.

/// Why a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The database cannot.
    #[error(transparent)]
    Database(#[from] duramen::Error),
    /// What cookies are signed with cannot be made.
    #[error("the system gives no random numbers")]
    NoRandom,
    /// The schema is not one.
    #[error("{0}")]
    Schema(String),
    /// The access rules are none.
    #[error("{0}")]
    Access(String),
    /// Settings that make no sense: all of them.
    #[error("{}", lines(.0))]
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

/// A setting of a [`Config`](crate::Config).
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
    /// The password policies.
    PasswordPolicies,
    /// The rule at this place of `identities`.
    Identity(usize),
    /// The limits at this place of `limits_for`.
    LimitsFor(usize),
    /// The suffix at this place of `copies`.
    Copy(usize),
    /// The attribute at this place of `references`.
    Reference(usize),
    /// The attribute at this place of `unique`.
    Unique(usize),
    /// The constraint at this place of `constraints`, and what of it.
    Constraint(usize, ConstraintPart),
    /// The list at this place of `dynamic_lists`, and what of it.
    DynamicList(usize, DynamicListPart),
}

/// A part of a [`DynamicList`](crate::DynamicList).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicListPart {
    /// The object class.
    Class,
    /// The attribute of URLs.
    Urls,
    /// The attribute of members.
    Member,
    /// The attribute at this place that is shown as another.
    Renamed(usize),
    /// Which entries it is about.
    Restrict,
}

/// A part of a [`Constraint`](crate::Constraint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintPart {
    /// The attribute at this place.
    Attribute(usize),
    /// What is demanded.
    Demand,
    /// Which entries it is about.
    Restrict,
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

/// A line for each.
fn lines(faults: &[ConfigFault]) -> String {
    faults.iter().map(ConfigFault::to_string).collect::<Vec<_>>().join("\n")
}
