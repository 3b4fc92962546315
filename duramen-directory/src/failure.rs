//! Why an operation fails, as an LDAP result. The one place where other errors get their result codes, and where the log
//! is told of those that no client can do anything about.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use duramen_ldap::ber::{List, Writer};
use duramen_ldap::control::PasswordError;
use duramen_ldap::message::{LdapResult, ResultCode};
use duramen_ldap::{DecodeError, TextError};

use crate::damage;

/// The log is told of a failure at once, and of those that follow no more often than this: a full disk fails every update.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// When the log was told of a failure, and how many have followed.
static TOLD: Mutex<Option<(Instant, u64)>> = Mutex::new(None);

/// Result with a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why an operation fails: what a client is told.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Failure {
    /// The result code.
    pub code: ResultCode,
    /// The nearest entry that exists and may be known of, where `code` is about a name.
    pub matched_dn: String,
    /// What is wrong, where, and what to do about it.
    pub diagnostic: String,
    /// Encoded URLs of other servers, as [`List::encoded`] has them; empty if none are.
    pub referral: Vec<u8>,
    /// What a password policy has against it, for who asks by the control.
    pub policy: Option<PasswordError>,
}

impl Failure {
    /// A failure that says this.
    pub fn new(code: ResultCode, diagnostic: impl Into<String>) -> Failure {
        Failure { code, diagnostic: diagnostic.into(), ..Failure::default() }
    }

    /// A referral to other servers.
    pub fn referral(matched_dn: impl Into<String>, urls: &[String]) -> Failure {
        let mut referral = Vec::new();
        let mut writer = Writer::new(&mut referral);
        urls.iter().for_each(|url| writer.text(url));
        Failure { code: ResultCode::REFERRAL, matched_dn: matched_dn.into(), referral, ..Failure::default() }
    }

    /// An error of the database, which names what to do about it.
    pub(crate) fn of_database(error: &duramen::Error) -> Failure {
        if error.is_disk_full() {
            let text = if is_of_limit(error) {
                "the data file is as long as the process may make one (`ulimit -f`, systemd's LimitFSIZE), so nothing of this \
                 was stored; with a higher limit it can be"
            } else {
                "the disk with the data is full, so nothing of this was stored; as soon as there is room, it can be"
            };
            return Failure::new(ResultCode::UNWILLING_TO_PERFORM, format!("{text} (the database: {error})"));
        }
        if let Some((page, what)) = damaged_page(error) {
            let text =
                format!("page {page} is damaged: {what}; `duramen directory check` says what is lost and what to do");
            return Failure::new(ResultCode::OTHER, format!("the database: {text}"));
        }
        Failure::new(code(error), format!("the database: {error}"))
    }

    /// What goes into the response.
    pub fn as_result(&self) -> LdapResult<'_> {
        LdapResult {
            code: self.code,
            matched_dn: &self.matched_dn,
            diagnostic: &self.diagnostic,
            referral: List::trusted(&self.referral),
        }
    }
}

/// The page that is damaged, if that is what is wrong.
fn damaged_page(error: &duramen::Error) -> Option<(impl std::fmt::Display, &'static str)> {
    match error {
        duramen::Error::Corrupt { page, what } => Some((*page, *what)),
        duramen::Error::Group { source } => damaged_page(source),
        _ => None,
    }
}

/// Whether the system refuses to make a file longer.
fn is_of_limit(error: &duramen::Error) -> bool {
    use duramen::Error::{File, Group, Io};
    match error {
        Io { source, .. } | File { source, .. } => source.kind() == io::ErrorKind::FileTooLarge,
        Group { source } => is_of_limit(source),
        _ => false,
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.code)?;
        if !self.diagnostic.is_empty() {
            write!(f, ": {}", self.diagnostic)?;
        }
        if !self.matched_dn.is_empty() {
            write!(f, " (nearest entry: {})", self.matched_dn)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// What a client can do nothing about. The engine's own words are for it all the same: they name no data.
impl From<duramen::Error> for Failure {
    fn from(error: duramen::Error) -> Failure {
        let failure = Failure::of_database(&error);
        if damaged_page(&error).is_some() {
            damage::note(&failure.diagnostic);
        } else if failure.code != ResultCode::BUSY {
            tell(&failure);
        }
        failure
    }
}

fn code(error: &duramen::Error) -> ResultCode {
    match error {
        duramen::Error::Busy => ResultCode::BUSY,
        duramen::Error::Io { .. } | duramen::Error::File { .. } => ResultCode::UNAVAILABLE,
        duramen::Error::Group { source } => code(source),
        _ => ResultCode::OTHER,
    }
}

/// What is stored cannot be read.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Failure {
    let text = format!("{what} is damaged: run `duramen directory check`, and restore from a backup or an export");
    damage::note(&text);
    Failure::new(ResultCode::OTHER, text)
}

/// What is kept about the directory is not what this program, or its configuration, can go on with.
pub(crate) fn unusable(why: impl std::fmt::Display) -> Failure {
    let text =
        format!("another program has changed the directory, and this one cannot go on with what it keeps now: {why}");
    let failure = Failure::new(ResultCode::OTHER, text);
    tell(&failure);
    failure
}

fn tell(failure: &Failure) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *told {
        Some((at, more)) if at.elapsed() < TOLD_EVERY => *more += 1,
        before => {
            let untold = before.map_or(0, |(_, more)| more);
            tracing::error!(untold, "an operation failed: {}", failure.diagnostic);
            *before = Some((Instant::now(), 0));
        }
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Failure {
        Failure::new(error.result_code(), error.to_string())
    }
}

/// An error in a name.
pub(crate) fn bad_name(name: &str, error: TextError) -> Failure {
    Failure::new(ResultCode::INVALID_DN_SYNTAX, format!("the name {name:?} is not one: {error}"))
}
