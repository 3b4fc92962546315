//! Password policies: the same passwords, right and wrong, old and new, to slapd's overlay and to duramend. Nothing in it waits
//! for time to pass: what is old is made so by the administrator.

use std::collections::{BTreeMap, BTreeSet};

use duramen_ldap::message::{ChangeKind, Deref, Scope};

use crate::answer::Answer;
use crate::client::Client;
use crate::controls::Kind;
use crate::request::{Bytes, Operation, Request, Search, Values};
use crate::servers::{SUFFIX, Server};
use crate::{Pair, World, play_worlds, world};

const ACCESS: &str = "access to attrs=userPassword by self =xw by anonymous auth by * none\naccess to * by * read\n";

/// slapd's overlay, and what duramend has for it.
const IN_FORCE: [&str; 2] = [
    "overlay ppolicy\nppolicy_default cn=default,ou=places,dc=example,dc=com\nppolicy_use_lockout\n",
    "[password_policies]\ndefault = \"cn=default,ou=places,dc=example,dc=com\"\ntell_locked = true\n",
];

/// A policy's attributes with a value each.
type Policy = &'static [(&'static str, &'static str)];

/// Times are so long that none passes, or ends.
const POLICIES: [(&str, Policy); 8] = [
    ("default", &[("pwdMaxAge", "8640000"), ("pwdExpireWarning", "86400"), ("pwdGraceAuthNLimit", "2")]),
    ("lockout", &[("pwdLockout", "TRUE"), ("pwdMaxFailure", "3"), ("pwdInHistory", "90")]),
    ("interval", &[("pwdLockout", "TRUE"), ("pwdMaxFailure", "2"), ("pwdFailureCountInterval", "86400")]),
    ("history", &[("pwdInHistory", "90"), ("pwdMustChange", "TRUE")]),
    (
        "quality",
        &[("pwdCheckQuality", "2"), ("pwdMinLength", "6"), ("pwdMaxAge", "8640000"), ("pwdExpireWarning", "9000000")],
    ),
    (
        "lenient",
        &[("pwdCheckQuality", "1"), ("pwdMinLength", "6"), ("pwdMustChange", "TRUE"), ("pwdMaxAge", "8640000")],
    ),
    ("safe", &[("pwdSafeModify", "TRUE"), ("pwdMaxRecordedFailure", "2")]),
    ("slow", &[("pwdMinAge", "8640000"), ("pwdAllowUserChange", "TRUE")]),
];

/// Those whose owners may not change it, too.
const FIXED: (&str, Policy) =
    ("fixed", &[("pwdAllowUserChange", "FALSE"), ("pwdLockout", "TRUE"), ("pwdMaxFailure", "1")]);

/// Who has which policy; nobody who is not here names one.
const PEOPLE: [(&str, &str); 9] = [
    ("alice", "lockout"),
    ("bob", "interval"),
    ("carol", "history"),
    ("dave", "quality"),
    ("erin", "lenient"),
    ("frank", "safe"),
    ("grace", "slow"),
    ("heidi", "fixed"),
    ("ivan", "nosuch"),
];

/// New passwords: some are short, the last is a hash.
const PASSWORDS: [&str; 7] =
    ["one-1", "second", "the-third", "the-fourth", "5", "sixsix", "{SSHA}mBNGLGuw4bFDzoCiTcKHSRePCBnTfzzJ"];

const SEEN: [&str; 6] =
    ["pwdFailureTime", "pwdAccountLockedTime", "pwdHistory", "pwdGraceUseTime", "pwdReset", "pwdChangedTime"];

/// slapd's answer of a value that is there twice.
const ALREADY_THERE: u32 = 20;

/// In a world.
const REQUESTS: usize = 600;

fn name(who: &str) -> String {
    format!("uid={who},ou=people,{SUFFIX}")
}

fn policy_name(policy: &str) -> String {
    format!("cn={policy},ou=places,{SUFFIX}")
}

fn modify(who: &str, changes: &[(ChangeKind, &str, &[&str])]) -> Operation {
    let values = |values: &[&str]| values.iter().map(|value| Bytes::from(*value)).collect();
    let changes = changes.iter().map(|(kind, attribute, list)| (*kind, (attribute.to_string(), values(list))));
    Operation::Modify { name: name(who), changes: changes.collect() }
}

fn asking(operation: Operation) -> Request {
    Request::from(operation).with(crate::controls::Control { kind: Kind::PasswordPolicy, critical: false })
}

/// Somebody, and the password that he has on both servers.
struct Person {
    who: &'static str,
    password: String,
    session: Option<Pair>,
}

struct Playing {
    world: World,
    administrator: Pair,
    people: Vec<Person>,
    asked: usize,
    /// How often an answer was this: code, warning, error.
    answers: BTreeMap<String, usize>,
    /// slapd would note down one past password twice in a second, and fails: nothing is the same after it.
    is_over: bool,
}

impl Playing {
    fn new(seed: u64) -> Playing {
        let world = World::of(seed, ACCESS.into(), "none", IN_FORCE);
        let mut administrator = world.administrator();
        let add = |administrator: &mut Pair, request: &Request| {
            let answers = administrator.ask(request);
            assert_eq!((answers.0.code, answers.1.code), (0, 0), "{request}\n{answers:?}");
        };
        world::entries().iter().for_each(|request| add(&mut administrator, request));
        for (policy, rules) in POLICIES.iter().chain([&FIXED]) {
            let of = |name: &str, values: &[&str]| -> Values {
                (name.to_string(), values.iter().map(|value| Bytes::from(*value)).collect())
            };
            let mut attributes = vec![
                of("objectClass", &["device", "pwdPolicy"]),
                of("cn", &[policy]),
                of("pwdAttribute", &["userPassword"]),
            ];
            attributes.extend(rules.iter().map(|(name, value)| of(name, &[value])));
            add(&mut administrator, &Operation::Add { name: policy_name(policy), attributes }.into());
        }
        for (who, policy) in PEOPLE {
            let changes: &[(ChangeKind, &str, &[&str])] = &[
                (ChangeKind::Replace, "pwdPolicySubentry", &[&policy_name(policy)]),
                (ChangeKind::Replace, "userPassword", &["first-of-all"]),
            ];
            let changes = if who == "ivan" { &changes[1..] } else { changes };
            add(&mut administrator, &modify(who, changes).into());
        }
        let people = PEOPLE.map(|(who, _)| Person { who, password: "first-of-all".into(), session: None });
        Playing { world, administrator, people: people.into(), asked: 0, answers: BTreeMap::new(), is_over: false }
    }

    fn less_than(&mut self, end: usize) -> usize {
        self.world.random.less_than(end)
    }

    /// A new password for somebody. slapd does not hold hashes against those of the past.
    fn any_password(&mut self, at: usize) -> &'static str {
        let remembers = ["alice", "carol"].contains(&self.people[at].who);
        PASSWORDS[self.less_than(PASSWORDS.len() - usize::from(remembers))]
    }

    fn compare(&mut self, who: &str, request: &Request, answers: &(Answer, Answer)) -> bool {
        self.asked += 1;
        if self.world.is_traced {
            println!("{} {who:?}: {request}: {}, {}", self.asked, answers.0.code, answers.1.code);
        }
        if answers.0.code == ALREADY_THERE {
            self.is_over = true;
            return true;
        }
        *self.answers.entry(format!("{} {:?}", answers.1.code, answers.1.policy)).or_default() += 1;
        self.world.compare(self.asked, who, request, answers)
    }

    /// Somebody authenticates by a password, and does something that who has to change it may not.
    fn bind(&mut self, at: usize, password: &str) {
        let who = self.people[at].who;
        let new = |server: &Server| Client::new(server.address);
        let (theirs, ours) = (new(&self.world.slapd), new(&self.world.duramend));
        let mut pair = Pair { who, binds: false, theirs, ours };
        let request = asking(Operation::Bind { name: name(who), password: password.into() });
        let answers = pair.ask(&request);
        self.compare(who, &request, &answers);
        if (answers.0.code, answers.1.code) == (0, 0) {
            let request = Request::from(self.seen(at));
            let answers = pair.ask(&request);
            let codes = |answer: &Answer| Answer { code: answer.code, policy: answer.policy, ..Answer::default() };
            self.compare(who, &request, &(codes(&answers.0), codes(&answers.1)));
            self.people[at].session = Some(pair);
        }
    }

    /// A change of somebody's password, by `by`, who is himself or the administrator; `None` of who has no session.
    fn change(&mut self, at: usize, by_owner: bool, operation: Operation, new: &str) {
        let request = asking(operation);
        let Some(who) = self.people.get_mut(at) else { return };
        let pair = if by_owner { who.session.as_mut() } else { Some(&mut self.administrator) };
        let Some(pair) = pair else { return };
        let (answers, by) = (pair.ask(&request), pair.who);
        if answers.1.code == 0 {
            who.password = if new.starts_with('{') { "alice".into() } else { new.into() };
        }
        self.compare(by, &request, &answers);
    }

    /// Of who is locked out the old password is right for slapd, where a session goes on, and wrong here.
    fn is_locked(&mut self, at: usize) -> bool {
        let seen = self.administrator.ours.ask(&self.seen(at).into());
        seen.entries.values().any(|entry| entry.contains_key("pwdaccountlockedtime"))
    }

    fn changes_own(&mut self, at: usize) {
        if self.is_locked(at) {
            return;
        }
        let (who, old, new) = (self.people[at].who, self.people[at].password.clone(), self.any_password(at));
        // Here a wrong old password counts as one that somebody binds with.
        let counts = ["alice", "bob", "frank", "heidi"].contains(&who);
        let old = if self.less_than(8) == 0 && !counts { "not-the-old-one".to_string() } else { old };
        let operation = match self.less_than(4) {
            0 => modify(who, &[(ChangeKind::Replace, "userPassword", &[new])]),
            1 => {
                modify(who, &[(ChangeKind::Delete, "userPassword", &[&old]), (ChangeKind::Add, "userPassword", &[new])])
            }
            // What is hashed by the servers they hash each with salt of its own.
            2 if !new.starts_with('{') => Operation::PasswordModify { user: None, old: None, new: Some(new.into()) },
            _ if !new.starts_with('{') => {
                Operation::PasswordModify { user: None, old: Some(old), new: Some(new.into()) }
            }
            _ => return,
        };
        self.change(at, true, operation, new);
    }

    fn administrator_changes(&mut self, at: usize) {
        let (who, new) = (self.people[at].who, self.any_password(at));
        if self.people[at].password == new {
            // slapd counts what stays among what has been.
            return;
        }
        let operation = match self.less_than(2) {
            0 if !new.starts_with('{') => {
                Operation::PasswordModify { user: Some(name(who)), old: None, new: Some(new.into()) }
            }
            _ => modify(who, &[(ChangeKind::Replace, "userPassword", &[new])]),
        };
        self.change(at, false, operation, new);
    }

    /// The administrator says what is noted down of somebody.
    fn administrator_notes(&mut self, at: usize) {
        let who = self.people[at].who;
        let (attribute, value): (&str, &[&str]) = match self.less_than(6) {
            0 => ("pwdAccountLockedTime", &[]),
            // With slapd only a policy that locks accounts keeps one locked.
            1 if ["alice", "bob", "heidi"].contains(&who) => ("pwdAccountLockedTime", &["000001010000Z"]),
            2 => ("pwdReset", &["TRUE"]),
            3 => ("pwdReset", &[]),
            4 => ("pwdChangedTime", &["20000101000000Z"]),
            _ => ("pwdFailureTime", &[]),
        };
        let request =
            Request::from(modify(who, &[(ChangeKind::Replace, attribute, value)])).with(Kind::Relax.critical());
        let answers = self.administrator.ask(&request);
        self.compare("the administrator", &request, &answers);
    }

    /// How many values of each attribute somebody's entry has, times of past passwords left out: a second may have ended when
    /// one server was asked, and not the other.
    fn look(&mut self, at: usize) {
        let request = Request::from(self.seen(at));
        let (theirs, ours) = self.administrator.ask(&request);
        let counts = |answer: &Answer| -> BTreeMap<String, usize> {
            let attributes = answer.entries.values().flatten();
            let past = |value: &Bytes| value.0.iter().position(|byte| *byte == b'#').map(|end| value.0[end..].to_vec());
            let count = |name: &str, values: &BTreeSet<Bytes>| match name {
                "pwdhistory" => values.iter().map(past).collect::<BTreeSet<_>>().len(),
                _ => values.len(),
            };
            attributes.map(|(name, values)| (name.clone(), count(name, values))).collect()
        };
        if counts(&theirs) != counts(&ours) {
            let said = format!("seed {}, after request {}: {request}", self.world.seed, self.asked);
            self.world.found.push(format!("{said}\n  slapd: {:?}\n  ours:  {:?}", theirs.entries, ours.entries));
        }
    }

    fn seen(&self, at: usize) -> Operation {
        Operation::Search(Search {
            base: name(self.people[at].who),
            scope: Scope::Base,
            deref: Deref::Never,
            filter: "(objectClass=*)".into(),
            attributes: SEEN.map(str::to_string).into(),
            size_limit: 0,
            types_only: false,
        })
    }

    fn play(mut self) -> (Vec<String>, BTreeMap<String, usize>) {
        for _ in 0..REQUESTS {
            let at = self.less_than(self.people.len());
            match self.less_than(10) {
                0..=2 => {
                    let right = self.people[at].password.clone();
                    self.bind(at, &right);
                }
                3..=4 => self.bind(at, "wrong"),
                5..=6 => self.changes_own(at),
                7 => self.administrator_changes(at),
                8 => self.administrator_notes(at),
                _ => {
                    // Whoever has a session goes on with a new one.
                    self.people[at].session = None;
                }
            }
            if self.is_over {
                break;
            }
            self.look(at);
            if !self.world.found.is_empty() {
                break;
            }
        }
        (self.world.found, self.answers)
    }
}

#[test]
fn password_policies_say_what_those_of_slapd_say() {
    let all = play_worlds(|seed| Playing::new(seed).play());
    assert!(all.len() > 15, "too little was tried: {all:?}");
}
