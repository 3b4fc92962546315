//! `mdb_stat`: an environment and its tables in numbers.

use std::ffi::{CStr, CString};
use std::io::{self, BufWriter, Stdout, Write};

use duramen_lmdb::abi::{MdbStat, env as flag};

use crate::failure::{Failed, Failure, Result};
use crate::lmdb::{Env, Txn};
use crate::options::{Options, Syntax, parse};
use crate::tables;

const SYNTAX: Syntax =
    Syntax { letters: c"Vaefm:nrs:vw:", synopsis: "[-V] [-n] [-e] [-r[r]] [-f[f[f]]] [-a|-s subdb] dbpath" };

/// Runs `mdb_stat`.
pub fn run(words: &[CString]) -> Result {
    let Some(options) = parse(words, &SYNTAX)? else { return Ok(()) };
    if options.has(b'a') && options.has(b's') {
        return Err(Failure::usage(options.tool, SYNTAX.synopsis));
    }
    let mut out = BufWriter::new(io::stdout());
    let result = show(&options, &mut out);
    // What was found out before something failed is shown, as LMDB's does; nobody to read it is no failure.
    let _ = out.flush();
    result
}

type Out = BufWriter<Stdout>;

/// Prints a line. That nobody reads it is of no interest: see above.
macro_rules! say {
    ($out:expr, $($text:tt)*) => { drop(writeln!($out, $($text)*)) };
}

fn show(options: &Options<'_>, out: &mut Out) -> Result {
    let env = Env::create(4).or_failed("mdb_env_create")?;
    env.open(&options.path, options.env_flags() | flag::RDONLY, 0o664).or_failed("mdb_env_open")?;
    if options.has(b'e') {
        show_environment(&env, out)?;
    }
    if options.has(b'r') {
        show_readers(&env, options.count(b'r') > 1, out)?;
        if !(options.has(b's') || options.has(b'a') || options.has(b'f')) {
            return Ok(());
        }
    }
    let txn = env.begin(flag::RDONLY).or_failed("mdb_txn_begin")?;
    if options.has(b'f') {
        show_free(&env, &txn, options.count(b'f') > 1, out)?;
    }
    let name = options.argument(b's');
    let table = txn.open(name, 0).or_failed("mdb_open")?;
    let numbers = txn.stat(table).or_failed("mdb_stat")?;
    show_table(name.map_or(b"Main DB", CStr::to_bytes), &numbers, out);
    if options.has(b'a') {
        tables::each(&env, &txn, table, |name, table| {
            show_table(name.to_bytes(), &txn.stat(table).or_failed("mdb_stat")?, out);
            Ok(())
        })?;
    }
    Ok(())
}

fn show_environment(env: &Env, out: &mut Out) -> Result {
    let (stat, info) = (env.stat().or_failed("mdb_env_stat")?, env.info().or_failed("mdb_env_info")?);
    say!(out, "Environment Info");
    say!(out, "  Map address: (nil)");
    say!(out, "  Map size: {}", info.me_mapsize);
    say!(out, "  Page size: {}", stat.ms_psize);
    say!(out, "  Max pages: {}", info.me_mapsize / stat.ms_psize as usize);
    say!(out, "  Number of pages used: {}", info.me_last_pgno + 1);
    say!(out, "  Last transaction ID: {}", info.me_last_txnid);
    say!(out, "  Max readers: {}", info.me_maxreaders);
    say!(out, "  Number of readers used: {}", info.me_numreaders);
    Ok(())
}

fn show_readers(env: &Env, clear: bool, out: &mut Out) -> Result {
    say!(out, "Reader Table Status");
    let _ = out.write_all(&env.readers());
    if clear {
        say!(out, "  {} stale readers cleared.", env.check_readers().or_failed("mdb_reader_check")?);
        let _ = out.write_all(&env.readers());
    }
    Ok(())
}

/// There is no list of free pages here that would be a table with entries: all that can be used at once are shown as one
/// entry of it, of the newest commit.
fn show_free(env: &Env, txn: &Txn<'_>, each: bool, out: &mut Out) -> Result {
    say!(out, "Freelist Status");
    show_numbers(&txn.stat(0).or_failed("mdb_stat")?, out);
    let db = env.database().or_failed("mdb_env_info")?;
    // A writer may overtake the look at what is free; then it is worth another one.
    let stats = (0..10).find_map(|_| db.stats().ok());
    let stats = stats.ok_or(duramen_lmdb::errors::CORRUPTED).or_failed("mdb_env_info")?;
    if each && stats.free_pages > 0 {
        let (txnid, pages, span) = (stats.txnid, stats.free_pages, stats.longest_free_run);
        say!(out, "    Transaction {txnid}, {pages} pages, maxspan {span}");
    }
    say!(out, "  Free pages: {}", stats.free_pages + stats.retired_pages);
    Ok(())
}

fn show_table(name: &[u8], numbers: &MdbStat, out: &mut Out) {
    let _ = out.write_all(b"Status of ").and_then(|()| out.write_all(name));
    say!(out, "");
    show_numbers(numbers, out);
}

fn show_numbers(numbers: &MdbStat, out: &mut Out) {
    say!(out, "  Tree depth: {}", numbers.ms_depth);
    say!(out, "  Branch pages: {}", numbers.ms_branch_pages);
    say!(out, "  Leaf pages: {}", numbers.ms_leaf_pages);
    say!(out, "  Overflow pages: {}", numbers.ms_overflow_pages);
    say!(out, "  Entries: {}", numbers.ms_entries);
}
