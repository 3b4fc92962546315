//! Password policies (draft-behera-ldap-password-policy-10), as who embeds the directory has them.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use duramen_directory::{Config, Directory, Method, PasswordPolicies, Peer, Requester, SchemaFile, password};
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::control::{PasswordError, PasswordWarning};
use duramen_ldap::message::{Change, ChangeKind, Control, ModifyRequest, Request, ResultCode};
use duramen_ldap::oid;

use crate::sample::{JENSEN, PEOPLE, Sample};

/// Waits for an update.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

const POLICY: &str = "cn=default,dc=example,dc=com";

/// Whoever it belongs to may change a password.
const RULES: &str = "access to attrs=userPassword by self write by anonymous auth\naccess to * by * read";

fn config(default: Option<&str>) -> Config {
    let password_policies = Some(PasswordPolicies { default: default.map(str::to_string), tells_locked: true });
    let access = Some(SchemaFile { name: "rules".into(), text: RULES.into() });
    Config { password_policies, access, ..Config::default() }
}

/// People under a policy with these rules; Jensen has a password.
fn governed(rules: &str) -> Sample {
    let sample = Sample::with(config(Some(POLICY)));
    sample.load(PEOPLE);
    sample.load(&format!(
        "dn: {POLICY}\nobjectClass: device\nobjectClass: pwdPolicy\ncn: default\npwdAttribute: userPassword\n{rules}\n"
    ));
    sample.modify(JENSEN, &[(ChangeKind::Add, "userPassword", &["first"])]).unwrap();
    sample
}

fn jensen(directory: &Directory) -> Requester {
    let name = directory.name(JENSEN).unwrap();
    Requester { name, method: Method::Password, ..Requester::anonymous(Peer::Internal.into(), 0) }
}

fn error(sample: &Sample, is_right: bool) -> (bool, Option<PasswordError>) {
    let judgement = sample.directory.judge(&sample.directory.name(JENSEN).unwrap(), is_right).unwrap();
    (judgement.is_refused, judgement.notice.error)
}

fn count(sample: &Sample, attribute: &str) -> usize {
    sample.read(JENSEN, &[attribute]).values(attribute).len()
}

fn change_own(sample: &Sample, new: &str) -> Result<(), (ResultCode, Option<PasswordError>)> {
    let changed =
        sample.modify_as(&jensen(&sample.directory), JENSEN, &[(ChangeKind::Replace, "userPassword", &[new])], &[]);
    changed.map(drop).map_err(|failure| (failure.code, failure.policy))
}

#[test]
fn wrong_passwords_are_counted_and_lock_until_the_administrator_sets_another() {
    let sample = governed("pwdLockout: TRUE\npwdMaxFailure: 2");
    let stamps = sample.read(JENSEN, &["entryCSN", "modifyTimestamp"]).entries;
    assert_eq!(error(&sample, false), (true, None));
    assert_eq!(error(&sample, true), (false, None), "a right one begins anew");
    assert_eq!(count(&sample, "pwdFailureTime"), 0);
    assert_eq!([error(&sample, false), error(&sample, false)], [(true, None); 2]);
    assert_eq!((count(&sample, "pwdFailureTime"), count(&sample, "pwdAccountLockedTime")), (2, 1));
    assert_eq!(error(&sample, true), (true, Some(PasswordError::AccountLocked)));
    let nobody = Requester::anonymous(Peer::Internal.into(), 0);
    let credentials = sample.directory.credentials(&nobody, JENSEN).unwrap();
    assert_eq!(credentials.stored.len(), 0);
    assert_eq!(sample.read(JENSEN, &["entryCSN", "modifyTimestamp"]).entries, stamps, "nobody has changed the entry");
    // What is noted down is found by filters, too.
    assert_eq!(sample.found("(pwdAccountLockedTime=*)"), [JENSEN]);

    sample.modify(JENSEN, &[(ChangeKind::Replace, "userPassword", &["second"])]).unwrap();
    assert_eq!((count(&sample, "pwdFailureTime"), count(&sample, "pwdAccountLockedTime")), (0, 0));
    assert_eq!(error(&sample, true), (false, None));
    let mut problems = Vec::new();
    sample.directory.check(&mut |problem| problems.push(problem), &mut |_, _| {}).unwrap();
    assert_eq!(problems, [""; 0]);
}

#[test]
fn what_is_noted_down_stays_when_the_directory_is_opened_again_and_needs_no_policy_then() {
    let sample = governed("pwdLockout: TRUE\npwdMaxFailure: 1");
    assert_eq!(error(&sample, false), (true, None));
    let Sample { directory, folder } = sample;
    drop(directory);
    let with = |config: Config| Directory::open(folder.path(), config).unwrap();
    let directory = with(config(Some(POLICY)));
    let name = directory.name(JENSEN).unwrap();
    assert!(directory.judge(&name, true).unwrap().is_refused);
    drop(directory);
    // By none nothing is refused, and nothing noted.
    for config in [Config::default(), config(None), config(Some("cn=nosuch,dc=example,dc=com"))] {
        let directory = with(config);
        assert_eq!(directory.judge_now(&name, true).unwrap(), Some(Default::default()));
    }
}

#[test]
fn an_entrys_own_policy_is_in_force_in_place_of_the_default_if_it_is_there() {
    let sample = governed("pwdMaxAge: 1");
    sample.load(
        "dn: cn=own,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\ncn: own\npwdAttribute: 2.5.4.35\n\
         pwdCheckQuality: 1\npwdMinLength: 10\n",
    );
    let choose = |policy| sample.modify(JENSEN, &[(ChangeKind::Replace, "pwdPolicySubentry", &[policy])]).unwrap();
    assert_eq!(change_own(&sample, "short"), Ok(()));
    choose("CN=Own, dc=example,dc=com");
    assert_eq!(change_own(&sample, "short"), Err((ResultCode::CONSTRAINT_VIOLATION, Some(PasswordError::TooShort))));
    for nothing in ["cn=nosuch,dc=example,dc=com", "ou=Groups,dc=example,dc=com"] {
        choose(nothing);
        assert_eq!(change_own(&sample, "shorter"), Ok(()));
    }
}

#[test]
fn a_password_is_kept_in_mind_in_whatever_form_it_was_stored() {
    let sample = governed("pwdInHistory: 2");
    let who = jensen(&sample.directory);
    let set = |clear: &str| {
        let proof = sample.directory.prove_new(&who, JENSEN, clear.as_bytes(), false)?;
        let stored = password::hash(password::Scheme::ScramSha256, clear.as_bytes()).unwrap();
        block_on(sample.directory.set_password(&who, JENSEN, &stored, proof)).map(drop)
    };
    let said = |result: Result<(), duramen_directory::Failure>| result.map_err(|failure| failure.policy);
    assert_eq!(said(set("first")), Err(Some(PasswordError::InHistory)), "it is the present one");
    assert_eq!(said(set("second")), Ok(()));
    assert_eq!(change_own(&sample, "second"), Err((ResultCode::CONSTRAINT_VIOLATION, Some(PasswordError::InHistory))));
    assert_eq!(change_own(&sample, "third"), Ok(()));
    for past in ["first", "second", "third"] {
        assert_eq!(said(set(past)), Err(Some(PasswordError::InHistory)), "{past}");
    }
    assert_eq!(change_own(&sample, "fourth"), Ok(()));
    assert_eq!(said(set("first")), Ok(()), "two are kept in mind");
    assert_eq!(count(&sample, "pwdHistory"), 2);
}

#[test]
fn who_does_not_have_passwords_judged_before_has_them_judged_all_the_same() {
    let sample = governed("pwdInHistory: 1");
    let (mut values, mut changes) = (Vec::new(), Vec::new());
    let attribute = Attribute { description: "userPassword", values: List::build(&mut values, [&b"first"[..]]) };
    let changes = List::build(&mut changes, [Change { kind: ChangeKind::Replace, attribute }]);
    let request = Request::Modify(ModifyRequest { name: JENSEN, changes });
    let who = jensen(&sample.directory);
    let directory = &sample.directory;
    let update = directory.update_async(&who, &request, List::default(), Duration::ZERO);
    assert_eq!(block_on(update).unwrap_err().policy, Some(PasswordError::InHistory));
    let proof = directory.prove(&who, &request, None).unwrap();
    let update = directory.update_proven(&who, &request, List::default(), proof);
    assert_eq!(block_on(update).unwrap_err().policy, Some(PasswordError::InHistory));
    // Whoever is the administrator may set any.
    let proof = directory.prove(&Requester::internal(), &request, None).unwrap();
    block_on(directory.update_proven(&Requester::internal(), &request, List::default(), proof)).unwrap();
}

#[test]
fn who_comes_while_somebody_writes_for_long_is_judged_and_not_counted() {
    let sample = governed("pwdLockout: TRUE\npwdMaxFailure: 1\npwdMaxAge: 1\npwdGraceAuthNLimit: 1");
    let relax = Control { oid: oid::control::RELAX, critical: true, value: None };
    let old = [(ChangeKind::Replace, "pwdChangedTime", &["20200101000000Z"][..])];
    sample.modify_as(&Requester::internal(), JENSEN, &old, &[relax]).unwrap();
    let tool = sample.directory.database().begin_write().unwrap();
    let name = sample.directory.name(JENSEN).unwrap();
    assert_eq!(sample.directory.judge_now(&name, true).unwrap(), None);
    let judgement = sample.directory.judge(&name, true).unwrap();
    assert_eq!((judgement.is_refused, judgement.notice.warning), (false, Some(PasswordWarning::GraceLeft(0))));
    drop(tool);
    assert_eq!(count(&sample, "pwdGraceUseTime"), 0);
    assert_eq!(sample.directory.judge(&name, true).unwrap(), judgement);
    assert_eq!(count(&sample, "pwdGraceUseTime"), 1);
}

#[test]
fn one_new_password_is_looked_at_and_no_other_taken() {
    let sample = governed("pwdInHistory: 1");
    let change = |changes: &[(ChangeKind, &str, &[&str])]| {
        let changed = sample.modify_as(&jensen(&sample.directory), JENSEN, changes, &[]);
        changed.map(drop).map_err(|failure| failure.policy)
    };
    let (add, replace, password) = (ChangeKind::Add, ChangeKind::Replace, "userPassword");
    let several = Err(Some(PasswordError::InsufficientQuality));
    assert_eq!(change(&[(add, password, &["second"])]), several);
    assert_eq!(change(&[(replace, password, &["second", "third"])]), several);
    // What is taken away again is not looked at, and what stays is.
    assert_eq!(change(&[(replace, password, &["first"]), (replace, password, &["second"])]), Ok(()));
    assert_eq!(
        change(&[(replace, password, &["third"]), (replace, password, &["first"])]),
        Err(Some(PasswordError::InHistory))
    );
    let stays =
        [(replace, password, &["first"][..]), (add, password, &["third"]), (ChangeKind::Delete, password, &["third"])];
    assert_eq!(change(&stays), several);
    let person: [(&str, Vec<&[u8]>); 4] = [
        ("objectClass", vec![b"person"]),
        ("cn", vec![b"x"]),
        ("sn", vec![b"x"]),
        ("userPassword", vec![b"first", b"second"]),
    ];
    let rules = "access to * by * write";
    let access = Some(SchemaFile { name: "rules".into(), text: rules.into() });
    sample.directory.reconfigure(Config { access, ..config(Some(POLICY)) }).unwrap();
    let added = sample.add_as(&jensen(&sample.directory), "cn=x,dc=example,dc=com", &person, &[]);
    assert_eq!(added.unwrap_err().policy, Some(PasswordError::InsufficientQuality));
}

#[test]
fn an_old_password_that_is_sent_in_clear_text_stands_for_the_stored_one() {
    let sample = governed("pwdSafeModify: TRUE");
    let stored = password::hash(password::Scheme::ScramSha256, b"first").unwrap();
    sample.change(JENSEN, ChangeKind::Replace, "userPassword", &[&stored]).unwrap();
    assert_eq!(
        change_own(&sample, "second"),
        Err((ResultCode::INSUFFICIENT_ACCESS_RIGHTS, Some(PasswordError::MustSupplyOld)))
    );
    let change = |old: &str| {
        let changes: &[(ChangeKind, &str, &[&str])] =
            &[(ChangeKind::Delete, "userPassword", &[old]), (ChangeKind::Add, "userPassword", &["second"])];
        sample.modify_as(&jensen(&sample.directory), JENSEN, changes, &[]).map(drop).map_err(|failure| failure.code)
    };
    assert_eq!(change("not first"), Err(ResultCode::UNWILLING_TO_PERFORM));
    assert_eq!(change("first"), Ok(()));
    assert_eq!(sample.read(JENSEN, &["userPassword"]).values("userPassword"), ["second"]);
}

#[test]
fn what_gets_too_old_is_judged_by_when_it_was_set() {
    let sample = governed("pwdMaxAge: 86400\npwdExpireWarning: 86400\npwdGraceAuthNLimit: 1");
    let name = sample.directory.name(JENSEN).unwrap();
    let warning = || sample.directory.judge(&name, true).unwrap().notice.warning;
    assert!(matches!(warning(), Some(PasswordWarning::ExpiresIn(86_300..=86_400))));
    let relax = Control { oid: oid::control::RELAX, critical: true, value: None };
    let old = [(ChangeKind::Replace, "pwdChangedTime", &["20200101000000Z"][..])];
    // What the administrator says of it counts, with a new password, too.
    let both = [old[0], (ChangeKind::Replace, "userPassword", &["second"][..])];
    sample.modify_as(&Requester::internal(), JENSEN, &both, &[relax]).unwrap();
    assert_eq!(warning(), Some(PasswordWarning::GraceLeft(0)));
    assert_eq!(error(&sample, true), (true, Some(PasswordError::Expired)));
}

#[test]
fn past_passwords_are_nobodys_to_read_by_the_rules_that_hold_without_any() {
    let sample = governed("pwdInHistory: 2");
    sample.directory.reconfigure(Config { access: None, ..config(Some(POLICY)) }).unwrap();
    sample.modify(JENSEN, &[(ChangeKind::Replace, "userPassword", &["second"])]).unwrap();
    let seen = |requester: Requester| {
        let ask = crate::sample::Ask { requester, attributes: &["+"], ..Default::default() };
        let given = sample.search(JENSEN, "(objectClass=*)", &ask).unwrap();
        (given.values("pwdHistory").len(), given.values("pwdChangedTime").len())
    };
    assert_eq!(seen(jensen(&sample.directory)), (0, 1));
    assert_eq!(seen(Requester::internal()), (1, 1));
}

/// A modify of Jensen's password, which comes as it is said, by who proves it with a scheme to hash in.
fn hashed(sample: &Sample, kind: ChangeKind, passwords: &[&str]) -> Result<(), (ResultCode, Option<PasswordError>)> {
    let (mut values, mut changes) = (Vec::new(), Vec::new());
    let values = List::build(&mut values, passwords.iter().map(|password| password.as_bytes()));
    let attribute = Attribute { description: "userPassword", values };
    let changes = List::build(&mut changes, [Change { kind, attribute }]);
    let request = Request::Modify(ModifyRequest { name: JENSEN, changes });
    let who = jensen(&sample.directory);
    let proof = sample.directory.prove(&who, &request, Some(password::Scheme::ScramSha256));
    let updated =
        proof.and_then(|proof| block_on(sample.directory.update_proven(&who, &request, List::default(), proof)));
    updated.map(drop).map_err(|failure| (failure.code, failure.policy))
}

/// How Jensen's passwords are stored.
fn stored(sample: &Sample) -> Vec<String> {
    sample.read(JENSEN, &["userPassword"]).values("userPassword").into_iter().map(str::to_string).collect()
}

#[test]
fn what_comes_in_clear_text_is_judged_as_it_came_and_stored_hashed() {
    let sample = governed("pwdCheckQuality: 2\npwdMinLength: 6\npwdInHistory: 2");
    let refused = |error| Err((ResultCode::CONSTRAINT_VIOLATION, Some(error)));
    let replace = |password| hashed(&sample, ChangeKind::Replace, &[password]);
    assert_eq!(replace("short"), refused(PasswordError::TooShort));
    assert_eq!(replace("second"), Ok(()));
    let is_second =
        |stored: &String| stored.starts_with("{SCRAM-SHA-256}") && password::verify(stored.as_bytes(), b"second");
    assert!(stored(&sample).iter().all(is_second) && stored(&sample).len() == 1, "{:?}", stored(&sample));
    assert_eq!(replace("second"), refused(PasswordError::InHistory));
    assert_eq!(replace("{CLEARTEXT}third 3"), Ok(()), "it is clear text, too");
    assert!(password::verify(stored(&sample)[0].as_bytes(), b"third 3"));
    assert_eq!(replace("second"), refused(PasswordError::InHistory));
    assert_eq!(replace("first"), refused(PasswordError::TooShort), "which is what comes before the history");
    let before = stored(&sample);
    let ready = String::from_utf8(password::hash(password::Scheme::ScramSha256, b"fourth").unwrap()).unwrap();
    assert_eq!(replace(&ready), refused(PasswordError::InsufficientQuality), "nobody knows what it was");
    assert_eq!(stored(&sample), before);
}

#[test]
fn what_comes_hashed_stays_and_so_many_in_clear_text_are_hashed_at_most() {
    let sample = Sample::people();
    let ready = "{SSHA}xDg5NBMaSUiSpRkTiAO5fGLk2/UKeHhx";
    sample.modify(JENSEN, &[(ChangeKind::Replace, "userPassword", &["first"])]).unwrap();
    let (mut values, mut changes) = (Vec::new(), Vec::new());
    let mut try_with = |passwords: &[&str]| {
        let (mut own_values, mut own_changes) = (std::mem::take(&mut values), std::mem::take(&mut changes));
        let given = List::build(&mut own_values, passwords.iter().map(|password| password.as_bytes()));
        let attribute = Attribute { description: "userPassword", values: given };
        let list = List::build(&mut own_changes, [Change { kind: ChangeKind::Add, attribute }]);
        let request = Request::Modify(ModifyRequest { name: JENSEN, changes: list });
        let proof = sample.directory.prove(&Requester::internal(), &request, Some(password::Scheme::ScramSha256));
        proof
            .and_then(|proof| {
                block_on(sample.directory.update_proven(&Requester::internal(), &request, List::default(), proof))
            })
            .map(drop)
            .map_err(|failure| failure.code)
    };
    assert_eq!(try_with(&[ready, "second"]), Ok(()));
    let found = stored(&sample);
    assert_eq!(found[..2], ["first", ready], "what was there stays as it was");
    assert!(found.len() == 3 && password::verify(found[2].as_bytes(), b"second") && found[2] != "second", "{found:?}");
    assert_eq!(try_with(&["1", "2", "3", "4", "5", "6", "7", "8", "9"]), Err(ResultCode::UNWILLING_TO_PERFORM));
    assert_eq!(stored(&sample), found);
}
