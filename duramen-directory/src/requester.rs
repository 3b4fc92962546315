//! Who asks.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Who asks, from where, over what. Made by the server at a bind, kept for the session; a clone is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// Whose name it is; empty is anonymous.
    pub name: Name,
    /// How it was proved.
    pub method: Method,
    /// Where the connection comes from.
    pub peer: Arc<Peer>,
    /// The connection's number, as the log has it; this process has none.
    pub connection: Option<u64>,
    /// Strength of what protects the connection, in bits: 0 is nothing, 256 is TLS with AES-256.
    pub ssf: u32,
    /// Whether access rules and limits do not hold: the administrator of the configuration. Who is that by the name is so
    /// for as long as it is the configured one: each operation asks again.
    pub is_administrator: bool,
}

/// A name in two forms, as [`crate::Directory::name`] makes them. The one that names are compared in is not for others:
/// values in it are what their matching rules make of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// As it is written.
    pub written: Arc<str>,
    /// As it is compared.
    pub normalized: Arc<str>,
}

impl Name {
    /// Whether it is nobody's.
    pub fn is_empty(&self) -> bool {
        self.normalized.is_empty()
    }
}

/// How a name was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Not at all.
    Anonymous,
    /// By a password, simple.
    Password,
    /// By a password, SASL PLAIN.
    Plain,
    /// By SASL SCRAM.
    Scram,
    /// By the transport: the user of a local socket, or a TLS certificate.
    External,
    /// As [`Method::External`], by the local socket, and it is the user who runs the server, or root: an administrator
    /// whatever the name is.
    Owner,
    /// It is this process itself.
    Internal,
}

/// Where a connection comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The network.
    Network(SocketAddr),
    /// A local socket of this path.
    Local(PathBuf),
    /// This process.
    Internal,
}

/// As logs of LDAP servers have it.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Network(address) => write!(f, "IP={address}"),
            Peer::Local(path) => write!(f, "PATH={}", path.display()),
            Peer::Internal => f.write_str("internal"),
        }
    }
}

impl Requester {
    /// Nobody in particular.
    pub fn anonymous(peer: Arc<Peer>, ssf: u32) -> Requester {
        Requester {
            name: Name::default(),
            method: Method::Anonymous,
            peer,
            connection: None,
            ssf,
            is_administrator: false,
        }
    }

    /// This process: tools, tests, the server's own lookups. No rule holds it back.
    pub fn internal() -> Requester {
        Requester {
            name: Name::default(),
            method: Method::Internal,
            peer: Arc::new(Peer::Internal),
            connection: None,
            ssf: u32::MAX,
            is_administrator: true,
        }
    }

    /// Whether it is the administrator because of the name, not as this process or the user who runs it.
    pub(crate) fn is_administrator_by_name(&self) -> bool {
        let is_by_itself = matches!(self.method, Method::Owner | Method::Internal) || self.name.is_empty();
        self.is_administrator && !is_by_itself
    }

    /// Whether nobody is bound.
    pub fn is_anonymous(&self) -> bool {
        self.name.is_empty() && !self.is_administrator
    }
}
