//! Names whose parents were found before: what is remembered of parents is never what was true of them earlier, or for
//! another request.

use duramen_directory::{Config, Directory, Requester};
use duramen_ldap::message::{ChangeKind, ResultCode, Scope};
use duramen_ldap::oid::control as oid;

use crate::sample::{Ask, BASE, Sample, code, control};

const JENSEN: &str = "uid=bjensen,ou=People,dc=example,dc=com";

#[test]
fn a_parent_that_was_renamed_is_not_where_it_was() {
    let sample = Sample::people();
    assert_eq!(sample.compare(JENSEN, "sn", "Jensen"), Ok(true));
    assert_eq!(sample.compare("uid=jsmith,ou=People,dc=example,dc=com", "sn", "Smith"), Ok(true));
    sample.rename("ou=People,dc=example,dc=com", "ou=Staff", true, None).unwrap();
    assert_eq!(code(sample.compare(JENSEN, "sn", "Jensen")), ResultCode::NO_SUCH_OBJECT);
    let there = "uid=bjensen,ou=Staff,dc=example,dc=com";
    assert_eq!(sample.compare(there, "sn", "Jensen"), Ok(true));
    assert_eq!(sample.read(there, &[]).names(), [there]);
    assert_eq!(sample.read("uid=JSmith,OU=staff,dc=example,dc=com", &[]).names().len(), 1, "and its neighbours");
}

#[test]
fn a_first_rdn_is_checked_though_its_parent_is_known() {
    let sample = Sample::people();
    assert_eq!(sample.compare(JENSEN, "sn", "Jensen"), Ok(true));
    for (rdn, expected) in [
        ("uid", ResultCode::INVALID_DN_SYNTAX),
        ("", ResultCode::INVALID_DN_SYNTAX),
        ("nothing=x", ResultCode::INVALID_DN_SYNTAX),
        ("uid=a\\zz", ResultCode::INVALID_DN_SYNTAX),
        ("uid=\"x\"", ResultCode::INVALID_DN_SYNTAX),
        ("uid=nobody", ResultCode::NO_SUCH_OBJECT),
        ("uid=bjensen\\,ou=People", ResultCode::NO_SUCH_OBJECT),
    ] {
        let name = format!("{rdn},ou=People,dc=example,dc=com");
        for _ in 0..2 {
            assert_eq!(code(sample.compare(&name, "sn", "Jensen")), expected, "{name:?}");
        }
    }
    assert_eq!(code(sample.compare("uid=bjensen,", "sn", "Jensen")), ResultCode::INVALID_DN_SYNTAX);
    assert_eq!(sample.compare(" UID = bjensen ,ou=People,dc=example,dc=com", "sn", "Jensen"), Ok(true));
}

#[test]
fn a_referral_on_the_way_is_one_for_whoever_does_not_manage_it() {
    let sample = Sample::people();
    let manage = || vec![control(oid::MANAGE_DSA_IT)];
    let referral: &[(&str, Vec<&[u8]>)] = &[
        ("objectClass", vec![b"referral", b"extensibleObject"]),
        ("ou", vec![b"Abroad"]),
        ("ref", vec![b"ldap://abroad.example/"]),
    ];
    sample.add("ou=Abroad,dc=example,dc=com", referral).unwrap();
    let below: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"organizationalUnit"]), ("ou", vec![b"a"])];
    sample.add_as(&Requester::internal(), "ou=a,ou=Abroad,dc=example,dc=com", below, &manage()).unwrap();
    for n in 0..3 {
        let name = "ou=a,ou=Abroad,dc=example,dc=com";
        let managed = Ask { controls: manage(), scope: Scope::Base, ..Ask::default() };
        assert_eq!(sample.search(name, "(ou=*)", &managed).unwrap().names(), [name], "time {n}");
        assert_eq!(code(sample.search(name, "(ou=*)", &Ask::default())), ResultCode::REFERRAL, "time {n}");
    }
}

#[test]
fn a_suffix_below_another_is_found_as_one_though_the_entry_above_it_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let inner = "ou=Inner,dc=example,dc=com";
    let config = Config { suffixes: vec![BASE.into(), inner.into()], ..Config::default() };
    let directory = Directory::open(folder.path(), config).unwrap();
    let sample = Sample { directory, folder };
    sample.load("\ndn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    sample.load("\ndn: ou=Outer,dc=example,dc=com\nobjectClass: organizationalUnit\nou: Outer\n");
    sample.load("\ndn: ou=Inner,dc=example,dc=com\nobjectClass: organizationalUnit\nou: Inner\n");
    sample.load("\ndn: ou=a,ou=Inner,dc=example,dc=com\nobjectClass: organizationalUnit\nou: a\n");
    for _ in 0..2 {
        for (name, ou) in
            [("ou=Outer,dc=example,dc=com", "Outer"), (inner, "Inner"), ("ou=a,ou=Inner,dc=example,dc=com", "a")]
        {
            assert_eq!(sample.compare(name, "ou", ou), Ok(true), "{name}");
        }
    }
}

#[test]
fn directories_of_one_process_do_not_share_what_is_remembered() {
    let (one, other) = (Sample::people(), Sample::empty());
    assert_eq!(one.compare(JENSEN, "sn", "Jensen"), Ok(true));
    other.load("\ndn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    assert_eq!(code(other.compare(JENSEN, "sn", "Jensen")), ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn what_has_options_is_no_part_of_a_name_rfc4512_2_3_1() {
    let sample = Sample::people();
    let x: &[(ChangeKind, &str, &[&str])] = &[(ChangeKind::Add, "cn;lang-de", &["x"])];
    sample.modify(JENSEN, x).unwrap();
    sample.rename(JENSEN, "cn=x", false, None).unwrap();
    let renamed = "cn=x,ou=People,dc=example,dc=com";
    assert_eq!(sample.read(renamed, &["cn"]).values("cn"), ["Barbara Jensen", "x"]);
    assert_eq!(sample.read(renamed, &["cn"]).values("cn;lang-de"), ["Barbara von Jensen", "x"]);
    let gone = sample.modify(renamed, &[(ChangeKind::Delete, "cn", &["x"])]);
    assert_eq!(code(gone), ResultCode::NOT_ALLOWED_ON_RDN, "though it is there with an option");
}
