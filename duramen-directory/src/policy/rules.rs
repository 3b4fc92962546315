//! A policy, as its entry says it.

use super::types::Types;
use crate::entry::Entry;
use crate::schema::{AttributeId, Schema};

/// A second, as moments count.
const SECOND: u64 = 1_000_000;

/// A policy. Times are in microseconds; 0 is no limit, of a time as of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub min_age: u64,
    pub max_age: u64,
    pub expire_warning: u64,
    pub grace_limit: u64,
    pub grace_expiry: u64,
    pub max_idle: u64,
    pub in_history: u64,
    /// 1: new passwords are judged that can be, those in clear text; 2: others are refused.
    pub check_quality: u64,
    pub min_length: u64,
    pub max_length: u64,
    pub allow_user_change: bool,
    pub safe_modify: bool,
    pub must_change: bool,
    pub lockout: bool,
    pub lockout_duration: u64,
    pub max_failure: u64,
    pub failure_interval: u64,
    pub recorded_failures: u64,
    pub min_delay: u64,
    pub max_delay: u64,
}

impl Default for Policy {
    /// One that limits nothing.
    fn default() -> Policy {
        Policy {
            min_age: 0,
            max_age: 0,
            expire_warning: 0,
            grace_limit: 0,
            grace_expiry: 0,
            max_idle: 0,
            in_history: 0,
            check_quality: 0,
            min_length: 0,
            max_length: 0,
            allow_user_change: true,
            safe_modify: false,
            must_change: false,
            lockout: false,
            lockout_duration: 0,
            max_failure: 0,
            failure_interval: 0,
            recorded_failures: 0,
            min_delay: 0,
            max_delay: 0,
        }
    }
}

impl Policy {
    /// The policy for `userPassword` that an entry is; `None` if it is none. What is no number counts as if it were not there.
    pub fn of(schema: &Schema, types: &Types, entry: &Entry<'_>) -> Option<Policy> {
        let text = |id: AttributeId| {
            let value = entry.of_type(id).flat_map(|found| found.values()).next()?;
            std::str::from_utf8(value).ok()
        };
        let for_what = text(types.attribute).and_then(|name| schema.find(name))?;
        if for_what.id != schema.known().user_password {
            return None;
        }
        let number = |id| text(id).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
        let time = |id| number(id).saturating_mul(SECOND);
        let is = |id, otherwise: bool| text(id).map_or(otherwise, |word| word.eq_ignore_ascii_case("TRUE"));
        Some(Policy {
            min_age: time(types.min_age),
            max_age: time(types.max_age),
            expire_warning: time(types.expire_warning),
            grace_limit: number(types.grace_limit),
            grace_expiry: time(types.grace_expiry),
            max_idle: time(types.max_idle),
            in_history: number(types.in_history),
            check_quality: number(types.check_quality),
            min_length: number(types.min_length),
            max_length: number(types.max_length),
            allow_user_change: is(types.allow_user_change, true),
            safe_modify: is(types.safe_modify, false),
            must_change: is(types.must_change, false),
            lockout: is(types.lockout, false),
            lockout_duration: time(types.lockout_duration),
            max_failure: number(types.max_failure),
            failure_interval: time(types.failure_interval),
            recorded_failures: number(types.recorded_failures),
            min_delay: time(types.min_delay),
            max_delay: time(types.max_delay),
        })
    }
}
