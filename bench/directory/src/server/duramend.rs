//! duramend, as it is after installation; only what has to be said is said.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::{Mode, Server, beside, complete};
use crate::data::{ADMINISTRATOR, PASSWORD, SUFFIX};

pub struct Duramend {
    /// The program `duramend`.
    pub daemon: PathBuf,
    /// The program `duramen`.
    pub tool: PathBuf,
}

impl Server for Duramend {
    fn name(&self) -> &'static str {
        "duramend"
    }

    fn load(&self, ldif: &Path, data: &Path) -> Result<()> {
        complete(
            Command::new(&self.tool).args(["directory", "import", "--suffix", SUFFIX, "--data"]).arg(data).arg(ldif),
        )
    }

    fn command(&self, data: &Path, mode: Mode, address: SocketAddr) -> Result<Command> {
        let durability = match mode {
            Mode::Durable => "durable",
            Mode::Relaxed => "relaxed",
        };
        let text = format!(
            "data = {data:?}\nsuffixes = [\"{SUFFIX}\"]\n[listen]\nldap = [\"{address}\"]\n\
             [administrator]\nname = \"{ADMINISTRATOR}\"\npassword = \"{PASSWORD}\"\n\
             [directory]\ndurability = \"{durability}\"\n[limits]\npending = 10000\n[log]\nlevel = \"error\"\n"
        );
        let path = beside(data, "toml");
        std::fs::write(&path, text)?;
        let mut command = Command::new(&self.daemon);
        command.arg("serve").arg("--config").arg(path).stdout(Stdio::null());
        Ok(command)
    }
}
