//! Content rules, name forms and structure rules (RFC 4512 sections 4.1.6 and 4.1.7), enforced by every kind of write.

use duramen_directory::{Config, Directory, ImportOptions, SchemaFile};
use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
use duramen_ldap::message::ResultCode;
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";

/// A person has a given name and no fax, may have a country, and may be a user of Unix.
const CONTENT: &str = "ditcontentrule ( 2.16.840.1.113730.3.2.2 NAME 'personContent'
    AUX posixAccount MUST givenName MAY c NOT facsimileTelephoneNumber )";

const NAMES: &str = "
nameform ( 1.1.1 NAME 'domainForm' OC domain MUST dc )
nameform ( 1.1.2 NAME 'unitForm' OC organizationalUnit MUST ou )
nameform ( 1.1.3 NAME 'personForm' OC inetOrgPerson MUST uid MAY cn )
nameform ( 1.1.4 NAME 'groupForm' OC groupOfNames MUST cn )
ditstructurerule ( 1 NAME 'domainRule' FORM domainForm )
ditstructurerule ( 2 NAME 'unitRule' FORM unitForm SUP 1 )
ditstructurerule ( 3 NAME 'personRule' FORM personForm SUP 2 )
ditstructurerule ( 4 NAME 'groupRule' FORM groupForm SUP ( 2 4 ) )";

/// [`PEOPLE`] with the given name that the content rule wants of all.
fn people() -> String {
    PEOPLE.replace("sn: Jensen\n", "sn: Jensen\ngivenName: Barbara\n")
}

fn schema(text: &str) -> Config {
    Config { schema: vec![SchemaFile { name: "rules.schema".into(), text: text.into() }], ..Config::default() }
}

fn refused<T: std::fmt::Debug>(result: Result<T, duramen_directory::Failure>, code: ResultCode, words: &[&str]) {
    let failure = result.unwrap_err();
    assert!(failure.code == code && words.iter().all(|word| failure.diagnostic.contains(word)), "{failure}");
}

#[test]
fn content_rules_say_what_entries_of_a_class_have_rfc4512_4_1_6() {
    let sample = Sample::with(schema(CONTENT));
    sample.load(&people());
    let violation = ResultCode::OBJECT_CLASS_VIOLATION;
    let modify = |name: &str, changes: &[(_, &str, &[&str])]| sample.modify(name, changes);
    let rule = "content rule personContent";
    refused(modify(SMITH, &[(Delete, "givenName", &[])]), violation, &[rule, "requires attribute givenName"]);
    let fax = &["+1 2"];
    refused(modify(SMITH, &[(Add, "facsimileTelephoneNumber", fax)]), violation, &[rule, "precludes", "facsimile"]);
    let class = &["extensibleObject"];
    refused(modify(SMITH, &[(Add, "objectClass", class)]), violation, &[rule, "objectClass", "extensibleObject"]);
    modify(SMITH, &[(Add, "c", &["AT"]), (Delete, "uidNumber", &[]), (Add, "uidNumber", &["7"])]).unwrap();
    let named_so = "givenName=Barbara,ou=People,dc=example,dc=com";
    sample.rename(JENSEN, "givenName=Barbara", true, None).unwrap();
    refused(sample.rename(named_so, "cn=B", true, None), violation, &[rule, "requires attribute givenName"]);
    let person: &[(&str, Vec<&[u8]>)] =
        &[("objectClass", vec![b"inetOrgPerson"]), ("cn", vec![b"x"]), ("sn", vec![b"x"])];
    refused(sample.add("uid=x,dc=example,dc=com", person), violation, &[rule, "givenName"]);
    // It is about the structural class itself, not about what is a kind of it or above it.
    let person: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"person"]), ("cn", vec![b"x"]), ("sn", vec![b"x"])];
    sample.add("cn=x,dc=example,dc=com", person).unwrap();
}

/// "MUST name" is fulfilled by `name`, under whatever options, and not by a kind of it; "MAY name" allows as little.
#[test]
fn a_class_requires_and_allows_the_types_that_it_names_and_no_kinds_of_them_rfc4512_2_5_3() {
    let sample = Sample::with(schema(
        "objectclass ( 1.1.9 NAME 'named' SUP top STRUCTURAL MUST name MAY distinguishedName )\n\
         ditcontentrule ( 2.5.6.6 NAME 'personContent' MUST telephoneNumber MAY name )",
    ));
    sample.load(PEOPLE);
    let violation = ResultCode::OBJECT_CLASS_VIOLATION;
    let add =
        |rdn: &str, attributes: &[(&str, Vec<&[u8]>)]| sample.add(&format!("{rdn},dc=example,dc=com"), attributes);
    let class = || ("objectClass", vec![&b"named"[..]]);
    refused(add("cn=a", &[class(), ("cn", vec![b"a"])]), violation, &["requires attribute name"]);
    refused(add("cn=a", &[class(), ("cn", vec![b"a"]), ("name", vec![b"a"])]), violation, &["cn: none of"]);
    add("name=a", &[class(), ("name", vec![b"a"]), ("distinguishedName", vec![b"cn=a"])]).unwrap();
    add("name=b", &[class(), ("name;lang-de", vec![b"b"])]).unwrap();
    let owner: &[(_, &str, &[&str])] = &[(Add, "owner", &["cn=a"])];
    refused(sample.modify("name=a,dc=example,dc=com", owner), violation, &["owner: none of"]);
    refused(sample.rename("name=a,dc=example,dc=com", "l=x", false, None), violation, &["l: none of"]);
    let person = |more: (&'static str, Vec<&'static [u8]>)| {
        add("cn=p", &[("objectClass", vec![b"person"]), ("cn", vec![b"p"]), ("sn", vec![b"p"]), more])
    };
    refused(person(("telexNumber", vec![b"1$2$3"])), violation, &["requires attribute telephoneNumber"]);
    let both = |more: &'static str| {
        let numbers = ("telephoneNumber", vec![&b"1"[..]]);
        add("cn=p", &[("objectClass", vec![b"person"]), ("sn", vec![b"p"]), numbers, (more, vec![b"p"])])
    };
    refused(both("givenName"), violation, &["givenName: none of"]);
    both("name").unwrap();
}

#[test]
fn who_manages_the_directory_may_break_content_rules_with_the_relax_control() {
    let sample = Sample::with(schema(CONTENT));
    sample.load(&people());
    let administrator = duramen_directory::Requester::internal();
    let changes: &[(_, &str, &[&str])] = &[(Replace, "givenName", &[])];
    sample.modify_as(&administrator, SMITH, changes, &[control(oid::RELAX)]).unwrap();
}

#[test]
fn an_obsolete_rule_is_not_in_force_rfc4512_4_1_6() {
    let sample = Sample::with(schema(&CONTENT.replace("AUX", "OBSOLETE AUX")));
    sample.load(PEOPLE);
    sample.modify(SMITH, &[(Delete, "givenName", &[])]).unwrap();
}

#[test]
fn name_forms_say_what_an_rdn_consists_of_rfc4512_4_1_7_2() {
    let forms: String = NAMES.lines().filter(|line| line.starts_with("nameform")).map(|l| format!("{l}\n")).collect();
    let sample = Sample::with(schema(&forms));
    sample.load(PEOPLE);
    let violation = ResultCode::NAMING_VIOLATION;
    let person: &[(&str, Vec<&[u8]>)] =
        &[("objectClass", vec![b"inetOrgPerson"]), ("cn", vec![b"x"]), ("sn", vec![b"x"])];
    let name = "cn=x,ou=People,dc=example,dc=com";
    refused(sample.add(name, person), violation, &["\"cn=x\"", "name form personForm", "inetOrgPerson"]);
    sample.add("cn=x+uid=x,ou=People,dc=example,dc=com", person).unwrap();
    refused(sample.rename(JENSEN, "sn=Jensen", false, None), violation, &["name form personForm"]);
    sample.rename(JENSEN, "uid=babs", false, None).unwrap();
    // A class without a name form is named as one likes.
    let device: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"device"]), ("cn", vec![b"x"])];
    sample.add("serialNumber=1,ou=People,dc=example,dc=com", device).unwrap();
}

#[test]
fn structure_rules_say_what_stands_below_what_rfc4512_4_1_7_1() {
    let sample = Sample::with(schema(NAMES));
    sample.load(PEOPLE);
    let violation = ResultCode::NAMING_VIOLATION;
    let person: &[(&str, Vec<&[u8]>)] =
        &[("objectClass", vec![b"inetOrgPerson"]), ("cn", vec![b"x"]), ("sn", vec![b"x"])];
    refused(sample.add("uid=x,dc=example,dc=com", person), violation, &["structure rule personRule", "\"uid=x\""]);
    refused(sample.rename(SMITH, "uid=jsmith", false, Some(BASE)), violation, &["structure rule personRule"]);
    let device: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"device"]), ("cn", vec![b"x"])];
    refused(sample.add("cn=x,ou=People,dc=example,dc=com", device), violation, &["structure rule unitRule governs"]);
    let group: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"groupOfNames"]), ("member", vec![b"cn=x"])];
    let admins = "cn=admins,ou=Groups,dc=example,dc=com";
    sample.add(&format!("cn=below,{admins}"), group).unwrap();
    sample.rename(admins, "cn=admins", false, Some("ou=People,dc=example,dc=com")).unwrap();
}

#[test]
fn what_is_below_a_moved_entry_has_to_stand_right_too_rfc4512_4_1_7_1() {
    // A unit within a unit is governed by another rule, below which there are no people.
    let rules = format!("{NAMES}\nditstructurerule ( 5 NAME 'innerRule' FORM unitForm SUP 2 )");
    let sample = Sample::with(schema(&rules));
    sample.load(PEOPLE);
    let (people, groups) = ("ou=People,dc=example,dc=com", "ou=Groups,dc=example,dc=com");
    refused(
        sample.rename(people, "ou=People", false, Some(groups)),
        ResultCode::NAMING_VIOLATION,
        &["structure rule personRule", "uid="],
    );
    sample.delete(JENSEN, &[]).unwrap();
    sample.delete(SMITH, &[]).unwrap();
    sample.rename(people, "ou=People", false, Some(groups)).unwrap();
}

#[test]
fn imports_obey_the_same_rules() {
    let import = |rules: &str, ldif: &str| {
        let sample = Sample::with(schema(rules));
        let outcome = sample.directory.import("x.ldif", &mut ldif.as_bytes(), ImportOptions::default(), &mut |_| true);
        outcome.map(|imported| (sample, imported.entries))
    };
    let without = PEOPLE.replace("givenName: John\n", "");
    let error = import(CONTENT, &without).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("x.ldif, line") && error.contains("content rule personContent"), "{error}");
    let misplaced = PEOPLE.replace("uid=jsmith,ou=People,", "uid=jsmith,");
    let error = import(NAMES, &misplaced).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("x.ldif, line") && error.contains("structure rule personRule"), "{error}");
    let dry_run = ImportOptions { dry_run: true, ..ImportOptions::default() };
    let tried = |sample: &Sample, ldif: &str| {
        let outcome = sample.directory.import("y.ldif", &mut ldif.as_bytes(), dry_run, &mut |_| true);
        outcome.map(|imported| imported.entries).map_err(|error| error.to_string())
    };
    let empty = Sample::with(schema(NAMES));
    assert_eq!((tried(&empty, PEOPLE), tried(&empty, &misplaced)), (Ok(6), Err(error.replace("x.ldif", "y.ldif"))));
    let (sample, entries) = import(NAMES, PEOPLE).unwrap();
    assert_eq!(entries, 6);
    // Into a directory that has entries, one by one.
    let more = "dn: uid=x,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: x\nsn: x\n";
    let outcome = sample.directory.import("y.ldif", &mut more.as_bytes(), ImportOptions::default(), &mut |_| true);
    let error = outcome.unwrap_err().to_string();
    assert_eq!(tried(&sample, more), Err(error.clone()));
    assert!(error.contains("y.ldif, line 1") && error.contains("structure rule personRule"), "{error}");
}

#[test]
fn rules_come_from_files_of_both_kinds_and_are_shown_rfc4512_4_2() {
    let ldif = "dn: cn={4}own,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: {4}own\n\
        olcDitContentRules: {0}( 2.16.840.1.113730.3.2.2 NAME 'personContent' MUST givenName )\n";
    let sample = Sample::with(schema(ldif));
    let given = sample.read("cn=Subschema", &["dITContentRules"]);
    assert_eq!(given.values("dITContentRules"), ["( 2.16.840.1.113730.3.2.2 NAME 'personContent' MUST givenName )"]);
    let sample = Sample::with(schema(NAMES));
    let given = sample.read("cn=Subschema", &["nameForms", "dITStructureRules"]);
    assert_eq!((given.values("nameForms").len(), given.values("dITStructureRules").len()), (4, 4));
}

#[test]
fn a_rule_that_makes_no_sense_is_named_with_its_line() {
    let cases = [
        ("ditcontentrule ( 1.2.3 NAME 'r' )", "r: its object class 1.2.3 is not defined"),
        ("ditcontentrule ( 2.5.6.6 NAME 'r' AUX nothing )", "r: its object class nothing is not defined"),
        ("ditcontentrule ( 2.5.6.6 NAME 'r' AUX device )", "r: its object class device is not AUXILIARY"),
        ("ditcontentrule ( 2.5.6.6 NAME 'r' MAY nothing )", "r: its attribute type nothing is not defined"),
        ("ditcontentrule ( 2.5.6.6 NAME 'r' NOT sn )", "r: sn is required, so NOT cannot name it"),
        (
            "ditcontentrule ( 2.5.6.6 NAME 'r' )\nditcontentrule ( 2.5.6.6 NAME 's' )",
            "line 2: s: there is a content rule",
        ),
        ("nameform ( 1.1.1 NAME 'f' OC nothing MUST cn )", "f: its object class nothing is not defined"),
        ("ditstructurerule ( 1 NAME 'r' FORM nothing )", "r: its name form nothing is not defined"),
        ("nameform ( 1.1.1 NAME 'f' OC person MUST cn )\nditstructurerule ( 1 FORM f SUP 7 )", "its superior rule 7"),
    ];
    for (text, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { suffixes: vec![BASE.into()], ..schema(text) };
        let error = Directory::open(folder.path(), config).unwrap_err().to_string();
        assert!(error.contains("rules.schema, line") && error.contains(words), "{error}");
    }
}
