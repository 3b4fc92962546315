//! One connection: bytes in, bytes out.
//!
//! Owns: the socket, what was received and not taken yet, what was not sent yet, when a client has been silent for too
//! long. Must not know: what messages mean.
//!
//! A turn takes all whole messages that are there, sends the answers of all of them with one write, and reads again.
//! Nothing more is taken while there is much to send, or much under way: the client's own sending stops then.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use duramen_ldap::ber::{Frame, frame};
use duramen_ldap::message::{LdapResult, ResultCode, notice_of_disconnection};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::buffer::{Input, Output};
use crate::figures::add;
use crate::stream::Stream;
use crate::thread::{TICK, Thread, Watch};
use crate::tls::{refused_certificate, secured};
use crate::work::{OUTPUT_FULL_BYTES, Resting, Taken, UNBIND, Work};

/// How long the end of a connection may take.
const CLOSING: Duration = Duration::from_secs(1);

/// A connection.
pub struct Connection {
    thread: Rc<Thread>,
    watch: Rc<Watch>,
    stream: Stream,
    input: Input,
    output: Output,
    work: Work,
    /// What has to happen when all was sent.
    then: Then,
    /// The next message waits until nothing is under way.
    held: bool,
    /// TLS has bytes that the socket has not taken.
    flushing: bool,
    /// The client has not taken what it was sent.
    blocked: bool,
    /// What the client had not taken of what it was sent when that was looked at, if it was since the socket took something.
    untaken: Option<u64>,
    /// The client sends nothing more.
    ended: bool,
}

/// What has to happen when all was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    StartTls,
    /// The connection goes to this thread.
    Leave(usize),
    /// The session is over: this is why.
    End(&'static str),
}

/// A connection that leaves its thread.
pub struct Left {
    /// Its stream, with no runtime.
    pub stream: Stream,
    /// Its session.
    pub resting: Resting,
    /// The thread that it is for.
    pub to: usize,
}

/// Why a connection ended, for the log.
type End = &'static str;

const FAILED: End = "connection failed";

impl Connection {
    /// Of a thread, over a stream.
    pub fn new(thread: Rc<Thread>, watch: Rc<Watch>, stream: Stream, work: Work) -> Connection {
        let (input, output) = Default::default();
        let (held, flushing, blocked, untaken, ended) = Default::default();
        Connection {
            thread,
            watch,
            stream,
            input,
            output,
            work,
            then: Then::GoOn,
            held,
            flushing,
            blocked,
            untaken,
            ended,
        }
    }

    /// Serves the connection until it ends, or leaves. `tls_first`: TLS comes before anything else.
    pub async fn serve(mut self, tls_first: bool) -> Option<Left> {
        let begun = if tls_first { self.start_tls().await } else { Ok(()) };
        let end = match begun {
            Ok(()) => self.go_on().await,
            Err(end) => end,
        };
        self.count_blocked(false);
        self.work.give_up_listening();
        if let Then::Leave(to) = self.then {
            match self.stream.leave() {
                Ok(()) => return Some(Left { stream: self.stream, resting: self.work.rest(), to }),
                Err(error) => tracing::warn!("a connection could not change threads: {error}"),
            }
        }
        let _ = tokio::time::timeout(CLOSING, self.close()).await;
        self.work.log.closed(end);
        None
    }

    /// Ends the stream in order, not by the socket's being dropped: TLS says that nothing was cut off. Who is still
    /// sending when the session is over would be reset by that, and never read why.
    async fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        if self.then != Then::GoOn && !self.ended {
            tokio::io::copy(&mut self.stream, &mut tokio::io::sink()).await?;
        }
        Ok(())
    }

    async fn go_on(&mut self) -> End {
        loop {
            self.thread.turn(&self.watch);
            self.take_messages();
            if self.work.is_waiting() {
                after_others().await;
            }
            if self.has_more() && self.output.is_empty() {
                self.output.acquire(&self.thread.pool);
                self.thread.works();
                self.work.go_on(&mut self.output.bytes);
                self.work.tell_news(self.thread.news.rings(), &mut self.output.bytes);
                // Who is gone is found out by what cannot be sent; not by those who have nothing to send.
                if self.ended && self.output.is_empty() {
                    self.work.give_up_searches();
                }
            }
            let turned = poll_fn(|cx| self.turn(cx)).await;
            let more = match turned {
                Ok(()) if self.then == Then::StartTls && self.output.is_empty() => self.start_tls().await,
                other => other,
            };
            if let Err(end) = more {
                return end;
            }
            if self.has_more() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Whether there is more to be found, or told.
    fn has_more(&self) -> bool {
        self.work.is_searching() || self.work.has_news(self.thread.news.rings())
    }

    /// Takes the messages that are there.
    fn take_messages(&mut self) {
        self.output.acquire(&self.thread.pool);
        self.held = false;
        while self.takes_messages() {
            let length = match frame(self.input.waiting(), self.work.message_bytes_max()) {
                Ok(Frame::Complete(length)) => length,
                Ok(Frame::Needs(_)) => break,
                Err(error) => return self.refuse(&error.to_string()),
            };
            self.thread.works();
            let patience = self.thread.patience();
            match self.work.take(&self.input.waiting()[..length], patience, &mut self.output.bytes) {
                Taken::Wait => {
                    self.held = true;
                    break;
                }
                Taken::Done => self.input.consume(length),
                Taken::Unbind => {
                    self.then = Then::End(UNBIND);
                    return;
                }
                Taken::StartTls => {
                    self.input.consume(length);
                    return self.expect_tls();
                }
                Taken::Broken(why) => return self.refuse(&why),
            }
        }
        self.input.release(&self.thread.pool);
    }

    fn takes_messages(&self) -> bool {
        self.then == Then::GoOn
            && !self.input.is_empty()
            && !self.work.is_full()
            && self.output.unsent_bytes() < OUTPUT_FULL_BYTES
            && !self.thread.is_stopping()
    }

    /// What follows StartTLS has to wait for its answer: anything else was slipped in by somebody between.
    fn expect_tls(&mut self) {
        if self.input.is_empty() {
            self.then = Then::StartTls;
        } else {
            self.refuse("bytes followed StartTLS before its answer");
        }
    }

    /// Ends the session because of what the client sent.
    fn refuse(&mut self, why: &str) {
        self.work.log.refused(&self.work.session.peer_text(), why);
        self.disconnect(ResultCode::PROTOCOL_ERROR, why, "bad message");
    }

    /// Says why, and ends the session once that is sent (RFC 4511 section 4.4.1).
    fn disconnect(&mut self, code: ResultCode, why: &str, end: End) {
        self.output.acquire(&self.thread.pool);
        notice_of_disconnection(LdapResult::with_diagnostic(code, why)).encode(&mut self.output.bytes);
        self.then = Then::End(end);
    }

    /// Goes on with whatever can: ready when something has changed.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        self.output.acquire(&self.thread.pool);
        if !matches!(self.then, Then::End(_)) {
            let updates = &self.thread.updates;
            self.work.poll(cx, updates.waker(), &mut self.output.bytes);
            if self.work.awaits_update() {
                updates.wait(&self.watch.ear, cx.waker());
            }
            if self.work.is_listening() {
                self.thread.news.wait(&self.watch.news_ear, cx.waker());
            }
            if self.thread.is_stopping() && self.work.is_quiet() {
                self.disconnect(ResultCode::UNAVAILABLE, "the server is shutting down", "shutdown");
            }
        }
        self.send(cx)?;
        let has_room = self.output.is_empty();
        self.output.release(&self.thread.pool);
        match self.then {
            Then::End(end) if has_room => return Poll::Ready(Err(end)),
            Then::StartTls if has_room => return Poll::Ready(Ok(())),
            _ => {}
        }
        if self.takes_messages() && self.has_message() && (!self.held || self.work.is_quiet()) {
            return Poll::Ready(Ok(()));
        }
        if self.is_at_rest()
            && let Some(to) = self.thread.leaves_for()
        {
            self.then = Then::Leave(to);
            // What it ends with if it cannot leave.
            return Poll::Ready(Err(FAILED));
        }
        match self.receive(cx) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending if has_room && self.has_more() => Poll::Ready(Ok(())),
            Poll::Pending => self.idle(cx),
        }
    }

    /// Whether all that came is answered, and nothing is left here but the session.
    fn is_at_rest(&self) -> bool {
        self.then == Then::GoOn
            && self.input.is_empty()
            && self.output.is_empty()
            && self.work.is_quiet()
            && !self.work.is_listening()
            && !self.flushing
            && !self.ended
    }

    /// Whether a whole message, or nonsense, waits to be taken.
    fn has_message(&self) -> bool {
        !matches!(frame(self.input.waiting(), self.work.message_bytes_max()), Ok(Frame::Needs(_)))
    }

    /// Sends what there is, as far as the socket takes it.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        while !self.output.is_empty() {
            match Pin::new(&mut self.stream).poll_write(cx, self.output.unsent()) {
                Poll::Ready(Ok(0)) => return Err(FAILED),
                Poll::Ready(Ok(count)) => {
                    add(&self.thread.figures.bytes_out, count as u64);
                    self.output.advance(count);
                    self.watch.active(&self.thread);
                    self.untaken = None;
                    self.flushing = matches!(self.stream, Stream::Tls(_));
                }
                Poll::Ready(Err(error)) => return Err(describe(&error)),
                Poll::Pending => break,
            }
        }
        self.count_blocked(!self.output.is_empty());
        if self.flushing {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.flushing = false,
                Poll::Ready(Err(error)) => return Err(describe(&error)),
                Poll::Pending => {}
            }
        }
        Ok(())
    }

    /// Counts whether what was sent has not been taken.
    fn count_blocked(&mut self, blocked: bool) {
        if blocked != mem::replace(&mut self.blocked, blocked) {
            add(&self.thread.figures.blocked, if blocked { 1 } else { u64::MAX });
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        // What waits and is not taken now is enough; the client's sending stops by itself.
        let much = self.output.unsent_bytes() >= OUTPUT_FULL_BYTES || self.work.is_full() || self.held;
        if self.then != Then::GoOn || much || self.thread.is_stopping() {
            return Poll::Pending;
        }
        if self.ended {
            let done = self.work.is_quiet() && self.output.is_empty();
            return if done { Poll::Ready(Err("connection lost")) } else { Poll::Pending };
        }
        let mut into = ReadBuf::new(self.input.room(&self.thread.pool));
        let result = Pin::new(&mut self.stream).poll_read(cx, &mut into);
        let count = into.filled().len();
        match result {
            Poll::Pending => {
                self.input.release(&self.thread.pool);
                Poll::Pending
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(describe(&error))),
            Poll::Ready(Ok(())) if count == 0 => {
                self.ended = true;
                self.input.release(&self.thread.pool);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Ok(())) => {
                self.input.filled(count);
                add(&self.thread.figures.bytes_in, count as u64);
                self.watch.active(&self.thread);
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Nothing can go on: has that been so for too long?
    fn idle(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        let limits = &self.work.settings().limits;
        let (limit, end) = match self.output.is_empty() {
            false => (limits.write, "the client takes nothing"),
            true if self.work.is_quiet() && !self.work.is_listening() => (limits.idle, "idle for too long"),
            true => (Duration::ZERO, ""),
        };
        if !limit.is_zero() && self.silent_for() >= limit {
            if !self.output.is_empty() {
                return Poll::Ready(Err(end));
            }
            self.disconnect(ResultCode::UNAVAILABLE, end, end);
            return Poll::Ready(Ok(()));
        }
        self.work.let_go();
        self.watch.park(cx.waker(), !limit.is_zero() || self.work.holds_snapshot());
        Poll::Pending
    }

    /// How long the client has done nothing. The socket has room for more only once a good part of what it holds is gone, which
    /// may be megabytes: that somebody reads slowly shows in what it holds.
    fn silent_for(&mut self) -> Duration {
        if self.blocked && self.watch.silent_for(&self.thread) >= TICK {
            let now = self.stream.untaken_bytes();
            if self.untaken.replace(now).is_none_or(|before| now < before) {
                self.watch.active(&self.thread);
            }
        }
        self.watch.silent_for(&self.thread)
    }

    async fn start_tls(&mut self) -> Result<(), End> {
        // Those of now: a certificate that has been replaced since the connection began is not shown any more.
        let settings = self.work.settings_now();
        let (Some(acceptor), Stream::Plain(_)) = (&settings.tls, &self.stream) else { return Err("no TLS") };
        let Stream::Plain(plain) = mem::replace(&mut self.stream, Stream::Gone) else { return Err("no TLS") };
        // A handshake can take as long as its limit allows, and many can be under way.
        self.input.release(&self.thread.pool);
        self.output.release(&self.thread.pool);
        let handshake = acceptor.accept(plain);
        let tls = match tokio::time::timeout(settings.limits.handshake, handshake).await {
            Ok(Ok(tls)) => tls,
            Ok(Err(error)) => {
                self.work.log.tls_failed(&error);
                if let Some(why) = refused_certificate(&error) {
                    self.work.log.refused(&self.work.session.peer_text(), &why);
                }
                return Err("TLS handshake failed");
            }
            Err(_) => return Err("TLS handshake took too long"),
        };
        let secured = secured(tls.get_ref().1);
        self.work.log.tls(&secured);
        self.work.session.secure(secured);
        self.stream = Stream::Tls(Box::new(tls));
        self.then = Then::GoOn;
        Ok(())
    }
}

/// Lets the other connections of the thread go first that have something to do: their updates then share a commit with
/// this one's.
async fn after_others() {
    let mut asked = false;
    let once = |cx: &mut Context<'_>| {
        if mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    };
    poll_fn(once).await
}

fn describe(error: &io::Error) -> End {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => "connection lost",
        _ => FAILED,
    }
}
