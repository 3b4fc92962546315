//! Doing again what a power cut left in the log only.
//!
//! Owns: the one commit that brings the data file up to the log. Must not know: how the log was found, what its
//! operations look like.

use std::sync::Arc;

use super::ops;
use super::write::WriteTxn;
use crate::error::{Error, Result};
use crate::readers::Wait;
use crate::store::log::Found;
use crate::store::{Durability, Store};

/// Brings a database up to its log before anybody else is let in. Returns at once where there is nothing to do.
///
/// # Errors
/// [`Error::DamagedLog`] if a record cannot be done again; what the commit meets. The log then stays as it is.
pub(crate) fn run(store: &Arc<Store>) -> Result<()> {
    let Some(pending) = store.take_pending() else { return Ok(()) };
    match redo(store, &pending.found) {
        Ok(()) => store.caught_up(),
        Err(error) => {
            store.keep_pending(pending);
            Err(error)
        }
    }
}

/// All records in one commit, which bears the number of the last: a power cut in the middle changes nothing.
fn redo(store: &Arc<Store>, found: &Found) -> Result<()> {
    let records = found.records();
    let Some(last) = records.last().map(|last| last.header) else { return Ok(()) };
    tracing::info!(path = %store.path.display(), commits = records.len(), "doing again what a power cut left in the log");
    let mut txn = WriteTxn::begin(store, Wait::Forever, Durability::Durable)?;
    let work = txn.work_mut();
    work.ops.stop();
    work.become_txn(last.txnid);
    work.user = last.user;
    for record in &records {
        ops::replay(work, record.operations)
            .map_err(|failure| Error::DamagedLog { path: store.log_place.path.clone(), what: failure.to_string() })?;
    }
    txn.commit()
}
