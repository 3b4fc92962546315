//! Clients that take their time to read.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{ResultCode, Scope};

use crate::client::{Client, search};
use crate::process::{Daemon, TLS, certificates};
use crate::threads::connected_by_tls;

const SUFFIX: &str = "dc=example,dc=com";
const PEOPLE: usize = 500;
/// Of 10 MB each: more than the system takes on the way.
const SEARCHES: usize = 3;

/// A daemon with 10 MB of entries, which drops who takes nothing for five seconds.
fn impatient() -> Daemon {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let more =
        format!("{TLS}[limits]\nwrite_seconds = 5\n[directory]\ndurability = \"relaxed\"\n[log]\nstats = true\n");
    let daemon = Daemon::start(dir, &more);
    let mut client = Client::administrator(&daemon);
    client.populate(0);
    for number in 0..PEOPLE {
        assert_eq!(client.add_long_person(number).code, ResultCode::SUCCESS);
    }
    daemon
}

fn ask_for_much<S: Read + Write>(client: &mut Client<S>) {
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    for _ in 0..SEARCHES {
        client.send(search(SUFFIX, Scope::Subtree, &filter));
    }
}

/// Reads so much every tenth of a second, for longer than anybody may take nothing; then all that is left. It is less than gives
/// the server's socket room for more in that time.
fn read_slowly<S: Read + Write>(mut client: Client<S>, bytes: usize) {
    ask_for_much(&mut client);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(12) {
        client.receive(bytes);
        thread::sleep(Duration::from_millis(100));
    }
    let answers: Vec<_> = (0..SEARCHES).map(|_| client.answer().1).collect();
    assert!(answers.iter().all(|answer| answer.code == ResultCode::SUCCESS), "{answers:?}");
    assert_eq!(answers.iter().map(|answer| answer.names.len()).sum::<usize>(), SEARCHES * (PEOPLE + 1));
}

#[test]
fn who_reads_slowly_is_kept_and_who_takes_nothing_is_dropped() {
    let mut daemon = impatient();
    let mut silent = Client::new(&daemon);
    ask_for_much(&mut silent);
    let local = UnixStream::connect(daemon.path("ldapi")).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| read_slowly(Client::new(&daemon), 10_000));
        scope.spawn(|| read_slowly(Client::over(connected_by_tls(&daemon)), 10_000));
        scope.spawn(|| read_slowly(Client::over(local), 2_500));
    });
    daemon.wait_for("closed (the client takes nothing)");
    assert_eq!(daemon.log().matches("closed (the client takes nothing)").count(), 1, "{}", daemon.log());
}
