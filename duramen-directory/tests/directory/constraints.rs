//! Constraints on values beyond the schema (OpenLDAP's overlay `constraint`).

use duramen_directory::{Config, Constraint, Demand, Directory, ImportOptions, Method, Peer, Requester, SchemaFile};
use duramen_ldap::message::ChangeKind::{Add, Delete, Increment, Replace};
use duramen_ldap::message::ResultCode;
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";
const GROUPS: &str = "ou=Groups,dc=example,dc=com";

fn constraint(attributes: &[&str], demand: Demand) -> Constraint {
    Constraint { attributes: attributes.iter().map(|name| name.to_string()).collect(), demand, restrict: None }
}

fn restricted(attributes: &[&str], demand: Demand, url: &str) -> Constraint {
    Constraint { restrict: Some(url.into()), ..constraint(attributes, demand) }
}

fn config(constraints: Vec<Constraint>) -> Config {
    Config { constraints, ..Config::default() }
}

/// People whose values may be there from before: the constraints hold from now on.
fn people(constraints: Vec<Constraint>) -> Sample {
    let sample = Sample::people();
    sample.directory.reconfigure(config(constraints)).unwrap();
    sample
}

fn matches(expression: &str) -> Demand {
    Demand::Matches(expression.into())
}

/// That an update is refused by a constraint, with these words.
fn refused(result: duramen_directory::Result<duramen_directory::Updated>, told: &[&str]) {
    let failure = result.unwrap_err();
    assert_eq!(failure.code, ResultCode::CONSTRAINT_VIOLATION, "{failure}");
    told.iter().for_each(|words| assert!(failure.diagnostic.contains(words), "{words}: {failure}"));
}

fn add_person(
    sample: &Sample,
    rdn: &str,
    more: &[(&str, Vec<&[u8]>)],
) -> duramen_directory::Result<duramen_directory::Updated> {
    let mut attributes = vec![("objectClass", vec![&b"inetOrgPerson"[..]]), ("cn", vec![b"x"]), ("sn", vec![b"x"])];
    attributes.extend(more.iter().cloned());
    sample.add(&format!("{rdn},ou=People,dc=example,dc=com"), &attributes)
}

#[test]
fn values_match_an_expression_or_do_not() {
    let sample = people(vec![
        constraint(&["mail"], matches(r"^[[:alnum:].]+@example\.com$")),
        constraint(&["mail", "description"], Demand::MatchesNot("root".into())),
    ]);
    refused(
        sample.modify(SMITH, &[(Add, "mail", &["a@example.com", "b@example.org"])]),
        &["mail, value 2", "match '^["],
    );
    refused(
        sample.modify(SMITH, &[(Replace, "mail", &["root@example.com"])]),
        &["mail, value 1", "must not match 'root'"],
    );
    refused(sample.modify(SMITH, &[(Add, "description", &["a root of it"])]), &["description"]);
    refused(add_person(&sample, "uid=new", &[("mail", vec![b"A@EXAMPLE.COM"])]), &["mail, value 1"]);
    sample.modify(SMITH, &[(Add, "mail", &["a@example.com"]), (Add, "description", &["Root"])]).unwrap();
    add_person(&sample, "uid=new", &[("mail", vec![b"A.B@example.com"])]).unwrap();
}

#[test]
fn what_is_no_text_passes_no_expression_by() {
    let sample = people(vec![
        constraint(&["userPassword"], Demand::MatchesNot("^.*secret".into())),
        constraint(&["jpegPhoto"], Demand::SizeMax(4)),
    ]);
    let change = |attribute, value: &[u8]| sample.change(SMITH, Replace, attribute, &[value]);
    refused(change("userPassword", b"\xff\n\xfe secret"), &["userPassword, value 1"]);
    change("userPassword", b"\xff other").unwrap();
    refused(change("jpegPhoto", b"\xff\xd8\xff\xe0\0"), &["has 5 bytes, and 4 are allowed"]);
    change("jpegPhoto", b"\xff\xd8\xff\xe0").unwrap();
}

#[test]
fn so_many_values_and_no_more() {
    let sample = people(vec![
        constraint(&["mail", "telephoneNumber"], Demand::CountMax(2)),
        constraint(&["title"], Demand::CountMax(0)),
    ]);
    let three: &[&str] = &["a@example.com", "b@example.com", "c@example.com"];
    refused(sample.modify(SMITH, &[(Replace, "mail", three)]), &["mail: it would have 3 values, and 2 are allowed"]);
    refused(sample.modify(SMITH, &[(Add, "title", &["Herr"])]), &["title: it would have 1 values, and 0"]);
    // Each attribute by itself, and what counts is how many there are in the end.
    sample.modify(SMITH, &[(Add, "mail", &three[..2]), (Add, "telephoneNumber", &["1", "2"])]).unwrap();
    refused(sample.modify(SMITH, &[(Add, "mail", &three[2..])]), &["mail"]);
    sample.modify(SMITH, &[(Delete, "mail", &three[..1]), (Add, "mail", &three[2..])]).unwrap();
    sample.modify(SMITH, &[(Add, "mail", three), (Delete, "mail", &three[1..])]).unwrap_err();
    sample.modify(SMITH, &[(Replace, "mail", three), (Delete, "mail", &three[1..])]).unwrap();
    refused(add_person(&sample, "uid=new", &[("telephoneNumber", vec![b"1", b"2", b"3"])]), &["telephoneNumber"]);
}

#[test]
fn values_that_are_kept_apart_are_counted() {
    let sample = people(vec![constraint(&["member"], Demand::CountMax(400))]);
    let names: Vec<String> = (0..401).map(|n| format!("cn={n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let admins = format!("cn=admins,{GROUPS}");
    sample.modify(&admins, &[(Replace, "member", &names[..400])]).unwrap();
    refused(sample.modify(&admins, &[(Add, "member", &names[400..])]), &["401 values, and 400"]);
    sample.modify(&admins, &[(Delete, "member", &names[..1]), (Add, "member", &names[400..])]).unwrap();
    refused(sample.modify(&admins, &[(Replace, "member", &names)]), &["401 values"]);
}

#[test]
fn values_are_found_by_a_search() {
    let listed = Demand::Listed("ldap:///ou=Groups,dc=example,dc=com?cn,description?one?(objectClass=device)".into());
    let sample = people(vec![constraint(&["title"], listed)]);
    let title = |value: &str| sample.modify(SMITH, &[(Replace, "title", &[value])]);
    refused(title("Chief"), &["title, value 1: it is none that can be found by ldap:///ou=Groups,"]);
    let device = |rdn: &str, cn: &'static [u8], more: &'static [u8]| {
        let attributes = [("objectClass", vec![&b"device"[..]]), ("cn", vec![cn]), ("description", vec![more])];
        sample.add(rdn, &attributes).unwrap();
    };
    device(&format!("cn=Chief,{GROUPS}"), b"Chief", b"Boss (of all)*");
    device(&format!("cn=Below,cn=Chief,{GROUPS}"), b"Below", b"x");
    // By the rules of what is searched for, and nothing in a value is part of the filter.
    ["chief", "Boss (of all)*"].into_iter().for_each(|value| drop(title(value).unwrap()));
    ["Boss*", "*", "Below", "admins", "Chief)(cn=*"].into_iter().for_each(|value| refused(title(value), &["title"]));
    refused(add_person(&sample, "uid=new", &[("title", vec![b"Nobody"])]), &["title"]);
    add_person(&sample, "uid=new", &[("title", vec![b"CHIEF"])]).unwrap();
    sample.delete(&format!("cn=Below,cn=Chief,{GROUPS}"), &[]).unwrap();
    sample.delete(&format!("cn=Chief,{GROUPS}"), &[]).unwrap();
    refused(title("Chief"), &["title"]);
    // What is there stays, and may be said again by nobody.
    sample.modify(SMITH, &[(Add, "description", &["x"])]).unwrap();
}

#[test]
fn a_value_is_found_with_an_index_and_without_in_each_scope() {
    for attribute in ["cn", "description"] {
        let url = |scope: &str| format!("ldap:///cn=top,dc=example,dc=com?{attribute}?{scope}");
        let sample = Sample::people();
        let add = |name: &str, value: &str| {
            let mut attributes = vec![("objectClass", vec![&b"device"[..]]), (attribute, vec![value.as_bytes()])];
            if attribute != "cn" {
                attributes.push(("cn", vec![b"x"]));
            }
            sample.add(name, &attributes).unwrap();
        };
        add("cn=top,dc=example,dc=com", "top");
        add("cn=one,cn=top,dc=example,dc=com", "one");
        add("cn=two,cn=one,cn=top,dc=example,dc=com", "two");
        add("cn=beside,dc=example,dc=com", "beside");
        for (scope, found) in
            [("base", "top"), ("one", "one"), ("sub", "top one two"), ("subordinate", "one two"), ("", "top")]
        {
            let listed = Demand::Listed(url(scope));
            sample.directory.reconfigure(config(vec![constraint(&["title"], listed)])).unwrap();
            for value in ["top", "one", "two", "beside"] {
                let code = ended(sample.modify(SMITH, &[(Replace, "title", &[value])]));
                let is_found = found.split(' ').any(|found| found == value);
                assert_eq!(code == ResultCode::SUCCESS, is_found, "{attribute} {scope:?} {value} {code}");
            }
        }
    }
}

#[test]
fn who_may_not_search_for_a_value_does_not_have_it() {
    let text = "access to dn.subtree=\"ou=Groups,dc=example,dc=com\" by dn.exact=\"cn=reader,dc=example,dc=com\" search\n\
        access to * by * write";
    let listed = Demand::Listed("ldap:///ou=Groups,dc=example,dc=com?cn?sub".into());
    let sample = Sample::people();
    let access = Some(SchemaFile { name: "rules".into(), text: text.into() });
    sample.directory.reconfigure(Config { access, ..config(vec![constraint(&["title"], listed)]) }).unwrap();
    let title = |who: &str| {
        let name = sample.directory.name(&format!("cn={who},dc=example,dc=com")).unwrap();
        let peer = std::sync::Arc::new(Peer::Internal);
        let requester = Requester { name, method: Method::Password, ..Requester::anonymous(peer, 0) };
        ended(sample.modify_as(&requester, SMITH, &[(Replace, "title", &["admins"])], &[]))
    };
    assert_eq!((title("other"), title("reader")), (ResultCode::CONSTRAINT_VIOLATION, ResultCode::SUCCESS));
}

#[test]
fn what_was_there_before_is_not_judged() {
    let sample = people(vec![
        constraint(&["cn", "uid"], matches("^[A-Z]")),
        constraint(&["objectClass"], Demand::CountMax(1)),
        constraint(&["givenName"], Demand::SizeMax(2)),
    ]);
    // Of an attribute that is not named, whose values are deleted, or whose name goes on as it was.
    sample.modify(SMITH, &[(Add, "title", &["Herr"]), (Add, "cn", &["Jack"]), (Add, "givenName", &["Jo"])]).unwrap();
    sample.rename(SMITH, "uid=jsmith", true, Some(GROUPS)).unwrap();
    let smith = format!("uid=jsmith,{GROUPS}");
    sample.modify(&smith, &[(Delete, "givenName", &["Jo"])]).unwrap();
    refused(sample.modify(&smith, &[(Replace, "givenName", &["John"])]), &["givenName, value 1"]);
    refused(sample.modify(&smith, &[(Add, "objectClass", &["extensibleObject"])]), &["objectClass"]);
    sample
        .modify(
            &smith,
            &[
                (Delete, "objectClass", &["posixAccount"]),
                (Delete, "uidNumber", &[]),
                (Delete, "gidNumber", &[]),
                (Delete, "homeDirectory", &[]),
            ],
        )
        .unwrap();
    refused(sample.rename(&smith, "uid=jack", true, None), &["uid, value 1"]);
    sample.rename(&smith, "uid=Jack", true, None).unwrap();
}

#[test]
fn names_and_what_an_increment_makes_are_judged() {
    let sample = people(vec![
        constraint(&["uid"], matches("^[a-z]+$")),
        constraint(&["uidNumber"], matches("^1...$")),
        constraint(&["uid"], Demand::CountMax(1)),
    ]);
    // The value of the name is not among those that are sent.
    refused(add_person(&sample, "uid=r2d2", &[]), &["uid, value 1"]);
    add_person(&sample, "uid=artoo", &[]).unwrap();
    refused(sample.rename(SMITH, "uid=john", false, None), &["uid: it would have 2 values"]);
    sample.modify(SMITH, &[(Increment, "uidNumber", &["999"])]).unwrap();
    refused(sample.modify(SMITH, &[(Increment, "uidNumber", &["1"])]), &["uidNumber, value 1"]);
}

#[test]
fn options_make_another_attribute() {
    let sample = people(vec![constraint(&["cn", "sn;lang-de"], Demand::SizeMax(3))]);
    refused(sample.modify(SMITH, &[(Add, "cn", &["John"])]), &["cn, value 1"]);
    refused(sample.modify(SMITH, &[(Add, "sn;LANG-de", &["Schmidt"])]), &["sn;LANG-de, value 1"]);
    sample.modify(SMITH, &[(Add, "cn;lang-de", &["Johann"]), (Add, "sn", &["Schmidt"])]).unwrap();
}

#[test]
fn a_restriction_is_about_the_entry_as_it_was_or_as_it_is_added() {
    let filter = "(|(employeeType=guest)(memberOf=cn=admins,ou=Groups,dc=example,dc=com))";
    let sample = people(vec![
        restricted(&["title"], matches("^x"), &format!("ldap:///??base?{filter}")),
        restricted(&["sn"], matches("^x"), "ldap:///ou=People,dc=example,dc=com??one"),
        restricted(&["givenName"], matches("^x"), "ldap:///ou=People,dc=example,dc=com"),
    ]);
    let title = |name: &str, value: &str| sample.modify(name, &[(Replace, "title", &[value])]);
    refused(title(JENSEN, "Frau"), &["title"]);
    title(SMITH, "Herr").unwrap();
    sample.modify(SMITH, &[(Add, "employeeType", &["guest"]), (Replace, "title", &["Mister"])]).unwrap();
    refused(title(SMITH, "Herr"), &["title"]);
    refused(sample.modify(SMITH, &[(Delete, "employeeType", &[]), (Replace, "title", &["Herr"])]), &["title"]);
    refused(sample.modify(SMITH, &[(Add, "sn", &["y"])]), &["sn"]);
    sample.modify(SMITH, &[(Add, "givenName", &["y"])]).unwrap();
    let guest = |title: &'static [u8]| {
        add_person(&sample, "uid=new", &[("employeeType", vec![b"guest"]), ("title", vec![title])])
    };
    refused(guest(b"Herr"), &["title"]);
    guest(b"x").unwrap();
    let classes = ("objectClass", vec![&b"inetOrgPerson"[..]]);
    let other = [classes, ("cn", vec![b"y"]), ("sn", vec![b"y"])];
    refused(sample.add("uid=other,ou=People,dc=example,dc=com", &other), &["sn, value 1"]);
    sample.add("uid=other,ou=Groups,dc=example,dc=com", &other).unwrap();
    // Where it comes from counts, not where it goes.
    sample.rename(SMITH, "uid=jsmith", true, Some(GROUPS)).unwrap();
    sample.modify(&format!("uid=jsmith,{GROUPS}"), &[(Add, "sn", &["z"])]).unwrap();
}

#[test]
fn the_relax_control_of_the_administrator_lets_values_pass() {
    let sample = people(vec![constraint(&["title"], matches("^x"))]);
    let (relax, manage) = ([control(oid::RELAX)], [control(oid::MANAGE_DSA_IT)]);
    let change = |controls: &[_]| {
        ended(sample.modify_as(&Requester::internal(), SMITH, &[(Replace, "title", &["Herr"])], controls))
    };
    assert_eq!(change(&manage), ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!((change(&relax), change(&relax)), (ResultCode::SUCCESS, ResultCode::SUCCESS));
}

#[test]
fn values_that_follow_what_they_name_are_not_judged() {
    let references = vec!["member".to_string()];
    let sample = Sample::people();
    let constraints = vec![constraint(&["member"], matches("uid=bjensen"))];
    sample.directory.reconfigure(Config { references, ..config(constraints) }).unwrap();
    sample.rename(JENSEN, "uid=babs", true, None).unwrap();
    let admins = sample.read(&format!("cn=admins,{GROUPS}"), &["member"]);
    assert_eq!(admins.values("member"), ["uid=babs,ou=People,dc=example,dc=com"]);
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn imports_do_not_look() {
    let strict = || vec![constraint(&["cn", "ou"], matches("^none$"))];
    let more = "dn: cn=late,dc=example,dc=com\nobjectClass: device\ncn: late\n";
    let sample = Sample::with(config(strict()));
    for text in [PEOPLE, more] {
        let options = ImportOptions::default();
        sample.directory.import("x.ldif", &mut text.as_bytes(), options, &mut |_| true).unwrap();
    }
    assert_eq!(sample.found("(cn=late)").len(), 1);
    refused(sample.modify("cn=late,dc=example,dc=com", &[(Add, "cn", &["later"])]), &["cn"]);
}

#[test]
fn a_constraint_that_makes_no_sense_is_refused_with_what_is_wrong() {
    let listed = |url: &str| Demand::Listed(url.into());
    let size = || Demand::SizeMax(1);
    let below = "ldap:///ou=x,dc=example,dc=com";
    let with = |url: &str| restricted(&["cn"], size(), url);
    for (constraint, told) in [
        (constraint(&["nosuch"], size()), "nosuch: the schema has no such attribute type"),
        (constraint(&["cn", "modifyTimestamp"], size()), "modifyTimestamp: it is operational"),
        (constraint(&["cn;lang-"], size()), "language range"),
        (constraint(&[], size()), "it names no attribute"),
        (constraint(&["cn"], matches("a(")), "regex 'a(' is not a regular expression: unclosed group"),
        (constraint(&["cn"], Demand::MatchesNot("[".into())), "negregex '[' is not a regular expression: a '['"),
        (constraint(&["cn"], listed("http://x")), "uri 'http://x': "),
        (constraint(&["cn"], listed("ldap://host/dc=example,dc=com?cn")), "it names a server"),
        (constraint(&["cn"], listed(below)), "it names no attribute"),
        (constraint(&["cn"], listed("ldap:///?cn?sub")), "it says nowhere to search"),
        (constraint(&["cn"], listed("ldap:///dc=org?cn?sub")), "\"dc=org\" is below none of the suffixes"),
        (constraint(&["cn"], listed(&format!("{below}?nosuch?sub"))), "nosuch: the schema has no such attribute type"),
        (constraint(&["cn"], listed(&format!("{below}?jpegPhoto?sub"))), "jpegPhoto has no rule for equality"),
        (constraint(&["cn"], listed(&format!("{below}?cn?sub?(cn=x"))), "')'"),
        (constraint(&["cn"], listed(&format!("{below}?cn?all"))), "uri '"),
        (with(&format!("{below}?cn")), "it names attributes"),
        (with(&format!("{below}???(nosuch=x)")), "nosuch: the schema has no such attribute type"),
        (with(&format!("{below}???(uidNumber=x)")), "uidNumber: no rule of it takes"),
        (with(&format!("{below}????!x")), "it has an extension"),
        (with("ldap:///ou=x,dc=org"), "is below none of the suffixes"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { suffixes: vec!["dc=example,dc=com".into()], ..config(vec![constraint]) };
        let error = Directory::open(folder.path(), config).unwrap_err().to_string();
        assert!(error.starts_with("constraint of ") && error.contains(told), "{told}: {error}");
    }
}
