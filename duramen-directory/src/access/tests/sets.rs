//! Sets in rules, on the small directory.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::super::{Known, Level, Privileges, Rules, What};
use super::slapacl::{END, Slapd, ask, cases};
use super::world::{ENTRIES, SCHEMA, World};
use super::{ALICE, BOB, CAROL, ESCAPED, TEAM, granted};

/// Whether somebody is in the set that stands in a rule about an entry.
fn is_in(set: &str, who: &str, entry: &str) -> bool {
    granted(&format!("access to * by set=\"{set}\" write by * read"), who, entry, "cn") == Privileges::of(Level::Write)
}

/// With parts of the entry's name.
fn is_in_expanded(what: &str, set: &str, who: &str, entry: &str) -> bool {
    let rules = format!("access to {what} by set.expand=\"{set}\" write by * read");
    granted(&rules, who, entry, "cn") == Privileges::of(Level::Write)
}

#[test]
fn whom_an_attribute_of_the_entry_names_is_in_the_set_of_its_values() {
    for (set, who, entry, is) in [
        ("this/manager & user", ALICE, BOB, true),
        ("this/manager & user", CAROL, BOB, false),
        ("this/manager & user", ALICE, CAROL, false),
        ("this->manager->manager & user", ALICE, CAROL, true),
        ("this/manager* & user", ALICE, CAROL, true),
        ("this/manager* & user", BOB, CAROL, true),
        ("this/manager* & user", ESCAPED, CAROL, false),
        ("this & user", ALICE, ALICE, true),
        ("user/manager & this", BOB, ALICE, true),
        ("(this | this/manager) & user", BOB, BOB, true),
        ("this/employeeType & [boss]", BOB, ALICE, true),
        ("this/employeeType & [boss]", BOB, CAROL, false),
        ("this/sn & user/sn", BOB, BOB, true),
        ("this/manager & user", ESCAPED, ESCAPED, true),
    ] {
        assert_eq!(is_in(set, who, entry), is, "{set} {who} {entry}");
    }
}

#[test]
fn members_of_groups_in_groups_are_found_and_loops_end() {
    let all = "[cn=all,ou=groups,dc=example,dc=com]/member";
    for (who, in_all, in_nested) in
        [(ALICE, false, true), (BOB, false, true), (CAROL, false, false), (TEAM, true, true)]
    {
        assert_eq!(is_in(&format!("{all} & user"), who, TEAM), in_all, "{who}");
        assert_eq!(is_in(&format!("{all}* & user"), who, TEAM), in_nested, "{who}");
        assert_eq!(is_in(&format!("user & {all}*"), who, TEAM), in_nested, "{who}");
    }
    assert!(is_in(&format!("{all}*/seeAlso & user"), CAROL, TEAM), "of any of them");
    assert!(is_in(&format!("({all}* & [cn=all,ou=groups,dc=example,dc=com])"), CAROL, TEAM), "a member of its own");
}

#[test]
fn what_stands_in_a_set_is_joined_from_left_to_right() {
    assert!(!is_in("user | [x] & this", ALICE, BOB));
    assert!(is_in("user | ([x] & this)", ALICE, BOB));
    assert!(is_in("[x] | user & this/manager", ALICE, BOB));
    assert!(is_in("user/uid + [@] + [example.com] & user/mail", ALICE, BOB));
    assert!(!is_in("user/uid + [@] & [alice]", ALICE, BOB));
    assert!(is_in("[uid=] + user/uid + [,ou=people,dc=example,dc=com] & user", ALICE, BOB));
}

#[test]
fn names_above_a_name_are_those_without_its_first_parts() {
    for (set, is) in [
        ("user/-1 & [ou=people,dc=example,dc=com]", true),
        ("user/-0 & user", true),
        ("user->-3 & [com]", false),
        ("user/-2/-1 & [dc=com]", true),
        ("user/-9 & []", true),
        ("user/-* & [dc=example,dc=com]", true),
        ("user/-* & user", true),
        ("user/-* & []", true),
        ("user/-* & [dc=org]", false),
        ("this/-* & [ou=people,dc=example,dc=com]", true),
    ] {
        assert_eq!(is_in(set, ALICE, BOB), is, "{set}");
    }
}

#[test]
fn values_are_normalized_and_texts_in_brackets_are_not() {
    for (set, is) in [
        ("[UID=Alice, OU=people,dc=example,dc=com] & user", false),
        ("[UID=Alice, OU=people,dc=example,dc=com]/entryDN & user", true),
        ("[UID=Alice, OU=people,dc=example,dc=com]/uid & [alice]", true),
        ("user/cn & [alice a]", true),
        ("user/cn & [Alice A]", false),
        ("user/objectClass & [inetOrgPerson]", true),
        ("user/objectClass & [inetorgperson]", false),
        (
            "[cn=loop,ou=groups,dc=example,dc=com]/member & [uid=d\\\\2C e\\\\2Bf\\\\3Dg,ou=people,dc=example,dc=com]",
            true,
        ),
        ("[cn=loop,ou=groups,dc=example,dc=com]/member & [uid=d\\\\, e\\\\+f=g,ou=people,dc=example,dc=com]", false),
    ] {
        assert_eq!(is_in(set, ALICE, BOB), is, "{set}");
    }
}

#[test]
fn what_is_not_there_has_no_values() {
    for set in [
        "[cn=nobody]/member",
        "[no name]/member",
        "user/member",
        "this/seeAlso*",
        "[cn=nobody]/member*/uid",
        "this/manager + user/ou",
    ] {
        assert!(!is_in(set, ALICE, ALICE), "{set}");
    }
    assert!(
        is_in("[cn=nobody]", ALICE, BOB) && is_in("[cn=nobody]/entryDN", ALICE, BOB),
        "a text and a name all the same"
    );
}

#[test]
fn nobody_in_particular_is_in_no_set_that_names_the_user() {
    for set in ["user", "[a] | user", "user | [a]", "user & []", "user/-9"] {
        assert!(!is_in(set, "", BOB), "{set}");
    }
    assert!(is_in("[a]", "", BOB) && is_in("this/manager", "", BOB) && !is_in("this/manager", "", ALICE));
}

#[test]
fn urls_in_a_set_find_entries_and_their_attributes() {
    let below = "ldap:///ou=people,dc=example,dc=com";
    for (set, who, is) in [
        (format!("[{below}??sub?(uid=bob)]/entryDN & user"), BOB, true),
        (format!("[{below}??sub?(uid=bob)]/entryDN & user"), ALICE, false),
        (format!("user & [{below}??one?(employeeType=*)]/entryDN"), CAROL, true),
        (format!("[{below}??sub?(uid=bob)]/manager & user"), ALICE, true),
        (format!("[{below}?manager,entryDN?sub?(uid=bob)]/cn & user"), ALICE, true),
        (format!("[{below}?cn?sub?(uid=bob)]/cn & user"), ALICE, false),
        (format!("[{below}??base]/ou & [people]"), ALICE, true),
        (format!("([{below}??sub?(uid=] + user/uid + [)])/entryDN & user"), BOB, true),
        ("[ldap:///uid=bob,ou=people,dc=example,dc=com]/manager & user".to_owned(), ALICE, true),
        (format!("[{below}??sub?(uid=bob]/entryDN"), ALICE, false),
        (format!("[{below}??sub?(uid=bob)] & user"), BOB, false),
    ] {
        assert_eq!(is_in(&set, who, TEAM), is, "{set} {who}");
    }
}

#[test]
fn parts_of_what_the_rule_is_about_stand_in_brackets() {
    let what = "dn.regex=\"^cn=([^,]+),(ou=groups,.*)$\"";
    assert!(is_in_expanded(what, "[cn=$1,$2]/member & user", ALICE, TEAM));
    assert!(!is_in_expanded(what, "[cn=$1,$2]/member & user", BOB, TEAM));
    assert!(is_in_expanded("*", "[$0] & this", BOB, ESCAPED), "as names stand in sets");
    assert!(is_in_expanded("dn.subtree=\"dc=com\"", "user/-* & [$1]", BOB, TEAM));
    assert!(is_in_expanded("*", "[$$1]", BOB, TEAM));
    assert!(
        !is_in_expanded("dn.regex=\"^uid=([^,]+),\"", "[$1]/member", BOB, "uid=x]|[y,dc=com"),
        "nothing put in ends a text"
    );
    let by_value = "access to attrs=sn val.regex=\"^(.*)$\" by set.expand=\"[${v1}] & user/sn\" write by * read";
    assert_eq!(granted(by_value, BOB, ALICE, "sn:B"), Privileges::of(Level::Write));
    assert_eq!(granted(by_value, BOB, ALICE, "sn:A"), Privileges::of(Level::Read));
    let places = "access to dn.regex=\"^uid=([^,]+),\" by set=\"[uid=$1,ou=people,dc=example,dc=com] & user\" write";
    assert_eq!(granted(places, BOB, BOB, "cn"), Privileges::NONE, "set= takes it as it is written");
}

#[test]
fn a_set_without_the_entry_is_asked_about_once_for_all_entries() {
    let world =
        World::new("access to * by set=\"[cn=all,ou=groups,dc=example,dc=com]/member* & user\" write by * read");
    let plan = world.plan(ALICE);
    let asked = world.asked.get();
    assert_eq!(plan.everywhere(None, Level::Write), Some(true));
    assert_eq!(world.plan(CAROL).everywhere(None, Level::Write), Some(false));
    let asked_by_two = world.asked.get();
    for (entry, _) in ENTRIES {
        assert!(world.allows_again(&plan, entry, What::Entry, Level::Write, &Known::default()));
    }
    assert!(asked > 0 && world.asked.get() == asked_by_two);
    assert_eq!(
        World::new("access to * by set=\"this/manager & user\" write by * read")
            .plan("")
            .everywhere(None, Level::Write),
        Some(false)
    );
}

#[test]
fn what_is_the_same_for_all_entries_is_looked_up_once() {
    let set = "[ldap:///dc=example,dc=com??sub?(employeeType=boss)]/entryDN & this/manager";
    let world = World::new(&format!("access to * by set=\"{set}\" write by * read"));
    let plan = world.plan(BOB);
    let allowed = |entry: &str| world.allows_again(&plan, entry, What::Entry, Level::Write, &Known::default());
    assert_eq!(ENTRIES.iter().map(|(entry, _)| *entry).filter(|entry| allowed(entry)).collect::<Vec<_>>(), [BOB]);
    assert_eq!(world.asked.get(), 1);
    assert_eq!(plan.everywhere(None, Level::Read), Some(true), "either way");
}

/// Each text of one with each of the other, and of those with each of the next.
#[test]
fn a_set_that_takes_too_much_work_grants_nothing() {
    let two = vec!["([a]|[b])"; 21].join(" + ");
    for set in [format!("{two} & user"), format!("{two} & this")] {
        let world = World::new(&format!("access to * by set=\"{set}\" none by * read"));
        assert_eq!(world.granted(ALICE, BOB, "cn"), Privileges::NONE, "it may be one that is to be kept out");
        let explained = world.explain(ALICE, BOB, "cn").to_string();
        assert!(explained.contains("more than 1000000 values and entries would have to be looked at"), "{explained}");
        assert!(explained.ends_with("granted: none (=0), by rules, line 1"), "{explained}");
    }
}

#[test]
fn the_explanation_shows_the_set_that_is_empty() {
    let world = World::new("access to *\n  by set=\"this/manager&user\" write\n  by * read");
    let explained = world.explain(BOB, ALICE, "cn").to_string();
    let expected = format!("passed over: the requester is {BOB}, and nothing is in the set this/manager & user");
    assert!(explained.contains(&expected), "{explained}");
    assert!(world.explain("", ALICE, "cn").to_string().contains("passed over: the requester is anonymous\n"));
}

/// Those of the page about access rules.
#[test]
fn the_examples_people_copy_are_rules() {
    let page = include_str!("../../../../docs/access.md");
    let part = page.split("\n## Sets\n").nth(1).unwrap();
    let rules = Rules::parse("the page", part.split("```").nth(1).unwrap(), &[], &SCHEMA);
    assert_eq!(rules.unwrap_or_else(|error| panic!("{error}")).rules.len(), 7);
}

#[test]
fn what_is_wrong_with_a_set_is_told_with_its_place() {
    let deep = format!("{}user{}", "(".repeat(61), ")".repeat(61));
    let long = format!("user{}", "|user".repeat(200));
    for (set, problem) in [
        ("", "is wrong at its end: expected this, user, [text] or '('"),
        ("this &", "is wrong at its end: expected this, user, [text] or '('"),
        ("this & & user", "is wrong at its character 8: expected this, user, [text] or '('"),
        (
            "this/manager & uid",
            "is wrong at its character 16: 'uid' stands for nothing: expected this, user, [text] or '('; attributes stand behind '/'",
        ),
        ("This", "is wrong at its character 1: 'This' stands for nothing"),
        ("this/", "is wrong at its end: expected an attribute type, -1 or another number of levels, or -*"),
        ("this/[x]", "is wrong at its character 6: expected an attribute type, -1"),
        ("this/foo & user", "is wrong at its character 6: the schema has no attribute type 'foo'"),
        ("this/cn;lang-de", "is wrong at its character 6: 'cn;lang-de': rules are about all values"),
        ("this/-x", "is wrong at its character 6: expected * or a number of levels behind '/-'"),
        ("this/-70000", "is wrong at its character 6: expected * or a number of levels behind '/-'"),
        ("this/manager *", "is wrong at its character 14: expected &, |, +, '/' and an attribute, or the end"),
        ("this user", "is wrong at its character 6: expected &, |, +, '/' and an attribute, or the end"),
        ("(this & user", "is wrong at its character 1: there is no ')' for this '('"),
        ("(this user)", "is wrong at its character 7: expected &, |, +, '/' and an attribute, or ')'"),
        ("this & user)", "is wrong at its character 12: there is no '(' for this ')'"),
        ("this & [x", "is wrong at its character 8: there is no ']' for this '['"),
        ("this - user", "is wrong at its character 6: expected &, |, +,"),
        (&deep, "more than 60 parentheses are open"),
        (&long, "it has more than 256 parts: make groups of some"),
    ] {
        let error = Rules::parse("rules", &format!("access to * by set=\"{set}\" read"), &[], &SCHEMA).unwrap_err();
        assert!(error.to_string().starts_with("rules, line 1, column 16: the set '"), "{error}");
        assert!(error.problem.contains(problem), "{set}\n{error}");
    }
    for (clause, problem) in [
        ("set.sub=\"user\"", "a set has no style 'sub': expected exact or expand"),
        ("set.exact,expand=\"user\"", "a set has no modifier 'expand': write set.expand="),
        ("set.expand=\"[$1] & user\"", "nothing can stand for ${1}"),
        ("set.expand=\"this/$1\"", "expected an attribute type"),
    ] {
        let error = Rules::parse("rules", &format!("access to * by {clause} read"), &[], &SCHEMA).unwrap_err();
        assert!(
            error.to_string().starts_with("rules, line 1, column 16: ") && error.problem.contains(problem),
            "{error}"
        );
    }
    for set in ["this", "user -> manager", "user/ -1", "user/2.5.4.3", "( ( user ) )/cn*", "user/cn-1&user"] {
        let parsed = Rules::parse("rules", &format!("access to * by set=\"{set}\" read"), &[], &SCHEMA);
        assert_eq!(parsed.is_ok(), !set.contains("cn-1"), "{set}");
    }
}

/// Sets of names: texts that are no names are not asked for what is above them, which stops slapd.
fn names(depth: u32) -> BoxedStrategy<String> {
    let leaf = prop::sample::select(vec![
        "this",
        "user",
        "[uid=alice,ou=people,dc=example,dc=com]",
        "[cn=all,ou=groups,dc=example,dc=com]",
        "[cn=team,ou=groups,dc=example,dc=com]",
        "[cn=nobody,dc=example,dc=com]",
        "[ou=people,dc=example,dc=com]",
        "[uid=d\\\\2C e\\\\2Bf\\\\3Dg,ou=people,dc=example,dc=com]",
        "([uid=] + user/uid + [,ou=people,dc=example,dc=com])/entryDN",
    ])
    .prop_map(str::to_owned);
    let step = prop::sample::select(vec![
        "/manager",
        "/member",
        "/seeAlso",
        "->manager",
        "/entryDN",
        "/manager*",
        "/member*",
        "/-1",
        "/-*",
        "/-0",
        "/uniqueMember",
        "/owner",
    ]);
    if depth == 0 {
        return leaf.boxed();
    }
    let joined = (names(depth - 1), prop::sample::select(vec!["|", "&", " & "]), names(depth - 1));
    prop_oneof![
        2 => leaf,
        4 => (names(depth - 1), step).prop_map(|(of, step)| format!("({of}){step}")),
        4 => joined.clone().prop_map(|(one, join, other)| format!("{one}{join}{other}")),
        2 => joined.prop_map(|(one, join, other)| format!("({one} {join} {other})")),
    ]
    .boxed()
}

/// Sets of any texts.
fn texts(depth: u32) -> BoxedStrategy<String> {
    let leaf =
        prop::sample::select(vec!["[boss]", "[alice]", "[example.com]", "[]", "[bob b]", "[@]", "[inetOrgPerson]"]);
    let step = prop::sample::select(vec![
        "/uid",
        "/mail",
        "/cn",
        "/sn",
        "/employeeType",
        "/objectClass",
        "/ou",
        "/hasSubordinates",
    ]);
    let values = (names(depth.min(1)), step).prop_map(|(of, step)| format!("({of}){step}"));
    if depth == 0 {
        return prop_oneof![1 => leaf.prop_map(str::to_owned), 3 => values].boxed();
    }
    let joined = (texts(depth - 1), prop::sample::select(vec!["|", "&", "+", " & "]), texts(depth - 1));
    prop_oneof![
        2 => values,
        3 => joined.clone().prop_map(|(one, join, other)| format!("{one}{join}{other}")),
        2 => joined.prop_map(|(one, join, other)| format!("({one} {join} {other})")),
    ]
    .boxed()
}

fn sets() -> impl Strategy<Value = String> {
    let either = || prop_oneof![names(2), texts(2)];
    prop_oneof![
        2 => either(),
        1 => (names(2), prop::sample::select(vec!["user", "this"])).prop_map(|(set, known)| format!("{set} & {known}")),
        1 => (names(2), prop::sample::select(vec!["user", "this"])).prop_map(|(set, known)| format!("{known} & ({set})")),
    ]
}

/// Each attribute has a set of its own.
const ASKED: [&str; 10] =
    ["cn", "sn", "mail", "uid", "ou", "title", "manager", "description", "userPassword", "employeeType"];

#[test]
fn random_sets_hold_where_they_hold_in_openldap() {
    let slapd = Slapd::new();
    let mut runner = TestRunner::new(Config { cases: cases(), failure_persistence: None, ..Config::default() });
    let entry = prop::sample::select(ENTRIES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let who =
        prop::sample::select(vec![ALICE, BOB, CAROL, ESCAPED, TEAM, "cn=x,uid=carol,ou=people,dc=example,dc=com"]);
    let sets = prop::collection::vec(sets(), ASKED.len());
    let held = std::cell::Cell::new([0, 0]);
    let tried = runner.run(&(sets, who, entry), |(sets, who, entry)| {
        let rule =
            |(set, asked): (&String, &&str)| format!("access to attrs={asked} by set=\"{set}\" write by * read\n");
        let rules: String = sets.iter().zip(&ASKED).map(rule).collect();
        slapd.configure("", &(rules.clone() + END));
        let world = World::new(&rules);
        for ((asked, set), theirs) in ASKED.iter().zip(&sets).zip(ask(&slapd.conf, who, entry, &ASKED)) {
            prop_assert_eq!(world.granted(who, entry, asked), theirs, "{} of {} for {}", set, entry, who);
            let [yes, no] = held.get();
            let is = u32::from(theirs == Privileges::of(Level::Write));
            held.set([yes + is, no + 1 - is]);
        }
        Ok(())
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
    let [yes, no] = held.get();
    assert!(yes * 10 > no && no * 10 > yes, "{yes} held, {no} did not: too few to tell");
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic_and_what_is_taken_is_written_the_same(
        words in prop::collection::vec(prop::sample::select(vec![
            "this", "user", "[", "]", "[cn=x]", "[$1]", "[$$]", "(", ")", "/", "->", "-", "*", "-1", "-*", "manager", "member*", "&",
            "|", "+", " ", "\t", "ü", "$", "0", "cn;lang-de", "2.5.4.3", "this/member", "user & ",
        ]), 0..16),
        random in ".{0,20}",
        expands in any::<bool>(),
    ) {
        let _ = super::super::parse::set(&random, expands, &SCHEMA);
        if let Ok(set) = super::super::parse::set(&words.concat(), expands, &SCHEMA) {
            let written = set.to_string();
            let again = super::super::parse::set(&written, expands, &SCHEMA).unwrap_or_else(|error| panic!("{written}: {error}"));
            prop_assert_eq!(format!("{set:?}"), format!("{again:?}"), "{}", written);
        }
    }

    #[test]
    fn every_set_that_is_written_is_read_back(set in sets()) {
        let set = super::super::parse::set(&set.replace("\\\\", "\\"), false, &SCHEMA).unwrap();
        let again = super::super::parse::set(&set.to_string(), false, &SCHEMA).unwrap();
        prop_assert_eq!(format!("{set:?}"), format!("{again:?}"));
    }
}
