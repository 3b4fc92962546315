//! Who may act for whom (RFC 4370), by what entries say in `authzTo` and `authzFrom`.

use duramen_ldap::message::ChangeKind;

use crate::controls::Kind;
use crate::request::{Bytes, Operation, Request};
use crate::servers::SUFFIX;
use crate::{Pair, World, world};

/// In all forms but `u:`, whose users slapd does not bring to the names of entries; `PEOPLE`, `GROUPS` and `TOP` are names. Who acts is bob.
const RULES: [&str; 37] = [
    "dn:uid=carol,PEOPLE",
    "dn.exact:UID=Carol, PEOPLE",
    "uid=carol,PEOPLE",
    "{0}dn:uid=carol,PEOPLE",
    "dn:uid=bob,PEOPLE",
    "dn:*",
    "*",
    "dn:PEOPLE",
    "dn.children:PEOPLE",
    "dn.subtree:PEOPLE",
    "dn.onelevel:PEOPLE",
    "dn.children:uid=carol,PEOPLE",
    "dn.subtree:uid=carol,PEOPLE",
    "dn.onelevel:uid=carol,PEOPLE",
    "dn.onelevel:TOP",
    "dn.children:TOP",
    "dn.regex:^uid=[bc][^,]*,ou=people,dc=example,dc=com$",
    "dn.regex:UID=(CAROL|BOB)",
    "dn.regex:arol|ob",
    "dn.regex:^carol|^bob",
    "group:cn=team,GROUPS",
    "group/groupOfNames/member:cn=team,GROUPS",
    "group/groupOfNames:CN=Team,GROUPS",
    "group/groupOfUniqueNames/uniqueMember:cn=unique,GROUPS",
    "group/groupOfUniqueNames/uniqueMember:cn=team,GROUPS",
    "group/person/seeAlso:uid=erin,PEOPLE",
    "group:cn=nosuch,GROUPS",
    "group:uid=carol,PEOPLE",
    "ldap:///PEOPLE??sub?(uid=carol)",
    "ldap:///PEOPLE??one?(|(uid=c*)(uid=b*))",
    "ldap:///TOP??one?(uid=carol)",
    "ldap:///TOP??sub?(objectClass=person)",
    "ldap:///TOP??sub?(objectClass=groupOfNames)",
    "ldap:///uid=carol,PEOPLE",
    "ldap:///uid=carol,PEOPLE??base?(sn=*)",
    "ldap:///uid=carol,PEOPLE??sub?(sn=nosuch)",
    "ldap:///ou=nosuch,TOP??sub?(uid=carol)",
];

/// Whom everybody asks to be.
const OTHERS: [&str; 10] = [
    "dn:uid=alice,PEOPLE",
    "dn:uid=carol,PEOPLE",
    "dn:UID=Carol, PEOPLE",
    "dn:uid=dave,PEOPLE",
    "dn:uid=nosuch,PEOPLE",
    "dn:PEOPLE",
    "dn:cn=admin,TOP",
    "u:carol",
    "u:nosuch",
    "",
];

/// `by self` shows who a search in a rule is made by.
const ACCESS: &str = "access to attrs=userPassword by * auth\naccess to attrs=seeAlso by self read by * none\n\
    access to * by * read\n";

fn text(template: &str) -> String {
    let (people, groups) = (format!("ou=people,{SUFFIX}"), format!("ou=groups,{SUFFIX}"));
    template.replace("PEOPLE", &people).replace("GROUPS", &groups).replace("TOP", SUFFIX)
}

fn set(who: &str, attribute: &str, rules: &[&str]) -> Request {
    let values = rules.iter().map(|rule| Bytes::from(&*text(rule))).collect();
    let changes = vec![(ChangeKind::Replace, (attribute.to_owned(), values))];
    Operation::Modify { name: format!("uid={who},ou=people,{SUFFIX}"), changes }.into()
}

fn who_as(identity: &str) -> Request {
    Request { controls: vec![Kind::Proxied(text(identity)).critical()], ..Request::from(Operation::WhoAmI) }
}

struct Asking {
    world: World,
    administrator: Pair,
    bob: Pair,
    asked: usize,
    /// How many were let, by both.
    let_pass: usize,
}

impl Asking {
    fn new(policy: &str, access: &str) -> Asking {
        let mut world = World::with(0, access.into(), policy);
        let mut administrator = world.administrator();
        for request in world::entries() {
            administrator.ask(&request);
        }
        let bob = world.user("bob", false);
        Asking { world, administrator, bob, asked: 0, let_pass: 0 }
    }

    /// Whether both take the rules.
    fn set(&mut self, who: &str, attribute: &str, rules: &[&str]) -> bool {
        let request = set(who, attribute, rules);
        let answers = self.administrator.ask(&request);
        self.asked += 1;
        self.world.compare(self.asked, "the administrator", &request, &answers) && answers.1.code == 0
    }

    fn bob_asks(&mut self, identity: &str, of: &str) {
        let request = who_as(identity);
        let answers = self.bob.ask(&request);
        self.asked += 1;
        self.let_pass += usize::from(answers.1.code == 0);
        if !self.world.compare(self.asked, "bob", &request, &answers) {
            self.world.found.push(format!("by {of}"));
        }
    }

    fn end(self) -> usize {
        assert!(self.world.found.is_empty(), "{}", self.world.found.join("\n"));
        self.let_pass
    }
}

#[test]
fn who_may_act_as_others_is_who_may_with_slapd_by_authz_to() {
    let mut asking = Asking::new("to", ACCESS);
    for rule in RULES {
        if asking.set("bob", "authzTo", &[rule]) {
            OTHERS.iter().for_each(|other| asking.bob_asks(other, rule));
        }
    }
    // What others' entries say lets nobody.
    asking.set("bob", "authzTo", &["dn:uid=dave,PEOPLE", "dn.regex:nosuch", "dn.regex:erin"]);
    asking.set("carol", "authzFrom", &["dn:*"]);
    ["dn:uid=carol,PEOPLE", "u:dave", "u:erin"].iter().for_each(|other| asking.bob_asks(other, "several"));
    assert!(asking.end() > 2 * RULES.len());
}

#[test]
fn who_may_act_as_others_is_who_may_with_slapd_by_authz_from() {
    let mut asking = Asking::new("from", ACCESS);
    for rule in RULES {
        if asking.set("carol", "authzFrom", &[rule]) {
            ["dn:uid=carol,PEOPLE", "u:carol", "dn:uid=dave,PEOPLE"]
                .iter()
                .for_each(|other| asking.bob_asks(other, rule));
        }
    }
    assert!(asking.end() > RULES.len() / 2);
}

#[test]
fn both_words_count_as_with_slapd() {
    for (policy, let_pass) in [("none", 0), ("any", 3), ("all", 1)] {
        let mut asking = Asking::new(policy, ACCESS);
        for (to, from) in [(true, true), (true, false), (false, true), (false, false)] {
            let rules = |is_there: bool, rule: &'static str| if is_there { vec![rule] } else { Vec::new() };
            asking.set("bob", "authzTo", &rules(to, "dn:uid=carol,PEOPLE"));
            asking.set("carol", "authzFrom", &rules(from, "dn:uid=bob,PEOPLE"));
            asking.bob_asks("dn:uid=carol,PEOPLE", policy);
        }
        assert_eq!(asking.end(), let_pass, "{policy}");
    }
}

#[test]
fn rules_that_somebody_may_not_be_authenticated_by_let_him_do_nothing() {
    let hidden = format!("access to attrs=authzTo,authzFrom by * none\n{ACCESS}");
    for policy in ["to", "from"] {
        let mut asking = Asking::new(policy, &hidden);
        asking.set("bob", "authzTo", &["dn:*"]);
        asking.set("carol", "authzFrom", &["dn:*"]);
        asking.bob_asks("dn:uid=carol,PEOPLE", policy);
        assert_eq!(asking.end(), 0, "{policy}");
    }
}
