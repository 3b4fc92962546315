//! Dynamic groups and lists: the same entries with URLs, and the same questions about what these find, to slapd's overlay
//! `dynlist` and to duramend.

use std::collections::BTreeMap;

use duramen_ldap::message::{ChangeKind, Deref, Scope};

use crate::answer::Answer;
use crate::controls::Kind;
use crate::request::{Bytes, Operation, Request, Search};
use crate::servers::SUFFIX;
use crate::{FAILED, Pair, World, mend, play_worlds, world};

/// There is somebody whom alice may not see, and something that she may not search for.
const ACCESS: &str = "access to attrs=userPassword by anonymous auth by users write\n\
    access to dn.exact=\"uid=bob,ou=people,dc=example,dc=com\" by dn.exact=\"uid=alice,ou=people,dc=example,dc=com\" none\n\
    \tby * read\n\
    access to attrs=employeeType by dn.exact=\"uid=alice,ou=people,dc=example,dc=com\" none by * read\n\
    access to * by * read\n";

const IN_SLAPD: &str = "overlay dynlist\n\
    dynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames\n\
    dynlist-attrset labeledURIObject labeledURI\n\
    dynlist-attrset organizationalRole labeledURI seeAlso:manager\n";

const IN_DURAMEND: &str = "[[dynamic_list]]\nclass = \"groupOfURLs\"\nurls = \"memberURL\"\nmember = \"member\"\nmember_of = true\n\
    [[dynamic_list]]\nclass = \"labeledURIObject\"\nurls = \"labeledURI\"\n\
    [[dynamic_list]]\nclass = \"organizationalRole\"\nurls = \"labeledURI\"\n\
    renamed = [{ from = \"manager\", to = \"seeAlso\" }]\n";

const GROUPS: [&str; 5] = ["g1", "g2", "g3", "g4", "g5"];
const LISTS: [&str; 3] = ["l1", "l2", "l3"];
const ROLES: [&str; 2] = ["r1", "r2"];

const BASES: [&str; 6] = [
    "ou=people,dc=example,dc=com",
    "ou=People, DC=example,dc=com",
    "ou=groups,dc=example,dc=com",
    "dc=example,dc=com",
    "uid=bob,ou=people,dc=example,dc=com",
    "ou=nowhere,dc=example,dc=com",
];
const SCOPES: [&str; 5] = ["sub", "one", "base", "subordinate", ""];
const FILTERS: [&str; 12] = [
    "(uid=*)",
    "(employeeType=boss)",
    "(!(employeeType=boss))",
    "(|(uid=alice)(uid=carol)(nosuch=1))",
    "(!(nosuch=1))",
    "(&(objectClass=inetOrgPerson)(mail=*))",
    "(objectClass=groupOfURLs)",
    "(objectClass=groupOfNames)",
    "(sn=J*)",
    "(cn=Alice Smith)",
    "(objectClass=*",
    "(title=chief)",
];
/// What URLs name besides, and what searches ask for.
const NAMED: [&str; 6] = ["mail", "mail,employeeType", "cn,sn,manager", "*", "manager", "uidNumber,description"];
const ASKED: [&[&str]; 8] = [
    &[],
    &["member"],
    &["mail", "employeeType"],
    &["seeAlso", "manager"],
    &["cn", "description"],
    &["*"],
    &["memberURL", "labeledURI"],
    &["uidNumber", "member", "mail"],
];

const REQUESTS: usize = 500;

struct Playing {
    world: World,
    pairs: Vec<Pair>,
    /// How often an answer was this.
    answers: BTreeMap<String, usize>,
}

fn name(cn: &str) -> String {
    format!("cn={cn},ou=groups,{SUFFIX}")
}

fn values(name: &str, values: &[&str]) -> (String, Vec<Bytes>) {
    (name.to_string(), values.iter().map(|value| Bytes::from(*value)).collect())
}

impl Playing {
    fn new(seed: u64) -> Playing {
        let world = World::of(seed, ACCESS.into(), "none", [IN_SLAPD, IN_DURAMEND]);
        let mut administrator = world.administrator();
        for request in world::entries() {
            let answers = administrator.ask(&request);
            assert_eq!((answers.0.code, answers.1.code), (0, 0), "{request}\n{answers:?}");
        }
        let mut playing = Playing { world, pairs: vec![administrator], answers: BTreeMap::new() };
        let alice = playing.world.user("alice", false);
        playing.pairs.push(alice);
        let known = mend::everything(&mut playing.pairs[0].theirs);
        playing.world.random.learn(known.entries.keys());
        for cn in GROUPS.iter().chain(&LISTS).chain(&ROLES) {
            let request = playing.added(cn).into();
            playing.ask(0, &request);
        }
        playing
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.world.random.less_than(list.len())]
    }

    fn url(&mut self, is_list: bool) -> String {
        let (base, scope, filter) = (self.of(&BASES), self.of(&SCOPES), self.of(&FILTERS));
        let named = if is_list { self.of(&NAMED) } else { "" };
        match self.world.random.less_than(20) {
            0 => format!("http://{base}/"),
            1 => format!("ldap://elsewhere.example/{base}?{named}?{scope}?{filter}"),
            _ => format!("ldap:///{base}?{named}?{scope}?{filter}"),
        }
    }

    fn urls(&mut self, cn: &str) -> (String, Vec<Bytes>) {
        let is_group = GROUPS.contains(&cn);
        let urls: Vec<String> = (0..1 + self.world.random.less_than(2)).map(|_| self.url(!is_group)).collect();
        let urls: std::collections::BTreeSet<&str> = urls.iter().map(String::as_str).collect();
        values(if is_group { "memberURL" } else { "labeledURI" }, &urls.into_iter().collect::<Vec<_>>())
    }

    fn added(&mut self, cn: &str) -> Operation {
        let classes: &[&str] = if GROUPS.contains(&cn) {
            &["groupOfURLs"]
        } else if ROLES.contains(&cn) {
            &["organizationalRole", "extensibleObject"]
        } else {
            &["device", "labeledURIObject", "extensibleObject"]
        };
        let mut attributes = vec![values("objectClass", classes), values("cn", &[cn]), self.urls(cn)];
        if LISTS.contains(&cn) {
            attributes.push(values("mail", &["own@example.com", "alice@example.com"]));
        }
        Operation::Add { name: name(cn), attributes }
    }

    fn any(&mut self) -> &'static str {
        let all: Vec<&'static str> = GROUPS.iter().chain(&LISTS).chain(&ROLES).copied().collect();
        self.of(&all)
    }

    fn update(&mut self) -> Operation {
        let cn = self.any();
        match self.world.random.less_than(6) {
            0 => Operation::Delete { name: name(cn) },
            1 => self.added(cn),
            2 => {
                let (attribute, value) = [("employeeType", "boss"), ("mail", "new@example.com"), ("title", "chief")]
                    [self.world.random.less_than(3)];
                let kind = if self.world.random.chance(2) { ChangeKind::Add } else { ChangeKind::Replace };
                Operation::Modify {
                    name: self.world.random.person(),
                    changes: vec![(kind, values(attribute, &[value]))],
                }
            }
            _ => {
                let urls = self.urls(cn);
                Operation::Modify { name: name(cn), changes: vec![(ChangeKind::Replace, urls)] }
            }
        }
    }

    fn search(&mut self, base: String, scope: Scope, filter: String, attributes: &[&str]) -> Operation {
        let attributes = attributes.iter().map(|name| name.to_string()).collect();
        let types_only = self.world.random.chance(10);
        Operation::Search(Search { base, scope, deref: Deref::Never, filter, attributes, size_limit: 0, types_only })
    }

    /// A question, and of what kind it is.
    fn question(&mut self) -> (&'static str, Request) {
        let (groups, people) = (format!("ou=groups,{SUFFIX}"), format!("ou=people,{SUFFIX}"));
        let (person, cn) = (self.world.random.person(), self.any());
        let asked = self.of(&ASKED);
        match self.world.random.less_than(10) {
            0 => ("all", self.search(groups, Scope::Subtree, "(objectClass=*)".into(), asked).into()),
            1 => (
                "stored",
                Request::from(self.search(groups, Scope::Subtree, "(objectClass=*)".into(), asked))
                    .with(Kind::ManageDsaIt.critical()),
            ),
            2 => ("read", self.search(name(cn), Scope::Base, "(objectClass=*)".into(), asked).into()),
            3 | 4 => {
                let filter = match self.world.random.less_than(4) {
                    0 => format!("(&(objectClass=groupOfURLs)(member={person}))"),
                    1 => format!("(|(cn=g1)(member={person}))"),
                    2 => "(&(objectClass=groupOfURLs)(member=*))".to_string(),
                    _ => format!("(member={person})"),
                };
                ("member", self.search(SUFFIX.into(), Scope::Subtree, filter, &["member", "cn"]).into())
            }
            5 => {
                let filter = format!("(seeAlso=uid={},ou=people,{SUFFIX})", self.of(&["alice", "bob"]));
                ("renamed", self.search(groups, Scope::Subtree, filter, &["seeAlso"]).into())
            }
            6 => {
                let filter = format!("(&(objectClass=person)(memberOf={}))", name(self.of(&GROUPS)));
                ("memberOf", self.search(people, Scope::Subtree, filter, &["uid"]).into())
            }
            7 => ("groups", self.search(people, Scope::Subtree, "(uid=*)".into(), &["memberOf"]).into()),
            8 => {
                let value = Bytes::from(["alice@example.com", "own@example.com", "x"][self.world.random.less_than(3)]);
                let name = name(self.of(&LISTS));
                ("compare", Operation::Compare { name, attribute: "mail".into(), value }.into())
            }
            _ => {
                let (name, value) = (name(self.of(&GROUPS)), Bytes::from(person.as_str()));
                ("compare", Operation::Compare { name, attribute: "member".into(), value }.into())
            }
        }
    }

    /// Asks both; whether they answer alike.
    fn ask(&mut self, at: usize, request: &Request) -> bool {
        let answers = self.pairs[at].ask(request);
        if self.world.is_traced {
            println!("{}: {request}: {}, {}", self.pairs[at].who, answers.0.code, answers.1.code);
        }
        let is_same = is_meant(request, at, &answers);
        if !is_same {
            let said = format!("seed {}, {} asks {request}", self.world.seed, self.pairs[at].who);
            let [theirs, ours] =
                [&answers.0, &answers.1].map(|it| format!("{} {:?} {:?}", it.code, it.text, it.entries));
            self.world.found.push(format!("{said}\n  slapd: {theirs}\n  ours:  {ours}"));
        }
        let kind = request.operation.kind();
        *self.answers.entry(format!("{kind} {}", answers.0.code)).or_default() += 1;
        is_same
    }

    fn play(mut self) -> (Vec<String>, BTreeMap<String, usize>) {
        for _ in 0..REQUESTS {
            if self.world.random.chance(3) {
                let request = self.update().into();
                self.ask(0, &request);
            } else {
                let (kind, request) = self.question();
                let at = usize::from(self.world.random.chance(3));
                self.ask(at, &request);
                *self.answers.entry(kind.to_string()).or_default() += 1;
            }
            if !self.world.found.is_empty() {
                break;
            }
        }
        (self.world.found, self.answers)
    }
}

/// Groups that are none to slapd's overlay, as they have another class than the one that it was told of.
const NO_GROUPS: [&str; 1] = ["cn=unique,ou=groups,dc=example,dc=com"];

/// Of these a list shows the value of who is found first, which with slapd may be any: it goes by the length of names
/// where it looks at each entry below the base.
const SINGLE: [&str; 2] = ["homedirectory", "uidnumber"];

/// An answer without what is meant to be different.
fn without(request: &Request, answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    // Of such lists slapd shows nothing to who does not ask for what is renamed, too.
    let is_partly = |search: &Search| {
        let asked = &search.attributes;
        !asked.is_empty() && !asked.iter().any(|name| ["*", "seeAlso"].contains(&name.as_str()))
    };
    if matches!(&request.operation, Operation::Search(search) if is_partly(search)) {
        answer.entries.retain(|found, _| !ROLES.iter().any(|cn| *found == name(cn)));
    }
    // slapd looks for members in all that lists show, and then finds these by other attributes, too, that they only show.
    if matches!(&request.operation, Operation::Search(search) if search.filter.contains("(member=")) {
        answer.entries.retain(|found, _| !LISTS.iter().any(|cn| *found == name(cn)));
    }
    for (found, entry) in &mut answer.entries {
        if LISTS.iter().chain(&ROLES).any(|cn| *found == name(cn)) {
            for name in SINGLE {
                entry.entry(name.into()).and_modify(|values| values.clear());
            }
            // Of two that only differ in their case, that of who is found first.
            if let Some(surnames) = entry.get_mut("sn") {
                *surnames = surnames.iter().map(|name| Bytes(name.0.to_ascii_lowercase())).collect();
            }
        }
        if let Some(groups) = entry.get_mut("memberof") {
            groups.retain(|group| !NO_GROUPS.iter().any(|none| *group == Bytes::from(*none)));
        }
        entry.retain(|name, values| name != "memberof" || !values.is_empty());
    }
    answer
}

/// Whether two answers are the same, or differ as they are meant to.
fn is_meant(request: &Request, at: usize, (theirs, ours): &(Answer, Answer)) -> bool {
    if let Operation::Compare { .. } = request.operation {
        // slapd tells who may not see a member that it is one, of what is no entry that there is no such attribute, and fails
        // over a URL whose filter is none.
        let codes = (theirs.code, ours.code);
        return codes.0 == codes.1 || codes == (16, 5) || codes.0 == FAILED || (at > 0 && codes == (6, 5));
    }
    without(request, theirs) == without(request, ours)
}

#[test]
fn dynamic_groups_and_lists_show_what_those_of_slapd_show() {
    let all = play_worlds(|seed| Playing::new(seed).play());
    for answer in ["all", "stored", "read", "member", "renamed", "memberOf", "groups", "compare 6", "compare 5"] {
        assert!(all.contains_key(answer), "{answer} was not seen: {all:?}");
    }
}
