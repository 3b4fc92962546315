//! Connections change threads while they are used.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use duramen_ldap::message::{ResultCode, Scope};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{Client, connected, person};
use crate::process::{ADMINISTRATOR, Daemon, TLS, certificates};

const PEOPLE: usize = 300;
/// Longest wait for connections to have changed threads.
const PATIENCE: Duration = Duration::from_secs(60);

pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

pub fn connected_by_tls(daemon: &Daemon) -> TlsStream {
    within_tls(daemon, connected(daemon.ldaps.unwrap()))
}

/// TLS over a connection to the daemon.
pub fn within_tls(daemon: &Daemon, stream: TcpStream) -> TlsStream {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(daemon.path("root.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let session = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    StreamOwned::new(session, stream)
}

/// Asks for long searches until it is told to ask seldom; every answer has to be right. Whoever is not bound may not
/// write: a session that was lost on the way shows.
fn ask<S: Read + Write>(mut client: Client<S>, number: usize, is_calm: &AtomicBool, is_over: &AtomicBool) {
    let (name, password) = ADMINISTRATOR;
    assert_eq!(client.bind(name, password).code, ResultCode::SUCCESS);
    let alternatives: String = (0..300).map(|n| format!("(description=*{n}*)")).collect();
    while !is_over.load(Relaxed) {
        let filter = if is_calm.load(Relaxed) { "" } else { &alternatives };
        let answer = client.search("dc=example,dc=com", Scope::Subtree, &format!("(|(uid=u{number}){filter})"));
        assert_eq!((answer.code, answer.names), (ResultCode::SUCCESS, vec![person(number)]));
        let written = client.replace(&person(number), "title", &client.last_id().to_string());
        assert_eq!(written.code, ResultCode::SUCCESS);
        if is_calm.load(Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn connections_spread_over_threads_while_there_is_much_to_do_and_come_together_after_it() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let daemon = Daemon::start(dir, &format!("{TLS}[limits]\nthreads = 2\n[directory]\ndurability = \"relaxed\"\n"));
    Client::administrator(&daemon).populate(PEOPLE);
    assert!(daemon.worked("io-1") < Duration::from_millis(20), "one thread is enough for one client");
    let [is_calm, is_over] = &[AtomicBool::new(false), AtomicBool::new(false)];
    thread::scope(|scope| {
        for number in 0..4 {
            let plain = Client::new(&daemon);
            scope.spawn(move || ask(plain, number, is_calm, is_over));
            let tls = Client::over(connected_by_tls(&daemon));
            scope.spawn(move || ask(tls, number + 4, is_calm, is_over));
        }
        wait_until("one thread did all", || daemon.worked("io-1") > Duration::from_millis(200));
        is_calm.store(true, Relaxed);
        wait_until("two threads stayed at work", || {
            let before = daemon.worked("io-1");
            thread::sleep(Duration::from_millis(300));
            daemon.worked("io-1") - before < Duration::from_millis(1)
        });
        is_over.store(true, Relaxed);
    });
}
