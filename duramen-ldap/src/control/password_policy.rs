//! What a password policy has to say with an answer (draft-behera-ldap-password-policy-10 section 6.2).

use crate::ber::{Reader, Writer, tag};
use crate::error::DecodeError;
use crate::payload::Payload;

const WARNING: u8 = tag::context_constructed(0);
const ERROR: u8 = tag::context(1);
const EXPIRES_IN: u8 = tag::context(0);
const GRACE_LEFT: u8 = tag::context(1);

/// The value of the control in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordPolicyResponse {
    /// What is to be expected.
    pub warning: Option<PasswordWarning>,
    /// What is wrong, or to be done.
    pub error: Option<PasswordError>,
}

/// What somebody who has authenticated by a password is to expect of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordWarning {
    /// It is too old in so many seconds.
    ExpiresIn(u32),
    /// It is too old, and is good for so many times more.
    GraceLeft(u32),
}

/// What is wrong with a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordError {
    /// It is too old.
    Expired,
    /// Nobody is authenticated by it now.
    AccountLocked,
    /// Somebody else has set it: it is to be changed before anything else is done.
    ChangeAfterReset,
    /// Its owner may not change it.
    ModificationNotAllowed,
    /// The old one was not sent with the new one.
    MustSupplyOld,
    /// The new one cannot be judged, or is no good one.
    InsufficientQuality,
    /// The new one is too short.
    TooShort,
    /// It was changed too short a time ago.
    TooYoung,
    /// The new one has been used before.
    InHistory,
    /// The new one is too long: OpenLDAP's, beyond the draft.
    TooLong,
}

/// Those of a number each, from 0 on.
const ERRORS: [PasswordError; 10] = [
    PasswordError::Expired,
    PasswordError::AccountLocked,
    PasswordError::ChangeAfterReset,
    PasswordError::ModificationNotAllowed,
    PasswordError::MustSupplyOld,
    PasswordError::InsufficientQuality,
    PasswordError::TooShort,
    PasswordError::TooYoung,
    PasswordError::InHistory,
    PasswordError::TooLong,
];

impl<'a> Payload<'a> for PasswordPolicyResponse {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a password policy response, a SEQUENCE")?;
        let warning = content.optional(WARNING)?.map(warning).transpose()?;
        let error = content.optional(ERROR)?.map(error).transpose()?;
        content.ignore_rest()?;
        Ok(PasswordPolicyResponse { warning, error })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            if let Some(warning) = self.warning {
                w.constructed(WARNING, |w| match warning {
                    PasswordWarning::ExpiresIn(seconds) => w.unsigned(EXPIRES_IN, seconds),
                    PasswordWarning::GraceLeft(times) => w.unsigned(GRACE_LEFT, times),
                });
            }
            if let Some(error) = self.error {
                w.unsigned(ERROR, error as u32);
            }
        });
    }
}

fn warning(content: Reader<'_>) -> Result<PasswordWarning, DecodeError> {
    let mut content = content;
    let warning = match content.peek() {
        Some(EXPIRES_IN) => PasswordWarning::ExpiresIn(content.unsigned(EXPIRES_IN, "seconds")?),
        _ => PasswordWarning::GraceLeft(content.unsigned(GRACE_LEFT, "seconds, or how many times")?),
    };
    content.finish("the end of the warning")?;
    Ok(warning)
}

fn error(content: Reader<'_>) -> Result<PasswordError, DecodeError> {
    let number = content.into_integer()?;
    match usize::try_from(number).ok().and_then(|number| ERRORS.get(number)) {
        Some(error) => Ok(*error),
        None => content.fail("the number of an error"),
    }
}
