//! `cargo xtask crash`: workloads and their crash images, as many as asked for; on the simulated disk, or recorded from the
//! system itself.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use duramen_sim::crash::{self, Tally};
use duramen_sim::disk::Event;
use duramen_sim::recording;
use indicatif::ProgressBar;

use crate::command::{self, Result};

#[derive(clap::Args)]
pub struct Arguments {
    /// Images to judge in all
    #[arg(long, default_value_t = 100_000)]
    images: u64,
    /// Seed of the first workload; the others follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Images of one workload, and of the creation of a file with each page size, about
    #[arg(long, default_value_t = 250)]
    each: u64,
    /// Judge this workload only (what a finding names)
    #[arg(long)]
    workload: Option<u64>,
    /// Go on after a finding, up to this many
    #[arg(long, default_value_t = 1)]
    findings: u32,
    /// Instead, record what so many workloads ask of the system itself (with strace), and judge images of that
    #[arg(long)]
    recorded: Option<u64>,
    /// Do the workload of this seed, to be recorded
    #[arg(long, hide = true)]
    live: Option<u64>,
}

pub fn run(arguments: &Arguments) -> Result {
    if let Some(seed) = arguments.workload {
        return one(seed, arguments.each);
    }
    if let Some(seed) = arguments.live {
        return crash::live(seed, Box::new(recording::say));
    }
    if let Some(workloads) = arguments.recorded {
        return recorded(arguments, workloads);
    }
    let bar = ProgressBar::new(arguments.images);
    bar.set_style(crate::style("images"));
    let (mut tally, mut findings, started) = (Tally::default(), 0, Instant::now());
    let (mut seed, mut told) = (arguments.seed, 0);
    match crash::creations(seed, arguments.each) {
        Ok(created) => {
            println!("{} images of files being created", created.images);
            tally.add(created);
        }
        Err(finding) => {
            findings += 1;
            eprintln!("FINDING in a creation: {finding}");
        }
    }
    while tally.images < arguments.images && findings < arguments.findings {
        bar.set_message(format!("workload {seed}"));
        match crash::workload(seed, arguments.each) {
            Ok(more) => tally.add(more),
            Err(finding) => {
                findings += 1;
                bar.suspend(|| eprintln!("FINDING in workload {seed}: {finding}"));
            }
        }
        bar.set_position(tally.images);
        let tenth = (tally.images * 10 / arguments.images.max(1)).min(10);
        if bar.is_hidden() && tenth > told {
            told = tenth;
            println!("{} of {} images in {:.0?}", tally.images, arguments.images, started.elapsed());
        }
        seed += 1;
    }
    bar.finish_and_clear();
    say(tally, findings, started);
    if findings == 0 { Ok(()) } else { Err("there are findings".to_string()) }
}

fn one(seed: u64, each: u64) -> Result {
    let started = Instant::now();
    let tally = crash::workload(seed, each).map_err(|finding| format!("FINDING in workload {seed}: {finding}"))?;
    say(tally, 0, started);
    Ok(())
}

/// Workloads in processes of their own, with strace looking on.
fn recorded(arguments: &Arguments, workloads: u64) -> Result {
    let (mut tally, mut findings, started) = (Tally::default(), 0, Instant::now());
    let directory = command::temporary()?;
    let bar = ProgressBar::new(workloads);
    bar.set_style(crate::style("workloads"));
    for seed in arguments.seed..arguments.seed + workloads {
        let events = record(seed, directory.path())?;
        match crash::recorded(seed, &events, arguments.each) {
            Ok(more) => tally.add(more),
            Err(finding) => {
                findings += 1;
                bar.suspend(|| eprintln!("FINDING in workload {seed}: {finding}"));
            }
        }
        bar.inc(1);
        if findings >= arguments.findings {
            break;
        }
    }
    bar.finish_and_clear();
    say(tally, findings, started);
    if findings == 0 { Ok(()) } else { Err("there are findings".to_string()) }
}

fn record(seed: u64, directory: &Path) -> Result<Vec<Event>> {
    let trace = directory.join("trace");
    let this = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
    let mut strace = Command::new("strace");
    strace.args(recording::OPTIONS).arg("-o").arg(&trace).arg(this).args(["crash", "--live", &seed.to_string()]);
    command::run_quietly(strace.env("TMPDIR", directory))?;
    let file = File::open(&trace).map_err(|e| format!("{}: {e}", trace.display()))?;
    recording::read(BufReader::new(file))
}

fn say(tally: Tally, findings: u32, started: Instant) {
    println!(
        "{} images of {} workloads in {:.1?}: {} held the newest state possible, {} the oldest; {findings} findings",
        tally.images,
        tally.workloads,
        started.elapsed(),
        tally.newest,
        tally.oldest,
    );
    let [durable, relaxed, mixed] = tally.modes;
    println!("by durability of the commits: {durable} all durable, {relaxed} all relaxed, {mixed} some of each");
    println!("{} calls to the disk failed, or found it full from then on", tally.faults);
}
