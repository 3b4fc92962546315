//! Searches: run at once as far as there is room, and again when there is.

use std::cell::Cell;
use std::time::{Duration, Instant};

use duramen_directory::{Done, Failure, Progress, Search, Sink};
use duramen_ldap::ber::List;
use duramen_ldap::message::{
    Control, IntermediateResponse, Message, Response, ResultCode, SearchRequest, write_search_entry,
    write_search_entry_head,
};
use duramen_ldap::oid::intermediate::SYNC_INFO;

use super::{Controls, Op, Work};
use crate::figures::add;
use crate::reply::Reply;

/// A search pauses when the connection has this much to send.
pub const OUTPUT_FULL_BYTES: usize = 256 << 10;
/// A search pauses after this time, so that others of the thread have theirs.
pub(super) const SLICE: Duration = Duration::from_millis(2);
/// The clock is looked at once in so many questions at most, and so often in a slice: some entries take longer than others.
const QUESTIONS_PER_LOOK: u32 = 64;
const LOOKS_PER_SLICE: u32 = 8;
/// What a longer request asks of an entry may take longer than a slice.
const BRIEF_BYTES: usize = 1 << 10;

/// A search under way.
pub(super) struct Running {
    pub(super) op: Op,
    search: Search,
    entries: u64,
    /// Questions between two looks at the clock.
    between: u32,
}

impl Work {
    pub(super) fn search(&mut self, op: Op, request: &SearchRequest<'_>, controls: Controls<'_>, out: &mut Vec<u8>) {
        match self.server.directory.search(&self.session.requester, request, controls) {
            Ok(search) if search.is_persistent() && !self.may_listen(&op) => {
                let text = "this connection has as many searches that wait for changes as it may have (limits.pending)";
                self.finish(op, &Reply::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text), out);
            }
            Ok(search) => {
                let between = if op.bytes <= BRIEF_BYTES { QUESTIONS_PER_LOOK } else { 1 };
                let running = Running { op, search, entries: 0, between };
                if self.may_run(&running) { self.run(running, op.began, out) } else { self.searches.push_back(running) }
            }
            Err(failure) => self.finish(op, &failure.into(), out),
        }
    }

    /// Lets the searches that wait go on in turn, while there is room.
    pub fn go_on(&mut self, out: &mut Vec<u8>) {
        let now = Instant::now();
        for _ in 0..self.searches.len() {
            if out.len() >= OUTPUT_FULL_BYTES || now.elapsed() >= SLICE {
                return;
            }
            if let Some(running) = self.searches.pop_front() {
                let limit = self.settings.limits.search;
                if !limit.is_zero() && now - running.op.began >= limit {
                    self.done(&running, too_slow(limit), out);
                } else if self.may_run(&running) {
                    self.run(running, now, out);
                } else {
                    self.searches.push_back(running);
                }
            }
        }
    }

    /// Searches that gather what is to be put in order do so one after another, those of a connection: each takes memory for all
    /// that it finds.
    fn may_run(&self, running: &Running) -> bool {
        let is_before = |other: &Running| other.search.is_gathering() && other.op.number < running.op.number;
        !running.search.is_gathering() || !self.searches.iter().any(is_before)
    }

    fn run(&mut self, mut running: Running, since: Instant, out: &mut Vec<u8>) {
        let mut answers =
            Answers { pace: Pace::new(running.between, since), ..Answers::new(out, running.op.id, since) };
        let progress = running.search.run(&mut answers);
        running.entries += answers.entries;
        running.between = answers.pace.between.get();
        add(&self.figures.entries, answers.entries);
        add(&self.figures.references, answers.references);
        match progress {
            Progress::Paused => self.searches.push_back(running),
            Progress::Persists => self.listen(running.op, running.search, running.entries, out),
            Progress::Done(done) => self.done(&running, done, out),
        }
    }

    fn done(&self, running: &Running, done: Done, out: &mut Vec<u8>) {
        let reply = Reply { result: done.failure.unwrap_or_default(), controls: done.controls, ..Reply::default() };
        let operation = Response::SearchDone(reply.result.as_result());
        Message { id: running.op.id, operation, controls: List::trusted(&reply.controls) }.encode(out);
        self.finished(running.op, &reply, Some(running.entries), || running.search.plan());
    }
}

/// The end of a search whose client was too slow.
fn too_slow(limit: Duration) -> Done {
    let diagnostic = format!(
        "the client has not taken all answers in {} s (limits.hold_seconds); ask for less, or in pages",
        limit.as_secs()
    );
    let failure = Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, diagnostic);
    Done { failure: Some(failure), ..Done::default() }
}

/// Writes what a search finds into a connection's buffer.
pub(super) struct Answers<'o> {
    out: &'o mut Vec<u8>,
    id: u32,
    entries: u64,
    references: u64,
    since: Instant,
    pace: Pace,
}

impl<'o> Answers<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>, id: u32, since: Instant) -> Answers<'o> {
        Answers { out, id, entries: 0, references: 0, since, pace: Pace::new(QUESTIONS_PER_LOOK, since) }
    }

    /// How many entries and references it has written.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.entries, self.references)
    }
}

impl Running {
    pub(super) fn is_persistent(&self) -> bool {
        self.search.is_persistent()
    }
}

/// How often the clock is looked at: questions take from less than a microsecond to many milliseconds.
struct Pace {
    between: Cell<u32>,
    left: Cell<u32>,
    looked: Cell<Instant>,
}

impl Pace {
    fn new(between: u32, now: Instant) -> Pace {
        Pace { between: Cell::new(between), left: Cell::new(between), looked: Cell::new(now) }
    }

    /// What the clock says, if it is to be looked at for this question.
    fn look(&self) -> Option<Instant> {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        if left > 0 {
            return None;
        }
        let now = Instant::now();
        self.between.set(next_between(self.between.get(), now - self.looked.get()));
        self.left.set(self.between.get());
        self.looked.set(now);
        Some(now)
    }
}

/// Questions until the next look, when so many took so long.
fn next_between(between: u32, took: Duration) -> u32 {
    let wanted = SLICE / LOOKS_PER_SLICE;
    let fit = u128::from(between) * wanted.as_nanos() / took.as_nanos().max(1);
    u32::try_from(fit).unwrap_or(u32::MAX).min(between.saturating_mul(2)).clamp(1, QUESTIONS_PER_LOOK)
}

impl Sink for Answers<'_> {
    fn entry(&mut self, name: &str, attributes: &[&[u8]], controls: List<'_, Control<'_>>) {
        self.entries += 1;
        write_search_entry(self.out, self.id, name, attributes.iter().copied(), controls);
    }

    fn large_entry(
        &mut self,
        name: &str,
        attributes: &[&[u8]],
        bytes: usize,
        write: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> bool {
        let (start, before) = (self.out.len(), attributes.iter().map(|piece| piece.len()).sum::<usize>());
        write_search_entry_head(self.out, self.id, name, before + bytes);
        attributes.iter().for_each(|piece| self.out.extend_from_slice(piece));
        let is_right = write(self.out);
        if !is_right {
            self.out.truncate(start);
        }
        self.entries += u64::from(is_right);
        is_right
    }

    fn reference(&mut self, urls: List<'_, &str>, controls: List<'_, Control<'_>>) {
        self.references += 1;
        let operation = Response::SearchReference(List::trusted(urls.encoded()));
        Message { id: self.id, operation, controls }.encode(self.out);
    }

    fn info(&mut self, value: &[u8]) {
        let said = IntermediateResponse { name: Some(SYNC_INFO), value: Some(value) };
        Message::new(self.id, Response::Intermediate(said)).encode(self.out);
    }

    fn is_full(&self) -> bool {
        self.out.len() >= OUTPUT_FULL_BYTES || self.pace.look().is_some_and(|now| now - self.since >= SLICE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_looked_at_as_often_as_entries_take_long() {
        let micros = Duration::from_micros;
        for (between, took, next) in [
            (64, 10, 64),
            (64, 250, 64),
            (64, 2_000_000, 1),
            (64, 500, 32),
            (64, 2000, 8),
            (1, 30_000, 1),
            (1, 0, 2),
            (8, 10, 16),
            (1, 200, 1),
        ] {
            assert_eq!(next_between(between, micros(took)), next, "{between} in {took} us");
        }
        let pace = Pace::new(3, Instant::now());
        assert_eq!((pace.look(), pace.look()), (None, None));
        assert!(pace.look().is_some());
    }

    #[test]
    fn an_entry_that_is_written_in_place_is_sent_as_any_other_or_not_at_all() {
        let (mut whole, mut in_place) = (b"before".to_vec(), b"before".to_vec());
        let answers = |out| Answers::new(out, 300, Instant::now());
        let (first, rest) = (b"first".as_slice(), [7; 70_000]);
        answers(&mut whole).entry("cn=all", &[first, &rest], List::default());
        let mut sink = answers(&mut in_place);
        // What was noted of it is not true.
        let mut wrong = |out: &mut Vec<u8>| {
            out.push(7);
            false
        };
        assert!(!sink.large_entry("cn=all", &[first], rest.len(), &mut wrong));
        assert_eq!((sink.entries, &sink.out[..]), (0, &b"before"[..]));
        let mut right = |out: &mut Vec<u8>| {
            out.extend_from_slice(&rest);
            true
        };
        assert!(sink.large_entry("cn=all", &[first], rest.len(), &mut right));
        assert_eq!(sink.entries, 1);
        assert!(whole == in_place);
    }
}
