//! Constraints on values: the same updates, right and wrong ones, to slapd's overlay and to duramend.

use std::collections::BTreeMap;

use duramen_ldap::message::{ChangeKind, Deref, Scope};

use crate::answer::{Answer, Entry};
use crate::controls::Kind;
use crate::mend;
use crate::request::{Bytes, Operation, Request, Search};
use crate::servers::SUFFIX;
use crate::{Pair, World, play_worlds, world};

/// Everybody may change everything. There is a title that alice may not search for.
const ACCESS: &str = "access to dn.exact=\"cn=Hidden,ou=titles,dc=example,dc=com\"\n\
    \tby dn.exact=\"uid=alice,ou=people,dc=example,dc=com\" none by * write\n\
    access to attrs=userPassword by anonymous auth by users write\naccess to * by users write by * read\n";

/// A constraint as both have it: attributes, what is demanded, of which entries.
struct Constraint {
    attributes: &'static [&'static str],
    kind: &'static str,
    value: &'static str,
    restrict: Option<&'static str>,
}

const fn all(attributes: &'static [&'static str], kind: &'static str, value: &'static str) -> Constraint {
    Constraint { attributes, kind, value, restrict: None }
}

const fn some(
    attributes: &'static [&'static str],
    kind: &'static str,
    value: &'static str,
    restrict: &'static str,
) -> Constraint {
    Constraint { attributes, kind, value, restrict: Some(restrict) }
}

const CONSTRAINTS: [Constraint; 12] = [
    all(&["mail"], "regex", r"^[[:alnum:].\]+@example\.(com|org)$"),
    all(&["mail"], "negregex", "^(root|post)"),
    all(&["mail"], "count", "2"),
    all(&["description", "displayName"], "size", "5"),
    all(&["cn;lang-de"], "size", "4"),
    all(&["title"], "uri", "ldap:///ou=titles,dc=example,dc=com?cn,description?one?(objectClass=device)"),
    some(&["telephoneNumber"], "count", "1", "ldap:///ou=people,dc=example,dc=com??sub?(employeeType=guest)"),
    some(&["givenName"], "regex", "^[A-Z][^A-Z]+$", "ldap:///???(|(employeeType=guest)(objectClass=posixAccount))"),
    some(&["l"], "count", "0", "ldap:///???(employeeType=guest)"),
    some(&["uid"], "regex", "^[a-z]{3,8}$", "ldap:///ou=people,dc=example,dc=com??one"),
    some(&["employeeNumber"], "negregex", "^[^0-9]", "ldap:///ou=people,dc=example,dc=com??subordinate"),
    some(&["ou"], "size", "6", "ldap:///ou=places,dc=example,dc=com"),
];

/// Those of which so many values are allowed, as answers name them.
const COUNTED: [(&str, usize); 3] = [("mail", 2), ("telephonenumber", 1), ("l", 0)];

/// Attributes of people, and values: some that are right, and some that are not.
const VALUES: [(&str, &[&str]); 10] = [
    (
        "mail",
        &[
            "a@example.com",
            "b.c@example.org",
            r"d\e@example.com",
            "A@EXAMPLE.COM",
            "root@example.com",
            "é@x",
            "f@example.com",
        ],
    ),
    ("description", &["short", "longer", "äö", "äöü", "x"]),
    ("displayName", &["short", "longer", "x"]),
    ("cn;lang-de", &["vier", "fünf", "x"]),
    ("title", &["Chief", "CHIEF", "Boss", "Nobody", "Hidden", "Below", "first of all"]),
    ("telephoneNumber", &["1", "2", "3"]),
    ("givenName", &["Eve", "eve", "EVE", "Ev"]),
    ("l", &["Graz", "Wien"]),
    ("employeeType", &["guest", "boss"]),
    ("employeeNumber", &["7", "x7", "7x"]),
];

/// Those of which an entry has one value.
const SINGLE: [&str; 2] = ["displayName", "employeeNumber"];

/// Names of people that come, and change theirs.
const NAMES: [&str; 6] = ["zoe", "yves", "xy", "Walter", "v12", "ursula"];

/// What is listed, in the end or at the beginning: name, description.
const TITLES: [(&str, &str); 4] =
    [("cn=Chief", "first of all"), ("cn=Boss", "x"), ("cn=Hidden", "y"), ("cn=Below,cn=Chief", "z")];

const REQUESTS: usize = 600;
/// constraintViolation.
const VIOLATION: u32 = 19;

fn in_slapd() -> String {
    let constraints = CONSTRAINTS.iter().map(|one| {
        let value = one.value.replace('\\', "\\\\");
        let restrict = one.restrict.map_or(String::new(), |url| format!(" restrict=\"{url}\""));
        format!("constraint_attribute {} {} \"{value}\"{restrict}\n", one.attributes.join(","), one.kind)
    });
    format!("overlay constraint\n{}", constraints.collect::<String>())
}

fn in_duramend() -> String {
    let constraints = CONSTRAINTS.iter().map(|one| {
        let is_number = ["size", "count"].contains(&one.kind);
        let value = if is_number { one.value.to_string() } else { format!("'{}'", one.value) };
        let restrict = one.restrict.map_or(String::new(), |url| format!("restrict = \"{url}\"\n"));
        format!("[[constraint]]\nattributes = {:?}\n{} = {value}\n{restrict}", one.attributes, one.kind)
    });
    constraints.collect()
}

struct Playing {
    world: World,
    pairs: Vec<Pair>,
    /// How often slapd said what, and duramend made what.
    answers: BTreeMap<String, usize>,
}

fn title((rdn, description): &(&str, &str)) -> Operation {
    let cn = rdn.trim_start_matches("cn=").split(',').next().unwrap_or_default();
    let attributes = [("objectClass", "device"), ("cn", cn), ("description", description)];
    let attributes = attributes.map(|(name, value)| (name.to_string(), vec![Bytes::from(value)]));
    Operation::Add { name: format!("{rdn},ou=titles,{SUFFIX}"), attributes: attributes.into() }
}

impl Playing {
    fn new(seed: u64) -> Playing {
        let (theirs, ours) = (in_slapd(), in_duramend());
        let mut world = World::of(seed, ACCESS.into(), "none", [&theirs, &ours]);
        let mut administrator = world.administrator();
        let titles = Operation::Add {
            name: format!("ou=titles,{SUFFIX}"),
            attributes: vec![
                ("objectClass".into(), vec!["organizationalUnit".into()]),
                ("ou".into(), vec!["titles".into()]),
            ],
        };
        let beginning = world::entries().into_iter().chain([titles.into()]);
        // What is there at the beginning goes by no constraint.
        for request in beginning.chain(TITLES.iter().map(|one| title(one).into())) {
            let answers = administrator.ask(&request.clone().with(Kind::Relax.critical()));
            assert_eq!((answers.0.code, answers.1.code), (0, 0), "{request}\n{answers:?}");
        }
        let alice = world.user("alice", false);
        world.random.learn(mend::everything(&mut administrator.theirs).entries.keys());
        Playing { world, pairs: vec![administrator, alice], answers: BTreeMap::new() }
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.world.random.less_than(list.len())]
    }

    fn values(&mut self, most: usize) -> (String, Vec<Bytes>) {
        let (name, values) = VALUES[self.world.random.less_than(VALUES.len())];
        let from = self.world.random.less_than(values.len());
        let most = if SINGLE.contains(&name) { 1 } else { most.min(values.len() - from) };
        let count = 1 + self.world.random.less_than(most);
        (name.into(), values[from..from + count].iter().map(|value| Bytes::from(*value)).collect())
    }

    fn request(&mut self) -> Request {
        let random = &mut self.world.random;
        let operation = match random.less_than(16) {
            0..=9 => self.modify(),
            10..=12 => self.add(),
            13 => self.rename(),
            14 => Operation::Delete { name: random.person() },
            _ => {
                let at = random.less_than(TITLES.len());
                let name = format!("{},ou=titles,{SUFFIX}", TITLES[at].0);
                if random.chance(2) { title(&TITLES[at]) } else { Operation::Delete { name } }
            }
        };
        operation.into()
    }

    fn modify(&mut self) -> Operation {
        let kinds = [ChangeKind::Add, ChangeKind::Add, ChangeKind::Replace, ChangeKind::Replace, ChangeKind::Delete];
        let changes = (0..1 + self.world.random.less_than(3)).map(|_| {
            let (kind, mut values) = (kinds[self.world.random.less_than(kinds.len())], self.values(3));
            if matches!(kind, ChangeKind::Delete | ChangeKind::Replace) && self.world.random.chance(2) {
                values.1.clear();
            }
            (kind, values)
        });
        Operation::Modify { changes: changes.collect(), name: self.world.random.person() }
    }

    fn add(&mut self) -> Operation {
        let (uid, place) = (self.of(&NAMES), self.of(&["people", "people", "groups"]));
        let one = |name: &str, value: &str| (name.to_string(), vec![Bytes::from(value)]);
        let mut attributes =
            vec![one("objectClass", "inetOrgPerson"), one("uid", uid), one("cn", "new"), one("sn", "new")];
        for _ in 0..self.world.random.less_than(4) {
            let values = self.values(2);
            if !attributes.iter().any(|(name, _)| *name == values.0) {
                attributes.push(values);
            }
        }
        Operation::Add { name: format!("uid={uid},ou={place},{SUFFIX}"), attributes }
    }

    fn rename(&mut self) -> Operation {
        let place = self.of(&["people", "groups"]);
        let superior = self.world.random.chance(2).then(|| format!("ou={place},{SUFFIX}"));
        let rdn = format!("uid={}", self.of(&NAMES));
        let delete_old = self.world.random.chance(2);
        Operation::ModifyDn { name: self.world.random.person(), rdn, delete_old, superior }
    }

    /// An entry as duramend has it; of none nothing.
    fn entry(&mut self, name: &str) -> Entry {
        let search = Operation::Search(Search {
            base: name.into(),
            scope: Scope::Base,
            deref: Deref::Never,
            filter: "(objectClass=*)".into(),
            attributes: Vec::new(),
            size_limit: 0,
            types_only: false,
        });
        let answer = self.pairs[0].ours.ask(&Request::from(search).with(Kind::ManageDsaIt.critical()));
        answer.entries.into_values().next().unwrap_or_default()
    }

    /// Whether both did what they are meant to do with an entry that was like this before.
    fn is_meant(request: &Request, before: &Entry, (theirs, ours): &(Answer, Answer)) -> bool {
        let codes = (theirs.code, ours.code);
        // Of several errors one is told, and slapd's overlay looks before almost all else.
        let is_refused = codes.0 != 0 && codes.1 != 0;
        if codes.0 == codes.1 || (is_refused && (codes.0 == VIOLATION || codes.1 != VIOLATION)) {
            return true;
        }
        // Values that were there before, and have come under a constraint by another change, keep an entry of slapd's from being
        // changed at all, or from having its name in another place.
        let has_too_many =
            COUNTED.iter().any(|(name, most)| before.get(*name).is_some_and(|values| values.len() > *most));
        let is_old = |rdn: &str| before["uid"].contains(&rdn.trim_start_matches("uid=").into());
        codes == (VIOLATION, 0)
            && match &request.operation {
                Operation::Modify { .. } => has_too_many,
                Operation::ModifyDn { rdn, .. } => has_too_many || is_old(rdn),
                _ => false,
            }
    }

    fn step(&mut self, n: usize) {
        let mut request = self.request();
        let before = self.entry(request.updated().unwrap_or_default());
        // What is listed the administrator says.
        let at = usize::from(self.world.random.chance(3) && before.contains_key("uid"));
        // Of others than people the control lets pass here what no class allows.
        if at == 0 && before.contains_key("uid") && self.world.random.chance(12) {
            request = request.with(Kind::Relax.critical());
        }
        let answers = self.pairs[at].ask(&request);
        if self.world.is_traced {
            println!("{n} {}: {request}: {}, {}", self.pairs[at].who, answers.0.code, answers.1.code);
        }
        if !Playing::is_meant(&request, &before, &answers) {
            let said = format!("seed {}, request {n} of {}: {request}", self.world.seed, self.pairs[at].who);
            let [theirs, ours] = [&answers.0, &answers.1].map(|answer| format!("{} {:?}", answer.code, answer.text));
            self.world.found.push(format!("{said}\n  slapd: {theirs}\n  ours:  {ours}"));
        }
        let what = if answers.0.code == VIOLATION { answers.0.text.clone() } else { answers.0.code.to_string() };
        *self.answers.entry(format!("{} {what}", request.operation.kind())).or_default() += 1;
        let administrator = &mut self.pairs[0];
        if (answers.0.code == 0) != (answers.1.code == 0) {
            assert!(mend::mend(&mut administrator.theirs, &mut administrator.ours), "{request}");
        }
        if n.is_multiple_of(20) {
            let (theirs, ours) =
                (mend::everything(&mut administrator.theirs), mend::everything(&mut administrator.ours));
            if theirs.entries != ours.entries {
                let said = format!("seed {}, after request {n}: {request}", self.world.seed);
                self.world.found.push(format!("{said}\n  slapd: {:?}\n  ours:  {:?}", theirs.entries, ours.entries));
            }
            self.world.random.learn(theirs.entries.keys());
        }
    }

    fn play(mut self) -> (Vec<String>, BTreeMap<String, usize>) {
        for n in 1..=REQUESTS {
            self.step(n);
            if !self.world.found.is_empty() {
                break;
            }
        }
        (self.world.found, self.answers)
    }
}

#[test]
fn constraints_refuse_what_those_of_slapd_refuse() {
    let all = play_worlds(|seed| Playing::new(seed).play());
    let tried = ["add 0", "modify 0", "rename 0", "rename modify breaks constraint on uid"].map(str::to_string);
    let broken = ["mail", "description", "displayName", "cn;lang-de", "title", "givenName", "l", "employeeNumber"]
        .map(|name| format!("modify modify breaks constraint on {name}"));
    for answer in tried.iter().chain(&broken) {
        assert!(all.contains_key(answer), "{answer} was not seen: {all:?}");
    }
}
