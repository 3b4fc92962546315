//! Python's `ldap3`, and `ldap` on OpenLDAP's library: Debian's packages.

use std::process::Command;

use super::{source, told};
use crate::process::Daemon;

const PYTHON: &str = "/usr/bin/python3";

#[test]
fn ldap3_lives_through_its_cycle() {
    told(Command::new(PYTHON).arg(source("life_of_ldap3.py")), &Daemon::with_tls());
}

#[test]
fn python_ldap_lives_through_its_cycle() {
    told(Command::new(PYTHON).arg(source("life_of_python_ldap.py")), &Daemon::with_tls());
}
