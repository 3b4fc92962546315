//! The rules' text: what is taken, and what is said about the rest.

use super::super::Rules;
use super::super::level::{Level, Privileges};
use super::super::template::{Parts, Template};
use super::world::SCHEMA;

fn error(text: &str) -> String {
    Rules::parse("duramend.toml", text, &[], &SCHEMA).map(|_| ()).expect_err(text).to_string()
}

#[test]
fn openldaps_own_ways_to_write_rules_are_taken() {
    for text in [
        "access to * by * read",
        "to * by self write by * none",
        "olcAccess: {0}to attrs=userPassword by self write\nolcAccess: {1}to * by * read",
        "{0}to * by * read\n{1}to * by * none",
        "# a comment\n  # another\naccess to dn.exact=\"\" by * read # not a comment",
        "access to dn=\"*\" attr=cn,SN,2.5.4.20 by dn=\"*\" =rscxd by realanonymous +0 break",
        "ACCESS TO attrs=entry,children,@person,!account BY USERS READ STOP",
        "access to * by dn.regex=\"^uid=[^,]+, dc=com$$\" write by dn=\"\" read by users",
        "access to *\n\tby dn.one=\"ou=x,dc=y\" by dn.level{2}=\"dc=y\" selfread continue",
        "access to attrs=userCertificate;binary,sn by * read",
        "access to attrs=member val/distinguishedNameMatch=\"cn=x\" by group.expand=\"$0\" write",
    ] {
        let parsed = Rules::parse("rules", text, &[], &SCHEMA);
        if text.ends_with("not a comment") {
            assert!(parsed.is_err());
        } else {
            parsed.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// As `slapcat -n 0` writes them: folded in the middle of words, in base64 where a value has line ends, among others.
#[test]
fn rules_are_taken_out_of_an_entry_of_slapds_configuration() {
    let folded = "dn: olcDatabase={1}mdb,cn=config\n\
        olcSuffix: dc=example,dc=com\n\
        olcAccess: {0}to attrs=userPassword by self write by anonymous auth by dn.base\n \
        =\"cn=x,dc=example,dc=com\" read by * none\n\
        olcAccess:: ezF9dG8gKgogIGJ5IHVzZXJzIHJlYWQKCWJ5ICogbm9uZQ==\n\
        olcRootDN: cn=admin,dc=\n example\n\
        olcAccess: {2}to *\n by self write\n  by * read\n";
    let rules = Rules::parse("rules", folded, &[], &SCHEMA).unwrap();
    let clauses: Vec<Vec<&str>> =
        rules.rules.iter().map(|rule| rule.clauses.iter().map(|clause| &*clause.text).collect()).collect();
    let expected = [
        &["by self write", "by anonymous auth", "by dn.base=\"cn=x,dc=example,dc=com\" read", "by * none"][..],
        &["by users read", "by * none"],
        &["by self write", "by * read"],
    ];
    assert_eq!(clauses, expected);
    let wrong = folded.replace("by * read", "by * raed");
    assert!(error(&wrong).starts_with("duramend.toml, line 8, column "), "{}", error(&wrong));
    assert!(error("olcAccess:: !").contains("line 1, column 1"));
}

/// A whole `slapcat -n 0`: the frontend's rules stand first, and hold last.
const WHOLE: &str = "\
dn: olcDatabase={-1}frontend,cn=config
olcDatabase: {-1}frontend
olcAccess: {0}to * by * read

dn: olcDatabase={0}config,cn=config
olcDatabase: {0}config
olcAccess: {0}to * by * manage

dn: olcDatabase={1}mdb,cn=config
olcDatabase: {1}mdb
olcSuffix: DC=Example, dc=com
olcAccess: {1}to * by users read by * break
olcAccess: {0}to attrs=userPassword by self write by * none

dn:: b2xjRGF0YWJhc2U9ezJ9bWRiLGNuPWNvbmZpZw==
olcSuffix: dc=example,dc=org
olcSuffix: dc=example,dc=net

";

#[test]
fn of_several_databases_rules_the_one_with_the_suffix_and_the_frontend_hold() {
    let parse = |suffixes: &[&str]| {
        let suffixes: Vec<String> = suffixes.iter().map(|suffix| (*suffix).to_owned()).collect();
        Rules::parse("whole.ldif", WHOLE, &suffixes, &SCHEMA)
    };
    let taken = |suffixes| {
        let rules = parse(suffixes).unwrap_or_else(|error| panic!("{error}"));
        (rules.rules.iter().map(|rule| rule.place.line).collect::<Vec<_>>(), rules.origins().stored.join(" "))
    };
    let frontend = "olcDatabase={-1}frontend,cn=config";
    assert_eq!(taken(&["dc=example,dc=com"]), (vec![13, 12, 3], format!("olcDatabase={{1}}mdb,cn=config {frontend}")));
    let without_own = (vec![3], frontend.to_owned());
    assert_eq!(taken(&["dc=example,dc=org", "dc=example,dc=net"]), without_own);
    for (suffixes, problem) in [
        (&[][..], "the suffix is not known: name it in the configuration"),
        (&["dc=other"], "none of these has olcSuffix dc=other"),
        (&["dc=a,dc=example,dc=com"], "none of these has olcSuffix dc=a,dc=example,dc=com"),
        (&["dc=example,dc=org", "dc=other"], "none of these has olcSuffix dc=other"),
        (
            &["dc=example,dc=com", "dc=example,dc=net"],
            "olcDatabase={1}mdb,cn=config and olcDatabase={2}mdb,cn=config both",
        ),
        (&["dc=com", "dc=example,dc=com"], "none of these has olcSuffix dc=com"),
    ] {
        let error = parse(suffixes).map(drop).expect_err(problem).to_string();
        assert!(error.starts_with("whole.ldif, line 1, column 1: ") && error.contains(problem), "{error}");
    }
    let suffixes = ["dc=example,dc=org".to_owned(), "dc=example,dc=net".to_owned()];
    for (was, is, problem) in [
        ("olcAccess: {0}to * by * read\n", "", "olcDatabase={2}mdb,cn=config has no rules"),
        ("dn: olcDatabase={-1}frontend,cn=config\n", "", "whose rules stand in front of the first entry is not known"),
    ] {
        let error = Rules::parse("rules", &WHOLE.replace(was, is), &suffixes, &SCHEMA).map(drop).expect_err(problem);
        assert!(error.problem.contains(problem), "{error}");
    }
}

/// Where another database has what is below, its rules may hide what those of the one above show.
#[test]
fn a_database_below_another_keeps_rules_from_being_chosen() {
    let below = WHOLE.replace("olcSuffix: dc=example,dc=org", "olcSuffix: ou=secret,dc=example,dc=com");
    let error = Rules::parse("rules", &below, &["dc=example,dc=com".to_owned()], &SCHEMA).map(drop).unwrap_err();
    assert!(error.problem.contains("both have what is served"), "{error}");
}

/// `X-ORDERED 'VALUES'`: slapadd sorts values by their numbers, and takes none of which only some have one.
#[test]
fn rules_with_numbers_hold_in_the_order_of_these() {
    let order = |text: &str| {
        let rules = Rules::parse("rules", text, &[], &SCHEMA).unwrap_or_else(|error| panic!("{error}"));
        rules.rules.iter().map(|rule| rule.place.line).collect::<Vec<_>>()
    };
    assert_eq!(order("olcAccess: {10}to * by * read\nolcAccess: {9}to attrs=userPassword by * none"), [2, 1]);
    assert_eq!(order("{1}to * by * read\n{0}to attrs=cn by * none\n{1}to attrs=sn by * none"), [2, 1, 3]);
    assert_eq!(order("to * by * read\nto attrs=cn by * none"), [1, 2]);
    for mixed in ["{0}to * by * read\nto * by * none", "to * by * read\n{0}to * by * none"] {
        let error = error(mixed);
        assert!(error.contains("line 2, column 1: some rules have a number"), "{error}");
    }
}

#[test]
fn an_error_names_line_column_and_cure() {
    for (text, expected) in [
        ("acess to *", "line 1, column 1: expected 'access to' and what the rule is about, not 'acess'"),
        ("access", "line 1, column 1: expected 'to' and what the rule is about behind 'access'"),
        ("access to by * read", "line 1, column 1: the rule does not say what it is about: write '*' for everything"),
        (
            "access to *\n",
            "line 1, column 1: 'access to *' grants nothing to anybody: write 'by', who, and a level behind it",
        ),
        ("access to * by", "line 1, column 13: 'by' has nobody behind it: write '*' for everybody"),
        (
            "access to *\n  by read",
            "line 2, column 6: 'read' is nobody: expected *, anonymous, users, self, dn=, dnattr=, group=, set=, peername= or ssf=, some with a style",
        ),
        (
            "access to * by users raed",
            "line 1, column 22: 'raed' is neither somebody nor a level: expected none, disclose, auth, compare, search, read, add, delete, write or manage, or letters of dxcsrazwm behind =, + or -; for whom, expected *, anonymous, users, self, dn=, dnattr=, group=, set=, peername= or ssf=, some with a style",
        ),
        ("access to * by users read now", "line 1, column 27: 'now' is no control: expected stop, continue or break"),
        (
            "access to * by users read stop it",
            "line 1, column 32: expected 'by' or another rule, 'access to', not 'it'",
        ),
        (
            "access to attrs=foo by * read",
            "line 1, column 11: the schema has no attribute type 'foo': correct it, or load the schema that has it",
        ),
        (
            "access to attrs=@foo by * read",
            "line 1, column 11: the schema has no object class 'foo': correct it, or load the schema that has it",
        ),
        (
            "access to attrs=cn;lang-de by * read",
            "line 1, column 11: 'cn;lang-de': rules are about all values of an attribute: leave out ';lang-de'",
        ),
        ("access to * by aci write", "line 1, column 16: 'aci' is not supported: expected "),
        ("access to dn.sub=\"dc=a,b\" by * read", "line 1, column 11: 'dc=a,b' is not a name: at byte 6: expected '='"),
        ("access to dn.regex=\"(\" by * read", "line 1, column 11: '(' is not a regular expression: unclosed group"),
        (
            "access to dn.regex=\"uid=[[:letter:]]+,dc=example\" by * read",
            "line 1, column 11: 'uid=[[:letter:]]+,dc=example' is not a regular expression: there is no class '[:letter:]'",
        ),
        (
            "access to attrs=cn val.regex=\"\\\\d\" by * read",
            "line 1, column 20: '\\d' is not a regular expression: '\\d' is not supported: write 'd', or [[:digit:]]",
        ),
        (
            "access to \"dn.regex=x by * read",
            "line 1, column 11: this quote is never closed: put another '\"' behind it",
        ),
        (
            "access to filter=(cn=) attrs=cn,sn val=x by * read",
            "line 1, column 36: a value needs the one attribute that it is of: write attrs=NAME in front of it",
        ),
        ("access to filter=((cn=x) by * read", "line 1, column 11: the filter: at byte 1: expected "),
        ("access to filter=(foo=x) by * read", "line 1, column 11: the schema has no attribute type 'foo'"),
        ("access to * by domain=example.com read", "line 1, column 16: 'domain' is not supported: expected "),
        ("access to * by peername.ip=10 read", "line 1, column 16: '10' is not an address: expected 10.1.2.3, "),
        (
            "access to * by group/person=cn=x read",
            "line 1, column 16: the class person does not allow member: name one that groups of this class have",
        ),
        ("access to * by dnattr=cn read", "line 1, column 16: values of cn are not names, which 'dnattr' needs"),
        (
            "access to * by ssf=high read",
            "line 1, column 16: 'high' is no strength: expected a number of bits, such as 128",
        ),
        (
            "access to *\n  by dn.subtree,expand=\"$1\" write",
            "line 2, column 6: nothing can stand for ${1}: what the rule is about has no dn.regex= with a group in parentheses for it",
        ),
        ("access to dn.exact=dc=x by dn.regex=\"^$1\" read", "line 1, column 28: nothing can stand for ${1}: "),
        ("access to dn.one=dc=x by dn.one,expand=\"$2\" read", "line 1, column 26: nothing can stand for ${2}: "),
        (
            "access to attrs=sn val=x by users group.expand=\"cn=${v1}\" read",
            "line 1, column 35: nothing can stand for ${v1}: what the rule is about has no val.regex= with a group",
        ),
        ("access to * attrs=cn attrs=sn by * read", "line 1, column 22: 'attrs' stands here twice"),
    ] {
        let error = error(text);
        let found = error.strip_prefix("duramend.toml, ").unwrap();
        assert!(found.starts_with(expected), "{text}\n  {found}\n  {expected}");
    }
}

#[test]
fn privileges_are_levels_and_letters() {
    assert_eq!(Privileges::of(Level::Write).to_string(), "write (=wrscxd)");
    assert_eq!(Privileges::of(Level::Add).to_string(), "add (=arscxd)");
    for letters in ["zr", "wx", "wrscx"] {
        assert_eq!(Privileges::from_letters(letters).unwrap().to_string(), format!("={letters}"), "it is no level");
    }
    assert_eq!(Privileges::NONE.to_string(), "none (=0)");
    assert_eq!(Privileges::from_letters("q"), None);
    for level in [Level::Disclose, Level::Auth, Level::Compare, Level::Search, Level::Read, Level::Write, Level::Manage]
    {
        assert_eq!(Level::find(level.name()), Some(level));
        assert!(Privileges::of(level).allow(level) && Privileges::ALL.allow(level) && !Privileges::NONE.allow(level));
    }
    assert!(!Privileges::of(Level::Add).allow(Level::Write) && !Privileges::of(Level::Add).allow(Level::Delete));
    assert!(Privileges::NONE.allow(Level::None));
}

#[test]
fn dollar_signs_are_places_for_parts() {
    let parts = Parts { name: vec!["all".into(), "one".into()], value: vec!["v".into(), "w".into()] };
    for (text, expanded) in [
        ("$0-$1", "all-one"),
        ("${1}${d0}${v1}", "oneallw"),
        ("$9|", "|"),
        ("a$$1$", "a$1$"),
        ("${x}$", "${x}$"),
        ("ü$1ü", "üoneü"),
    ] {
        assert_eq!(Template::parse(text).expand(&parts, str::to_owned), expanded, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_parsing_panic(words in proptest::collection::vec(proptest::sample::select(vec![
        "access", "to", "by", "*", "self", "users", "dn.regex=", "dn.exact,expand=$1", "\"", "\\", "{0}to", "attrs=cn",
        "val=", "filter=(", "=w", "+", "-x", "selfwrite", "self", "group/", "group//=x", "peername.ip={", "ssf=", "stop",
        "$", "ü", "\n", "#", "dn.level{", "dn.level{1}=dc=x", "self.level{-1}", "olcAccess:", "attrs=@", "attrs=,",
    ]), 0..12), joint in proptest::sample::select(vec!["", " "])) {
        let _ = Rules::parse("rules", &words.join(joint), &[], &SCHEMA);
    }
}

#[test]
fn rules_say_whether_they_are_asked_about_what_is_in_a_new_entry() {
    let asked =
        |text: &str| Rules::parse("x", text, &["dc=example,dc=com".to_owned()], &SCHEMA).unwrap().are_of_content();
    assert!(
        asked("add_content_acl on\naccess to * by * read") && asked("access to * by * read\nADD_CONTENT_ACL\tyes\n")
    );
    for text in ["access to * by * read", "add_content_acl off\naccess to * by * read", WHOLE] {
        assert!(!asked(text), "{text}");
    }
    let [own, other] = ["olcSuffix: DC=Example, dc=com\n", "olcSuffix: dc=example,dc=net\n"];
    assert!(asked(&WHOLE.replace(own, &format!("{own}olcAddContentAcl: TRUE\n"))));
    assert!(!asked(&WHOLE.replace(other, &format!("{other}olcAddContentAcl: TRUE\n"))), "another database's");
    assert!(asked("olcAccess: {0}to * by * read\nolcAddContentAcl: TRUE\n"));
    assert!(!asked("olcAddContentAcl: FALSE\nolcAccess: {0}to * by * read\n"));
    assert!(error("add_content_acl perhaps\n").contains("line 1, column 17: expected 'on' or 'off'"));
    assert!(error("add_content_acl").contains("line 1, column 1: expected 'on' or 'off'"));
}
