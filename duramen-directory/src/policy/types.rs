//! The attribute types of the draft.

use crate::schema::{Attribute, AttributeId, Schema};

/// What the numbers of the draft's attribute types begin with.
const DRAFT: &str = "1.3.6.1.4.1.42.2.27.8.1.";

/// Whether an attribute is one of the draft's.
pub(crate) fn is_of_draft(attribute: &Attribute) -> bool {
    attribute.oid.starts_with(DRAFT)
}

macro_rules! types {
    ($($(#[$doc:meta])* $field:ident $number:literal,)*) => {
        /// The attribute types of the draft, by their numbers in it: files of schema may have their names for something else.
        #[derive(Clone, Debug)]
        pub(crate) struct Types {
            $($(#[$doc])* pub $field: AttributeId,)*
        }

        impl Types {
            /// All are built in.
            pub fn of(schema: &Schema) -> Option<Types> {
                let find = |number: u8| Some(schema.find(&format!("{DRAFT}{number}"))?.id);
                Some(Types { $($field: find($number)?,)* })
            }
        }
    };
}

types! {
    /// `pwdAttribute`
    attribute 1,
    /// `pwdMinAge`
    min_age 2,
    /// `pwdMaxAge`
    max_age 3,
    /// `pwdInHistory`
    in_history 4,
    /// `pwdCheckQuality`
    check_quality 5,
    /// `pwdMinLength`
    min_length 6,
    /// `pwdExpireWarning`
    expire_warning 7,
    /// `pwdGraceAuthNLimit`
    grace_limit 8,
    /// `pwdLockout`
    lockout 9,
    /// `pwdLockoutDuration`
    lockout_duration 10,
    /// `pwdMaxFailure`
    max_failure 11,
    /// `pwdFailureCountInterval`
    failure_interval 12,
    /// `pwdMustChange`
    must_change 13,
    /// `pwdAllowUserChange`
    allow_user_change 14,
    /// `pwdSafeModify`
    safe_modify 15,
    /// `pwdChangedTime`
    changed_time 16,
    /// `pwdAccountLockedTime`
    locked_time 17,
    /// `pwdFailureTime`
    failure_time 19,
    /// `pwdHistory`
    history 20,
    /// `pwdGraceUseTime`
    grace_use_time 21,
    /// `pwdReset`
    reset 22,
    /// `pwdPolicySubentry`
    policy 23,
    /// `pwdMinDelay`
    min_delay 24,
    /// `pwdMaxDelay`
    max_delay 25,
    /// `pwdMaxIdle`
    max_idle 26,
    /// `pwdLastSuccess`
    last_success 29,
    /// `pwdGraceExpiry`
    grace_expiry 30,
    /// `pwdMaxLength`
    max_length 31,
    /// `pwdMaxRecordedFailure`
    recorded_failures 32,
    /// `pwdAccountTmpLockoutEnd`
    locked_until 33,
}
