//! Searching: plan, candidates, filter, selection.

use crate::failure::Failure;
use crate::sink::Sink;

/// A search under way. It owns its snapshot: drop it when the client is gone, or does not read for long.
pub struct Search {
    _private: (),
}

/// How far a search is.
#[derive(Debug)]
pub enum Progress {
    /// The sink is full: call [`Search::run`] again when it has room.
    Paused,
    /// It is over.
    Done(Done),
}

/// How a search ended.
#[derive(Debug, Default)]
pub struct Done {
    /// What went wrong; what was found before that was given out. `None` is success.
    pub failure: Option<Failure>,
    /// Controls of the response, encoded as [`duramen_ldap::ber::List::encoded`] has them.
    pub controls: Vec<u8>,
    /// Entries that were given out.
    pub entries: u64,
}

impl Search {
    /// Goes on until the search is done or the sink is full.
    pub fn run(&mut self, _sink: &mut dyn Sink) -> Progress {
        todo!()
    }

    /// How the search is done, in a line: for a log of slow operations.
    pub fn plan(&self) -> String {
        todo!()
    }
}
