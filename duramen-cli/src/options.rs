//! The command line: every command by name, and the page of help that `duramen --help` prints.
//!
//! Owns: the list of commands and the text around it. Each command's own arguments stand in its own file.

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  duramen put people.dm people bjensen Barbara          store an entry
  duramen get people.dm people bjensen                  print its value
  duramen scan people.dm people --prefix bj --limit 10  ten that begin with bj
  duramen ls people.dm                                  list the tables
  duramen stat people.dm                                pages, space, readers
  duramen check people.dm                               verify every page
  duramen copy people.dm backup.dm                      back it up while in use

  duramen load new.dm old-lmdb-dir                      LMDB to Duramen
  duramen dump -a new.dm | /usr/bin/mdb_load lmdb-dir   and back, by LMDB's own

  duramen scan --json people.dm people | jq .value      one JSON object a line

Exit codes:
    0  done, found, clean
    1  the answer is no: not found, nothing to delete, there already; or a check found something
    2  it did not work (the message says why), or wrong usage
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP); what only reads may end by the signal itself
  141  whoever read the output went away (as `| head` does)

The table named '' is the main table: it holds the records of all others, and rarely entries of its own.";

/// Look into Duramen databases, fill them, check them, copy them, and move them from and to LMDB.
#[derive(Parser)]
#[command(name = "duramen", version, after_help = EXAMPLES, max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// Show no progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands; what each is for stands with its arguments.
#[derive(Subcommand)]
pub enum Command {
    Stat(crate::stat::Args),
    Ls(crate::ls::Args),
    Get(crate::get::Args),
    Put(crate::put::Args),
    Del(crate::del::Args),
    Scan(crate::scan::Args),
    Check(crate::check::Args),
    Readers(crate::readers::Args),
    Copy(crate::copy::Args),
    Dump(crate::dump::Args),
    Load(crate::load::Args),
    Acl(crate::acl::Args),
    Directory(crate::directory::Args),
    Bench(crate::bench::Args),
    Completions(crate::completions::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
