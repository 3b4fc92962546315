//! What can be configured: the file `duramend.toml`, the command line's say, and what comes of both.
//!
//! Owns: the shape of the file, defaults, checks. Must not know: how anything of it is carried out.
//!
//! Every fault names the file, the line and what to do. Paths in the file are relative to the file's directory.

mod audit;
mod constraint;
mod dynamic;
mod fault;
mod file;
mod paths;
mod replica;
mod resolve;
#[cfg(test)]
mod tests;
mod words;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use fault::Fault;
pub use file::LogFormat;
pub use paths::LOCK;
pub use replica::{Authentication, Provider, Replica, ReplicaTls, Security};
pub use resolve::{Judge, Overrides, check, placed};

/// Everything that the daemon goes by.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data directory.
    pub data: PathBuf,
    /// What the directory goes by.
    pub directory: duramen_directory::Config,
    /// Where to listen.
    pub listen: Listen,
    /// Certificate and key, where TLS is offered.
    pub tls: Option<Tls>,
    /// Limits of connections.
    pub limits: Limits,
    /// What is written to the log.
    pub log: Log,
    /// How new passwords are kept.
    pub password_scheme: duramen_directory::password::Scheme,
    /// Passwords that come in clear text in an add or a modify are kept so, too.
    pub hash_passwords: bool,
    /// Of which servers it is a replica, if it is one.
    pub replica: Option<Replica>,
    /// Where `/metrics` and `/healthz` are served, if at all.
    pub http: Option<SocketAddr>,
}

/// Where to listen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listen {
    /// Plain LDAP, with StartTLS where there is a certificate.
    pub ldap: Vec<SocketAddr>,
    /// LDAP within TLS.
    pub ldaps: Vec<SocketAddr>,
    /// A local socket.
    pub ldapi: Option<PathBuf>,
}

impl Config {
    /// What is not there, and has to be at the start, where whoever starts the server may make it.
    pub fn missing(&self) -> Option<Fault> {
        self.listen.ldapi.as_deref().and_then(|socket| paths::missing(socket, &self.data))
    }
}

/// Certificate and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, and those between it and its root, as PEM.
    pub certificate: PathBuf,
    /// Its key, as PEM.
    pub key: PathBuf,
    /// Roots of clients' certificates, as PEM; without them no client is asked for one.
    pub client_roots: Option<PathBuf>,
    /// Lists of revoked ones of their certificates, as PEM: one of each issuer.
    pub client_revoked: Option<PathBuf>,
    /// Whether clients without a certificate are turned away.
    pub client_required: bool,
}

/// Limits of connections. The directory has its own, for searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time.
    pub connections: usize,
    /// Length of a message of somebody who is bound.
    pub message_bytes: usize,
    /// Length of a message of anybody else.
    pub message_bytes_anonymous: usize,
    /// Operations of a connection that have begun and not ended; more are not read.
    pub pending: usize,
    /// A connection without operations is closed after this time; zero is never.
    pub idle: Duration,
    /// TLS handshakes have to be done within this time.
    pub handshake: Duration,
    /// A client that takes none of what it is sent is dropped after this time, which is as long as somebody may be away who has
    /// the answers in a pager: what is held for him is held for longer for whoever reads slowly.
    pub write: Duration,
    /// A search whose client takes its answers slowly is ended after this time, and with it what it holds of the past.
    pub search: Duration,
    /// How long connections may finish when the server stops.
    pub stop: Duration,
    /// Costly password checks at the same time.
    pub password_checks: usize,
    /// Threads that serve connections.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Limits {
            connections: 16_000,
            message_bytes: 16 << 20,
            message_bytes_anonymous: 256 << 10,
            pending: 256,
            idle: Duration::ZERO,
            handshake: Duration::from_secs(30),
            write: Duration::from_secs(600),
            search: Duration::from_secs(3600),
            stop: Duration::from_secs(10),
            password_checks: cores,
            threads: cores,
        }
    }
}

/// What is written to the log, which is the standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Events of this level and above; the syntax is that of `RUST_LOG`.
    pub level: String,
    /// Lines for people, or JSON.
    pub format: LogFormat,
    /// Every connection and operation, in the format of OpenLDAP's `stats`.
    pub stats: bool,
    /// Operations that take longer are logged with their plan; `None` is none.
    pub slow: Option<Duration>,
}

impl Default for Log {
    fn default() -> Log {
        Log { level: "info".into(), format: LogFormat::Text, stats: false, slow: Some(Duration::from_secs(1)) }
    }
}
