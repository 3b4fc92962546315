//! `cargo xtask crash`: workloads and their crash images, as many as asked for.

use std::time::Instant;

use duramen_sim::crash::{self, Tally};
use indicatif::ProgressBar;

use crate::command::Result;

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
}

pub fn run(arguments: &Arguments) -> Result {
    if let Some(seed) = arguments.workload {
        return one(seed, arguments.each);
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
