//! OpenLDAP's server with `back-mdb`, which has LMDB inside and calls it by name: ours comes before it.
//!
//! It takes no other LMDB than its own version, so ours is told to give that number.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use duramen_sim::port::{free_port, is_listened_on};

use crate::library::{self, BOTH, Library, Said, Way};
use crate::server::Server;

const ENTRIES: u32 = 2000;
/// Attributes that differ from run to run.
const VOLATILE: [&str; 5] = ["entryUUID:", "entryCSN:", "createTimestamp:", "modifyTimestamp:", "contextCSN:"];

fn configuration(place: &Path) -> String {
    let place = place.display();
    format!(
        "include /etc/ldap/schema/core.schema\n\
         include /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\n\
         modulepath /usr/lib/ldap\nmoduleload back_mdb\n\
         pidfile {place}/pid\nargsfile {place}/args\n\
         database mdb\nsuffix dc=example\nrootdn cn=admin,dc=example\nrootpw secret\n\
         directory {place}/db\nmaxsize 1073741824\n\
         index objectClass eq\nindex uid,cn,mail eq,sub\n"
    )
}

fn person(i: u32) -> String {
    format!(
        "dn: uid=u{i},ou=people,dc=example\nobjectClass: inetOrgPerson\nuid: u{i}\ncn: User {i}\nsn: Name {}\n\
         mail: u{i}@example.org\n",
        i % 50
    )
}

fn people() -> String {
    let mut text = String::from(
        "dn: dc=example\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n\n\
         dn: ou=people,dc=example\nobjectClass: organizationalUnit\nou: people\n",
    );
    (0..ENTRIES).for_each(|i| write!(text, "\n{}", person(i)).unwrap());
    text
}

struct Slapd<'p> {
    library: Library,
    place: &'p Path,
    address: String,
    port: u16,
}

impl<'p> Slapd<'p> {
    fn new(library: Library, place: &'p Path) -> Slapd<'p> {
        fs::create_dir(place.join("db")).unwrap();
        fs::write(place.join("slapd.conf"), configuration(place)).unwrap();
        fs::write(place.join("people.ldif"), people()).unwrap();
        let port = free_port();
        Slapd { library, place, address: format!("ldap://127.0.0.1:{port}"), port }
    }

    fn path(&self, name: &str) -> String {
        self.place.join(name).display().to_string()
    }

    /// Runs one of the tools that work on the files.
    fn tool(&self, program: &str, arguments: &[&str]) -> Said {
        let settings = self.path("slapd.conf");
        let arguments = [&["-f", settings.as_str()], arguments].concat();
        self.library.run_with(Way::Preloaded, program, &arguments, &[("DURAMEN_LMDB_VERSION", Path::new("0.9.29"))])
    }

    fn start(&self) -> Server {
        let mut command = self.library.command(Way::Preloaded, "slapd");
        command.env("DURAMEN_LMDB_VERSION", "0.9.29");
        command.args(["-d", "0", "-f", &self.path("slapd.conf"), "-h", &self.address]);
        let mut server = Server::start(&mut command, &self.place.join("log"));
        server.wait_for(|| is_listened_on(self.port).then_some(()));
        server
    }

    fn client(&self, program: &str, arguments: &[&str]) -> Said {
        let common = ["-x", "-H", &self.address, "-D", "cn=admin,dc=example", "-w", "secret"];
        Library::Stock.run(Way::Linked, program, &[&common, arguments].concat())
    }

    /// Applies changes in LDIF.
    fn change(&self, program: &str, ldif: &str) {
        let file = self.path("change.ldif");
        fs::write(&file, ldif).unwrap();
        self.client(program, &["-f", &file]).well();
    }

    fn search(&self, filter: &str) -> Vec<String> {
        let found =
            self.client("ldapsearch", &["-LLL", "-o", "ldif-wrap=no", "-b", "dc=example", filter, "cn", "mail"]);
        let found = found.well();
        let mut entries: Vec<String> =
            found.split("\n\n").map(str::to_string).filter(|entry| !entry.is_empty()).collect();
        entries.sort();
        entries
    }
}

fn work(slapd: &Slapd<'_>) {
    slapd.change("ldapadd", &person(ENTRIES));
    slapd.change(
        "ldapmodify",
        "dn: uid=u77,ou=people,dc=example\nchangetype: modify\nreplace: mail\nmail: changed@example.org\n\n\
         dn: uid=u78,ou=people,dc=example\nchangetype: delete\n\n\
         dn: uid=u79,ou=people,dc=example\nchangetype: modrdn\nnewrdn: uid=renamed\ndeleteoldrdn: 1\n",
    );
    let more: Vec<String> = (0..100).map(|i| person(ENTRIES + 1 + i)).collect();
    slapd.change("ldapadd", &more.join("\n"));
}

fn answers(slapd: &Slapd<'_>) -> Vec<Vec<String>> {
    ["(uid=u5)", "(cn=*ser 19*)", "(mail=changed@example.org)", "(uid=u78)", "(uid=renamed)", "(sn=Name 7)"]
        .map(|filter| slapd.search(filter))
        .into()
}

#[test]
fn slapd_loads_searches_changes_and_dumps() {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let slapd = Slapd::new(library, place.path());
        slapd.tool("slapadd", &["-l", &slapd.path("people.ldif")]).well();
        let server = slapd.start();
        if library == Library::Ours {
            library::assert_mapped(server.process());
        }
        let loaded = answers(&slapd);
        work(&slapd);
        let changed = answers(&slapd);
        server.kill();

        let server = slapd.start();
        assert_eq!(answers(&slapd), changed);
        // Another one, and the one whose name sorts last below its parent: slapd then asks a cursor that stands behind the last
        // value of a key for the key.
        for name in ["u1", "renamed"] {
            slapd.change("ldapmodify", &format!("dn: uid={name},ou=people,dc=example\nchangetype: delete\n"));
        }
        server.stop();
        let dump = slapd.tool("slapcat", &[]).well();
        slapd.tool("slapindex", &["-q", "cn"]).well();
        if library == Library::Ours {
            library::assert_clean(&place.path().join("db/data.mdb"));
        }
        let dump: Vec<&str> = dump.lines().filter(|line| !VOLATILE.iter().any(|word| line.starts_with(word))).collect();
        (loaded, changed, dump.join("\n"))
    });
    assert_eq!(stock.0, ours.0);
    assert_eq!(stock.1, ours.1);
    assert!(stock.2 == ours.2, "the dumps differ");
}
