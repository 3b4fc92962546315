//! Directories that take changes of one suffix together, and follow each other: over connections that are cut, with members that are
//! given back an older state of their data. In the end all have the same.

use std::fs::File;
use std::sync::Arc;

use duramen_directory::{Config, CopyOf, Directory, Heard, Replica, ReplicaError, Requester, Standing};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{SyncDone, SyncInfo, SyncStateValue};
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::message::{Control, ResultCode, SearchEntry};
use duramen_ldap::oid::control as oid;

use crate::ear::{self, Word, hear};
use crate::random::change;
use crate::replica::{assert_same, context};
use crate::sample::*;

/// Something that a member tells another one.
enum Told {
    Entry(String, Vec<u8>, Vec<u8>, Vec<u8>),
    Info(Vec<u8>),
    Ended(ResultCode, String),
}

impl Word for Told {
    fn entry(name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>) -> Told {
        let value = |number| ear::value(controls, number).to_vec();
        Told::Entry(name.into(), attributes.concat(), value(oid::SYNC_STATE), value(oid::SYNC_SHARED))
    }

    fn info(value: &[u8]) -> Told {
        Told::Info(value.to_vec())
    }

    fn ended(code: ResultCode, text: String) -> Told {
        Told::Ended(code, text)
    }
}

impl Told {
    fn heard(&self) -> Heard<'_> {
        match self {
            Told::Entry(name, attributes, state, beside) => {
                let entry = SearchEntry { name, attributes: List::trusted(attributes) };
                Heard::Shared(entry, SyncStateValue::decode(state).unwrap(), beside)
            }
            Told::Info(value) => Heard::Info(SyncInfo::decode(value).unwrap()),
            Told::Ended(code, text) => Heard::Done { code: *code, diagnostic: text, sync: None::<SyncDone<'_>> },
        }
    }
}

fn config(number: u16, kept: u32) -> Config {
    let copies = Some(vec![CopyOf { suffix: BASE.into(), referrals: Vec::new() }]);
    Config { copies, member: Some(number), history: Some(kept), ..Config::default() }
}

fn member(number: u16, kept: u32) -> Sample {
    Sample::with(config(number, kept))
}

/// Asks as a member does.
fn ask(sample: &Sample, cookie: &[u8], shared: &[u8]) -> (Vec<Told>, Option<Standing>) {
    ear::ask(sample, cookie, Some(Control { oid: oid::SYNC_SHARED, critical: true, value: Some(shared) }))
}

/// One follows another.
struct Link {
    from: usize,
    to: usize,
    replica: Option<Replica>,
    standing: Option<Standing>,
}

/// Members, each of which follows some of the others.
struct Group {
    members: Vec<Arc<Sample>>,
    links: Vec<Link>,
    kept: u32,
}

impl Group {
    fn new(kept: u32, count: usize, pairs: &[(usize, usize)]) -> Group {
        let members = (1..).take(count).map(|number| Arc::new(member(number, kept))).collect();
        let link = |&(from, to): &(usize, usize)| Link { from, to, replica: None, standing: None };
        Group { members, links: pairs.iter().map(link).collect(), kept }
    }

    fn pair(kept: u32) -> Group {
        Group::new(kept, 2, &[(0, 1), (1, 0)])
    }

    /// Has one hear what another one has to tell; cut off after so many words, if so.
    fn talk(&mut self, n: usize, cut: Option<usize>) -> Result<usize, ReplicaError> {
        let link = &mut self.links[n];
        let (from, to) = (self.members[link.from].clone(), self.members[link.to].clone());
        let replica = link.replica.get_or_insert_with(|| to.directory.replica(BASE).unwrap());
        let told = match &mut link.standing {
            Some(standing) => hear(standing),
            None => {
                let cookie = replica.begin(&format!("ldap://{}", link.from), &|| true)?;
                let (told, standing) = ask(&from, &cookie, &replica.shared_request().unwrap());
                link.standing = standing;
                told
            }
        };
        let most = cut.map_or(told.len(), |cut| cut.min(told.len()));
        if most < told.len() {
            link.standing = None;
        }
        let heard: Vec<Heard<'_>> = told[..most].iter().map(Told::heard).collect();
        let before = replica.counts();
        let taken = heard.chunks(7).try_for_each(|some| replica.take(some, &|| true));
        let after = replica.counts();
        if most < told.len() || taken.is_err() {
            link.standing = None;
            link.replica = None;
        }
        let changed = after.put + after.deleted - before.put - before.deleted;
        taken.map(|()| usize::try_from(changed).unwrap())
    }

    /// As [`Group::talk`]; who has nothing to tell yet, or not enough, is asked again some time.
    fn try_talk(&mut self, n: usize, cut: Option<usize>) -> usize {
        match self.talk(n, cut) {
            Ok(changed) => changed,
            Err(
                ReplicaError::Empty(_) | ReplicaError::Again(_) | ReplicaError::Ended { code: ResultCode::BUSY, .. },
            ) => 1,
            Err(error) => panic!("{error}"),
        }
    }

    /// Has all hear each other until there is nothing new.
    fn heal(&mut self) {
        for _ in 0..40 {
            let told: Vec<usize> = (0..self.links.len()).map(|n| self.try_talk(n, None)).collect();
            let knows = |sample: &Arc<Sample>| context(sample);
            let same = told.iter().sum::<usize>() == 0
                && self.members.iter().all(|member| knows(member) == knows(&self.members[0]));
            if same {
                return;
            }
        }
        panic!("they do not come to an end");
    }

    #[track_caller]
    fn check(&self, what: &str) {
        for member in &self.members[1..] {
            assert_same(member, &self.members[0], what);
        }
    }

    /// Gives a member the state of its data back that a file has.
    fn restore(&mut self, n: usize, file: &std::path::Path) {
        self.links.iter_mut().filter(|link| link.to == n || link.from == n).for_each(|link| {
            link.replica = None;
            link.standing = None;
        });
        let number = u16::try_from(n + 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(file, folder.path().join("directory.dm")).unwrap();
        let config = Config { suffixes: vec![BASE.into()], ..config(number, self.kept) };
        let directory = Directory::open(folder.path(), config).unwrap();
        self.members[n] = Arc::new(Sample { directory, folder });
    }

    fn back_up(&self, n: usize, file: &std::path::Path) {
        self.members[n].directory.database().copy_to_file(&File::create(file).unwrap()).unwrap();
    }
}

const TOP: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n";

fn unit(name: &str) -> String {
    let value = name.split(',').next().unwrap().trim_start_matches("ou=");
    format!("dn: {name}\nobjectClass: organizationalUnit\nou: {value}\n")
}

/// Two that have the suffix and these units below it.
fn filled(units: &[&str]) -> Group {
    let mut group = Group::pair(1000);
    group.members[0].load(TOP);
    units.iter().for_each(|name| group.members[0].load(&unit(&below(name))));
    group.heal();
    group.check("at first");
    group
}

fn below(name: &str) -> String {
    format!("{name},{BASE}")
}

fn describe(sample: &Sample, name: &str, value: &str) {
    sample.modify(&below(name), &[(Replace, "description", &[value])]).unwrap();
}

fn described(sample: &Sample, name: &str) -> Vec<String> {
    sample.read(&below(name), &["description"]).values("description").into_iter().map(str::to_string).collect()
}

fn names(sample: &Sample) -> Vec<String> {
    let mut names = sample.found("(objectClass=*)");
    names.sort();
    names
}

fn seed() -> u64 {
    std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..))
}

/// Changes at random, talks that are cut, members given back older data.
fn whatever_happens(seed: u64, kept: u32, count: usize, pairs: &[(usize, usize)], restores: bool) {
    eprintln!("DURAMEN_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut group = Group::new(kept, count, pairs);
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup");
    group.members[0].load(TOP);
    group.heal();
    let mut of = None;
    for round in 0..6 {
        for _ in 0..random.usize(..60) {
            match random.u8(..8) {
                0 => {
                    let cut = random.bool().then(|| random.usize(..40));
                    group.try_talk(random.usize(..pairs.len()), cut);
                }
                1 => {
                    let link = &mut group.links[random.usize(..pairs.len())];
                    link.standing = None;
                    link.replica = None;
                }
                2 if restores && random.u8(..4) == 0 => {
                    let n = random.usize(..count);
                    group.back_up(n, &backup);
                    of = Some(n);
                }
                3 if restores && random.u8(..4) == 0 => of.iter().for_each(|n| group.restore(*n, &backup)),
                _ => change(&group.members[random.usize(..count)].clone(), &mut random),
            }
        }
        if round % 2 == 1 {
            group.heal();
            group.check(&format!("seed {seed}, round {round}"));
        }
    }
}

#[test]
fn the_later_change_of_an_entry_counts_whichever_is_heard_first() {
    for order in [[0, 1], [1, 0]] {
        let mut group = filled(&["ou=a", "ou=b", "ou=c"]);
        let [one, other] = [0, 1].map(|n| group.members[n].clone());
        describe(&one, "ou=a", "early");
        describe(&other, "ou=a", "late");
        other.delete(&below("ou=b"), &[]).unwrap();
        describe(&one, "ou=b", "after it was deleted");
        describe(&one, "ou=c", "before it was deleted");
        other.delete(&below("ou=c"), &[]).unwrap();
        order.into_iter().for_each(|n| _ = group.try_talk(n, None));
        group.heal();
        group.check("changed at both");
        assert_eq!(
            (described(&one, "ou=a"), described(&one, "ou=b")),
            (vec!["late".into()], vec!["after it was deleted".into()])
        );
        assert!(!names(&one).contains(&below("ou=c")), "what was deleted later stays away");
    }
}

#[test]
fn of_two_entries_with_one_name_the_later_one_gets_another() {
    let mut group = filled(&[]);
    let [one, other] = [0, 1].map(|n| group.members[n].clone());
    one.load(&unit(&below("ou=same")));
    std::thread::sleep(std::time::Duration::from_millis(2));
    other.load(&unit(&below("ou=same")));
    describe(&one, "ou=same", "first");
    describe(&other, "ou=same", "second");
    group.heal();
    group.check("one name");
    assert_eq!(described(&other, "ou=same"), ["first"]);
    let name = names(&one).into_iter().find(|name| name.starts_with("ou=same+entryUUID=")).unwrap();
    one.rename(&name, "ou=other", true, None).unwrap();
    group.heal();
    group.check("renamed");
    assert_eq!(described(&other, "ou=other"), ["second"]);
    assert_eq!(other.read(&below("ou=other"), &["entryUUID"]).values("entryUUID").len(), 1);
}

#[test]
fn what_something_was_put_below_stays_though_it_was_deleted() {
    let mut group = filled(&["ou=a", "ou=b,ou=a"]);
    let [one, other] = [0, 1].map(|n| group.members[n].clone());
    describe(&one, "ou=a", "kept");
    group.heal();
    other.load(&unit(&below("ou=x,ou=b,ou=a")));
    one.delete(&below("ou=a"), &[control(oid::TREE_DELETE)]).unwrap();
    group.heal();
    group.check("put below");
    assert_eq!(names(&one), [BASE.to_string(), below("ou=a"), below("ou=b,ou=a"), below("ou=x,ou=b,ou=a")]);
    assert_eq!(described(&one, "ou=a"), ["kept"]);
}

#[test]
fn entries_that_are_moved_below_each_other_stay_and_names_that_go_round_are_exchanged() {
    let mut group = filled(&["ou=a", "ou=b", "ou=c", "ou=x,ou=c", "ou=y,ou=c"]);
    let [one, other] = [0, 1].map(|n| group.members[n].clone());
    one.rename(&below("ou=a"), "ou=a", true, Some(&below("ou=b"))).unwrap();
    other.rename(&below("ou=b"), "ou=b", true, Some(&below("ou=a"))).unwrap();
    // What is added below an entry that is renamed comes to stand below it.
    other.load(&unit(&below("ou=z,ou=c")));
    one.rename(&below("ou=c"), "ou=d", true, None).unwrap();
    for (from, to) in [("ou=x", "ou=w"), ("ou=y", "ou=x"), ("ou=w", "ou=y")] {
        one.rename(&below(&format!("{from},ou=d")), to, false, None).unwrap();
    }
    group.heal();
    group.check("moved");
    let names = names(&one);
    for name in ["ou=d", "ou=x,ou=d", "ou=y,ou=d", "ou=z,ou=d"] {
        assert!(names.contains(&below(name)), "{name}: {names:?}");
    }
    let of_both = names.iter().filter(|name| name.contains("ou=a") || name.contains("ou=b")).count();
    assert_eq!((names.len(), of_both), (7, 2), "neither is below itself: {names:?}");
}

#[test]
fn a_suffix_that_two_have_made_is_that_of_the_first_with_what_both_have_below() {
    let mut group = Group::pair(1000);
    let [one, other] = [0, 1].map(|n| group.members[n].clone());
    for (member, name) in [(&one, "ou=a"), (&other, "ou=b")] {
        member.load(TOP);
        member.load(&unit(&below(name)));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let uuid = |sample: &Sample| sample.read(BASE, &["entryUUID"]).values("entryUUID")[0].to_string();
    let first = uuid(&one);
    group.heal();
    group.check("made by both");
    assert_eq!(names(&other), [BASE.to_string(), below("ou=a"), below("ou=b")]);
    assert_eq!(uuid(&other), first);
}

#[test]
fn a_suffix_that_is_deleted_while_something_is_put_below_it_stays() {
    let mut group = filled(&[]);
    let [one, other] = [0, 1].map(|n| group.members[n].clone());
    other.modify(BASE, &[(Replace, "description", &["kept"])]).unwrap();
    group.heal();
    one.delete(BASE, &[]).unwrap();
    other.load(&unit(&below("ou=a")));
    // The one that has deleted it hears of what is below it first.
    group.try_talk(1, None);
    group.heal();
    group.check("the suffix");
    assert_eq!(names(&one), [BASE.to_string(), below("ou=a")]);
    assert_eq!(one.read(BASE, &["description"]).values("description"), ["kept"]);
}

#[test]
fn who_was_away_for_longer_than_changes_are_kept_undoes_nothing_and_loses_nothing() {
    let mut group = filled(&["ou=a", "ou=b", "ou=c"]);
    group.kept = 2;
    for n in [0, 1] {
        let config = Config { suffixes: vec![BASE.into()], ..config(n + 1, 2) };
        group.members[usize::from(n)].directory.reconfigure(config).unwrap();
    }
    let [one, other] = [0, 1].map(|n| group.members[n].clone());
    one.delete(&below("ou=a"), &[]).unwrap();
    describe(&other, "ou=b", "of the other");
    other.load(&unit(&below("ou=new")));
    // A thousand more than are kept are kept.
    (0..1100).for_each(|n| describe(&one, "ou=c", &n.to_string()));
    for link in &mut group.links {
        (link.replica, link.standing) = (None, None);
    }
    group.heal();
    group.check("after long");
    assert_eq!(names(&one), [BASE.to_string(), below("ou=b"), below("ou=c"), below("ou=new")]);
    assert_eq!(
        (described(&one, "ou=b"), described(&other, "ou=c")),
        (vec!["of the other".into()], vec!["1099".into()])
    );
}

#[test]
fn a_change_is_later_than_all_that_are_known_whatever_the_clock_says() {
    let mut group = filled(&["ou=a"]);
    let [one, other] = [0, 1].map(|n| group.members[n].clone());
    let number = |sample: &Sample| sample.read(&below("ou=a"), &["entryCSN"]).values("entryCSN")[0].to_string();
    // What a third one says whose clock is ten days ahead.
    let ahead = duramen_directory::timestamp(std::time::SystemTime::now() + std::time::Duration::from_secs(864_000));
    let ahead = format!("{}.000000Z#000000#009#000000", &ahead[..14]);
    let mut replica = one.directory.replica(BASE).unwrap();
    let cookie = replica.begin("ldap://third", &|| true).unwrap();
    let mut told = ask(&other, &cookie, b"9 20260101000000.000000Z#000000#009#000000").0;
    for one in &mut told {
        if let Told::Entry(name, attributes, ..) = one
            && *name == below("ou=a")
        {
            let place = attributes.windows(40).position(|bytes| bytes == number(&other).as_bytes()).unwrap();
            attributes[place..place + 40].copy_from_slice(ahead.as_bytes());
        }
    }
    let heard: Vec<Heard<'_>> = told.iter().map(Told::heard).collect();
    replica.take(&heard, &|| true).unwrap();
    assert_eq!(number(&one), ahead);
    describe(&one, "ou=a", "later");
    assert!(number(&one) > ahead && number(&one).contains("#001#"), "{}", number(&one));
    group.heal();
    group.check("later");
    // Nor does a request say which number a change has.
    let unit: &[(&str, Vec<&[u8]>)] = &[
        ("objectClass", vec![b"organizationalUnit"]),
        ("ou", vec![b"b"]),
        ("entryCSN", vec![b"20010101000000.000000Z#000000#009#000000"]),
    ];
    other.add_as(&Requester::internal(), &below("ou=b"), unit, &[control(oid::RELAX)]).unwrap();
    let given = other.read(&below("ou=b"), &["entryCSN"]).values("entryCSN")[0].to_string();
    assert!(given > ahead && given.contains("#002#"), "{given}");
}

#[test]
fn who_asks_as_a_member_and_is_none_is_told_why() {
    let (one, plain) = (member(1, 100), Sample::with(Config { history: Some(100), ..Config::default() }));
    let told = |sample: &Sample, shared: &str| match &ask(sample, b"", shared.as_bytes()).0[..] {
        [Told::Ended(code, text)] => (*code, text.clone()),
        _ => panic!("nothing is told"),
    };
    [&one, &plain].into_iter().for_each(|sample| sample.load(TOP));
    let since = "20260101000000.000000Z#000000#001#000000";
    let (code, text) = told(&one, &format!("1 {since}"));
    assert!(code == ResultCode::LOOP_DETECT && text.contains("both servers have the number 1"), "{text}");
    let (code, text) = told(&plain, &format!("2 {since}"));
    assert!(code == ResultCode::UNWILLING_TO_PERFORM && text.contains("takes_changes"), "{text}");
    assert_eq!(told(&one, "whatever").0, ResultCode::PROTOCOL_ERROR);
    let faults = [Config { history: Some(0), ..config(1, 1) }, config(0, 100), config(4096, 100)];
    for fault in faults {
        let folder = tempfile::tempdir().unwrap();
        assert!(Directory::open(folder.path(), Config { suffixes: vec![BASE.into()], ..fault }).is_err());
    }
}

#[test]
fn entries_of_before_get_numbers_of_the_server_and_without_the_setting_all_is_as_ever() {
    let sample = Sample::with(Config { history: Some(100), ..Config::default() });
    sample.load(TOP);
    sample.load(&unit(&below("ou=a")));
    let number = |sample: &Sample| sample.read(&below("ou=a"), &["entryCSN"]).values("entryCSN")[0].to_string();
    assert!(number(&sample).contains("#000#"));
    let shared = || Config { suffixes: vec![BASE.into()], ..config(3, 100) };
    sample.directory.reconfigure(shared()).unwrap();
    let mut replica = sample.directory.replica(BASE).unwrap();
    assert!(!replica.is_complete());
    replica.prepare(&|| true).unwrap();
    assert!(replica.is_complete() && number(&sample).contains("#003#"));
    assert_eq!(context(&sample), [number(&sample)]);
    let before = number(&sample);
    replica.prepare(&|| true).unwrap();
    assert_eq!(number(&sample), before, "once");
    sample.directory.reconfigure(Config { copies: Some(Vec::new()), member: None, ..shared() }).unwrap();
    describe(&sample, "ou=a", "alone");
    assert!(number(&sample) > before && number(&sample).contains("#000#"));
    assert_eq!(context(&sample), [number(&sample)]);
    assert_eq!(problems(&sample), [""; 0]);
}

const MESH: [(usize, usize); 6] = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
const RING: [(usize, usize); 3] = [(0, 1), (1, 2), (2, 0)];

fn cases() -> u64 {
    std::env::var("DURAMEN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12)
}

#[test]
fn whatever_two_change_and_however_they_are_cut_off_they_end_with_the_same() {
    let seed = seed();
    (0..cases()).for_each(|n| whatever_happens(seed.wrapping_add(n), 100_000, 2, &[(0, 1), (1, 0)], false));
}

#[test]
fn whatever_three_change_they_end_with_the_same_whoever_follows_whom() {
    let seed = seed();
    (0..cases()).for_each(|n| {
        let pairs: &[(usize, usize)] = if n % 2 == 0 { &MESH } else { &RING };
        whatever_happens(seed.wrapping_add(n), 100_000, 3, pairs, false);
    });
}

#[test]
fn whatever_is_forgotten_meanwhile_they_end_with_the_same() {
    let seed = seed();
    (0..cases()).for_each(|n| whatever_happens(seed.wrapping_add(n), 5, 2, &[(0, 1), (1, 0)], false));
}

#[test]
fn whoever_is_given_back_older_data_ends_with_the_same_as_the_others() {
    let seed = seed();
    (0..cases()).for_each(|n| {
        let pairs: &[(usize, usize)] = if n % 2 == 0 { &MESH } else { &MESH[..2] };
        let count = if pairs.len() > 2 { 3 } else { 2 };
        whatever_happens(seed.wrapping_add(n), 100_000, count, pairs, true);
    });
}

#[test]
fn who_keeps_a_copy_of_a_member_and_comes_again_is_told_only_what_has_changed() {
    let mut group = filled(&["ou=a", "ou=b", "ou=c"]);
    let copy = crate::replica::copying();
    let mut below = crate::replica::replica(&copy);
    crate::replica::catch_up(&mut below, &group.members[0]);
    // Its own changes, of which the copy has heard some, and then what another one changes.
    describe(&group.members[0], "ou=a", "x");
    crate::replica::catch_up(&mut below, &group.members[0]);
    describe(&group.members[0], "ou=b", "x");
    describe(&group.members[1], "ou=c", "x");
    group.heal();
    let told = crate::replica::ask(&group.members[0], &crate::replica::begin(&mut below)).0;
    assert_eq!(told.len(), 3, "two entries and the end");
    crate::replica::take(&mut below, &told).unwrap();
    assert_same(&copy, &group.members[0], "of a member");
}

/// Three in a row, of which the first and the last have one number, unbeknown to each other.
fn twins() -> Group {
    let mut group = Group::new(1000, 3, &[(0, 1), (1, 0), (1, 2), (2, 1)]);
    group.members[0].load(TOP);
    group.members[0].load(&unit(&below("ou=a")));
    // What is there has numbers from before the last one's beginning.
    (0..4).for_each(|n| _ = group.try_talk(n % 2, None));
    group.members[2] = Arc::new(member(1, 1000));
    for _ in 0..3 {
        for n in 0..4 {
            group.try_talk(n, None);
        }
    }
    group.check("at first");
    group
}

/// Has all hear each other until somebody says that there are two with one number: who does.
fn noticed(group: &mut Group) -> usize {
    for _ in 0..10 {
        for n in 0..4 {
            match group.talk(n, None) {
                Err(ReplicaError::Twin(text)) => {
                    assert!(text.contains("the number 1") && text.contains("server_id"), "{text}");
                    return group.links[n].to;
                }
                other => _ = other.unwrap(),
            }
        }
    }
    panic!("nobody notices");
}

/// Gives a member another number, as a reload does; or the same one.
fn renumber(group: &mut Group, n: usize, number: u16) {
    let config = Config { suffixes: vec![BASE.into()], ..config(number, 1000) };
    group.members[n].directory.reconfigure(config).unwrap();
    for link in &mut group.links {
        (link.replica, link.standing) = (None, None);
    }
}

#[test]
fn that_two_have_one_number_is_noticed_and_nothing_is_lost_whichever_gets_another() {
    for (renumbered, order) in [(0, [0, 2]), (0, [2, 0]), (2, [0, 2]), (2, [2, 0])] {
        let mut group = twins();
        let all = group.members.clone();
        for n in order {
            all[n].load(&unit(&below(&format!("ou=new{n}"))));
            describe(&all[n], "ou=a", &format!("of {n}"));
        }
        all[1].load(&unit(&below("ou=new1")));
        let who = noticed(&mut group);
        // It stays so until something is changed.
        let n = group.links.iter().position(|link| link.to == who).unwrap();
        assert!(matches!(group.talk(n, None), Err(ReplicaError::Twin(_))));
        all[who].load(&unit(&below("ou=later")));
        renumber(&mut group, 2 - renumbered, 1);
        renumber(&mut group, renumbered, 3);
        group.heal();
        group.check("with numbers of their own");
        let wanted = ["ou=a", "ou=later", "ou=new0", "ou=new1", "ou=new2"].map(below);
        assert_eq!(names(&all[1])[1..], wanted, "renumbered {renumbered}, {order:?}");
        // From then on it is as ever.
        all.iter().enumerate().for_each(|(n, member)| describe(member, "ou=later", &n.to_string()));
        group.heal();
        group.check("afterwards");
        assert_eq!(described(&all[0], "ou=later"), ["2"]);
    }
}

#[test]
fn what_one_of_two_with_one_number_has_deleted_is_gone_everywhere_in_the_end() {
    let mut group = twins();
    let all = group.members.clone();
    ["ou=b", "ou=c"].iter().for_each(|name| all[1].load(&unit(&below(name))));
    for n in 0..4 {
        group.talk(n, None).unwrap();
    }
    all[2].delete(&below("ou=b"), &[]).unwrap();
    all[0].delete(&below("ou=c"), &[]).unwrap();
    // The other one has made it, with that number.
    all[2].delete(&below("ou=a"), &[]).unwrap();
    noticed(&mut group);
    renumber(&mut group, 0, 1);
    renumber(&mut group, 2, 3);
    group.heal();
    group.check("with numbers of their own");
    assert_eq!(names(&all[1]), [BASE]);
}
