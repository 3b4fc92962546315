//! What clients see that keep copies: `ldapsearch`, python-ldap, and one of our own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use duramen_ldap::Payload;
use duramen_ldap::control::SyncRequest;
use duramen_ldap::extended::CancelRequest;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Control, ExtendedRequest, Request, ResultCode, Scope};
use duramen_ldap::oid;

use super::consumer::{change_all, number, search};
use super::{Provider, TOP, person};
use crate::client::{Client, search as search_for};
use crate::clients::said;
use crate::process::{ADMINISTRATOR, run};

const PATIENCE: Duration = Duration::from_secs(30);

/// An `ldapsearch` that goes on. Dropping it kills it.
struct Listener {
    child: Child,
    lines: Receiver<String>,
}

impl Listener {
    fn of(provider: &Provider, sync: &str) -> Listener {
        let mut command = search(&provider.url(), &["-o", "ldif_wrap=no", "-E", sync, "(objectClass=*)", "cn"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        Listener { child, lines }
    }

    /// Waits until a line has this in it.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        let started = Instant::now();
        let mut heard = Vec::new();
        while started.elapsed() < PATIENCE {
            if let Ok(line) = self.lines.recv_timeout(Duration::from_millis(100)) {
                if line.contains(text) {
                    return line;
                }
                heard.push(line);
            }
        }
        panic!("no {text:?} in:\n{}", heard.join("\n"));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn filled(more: &str) -> Provider {
    let provider = Provider::start(more);
    change_all(&provider.url(), TOP);
    provider
}

#[test]
fn ldapsearch_shows_what_was_and_what_comes_and_how_far_it_is() {
    let provider = filled("");
    let root = said(search(&provider.url(), &["-s", "base"]).args(["-b", "", "supportedControl"]), 0);
    assert!(root.contains("1.3.6.1.4.1.4203.1.9.1.1"), "{root}");
    let known = number(&provider.url()).unwrap();
    let all = said(&mut search(&provider.url(), &["-LL", "-E", "!sync=ro"]), 0);
    assert_eq!(all.matches("\ndn: ").count() + usize::from(all.starts_with("dn: ")), 2, "{all}");
    change_all(&provider.url(), &person("uid=u1,ou=people,dc=example,dc=com"));
    let since = said(&mut search(&provider.url(), &["-E", &format!("!sync=ro/rid=001,csn={known}")]), 0);
    assert!(since.contains("dn: uid=u1,") && !since.contains("dn: ou=people"), "{since}");

    let listener = Listener::of(&provider, "!sync=rp");
    listener.wait_for("dn: uid=u1");
    change_all(&provider.url(), &person("uid=u2,ou=people,dc=example,dc=com"));
    listener.wait_for("dn: uid=u2");
    change_all(&provider.url(), "dn: uid=u1,ou=people,dc=example,dc=com\nchangetype: delete\n\n");
    listener.wait_for("dn: uid=u1");
}

#[test]
fn python_ldap_keeps_a_copy() {
    let provider = filled("");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/daemon/replicas/copy_of_python_ldap.py");
    said(Command::new("/usr/bin/python3").arg(script).arg(provider.url()).args([ADMINISTRATOR.0, ADMINISTRATOR.1]), 0);
}

#[test]
fn who_takes_nothing_hears_all_later_and_costs_no_memory_meanwhile() {
    // On a busy machine the changes take longer than anybody is usually waited for.
    let provider = filled("[limits]\nwrite_seconds = 900\n");
    let listener = Listener::of(&provider, "!sync=rp");
    listener.wait_for("dn: ou=people");
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &listener.child.id().to_string()]).status().unwrap().success());
    };
    let long = "x".repeat(20_000);
    let changes = |from: u32| -> String {
        let change = |n: u32| {
            format!(
                "dn: uid=l{n},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\nuid: l{n}\ncn: {n}{long}\nsn: S\n\n"
            )
        };
        (from..from + 300).map(change).collect()
    };
    signal("-STOP");
    change_all(&provider.url(), &changes(0));
    let before = provider.daemon.memory_bytes();
    // 60 MB wait for it. What updates take for a while is a part of that.
    (1..11).for_each(|n| change_all(&provider.url(), &changes(300 * n)));
    let after = provider.daemon.memory_bytes();
    assert!(after < before + (30 << 20), "{before} bytes before, {after} after");
    signal("-CONT");
    listener.wait_for("dn: uid=l3299,");
}

#[test]
fn what_a_tool_changes_beside_the_server_is_told_too() {
    let provider = filled("");
    let listener = Listener::of(&provider, "!sync=rp");
    listener.wait_for("dn: ou=people");
    let tool = duramen_directory::Directory::open(provider.daemon.path("data"), Default::default()).unwrap();
    let ldif = "dn: uid=tool,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: tool\ncn: T\nsn: T\n";
    let options = duramen_directory::ImportOptions::default();
    tool.import("tool.ldif", &mut ldif.as_bytes(), options, &mut |_| true).unwrap();
    listener.wait_for("dn: uid=tool");
}

#[test]
fn a_reload_takes_the_service_away_and_brings_it_back() {
    let mut provider = filled("");
    let listener = Listener::of(&provider, "!sync=rp");
    listener.wait_for("dn: ou=people");
    let file = provider.daemon.path("duramend.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[sync]", "")).unwrap();
    provider.daemon.signal("HUP");
    provider.daemon.wait_for("reloaded:");
    change_all(&provider.url(), &person("uid=u1,ou=people,dc=example,dc=com"));
    assert_eq!(number(&provider.url()), None);
    said(&mut search(&provider.url(), &["-E", "!sync=ro"]), 12);
    std::fs::write(&file, text).unwrap();
    provider.daemon.signal("HUP");
    let started = Instant::now();
    while number(&provider.url()).is_none() {
        assert!(started.elapsed() < PATIENCE, "{}", provider.daemon.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    said(&mut search(&provider.url(), &["-E", "!sync=ro"]), 0);
}

#[test]
fn how_many_changes_are_kept_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("duramend.toml");
    for (said, is_right) in [("", true), ("changes = 5", true), ("changes = 0", false), ("sessions = 5", false)] {
        std::fs::write(&path, crate::process::configuration(&format!("[sync]\n{said}\n"))).unwrap();
        let (code, text) = run(&["check-config", "--config", path.to_str().unwrap()]);
        assert_eq!(code, Some(if is_right { 0 } else { 78 }), "{text}");
        assert!(is_right || text.contains("duramend.toml:"), "{text}");
    }
}

#[test]
fn a_connection_has_so_many_searches_that_wait_and_each_ends_as_any_operation_rfc4533_3_7() {
    let mut provider = filled("[limits]\npending = 2\n");
    let mut client = Client::administrator(&provider.daemon);
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    let mut value = Vec::new();
    SyncRequest { persists: true, cookie: None, reload_hint: false }.encode(&mut value);
    let control = [Control { oid: oid::control::SYNC_REQUEST, critical: true, value: Some(&value) }];
    let persist = |client: &mut Client| {
        let request = client.with_controls(search_for("dc=example,dc=com", Scope::Subtree, &filter), &control);
        client.stream.write_all(&request).unwrap();
        client.last_id()
    };
    let (first, second, third) = (persist(&mut client), persist(&mut client), persist(&mut client));
    let (id, answer) = client.answer();
    assert_eq!((id, answer.code), (third, ResultCode::ADMIN_LIMIT_EXCEEDED), "{answer:?}");
    // Other operations go on meanwhile.
    assert_eq!(client.search("dc=example,dc=com", Scope::Base, "(objectClass=*)").names, ["dc=example,dc=com"]);
    client.send(Request::Abandon(first));
    let fourth = persist(&mut client);
    assert_eq!(client.replace("ou=people,dc=example,dc=com", "description", "x").code, ResultCode::SUCCESS);
    let mut value = Vec::new();
    CancelRequest { id: second }.encode(&mut value);
    let cancel = client.send(Request::Extended(ExtendedRequest { name: oid::extended::CANCEL, value: Some(&value) }));
    let (id, answer) = client.answer();
    assert_eq!((id, answer.code), (second, ResultCode::CANCELED));
    assert_eq!(client.answer().0, cancel);
    // Of what comes later only the one that is left hears; a bind ends that, too (RFC 4511 section 4.2.1).
    assert_eq!(client.bind(ADMINISTRATOR.0, ADMINISTRATOR.1).code, ResultCode::SUCCESS);
    change_all(&provider.url(), &person("uid=u9,ou=people,dc=example,dc=com"));
    let answer = client.search("uid=u9,ou=people,dc=example,dc=com", Scope::Base, "(objectClass=*)");
    assert_eq!(answer.names, ["uid=u9,ou=people,dc=example,dc=com"], "and nothing to {fourth}");
    drop(client);
    provider.daemon.signal("TERM");
    assert!(provider.daemon.ended().success());
}
