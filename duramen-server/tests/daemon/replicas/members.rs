//! Daemons that take changes of one suffix together (`takes_changes`): whatever happens to the lines between them, and to them, nothing
//! that was acknowledged is lost, and all end with the same.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use duramen_directory::{Config, Directory};
use duramen_sim::port::free_port;
use tempfile::TempDir;

use super::consumer::{Consumer, change, change_all, content, numbers, wait_for_same};
use super::copy::{folder, people, section, url, wait_for};
use super::cuts::{check, random};
use super::line::{Line, Weather};
use super::provider::Slapd;
use super::slapd::{names, random_changes};
use super::{Provider, TOP, person};
use crate::life::get;
use crate::process::{ADMINISTRATOR, Daemon, PLAIN};

/// Members, each of which follows all others over lines.
struct Group {
    members: Vec<Option<Provider>>,
    /// From whom, to whom.
    lines: Vec<(usize, usize, Line)>,
}

fn start(dir: TempDir, number: usize, port: u16, others: &[&str]) -> Provider {
    let more = format!("takes_changes = true\nserver_id = {number}\nanswer_seconds = 2");
    Provider::start_at(dir, port, &section(others, &more))
}

impl Group {
    fn start(count: usize, random: &mut fastrand::Rng) -> Group {
        let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let mut lines = Vec::new();
        for (from, port) in ports.iter().enumerate() {
            for to in (0..count).filter(|to| *to != from) {
                lines.push((from, to, Line::to(*port, random.u64(..))));
            }
        }
        let members = (0..count).map(|n| Some(start(folder(), n + 1, ports[n], &urls(&lines, n)))).collect();
        Group { members, lines }
    }

    fn pair() -> Group {
        Group::start(2, &mut fastrand::Rng::with_seed(0))
    }

    fn member(&self, n: usize) -> &Provider {
        self.members[n].as_ref().unwrap()
    }

    fn url(&self, n: usize) -> String {
        self.member(n).url()
    }

    fn turn(&self, weather: Weather) {
        self.lines.iter().for_each(|(.., line)| line.turn(weather));
    }

    /// Kills one, and starts it again.
    fn kill(&mut self, n: usize) {
        self.members[n] = self.members[n].take().map(Provider::killed);
    }

    /// Waits until all have the same.
    #[track_caller]
    fn wait(&self) {
        for n in 1..self.members.len() {
            wait_for_same(&self.url(0), &self.url(n), &|| {
                format!("{}\nand the first one\n{}", self.member(n).daemon.log(), self.member(0).daemon.log())
            });
        }
    }

    /// Two that have the same people.
    fn filled() -> Group {
        let group = Group::pair();
        change_all(&group.url(0), &format!("{TOP}{}", people(1..6)));
        group.wait();
        group
    }
}

fn urls(lines: &[(usize, usize, Line)], to: usize) -> Vec<&'static str> {
    let of = lines.iter().filter(|(_, other, _)| *other == to);
    of.map(|(.., line)| &*line.url().leak()).collect()
}

fn describe(uid: &str, value: &str) -> String {
    format!(
        "dn: uid={uid},ou=people,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {value}\n\n"
    )
}

fn delete(uid: &str) -> String {
    format!("dn: uid={uid},ou=people,dc=example,dc=com\nchangetype: delete\n\n")
}

fn has(url: &str, text: &str) -> usize {
    content(url).iter().filter(|entry| entry.contains(text)).count()
}

#[test]
fn what_is_changed_at_either_is_at_both_and_what_was_changed_while_they_were_cut_off_too() {
    let group = Group::filled();
    let (one, other) = (group.url(0), group.url(1));
    change_all(&other, &describe("u1", "of the other"));
    change_all(&one, &describe("u2", "of the one"));
    group.wait();
    assert_eq!(numbers(&one).len(), 2, "one of each");
    group.turn(Weather::Closed);
    // The later change of an entry counts, and so does what was deleted later.
    change_all(
        &one,
        &[describe("u1", "early"), describe("u3", "lost"), person("uid=a,ou=people,dc=example,dc=com")].concat(),
    );
    change_all(&other, &[describe("u1", "late"), delete("u3"), person("uid=b,ou=people,dc=example,dc=com")].concat());
    change_all(&other, &delete("u4"));
    change_all(&one, &describe("u4", "alive"));
    group.turn(Weather::Fair);
    group.wait();
    let seen = ["description: late", "uid=u3", "description: alive", "uid=a,", "uid=b,"].map(|text| has(&one, text));
    assert_eq!(seen, [1, 0, 1, 1, 1]);
}

#[test]
fn of_two_with_one_name_both_are_kept_and_what_something_was_put_below_stays() {
    let group = Group::filled();
    let (one, other) = (group.url(0), group.url(1));
    let unit = |name: &str| {
        format!("dn: ou={name},dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\nou: {name}\n\n")
    };
    change_all(&one, &unit("old"));
    group.wait();
    group.turn(Weather::Closed);
    change_all(
        &one,
        &[person("uid=new,ou=people,dc=example,dc=com"), "dn: ou=old,dc=example,dc=com\nchangetype: delete\n\n".into()]
            .concat(),
    );
    change_all(
        &other,
        &[person("uid=new,ou=people,dc=example,dc=com"), person("uid=x,ou=old,dc=example,dc=com")].concat(),
    );
    group.turn(Weather::Fair);
    group.wait();
    assert_eq!(
        [has(&one, "dn: uid=new,"), has(&one, "dn: uid=new+entryUUID="), has(&one, "dn: uid=x,ou=old,")],
        [1, 1, 1]
    );
    let logs = [0, 1].map(|n| group.member(n).daemon.log()).concat();
    assert!(logs.contains("two entries are called") && logs.contains("something was put below it meanwhile"), "{logs}");
    // The one that has got another name is renamed by whoever knows what it is to be called.
    let name = names(&one).into_iter().find(|name| name.starts_with("uid=new+")).unwrap();
    change_all(&other, &format!("dn: {name}\nchangetype: modrdn\nnewrdn: uid=newer\ndeleteoldrdn: 1\n\n"));
    group.wait();
    assert_eq!(has(&one, "dn: uid=newer,ou=people"), 1);
}

#[test]
fn whatever_was_acknowledged_by_one_that_is_killed_is_at_both() {
    let mut group = Group::filled();
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let victim = round % 2;
        let (writer, name) = (group.url(victim), ADMINISTRATOR.0);
        let dir = tempfile::tempdir().unwrap();
        let (changes, log) = (dir.path().join("changes"), dir.path().join("log"));
        fs::write(&changes, people(100 + round * 1000..100 + round * 1000 + 900)).unwrap();
        let mut command = Command::new("ldapmodify");
        command.args(["-x", "-v", "-H", &writer, "-D", name, "-w", ADMINISTRATOR.1, "-f"]).arg(&changes);
        let out = File::create(&log).unwrap();
        let mut child = command.stdout(out).stderr(Stdio::null()).spawn().unwrap();
        let said = || fs::read_to_string(&log).unwrap();
        while said().matches("modify complete").count() < 10 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        group.kill(victim);
        let _ = child.wait();
        let said = said();
        // What a line follows was answered.
        let added: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("adding new entry \"")).collect();
        let answered = said.matches("modify complete").count();
        acknowledged.extend(added.iter().take(answered).map(|name| name.trim_end_matches('"').to_string()));
    }
    group.wait();
    let there = names(&group.url(0));
    let lost: Vec<&String> = acknowledged.iter().filter(|name| !there.contains(name)).collect();
    assert!(lost.is_empty() && acknowledged.len() > 20, "{} acknowledged, lost: {lost:?}", acknowledged.len());
}

#[test]
fn who_is_given_back_yesterdays_data_hears_again_of_what_it_has_lost() {
    let mut group = Group::filled();
    let backup = tempfile::tempdir().unwrap();
    let file = backup.path().join("directory.dm");
    let copy = |group: &Group| {
        let data = group.member(0).daemon.path("data");
        let directory = Directory::open(data, Config { read_only: true, ..Config::default() }).unwrap();
        directory.database().copy_to_file(&File::create(&file).unwrap()).unwrap();
    };
    copy(&group);
    change_all(&group.url(0), &[people(10..20), describe("u1", "today"), delete("u2")].concat());
    change_all(&group.url(1), &[describe("u3", "of the other"), delete("u4")].concat());
    group.wait();
    let before = content(&group.url(1));
    group.turn(Weather::Closed);
    let member = group.members[0].take().unwrap();
    let (port, dir) = (member.port, member.daemon.kill());
    fs::remove_dir_all(dir.path().join("data")).unwrap();
    fs::create_dir(dir.path().join("data")).unwrap();
    fs::copy(&file, dir.path().join("data/directory.dm")).unwrap();
    group.members[0] = Some(start(dir, 1, port, &urls(&group.lines, 0)));
    // It goes on before it has heard anybody.
    change_all(&group.url(0), &person("uid=after,ou=people,dc=example,dc=com"));
    group.turn(Weather::Fair);
    group.wait();
    let after: Vec<String> = content(&group.url(0)).into_iter().filter(|entry| !entry.contains("uid=after,")).collect();
    assert_eq!(after, before);
}

#[test]
fn a_member_that_comes_later_or_takes_the_place_of_one_has_all() {
    // One that was alone begins to take changes together with others.
    let alone = Provider::start("");
    change_all(&alone.url(), &format!("{TOP}{}", people(1..30)));
    let (port, dir) = (alone.port, alone.daemon.kill());
    fs::write(dir.path().join("password"), ADMINISTRATOR.1).unwrap();
    let other = free_port();
    let url_of = |port: u16| format!("ldap://127.0.0.1:{port}");
    let one = start(dir, 1, port, &[&url_of(other)]);
    let health = |provider: &Provider| provider.daemon.log();
    change_all(&one.url(), &person("uid=early,ou=people,dc=example,dc=com"));
    let two = start(folder(), 2, other, &[&url_of(port)]);
    wait_for_same(&one.url(), &two.url(), &|| health(&two));
    change_all(&two.url(), &describe("u1", "of two"));
    change_all(&one.url(), &delete("u2"));
    wait_for_same(&two.url(), &one.url(), &|| health(&one));
    // Its machine is lost; another one with the same number begins with nothing.
    drop(two);
    change_all(&one.url(), &delete("u3"));
    let two = start(folder(), 2, other, &[&url_of(port)]);
    wait_for_same(&one.url(), &two.url(), &|| health(&two));
    change_all(&two.url(), &describe("u4", "of the new one"));
    wait_for_same(&two.url(), &one.url(), &|| health(&one));
    assert_eq!([has(&one.url(), "of two"), has(&one.url(), "of the new one"), has(&one.url(), "uid=u3,")], [1, 1, 0]);
}

#[test]
fn replicas_and_consumers_of_members_have_what_these_have_whichever_they_follow() {
    let mut group = Group::filled();
    let slapd = {
        let mut slapd = Consumer::of(group.member(0).port, "refreshAndPersist", "");
        slapd.start();
        slapd
    };
    let lines = [0, 1].map(|n| Line::to(group.member(n).port, 0));
    let of_both = format!("{PLAIN}{}", section(&[&lines[0].url(), &lines[1].url()], ""));
    let replica = Daemon::start(folder(), &of_both);
    change_all(&group.url(1), &describe("u1", "of the other"));
    group.wait();
    wait_for(&replica, &group.url(0));
    slapd.wait_for(&group.url(0));
    change_all(&group.url(0), &[describe("u2", "of the one"), delete("u3")].concat());
    lines[0].turn(Weather::Closed);
    change_all(&group.url(1), &[describe("u4", "late"), delete("u5")].concat());
    group.wait();
    wait_for(&replica, &group.url(1));
    slapd.wait_for(&group.url(1));
    assert_eq!(content(&url(&replica)), content(&group.url(0)));
    group.kill(0);
    change_all(&group.url(0), &person("uid=new,ou=people,dc=example,dc=com"));
    group.wait();
    wait_for(&replica, &group.url(0));
    slapd.wait_for(&group.url(0));
}

#[test]
fn whom_it_cannot_take_changes_together_with_the_log_says_why() {
    let with = |number: usize, provider: &str| start(folder(), number, free_port(), &[provider]);
    let slapd = Slapd::start("");
    change_all(&slapd.url(), TOP);
    with(1, &slapd.url()).daemon.wait_for("it has to be a duramend with `takes_changes` too");
    let plain = Provider::start("");
    change_all(&plain.url(), TOP);
    with(1, &plain.url()).daemon.wait_for("this server takes no changes together with others");
}

#[test]
fn two_that_have_one_number_and_do_not_follow_each_other_are_told_of_and_lose_nothing() {
    let ports = [0; 3].map(|_| free_port());
    let url_of = |n: usize| format!("ldap://127.0.0.1:{}", ports[n]);
    let others = [vec![url_of(1)], vec![url_of(0), url_of(2)], vec![url_of(1)]];
    let pages = [0; 3].map(|_| SocketAddr::from(([127, 0, 0, 1], free_port())));
    let starts = |n: usize, dir: TempDir, number: usize| {
        let providers: Vec<&str> = others[n].iter().map(String::as_str).collect();
        let more = section(&providers, &format!("takes_changes = true\nserver_id = {number}"));
        Provider::start_at(dir, ports[n], &format!("{more}[http]\nlisten = \"{}\"\n", pages[n]))
    };
    let [one, middle] = [(0, 7), (1, 8)].map(|(n, number)| starts(n, folder(), number));
    change_all(&one.url(), &format!("{TOP}{}", people(1..4)));
    let mut all = [one, middle, starts(2, folder(), 7)];
    for n in [1, 2] {
        wait_for_same(&all[0].url(), &all[n].url(), &|| all[n].daemon.log());
    }
    let started = std::time::Instant::now();
    let follows = |n: usize| all[n].daemon.log().matches("and follows it").count();
    while [(0, 1), (1, 2), (2, 1)].into_iter().any(|(n, wanted)| follows(n) < wanted) {
        assert!(started.elapsed() < Duration::from_secs(60), "{}", all[1].daemon.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Each changes something that the others do not.
    change_all(&all[0].url(), &people(10..12));
    change_all(&all[2].url(), &[people(20..22), delete("u1")].concat());
    let is_told = |n: usize| get(pages[n], "/healthz").contains("another server has the number 7 (`server_id`)");
    while !is_told(0) && !is_told(2) {
        assert!(started.elapsed() < Duration::from_secs(60), "{}{}", all[0].daemon.log(), all[2].daemon.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_told(1), "which has a number of its own");
    let told = [0, 2].map(|n| all[n].daemon.log()).concat();
    assert!(told.contains("which was not made here. Give one of the two a number of its own"), "{told}");
    // What else happens until somebody looks at it.
    change_all(&all[0].url(), &people(30..32));
    change_all(&all[2].url(), &people(40..42));
    // The last gets another number, and the first is told to go on.
    let [one, middle, last] = all;
    one.daemon.signal("HUP");
    all = [one, middle, starts(2, last.daemon.kill(), 9)];
    for n in [1, 2] {
        wait_for_same(&all[0].url(), &all[n].url(), &|| all[n].daemon.log());
    }
    assert_eq!(names(&all[1].url()).len(), 2 + 2 + 4 * 2, "{:?}", names(&all[1].url()));
    assert!([0, 1, 2].iter().all(|n| get(pages[*n], "/healthz").contains("200 OK")));
}

#[test]
fn who_follows_one_with_the_same_number_or_itself_is_told_why_it_does_not() {
    let port = free_port();
    let itself = start(folder(), 7, port, &[&format!("ldap://127.0.0.1:{port}")]);
    change_all(&itself.url(), TOP);
    let mut daemon = itself.daemon;
    daemon.wait_for("take its own URL out of `providers`");
    let one = start(folder(), 8, free_port(), &["ldap://127.0.0.1:1"]);
    change_all(&one.url(), TOP);
    let page = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more =
        format!("{}[http]\nlisten = \"{page}\"\n", section(&[&one.url()], "takes_changes = true\nserver_id = 8"));
    let mut other = Provider::start_at(folder(), free_port(), &more).daemon;
    other.wait_for("both servers have the number 8");
    assert!(get(page, "/healthz").contains("both servers have the number 8"));
    assert!(one.daemon.log().contains("both servers have the number 8"), "who is asked says it, too");
}

#[test]
fn a_new_member_is_no_place_to_ask_before_it_has_heard_another_one() {
    let page = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = format!(
        "{}\n[http]\nlisten = \"{page}\"\n",
        section(&["ldap://127.0.0.1:1"], "takes_changes = true\nserver_id = 1")
    );
    let mut daemon = Daemon::start(folder(), &format!("{PLAIN}[sync]\n{more}"));
    daemon.wait_for("is not brought up to date at the moment");
    assert!(get(page, "/healthz").contains("not complete yet"));
}

/// Changes at random at all, while lines are as they are, and members are killed now and then.
fn whatever_happens(count: usize) {
    let mut random = random();
    let mut group = Group::start(count, &mut random);
    change_all(&group.url(0), &format!("{TOP}{}", people(1..50)));
    group.wait();
    for round in 0..6 {
        for (.., line) in &group.lines {
            line.turn(
                [Weather::Foul, Weather::Foul, Weather::Closed, Weather::Closed, Weather::Fair][random.usize(..5)],
            );
        }
        if random.u8(..3) == 0 {
            group.kill(random.usize(..count));
        }
        for _ in 0..random.usize(1..5) {
            let url = group.url(random.usize(..count));
            change(&url, &random_changes(&mut random, &names(&url), 20));
            std::thread::sleep(Duration::from_millis(random.u64(..300)));
        }
        if round % 3 == 2 {
            group.turn(Weather::Fair);
            group.wait();
        }
    }
    group.members.into_iter().flatten().for_each(|member| check(member.daemon));
}

#[test]
fn whatever_is_changed_at_two_that_are_cut_off_and_killed_they_end_with_the_same() {
    whatever_happens(2);
}

#[test]
fn whatever_is_changed_at_three_that_are_cut_off_and_killed_they_end_with_the_same() {
    whatever_happens(3);
}
