//! Copies that are brought up to date (RFC 4533), kept by a client that is stricter than any: whatever it is told it has to be
//! able to do there and then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_directory::{Config, ImportOptions, News, Peer, Progress, Requester, SchemaFile, Sink, Standing};
use duramen_ldap::Payload;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::control::{SyncDone, SyncInfo, SyncRequest, SyncState, SyncStateValue};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::message::{Control, ResultCode, Scope, SearchRequest};
use duramen_ldap::oid::control as oid;

use crate::random::change;
use crate::sample::*;

/// A directory that keeps what changes.
pub fn keeping(changes: u32) -> Sample {
    Sample::with(Config { history: Some(changes), ..Config::default() })
}

/// A client's copy.
#[derive(Default)]
pub struct Copy {
    pub entries: BTreeMap<[u8; 16], (String, Vec<u8>)>,
    /// References, with what they say.
    references: BTreeMap<[u8; 16], Vec<String>>,
    pub cookie: Vec<u8>,
    /// What it was told is there, since it asked.
    present: Vec<[u8; 16]>,
    /// Entries that it was told of, in full.
    pub told: usize,
    pub named: usize,
    /// Takes so much at a time.
    pub most: usize,
    taken: usize,
    /// It is cut off behind so many entries.
    cut: Option<usize>,
    /// It has been cut off before: what is gone stays as a name only while something is below it, as with slapd.
    torn: bool,
    names: BTreeSet<String>,
}

impl Copy {
    fn is_cut_off(&self) -> bool {
        self.cut.is_some_and(|cut| self.told >= cut)
    }

    fn holder(&self, name: &str) -> Option<[u8; 16]> {
        self.entries.iter().find(|(_, (known, _))| known == name).map(|(uuid, _)| *uuid)
    }

    /// Takes an entry, unless it has it as it is then, or later: as slapd does.
    fn put(&mut self, uuid: [u8; 16], name: &str, attributes: &[u8]) {
        if self.entries.get(&uuid).is_some_and(|(_, known)| number_of(known) >= number_of(attributes)) {
            return;
        }
        let holder = self.holder(name);
        assert!(holder.is_none_or(|holder| holder == uuid), "{name} is still another entry's");
        if let Some((_, above)) = name.split_once(',').filter(|_| name != BASE) {
            assert!(self.holder(above).is_some() || self.names.contains(above), "nothing is above {name}");
        }
        self.names.remove(name);
        let before = self.entries.insert(uuid, (name.to_string(), attributes.to_vec()));
        if let Some((before, _)) = before.filter(|(before, _)| before != name) {
            // All below moves with it.
            let (old, new) = (format!(",{before}"), format!(",{name}"));
            for (known, _) in self.entries.values_mut() {
                if let Some(front) = known.strip_suffix(&old) {
                    *known = format!("{front}{new}");
                }
            }
        }
    }

    fn drop(&mut self, uuid: [u8; 16]) {
        self.references.remove(&uuid);
        if let Some((name, _)) = self.entries.remove(&uuid) {
            let below = self.entries.values().find(|(known, _)| known.ends_with(&format!(",{name}")));
            assert!(self.torn || below.is_none(), "{below:?} is still below {name}");
            self.names.extend(below.is_some().then_some(name));
        }
    }

    /// Whether it has an entry as it was behind what its cookie says: slapd takes no such entry of a list away.
    fn is_newer(&self, uuid: [u8; 16]) -> bool {
        let known = self.entries.get(&uuid).and_then(|(_, attributes)| number_of(attributes));
        let cookie = std::str::from_utf8(&self.cookie).unwrap();
        let as_of = cookie.split(',').find_map(|field| field.strip_prefix("csn="));
        known.zip(as_of).is_some_and(|(known, as_of)| known.as_slice() > as_of.as_bytes())
    }

    fn has_below(&self, name: &str) -> bool {
        self.entries.values().any(|(known, _)| known.ends_with(&format!(",{name}")))
    }

    /// What it was not told of is gone.
    fn forget_others(&mut self) {
        let present = std::mem::take(&mut self.present);
        self.entries.retain(|uuid, _| present.contains(uuid));
        self.references.retain(|uuid, _| present.contains(uuid));
    }

    /// Asks for what is new, and perhaps for what will be.
    pub fn ask(&mut self, sample: &Sample, persists: bool) -> Result<Option<Standing>, ResultCode> {
        self.ask_as(
            sample,
            &Requester::internal(),
            BASE,
            "(objectClass=*)",
            SyncRequest { persists, cookie: None, reload_hint: true },
        )
    }

    pub fn ask_as(
        &mut self,
        sample: &Sample,
        requester: &Requester,
        base: &str,
        filter: &str,
        sync: SyncRequest<'_>,
    ) -> Result<Option<Standing>, ResultCode> {
        (self.told, self.named, self.most) = (0, 0, self.most.max(1));
        let cookie = self.cookie.clone();
        let (mut value, mut buffer) = (Vec::new(), Vec::new());
        SyncRequest { cookie: Some(&cookie[..]), ..sync }.encode(&mut value);
        let control = Control { oid: oid::SYNC_REQUEST, critical: true, value: Some(&value) };
        let filter = FilterBuf::parse(filter).unwrap();
        let mut attributes = Vec::new();
        let request = SearchRequest {
            attributes: List::build(&mut attributes, ["*", "+"]),
            ..SearchRequest::new(base, Scope::Subtree, filter.as_filter())
        };
        let mut search =
            sample.directory.search(requester, &request, List::build(&mut buffer, [control])).map_err(|e| e.code)?;
        loop {
            self.taken = 0;
            match search.run(self) {
                Progress::Paused if self.is_cut_off() => {
                    self.present.clear();
                    return Ok(None);
                }
                Progress::Paused => {}
                Progress::Persists => return Ok(search.stand()),
                Progress::Done(done) => {
                    if let Some(failure) = done.failure {
                        return Err(failure.code);
                    }
                    let controls: List<'_, Control<'_>> = List::trusted(&done.controls);
                    let control = controls.iter().find(|control| control.oid == oid::SYNC_DONE).unwrap();
                    let end = SyncDone::decode(control.value.unwrap()).unwrap();
                    self.cookie = end.cookie.unwrap().to_vec();
                    if !end.refresh_deletes {
                        self.forget_others();
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// Hears all there is to hear.
    pub fn hear(&mut self, standing: &mut Standing) -> Result<(), ResultCode> {
        loop {
            self.taken = 0;
            match standing.run(self) {
                News::Nothing => return Ok(()),
                News::More => {}
                News::Ended(done) => return Err(done.failure.unwrap().code),
            }
        }
    }
}

fn number_of(attributes: &[u8]) -> Option<Vec<u8>> {
    let list: List<'_, Attribute<'_>> = List::trusted(attributes);
    list.iter().find(|a| a.description == "entryCSN").and_then(|a| a.values.iter().next()).map(<[u8]>::to_vec)
}

impl Sink for Copy {
    fn entry(&mut self, name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>) {
        let control = controls.iter().find(|control| control.oid == oid::SYNC_STATE).expect("a state");
        let said = SyncStateValue::decode(control.value.unwrap()).unwrap();
        if self.is_cut_off() {
            return;
        }
        self.taken += 1;
        self.told += 1;
        match said.state {
            SyncState::Delete => {
                let here = self.entries.get(&said.uuid).map(|(name, _)| name.clone());
                assert!(
                    !here.is_some_and(|name| self.has_below(&name)),
                    "something is below {name}: slapd would not go on"
                );
                self.drop(said.uuid);
            }
            _ => self.put(said.uuid, name, &attributes.concat()),
        }
        self.present.push(said.uuid);
        self.cookie = said.cookie.map_or(std::mem::take(&mut self.cookie), <[u8]>::to_vec);
    }

    fn reference(&mut self, urls: List<'_, &str>, controls: List<'_, Control<'_>>) {
        let control = controls.iter().find(|control| control.oid == oid::SYNC_STATE).expect("a state");
        let said = SyncStateValue::decode(control.value.unwrap()).unwrap();
        self.told += 1;
        self.references.insert(said.uuid, urls.iter().map(str::to_string).collect());
        self.present.push(said.uuid);
    }

    fn info(&mut self, value: &[u8]) {
        if self.is_cut_off() {
            return;
        }
        let mut keep = |cookie: Option<&[u8]>| self.cookie = cookie.unwrap().to_vec();
        match SyncInfo::decode(value).unwrap() {
            SyncInfo::NewCookie(cookie) => keep(Some(cookie)),
            SyncInfo::RefreshDelete { cookie, .. } => keep(cookie),
            SyncInfo::RefreshPresent { cookie, .. } => {
                keep(cookie);
                self.forget_others();
            }
            SyncInfo::IdSet { deletes, uuids, cookie } => {
                for uuid in uuids.iter().map(|uuid| uuid.try_into().unwrap()) {
                    self.named += 1;
                    match deletes {
                        false => self.present.push(uuid),
                        true if cookie.is_none() && self.is_newer(uuid) => {}
                        true => self.drop(uuid),
                    }
                }
            }
        }
    }

    fn is_full(&self) -> bool {
        self.taken >= self.most || self.is_cut_off()
    }
}

/// Names and attributes, in the order of names; those that a filter finds below a base.
pub fn content(sample: &Sample) -> Vec<(String, Vec<u8>)> {
    let attributes: &[&str] = &[
        "*",
        "structuralObjectClass",
        "entryUUID",
        "creatorsName",
        "createTimestamp",
        "entryCSN",
        "modifiersName",
        "modifyTimestamp",
    ];
    let given = sample.search(BASE, "(objectClass=*)", &Ask { attributes, ..Ask::default() }).unwrap();
    let text = |(name, attributes): Found| {
        let mut lines: Vec<String> = attributes.iter().map(|(name, values)| format!("{name}: {values:?}")).collect();
        lines.sort();
        (name, lines.join("\n").into_bytes())
    };
    let mut all: Vec<_> = given.entries.into_iter().map(text).collect();
    all.sort();
    all
}

fn copied(copy: &Copy) -> Vec<(String, Vec<u8>)> {
    let text = |(name, attributes): &(String, Vec<u8>)| {
        let list: List<'_, Attribute<'_>> = List::trusted(attributes);
        let value = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let mut lines: Vec<String> = list
            .iter()
            .map(|a| format!("{}: {:?}", a.description, a.values.iter().map(value).collect::<Vec<_>>()))
            .collect();
        lines.sort();
        (name.clone(), lines.join("\n").into_bytes())
    };
    let mut all: Vec<_> = copy.entries.values().map(text).collect();
    all.sort();
    all
}

#[track_caller]
fn assert_same(copy: &Copy, sample: &Sample, what: &str) {
    let text = |all: Vec<(String, Vec<u8>)>| -> Vec<String> {
        all.into_iter().map(|(name, rest)| format!("{name}\n{}", String::from_utf8_lossy(&rest))).collect()
    };
    let (copied, there) = (text(copied(copy)), text(content(sample)));
    assert!(copy.names.iter().all(|name| !copy.has_below(name)), "{what}: {:?}", copy.names);
    let alone = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|entry| !other.contains(entry)).cloned().collect()
    };
    assert_eq!(alone(&copied, &there), alone(&there, &copied), "{what}");
}

/// Copies that are asked for once in a while, those of clients that are cut off in the midst, and those that hear what happens, in
/// small pieces or at once, all end with what there is.
fn run(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let sample = keeping(100_000);
    sample.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    let mut asking = Copy { most: usize::MAX, ..Copy::default() };
    let mut torn = Copy { most: 1, torn: true, ..Copy::default() };
    let mut hearing = Copy { most: 1 + random.usize(..3), ..Copy::default() };
    let mut standing = hearing.ask(&sample, true).unwrap().unwrap();
    for round in 0..12 {
        for _ in 0..random.usize(..24) {
            change(&sample, &mut random);
        }
        let what = format!("seed {seed}, round {round}");
        if random.bool() {
            asking.ask(&sample, false).unwrap_or_else(|code| panic!("{what}: {code}"));
            assert_same(&asking, &sample, &what);
        }
        if random.bool() {
            torn.cut = Some(random.usize(..8)).filter(|_| !torn.cookie.is_empty() && random.bool());
            torn.ask(&sample, false).unwrap_or_else(|code| panic!("{what}: {code}"));
            if !torn.is_cut_off() {
                assert_same(&torn, &sample, &what);
            }
        }
        if random.bool() {
            hearing.hear(&mut standing).unwrap();
            assert_same(&hearing, &sample, &what);
        }
    }
    asking.ask(&sample, false).unwrap();
    assert_same(&asking, &sample, &format!("seed {seed}"));
}

#[test]
fn whatever_changes_copies_can_follow_it_step_by_step() {
    let cases = std::env::var("DURAMEN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12);
    let first = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok());
    (0..if first.is_some() { 1 } else { cases }).for_each(|n| run(first.unwrap_or(0) + n));
}

fn number(sample: &Sample) -> String {
    sample.read(BASE, &["contextCSN"]).values("contextCSN")[0].to_string()
}

#[test]
fn a_suffix_shows_the_number_of_the_last_change_and_numbers_grow_whatever_the_clock_says() {
    let sample = keeping(100);
    sample.load(PEOPLE);
    let mut last = number(&sample);
    for n in 0..20 {
        sample.modify(JENSEN, &[(Replace, "description", &[&n.to_string()])]).unwrap();
        let own = sample.read(JENSEN, &["entryCSN"]).values("entryCSN")[0].to_string();
        assert!(own > last, "{own} after {last}");
        assert_eq!(own, number(&sample));
        last = own;
    }
    // An entry that comes with a number of times to come takes all later ones there.
    let future = "20991231235959.000000Z#000000#000#000000";
    let relaxed = [control(oid::RELAX)];
    let set = |value: &str| {
        sample.modify_as(&Requester::internal(), JENSEN, &[(Replace, "entryCSN", &[value])], &relaxed).unwrap();
    };
    set(future);
    assert!(number(&sample).as_str() < future);
    sample.modify(JENSEN, &[(Replace, "description", &["x"])]).unwrap();
    let own = sample.read(JENSEN, &["entryCSN", "modifyTimestamp"]);
    assert!(own.values("entryCSN")[0] > future && own.values("modifyTimestamp")[0] < "2099", "{own:?}");
    assert_eq!(number(&sample), own.values("entryCSN")[0]);
    // Another program that opens the directory goes on from there, as a clock that was put back would have it.
    let Sample { directory, folder } = sample;
    let before = own.values("entryCSN")[0].to_string();
    drop(directory);
    let sample =
        Sample { directory: duramen_directory::Directory::open(folder.path(), Config::default()).unwrap(), folder };
    sample.delete(JENSEN, &[]).unwrap();
    assert!(number(&sample) > before);
}

#[test]
fn who_has_a_copy_hears_what_has_changed_and_nothing_else() {
    let sample = keeping(100);
    sample.load(PEOPLE);
    let mut copy = Copy { most: usize::MAX, ..Copy::default() };
    copy.ask(&sample, false).unwrap();
    assert_eq!((copy.told, copy.named), (6, 0));
    copy.ask(&sample, false).unwrap();
    assert_eq!((copy.told, copy.named), (0, 0));
    sample.modify(JENSEN, &[(Replace, "description", &["x"])]).unwrap();
    sample.delete("cn=admins,ou=Groups,dc=example,dc=com", &[]).unwrap();
    copy.ask(&sample, false).unwrap();
    assert_eq!((copy.told, copy.named), (1, 1));
    assert_same(&copy, &sample, "one changed, one deleted");
    // A rename of what has something below it is told of the renamed entry alone.
    sample.rename("ou=People,dc=example,dc=com", "ou=Staff", true, None).unwrap();
    copy.ask(&sample, false).unwrap();
    assert_eq!((copy.told, copy.named), (1, 0));
    assert_same(&copy, &sample, "a subtree renamed");
    // Of more changes than are kept the entries that are as they were are only named.
    for n in 0..1300 {
        sample.modify("ou=Groups,dc=example,dc=com", &[(Replace, "description", &[&n.to_string()])]).unwrap();
    }
    copy.ask(&sample, false).unwrap();
    assert_eq!((copy.told, copy.named), (1, 4));
    assert_same(&copy, &sample, "more than is kept");
}

fn asked<'a>(cookie: &'a [u8], reload_hint: bool) -> SyncRequest<'a> {
    SyncRequest { persists: false, cookie: Some(cookie), reload_hint }
}

#[test]
fn a_cookie_of_another_directory_is_refused_or_ends_in_all_content_rfc4533_3_1() {
    let sample = keeping(100);
    sample.load(PEOPLE);
    for cookie in [
        "rid=001,csn=29990101000000.000000Z#000000#000#000000",
        "rid=001,csn=20200101000000.000000Z#000000#007#000000",
        "nonsense",
    ] {
        let mut copy = Copy { cookie: cookie.into(), most: usize::MAX, ..Copy::default() };
        let refused = copy.ask_as(&sample, &Requester::internal(), BASE, "(objectClass=*)", asked(b"", false));
        assert_eq!(refused.err(), Some(ResultCode::SYNC_REFRESH_REQUIRED), "{cookie}");
        copy.ask_as(&sample, &Requester::internal(), BASE, "(objectClass=*)", asked(b"", true)).unwrap();
        assert_eq!((copy.told, copy.named), (6, 0), "{cookie}");
    }
    // One of before: entries have come with numbers of their own since, which tell nothing of when.
    let mut copy = Copy { cookie: b"rid=001,csn=20200101000000.000000Z#000000#000#000000".to_vec(), ..Copy::default() };
    copy.ask_as(&sample, &Requester::internal(), BASE, "(objectClass=*)", asked(b"", false)).unwrap();
    assert_eq!((copy.told, copy.named), (6, 0));
}

#[test]
fn entries_that_come_with_earlier_numbers_than_copies_have_get_those_of_their_changes() {
    let sample = keeping(1000);
    sample.load(PEOPLE);
    let csn = |name: &str| sample.read(name, &["entryCSN"]).values("entryCSN")[0].to_string();
    let mut copy = Copy { most: usize::MAX, ..Copy::default() };
    copy.ask(&sample, false).unwrap();
    let (known, early) = (number(&sample), "20100101000000.000000Z#000000#000#000000");
    let name = |first: &str| format!("cn={first},ou=Groups,dc=example,dc=com");
    let relaxed = [control(oid::RELAX)];
    let device: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"device"]), ("entryCSN", vec![early.as_bytes()])];
    sample.add_as(&Requester::internal(), &name("added"), device, &relaxed).unwrap();
    sample.modify_as(&Requester::internal(), JENSEN, &[(Replace, "entryCSN", &[early])], &relaxed).unwrap();
    // Of an earlier form, too, and with values of their own.
    let old = "20070101000000Z#000000#00#000000";
    let members: String = (0..300).map(|n| format!("member: cn=m{n}\n")).collect();
    let text = format!(
        "dn: {}\nobjectClass: device\nentryCSN: {early}\n\ndn: {}\nobjectClass: groupOfNames\nentryCSN: {old}\n{members}\n\
         dn: {}\nobjectClass: device\n",
        name("one"),
        name("two"),
        name("three")
    );
    sample.directory.import("x.ldif", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    let numbers = ["added", "one", "two", "three"].map(|first| csn(&name(first)));
    for number in numbers.iter().chain([&csn(JENSEN)]) {
        assert!(*number > known, "who looks at numbers takes it: {number}");
        assert_eq!(sample.found(&format!("(entryCSN={number})")).len(), 1);
    }
    assert!(numbers.is_sorted() && numbers[3] == number(&sample), "{numbers:?}");
    assert_eq!(sample.found(&format!("(|(entryCSN={early})(entryCSN={old}))")).len(), 0);
    assert_eq!(sample.read(&name("two"), &["member"]).values("member").len(), 300);
    copy.ask(&sample, false).unwrap();
    assert_eq!((copy.told, copy.named), (5, 0));
    assert_same(&copy, &sample, "after an import");
    assert_eq!(problems(&sample), [""; 0]);
    // Where nobody is told what changes they stay as they are.
    let alone = Sample::empty();
    alone.load(PEOPLE);
    alone.add_as(&Requester::internal(), &name("added"), device, &relaxed).unwrap();
    alone.directory.import("x.ldif", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    let kept =
        ["added", "one", "two"].map(|first| alone.read(&name(first), &["entryCSN"]).values("entryCSN")[0].to_string());
    assert_eq!(kept, [early, early, old]);
}

#[test]
fn what_a_client_finds_no_more_is_gone_for_it_and_what_comes_into_sight_is_new() {
    let sample = keeping(1000);
    sample.load(PEOPLE);
    let mut copy = Copy { most: usize::MAX, ..Copy::default() };
    let filter = "(|(uid=*)(ou=*)(dc=*))";
    let sync = SyncRequest { persists: true, cookie: None, reload_hint: true };
    let mut standing = copy.ask_as(&sample, &Requester::internal(), BASE, filter, sync).unwrap().unwrap();
    assert_eq!(copy.entries.len(), 5);
    sample.modify(JENSEN, &[(Replace, "description", &["x"])]).unwrap();
    sample.modify("cn=admins,ou=Groups,dc=example,dc=com", &[(Replace, "description", &["x"])]).unwrap();
    copy.hear(&mut standing).unwrap();
    assert_eq!((copy.told, copy.entries.len()), (6, 5), "of what it never had it hears nothing");
    sample.modify("cn=admins,ou=Groups,dc=example,dc=com", &[(Replace, "description", &["y"])]).unwrap();
    sample.rename(JENSEN, "cn=Barbara Jensen", false, None).unwrap();
    sample.modify("cn=Barbara Jensen,ou=People,dc=example,dc=com", &[(Replace, "uid", &[])]).unwrap();
    copy.hear(&mut standing).unwrap();
    assert_eq!(copy.entries.len(), 4);
    sample.modify("cn=Barbara Jensen,ou=People,dc=example,dc=com", &[(Replace, "uid", &["b"])]).unwrap();
    copy.hear(&mut standing).unwrap();
    assert_eq!(copy.entries.len(), 5);
}

#[test]
fn access_rules_that_change_are_heeded_by_what_is_told_from_then_on() {
    let config = |rules: &str| {
        let access = Some(SchemaFile { name: "access.conf".into(), text: rules.into() });
        Config { history: Some(1000), suffixes: vec![BASE.into()], access, ..Config::default() }
    };
    let sample = Sample::with(config("access to * by * read"));
    sample.load(PEOPLE);
    let reader = Requester::anonymous(Arc::new(Peer::Internal), 0);
    let mut copy = Copy { most: usize::MAX, ..Copy::default() };
    let sync = SyncRequest { persists: true, cookie: None, reload_hint: true };
    let mut standing = copy.ask_as(&sample, &reader, BASE, "(objectClass=*)", sync).unwrap().unwrap();
    assert_eq!(copy.entries.len(), 6);
    let group = "cn=admins,ou=Groups,dc=example,dc=com";
    let hidden =
        format!("access to dn.exact=\"{group}\" by * none\naccess to attrs=mail by * none\naccess to * by * read");
    sample.directory.reconfigure(config(&hidden)).unwrap();
    sample.modify(JENSEN, &[(Replace, "mail", &["new@example.com"])]).unwrap();
    sample.modify(group, &[(Replace, "description", &["new"])]).unwrap();
    copy.hear(&mut standing).unwrap();
    let named = |name: &str| copy.entries.values().find(|(known, _)| known == name);
    let (_, jensen) = named(JENSEN).unwrap();
    assert!(!String::from_utf8_lossy(jensen).contains("example.com"), "no mail any more");
    assert!(named(group).is_none(), "it is not there for who may not see it");
    sample.directory.reconfigure(config("access to * by * read")).unwrap();
    sample.modify(group, &[(Replace, "description", &["newer"])]).unwrap();
    copy.hear(&mut standing).unwrap();
    assert_eq!(copy.entries.len(), 6);
}

#[test]
fn references_are_told_as_such_rfc4533_1_3() {
    let sample = keeping(1000);
    sample.load(PEOPLE);
    let elsewhere = "ou=Elsewhere,dc=example,dc=com";
    let referral: &[(&str, Vec<&[u8]>)] = &[
        ("objectClass", vec![b"referral", b"extensibleObject"]),
        ("ou", vec![b"Elsewhere"]),
        ("ref", vec![b"ldap://one"]),
    ];
    sample.add(elsewhere, referral).unwrap();
    let mut copy = Copy { most: usize::MAX, ..Copy::default() };
    let mut standing = copy.ask(&sample, true).unwrap().unwrap();
    let uuid = *copy.references.keys().next().unwrap();
    assert_eq!((copy.entries.len(), copy.references.len()), (6, 1));
    assert_eq!(copy.references[&uuid], ["ldap://one/ou=Elsewhere,dc=example,dc=com??sub"]);
    let manage = [control(oid::MANAGE_DSA_IT)];
    sample.modify_as(&Requester::internal(), elsewhere, &[(Replace, "ref", &["ldap://two"])], &manage).unwrap();
    copy.hear(&mut standing).unwrap();
    assert_eq!(copy.references[&uuid], ["ldap://two/ou=Elsewhere,dc=example,dc=com??sub"]);
    sample.delete(elsewhere, &manage).unwrap();
    copy.hear(&mut standing).unwrap();
    assert!(copy.references.is_empty());
}

#[test]
fn who_searches_a_part_hears_of_all_that_is_moved_into_it_and_out_of_it() {
    let sample = keeping(1000);
    sample.load(PEOPLE);
    let base = "ou=Groups,dc=example,dc=com";
    let names = |copy: &Copy| copy.entries.values().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let ask = |copy: &mut Copy, persists| {
        let sync = SyncRequest { persists, cookie: None, reload_hint: true };
        copy.ask_as(&sample, &Requester::internal(), base, "(objectClass=*)", sync).unwrap()
    };
    let (mut asking, mut hearing) = (Copy { most: usize::MAX, ..Copy::default() }, Copy { most: 1, ..Copy::default() });
    // What is above its base no such client has.
    asking.entries.insert([0; 16], (BASE.into(), Vec::new()));
    hearing.entries.insert([0; 16], (BASE.into(), Vec::new()));
    let all = |persists: bool, copy: &mut Copy| {
        copy.present.push([0; 16]);
        ask(copy, persists)
    };
    all(false, &mut asking);
    let mut standing = all(true, &mut hearing).unwrap();
    sample.rename("ou=People,dc=example,dc=com", "ou=People", true, Some(base)).unwrap();
    all(false, &mut asking);
    hearing.hear(&mut standing).unwrap();
    for copy in [&asking, &hearing] {
        assert_eq!(copy.entries.len(), 1 + 5, "{:?}", names(copy));
    }
    sample.rename("ou=People,ou=Groups,dc=example,dc=com", "ou=People", true, Some(BASE)).unwrap();
    all(false, &mut asking);
    hearing.hear(&mut standing).unwrap();
    for copy in [&asking, &hearing] {
        assert_eq!(copy.entries.len(), 1 + 2, "{:?}", names(copy));
    }
    // RFC 4533 section 3.5.1: the base is another entry then, or none.
    sample.rename(base, "ou=Elsewhere", true, None).unwrap();
    assert_eq!(hearing.hear(&mut standing), Err(ResultCode::NO_SUCH_OBJECT));
}

#[test]
fn a_client_that_is_slow_hears_all_the_same_and_one_that_is_too_slow_has_to_ask_again() {
    let sample = keeping(2000);
    sample.load(PEOPLE);
    let mut copy = Copy { most: 1, ..Copy::default() };
    let mut standing = copy.ask(&sample, true).unwrap().unwrap();
    for n in 0..10 {
        sample.modify(JENSEN, &[(Replace, "description", &[&n.to_string()])]).unwrap();
        sample
            .modify("uid=jsmith,ou=People,dc=example,dc=com", &[(Replace, "description", &[&n.to_string()])])
            .unwrap();
        copy.taken = 0;
        standing.run(&mut copy);
        // What is held for longer goes.
        if n == 5 {
            std::thread::sleep(std::time::Duration::from_millis(1100));
            standing.let_go();
            assert!(!standing.is_telling());
        }
    }
    copy.hear(&mut standing).unwrap();
    assert_same(&copy, &sample, "slow");
    for n in 0..3100 {
        sample.modify(JENSEN, &[(Replace, "description", &[&n.to_string()])]).unwrap();
    }
    assert_eq!(copy.hear(&mut standing), Err(ResultCode::SYNC_REFRESH_REQUIRED));
    copy.ask(&sample, false).unwrap();
    assert_same(&copy, &sample, "asked again");
}

#[test]
fn what_rfc4533_forbids_is_refused() {
    let sample = keeping(10);
    sample.load(PEOPLE);
    let mut value = Vec::new();
    SyncRequest { persists: false, cookie: None, reload_hint: false }.encode(&mut value);
    let sync = Control { oid: oid::SYNC_REQUEST, critical: true, value: Some(&value) };
    let ask = |more: Ask<'_>, base: &str| {
        let controls = more.controls.iter().copied().chain([sync]).collect();
        code(sample.search(base, "(objectClass=*)", &Ask { controls, ..more }))
    };
    let mut page = Vec::new();
    duramen_ldap::control::PagedResults { size: 5, cookie: b"" }.encode(&mut page);
    let page = Control { oid: oid::PAGED_RESULTS, critical: true, value: Some(&page) };
    assert_eq!(ask(Ask { controls: vec![page], ..Ask::default() }, BASE), ResultCode::PROTOCOL_ERROR);
    assert_eq!(ask(Ask { controls: vec![sync], ..Ask::default() }, BASE), ResultCode::PROTOCOL_ERROR);
    let deref = duramen_ldap::message::Deref::Always;
    assert_eq!(ask(Ask { deref, ..Ask::default() }, BASE), ResultCode::PROTOCOL_ERROR);
    let root = Ask { scope: Scope::Base, ..Ask::default() };
    assert_eq!(ask(root, ""), ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    // Where nothing is kept there is no such service.
    let without = Sample::people();
    let ask = Ask { controls: vec![sync], ..Ask::default() };
    let refused = without.search(BASE, "(objectClass=*)", &ask);
    assert_eq!(code(refused), ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    assert!(without.read(BASE, &["contextCSN"]).values("contextCSN").is_empty());
}

#[test]
fn what_is_made_when_an_entry_is_read_is_not_copied_nor_asked_for_rfc4533_3_2() {
    let sample = keeping(10);
    sample.load(PEOPLE);
    let mut copy = Copy { most: usize::MAX, ..Copy::default() };
    copy.ask(&sample, false).unwrap();
    let text = String::from_utf8_lossy(&copy.entries.values().flat_map(|(_, all)| all.clone()).collect::<Vec<u8>>())
        .into_owned();
    for made in ["memberOf", "entryDN", "hasSubordinates", "numSubordinates", "subschemaSubentry", "contextCSN"] {
        assert!(!text.contains(made), "{made}");
    }
    for filter in [
        "(memberOf=*)",
        "(hasSubordinates=TRUE)",
        "(!(numSubordinates=7))",
        "(entryDN:dnSubtreeMatch:=dc=example,dc=com)",
    ] {
        let mut copy = Copy { most: usize::MAX, ..Copy::default() };
        copy.ask_as(&sample, &Requester::internal(), BASE, filter, asked(b"", true)).unwrap();
        assert_eq!(copy.told, 0, "{filter}");
    }
}

#[test]
fn what_another_program_changes_without_a_word_is_noticed() {
    let sample = keeping(1000);
    sample.load(PEOPLE);
    let mut copy = Copy { most: usize::MAX, ..Copy::default() };
    copy.ask(&sample, false).unwrap();
    // As a program does that knows nothing of table `history`.
    let db = sample.directory.database();
    db.update(|txn| {
        let mut entries = txn.table("entry")?;
        let (key, value) = entries.view().last()?.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap();
        entries.delete(&key)?;
        entries.put(&key, &value)
    })
    .unwrap();
    copy.ask_as(&sample, &Requester::internal(), BASE, "(objectClass=*)", asked(b"", true)).unwrap();
    assert_eq!((copy.told, copy.named), (6, 0), "nothing is known of before");
    sample.modify(JENSEN, &[(Replace, "description", &["x"])]).unwrap();
    copy.ask(&sample, false).unwrap();
    assert_eq!((copy.told, copy.named), (1, 0));
}
