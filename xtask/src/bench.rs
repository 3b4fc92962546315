//! `cargo xtask bench directory`: builds duramend as it is installed, and compares it with slapd.

use crate::command::{Result, cargo, run as finish};
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

pub fn run(arguments: &Arguments) -> Result {
    let What::Directory { arguments } = &arguments.what;
    finish(cargo().args(["build", "--release", "-p", "duramen-server", "-p", "duramen-cli"]))?;
    let mut bench = cargo();
    bench.current_dir(workspace::root().join("bench/directory"));
    bench.args(["run", "--release", "--"]).args(arguments);
    for (option, program) in [("--daemon", "duramend"), ("--tool", "duramen")] {
        bench.arg(option).arg(workspace::target().join("release").join(program));
    }
    finish(&mut bench)
}
