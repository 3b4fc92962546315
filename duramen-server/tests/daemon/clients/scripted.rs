//! Perl's `Net::LDAP`, PHP's functions on OpenLDAP's library, Erlang's `eldap`: Debian's packages.

use std::process::Command;

use super::{source, told};
use crate::process::Daemon;

#[test]
fn net_ldap_lives_through_its_cycle() {
    told(Command::new("/usr/bin/perl").arg(source("life_of_net_ldap.pl")), &Daemon::with_tls());
}

#[test]
fn php_lives_through_its_cycle() {
    told(Command::new("php").arg(source("life.php")), &Daemon::with_tls());
}

#[test]
fn eldap_lives_through_its_cycle() {
    told(Command::new("escript").arg(source("life.escript")), &Daemon::with_tls());
}
