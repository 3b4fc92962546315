//! Knot Resolver: a cache in LMDB that several resolvers and a collector of garbage write at once.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use duramen_sim::port::free_port;

use crate::dns;
use crate::library::{self, BOTH, Library, Way};
use crate::server::Server;

const NAMES: u16 = 300;

fn name(i: u16) -> String {
    format!("n{i}.example.com")
}

/// Starts a server that knows all names.
fn authority(place: &Path) -> (Server, u16) {
    let (port, at) = (free_port(), place.display());
    let mut zone = String::from("$ORIGIN example.com.\n@ 3600 SOA ns hostmaster 1 3600 600 86400 300\n@ 3600 NS ns\n");
    for i in 0..NAMES {
        writeln!(zone, "n{i} 86400 A 192.0.2.{}", i % 250).unwrap();
    }
    fs::write(place.join("example.com.zone"), zone).unwrap();
    let settings = format!(
        "server:\n    rundir: {at}\n    listen: 127.0.0.1@{port}\ndatabase:\n    storage: {at}/knot\n\
         zone:\n  - domain: example.com.\n    storage: {at}\n    zonefile-sync: -1\n"
    );
    fs::write(place.join("knot.conf"), settings).unwrap();
    let mut command = Library::Stock.command(Way::Linked, "knotd");
    let mut server = Server::start(command.arg("-c").arg(place.join("knot.conf")), &place.join("log"));
    server.wait_for(|| dns::addresses(port, &name(0)));
    (server, port)
}

/// Starts a resolver that shares the cache with others, and asks nobody but the server at that port.
fn resolver(library: Library, place: &Path, authority: u16) -> (Server, u16) {
    let (port, at) = (free_port(), place.display());
    let settings = format!(
        "net.listen('127.0.0.1', {port}, {{kind = 'dns'}})\n\
         cache.open(10*MB, 'lmdb://{at}/cache')\n\
         trust_anchors.remove('.')\n\
         for _, name in ipairs({{'ta_update', 'ta_signal_query', 'priming', 'detect_time_skew', 'detect_time_jump'}}) do\n\
         modules.unload(name)\nend\n\
         policy.add(policy.all(policy.STUB('127.0.0.1@{authority}')))\n"
    );
    let settings_file = place.join(format!("{port}.conf"));
    fs::write(&settings_file, settings).unwrap();
    let mut command = library.command(Way::Linked, "kresd");
    command.args(["-n", "-q", "-c"]).arg(&settings_file).arg(place);
    let mut server = Server::start(&mut command, &place.join("log"));
    server.wait_for(|| dns::addresses(port, &name(0)));
    (server, port)
}

fn ask(port: u16, names: std::ops::Range<u16>) -> Vec<Option<Vec<Ipv4Addr>>> {
    names.map(|i| dns::addresses(port, &name(i))).collect()
}

#[test]
fn resolvers_share_a_cache_that_outlives_them() {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let place = place.path();
        let (server, from) = authority(place);
        let (first, one) = resolver(library, place, from);
        let (second, two) = resolver(library, place, from);
        if library == Library::Ours {
            library::assert_mapped(first.process());
        }
        // One is killed while both fill the cache.
        let asked = std::thread::spawn(move || ask(one, 0..NAMES / 2));
        ask(two, NAMES / 2..NAMES / 2 + 20);
        second.kill();
        let asked = asked.join().unwrap();
        let (second, two) = resolver(library, place, from);
        ask(two, NAMES / 2..NAMES);
        server.kill();
        first.kill();

        // Nobody is left who knows, but the cache.
        let (first, one) = resolver(library, place, from);
        let cached = [ask(one, 0..NAMES), ask(two, 0..NAMES)];
        let cache = place.join("cache").display().to_string();
        let collected = library.run(Way::Linked, "kres-cache-gc", &["-c", &cache, "-d", "0", "-u", "0", "-f", "50"]);
        assert!(collected.well().contains("records to be deleted"));
        first.stop();
        second.stop();
        if library == Library::Ours {
            library::assert_clean(&place.join("cache/data.mdb"));
        }
        (asked, cached)
    });
    assert_eq!(stock, ours);
    assert!(ours.1.iter().flatten().all(|found| found.as_ref().is_some_and(|found| found.len() == 1)), "{ours:?}");
}
