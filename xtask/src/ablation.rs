//! `cargo xtask ablation`: what each idea of the page layout is worth, measured by taking it away.
//!
//! `bench/ablation` holds a patch for each idea. The engine is built as it is and once with each patch, and `duramen
//! bench` runs with all of them in turn, so that whatever else the machine does hits them alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, Result, cargo};
use crate::workspace;

#[derive(clap::Args)]
pub struct Arguments {
    /// Records in the file
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// Runs of each; the table has the medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds for each work
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Page sizes to run the engine with, as it is
    #[arg(long, value_delimiter = ',', default_values_t = [8192, 16384])]
    page_sizes: Vec<usize>,
    /// Directory on the filesystem to be measured
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

type Problem = Box<dyn std::error::Error>;

/// One way to run the engine, and its results: for each work, the figure of each round.
struct Variant {
    name: String,
    binary: PathBuf,
    page_size: usize,
    rounds: Vec<Vec<(String, f64)>>,
}

pub fn run(arguments: &Arguments) -> Result {
    let variants = variants(arguments).and_then(|variants| measure(arguments, variants));
    print_table(&variants.map_err(|problem| problem.to_string())?);
    Ok(())
}

fn variants(arguments: &Arguments) -> std::result::Result<Vec<Variant>, Problem> {
    let root = workspace::root();
    let work = workspace::target().join("ablation");
    let plain = build(root, &work, None)?;
    let variant = |name: String, binary: PathBuf, page_size| Variant { name, binary, page_size, rounds: Vec::new() };
    let mut all = vec![variant("as it is".to_string(), plain.clone(), 4096)];
    for patch in patches()? {
        let name = patch.file_stem().ok_or("a patch has a name")?.to_string_lossy().replace('-', " ");
        all.push(variant(name, build(root, &work, Some(&patch))?, 4096));
    }
    for &size in &arguments.page_sizes {
        all.push(variant(format!("pages of {} KiB", size / 1024), plain.clone(), size));
    }
    Ok(all)
}

fn patches() -> std::result::Result<Vec<PathBuf>, Problem> {
    let all = fs::read_dir(workspace::root().join("bench/ablation"))?;
    let mut patches = all.map(|entry| Ok(entry?.path())).collect::<std::result::Result<Vec<_>, Problem>>()?;
    patches.sort();
    Ok(patches)
}

/// Builds a copy of the sources, patched or not; the command.
fn build(root: &Path, work: &Path, patch: Option<&Path>) -> std::result::Result<PathBuf, Problem> {
    let name = patch.and_then(Path::file_stem).map_or("plain".into(), |stem| stem.to_string_lossy());
    eprintln!("building: {name}");
    let sources = work.join("sources");
    let _ = fs::remove_dir_all(&sources);
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output()?;
    for file in String::from_utf8(listed.stdout)?.split_terminator('\0').filter(|file| root.join(file).is_file()) {
        let to = sources.join(file);
        fs::create_dir_all(to.parent().ok_or("a file lies in a directory")?)?;
        fs::copy(root.join(file), to)?;
    }
    if let Some(patch) = patch {
        // In a repository, what lies outside of its tree would be left alone.
        command::run(
            Command::new("git").args(["apply"]).arg(patch).env("GIT_CEILING_DIRECTORIES", work).current_dir(&sources),
        )?;
    }
    let target = work.join("target");
    let build = ["build", "--release", "--quiet", "-p", "duramen-cli"];
    command::run(cargo().args(build).env("CARGO_TARGET_DIR", &target).current_dir(&sources))?;
    let binary = work.join(format!("duramen-{name}"));
    fs::copy(target.join("release/duramen"), &binary)?;
    Ok(binary)
}

fn measure(arguments: &Arguments, mut variants: Vec<Variant>) -> std::result::Result<Vec<Variant>, Problem> {
    for round in 1..=arguments.rounds {
        for variant in &mut variants {
            eprintln!("round {round} of {}: {}", arguments.rounds, variant.name);
            let output = Command::new(&variant.binary)
                .args(["bench", "--json", "--quiet", "--records", &arguments.records.to_string()])
                .args(["--seconds", &arguments.seconds.to_string(), "--page-size", &variant.page_size.to_string()])
                .arg(&arguments.dir)
                .output()?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into());
            }
            variant.rounds.push(figures(&output.stdout)?);
        }
    }
    Ok(variants)
}

/// Work and figure of each line of a run: operations a second, bytes for the file.
fn figures(json: &[u8]) -> std::result::Result<Vec<(String, f64)>, Problem> {
    let lines: Vec<serde_json::Value> = serde_json::from_slice(json)?;
    let figure = |line: &serde_json::Value| {
        let value = line.get("per_second").or(line.get("bytes"))?.as_f64()?;
        Some((line.get("work")?.as_str()?.to_string(), value))
    };
    lines.iter().map(|line| figure(line).ok_or_else(|| "a line of `duramen bench` is not understood".into())).collect()
}

impl Variant {
    /// The median of a work's figures.
    fn median(&self, work: usize) -> f64 {
        let mut all: Vec<f64> = self.rounds.iter().map(|round| round[work].1).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }
}

fn print_table(variants: &[Variant]) {
    let Some(first) = variants.first().and_then(|variant| variant.rounds.first().map(|round| (variant, round))) else {
        return;
    };
    let works: Vec<&str> = first.1.iter().map(|(work, _)| work.as_str()).collect();
    println!("| | {} |", works.join(" | "));
    println!("|---|{}", "--:|".repeat(works.len()));
    for variant in variants {
        let cells = (0..works.len()).map(|work| {
            let (value, base) = (variant.median(work), first.0.median(work));
            let shown = if works[work] == "file" { format!("{:.0} MiB", value / 1048576.0) } else { rate(value) };
            format!("{shown} ({:.2}x)", value / base)
        });
        println!("| {} | {} |", variant.name, cells.collect::<Vec<_>>().join(" | "));
    }
}

fn rate(value: f64) -> String {
    if value >= 1e6 { format!("{:.2} M", value / 1e6) } else { format!("{:.0} k", value / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patch_fits_the_sources_as_they_are() {
        for patch in patches().unwrap() {
            let mut apply = Command::new("git");
            apply.args(["apply", "--check"]).arg(&patch).current_dir(workspace::root());
            let output = apply.output().unwrap();
            assert!(output.status.success(), "{patch:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
