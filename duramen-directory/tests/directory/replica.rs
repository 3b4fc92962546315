//! A directory that is a copy of another one's entries (RFC 4533), told of by one that tells in order, and by one that tells in
//! any, and breaks off at any moment.

use std::collections::{BTreeMap, BTreeSet};

use duramen_directory::{
    Config, Constraint, CopyOf, Demand, Heard, PasswordPolicies, Replica, ReplicaError, SchemaFile, Standing,
};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{SyncDone, SyncInfo, SyncState, SyncStateValue};
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::message::{Control, ResultCode, SearchEntry};
use duramen_ldap::oid::control as oid;

use crate::copies::{content, keeping};
use crate::ear::{self, Word, hear};
use crate::random::change;
use crate::sample::*;

type Uuid = [u8; 16];

pub const ELSEWHERE: &str = "ldap://provider.example.com";

fn copy_config() -> Config {
    let copies = Some(vec![CopyOf { suffix: BASE.into(), referrals: vec![ELSEWHERE.into()] }]);
    Config { copies, history: Some(100_000), ..Config::default() }
}

pub fn copying() -> Sample {
    Sample::with(copy_config())
}

pub fn replica(sample: &Sample) -> Replica {
    sample.directory.replica(BASE).unwrap()
}

/// Something that a provider says, as it is sent.
#[derive(Clone, Debug)]
pub enum Said {
    Entry(String, Vec<u8>, Vec<u8>),
    Info(Vec<u8>),
    Done(ResultCode, Vec<u8>),
}

impl Said {
    pub fn entry(state: SyncState, uuid: Uuid, name: &str, attributes: &[u8], cookie: Option<&[u8]>) -> Said {
        let mut value = Vec::new();
        SyncStateValue { state, uuid, cookie }.encode(&mut value);
        Said::Entry(name.into(), attributes.to_vec(), value)
    }

    pub fn info(info: &SyncInfo<'_>) -> Said {
        let mut value = Vec::new();
        info.encode(&mut value);
        Said::Info(value)
    }

    pub fn ids(deletes: bool, ids: &[Uuid]) -> Said {
        let mut buffer = Vec::new();
        let uuids = List::build(&mut buffer, ids.iter().map(|uuid| &uuid[..]));
        Said::info(&SyncInfo::IdSet { cookie: None, deletes, uuids })
    }

    /// The number that a cookie says, if one is said with it.
    pub fn cookie(&self) -> Option<String> {
        let text = |cookie: Option<&[u8]>| {
            let text = String::from_utf8(cookie?.to_vec()).unwrap();
            text.split(',').find_map(|part| part.strip_prefix("csn=")).map(str::to_string)
        };
        match self.heard() {
            Heard::Entry(_, state) => text(state.cookie),
            Heard::Info(SyncInfo::NewCookie(cookie)) => text(Some(cookie)),
            Heard::Info(
                SyncInfo::RefreshDelete { cookie, .. }
                | SyncInfo::RefreshPresent { cookie, .. }
                | SyncInfo::IdSet { cookie, .. },
            ) => text(cookie),
            _ => None,
        }
    }

    pub fn heard(&self) -> Heard<'_> {
        match self {
            Said::Entry(name, attributes, value) => {
                let entry = SearchEntry { name, attributes: List::trusted(attributes) };
                Heard::Entry(entry, SyncStateValue::decode(value).unwrap())
            }
            Said::Info(value) => Heard::Info(SyncInfo::decode(value).unwrap()),
            Said::Done(code, value) => {
                let sync = SyncDone::decode(value).ok();
                Heard::Done { code: *code, diagnostic: "", sync }
            }
        }
    }
}

pub fn take(replica: &mut Replica, said: &[Said]) -> Result<(), ReplicaError> {
    let heard: Vec<Heard<'_>> = said.iter().map(Said::heard).collect();
    replica.take(&heard, &|| true)
}

pub fn begin(replica: &mut Replica) -> Vec<u8> {
    replica.begin("one", &|| true).unwrap()
}

impl Word for Said {
    fn entry(name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>) -> Said {
        Said::Entry(name.into(), attributes.concat(), ear::value(controls, oid::SYNC_STATE).to_vec())
    }

    fn info(value: &[u8]) -> Said {
        Said::Info(value.to_vec())
    }

    fn ended(code: ResultCode, _: String) -> Said {
        Said::Done(code, Vec::new())
    }
}

/// What a directory says to who asks by a cookie, and what goes on from there.
pub fn ask(sample: &Sample, cookie: &[u8]) -> (Vec<Said>, Option<Standing>) {
    ear::ask(sample, cookie, None)
}

pub fn context(sample: &Sample) -> Vec<String> {
    sample.read(BASE, &["contextCSN"]).values("contextCSN").into_iter().map(str::to_string).collect()
}

#[track_caller]
pub fn assert_same(copy: &Sample, provider: &Sample, what: &str) {
    let text = |all: Vec<(String, Vec<u8>)>| -> Vec<String> {
        all.into_iter().map(|(name, rest)| format!("{name}\n{}", String::from_utf8_lossy(&rest))).collect()
    };
    let (copied, there) = (text(content(copy)), text(content(provider)));
    let alone = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|entry| !other.contains(entry)).cloned().collect()
    };
    assert_eq!(alone(&copied, &there), alone(&there, &copied), "{what}: here alone, and there alone");
    assert_eq!(problems(copy), [""; 0], "{what}");
}

/// Has a copy hear all there is; by `begin` until it is through.
pub fn catch_up(copy: &mut Replica, provider: &Sample) {
    for _ in 0..3 {
        let cookie = begin(copy);
        match take(copy, &ask(provider, &cookie).0) {
            Ok(()) => return assert!(copy.is_following() && copy.is_complete()),
            Err(ReplicaError::Again(_)) => {}
            Err(ReplicaError::Unknown) => copy.ask_for_all(),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("it has to be asked again and again");
}

#[test]
fn a_copy_has_all_attributes_as_they_were_sent_and_shows_of_which_change_it_is() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    let mut replica = replica(&copy);
    assert!(!replica.is_complete() && begin(&mut replica).is_empty());
    catch_up(&mut replica, &provider);
    assert_same(&copy, &provider, "all of it");
    assert_eq!(context(&copy), context(&provider));
    assert_eq!(replica.numbers(), context(&provider));
    let made = copy.search(BASE, "(memberOf=cn=admins,ou=Groups,dc=example,dc=com)", &Ask::default()).unwrap();
    assert_eq!(made.names(), [JENSEN], "what is derived is derived here");
    // Again it is the same, and nothing is written.
    let commit = copy.directory.commit().unwrap();
    let said = ask(&provider, b"").0;
    begin(&mut replica);
    take(&mut replica, &said[..said.len() - 1]).unwrap();
    assert_eq!((replica.counts().put, replica.counts().unchanged), (6, 6));
    let entries = copy.directory.database().read().unwrap().table("entry").unwrap().changed_in().unwrap();
    assert!(entries.is_some_and(|changed| changed <= commit));
}

#[test]
fn no_constraint_judges_what_is_copied() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    let demand = Demand::Matches("^none$".into());
    let constraint = Constraint { attributes: vec!["cn".into(), "sn".into()], demand, restrict: None };
    copy.directory.reconfigure(Config { constraints: vec![constraint], ..copy_config() }).unwrap();
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    provider.modify(JENSEN, &[(Replace, "sn", &["Other"])]).unwrap();
    catch_up(&mut replica, &provider);
    assert_same(&copy, &provider, "all of it");
}

#[test]
fn changes_are_referred_to_the_provider_and_by_no_tool_made() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    catch_up(&mut replica(&copy), &provider);
    let refused = [
        copy.delete(JENSEN, &[]),
        copy.modify(JENSEN, &[(Replace, "description", &["x"])]),
        copy.rename(JENSEN, "uid=x", true, None),
        copy.add("uid=x,dc=example,dc=com", &[("objectClass", vec![b"account"])]),
    ];
    for refused in refused {
        let failure = refused.unwrap_err();
        assert_eq!(failure.code, ResultCode::REFERRAL, "{failure}");
        let urls: List<'_, &str> = List::trusted(&failure.referral);
        let url = urls.iter().next().unwrap();
        assert!(url.starts_with("ldap://provider.example.com/uid="), "{url}");
    }
    let ldif = "dn: ou=x,dc=example,dc=com\nobjectClass: organizationalUnit\nou: x\n";
    let options = duramen_directory::ImportOptions::default();
    let refused = copy.directory.import("x.ldif", &mut ldif.as_bytes(), options, &mut |_| true).unwrap_err();
    assert!(refused.to_string().contains("copy of another server"), "{refused}");
    // Without the setting it is a directory as others are, and forgets what it was a copy of.
    let config = || Config { suffixes: vec![BASE.into()], ..copy_config() };
    copy.directory.reconfigure(Config { copies: Some(Vec::new()), ..config() }).unwrap();
    copy.modify(JENSEN, &[(Replace, "description", &["x"])]).unwrap();
    assert!(context(&copy) > context(&provider), "it goes on from there");
    copy.directory.reconfigure(config()).unwrap();
    let mut again = replica(&copy);
    assert!(!again.is_complete());
    catch_up(&mut again, &provider);
    assert_same(&copy, &provider, "what was changed here is gone");
}

#[test]
fn what_the_schema_does_not_have_is_told_and_nothing_is_left_out() {
    let schema = SchemaFile {
        name: "own.schema".into(),
        text: "attributetype ( 1.1.1 NAME 'shoeSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
               objectclass ( 1.1.2 NAME 'walker' SUP top AUXILIARY MAY shoeSize )"
            .into(),
    };
    let (provider, copy) =
        (Sample::with(Config { history: Some(100), schema: vec![schema.clone()], ..Config::default() }), copying());
    provider.load(PEOPLE);
    let walker: &[(&str, Vec<&[u8]>)] =
        &[("objectClass", vec![b"account", b"walker"]), ("uid", vec![b"w"]), ("shoeSize", vec![b"46"])];
    provider.add("uid=w,ou=People,dc=example,dc=com", walker).unwrap();
    let mut replica = replica(&copy);
    let cookie = begin(&mut replica);
    let refused = take(&mut replica, &ask(&provider, &cookie).0).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, ReplicaError::Refused { .. }) && text.contains("uid=w,ou=People"), "{text}");
    assert!(text.contains("shoeSize") && text.contains("directory.schema"), "{text}");
    assert!(copy.directory.is_empty().unwrap(), "nothing that came with it either");
    let more = Config { suffixes: vec![BASE.into()], schema: vec![schema], ..copy_config() };
    copy.directory.reconfigure(more).unwrap();
    catch_up(&mut replica, &provider);
    assert_same(&copy, &provider, "with the schema");
}

#[test]
fn who_is_shown_nothing_deletes_nothing() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    let end = Said::info(&SyncInfo::RefreshPresent { cookie: Some(b"rid=000"), done: true });
    begin(&mut replica);
    let error = take(&mut replica, &[end]).unwrap_err();
    assert!(matches!(error, ReplicaError::Empty(_)), "{error}");
    begin(&mut replica);
    let error = take(&mut replica, &[Said::Done(ResultCode::NO_SUCH_OBJECT, Vec::new())]).unwrap_err();
    assert!(matches!(error, ReplicaError::Empty(_)), "{error}");
    let limit = Said::Done(ResultCode::SIZE_LIMIT_EXCEEDED, Vec::new());
    begin(&mut replica);
    let error = take(&mut replica, &[limit]).unwrap_err();
    assert!(matches!(error, ReplicaError::Ended { .. }), "{error}");
    assert_same(&copy, &provider, "all is there");
}

#[test]
fn a_copy_that_lacks_what_the_provider_says_it_has_asks_for_all() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    let known = begin(&mut replica);
    let (base, _) = uuids(&provider).into_iter().find(|(_, (name, _))| name == BASE).unwrap();
    let end = Said::info(&SyncInfo::RefreshPresent { cookie: Some(b"rid=000"), done: true });
    let error = take(&mut replica, &[Said::ids(false, &[base, [7; 16]]), end]).unwrap_err();
    assert!(matches!(error, ReplicaError::Again(_)), "{error}");
    assert!(!known.is_empty() && begin(&mut replica).is_empty());
    catch_up(&mut replica, &provider);
    assert_same(&copy, &provider, "asked for all");
    assert!(!begin(&mut replica).is_empty(), "and next time for what has changed since");
}

#[test]
fn a_provider_that_knows_the_cookie_no_more_is_asked_for_all() {
    let (provider, other, copy) = (keeping(1000), keeping(1000), copying());
    provider.load(PEOPLE);
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    // Another server takes its place whose changes are all older.
    let old = "20010101000000.000000Z#000000#000#000000";
    other.load(PEOPLE);
    let unknown = [Said::Done(ResultCode::SYNC_REFRESH_REQUIRED, Vec::new())];
    begin(&mut replica);
    assert!(matches!(take(&mut replica, &unknown), Err(ReplicaError::Unknown)));
    assert!(!begin(&mut replica).is_empty(), "another one may know it");
    replica.ask_for_all();
    assert!(begin(&mut replica).is_empty());
    let mut said = ask(&other, b"").0;
    let cookie = format!("rid=000,csn={old}");
    *said.last_mut().unwrap() = Said::info(&SyncInfo::RefreshPresent { cookie: Some(cookie.as_bytes()), done: true });
    let below = copying();
    let mut standing = {
        let mut replica = crate::replica::replica(&below);
        let cookie = begin(&mut replica);
        let (said, standing) = ask(&copy, &cookie);
        take(&mut replica, &said).unwrap();
        standing.unwrap()
    };
    take(&mut replica, &said).unwrap();
    assert_same(&copy, &other, "the other's");
    assert_eq!(context(&copy), [old]);
    // Who has a copy of the copy is told so, too.
    let told = hear(&mut standing);
    assert!(matches!(told.last(), Some(Said::Done(ResultCode::SYNC_REFRESH_REQUIRED, _))), "{told:?}");
    catch_up(&mut crate::replica::replica(&below), &copy);
    assert_same(&below, &other, "a copy of the copy");
    assert_eq!(context(&below), [old]);
}

#[test]
fn what_is_told_again_by_names_of_before_a_refresh_changes_nothing() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    provider.modify(JENSEN, &[(Replace, "description", &["x"])]).unwrap();
    let before = uuids(&provider);
    provider.rename("ou=People,dc=example,dc=com", "ou=Staff", true, None).unwrap();
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    // As slapd does with what has changed while it told what there is.
    let again = |(uuid, (name, attributes)): (&Uuid, &(String, Vec<u8>))| {
        Said::entry(SyncState::Modify, *uuid, name, attributes, None)
    };
    let (jensen, others): (Vec<_>, Vec<_>) = before.iter().partition(|(_, (name, _))| name == JENSEN);
    take(&mut replica, &jensen.into_iter().chain(others).map(again).collect::<Vec<_>>()).unwrap();
    assert_same(&copy, &provider, "told again");
    provider.modify("ou=Staff,dc=example,dc=com", &[(Replace, "description", &["y"])]).unwrap();
    let after = uuids(&provider);
    take(&mut replica, &after.iter().map(again).collect::<Vec<_>>()).unwrap();
    assert_same(&copy, &provider, "and what is newer is taken");
}

#[test]
fn changes_that_are_told_in_their_order_have_names_of_their_time() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    // As slapd tells each change when it is made.
    let mut said = Vec::new();
    let tell = |said: &mut Vec<Said>, name: &str| {
        let all = uuids(&provider);
        let (uuid, (name, attributes)) = all.iter().find(|(_, (known, _))| known == name).unwrap();
        let cookie = format!("rid=000,csn={}", context(&provider)[0]);
        said.push(Said::entry(SyncState::Modify, *uuid, name, attributes, Some(cookie.as_bytes())));
    };
    for n in 0..3 {
        let (before, staff) = (["People", "a", "b"][n], ["a", "b", "c"][n]);
        let unit = format!("ou={before},dc=example,dc=com");
        provider.modify(&format!("uid=bjensen,{unit}"), &[(Replace, "description", &[staff])]).unwrap();
        tell(&mut said, &format!("uid=bjensen,{unit}"));
        provider.rename(&unit, &format!("ou={staff}"), true, None).unwrap();
        tell(&mut said, &format!("ou={staff},dc=example,dc=com"));
    }
    // All of it has come before the first of it is taken.
    take(&mut replica, &said).unwrap();
    assert_same(&copy, &provider, "in the end");
    assert_eq!(context(&copy), context(&provider));
}

#[test]
fn other_suffixes_are_nobodys_copy_and_stay_as_they_are() {
    let other = "o=other";
    let folder = tempfile::tempdir().unwrap();
    let config = Config { suffixes: vec![BASE.into(), other.into()], ..copy_config() };
    let directory = duramen_directory::Directory::open(folder.path(), config).unwrap();
    let copy = Sample { directory, folder };
    let own: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"organization"]), ("o", vec![b"other"])];
    copy.add(other, own).unwrap();
    let provider = keeping(1000);
    provider.load(PEOPLE);
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    copy.modify(other, &[(Replace, "description", &["x"])]).unwrap();
    let people = "ou=People,dc=example,dc=com";
    assert_eq!(ended(copy.rename(people, "ou=x", true, Some(other))), ResultCode::REFERRAL);
    provider.delete(people, &[control(oid::TREE_DELETE)]).unwrap();
    // Told of all there is, and of nothing that is gone.
    begin(&mut replica);
    take(&mut replica, &ask(&provider, b"").0).unwrap();
    assert_same(&copy, &provider, "pruned");
    let of_other = copy.read(other, &["description", "contextCSN"]);
    assert_eq!(of_other.values("description"), ["x"]);
    assert_eq!(of_other.values("contextCSN").len(), 1, "the number of the last change of all of it");
}

#[test]
fn a_copy_has_the_subentries_too_and_hides_them_as_its_provider_does() {
    let (provider, copy) = (keeping(1000), copying());
    provider.load(PEOPLE);
    let subentry = |name: &str| {
        let named = format!("cn={name},ou=People,dc=example,dc=com");
        let ldif = format!("dn: {named}\nobjectClass: subentry\ncn: {name}\nsubtreeSpecification: {{}}\n");
        provider.load(&ldif);
        named
    };
    let seen = |sample: &Sample| {
        let only = Control { oid: oid::SUBENTRIES, critical: true, value: Some(b"\x01\x01\xFF") };
        let found = sample.search(BASE, "(cn=*)", &Ask { controls: vec![only], ..Ask::default() }).unwrap();
        found.names().into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let first = subentry("first");
    let mut replica = replica(&copy);
    catch_up(&mut replica, &provider);
    assert_eq!(seen(&copy), [first.as_str()], "of all there is");
    let mut standing = ask(&provider, &begin(&mut replica)).1.unwrap();
    catch_up(&mut replica, &provider);
    let second = subentry("second");
    take(&mut replica, &hear(&mut standing)).unwrap();
    assert_eq!(seen(&copy), [first, second], "and of what comes");
    provider.delete("ou=People,dc=example,dc=com", &[control(oid::TREE_DELETE)]).unwrap();
    catch_up(&mut replica, &provider);
    assert_eq!(seen(&copy), [""; 0]);
    assert_same(&copy, &provider, "hidden from others");
}

#[test]
fn what_a_policy_notes_down_of_a_copied_entry_is_told_to_nobody() {
    let policies =
        || Some(PasswordPolicies { default: Some("cn=policy,dc=example,dc=com".into()), ..Default::default() });
    let (provider, copy) = (keeping(1000), Sample::with(Config { password_policies: policies(), ..copy_config() }));
    provider.load(PEOPLE);
    provider.load(
        "dn: cn=policy,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\npwdAttribute: userPassword\n\
         pwdLockout: TRUE\npwdMaxFailure: 3\n",
    );
    catch_up(&mut replica(&copy), &provider);
    let cookie = begin(&mut replica(&copy));
    let number = copy.read(JENSEN, &["entryCSN"]).values("entryCSN")[0].to_string();
    copy.directory.judge(&copy.directory.name(JENSEN).unwrap(), false).unwrap();
    let read = copy.read(JENSEN, &["entryCSN", "pwdFailureTime"]);
    assert_eq!((read.values("pwdFailureTime").len(), read.values("entryCSN")[0]), (1, number.as_str()));
    assert_eq!(context(&copy), context(&provider));
    // Nor is anything taken to be missing in what is told.
    let told = ask(&copy, &cookie).0;
    assert!(matches!(&told[..], [Said::Info(_)]), "{told:?}");
    // What the provider says next of the entry is what it is.
    provider.modify(JENSEN, &[(Replace, "description", &["x"])]).unwrap();
    catch_up(&mut replica(&copy), &provider);
    assert_same(&copy, &provider, "sent again");
    assert!(copy.read(JENSEN, &["pwdFailureTime"]).values("pwdFailureTime").is_empty());
}

/// All entries as they are sent, by their UUIDs.
pub fn uuids(sample: &Sample) -> BTreeMap<Uuid, (String, Vec<u8>)> {
    let all = ask(sample, b"").0.into_iter();
    all.filter_map(|said| match said {
        Said::Entry(name, attributes, value) => {
            Some((SyncStateValue::decode(&value).unwrap().uuid, (name, attributes)))
        }
        _ => None,
    })
    .collect()
}

/// A provider that tells of its entries in any order, and in either phase: as slapd does, and less orderly.
pub struct Disorderly {
    /// What a copy of each cookie has.
    pub states: Vec<BTreeMap<Uuid, (String, Vec<u8>)>>,
}

impl Disorderly {
    fn cookie(n: usize) -> Vec<u8> {
        format!("state {n}").into_bytes()
    }

    /// What it tells a copy of a state of what is there now.
    pub fn tell(
        &mut self,
        cookie: &[u8],
        now: BTreeMap<Uuid, (String, Vec<u8>)>,
        random: &mut fastrand::Rng,
    ) -> Vec<Said> {
        let known = (0..self.states.len()).find(|n| Disorderly::cookie(*n) == cookie);
        let none = BTreeMap::new();
        let before = known.map_or(&none, |n| &self.states[n]);
        let is_present_phase = known.is_none() || random.bool();
        let (mut said, mut kept) = (Vec::new(), Vec::new());
        for (uuid, (name, attributes)) in &now {
            match before.get(uuid) {
                Some((_, same)) if same == attributes => kept.push(*uuid),
                _ => said.push(Said::entry(SyncState::Add, *uuid, name, attributes, None)),
            }
        }
        random.shuffle(&mut said);
        let at = |said: &Vec<Said>, random: &mut fastrand::Rng| random.usize(..=said.len());
        if is_present_phase {
            random.shuffle(&mut kept);
            for some in kept.chunks(3) {
                let place = at(&said, random);
                said.insert(place, Said::ids(false, some));
            }
        } else {
            // Of what came and went since, too: a copy that was cut off may have it.
            let since = self.states[known.unwrap_or(0)..].iter().flat_map(BTreeMap::keys);
            let gone: BTreeSet<&Uuid> = since.filter(|uuid| !now.contains_key(*uuid)).collect();
            for gone in gone {
                let place = at(&said, random);
                let by_itself = Said::entry(SyncState::Delete, *gone, "whatever", b"", None);
                said.insert(place, if random.bool() { Said::ids(true, &[*gone]) } else { by_itself });
            }
        }
        let cookie = Disorderly::cookie(self.states.len());
        self.states.push(now);
        let cookie = Some(&cookie[..]);
        said.push(Said::info(&match is_present_phase {
            true => SyncInfo::RefreshPresent { cookie, done: true },
            false => SyncInfo::RefreshDelete { cookie, done: true },
        }));
        said
    }
}

/// What is heard in pieces, and perhaps only its beginning; whether it was all.
fn hear_some(replica: &mut Replica, said: &[Said], random: &mut fastrand::Rng) -> bool {
    let end = if random.u8(..3) == 0 { random.usize(..=said.len()) } else { said.len() };
    let mut rest = &said[..end];
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(random.usize(1..=rest.len()));
        take(replica, piece).unwrap();
        rest = others;
    }
    end == said.len()
}

fn run(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let provider = keeping(100_000);
    provider.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    let mut disorderly = Disorderly { states: Vec::new() };
    let [orderly_copy, other_copy, below] = [copying(), copying(), copying()];
    let [mut orderly, mut other, mut cascaded] = [&orderly_copy, &other_copy, &below].map(replica);
    let mut standing: Option<Standing> = None;
    for round in 0..10 {
        for _ in 0..random.usize(..24) {
            change(&provider, &mut random);
        }
        let what = format!("seed {seed}, round {round}");
        // One that hears what happens, and loses the connection now and then.
        let said = match &mut standing {
            Some(standing) => hear(standing),
            None => {
                let (said, begun) = ask(&provider, &begin(&mut orderly));
                standing = begun;
                said
            }
        };
        if !hear_some(&mut orderly, &said, &mut random) {
            standing = None;
        }
        let cookie = begin(&mut other);
        hear_some(&mut other, &disorderly.tell(&cookie, uuids(&provider), &mut random), &mut random);
        assert_eq!(problems(&other_copy), [""; 0], "{what}: in the midst of it");
        if random.bool() {
            if orderly.is_complete() {
                let cookie = begin(&mut cascaded);
                match take(&mut cascaded, &ask(&orderly_copy, &cookie).0) {
                    Ok(()) => assert_same(&below, &orderly_copy, &format!("{what}: a copy of the copy")),
                    Err(ReplicaError::Again(_)) => {}
                    Err(ReplicaError::Unknown) => cascaded.ask_for_all(),
                    Err(error) => assert!(is_later(&error), "{what}: {error}"),
                }
            }
            let cookie = begin(&mut other);
            take(&mut other, &disorderly.tell(&cookie, uuids(&provider), &mut random)).unwrap();
            assert_same(&other_copy, &provider, &format!("{what}: told in disorder"));
            standing = None;
            catch_up(&mut orderly, &provider);
            assert_same(&orderly_copy, &provider, &format!("{what}: told in order"));
            assert_eq!(context(&orderly_copy), context(&provider), "{what}");
        }
    }
    catch_up(&mut orderly, &provider);
    // Who has a copy of the copy can go on at the provider, with the same cookies.
    catch_up(&mut cascaded, &orderly_copy);
    assert_same(&below, &provider, &format!("seed {seed}: a copy of the copy"));
    (0..5).for_each(|_| change(&provider, &mut random));
    catch_up(&mut cascaded, &provider);
    assert_same(&below, &provider, &format!("seed {seed}: with the provider itself"));
}

#[test]
fn whatever_a_provider_tells_in_whatever_order_and_wherever_it_breaks_off_the_copy_is_the_same_in_the_end() {
    let cases = std::env::var("DURAMEN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12);
    let first = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok());
    (0..if first.is_some() { 1 } else { cases }).for_each(|n| run(first.unwrap_or(0) + n));
}

/// Whether a provider is to be asked again later: it is a copy of which not all is where it belongs.
pub fn is_later(error: &ReplicaError) -> bool {
    matches!(error, ReplicaError::Ended { code: ResultCode::BUSY, .. })
}
