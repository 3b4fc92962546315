//! PowerDNS: zones, keys and metadata in LMDB, changed by `pdnsutil` while the server runs.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use duramen_sim::port::free_port;

use crate::dns;
use crate::library::{self, BOTH, Library, Said, Way};
use crate::server::Server;

const ZONE: &str = "$ORIGIN example.\n@ 3600 IN SOA ns hostmaster 1 3600 600 86400 300\n@ 3600 IN NS ns.example.\n\
                    ns 3600 IN A 127.0.0.1\nwww 3600 IN A 192.0.2.1\nwww 3600 IN A 192.0.2.2\n";

struct PowerDns<'p> {
    library: Library,
    place: &'p Path,
    port: u16,
}

impl<'p> PowerDns<'p> {
    fn new(library: Library, place: &'p Path) -> PowerDns<'p> {
        let (port, at) = (free_port(), place.display());
        let settings = format!(
            "launch=lmdb\nlmdb-filename={at}/db/pdns.lmdb\nlmdb-shards=2\nlmdb-sync-mode=sync\n\
             local-address=127.0.0.1\nlocal-port={port}\nsocket-dir={at}/run\n\
             cache-ttl=0\nquery-cache-ttl=0\nnegquery-cache-ttl=0\nzone-cache-refresh-interval=0\n"
        );
        fs::write(place.join("pdns.conf"), settings).unwrap();
        fs::write(place.join("zone"), ZONE).unwrap();
        for name in ["run", "db"] {
            fs::create_dir(place.join(name)).unwrap();
        }
        PowerDns { library, place, port }
    }

    fn settings(&self) -> String {
        format!("--config-dir={}", self.place.display())
    }

    fn start(&self) -> Server {
        let mut command = self.library.command(Way::Linked, "pdns_server");
        command.args([&self.settings(), "--daemon=no", "--guardian=no"]);
        let mut server = Server::start(&mut command, &self.place.join("log"));
        server.wait_for(|| dns::addresses(self.port, "www.example"));
        server
    }

    fn util(&self, arguments: &[&str]) -> Said {
        self.library.run(Way::Linked, "pdnsutil", &[&[self.settings().as_str()], arguments].concat())
    }

    fn addresses(&self, name: &str) -> Vec<Ipv4Addr> {
        dns::addresses(self.port, name).expect("the server answers")
    }
}

#[test]
fn pdns_server_answers_from_what_pdnsutil_stores() {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let pdns = PowerDns::new(library, place.path());
        pdns.util(&["load-zone", "example", &place.path().join("zone").display().to_string()]).well();
        pdns.util(&["secure-zone", "example"]).well();
        let server = pdns.start();
        if library == Library::Ours {
            library::assert_mapped(server.process());
        }
        for i in 0..12 {
            pdns.util(&["add-record", "example", &format!("n{i}"), "A", &format!("192.0.2.{i}")]).well();
        }
        pdns.util(&["delete-rrset", "example", "n3", "A"]).well();
        pdns.util(&["replace-rrset", "example", "n4", "A", "192.0.2.200"]).well();
        let names = ["www.example", "n0.example", "n3.example", "n4.example", "n11.example"];
        let before = names.map(|name| pdns.addresses(name));
        server.kill();

        let server = pdns.start();
        assert_eq!(names.map(|name| pdns.addresses(name)), before);
        pdns.util(&["set-meta", "example", "X-COLOUR", "red", "blue"]).well();
        server.stop();
        let listed =
            [&["list-zone", "example"][..], &["get-meta", "example"], &["list-all-zones"], &["check-zone", "example"]];
        let listed = listed.map(|arguments| pdns.util(arguments).well());
        if library == Library::Ours {
            for name in ["pdns.lmdb", "pdns.lmdb-0", "pdns.lmdb-1"].map(|name| place.path().join("db").join(name)) {
                if name.exists() {
                    library::assert_clean(&name);
                }
            }
        }
        (before, listed)
    });
    assert_eq!(stock, ours);
    assert_eq!(ours.0[2], Vec::<Ipv4Addr>::new());
    assert_eq!(ours.0[3], [Ipv4Addr::new(192, 0, 2, 200)]);
}
