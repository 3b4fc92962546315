//! Clients that people use, each through a full life cycle: connect, StartTLS, bind, schema discovery, add, search, page,
//! modify, rename, compare, change a password, delete.

mod go;
mod java;
mod ldap_utils;
mod node;
mod postfix;
mod proxy;
mod python;
mod scripted;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{ADMINISTRATOR, Daemon};

/// A file beside this one.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/clients").join(name)
}

/// Runs a command; what it printed. Panics with all that it said unless it ends with `code`.
#[track_caller]
pub fn said(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; `make setup` installs it"));
    let [out, err] = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{out}\n{err}");
    out
}

/// Gives a client's program what it needs to know: URL, file of the root certificate, administrator, password.
fn told(command: &mut Command, daemon: &Daemon) -> String {
    let url = format!("ldap://127.0.0.1:{}", daemon.ldap.port());
    let (name, password) = ADMINISTRATOR;
    command.arg(url).arg(daemon.path("root.pem")).args([name, password]);
    said(command, 0)
}
