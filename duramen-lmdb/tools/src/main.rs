//! LMDB's tools, `mdb_stat`, `mdb_copy`, `mdb_dump`, `mdb_load` and `mdb_drop`, for Duramen's files: one program, that is
//! the tool by whose name it is called.
//!
//! Owns: which tool runs, the exit code. Must not know: what a tool does. All tools work through the C interface's
//! functions, so that they see a file as a program built for LMDB sees it.
//!
//! | module | owns |
//! |---|---|
//! | `stat`, `copy`, `dump`, `load`, `drop` | a tool each: its options, what it prints |
//! | `storing` | how `load` stores entries |
//! | `append` | the order of entries that come in one of a program's own |
//! | `tables` | which tables there are |
//! | `options` | reading a command line as LMDB's tools do |
//! | `failure` | what goes wrong, and how it is said |
//! | `lmdb` | the C interface as safe types |

mod append;
mod copy;
mod drop;
mod dump;
mod failure;
mod lmdb;
mod load;
mod options;
mod stat;
mod storing;
mod tables;

use std::ffi::CString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use crate::failure::Result;

const HELP: &str = "\
LMDB's tools for Duramen's files, in one program that goes by its name.

Call it by one of these names, by way of a link to it:
  mdb_stat   show the status of an environment
  mdb_copy   copy an environment
  mdb_dump   write its tables as text
  mdb_load   load such text
  mdb_drop   empty a table, or delete it
or say which one: mdb_tools stat [OPTION]... PATH

Options and output are those of LMDB's tools: see mdb_tools(1).
";

/// A tool takes the command line, the name that it goes by first.
type Tool = fn(&[CString]) -> Result;

fn tool_named(name: &str) -> Option<Tool> {
    match name {
        "stat" => Some(stat::run),
        "copy" => Some(copy::run),
        "dump" => Some(dump::run),
        "load" => Some(load::run),
        "drop" => Some(drop::run),
        _ => None,
    }
}

/// The tool that the command line asks for, and its own command line.
fn choose(mut words: Vec<CString>) -> Option<(Tool, Vec<CString>)> {
    let called = words.first()?.to_string_lossy().into_owned();
    let name = called.rsplit('/').next().unwrap_or_default();
    if let Some(tool) = name.strip_prefix("mdb_").and_then(tool_named) {
        return Some((tool, words));
    }
    let chosen = words.get(1)?.to_string_lossy().into_owned();
    let tool = tool_named(chosen.strip_prefix("mdb_").unwrap_or(&chosen))?;
    words.remove(0);
    words[0] = CString::new(format!("mdb_{}", chosen.trim_start_matches("mdb_"))).ok()?;
    Some((tool, words))
}

fn main() -> ExitCode {
    let words: Vec<CString> = std::env::args_os().filter_map(|word| CString::new(word.into_vec()).ok()).collect();
    let asks_for_help = words.get(1).is_some_and(|word| matches!(word.to_bytes(), b"-h" | b"--help" | b"help"));
    let Some((tool, words)) = choose(words) else {
        // If nobody can read it, the exit code still tells.
        let _ = if asks_for_help {
            std::io::stdout().write_all(HELP.as_bytes())
        } else {
            std::io::stderr().write_all(HELP.as_bytes())
        };
        return if asks_for_help { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    match tool(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = std::io::stderr().write_all(failure.text());
            ExitCode::FAILURE
        }
    }
}
