//! A daemon that is a replica of two slapds which are providers of one suffix (`multiprovider on`): whichever it follows, it has
//! what both have.

use duramen_sim::port::free_port;

use super::consumer::{Consumer, change, change_all, content, numbers};
use super::copy::{folder, people, section, url, wait_for};
use super::cuts::random;
use super::line::{Line, Weather};
use super::provider::Slapd;
use super::shown::wait_for_provider;
use super::slapd::{names, random_changes};
use super::{Provider, TOP, person};
use crate::process::{ADMINISTRATOR, Daemon, PLAIN};

/// Two slapds, each of which follows the other one over a line.
pub struct Pair {
    pub slapds: [Slapd; 2],
    pub lines: [Line; 2],
}

impl Pair {
    pub fn start(log: &str) -> Pair {
        let ports = [free_port(), free_port()];
        let lines = [ports[1], ports[0]].map(|port| Line::to(port, 0));
        let slapds = [0, 1].map(|n: usize| slapd(n + 1, ports[n], &[lines[n].url()], log));
        Pair { slapds, lines }
    }

    /// Gives both this; then each follows the other one. What one changes before it is followed is told at once, in no order, and
    /// the other does not find through it if names have changed.
    fn fill(&self, ldif: &str) {
        let [one, other] = &self.slapds;
        change_all(&one.url(), ldif);
        self.wait();
        change_all(&other.url(), &modify("u1", "of the other"));
        self.wait();
    }

    /// Waits until both have the same.
    #[track_caller]
    pub fn wait(&self) {
        let [one, other] = &self.slapds;
        super::consumer::wait_for_same(&one.url(), &other.url(), &|| other.log());
    }
}

/// A slapd with this number, which follows others.
pub fn slapd(number: usize, port: u16, others: &[String], log: &str) -> Slapd {
    let (name, password) = ADMINISTRATOR;
    let follows: String = (1..)
        .zip(others)
        .map(|(rid, provider)| {
            format!(
                "syncrepl rid={rid:03} provider={provider} type=refreshAndPersist retry=\"1 +\" \
                 searchbase=\"dc=example,dc=com\" bindmethod=simple binddn=\"{name}\" credentials=\"{password}\"\n"
            )
        })
        .collect();
    let of_database = format!("index entryUUID,entryCSN eq\n{follows}multiprovider on\noverlay syncprov\n{log}\n");
    Slapd::start_at(port, &format!("moduleload syncprov\nserverID {number}\n"), &of_database)
}

fn modify(uid: &str, value: &str) -> String {
    format!(
        "dn: uid={uid},ou=people,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {value}\n\n"
    )
}

#[test]
fn a_replica_of_two_that_both_take_changes_has_those_of_both_whichever_it_follows() {
    for log in ["", "syncprov-sessionlog 100"] {
        let pair = Pair::start(log);
        let [one, other] = &pair.slapds;
        change_all(&one.url(), &format!("{TOP}{}", people(1..6)));
        pair.wait();
        let lines = [one, other].map(|slapd| Line::to(slapd.port, 0));
        let text = format!("{PLAIN}{}", section(&[&lines[0].url(), &lines[1].url()], ""));
        let mut daemon = Daemon::start(folder(), &text);
        wait_for(&daemon, &one.url());
        change_all(&other.url(), &modify("u1", "of the other"));
        change_all(&one.url(), &modify("u2", "of the one"));
        pair.wait();
        wait_for(&daemon, &one.url());
        assert_eq!(numbers(&url(&daemon)).len(), 2);
        // Nothing but what has changed is told by the other one.
        lines[0].turn(Weather::Closed);
        wait_for_provider(&daemon, &lines[1].url());
        assert_eq!(daemon.log().matches("put=0 deleted=0").count(), 1, "{}", daemon.log());
        change_all(&one.url(), &format!("{}{}", modify("u3", "of the one"), people(7..9)));
        change_all(&other.url(), "dn: uid=u4,ou=people,dc=example,dc=com\nchangetype: delete\n\n");
        pair.wait();
        wait_for(&daemon, &one.url());
        daemon = Daemon::start(daemon.kill(), &text);
        change_all(&one.url(), &modify("u5", "late"));
        pair.wait();
        wait_for(&daemon, &other.url());
        assert_eq!(
            daemon.log().matches("put=1 deleted=0").count() + daemon.log().matches("put=0 deleted=0").count(),
            1
        );
    }
}

#[test]
fn what_one_of_two_has_not_heard_of_yet_stays_when_it_is_followed() {
    for log in ["", "syncprov-sessionlog 100"] {
        let pair = Pair::start(log);
        let [one, other] = &pair.slapds;
        change_all(&one.url(), &format!("{TOP}{}", people(1..6)));
        change_all(&one.url(), &modify("u1", "first"));
        pair.wait();
        change_all(&other.url(), &modify("u2", "first"));
        pair.wait();
        let lines = [one, other].map(|slapd| Line::to(slapd.port, 0));
        let daemon = Daemon::start(folder(), &format!("{PLAIN}{}", section(&[&lines[0].url(), &lines[1].url()], "")));
        wait_for(&daemon, &one.url());
        pair.lines.iter().for_each(|line| line.turn(Weather::Closed));
        change_all(&one.url(), &format!("{}{}", modify("u1", "second"), person("uid=new,ou=people,dc=example,dc=com")));
        wait_for(&daemon, &one.url());
        let before = content(&url(&daemon));
        change_all(&other.url(), &modify("u3", "second"));
        lines[0].turn(Weather::Closed);
        wait_for_provider(&daemon, &lines[1].url());
        let after = content(&url(&daemon));
        assert_eq!(after.len(), before.len());
        let has = |text: &str| after.iter().filter(|entry| entry.contains(text)).count();
        assert_eq!((has("description: second"), has("uid=new")), (2, 1), "{after:#?}");
        pair.lines.iter().for_each(|line| line.turn(Weather::Fair));
        pair.wait();
        wait_for(&daemon, &other.url());
    }
}

#[test]
fn whatever_happens_copies_of_a_copy_of_two_have_what_both_have_wherever_they_ask() {
    let mut random = random();
    let pair = Pair::start(["", "syncprov-sessionlog 50"][random.usize(..2)]);
    let [one, other] = &pair.slapds;
    pair.fill(&format!("{TOP}{}", people(1..60)));
    let near = [one, other].map(|slapd| Line::to(slapd.port, random.u64(..)));
    let of_middle = section(&[&near[0].url(), &near[1].url()], "answer_seconds = 2");
    let mut middle = Provider::start_at(folder(), free_port(), &format!("changes = 60\n{of_middle}"));
    let far = [middle.port, other.port].map(|port| Line::to(port, random.u64(..)));
    let of_last = format!("{PLAIN}{}", section(&[&far[0].url(), &far[1].url()], "answer_seconds = 2"));
    let mut last = Daemon::start(folder(), &of_last);
    let mut consumer = Consumer::of(middle.port, "refreshAndPersist", "");
    consumer.start();
    for round in 0..6 {
        for line in near.iter().chain(&far) {
            line.turn([Weather::Fair, Weather::Foul, Weather::Closed][random.usize(..3)]);
        }
        match random.u8(..5) {
            0 => last = Daemon::start(last.kill(), &of_last),
            1 => middle = middle.killed(),
            2 => consumer.stop(),
            _ => consumer.restart(),
        }
        for slapd in [one, other] {
            change(&slapd.url(), &random_changes(&mut random, &names(&slapd.url()), 20));
            pair.wait();
        }
        if round % 3 == 2 {
            near.iter().chain(&far).for_each(|line| line.turn(Weather::Fair));
            consumer.restart();
            wait_for(&middle.daemon, &one.url());
            wait_for(&last, &one.url());
            consumer.wait_for(&one.url());
        }
    }
}

#[test]
fn whatever_two_do_a_replica_of_either_has_what_they_have() {
    let mut random = random();
    let pair = Pair::start(["", "syncprov-sessionlog 50"][random.usize(..2)]);
    let [one, other] = &pair.slapds;
    pair.fill(&format!("{TOP}{}", people(1..6)));
    let lines = [one, other].map(|slapd| Line::to(slapd.port, random.u64(..)));
    let text = format!("{PLAIN}{}", section(&[&lines[0].url(), &lines[1].url()], "answer_seconds = 2"));
    let mut daemon = Daemon::start(folder(), &text);
    for _ in 0..8 {
        for line in &lines {
            line.turn([Weather::Fair, Weather::Foul, Weather::Closed][random.usize(..3)]);
        }
        if random.u8(..4) == 0 {
            daemon = Daemon::start(daemon.kill(), &text);
        }
        // Both change, one after the other: of what they change at once slapds do not always make the same.
        for slapd in [one, other] {
            change(&slapd.url(), &random_changes(&mut random, &names(&slapd.url()), 20));
            pair.wait();
        }
    }
    lines.iter().for_each(|line| line.turn(Weather::Fair));
    wait_for(&daemon, &one.url());
}
