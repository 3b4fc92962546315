//! The audit log: who changed what, and when, as LDIF behind the head that OpenLDAP's overlay `auditlog` writes.
//!
//! Owns: that whatever is committed comes into the file, in the order of commits, and nothing is changed while it cannot. Must
//! not know: what a change consists of.
//!
//! | module | owns |
//! |---|---|
//! | [`file`] | the file: what may be one, that no record is in it by halves |
//! | [`record`] | how a record looks |
//!
//! An update says its record in its transaction ([`duramen::WriteTxn::say`]). So whoever listens has those of all that was
//! committed together at once, before anybody is told that it was, and nothing of what came to nothing.

mod file;
mod record;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use duramen_ldap::message::ResultCode;

use crate::config::AuditLog;
use crate::error::OpenError;
use crate::failure::{Failure, Result};

pub(crate) use file::{AuditFile, unfit};
pub(crate) use record::{Author, Told, add, delete, modify, rename};

/// The log of an opened directory, if it has one.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    /// Records wait that could not be written.
    is_behind: AtomicBool,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    file: Option<AuditFile>,
    /// What was committed and could not be written.
    waiting: Vec<u8>,
}

impl Audit {
    /// Writes what a commit's transactions have said.
    pub fn write(&self, records: &[u8]) {
        let mut log = self.lock();
        if log.waiting.is_empty() {
            match log.file.as_mut().map(|file| file.append(records)) {
                None | Some(Ok(())) => {}
                Some(Err(failed)) => {
                    self.is_behind.store(true, Ordering::Release);
                    log.waiting.extend_from_slice(&records[failed.written..]);
                    tracing::error!("nothing is changed before it can be written: {}", failed.error);
                }
            }
        } else {
            log.waiting.extend_from_slice(records);
        }
    }

    /// That what was committed is in the file, which is tried again.
    ///
    /// # Errors
    /// unwillingToPerform, where it cannot be written.
    pub fn catch_up(&self) -> Result<()> {
        if !self.is_behind.load(Ordering::Acquire) {
            return Ok(());
        }
        self.settle(&mut self.lock()).map_err(|error| {
            let text = format!("nothing is changed before what was can be written down: {error}");
            Failure::new(ResultCode::UNWILLING_TO_PERFORM, text)
        })
    }

    /// Writes what waits.
    fn settle(&self, log: &mut Log) -> Result<(), file::FileError> {
        let Log { file, waiting } = log;
        if let (Some(file), false) = (file.as_mut(), waiting.is_empty()) {
            file.append(waiting).map_err(|failed| {
                waiting.drain(..failed.written);
                failed.error
            })?;
            tracing::info!("{} can be written again", file.path().display());
        }
        waiting.clear();
        self.is_behind.store(false, Ordering::Release);
        Ok(())
    }

    /// Has this file be written to from now on, or none; the one before.
    pub fn change(&self, file: Option<AuditFile>) -> Option<AuditFile> {
        let mut log = self.lock();
        if file.is_none() {
            self.give_up(&mut log);
        }
        let before = std::mem::replace(&mut log.file, file);
        self.settle_or_tell(&mut log);
        before
    }

    /// The same file, by its path: another one if somebody has renamed it.
    pub fn reopen(&self) -> Result<(), OpenError> {
        let mut log = self.lock();
        let Some(file) = &log.file else { return Ok(()) };
        let file = file.reopen()?;
        log.file = Some(file);
        self.settle_or_tell(&mut log);
        Ok(())
    }

    fn settle_or_tell(&self, log: &mut Log) {
        if let Err(error) = self.settle(log) {
            tracing::error!("nothing is changed before it can be written: {error}");
        }
    }

    /// To be called when nothing is changed any more: what waits is lost otherwise.
    pub fn end(&self) {
        self.give_up(&mut self.lock());
    }

    /// Tries for the last time to write what waits.
    fn give_up(&self, log: &mut Log) {
        if let Err(error) = self.settle(log) {
            let lost = String::from_utf8_lossy(&log.waiting);
            let records = lost.lines().filter(|line| line.starts_with("# end ")).count();
            tracing::error!("{records} records of what was changed are lost: {error}");
            log.waiting.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens what a configuration names, or makes it, for a directory with this database.
pub(crate) fn open(config: Option<&AuditLog>, database: &Path) -> Result<Option<AuditFile>, OpenError> {
    config.map(|config| AuditFile::open(config, database)).transpose()
}
