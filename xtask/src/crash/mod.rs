//! `cargo xtask crash`: workloads and their crash images, as many as asked for; on the simulated disk, recorded from the system
//! itself, or on a filesystem whose disk loses its power. And crowds of processes that are killed.

mod device;
mod powered;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use duramen_sim::crash::{self, Tally};
use duramen_sim::crowd::{Member, Plan, Toll};
use duramen_sim::disk::{Event, Listener};
use duramen_sim::recording;
use indicatif::ProgressBar;

use self::powered::{Filesystem, Marks, Place};
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
    /// Instead, record what so many workloads ask of the system itself (with strace), and judge images of that. Every second
    /// one is of several processes and threads, some of which are killed
    #[arg(long)]
    recorded: Option<u64>,
    /// Instead, have so many crowds of processes work on one file each, and kill some of them at any time
    #[arg(long)]
    killed: Option<u64>,
    /// Instead, have crowds of processes work on this filesystem, whose disk loses its power as many times as images are wanted
    #[arg(long)]
    filesystem: Option<Filesystem>,
    /// Judge this recording once more (which a finding leaves), of the workload with the seed
    #[arg(long)]
    recording: Option<PathBuf>,
    /// Do the workload of this seed, to be recorded
    #[arg(long, hide = true)]
    live: Option<u64>,
    #[command(flatten)]
    member: MemberArguments,
}

/// Which process of a workload this is, if not the first.
#[derive(clap::Args)]
struct MemberArguments {
    /// The number of its first thread
    #[arg(long, hide = true, requires = "data")]
    member: Option<u32>,
    /// The data file
    #[arg(long, hide = true)]
    data: Option<PathBuf>,
    /// Calls to the disk after which it wants to be killed
    #[arg(long, hide = true)]
    calls: Option<u32>,
    /// It is of a crowd that has much to do
    #[arg(long, hide = true)]
    long: bool,
    /// The file that is told what it comes to know
    #[arg(long, hide = true)]
    marks: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result {
    if let Some(seed) = arguments.workload {
        return one(seed, arguments.each);
    }
    if let Some(seed) = arguments.live {
        return live(seed, &arguments.member);
    }
    if let Some(trace) = &arguments.recording {
        let tally = crash::recorded(arguments.seed, &read(trace)?, arguments.each);
        say(tally.map_err(|finding| format!("FINDING: {finding}"))?, 0, Instant::now());
        return Ok(());
    }
    if let Some(workloads) = arguments.recorded {
        return recorded(arguments, workloads);
    }
    if let Some(crowds) = arguments.killed {
        return killed(arguments, crowds);
    }
    if let Some(filesystem) = arguments.filesystem {
        return powered(arguments, filesystem);
    }
    simulated(arguments)
}

/// Workloads on the simulated disk, and files being created there.
fn simulated(arguments: &Arguments) -> Result {
    let (mut tally, mut findings) = (Tally::default(), 0);
    match crash::creations(arguments.seed, arguments.each) {
        Ok(created) => {
            println!("{} images of files being created", created.images);
            tally.add(created);
        }
        Err(finding) => {
            findings += 1;
            eprintln!("FINDING in a creation: {finding}");
        }
    }
    let workload = |seed| crash::workload(seed, arguments.each).map_err(|finding| finding.to_string());
    until_enough(arguments, (tally, findings), "workload", workload)
}

/// Crowds on a filesystem of the kernel's, on a disk whose power is cut.
fn powered(arguments: &Arguments, filesystem: Filesystem) -> Result {
    let (this, place) = (this()?, Place::new(filesystem)?);
    until_enough(arguments, (Tally::default(), 0), "crowd", |seed| {
        let marks = Marks::new();
        let start = |member: Member, data: &Path| {
            let mut command = process(&this, seed, member, data, false);
            command.arg("--marks").arg(marks.path());
            command
        };
        place.crowd(seed, arguments.each, &start, &marks)
    })
}

/// One after the other, until there are as many images as wanted, or findings.
fn until_enough(
    arguments: &Arguments,
    (mut tally, mut findings): (Tally, u32),
    what: &str,
    mut next: impl FnMut(u64) -> Result<Tally>,
) -> Result {
    let bar = ProgressBar::new(arguments.images);
    bar.set_style(crate::style("images"));
    let (mut seed, mut told, started) = (arguments.seed, 0, Instant::now());
    while tally.images < arguments.images && findings < arguments.findings {
        bar.set_message(format!("{what} {seed}"));
        match next(seed) {
            Ok(more) => tally.add(more),
            Err(finding) => {
                findings += 1;
                bar.suspend(|| eprintln!("FINDING in {what} {seed}: {finding}"));
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
        let trace = record(seed, directory.path())?;
        match crash::recorded(seed, &read(&trace)?, arguments.each) {
            Ok(more) => tally.add(more),
            Err(finding) => {
                findings += 1;
                bar.suspend(|| eprintln!("FINDING in workload {seed}: {finding}"));
                keep(&trace, seed)?;
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

/// Crowds of processes, some of which are killed.
fn killed(arguments: &Arguments, crowds: u64) -> Result {
    let (mut toll, mut findings, started) = (Toll::default(), 0, Instant::now());
    let this = this()?;
    let bar = ProgressBar::new(crowds);
    bar.set_style(crate::style("crowds"));
    for seed in arguments.seed..arguments.seed + crowds {
        match crash::kill(seed, &|member, data| process(&this, seed, member, data, true)) {
            Ok(more) => toll.add(more),
            Err(finding) => {
                findings += 1;
                bar.suspend(|| eprintln!("FINDING in crowd {seed}: {finding}"));
            }
        }
        bar.inc(1);
        if findings >= arguments.findings {
            break;
        }
    }
    bar.finish_and_clear();
    let Toll { changes, kills } = toll;
    println!("{changes} changes, {kills} processes killed, in {:.1?}; {findings} findings", started.elapsed());
    if findings == 0 { Ok(()) } else { Err("there are findings".to_string()) }
}

/// Does the workload of this seed, or is one of its processes.
fn live(seed: u64, member: &MemberArguments) -> Result {
    // Where nobody records it, nothing is to be said.
    let listener: Listener = match &member.marks {
        Some(marks) => powered::listener(marks),
        None if member.long => Box::new(drop),
        None => Box::new(recording::say),
    };
    if let (Some(first), Some(data)) = (member.member, &member.data) {
        let plan = match &member.marks {
            Some(_) => Plan::on_a_real_disk(seed),
            None if member.long => Plan::long(seed),
            None => Plan::of(seed),
        };
        return crash::live_among_others(plan, Member { first, calls: member.calls }, data, listener);
    }
    let this = this()?;
    crash::live(seed, listener, &|member, data| process(&this, seed, member, data, false))
}

fn this() -> Result<PathBuf> {
    std::env::current_exe().map_err(|e| format!("this program: {e}"))
}

/// This program as a process of a crowd.
fn process(this: &Path, seed: u64, member: Member, data: &Path, long: bool) -> Command {
    let mut command = Command::new(this);
    command.args(["crash", "--live", &seed.to_string(), "--member", &member.first.to_string()]);
    command.args(member.calls.iter().flat_map(|calls| ["--calls".to_owned(), calls.to_string()]));
    command.args(long.then_some("--long")).arg("--data").arg(data);
    command
}

/// Records a workload; where that is.
fn record(seed: u64, directory: &Path) -> Result<PathBuf> {
    let trace = directory.join("trace");
    let this = this()?;
    let mut strace = Command::new("strace");
    strace.args(recording::OPTIONS).arg("-o").arg(&trace).arg(this).args(["crash", "--live", &seed.to_string()]);
    command::run_quietly(strace.env("TMPDIR", directory))?;
    Ok(trace)
}

fn read(trace: &Path) -> Result<Vec<Event>> {
    let file = File::open(trace).map_err(|e| format!("{}: {e}", trace.display()))?;
    recording::read(BufReader::new(file))
}

/// Leaves a recording to be looked at: several processes do not meet in the same way again.
fn keep(trace: &Path, seed: u64) -> Result {
    let kept = std::env::temp_dir().join(format!("duramen-crash-{seed}.trace"));
    std::fs::copy(trace, &kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    eprintln!("  or: cargo xtask crash --recording {} --seed {seed}", kept.display());
    Ok(())
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
