//! The systemd unit, as far as it can be judged where systemd does not run: by systemd's own tools.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// How exposed `systemd-analyze security` may find the service: 0 (not at all) to 100.
const EXPOSURE_MAX: u32 = 20;

/// What `systemd-analyze` says of the unit, with the program of this build in place of the installed one.
fn analyzed(args: &[&str]) -> (bool, String) {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("duramend.service");
    let text = fs::read_to_string(unit).unwrap().replace("/usr/local/bin/duramend", env!("CARGO_BIN_EXE_duramend"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.service");
    fs::write(&path, text).unwrap();
    let mut command = Command::new("systemd-analyze");
    command.args(args).arg(&path);
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; `make setup` installs it"));
    let said = [stdout, stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    (status.success(), said)
}

#[test]
fn systemd_understands_every_line_of_the_unit() {
    let (is_right, said) = analyzed(&["verify", "--man=no"]);
    // Units of other programs are read too, and are no concern of ours.
    let ours: Vec<_> = said.lines().filter(|line| line.contains("duramend")).collect();
    assert!(is_right && ours.is_empty(), "{said}");
}

#[test]
fn the_service_is_kept_from_what_it_does_not_need() {
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    let (is_right, said) = analyzed(&["security", "--offline=true", "--no-pager", &threshold]);
    assert!(is_right, "{said}");
}
