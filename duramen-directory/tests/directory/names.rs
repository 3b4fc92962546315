//! Names whose parents were found before: what is remembered of parents is never what was true of them earlier, or for
//! another request.

use duramen_directory::{Config, Directory, ImportOptions, Requester};
use duramen_ldap::message::{ChangeKind, Deref, ResultCode, Scope};
use duramen_ldap::oid::control as oid;

use crate::sample::{Ask, BASE, JENSEN, Sample, code, control, ended};

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
fn what_is_remembered_of_names_while_others_are_changed_ends_with_a_rename() {
    let sample = Sample::people();
    let smith = "uid=jsmith,ou=People,dc=example,dc=com";
    let describe = |name: &str| sample.modify(name, &[(ChangeKind::Replace, "description", &["changed"])]);
    let shown = || sample.search("ou=people,dc=example,dc=com", "(uid=*)", &Ask::default()).unwrap();
    for _ in 0..3 {
        describe(smith).unwrap();
        assert!(shown().names().contains(&smith));
    }
    // Only how it is written changes, which no key says.
    sample.rename("ou=People,dc=example,dc=com", "ou=PEOPLE", true, None).unwrap();
    let spelt = "uid=jsmith,ou=PEOPLE,dc=example,dc=com";
    for _ in 0..3 {
        assert!(shown().names().contains(&spelt));
        describe(smith).unwrap();
    }
    sample.rename("ou=people,dc=example,dc=com", "ou=Staff", true, None).unwrap();
    let moved = "uid=jsmith,ou=Staff,dc=example,dc=com";
    for _ in 0..3 {
        assert_eq!(code(describe(smith)), ResultCode::NO_SUCH_OBJECT);
        describe(moved).unwrap();
    }
    sample.delete(moved, &[]).unwrap();
    assert_eq!(code(describe(moved)), ResultCode::NO_SUCH_OBJECT);
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
        ("uid=\"x", ResultCode::INVALID_DN_SYNTAX),
        ("uid=\"x\"", ResultCode::NO_SUCH_OBJECT),
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
fn names_below_references_and_aliases_keep_what_is_escaped_at_their_ends() {
    let sample = Sample::people();
    let text = "dn: ou=Abroad,dc=example,dc=com\nobjectClass: referral\nobjectClass: extensibleObject\nou: Abroad\n\
        ref: ldap://abroad.example/\n\ndn: ou=All,dc=example,dc=com\nobjectClass: alias\nobjectClass: extensibleObject\n\
        ou: All\naliasedObjectName: ou=People,dc=example,dc=com\n";
    sample.load(text);
    for rdn in ["cn=a\\,", "cn=a\\;", "cn=a\\,\\,"] {
        let person: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"person"]), ("sn", vec![b"a"])];
        sample.add(&format!("{rdn},ou=People,dc=example,dc=com"), person).unwrap();
        let ask = Ask { deref: Deref::FindingBase, scope: Scope::Base, ..Ask::default() };
        let found = sample.search(&format!("{rdn} , ou=All,dc=example,dc=com"), "(sn=a)", &ask).unwrap();
        assert_eq!(found.entries.len(), 1, "{rdn}");
        let referral = sample.compare(&format!("{rdn},cn=b,ou=Abroad,dc=example,dc=com"), "sn", "a").unwrap_err();
        let url = referral.as_result().referral.iter().next().unwrap().replace("%5C", "\\").replace("%3B", ";");
        assert_eq!(url, format!("ldap://abroad.example/{rdn},cn=b,ou=Abroad,dc=example,dc=com"));
    }
}

#[test]
fn names_may_be_as_deep_as_subtrees_were_moved_below_each_other() {
    const CHAINS: usize = 102;
    let sample = Sample::empty();
    let mut text = format!("dn: {BASE}\nobjectClass: domain\n\n");
    let mut bottoms = Vec::new();
    for chain in 0..CHAINS {
        let mut name = BASE.to_string();
        for _ in 0..100 {
            name = format!("ou={chain},{name}");
            text += &format!("dn: {name}\nobjectClass: organizationalUnit\n\n");
        }
        bottoms.push(name);
    }
    sample.directory.import("deep", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    let mut deepest = bottoms[0].clone();
    for (chain, bottom) in bottoms.iter().enumerate().skip(1) {
        sample.rename(&format!("ou={chain},{BASE}"), &format!("ou={chain}"), false, Some(&deepest)).unwrap();
        deepest = format!("{}{deepest}", bottom.strip_suffix(BASE).unwrap());
    }
    assert_eq!(sample.read(&deepest, &[]).names(), [&deepest]);
    assert_eq!(sample.found("(ou=101)").len(), 100);
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

fn suffixes<'s>(suffixes: impl IntoIterator<Item = &'s str>) -> Config {
    Config { suffixes: suffixes.into_iter().map(str::to_string).collect(), ..Config::default() }
}

#[test]
fn a_suffix_below_another_is_refused() {
    // What it has would not be found by who looks for all that the other has.
    for (given, fault) in [
        (["dc=example,dc=com", "ou=x,dc=sub,DC=Example,dc=com"], "suffix \"ou=x,dc=sub,DC=Example,dc=com\""),
        (["dc=sub,dc=example,dc=com", "dc=example,dc=com"], "suffix \"dc=sub,dc=example,dc=com\""),
        (["dc=example,dc=com", "DC=example, DC=com"], "suffix \"DC=example, DC=com\""),
        (["dc=com", ""], "suffixes: the empty name"),
    ] {
        let error = Directory::check_config(&suffixes(given))[0].to_string();
        assert!(error.starts_with(fault), "{error}");
    }
    let right = suffixes(["dc=example,dc=com", "dc=x\\,dc=example,dc=com", "dc=com\\,dc=example"]);
    assert!(Directory::check_config(&right).is_empty());
}

#[test]
fn a_suffix_stays_as_long_as_it_has_entries() {
    let sample = Sample::people();
    let chosen = |names: &[&str]| sample.directory.reconfigure(suffixes(names.iter().copied()));
    for names in [&["dc=other"][..], &["dc=com"], &["ou=People,dc=example,dc=com"]] {
        let told = chosen(names).unwrap_err().to_string();
        assert_eq!(told, "suffixes: \"dc=example,dc=com\" has entries: leave it among them, or delete these first");
    }
    chosen(&["dc=other", "DC=Example, dc=com"]).unwrap();
    assert_eq!(sample.read(JENSEN, &["sn"]).values("sn"), ["Jensen"]);
    chosen(&["dc=example,dc=com"]).unwrap();
    sample.delete(BASE, &[control("1.2.840.113556.1.4.805")]).unwrap();
    chosen(&["dc=other"]).unwrap();
    assert_eq!(sample.directory.suffixes(), ["dc=other"]);
}

#[test]
fn a_configuration_that_is_refused_leaves_nothing() {
    let sample = Sample::people();
    let file = |name: &str, text: &str| duramen_directory::SchemaFile { name: name.into(), text: text.into() };
    let schema =
        file("x.schema", "attributetype ( 1.3.6.1.4.1.99999.1 NAME 'ours' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )");
    let nonsense = Config { schema: vec![schema], access: Some(file("x.conf", "nonsense")), ..suffixes(["dc=com"]) };
    sample.directory.reconfigure(nonsense).unwrap_err();
    let folder = sample.folder;
    drop(sample.directory);
    let directory = Directory::open(folder.path(), Config::default()).unwrap();
    assert_eq!(directory.suffixes(), [BASE]);
    assert!(directory.schema().find("ours").is_none());
}

#[test]
fn an_index_that_an_attribute_cannot_have_is_refused_with_a_cure() {
    use duramen_directory::{Index, IndexKinds};
    let asked = |attribute: &str, equality, substring| {
        let kinds = IndexKinds { presence: true, equality, substring };
        let indices = Some(vec![Index { attribute: attribute.into(), kinds }]);
        let faults = Directory::check_config(&Config { indices, ..suffixes([BASE, "dc=org"]) });
        faults.first().map_or(Ok(()), |fault| Err(fault.to_string()))
    };
    for (attribute, equality, substring, cure) in [
        ("jpegPhoto", true, false, "index of jpegPhoto: the type has no rule for equality: leave \"equality\" out"),
        ("uidNumber", true, true, "index of uidNumber: the type has no rule for substrings: leave \"substring\" out"),
        ("memberUid", true, true, "index of memberUid: groups may have very many values of it"),
        ("nosuch", true, false, "index of nosuch: the schema has no such attribute type"),
    ] {
        let told = asked(attribute, equality, substring).unwrap_err();
        assert!(told.starts_with(cure), "{told}");
    }
    assert_eq!(asked("jpegPhoto", false, false), Ok(()));
    assert_eq!(asked("memberOf", true, false), Ok(()), "configurations of slapd have it");
}

/// RFC 4514 section 2.4: what stands in a name is a value of the attribute type.
#[test]
fn a_value_in_a_name_is_one_of_its_type() {
    let sample = Sample::people();
    let (people, see) = ("ou=People,dc=example,dc=com", |name: &str| {
        ended(sample.modify(JENSEN, &[(ChangeKind::Replace, "seeAlso", &[name])]))
    });
    for rdn in
        ["cn=", "c=xxx", "uidNumber=01", "telephoneNumber=", "cn=a+sn=", "serialNumber=\\C3\\BC", "manager=c\\3Dusa"]
    {
        for name in [rdn.to_string(), format!("{rdn},{people}"), format!("cn=a,{rdn},{people}")] {
            assert_eq!(see(&name), ResultCode::INVALID_ATTRIBUTE_SYNTAX, "{name}");
            assert_eq!(code(sample.compare(&name, "sn", "a")), ResultCode::INVALID_DN_SYNTAX, "{name}");
            assert_eq!(code(sample.compare(JENSEN, "seeAlso", &name)), ResultCode::INVALID_ATTRIBUTE_SYNTAX, "{name}");
            let found = |filter: String| sample.search(BASE, &filter, &Ask::default()).unwrap().entries.len();
            let escaped = name.replace('\\', "\\5c");
            assert_eq!(found(format!("(!(seeAlso={escaped}))")), 0, "{name} is undefined");
            assert_eq!(found(format!("(!(uniqueMember={escaped}#'1'B))")), 0, "{name} is undefined");
            assert_eq!(found(format!("(!(entryDN:dnSubtreeMatch:={escaped}))")), 0, "{name} is undefined");
        }
        let person: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"inetOrgPerson"]), ("sn", vec![b"a"])];
        assert_eq!(code(sample.add(&format!("{rdn},{people}"), person)), ResultCode::INVALID_DN_SYNTAX, "{rdn}");
        assert_eq!(code(sample.rename(JENSEN, rdn, false, None)), ResultCode::INVALID_DN_SYNTAX, "{rdn}");
    }
    sample.rename("uid=jsmith,ou=People,dc=example,dc=com", "uidNumber=1000", false, None).unwrap();
    assert_eq!(
        sample.compare(&format!("uidNumber=01000,{people}"), "sn", "Smith"),
        Ok(true),
        "it leads there all the same"
    );
    for name in ["cn=\\ ", "c=xx,cn=a", "mail=a@b,o=\\ ", "", "userPassword=a"] {
        assert_eq!(see(name), ResultCode::SUCCESS, "{name}");
    }
}

/// RFC 4517 section 3.3.21, RFC 4514 section 2.4.
#[test]
fn a_name_that_ends_as_if_with_a_bit_string_is_told_from_one_with_it() {
    let sample = Sample::people();
    let entry: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"device"])];
    sample.add("cn=a\\#'1'B,dc=example,dc=com", entry).unwrap();
    let group = |cn: &str, member: &str| {
        let attributes = [("objectClass", vec![&b"groupOfUniqueNames"[..]]), ("uniqueMember", vec![member.as_bytes()])];
        sample.add(&format!("cn={cn},dc=example,dc=com"), &attributes).unwrap();
    };
    group("name", "dc=com,cn=a\\23'1'B");
    group("uid", "dc=com,cn=a#'1'B");
    let found = |value: &str| {
        let given = sample.search(BASE, &format!("(uniqueMember={value})"), &Ask::default()).unwrap();
        given.entries.iter().map(|(name, _)| name.replace(",dc=example,dc=com", "")).collect::<Vec<_>>()
    };
    assert_eq!(found("dc=com,cn=a\\5c#'1'B"), ["cn=name"]);
    assert_eq!(found("dc=com,cn=a\\5c23'1'B"), ["cn=name"]);
    assert_eq!(found("dc=com,cn=a#'1'B"), ["cn=uid"]);
    let shown = sample.read("cn=name,dc=example,dc=com", &["uniqueMember"]);
    assert_eq!(shown.values("uniqueMember"), ["dc=com,cn=a\\#'1'B"]);
}
