//! Copies that are kept up to date (RFC 4533): by Debian's slapd, by python-ldap, by what `ldapsearch` shows; and by a daemon, of
//! what slapd or another daemon has.

mod clients;
mod consumer;
mod copy;
mod cuts;
mod line;
mod members;
mod mirror;
mod provider;
mod several;
mod shown;
mod slapd;
mod suffixes;

use std::fs;
use std::path::Path;

use duramen_sim::port::free_port;
use tempfile::TempDir;

use crate::process::{ADMINISTRATOR, Daemon};

pub use consumer::{change_all, search};
pub use provider::Slapd;

/// A daemon that keeps what changes, at a port that it has again after a restart.
pub struct Provider {
    pub daemon: Daemon,
    pub port: u16,
    more: String,
}

pub const TOP: &str = "dn: dc=example,dc=com\nchangetype: add\nobjectClass: dcObject\nobjectClass: organization\ndc: example\n\
    o: Example\n\ndn: ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\nou: people\n\n";

/// A person to be added.
pub fn person(name: &str) -> String {
    let (rdn, _) = name.split_once(',').unwrap();
    let (_, uid) = rdn.split_once('=').unwrap();
    format!("dn: {name}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: Name of {uid}\nsn: S\n\n")
}

/// Writes the configuration of a slapd (`slapd.conf`) that has its database in `db` there: with more for all of it, and more of
/// the database.
fn configure_slapd(dir: &Path, global: &str, of_database: &str) {
    fs::create_dir(dir.join("db")).unwrap();
    let schemas = ["core", "cosine", "inetorgperson"];
    let schemas: String = schemas.iter().map(|name| format!("include /etc/ldap/schema/{name}.schema\n")).collect();
    let (name, password) = ADMINISTRATOR;
    let (pid, db) = (dir.join("pid"), dir.join("db"));
    let text = format!(
        "{schemas}modulepath /usr/lib/ldap\nmoduleload back_mdb\npidfile {}\n{global}database mdb\n\
         suffix dc=example,dc=com\ndirectory {}\nrootdn \"{name}\"\nrootpw \"{password}\"\n{of_database}",
        pid.display(),
        db.display(),
    );
    fs::write(dir.join("slapd.conf"), text).unwrap();
}

impl Provider {
    /// With this in its section `[sync]`, and behind it.
    pub fn start(more: &str) -> Provider {
        Provider::start_at(tempfile::tempdir().unwrap(), free_port(), more)
    }

    pub fn start_at(dir: TempDir, port: u16, more: &str) -> Provider {
        let listen = format!("[listen]\nldap = [\"127.0.0.1:{port}\"]\nldapi = \"ldapi\"\n[sync]\n{more}");
        Provider { daemon: Daemon::start(dir, &listen), port, more: more.to_string() }
    }

    /// Kills it, and starts it again with the same data.
    pub fn killed(self) -> Provider {
        let (port, more) = (self.port, self.more);
        Provider::start_at(self.daemon.kill(), port, &more)
    }

    pub fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }
}
