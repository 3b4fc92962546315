//! `cargo xtask fuzz`: the fuzz targets, one after the other, for as long as asked for.

use std::path::Path;
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The targets: small recipes of mutations, and whole files
    #[arg(long, value_delimiter = ',', default_values_t = ["recipe".to_string(), "file".to_string()])]
    targets: Vec<String>,
    /// Processes at a time
    #[arg(long, default_value_t = 1)]
    jobs: u32,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    if !Command::new("cargo").args(["fuzz", "--version"]).output().is_ok_and(|o| o.status.success()) {
        eprintln!("cargo-fuzz is not installed: cargo install cargo-fuzz");
        return ExitCode::FAILURE;
    }
    for target in &arguments.targets {
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", "--fuzz-dir", "fuzz", target, "--"])
            .args([format!("-max_total_time={}", arguments.seconds), format!("-fork={}", arguments.jobs)])
            .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-ignore_timeouts=0"])
            .args([if target == "file" { "-max_len=100000" } else { "-max_len=530" }])
            .current_dir(root)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) => {
                eprintln!("the target {target} has a finding; run it again: cargo +nightly fuzz run {target} ARTIFACT");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("cargo fuzz cannot be run: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
