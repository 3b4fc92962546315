//! Who asks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Who asks, from where, over what. Made by the server at a bind, kept for the session; a clone is cheap.
#[derive(Clone, Debug)]
pub struct Requester {
    /// Normalized name, as [`crate::Directory::normalize`] makes it; empty is anonymous.
    pub name: Arc<str>,
    /// How it was proved.
    pub method: Method,
    /// Where the connection comes from.
    pub peer: Arc<Peer>,
    /// Strength of what protects the connection, in bits: 0 is nothing, 256 is TLS with AES-256.
    pub ssf: u32,
    /// Whether access rules and limits do not hold: the administrator of the configuration.
    pub is_administrator: bool,
}

/// How a name was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Not at all.
    Anonymous,
    /// By a password, simple or SASL PLAIN.
    Password,
    /// By SASL SCRAM.
    Scram,
    /// By the transport: the user of a local socket, or a TLS certificate.
    External,
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

impl Requester {
    /// Nobody in particular.
    pub fn anonymous(peer: Arc<Peer>, ssf: u32) -> Requester {
        Requester { name: Arc::from(""), method: Method::Anonymous, peer, ssf, is_administrator: false }
    }

    /// This process: tools, tests, the server's own lookups. No rule holds it back.
    pub fn internal() -> Requester {
        Requester {
            name: Arc::from(""),
            method: Method::Internal,
            peer: Arc::new(Peer::Internal),
            ssf: u32::MAX,
            is_administrator: true,
        }
    }

    /// Whether nobody is bound.
    pub fn is_anonymous(&self) -> bool {
        self.name.is_empty() && !self.is_administrator
    }
}
