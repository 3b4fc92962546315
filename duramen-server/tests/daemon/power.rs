//! The end without warning: what was acknowledged is there afterwards.

use duramen_ldap::message::{ResultCode, Scope};

use crate::client::{Client, person};
use crate::process::{Daemon, PLAIN};

const WRITERS: usize = 4;
const ROUNDS: usize = 3;

#[test]
fn every_acknowledged_change_survives_a_kill_under_load() {
    let mut daemon = Daemon::plain();
    Client::administrator(&daemon).populate(WRITERS);
    for round in 0..ROUNDS {
        let acknowledged = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS).map(|n| (n, Client::administrator(&daemon))).collect();
            let writers = writers.into_iter().map(|(n, client)| scope.spawn(move || write(client, n, round)));
            let writers: Vec<_> = writers.collect();
            std::thread::sleep(std::time::Duration::from_millis(300));
            daemon.signal("KILL");
            writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        daemon = Daemon::start(daemon.kill(), PLAIN);
        let mut client = Client::administrator(&daemon);
        for (n, count) in acknowledged.into_iter().enumerate() {
            assert!(count > 0, "writer {n} was not acknowledged once");
            // The change after the last acknowledged one may be there, too.
            let matches = (0..=1).filter(|more| {
                let filter = format!("(description={round}-{})", count + more);
                client.search(&person(n), Scope::Base, &filter).names.len() == 1
            });
            assert_eq!(matches.count(), 1, "round {round}, writer {n}, acknowledged {count}");
        }
    }
}

/// Changes an entry again and again; how many changes were acknowledged.
fn write(mut client: Client, n: usize, round: usize) -> usize {
    let mut count = 0;
    while let Some(answer) = client.try_replace(&person(n), "description", &format!("{round}-{}", count + 1)) {
        assert_eq!(answer.code, ResultCode::SUCCESS, "{answer:?}");
        count += 1;
    }
    count
}
