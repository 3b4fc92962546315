//! Clients that are told what changes once their searches have told all there is (RFC 4533).
//!
//! Owns: whose turn it is, how many of them a connection has, their end. Must not know: what is told.

use std::time::{Duration, Instant};

use duramen_directory::{Done, News, Search, Standing};
use duramen_ldap::ber::List;
use duramen_ldap::message::{Message, Response, ResultCode};

use super::search::{Answers, OUTPUT_FULL_BYTES, SLICE};
use super::{OTHERS_BYTES, Op, Work};
use crate::figures::add;
use crate::reply::{Reply, is_success};

/// A search that has told all there was.
pub(super) struct Listening {
    pub(super) op: Op,
    standing: Standing,
    entries: u64,
    /// How long it took to tell what there was.
    took: Duration,
    /// The ring of the bell after which it heard all; `None` if it has not.
    heard: Option<u64>,
}

impl Work {
    /// Whether a connection may have another search that goes on with what changes: each is kept until the client ends it.
    pub(super) fn may_listen(&self, op: &Op) -> bool {
        let running = self.searches.iter().filter(|running| running.is_persistent()).map(|running| &running.op);
        let others = self.listening.iter().map(|listening| &listening.op).chain(running);
        let (count, bytes) = others.fold((0, op.bytes), |(count, bytes), op| (count + 1, bytes + op.bytes));
        count < self.settings.limits.pending && bytes <= OTHERS_BYTES
    }

    /// Goes on with what changes.
    pub(super) fn listen(&mut self, op: Op, search: Search, entries: u64, out: &mut Vec<u8>) {
        match search.stand() {
            Some(standing) => {
                let took = op.began.elapsed();
                self.listening.push_back(Listening { op, standing, entries, took, heard: None });
            }
            None => self.finish(op, &Reply::code(ResultCode::OTHER), out),
        }
    }

    /// Whether somebody waits for what changes.
    pub fn is_listening(&self) -> bool {
        !self.listening.is_empty()
    }

    /// Whether somebody may have something to hear, when the bell has rung so often.
    pub fn has_news(&self, rings: u64) -> bool {
        self.listening.iter().any(|listening| listening.heard != Some(rings))
    }

    /// Tells who listens what has changed, in turn, while there is room.
    pub fn tell_news(&mut self, rings: u64, out: &mut Vec<u8>) {
        let now = Instant::now();
        for _ in 0..self.listening.len() {
            if out.len() >= OUTPUT_FULL_BYTES || now.elapsed() >= SLICE {
                return;
            }
            let Some(mut listening) = self.listening.pop_front() else { return };
            if listening.heard == Some(rings) {
                self.listening.push_back(listening);
                continue;
            }
            let mut answers = Answers::new(out, listening.op.id, now);
            let news = listening.standing.run(&mut answers);
            let (entries, references) = answers.counts();
            listening.entries += entries;
            add(&self.figures.entries, entries);
            add(&self.figures.references, references);
            listening.heard = matches!(news, News::Nothing).then_some(rings);
            match news {
                News::Ended(done) => self.stop_listening(&listening, done, out),
                _ => self.listening.push_back(listening),
            }
        }
    }

    /// Snapshots that are held for a client that takes nothing go.
    pub fn let_go(&mut self) {
        self.listening.iter_mut().for_each(|listening| listening.standing.let_go());
    }

    /// Whether a snapshot is held for a client that waits for what changes.
    pub fn holds_snapshot(&self) -> bool {
        self.listening.iter().any(|listening| listening.standing.is_telling())
    }

    fn stop_listening(&self, listening: &Listening, done: Done, out: &mut Vec<u8>) {
        let reply = Reply { result: done.failure.unwrap_or_default(), controls: done.controls, ..Reply::default() };
        let operation = Response::SearchDone(reply.result.as_result());
        Message { id: listening.op.id, operation, controls: List::trusted(&reply.controls) }.encode(out);
        self.ended(listening, &reply);
    }

    /// Counts and logs the end. That it took long is no news.
    fn ended(&self, listening: &Listening, reply: &Reply) {
        let op = listening.op;
        self.figures.end(op.kind, is_success(reply.result.code), listening.took);
        if self.log.is_on() {
            self.log.result(op.number, op.tag, reply, op.began.elapsed(), Some(listening.entries));
        }
    }

    /// Ends what a client cancels; false if it does not listen there.
    pub(super) fn cancel_listening(&mut self, id: u32, out: &mut Vec<u8>) -> bool {
        let Some(place) = self.listening.iter().position(|listening| listening.op.id == id) else { return false };
        if let Some(listening) = self.listening.remove(place) {
            let reply = Reply::code(ResultCode::CANCELED);
            reply.write(listening.op.id, listening.op.tag, out);
            self.ended(&listening, &reply);
        }
        true
    }

    /// Ends those that are meant without a word.
    pub(super) fn abandon_listening(&mut self, is_meant: impl Fn(&Op) -> bool) {
        self.listening.retain(|listening| {
            let stays = !is_meant(&listening.op);
            if !stays {
                self.figures.end(listening.op.kind, false, listening.took);
            }
            stays
        });
    }

    /// Nobody is there any more, or somebody else.
    pub fn give_up_listening(&mut self) {
        self.abandon_listening(|_| true);
    }
}
