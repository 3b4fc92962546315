//! What somebody may not know of is answered as what is not there, whatever is asked.

use duramen_directory::{Config, Failure, Method, Requester, SchemaFile, Updated};
use duramen_ldap::attribute::Assertion;
use duramen_ldap::ber::List;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::message::{CompareRequest, Control, Deref, Request, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const HIDDEN: &str = "uid=jsmith,ou=People,dc=example,dc=com";
const RULES: &str = "access to dn.subtree=\"uid=jsmith,ou=People,dc=example,dc=com\" by * none\naccess to * by * write";

fn with(rules: &str) -> Sample {
    let access = Some(SchemaFile { name: "access.conf".into(), text: rules.into() });
    let sample = Sample::with(Config { suffixes: vec![BASE.into()], access, ..Config::default() });
    sample.load(PEOPLE);
    sample
}

fn jensen(sample: &Sample) -> Requester {
    let name = sample.directory.name(JENSEN).unwrap();
    Requester { name, method: Method::Password, is_administrator: false, ..Requester::internal() }
}

fn asserted(filter: &FilterBuf) -> Control<'_> {
    Control { oid: oid::ASSERTION, critical: true, value: Some(filter.as_filter().encoded()) }
}

/// What is told of a name in each way to ask for one.
fn told(sample: &Sample, name: &str, filter: Option<&FilterBuf>) -> Vec<Failure> {
    let requester = jensen(sample);
    let controls: Vec<Control<'_>> = filter.map(asserted).into_iter().collect();
    let mut buffer = Vec::new();
    let list = List::build(&mut buffer, controls.iter().copied());
    let compare = CompareRequest { name, assertion: Assertion { description: "sn", value: b"Smith" } };
    let update = |request| sample.directory.update(&requester, &request, list).unwrap_err();
    let search = sample.search(name, "(uid=*)", &Ask { requester: requester.clone(), ..Ask::default() });
    let below = format!("cn=a,{name}");
    let entry: [(&str, Vec<&[u8]>); 3] = [("objectClass", vec![b"person"]), ("cn", vec![b"a"]), ("sn", vec![b"a"])];
    let added = sample.add_as(&requester, &below, &entry, &controls);
    let mut told = vec![
        search.unwrap_err(),
        sample.directory.compare(&requester, &compare, list).unwrap_err(),
        update(Request::Delete(name)),
        sample.modify_as(&requester, name, &[(Replace, "title", &["a"])], &controls).unwrap_err(),
        sample.rename_as(&requester, name, "uid=other", true, None).unwrap_err(),
        sample.rename_as(&requester, JENSEN, "uid=bjensen", false, Some(name)).unwrap_err(),
        added.unwrap_err(),
    ];
    for failure in &mut told {
        failure.diagnostic = failure.diagnostic.replace(name, "");
    }
    told
}

#[test]
fn what_may_not_be_known_of_is_told_of_as_what_is_not_there() {
    let sample = with(RULES);
    let filter = FilterBuf::parse("(sn=Nobody)").unwrap();
    for filter in [None, Some(&filter)] {
        let absent = told(&sample, "UID=Nobody,ou=People,dc=example,dc=com", filter);
        assert!(absent.iter().all(|failure| failure.code == ResultCode::NO_SUCH_OBJECT), "{absent:?}");
        // In other letters than it is stored in, too.
        for name in [HIDDEN, "UID=JSmith,ou=People,dc=example,dc=com"] {
            assert_eq!(told(&sample, name, filter), absent, "{name}, {filter:?}");
        }
    }
}

#[test]
fn who_may_not_add_is_not_told_that_an_entry_is_there_that_may_not_be_known_of() {
    let sample =
        with("access to dn.subtree=\"uid=jsmith,ou=People,dc=example,dc=com\" by * none\naccess to * by * read");
    let entry: [(&str, Vec<&[u8]>); 4] =
        [("objectClass", vec![b"inetOrgPerson"]), ("uid", vec![b"jsmith"]), ("cn", vec![b"a"]), ("sn", vec![b"a"])];
    let add = |name| sample.add_as(&jensen(&sample), name, &entry, &[]).unwrap_err();
    let absent = add("uid=jsmith+cn=a,ou=People,dc=example,dc=com");
    assert_eq!(absent.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(add(HIDDEN), absent);
}

#[test]
fn an_alias_that_may_not_be_known_of_tells_nobody_where_it_leads() {
    let sample = with(&format!("access to dn.regex=\"^cn=hidden\" by * none\n{RULES}"));
    let alias = |cn: &str, target: &str| {
        let name = format!("cn={cn},dc=example,dc=com");
        let classes: Vec<&[u8]> = vec![b"alias", b"extensibleObject"];
        let target = vec![target.as_bytes()];
        let attributes = [("objectClass", classes), ("cn", vec![cn.as_bytes()]), ("aliasedObjectName", target)];
        sample.add(&name, &attributes).unwrap();
        name
    };
    let told = |name: &str| {
        let ask = Ask { requester: jensen(&sample), deref: Deref::Always, ..Ask::default() };
        let mut failure = sample.search(name, "(uid=*)", &ask).unwrap_err();
        failure.diagnostic = failure.diagnostic.replace(name, "");
        failure
    };
    let absent = told("cn=absent,dc=example,dc=com");
    assert_eq!(absent.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(told(&alias("hidden", "cn=a secret,dc=example,dc=com")), absent);
    assert_eq!(told(&alias("hidden too", "cn=hidden too,dc=example,dc=com")), absent);
    assert_eq!(told(&alias("open", "cn=nowhere,dc=example,dc=com")).code, ResultCode::ALIAS_PROBLEM);
}

#[test]
fn who_deletes_a_tree_is_not_told_the_names_in_it_that_may_not_be_known_of() {
    let sample = with(RULES);
    let mut buffer = Vec::new();
    let controls = List::build(&mut buffer, [control(oid::TREE_DELETE)]);
    let top = Request::Delete("ou=People,dc=example,dc=com");
    let failure: Result<Updated, Failure> = sample.directory.update(&jensen(&sample), &top, controls);
    let failure = failure.unwrap_err();
    assert_eq!(failure.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert!(!failure.to_string().contains("jsmith"), "{failure}");
}

#[test]
fn a_modify_without_changes_is_for_those_who_may_change_the_entry() {
    let sample = with("access to dn.subtree=\"ou=Groups,dc=example,dc=com\" by * none\naccess to * by * read");
    let modify = |name| ended(sample.modify_as(&jensen(&sample), name, &[], &[]));
    assert_eq!(modify("cn=admins,ou=Groups,dc=example,dc=com"), ResultCode::NO_SUCH_OBJECT);
    assert_eq!(modify(HIDDEN), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_ne!(sample.read(HIDDEN, &["modifiersName"]).values("modifiersName"), [JENSEN]);
}
