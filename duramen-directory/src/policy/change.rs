//! What follows for a new password (draft-behera-ldap-password-policy-10 section 8.2).

use duramen_ldap::control::PasswordError;
use duramen_ldap::message::ResultCode;

use super::Edits;
use super::account::Account;
use super::rules::Policy;
use super::types::Types;
use crate::clock::Moment;
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::password::{self, Scheme};
use crate::schema::{AttributeSet, Schema};

/// The syntax that values of `pwdHistory` say those of `userPassword` are of: Octet String.
const OCTET_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.40";

/// What is known of a request's passwords beside what it says: found out before it is queued, since it may take long.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// What the new one was, which is sent as it is to be stored.
    pub(crate) clear: Option<Vec<u8>>,
    /// A new one, and whether it has been used before, if that has been looked at.
    pub(crate) looked_at: Option<(Vec<u8>, bool)>,
    /// The old one was sent along, and is right.
    pub(crate) has_old: bool,
    /// One that is to be deleted in clear text, and how it is stored.
    pub(crate) stored: Option<(Vec<u8>, Vec<u8>)>,
    /// New ones in clear text, as they were sent, and what is to be stored in their place.
    pub(crate) hashed: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Proof {
    /// What is to be stored for a new password.
    pub(crate) fn stored_for(&self, sent: &[u8]) -> Option<&[u8]> {
        self.hashed.iter().find(|(clear, _)| clear == sent).map(|(_, stored)| stored.as_slice())
    }

    /// A new password as it was sent.
    pub(crate) fn sent_as<'p>(&'p self, stored: &'p [u8]) -> &'p [u8] {
        self.hashed.iter().find(|(_, hashed)| hashed == stored).map_or(stored, |(sent, _)| sent)
    }
}

/// A change of an entry's passwords.
pub(crate) struct Change<'c> {
    pub policy: &'c Policy,
    pub account: &'c Account,
    /// It is the entry's own.
    pub by_owner: bool,
    /// No rule holds for who makes it.
    pub by_administrator: bool,
    pub proof: &'c Proof,
    /// Passwords that the request names to be deleted.
    pub deleted: &'c [&'c [u8]],
    /// Before and after.
    pub old: &'c [&'c [u8]],
    pub new: &'c [&'c [u8]],
    /// What else the request changes: that is as it says.
    pub touched: &'c AttributeSet,
}

fn refused(code: ResultCode, error: PasswordError, text: impl Into<String>) -> Failure {
    Failure { policy: Some(error), ..Failure::new(code, text) }
}

/// Whose password it is may not change it.
pub(crate) fn not_allowed() -> Failure {
    let text = "userPassword: by the entry's password policy its owner may not change it";
    refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, PasswordError::ModificationNotAllowed, text)
}

/// What is sent as the old password is none.
pub(crate) fn wrong_old() -> Failure {
    let text = "userPassword: what is to be deleted is not the old password";
    refused(ResultCode::UNWILLING_TO_PERFORM, PasswordError::MustSupplyOld, text)
}

impl Change<'_> {
    /// Whether it may be made, by all that is not about the new password itself.
    ///
    /// # Errors
    /// insufficientAccessRights, constraintViolation.
    pub fn check(&self, now: Moment) -> Result<()> {
        if self.by_administrator {
            return Ok(());
        }
        if self.new.len() > 1 {
            return Err(several());
        }
        if self.by_owner && !self.policy.allow_user_change {
            return Err(not_allowed());
        }
        if self.by_owner && self.policy.safe_modify && !self.has_old() {
            let text = "userPassword: by the entry's password policy the old one has to be sent, too: in the password modify \
                        operation, or as a value that is deleted where the new one is added";
            return Err(refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, PasswordError::MustSupplyOld, text));
        }
        // What somebody else has set may be changed at once.
        let is_too_young = self.account.changed.is_some_and(|then| now < then.after(self.policy.min_age));
        if !self.account.is_reset && is_too_young {
            let text = "userPassword: by the entry's password policy it was changed too short a time ago";
            return Err(refused(ResultCode::CONSTRAINT_VIOLATION, PasswordError::TooYoung, text));
        }
        Ok(())
    }

    /// Whether the old password was sent along.
    fn has_old(&self) -> bool {
        self.proof.has_old || self.old.iter().any(|old| self.deleted.contains(old))
    }

    /// What is noted down of it.
    pub fn edits(&self, schema: &Schema, types: &Types, entry: &Entry<'_>, now: Moment) -> Edits {
        let when = now.timestamp_bytes().to_vec();
        let mut edits = vec![(types.changed_time, if self.new.is_empty() { Vec::new() } else { vec![when] })];
        for (id, is_there) in [
            (types.failure_time, !self.account.failures.is_empty()),
            (types.grace_use_time, !self.account.grace_uses.is_empty()),
            (types.locked_time, self.account.lock.is_some()),
            (types.locked_until, self.account.locked_until.is_some()),
        ] {
            if is_there {
                edits.push((id, Vec::new()));
            }
        }
        if !self.by_owner && self.policy.must_change {
            edits.push((types.reset, vec![b"TRUE".to_vec()]));
        } else if self.account.is_reset {
            edits.push((types.reset, Vec::new()));
        }
        let before: Vec<Vec<u8>> =
            entry.of_type(types.history).flat_map(|found| found.values()).map(<[u8]>::to_vec).collect();
        let after = self.history(schema, &before, now);
        if after != before {
            edits.push((types.history, after));
        }
        edits.retain(|(id, _)| !self.touched.contains(*id));
        edits
    }

    /// The history with the passwords that have gone, as long as the policy has it: the oldest ones go.
    fn history(&self, schema: &Schema, before: &[Vec<u8>], now: Moment) -> Vec<Vec<u8>> {
        let gone = self.old.iter().filter(|value| !self.new.contains(value));
        let gone = gone
            .map(|value| [format!("{}#{OCTET_STRING}#{}#", now.timestamp(), value.len()).as_bytes(), value].concat());
        let mut all: Vec<Vec<u8>> = before.iter().cloned().chain(gone.filter(|past| !before.contains(past))).collect();
        // Those of one second stay in the order in which they went.
        all.sort_by_key(|past| past.split(|&byte| byte == b'#').next().and_then(|time| super::moment_of(schema, time)));
        let kept = usize::try_from(self.policy.in_history).unwrap_or(usize::MAX);
        all.drain(..all.len().saturating_sub(kept));
        all
    }
}

/// The password in a value of `pwdHistory`.
fn past(value: &[u8]) -> Option<&[u8]> {
    let mut parts = value.splitn(4, |&byte| byte == b'#');
    let (_time, _syntax, length, password) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
    (length == password.len()).then_some(password)
}

/// A password as it is given.
#[derive(Clone, Copy)]
pub(crate) enum Given<'g> {
    /// As somebody types it.
    Clear(&'g [u8]),
    /// As it is to be stored: nobody knows what was typed.
    Stored(&'g [u8]),
}

impl<'g> Given<'g> {
    /// By a value of `userPassword`.
    pub fn of(value: &'g [u8]) -> Given<'g> {
        match Scheme::split(value) {
            Some((Scheme::Clear, clear)) => Given::Clear(clear),
            _ => Given::Stored(value),
        }
    }
}

/// Whether a new password can be taken, by what it is.
///
/// # Errors
/// constraintViolation.
pub(crate) fn judge_new(policy: &Policy, given: Given<'_>) -> Result<()> {
    let fail = |error, what: &str| {
        let text = format!("userPassword: by the entry's password policy it {what}");
        Err(refused(ResultCode::CONSTRAINT_VIOLATION, error, text))
    };
    if policy.check_quality == 0 {
        return Ok(());
    }
    let Given::Clear(clear) = given else {
        if policy.check_quality == 1 {
            return Ok(());
        }
        return fail(PasswordError::InsufficientQuality, "is to be sent in clear text, so that it can be judged");
    };
    let length = std::str::from_utf8(clear).map_or(clear.len(), |text| text.chars().count()) as u64;
    if length < policy.min_length {
        return fail(PasswordError::TooShort, &format!("has {} characters at least", policy.min_length));
    }
    if policy.max_length > 0 && length > policy.max_length {
        return fail(PasswordError::TooLong, &format!("has {} characters at most", policy.max_length));
    }
    Ok(())
}

/// Whether a new password is one of those that an entry has or has had, as far as its policy remembers them. It takes long
/// where these are costly to verify.
pub(crate) fn is_of_past(schema: &Schema, (policy, entry): (&Policy, &Entry<'_>), given: Given<'_>) -> bool {
    let Some(types) = Types::of(schema).filter(|_| policy.in_history > 0) else { return false };
    let of = |id| entry.of_type(id).flat_map(|found| found.values());
    let mut known = of(schema.known().user_password).chain(of(types.history).filter_map(past));
    known.any(|known| match given {
        Given::Clear(clear) => password::verify(known, clear),
        Given::Stored(stored) => known == stored,
    })
}

/// There would be several, or they follow each other in a request: no more than the last one has been looked at.
pub(crate) fn several() -> Failure {
    let text = "userPassword: by the entry's password policy it has one value, which is given in one change";
    refused(ResultCode::CONSTRAINT_VIOLATION, PasswordError::InsufficientQuality, text)
}

/// A new password has been used before.
pub(crate) fn used_before() -> Failure {
    let text = "userPassword: by the entry's password policy it is none that has been used before";
    refused(ResultCode::CONSTRAINT_VIOLATION, PasswordError::InHistory, text)
}
