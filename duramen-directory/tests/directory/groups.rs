//! Groups with very many members: their values are outside the entry.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use duramen_directory::{Config, Directory, Durability, Requester, SchemaFile};
use duramen_ldap::Payload;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::control::{SortKey, SortKeys};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::ChangeKind::{Add, Delete, Increment, Replace};
use duramen_ldap::message::{Change, ChangeKind, Control, ModifyRequest, Request, ResultCode, Scope};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const GROUP: &str = "cn=many,ou=Groups,dc=example,dc=com";

fn member(n: usize) -> String {
    format!("uid=user{n},ou=People,dc=example,dc=com")
}

fn with_group(members: usize) -> Sample {
    let sample = Sample::people();
    let names: Vec<String> = (0..members).map(member).collect();
    let values: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    sample.add(GROUP, &[("objectClass", vec![b"groupOfNames"]), ("member", values)]).unwrap();
    sample
}

#[test]
fn a_large_group_is_as_a_small_one() {
    for count in [3, 255, 257, 1000] {
        let sample = with_group(count);
        assert_eq!(sample.read(GROUP, &[]).values("member").len(), count);
        let one = member(1).to_uppercase();
        assert_eq!(sample.found(&format!("(member={one})")), [GROUP], "{count}");
        assert_eq!(sample.compare(GROUP, "member", &one), Ok(true));
        assert_eq!(sample.compare(GROUP, "member", "cn=nobody"), Ok(false));
        assert_eq!(code(sample.modify(GROUP, &[(Add, "member", &[&one])])), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
        assert_eq!(code(sample.modify(GROUP, &[(Delete, "member", &["cn=x"])])), ResultCode::NO_SUCH_ATTRIBUTE);
        sample.modify(GROUP, &[(Delete, "member", &[&one, &member(1)]), (Add, "member", &["cn=new"])]).unwrap();
        assert_eq!(sample.found(&format!("(member={one})")).len(), 0);
        assert_eq!(sample.found("(member=cn=new)"), [GROUP]);
        assert_eq!(sample.found("(&(cn=many)(member=*))"), [GROUP]);
        assert_eq!(sample.read(GROUP, &["member"]).values("member").len(), count);
        assert_eq!(code(sample.modify(GROUP, &[(Delete, "member", &[])])), ResultCode::OBJECT_CLASS_VIOLATION);
        sample.modify(GROUP, &[(Replace, "member", &["cn=last"])]).unwrap();
        assert_eq!(sample.read(GROUP, &[]).values("member"), ["cn=last"]);
        assert_eq!(sample.found("(member=cn=new)").len(), 0);
        sample.delete(GROUP, &[]).unwrap();
        assert_eq!(sample.found("(member=cn=last)").len(), 0);
        assert_eq!(sample.found("(cn=many)").len(), 0);
    }
}

#[test]
fn very_many_values_are_given_whole_whatever_an_entry_notes_of_their_length() {
    let sample = with_group(300);
    let members = || sample.read(GROUP, &["member"]).values("member").len();
    assert_eq!(members(), 300);
    let key = sample.directory.database().read().unwrap().table("entry").unwrap().last().unwrap().unwrap().0.to_vec();
    for change in [1, 255] {
        let damage = |txn: &mut duramen::WriteTxn<'_>| {
            let mut table = txn.table("entry")?;
            let mut entry = table.get(&key)?.unwrap().to_vec();
            let description = entry.windows(7).rposition(|bytes| bytes == b"\x06member").unwrap();
            entry[description - 4] = entry[description - 4].wrapping_add(change);
            table.put(&key, &entry)
        };
        sample.directory.database().update(damage).unwrap();
        assert_eq!(members(), 300);
        assert_eq!(problems(&sample).is_empty(), change == 255, "{:?}", problems(&sample));
    }
}

/// Values as they should be: how each is written, by its normalized form.
type Model = BTreeMap<String, String>;

/// Changes members at random, and the model so too.
fn random_change(random: &mut fastrand::Rng, model: &mut Model) -> (ChangeKind, Vec<String>) {
    let share = [2, 50, 100][random.usize(..3)];
    let others: Vec<String> = (0..600).map(member).filter(|_| random.u8(..100) < share).collect();
    let spelt = |name: String| if random.u8(..4) == 0 { name.replace("user", "User") } else { name };
    let others: Vec<String> = others.into_iter().map(spelt).collect();
    let some: Vec<String> = model.values().filter(|_| random.u8(..100) < share).cloned().collect();
    let (kind, mut values) = match random.u8(..4) {
        0 => (Delete, some),
        1 => (Replace, some),
        2 => (Replace, others),
        _ => (Add, others.into_iter().filter(|name| !model.contains_key(&name.to_lowercase())).collect()),
    };
    if kind == Replace {
        model.clear();
        values.retain(|value| value != "cn=always");
        values.push("cn=always".to_string());
    }
    match kind {
        Delete => values.iter().for_each(|value| drop(model.remove(&value.to_lowercase()))),
        _ => model.extend(values.iter().map(|value| (value.to_lowercase(), value.clone()))),
    }
    (kind, values)
}

#[test]
fn whatever_is_done_with_very_many_values_in_one_modify_is_done_in_order_rfc4511_4_6() {
    let (sample, mut random) = (with_group(300), fastrand::Rng::with_seed(11));
    let mut model: Model = (0..300).map(member).map(|name| (name.to_lowercase(), name)).collect();
    for round in 0..60 {
        let mut changes = Vec::new();
        while changes.is_empty() || random.bool() {
            let (kind, values) = random_change(&mut random, &mut model);
            if !values.is_empty() {
                changes.push((kind, values));
            }
        }
        if model.is_empty() {
            model.insert("cn=last".to_string(), "cn=last".to_string());
            changes.push((Add, vec!["cn=last".to_string()]));
        }
        let texts: Vec<Vec<&str>> =
            changes.iter().map(|(_, values)| values.iter().map(String::as_str).collect()).collect();
        let asked: Vec<_> =
            changes.iter().zip(&texts).map(|((kind, _), texts)| (*kind, "member", &texts[..])).collect();
        sample.modify(GROUP, &asked).unwrap_or_else(|failure| panic!("round {round}: {failure}"));
        let given = sample.read(GROUP, &["member"]);
        let found = given.values("member").into_iter().map(|name| (name.to_lowercase(), name.to_string()));
        assert_eq!(found.clone().count(), model.len(), "round {round}");
        assert!(found.collect::<Model>() == model, "round {round}");
        let n = random.usize(..600);
        let wanted = model.contains_key(&member(n).to_lowercase());
        assert_eq!(sample.found(&format!("(member={})", member(n))).len(), usize::from(wanted), "round {round}, {n}");
    }
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn members_of_a_groups_members_are_its_members_if_groups_are_nested() {
    for nested_groups in [false, true] {
        let config = Config { nested_groups, ..Config::default() };
        let sample = Sample::with(config);
        sample.load(PEOPLE);
        let group = |name: &str| format!("cn={name},ou=Groups,dc=example,dc=com");
        let person = "uid=jsmith,ou=People,dc=example,dc=com";
        // A circle, which all outer ones are above.
        let members = [("a", person.to_string()), ("b", group("a")), ("c", group("b")), ("top", group("c"))];
        for (name, member) in &members {
            let values = vec![("objectClass", vec![&b"groupOfNames"[..]]), ("member", vec![member.as_bytes()])];
            sample.add(&group(name), &values).unwrap();
        }
        sample.modify(&group("a"), &[(Add, "member", &[&group("c")])]).unwrap();
        let given = sample.read(person, &["memberOf"]);
        let mut found = given.values("memberOf");
        found.sort_unstable();
        let expected: Vec<String> =
            if nested_groups { ["a", "b", "c", "top"].map(group).into() } else { vec![group("a")] };
        assert_eq!(found, expected);
        for name in ["a", "b", "c", "top"] {
            let filter = format!("(&(uid=jsmith)(memberOf={}))", group(name));
            let is_member = nested_groups || name == "a";
            assert_eq!(sample.found(&filter).len(), usize::from(is_member), "{filter}");
            assert_eq!(sample.compare(person, "memberOf", &group(name)), Ok(is_member));
            // By itself, the group's members are the candidates.
            let found = sample.found(&format!("(memberOf={})", group(name)));
            assert_eq!(found.contains(&person.to_string()), is_member, "{found:?}");
        }
    }
}

#[test]
fn who_is_a_member_is_known_whatever_is_indexed() {
    let rules = "access to filter=(memberOf=cn=admins,ou=Groups,dc=example,dc=com) by * none\naccess to * by * read";
    let config = |nested_groups| Config {
        indices: Some(Vec::new()),
        access: Some(SchemaFile { name: "access.conf".into(), text: rules.into() }),
        nested_groups,
        ..Config::default()
    };
    let admins = "cn=admins,ou=Groups,dc=example,dc=com";
    let check = |sample: &Sample, indexed: bool| {
        assert_eq!(sample.plan(BASE, Scope::Subtree, &format!("(member={JENSEN})")).contains("no index"), !indexed);
        assert_eq!(sample.found(&format!("(memberOf={admins})")), [JENSEN]);
        assert_eq!(sample.found(&format!("(&(objectClass=person)(memberOf={admins}))")), [JENSEN]);
        let smith = "uid=jsmith,ou=People,dc=example,dc=com";
        assert_eq!(sample.found(&format!("(&(uid=*)(!(memberOf={admins})))")), [smith]);
        assert_eq!(sample.found("(memberOf=*)"), [JENSEN]);
        assert_eq!(sample.read(JENSEN, &["memberOf"]).values("memberOf"), [admins]);
        assert_eq!(sample.compare(JENSEN, "memberOf", admins), Ok(true));
        let requester = Requester { is_administrator: false, ..Requester::internal() };
        let ask = Ask { requester, ..Ask::default() };
        assert_eq!(sample.search(BASE, "(uid=*)", &ask).unwrap().names(), [smith], "the rule holds");
    };
    for nested_groups in [false, true] {
        let mut sample = Sample::with(config(nested_groups));
        sample.load(PEOPLE);
        check(&sample, true);
        // As a directory was made by who did not want these indices, and could do so.
        let forget = |txn: &mut duramen::WriteTxn<'_>| {
            let mut meta = txn.table("meta")?;
            ["2.5.4.31", "2.5.4.50"].iter().try_for_each(|oid| meta.delete(format!("index/{oid}")).map(drop))
        };
        sample.directory.database().update(forget).unwrap();
        let Sample { directory, folder } = sample;
        drop(directory);
        sample = Sample { directory: Directory::open(folder.path(), config(nested_groups)).unwrap(), folder };
        check(&sample, false);
        sample.directory.reindex(&mut |_, _| true).unwrap();
        check(&sample, true);
    }
}

#[test]
fn a_change_within_a_change_counts_rfc4511_4_6() {
    let sample = with_group(300);
    let two = member(2);
    sample.modify(GROUP, &[(Delete, "member", &[&two]), (Add, "member", &[&two])]).unwrap();
    assert_eq!(sample.read(GROUP, &[]).values("member").len(), 300);
    assert_eq!(sample.found(&format!("(member={two})")), [GROUP]);
    let twice = sample.modify(GROUP, &[(Delete, "member", &[&two]), (Delete, "member", &[&two])]);
    assert_eq!(code(twice), ResultCode::NO_SUCH_ATTRIBUTE);
    for emptied in [(Delete, "member", &[][..]), (Replace, "member", &[])] {
        let gone = sample.modify(GROUP, &[emptied, (Delete, "member", &[]), (Add, "member", &["cn=x"])]);
        assert_eq!(code(gone), ResultCode::NO_SUCH_ATTRIBUTE);
    }
    assert_eq!(sample.read(GROUP, &[]).values("member").len(), 300);
}

#[test]
fn what_is_among_very_many_and_under_an_option_is_found_by_either() {
    let sample = with_group(300);
    let (one, filter) = (member(1), format!("(member={})", member(1)));
    let there = |expected: usize| {
        assert_eq!(sample.found(&filter).len(), expected);
        assert_eq!(problems(&sample), Vec::<String>::new());
    };
    sample.modify(GROUP, &[(Add, "member;lang-en", &[&one, &member(2)])]).unwrap();
    there(1);
    sample.modify(GROUP, &[(Delete, "member", &[&one])]).unwrap();
    there(1);
    sample.modify(GROUP, &[(Add, "member", &[&one]), (Add, "member;lang-en", &["cn=x"])]).unwrap();
    sample.modify(GROUP, &[(Delete, "member;lang-en", &[&one])]).unwrap();
    there(1);
    sample.modify(GROUP, &[(Replace, "member;lang-de", &[&one]), (Delete, "member", &[&one])]).unwrap();
    there(1);
    sample.modify(GROUP, &[(Replace, "member", &["cn=last"])]).unwrap();
    there(1);
    sample.modify(GROUP, &[(Delete, "member;lang-de", &[])]).unwrap();
    there(0);
}

#[test]
fn one_of_very_many_names_an_entry_as_one_of_few_does() {
    for count in [3, 300] {
        let sample = Sample::people();
        let named = |uid: &str| format!("memberUid={uid},ou=Groups,dc=example,dc=com");
        let uids: Vec<String> = (0..count).map(|n| format!("u{n}")).collect();
        let values = uids.iter().map(|uid| uid.as_bytes()).collect();
        let of_group = [("objectClass", vec![&b"posixGroup"[..]]), ("cn", vec![b"g"]), ("gidNumber", vec![b"7"])];
        sample.add(&named("u1"), &[&of_group[..], &[("memberUid", values)]].concat()).unwrap();
        let there = |uid: &str, count: usize| {
            assert_eq!(sample.read(&named(uid), &[]).values("memberUid").len(), count);
            assert_eq!(sample.found(&format!("(memberUid={uid})")), [named(uid)]);
            assert_eq!(problems(&sample), Vec::<String>::new());
        };
        let gone = sample.modify(&named("u1"), &[(Delete, "memberUid", &["u1"])]);
        assert_eq!(code(gone), ResultCode::NOT_ALLOWED_ON_RDN, "{count}");
        sample.rename(&named("u1"), "memberUid=u2", true, None).unwrap();
        there("u2", count - 1);
        assert_eq!(sample.found("(memberUid=u1)").len(), 0);
        sample.rename(&named("u2"), "memberUid=new", false, None).unwrap();
        there("new", count);
        sample.rename(&named("new"), "memberUid=NEW", true, None).unwrap();
        there("NEW", count);
        assert_eq!(sample.found("(memberUid=new)").len(), 0, "case counts");
    }
}

#[test]
fn entries_are_sorted_by_the_least_of_very_many_values_too_rfc2891_1_2() {
    let sample = with_group(1000);
    for (name, members) in [("before", ["uid=user"]), ("behind", ["uid=user0a"])] {
        let members = members.map(|rdn| format!("{rdn},ou=People,dc=example,dc=com"));
        let values = members.iter().map(|name| name.as_bytes()).collect();
        let name = format!("cn={name},ou=Groups,dc=example,dc=com");
        sample.add(&name, &[("objectClass", vec![b"groupOfNames"]), ("member", values)]).unwrap();
    }
    let sorted = |reverse| {
        let (mut buffer, mut value) = (Vec::new(), Vec::new());
        let key = SortKey { description: "member", rule: Some("caseIgnoreOrderingMatch"), reverse };
        SortKeys(List::build(&mut buffer, [key])).encode(&mut value);
        let controls = vec![Control { oid: oid::SORT_REQUEST, critical: true, value: Some(&value) }];
        let given =
            sample.search(BASE, "(|(cn=many)(cn=be*)(cn=admins))", &Ask { controls, ..Ask::default() }).unwrap();
        given.names().iter().map(|name| name[3..].split(',').next().unwrap().to_string()).collect::<Vec<_>>()
    };
    let mut order = ["admins", "before", "many", "behind"];
    assert_eq!(sorted(false), order);
    order.reverse();
    assert_eq!(sorted(true), order);
}

#[test]
fn very_many_integers_are_incremented_as_few_are_rfc4525() {
    let text = "attributetype ( 1.3.6.1.4.1.99999.7.2 NAME 'port' EQUALITY integerMatch\n\
        \tSYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n";
    let schema = vec![SchemaFile { name: "own.schema".into(), text: text.into() }];
    let sample = Sample::with(Config { schema, ..Config::default() });
    sample.load(PEOPLE);
    let name = "cn=ports,dc=example,dc=com";
    let ports: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    let values = ports.iter().map(|port| port.as_bytes()).collect();
    sample.add(name, &[("objectClass", vec![b"device", b"extensibleObject"]), ("port", values)]).unwrap();
    sample.modify(name, &[(Add, "port", &["1000"]), (Delete, "port", &["0"]), (Increment, "port", &["7"])]).unwrap();
    let mut found: Vec<u32> =
        sample.read(name, &[]).values("port").iter().map(|value| value.parse().unwrap()).collect();
    found.sort_unstable();
    assert!(found.into_iter().eq((8..307).chain([1007])));
    assert_eq!(sample.found("(port=306)"), [name]);
    assert_eq!(sample.found("(port=1000)").len(), 0);
    let none = sample.modify(name, &[(Delete, "port", &[]), (Increment, "port", &["1"])]);
    assert_eq!(code(none), ResultCode::NO_SUCH_ATTRIBUTE);
}

/// Keys of values outside of the entry are made by the attribute's own rule of equality.
#[test]
fn very_many_values_match_by_other_rules_as_few_do_rfc4511_4_5_1_7() {
    let text = "attributetype ( 1.3.6.1.4.1.99999.7.2 NAME 'word' EQUALITY caseIgnoreMatch\n\
        \tSYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n\
        attributetype ( 1.3.6.1.4.1.99999.7.3 NAME 'exactWord' SUP word EQUALITY caseExactMatch )\n\
        attributetype ( 1.3.6.1.4.1.99999.7.4 NAME 'port' EQUALITY integerMatch\n\
        \tSYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n";
    let name = "cn=many,dc=example,dc=com";
    for count in [200, 300] {
        let schema = vec![SchemaFile { name: "own.schema".into(), text: text.into() }];
        let sample = Sample::with(Config { schema, ..Config::default() });
        sample.load(PEOPLE);
        let numbered = |before: &str| (0..count).map(|n| format!("{before}{n}").into_bytes()).collect::<Vec<_>>();
        let (words, exact, ports) = (numbered("Word "), numbered("Exact "), numbered(""));
        fn all(values: &[Vec<u8>]) -> Vec<&[u8]> {
            values.iter().map(Vec::as_slice).collect()
        }
        let attributes = [
            ("objectClass", vec![&b"device"[..], b"extensibleObject"]),
            ("word", all(&words)),
            ("exactWord", all(&exact)),
            ("port", all(&ports)),
        ];
        for (n, (filter, is_true)) in [
            ("(word=word 7)", true),
            ("(word:caseExactMatch:=Word 7)", true),
            ("(word:caseExactMatch:=word 7)", false),
            ("(word=exact 7)", true),
            ("(word:caseExactMatch:=Exact 7)", true),
            ("(exactWord=Exact 7)", true),
            ("(exactWord=exact 7)", false),
            ("(exactWord:caseIgnoreMatch:=exact 7)", true),
            ("(:caseExactMatch:=Exact 7)", true),
            ("(port:1.2.840.113556.1.4.803:=129)", true),
            ("(port:1.2.840.113556.1.4.803:=1024)", false),
            ("(port:1.2.840.113556.1.4.804:=1088)", true),
        ]
        .into_iter()
        .enumerate()
        {
            let asserted = FilterBuf::parse(filter).unwrap();
            let control = Control { oid: oid::ASSERTION, critical: true, value: Some(asserted.as_filter().encoded()) };
            let added = sample.add_as(&Requester::internal(), name, &attributes, &[control]);
            assert_eq!(added.is_ok(), is_true, "{count}, asserted of a new entry: {filter}");
            if !is_true {
                sample.add(name, &attributes).unwrap();
            }
            assert_eq!(sample.found(filter) == [name], is_true, "{count}: {n} {filter}");
            sample.delete(name, &[]).unwrap();
        }
        sample.add(name, &attributes).unwrap();
        assert_eq!(sample.compare(name, "word", "exact 7"), Ok(true), "{count}");
        assert_eq!(sample.compare(name, "exactWord", "exact 7"), Ok(false), "{count}");
    }
}

#[test]
fn members_know_their_groups_and_nobody_else_does() {
    let sample = with_group(400);
    let jensen = "uid=bjensen,ou=People,dc=example,dc=com";
    sample.modify(GROUP, &[(Add, "member", &[jensen])]).unwrap();
    let mut groups: Vec<String> =
        sample.read(jensen, &["memberOf"]).values("memberOf").into_iter().map(str::to_string).collect();
    groups.sort();
    assert_eq!(groups, ["cn=admins,ou=Groups,dc=example,dc=com", GROUP]);
    assert_eq!(sample.found(&format!("(memberOf={GROUP})")), [jensen]);
    sample.delete(GROUP, &[]).unwrap();
    assert_eq!(sample.read(jensen, &["memberOf"]).values("memberOf").len(), 1);
}

#[test]
fn few_are_asked_whether_they_are_in_a_large_group_instead_of_finding_all_its_members() {
    let sample = with_group(1_500);
    for n in (0..20).chain(2_000..2_020) {
        let attributes = [("objectClass", vec![&b"inetOrgPerson"[..]]), ("cn", vec![b"Anna"]), ("sn", vec![b"Smith"])];
        sample.add(&member(n), &attributes).unwrap();
    }
    for part in ["(cn=*ann*)", "(objectClass=person)(cn=anna)", "(|(cn=*ann*)(cn=nobody))"] {
        for filter in [format!("(&{part}(memberOf={GROUP}))"), format!("(&(memberOf={GROUP}){part})")] {
            let given = sample.search(BASE, &filter, &Ask::default()).unwrap();
            assert_eq!(given.names().len(), 20, "{filter}: {}", given.plan);
        }
    }
    let given = sample.search(BASE, &format!("(&(memberOf={GROUP})(cn=*ann*))"), &Ask::default()).unwrap();
    assert!(given.plan.contains(" 40 looked at"), "{}", given.plan);
    assert_eq!(sample.found(&format!("(&(memberOf={GROUP})(!(cn=*ann*)))")), Vec::<String>::new());
}

#[test]
fn what_finding_candidates_costs_has_a_bound_and_answers_stay_the_same() {
    let sample = with_group(2000);
    sample.modify(GROUP, &[(Add, "member", &["uid=jsmith,ou=People,dc=example,dc=com"])]).unwrap();
    let plan_of = |groups: usize| {
        let filter = format!("(|{})", format!("(memberOf={GROUP})").repeat(groups));
        assert_eq!(sample.found(&filter), ["uid=jsmith,ou=People,dc=example,dc=com"], "{groups}");
        sample.plan(BASE, Scope::Subtree, &filter)
    };
    let is_walked = |plan: String| plan.contains("entries are walked");
    assert!(!is_walked(plan_of(3)));
    // As costly as a million of members: no other connection has its turn meanwhile.
    assert!(is_walked(plan_of(500)));
}

/// Whether an update is made although nobody asks for its outcome: by another thread, that is.
fn is_made_elsewhere(sample: &Sample, request: &Request<'_>, is_done: impl Fn() -> bool) -> bool {
    let (who, end) = (Requester::internal(), Instant::now() + Duration::from_secs(60));
    let update = sample.directory.update_async(&who, request, List::default(), Duration::ZERO);
    while !is_done() {
        if Instant::now() > end {
            drop(update);
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[test]
fn what_takes_away_very_many_values_is_made_by_another_thread() {
    let sample = Sample::with(Config { durability: Durability::Relaxed, ..Config::default() });
    sample.load(PEOPLE);
    let names: Vec<String> = (0..1000).map(member).collect();
    let values: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    sample.add(GROUP, &[("objectClass", vec![b"groupOfNames"]), ("member", values.clone())]).unwrap();
    let count = || sample.found("(cn=many)").first().map_or(0, |_| sample.read(GROUP, &[]).values("member").len());
    let (mut values_buffer, mut changes_buffer) = (Vec::new(), Vec::new());
    let attribute = Attribute { description: "member", values: List::build(&mut values_buffer, [values[0]]) };
    let changes = List::build(&mut changes_buffer, [Change { kind: Replace, attribute }]);
    let replace = Request::Modify(ModifyRequest { name: GROUP, changes });
    assert!(is_made_elsewhere(&sample, &replace, || count() == 1));
    sample
        .add("cn=b,dc=example,dc=com", &[("objectClass", vec![b"groupOfNames"]), ("member", values.clone())])
        .unwrap();
    let is_gone = || sample.found("(cn=b)").is_empty();
    assert!(is_made_elsewhere(&sample, &Request::Delete("CN=b, dc=example,dc=com"), is_gone));
}
