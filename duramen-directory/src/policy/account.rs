//! What is noted down of an account, in operational attributes of its entry.

use duramen_ldap::matching::Rule;

use super::types::Types;
use crate::clock::Moment;
use crate::entry::Entry;
use crate::schema::{AttributeId, Schema};

/// What is noted down of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// When its password was changed last.
    pub changed: Option<Moment>,
    pub lock: Option<Lock>,
    /// Until then nobody is authenticated by it, for the time that passes after a wrong password.
    pub locked_until: Option<Moment>,
    /// When passwords were wrong since the last that was right, in order.
    pub failures: Vec<Moment>,
    /// When a password was used that was too old.
    pub grace_uses: Vec<Moment>,
    /// Somebody else has set the password.
    pub is_reset: bool,
    pub last_success: Option<Moment>,
}

/// Since when it is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// By somebody, until somebody ends that.
    ForGood,
    /// By what a policy says.
    Since(Moment),
}

impl Account {
    pub fn of(schema: &Schema, types: &Types, entry: &Entry<'_>) -> Account {
        let values = |id: AttributeId| entry.of_type(id).flat_map(|found| found.values());
        let first = |id| values(id).find_map(|value| moment_of(schema, value));
        let all = |id| {
            let mut moments: Vec<Moment> = values(id).filter_map(|value| moment_of(schema, value)).collect();
            moments.sort_unstable();
            moments
        };
        Account {
            changed: first(types.changed_time),
            lock: values(types.locked_time).find_map(|value| Lock::of(schema, value)),
            locked_until: first(types.locked_until),
            failures: all(types.failure_time),
            grace_uses: all(types.grace_use_time),
            is_reset: values(types.reset).any(|value| value.eq_ignore_ascii_case(b"TRUE")),
            last_success: first(types.last_success),
        }
    }
}

impl Lock {
    /// By a value of `pwdAccountLockedTime`. The year 0 is for good (draft-behera-ldap-password-policy-10 section 5.3.3), and no
    /// policy has locked anything before 1970.
    pub fn of(schema: &Schema, value: &[u8]) -> Option<Lock> {
        let since = moment_of(schema, value)?;
        Some(if since == Moment(0) { Lock::ForGood } else { Lock::Since(since) })
    }
}

/// The moment of a time as GeneralizedTime has it (RFC 4517 section 3.3.13); the first of 1970 for all before.
pub(crate) fn moment_of(schema: &Schema, time: &[u8]) -> Option<Moment> {
    let mut sortable = Vec::new();
    Rule::find("generalizedTimeOrderingMatch")?.normalize(time, schema, &mut sortable).ok()?;
    Moment::of_sortable(&sortable)
}
