//! Listening: sockets of all kinds, and handing over what they accept.

use std::fmt::Write;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duramen_directory::Peer;
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};

use crate::config::Listen;
use crate::crew::{Accepted, Crew};
use crate::seldom::Seldom;
use crate::session::Process;
use crate::stream::Socket;

/// Connections that the kernel keeps for us until they are accepted.
const BACKLOG: u32 = 4096;
/// How long accepting rests where it fails for want of something that others may free.
const REST: Duration = Duration::from_millis(50);

/// A client that says nothing for so long is asked by the kernel whether it is still there: firewalls forget connections that are
/// silent for longer, and machines go without a word.
const ASKED_AFTER: Duration = Duration::from_secs(15 * 60);

/// Why an address cannot be listened at.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {source}; {cure}")]
pub struct ListenError {
    /// The address, or the path.
    pub address: String,
    /// What went wrong.
    pub r#source: io::Error,
    /// What to do about it.
    pub cure: String,
}

/// A socket that listens.
pub enum Listener {
    /// TCP; true: within TLS.
    Tcp(TcpListener, SocketAddr, bool),
    /// A local socket, whose file goes away with it, and which file that is.
    Unix(UnixListener, PathBuf, Option<FileNumber>),
}

/// What tells a file from others that had, or will have, its path: device and inode.
type FileNumber = (u64, u64);

fn file_number(path: &Path) -> Option<FileNumber> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Listens at all addresses.
pub fn listen(config: &Listen) -> Result<Vec<Listener>, ListenError> {
    let mut listeners = Vec::new();
    for (addresses, tls) in [(&config.ldap, false), (&config.ldaps, true)] {
        for &address in addresses {
            let at = if has_ipv4_beside(config, address) { ipv6_alone(address) } else { tcp(address) };
            let listener = at.map_err(|source| taken(&listeners, address, source))?;
            let address = listener.local_addr().unwrap_or(address);
            listeners.push(Listener::Tcp(listener, address, tls));
        }
    }
    if let Some(path) = &config.ldapi {
        let listener = unix(path).map_err(|source| error(path.display().to_string(), source))?;
        listeners.push(Listener::Unix(listener, path.clone(), file_number(path)));
    }
    Ok(listeners)
}

/// Whether this is `[::]` where `0.0.0.0` is listened at too, at the same port: each is meant to have its own version of IP.
fn has_ipv4_beside(config: &Listen, address: SocketAddr) -> bool {
    let ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
    let is_any_ipv6 = address.is_ipv6() && address.ip().is_unspecified();
    is_any_ipv6 && config.ldap.iter().chain(&config.ldaps).any(|other| *other == ipv4)
}

/// A listener at one address.
pub fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    begin(if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? }, address)
}

/// As [`tcp`], which leaves IPv4 to others, however the system is set.
fn ipv6_alone(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v6()?;
    sockopt::set_ipv6_v6only(&socket, true)?;
    begin(socket, address)
}

fn begin(socket: TcpSocket, address: SocketAddr) -> io::Result<TcpListener> {
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A local socket that everybody may connect to: who does is known. One that a dead server left is replaced.
fn unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if !is_socket && path.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // Nothing else says that nobody listens: somebody's socket may be of another kind, or not for this user.
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err_and(refused) {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    Ok(listener)
}

/// As [`error`], of an address that this server itself may have taken: `[::]` has IPv4 too on most systems.
fn taken(listeners: &[Listener], address: SocketAddr, source: io::Error) -> ListenError {
    let own = listeners.iter().find_map(|listener| match listener {
        Listener::Tcp(_, own, _) if own.port() == address.port() => Some(*own),
        _ => None,
    });
    let fault = error(address.to_string(), source);
    match own.filter(|_| fault.source.kind() == io::ErrorKind::AddrInUse) {
        Some(own) => {
            ListenError { cure: format!("this server listens at {own}, which takes it: leave one out"), ..fault }
        }
        None => fault,
    }
}

pub(crate) fn error(address: String, source: io::Error) -> ListenError {
    let cure = match source.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: stop it, or choose another address",
        io::ErrorKind::AlreadyExists => "what is there is no socket: remove it, or choose another path",
        io::ErrorKind::PermissionDenied => {
            "choose a port from 1024 up and a directory that this user may write, \
             or let systemd give the capability CAP_NET_BIND_SERVICE"
        }
        io::ErrorKind::AddrNotAvailable => "this machine has no such address: choose one that `ip address` shows",
        io::ErrorKind::InvalidInput => "choose a shorter path: the system takes 107 bytes for a local socket",
        io::ErrorKind::NotFound => "make the directory of the socket first",
        _ => "choose another address",
    };
    ListenError { address, source, cure: cure.into() }
}

impl Listener {
    /// Where it listens, for people.
    pub fn url(&self) -> String {
        match self {
            Listener::Tcp(_, address, false) => format!("ldap://{address}"),
            Listener::Tcp(_, address, true) => format!("ldaps://{address}"),
            Listener::Unix(_, path, _) => {
                // Clients may stand in another directory.
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("ldapi://{}", escaped(path.as_os_str().as_bytes()))
            }
        }
    }

    /// Accepts for ever.
    pub async fn accept_all(&self, crew: &Crew) {
        let at: Arc<str> = Arc::from(match self {
            Listener::Tcp(_, address, _) => format!("IP={address}"),
            Listener::Unix(_, path, _) => Peer::Local(path.clone()).to_string(),
        });
        let failures = Seldom::new(1);
        loop {
            match self.accept(&at).await {
                Ok(accepted) => crew.admit(accepted),
                Err(error) => {
                    if failures.note().is_some() {
                        tracing::warn!("a connection could not be accepted: {error}");
                    }
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    async fn accept(&self, at: &Arc<str>) -> io::Result<Accepted> {
        let at = at.clone();
        match self {
            Listener::Tcp(listener, _, tls) => {
                let (stream, address) = listener.accept().await?;
                let socket = prepared(stream)?;
                // Where [::] has IPv4 too, whoever comes by that is told of as elsewhere.
                let peer = Peer::Network(SocketAddr::new(address.ip().to_canonical(), address.port()));
                Ok(Accepted { socket, peer, local: None, at, tls: *tls })
            }
            Listener::Unix(listener, path, _) => {
                let (stream, _) = listener.accept().await?;
                let local = process(&stream)?;
                let socket = Socket::Unix(stream.into_std()?);
                Ok(Accepted { socket, peer: Peer::Local(path.clone()), local: Some(local), at, tls: false })
            }
        }
    }
}

/// A path as an LDAP URL has it (RFC 3986 section 2.3).
fn escaped(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len() + 16);
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn prepared(stream: TcpStream) -> io::Result<Socket> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, ASKED_AFTER)?;
    Ok(Socket::Tcp(stream.into_std()?))
}

fn process(stream: &UnixStream) -> io::Result<Process> {
    let credentials = stream.peer_cred()?;
    Ok(Process { user: credentials.uid(), group: credentials.gid() })
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Another server may have taken a socket that looked dead for its own by now, or somebody have removed it.
        if let Listener::Unix(_, path, Some(own)) = self
            && file_number(path) == Some(*own)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(path: &Path) -> Listener {
        let config = Listen { ldap: Vec::new(), ldaps: Vec::new(), ldapi: Some(path.to_path_buf()) };
        listen(&config).unwrap().remove(0)
    }

    #[tokio::test]
    async fn a_local_socket_that_is_another_servers_by_now_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ldapi");
        let first = listening(&path);
        // Somebody has taken it away, and another server has made its own.
        std::fs::rename(&path, dir.path().join("old")).unwrap();
        let second = listening(&path);
        drop(first);
        assert!(path.exists(), "it is the second one's");
        drop(second);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_path_with_odd_characters_makes_a_url_that_clients_take_rfc4516_2() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("100% of a?b");
        assert!(listening(&path).url().ends_with("%2F100%25%20of%20a%3Fb"), "{}", listening(&path).url());
    }
}
