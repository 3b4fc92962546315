//! Ports for servers that have to be told one.

use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;

/// Below it are ports of well-known services.
const LOWEST: u16 = 10_000;

/// Each stands for a port, and is this process's until it ends.
static TAKEN: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());

/// A port of the loopback interface that nobody listens on, neither for TCP nor for UDP, and that no other test gets.
///
/// It is none of those that the kernel gives to clients. Else one could have it before the server; and whoever asks such a
/// port again and again whether the server listens may be answered by nobody but itself (RFC 9293 section 3.5, figure 7).
///
/// # Panics
/// If the system has no sockets to give.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(LOWEST..first_of_clients());
        let name = SocketAddr::from_abstract_name(format!("duramen-test-port-{port}")).expect("a short name");
        let Ok(token) = UnixListener::bind_addr(&name) else { continue };
        let at = (Ipv4Addr::LOCALHOST, port);
        if TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok() {
            TAKEN.lock().expect("no holder panics").push(token);
            return port;
        }
    }
}

/// Whether a server listens on a port of the loopback interface.
///
/// Where the kernel gives clients a port that nobody listens on, whoever asks for it may be connected to itself: that is no
/// server.
pub fn is_listened_on(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok_and(|stream| !is_its_own_peer(&stream))
}

fn is_its_own_peer(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(local), Ok(peer)) if local == peer)
}

/// The first of the ports that the kernel gives to clients.
fn first_of_clients() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next().and_then(|first| first.parse().ok());
    first.filter(|first| *first > LOWEST).unwrap_or(32_768)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use socket2::{Domain, Socket, Type};

    use super::*;

    #[test]
    fn a_client_that_is_its_own_server_is_told_from_one_that_has_one() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let alone = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        alone.bind(&address.into()).unwrap();
        alone.connect(&address.into()).unwrap();
        assert!(is_its_own_peer(&alone.into()));
    }

    #[test]
    fn a_port_is_listened_on_once_a_server_has_it() {
        let port = free_port();
        assert!(!is_listened_on(port));
        let _server = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(is_listened_on(port));
    }
}
