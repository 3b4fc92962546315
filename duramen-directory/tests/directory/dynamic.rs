//! Dynamic groups and lists (OpenLDAP's overlay `dynlist`). What slapd shows is compared elsewhere.

use duramen_directory::{
    Config, Directory, DynamicList, DynamicListPart, Method, Requester, SchemaFile, Setting, Shows,
};
use duramen_ldap::Payload;
use duramen_ldap::control::PagedResults;
use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
use duramen_ldap::message::{Control, ResultCode, Scope};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";
const ODD: &str = "cn=odd,ou=Groups,dc=example,dc=com";

fn groups(member_of: bool) -> DynamicList {
    DynamicList {
        class: "groupOfURLs".into(),
        urls: "memberURL".into(),
        shows: Shows::Members { attribute: "member".into(), in_member_of: member_of },
        restrict: None,
    }
}

fn lists(renamed: &[(&str, &str)]) -> DynamicList {
    let renamed = renamed.iter().map(|(from, to)| (from.to_string(), to.to_string())).collect();
    let shows = Shows::Attributes { renamed };
    DynamicList { class: "labeledURIObject".into(), urls: "labeledURI".into(), shows, restrict: None }
}

fn config(dynamic_lists: Vec<DynamicList>) -> Config {
    Config { dynamic_lists, ..Config::default() }
}

/// The people, with lists of both kinds.
fn people() -> Sample {
    people_with(Config { nested_groups: true, ..config(vec![groups(true), lists(&[("manager", "seeAlso")])]) })
}

fn people_with(config: Config) -> Sample {
    let sample = Sample::people();
    sample.directory.reconfigure(config).unwrap();
    sample
}

fn group(cn: &str) -> String {
    format!("cn={cn},ou=Groups,dc=example,dc=com")
}

/// Adds a group of what these URLs find.
fn add_group(sample: &Sample, cn: &str, urls: &[&str], more: &[(&str, &str)]) {
    let class: &[u8] =
        if more.iter().any(|(name, _)| name.starts_with("dg")) { b"dgIdentityAux" } else { b"extensibleObject" };
    let mut attributes = vec![("objectClass", vec![&b"groupOfURLs"[..], class]), ("cn", vec![cn.as_bytes()])];
    attributes.push(("memberURL", urls.iter().map(|url| url.as_bytes()).collect()));
    attributes.extend(more.iter().map(|(name, value)| (*name, vec![value.as_bytes()])));
    sample.add(&group(cn), &attributes).unwrap();
}

fn members(sample: &Sample, cn: &str) -> Vec<String> {
    members_for(sample, cn, &Requester::internal())
}

fn members_for(sample: &Sample, cn: &str, requester: &Requester) -> Vec<String> {
    let ask = Ask { scope: Scope::Base, attributes: &["member"], requester: requester.clone(), ..Ask::default() };
    let given = sample.search(&group(cn), "(objectClass=*)", &ask).unwrap();
    assert_eq!(given.failure, None, "{cn}");
    let mut members: Vec<String> = given.values("member").into_iter().map(str::to_string).collect();
    members.sort();
    members
}

fn somebody(sample: &Sample, name: &str) -> Requester {
    let name = sample.directory.name(name).unwrap();
    Requester { name, method: Method::Password, is_administrator: false, ..Requester::internal() }
}

#[test]
fn a_group_has_the_members_that_its_urls_find() {
    let sample = people();
    add_group(&sample, "odd", &["ldap:///ou=people,dc=example,dc=com??sub?(sn=jensen)"], &[]);
    add_group(
        &sample,
        "both",
        &["ldap:///ou=people,dc=example,dc=com??one?(uid=*)", &format!("ldap:///{SMITH}")],
        &[("member", SMITH)],
    );
    assert_eq!(members(&sample, "odd"), [JENSEN]);
    assert_eq!(members(&sample, "both"), [JENSEN, SMITH], "none is there twice");
    assert_eq!(sample.read(ODD, &[]).values("member"), [JENSEN], "all attributes are asked for");
    assert_eq!(sample.read(ODD, &["cn"]).values("member").len(), 0);
    let types = Ask { scope: Scope::Base, types_only: true, ..Ask::default() };
    let given = sample.search(ODD, "(objectClass=*)", &types).unwrap();
    assert!(given.entries[0].1.iter().any(|(name, values)| name == "member" && values.is_empty()), "{given:?}");
    // Who changes entries sees them as they are stored.
    let stored = Ask { scope: Scope::Base, controls: vec![control(oid::MANAGE_DSA_IT)], ..Ask::default() };
    assert_eq!(sample.search(ODD, "(objectClass=*)", &stored).unwrap().values("member").len(), 0);
    assert_eq!(
        sample
            .search(BASE, &format!("(member={JENSEN})"), &Ask { scope: Scope::Subtree, ..stored })
            .unwrap()
            .names()
            .len(),
        1
    );
    sample.modify(JENSEN, &[(Replace, "sn", &["Smith"])]).unwrap();
    assert!(members(&sample, "odd").is_empty());
}

#[test]
fn members_are_compared_and_found() {
    let sample = people();
    add_group(&sample, "odd", &["ldap:///ou=people,dc=example,dc=com??sub?(sn=jensen)"], &[]);
    add_group(&sample, "none", &["ldap:///ou=people,dc=example,dc=com??sub?(sn=nobody)"], &[]);
    assert_eq!(sample.compare(ODD, "member", "UID=bjensen, ou=People,dc=example,dc=com"), Ok(true));
    assert_eq!(sample.compare(ODD, "member", SMITH), Ok(false));
    assert_eq!(sample.compare(ODD, "member", "uid=nobody,dc=example,dc=com"), Ok(false));
    let admins = group("admins");
    assert_eq!(sample.found(&format!("(member={JENSEN})")), [&admins, ODD]);
    assert_eq!(sample.found(&format!("(&(objectClass=groupOfURLs)(member={JENSEN}))")), [ODD]);
    assert_eq!(sample.found(&format!("(&(objectClass=groupOfURLs)(!(member={JENSEN})))")), [group("none")]);
    assert_eq!(sample.found("(&(objectClass=groupOfURLs)(member=*))"), [ODD]);
    assert_eq!(sample.found("(member:dnSubtreeMatch:=ou=people,dc=example,dc=com)"), [&admins, ODD]);
    let many: String = (0..9).map(|n| format!("(member=uid=u{n},dc=example,dc=com)")).collect();
    assert_eq!(sample.found(&format!("(|{many}(member={JENSEN}))")), [&admins, ODD]);
    assert_eq!(sample.found(&format!("(member={SMITH})")), [""; 0]);
}

#[test]
fn groups_count_in_member_of_and_in_groups_of_groups() {
    let sample = people();
    add_group(&sample, "odd", &["ldap:///ou=people,dc=example,dc=com??sub?(sn=jensen)"], &[]);
    add_group(&sample, "groups", &["ldap:///dc=example,dc=com??sub?(objectClass=groupOfURLs)"], &[]);
    sample.modify(&group("admins"), &[(Replace, "member", &[&group("groups")])]).unwrap();
    let of = |name: &str| {
        let given = sample.read(name, &["memberOf"]);
        let mut groups: Vec<String> = given.values("memberOf").into_iter().map(str::to_string).collect();
        groups.sort();
        groups
    };
    let all = [group("admins"), group("groups"), ODD.to_string()];
    assert_eq!(of(JENSEN), all);
    assert_eq!(of(SMITH), [""; 0]);
    // It finds itself, which is no end of it.
    assert_eq!(of(&group("groups")), all[..2]);
    for found in &all {
        assert!(sample.found(&format!("(memberOf={found})")).contains(&JENSEN.to_string()), "{found}");
        assert_eq!(sample.compare(JENSEN, "memberOf", found), Ok(true));
        assert_eq!(sample.compare(SMITH, "memberOf", found), Ok(false));
    }
    assert_eq!(sample.found(&format!("(memberOf={ODD})")), [JENSEN]);
    assert_eq!(sample.found(&format!("(&(uid=*)(!(memberOf={ODD})))")), [SMITH]);
    assert_eq!(sample.found("(&(uid=*)(memberOf=*))"), [JENSEN]);
    // Where groups in groups do not count, and where such groups do not count at all.
    sample.directory.reconfigure(config(vec![groups(true)])).unwrap();
    assert_eq!(of(JENSEN), [ODD]);
    assert_eq!(sample.found(&format!("(memberOf={})", group("admins"))), [group("groups")]);
    sample.directory.reconfigure(config(vec![groups(false)])).unwrap();
    assert_eq!(of(JENSEN), [""; 0]);
    assert_eq!(sample.found(&format!("(memberOf={ODD})")), [""; 0]);
}

#[test]
fn a_list_shows_attributes_of_what_its_urls_find() {
    let sample = people();
    sample
        .modify(SMITH, &[(Add, "mail", &["BJENSEN@example.com", "js@example.com"]), (Add, "manager", &[JENSEN])])
        .unwrap();
    let add = |ou: &str, url: &str| {
        let classes: Vec<&[u8]> = vec![b"organizationalUnit", b"labeledURIObject", b"extensibleObject"];
        let attributes = [
            ("objectClass", classes),
            ("ou", vec![ou.as_bytes()]),
            ("labeledURI", vec![url.as_bytes()]),
            ("mail", vec![&b"own@example.com"[..]]),
        ];
        sample.add(&format!("ou={ou},{BASE}"), &attributes).unwrap();
    };
    add("list", "ldap:///ou=people,dc=example,dc=com?mail,gidNumber,manager?sub?(uid=*)");
    add("all", &format!("ldap:///{JENSEN}"));
    let list = format!("ou=list,{BASE}");
    let given = sample.read(&list, &[]);
    assert_eq!(given.values("mail"), ["own@example.com", "bjensen@example.com", "js@example.com"]);
    assert_eq!((given.values("gidNumber"), given.values("seeAlso")), (vec!["100"], vec![JENSEN]));
    assert_eq!(given.values("manager").len() + given.values("cn").len(), 0);
    assert_eq!(sample.read(&list, &["gidNumber"]).values("mail").len(), 0);
    assert_eq!(sample.compare(&list, "mail", "JS@example.com"), Ok(true));
    assert_eq!(code(sample.compare(&list, "sn", "x")), ResultCode::NO_SUCH_ATTRIBUTE);
    // What is shown as something else is looked for; of the rest nobody knows which list might show it.
    assert_eq!(sample.found(&format!("(seeAlso={JENSEN})")), [list]);
    assert_eq!(sample.found("(mail=js@example.com)"), [SMITH]);
    let given = sample.read(&format!("ou=all,{BASE}"), &["*"]);
    assert_eq!((given.values("cn;lang-de"), given.values("sn")), (vec!["Barbara von Jensen"], vec!["Jensen"]));
    assert!(!given.values("objectClass").contains(&"inetOrgPerson"), "{given:?}");
}

#[test]
fn urls_that_ask_nothing_of_the_directory_find_nobody() {
    let sample = people();
    let urls = [
        "http://example.com/",
        "ldap:///ou=people,dc=example,dc=com??sub?(uid=bjensen",
        "ldap:///ou=people,dc=example,dc=com??sub?(uid=bjensen) label",
        "ldap://other.example/ou=people,dc=example,dc=com??sub?(uid=bjensen)",
        "ldap:///ou=people,dc=example,dc=com??sub?(uid=bjensen)?!x-this",
        "ldap:///ou=people,dc=example,dc=com?cn?sub?(uid=bjensen)",
        "ldap:///ou=nowhere,dc=example,dc=com??sub?(uid=bjensen)",
        "ldap:///dc=other??sub?(uid=bjensen)",
        "ldap:///??sub?(uid=bjensen)",
        "ldap:///ou=people,dc=example,dc=com??sub?(!(nosuch=x))",
        "ldap:///ou=people,dc=example,dc=com???(uid=bjensen)",
        "ldap:///not a name??sub?(uid=bjensen)",
        &format!("ldap:///ou=people,dc=example,dc=com??sub?{}(uid=*){}", "(!".repeat(500), ")".repeat(500)),
    ];
    for url in urls {
        add_group(&sample, "odd", &[url], &[]);
        assert!(members(&sample, "odd").is_empty(), "{url}");
        assert_eq!(sample.found(&format!("(&(cn=odd)(member={JENSEN}))")), [""; 0], "{url}");
        assert_eq!(sample.found(&format!("(memberOf={ODD})")), [""; 0], "{url}");
        assert_eq!(sample.read(JENSEN, &["memberOf"]).values("memberOf"), [group("admins")], "{url}");
        sample.delete(ODD, &[]).unwrap();
    }
    for url in [
        "ldap:///ou=people,dc=example,dc=com??sub?uid=bjensen",
        "ldap:///ou=people,dc=example,dc=com??sub?(uid=bjensen)?x-this",
        "LDAP:///ou=people,dc=example,dc=com??sub?(|(nosuch=x)(cn=Barbara Jensen))",
        "ldap:///uid=bjensen,ou=people,dc=example,dc=com",
    ] {
        add_group(&sample, "odd", &[url], &[]);
        assert_eq!(members(&sample, "odd"), [JENSEN], "{url}");
        sample.delete(ODD, &[]).unwrap();
    }
}

#[test]
fn urls_are_searched_as_whoever_asks() {
    let sample = people();
    add_group(&sample, "odd", &["ldap:///ou=people,dc=example,dc=com??sub?(uid=*)"], &[]);
    let rules = format!(
        "access to dn.base=\"{JENSEN}\" attrs=sn by * none\n\
         access to dn.base=\"{JENSEN}\" by dn.base=\"{SMITH}\" none by * read\n\
         access to dn.base=\"cn=closed,ou=Groups,{BASE}\" attrs=member val.exact=\"{SMITH}\" by * none\n\
         access to * by * read\n"
    );
    let access = Some(SchemaFile { name: "rules".into(), text: rules });
    sample.directory.reconfigure(Config { access, nested_groups: true, ..config(vec![groups(true)]) }).unwrap();
    let (smith, other) = (somebody(&sample, SMITH), somebody(&sample, "cn=other,dc=example,dc=com"));
    assert_eq!(members_for(&sample, "odd", &smith), [SMITH]);
    assert_eq!(members_for(&sample, "odd", &other), [JENSEN, SMITH]);
    let found = |requester: &Requester, filter: &str| {
        let ask = Ask { requester: requester.clone(), ..Ask::default() };
        sample.search(BASE, filter, &ask).unwrap().names().into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let both = [group("admins"), ODD.to_string()];
    assert_eq!(found(&other, &format!("(member={JENSEN})")), both);
    assert_eq!(found(&smith, &format!("(member={JENSEN})")), both[..1], "it is stored in the one");
    // A value that may not be searched is none that is found; one that may not be read is not shown.
    add_group(&sample, "closed", &["ldap:///ou=people,dc=example,dc=com??sub?(uid=*)"], &[]);
    assert_eq!(found(&other, &format!("(member={SMITH})")), [ODD]);
    assert_eq!(members_for(&sample, "closed", &other), [JENSEN]);
    // Nor does memberOf tell what the filter of a group may not be asked.
    add_group(&sample, "jensens", &["ldap:///ou=people,dc=example,dc=com??sub?(sn=jensen)"], &[]);
    assert_eq!(found(&other, &format!("(memberOf={})", group("jensens"))), [""; 0]);
    assert_eq!(sample.found(&format!("(memberOf={})", group("jensens"))), [JENSEN]);
}

#[test]
fn an_identity_searches_for_whoever_it_lets() {
    let sample = people();
    let url = ["ldap:///ou=people,dc=example,dc=com??sub?(uid=*)"];
    add_group(&sample, "as", &url, &[("dgIdentity", SMITH)]);
    add_group(&sample, "nobody", &url, &[("dgIdentity", "")]);
    add_group(&sample, "let", &url, &[("dgIdentity", SMITH), ("dgAuthz", &format!("dn:{JENSEN}"))]);
    let rules =
        format!("access to dn.base=\"{JENSEN}\" by dn.base=\"{SMITH}\" read by * none\naccess to * by * read\n");
    let access = Some(SchemaFile { name: "rules".into(), text: rules });
    sample.directory.reconfigure(Config { access, ..config(vec![groups(true)]) }).unwrap();
    let (jensen, other) = (somebody(&sample, JENSEN), somebody(&sample, "cn=other,dc=example,dc=com"));
    for (cn, requester, wanted) in [
        ("as", &other, &[JENSEN, SMITH][..]),
        ("nobody", &somebody(&sample, SMITH), &[SMITH]),
        ("let", &other, &[]),
        ("let", &jensen, &[JENSEN, SMITH]),
        ("let", &Requester::internal(), &[JENSEN, SMITH]),
    ] {
        assert_eq!(members_for(&sample, cn, requester), wanted, "{cn}");
        let ask = Ask { requester: requester.clone(), ..Ask::default() };
        let given = sample.search(BASE, &format!("(&(cn={cn})(member={JENSEN}))"), &ask).unwrap();
        assert_eq!(given.names().len(), usize::from(wanted.contains(&JENSEN)), "{cn}");
        let given = sample.search(BASE, &format!("(memberOf={})", group(cn)), &ask).unwrap();
        assert_eq!(given.names().contains(&SMITH), wanted.contains(&SMITH), "{cn}");
    }
}

#[test]
fn groups_that_ask_about_each_other_come_to_an_end() {
    let sample = people();
    let url =
        |cn: &str| format!("ldap:///dc=example,dc=com??sub?(|(member={JENSEN})(memberOf={})(member=*))", group(cn));
    for (cn, other) in [("a", "b"), ("b", "c"), ("c", "a")] {
        let rule = format!("group/groupOfURLs/memberURL:{}", group(other));
        add_group(&sample, cn, &[&url(other), &url(cn)], &[("dgIdentity", JENSEN), ("dgAuthz", &rule)]);
    }
    // What the URLs themselves ask is asked of what is stored.
    for cn in ["a", "b", "c"] {
        assert_eq!(members(&sample, cn), [group("admins")], "{cn}");
    }
    assert_eq!(sample.found(&format!("(member={})", group("admins"))).len(), 3);
    assert_eq!(sample.read(&group("admins"), &["memberOf"]).values("memberOf").len(), 3);
    assert_eq!(sample.found(&format!("(memberOf={})", group("a"))), [JENSEN.to_string(), group("admins")]);
}

#[test]
fn what_access_rules_ask_is_not_made_of_what_they_allow() {
    let sample = people();
    add_group(&sample, "odd", &["ldap:///ou=people,dc=example,dc=com??sub?(&(sn=jensen)(memberOf=*))"], &[]);
    let admins = group("admins");
    let rules = format!(
        "access to filter=(memberOf={ODD}) by * none\naccess to filter=(memberOf={admins}) by * read\naccess to * by * search\n"
    );
    let access = Some(SchemaFile { name: "rules".into(), text: rules });
    let list = DynamicList { restrict: Some("ldap:///???(!(memberOf=*))".into()), ..groups(true) };
    sample.directory.reconfigure(Config { access, nested_groups: true, ..config(vec![list]) }).unwrap();
    let ask = Ask { requester: somebody(&sample, SMITH), attributes: &["memberOf"], ..Ask::default() };
    let given = sample.search(BASE, "(memberOf=*)", &ask).unwrap();
    let mut groups = given.values("memberOf");
    groups.sort_unstable();
    assert_eq!((given.names(), groups), (vec![JENSEN], vec![&*admins, ODD]));
}

#[test]
fn access_rules_know_whom_the_urls_of_a_group_find() {
    let sample = people();
    add_group(&sample, "odd", &["ldap:///ou=people,dc=example,dc=com??sub?(sn=jensen)"], &[]);
    add_group(&sample, "any", &["ldap:///ou=people,dc=example,dc=com??sub"], &[]);
    let rules = format!(
        "access to dn.base=\"{SMITH}\" by group/groupOfURLs/memberURL=\"{ODD}\" read by * none\n\
         access to dn.base=\"{JENSEN}\" by group/groupOfURLs/memberURL=\"{}\" read by * none\n\
         access to * by * search\n",
        group("any")
    );
    let access = Some(SchemaFile { name: "rules".into(), text: rules });
    // Nothing else has to be chosen for that, and nobody has to see what the URLs ask.
    sample.directory.reconfigure(Config { access, ..Config::default() }).unwrap();
    let found = |name: &str| {
        let ask = Ask { requester: somebody(&sample, name), ..Ask::default() };
        let given = sample.search(BASE, "(objectClass=*)", &ask).unwrap();
        given.names().into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found(JENSEN), [SMITH]);
    assert_eq!(found(SMITH), [""; 0], "without a filter a URL names nobody");
    assert_eq!(found("cn=nobody,dc=example,dc=com"), [""; 0]);
    sample.modify(JENSEN, &[(Replace, "sn", &["x"])]).unwrap();
    assert_eq!(found(JENSEN), [""; 0]);
}

#[test]
fn members_that_are_named_are_there_beside_those_that_are_found() {
    let sample = people();
    add_group(&sample, "odd", &["ldap:///ou=people,dc=example,dc=com??sub?(uid=*)"], &[]);
    let names: Vec<String> = (0..300).map(|n| format!("uid=user{n},{BASE}")).chain([SMITH.to_string()]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    sample.modify(ODD, &[(Add, "member", &names)]).unwrap();
    assert_eq!(members(&sample, "odd").len(), 302);
    let given = sample.read(ODD, &["*"]);
    assert_eq!(given.entries[0].1.iter().filter(|(name, _)| name == "member").count(), 1);
    sample.modify(ODD, &[(Delete, "member", &[SMITH])]).unwrap();
    assert_eq!(members(&sample, "odd").len(), 302);
    assert_eq!(sample.compare(ODD, "member", SMITH), Ok(true));
    assert_eq!(sample.compare(ODD, "member", names[7]), Ok(true));
}

#[test]
fn pages_and_restrictions_hold() {
    let of_groups = |restrict: &str| DynamicList { restrict: Some(restrict.into()), ..groups(true) };
    let sample = people_with(config(vec![of_groups("ldap:///ou=groups,dc=example,dc=com??one?(!(cn=closed))")]));
    for n in 0..5 {
        add_group(&sample, &format!("g{n}"), &["ldap:///ou=people,dc=example,dc=com??sub?(sn=jensen)"], &[]);
    }
    add_group(&sample, "closed", &["ldap:///ou=people,dc=example,dc=com??sub?(sn=jensen)"], &[]);
    assert!(members(&sample, "closed").is_empty());
    assert_eq!(members(&sample, "g3"), [JENSEN]);
    let (mut found, mut cookie) = (Vec::new(), Vec::new());
    loop {
        let mut value = Vec::new();
        PagedResults { size: 2, cookie: &cookie }.encode(&mut value);
        let control = Control { oid: oid::PAGED_RESULTS, critical: true, value: Some(&value) };
        let given =
            sample.search(BASE, &format!("(member={JENSEN})"), &Ask { controls: vec![control], ..Ask::default() });
        let given = given.unwrap();
        found.extend(given.names().into_iter().map(str::to_string));
        let (_, value) = controls(&given).into_iter().find(|(oid, _)| oid == oid::PAGED_RESULTS).unwrap();
        cookie = PagedResults::decode(&value).unwrap().cookie.to_vec();
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(!found.contains(&group("closed")));
}

#[test]
fn what_is_chosen_wrongly_is_told_with_its_part() {
    let wrong = |list: DynamicList| {
        let config = Config { suffixes: vec![BASE.into()], ..config(vec![list]) };
        let faults = Directory::check_config(&config);
        let [fault] = &faults[..] else { panic!("{faults:?}") };
        let Setting::DynamicList(0, part) = fault.setting else { panic!("{fault:?}") };
        (part, fault.to_string())
    };
    let member = |attribute: &str| DynamicList {
        shows: Shows::Members { attribute: attribute.into(), in_member_of: true },
        ..groups(true)
    };
    for (list, part, told) in [
        (DynamicList { class: "nosuch".into(), ..groups(true) }, DynamicListPart::Class, "no object class \"nosuch\""),
        (DynamicList { urls: "cn".into(), ..groups(true) }, DynamicListPart::Urls, "cn is no kind of labeledURI"),
        (DynamicList { urls: "nosuch".into(), ..groups(true) }, DynamicListPart::Urls, "no attribute type \"nosuch\""),
        (member("cn"), DynamicListPart::Member, "names of entries"),
        (member("memberOf"), DynamicListPart::Member, "the directory makes the values of memberOf itself"),
        (lists(&[("mail", "seeAlso")]), DynamicListPart::Renamed(0), "another syntax"),
        (
            DynamicList { restrict: Some("ldap:///dc=other".into()), ..groups(true) },
            DynamicListPart::Restrict,
            "none of the suffixes",
        ),
    ] {
        let (found, said) = wrong(list);
        assert!(found == part && said.contains(told), "{found:?} {said}");
    }
}
