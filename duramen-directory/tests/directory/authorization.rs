//! Who may act for whom (RFC 4370).

use duramen_directory::{Administrator, AuthzPolicy, Config, IdentityRule, Method, Requester, SchemaFile};
use duramen_ldap::message::ChangeKind::Replace;
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";
const ADMINISTRATOR: &str = "cn=admin,dc=example,dc=com";
const DENIED: ResultCode = ResultCode::AUTHORIZATION_DENIED;
const DONE: ResultCode = ResultCode::SUCCESS;

fn with(authz_policy: AuthzPolicy) -> Sample {
    let sample = Sample::with(configured(authz_policy, ADMINISTRATOR));
    sample.load(PEOPLE);
    sample
}

fn configured(authz_policy: AuthzPolicy, administrator: &str) -> Config {
    let rules = "access to * by self write by * read";
    Config {
        suffixes: vec![BASE.into()],
        access: Some(SchemaFile { name: "access.conf".into(), text: rules.into() }),
        administrator: Some(Administrator { name: administrator.into(), password: None }),
        identities: vec![IdentityRule {
            matches: "uid=([^,]+),cn=(plain|mail),cn=auth".into(),
            name: "ldap:///dc=example,dc=com??sub?(mail=$1)".into(),
        }],
        authz_policy,
        ..Config::default()
    }
}

fn somebody(sample: &Sample, name: &str, method: Method) -> Requester {
    let name = sample.directory.name(name).unwrap();
    Requester { name, method, is_administrator: false, ..Requester::internal() }
}

/// What comes of changing an entry, that only its owner may change, as this identity.
fn change(sample: &Sample, who: &Requester, entry: &str, identity: &str) -> ResultCode {
    let control = Control { value: Some(identity.as_bytes()), ..control(oid::PROXIED_AUTHORIZATION) };
    ended(sample.modify_as(who, entry, &[(Replace, "description", &["x"])], &[control]))
}

#[test]
fn users_are_identities_too_rfc4513_5_2_1_8() {
    let sample = with(AuthzPolicy::None);
    let root = Requester::internal();
    for (identity, expected) in [
        ("u:bjensen", DONE),
        ("U:BJensen", DONE),
        ("u:jsmith", ResultCode::INSUFFICIENT_ACCESS_RIGHTS),
        ("u:nobody", DENIED),
        ("u:*", DENIED),
        ("u:", DENIED),
        ("u:bjensen@example.com", DENIED),
    ] {
        assert_eq!(change(&sample, &root, JENSEN, identity), expected, "{identity}");
    }
    // The rules of the configuration see how the one who asks was authenticated.
    let plain = Requester { method: Method::Plain, ..Requester::internal() };
    assert_eq!(change(&sample, &plain, JENSEN, "u:bjensen@example.com"), DONE);
    assert_eq!(change(&sample, &plain, JENSEN, "u:bjensen"), DENIED);
    let jensen = somebody(&sample, JENSEN, Method::Password);
    assert_eq!(change(&sample, &jensen, JENSEN, "u:bjensen"), DONE);
    assert_eq!(change(&sample, &jensen, SMITH, "u:jsmith"), DENIED);
    // Who is not there and who may not be acted for are told alike.
    let told = |identity: &str| {
        let control = Control { value: Some(identity.as_bytes()), ..control(oid::PROXIED_AUTHORIZATION) };
        sample.modify_as(&jensen, SMITH, &[(Replace, "description", &["x"])], &[control]).unwrap_err().diagnostic
    };
    assert_eq!(told("u:jsmith"), told("u:nobody"));
}

#[test]
fn rules_name_users() {
    let sample = with(AuthzPolicy::To);
    let jensen = somebody(&sample, JENSEN, Method::Password);
    for (rule, expected) in [
        ("u:jsmith", DONE),
        ("u.mail:jsmith", DENIED),
        ("u.other/realm:jsmith", DONE),
        ("u:bjensen", DENIED),
        ("u:nobody", DENIED),
        ("u:", DENIED),
    ] {
        sample.modify(JENSEN, &[(Replace, "authzTo", &[rule])]).unwrap();
        assert_eq!(change(&sample, &jensen, SMITH, &format!("dn:{SMITH}")), expected, "{rule}");
    }
    sample.modify(SMITH, &[(Replace, "mail", &["smith@example.com"])]).unwrap();
    sample.modify(JENSEN, &[(Replace, "authzTo", &["u.mail:smith@example.com"])]).unwrap();
    assert_eq!(change(&sample, &jensen, SMITH, &format!("dn:{SMITH}")), DONE);
}

#[test]
fn who_acts_for_the_administrator_is_one_and_for_others_only_what_they_are() {
    let sample = with(AuthzPolicy::To);
    let jensen = somebody(&sample, JENSEN, Method::Password);
    sample.modify(JENSEN, &[(Replace, "authzTo", &[&format!("dn:{ADMINISTRATOR}"), &format!("dn:{SMITH}")])]).unwrap();
    assert_eq!(change(&sample, &jensen, SMITH, &format!("dn:{SMITH}")), DONE);
    assert_eq!(change(&sample, &jensen, JENSEN, &format!("dn:{SMITH}")), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(change(&sample, &jensen, SMITH, &format!("dn:{ADMINISTRATOR}")), DONE);
    // Without a rule he is nobody but himself.
    sample.modify(JENSEN, &[(Replace, "authzTo", &[])]).unwrap();
    assert_eq!(change(&sample, &jensen, SMITH, &format!("dn:{SMITH}")), DENIED);
    // Nobody is somebody.
    let nobody = somebody(&sample, "", Method::Anonymous);
    sample.modify(SMITH, &[(Replace, "authzFrom", &["dn:*"])]).unwrap();
    assert_eq!(change(&sample, &nobody, SMITH, &format!("dn:{SMITH}")), DENIED);
}

#[test]
fn sixteen_expressions_are_tried_and_all_names() {
    let sample = with(AuthzPolicy::From);
    let jensen = somebody(&sample, JENSEN, Method::Password);
    let set = |count: usize, last: &str| {
        let rules: Vec<String> = (0..count).map(|n| format!("dn.regex:^nobody{n}$")).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).chain([last]).collect();
        sample.modify(SMITH, &[(Replace, "authzFrom", &rules)]).unwrap();
        change(&sample, &jensen, SMITH, &format!("dn:{SMITH}"))
    };
    assert_eq!(set(15, "dn.regex:bjensen"), DONE);
    assert_eq!(set(16, "dn.regex:bjensen"), DENIED);
    assert_eq!(set(16, &format!("dn:{JENSEN}")), DONE);
}

#[test]
fn thousands_of_names_let_as_few_do() {
    let sample = with(AuthzPolicy::To);
    let jensen = somebody(&sample, JENSEN, Method::Password);
    let mut rules: Vec<String> = (0..2000).map(|n| format!("dn:uid=u{n},dc=example,dc=com")).collect();
    let set = |rules: &[String]| {
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        sample.modify(JENSEN, &[(Replace, "authzTo", &rules)]).unwrap();
        change(&sample, &jensen, SMITH, &format!("dn:{SMITH}"))
    };
    assert_eq!(set(&rules), DENIED);
    rules.push(format!("dn:{SMITH}"));
    assert_eq!(set(&rules), DONE);
}

#[test]
fn who_is_the_administrator_by_name_is_so_while_that_is_the_name() {
    let sample = with(AuthzPolicy::None);
    let bound = Requester { is_administrator: true, ..somebody(&sample, ADMINISTRATOR, Method::Password) };
    let owner = Requester { method: Method::Owner, ..bound.clone() };
    let refused = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
    let tried = |who: &Requester| {
        let update = ended(sample.modify_as(who, JENSEN, &[(Replace, "description", &["x"])], &[]));
        (update, change(&sample, who, JENSEN, &format!("dn:{JENSEN}")))
    };
    assert_eq!((tried(&bound), tried(&owner)), ((DONE, DONE), (DONE, DONE)));
    // Sessions outlive a reload.
    sample.directory.reconfigure(configured(AuthzPolicy::None, "cn=other,dc=example,dc=com")).unwrap();
    assert_eq!(tried(&bound), (refused, DENIED));
    assert_eq!(tried(&owner), (DONE, DONE), "who runs the server is it whatever the name");
    sample.directory.reconfigure(Config { administrator: None, ..configured(AuthzPolicy::None, "") }).unwrap();
    assert_eq!(tried(&bound), (refused, DENIED));
    sample.directory.reconfigure(configured(AuthzPolicy::None, "CN=Admin, dc=example, dc=com")).unwrap();
    assert_eq!(tried(&bound), (DONE, DONE), "the same name, in other words");
}
