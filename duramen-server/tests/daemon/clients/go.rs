//! go-ldap, from the Go module proxy.

use std::fs;
use std::process::Command;

use super::{said, source, told};
use crate::process::Daemon;

#[test]
fn go_ldap_lives_through_its_cycle() {
    let work = tempfile::tempdir().unwrap();
    for name in ["go.mod", "go.sum", "life.go"] {
        fs::copy(source("go").join(name), work.path().join(name)).unwrap();
    }
    said(Command::new("go").args(["build", "-o", "life", "."]).current_dir(work.path()), 0);
    told(&mut Command::new(work.path().join("life")), &Daemon::with_tls());
}
