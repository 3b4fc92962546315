//! ldapts, from the npm registry.

use std::fs;
use std::process::Command;

use super::{said, source, told};
use crate::process::Daemon;

#[test]
fn ldapts_lives_through_its_cycle() {
    let work = tempfile::tempdir().unwrap();
    for name in ["package.json", "life.mjs"] {
        fs::copy(source("node").join(name), work.path().join(name)).unwrap();
    }
    said(Command::new("npm").args(["install", "--silent", "--no-audit", "--no-fund"]).current_dir(work.path()), 0);
    told(Command::new("node").arg("life.mjs").current_dir(work.path()), &Daemon::with_tls());
}
