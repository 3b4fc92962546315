//! The same random requests to Debian's slapd and to duramend: the same answers, entry by entry and code by code.
//!
//! Both hold the same small directory. Requests of all kinds, right and wrong ones, go to both, one after the other.
//! Compared are result codes and what searches find; not the words of messages. From time to time everything that both
//! hold is compared. Where they are meant to differ, `differences` says so, with the clause of the RFC.
//!
//! `DURAMEN_SEED` repeats a failure, `DURAMEN_CASES` makes it play more worlds than usual.

mod client;
mod differences;
mod random;
mod request;
mod servers;
mod world;

use client::{Answer, Client};
use random::Random;
use request::Request;
use servers::{Duramend, Slapd};

/// Worlds in a test, and requests in each.
const WORLDS: u64 = 4;
const REQUESTS: usize = 400;
/// So many requests lie between two comparisons of everything.
const BETWEEN: usize = 50;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_requests_are_answered_as_slapd_answers_them() {
    let first = number("DURAMEN_SEED", 1);
    let worlds = number("DURAMEN_CASES", WORLDS);
    let mut found = Vec::new();
    for seed in first..first + worlds {
        found.extend(play(seed));
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}

/// Plays a world; what was different in it.
fn play(seed: u64) -> Vec<String> {
    let (slapd, duramend) = (Slapd::start(), Duramend::start());
    let (mut theirs, mut ours) = (Client::administrator(slapd.address), Client::administrator(duramend.address));
    for request in world::entries() {
        let answers = (theirs.ask(&request), ours.ask(&request));
        assert_eq!((answers.0.code, answers.1.code), (0, 0), "{request}\n{answers:?}");
    }
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    for n in 0..REQUESTS {
        let request = random.request();
        found.extend(compare(seed, n, &request, &theirs.ask(&request), &ours.ask(&request)));
        if n % BETWEEN == BETWEEN - 1 {
            let everything = world::everything();
            let (theirs, ours) = (theirs.ask(&everything), ours.ask(&everything));
            let different = compare(seed, n, &everything, &theirs, &ours);
            if different.is_some() {
                // From here on everything differs.
                found.extend(different);
                return found;
            }
            random.learn(theirs.entries.keys());
        }
    }
    found
}

/// What is different in two answers, if anything that was not meant to be is.
fn compare(seed: u64, n: usize, request: &Request, theirs: &Answer, ours: &Answer) -> Option<String> {
    if theirs == ours || differences::intended(request, theirs, ours) {
        return None;
    }
    let mut said = format!(
        "seed {seed}, request {n}: {request}\n  slapd: {} {:?}\n  ours:  {} {:?}",
        theirs.code, theirs.text, ours.code, ours.text
    );
    for (name, entry) in &theirs.entries {
        match ours.entries.get(name) {
            None => said += &format!("\n  only slapd: {name}"),
            Some(other) if other != entry => said += &format!("\n  {name}\n    slapd: {entry:?}\n    ours:  {other:?}"),
            Some(_) => {}
        }
    }
    let more = ours.entries.keys().filter(|name| !theirs.entries.contains_key(*name));
    more.for_each(|name| said += &format!("\n  only ours: {name}"));
    Some(said)
}
