//! `cargo xtask bench directory`: builds duramend as it is installed, and compares it with slapd.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::workspace;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Compares duramend with Debian's slapd: rates, and the server's CPU time for each operation
    Directory {
        /// Arguments of the benchmark: --people, --rows, --seconds, --json...; all of them: `-- --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let What::Directory { arguments } = &arguments.what;
    let root = workspace::root();
    let mut build = cargo(root);
    build.args(["build", "--release", "-p", "duramen-server", "-p", "duramen-cli"]);
    let mut bench = cargo(&root.join("bench/directory"));
    bench.args(["run", "--release", "--"]).args(arguments);
    for (option, program) in [("--daemon", "duramend"), ("--tool", "duramen")] {
        bench.arg(option).arg(workspace::target().join("release").join(program));
    }
    let done = [build, bench].into_iter().all(|mut command| command.status().is_ok_and(|status| status.success()));
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cargo(directory: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(directory);
    command
}
