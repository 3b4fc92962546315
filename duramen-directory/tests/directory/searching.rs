//! What a search finds.

use duramen_directory::{Config, Failure, Index, IndexKinds, Progress, Requester, Sink};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{MatchedValues, SortKey, SortKeys, SortResponse};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
use duramen_ldap::message::{Control, Deref, ResultCode, Scope, SearchRequest};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";

/// The same entries under all kinds of indices, and none.
fn samples() -> Vec<Sample> {
    let index = |substring| {
        let kinds = IndexKinds { presence: true, equality: true, substring };
        move |attribute: &str| Index { attribute: attribute.to_string(), kinds }
    };
    let every = ["cn", "sn", "uid", "mail", "telephoneNumber", "givenName"].map(index(true)).into_iter();
    let every = every.chain(["uidNumber", "objectClass", "member"].map(index(false))).collect();
    [None, Some(Vec::new()), Some(every)]
        .into_iter()
        .map(|indices| {
            let sample = Sample::with(Config { indices, ..Config::default() });
            sample.load(PEOPLE);
            sample
        })
        .collect()
}

#[test]
fn filters_find_the_same_with_and_without_indices_rfc4511_4_5_1_7() {
    let both = &[JENSEN, SMITH][..];
    let cases: &[(&str, &[&str])] = &[
        ("(uid=BJENSEN)", &[JENSEN]),
        ("(cn=barbara  jensen)", &[JENSEN]),
        ("(name=smith)", &[SMITH]),
        ("(cn;lang-de=barbara von jensen)", &[JENSEN]),
        ("(cn;lang-de=barbara jensen)", &[]),
        ("(objectClass=person)", both),
        ("(objectClass=inetOrgPerson)", both),
        ("(&(objectClass=person)(uidNumber>=1000)(uidNumber<=1009))", &[SMITH]),
        ("(uidNumber>=1001)", &[]),
        ("(uidNumber>=999)", &[SMITH]),
        ("(uidNumber<=2000)", &[SMITH]),
        ("(uidNumber<=5)", &[]),
        ("(sn=*)", both),
        ("(&(sn=*)(!(mail=*)))", &[SMITH]),
        ("(|(sn=jensen)(givenName=john))", both),
        ("(sn=jen*)", &[JENSEN]),
        ("(sn=j*)", &[JENSEN]),
        ("(cn=*ith)", &[SMITH]),
        ("(cn=*bara*jen*)", &[JENSEN]),
        ("(cn=* j*)", both),
        ("(cn=*e*e*)", &[JENSEN]),
        ("(cn=jo*h)", &[SMITH]),
        ("(telephoneNumber=+14085551862)", &[JENSEN]),
        ("(!(telephoneNumber=*@*))", &[]),
        ("(telephoneNumber=*555-18*)", &[JENSEN]),
        ("(cn~=John Smith)", &[SMITH]),
        ("(uid:=jsmith)", &[SMITH]),
        ("(cn:caseExactMatch:=John Smith)", &[SMITH]),
        ("(cn:caseExactMatch:=john smith)", &[]),
        ("(uidNumber:1.2.840.113556.1.4.803:=8)", &[SMITH]),
        ("(uidNumber:1.2.840.113556.1.4.803:=7)", &[]),
        ("(:caseIgnoreMatch:=smith)", &[SMITH]),
        ("(entryDN:distinguishedNameMatch:=UID=jsmith,OU=people,dc=example,dc=com)", &[SMITH]),
        ("(entryDN:dnSubtreeMatch:=UID=jsmith,OU=people,dc=example,dc=com)", &[SMITH]),
        ("(&(objectClass=person)(entryDN:dnOneLevelMatch:=ou=people,dc=example,dc=com))", both),
        ("(&(objectClass=person)(entryDN:1.3.6.1.4.1.4203.666.4.8:=dc=example,dc=com))", &[]),
        ("(&(uid=*)(!(entryDN:dnSubordinateMatch:=uid=jsmith,ou=people,dc=example,dc=com)))", both),
        (
            "(entryDN:dnSuperiorMatch:=cn=x,uid=jsmith,ou=people,dc=example,dc=com)",
            &[BASE, "ou=People,dc=example,dc=com", SMITH],
        ),
        ("(!(entryDN:dnSubtreeMatch:=no name))", &[]),
        ("(:1.2.840.113556.1.4.803:=1000)", &[SMITH]),
        ("(:1.2.840.113556.1.4.803:=01000)", &[]),
        ("(:caseIgnoreMatch:=+1 408 555 1862)", &[JENSEN]),
        ("(telephoneNumber:caseIgnoreMatch:=+14085551862)", &[]),
        ("(telephoneNumber:caseIgnoreSubstringsMatch:=+1 \\2a)", &[JENSEN]),
        ("(&(ou:dn:=people)(objectClass=person))", both),
        ("(entryDN=UID=jsmith,OU=people,dc=example,dc=com)", &[SMITH]),
        ("(memberOf=cn=admins,ou=groups,dc=example,dc=com)", &[JENSEN]),
        ("(&(hasSubordinates=FALSE)(objectClass=person))", both),
        (
            "(&)",
            &[
                "dc=example,dc=com",
                "ou=People,dc=example,dc=com",
                JENSEN,
                SMITH,
                "ou=Groups,dc=example,dc=com",
                "cn=admins,ou=Groups,dc=example,dc=com",
            ],
        ),
        ("(|)", &[]),
        ("(unknown=x)", &[]),
        ("(!(unknown=x))", &[]),
        ("(|(unknown=x)(sn=smith))", &[SMITH]),
        ("(&(!(unknown=x))(sn=smith))", &[]),
        ("(!(mail=é*))", &[]),
        ("(uidNumber=text)", &[]),
        ("(!(uidNumber=text))", &[]),
        ("(!(entryCSN>=text))", &[]),
        ("(!(entryCSN:CSNMatch:=text))", &[]),
        ("(&(uid=*)(!(entryCSN<=20000101000000Z#000000#00#000000)))", both),
        ("(objectClass=nosuchclass)", &[]),
        ("(!(structuralObjectClass=nosuchclass))", &[]),
        ("(!(:objectIdentifierMatch:=smith))", &[]),
    ];
    for (n, sample) in samples().iter().enumerate() {
        for (filter, names) in cases {
            // Without an index of members nobody knows groups.
            if n == 1 && filter.contains("memberOf") {
                continue;
            }
            assert_eq!(sample.found(filter), *names, "{filter}, indices {n}");
        }
    }
}

#[test]
fn a_scope_is_the_base_what_is_below_or_all_rfc4511_4_5_1_2() {
    let sample = Sample::people();
    let names = |base: &str, scope| {
        let given = sample.search(base, "(objectClass=*)", &Ask { scope, ..Ask::default() }).unwrap();
        given.entries.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let people = "ou=People,dc=example,dc=com";
    assert_eq!(names(people, Scope::Base), [people]);
    assert_eq!(names(people, Scope::One), [JENSEN, SMITH]);
    assert_eq!(names(people, Scope::Subtree), [people, JENSEN, SMITH]);
    assert_eq!(names(people, Scope::Subordinates), [JENSEN, SMITH]);
    assert_eq!(names(BASE, Scope::One), [people, "ou=Groups,dc=example,dc=com"]);
    assert_eq!(names(BASE, Scope::Subtree).len(), 6);
    let given = sample.search(people, "(uid=jsmith)", &Ask { scope: Scope::Base, ..Ask::default() }).unwrap();
    assert_eq!(given.names().len(), 0);
}

#[test]
fn a_base_that_is_not_there_is_told_with_what_is_above_rfc4511_4_1_9() {
    let sample = Sample::people();
    let failure = sample.search("cn=x,uid=nobody,ou=people,dc=example,dc=com", "(a=b)", &Ask::default()).err().unwrap();
    assert_eq!(
        (failure.code, failure.matched_dn.as_str()),
        (ResultCode::NO_SUCH_OBJECT, "ou=People,dc=example,dc=com")
    );
    let failure = sample.search("dc=elsewhere", "(a=b)", &Ask::default()).err().unwrap();
    assert_eq!(failure.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(
        failure.diagnostic,
        "\"dc=elsewhere\" is none of the directory's names, which are those below dc=example,dc=com"
    );
    assert_eq!(
        code(sample.search("dc=example,,", "(a=b)", &Ask::default()).map(|_| ())),
        ResultCode::INVALID_DN_SYNTAX
    );
    let sample = Sample::with(Config { referrals: vec!["ldap://other".into()], ..Config::default() });
    let failure = sample.search("dc=elsewhere", "(a=b)", &Ask::default()).err().unwrap();
    assert_eq!(failure.code, ResultCode::REFERRAL);
    assert_eq!(failure.as_result().referral.iter().collect::<Vec<_>>(), ["ldap://other"]);
}

#[test]
fn what_is_beyond_the_size_limit_is_told_rfc4511_4_5_1_4() {
    let sample = Sample::people();
    let given = sample.search(BASE, "(objectClass=*)", &Ask { size_limit: 2, ..Ask::default() }).unwrap();
    assert_eq!((given.names().len(), given.code()), (2, ResultCode::SIZE_LIMIT_EXCEEDED));
    let given = sample.search(BASE, "(objectClass=*)", &Ask { size_limit: 6, ..Ask::default() }).unwrap();
    assert_eq!((given.names().len(), given.code()), (6, ResultCode::SUCCESS));
}

#[test]
fn pages_together_are_the_whole_and_the_last_has_no_cookie_rfc2696_3() {
    let sample = Sample::people();
    for size in 1..8 {
        let (mut all, mut cookie) = (Vec::new(), Vec::new());
        loop {
            // A page of another search in between changes nothing.
            page_of(&sample, "(sn=*)", 1, b"", None).unwrap();
            let (names, next) = page_of(&sample, "(objectClass=*)", size, &cookie, None).unwrap();
            assert!(names.len() == size as usize || next.is_empty());
            all.extend(names);
            cookie = next;
            if cookie.is_empty() {
                break;
            }
        }
        assert_eq!(all, sample.found("(objectClass=*)"), "pages of {size}");
    }
    let (_, cookie) = page_of(&sample, "(objectClass=*)", 2, b"", None).unwrap();
    assert_eq!(code(page_of(&sample, "(sn=*)", 2, &cookie, None)), ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(code(page_of(&sample, "(sn=*)", 2, b"junk", None)), ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(page_of(&sample, "(objectClass=*)", 0, &cookie, None).unwrap(), (vec![], vec![]));
}

fn sorted_by(value: &mut Vec<u8>, description: &str, reverse: bool) {
    let mut buffer = Vec::new();
    SortKeys(List::build(&mut buffer, [SortKey { description, rule: None, reverse }])).encode(value);
}

#[test]
fn entries_are_sorted_by_any_attribute_missing_values_last_rfc2891_2() {
    let sample = Sample::people();
    let sort = |description: &str, reverse, critical| {
        let mut value = Vec::new();
        sorted_by(&mut value, description, reverse);
        let ask =
            Ask { controls: vec![Control { oid: oid::SORT_REQUEST, critical, value: Some(&value) }], ..Ask::default() };
        sample.search(BASE, "(objectClass=*)", &ask)
    };
    let given = sort("sn", false, true).unwrap();
    assert_eq!(given.names()[..2], [JENSEN, SMITH]);
    assert_eq!(given.names().len(), 6);
    let response = controls(&given).remove(0);
    assert_eq!(response.0, oid::SORT_RESPONSE);
    assert_eq!(SortResponse::decode(&response.1).unwrap().code, ResultCode::SUCCESS);
    assert_eq!(sort("sn", true, true).unwrap().names()[4..], [SMITH, JENSEN]);
    assert_eq!(code(sort("nothing", false, true).map(|_| ())), ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    let given = sort("nothing", false, false).unwrap();
    let response = controls(&given).remove(0);
    assert_eq!(SortResponse::decode(&response.1).unwrap().code, ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(given.names().len(), 6);
}

/// Takes entries, but only a few of them before others have their turn.
struct Busy {
    names: Vec<String>,
    references: usize,
    asked: std::cell::Cell<u32>,
}

impl Sink for Busy {
    fn entry(&mut self, name: &str, _: &[&[u8]], _: List<'_, Control<'_>>) {
        self.names.push(name.to_string());
    }

    fn reference(&mut self, _: List<'_, &str>, _: List<'_, Control<'_>>) {
        self.references += 1;
    }

    fn is_full(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.asked.get().is_multiple_of(3)
    }
}

#[test]
fn a_sorted_search_pauses_while_it_looks_for_what_to_sort() {
    let sample = Sample::people();
    let referral: &[(&str, Vec<&[u8]>)] = &[
        ("objectClass", vec![b"referral", b"extensibleObject"]),
        ("ou", vec![b"Elsewhere"]),
        ("ref", vec![b"ldap://other.example/"]),
    ];
    sample.add("ou=Elsewhere,dc=example,dc=com", referral).unwrap();
    let (mut value, mut buffers) = (Vec::new(), (Vec::new(), Vec::new()));
    sorted_by(&mut value, "sn", true);
    let control = Control { oid: oid::SORT_REQUEST, critical: true, value: Some(&value) };
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    let request = SearchRequest {
        base: BASE,
        scope: Scope::Subtree,
        deref: Deref::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: filter.as_filter(),
        attributes: List::build(&mut buffers.0, ["1.1"]),
    };
    let controls = List::build(&mut buffers.1, [control]);
    let mut search = sample.directory.search(&Requester::internal(), &request, controls).unwrap();
    let mut sink = Busy { names: Vec::new(), references: 0, asked: std::cell::Cell::default() };
    let mut pauses_before = 0;
    let done = loop {
        match search.run(&mut sink) {
            Progress::Done(done) => break done,
            Progress::Persists => panic!("nobody asked for what changes"),
            Progress::Paused => pauses_before += u32::from(sink.names.is_empty()),
        }
    };
    assert!(pauses_before > 1, "{pauses_before} pauses before the first entry");
    assert!(done.failure.is_none());
    assert_eq!((sink.names.len(), sink.references), (6, 1));
    assert_eq!(sink.names[4..], [SMITH, JENSEN]);
}

#[test]
fn sorted_entries_come_in_pages_too() {
    let sample = Sample::people();
    let mut value = Vec::new();
    sorted_by(&mut value, "cn", false);
    let sort = Control { oid: oid::SORT_REQUEST, critical: true, value: Some(&value) };
    let (first, cookie) = page_of(&sample, "(cn=*)", 2, b"", Some(sort)).unwrap();
    assert_eq!(first, ["cn=admins,ou=Groups,dc=example,dc=com", JENSEN]);
    let (second, cookie) = page_of(&sample, "(cn=*)", 2, &cookie, Some(sort)).unwrap();
    assert_eq!((second, cookie.len()), (vec![SMITH.to_string()], 0));
}

#[test]
fn entries_are_not_sorted_by_very_many_keys_rfc2891_1_2() {
    let sample = Sample::people();
    let sorted = |count, critical| {
        let (mut buffer, mut value) = (Vec::new(), Vec::new());
        let key = SortKey { description: "cn", rule: None, reverse: true };
        SortKeys(List::build(&mut buffer, std::iter::repeat_n(key, count))).encode(&mut value);
        let controls = vec![Control { oid: oid::SORT_REQUEST, critical, value: Some(&value) }];
        let given = sample.search(BASE, "(sn=*)", &Ask { controls, ..Ask::default() })?;
        Ok::<_, Failure>(given.names().join(" "))
    };
    assert_eq!(sorted(16, true).unwrap(), [SMITH, JENSEN].join(" "));
    assert_eq!(code(sorted(17, true)), ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    assert_eq!(sorted(17, false).unwrap(), [JENSEN, SMITH].join(" "), "not sorted");
}

#[test]
fn pages_of_a_sorted_search_follow_changes_and_are_not_those_of_another() {
    let sample = Sample::people();
    let page = |filter, reverse, cookie: &[u8]| {
        let mut value = Vec::new();
        sorted_by(&mut value, "cn", reverse);
        let sort = Control { oid: oid::SORT_REQUEST, critical: true, value: Some(&value) };
        page_of(&sample, filter, 1, cookie, Some(sort)).unwrap()
    };
    let (first, cookie) = page("(cn=*)", false, b"");
    assert_eq!(first, ["cn=admins,ou=Groups,dc=example,dc=com"]);
    assert_eq!(page("(cn=*)", true, b"").0, [SMITH]);
    assert_eq!(page("(sn=*)", false, b"").0, [JENSEN]);
    assert_eq!(page("(cn=*)", false, &cookie).0, [JENSEN]);
    assert_eq!(page("(cn=*)", false, &cookie).0, [JENSEN], "the order that is remembered");
    sample.modify(JENSEN, &[(Replace, "cn", &["Zoe Jensen"]), (Delete, "cn;lang-de", &[])]).unwrap();
    let (second, cookie) = page("(cn=*)", false, &cookie);
    assert_eq!((second, page("(cn=*)", false, &cookie).0), (vec![SMITH.to_string()], vec![JENSEN.to_string()]));
    sample.delete(JENSEN, &[]).unwrap();
    assert_eq!(page("(cn=*)", false, &cookie).0, Vec::<String>::new());
}

/// What is returned of an entry, of its attributes `asked`, by the matched values control with these filters.
fn matched_values(sample: &Sample, name: &str, asked: &[&str], filters: &[&str]) -> Vec<(String, Vec<String>)> {
    let filters: Vec<_> = filters.iter().map(|filter| FilterBuf::parse(filter).unwrap()).collect();
    let (mut buffer, mut value) = (Vec::new(), Vec::new());
    MatchedValues(List::build(&mut buffer, filters.iter().map(FilterBuf::as_filter))).encode(&mut value);
    let control = Control { oid: oid::MATCHED_VALUES, critical: true, value: Some(&value) };
    let ask = Ask { scope: Scope::Base, attributes: asked, controls: vec![control], ..Ask::default() };
    sample.search(name, "(objectClass=*)", &ask).unwrap().entries.remove(0).1
}

#[test]
fn only_values_that_match_are_returned_rfc3876_3() {
    let sample = Sample::people();
    let found = matched_values(&sample, SMITH, &[], &["(sn=sm*)", "(objectClass=posix*)"]);
    assert_eq!(found, [("sn".to_string(), vec!["Smith".to_string()])]);
}

#[test]
fn values_match_with_the_options_of_their_attribute_rfc4512_2_5_2() {
    let sample = Sample::people();
    let changes: &[(_, &str, &[&str])] = &[(Add, "cn;lang-de", &["x"]), (Add, "cn;lang-en", &["x", "y"])];
    sample.modify(SMITH, changes).unwrap();
    let matched = |filter: &str| matched_values(&sample, SMITH, &[], &[filter]);
    let one = |description: &str| vec![(description.to_string(), vec!["x".to_string()])];
    assert_eq!(matched("(cn;lang-de=x)"), one("cn;lang-de"));
    assert_eq!(matched("(cn;lang-de=*)"), one("cn;lang-de"));
    assert_eq!(matched("(cn=x)"), [one("cn;lang-de"), one("cn;lang-en")].concat());
    assert_eq!(matched("(cn;lang-de;lang-en=x)"), []);
}

#[test]
fn values_of_classes_and_those_that_are_made_match_as_others_rfc3876_3() {
    let sample = Sample::people();
    let matched = |asked: &[&str], filter: &str| matched_values(&sample, SMITH, asked, &[filter]);
    assert_eq!(matched(&["objectClass"], "(objectClass=top)"), matched(&["objectClass"], "(objectClass=*)"));
    let name = vec![("entryDN".to_string(), vec![SMITH.to_string()])];
    assert_eq!(matched(&["sn", "entryDN"], &format!("(entryDN={})", SMITH.to_uppercase())), name);
    assert_eq!(matched(&["sn", "entryDN"], "(entryDN=cn=other)"), []);
}

#[test]
fn a_critical_control_that_is_not_known_is_refused_rfc4511_4_1_11() {
    let sample = Sample::people();
    let with = |control| sample.search(BASE, "(sn=*)", &Ask { controls: vec![control], ..Ask::default() }).map(|_| ());
    assert_eq!(code(with(control("1.2.3.4"))), ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    assert_eq!(code(with(control(oid::TREE_DELETE))), ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    with(Control { critical: false, ..control("1.2.3.4") }).unwrap();
    assert_eq!(code(with(Control { value: Some(b"junk"), ..control(oid::PAGED_RESULTS) })), ResultCode::PROTOCOL_ERROR);
}

fn with_alias_and_referral() -> Sample {
    let sample = Sample::people();
    sample.load(
        "
dn: cn=boss,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: boss
aliasedObjectName: uid=bjensen,ou=People,dc=example,dc=com

dn: ou=Everybody,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
ou: Everybody
aliasedObjectName: ou=People,dc=example,dc=com
",
    );
    let attributes: &[(&str, Vec<&[u8]>)] = &[
        ("objectClass", vec![b"referral", b"extensibleObject"]),
        ("ou", vec![b"Abroad"]),
        ("ref", vec![b"ldap://abroad.example/ou=There,dc=abroad label"]),
    ];
    sample.add("ou=Abroad,dc=example,dc=com", attributes).unwrap();
    sample
}

#[test]
fn aliases_are_followed_as_asked_for_rfc4511_4_5_1_3() {
    let sample = with_alias_and_referral();
    let find = |base: &str, filter: &str, deref, scope| {
        let ask = Ask { deref, scope, ..Ask::default() };
        sample
            .search(base, filter, &ask)
            .map(|given| given.entries.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
    };
    let boss = "cn=boss,dc=example,dc=com";
    assert_eq!(find(boss, "(sn=*)", Deref::FindingBase, Scope::Base).unwrap(), [JENSEN]);
    assert_eq!(find(boss, "(objectClass=*)", Deref::Never, Scope::Base).unwrap(), [boss]);
    let below = "uid=jsmith,ou=Everybody,dc=example,dc=com";
    assert_eq!(find(below, "(sn=*)", Deref::Always, Scope::Base).unwrap(), [SMITH]);
    assert_eq!(code(find(below, "(sn=*)", Deref::Never, Scope::Base)), ResultCode::NO_SUCH_OBJECT);
    assert_eq!(find(BASE, "(sn=*)", Deref::InSearching, Scope::One).unwrap(), [JENSEN]);
    assert_eq!(find(BASE, "(objectClass=alias)", Deref::Always, Scope::Subtree).unwrap().len(), 0);
    assert_eq!(find(BASE, "(objectClass=alias)", Deref::Never, Scope::Subtree).unwrap().len(), 2);
}

/// An alias, and a container with an entry in it.
fn alias(name: &str, target: &str) -> String {
    format!("\ndn: {name}\nobjectClass: alias\nobjectClass: extensibleObject\naliasedObjectName: {target}\n")
}

fn container(name: &str) -> String {
    format!(
        "\ndn: ou={name},{BASE}\nobjectClass: organizationalUnit\n\n\
         dn: cn={name},ou={name},{BASE}\nobjectClass: person\nsn: {name}\n"
    )
}

#[test]
fn aliases_that_lead_round_are_told_with_the_one_where_they_begin_to_rfc4511_4_1_9() {
    let sample = Sample::people();
    for (name, target) in [("in", "a"), ("a", "b"), ("b", "a"), ("self", "self"), ("lost", "nowhere"), ("lo", "lost")] {
        sample.load(&alias(&format!("cn={name},{BASE}"), &format!("cn={target},{BASE}")));
    }
    let ask = Ask { deref: Deref::FindingBase, ..Ask::default() };
    for (base, matched) in
        [("cn=in", "cn=a"), ("cn=x,cn=b", "cn=b"), ("cn=self", "cn=self"), ("cn=lost", "cn=lost"), ("cn=lo", "cn=lost")]
    {
        let failure = sample.search(&format!("{base},{BASE}"), "(objectClass=*)", &ask).unwrap_err();
        assert_eq!(failure.code, ResultCode::ALIAS_PROBLEM);
        assert_eq!(failure.matched_dn, format!("{matched},{BASE}"), "{base}");
    }
}

#[test]
fn aliases_that_lead_to_aliases_are_followed_whatever_came_first() {
    let sample = Sample::people();
    ["first", "second", "third"].iter().for_each(|name| sample.load(&container(name)));
    // Each alias is older than the one that leads to it; the last leads back.
    sample.load(&alias(&format!("ou=on,ou=third,{BASE}"), &format!("ou=first,{BASE}")));
    sample.load(&alias(&format!("ou=on,ou=second,{BASE}"), &format!("ou=third,{BASE}")));
    sample.load(&alias(&format!("ou=on,ou=first,{BASE}"), &format!("ou=second,{BASE}")));
    let found = |base: &str, scope| {
        let ask = Ask { deref: Deref::Always, scope, ..Ask::default() };
        let given = sample.search(&format!("ou={base},{BASE}"), "(objectClass=*)", &ask).unwrap();
        let mut names: Vec<String> = given.names().iter().map(|name| name.replace(BASE, "")).collect();
        names.sort();
        names.join(" ")
    };
    let all = "cn=first,ou=first, cn=second,ou=second, cn=third,ou=third, ou=first, ou=second, ou=third,";
    for base in ["first", "second", "third"] {
        assert_eq!(found(base, Scope::Subtree), all, "{base}");
    }
    assert_eq!(found("first", Scope::One), "cn=first,ou=first, ou=second,");
    assert_eq!(found("first", Scope::Subordinates), all);
}

/// If all were looked at for each that is followed, this would take minutes.
#[test]
fn very_many_aliases_that_lead_on_are_looked_at_once_each() {
    const ALIASES: usize = 8_000;
    let sample = Sample::people();
    // The last of the way is the oldest.
    let parts = (1..=ALIASES).rev().map(|n| {
        let part = format!("\ndn: ou={n},{BASE}\nobjectClass: organizationalUnit\n");
        part + &alias(&format!("ou=on,ou={n},{BASE}"), &format!("ou={},{BASE}", n + 1))
    });
    sample.load(&parts.collect::<String>());
    let ask = Ask { deref: Deref::Always, ..Ask::default() };
    let given = sample.search(&format!("ou=1,{BASE}"), "(objectClass=*)", &ask).unwrap();
    assert_eq!(given.names().len(), ALIASES);
}

#[test]
fn references_are_given_where_they_are_and_nowhere_else() {
    let sample = with_alias_and_referral();
    let references = |base: &str| sample.search(base, "(uid=jsmith)", &Ask::default()).unwrap().references.len();
    let people = "ou=People,dc=example,dc=com";
    for _ in 0..2 {
        assert_eq!((references(people), references(BASE)), (0, 1));
    }
    let attributes: &[(&str, Vec<&[u8]>)] =
        &[("objectClass", vec![b"referral", b"extensibleObject"]), ("ref", vec![b"ldap://there.example/dc=there"])];
    sample.add("ou=There,ou=People,dc=example,dc=com", attributes).unwrap();
    for _ in 0..2 {
        assert_eq!((references(people), references(BASE)), (1, 2));
    }
}

#[test]
fn referral_objects_lead_elsewhere_rfc3296_5() {
    let sample = with_alias_and_referral();
    let given = sample.search(BASE, "(sn=smith)", &Ask::default()).unwrap();
    assert_eq!(given.names(), [SMITH]);
    assert_eq!(given.references, [["ldap://abroad.example/ou=There,dc=abroad??sub"]]);
    let failure = sample.search("cn=x,ou=Abroad,dc=example,dc=com", "(a=b)", &Ask::default()).err().unwrap();
    assert_eq!((failure.code, failure.matched_dn.as_str()), (ResultCode::REFERRAL, "ou=Abroad,dc=example,dc=com"));
    let urls: Vec<&str> = failure.as_result().referral.iter().collect();
    assert_eq!(urls, ["ldap://abroad.example/cn=x,ou=There,dc=abroad??sub"]);
    let ask = Ask { controls: vec![control(oid::MANAGE_DSA_IT)], ..Ask::default() };
    let given = sample.search(BASE, "(objectClass=referral)", &ask).unwrap();
    assert_eq!((given.names(), given.references.len()), (vec!["ou=Abroad,dc=example,dc=com"], 0));
    sample.delete("ou=Abroad,dc=example,dc=com", &[control(oid::MANAGE_DSA_IT)]).unwrap();
}

#[test]
fn no_references_are_sent_in_domain_scope_however_often_it_is_asked_in_either() {
    let sample = with_alias_and_referral();
    let mut value = Vec::new();
    sorted_by(&mut value, "cn", false);
    let sort = Control { oid: oid::SORT_REQUEST, critical: true, value: Some(&value) };
    let domain_scope = Control { critical: true, ..control(oid::DOMAIN_SCOPE) };
    for _ in 0..2 {
        for (controls, count) in [(vec![sort, domain_scope], 0), (vec![sort], 1), (vec![domain_scope], 0), (vec![], 1)]
        {
            let given = sample.search(BASE, "(sn=smith)", &Ask { controls, ..Ask::default() }).unwrap();
            assert_eq!((given.names(), given.references.len()), (vec![SMITH], count));
        }
    }
    let ask = Ask { controls: vec![domain_scope], ..Ask::default() };
    let failure = sample.search("cn=x,ou=Abroad,dc=example,dc=com", "(a=b)", &ask).err().unwrap();
    let told = (failure.code, failure.matched_dn.as_str());
    assert_eq!(told, (ResultCode::NO_SUCH_OBJECT, "ou=Abroad,dc=example,dc=com"));
}

#[test]
fn subentries_are_seen_when_they_are_asked_for_rfc3672_3() {
    let sample = Sample::people();
    sample.load("\ndn: cn=sub,dc=example,dc=com\nobjectClass: subentry\ncn: sub\nsubtreeSpecification: {}\n");
    assert_eq!(sample.found("(cn=sub)").len(), 0);
    assert_eq!(sample.read("cn=sub,dc=example,dc=com", &[]).names().len(), 1);
    let ask = |value| Ask {
        controls: vec![Control { oid: oid::SUBENTRIES, critical: true, value: Some(value) }],
        ..Ask::default()
    };
    let given = sample.search(BASE, "(objectClass=*)", &ask(b"\x01\x01\xFF")).unwrap();
    assert_eq!(given.names(), ["cn=sub,dc=example,dc=com"]);
    assert_eq!(sample.search(BASE, "(objectClass=*)", &ask(b"\x01\x01\x00")).unwrap().names().len(), 6);
}

#[test]
fn a_plan_says_which_index_was_used() {
    let sample = Sample::people();
    let plan = sample.search(BASE, "(uid=jsmith)", &Ask::default()).unwrap().plan;
    assert_eq!(plan, "1 candidate, no test needed, 1 looked at, 1 given");
}

#[test]
fn what_is_no_name_is_no_base_however_often_it_is_asked_for() {
    let sample = Sample::people();
    for base in ["referral", "alias", "\0"] {
        for _ in 0..2 {
            sample.found("(sn=*)");
            let outcome = sample.search(base, "(sn=*)", &Ask::default()).map(|_| ());
            assert_eq!(code(outcome), ResultCode::INVALID_DN_SYNTAX, "{base:?}");
        }
    }
}

#[test]
fn a_value_that_is_not_of_the_syntax_is_neither_equal_nor_unequal_rfc4511_4_5_1_7() {
    let sample = Sample::people();
    let all = sample.found("(uidNumber=1000)");
    assert_eq!(all.len(), 1);
    for filter in ["(uidNumber=01000)", "(!(uidNumber=01000))", "(uidNumber>=01000)", "(sn=)", "(!(sn=))"] {
        assert_eq!(sample.found(filter), Vec::<String>::new(), "{filter}");
    }
    for (description, value) in [("uidNumber", "01000"), ("sn", ""), ("objectClass", "nonsense")] {
        let compared = code(sample.compare(&all[0], description, value));
        assert_eq!(compared, ResultCode::INVALID_ATTRIBUTE_SYNTAX, "{description} (RFC 4511 section 4.10)");
    }
}

/// Its syntax is Country String, and what is asserted by caseIgnoreMatch a Directory String, which has a character.
#[test]
fn what_is_asserted_is_of_the_syntax_of_the_rule_rfc4511_4_5_1_7() {
    let sample = Sample::people();
    sample.add("c=AT,dc=example,dc=com", &[("objectClass", vec![b"country"])]).unwrap();
    for filter in ["(c=)", "(!(c=))", "(c:caseIgnoreMatch:=)", "(!(c:caseIgnoreMatch:=))"] {
        assert_eq!(sample.found(filter), [""; 0], "{filter}");
    }
    assert_eq!(sample.found("(c=aut)"), [""; 0]);
    assert!(sample.found("(!(c=aut))").len() > 1, "no country is called so, but it could be asked for");
    let code = |value: &str| sample.compare("c=AT,dc=example,dc=com", "c", value).map_err(|failure| failure.code);
    assert_eq!((code(""), code("aut"), code("at")), (Err(ResultCode::INVALID_ATTRIBUTE_SYNTAX), Ok(false), Ok(true)));
}

#[test]
fn a_class_is_there_with_all_above_it_whether_names_are_looked_at_too_or_not_rfc4512_3_3() {
    let sample = Sample::people();
    for filter in
        ["(objectClass=person)", "(objectClass:=person)", "(objectClass:dn:=person)", "(!(!(objectClass:dn:=2.5.6.6)))"]
    {
        assert_eq!(sample.found(filter), [JENSEN, SMITH], "{filter}");
    }
}

#[test]
fn a_rule_that_is_named_finds_classes_that_are_written_and_none_above_them() {
    let sample = Sample::people();
    let item = |value: &str| format!("(objectClass:objectIdentifierMatch:={value})");
    for (value, found) in [("inetOrgPerson", &[JENSEN, SMITH][..]), ("person", &[]), ("2.5.6.0", &[])] {
        assert_eq!(sample.found(&item(value)), found, "{value}");
        let ask = Ask { scope: Scope::Base, ..Ask::default() };
        assert_eq!(sample.search(JENSEN, &item(value), &ask).unwrap().names().len(), found.len() / 2, "{value}");
    }
    let many: String = ["person", "top", "organizationalPerson", "posixAccount", "device", "alias"].map(item).concat();
    assert_eq!(sample.found(&format!("(|{many})")), [SMITH]);
}

#[test]
fn only_what_has_the_option_is_of_a_class_with_it_rfc4512_2_5_2() {
    let sample = Sample::people();
    let found = || (sample.found("(objectClass;x-a=top)"), sample.found("(objectClass;x-a=person)"));
    assert_eq!(found(), (vec![], vec![]));
    sample.modify(SMITH, &[(Add, "objectClass;x-a", &["person"])]).unwrap();
    assert_eq!(found(), (vec![SMITH.to_string()], vec![SMITH.to_string()]));
}

#[test]
fn values_in_names_are_matched_as_they_are_written_rfc4511_4_5_1_7_7() {
    let sample = Sample::people();
    let people = ["ou=People,dc=example,dc=com", JENSEN, SMITH];
    assert_eq!(sample.found("(ou:dn:caseExactMatch:=People)"), people);
    assert_eq!(sample.found("(ou:dn:caseExactMatch:=people)"), [""; 0]);
    assert_eq!(sample.found("(ou:dn:caseIgnoreMatch:=PEOPLE)"), people);
}

#[test]
fn names_have_no_attributes_with_options_rfc4512_2_5_2() {
    let sample = Sample::people();
    let named: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"person"]), ("sn", vec![b"x"])];
    sample.add("cn=x,dc=example,dc=com", named).unwrap();
    assert_eq!(sample.found("(cn:dn:=x)"), ["cn=x,dc=example,dc=com"]);
    for rule in ["", ":caseIgnoreMatch"] {
        assert_eq!(sample.found(&format!("(cn;lang-de:dn{rule}:=x)")), Vec::<String>::new());
        assert_eq!(sample.found(&format!("(cn;lang-de:dn{rule}:=Barbara von Jensen)")), [JENSEN]);
    }
}

#[test]
fn a_language_range_stands_for_its_tag_and_all_that_begin_with_it_rfc3866_3() {
    let sample = Sample::people();
    sample.modify(SMITH, &[(Add, "cn;lang-en-us", &["Jack"])]).unwrap();
    let none: &[&str] = &[];
    for (filter, found) in [
        ("(cn;lang-=jack)", &[SMITH][..]),
        ("(cn;lang-en-=jack)", &[SMITH]),
        ("(cn;lang-en-us-:=jack)", &[SMITH]),
        ("(cn;lang-e-=jack)", none),
        ("(cn;lang-en=jack)", none),
        ("(cn;lang-=John Smith)", none),
        ("(cn;lang-=*)", &[JENSEN, SMITH]),
        ("(cn;lang-de-=*Jen*)", &[JENSEN]),
        ("(sn;lang-=*)", none),
    ] {
        assert_eq!(sample.found(filter), found, "{filter}");
    }
    assert_eq!(sample.compare(SMITH, "cn;lang-en-", "Jack"), Ok(true));
    assert_eq!(code(sample.compare(SMITH, "cn;lang-de-", "Jack")), ResultCode::NO_SUCH_ATTRIBUTE);
}
