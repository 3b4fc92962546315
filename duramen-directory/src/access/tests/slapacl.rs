//! Random rules are held against OpenLDAP's `slapacl`, which answers for the same entries.

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::super::{Level, Privileges, Rules};
use super::world::{ENTRIES, SCHEMA, World, ldif};
use super::{ALICE, BOB, CAROL, ESCAPED};

/// Rules are random, entries and requesters too; as many as this are tried in a test.
const CASES: u32 = 60;

const SUFFIX: &str = "dc=example,dc=com";

const WHAT: [&str; 16] = [
    "*",
    "dn.subtree=\"ou=people,dc=example,dc=com\"",
    "dn.children=\"ou=people,dc=example,dc=com\"",
    "dn.one=\"ou=people,dc=example,dc=com\"",
    "dn.base=\"uid=bob,ou=people,dc=example,dc=com\"",
    "dn.regex=\"^uid=([^,]+),ou=people,dc=example,dc=com$\"",
    "dn.regex=\"(.+,)?uid=([^,]+),(ou=.*)$\"",
    "attrs=cn,mail",
    "attrs=entry,children,userPassword",
    "attrs=name",
    "attrs=@person",
    "attrs=!person",
    "filter=\"(employeeType=boss)\"",
    "filter=\"(!(manager=*))\" attrs=cn,sn,entry",
    "attrs=mail val.regex=\"example.com$\"",
    "attrs=manager val.one=\"ou=people,dc=example,dc=com\"",
];

const WHO: [&str; 17] = [
    "*",
    "anonymous",
    "users",
    "self",
    "dn.exact=\"uid=alice,ou=people,dc=example,dc=com\"",
    "dn.subtree=\"ou=people,dc=example,dc=com\"",
    "dn.one=\"dc=example,dc=com\"",
    "dn.regex=\"^uid=[ab][^,]*,ou=people,dc=example,dc=com$$\"",
    "dn.regex=\"^uid=$1,\"",
    "dn.exact,expand=\"uid=$2,ou=people,dc=example,dc=com\"",
    "dnattr=manager",
    "group=\"cn=team,ou=groups,dc=example,dc=com\"",
    "group/groupOfUniqueNames/uniqueMember=\"cn=unique,ou=groups,dc=example,dc=com\"",
    "peername.ip=192.0.2.0%255.255.255.0",
    "ssf=64",
    "self.level{-1}",
    "users ssf=32",
];

const ACCESS: [&str; 13] =
    ["none", "disclose", "auth", "compare", "search", "read", "write", "manage", "=xw", "+rs", "-r", "+0", "selfwrite"];

const ASKED: [&str; 10] = [
    "entry",
    "children",
    "cn",
    "sn",
    "mail",
    "userPassword",
    "manager",
    "mail:x@example.com",
    "mail:x@example.org",
    "manager:uid=alice,ou=people,dc=example,dc=com",
];

/// What stands behind the last rule anyway. `slapacl` shows what was granted before it if it is not written out, though
/// the server grants nothing.
pub const END: &str = "access to * by * none\n";

/// Random rules. Parts of names are referred to where names have some: elsewhere it is refused.
pub fn rules() -> impl Strategy<Value = String> {
    let rule = prop::sample::select(WHAT.to_vec()).prop_flat_map(|what| {
        let is_possible = |who: &&str| what.starts_with("dn.regex") || !who.contains("$1") && !who.contains("$2");
        let who = WHO.into_iter().filter(is_possible).collect::<Vec<_>>();
        let control = prop::sample::select(vec!["", "", "", " stop", " continue", " break"]);
        let clause = (prop::sample::select(who), prop::sample::select(ACCESS.to_vec()), control)
            .prop_map(|(who, access, control)| format!("    by {who} {access}{control}\n"));
        prop::collection::vec(clause, 1..4).prop_map(move |clauses| format!("access to {what}\n{}", clauses.concat()))
    });
    prop::collection::vec(rule, 1..4).prop_map(|rules| rules.concat())
}

/// A configuration of slapd and the entries that it is about.
pub struct Slapd {
    directory: tempfile::TempDir,
    pub conf: PathBuf,
}

impl Slapd {
    pub fn new() -> Slapd {
        let directory = tempfile::tempdir().unwrap();
        let slapd = Slapd { conf: directory.path().join("slapd.conf"), directory };
        let ldif = slapd.directory.path().join("data.ldif");
        std::fs::create_dir(slapd.directory.path().join("data")).unwrap();
        std::fs::write(&ldif, self::ldif()).unwrap();
        slapd.configure("", "");
        run(Command::new("/usr/sbin/slapadd").arg("-f").arg(&slapd.conf).args(["-s", "-b", SUFFIX, "-l"]).arg(ldif));
        slapd
    }

    /// Takes rules, and what stands in front of the database, into use.
    pub fn configure(&self, before: &str, rules: &str) {
        let schemas =
            ["core", "cosine", "inetorgperson"].map(|name| format!("include /etc/ldap/schema/{name}.schema\n"));
        let text = format!(
            "{}modulepath /usr/lib/ldap\nmoduleload back_mdb\n{before}database mdb\nsuffix {SUFFIX}\ndirectory {}\n{rules}",
            schemas.concat(),
            self.directory.path().join("data").display()
        );
        std::fs::write(&self.conf, text).unwrap();
    }

    /// The whole configuration as `slapcat` writes it.
    fn slapcat(&self) -> String {
        let folder = self.directory.path().join("slapd.d");
        std::fs::create_dir(&folder).unwrap();
        run(Command::new("/usr/sbin/slaptest").arg("-f").arg(&self.conf).arg("-F").arg(&folder));
        run(Command::new("/usr/sbin/slapcat").args(["-n", "0", "-F"]).arg(&folder))
    }
}

/// What a program of slapd says.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("programs of Debian's package slapd run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What `slapacl` says, in the order of the questions.
pub fn ask(configuration: &Path, who: &str, entry: &str, asked: &[&str]) -> Vec<Privileges> {
    let mut command = Command::new("/usr/sbin/slapacl");
    command.arg("-f").arg(configuration).args(["-o", "peername=IP=192.0.2.1:5000", "-o", "ssf=32"]);
    command.args(["-D", who, "-b", entry]).args(asked);
    let output = command.output().expect("slapacl of Debian's package slapd runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let masks = said.lines().filter(|line| !line.starts_with("authcDN")).filter_map(|line| {
        let letters = line.rsplit_once('=')?.1.trim_end_matches(')');
        Privileges::from_letters(letters)
    });
    let masks: Vec<_> = masks.collect();
    assert_eq!(masks.len(), asked.len(), "{said}\n{}", std::fs::read_to_string(configuration).unwrap());
    masks
}

#[test]
fn random_rules_grant_what_they_grant_in_openldap() {
    let slapd = Slapd::new();
    let mut runner = TestRunner::new(Config { cases: cases(), failure_persistence: None, ..Config::default() });
    let entry = prop::sample::select(ENTRIES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let who = prop::sample::select(vec!["", ALICE, BOB, CAROL, "cn=x,uid=carol,ou=people,dc=example,dc=com"]);
    let tried = runner.run(&(rules(), who, entry), |(rules, who, entry)| {
        slapd.configure("", &(rules.clone() + END));
        let mut world = World::new(&rules);
        world.from("192.0.2.1:5000", 32);
        for (asked, theirs) in ASKED.iter().zip(ask(&slapd.conf, who, entry, &ASKED)) {
            let ours = world.granted(who, entry, asked);
            prop_assert_eq!(
                ours,
                theirs,
                "{} of {} for {:?}\n{}{}",
                asked,
                entry,
                who,
                rules,
                world.explain(who, entry, asked)
            );
        }
        Ok(())
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
}

/// The frontend's rules stand in front of the database's in what `slapcat` writes, and are asked behind them.
#[test]
fn of_a_whole_configuration_the_rules_hold_that_hold_in_openldap() {
    let frontend = "access to attrs=mail by * search\naccess to attrs=userPassword,sn by * read\n";
    let config = "database config\naccess to * by * manage\n";
    let own =
        "access to attrs=userPassword by self =xw by anonymous auth\naccess to attrs=cn by users read by * +s break\n";
    let slapd = Slapd::new();
    slapd.configure(&(frontend.to_owned() + END + config), own);
    let mut world = World::new(&slapd.slapcat());
    world.from("192.0.2.1:5000", 32);
    assert_eq!(world.rules.origins().stored, ["olcDatabase={1}mdb,cn=config", "olcDatabase={-1}frontend,cn=config"]);
    for (who, entry) in [("", ALICE), (ALICE, ALICE), (BOB, ALICE)] {
        for (asked, theirs) in ASKED.iter().zip(ask(&slapd.conf, who, entry, &ASKED)) {
            assert_eq!(world.granted(who, entry, asked), theirs, "{asked} of {entry} for {who:?}");
        }
    }
}

/// What is put into names and groups: as it is written, nothing where a group of the expression took no part.
#[test]
fn parts_come_to_what_they_come_to_in_openldap() {
    let slapd = Slapd::new();
    for (what, who) in [
        ("attrs=cn val.regex=\"^(.*)$\"", "dn.exact,expand=\"UID=${v1}, ou=people,dc=example,dc=com\""),
        ("attrs=cn val.regex=\"^(.*)$\"", "dn.subtree,expand=\"${v1}\""),
        ("attrs=cn val.regex=\"^(.*)$\"", "group.expand=\"cn=${v1}, ou=groups,dc=example,dc=com\""),
        ("attrs=cn val.regex=\"^(x)?\"", "dn.subtree,expand=\"${v1}\""),
        ("attrs=cn val.regex=\"^(x)?\"", "group.expand=\"cn=team${v7},ou=groups,dc=example,dc=com\""),
        ("dn.regex=\"^(.+,)?(uid=[^,]+),(.*)$\"", "dn.exact,expand=\"$1\""),
        ("dn.regex=\"^(.+,)?(uid=[^,]+),(.*)$\"", "dn.one,expand=\"$1\""),
        ("dn.regex=\"^(.+,)?(uid=[^,]+),(.*)$\"", "dn.subtree,expand=\"$4\""),
        ("dn.regex=\"^(.+,)?(uid=[^,]+),(.*)$\"", "dn.children,expand=\"${99}\""),
        ("dn.regex=\"^(.+,)?(uid=[^,]+),(.*)$\"", "dn.one,expand=\"$1$3\""),
        ("dn.regex=\"^(.+,)?(uid=[^,]+),(.*)$\"", "dn.regex=\"^uid=[^,]+,$1$3\""),
        ("dn.regex=\"^(.+,)?(uid=[^,]+),(.*)$\"", "dn.regex=\"^uid=[^,]+,$4\""),
        ("dn.subtree=\"ou=people,dc=example,dc=com\"", "dn.one,expand=\"$1\""),
        ("dn.subtree=\"ou=people,dc=example,dc=com\"", "dn.regex=\"^$0$$\""),
        ("dn.exact=\"uid=bob,ou=people,dc=example,dc=com\"", "dn.exact,expand=\"$0\""),
        ("*", "dn.exact,expand=\"$0\""),
    ] {
        let rules = format!("access to {what}\n    by {who} write\n    by * read\n");
        slapd.configure("", &(rules.clone() + END));
        let mut world = World::new(&rules);
        world.from("192.0.2.1:5000", 32);
        let asked = [
            "cn:alice",
            "cn:Alice",
            "cn: ALICE",
            "cn:x,alice",
            "cn:UID=Alice; ou=People, dc=example,dc=com",
            "cn:Team",
            "cn",
        ];
        for who in ["", ALICE, BOB] {
            for (asked, theirs) in asked.iter().zip(ask(&slapd.conf, who, BOB, &asked)) {
                assert_eq!(world.granted(who, BOB, asked), theirs, "{asked} for {who:?}\n{rules}");
            }
        }
    }
}

/// A character that has to be escaped in a value is none that an expression takes for a separator.
#[test]
fn expressions_see_names_as_in_openldap() {
    let slapd = Slapd::new();
    for (what, who) in [
        (
            "dn.regex=\"^uid=([^,]+),ou=people,dc=example,dc=com$\"",
            "dn.exact,expand=\"uid=$1,ou=people,dc=example,dc=com\"",
        ),
        ("dn.regex=\"^uid=[^,+=]+,ou=people,dc=example,dc=com$\"", "users"),
        ("dn.regex=\"^uid=d.2c e.2Bf.3dg,\"", "users"),
        ("dn.regex=\"e[+]f\"", "users"),
        ("dn.exact=\"uid=d\\\\2C e\\\\2Bf=g,ou=people,dc=example,dc=com\"", "dn.exact,expand=\"$0\""),
        ("*", "dn.regex=\"^uid=[^,]+,ou=people,dc=example,dc=com$\""),
    ] {
        let rules = format!("access to {what}\n    by {who} write\n    by * read\n");
        slapd.configure("", &(rules.clone() + END));
        let world = World::new(&rules);
        for (who, entry) in [(ALICE, ALICE), (ALICE, ESCAPED), (ESCAPED, ESCAPED), (ESCAPED, ALICE), ("", ESCAPED)] {
            assert_eq!(
                [world.granted(who, entry, "cn")][..],
                ask(&slapd.conf, who, entry, &["cn"]),
                "{who} {entry}\n{rules}"
            );
        }
    }
}

/// What is refused here because nothing can stand in a place is about nobody in OpenLDAP.
#[test]
fn clauses_with_places_for_nothing_are_about_nobody_in_openldap() {
    let slapd = Slapd::new();
    for what in ["*", "attrs=cn", "dn.base=\"uid=bob,ou=people,dc=example,dc=com\""] {
        for place in ["$1", "${d150}", "${v1}"] {
            let who = [
                format!("dn.subtree,expand=\"{place}\""),
                format!("dn.regex=\"^uid=.*{place}\""),
                format!("group.expand=\"cn=team{place},ou=groups,dc=example,dc=com\""),
            ];
            for who in who {
                let rules = format!("access to {what}\n    by {who} write\n    by * read\n");
                let error = Rules::parse("rules", &rules, &[], &SCHEMA).map(drop).expect_err(&rules);
                let problem = format!(
                    "line 2, column 8: nothing can stand for {}: ",
                    place.replace("$1", "${1}").replace("{d", "{")
                );
                assert!(error.to_string().contains(&problem), "{error}");
                slapd.configure("", &(rules.clone() + END));
                assert_eq!(ask(&slapd.conf, ALICE, BOB, &["cn"]), [Privileges::of(Level::Read)], "{rules}");
            }
        }
    }
}

/// As many as usual, or as `DURAMEN_CASES` says.
pub fn cases() -> u32 {
    std::env::var("DURAMEN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}
