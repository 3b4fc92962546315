//! `duramen completions`: a script that teaches a shell the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::Result;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  duramen completions bash > /etc/bash_completion.d/duramen
  duramen completions zsh > ~/.zfunc/_duramen
  duramen completions fish > ~/.config/fish/completions/duramen.fish";

/// Arguments of `duramen completions`.
#[derive(clap::Args)]
#[command(about = "Print a completion script for a shell", after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs `duramen completions`.
pub fn run(args: &Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::options::Cli::command(), "duramen", &mut script);
    let mut out = Output::stdout();
    std::io::Write::write_all(&mut out, &script)?;
    out.finish()
}
