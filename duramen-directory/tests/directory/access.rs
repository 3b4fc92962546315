//! Access rules decide in searches, compares and updates.

use duramen_directory::{Administrator, Config, Directory, Method, Requester, SchemaFile};
use duramen_ldap::Payload;
use duramen_ldap::attribute::Assertion;
use duramen_ldap::ber::List;
use duramen_ldap::control::{SortKey, SortKeys};
use duramen_ldap::message::ChangeKind::{Add, Delete, Increment, Replace};
use duramen_ldap::message::{CompareRequest, Control, Request, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";
const OPEN: &str = "cn=team,ou=People,dc=example,dc=com";

fn with(rules: &str) -> Sample {
    let access = Some(SchemaFile { name: "access.conf".into(), text: rules.into() });
    let sample = Sample::with(Config { suffixes: vec![BASE.into()], access, ..Config::default() });
    sample.load(PEOPLE);
    let member: Vec<&[u8]> = vec![b"cn=nobody"];
    sample.add(OPEN, &[("objectClass", vec![b"groupOfNames"]), ("cn", vec![b"team"]), ("member", member)]).unwrap();
    sample
}

fn somebody(sample: &Sample, name: &str) -> Requester {
    let name = sample.directory.name(name).unwrap();
    Requester { name, method: Method::Password, is_administrator: false, ..Requester::internal() }
}

/// Success, or what went wrong.
fn modify(
    sample: &Sample,
    who: &Requester,
    name: &str,
    changes: &[(duramen_ldap::message::ChangeKind, &str, &[&str])],
) -> ResultCode {
    ended(sample.modify_as(who, name, changes, &[]))
}

#[test]
fn rules_that_are_wrong_are_refused_with_their_line() {
    let access = Some(SchemaFile { name: "access.conf".into(), text: "access to *\n  by * raed".into() });
    let folder = tempfile::tempdir().unwrap();
    let config = Config { suffixes: vec![BASE.into()], access, ..Config::default() };
    let error = duramen_directory::Directory::open(folder.path(), config).unwrap_err().to_string();
    assert!(error.starts_with("access.conf, line 2, column 8: 'raed' is neither somebody nor a level"), "{error}");
}

#[test]
fn what_may_not_be_read_is_not_there_and_what_may_not_be_searched_is_undefined() {
    let sample = with(
        "access to attrs=mail by self read by * none\naccess to attrs=sn by * read\naccess to attrs=cn by * search\naccess to * by * read",
    );
    let ask = |who: &str, filter: &str| {
        let requester = somebody(&sample, who);
        sample.search(BASE, filter, &Ask { requester, ..Ask::default() }).unwrap()
    };
    assert_eq!(ask(JENSEN, "(uid=bjensen)").values("cn"), Vec::<&str>::new());
    assert_eq!(ask(JENSEN, "(uid=bjensen)").values("mail").len(), 1, "the own one");
    assert_eq!(ask("", "(uid=bjensen)").values("mail"), Vec::<&str>::new());
    assert_eq!(ask("", "(cn=Barbara Jensen)").names(), [JENSEN]);
    assert_eq!(ask("", "(mail=*)").names(), Vec::<&str>::new());
    assert_eq!(ask("", "(!(mail=*))").names(), Vec::<&str>::new(), "undefined, not false");
}

#[test]
fn what_may_not_be_compared_is_not_told_by_the_type_above_it() {
    let sample = with("access to attrs=sn by * none\naccess to * by * read");
    let nobody = somebody(&sample, "");
    let compare = |description, value: &str| {
        let request = CompareRequest { name: JENSEN, assertion: Assertion { description, value: value.as_bytes() } };
        sample.directory.compare(&nobody, &request, List::default()).map_err(|failure| failure.code)
    };
    let refused = Err(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(compare("sn", "Jensen"), refused);
    assert_eq!(compare("name", "Jensen"), refused, "a surname");
    assert_eq!(compare("name", "somebody"), refused, "nor that it is none");
    assert_eq!(compare("name", "Barbara Jensen"), Ok(true), "a common name");
    assert_eq!(sample.compare(JENSEN, "name", "Jensen"), Ok(true));
}

#[test]
fn what_may_not_be_searched_for_is_not_told_by_the_order() {
    let sample = with("access to attrs=sn by * none\naccess to * by * read");
    let sorted = |requester: Requester, reverse| {
        let (mut buffer, mut value) = (Vec::new(), Vec::new());
        SortKeys(List::build(&mut buffer, [SortKey { description: "sn", rule: None, reverse }])).encode(&mut value);
        let controls = vec![Control { oid: oid::SORT_REQUEST, critical: true, value: Some(&value) }];
        sample.search(BASE, "(uid=*)", &Ask { requester, controls, ..Ask::default() }).unwrap().names().join(" ")
    };
    let nobody = || somebody(&sample, "");
    assert_eq!(sorted(nobody(), false), sorted(nobody(), true));
    assert_ne!(sorted(Requester::internal(), false), sorted(Requester::internal(), true));
}

#[test]
fn one_joins_a_group_and_leaves_it_but_brings_nobody_else() {
    let sample = with("access to attrs=member by dnattr=member selfwrite by * read\naccess to * by * read");
    let me = somebody(&sample, JENSEN);
    assert_eq!(modify(&sample, &me, OPEN, &[(Add, "member", &["cn=other"])]), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(modify(&sample, &me, OPEN, &[(Add, "member", &[JENSEN])]), ResultCode::SUCCESS);
    assert_eq!(modify(&sample, &me, OPEN, &[(Replace, "member", &[JENSEN])]), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(modify(&sample, &me, OPEN, &[(Delete, "member", &[JENSEN])]), ResultCode::SUCCESS);
}

#[test]
fn adding_and_deleting_are_allowed_one_by_one() {
    let sample = with(&format!(
        "access to attrs=description by * add\naccess to attrs=children by * =az\n\
         access to attrs=entry by dn.exact=\"{JENSEN}\" =arscxd by anonymous write by * read\naccess to * by * read"
    ));
    let me = somebody(&sample, JENSEN);
    assert_eq!(modify(&sample, &me, JENSEN, &[(Add, "description", &["x"])]), ResultCode::SUCCESS);
    assert_eq!(
        modify(&sample, &me, JENSEN, &[(Delete, "description", &["x"])]),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS
    );
    let attributes: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"person"]), ("cn", vec![b"x"]), ("sn", vec![b"x"])];
    let name = "cn=x,dc=example,dc=com";
    let add = |who| ended(sample.add_as(&somebody(&sample, who), name, attributes, &[]));
    assert_eq!(add(SMITH), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(add(""), ResultCode::STRONGER_AUTH_REQUIRED, "whatever the rules say");
    assert_eq!(ended(sample.add_as(&me, name, attributes, &[])), ResultCode::SUCCESS, "with all its attributes");
}

#[test]
fn what_is_below_an_entry_has_rules_of_its_own() {
    let sample = with("access to attrs=children by * read\naccess to * by users write");
    let me = somebody(&sample, JENSEN);
    let deleted = sample.directory.update(&me, &Request::Delete(SMITH), List::default());
    assert_eq!(ended(deleted), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn a_filter_by_class_is_about_kinds_of_it_too_rfc4512_2_4() {
    let sample = with("access to filter=(objectClass=person) attrs=description by users write\naccess to * by * read");
    let me = somebody(&sample, JENSEN);
    assert_eq!(modify(&sample, &me, SMITH, &[(Add, "description", &["x"])]), ResultCode::SUCCESS);
}

#[test]
fn a_filter_knows_attributes_that_are_made() {
    for (filter, is_its) in [
        ("(memberOf=CN=admins,ou=groups,dc=example,dc=com)", true),
        ("(memberOf=*)", true),
        ("(memberOf=cn=team,ou=people,dc=example,dc=com)", false),
        ("(entryDN=UID=bjensen, ou=People,dc=example,dc=com)", true),
        ("(hasSubordinates=FALSE)", true),
        ("(numSubordinates=1)", false),
        ("(subschemaSubentry=cn=subschema)", true),
    ] {
        let sample = with(&format!(
            "access to filter=\"{filter}\" attrs=mail by * read\naccess to attrs=mail by * none\naccess to * by * read"
        ));
        let requester = somebody(&sample, "");
        let given = sample.search(BASE, "(mail=*)", &Ask { requester, ..Ask::default() }).unwrap();
        assert_eq!(given.names(), if is_its { vec![JENSEN] } else { vec![] }, "{filter}");
    }
}

#[test]
fn of_a_large_group_is_shown_what_is_shown_of_a_small_one() {
    const GROUP: &str = "cn=all,ou=Groups,dc=example,dc=com";
    for (rule, is_shown, hidden) in [
        ("access to filter=(cn=all) attrs=member by * read", true, 0),
        ("access to filter=(cn=another) attrs=member by * none", true, 0),
        ("access to filter=(cn=all) attrs=member by * none", false, 0),
        ("access to attrs=member by dnattr=member read", true, 0),
        ("access to attrs=member by dnattr=owner read", false, 0),
        ("access to attrs=member val.exact=\"uid=u1,ou=People,dc=example,dc=com\" by * none", true, 1),
    ] {
        for count in [3, 600] {
            let sample = with(&format!("{rule}\naccess to * by * read"));
            let names = (1..count).map(|n| format!("uid=u{n},ou=People,dc=example,dc=com"));
            let names: Vec<String> = names.chain([JENSEN.to_string()]).collect();
            let values: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            sample.add(GROUP, &[("objectClass", vec![b"groupOfNames"]), ("member", values)]).unwrap();
            let ask = Ask { requester: somebody(&sample, JENSEN), ..Ask::default() };
            let given = sample.search(GROUP, "(objectClass=*)", &ask).unwrap();
            let shown = given.entries[0].1.iter().any(|(name, _)| name == "member");
            assert_eq!(shown, is_shown, "{count}: {rule}");
            if shown {
                assert_eq!(given.values("member").len(), count - hidden, "{count}: {rule}");
            }
        }
    }
}

#[test]
fn members_of_a_large_group_are_found_as_those_of_a_small_one() {
    const GROUP: &str = "cn=all,ou=Groups,dc=example,dc=com";
    let member = |n: usize| if n == 0 { JENSEN.to_string() } else { format!("uid=u{n},ou=People,dc=example,dc=com") };
    let rules = [
        ("access to attrs=member by * none\naccess to * by * read", [0, 0, 0]),
        ("access to attrs=member by * compare\naccess to * by * read", [0, 0, 0]),
        ("access to attrs=member by dnattr=member search\naccess to * by * read", [1, 1, 0]),
        (
            "access to attrs=member val.regex=\"^uid=u\" by * search\naccess to attrs=member by * none\naccess to * by * read",
            [0, 1, 1],
        ),
        ("access to attrs=member by self read by users =sw\naccess to * by * read", [1, 1, 1]),
        (
            "access to dn.exact=\"cn=all,ou=groups,dc=example,dc=com\" attrs=member by * none\naccess to * by * read",
            [0, 0, 0],
        ),
    ];
    for (rules, expected) in rules {
        for count in [2, 600] {
            let sample = with(rules);
            let names: Vec<String> = (0..count).map(member).collect();
            let values: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            sample.add(GROUP, &[("objectClass", vec![b"groupOfNames"]), ("member", values)]).unwrap();
            let found = |who: &str, member: &str| {
                let ask = Ask { requester: somebody(&sample, who), ..Ask::default() };
                let named = format!("(&(cn=all)(member={member}))");
                let by_itself = format!("(member={member})");
                let extensible = format!("(member:distinguishedNameMatch:={member})");
                let counts = [named, by_itself, extensible].map(|filter| {
                    let given = sample.search(BASE, &filter, &ask).unwrap();
                    given.names().iter().filter(|name| **name == GROUP).count()
                });
                assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}: {who:?} {member} {rules}");
                counts[0]
            };
            let asked = [found(JENSEN, JENSEN), found(JENSEN, &member(1)), found(SMITH, &member(1))];
            assert_eq!(asked, expected, "{count} members: {rules}");
        }
    }
}

#[test]
fn who_may_search_for_a_value_learns_where_it_is_not() {
    let sample = with(
        "access to attrs=uidNumber val=1001 by * search\naccess to attrs=uidNumber by * none\naccess to * by * read",
    );
    let requester = somebody(&sample, "");
    let ask = Ask { requester, ..Ask::default() };
    let found = |filter: &str| sample.search(BASE, filter, &ask).unwrap().names().len();
    assert_eq!(found("(&(sn=*)(!(uidNumber=1001)))"), 2);
    assert_eq!(found("(&(sn=*)(!(uidNumber=1000)))"), 0, "undefined for all, as nobody may ask for it");
    assert_eq!(found("(uidNumber=1000)"), 0);
    sample.modify(SMITH, &[(Replace, "uidNumber", &["1001"])]).unwrap();
    assert_eq!(found("(&(sn=*)(!(uidNumber=1001)))"), 1);
    assert_eq!(found("(uidNumber=1001)"), 1);
}

#[test]
fn who_names_an_entry_as_before_adds_nothing_to_it() {
    let sample = with("access to attrs=uid by * read\naccess to * by users write");
    let me = somebody(&sample, SMITH);
    let rename = |rdn: &str, delete_old| ended(sample.rename_as(&me, JENSEN, rdn, delete_old, None));
    assert_eq!(rename("uid=bjensen", false), ResultCode::SUCCESS);
    assert_eq!(rename("UID=BJensen", false), ResultCode::SUCCESS);
    assert_eq!(rename("uid=other", false), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(rename("UID=bjenseN", true), ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "it would be spelt otherwise");
    assert_eq!(sample.read(JENSEN, &[]).values("uid"), ["bjensen"]);
}

#[test]
fn rules_about_values_are_about_what_an_increment_makes() {
    let sample = with("access to attrs=uidNumber val=0 by * none\naccess to * by users write");
    let me = somebody(&sample, SMITH);
    let increment = |amount: &str| modify(&sample, &me, SMITH, &[(Increment, "uidNumber", &[amount])]);
    assert_eq!(increment("-999"), ResultCode::SUCCESS);
    assert_eq!(increment("-1"), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(increment("-2"), ResultCode::SUCCESS);
    assert_eq!(sample.read(SMITH, &[]).values("uidNumber"), ["-1"]);
}

#[test]
fn who_may_only_delete_below_an_entry_renames_nothing_there() {
    let renamed = |children: &str, above: Option<&str>| {
        let sample = with(&format!("access to attrs=children by * {children}\naccess to * by users write"));
        ended(sample.rename_as(&somebody(&sample, SMITH), JENSEN, "uid=babs", true, above))
    };
    let own = Some("OU=people,dc=example,dc=com");
    let refused = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
    for above in [None, own, Some("ou=Groups,dc=example,dc=com")] {
        assert_eq!((renamed("delete", above), renamed("add", above)), (refused, refused), "{above:?}");
        assert_eq!(renamed("write", above), ResultCode::SUCCESS, "{above:?}");
    }
}

#[test]
fn what_a_new_entry_has_is_asked_about_where_the_rules_say_so() {
    let rules =
        "access to attrs=description val=a by * none\naccess to attrs=uidNumber by * none\naccess to * by users write";
    let add = |sample: &Sample, more: &(&'static str, &'static str)| {
        let mut attributes = vec![("objectClass", vec![&b"account"[..], b"extensibleObject"]), ("uid", vec![b"x"])];
        attributes.push((more.0, vec![more.1.as_bytes()]));
        ended(sample.add_as(&somebody(sample, JENSEN), "uid=x,dc=example,dc=com", &attributes, &[]))
    };
    let (asked, not_asked) = (with(&format!("add_content_acl on\n{rules}")), with(rules));
    for refused in [("description", "a"), ("uidNumber", "1")] {
        assert_eq!(add(&asked, &refused), ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "{refused:?}");
    }
    assert_eq!(add(&asked, &("description", "b")), ResultCode::SUCCESS, "nor is what the directory sets asked about");
    assert_eq!(add(&not_asked, &("uidNumber", "1")), ResultCode::SUCCESS);
    let name_only = with("add_content_acl on\naccess to attrs=uid by * none\naccess to * by users write");
    assert_eq!(add(&name_only, &("l", "b")), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn who_relaxes_the_schema_manages_what_is_added_deleted_or_renamed() {
    let entry = |level: &str| with(&format!("access to attrs=entry by * {level}\naccess to * by * write"));
    for (sample, expected) in
        [(entry("write"), ResultCode::INSUFFICIENT_ACCESS_RIGHTS), (entry("manage"), ResultCode::SUCCESS)]
    {
        let me = somebody(&sample, SMITH);
        let attributes: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"device"]), ("cn", vec![b"x"])];
        let add = |controls: &[_]| ended(sample.add_as(&me, "cn=x,dc=example,dc=com", attributes, controls));
        let delete = |controls: &[_]| {
            let mut buffer = Vec::new();
            let controls = List::build(&mut buffer, controls.iter().copied());
            ended(sample.directory.update(&me, &Request::Delete("cn=x,dc=example,dc=com"), controls))
        };
        let relax = [control(oid::RELAX)];
        // Whether it is critical or not: it is known, and not ignored.
        let not_critical = [Control { critical: false, ..relax[0] }];
        assert_eq!(add(&relax), expected);
        assert_eq!(
            delete(&not_critical),
            if expected == ResultCode::SUCCESS { expected } else { ResultCode::NO_SUCH_OBJECT }
        );
        assert_eq!(add(&[]), ResultCode::SUCCESS);
        assert_eq!(delete(&not_critical), expected);
    }
}

#[test]
fn the_administrator_acts_for_whoever_has_a_name_rfc4370_3() {
    let sample = with("access to * by self write by * read");
    let acting = |who: &Requester, identity: &str| {
        let control = Control { value: Some(identity.as_bytes()), ..control(oid::PROXIED_AUTHORIZATION) };
        ended(sample.modify_as(who, JENSEN, &[(Replace, "description", &["x"])], &[control]))
    };
    let (administrator, jensen) = (Requester::internal(), somebody(&sample, JENSEN));
    let (done, denied) = (ResultCode::SUCCESS, ResultCode::AUTHORIZATION_DENIED);
    assert_eq!(acting(&administrator, &format!("dn:{JENSEN}")), done);
    assert_eq!(acting(&administrator, &format!("dn:{SMITH}")), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(acting(&jensen, &format!("dn:{JENSEN}")), done);
    for (who, identity) in [(&jensen, "dn:cn=x"), (&jensen, "dn:no name"), (&administrator, "dn:no name")] {
        assert_eq!(acting(who, identity), denied, "{identity}");
    }
}

#[test]
fn nobody_is_no_administrator() {
    for name in ["", " "] {
        let administrator = Some(Administrator { name: name.to_owned(), password: None });
        let error = Directory::check_config(&Config { administrator, ..Config::default() })[0].to_string();
        assert!(error.starts_with("administrator: the empty name is nobody's"), "{error}");
    }
}

#[test]
fn what_may_not_be_searched_in_an_entry_is_not_found_in_its_name_either() {
    // Only entry by entry can be told whether it may be searched.
    let sample = with("access to attrs=ou by self read by * none\naccess to * by * read");
    let found = |filter: &str| {
        let ask = Ask { requester: somebody(&sample, JENSEN), ..Ask::default() };
        let given = sample.search("ou=People,dc=example,dc=com", filter, &ask).unwrap();
        given.names().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("(ou:dn:=people)"), [JENSEN]);
    assert_eq!(found("(!(ou:dn:=people))"), [""; 0], "that it is not in them is not to be known either");
    assert_eq!(found("(&(:dn:caseIgnoreMatch:=people)(!(cn=team)))"), [JENSEN]);
    assert_eq!(found("(uid:dn:=jsmith)"), [SMITH]);
}

#[test]
fn what_is_made_when_an_entry_is_read_is_searched_by_those_who_may() {
    let filters = [
        "(memberOf=cn=admins,ou=groups,dc=example,dc=com)",
        "(entryDN=uid=bjensen,ou=people,dc=example,dc=com)",
        "(&(entryDN:dnSubtreeMatch:=ou=people,dc=example,dc=com)(uid=bjensen))",
        "(&(hasSubordinates=FALSE)(uid=bjensen))",
        "(&(numSubordinates=0)(uid=bjensen))",
        "(&(subschemaSubentry=cn=subschema)(uid=bjensen))",
        "(&(memberOf=*)(uid=bjensen))",
    ];
    // Only entry by entry can be told whether they may be searched.
    let sample = with(
        "access to attrs=memberOf,entryDN,hasSubordinates,numSubordinates,subschemaSubentry by self read by * none\n\
         access to * by * read",
    );
    let found = |who: &str, filter: &str| {
        let ask = Ask { requester: somebody(&sample, who), ..Ask::default() };
        sample.search(BASE, filter, &ask).unwrap().names().len()
    };
    for filter in filters {
        assert_eq!((found(JENSEN, filter), found(SMITH, filter), found("", filter)), (1, 0, 0), "{filter}");
        let opposite = format!("(&(uid=bjensen)(!{filter}))");
        assert_eq!((found(JENSEN, &opposite), found(SMITH, &opposite)), (0, 0), "{opposite}");
    }
}

#[test]
fn groups_are_those_of_the_directory() {
    let sample = with(&format!("access to * by group=\"{OPEN}\" write by * read"));
    let me = somebody(&sample, JENSEN);
    assert_eq!(modify(&sample, &me, JENSEN, &[(Add, "description", &["x"])]), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    sample.modify(OPEN, &[(Add, "member", &[JENSEN])]).unwrap();
    assert_eq!(modify(&sample, &me, JENSEN, &[(Add, "description", &["x"])]), ResultCode::SUCCESS);
}

#[test]
fn the_line_that_decides_is_named() {
    let sample = with("access to attrs=mail\n  by self write\n  by * none\naccess to * by * read");
    let explain = |who: &str, attribute| {
        sample.directory.explain_access(&somebody(&sample, who), JENSEN, attribute, None).unwrap().to_string()
    };
    assert!(explain(JENSEN, "mail").ends_with("granted: write (=wrscxd), by access.conf, line 2"));
    assert!(explain("", "mail").ends_with("granted: none (=0), by access.conf, line 3"));
    assert!(
        explain("", "mail;lang-de").ends_with("granted: none (=0), by access.conf, line 3"),
        "options do not matter"
    );
    assert!(explain("", "entry").ends_with("granted: read (=rscxd), by access.conf, line 4"));
    let nobody = somebody(&sample, "");
    let failed = |name, attribute| sample.directory.explain_access(&nobody, name, attribute, None).unwrap_err().code;
    assert_eq!(failed("cn=x,dc=example,dc=com", "mail"), ResultCode::NO_SUCH_OBJECT);
    for wrong in ["nonsense", "nonsense;lang-de", "mail;"] {
        assert_eq!(failed(JENSEN, wrong), ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "{wrong}");
    }
}

#[test]
fn rules_about_what_the_directory_makes_up_are_explained_too() {
    let rules =
        "access to dn.base=\"\" by * none\naccess to dn.subtree=\"cn=monitor\" by users read\naccess to * by * read";
    let sample = with(rules);
    let explain = |who: &str, name: &str| {
        sample.directory.explain_access(&somebody(&sample, who), name, "entry", None).unwrap().to_string()
    };
    assert!(explain(JENSEN, "").ends_with("granted: none (=0), by access.conf, line 1"));
    let standard = "granted: read (=rscxd), by the standard access rule of an entry that is made up, line 1";
    assert!(explain(JENSEN, "CN=Subschema").ends_with(standard));
    for name in ["cn=Monitor", "cn=Total,cn=Connections,cn=Monitor"] {
        assert!(explain(JENSEN, name).ends_with("granted: read (=rscxd), by access.conf, line 2"));
        assert!(explain("", name).ends_with("granted: none (=0)"), "{}", explain("", name));
    }
}

#[test]
fn to_replace_is_to_delete_the_whole_and_to_add_each_value() {
    let ended = |privileges: &str, values: &[&str]| {
        let sample = with(&format!("access to attrs=description by users ={privileges}\naccess to * by * read"));
        sample.modify(SMITH, &[(Add, "description", &["old"])]).unwrap();
        modify(&sample, &somebody(&sample, JENSEN), SMITH, &[(Replace, "description", values)])
    };
    let (done, refused) = (ResultCode::SUCCESS, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!((ended("z", &[]), ended("z", &["new"])), (done, refused));
    assert_eq!((ended("a", &[]), ended("a", &["new"])), (refused, refused));
    assert_eq!((ended("az", &[]), ended("az", &["new"])), (done, done));
}

#[test]
fn of_very_many_passwords_of_an_entry_a_few_are_tried() {
    let sample = with("access to * by * auth");
    for count in [20, 1000] {
        let passwords: Vec<String> = (0..count).map(|n| format!("secret {n}")).collect();
        let passwords: Vec<&str> = passwords.iter().map(String::as_str).collect();
        sample.modify(SMITH, &[(Replace, "userPassword", &passwords)]).unwrap();
        let credentials = sample.directory.credentials(&somebody(&sample, ""), SMITH).unwrap();
        assert_eq!(credentials.stored.len(), 10, "of {count}");
    }
}

#[test]
fn sets_follow_large_groups_groups_in_groups_and_urls() {
    let sets = [
        ("cn", "[cn=all,ou=People,dc=example,dc=com]/member* & user"),
        ("description", "[cn=all,ou=People,dc=example,dc=com]/member & user"),
        ("businessCategory", "this/member & user"),
        ("o", "[ldap:///dc=example,dc=com??sub?(uid=jsmith)]/entryDN & user"),
        ("ou", "[ldap:///ou=People,dc=example,dc=com??one?(objectClass=groupOfNames)]/member & user"),
        ("seeAlso", "[ldap:///uid=jsmith,ou=People,dc=example,dc=com]/uid & user/uid"),
        ("owner", "user/memberOf & [cn=some,ou=people,dc=example,dc=com]"),
    ];
    let rule =
        |(attribute, set): &(&str, &str)| format!("access to attrs={attribute} by set=\"{set}\" write by * read\n");
    let sample = with(&(sets.iter().map(rule).collect::<String>() + "access to * by * read"));
    // More than an entry has in itself.
    let members: Vec<String> = (0..600).map(|n| format!("uid=u{n},ou=People,dc=example,dc=com")).collect();
    let group = |name: &str, more: &str| {
        let member = members.iter().map(String::as_str).chain([more]).map(str::as_bytes).collect();
        let cn = name.split(['=', ',']).nth(1).unwrap().as_bytes();
        sample.add(name, &[("objectClass", vec![b"groupOfNames"]), ("cn", vec![cn]), ("member", member)]).unwrap();
    };
    group("cn=all,ou=People,dc=example,dc=com", "cn=some,ou=People,dc=example,dc=com");
    group("cn=some,ou=People,dc=example,dc=com", SMITH);
    let may = |who: &str, name: &str| -> Vec<&str> {
        let who = somebody(&sample, who);
        let changes = |attribute: &str| -> ResultCode {
            let value = if ["seeAlso", "owner"].contains(&attribute) { "cn=x" } else { "x" };
            modify(&sample, &who, name, &[(Add, attribute, &[value])])
        };
        sets.iter()
            .map(|(attribute, _)| *attribute)
            .filter(|attribute| changes(attribute) == ResultCode::SUCCESS)
            .collect()
    };
    assert_eq!(
        may(SMITH, "cn=some,ou=People,dc=example,dc=com"),
        ["cn", "businessCategory", "o", "ou", "seeAlso", "owner"]
    );
    assert_eq!(may(JENSEN, "cn=some,ou=People,dc=example,dc=com"), [""; 0]);
    assert_eq!(
        may("uid=u7,ou=People,dc=example,dc=com", "cn=all,ou=People,dc=example,dc=com"),
        ["cn", "description", "businessCategory", "ou"]
    );
}

#[test]
fn the_entry_that_a_set_is_about_is_the_one_that_is_added() {
    let sample = with(
        "access to attrs=children by users write\naccess to attrs=entry by set=\"this/seeAlso & user\" write by * disclose",
    );
    let add = |name: &str, see_also: &str| {
        let attributes: Vec<(&str, Vec<&[u8]>)> = vec![
            ("objectClass", vec![b"device"]),
            ("cn", vec![name.as_bytes()]),
            ("seeAlso", vec![see_also.as_bytes()]),
        ];
        ended(sample.add_as(
            &somebody(&sample, SMITH),
            &format!("cn={name},ou=People,dc=example,dc=com"),
            &attributes,
            &[],
        ))
    };
    assert_eq!(add("own", SMITH), ResultCode::SUCCESS);
    assert_eq!(add("other", JENSEN), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}
