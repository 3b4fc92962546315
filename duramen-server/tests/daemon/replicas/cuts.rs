//! A daemon that is a replica over a line that cuts connections at any byte, carries nothing any more, is slow, or is not there:
//! in the end it has what the provider has.

use std::time::Duration;

use duramen_sim::port::free_port;
use tempfile::TempDir;

use super::consumer::{change, change_all};
use super::copy::{folder, people, section, wait_for};
use super::line::{Line, Weather};
use super::provider::Slapd;
use super::slapd::{names, random_changes};
use super::{Provider, TOP};
use crate::process::{Daemon, PLAIN};

/// A replica that does not wait long, with this in its section.
fn start(dir: TempDir, providers: &[&str]) -> Daemon {
    Daemon::start(dir, &format!("{PLAIN}{}", section(providers, "answer_seconds = 2")))
}

/// Who has what is copied, and can be killed.
enum Origin {
    Slapd(Slapd),
    Daemon(Option<Provider>),
}

impl Origin {
    fn slapd(random: &mut fastrand::Rng) -> Origin {
        Origin::Slapd(Slapd::start(["", "syncprov-sessionlog 50"][random.usize(..2)]))
    }

    fn daemon() -> Origin {
        Origin::Daemon(Some(Provider::start("changes = 60\n")))
    }

    fn port(&self) -> u16 {
        match self {
            Origin::Slapd(slapd) => slapd.port,
            Origin::Daemon(provider) => provider.as_ref().unwrap().port,
        }
    }

    fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port())
    }

    /// Kills it, and starts it again.
    fn killed(&mut self) {
        match self {
            Origin::Slapd(slapd) => {
                slapd.kill();
                slapd.restart();
            }
            Origin::Daemon(provider) => *provider = provider.take().map(Provider::killed),
        }
    }
}

/// By the seed that is said, or another.
pub fn random() -> fastrand::Rng {
    let seed = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("DURAMEN_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// Changes at random while the lines are as they are, and all are killed now and then: a provider, a replica of it, and a replica
/// of either.
fn whatever_happens(mut origin: Origin, random: &mut fastrand::Rng) {
    let provider = origin.url();
    change_all(&provider, &format!("{TOP}{}", people(1..200)));
    let near = Line::to(origin.port(), random.u64(..));
    let of_middle = format!("changes = 200\n{}", section(&[&near.url()], "answer_seconds = 2"));
    let mut middle = Provider::start_at(folder(), free_port(), &of_middle);
    let far = Line::to(middle.port, random.u64(..));
    let direct = Line::to(origin.port(), random.u64(..));
    let mut providers = vec![far.url(), direct.url()];
    providers.truncate(random.usize(1..3));
    let providers: Vec<&str> = providers.iter().map(String::as_str).collect();
    let mut last = start(folder(), &providers);
    for round in 0..6 {
        for line in [&near, &far, &direct] {
            line.turn([Weather::Foul, Weather::Foul, Weather::Foul, Weather::Closed, Weather::Fair][random.usize(..5)]);
        }
        match random.u8(..8) {
            0 => last = start(last.kill(), &providers),
            1 => middle = middle.killed(),
            2 => origin.killed(),
            _ => {}
        }
        for _ in 0..random.usize(1..5) {
            change(&provider, &random_changes(random, &names(&provider), 30));
            std::thread::sleep(Duration::from_millis(random.u64(..600)));
        }
        if round % 3 == 2 {
            [&near, &far, &direct].into_iter().for_each(|line| line.turn(Weather::Fair));
            wait_for(&middle.daemon, &provider);
            wait_for(&last, &provider);
        }
    }
    check(last);
}

/// That what a replica has kept fits together.
pub fn check(daemon: Daemon) {
    let folder = daemon.kill();
    let directory = duramen_directory::Directory::open(folder.path().join("data"), Default::default()).unwrap();
    let mut problems = Vec::new();
    directory.check(&mut |problem| problems.push(problem), &mut |_, _| {}).unwrap();
    assert_eq!(problems, [""; 0]);
}

#[test]
fn whatever_happens_on_the_way_a_replica_of_slapd_ends_with_what_there_is() {
    let mut random = random();
    whatever_happens(Origin::slapd(&mut random), &mut random);
}

#[test]
fn whatever_happens_on_the_way_a_replica_of_a_daemon_ends_with_what_there_is() {
    whatever_happens(Origin::daemon(), &mut random());
}

#[test]
fn a_connection_on_which_nothing_comes_any_more_is_given_up_and_made_anew() {
    let mut provider = Provider::start("[log]\nstats = true\n");
    change_all(&provider.url(), &format!("{TOP}{}", people(1..5)));
    let line = Line::to(provider.port, 0);
    let mut daemon = start(folder(), &[&line.url()]);
    wait_for(&daemon, &provider.url());
    // Who is asked, and answers, is heard on.
    let made = line.made();
    provider.daemon.wait_for("SRCH base=\"\" scope=0");
    change_all(&provider.url(), &people(10..12));
    wait_for(&daemon, &provider.url());
    assert_eq!(line.made(), made);
    line.turn(Weather::Silent);
    change_all(&provider.url(), &people(12..14));
    daemon.wait_for("has not answered within 2 seconds whether it is there");
    daemon.wait_for("bind: no answer within 2 seconds");
    line.turn(Weather::Fair);
    wait_for(&daemon, &provider.url());
}
