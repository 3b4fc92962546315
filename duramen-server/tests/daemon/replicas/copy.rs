//! A daemon that is a replica, of slapd and of another daemon: whatever happens to either, it ends with what the provider has.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use duramen_ldap::message::ResultCode;
use duramen_sim::port::free_port;
use tempfile::TempDir;

use super::consumer::{Consumer, change, change_all, content, number, search, wait_for_same};
use super::provider::Slapd;
use super::slapd::{CHANGES, names, random_changes};
use super::{Provider, TOP, person};
use crate::client::Client;
use crate::clients::said;
use crate::life::get;
use crate::process::{ADMINISTRATOR, Daemon, PLAIN, certificates, configuration, run};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// A section that says whose replica a daemon is; the password is in a file beside it.
pub fn section(providers: &[&str], more: &str) -> String {
    let name = ADMINISTRATOR.0;
    format!(
        "[replica]\nproviders = {providers:?}\nbind = \"{name}\"\npassword_file = \"password\"\nretry_seconds = 1\n{more}\n"
    )
}

pub fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("password"), ADMINISTRATOR.1).unwrap();
    dir
}

/// A replica of one provider.
fn replica(provider: &str, more: &str) -> Daemon {
    Daemon::start(folder(), &format!("{PLAIN}{}", section(&[provider], more)))
}

pub fn url(daemon: &Daemon) -> String {
    format!("ldap://{}", daemon.ldap)
}

#[track_caller]
pub fn wait_for(daemon: &Daemon, provider: &str) {
    wait_for_same(provider, &url(daemon), &|| daemon.log());
}

pub fn people(range: std::ops::Range<usize>) -> String {
    range.map(|n| person(&format!("uid=u{n},ou=people,dc=example,dc=com"))).collect()
}

/// Killed in the midst of whatever it does, and started again with the same data.
fn killed(daemon: Daemon, provider: &str) -> Daemon {
    Daemon::start(daemon.kill(), &format!("{PLAIN}{}", section(&[provider], "")))
}

#[test]
fn a_replica_of_slapd_has_what_is_there_what_comes_and_what_came_while_either_was_not_there() {
    // With a log of what was deleted slapd tells that, without one what is there.
    for log in ["", "syncprov-sessionlog 100"] {
        let mut slapd = Slapd::start(log);
        let provider = slapd.url();
        change_all(&provider, &format!("{TOP}{}", people(1..6)));
        let mut daemon = replica(&provider, "");
        wait_for(&daemon, &provider);
        change_all(&provider, CHANGES);
        wait_for(&daemon, &provider);
        // Changes are not made here.
        let (file, name) = (daemon.path("change.ldif"), "uid=u1,ou=staff,ou=people,dc=example,dc=com");
        fs::write(&file, format!("dn: {name}\nchangetype: delete\n\n")).unwrap();
        let mut command = std::process::Command::new("ldapmodify");
        command.args(["-x", "-H", &url(&daemon), "-D", ADMINISTRATOR.0, "-w", ADMINISTRATOR.1, "-f"]).arg(file);
        let told = command.output().unwrap();
        assert_eq!(told.status.code(), Some(10), "{told:?}");
        let told = String::from_utf8_lossy(&told.stderr);
        assert!(told.contains(&format!("{provider}/uid=u1,ou=staff,ou=people,dc=example,dc=com")), "{told}");
        // The provider goes and comes.
        slapd.kill();
        daemon.wait_for("is not brought up to date at the moment");
        assert_eq!(content(&url(&daemon)).len(), 7, "what there is is served");
        slapd.restart();
        change_all(&provider, &people(10..13));
        wait_for(&daemon, &provider);
        // And so does the replica.
        daemon = Daemon::start(daemon.kill(), PLAIN.replace("[listen]", &section(&[&provider], "[listen]")).as_str());
        change_all(&provider, "dn: uid=u10,ou=people,dc=example,dc=com\nchangetype: delete\n\n");
        wait_for(&daemon, &provider);
        assert_eq!(daemon.log().matches("not brought up to date").count(), 0, "{}", daemon.log());
        // When nothing has changed slapd does not say of which change that is.
        daemon = killed(daemon, &provider);
        daemon.wait_for("and follows it");
        assert_eq!(number(&url(&daemon)), number(&provider));
        daemon.signal("TERM");
        assert!(daemon.ended().success());
    }
}

#[test]
fn a_replica_asks_over_tls_whom_it_can_verify_and_nobody_else() {
    let slapd = Slapd::start("");
    change_all(&slapd.url(), &format!("{TOP}{}", people(1..3)));
    let start = |provider: &str, more: &str, roots: &Path| {
        let dir = folder();
        fs::copy(roots, dir.path().join("roots.pem")).unwrap();
        Daemon::start(dir, &format!("{PLAIN}{}", section(&[provider], &format!("roots = \"roots.pem\"\n{more}"))))
    };
    let root = slapd.dir.path().join("root.pem");
    let ldaps = format!("ldaps://127.0.0.1:{}", slapd.tls_port);
    wait_for(&start(&ldaps, "", &root), &slapd.url());
    wait_for(&start(&slapd.url(), "starttls = true", &root), &slapd.url());
    // Somebody else's root.
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    let mut daemon = start(&slapd.url(), "starttls = true", &other.path().join("root.pem"));
    daemon.wait_for("TLS: ");
    assert_eq!(content(&url(&daemon)), [""; 0]);
}

#[test]
fn a_replica_may_bind_by_its_certificate() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let (port, tls_port) = (free_port(), free_port());
    let more = format!(
        "[listen]\nldap = [\"127.0.0.1:{port}\"]\nldaps = [\"127.0.0.1:{tls_port}\"]\nldapi = \"ldapi\"\n\
         [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nclient_roots = \"root.pem\"\n[sync]\n\
         [access]\nrules = 'access to * by dn.exact=\"cn=a client\" read by * none'\n"
    );
    let provider = Daemon::start(dir, &more);
    change_all(&url(&provider), &format!("{TOP}{}", people(1..3)));
    let folder = folder();
    for name in ["root.pem", "client.pem", "client.key"] {
        fs::copy(provider.path(name), folder.path().join(name)).unwrap();
    }
    let section = format!(
        "{PLAIN}[replica]\nproviders = [\"ldaps://localhost:{tls_port}\"]\nroots = \"root.pem\"\ncertificate = \"client.pem\"\n\
         key = \"client.key\"\n"
    );
    wait_for(&Daemon::start(folder, &section), &url(&provider));
}

#[test]
fn a_replica_that_is_killed_while_it_loads_and_its_provider_too_has_all_in_the_end() {
    let mut provider = Provider::start("");
    change_all(&provider.url(), &format!("{TOP}{}", people(0..4000)));
    let mut daemon = replica(&provider.url(), "");
    for round in 0..5 {
        // Somewhere in the midst of it, with and without a warning.
        std::thread::sleep(Duration::from_millis(20 * round));
        if round % 2 == 1 {
            daemon.signal("TERM");
            assert!(daemon.ended().success(), "{}", daemon.log());
        }
        daemon = killed(daemon, &provider.url());
    }
    provider = provider.killed();
    wait_for(&daemon, &provider.url());
    change_all(&provider.url(), CHANGES);
    daemon = killed(daemon, &provider.url());
    wait_for(&daemon, &provider.url());
    let (code, text) = {
        let (name, data) = (env!("CARGO_BIN_EXE_duramend"), daemon.path("data"));
        assert!(Path::new(name).exists());
        let directory = duramen_directory::Directory::open(data, Default::default()).unwrap();
        let mut problems = Vec::new();
        directory.check(&mut |problem| problems.push(problem), &mut |_, _| {}).unwrap();
        (problems.len(), problems.join("\n"))
    };
    assert_eq!(code, 0, "{text}");
}

#[test]
fn a_replica_without_its_section_is_a_master_after_a_reload_and_a_copy_again_with_it() {
    let provider = Provider::start("");
    change_all(&provider.url(), &format!("{TOP}{}", people(0..3)));
    let mut daemon = replica(&provider.url(), "");
    wait_for(&daemon, &provider.url());
    let mut client = Client::administrator(&daemon);
    let name = "uid=u1,ou=people,dc=example,dc=com";
    assert_eq!(client.replace(name, "description", "x").code, ResultCode::REFERRAL);
    let file = daemon.path("duramend.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.split("[replica]").next().unwrap()).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded:");
    assert_eq!(client.replace(name, "description", "x").code, ResultCode::SUCCESS);
    // What was changed here meanwhile is not what the provider has.
    fs::write(&file, text).unwrap();
    daemon.signal("HUP");
    wait_for(&daemon, &provider.url());
    assert_eq!(client.replace(name, "description", "x").code, ResultCode::REFERRAL);
}

#[test]
fn replicas_of_a_replica_have_the_same_and_can_change_to_its_provider() {
    let provider = Provider::start("");
    change_all(&provider.url(), &format!("{TOP}{}", people(1..6)));
    let middle_port = free_port();
    let listen = format!("[listen]\nldap = [\"127.0.0.1:{middle_port}\"]\nldapi = \"ldapi\"\n[sync]\n");
    let middle = Daemon::start(folder(), &format!("{listen}{}", section(&[&provider.url()], "")));
    wait_for(&middle, &provider.url());
    // The first of two providers is not there.
    let nobody = format!("ldap://127.0.0.1:{}", free_port());
    let below = section(&[&nobody, &url(&middle)], "");
    let mut last = Daemon::start(folder(), &format!("{PLAIN}{below}"));
    let mut slapd = Consumer::of(middle_port, "refreshAndPersist", "");
    slapd.start();
    for changes in [people(7..9), CHANGES.to_string()] {
        change_all(&provider.url(), &changes);
        wait_for(&last, &provider.url());
        slapd.wait_for(&provider.url());
    }
    let known = number(&url(&last));
    last = killed(last, &provider.url());
    change_all(&provider.url(), &people(20..22));
    wait_for(&last, &provider.url());
    assert!(number(&url(&last)) > known);
    let log = last.log();
    assert!(
        log.contains("put=2") || log.contains("put=0") || log.contains("put=1"),
        "only what has changed is told: {log}"
    );
}

/// slapd takes an entry away that it is not told of only if it has a number of the server that has changed it last.
#[test]
fn what_goes_at_a_slapd_with_a_number_goes_from_slapds_behind_a_replica_of_it() {
    let provider =
        Slapd::start_with("moduleload syncprov\nserverID 1\n", "index entryUUID,entryCSN eq\noverlay syncprov\n");
    change_all(&provider.url(), &format!("{TOP}{}", people(1..6)));
    let middle = Provider::start_at(folder(), free_port(), &section(&[&provider.url()], ""));
    let mut slapds = ["refreshOnly", "refreshAndPersist"].map(|kind| Consumer::of(middle.port, kind, ""));
    for slapd in &mut slapds {
        slapd.start();
        slapd.wait_for(&provider.url());
        slapd.stop();
    }
    let delete = |n: usize| format!("dn: uid=u{n},ou=people,dc=example,dc=com\nchangetype: delete\n\n");
    change_all(&provider.url(), &format!("{}{}{}", delete(1), delete(2), people(7..9)));
    wait_for(&middle.daemon, &provider.url());
    for slapd in &mut slapds {
        slapd.start();
        slapd.wait_for(&provider.url());
    }
}

#[test]
fn what_the_schema_lacks_stops_a_replica_until_it_has_it_and_operators_see_that() {
    let schema = "attributetype ( 1.1.1 NAME 'shoeSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )\n\
        objectclass ( 1.1.2 NAME 'walker' SUP top AUXILIARY MAY shoeSize )\n";
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("own.schema"), schema).unwrap();
    let provider = Daemon::start(dir, &format!("{PLAIN}[directory]\nschema = [\"own.schema\"]\n[sync]\n"));
    change_all(&url(&provider), &format!("{TOP}{}", people(0..3)));
    let port = free_port();
    let dir = folder();
    fs::write(dir.path().join("own.schema"), schema).unwrap();
    let text = format!("{PLAIN}{}[http]\nlisten = \"127.0.0.1:{port}\"\n", section(&[&url(&provider)], ""));
    let mut daemon = Daemon::start(dir, &text);
    wait_for(&daemon, &url(&provider));
    let page = |path: &str| get(([127, 0, 0, 1], port).into(), path);
    let shows = |path: &str, wanted: &str| {
        let started = Instant::now();
        while !page(path).contains(wanted) {
            assert!(started.elapsed() < PATIENCE, "{}", page(path));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    shows("/healthz", "200 OK");
    shows("/metrics", "duramend_replica_state{suffix=\"dc=example,dc=com\",state=\"following\"} 1\n");
    shows("/metrics", "duramend_replica_complete{suffix=\"dc=example,dc=com\"} 1\n");
    let walker = "dn: uid=u1,ou=people,dc=example,dc=com\nchangetype: modify\nadd: objectClass\nobjectClass: walker\n-\n\
        add: shoeSize\nshoeSize: 46\n\n";
    change_all(&url(&provider), walker);
    daemon.wait_for("\"uid=u1,ou=people,dc=example,dc=com\" cannot be taken");
    shows("/healthz", "503 ");
    shows("/metrics", "duramend_replica_state{suffix=\"dc=example,dc=com\",state=\"stopped\"} 1\n");
    assert_eq!(content(&url(&daemon)).len(), 5, "what there is is served");
    let file = daemon.path("duramend.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[http]", "[directory]\nschema = [\"own.schema\"]\n[http]")).unwrap();
    daemon.signal("HUP");
    wait_for(&daemon, &url(&provider));
    shows("/healthz", "200 OK");
}

#[test]
fn wrong_passwords_count_at_a_replica_and_change_nothing_that_others_are_told_of() {
    let policies = "[password_policies]\ndefault = \"cn=policy,dc=example,dc=com\"\n";
    let provider = Provider::start(policies);
    let policy = "dn: cn=policy,dc=example,dc=com\nchangetype: add\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\n\
        pwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 2\n\n";
    let secret =
        "dn: uid=u1,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: userPassword\nuserPassword: secret\n\n";
    change_all(&provider.url(), &format!("{TOP}{policy}{}{secret}", people(0..3)));
    let daemon = replica(&provider.url(), policies);
    wait_for(&daemon, &provider.url());
    let name = "uid=u1,ou=people,dc=example,dc=com";
    assert_eq!(Client::new(&daemon).bind(name, "secret").code, ResultCode::SUCCESS);
    for _ in 0..2 {
        assert_eq!(Client::new(&daemon).bind(name, "wrong").code, ResultCode::INVALID_CREDENTIALS);
    }
    assert_eq!(Client::new(&daemon).bind(name, "secret").code, ResultCode::INVALID_CREDENTIALS, "locked");
    assert_eq!(Client::new(&provider.daemon).bind(name, "secret").code, ResultCode::SUCCESS, "here alone");
    assert_eq!(number(&url(&daemon)), number(&provider.url()));
    let own = |url: &str| said(&mut search(url, &["(uid=u1)", "entryCSN"]), 0);
    assert_eq!(own(&url(&daemon)), own(&provider.url()));
    // What the provider sends next is what counts.
    change_all(&provider.url(), &secret.replace("secret\n", "new one\n"));
    wait_for(&daemon, &provider.url());
    assert_eq!(Client::new(&daemon).bind(name, "new one").code, ResultCode::SUCCESS);
}

#[test]
fn whatever_changes_a_replica_of_slapd_ends_with_what_there_is() {
    let seed = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("DURAMEN_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut slapd = Slapd::start(["", "syncprov-sessionlog 50"][random.usize(..2)]);
    let provider = slapd.url();
    change_all(&provider, &format!("{TOP}{}", people(1..6)));
    let mut daemon = replica(&provider, "");
    for round in 0..9 {
        match random.u8(..4) {
            0 => daemon = killed(daemon, &provider),
            1 => {
                slapd.kill();
                slapd.restart();
            }
            _ => {}
        }
        for _ in 0..random.usize(1..4) {
            let mut ldif = random_changes(&mut random, &names(&provider), 30);
            writeln!(ldif).unwrap();
            change(&provider, &ldif);
        }
        if round % 3 == 2 {
            wait_for(&daemon, &provider);
        }
    }
}

#[test]
fn what_is_wrong_with_the_section_is_told_with_its_place_and_cure() {
    let dir = folder();
    let path = dir.path().join("duramend.toml");
    fs::write(dir.path().join("empty"), "").unwrap();
    let right = "providers = [\"ldap://localhost\"]\nbind = \"cn=a\"\npassword_file = \"password\"\n";
    for (section, wanted) in [
        (right, ""),
        ("providers = []", "there is no server to copy from"),
        ("bind = \"cn=a\"", "`providers` is missing here"),
        ("providers = [\"http://x\"]", "is no LDAP URL"),
        ("providers = [\"ldapi://x\"]", "is a local socket"),
        ("providers = [\"ldap://x/dc=example\"]", "and of nothing else"),
        ("providers = [\"ldaps://x\"]", "nothing says which certificate of a provider is right"),
        ("providers = [\"ldap://x\"]\nstarttls = true", "name in roots the file"),
        ("providers = [\"ldap://x\"]\nroots = \"none\"", "the file of roots"),
        ("providers = [\"ldap://x\"]\ncertificate = \"empty\"", "of certificate and key one is not there"),
        ("providers = [\"ldap://x\"]\nbind = \"cn=a\"", "a name without a password"),
        ("providers = [\"ldap://x\"]\npassword_file = \"password\"", "it is not said whose password this is"),
        ("providers = [\"ldap://x\"]\nbind = \"cn=a\"\npassword_file = \"empty\"", "there is no password in this file"),
        ("providers = [\"ldap://x\"]\nsuffixes = [\"ou=people,dc=example,dc=com\"]", "it is none of the suffixes"),
        ("providers = [\"ldap://x\"]\nsuffixes = [\"dc=example,dc=com\", \"DC=example,dc=com\"]", "it is named twice"),
        ("providers = [\"ldap://x\"]\nretry_seconds = 0", "0 is too little"),
    ] {
        fs::write(&path, configuration(&format!("[replica]\n{section}\n"))).unwrap();
        let (code, text) = run(&["check-config", "--config", path.to_str().unwrap()]);
        assert_eq!(code, Some(if wanted.is_empty() { 0 } else { 78 }), "{section}: {text}");
        assert!(wanted.is_empty() || (text.contains("duramend.toml:") && text.contains(wanted)), "{section}: {text}");
    }
}
