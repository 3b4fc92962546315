//! A replica of which several servers are providers: who is asked when one of them is not there, comes back, or is behind.

use std::fs;

use super::consumer::{change_all, content, number};
use super::copy::{folder, people, section, url, wait_for};
use super::line::{Line, Weather};
use super::provider::Slapd;
use super::shown::wait_for_provider;
use super::{Provider, TOP};
use crate::process::{Daemon, PLAIN};

/// A replica with a line to each of these ports, the first of which is not there yet, and a longest pause of so many seconds.
fn replica(ports: [u16; 2], retry_seconds: u32) -> (Daemon, [Line; 2]) {
    let lines = ports.map(|port| Line::to(port, 0));
    lines[0].turn(Weather::Closed);
    let text = section(&[&lines[0].url(), &lines[1].url()], "");
    let text = text.replace("retry_seconds = 1\n", &format!("retry_seconds = {retry_seconds}\n"));
    (Daemon::start(folder(), &format!("{PLAIN}{text}")), lines)
}

/// A daemon with what another one has, of which it is a replica, and the line between them.
fn mirror(provider: &Provider) -> (Provider, Line) {
    let line = Line::to(provider.port, 0);
    let mirror =
        Provider::start_at(folder(), duramen_sim::port::free_port(), &section(&[&line.url()], "answer_seconds = 2"));
    wait_for(&mirror.daemon, &provider.url());
    (mirror, line)
}

/// A provider and one that is behind it, and a replica that follows the first.
struct Lagging {
    ahead: Provider,
    behind: Provider,
    between: Line,
    daemon: Daemon,
    to_behind: Line,
    to_ahead: Line,
}

/// `retry_seconds`: of the replica.
fn lagging(retry_seconds: u32) -> Lagging {
    let ahead = Provider::start("");
    change_all(&ahead.url(), &format!("{TOP}{}", people(1..4)));
    let (behind, between) = mirror(&ahead);
    let (daemon, [to_behind, to_ahead]) = replica([behind.port, ahead.port], retry_seconds);
    wait_for_provider(&daemon, &to_ahead.url());
    between.turn(Weather::Silent);
    change_all(&ahead.url(), &people(4..6));
    Lagging { ahead, behind, between, daemon, to_behind, to_ahead }
}

#[test]
fn the_next_is_asked_while_the_first_is_not_there_and_the_first_again_once_the_next_is_lost() {
    let first = Provider::start("");
    change_all(&first.url(), &format!("{TOP}{}", people(1..4)));
    let (next, _between) = mirror(&first);
    let (daemon, [to_first, to_next]) = replica([first.port, next.port], 1);
    wait_for_provider(&daemon, &to_next.url());
    // That the first is there again is no reason to leave the next.
    to_first.turn(Weather::Fair);
    change_all(&first.url(), &people(4..6));
    wait_for(&daemon, &first.url());
    assert_eq!(to_first.made(), 0);
    to_next.turn(Weather::Closed);
    wait_for_provider(&daemon, &to_first.url());
    change_all(&first.url(), &people(6..8));
    wait_for(&daemon, &first.url());
    // It was never anything but what had changed since that was told.
    assert_eq!(daemon.log().matches("deleted=0").count(), daemon.log().matches("and follows it").count());
    assert_eq!(daemon.log().matches("put=0").count(), 1, "{}", daemon.log());
}

#[test]
fn who_is_behind_is_not_copied_while_another_may_come_back_and_is_followed_once_he_has_caught_up() {
    let Lagging { ahead, behind, between, mut daemon, to_behind, to_ahead } = lagging(60);
    wait_for(&daemon, &ahead.url());
    to_behind.turn(Weather::Fair);
    to_ahead.turn(Weather::Closed);
    daemon.wait_for("it does not know the change that the copy is as of");
    assert_eq!((content(&url(&daemon)), number(&url(&daemon))), (content(&ahead.url()), number(&ahead.url())));
    to_ahead.turn(Weather::Fair);
    wait_for_provider(&daemon, &to_ahead.url());
    between.turn(Weather::Fair);
    wait_for(&behind.daemon, &ahead.url());
    to_ahead.turn(Weather::Closed);
    wait_for_provider(&daemon, &to_behind.url());
    assert_eq!(daemon.log().matches("asked for all").count(), 0, "{}", daemon.log());
}

#[test]
fn who_is_behind_is_copied_where_nobody_else_has_been_there_for_long() {
    let Lagging { behind, daemon, to_behind, to_ahead, ahead, between: _between } = lagging(2);
    wait_for(&daemon, &ahead.url());
    to_behind.turn(Weather::Fair);
    to_ahead.turn(Weather::Closed);
    wait_for(&daemon, &behind.url());
    assert_eq!(content(&url(&daemon)).len(), 5);
}

#[test]
fn a_slapd_that_is_behind_is_not_copied() {
    let mut ahead = Slapd::start("");
    change_all(&ahead.url(), &format!("{TOP}{}", people(1..4)));
    let mut behind = Slapd::start("");
    behind.kill();
    ahead.kill();
    for file in fs::read_dir(ahead.dir.path().join("db")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), behind.dir.path().join("db").join(file.file_name())).unwrap();
    }
    ahead.restart();
    behind.restart();
    let (mut daemon, [to_behind, to_ahead]) = replica([behind.port, ahead.port], 1);
    wait_for_provider(&daemon, &to_ahead.url());
    change_all(&ahead.url(), &people(4..6));
    wait_for(&daemon, &ahead.url());
    to_behind.turn(Weather::Fair);
    to_ahead.turn(Weather::Closed);
    daemon.wait_for("consumer state is newer than provider");
    assert_eq!((content(&url(&daemon)), number(&url(&daemon))), (content(&ahead.url()), number(&ahead.url())));
    to_ahead.turn(Weather::Fair);
    wait_for_provider(&daemon, &to_ahead.url());
}
