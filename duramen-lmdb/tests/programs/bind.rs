//! BIND: zones that are added while `named` runs, which it keeps in LMDB.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use duramen_sim::port::free_port;

use crate::dns;
use crate::library::{self, BOTH, Library, Said, Way};
use crate::server::Server;

const ZONES: u8 = 12;

fn configuration(place: &Path, port: u16, control: u16) -> String {
    let at = place.display();
    format!(
        "key rndc-key {{ algorithm hmac-sha256; secret \"MDEyMzQ1Njc4OWFiY2RlZg==\"; }};\n\
         controls {{ inet 127.0.0.1 port {control} allow {{ 127.0.0.1; }} keys {{ rndc-key; }}; }};\n\
         options {{ directory \"{at}\"; pid-file \"{at}/pid\"; session-keyfile \"{at}/session\"; lock-file none;\n\
         managed-keys-directory \"{at}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
         recursion no; dnssec-validation no; allow-new-zones yes; lmdb-mapsize 1M; }};\n"
    )
}

struct Named<'p> {
    library: Library,
    place: &'p Path,
    port: u16,
    control: u16,
}

impl<'p> Named<'p> {
    fn new(library: Library, place: &'p Path) -> Named<'p> {
        let (port, control) = (free_port(), free_port());
        fs::write(place.join("named.conf"), configuration(place, port, control)).unwrap();
        let key = "key rndc-key { algorithm hmac-sha256; secret \"MDEyMzQ1Njc4OWFiY2RlZg==\"; };\n";
        let options =
            format!("options {{ default-key rndc-key; default-server 127.0.0.1; default-port {control}; }};\n");
        fs::write(place.join("rndc.conf"), format!("{key}{options}")).unwrap();
        for i in 0..ZONES {
            let zone =
                format!("@ 3600 SOA ns hostmaster 1 3600 600 86400 300\n@ NS ns\nns A 127.0.0.1\nwww A 192.0.2.{i}\n");
            fs::write(place.join(format!("{i}.zone")), format!("$TTL 3600\n{zone}")).unwrap();
        }
        Named { library, place, port, control }
    }

    fn start(&self) -> Server {
        let mut command = self.library.command(Way::Linked, "named");
        command.args(["-f", "-4", "-n", "1", "-L"]).arg(self.place.join("named.log"));
        command.arg("-c").arg(self.place.join("named.conf")).current_dir(self.place);
        let mut server = Server::start(&mut command, &self.place.join("log"));
        server.wait_for(|| (self.rndc(&["status"]).code == Some(0)).then_some(()));
        server
    }

    fn rndc(&self, arguments: &[&str]) -> Said {
        let (settings, port) = (self.place.join("rndc.conf").display().to_string(), self.control.to_string());
        Library::Stock.run(Way::Linked, "rndc", &[&["-c", &settings, "-p", &port], arguments].concat())
    }

    fn add(&self, i: u8) {
        let zone = format!("{{ type primary; file \"{i}.zone\"; }};");
        self.rndc(&["addzone", &format!("z{i}.example"), &zone]).well();
    }

    /// Addresses of all zones; none of those that are not there.
    fn addresses(&self) -> Vec<Option<Vec<Ipv4Addr>>> {
        (0..ZONES).map(|i| dns::addresses(self.port, &format!("www.z{i}.example"))).collect()
    }
}

#[test]
fn named_keeps_the_zones_that_were_added() {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let named = Named::new(library, place.path());
        let server = named.start();
        (0..ZONES).for_each(|i| named.add(i));
        if library == Library::Ours {
            library::assert_mapped(server.process());
        }
        named.rndc(&["delzone", "z3.example"]).well();
        let again = "{ type primary; file \"5.zone\"; };";
        named.rndc(&["modzone", "z4.example", again]).well();
        let before = named.addresses();
        server.kill();

        let server = named.start();
        let after = named.addresses();
        named.add(3);
        server.stop();
        let file = place.path().join("_default.nzd");
        let listed = library.run(Way::Linked, "named-nzd2nzf", &[&file]).well();
        if library == Library::Ours {
            library::assert_clean(&file);
        }
        (before, after, listed)
    });
    assert_eq!(stock, ours);
    assert_eq!(ours.0[3], None);
    assert_eq!(ours.1[4], Some(vec![Ipv4Addr::new(192, 0, 2, 5)]));
    assert_eq!(ours.2.lines().count(), usize::from(ZONES), "{}", ours.2);
}
