//! Ports for servers that have to be told one.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Below it are ports of well-known services.
const LOWEST: u16 = 10_000;

/// Each stands for a port, and is this process's until it ends.
static TAKEN: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());

/// What the kernel says of the sockets there are, a line each.
const TABLES: [&str; 4] = ["/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"];

/// A port that nobody has, neither for TCP nor for UDP, and that no other test gets.
///
/// It is looked up, not tried: what is open while another thread starts a process is open there too, until that process becomes
/// the program that it is to be, and a server would find the port taken by what had tried it.
///
/// It is none of those that the kernel gives to clients. Else one could have it before the server; and whoever asks such a
/// port again and again whether the server listens may be answered by nobody but itself (RFC 9293 section 3.5, figure 7).
///
/// # Panics
/// If the system has no sockets to give, or does not say which there are.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(LOWEST..first_of_clients());
        let name = SocketAddr::from_abstract_name(format!("duramen-test-port-{port}")).expect("a short name");
        let Ok(token) = UnixListener::bind_addr(&name) else { continue };
        if !is_of_a_socket(port) {
            TAKEN.lock().expect("no holder panics").push(token);
            return port;
        }
    }
}

/// Listens on a port of the loopback interface that this process has had before, or got as a free one.
///
/// What listened there and was closed may be open for a moment longer in a process that is being started.
///
/// # Panics
/// If somebody else has the port for ten seconds.
pub fn listen_again(port: u16) -> TcpListener {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return listener,
            Err(error) => assert!(Instant::now() < until, "port {port}: {error}"),
        }
        std::thread::sleep(Duration::from_millis(1));
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

fn is_of_a_socket(port: u16) -> bool {
    let local = format!(":{port:04X}");
    TABLES.iter().any(|table| match std::fs::read_to_string(table) {
        // Number, local address, peer...
        Ok(lines) => lines.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|at| at.ends_with(&local)),
        // There is no IPv6 everywhere.
        Err(error) => {
            assert!(error.kind() == ErrorKind::NotFound && table.ends_with('6'), "{table}: {error}");
            false
        }
    })
}

/// The first of the ports that the kernel gives to clients.
fn first_of_clients() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first = range.split_whitespace().next().and_then(|first| first.parse().ok());
    first.filter(|first| *first > LOWEST).unwrap_or(32_768)
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;

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

    /// They have all that is open here until they are the program that they become.
    #[test]
    fn a_free_port_is_held_by_no_process_that_is_being_started() {
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            let starter = || {
                while !ends.load(Relaxed) {
                    Command::new("true").status().unwrap();
                }
            };
            (0..4).for_each(|_| drop(scope.spawn(starter)));
            let taken = (0..100).filter(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).is_err()).count();
            ends.store(true, Relaxed);
            assert_eq!(taken, 0);
        });
    }

    #[test]
    fn what_has_a_port_is_found() {
        let port = free_port();
        assert!(!is_of_a_socket(port));
        let listener = listen_again(port);
        assert!(is_of_a_socket(port));
        drop(listener);
        let _socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(is_of_a_socket(port));
    }

    #[test]
    fn a_port_is_listened_on_once_a_server_has_it() {
        let port = free_port();
        assert!(!is_listened_on(port));
        let _server = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(is_listened_on(port));
    }
}
