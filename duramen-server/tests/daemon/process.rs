//! A daemon: started, waited for, asked to end, killed.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

/// Longest wait for a daemon to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The name and the password of every test daemon's administrator.
pub const ADMINISTRATOR: (&str, &str) = ("cn=admin,dc=example,dc=com", "correct horse");

/// See the head. Dropping it kills the process.
pub struct Daemon {
    child: Child,
    pub dir: TempDir,
    /// Where it listens for LDAP.
    pub ldap: SocketAddr,
    /// Where it listens for LDAP within TLS, if it does.
    pub ldaps: Option<SocketAddr>,
}

/// `duramend` with arguments.
pub fn duramend(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duramend"));
    command.args(args);
    command
}

/// What `duramend` says and ends with.
pub fn run(args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = duramend(args).output().unwrap();
    (status.code(), [stdout, stderr].map(|said| String::from_utf8(said).unwrap()).concat())
}

/// The text of a configuration for tests; `more` follows it.
pub fn configuration(more: &str) -> String {
    configuration_of(Path::new("data"), more)
}

/// As [`configuration`], with the data in this directory.
pub fn configuration_of(data: &Path, more: &str) -> String {
    let (name, password) = ADMINISTRATOR;
    format!(
        "data = {data:?}\nsuffixes = [\"dc=example,dc=com\"]\n\
         administrator = {{ name = \"{name}\", password = \"{password}\" }}\n{more}"
    )
}

/// Listeners of a plain daemon.
pub const PLAIN: &str = "[listen]\nldap = [\"127.0.0.1:0\"]\nldapi = \"ldapi\"\n";
/// Listeners of a daemon with TLS, whose certificate is that of [`certificates`].
pub const TLS: &str = "[listen]\nldap = [\"127.0.0.1:0\"]\nldaps = [\"127.0.0.1:0\"]\nldapi = \"ldapi\"\n\
    [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nclient_roots = \"root.pem\"\n";

impl Daemon {
    /// With listeners and nothing else.
    pub fn plain() -> Daemon {
        Daemon::start(tempfile::tempdir().unwrap(), PLAIN)
    }

    /// With TLS; the certificates are in its directory.
    pub fn with_tls() -> Daemon {
        let dir = tempfile::tempdir().unwrap();
        certificates(dir.path());
        Daemon::start(dir, TLS)
    }

    /// With a configuration in `dir`, and whatever data is there.
    pub fn start(dir: TempDir, more: &str) -> Daemon {
        Daemon::start_with(dir, more, &[])
    }

    /// As [`Daemon::start`], with these in its environment.
    pub fn start_with(dir: TempDir, more: &str, environment: &[(&str, &Path)]) -> Daemon {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duramend"));
        command.envs(environment.iter().copied());
        Daemon::start_by(command, dir, &configuration(more))
    }

    /// By a command that hands its arguments on to `duramend`, with this configuration in `dir`.
    pub fn start_by(mut command: Command, dir: TempDir, configuration: &str) -> Daemon {
        let path = dir.path().join("duramend.toml");
        fs::write(&path, configuration).unwrap();
        let log = File::create(dir.path().join("log")).unwrap();
        command.args(["serve", "--config", path.to_str().unwrap()]);
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut daemon = Daemon { child, dir, ldap: SocketAddr::from(([0; 4], 0)), ldaps: None };
        // The local socket is the last that it listens at.
        daemon.wait_for("listening at ldapi://");
        daemon.ldap = daemon.listens_at("ldap").expect("an address for LDAP");
        daemon.ldaps = daemon.listens_at("ldaps");
        daemon
    }

    fn listens_at(&self, scheme: &str) -> Option<SocketAddr> {
        let log = self.log();
        let (_, rest) = log.split_once(&format!("listening at {scheme}://"))?;
        rest.lines().next()?.trim().parse().ok()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    /// Waits until this is in the log.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let started = Instant::now();
        while !self.log().contains(text) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && started.elapsed() < PATIENCE, "no {text:?} ({ended:?}) in:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A file of its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The URL of its local socket.
    pub fn local_url(&self) -> String {
        format!("ldapi://{}", self.path("ldapi").display().to_string().replace('/', "%2F"))
    }

    /// How long its thread of this name has been at work so far.
    pub fn worked(&self, thread: &str) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let told = |task: &Path, what: &str| fs::read_to_string(task.join(what)).unwrap();
        let task = tasks.map(|task| task.unwrap().path()).find(|task| told(task, "comm").trim() == thread).unwrap();
        let nanoseconds = told(&task, "schedstat").split(' ').next().unwrap().parse().unwrap();
        Duration::from_nanos(nanoseconds)
    }

    /// How many threads of this name it has.
    pub fn threads(&self, name: &str) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        // One may end meanwhile.
        let called = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
        called.filter(|called| called.trim() == name).count()
    }

    /// Memory that is its own: pages of mapped files are not counted.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes_of("RssAnon:")
    }

    fn bytes_of(&self, what: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(what)).expect("a line for memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Lets it have so much more memory than it has now; any, if none is said.
    pub fn limit_memory(&self, more: Option<u64>) {
        let current = more.map(|more| self.bytes_of("VmSize:") + more);
        let pid = Pid::from_child(&self.child);
        prlimit(Some(pid), Resource::As, Rlimit { current, maximum: None }).unwrap();
    }

    /// How many files it has open.
    pub fn files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let number = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &number]).status().unwrap().success());
    }

    /// Waits until it has ended.
    pub fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "it goes on:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it without warning; its directory.
    pub fn kill(mut self) -> TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a root, a server's certificate for 127.0.0.1 and localhost, and a client's for `cn=a client`.
pub fn certificates(dir: &Path) {
    use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
    let key = KeyPair::generate().unwrap();
    let named = |name: &str| {
        let mut named = DistinguishedName::new();
        named.push(DnType::CommonName, name);
        named
    };
    let mut root = CertificateParams::new(Vec::new()).unwrap();
    root.distinguished_name = named("root of a test");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(dir.join("root.pem"), root.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(root, key);
    let mut server = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
    server.distinguished_name = named("localhost");
    let mut client = CertificateParams::new(Vec::new()).unwrap();
    client.distinguished_name = named("a client");
    for (who, parameters) in [("server", server), ("client", client)] {
        let key = KeyPair::generate().unwrap();
        fs::write(dir.join(format!("{who}.pem")), parameters.signed_by(&key, &issuer).unwrap().pem()).unwrap();
        fs::write(dir.join(format!("{who}.key")), key.serialize_pem()).unwrap();
    }
}
