//! Values that go with the entries that they name, or change with their names.

use duramen_directory::{Config, Directory, Index, IndexKinds};
use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
use duramen_ldap::message::ResultCode;
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const ADMINS: &str = "cn=admins,ou=Groups,dc=example,dc=com";
const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";

fn config() -> Config {
    let equality = IndexKinds { equality: true, ..IndexKinds::default() };
    let mut indices = Index::defaults();
    indices.extend(["manager", "seeAlso"].map(|name| Index { attribute: name.into(), kinds: equality }));
    let references = ["member", "uniqueMember", "manager", "seeAlso"].map(str::to_string).to_vec();
    Config { indices: Some(indices), references, ..Config::default() }
}

fn people() -> Sample {
    let sample = Sample::with(config());
    sample.load(PEOPLE);
    sample.modify(ADMINS, &[(Add, "member", &[SMITH])]).unwrap();
    sample
}

#[test]
fn values_go_with_the_entries_that_they_name() {
    let sample = people();
    sample.modify(SMITH, &[(Add, "manager", &[JENSEN]), (Add, "seeAlso", &[JENSEN, SMITH, "cn=far"])]).unwrap();
    let before = sample.read(SMITH, &["entryCSN"]).values("entryCSN")[0].to_string();
    sample.delete(JENSEN, &[]).unwrap();
    let smith = sample.read(SMITH, &["*", "entryCSN"]);
    assert!(smith.values("manager").is_empty() && smith.values("entryCSN")[0] > &*before);
    assert_eq!(smith.values("seeAlso"), [SMITH, "cn=far"]);
    assert_eq!(sample.read(ADMINS, &["member"]).values("member"), [SMITH]);
    assert!(sample.found(&format!("(|(member={JENSEN})(manager={JENSEN})(seeAlso={JENSEN}))")).is_empty());

    // A new entry of that name is nobody's member.
    sample.add(JENSEN, &[("objectClass", vec![b"person"]), ("cn", vec![b"x"]), ("sn", vec![b"x"])]).unwrap_err();
    let classes: Vec<&[u8]> = vec![b"inetOrgPerson"];
    sample.add(JENSEN, &[("objectClass", classes), ("cn", vec![b"x"]), ("sn", vec![b"x"])]).unwrap();
    assert!(sample.read(JENSEN, &["memberOf"]).values("memberOf").is_empty());

    // What a class requires is there all the same, and names nobody.
    sample.delete(SMITH, &[]).unwrap();
    assert_eq!(sample.read(ADMINS, &["member"]).values("member"), [""]);
    sample.modify(ADMINS, &[(Replace, "member", &[JENSEN])]).unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn values_follow_the_entries_that_they_name() {
    let sample = people();
    sample.rename(JENSEN, "uid=Babs", true, None).unwrap();
    let babs = "uid=Babs,ou=People,dc=example,dc=com";
    let mut members = sample.read(ADMINS, &["member"]).values("member").join(" ");
    assert_eq!(members, format!("{babs} {SMITH}"));
    assert_eq!(sample.read(babs, &["memberOf"]).values("memberOf"), [ADMINS]);

    // Whole subtrees; the group among them, too.
    sample.rename("ou=People,dc=example,dc=com", "ou=Staff", true, None).unwrap();
    sample.rename("ou=Groups,dc=example,dc=com", "ou=Teams", true, Some("ou=Staff,dc=example,dc=com")).unwrap();
    let admins = "cn=admins,ou=Teams,ou=Staff,dc=example,dc=com";
    members = sample.read(admins, &["member"]).values("member").join(" ");
    let staff = "uid=Babs,ou=Staff,dc=example,dc=com uid=jsmith,ou=Staff,dc=example,dc=com";
    assert_eq!(members, staff);
    // Into a name that a value has already, and spelt otherwise only.
    sample.modify(admins, &[(Add, "member", &["uid=Barbara,ou=Staff,dc=example,dc=com"])]).unwrap();
    sample.rename("uid=Babs,ou=Staff,dc=example,dc=com", "uid=Barbara", true, None).unwrap();
    assert_eq!(sample.read(admins, &["member"]).values("member").len(), 2);
    sample.rename("uid=Barbara,ou=Staff,dc=example,dc=com", "uid=BARBARA", true, None).unwrap();
    assert_eq!(sample.found("(member=uid=barbara,ou=staff,dc=example,dc=com)"), [admins]);

    sample.delete("ou=Staff,dc=example,dc=com", &[control(oid::TREE_DELETE)]).unwrap();
    assert_eq!(sample.found("(objectClass=*)"), ["dc=example,dc=com"]);
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn values_of_large_groups_follow_as_those_of_small_ones() {
    for count in [2, 256, 257, 2000] {
        let sample = people();
        let group = "cn=large,ou=Groups,dc=example,dc=com";
        let mut names: Vec<String> = (2..count).map(|n| format!("uid=user{n},ou=People,dc=example,dc=com")).collect();
        names.extend([JENSEN, SMITH].map(str::to_string));
        let values: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        sample.add(group, &[("objectClass", vec![b"groupOfNames"]), ("member", values)]).unwrap();
        sample.rename(SMITH, "uid=john", true, None).unwrap();
        sample.delete(JENSEN, &[]).unwrap();
        let members = sample.read(group, &["member"]);
        assert_eq!(members.values("member").len(), count - 1);
        assert!(members.values("member").contains(&"uid=john,ou=People,dc=example,dc=com"));
        assert_eq!(sample.found(&format!("(|(member={JENSEN})(member={SMITH}))")).len(), 0, "{count}");
        assert_eq!(problems(&sample), Vec::<String>::new());
    }
}

#[test]
fn a_value_that_names_its_entry_stays_and_an_update_that_fails_changes_no_value() {
    let sample = people();
    let own = format!("seeAlso={},dc=example,dc=com", JENSEN.replace(',', "\\,"));
    sample.add(&own, &[("objectClass", vec![b"device"]), ("cn", vec![b"x"])]).unwrap();
    assert_eq!(code(sample.delete("ou=People,dc=example,dc=com", &[])), ResultCode::NOT_ALLOWED_ON_NON_LEAF);
    assert_eq!(code(sample.rename(JENSEN, "uid=jsmith", true, None)), ResultCode::ENTRY_ALREADY_EXISTS);
    assert_eq!(sample.read(ADMINS, &["member"]).values("member").len(), 2);
    sample.delete(JENSEN, &[]).unwrap();
    assert_eq!(sample.found(&format!("(seeAlso={JENSEN})")).len(), 1);
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn values_are_of_one_entry_only_where_that_is_asked_for() {
    let sample = Sample::with(Config { unique: vec!["uid".into(), "mail".into()], ..Config::default() });
    sample.load(PEOPLE);
    let refused = |result| assert_eq!(code(result), ResultCode::CONSTRAINT_VIOLATION);
    let person = |uid: &'static [u8], mail: &'static [u8]| {
        let name = format!("cn={},dc=example,dc=com", String::from_utf8_lossy(uid));
        let attributes = [
            ("objectClass", vec![&b"inetOrgPerson"[..]]),
            ("sn", vec![&b"x"[..]]),
            ("uid", vec![uid]),
            ("mail", vec![mail]),
        ];
        sample.add(&name, &attributes)
    };
    refused(person(b"JSmith", b"a@example.com"));
    refused(person(b"other", b"BJensen@Example.com"));
    person(b"other", b"other@example.com").unwrap();
    let failure = sample.modify(SMITH, &[(Add, "mail", &["own@example.com", "OTHER@example.com"])]).unwrap_err();
    assert!(failure.diagnostic.contains("mail") && failure.diagnostic.contains("OTHER@example.com"), "{failure}");
    refused(sample.rename(SMITH, "uid=bjensen", true, Some("ou=Groups,dc=example,dc=com")));
    // Its own values are no other entry's; what is free again can be had.
    sample.modify(SMITH, &[(Replace, "uid", &["jsmith"]), (Add, "mail", &["own@example.com"])]).unwrap();
    sample.rename(SMITH, "uid=JSMITH", true, None).unwrap();
    sample.modify("cn=other,dc=example,dc=com", &[(Replace, "mail", &["another@example.com"])]).unwrap();
    sample.modify(SMITH, &[(Add, "mail", &["other@example.com"])]).unwrap();
    sample.modify(SMITH, &[(Add, "title", &["Herr"])]).unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn values_that_two_entries_had_before_are_no_fault_of_other_values() {
    let sample = Sample::people();
    let shared = "bjensen@example.com";
    sample.modify(SMITH, &[(Add, "mail", &[shared])]).unwrap();
    let unique = Config { unique: vec!["mail".into(), "cn".into()], ..Config::default() };
    sample.directory.reconfigure(unique).unwrap();
    sample.modify(SMITH, &[(Add, "mail", &["own@example.com"])]).unwrap();
    sample.modify(SMITH, &[(Replace, "mail", &["BJensen@example.com", "new@example.com"])]).unwrap();
    sample.modify(SMITH, &[(Delete, "mail", &[shared])]).unwrap();
    assert_eq!(code(sample.modify(SMITH, &[(Add, "mail", &[shared])])), ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn attributes_that_refer_or_are_unique_need_fitting_values_and_an_index() {
    let refused = |config: Config, name: &str, told: &str| {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { suffixes: vec!["dc=example,dc=com".into()], ..config };
        let error = Directory::open(folder.path(), config).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains(name), "{error}");
    };
    for (name, told) in [
        ("nothing", "no such attribute"),
        ("cn", "not names"),
        ("memberOf", "makes its values"),
        ("secretary", "no index"),
    ] {
        refused(Config { references: vec![name.into()], ..Config::default() }, name, told);
    }
    for (name, told) in
        [("nothing", "no such attribute"), ("member", "very many"), ("title", "no index"), ("jpegPhoto", "no rule")]
    {
        refused(Config { unique: vec![name.into()], ..Config::default() }, name, told);
    }
}
