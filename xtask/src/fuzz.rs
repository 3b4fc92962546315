//! `cargo xtask fuzz`: the fuzz targets, one after the other, for as long as asked for.
//!
//! Owns: the options that libFuzzer is run with, the directories, progress. The kept inputs (`fuzz/corpus`) are only
//! read, unless told to keep more; what a run finds on its way lies in the target directory.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use duramen_sim::hostile::{VISITS, seeds};
use indicatif::ProgressBar;

use crate::command::{Result, cargo, nightly_cargo, run_quietly};
use crate::workspace;

/// Bytes of kept inputs, for each target.
const KEPT_BYTES_MAX: u64 = 240 << 10;

/// What `--help` says.
pub const HELP: &str = "\
Feeds damaged files to the engine, guided by what they reach in it (libFuzzer, by cargo-fuzz and the nightly compiler).

Two targets for files: `recipe` alters whole databases by steps of eight bytes, so that small inputs go far; `file` takes whole \
files. Either gives the result right checksums again if the input says so. Each execution opens one file and uses it in \
one of ten ways: reads it, checks it, or reads and changes it. An error or any answer will do; a panic, a signal, a \
hang of ten seconds or two gigabytes of memory is a finding. It is left in fuzz/artifacts and stops the run.

  cargo xtask fuzz --seconds 600              ten minutes of each target
  cargo xtask fuzz --runs 5000000             five million executions of each
  cargo xtask fuzz --targets recipe --keep    a minute of one; what it found goes to fuzz/corpus
  cargo +nightly fuzz run recipe ARTIFACT     one input again

A target for `duramen load`: `lmdb_file` reads data files of LMDB's.

Eight targets for LDAP: `message`, `filter`, `dn`, `ldif`, `schema`, `certificate`, `value` and `url` give their input to a parser of duramen-ldap. What is \
accepted has to come back from what it is written as.

  cargo xtask fuzz --targets message,filter,dn,ldif,schema,certificate,value,url

The kept inputs are also run by the tests of duramen-sim and duramen-ldap.";

#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds for each target, at most
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Executions of each target; the seconds do not count then
    #[arg(long)]
    runs: Option<u64>,
    /// The targets: small recipes of mutations and whole files; for LDAP see above
    #[arg(long, value_delimiter = ',', default_values_t = ["recipe".to_string(), "file".to_string()])]
    targets: Vec<String>,
    /// Sanitizer: `none` is twice as fast, `address` also notices wrong accesses that do not crash
    #[arg(long, default_value = "none", value_parser = ["none", "address"])]
    sanitizer: String,
    /// Add a minimal set of what was found to the kept inputs
    #[arg(long)]
    keep: bool,
}

pub fn run(arguments: &Arguments) -> Result {
    run_quietly(cargo().args(["fuzz", "--version"]))
        .map_err(|why| format!("{why} (is it there? cargo install cargo-fuzz)"))?;
    arguments.targets.iter().try_for_each(|target| fuzz(arguments, target))
}

/// Where inputs are gathered from one run to the next.
fn gathered(target: &str) -> PathBuf {
    workspace::target().join("fuzz-inputs").join(target)
}

fn kept(target: &str) -> PathBuf {
    workspace::root().join("fuzz/corpus").join(target)
}

fn fuzz(arguments: &Arguments, target: &str) -> Result {
    let gathered = gathered(target);
    for directory in [&gathered, &kept(target)] {
        std::fs::create_dir_all(directory).map_err(|e| format!("cannot make {}: {e}", directory.display()))?;
    }
    if target == "file" {
        plant(&gathered).map_err(|e| format!("cannot write the first files: {e}"))?;
    }
    let limit = match arguments.runs {
        Some(runs) => format!("-runs={runs}"),
        None => format!("-max_total_time={}", arguments.seconds),
    };
    let mut command = cargo_fuzz(arguments, target);
    command.args([&gathered, &kept(target)]).arg("--").arg(limit).args(LIMITS).arg(longest(target));
    watch(target, &mut command, arguments.runs)?;
    if arguments.keep { keep(arguments, target) } else { Ok(()) }
}

/// What is a finding beside a crash.
const LIMITS: [&str; 3] = ["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"];

fn longest(target: &str) -> &'static str {
    match target {
        "file" => "-max_len=50000",
        "lmdb_file" => "-max_len=90000",
        _ => "-max_len=530",
    }
}

/// Comparisons are not traced: that costs more than half of the time, and checksums are made right by other means.
fn cargo_fuzz(arguments: &Arguments, target: &str) -> Command {
    let mut command = nightly_cargo();
    command.args(["fuzz", "run", "--fuzz-dir", "fuzz", "--no-trace-compares"]);
    command.args(["--sanitizer", &arguments.sanitizer, target]);
    command
}

/// Whole files of few pages to begin with, to be visited in every way.
fn plant(directory: &Path) -> std::io::Result<()> {
    for (i, seed) in [seeds::small(), seeds::unproven()].into_iter().enumerate() {
        for kind in 0..VISITS {
            let mut input = seed.clone();
            input.push(kind << 2 | 3);
            std::fs::write(directory.join(format!("seed-{i}-{kind}")), input)?;
        }
    }
    Ok(())
}

/// Without a terminal for a progress bar, a line is written as often.
const TOLD_EVERY: Duration = Duration::from_secs(30);

/// Runs libFuzzer and shows what it says in one line.
fn watch(target: &str, command: &mut Command, runs: Option<u64>) -> Result {
    let cannot = |e: std::io::Error| format!("cargo fuzz cannot be run: {e}");
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(cannot)?;
    let bar = runs.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.set_style(crate::style("executions"));
    let (mut last, mut told) = (VecDeque::new(), Instant::now());
    let lines = child.stderr.take().map(BufReader::new);
    for line in lines.into_iter().flat_map(|lines| lines.split(b'\n')).map_while(std::result::Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        if let Some((executions, state)) = progress(&line) {
            bar.set_position(executions);
            bar.set_message(format!("{target}: {state}"));
            if bar.is_hidden() && told.elapsed() > TOLD_EVERY {
                eprintln!("{target}: {executions} executions, {state}");
                told = Instant::now();
            }
        } else {
            if line.contains("Compiling") || line.starts_with("stat::") {
                bar.suspend(|| eprintln!("{line}"));
            }
            last.push_back(line);
            last.drain(..last.len().saturating_sub(80));
        }
    }
    bar.finish_and_clear();
    if child.wait().map_err(cannot)?.success() {
        return Ok(());
    }
    if last.iter().any(|line| line.contains("run interrupted")) {
        return Err(format!("interrupted; the target {target} had no finding until then"));
    }
    let mut out = std::io::stderr().lock();
    last.iter().for_each(|line| drop(writeln!(out, "{line}")));
    Err(format!("the target {target} has a finding; run it again: cargo +nightly fuzz run {target} ARTIFACT"))
}

/// Executions and state of a line like `#4096 NEW cov: 100 ft: 200 corp: 10/1Kb ...`.
fn progress(line: &str) -> Option<(u64, String)> {
    let (number, rest) = line.strip_prefix('#')?.split_once(|c: char| !c.is_ascii_digit())?;
    let state = rest.find("cov:").map_or("", |at| &rest[at..]);
    let state: Vec<&str> = state.split_whitespace().take(6).collect();
    Some((number.parse().ok()?, state.join(" ")))
}

/// Adds to the kept inputs those that reach something new, the smallest of them as far as there is room.
fn keep(arguments: &Arguments, target: &str) -> Result {
    let mut command = cargo_fuzz(arguments, target);
    // One input for each place in the code: how often it was passed does not count.
    let options = ["--", "-merge=1", "-use_counters=0", longest(target)];
    command.args([kept(target), gathered(target)]).args(options);
    watch(target, &mut command, None)?;
    let bytes = prune(&kept(target)).map_err(|e| format!("cannot prune the kept inputs: {e}"))?;
    println!("{bytes} bytes of inputs for {target} are kept");
    Ok(())
}

/// Removes the largest files of a directory until the others are small enough together. What once was a finding stays.
fn prune(directory: &Path) -> std::io::Result<u64> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("finding") {
            continue;
        }
        files.push((entry.metadata()?.len(), entry.path()));
    }
    files.sort();
    let mut bytes = 0;
    for (len, path) in files {
        if bytes + len > KEPT_BYTES_MAX {
            std::fs::remove_file(path)?;
        } else {
            bytes += len;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_from_the_lines_of_libfuzzer() {
        let line = "#4096\tREDUCE cov: 5265 ft: 18243 corp: 1688/31Kb lim: 68 exec/s: 1662 rss: 38Mb";
        assert_eq!(progress(line), Some((4096, "cov: 5265 ft: 18243 corp: 1688/31Kb".to_string())));
        assert_eq!(progress("    #4 0x55 in main"), None);
        assert_eq!(progress("stat::peak_rss_mb: 33"), None);
    }
}
