//! Debian's slapd as a consumer: it pulls a suffix from a daemon, by `syncrepl` of either type.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::configure_slapd;
use crate::clients::said;
use crate::process::ADMINISTRATOR;

/// Longest wait for a consumer to listen, or to have what the provider has.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is compared: all that replicas have in common.
const ATTRIBUTES: [&str; 9] = [
    "*",
    "structuralObjectClass",
    "entryUUID",
    "creatorsName",
    "createTimestamp",
    "entryCSN",
    "modifiersName",
    "modifyTimestamp",
    "pwdFailureTime",
];

/// A slapd with a database of its own, which it keeps when it is stopped. Dropping it kills it.
pub struct Consumer {
    child: Option<Child>,
    dir: TempDir,
}

impl Consumer {
    /// One that has yet to be started; `more` is said to `syncrepl` besides where to pull from.
    pub fn of(port: u16, kind: &str, more: &str) -> Consumer {
        let dir = tempfile::tempdir().unwrap();
        let (name, password) = ADMINISTRATOR;
        let of_database = format!(
            "index entryUUID eq\n\
             syncrepl rid=001 provider=ldap://127.0.0.1:{port} type={kind} interval=00:00:00:01 retry=\"1 +\" \
             searchbase=\"dc=example,dc=com\" bindmethod=simple binddn=\"{name}\" credentials=\"{password}\" {more}\n"
        );
        configure_slapd(dir.path(), "", &of_database);
        Consumer { child: None, dir }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    pub fn url(&self) -> String {
        format!("ldapi://{}", self.socket().to_str().unwrap().replace('/', "%2F"))
    }

    pub fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let mut command = Command::new("/usr/sbin/slapd");
        command.arg("-f").arg(self.dir.path().join("slapd.conf")).args(["-d", "sync", "-h", &self.url()]);
        let _ = fs::remove_file(self.socket());
        self.child = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let started = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            assert!(started.elapsed() < PATIENCE, "slapd does not listen:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts it if it is stopped.
    pub fn restart(&mut self) {
        if self.child.is_none() {
            self.start();
        }
    }

    /// Ends it in order.
    pub fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
        child.wait().unwrap();
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.path().join("log")).unwrap()).into_owned()
    }

    /// Waits until it has what the provider has.
    #[track_caller]
    pub fn wait_for(&self, provider: &str) {
        wait_for_same(provider, &self.url(), &|| self.log());
    }
}

/// Waits until a consumer has what a provider has; `log` is the consumer's.
#[track_caller]
pub fn wait_for_same(provider: &str, consumer: &str, log: &dyn Fn() -> String) {
    let started = Instant::now();
    loop {
        let (there, here) = (content(provider), content(consumer));
        if there == here && numbers(provider) == numbers(consumer) {
            return;
        }
        if started.elapsed() > PATIENCE {
            let log = log();
            let told = |line: &&str| !line.contains("deferring") && !line.contains("connection_read");
            let end: Vec<&str> = log.lines().rev().filter(told).take(80).collect();
            let end: Vec<&str> = end.into_iter().rev().collect();
            let differ = |one: &[String], other: &[String]| -> Vec<String> {
                one.iter().filter(|entry| !other.contains(entry)).cloned().collect()
            };
            panic!(
                "the provider alone has {:#?}, at {:?}; the consumer alone {:#?}, at {:?}; it has logged\n{}",
                differ(&there, &here),
                numbers(provider),
                differ(&here, &there),
                numbers(consumer),
                end.join("\n")
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A search by the administrator.
pub fn search(url: &str, args: &[&str]) -> Command {
    search_below(url, "dc=example,dc=com", args)
}

/// As [`search`], below another name.
pub fn search_below(url: &str, base: &str, args: &[&str]) -> Command {
    let (name, password) = ADMINISTRATOR;
    let mut command = Command::new("ldapsearch");
    command.args(["-x", "-H", url, "-D", name, "-w", password, "-LLL", "-o", "ldif_wrap=no", "-b", base]);
    command.args(args);
    command
}

/// All entries, as LDIF, each with its lines in order: servers give attributes in another one. Nothing if there is no suffix. What
/// slapd has left of an entry is shown, too (`-M`): nobody else could come to have its name.
pub fn content(url: &str) -> Vec<String> {
    let output = search(url, &["-M", "(objectClass=*)"]).args(ATTRIBUTES).output().unwrap();
    if output.status.code() == Some(32) {
        return Vec::new();
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let mut entries: Vec<String> = text
        .split("\n\n")
        .filter(|entry| !entry.trim().is_empty())
        .map(|entry| {
            let mut lines: Vec<&str> = entry.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        })
        .collect();
    entries.sort();
    entries
}

/// The number of the change that a server is as of.
pub fn number(url: &str) -> Option<String> {
    numbers(url).into_iter().next()
}

/// The numbers of the changes that a server is as of, one of each server that has made some, in their order.
pub fn numbers(url: &str) -> Vec<String> {
    let output = search(url, &["-s", "base", "contextCSN"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("contextCSN: ")).map(str::to_string).collect();
    numbers.sort_unstable();
    numbers
}

/// Makes changes, as LDIF has them; those that cannot be are passed over.
pub fn change(url: &str, ldif: &str) {
    let (name, password) = ADMINISTRATOR;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changes.ldif");
    fs::write(&path, ldif).unwrap();
    let mut command = Command::new("ldapmodify");
    command.args(["-x", "-c", "-H", url, "-D", name, "-w", password, "-f"]).arg(&path);
    let _ = command.output().unwrap();
}

/// As [`change`], of changes that all have to be.
pub fn change_all(url: &str, ldif: &str) {
    change_with(url, &[], ldif);
}

/// As [`change_all`], with the relax control.
pub fn change_relaxed(url: &str, ldif: &str) {
    change_with(url, &["-e", "relax"], ldif);
}

fn change_with(url: &str, args: &[&str], ldif: &str) {
    let (name, password) = ADMINISTRATOR;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changes.ldif");
    fs::write(&path, ldif).unwrap();
    let mut command = Command::new("ldapmodify");
    command.args(["-x", "-H", url, "-D", name, "-w", password]).args(args).arg("-f").arg(&path);
    said(&mut command, 0);
}
