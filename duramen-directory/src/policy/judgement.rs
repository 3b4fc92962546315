//! What follows for who authenticates by a password.

use duramen_ldap::control::{PasswordError, PasswordPolicyResponse, PasswordWarning};

use super::Edits;
use super::account::{Account, Lock};
use super::rules::Policy;
use super::types::Types;
use crate::clock::Moment;

/// So long at least is between two times at which it is noted down that somebody has authenticated: who does so a hundred
/// times a second does not change the entry as often.
const NOTED_EVERY: u64 = 60_000_000;

/// So many wrong passwords are remembered where nothing but a delay follows from them, as OpenLDAP does.
const REMEMBERED: u64 = 5;

/// What a policy says to somebody's password, once it has been found right or wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Nobody is authenticated by it, be it right.
    pub is_refused: bool,
    /// What is to be said of it, to who asks by the control.
    pub notice: PasswordPolicyResponse,
}

impl Judgement {
    fn refused(error: PasswordError) -> Judgement {
        Judgement { is_refused: true, notice: PasswordPolicyResponse { warning: None, error: Some(error) } }
    }
}

/// A judgement, and what is to be noted down.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub judgement: Judgement,
    pub edits: Edits,
    /// The account is locked by it.
    pub locks: bool,
}

impl Policy {
    /// Whether nobody is authenticated by an account's passwords now (sections 5.3.3 and 5.3.8; OpenLDAP's delays).
    pub fn locks(&self, account: &Account, now: Moment) -> bool {
        let by_failures = match account.lock {
            None => false,
            Some(Lock::ForGood) => true,
            Some(Lock::Since(then)) => {
                self.lockout && (self.lockout_duration == 0 || now < then.after(self.lockout_duration))
            }
        };
        let is_idle = self.max_idle > 0 && account.last_success.is_some_and(|then| then.after(self.max_idle) <= now);
        by_failures || is_idle || account.locked_until.is_some_and(|end| now < end)
    }

    /// What follows from a password that was found right, or wrong.
    pub fn judge(&self, types: &Types, account: &Account, is_right: bool, now: Moment) -> Outcome {
        if self.locks(account, now) {
            return Outcome { judgement: Judgement::refused(PasswordError::AccountLocked), ..Outcome::default() };
        }
        if !is_right {
            let judgement = Judgement { is_refused: true, ..Judgement::default() };
            let edits = self.after_failure(types, account, now);
            let locks = edits.iter().any(|(id, _)| *id == types.locked_time);
            return Outcome { judgement, edits, locks };
        }
        let mut edits = self.after_success(types, account, now);
        let judgement = if self.must_change && account.is_reset {
            let notice = PasswordPolicyResponse { warning: None, error: Some(PasswordError::ChangeAfterReset) };
            Judgement { is_refused: false, notice }
        } else {
            self.of_age(types, account, now, &mut edits)
        };
        Outcome { judgement, edits, locks: false }
    }

    /// What a right password ends.
    fn after_success(&self, types: &Types, account: &Account, now: Moment) -> Edits {
        let mut edits = Edits::new();
        let mut end = |is_there: bool, id| {
            if is_there {
                edits.push((id, Vec::new()));
            }
        };
        end(!account.failures.is_empty(), types.failure_time);
        end(account.lock.is_some(), types.locked_time);
        end(account.locked_until.is_some(), types.locked_until);
        if self.max_idle > 0 && account.last_success.is_none_or(|then| then.after(NOTED_EVERY) <= now) {
            edits.push((types.last_success, vec![now.timestamp_bytes().to_vec()]));
        }
        edits
    }

    /// What the age of a right password means (sections 5.2.3, 5.2.7 and 5.2.8). One without a time never gets too old.
    fn of_age(&self, types: &Types, account: &Account, now: Moment, edits: &mut Edits) -> Judgement {
        let Some(changed) = account.changed.filter(|_| self.max_age > 0) else { return Judgement::default() };
        let end = changed.after(self.max_age);
        let warned = |warning| Judgement {
            is_refused: false,
            notice: PasswordPolicyResponse { warning: Some(warning), error: None },
        };
        if now < end {
            let left = end.since(now);
            return if left <= self.expire_warning {
                warned(PasswordWarning::ExpiresIn(few(left / 1_000_000)))
            } else {
                Judgement::default()
            };
        }
        let is_over = self.grace_expiry > 0 && end.after(self.grace_expiry) <= now;
        let left = self.grace_limit.saturating_sub(account.grace_uses.len() as u64);
        if is_over || left == 0 {
            return Judgement::refused(PasswordError::Expired);
        }
        let uses = account.grace_uses.iter().chain([&now]).map(|then| then.precise().into_bytes()).collect();
        edits.push((types.grace_use_time, uses));
        warned(PasswordWarning::GraceLeft(few(left - 1)))
    }

    /// What a wrong password brings about (sections 5.2.9 to 5.2.12).
    fn after_failure(&self, types: &Types, account: &Account, now: Moment) -> Edits {
        let most = if self.lockout { self.max_failure } else { 0 };
        let kept = most.max(self.recorded_failures).max(if self.min_delay > 0 { REMEMBERED } else { 0 });
        if kept == 0 {
            return Edits::new();
        }
        let counts = |then: &&Moment| self.failure_interval == 0 || now < then.after(self.failure_interval);
        let mut failures: Vec<Moment> = account.failures.iter().filter(counts).copied().collect();
        failures.push(now);
        let before = failures.len() as u64;
        failures.drain(..failures.len().saturating_sub(usize::try_from(kept).unwrap_or(usize::MAX)));
        let times = failures.iter().map(|then| then.precise().into_bytes()).collect();
        let mut edits = vec![(types.failure_time, times)];
        if most > 0 && before >= most {
            edits.push((types.locked_time, vec![now.timestamp_bytes().to_vec()]));
        }
        if self.min_delay > 0 {
            let doubled = self.min_delay.saturating_mul(1 << (before - 1).min(32));
            let until = now.after(doubled.min(self.max_delay.max(self.min_delay)));
            edits.push((types.locked_until, vec![until.precise().into_bytes()]));
        }
        edits
    }
}

fn few(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
