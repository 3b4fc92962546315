//! Copies of a directory that is a copy itself, and copies of one of several directories.

use duramen_directory::{Replica, ReplicaError, Standing};
use duramen_ldap::message::ChangeKind::Replace;

use crate::copies::keeping;
use crate::ear::hear;
use crate::random::change;
use crate::replica::{Disorderly, ask, assert_same, begin, catch_up, context, copying, is_later, replica, take, uuids};
use crate::sample::*;

#[test]
fn a_copy_says_nothing_of_what_came_and_went_while_it_was_not_told_as_if_it_knew() {
    let (provider, middle, copy) = (keeping(1000), copying(), copying());
    provider.load(PEOPLE);
    let (mut of_middle, mut of_copy) = (replica(&middle), replica(&copy));
    catch_up(&mut of_middle, &provider);
    let gone = "ou=gone,dc=example,dc=com";
    provider.load(&format!("dn: {gone}\nobjectClass: organizationalUnit\nou: gone\n"));
    catch_up(&mut of_copy, &provider);
    provider.delete(gone, &[]).unwrap();
    catch_up(&mut of_middle, &provider);
    // The one in the middle has never had it, and cannot say that it is gone: so it says what is there.
    catch_up(&mut of_copy, &middle);
    assert_same(&copy, &middle, "of what there is");
    assert_eq!(context(&copy), context(&provider));
}

#[test]
fn what_one_provider_has_told_in_part_another_one_is_not_asked_to_complete() {
    let (ahead, copy) = (keeping(1000), copying());
    ahead.load(PEOPLE);
    let mut first = replica(&copy);
    catch_up(&mut first, &ahead);
    let behind = ask(&ahead, b"").0;
    let known = begin(&mut first);
    ahead.rename("ou=People,dc=example,dc=com", "ou=Staff", true, None).unwrap();
    ahead.modify("uid=bjensen,ou=Staff,dc=example,dc=com", &[(Replace, "description", &["lost"])]).unwrap();
    let told = ask(&ahead, &known).0;
    take(&mut first, &told[..told.len() - 1]).unwrap();
    // The same one tells all of it again, also to a copy that was opened anew.
    let mut again = replica(&copy);
    assert_eq!(begin(&mut again), known);
    // Another one may never have what the first has told.
    assert_eq!(again.begin("another", &|| true).unwrap(), b"");
    take(&mut again, &behind).unwrap();
    assert_eq!(copy.search(BASE, "(description=lost)", &Ask::default()).unwrap().names(), [""; 0]);
    assert_eq!(copy.read(JENSEN, &["cn"]).names(), [JENSEN]);
    assert_eq!(again.begin("one", &|| true).unwrap(), known, "with all in its place it matters no more who has told");
}

/// A copy that is told what another copy does, at once or later.
struct Follower<'c> {
    replica: Replica,
    provider: &'c Sample,
    standing: Option<Standing>,
}

impl Follower<'_> {
    /// Hears what there is to be heard now.
    fn hear(&mut self) {
        loop {
            let cookie = self.standing.is_none().then(|| begin(&mut self.replica));
            let said = match (cookie, &mut self.standing) {
                (Some(cookie), standing) => {
                    let (said, begun) = ask(self.provider, &cookie);
                    *standing = begun;
                    said
                }
                (None, Some(standing)) => hear(standing),
                (None, None) => Vec::new(),
            };
            match take(&mut self.replica, &said) {
                Ok(()) => return,
                Err(ReplicaError::Unknown) => self.replica.ask_for_all(),
                Err(ReplicaError::Again(_)) => {}
                // There may be nothing at all yet.
                Err(error) => {
                    assert!(is_later(&error) || matches!(error, ReplicaError::Empty(_)), "{error}");
                    return self.standing = None;
                }
            }
            self.standing = None;
        }
    }
}

/// A copy that follows another one, which is told in disorder and cut off.
fn follow(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let provider = keeping(100_000);
    provider.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    let mut disorderly = Disorderly { states: Vec::new() };
    let (middle, last) = (copying(), copying());
    let mut hearing = replica(&middle);
    let mut following = Follower { replica: replica(&last), provider: &middle, standing: None };
    for round in 0..10 {
        for _ in 0..random.usize(..24) {
            change(&provider, &mut random);
        }
        let cookie = begin(&mut hearing);
        let said = disorderly.tell(&cookie, uuids(&provider), &mut random);
        let end = if random.u8(..3) == 0 { random.usize(..=said.len()) } else { said.len() };
        let mut rest = &said[..end];
        while !rest.is_empty() {
            let (piece, others) = rest.split_at(random.usize(1..=rest.len()));
            take(&mut hearing, piece).unwrap();
            rest = others;
            match random.u8(..4) {
                0 | 1 => following.hear(),
                2 => following.standing = None,
                _ => {}
            }
        }
        following.hear();
        if end == said.len() {
            assert_same(&last, &middle, &format!("seed {seed}, round {round}"));
        }
    }
}

#[test]
fn a_copy_that_follows_another_one_is_as_that_one_in_the_end_however_that_was_told() {
    let cases = std::env::var("DURAMEN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12);
    let first = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok());
    (0..if first.is_some() { 1 } else { cases }).for_each(|n| follow(first.unwrap_or(0) + n));
}
