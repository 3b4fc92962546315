use duramen_ldap::control::{PasswordError, PasswordPolicyResponse, PasswordWarning};

use super::account::{Account, Lock};
use super::change::{Given, judge_new};
use super::judgement::Outcome;
use super::rules::Policy;
use super::types::Types;
use crate::clock::Moment;
use crate::schema::{AttributeId, tests::built_in};

const SECOND: u64 = 1_000_000;

/// So many seconds after some moment.
fn at(seconds: u64) -> Moment {
    Moment((1_700_000_000 + seconds) * SECOND)
}

fn types() -> Types {
    Types::of(&built_in("").unwrap()).unwrap()
}

fn judged(policy: &Policy, account: &Account, is_right: bool, seconds: u64) -> Outcome {
    policy.judge(&types(), account, is_right, at(seconds))
}

fn error(outcome: &Outcome) -> Option<PasswordError> {
    outcome.judgement.notice.error
}

/// How many values an attribute is to have; `None` if it stays as it is.
fn noted(outcome: &Outcome, id: impl Fn(&Types) -> AttributeId) -> Option<usize> {
    let id = id(&types());
    outcome.edits.iter().find(|(edited, _)| *edited == id).map(|(_, values)| values.len())
}

#[test]
fn a_policy_that_limits_nothing_has_nothing_to_say_and_notes_nothing() {
    let account = Account { changed: Some(at(0)), ..Account::default() };
    for is_right in [true, false] {
        let outcome = judged(&Policy::default(), &account, is_right, 1_000_000);
        assert_eq!((outcome.judgement.is_refused, outcome.judgement.notice), (!is_right, Default::default()));
        assert!(outcome.edits.is_empty());
    }
}

#[test]
fn so_many_wrong_passwords_within_the_interval_lock_an_account_for_the_duration() {
    let policy = Policy {
        lockout: true,
        max_failure: 3,
        failure_interval: 60 * SECOND,
        lockout_duration: 100 * SECOND,
        ..Policy::default()
    };
    let account =
        |failures: &[u64]| Account { failures: failures.iter().map(|&then| at(then)).collect(), ..Account::default() };
    let third = judged(&policy, &account(&[10, 30]), false, 50);
    assert_eq!((noted(&third, |t| t.failure_time), noted(&third, |t| t.locked_time)), (Some(3), Some(1)));
    let too_late = judged(&policy, &account(&[10, 30]), false, 70);
    assert_eq!((noted(&too_late, |t| t.failure_time), noted(&too_late, |t| t.locked_time)), (Some(2), None));

    let locked = Account { lock: Some(Lock::Since(at(50))), ..account(&[10, 30, 50]) };
    for is_right in [true, false] {
        let outcome = judged(&policy, &locked, is_right, 149);
        assert_eq!((outcome.judgement.is_refused, error(&outcome)), (true, Some(PasswordError::AccountLocked)));
        assert!(outcome.edits.is_empty());
    }
    let free = judged(&policy, &locked, true, 150);
    assert!(!free.judgement.is_refused);
    assert_eq!((noted(&free, |t| t.failure_time), noted(&free, |t| t.locked_time)), (Some(0), Some(0)));
    assert!(judged(&Policy { lockout_duration: 0, ..policy.clone() }, &locked, true, 1_000_000).judgement.is_refused);
    assert!(!judged(&Policy { lockout: false, ..policy }, &locked, true, 60).judgement.is_refused);
}

#[test]
fn what_somebody_has_locked_for_good_no_policy_opens() {
    let locked = Account { lock: Some(Lock::ForGood), ..Account::default() };
    assert!(judged(&Policy::default(), &locked, true, 0).judgement.is_refused);
    let lock = |text: &str| Lock::of(&built_in("").unwrap(), text.as_bytes());
    for text in ["000001010000Z", "00000101000000Z", "0000010100Z"] {
        assert_eq!(lock(text), Some(Lock::ForGood), "{text}");
    }
    assert_eq!(lock("20231114221320.5Z"), Some(Lock::Since(Moment(at(0).0 + SECOND / 2))));
    assert_eq!(lock("nonsense"), None);
}

#[test]
fn each_wrong_password_doubles_the_delay() {
    let policy = Policy { min_delay: 2 * SECOND, max_delay: 10 * SECOND, ..Policy::default() };
    let (mut account, mut ends) = (Account::default(), Vec::new());
    for _ in 0..5 {
        let now = account.locked_until.unwrap_or(at(0));
        let outcome = policy.judge(&types(), &account, false, now);
        let (_, until) = outcome.edits.iter().find(|(id, _)| *id == types().locked_until).unwrap();
        let until = super::moment_of(&built_in("").unwrap(), &until[0]).unwrap();
        ends.push(until.since(now) / SECOND);
        account.failures.push(now);
        account.locked_until = Some(until);
    }
    assert_eq!(ends, [2, 4, 8, 10, 10]);
    let end = account.locked_until.unwrap();
    assert!(policy.judge(&types(), &account, true, Moment(end.0 - 1)).judgement.is_refused);
    assert!(!policy.judge(&types(), &account, true, end).judgement.is_refused);
}

#[test]
fn a_password_that_gets_too_old_is_warned_of_and_then_good_for_some_times_more() {
    let policy = Policy {
        max_age: 100 * SECOND,
        expire_warning: 30 * SECOND,
        grace_limit: 2,
        grace_expiry: 50 * SECOND,
        ..Policy::default()
    };
    let account = Account { changed: Some(at(0)), ..Account::default() };
    let notice = |account: &Account, seconds| judged(&policy, account, true, seconds).judgement.notice;
    let warned = |warning| PasswordPolicyResponse { warning: Some(warning), error: None };
    assert_eq!(notice(&account, 69), PasswordPolicyResponse::default());
    assert_eq!(notice(&account, 70), warned(PasswordWarning::ExpiresIn(30)));
    assert_eq!(notice(&account, 99), warned(PasswordWarning::ExpiresIn(1)));
    let first = judged(&policy, &account, true, 100);
    assert_eq!(first.judgement.notice, warned(PasswordWarning::GraceLeft(1)));
    assert_eq!(noted(&first, |t| t.grace_use_time), Some(1));
    let used = |times| Account { grace_uses: vec![at(100); times], ..account.clone() };
    assert_eq!(notice(&used(1), 101), warned(PasswordWarning::GraceLeft(0)));
    for outcome in [judged(&policy, &used(2), true, 102), judged(&policy, &used(1), true, 150)] {
        assert_eq!((outcome.judgement.is_refused, error(&outcome)), (true, Some(PasswordError::Expired)));
        assert_eq!(noted(&outcome, |t| t.grace_use_time), None);
    }
    let ageless = Account::default();
    assert_eq!(notice(&ageless, 1_000_000), PasswordPolicyResponse::default());
}

#[test]
fn a_password_that_somebody_else_has_set_is_to_be_changed_if_the_policy_says_so() {
    let account = Account { is_reset: true, changed: Some(at(0)), ..Account::default() };
    let policy = Policy { must_change: true, max_age: SECOND, ..Policy::default() };
    let outcome = judged(&policy, &account, true, 100);
    assert_eq!((outcome.judgement.is_refused, error(&outcome)), (false, Some(PasswordError::ChangeAfterReset)));
    assert_eq!(error(&judged(&Policy { must_change: false, max_age: 0, ..policy }, &account, true, 100)), None);
}

#[test]
fn an_account_that_nobody_has_used_for_so_long_is_locked_and_its_use_noted_once_a_minute() {
    let policy = Policy { max_idle: 1000 * SECOND, ..Policy::default() };
    let account = |last| Account { last_success: Some(at(last)), ..Account::default() };
    assert_eq!(noted(&judged(&policy, &Account::default(), true, 0), |t| t.last_success), Some(1));
    assert_eq!(noted(&judged(&policy, &account(0), true, 59), |t| t.last_success), None);
    assert_eq!(noted(&judged(&policy, &account(0), true, 60), |t| t.last_success), Some(1));
    assert!(!judged(&policy, &account(0), true, 999).judgement.is_refused);
    assert!(judged(&policy, &account(0), true, 1000).judgement.is_refused);
}

#[test]
fn new_passwords_are_judged_by_their_length_in_characters() {
    let policy = Policy { check_quality: 1, min_length: 4, max_length: 6, ..Policy::default() };
    let said =
        |policy: &Policy, value: &str| judge_new(policy, Given::of(value.as_bytes())).err().and_then(|it| it.policy);
    assert_eq!(said(&policy, "äöü"), Some(PasswordError::TooShort));
    assert_eq!(said(&policy, "äöüß"), None);
    assert_eq!(said(&policy, "1234567"), Some(PasswordError::TooLong));
    assert_eq!(said(&policy, "{SSHA}abc"), None, "nobody knows how long it is");
    let strict = Policy { check_quality: 2, ..policy.clone() };
    assert_eq!(said(&strict, "{SSHA}abc"), Some(PasswordError::InsufficientQuality));
    assert_eq!(said(&Policy { check_quality: 0, ..policy }, "1"), None);
}
