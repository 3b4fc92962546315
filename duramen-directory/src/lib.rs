//! An LDAP directory on Duramen: schema, entries, names, indices, search, update, access.
//!
//! Knows no sockets, no runtime and no message envelopes: requests come decoded from `duramen_ldap::message`, entries
//! leave through a [`Sink`], and every failure is a [`Failure`] with the code of its LDAP result.
//!
//! ```
//! use duramen_directory::{Config, Directory};
//! # let dir = tempfile::tempdir()?;
//! let config = Config { suffixes: vec!["dc=example,dc=com".into()], ..Config::default() };
//! let directory = Directory::open(dir.path(), config)?;
//! assert_eq!(&*directory.name("DC=Example, dc=com")?.normalized, "dc=example,dc=com");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//! A [`Failure`] has the code that the RFCs give to what is wrong with a request, and a sentence. Besides, any function that
//! returns one may fail with `unwillingToPerform` where the disk is full, `busy` or `unavailable` where the database is, and
//! `other` where what is stored cannot be read. Opening and taking a configuration into use return an [`OpenError`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

pub mod access;
mod altered;
mod assertion;
mod attribute;
mod audit;
mod authorization;
mod base;
mod check;
mod clock;
mod compare;
mod config;
mod constraint;
mod controls;
mod credentials;
mod damage;
mod directory;
mod dynamic;
mod entry;
mod error;
mod export;
mod expression;
mod failure;
mod faults;
mod filter;
mod folder;
mod history;
mod identity;
mod import;
mod index;
mod inner;
mod inquiry;
mod judge;
mod knowledge;
mod large;
mod membership;
mod meta;
mod names;
mod orders;
pub mod password;
mod place;
mod policy;
mod proxied;
mod referral;
mod reindex;
mod replica;
mod requester;
pub mod schema;
mod seal;
mod search;
mod settings;
mod sink;
mod state;
mod tables;
mod update;
mod view;
mod watchers;

pub use clock::timestamp;
pub use config::{
    Administrator, AuditLog, AuthzPolicy, Config, Constraint, CopyOf, Demand, Durability, DynamicList, IdentityRule,
    Index, IndexKinds, Limits, LimitsFor, PasswordPolicies, SchemaFile, SearchLimits, Shows,
};
pub use credentials::Credentials;
pub use damage::Damage;
pub use directory::Directory;
pub use error::{ConfigFault, ConstraintPart, DynamicListPart, OpenError, Setting};
pub use failure::{Failure, Result};
pub use identity::Identity;
pub use import::{ImportError, ImportEvent, ImportOptions, ImportProblem, Imported};
pub use inner::{Monitor, MonitorEntry};
pub use policy::{Judgement, Proof};
pub use replica::{Counts, Heard, Replica, ReplicaError};
pub use requester::{Method, Name, Peer, Requester};
pub use search::{Done, News, Progress, Search, Standing};
pub use sink::{Collected, Entries, Sink};
pub use update::{NotMade, PreparedUpdate, TogetherFuture, UpdateFuture, Updated};
