//! Both servers, with the same schema, the same administrator and the same access rules, each with a directory of its own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use duramen_sim::port::{free_port, is_listened_on};
use tempfile::TempDir;

use crate::families::{self, FAMILY};
use crate::kinds::{self, KINDS};

pub const SUFFIX: &str = "dc=example,dc=com";
pub const ADMINISTRATOR: &str = "cn=admin,dc=example,dc=com";
pub const PASSWORD: &str = "secret";

/// What the schema has in both besides what is built in.
const RULES: &str = "ditcontentrule ( 2.5.6.3 NAME 'placeContent' AUX ( extensibleObject $ uidObject )\n\
    \tMUST l MAY mail NOT street )\n\
    attributetype ( 1.3.6.1.4.1.99999.7.1 NAME 'issuedList' EQUALITY certificateListExactMatch\n\
    \tSYNTAX 1.3.6.1.4.1.1466.115.121.1.9 )\n";

/// Names of users that are no names of entries, and what they stand for.
const USERS: &str = "^uid=([^,]+),cn=auth$";
const PEOPLE: &str = "uid=$1,ou=people,dc=example,dc=com";

/// Longest wait for a server to listen.
const PATIENCE: Duration = Duration::from_secs(60);

const STARTS_MAX: usize = 3;

/// A server of either kind; dropping it kills it.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    _dir: TempDir,
}

pub struct Slapd;
pub struct Duramend;

/// All that the schema has in both besides what is built in.
fn schema() -> String {
    format!("{RULES}{}{}", kinds::schema(), families::SCHEMA)
}

fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}

/// Starts a server and waits until it answers; nothing if it ends before.
fn start(mut command: Command, address: SocketAddr, dir: TempDir) -> Option<Server> {
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut server = Server { child, address, _dir: dir };
    let begin = Instant::now();
    while !(is_listened_on(address.port()) && answers(address).is_ok()) {
        if server.child.try_wait().unwrap().is_some() {
            return None;
        }
        assert!(begin.elapsed() < PATIENCE, "{command:?} does not answer");
        std::thread::sleep(Duration::from_millis(10));
    }
    Some(server)
}

/// Binds as nobody, and reads the answer.
fn answers(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00")?;
    stream.read_exact(&mut [0; 14])
}

impl Slapd {
    /// It was seen to be gone, without a word, between its first moment of listening and the first bind.
    pub fn start(rules: &str, policy: &str, more: &str) -> Server {
        let started = (0..STARTS_MAX).find_map(|_| Slapd::try_start(rules, policy, more));
        started.unwrap_or_else(|| panic!("slapd ended {STARTS_MAX} times while it started"))
    }

    fn try_start(rules: &str, policy: &str, more: &str) -> Option<Server> {
        let dir = tempfile::tempdir().unwrap();
        // It brings `memberOf` with it, which slapd has not by itself.
        let dynamic: &[&str] = if more.contains("overlay dynlist") { &["dynlist"] } else { &[] };
        let schemas = ["core", "cosine", "inetorgperson", "nis", "dyngroup"];
        let includes: String = schemas.iter().map(|name| format!("include /etc/ldap/schema/{name}.schema\n")).collect();
        let own = dir.path().join("rules.schema");
        std::fs::write(&own, schema()).unwrap();
        let includes = format!("{includes}include {}\n", own.display());
        let modules = ["back_mdb", "sssvlv", "ppolicy", "pw-sha2", "pw-pbkdf2", "argon2", "deref", "constraint"];
        let monitor: &[&str] = if more.contains("database monitor") { &["back_monitor"] } else { &[] };
        let loads: String =
            modules.iter().chain(dynamic).chain(monitor).map(|name| format!("moduleload {name}\n")).collect();
        let text = format!(
            "{includes}modulepath /usr/lib/ldap\n{loads}threads 2\nauthz-policy {policy}\n\
             authz-regexp {USERS} {PEOPLE}\ndatabase mdb\nsuffix {SUFFIX}\n\
             rootdn {ADMINISTRATOR}\nrootpw {PASSWORD}\ndirectory {}\ndbnosync\nmaxsize 16777216\n\
             index objectClass,uid eq\nindex cn,sn eq,sub\n{rules}\noverlay deref\noverlay sssvlv\nsssvlv-max 8\n{more}",
            dir.path().display()
        );
        let conf = dir.path().join("slapd.conf");
        std::fs::write(&conf, text).unwrap();
        let address = free_address();
        let mut command = Command::new("/usr/sbin/slapd");
        command.arg("-f").arg(conf).args(["-d", "0", "-h", &format!("ldap://{address}/")]);
        start(command, address, dir)
    }
}

/// Indices of every kind that the test's own attributes can have.
fn indices() -> String {
    let kinds = KINDS.iter().chain(&FAMILY).map(|kind| {
        let (equality, substring) = (!kind.equality.is_empty(), !kind.substrings.is_empty());
        let more = [("equality", equality), ("substring", substring)].into_iter().filter(|(_, has)| *has);
        let more: String = more.map(|(word, _)| format!(", \"{word}\"")).collect();
        format!("[[index]]\nattribute = \"{}\"\nkinds = [\"presence\"{more}]\n", kind.name)
    });
    kinds.collect()
}

impl Duramend {
    /// `indexed`: with indices of the test's own attributes, in place of those that are there by default.
    pub fn start(rules: &str, policy: &str, indexed: bool, more: &str) -> Server {
        let (dir, address) = (tempfile::tempdir().unwrap(), free_address());
        let access = if rules.is_empty() { String::new() } else { format!("[access]\nrules = '''\n{rules}'''\n") };
        let text = format!(
            "data = \"data\"\nsuffixes = [\"{SUFFIX}\"]\n\
             administrator = {{ name = \"{ADMINISTRATOR}\", password = \"{PASSWORD}\" }}\n\
             [listen]\nldap = [\"{address}\"]\nldapi = \"ldapi\"\n\
             [directory]\nschema = [\"rules.schema\"]\ndurability = \"relaxed\"\npassword_scheme = \"SSHA\"\n\
             authz_policy = \"{policy}\"\n[[identity]]\nmatch = '{USERS}'\nname = '{PEOPLE}'\n\
             {access}{more}{}",
            if indexed { indices() } else { String::new() }
        );
        std::fs::write(dir.path().join("rules.schema"), schema()).unwrap();
        let path = dir.path().join("duramend.toml");
        std::fs::write(&path, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_duramend"));
        command.arg("serve").arg("--config").arg(path);
        start(command, address, dir).expect("duramend does not end while it starts")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
