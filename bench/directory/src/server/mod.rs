//! The servers compared: loading data into them, starting and stopping them, what they use.

mod duramend;
mod slapd;

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

pub use duramend::Duramend;
pub use slapd::Slapd;

/// How updates are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// On the disk before they are answered.
    Durable,
    /// On the disk some time later.
    Relaxed,
}

/// A kind of server.
pub trait Server {
    fn name(&self) -> &'static str;
    /// Loads LDIF into an empty directory, as fast as the server's own tool can.
    fn load(&self, ldif: &Path, data: &Path) -> Result<()>;
    /// The command that serves in the foreground.
    fn command(&self, data: &Path, mode: Mode, address: SocketAddr) -> Result<Command>;
}

/// A server that runs; stopped when it goes out of scope.
pub struct Running {
    child: Child,
    pub address: SocketAddr,
}

/// How long a server may take until it takes connections.
const START_MAX: Duration = Duration::from_secs(60);

impl Running {
    pub fn start(server: &dyn Server, data: &Path, mode: Mode, address: SocketAddr) -> Result<Running> {
        let child =
            server.command(data, mode, address)?.spawn().with_context(|| format!("starting {}", server.name()))?;
        let mut running = Running { child, address };
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = running.child.try_wait()? {
                bail!("{} ended at once: {status}", server.name());
            }
            if begin.elapsed() > START_MAX {
                bail!("{} takes no connections", server.name());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// Time of all its processors, in user and system mode.
    pub fn cpu(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The command's name, in parentheses, may have anything in it.
        let fields = stat.rsplit_once(')').context("/proc/PID/stat")?.1.split_whitespace();
        let ticks: Vec<u64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
        Ok(Duration::from_secs_f64(ticks.iter().sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64))
    }

    /// Memory of its own, in bytes: not the mapped files.
    pub fn anonymous_memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("RssAnon")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// What the files of a directory take on the disk.
pub fn disk_bytes(data: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in std::fs::read_dir(data)? {
        let meta = entry?.metadata()?;
        bytes += if meta.is_file() { meta.blocks() * 512 } else { 0 };
    }
    Ok(bytes)
}

/// Runs a command to its end.
fn complete(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// A file beside the data.
fn beside(data: &Path, extension: &str) -> PathBuf {
    data.with_extension(extension)
}
