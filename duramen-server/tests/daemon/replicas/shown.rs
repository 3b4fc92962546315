//! What operators see of a replica: in `cn=monitor`, at `/metrics` and at `/healthz`.

use std::time::{Duration, Instant};

use duramen_ldap::message::Scope;
use duramen_sim::port::free_port;

use super::consumer::{change_all, number};
use super::copy::{folder, people, section, wait_for};
use super::line::{Line, Weather};
use super::{Provider, TOP};
use crate::client::Client;
use crate::life::get;
use crate::process::{Daemon, PLAIN};

const PATIENCE: Duration = Duration::from_secs(60);
const CONSUMER: &str = "cn=Consumer 001,cn=Database 1,cn=Databases,cn=Monitor";

/// Waits until an entry of `cn=monitor` is as a filter says.
#[track_caller]
pub fn wait_for_monitor(daemon: &Daemon, name: &str, filter: &str) {
    let (started, mut client) = (Instant::now(), Client::administrator(daemon));
    while client.search(name, Scope::Base, filter).names != [name] {
        assert!(started.elapsed() < PATIENCE, "{name} is not as in {filter}:\n{}", daemon.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a replica is told what changes by the provider at this URL.
#[track_caller]
pub fn wait_for_provider(daemon: &Daemon, url: &str) {
    wait_for_monitor(daemon, CONSUMER, &format!("(&(olmSRProviderURIList={url})(olmSRSyncPhase=following))"));
}

#[test]
fn whom_a_copy_follows_what_it_has_and_what_went_wrong_is_shown() {
    let provider = Provider::start("");
    change_all(&provider.url(), &format!("{TOP}{}", people(1..4)));
    let line = Line::to(provider.port, 0);
    line.turn(Weather::Closed);
    let port = free_port();
    let http = format!("[http]\nlisten = \"127.0.0.1:{port}\"\n");
    let daemon = Daemon::start(folder(), &format!("{PLAIN}{}{http}", section(&[&line.url()], "")));
    let page = |path: &str| get(([127, 0, 0, 1], port).into(), path);
    let below = |name: &str| format!("cn={name},{CONSUMER}");
    // Who asks a balancer is not sent here before the first copy is complete.
    wait_for_monitor(&daemon, &below("Error"), "(&(monitoredInfo=*refused*)(monitorTimestamp>=20200101000000Z))");
    wait_for_monitor(&daemon, CONSUMER, "(&(olmSRSyncPhase=waiting)(olmSRNextConnect=*)(!(olmSRLastContact=*)))");
    let sick = page("/healthz");
    assert!(sick.contains(" 503 ") && sick.contains("the copy of dc=example,dc=com is not complete yet"), "{sick}");
    assert!(page("/metrics").contains("duramend_replica_complete{suffix=\"dc=example,dc=com\"} 0\n"));
    line.turn(Weather::Fair);
    wait_for(&daemon, &provider.url());
    wait_for_provider(&daemon, &line.url());
    let known = number(&provider.url()).unwrap();
    wait_for_monitor(
        &daemon,
        CONSUMER,
        &format!(
            "(&(objectClass=olmSyncReplInstance)(olmSRLastCookieRcvd=*csn={known})(olmSRLastContact=*)(olmSRLastConnect=*))"
        ),
    );
    change_all(&provider.url(), "dn: uid=u1,ou=people,dc=example,dc=com\nchangetype: delete\n\n");
    wait_for_monitor(&daemon, &below("Deleted"), "(monitorCounter=1)");
    wait_for_monitor(&daemon, &below("Put"), "(monitorCounter=5)");
    wait_for_monitor(&daemon, &below("Connections"), "(monitorCounter>=2)");
    assert!(page("/healthz").contains(" 200 "));
    let metrics = page("/metrics");
    for (name, labels, value) in [
        ("provider", format!(",provider=\"{}\"", line.url()), " 1\n"),
        ("entries_put_total", String::new(), " 5\n"),
        ("entries_deleted_total", String::new(), " 1\n"),
        ("connections_total", String::new(), " "),
        ("error_timestamp_seconds", String::new(), " "),
    ] {
        let wanted = format!("\nduramend_replica_{name}{{suffix=\"dc=example,dc=com\"{labels}}}{value}");
        assert!(metrics.contains(&wanted), "{wanted} is not in {metrics}");
    }
    // Of a provider that is gone nobody is told as long as there is a copy.
    line.turn(Weather::Closed);
    wait_for_monitor(&daemon, CONSUMER, "(olmSRSyncPhase=waiting)");
    assert!(page("/healthz").contains(" 200 "));
}
