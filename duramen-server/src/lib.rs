//! `duramend`: an LDAP directory server whose answers come straight out of the map.
//!
//! Owns: sockets, TLS, sessions, SASL, dispatch, figures, the log, the configuration. Must not know: pages, tables, how
//! a search finds what it finds.
//!
//! | module | owns |
//! |---|---|
//! | [`config`] | the configuration and its faults |
//! | [`serve`], [`claim`] | the daemon's life, from configuration to stop; that no other one has its data |
//! | [`listen`] | listening sockets |
//! | [`crew`] | threads that serve connections, and how these come to them |
//! | [`balance`] | which thread serves which connection |
//! | [`connection`], [`thread`] | bytes in, bytes out; what the connections of a thread share |
//! | [`bell`] | connections that wait for updates, woken together |
//! | [`work`] | operations of a connection |
//! | [`replica`] | being a copy of another server |
//! | [`session`], [`tls`], [`stream`], [`queue`], [`buffer`], [`reply`] | what they stand on |
//! | [`figures`], [`monitor`], [`http`], [`log`], [`seldom`], [`notify`] | what the daemon tells of itself |
//!
//! ```
//! use duramen_server::config::Overrides;
//! use duramen_server::serve::{Start, check};
//!
//! let (data, suffixes) = (Some("people".into()), vec!["dc=example,dc=com".into()]);
//! let overrides = Overrides { data, suffixes, ..Overrides::default() };
//! let checked = check(&Start { overrides, ..Start::default() })?; // changes nothing; `serve` does, until a signal
//! assert!(checked.warnings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

pub mod aside;
pub mod balance;
pub mod bell;
pub mod buffer;
pub mod claim;
pub mod config;
pub mod connection;
pub mod costs;
pub mod crew;
pub mod failure;
pub mod figures;
pub mod guesses;
pub mod http;
pub mod listen;
pub mod log;
pub mod monitor;
pub mod notify;
pub mod queue;
pub mod replica;
pub mod reply;
pub mod seldom;
pub mod serve;
pub mod server;
pub mod session;
pub mod stream;
pub mod thread;
pub mod tls;
pub mod work;
