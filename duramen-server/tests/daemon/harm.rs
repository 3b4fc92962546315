//! Harm that comes to the data under a running daemon: pages that are damaged, files that are moved away or replaced. It is noticed,
//! and said to whoever looks.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use duramen_directory::{Config, Directory, ImportOptions};
use duramen_ldap::message::{ResultCode, Scope};
use duramen_sim::port::free_port;
use tempfile::TempDir;

use crate::client::{Client, person};
use crate::life::get;
use crate::process::{Daemon, PLAIN, configuration, run};

const PAGE: u64 = 4096;
const SUFFIX: &str = "dc=example,dc=com";

/// A daemon with a page to look at.
fn start(dir: TempDir) -> (Daemon, SocketAddr) {
    let page = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut daemon = Daemon::start(dir, &format!("{PLAIN}[http]\nlisten = \"{page}\"\n"));
    daemon.wait_for("figures at http://");
    (daemon, page)
}

/// Waits until `/healthz` says this.
#[track_caller]
fn wait_for_health(page: SocketAddr, daemon: &Daemon, told: &str) {
    let started = Instant::now();
    while !get(page, "/healthz").contains(told) {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "no {told:?}: {}\n{}",
            get(page, "/healthz"),
            daemon.log()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Data of which a page with entries is damaged; the page, and its bytes as they were.
fn damaged(data: &Path) -> (u64, Vec<u8>) {
    let directory = Directory::open(data, Config { suffixes: vec![SUFFIX.into()], ..Config::default() }).unwrap();
    let entry = |n| format!("dn: cn=p{n},{SUFFIX}\nobjectClass: person\ncn: p{n}\nsn: surname number {n}\n\n");
    let text = format!("dn: {SUFFIX}\nobjectClass: domain\ndc: example\n\n{}", (0..600).map(entry).collect::<String>());
    directory.import("x.ldif", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    drop(directory);
    let file = data.join("directory.dm");
    let whole = fs::read(&file).unwrap();
    let mut found = Vec::new();
    for page in 4..whole.len() as u64 / PAGE {
        let place = usize::try_from(page * PAGE).unwrap();
        let before = whole[place..place + 4096].to_vec();
        let open = fs::OpenOptions::new().write(true).open(&file).unwrap();
        open.write_all_at(b"damaged", page * PAGE + 1000).unwrap();
        let config = Config { read_only: true, ..Config::default() };
        let opened = Directory::open(data, config);
        let is_lost = |directory: Directory| directory.export(None, &mut Vec::new(), &mut |_, _| true).is_err();
        found.extend(opened.is_ok_and(is_lost).then(|| (page, before.clone())));
        open.write_all_at(&before, page * PAGE).unwrap();
    }
    // The first and the last entries are looked at when somebody comes.
    let (page, before) = found.swap_remove(found.len() / 2);
    fs::OpenOptions::new().write(true).open(&file).unwrap().write_all_at(b"damaged", page * PAGE + 1000).unwrap();
    (page, before)
}

#[test]
fn damage_that_was_met_is_told_once_and_shown_until_it_is_mended() {
    let dir = tempfile::tempdir().unwrap();
    let (page, before) = damaged(&dir.path().join("data"));
    let (mut daemon, http) = start(dir);
    let mut client = Client::administrator(&daemon);
    assert!(get(http, "/healthz").contains("200 OK"), "nothing of it was met yet");
    for _ in 0..20 {
        assert_eq!(client.search(SUFFIX, Scope::Subtree, "(sn=*number 3*)").code, ResultCode::OTHER);
    }
    let health = get(http, "/healthz");
    let told = format!("page {page} is damaged");
    assert!(health.contains("503") && health.contains(&told) && health.contains("duramen directory check"), "{health}");
    assert_eq!(daemon.log().matches(&told).count(), 1, "{}", daemon.log());
    assert!(get(http, "/metrics").contains("\nduramend_damage_met_total 20\n"));
    let shown = client.search("cn=Damage,cn=Statistics,cn=monitor", Scope::Base, "(monitorCounter=20)").names;
    assert_eq!(shown.len(), 1);
    // What lies elsewhere is served.
    assert_eq!(client.search(SUFFIX, Scope::Base, "(dc=example)").code, ResultCode::SUCCESS);
    let file = fs::OpenOptions::new().write(true).open(daemon.path("data/directory.dm")).unwrap();
    file.write_all_at(&before, page * PAGE).unwrap();
    assert!(get(http, "/healthz").contains("503"), "nobody has said that it was mended");
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(client.search(SUFFIX, Scope::Subtree, "(sn=*number 3*)").code, ResultCode::SUCCESS);
    assert!(get(http, "/healthz").contains("200 OK"));
}

#[test]
fn no_update_is_made_while_the_data_file_is_not_where_it_was() {
    let (mut daemon, http) = start(tempfile::tempdir().unwrap());
    let mut client = Client::administrator(&daemon);
    client.populate(2);
    let [data, aside, copy] =
        ["data/directory.dm", "data/aside", "data/copy"].map(|name| daemon.path(name).to_str().unwrap().to_string());
    fs::copy(&data, &copy).unwrap();
    for (replaced, told) in [(false, "it was moved or removed"), (true, "another file stands in its place")] {
        fs::rename(&data, &aside).unwrap();
        if replaced {
            fs::copy(&copy, &data).unwrap();
        }
        wait_for_health(http, &daemon, told);
        let answer = client.replace(&person(0), "sn", "Other");
        assert_eq!(answer.code, ResultCode::UNWILLING_TO_PERFORM);
        assert!(answer.diagnostic.contains("as it would be lost") && answer.diagnostic.contains(told), "{answer:?}");
        assert_eq!(client.search(SUFFIX, Scope::Subtree, "(uid=*)").names.len(), 2, "it is served");
        assert_eq!(daemon.log().matches(told).count(), 1, "{}", daemon.log());
        fs::rename(&aside, &data).unwrap();
        daemon.wait_for("the files of the database are in their places again");
        wait_for_health(http, &daemon, "200 OK");
        assert_eq!(client.replace(&person(0), "sn", "Other").code, ResultCode::SUCCESS);
    }
    // Who opened the database now would not know of the daemon.
    fs::rename(daemon.path("data/directory.dm-lock"), &aside).unwrap();
    wait_for_health(http, &daemon, "the lock file of the database");
    assert_eq!(client.replace(&person(0), "sn", "X").code, ResultCode::UNWILLING_TO_PERFORM);
}

#[test]
fn a_lock_that_keeps_a_second_server_away_is_made_anew_when_it_was_removed() {
    let (mut daemon, http) = start(tempfile::tempdir().unwrap());
    let lock = daemon.path("data/duramend.lock");
    let number = fs::read_to_string(&lock).unwrap();
    fs::remove_file(&lock).unwrap();
    daemon.wait_for("it is made anew");
    assert_eq!(fs::read_to_string(&lock).unwrap(), number);
    let second =
        ["serve", "--data", daemon.path("data").to_str().unwrap(), "--listen", "127.0.0.1:0"].map(String::from);
    let (code, said) = run(&second.each_ref().map(String::as_str));
    assert!(code == Some(75) && said.contains("is in use by process"), "{said}");
    assert!(get(http, "/healthz").contains("200 OK"));
    // Another one that was faster has it.
    let other = fs::File::create(daemon.path("other")).unwrap();
    other.lock().unwrap();
    fs::rename(daemon.path("other"), &lock).unwrap();
    wait_for_health(http, &daemon, "duramend.lock was removed, and is not to be had again");
    drop(other);
    wait_for_health(http, &daemon, "200 OK");
}

#[test]
fn a_check_of_the_configuration_says_what_a_start_would_say_of_the_data() {
    let daemon = Daemon::plain();
    Client::administrator(&daemon).populate(1);
    let path = daemon.path("duramend.toml");
    let check = |text: &str| {
        fs::write(&path, text).unwrap();
        run(&["check-config", "--config", path.to_str().unwrap()])
    };
    let (code, said) = check(&configuration(PLAIN));
    assert!(code == Some(0), "{said}");
    let files = || -> Vec<_> {
        let files = fs::read_dir(daemon.path("data")).unwrap().map(|file| file.unwrap());
        files.map(|file| (file.file_name(), file.metadata().unwrap().modified().unwrap())).collect()
    };
    let before = files();
    let other =
        configuration(PLAIN).replace("suffixes = [\"dc=example,dc=com\"]", "suffixes = [\"dc=example,dc=org\"]");
    let (code, said) = check(&other);
    assert!(code == Some(78) && said.contains("\"dc=example,dc=com\" has entries: leave it among them"), "{said}");
    // What the data lacks has its place in the file.
    let unique =
        "[directory]\nunique = [\"description\"]\n[[index]]\nattribute = \"description\"\nkinds = [\"equality\"]\n";
    let unique = configuration(&format!("{PLAIN}{unique}"));
    let (code, said) = check(&unique);
    assert!(code == Some(78) && said.contains("duramend.toml:") && said.contains("description"), "{said}");
    let (mut before, mut after) = (before, files());
    before.sort();
    after.sort();
    let names = |files: &[(std::ffi::OsString, _)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    assert!(before.iter().zip(&after).all(|(before, after)| before.0 != "directory.dm" || before == after));
    // The same without a server; and data that cannot be read is no fault of the configuration's.
    let dir = daemon.kill();
    let path = dir.path().join("duramend.toml");
    fs::write(&path, &other).unwrap();
    let (code, said) = run(&["check-config", "--config", path.to_str().unwrap()]);
    assert!(code == Some(78) && said.contains("has entries"), "{said}");
    fs::write(dir.path().join("data/directory.dm"), "something else").unwrap();
    let (code, said) = run(&["check-config", "--config", path.to_str().unwrap()]);
    assert!(code == Some(0) && said.contains("whether the data goes with it is not known"), "{said}");
}
