//! `duramen-bench`: Duramen and its peers, side by side in one run.

mod checksum;
mod child;
mod data;
mod report;
mod run;
mod stores;
mod system;
mod work;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use run::Plan;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compares embedded stores in one run, and proves that they did the same work.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure, and print one markdown table.
    Run(Run),
    /// List the stores of this build, the groups of work, and all rows.
    List,
    /// Run one job (started by `run`).
    #[command(name = child::COMMAND, hide = true)]
    Child { job: String },
}

#[derive(clap::Args)]
struct Run {
    /// Records in the file.
    #[arg(long, default_value_t = 1_000_000)]
    n: u64,
    /// Stores, separated by commas; without it, all of this build.
    #[arg(long, value_delimiter = ',', default_values_t = stores::NAMES.iter().map(|name| name.to_string()))]
    stores: Vec<String>,
    /// Groups of work, separated by commas; without it, all.
    #[arg(long, value_delimiter = ',', default_values_t = work::GROUPS.iter().map(|name| name.to_string()))]
    work: Vec<String>,
    /// Rounds over everything; the table has the medians.
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// How many times the file's records are updated to reach the steady state.
    #[arg(long, default_value_t = 10)]
    churn: u64,
    /// Directory for the stores' files, on the filesystem to be measured.
    #[arg(long)]
    dir: PathBuf,
    /// Use the loaded files of an earlier run with the same directory and number of records.
    #[arg(long)]
    reuse: bool,
    /// Accept durable rows where the flushes of the disk cannot be counted.
    #[arg(long)]
    unproven: bool,
    /// Write all figures to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write bar charts into this directory.
    #[arg(long)]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    match execute(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn execute(command: Command) -> Result<()> {
    match command {
        Command::Run(run) => measure(run),
        Command::List => {
            list();
            Ok(())
        }
        Command::Child { job } => {
            let measurements = stores::run(&serde_json::from_str(&job)?)?;
            println!("{}", serde_json::to_string(&measurements)?);
            Ok(())
        }
    }
}

fn measure(run: Run) -> Result<()> {
    let plan = Plan {
        n: run.n,
        stores: run.stores,
        groups: run.work,
        rounds: run.repeat,
        churn: run.churn,
        dir: run.dir,
        reuse: run.reuse,
        unproven: run.unproven,
    };
    let report = plan.run()?;
    print!("{}", report::table(&report));
    if let Some(path) = run.json {
        save(&path, &(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    if let Some(dir) = run.svg {
        for (name, chart) in report::charts(&report) {
            save(&dir.join(name + ".svg"), &chart)?;
        }
    }
    Ok(())
}

fn save(path: &Path, text: &str) -> Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn list() {
    println!("stores:");
    for name in stores::NAMES {
        println!("  {name} {}", stores::version(name));
    }
    println!("work: {}", work::GROUPS.join(", "));
    println!("rows:");
    for row in work::ROWS {
        println!("  {:22} {}", row.id, row.title);
    }
}
