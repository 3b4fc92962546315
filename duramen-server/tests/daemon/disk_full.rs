//! A disk that is really full: a small filesystem in memory, and where mounting is not permitted (and elsewhere too), a
//! limit of the length of files.

use std::path::Path;
use std::process::Command;

use duramen_ldap::message::{ResultCode, Scope};
use duramen_sim::mount::Mount;

use crate::client::{Answer, Client, person};
use crate::process::{ADMINISTRATOR, Daemon, PLAIN, configuration, configuration_of};

const WRITERS: usize = 3;
const SUFFIX: &str = "dc=example,dc=com";

/// Adds people until one is refused; numbers of those that were added, and the refusal.
fn fill(mut client: Client, first: usize) -> (Vec<usize>, Answer) {
    let mut added = Vec::new();
    for number in (first..).step_by(WRITERS) {
        let answer = client.add_long_person(number);
        if answer.code != ResultCode::SUCCESS {
            return (added, answer);
        }
        added.push(number);
        assert!(added.len() < 10_000, "the disk does not fill");
    }
    unreachable!("the numbers have no end")
}

/// What a full disk, and a limit, is told of by.
const FULL: &str = "the disk with the data is full, so nothing of this was stored; as soon as there is room, it can be";
const LIMITED: &str = "the data file is as long as the process may make one";

/// Several clients at once, so that commits are shared, until they are refused with these words.
fn fill_together(daemon: &Daemon, first: usize, refused: &str) -> Vec<usize> {
    let outcomes = std::thread::scope(|scope| {
        let clients = (0..WRITERS).map(|n| (first + n, Client::administrator(daemon)));
        let writers: Vec<_> = clients.map(|(n, client)| scope.spawn(move || fill(client, n))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    let mut added = Vec::new();
    for (numbers, refusal) in outcomes {
        assert_eq!(refusal.code, ResultCode::UNWILLING_TO_PERFORM, "{refusal:?}");
        assert!(refusal.diagnostic.contains(refused), "{refusal:?}");
        added.extend(numbers);
    }
    added
}

/// That exactly what was acknowledged is there, and that reads and binds go on.
fn assert_served(daemon: &Daemon, added: &[usize], when: &str) {
    let mut client = Client::new(daemon);
    assert_eq!(client.bind(ADMINISTRATOR.0, ADMINISTRATOR.1).code, ResultCode::SUCCESS, "{when}");
    let mut wanted: Vec<_> = added.iter().map(|&number| person(number)).collect();
    let mut found = client.search(SUFFIX, Scope::Subtree, "(uid=*)").names;
    wanted.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, wanted, "{when}");
    let last = added[added.len() - 1];
    assert_eq!(client.bind(&person(last), &format!("secret-{last}")).code, ResultCode::SUCCESS, "{when}");
}

/// What `duramen check` and `duramen directory check` look at.
fn assert_whole(data: &Path) {
    let directory = duramen_directory::Directory::open(data, duramen_directory::Config::default()).unwrap();
    assert_eq!(directory.database().check(|_, _| {}).unwrap().findings, Vec::<String>::new());
    let mut problems = Vec::new();
    directory.check(&mut |problem| problems.push(problem), &mut |_, _| {}).unwrap();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn on_a_full_disk_updates_are_refused_until_there_is_room_and_all_else_goes_on() {
    let Some(mount) = Mount::tmpfs(24) else {
        eprintln!("NOT TESTED on tmpfs: mounting is not permitted here (the limit of a file's length is tested)");
        return;
    };
    let (data, ballast) = (mount.point().join("data"), mount.point().join("ballast"));
    std::fs::write(&ballast, vec![0; 12 << 20]).unwrap();
    let mut daemon = Daemon::start_by(
        Command::new(env!("CARGO_BIN_EXE_duramend")),
        tempfile::tempdir().unwrap(),
        &configuration_of(&data, PLAIN),
    );
    Client::administrator(&daemon).populate(0);
    let mut added = fill_together(&daemon, 0, FULL);
    assert!(added.len() > 20, "only {} fit", added.len());
    assert_served(&daemon, &added, "on the full disk");
    assert!(daemon.log().contains(FULL), "{}", daemon.log());
    added.extend(fill_together(&daemon, 100_000, FULL));
    assert_served(&daemon, &added, "on the full disk, after another attempt");

    std::fs::remove_file(&ballast).unwrap();
    let more = fill_together(&daemon, 200_000, FULL);
    assert!(more.len() > 20, "only {} more fit when there was room", more.len());
    added.extend(more);
    assert_served(&daemon, &added, "full again");

    let mut client = Client::administrator(&daemon);
    let gone = added.split_off(added.len() / 2);
    for number in gone {
        let answer = client.delete(&person(number));
        assert_eq!(answer.code, ResultCode::SUCCESS, "deleting makes room: {answer:?}");
    }
    let more = fill_together(&daemon, 300_000, FULL);
    assert!(more.len() > 20, "only {} more fit after some were deleted", more.len());
    added.extend(more);
    assert_served(&daemon, &added, "full again after some were deleted");
    daemon.signal("TERM");
    assert!(daemon.ended().success(), "{}", daemon.log());
    assert_whole(&data);
}

#[test]
fn a_limit_of_the_length_of_files_is_met_like_a_full_disk() {
    let mut command = Command::new("sh");
    // In units of 512 bytes.
    command.args(["-c", "ulimit -f 16384; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_duramend")]);
    let mut daemon = Daemon::start_by(command, tempfile::tempdir().unwrap(), &configuration(PLAIN));
    Client::administrator(&daemon).populate(0);
    let mut added = fill_together(&daemon, 0, LIMITED);
    assert!(added.len() > 20, "only {} fit", added.len());
    assert_served(&daemon, &added, "at the limit");
    assert!(daemon.log().contains(LIMITED), "{}", daemon.log());
    let mut client = Client::administrator(&daemon);
    for number in added.split_off(added.len() / 2) {
        let answer = client.delete(&person(number));
        assert_eq!(answer.code, ResultCode::SUCCESS, "deleting {number} makes room: {answer:?}\n{}", daemon.log());
    }
    added.extend(fill_together(&daemon, 100_000, LIMITED));
    assert_served(&daemon, &added, "at the limit again");
    daemon.signal("TERM");
    assert!(daemon.ended().success(), "{}", daemon.log());
    assert_whole(&daemon.path("data"));
}
