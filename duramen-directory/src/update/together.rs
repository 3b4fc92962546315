//! Updates that are made together or not at all, one after the other: those of a client's transaction (RFC 5805).
//!
//! Owns: that nothing is left of the others where one fails. Must not know: what an update does.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use duramen::{Submitted, WriteTxn};
use duramen_ldap::ber::List;
use duramen_ldap::message::{Control, Request};

use super::{Made, Owned, Updated};
use crate::failure::{Failure, Result};
use crate::inner::Inner;
use crate::policy::Proof;
use crate::requester::Requester;

/// An update that is to be made with others: what [`crate::Directory::prepare_update`] returns.
pub struct PreparedUpdate(Owned);

impl fmt::Debug for PreparedUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // There may be passwords in it.
        write!(f, "PreparedUpdate({} bytes)", self.0.message.len())
    }
}

/// Why none of several updates was made.
#[derive(Debug, PartialEq, Eq)]
pub struct NotMade {
    /// Which of them failed; `None` if that was for another reason, such as a full disk.
    pub which: Option<usize>,
    /// What it came to.
    pub failure: Failure,
}

/// Updates on their way: what [`crate::Directory::update_together`] returns. Dropping it does not take them back.
#[must_use = "only awaiting it tells whether the updates were made"]
#[derive(Debug)]
pub struct TogetherFuture {
    submitted: Submitted<Result<Vec<Made>, NotMade>>,
    inner: Arc<Inner>,
}

impl Future for TogetherFuture {
    type Output = Result<Vec<Updated>, NotMade>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let done = std::task::ready!(Pin::new(&mut self.submitted).poll(context));
        let made = done.map_err(|error| NotMade { which: None, failure: error.into() }).flatten()?;
        Poll::Ready(Ok(made.into_iter().map(|made| made.done(&self.inner)).collect()))
    }
}

impl Inner {
    pub(crate) fn prepare_update(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
        proof: Proof,
    ) -> Result<PreparedUpdate> {
        self.own(requester, request, controls, proof).map(PreparedUpdate)
    }

    pub(crate) fn update_together(self: &Arc<Inner>, updates: Vec<PreparedUpdate>) -> TogetherFuture {
        TogetherFuture { submitted: self.db.submit_async(move |txn| run(txn, &updates)), inner: self.clone() }
    }
}

/// Makes them all in a transaction of their own, or none.
fn run(txn: &mut WriteTxn<'_>, updates: &[PreparedUpdate]) -> duramen::Result<Result<Vec<Made>, NotMade>> {
    let mut child = txn.child()?;
    let mut all = Vec::with_capacity(updates.len());
    for (which, update) in updates.iter().enumerate() {
        match update.0.run(&mut child)? {
            Ok(made) => all.push(made),
            Err(failure) => return Ok(Err(NotMade { which: Some(which), failure })),
        }
    }
    child.commit()?;
    Ok(Ok(all))
}
