//! Changing entries.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use duramen::Submitted;

use crate::failure::{Failure, Result};

/// An update that was made.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Controls of the response, encoded as [`duramen_ldap::ber::List::encoded`] has them.
    pub controls: Vec<u8>,
}

/// An update on its way: what [`crate::Directory::update_async`] returns. Dropping it does not take the update back.
#[must_use = "only awaiting it tells whether the update was made"]
#[derive(Debug)]
pub struct UpdateFuture(State);

#[derive(Debug)]
enum State {
    /// It came to nothing before it was queued.
    Refused(Option<Failure>),
    Submitted(Submitted<Result<Updated>>),
}

impl UpdateFuture {
    pub(crate) fn refused(failure: Failure) -> UpdateFuture {
        UpdateFuture(State::Refused(Some(failure)))
    }

    pub(crate) fn submitted(submitted: Submitted<Result<Updated>>) -> UpdateFuture {
        UpdateFuture(State::Submitted(submitted))
    }
}

impl Future for UpdateFuture {
    type Output = Result<Updated>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Updated>> {
        match &mut self.0 {
            State::Refused(failure) => Poll::Ready(Err(failure.take().unwrap_or_default())),
            State::Submitted(submitted) => {
                Pin::new(submitted).poll(context).map(|done| done.map_err(Failure::from).flatten())
            }
        }
    }
}
