//! Perl's `Net::LDAP`, and PHP's functions on OpenLDAP's library: Debian's packages.

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
