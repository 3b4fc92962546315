//! Knot DNS: a server with its journal, its keys and its timers in LMDB.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use duramen_sim::port::free_port;

use crate::library::{self, BOTH, Library, Way};
use crate::server::Server;
use crate::{dns, library::Said};

const ZONE: &str =
    "@ 3600 SOA ns hostmaster 1 3600 600 86400 300\n@ 3600 NS ns\nns 3600 A 127.0.0.1\nwww 3600 A 192.0.2.1\n";
/// Changes to each zone, one journal entry each.
const CHANGES: u8 = 8;

fn configuration(place: &Path, port: u16) -> String {
    let place = place.display();
    let common =
        "storage: {place}/zones\n    zonefile-sync: -1\n    zonefile-load: difference\n    journal-content: all\n";
    let common = common.replace("{place}", &place.to_string());
    format!(
        "server:\n    rundir: {place}/run\n    listen: 127.0.0.1@{port}\n\
         database:\n    storage: {place}/db\n\
         log:\n  - target: stderr\n    any: info\n\
         policy:\n  - id: signed\n    algorithm: ecdsap256sha256\n\
         zone:\n  - domain: plain.\n    {common}\
         \x20 - domain: signed.\n    {common}    dnssec-signing: on\n    dnssec-policy: signed\n"
    )
}

struct Knot<'p> {
    library: Library,
    place: &'p Path,
    port: u16,
}

impl<'p> Knot<'p> {
    fn new(library: Library, place: &'p Path) -> Knot<'p> {
        for name in ["run", "db", "zones"] {
            fs::create_dir(place.join(name)).unwrap();
        }
        for zone in ["plain", "signed"] {
            fs::write(place.join(format!("zones/{zone}.zone")), format!("$ORIGIN {zone}.\n{ZONE}")).unwrap();
        }
        let port = free_port();
        fs::write(place.join("knot.conf"), configuration(place, port)).unwrap();
        Knot { library, place, port }
    }

    fn settings(&self) -> String {
        self.place.join("knot.conf").display().to_string()
    }

    /// Starts the server and waits until it knows both zones.
    fn start(&self) -> Server {
        let mut command = self.library.command(Way::Linked, "knotd");
        let mut server = Server::start(command.args(["-c", &self.settings()]), &self.place.join("log"));
        server.wait_for(|| dns::addresses(self.port, "www.plain"));
        server.wait_for(|| dns::addresses(self.port, "www.signed"));
        server.wait_for(|| (self.run("knotc", &["status"]).code == Some(0)).then_some(()));
        server
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Said {
        self.library.run(Way::Linked, program, &[&["-c", &self.settings()], arguments].concat())
    }

    /// Adds addresses to a zone, one transaction each.
    fn change(&self, zone: &str) {
        for i in 0..CHANGES {
            self.run("knotc", &["zone-begin", zone]).well();
            self.run("knotc", &["zone-set", zone, "more", "60", "A", &format!("192.0.2.{}", 100 + i)]).well();
            self.run("knotc", &["zone-commit", zone]).well();
        }
    }

    fn assert_changed(&self, server: &mut Server, zone: &str) {
        let wanted: Vec<Ipv4Addr> = (0..CHANGES).map(|i| Ipv4Addr::new(192, 0, 2, 100 + i)).collect();
        let name = format!("more.{zone}");
        server.wait_for(|| dns::addresses(self.port, &name).filter(|found| *found == wanted));
    }
}

#[test]
fn knotd_keeps_its_journal_keys_and_timers() {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let knot = Knot::new(library, place.path());
        let mut server = knot.start();
        if library == Library::Ours {
            library::assert_mapped(server.process());
        }
        for zone in ["plain", "signed"] {
            knot.change(zone);
            knot.assert_changed(&mut server, zone);
        }
        server.kill();

        let mut server = knot.start();
        for zone in ["plain", "signed"] {
            knot.assert_changed(&mut server, zone);
        }
        server.stop();
        read_offline(&knot)
    });
    assert_eq!(stock, ours);
}

/// What Knot's other programs say of the databases, but for the keys, which are random.
fn read_offline(knot: &Knot<'_>) -> (String, String, usize) {
    let zones = knot.run("kjournalprint", &["-z"]).well();
    let journal = knot.run("kjournalprint", &["-n", "plain."]).well();
    assert!(journal.contains(&format!("192.0.2.{}", 100 + CHANGES - 1)), "{journal}");
    assert!(knot.run("kjournalprint", &["-n", "signed."]).well().contains("RRSIG"));
    let keys = knot.run("keymgr", &["signed.", "list"]).well();
    knot.run("keymgr", &["signed.", "generate", "algorithm=ECDSAP256SHA256"]).well();
    assert_eq!(knot.run("keymgr", &["signed.", "list"]).well().lines().count(), keys.lines().count() + 1);
    if knot.library == Library::Ours {
        for name in ["journal", "keys", "timers"] {
            library::assert_clean(&knot.place.join("db").join(name).join("data.mdb"));
        }
    }
    (zones, journal, keys.lines().count())
}
