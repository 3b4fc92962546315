//! Rules as slapd.access(5) describes them, on a small directory.

mod language;
mod plans;
mod sets;
mod slapacl;
mod world;

use super::{Level, Privileges, What};
use world::World;

/// The people of the small directory.
const ALICE: &str = "uid=alice,ou=people,dc=example,dc=com";
const BOB: &str = "uid=bob,ou=people,dc=example,dc=com";
const CAROL: &str = "uid=carol,ou=people,dc=example,dc=com";
const ESCAPED: &str = "uid=d\\, e\\+f=g,ou=people,dc=example,dc=com";
const TEAM: &str = "cn=team,ou=groups,dc=example,dc=com";

/// Letters of what `who` may do with an attribute of an entry.
fn granted(rules: &str, who: &str, entry: &str, attribute: &str) -> Privileges {
    World::new(rules).granted(who, entry, attribute)
}

fn letters(letters: &str) -> Privileges {
    Privileges::from_letters(letters).unwrap()
}

#[test]
fn nobody_reads_passwords_and_everybody_changes_the_own_one_if_nothing_is_said() {
    let granted = |who, entry, attribute| granted(super::STANDARD, who, entry, attribute);
    assert_eq!(granted(ALICE, ALICE, "userPassword"), letters("xw"));
    assert_eq!(granted(ALICE, BOB, "userPassword"), Privileges::NONE);
    assert_eq!(granted("", BOB, "userPassword"), Privileges::of(Level::Auth));
    for attribute in ["cn", "entry", "children", "member", "entryUUID"] {
        assert_eq!(granted("", BOB, attribute), Privileges::of(Level::Read), "{attribute}");
    }
}

#[test]
fn the_first_rule_that_is_about_it_decides() {
    let rules = "access to dn.children=ou=people,dc=example,dc=com attrs=cn by users read
                 access to dn.subtree=dc=example,dc=com by * search
                 access to * by * manage";
    assert_eq!(granted(rules, ALICE, BOB, "cn"), Privileges::of(Level::Read));
    assert_eq!(granted(rules, "", BOB, "cn"), Privileges::NONE);
    assert_eq!(granted(rules, "", BOB, "sn"), Privileges::of(Level::Search));
    assert_eq!(granted(rules, "", "dc=example,dc=org", "sn"), Privileges::of(Level::Manage));
}

#[test]
fn clauses_may_go_on_and_rules_too() {
    let rules = "access to dn.subtree=dc=example,dc=com attrs=cn by * =cs continue by users +r
                 access to attrs=sn by users =w break
                 access to * by * +x";
    assert_eq!(granted(rules, ALICE, BOB, "cn"), letters("csr"));
    assert_eq!(granted(rules, "", BOB, "cn"), Privileges::NONE, "by * none stands at the end of the rule");
    assert_eq!(granted(rules, ALICE, BOB, "sn"), letters("wx"));
    assert_eq!(granted(rules, "", BOB, "sn"), Privileges::NONE);
    assert_eq!(granted("access to * by * read break", ALICE, BOB, "cn"), Privileges::NONE, "none is left");
    assert_eq!(granted("", ALICE, BOB, "cn"), Privileges::NONE);
}

#[test]
fn parts_of_the_entrys_name_stand_in_the_requesters() {
    let rules = "access to dn.regex=\"^(.+,)?uid=([^,]+),ou=people,dc=example,dc=com$\"
                   by dn.exact,expand=\"uid=$2,ou=People,dc=example,dc=com\" write
                   by dn.regex=\"^uid=$2x,dc=[^,]+,dc=com$$\" search
                   by * none";
    let below = "cn=address book,uid=alice,ou=people,dc=example,dc=com";
    assert_eq!(granted(rules, ALICE, below, "cn"), Privileges::of(Level::Write));
    assert_eq!(granted(rules, BOB, below, "cn"), Privileges::NONE);
    assert_eq!(granted(rules, "uid=alicex,dc=a,dc=com", below, "cn"), Privileges::of(Level::Search));
    let ancestors = "access to dn.subtree=dc=com by dn.subtree,expand=$0 read";
    assert_eq!(granted(ancestors, ALICE, "ou=people,dc=example,dc=com", "cn"), Privileges::of(Level::Read));
    assert_eq!(granted(ancestors, ALICE, "ou=groups,dc=example,dc=com", "cn"), Privileges::NONE);
}

#[test]
fn a_name_put_into_an_expression_is_not_part_of_the_expression() {
    let rules = "access to dn.regex=\"^uid=([^,]+),\" by dn.regex=\"^uid=$1,ou=people\" write";
    assert_eq!(granted(rules, ALICE, "uid=.*,ou=people,dc=example,dc=com", "cn"), Privileges::NONE);
}

/// Values are put in as they are written.
#[test]
fn a_name_made_of_parts_is_compared_as_a_name() {
    let rules = "access to attrs=sn val.regex=\"^(.*)$\" by dn.exact,expand=\"UID=${v1}, ou=people,dc=example,dc=com\" write
                 access to attrs=manager val.regex=\"^(.*)$\" by dn.subtree,expand=\"${v1}\" write
                 access to attrs=cn val.regex=\"^(.*)$\" by group.expand=\"cn=${v1}, ou=groups,dc=example,dc=com\" write";
    let written = "manager:UID=Alice ; OU=People,dc=Example, dc=com";
    for what in ["sn:alice", "sn:Alice", "sn: ALICE", written, "cn:team", "cn:Team"] {
        assert_eq!(granted(rules, ALICE, BOB, what), Privileges::of(Level::Write), "{what}");
        assert_eq!(granted(rules, CAROL, BOB, what), Privileges::NONE, "{what}");
    }
    for what in ["sn:x,alice", "manager:alice", "manager:,dc=com", "cn:team,"] {
        assert_eq!(granted(rules, ALICE, BOB, what), Privileges::NONE, "{what}");
    }
}

#[test]
fn an_escaped_comma_ends_no_rdn() {
    let rules = "access to dn.subtree=\"dc=example,dc=com\" by * read";
    assert_eq!(granted(rules, "", "cn=a\\,dc=example,dc=com", "cn"), Privileges::NONE);
    assert_eq!(granted(rules, "", "cn=a\\\\,dc=example,dc=com", "cn"), Privileges::of(Level::Read));
    let one = "access to dn.one=\"dc=com\" by * read";
    assert_eq!(granted(one, "", "cn=a\\,b,dc=com", "cn"), Privileges::of(Level::Read));
    assert_eq!(granted(one, "", "cn=a,cn=b,dc=com", "cn"), Privileges::NONE);
    assert_eq!(granted("access to dn.one=\"\" by * read", "", "dc=com", "cn"), Privileges::of(Level::Read));
}

#[test]
fn groups_attributes_and_ancestors_name_who_may() {
    let member = format!(
        "access to * by group={TEAM} write by group/groupOfUniqueNames/uniqueMember=\"cn=unique,ou=groups,dc=example,dc=com\" search"
    );
    assert_eq!(granted(&member, ALICE, CAROL, "cn"), Privileges::of(Level::Write));
    assert_eq!(granted(&member, CAROL, CAROL, "cn"), Privileges::of(Level::Search));
    assert_eq!(granted(&member, BOB, CAROL, "cn"), Privileges::NONE);
    let manager = "access to * by dnattr=manager write by self.level{-1} read by self.level{1} search";
    assert_eq!(granted(manager, ALICE, BOB, "cn"), Privileges::of(Level::Write));
    assert_eq!(granted(manager, ALICE, CAROL, "cn"), Privileges::NONE);
    assert_eq!(
        granted(manager, CAROL, "cn=x,uid=carol,ou=people,dc=example,dc=com", "cn"),
        Privileges::of(Level::Read)
    );
    assert_eq!(granted(manager, CAROL, "ou=people,dc=example,dc=com", "ou"), Privileges::of(Level::Search));
}

#[test]
fn one_may_be_allowed_to_add_oneself_and_nobody_else() {
    let joining = World::new("access to attrs=member by dnattr=member selfwrite");
    let bob = What::Attribute(joining.attribute("member"), Some(BOB.as_bytes()));
    assert!(joining.allows(BOB, TEAM, bob, Level::Add), "bob is no member yet");
    let world = World::new("access to attrs=member by users selfwrite by * read");
    for (value, allowed) in
        [(ALICE, true), (BOB, false), ("UID=Alice, ou=People,dc=example,dc=com", true), ("x", false)]
    {
        let what = What::Attribute(world.attribute("member"), Some(value.as_bytes()));
        assert_eq!(world.allows(ALICE, TEAM, what, Level::Add), allowed, "{value}");
    }
    let unique = World::new("access to attrs=uniqueMember by users selfwrite");
    for (bits, allowed) in [("", true), ("#'01'B", true), ("#'", false), ("#'2'B", false), ("#'01'B,dc=org", false)] {
        let value = format!("{ALICE}{bits}");
        let what = What::Attribute(unique.attribute("uniqueMember"), Some(value.as_bytes()));
        assert_eq!(unique.allows(ALICE, TEAM, what, Level::Add), allowed, "{value}");
    }
    assert!(world.plan(ALICE).is_by_value(world.attribute("member")));
    assert!(!world.plan(ALICE).is_by_value(world.attribute("cn")));
}

#[test]
fn filters_and_values_select() {
    let rules = "access to filter=\"(&(objectClass=inetOrgPerson)(!(employeeType=boss)))\" attrs=mail by * read
                 access to attrs=mail val.regex=\"@example\\.com$\" by * search
                 access to attrs=member val.children=\"ou=people,dc=example,dc=com\" by * compare";
    assert_eq!(granted(rules, "", BOB, "mail"), Privileges::of(Level::Read));
    assert_eq!(granted(rules, "", ALICE, "mail"), Privileges::NONE);
    assert_eq!(granted(rules, "", ALICE, "mail:a@example.com"), Privileges::of(Level::Search));
    assert_eq!(granted(rules, "", ALICE, "mail:a@example-com"), Privileges::NONE);
    assert_eq!(granted(rules, "", TEAM, &format!("member:{BOB}")), Privileges::of(Level::Compare));
    assert_eq!(granted(rules, "", TEAM, "member:cn=x"), Privileges::NONE);
}

#[test]
fn no_value_passes_an_expression_by_as_it_is_written() {
    let rules = "access to attrs=description val.regex=\"^.*secret\" by * none
                 access to attrs=userPassword val.regex=\"^[^{]\" by * none
                 access to * by * read";
    assert_eq!(granted(rules, "", BOB, "description:a\nsecret"), Privileges::NONE);
    assert_eq!(granted(rules, "", BOB, "description:a\nb"), Privileges::of(Level::Read));
    let spelt = "access to attrs=cn val.regex=\"^bob jones$\" by * none
                 access to attrs=telephoneNumber val.regex=\"^[+]4930$\" by * none
                 access to attrs=manager val.regex=\"^uid=[^,]+,dc=com$\" by * none
                 access to attrs=objectClass val.regex=\"^device$\" by * none
                 access to * by * read";
    for what in ["cn: Bob   JONES", "telephoneNumber:+49 3-0", "manager:UID=a\\, b , dc=com", "objectClass:device"] {
        assert_eq!(granted(spelt, "", BOB, what), Privileges::NONE, "{what}");
    }
    let world = World::new(rules);
    for (value, allowed) in [(&b"\xFFa"[..], false), (b"{SHA}\xFF", true)] {
        let what = What::Attribute(world.attribute("userPassword"), Some(value));
        assert_eq!(world.allows("", BOB, what, Level::Read), allowed, "{value:?}");
    }
}

#[test]
fn it_counts_where_somebody_comes_from_and_how_well_protected() {
    for (pattern, from, allowed) in [
        ("peername.ip=10.0.0.0%255.0.0.0", "10.1.2.3:5", true),
        ("peername.ip=10.0.0.0/8", "11.1.2.3:5", false),
        ("peername.ip=10.1.2.3{5}", "10.1.2.3:6", false),
        ("peername.ip=10.1.2.3{5}", "[::ffff:10.1.2.3]:5", true),
        ("peername.ipv6=2001:db8::/32", "[2001:db8::1]:5", true),
        ("peername.ipv6=2001:db8::%ffff:ffff::", "[2001:db9::1]:5", false),
        ("peername.ip=0.0.0.0/0", "[2001:db8::1]:5", false),
        ("peername.regex=^IP=10\\.", "10.1.2.3:5", true),
        ("peername=IP=10.1.2.3:5", "10.1.2.3:5", true),
        ("peername.path=/run/ldapi", "10.1.2.3:5", false),
    ] {
        let mut world = World::new(&format!("access to * by users {pattern} ssf=128 read"));
        world.from(from, 128);
        assert_eq!(world.granted(ALICE, BOB, "cn") != Privileges::NONE, allowed, "{pattern} {from}");
        world.from(from, 127);
        assert_eq!(world.granted(ALICE, BOB, "cn"), Privileges::NONE, "{pattern} {from}");
    }
}

#[test]
fn the_explanation_names_the_line_that_decides_and_why_others_did_not() {
    let world = World::new(
        "access to attrs=userPassword\n    by self =xw\n    by anonymous auth\naccess to dn.base=\"\" by * read\n\
         access to *\n    by group=\"cn=team,ou=groups,dc=example,dc=com\" write\n    by users read\n",
    );
    let explained = world.explain(BOB, CAROL, "mail");
    assert_eq!(
        explained.to_string(),
        "line    1: access to attrs=userPassword
           passed over: not about this attribute
line    4: access to dn.base=\"\"
           passed over: not about an entry of this name
line    5: access to *
           is about it
line    6: by group=\"cn=team,ou=groups,dc=example,dc=com\" write
           passed over: the requester is uid=bob,ou=people,dc=example,dc=com, and member of the group does not name it
line    7: by users read
           applies: read (=rscxd), and that is it
granted: read (=rscxd), by rules, line 7"
    );
    let explained = world.explain(BOB, CAROL, "userPassword");
    assert_eq!(explained.privileges, Privileges::NONE);
    assert!(explained.to_string().ends_with("at its end stands 'by * none'\ngranted: none (=0)"), "{explained}");
}
