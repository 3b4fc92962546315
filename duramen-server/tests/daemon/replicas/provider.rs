//! Debian's slapd as a provider, with its overlay `syncprov`.

use std::fs::{self, File};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use duramen_sim::port::free_port;
use tempfile::TempDir;

use super::configure_slapd;
use crate::process::certificates;

/// Longest wait for it to listen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A slapd with a database of its own, and ports that it has again after a restart. Dropping it kills it.
pub struct Slapd {
    child: Option<Child>,
    pub dir: TempDir,
    pub port: u16,
    pub tls_port: u16,
}

impl Slapd {
    /// With this said to its overlay, in `dir`, where a root and a server's certificate are made.
    pub fn start(more: &str) -> Slapd {
        let of_database = format!("index entryUUID,entryCSN eq\noverlay syncprov\n{more}\n");
        Slapd::start_with("moduleload syncprov\n", &of_database)
    }

    /// With more of its configuration, and more of the database's.
    pub fn start_with(global: &str, of_database: &str) -> Slapd {
        Slapd::start_at(free_port(), global, of_database)
    }

    /// As [`Slapd::start_with`], at this port.
    pub fn start_at(port: u16, global: &str, of_database: &str) -> Slapd {
        let dir = tempfile::tempdir().unwrap();
        certificates(dir.path());
        let path = |name: &str| dir.path().join(name).display().to_string();
        let global = format!(
            "{global}TLSCertificateFile {}\nTLSCertificateKeyFile {}\nTLSCACertificateFile {}\n\
             TLSVerifyClient try\n",
            path("server.pem"),
            path("server.key"),
            path("root.pem"),
        );
        configure_slapd(dir.path(), &global, of_database);
        let mut slapd = Slapd { child: None, dir, port, tls_port: free_port() };
        slapd.restart();
        slapd
    }

    /// Starts it if it is not there.
    pub fn restart(&mut self) {
        if self.child.is_some() {
            return;
        }
        let log = File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let mut command = Command::new("/usr/sbin/slapd");
        let urls = format!("ldap://127.0.0.1:{} ldaps://127.0.0.1:{}", self.port, self.tls_port);
        command.arg("-f").arg(self.dir.path().join("slapd.conf")).args(["-d", "sync", "-h", &urls]);
        self.child = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(started.elapsed() < PATIENCE, "slapd does not listen:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it without warning.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.path().join("log")).unwrap()).into_owned()
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.kill();
    }
}
