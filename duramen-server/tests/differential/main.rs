//! The same random requests to Debian's slapd and to duramend: the same answers, entry by entry and code by code.
//!
//! Both hold the same small directory and have the same access rules. Requests of all kinds, right and wrong ones, with
//! and without controls, go to both, one after the other, by the administrator, by users and by nobody. Compared are
//! result codes, matched names, referrals, what searches find and how it is sorted; not the words of messages. From
//! time to time everything that both hold is compared. Where they are meant to differ, `differences` says so, with the
//! clause of the RFC. Other worlds are about values of every syntax (`kinds`), and about classes and attribute types that are
//! kinds of each other (`families`), each of the test's own schema.
//!
//! `DURAMEN_SEED` repeats a failure, `DURAMEN_CASES` makes it play more worlds than usual, `DURAMEN_TRACE` shows every
//! request and both result codes.

mod access;
mod answer;
mod authorization;
mod case;
mod certificates;
mod client;
mod constraints;
mod controls;
mod details;
mod differences;
mod dynamic;
mod families;
mod kinds;
mod large;
mod list_views;
mod made_up;
mod mend;
mod policies;
mod random;
mod request;
mod servers;
mod subschema;
mod tally;
mod words;
mod world;

use std::collections::BTreeMap;

use answer::{Answer, HUNG_UP};
use case::Case;
use client::Client;
use random::Random;
use request::{Operation, Request};
use servers::{ADMINISTRATOR, Duramend, PASSWORD, SUFFIX, Server, Slapd};
use tally::Tally;

/// Worlds in a test, and requests in each.
const WORLDS: u64 = 10;
const REQUESTS: usize = 400;
/// So many requests lie between two comparisons of everything.
const BETWEEN: usize = 50;

/// slapd's result code of its own faults.
const FAILED: u32 = 80;

/// Who asks, besides the administrator: names, and whether they bind as others on the way. Nobody comes last.
const USERS: [(&str, bool); 4] = [("alice", false), ("bob", false), ("carol", true), ("", false)];

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Plays some worlds, by their seeds, in which there must be no difference; what was answered, and how often.
fn play_worlds(play: impl Fn(u64) -> (Vec<String>, BTreeMap<String, usize>)) -> BTreeMap<String, usize> {
    let first = number("DURAMEN_SEED", 1);
    let (mut found, mut all) = (Vec::new(), BTreeMap::new());
    for seed in first..first + number("DURAMEN_CASES", 3) {
        let (differences, answers) = play(seed);
        found.extend(differences);
        answers.into_iter().for_each(|(answer, times)| *all.entry(answer).or_insert(0) += times);
    }
    all.iter().for_each(|(answer, times)| println!("{times} of {answer}"));
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    all
}

/// Plays as many worlds as are wanted; what was played.
fn play(world: fn(u64) -> World) -> Option<Tally> {
    let first = number("DURAMEN_SEED", 1);
    let worlds = number("DURAMEN_CASES", WORLDS);
    let (mut found, mut tally) = (Vec::new(), Tally::default());
    for seed in first..first + worlds {
        tally.begin_world();
        found.extend(world(seed).play(&mut tally));
    }
    println!("{tally}");
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    // A single world may be a strange one.
    (worlds >= WORLDS).then_some(tally)
}

#[test]
fn random_requests_are_answered_as_slapd_answers_them() {
    if let Some(tally) = play(World::new) {
        assert_eq!(tally.faults(&tally::LEAST), [""; 0], "{tally}");
    }
}

#[test]
fn values_of_every_syntax_are_taken_and_found_as_by_slapd() {
    if let Some(tally) = play(World::about_kinds) {
        assert_eq!(tally.faults(&tally::LEAST_OF_KINDS), [""; 0], "{tally}");
    }
}

#[test]
fn very_many_values_are_changed_and_found_as_by_slapd() {
    if let Some(tally) = play(World::about_many) {
        assert_eq!(tally.faults(&tally::LEAST_OF_KINDS), [""; 0], "{tally}");
    }
}

#[test]
fn classes_and_kinds_of_attributes_are_judged_as_by_slapd() {
    if let Some(tally) = play(World::about_families) {
        assert_eq!(tally.faults(&tally::LEAST_OF_FAMILIES), [""; 0], "{tally}");
    }
}

/// Somebody's connections to both.
struct Pair {
    who: &'static str,
    binds: bool,
    theirs: Client,
    ours: Client,
}

impl Pair {
    fn ask(&mut self, request: &Request) -> (Answer, Answer) {
        (self.theirs.ask(request), self.ours.ask(request))
    }
}

struct World {
    seed: u64,
    slapd: Server,
    duramend: Server,
    random: Random,
    rules: String,
    found: Vec<String>,
    /// Whether something was made the same again, so that not the same user changed it.
    mended: bool,
    is_traced: bool,
}

impl World {
    fn new(seed: u64) -> World {
        World::with(seed, access::rules(seed), "none")
    }

    /// One where the administrator does all, with attributes of the test's own.
    fn about_kinds(seed: u64) -> World {
        let mut world = World::with(seed, "access to * by * read\n".into(), "none");
        world.random.choose_kinds();
        world
    }

    /// As [`World::about_kinds`], with more values of an attribute than duramend keeps in an entry.
    fn about_many(seed: u64) -> World {
        let mut world = World::with(seed, "access to * by * read\n".into(), "none");
        world.random.choose_many();
        world
    }

    /// One where the administrator does all, with classes of the test's own, and attributes that are kinds of each other.
    fn about_families(seed: u64) -> World {
        let mut world = World::with(seed, "access to * by * read\n".into(), "none");
        world.random.choose_families();
        world
    }

    /// One where `policy` says whose word lets somebody act for others.
    fn with(seed: u64, rules: String, policy: &str) -> World {
        World::of(seed, rules, policy, ["", ""])
    }

    /// As [`World::with`], with `more` in the configuration of each.
    fn of(seed: u64, rules: String, policy: &str, more: [&str; 2]) -> World {
        let slapd = Slapd::start(&rules, policy, more[0]);
        let duramend = Duramend::start(&rules, policy, seed.is_multiple_of(2), more[1]);
        World::on(seed, rules, slapd, duramend)
    }

    /// On servers that are there.
    fn on(seed: u64, rules: String, slapd: Server, duramend: Server) -> World {
        let (random, found, is_traced) = (Random::new(seed), Vec::new(), std::env::var_os("DURAMEN_TRACE").is_some());
        World { seed, slapd, duramend, random, rules, found, mended: false, is_traced }
    }

    /// Plays it; what was different in it.
    fn play(mut self, tally: &mut Tally) -> Vec<String> {
        let mut pairs = vec![self.administrator()];
        for request in world::entries() {
            let answers = pairs[0].ask(&request);
            assert_eq!((answers.0.code, answers.1.code), (0, 0), "{request}\n{answers:?}");
        }
        self.random.learn(mend::everything(&mut pairs[0].theirs).entries.keys());
        for request in self.random.beginning() {
            assert_eq!(pairs[0].ask(&request).1.code, 0, "{request}");
        }
        pairs.extend(USERS.map(|(who, binds)| self.user(who, binds)));
        for n in 0..REQUESTS {
            // Half of all is the administrator's.
            let at = self.random.less_than(2 * USERS.len()).saturating_sub(USERS.len() - 1);
            let at = if self.random.has_kinds() { 0 } else { at };
            let request = self.random.request(pairs[at].binds);
            let answers = pairs[at].ask(&request);
            if self.is_traced {
                println!("{n} {:?}: {request}: {}, {}", pairs[at].who, answers.0.code, answers.1.code);
            }
            if [FAILED, HUNG_UP].contains(&answers.0.code) {
                // slapd's own fault, such as "DN index add failed" for a new RDN of two pairs: nothing is the same after it.
                return self.found;
            }
            let is_same = self.compare(n, pairs[at].who, &request, &answers);
            tally.take(&request, &answers, is_same);
            let is_apart = request.updated().is_some() && !answers.0.did_the_same(&answers.1, &request);
            let pair = &mut pairs[0];
            if is_apart {
                self.mended = true;
                if matches!(request.operation, Operation::PasswordModify { .. })
                    || !mend::mend(&mut pair.theirs, &mut pair.ours)
                {
                    return self.found;
                }
            }
            if n % BETWEEN == BETWEEN - 1 && !self.compare_everything(n, pair) {
                return self.found;
            }
        }
        self.found
    }

    fn administrator(&self) -> Pair {
        let bound = |server: &Server| Client::bound(server.address, ADMINISTRATOR, PASSWORD);
        Pair { who: "the administrator", binds: false, theirs: bound(&self.slapd), ours: bound(&self.duramend) }
    }

    fn user(&mut self, who: &'static str, binds: bool) -> Pair {
        let new = |server: &Server| Client::new(server.address);
        let mut pair = Pair { who, binds, theirs: new(&self.slapd), ours: new(&self.duramend) };
        if !who.is_empty() {
            let bind = Operation::Bind { name: format!("uid={who},ou=people,{SUFFIX}"), password: who.into() };
            let answers = pair.ask(&bind.clone().into());
            self.compare(0, who, &bind.into(), &answers);
        }
        pair
    }

    /// Whether both hold the same.
    fn compare_everything(&mut self, n: usize, pair: &mut Pair) -> bool {
        let (theirs, ours) = (mend::everything(&mut pair.theirs), mend::everything(&mut pair.ours));
        if !theirs.is_done() {
            // Its own fault again.
            return false;
        }
        self.random.learn(theirs.entries.keys());
        let [request, _] = world::everything();
        if self.compare(n, pair.who, &request, &(theirs, ours)) {
            return true;
        }
        // From here on everything would differ, whether it is meant to or not.
        self.mended = true;
        mend::mend(&mut pair.theirs, &mut pair.ours)
    }

    /// Takes note of what is different in two answers, if anything that was not meant to be is. Whether nothing is.
    fn compare(&mut self, n: usize, who: &str, request: &Request, (theirs, ours): &(Answer, Answer)) -> bool {
        let changed_by: &[&str] = if self.mended { &["creatorsname", "modifiersname"] } else { &[] };
        let (theirs, ours) = (&theirs.clone().without(changed_by), &ours.clone().without(changed_by));
        let is_same = theirs == ours && theirs.order(request) == ours.order(request);
        if is_same || differences::intended(&Case { request, theirs, ours, who, mended: self.mended }).is_some() {
            return is_same;
        }
        let mut said = format!("seed {}, request {n} of {who:?}: {request}", self.seed);
        for (server, answer) in [("slapd", theirs), ("ours", ours)] {
            let Answer { code, text, matched, referrals, references, twice, read, sorted, value, policy, .. } = answer;
            said += &format!(
                "\n  {server}: {code} {text:?} {matched:?} {referrals:?} {references:?} {twice:?} {read:?} {sorted:?} {value:?} \
                 {policy:?}"
            );
        }
        for (name, entry) in &theirs.entries {
            match ours.entries.get(name) {
                None => said += &format!("\n  only slapd: {name}: {entry:?}"),
                Some(other) if other != entry => {
                    said += &format!("\n  {name}\n    slapd: {entry:?}\n    ours:  {other:?}");
                }
                Some(_) => {}
            }
        }
        let more = ours.entries.iter().filter(|(name, _)| !theirs.entries.contains_key(*name));
        more.for_each(|(name, entry)| said += &format!("\n  only ours: {name}: {entry:?}"));
        if theirs.order(request) != ours.order(request) {
            said += &format!("\n  slapd: {:?}\n  ours:  {:?}", theirs.order(request), ours.order(request));
        }
        if who != "the administrator" {
            said += &format!("\n{}", self.rules);
        }
        self.found.push(said);
        false
    }
}
