//! Adding, deleting, modifying, renaming.

use duramen_directory::Requester;
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{ReadEntryRequest, ReadEntryResponse};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::ChangeKind::{Add, Delete, Increment, Replace};
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";

#[test]
fn an_entry_is_added_below_one_that_is_there_rfc4511_4_7() {
    let sample = Sample::people();
    let attributes: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"person"]), ("SN", vec![b"New"])];
    sample.add("cn=New One,ou=people,dc=example,dc=com", attributes).unwrap();
    let given = sample.read("cn=new one,ou=People,dc=example,dc=com", &["*"]);
    assert_eq!(given.names(), ["cn=New One,ou=People,dc=example,dc=com"]);
    assert_eq!((given.values("sn"), given.values("cn")), (vec!["New"], vec!["New One"]), "the name's values are added");
    let again = sample.add("CN=new one,ou=People,dc=example,dc=com", attributes);
    assert_eq!(code(again), ResultCode::ENTRY_ALREADY_EXISTS);
    let failure = sample.add("cn=x,ou=nowhere,dc=example,dc=com", attributes).unwrap_err();
    assert_eq!((failure.code, failure.matched_dn.as_str()), (ResultCode::NO_SUCH_OBJECT, BASE));
}

#[test]
fn only_leaves_are_deleted_unless_the_control_says_so_rfc4511_4_8() {
    let sample = Sample::people();
    let people = "ou=People,dc=example,dc=com";
    assert_eq!(code(sample.delete(people, &[])), ResultCode::NOT_ALLOWED_ON_NON_LEAF);
    sample.delete(SMITH, &[]).unwrap();
    assert_eq!(sample.found("(uid=jsmith)").len(), 0);
    assert_eq!(code(sample.delete(SMITH, &[])), ResultCode::NO_SUCH_OBJECT);
    assert_eq!(sample.read(people, &["numSubordinates"]).values("numSubordinates"), ["1"]);
    sample.delete(people, &[control(oid::TREE_DELETE)]).unwrap();
    assert_eq!(sample.found("(objectClass=*)").len(), 3);
    assert_eq!(sample.found("(|(uid=*)(sn=jensen)(cn=*bara*))").len(), 0);
    assert_eq!(sample.read(BASE, &["numSubordinates"]).values("numSubordinates"), ["1"]);
}

#[test]
fn changes_are_made_in_order_all_or_none_rfc4511_4_6() {
    let sample = Sample::people();
    // sn is required: without it the entry would be wrong in between.
    sample.modify(JENSEN, &[(Delete, "sn", &[]), (Add, "sn", &["Smith", "Miller"])]).unwrap();
    assert_eq!(sample.read(JENSEN, &[]).values("sn"), ["Smith", "Miller"]);
    assert_eq!(sample.found("(sn=jensen)").len(), 0);
    assert_eq!(sample.found("(sn=smith)"), [JENSEN, SMITH]);
    let failed = sample.modify(JENSEN, &[(Replace, "mail", &["new@example.com"]), (Delete, "sn", &["Nobody"])]);
    assert_eq!(code(failed), ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(sample.read(JENSEN, &[]).values("mail"), ["bjensen@example.com"]);
    assert_eq!(sample.found("(mail=new@example.com)").len(), 0);
}

#[test]
fn each_kind_of_change_does_what_it_says_rfc4511_4_6() {
    let sample = Sample::people();
    let mail = |sample: &Sample| sample.read(JENSEN, &["mail"]).values("mail").join(" ");
    assert_eq!(
        code(sample.modify(JENSEN, &[(Add, "mail", &["BJensen@example.com"])])),
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS
    );
    assert_eq!(code(sample.modify(JENSEN, &[(Add, "mail", &["a@b", "A@B"])])), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    assert_eq!(code(sample.modify(JENSEN, &[(Add, "mail", &[])])), ResultCode::PROTOCOL_ERROR);
    sample.modify(JENSEN, &[(Add, "mail", &["a@b"])]).unwrap();
    assert_eq!(mail(&sample), "bjensen@example.com a@b");
    sample.modify(JENSEN, &[(Delete, "mail", &["BJENSEN@example.com"])]).unwrap();
    assert_eq!(mail(&sample), "a@b");
    sample.modify(JENSEN, &[(Replace, "mail", &["c@d"]), (Replace, "description", &[])]).unwrap();
    assert_eq!(mail(&sample), "c@d");
    sample.modify(JENSEN, &[(Delete, "mail", &[])]).unwrap();
    assert_eq!(mail(&sample), "");
    assert_eq!(code(sample.modify(JENSEN, &[(Delete, "mail", &[])])), ResultCode::NO_SUCH_ATTRIBUTE);
    sample.modify(JENSEN, &[(Add, "cn;lang-fr", &["Barbe"])]).unwrap();
    sample.modify(JENSEN, &[(Delete, "cn;lang-de", &[])]).unwrap();
    assert_eq!(sample.read(JENSEN, &["cn"]).entries[0].1.len(), 2);
}

#[test]
fn a_value_that_is_named_twice_is_deleted_once() {
    let sample = Sample::people();
    sample.modify(JENSEN, &[(Add, "description", &["a", "b", "c"])]).unwrap();
    sample.modify(JENSEN, &[(Delete, "description", &["a", "b", "A"])]).unwrap();
    assert_eq!(sample.read(JENSEN, &[]).values("description"), ["c"]);
    let (one, twice) = ([(Delete, "description", &["c"][..])], [(Delete, "description", &["c", "c"][..])]);
    let both = [one, one].concat();
    assert_eq!(code(sample.modify(JENSEN, &both)), ResultCode::NO_SUCH_ATTRIBUTE, "a change of its own says more");
    sample.modify(JENSEN, &twice).unwrap();
    assert_eq!(code(sample.modify(JENSEN, &twice)), ResultCode::NO_SUCH_ATTRIBUTE);
}

#[test]
fn no_entry_has_a_language_range_rfc3866_3() {
    let sample = Sample::people();
    let undefined = ResultCode::UNDEFINED_ATTRIBUTE_TYPE;
    for (kind, range) in [(Add, "cn;lang-"), (Replace, "cn;lang-de-"), (Delete, "CN;LANG-")] {
        assert_eq!(code(sample.modify(JENSEN, &[(kind, range, &["Barbara von Jensen"])])), undefined, "{range}");
    }
    let attributes: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"person"]), ("sn;lang-", vec![b"x"])];
    assert_eq!(code(sample.add("cn=x,dc=example,dc=com", attributes)), undefined);
    sample.modify(JENSEN, &[(Add, "cn;lang-en", &["x"]), (Delete, "cn;lang-de", &[])]).unwrap();
}

#[test]
fn integers_are_incremented_rfc4525() {
    let sample = Sample::people();
    sample.modify(SMITH, &[(Increment, "uidNumber", &["5"])]).unwrap();
    sample.modify(SMITH, &[(Increment, "uidNumber", &["-10"])]).unwrap();
    assert_eq!(sample.read(SMITH, &[]).values("uidNumber"), ["995"]);
    assert_eq!(sample.found("(uidNumber=995)"), [SMITH]);
    assert_eq!(code(sample.modify(SMITH, &[(Increment, "sn", &["1"])])), ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(code(sample.modify(JENSEN, &[(Increment, "uidNumber", &["1"])])), ResultCode::NO_SUCH_ATTRIBUTE);
}

#[test]
fn the_permissive_control_forgives_what_is_there_and_what_is_not() {
    let sample = Sample::people();
    let permissive = [control(oid::PERMISSIVE_MODIFY)];
    let change: &[(_, &str, &[&str])] =
        &[(Add, "mail", &["bjensen@example.com", "new@b"]), (Delete, "description", &["x"])];
    sample.modify_as(&Requester::internal(), JENSEN, change, &permissive).unwrap();
    assert_eq!(sample.read(JENSEN, &[]).values("mail"), ["bjensen@example.com", "new@b"]);
}

#[test]
fn who_changed_an_entry_and_when_is_written_down_rfc4512_3_4() {
    let sample = Sample::people();
    let before = sample.read(JENSEN, &["+"]);
    let requester = Requester { name: sample.directory.name(SMITH).unwrap(), ..Requester::internal() };
    sample.modify_as(&requester, JENSEN, &[(Replace, "mail", &["x@y"])], &[]).unwrap();
    let after = sample.read(JENSEN, &["+"]);
    assert_eq!(after.values("modifiersName"), [SMITH]);
    assert!(after.values("entryCSN") > before.values("entryCSN"));
    for same in ["entryUUID", "createTimestamp", "creatorsName"] {
        assert_eq!(after.values(same), before.values(same), "{same}");
    }
}

#[test]
fn an_entry_is_renamed_with_or_without_its_old_value_rfc4511_4_9() {
    let sample = Sample::people();
    sample.rename(JENSEN, "uid=barbara", false, None).unwrap();
    let barbara = "uid=barbara,ou=People,dc=example,dc=com";
    assert_eq!(sample.read(barbara, &[]).values("uid"), ["bjensen", "barbara"]);
    sample.rename(barbara, "cn=Barbara Jensen", true, None).unwrap();
    let by_cn = "cn=Barbara Jensen,ou=People,dc=example,dc=com";
    assert_eq!(sample.read(by_cn, &[]).values("uid"), ["bjensen"]);
    assert_eq!(sample.found("(uid=barbara)").len(), 0);
    assert_eq!(
        code(sample.rename(by_cn, "uid=jsmith", false, None).map(|_| ())),
        ResultCode::SUCCESS.max(ResultCode::ENTRY_ALREADY_EXISTS)
    );
    sample.rename(by_cn, "CN=barbara jensen", false, None).unwrap();
    assert_eq!(sample.found("(sn=jensen)"), ["cn=barbara jensen,ou=People,dc=example,dc=com"]);
}

#[test]
fn a_subtree_moves_with_its_top_rfc4511_4_9() {
    let sample = Sample::people();
    sample.rename("ou=People,dc=example,dc=com", "ou=Staff", true, Some("ou=Groups,dc=example,dc=com")).unwrap();
    let moved = "uid=jsmith,ou=Staff,ou=Groups,dc=example,dc=com";
    assert_eq!(sample.found("(sn=smith)"), [moved]);
    assert_eq!(sample.read(moved, &["entryDN"]).values("entryDN"), [moved]);
    assert_eq!(code(sample.search(SMITH, "(a=b)", &Ask::default()).map(|_| ())), ResultCode::NO_SUCH_OBJECT);
    assert_eq!(sample.read("ou=Groups,dc=example,dc=com", &["numSubordinates"]).values("numSubordinates"), ["2"]);
    assert_eq!(sample.read(BASE, &["numSubordinates"]).values("numSubordinates"), ["1"]);
    let circle =
        sample.rename("ou=Groups,dc=example,dc=com", "ou=Groups", true, Some("ou=Staff,ou=Groups,dc=example,dc=com"));
    assert_eq!(code(circle), ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(code(sample.rename(BASE, "dc=other", true, None)), ResultCode::UNWILLING_TO_PERFORM);
    let nowhere = sample.rename(moved, "uid=x", true, Some("ou=nowhere,dc=example,dc=com"));
    assert_eq!(code(nowhere), ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn values_of_the_name_stay_rfc4511_4_6() {
    let sample = Sample::people();
    assert_eq!(code(sample.modify(JENSEN, &[(Delete, "uid", &[])])), ResultCode::NOT_ALLOWED_ON_RDN);
    assert_eq!(code(sample.modify(JENSEN, &[(Replace, "uid", &["other"])])), ResultCode::NOT_ALLOWED_ON_RDN);
    sample.modify(JENSEN, &[(Replace, "uid", &["BJensen", "other"])]).unwrap();
}

#[test]
fn compare_says_whether_a_value_is_there_rfc4511_4_10() {
    let sample = Sample::people();
    assert_eq!(sample.compare(JENSEN, "cn", "BARBARA  jensen"), Ok(true));
    assert_eq!(sample.compare(JENSEN, "cn", "somebody"), Ok(false));
    assert_eq!(sample.compare(JENSEN, "name", "jensen"), Ok(true));
    assert_eq!(sample.compare(JENSEN, "objectClass", "person"), Ok(true));
    assert_eq!(sample.compare(JENSEN, "memberOf", "cn=ADMINS,ou=groups,dc=example,dc=com"), Ok(true));
    assert_eq!(sample.compare(JENSEN, "hasSubordinates", "FALSE"), Ok(true));
    assert_eq!(code(sample.compare(JENSEN, "description", "x")), ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(code(sample.compare(JENSEN, "nonsense", "x")), ResultCode::UNDEFINED_ATTRIBUTE_TYPE);
    assert_eq!(code(sample.compare(SMITH, "uidNumber", "x")), ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert_eq!(code(sample.compare("uid=x,dc=example,dc=com", "cn", "x")), ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn entries_that_are_made_up_are_compared_as_others_rfc4512_4_2() {
    let sample = Sample::people();
    sample.directory.set_monitor(std::sync::Arc::new(|| {
        vec![(String::new(), vec![("objectClass".to_string(), vec!["monitorServer".to_string()])])]
    }));
    for (name, description, value, is_there) in [
        ("cn=Subschema", "objectClass", "subschema", true),
        ("CN=subschema", "cn", "other", false),
        ("cn=subschema", "attributeTypes", "2.5.4.3", true),
        ("cn=subschema", "objectClasses", "1.1.1", false),
        ("cn=Subschema", "entryDN", "cn=subschema", true),
        ("", "namingContexts", BASE, true),
        ("cn=Monitor", "objectClass", "monitor", true),
        ("cn=Monitor", "hasSubordinates", "FALSE", true),
    ] {
        assert_eq!(sample.compare(name, description, value), Ok(is_there), "{name} {description}");
    }
    assert_eq!(code(sample.compare("cn=Subschema", "title", "x")), ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(code(sample.compare("cn=a,cn=Subschema", "cn", "x")), ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn an_update_is_made_only_if_the_assertion_holds_rfc4528_3() {
    let sample = Sample::people();
    let change: &[(_, &str, &[&str])] = &[(Replace, "mail", &["x@y"])];
    for (filter, holds) in [("(sn=smith)", false), ("(sn=jensen)", true), ("(unknown=x)", false)] {
        let filter = FilterBuf::parse(filter).unwrap();
        let value = filter.as_filter().encoded();
        let controls = [Control { oid: oid::ASSERTION, critical: true, value: Some(value) }];
        let outcome = sample.modify_as(&Requester::internal(), JENSEN, change, &controls);
        assert_eq!(outcome.err().map(|failure| failure.code), (!holds).then_some(ResultCode::ASSERTION_FAILED));
    }
}

#[test]
fn an_entry_is_read_before_and_after_its_change_rfc4527_3() {
    let sample = Sample::people();
    let (mut buffer, mut value) = (Vec::new(), Vec::new());
    ReadEntryRequest(List::build(&mut buffer, ["mail"])).encode(&mut value);
    let controls =
        [oid::PRE_READ, oid::POST_READ].map(|oid| Control { oid, critical: true, value: Some(value.as_slice()) });
    let updated = sample.modify_as(&Requester::internal(), JENSEN, &[(Replace, "mail", &["x@y"])], &controls).unwrap();
    let list: List<'_, Control<'_>> = List::trusted(&updated.controls);
    let read: Vec<_> = list
        .iter()
        .map(|control| {
            let entry = ReadEntryResponse::decode(control.value.unwrap()).unwrap().0;
            let mail = entry.attributes.iter().next().unwrap().values.iter().next().unwrap();
            (control.oid, entry.name, mail)
        })
        .collect();
    assert_eq!(read, [(oid::PRE_READ, JENSEN, &b"bjensen@example.com"[..]), (oid::POST_READ, JENSEN, &b"x@y"[..])]);
}

/// The values of some attributes in the entry of a post-read control.
fn read_after(updated: &duramen_directory::Updated) -> Vec<(String, Vec<String>)> {
    let list: List<'_, Control<'_>> = List::trusted(&updated.controls);
    let control = list.iter().find(|control| control.oid == oid::POST_READ).unwrap();
    let entry = ReadEntryResponse::decode(control.value.unwrap()).unwrap().0;
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    entry.attributes.iter().map(|a| (a.description.to_string(), a.values.iter().map(text).collect())).collect()
}

#[test]
fn what_is_derived_is_read_as_it_is_after_the_change_rfc4527_3_2() {
    let sample = Sample::people();
    let admins = "cn=admins,ou=Groups,dc=example,dc=com";
    let (mut buffer, mut value) = (Vec::new(), Vec::new());
    ReadEntryRequest(List::build(&mut buffer, ["memberOf", "entryDN", "numSubordinates"])).encode(&mut value);
    let post_read = [Control { oid: oid::POST_READ, critical: true, value: Some(&value) }];
    let attribute = |name: &str, value: &str| (name.to_string(), vec![value.to_string()]);

    // The group has a name as its member that no entry has yet.
    let barbara = "uid=barbara,ou=People,dc=example,dc=com";
    sample.modify(admins, &[(Replace, "member", &[barbara])]).unwrap();
    let renamed = read_after(&sample.rename_with(JENSEN, "uid=barbara", &post_read).unwrap());
    assert!(renamed.contains(&attribute("memberOf", admins)), "{renamed:?}");
    assert!(renamed.contains(&attribute("entryDN", barbara)), "{renamed:?}");
    let renamed = read_after(&sample.rename_with(barbara, "uid=bjensen", &post_read).unwrap());
    assert!(!renamed.iter().any(|(name, _)| name == "memberOf"), "{renamed:?}");

    let new: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"inetOrgPerson"]), ("cn", vec![b"B"]), ("sn", vec![b"B"])];
    let added = read_after(&sample.add_as(&Requester::internal(), barbara, new, &post_read).unwrap());
    assert!(added.contains(&attribute("memberOf", admins)), "{added:?}");
    assert!(added.contains(&attribute("numSubordinates", "0")), "{added:?}");

    // A group that becomes a member of itself.
    let changes: &[(_, &str, &[&str])] = &[(Add, "member", &[admins])];
    let changed = read_after(&sample.modify_as(&Requester::internal(), admins, changes, &post_read).unwrap());
    assert!(changed.contains(&attribute("memberOf", admins)), "{changed:?}");
}

#[test]
fn very_many_values_are_read_after_they_came_rfc4527_3_2() {
    let sample = Sample::people();
    let (mut buffer, mut value) = (Vec::new(), Vec::new());
    ReadEntryRequest(List::build(&mut buffer, ["member"])).encode(&mut value);
    let post_read = [Control { oid: oid::POST_READ, critical: true, value: Some(&value) }];
    let many: Vec<String> = (0..400).map(|n| format!("cn=member{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let admins = "cn=admins,ou=Groups,dc=example,dc=com";
    let changes: &[(_, &str, &[&str])] = &[(Add, "member", &many)];
    let changed = read_after(&sample.modify_as(&Requester::internal(), admins, changes, &post_read).unwrap());
    assert_eq!(changed[0].1.len(), 401);
    let changes: &[(_, &str, &[&str])] = &[(Delete, "member", &many[..100])];
    let changed = read_after(&sample.modify_as(&Requester::internal(), admins, changes, &post_read).unwrap());
    assert_eq!(changed[0].1.len(), 301);
}

#[test]
fn updates_of_many_threads_are_all_made() {
    let sample = Sample::people();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let sample = &sample;
            scope.spawn(move || {
                for n in 0..25 {
                    let mail = format!("{thread}-{n}@example.com");
                    sample.modify(JENSEN, &[(Add, "mail", &[&mail])]).unwrap();
                }
            });
        }
    });
    assert_eq!(sample.read(JENSEN, &["mail"]).values("mail").len(), 101);
}

#[test]
fn values_come_and_go_one_by_one_and_in_crowds() {
    let sample = Sample::people();
    let numbers: Vec<String> = (0..40).map(|n| format!("{n:02}-smith@example.com")).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    sample.modify(SMITH, &[(Replace, "mail", &["00-smith@example.com"])]).unwrap();
    sample.modify(SMITH, &[(Add, "mail", &numbers[1..3]), (Add, "mail", &numbers[3..40])]).unwrap();
    for values in [&["05-SMITH@example.com"][..], &["a@b.c", "d@e.f", "g@h.i", "j@k.l", " 39-smith@EXAMPLE.com "]] {
        assert_eq!(code(sample.modify(SMITH, &[(Add, "mail", values)])), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    }
    for values in [&["absent@example.com"][..], &["00-smith@example.com", "01-smith@example.com", "a", "b", "c"]] {
        assert_eq!(code(sample.modify(SMITH, &[(Delete, "mail", values)])), ResultCode::NO_SUCH_ATTRIBUTE);
    }
    assert_eq!(sample.read(SMITH, &["mail"]).values("mail"), numbers);
    // Those that stay share parts with those that go.
    sample.modify(SMITH, &[(Delete, "mail", &["07-SMITH@example.com"])]).unwrap();
    let twice = [&numbers[10..20], &numbers[10..12]].concat();
    sample.modify(SMITH, &[(Delete, "mail", &twice), (Add, "mail", &["new@example.org"])]).unwrap();
    let left: Vec<&str> = [&numbers[..7], &numbers[8..10], &numbers[20..], &["new@example.org"]].concat();
    assert_eq!(sample.read(SMITH, &["mail"]).values("mail"), left);
    for (filter, expected) in [("07-smith*", 0), ("06-smith*", 1), ("1*-smith*", 0), ("*-smith@*", 1), ("*w@exam*", 1)]
    {
        let found = sample.found(&format!("(mail={filter})"));
        assert_eq!(found.iter().filter(|name| *name == SMITH).count(), expected, "{filter}");
    }
    assert!(sample.compare(SMITH, "mail", "06-SMITH@example.com").unwrap());
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn the_tables_fit_together_after_whatever_happened() {
    let sample = Sample::people();
    let many: Vec<String> = (0..400).map(|n| format!("cn=member{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let group = "cn=admins,ou=Groups,dc=example,dc=com";
    sample.modify(group, &[(Add, "member", &many)]).unwrap();
    sample.modify(group, &[(Delete, "member", &many[3..50])]).unwrap();
    sample.rename("ou=People,dc=example,dc=com", "ou=Staff", true, Some("ou=Groups,dc=example,dc=com")).unwrap();
    sample.modify("uid=jsmith,ou=Staff,ou=Groups,dc=example,dc=com", &[(Replace, "cn", &["J"])]).unwrap();
    sample.delete("uid=bjensen,ou=Staff,ou=Groups,dc=example,dc=com", &[]).unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
    let id = sample.directory.database().read().unwrap().table("entry").unwrap().last().unwrap().unwrap().0.to_vec();
    sample.directory.database().update(|txn| txn.table("entry")?.delete(id)).unwrap();
    assert!(problems(&sample).len() > 1);
}

#[test]
fn an_index_is_built_and_dropped_while_the_directory_is_used() {
    use duramen_directory::{Config, Index, IndexKinds};
    let sample = Sample::people();
    let index = |attribute: &str| Index {
        attribute: attribute.to_string(),
        kinds: IndexKinds { presence: true, equality: true, substring: true },
    };
    let config = Config { indices: Some(vec![index("telephoneNumber"), index("sn")]), ..Config::default() };
    sample.directory.reconfigure(config).unwrap();
    assert_eq!(sample.directory.incomplete_indices(), ["telephoneNumber"]);
    assert_eq!(sample.found("(telephoneNumber=*1862)"), [JENSEN]);
    sample.modify(SMITH, &[(Add, "telephoneNumber", &["+1 999 1862"])]).unwrap();
    assert_eq!(sample.found("(telephoneNumber=*1862)"), [JENSEN, SMITH]);
    let mut told = 0;
    sample
        .directory
        .reindex(&mut |done, total| {
            told += 1;
            done <= total
        })
        .unwrap();
    assert!(told > 0 && sample.directory.incomplete_indices().is_empty());
    let given = sample.search(BASE, "(telephoneNumber=*1862)", &Ask::default()).unwrap();
    assert_eq!(
        (given.names(), given.plan.as_str()),
        (vec![JENSEN, SMITH], "2 candidates, each tested, 2 looked at, 2 given")
    );
    assert_eq!(sample.found("(uid=jsmith)"), [SMITH], "without its index");
    assert_eq!(problems(&sample), Vec::<String>::new());
    let keys = sample.directory.database().read().unwrap().table("index").unwrap().len();
    assert!(keys < 80, "only two attributes are left: {keys}");
}

#[test]
fn a_name_that_is_spelt_otherwise_spells_the_attribute_so_too_rfc4511_4_9() {
    let sample = Sample::people();
    sample.rename("uid=bjensen,ou=People,dc=example,dc=com", "UID=BJensen", true, None).unwrap();
    let found = sample.search(BASE, "(uid=bjensen)", &Ask::default()).unwrap();
    assert_eq!(found.names(), ["uid=BJensen,ou=People,dc=example,dc=com"]);
    assert_eq!(found.values("uid"), ["BJensen"]);
    // Where the name was first spelt so without the attribute, it follows.
    sample.rename("uid=bjensen,ou=People,dc=example,dc=com", "uid=BJENSEN", false, None).unwrap();
    assert_eq!(sample.search(BASE, "(uid=bjensen)", &Ask::default()).unwrap().values("uid"), ["BJensen"]);
    sample.rename("uid=bjensen,ou=People,dc=example,dc=com", "uid=BJENSEN", true, None).unwrap();
    assert_eq!(sample.search(BASE, "(uid=bjensen)", &Ask::default()).unwrap().values("uid"), ["BJENSEN"]);
}

/// A thread remembers which types and classes go together.
#[test]
fn what_was_right_or_was_let_pass_makes_nothing_else_right_rfc4512_2_4() {
    let sample = Sample::people();
    let (me, relax) = (Requester::internal(), [control(oid::RELAX)]);
    let add = |rdn: &str, class: &str, others: &[&'static str], controls: &[Control<'_>]| {
        let mut attributes = vec![("objectClass", vec![class.as_bytes()])];
        attributes.extend(others.iter().map(|other| (*other, vec![&b"x"[..]])));
        ended(sample.add_as(&me, &format!("{rdn},dc=example,dc=com"), &attributes, controls))
    };
    for n in 0..3 {
        assert_eq!(add(&format!("cn=relaxed{n}"), "inetOrgPerson", &[], &relax), ResultCode::SUCCESS);
        assert_eq!(add("cn=bare", "inetOrgPerson", &[], &[]), ResultCode::OBJECT_CLASS_VIOLATION, "no sn");
        assert_eq!(add(&format!("cn=right{n}"), "inetOrgPerson", &["sn"], &[]), ResultCode::SUCCESS);
        assert_eq!(add("cn=device", "device", &["sn"], &[]), ResultCode::OBJECT_CLASS_VIOLATION, "no such attribute");
        assert_eq!(add("cn=class", "nonsense", &["sn"], &[]), ResultCode::INVALID_ATTRIBUTE_SYNTAX);
        let right = format!("cn=right{n},dc=example,dc=com");
        let modify = |kind, description: &str, values: &[&str]| {
            ended(sample.modify_as(&me, &right, &[(kind, description, values)], &[]))
        };
        assert_eq!(modify(Replace, "description", &["x"]), ResultCode::SUCCESS);
        assert_eq!(modify(Delete, "sn", &[]), ResultCode::OBJECT_CLASS_VIOLATION);
        assert_eq!(modify(Replace, "cn", &["another"]), ResultCode::NOT_ALLOWED_ON_RDN);
        assert_eq!(modify(Replace, "objectClass", &["device"]), ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
        assert_eq!(modify(Add, "uidNumber", &["1"]), ResultCode::OBJECT_CLASS_VIOLATION);
    }
}

/// RFC 4512 section 2.5: descriptions are the same if they have the same options.
#[test]
fn an_option_that_is_written_twice_is_there_once() {
    let sample = Sample::people();
    sample.modify(JENSEN, &[(Replace, "cn;lang-de;LANG-DE", &["a"])]).unwrap();
    assert_eq!(sample.read(JENSEN, &["cn;lang-de"]).entries[0].1, [("cn;lang-de".to_string(), vec!["a".to_string()])]);
    sample.modify(JENSEN, &[(Add, "cn;lang-fr;lang-fr;x-a", &["b"]), (Add, "cn;x-a;lang-fr", &["c"])]).unwrap();
    let shown = sample.read(JENSEN, &["cn;lang-fr"]);
    assert_eq!(shown.entries[0].1, [("cn;lang-fr;x-a".to_string(), vec!["b".to_string(), "c".to_string()])]);
    sample.modify(JENSEN, &[(Delete, "cn;lang-de;lang-de", &[]), (Delete, "cn;x-a;lang-fr", &[])]).unwrap();
    assert_eq!(sample.read(JENSEN, &["cn"]).entries[0].1.len(), 1);
}

/// draft-zeilenga-ldap-relax section 3: who restores entries says who changed them, and when.
#[test]
fn who_relaxes_rules_says_who_changed_an_entry() {
    let sample = Sample::people();
    let (me, relax) = (Requester::internal(), [control(oid::RELAX)]);
    let told = ["modifiersName", "modifyTimestamp", "entryCSN"];
    let given = ["cn=a", "19700101000000Z", "19700101000000.000000Z#000000#000#000000"];
    let changes: Vec<_> =
        told.iter().zip(&given).map(|(name, value)| (Replace, *name, std::slice::from_ref(value))).collect();
    sample.modify_as(&me, JENSEN, &changes, &relax).unwrap();
    let shown = |name| sample.read(JENSEN, &[name]).values(name).join(" ");
    assert_eq!(told.map(shown), given);
    sample.modify_as(&me, JENSEN, &[(Replace, "description", &["a"]), (Delete, "modifiersName", &[])], &relax).unwrap();
    assert!(told.iter().zip(&given).all(|(name, given)| shown(name) != *given), "by others it is set as ever");
    assert_eq!(code(sample.modify(JENSEN, &changes)), ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn operational_attributes_name_nothing() {
    let sample = Sample::people();
    let name = "entryUUID=597ae2f6-16a6-1027-98f4-d28b5365dc14,dc=example,dc=com";
    let added = sample.add(name, &[("objectClass", vec![b"device"]), ("cn", vec![b"x"])]);
    assert_eq!(code(added), ResultCode::NAMING_VIOLATION);
    let relax = [control(oid::RELAX)];
    let relaxed =
        sample.add_as(&Requester::internal(), name, &[("objectClass", vec![b"device"]), ("cn", vec![b"x"])], &relax);
    assert_eq!(code(relaxed), ResultCode::NAMING_VIOLATION);
}

#[test]
fn attributes_without_equality_name_nothing_rfc4512_2_5_1() {
    let sample = Sample::people();
    let person = [("objectClass", vec![&b"inetOrgPerson"[..]]), ("cn", vec![b"x"]), ("sn", vec![b"x"])];
    assert_eq!(code(sample.add("jpegPhoto=x,dc=example,dc=com", &person)), ResultCode::NAMING_VIOLATION);
    assert_eq!(code(sample.add("cn=x+jpegPhoto=x,dc=example,dc=com", &person)), ResultCode::NAMING_VIOLATION);
    assert_eq!(code(sample.rename(JENSEN, "jpegPhoto=x", false, None)), ResultCode::NAMING_VIOLATION);
}

#[test]
fn an_identifier_that_is_given_is_no_other_entrys_rfc4530_2() {
    let sample = Sample::people();
    let (me, relax) = (Requester::internal(), [control(oid::RELAX)]);
    let given = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
    let add = |rdn: &str, identifier: &str| {
        let attributes = [("objectClass", vec![&b"device"[..]]), ("entryUUID", vec![identifier.as_bytes()])];
        ended(sample.add_as(&me, &format!("{rdn},dc=example,dc=com"), &attributes, &relax))
    };
    let replace =
        |name: &str, identifier| ended(sample.modify_as(&me, name, &[(Replace, "entryUUID", &[identifier])], &relax));
    assert_eq!(add("cn=a", given), ResultCode::SUCCESS);
    assert_eq!(add("cn=b", &given.to_uppercase()), ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(replace(JENSEN, given), ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(replace("cn=a,dc=example,dc=com", given), ResultCode::SUCCESS, "its own");
    let another = "597ae2f6-16a6-1027-98f4-d28b5365dc15";
    assert_eq!(replace(JENSEN, another), ResultCode::SUCCESS);
    assert_eq!(add("cn=b", another), ResultCode::CONSTRAINT_VIOLATION);
    // Those of one commit know of each other.
    let third = "597ae2f6-16a6-1027-98f4-d28b5365dc16";
    let added = std::thread::scope(|scope| {
        let threads = ["cn=c", "cn=d", "cn=e", "cn=f"].map(|rdn| scope.spawn(move || add(rdn, third)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(added.iter().filter(|code| **code == ResultCode::SUCCESS).count(), 1, "{added:?}");
    assert_eq!(problems(&sample), [""; 0]);
}

#[test]
fn a_name_with_a_value_that_its_attribute_cannot_have_is_no_name_rfc4511_a_2() {
    let sample = Sample::people();
    let renamed = code(sample.rename("uid=bjensen,ou=People,dc=example,dc=com", "uid=", true, None));
    assert_eq!(renamed, ResultCode::INVALID_DN_SYNTAX);
}

#[test]
fn long_values_and_names_are_as_short_ones_up_to_a_limit() {
    let sample = Sample::people();
    let (long, other) = (format!("{}a", "x".repeat(5000)), format!("{}b", "x".repeat(5000)));
    for value in [&long, &other] {
        let name = format!("cn={value},{BASE}");
        sample.add(&name, &[("objectClass", vec![b"person"]), ("sn", vec![value.as_bytes()])]).unwrap();
        assert_eq!(sample.found(&format!("(sn={})", value.to_uppercase())), [name.as_str()]);
        assert_eq!(sample.read(&name, &["sn"]).values("sn"), [value.as_str()]);
    }
    sample.delete(&format!("cn={long},{BASE}"), &[]).unwrap();
    assert_eq!(sample.found("(sn=xxx*)"), [format!("cn={other},{BASE}")]);
    let longer = format!("cn={},{BASE}", "x".repeat(11_000));
    let refused = sample.add(&longer, &[("objectClass", vec![b"person"]), ("sn", vec![b"x"])]);
    assert_eq!(code(refused), ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn what_has_too_many_attributes_is_refused_at_once() {
    let tag = |n: usize| {
        format!(
            "description;lang-{}",
            [n / 676, n / 26 % 26, n % 26].map(|n| (b'a' + n as u8) as char).iter().collect::<String>()
        )
    };
    let names: Vec<String> = (0..10_100).map(tag).collect();
    let mut attributes: Vec<(&str, Vec<&[u8]>)> = names.iter().map(|name| (name.as_str(), vec![&b"x"[..]])).collect();
    attributes.extend([("objectClass", vec![&b"device"[..]]), ("cn", vec![b"x"])]);
    let sample = Sample::people();
    assert_eq!(code(sample.add("cn=x,dc=example,dc=com", &attributes)), ResultCode::ADMIN_LIMIT_EXCEEDED);
    // Nobody is to keep others waiting so.
    let nobody = Requester { is_administrator: false, ..Requester::internal() };
    let added = sample.add_as(&nobody, "cn=x,dc=example,dc=com", &attributes, &[]);
    assert_eq!(code(added), ResultCode::STRONGER_AUTH_REQUIRED);
    // Nor is it waited for whether some go again.
    let come = names.iter().map(|name| (Add, name.as_str(), &["x"][..]));
    let go = names.iter().map(|name| (Delete, name.as_str(), &[][..]));
    let changes: Vec<_> = come.chain(go).collect();
    assert_eq!(code(sample.modify(JENSEN, &changes)), ResultCode::ADMIN_LIMIT_EXCEEDED);
}

#[test]
fn changes_of_single_values_are_as_one_of_many_or_are_refused_before_they_take_long() {
    let sample = Sample::people();
    let values: Vec<String> = (0..6000).map(|n| format!("value {n}")).collect();
    let single: Vec<[&str; 1]> = values.iter().map(|value| [value.as_str()]).collect();
    // One after the other they are held against those that are there once for all.
    let come: Vec<_> = single.iter().map(|value| (Add, "description", &value[..])).collect();
    sample.modify(JENSEN, &come).unwrap();
    assert_eq!(sample.read(JENSEN, &["description"]).values("description"), values);
    let twice = [(Add, "description", &["new"][..]), (Add, "description", &["NEW"])];
    assert_eq!(code(sample.modify(JENSEN, &twice)), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    // With others in between, each is looked for among all, and so are some at a time.
    let between = || (0..).flat_map(|_| [(Add, "title", &["x"][..]), (Delete, "title", &["x"])]);
    let last = single.iter().rev().map(|value| (Delete, "description", &value[..]));
    let one_by_one = last.zip(between()).flat_map(|(one, other)| [one, other]).collect();
    let some = (0..3000).zip(between()).flat_map(|(n, other)| {
        let kind = if n % 2 == 0 { Delete } else { Add };
        [(kind, "description", &["value 1", "value 2", "value 3", "value 4", "value 5"][..]), other]
    });
    for changes in [one_by_one, some.collect::<Vec<_>>()] {
        let refused = sample.modify(JENSEN, &changes).unwrap_err();
        assert_eq!(refused.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
        assert!(refused.diagnostic.contains("in one change"), "{}", refused.diagnostic);
    }
    assert_eq!(sample.read(JENSEN, &["description"]).values("description").len(), 6000);
}

#[test]
fn names_and_classes_are_written_down_in_one_form_whoever_sends_them_rfc4514() {
    let sample = Sample::people();
    let member = vec![&b"uid=bjensen, ou=People, dc=example, dc=com"[..], b"CN = a\\2Cb ;dc=x"];
    let attributes = [("objectClass", vec![&b"GROUPofNames"[..], b"2.5.6.0"]), ("member", member)];
    sample.add("2.5.4.3=\\54eam + OU = b,ou=People,dc=example,dc=com", &attributes).unwrap();
    let name = "cn=Team+ou=b,ou=People,dc=example,dc=com";
    let group = sample.read(name, &["*"]);
    assert_eq!(group.names(), [name]);
    assert_eq!(group.values("objectClass"), ["groupOfNames", "top"]);
    assert_eq!(group.values("member"), [JENSEN, "cn=a\\,b,dc=x"]);
    sample.modify(name, &[(Add, "member", &["UID=jsmith , ou=People,dc=example,dc=com"])]).unwrap();
    assert_eq!(sample.read(name, &[]).values("member"), [JENSEN, "cn=a\\,b,dc=x", SMITH]);
    let again = sample.modify(name, &[(Add, "member", &["uid=jsmith,OU=people,dc=example,dc=com"])]);
    assert_eq!(code(again), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    sample.modify(name, &[(Delete, "member", &["cn = a\\,b, dc=x"])]).unwrap();
    sample.rename(name, "CN = Spaced", true, None).unwrap();
    assert_eq!(&*sample.directory.name("UID = bjensen , dc=x").unwrap().written, "uid=bjensen,dc=x");
    assert_eq!(
        sample.found("(member=uid=jsmith, ou=People, dc=example, dc=com)"),
        ["cn=Spaced,ou=People,dc=example,dc=com"]
    );
}

#[test]
fn what_other_servers_have_as_entries_is_refused_with_the_way_that_there_is() {
    let sample = Sample::people();
    let schema = sample.add("cn=sudo,cn=schema,cn=config", &[("olcAttributeTypes", vec![b"( 1.2.3 NAME 'x' )"])]);
    let failures = [
        schema.unwrap_err(),
        sample.modify("olcDatabase={1}mdb,CN=config", &[(Replace, "olcLogLevel", &["stats"])]).unwrap_err(),
        sample.modify("cn=Subschema", &[(Add, "attributeTypes", &["( 1.2.3 NAME 'x' )"])]).unwrap_err(),
        sample.delete("cn=Threads,cn=Monitor", &[]).unwrap_err(),
    ];
    for failure in &failures {
        assert_eq!(failure.code, ResultCode::UNWILLING_TO_PERFORM, "{failure:?}");
    }
    assert!(failures[0].diagnostic.contains("`schema` of `[directory]`"), "{:?}", failures[0]);
    let within = "cn=config,dc=example,dc=com";
    sample.add(within, &[("objectClass", vec![b"person"]), ("sn", vec![b"x"])]).unwrap();
}

#[test]
fn the_root_dse_is_not_changed_by_any_update_rfc4512_section_5_1() {
    let sample = Sample::people();
    let failures = [
        sample.modify("", &[(Replace, "description", &["x"])]).unwrap_err(),
        sample.delete("", &[]).unwrap_err(),
        sample.rename("", "cn=x", true, None).unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(failure.code, ResultCode::UNWILLING_TO_PERFORM, "{failure:?}");
        assert!(failure.diagnostic.contains("root DSE"), "{failure:?}");
    }
    let added = sample.add("", &[("objectClass", vec![b"domain"])]);
    assert_eq!(code(added), ResultCode::ENTRY_ALREADY_EXISTS);
}

#[test]
fn an_entry_that_is_sent_without_attributes_is_no_entry() {
    let sample = Sample::people();
    let refused = sample.add("cn=x,ou=People,dc=example,dc=com", &[]).unwrap_err();
    assert_eq!(refused.code, ResultCode::PROTOCOL_ERROR, "{refused:?}");
    assert!(refused.diagnostic.contains("objectClass"), "{refused:?}");
}

#[test]
fn who_adds_an_entry_that_is_below_no_suffix_is_told_which() {
    let sample = Sample::people();
    let classes = [("objectClass", vec![&b"organization"[..], b"dcObject"]), ("o", vec![b"new"]), ("dc", vec![b"com"])];
    for name in ["o=new", "o=x,o=new", "dc=com"] {
        let refused = sample.add(name, &classes).unwrap_err();
        assert_eq!(refused.code, ResultCode::NO_SUCH_OBJECT, "{refused:?}");
        assert!(refused.diagnostic.starts_with(&format!("{name:?} is none")), "{refused:?}");
    }
}
