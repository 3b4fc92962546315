//! The operations of one connection: what came in is taken apart, carried out and answered into a buffer.
//!
//! Owns: which operations are under way, their order, who the session is. Must not know: sockets.
//!
//! Reads are carried out at once on the thread that received them. A search that has more to say than fits waits in
//! `searches` until there is room; an update or a costly password waits in `pending` for its future. Whatever changes
//! the session (bind, StartTLS) begins when nothing else is under way, and nothing begins before it is done (RFC 4511
//! sections 4.2.1 and 4.14.1).

mod bind;
mod extended;
mod listening;
mod log;
mod passwords;
mod sasl;
mod search;
mod transaction;
mod users;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use duramen_directory::{Failure, UpdateFuture};
use duramen_ldap::ber::List;
use duramen_ldap::control::PasswordPolicyResponse;
use duramen_ldap::message::{CompareRequest, Control, Envelope, MessageId, Request, ResultCode, op};
use duramen_ldap::oid;

pub use log::{ConnectionLog, UNBIND};
pub use search::OUTPUT_FULL_BYTES;

use crate::figures::{Figures, Kind};
use crate::reply::{Reply, is_success};
use crate::server::{Server, Settings};
use crate::session::Session;
use bind::Bound;
use listening::Listening;
use passwords::is_of_passwords;
use search::Running;
use transaction::Transaction;

pub use extended::OPERATIONS;
pub use sasl::MECHANISMS;

/// No more is taken while the requests of several searches under way have so many bytes in all: what is made of a long filter
/// takes some dozen times as many, and is kept until the search is over.
const SEARCHES_BYTES: usize = 256 << 10;
/// The same of other operations, of which the bytes are kept.
const OTHERS_BYTES: usize = 16 << 20;

/// The operations of a connection.
pub struct Work {
    /// Who the connection is.
    pub session: Session,
    /// What is logged of it.
    pub log: ConnectionLog,
    server: Arc<Server>,
    settings: Arc<Settings>,
    figures: Arc<Figures>,
    searches: VecDeque<Running>,
    listening: VecDeque<Listening>,
    pending: Vec<Pending>,
    transaction: Option<Transaction>,
    operations: u64,
}

/// The session of a connection while nothing is under way: what goes with it to another thread.
pub struct Resting {
    /// Who the connection is.
    pub session: Session,
    /// What is logged of it.
    pub log: ConnectionLog,
    settings: Arc<Settings>,
    transaction: Option<Transaction>,
    operations: u64,
}

/// What became of a message.
#[derive(Debug)]
pub enum Taken {
    /// It was answered, or is under way.
    Done,
    /// It has to wait until nothing else is under way: not taken.
    Wait,
    /// Its answer ends the plain text: TLS follows.
    StartTls,
    /// The client is done.
    Unbind,
    /// The session cannot go on.
    Broken(String),
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Number of its message.
    id: MessageId,
    /// Tag of its request.
    tag: u8,
    kind: Kind,
    /// Length of its message.
    bytes: usize,
    /// Its number in the connection, for the log.
    number: u64,
    /// The client wants to know what a password policy has to say.
    asks_policy: bool,
    began: Instant,
}

/// An operation that waits for a future.
struct Pending {
    op: Op,
    future: Waiting,
    /// Given up by the client: not answered.
    silent: bool,
}

enum Waiting {
    Update(UpdateFuture),
    /// What changes the session, too: who it is afterwards.
    Bind(Boxed<Bound>),
    Other(Boxed<Reply>),
}

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

impl Resting {
    /// Of a connection that begins.
    pub fn new(server: &Server, session: Session, log: ConnectionLog) -> Resting {
        Resting { session, log, settings: server.settings(), transaction: None, operations: 0 }
    }
}

impl Work {
    /// On a thread with these figures.
    pub fn new(server: Arc<Server>, figures: Arc<Figures>, resting: Resting) -> Work {
        let Resting { session, log, settings, transaction, operations } = resting;
        let (searches, listening, pending) = Default::default();
        Work { session, log, server, settings, figures, searches, listening, pending, transaction, operations }
    }

    /// What is left when nothing is under way.
    pub fn rest(self) -> Resting {
        debug_assert!(self.is_quiet() && !self.is_listening());
        let Work { session, log, settings, transaction, operations, .. } = self;
        Resting { session, log, settings, transaction, operations }
    }

    /// The settings that the connection began with.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The settings in force now.
    pub fn settings_now(&self) -> Arc<Settings> {
        self.server.settings()
    }

    /// How long a message may be.
    pub fn message_bytes_max(&self) -> usize {
        let limits = &self.settings.limits;
        if self.session.requester.is_anonymous() { limits.message_bytes_anonymous } else { limits.message_bytes }
    }

    /// Whether nothing is under way, but for searches that wait for what changes.
    pub fn is_quiet(&self) -> bool {
        self.searches.is_empty() && self.pending.is_empty()
    }

    /// Whether something waits for a future.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether a search waits for room.
    pub fn is_searching(&self) -> bool {
        !self.searches.is_empty()
    }

    /// Whether no message can be taken now: too much is under way, or something that has to be done alone.
    pub fn is_full(&self) -> bool {
        let of_searches = || self.searches.iter().map(|running| running.op.bytes).sum::<usize>();
        let of_others = || self.pending.iter().map(|pending| pending.op.bytes).sum::<usize>();
        self.searches.len() + self.pending.len() >= self.settings.limits.pending
            || (self.searches.len() > 1 && of_searches() >= SEARCHES_BYTES)
            || of_others() >= OTHERS_BYTES
            || matches!(self.pending.first(), Some(Pending { future: Waiting::Bind(_), .. }))
    }

    /// Takes a whole message. An update may keep the thread waiting for the disk for no longer than `patience`.
    pub fn take(&mut self, message: &[u8], patience: Duration, out: &mut Vec<u8>) -> Taken {
        let envelope = match Envelope::decode(message) {
            Ok(envelope) => envelope,
            Err(error) => return Taken::Broken(error.to_string()),
        };
        let Some(kind) = kind(envelope.tag) else {
            return Taken::Broken("a response came from the client; it has to send requests".into());
        };
        if kind == Kind::Bind && !self.is_quiet() {
            return Taken::Wait;
        }
        let request = envelope.request();
        if matches!(&request, Ok(request) if self.has_to_wait(request)) {
            return Taken::Wait;
        }
        let starts_tls = matches!(&request, Ok(Request::Extended(request)) if request.name == oid::extended::START_TLS);
        if kind == Kind::Bind || starts_tls {
            // RFC 4511 section 4.2.1: what was asked for by somebody else is over.
            self.give_up_listening();
            self.transaction = None;
        }
        let (bytes, began) = (message.len(), Instant::now());
        let (id, tag, number) = (envelope.id, envelope.tag, self.operations);
        let mut op = Op { id, tag, kind, bytes, number, asks_policy: false, began };
        self.operations += 1;
        self.figures.begin(kind);
        match (request, envelope.controls()) {
            (Ok(request), Ok(controls)) => {
                op.asks_policy = passwords::asks_policy(&request, controls);
                self.carry_out(op, &request, controls, patience, out)
            }
            (Err(error), _) | (_, Err(error)) => {
                self.finish(op, &Reply::from(Failure::from(error)), out);
                Taken::Done
            }
        }
    }

    /// Whether a request cannot begin yet. One password is set at a time: its hash is costly, and everybody's binds wait behind
    /// those that are to be made.
    fn has_to_wait(&self, request: &Request<'_>) -> bool {
        match request {
            Request::Extended(extended) if extended.name == oid::extended::START_TLS => !self.is_quiet(),
            Request::Extended(extended) => extended.name == oid::extended::PASSWORD_MODIFY && self.sets_password(),
            Request::Add(_) | Request::Modify(_) => self.sets_password() && is_of_passwords(&self.server, request),
            _ => false,
        }
    }

    /// Whether a password is being set, or looked at on a thread of its own.
    fn sets_password(&self) -> bool {
        self.pending.iter().any(|pending| matches!(pending.future, Waiting::Other(_)))
    }

    fn carry_out(
        &mut self,
        op: Op,
        request: &Request<'_>,
        controls: Controls<'_>,
        patience: Duration,
        out: &mut Vec<u8>,
    ) -> Taken {
        if self.log.is_on() {
            self.log_request(op.number, request, controls);
        }
        if let Some(refused) = self.must_change_first(request) {
            self.finish(op, &refused, out);
            return Taken::Done;
        }
        if let Some(reply) = self.put_off(op, request, controls) {
            self.finish(op, &reply, out);
            return Taken::Done;
        }
        match request {
            Request::Search(search) => self.search(op, search, controls, out),
            Request::Compare(compare) => self.compare(op, compare, controls, out),
            Request::Bind(bind) => self.bind(op, bind, controls, out),
            Request::Unbind => {
                self.figures.end(op.kind, true, op.began.elapsed());
                return Taken::Unbind;
            }
            Request::Abandon(id) => {
                self.abandon(*id);
                self.figures.end(op.kind, true, op.began.elapsed());
            }
            Request::Extended(extended) => return self.extended(op, extended, controls, out),
            Request::Add(_) | Request::Modify(_) if is_of_passwords(&self.server, request) => {
                self.update_passwords(op, request, controls);
            }
            Request::Add(_) | Request::Delete(_) | Request::Modify(_) | Request::ModifyDn(_) => {
                let directory = &self.server.directory;
                let future = directory.update_async(&self.session.requester, request, controls, patience);
                self.wait(op, Waiting::Update(future));
            }
            _ => self.finish(op, &Reply::new(ResultCode::PROTOCOL_ERROR, "this request is not known here"), out),
        }
        Taken::Done
    }

    /// Logs that an operation begins, and as whom it is carried out, if that is said.
    fn log_request(&self, operation: u64, request: &Request<'_>, controls: Controls<'_>) {
        if matches!(request, Request::Bind(_)) {
            self.log.forgotten(operation, "BIND", "implicit", &self.session.requester);
        }
        let mut list = Vec::new();
        let is_meant = |control: &Control<'_>| control.oid == oid::control::PROXIED_AUTHORIZATION;
        let proxied = List::build(&mut list, controls.iter().filter(is_meant));
        if !proxied.is_empty()
            && let Ok(who) = self.server.directory.acting(&self.session.requester, proxied)
        {
            self.log.proxied(operation, &who);
        }
        self.log.request(operation, request);
    }

    fn compare(&mut self, op: Op, request: &CompareRequest<'_>, controls: Controls<'_>, out: &mut Vec<u8>) {
        let reply = match self.server.directory.compare(&self.session.requester, request, controls) {
            Ok(true) => Reply::code(ResultCode::COMPARE_TRUE),
            Ok(false) => Reply::code(ResultCode::COMPARE_FALSE),
            Err(failure) => failure.into(),
        };
        self.finish(op, &reply, out);
    }

    /// Gives up an operation: a search ends without a word, anything else goes on without one (RFC 4511 section 4.11).
    fn abandon(&mut self, id: MessageId) {
        self.give_up(|running| running.op.id == id);
        self.abandon_listening(|op| op.id == id);
        for pending in self.pending.iter_mut().filter(|pending| pending.op.id == id) {
            pending.silent = true;
        }
    }

    /// Gives up all searches: nobody is there any more to be answered.
    pub fn give_up_searches(&mut self) {
        self.give_up(|_| true);
    }

    fn give_up(&mut self, is_meant: impl Fn(&Running) -> bool) {
        self.searches.retain(|running| {
            let stays = !is_meant(running);
            if !stays {
                self.figures.end(running.op.kind, false, running.op.began.elapsed());
            }
            stays
        });
    }

    fn wait(&mut self, op: Op, future: Waiting) {
        self.pending.push(Pending { op, future, silent: false });
    }

    /// Whether an update is under way.
    pub fn awaits_update(&self) -> bool {
        self.pending.iter().any(|pending| matches!(pending.future, Waiting::Update(_)))
    }

    /// Looks after what waits for a future; answers what is done. `updates` is woken when an update is decided.
    pub fn poll(&mut self, cx: &mut Context<'_>, updates: &Waker, out: &mut Vec<u8>) {
        let mut at = 0;
        while at < self.pending.len() {
            let Poll::Ready(outcome) = self.pending[at].future.poll(cx, updates) else {
                at += 1;
                continue;
            };
            let Pending { op, silent, .. } = self.pending.remove(at);
            match outcome {
                Outcome::Bound(bound) => self.bound(op, bound, out),
                Outcome::Replied(reply) if silent => self.finished(op, &reply, None, String::new),
                Outcome::Replied(reply) => self.finish(op, &reply, out),
            }
        }
    }

    /// Writes the answer of an operation that is over.
    fn finish(&mut self, op: Op, reply: &Reply, out: &mut Vec<u8>) {
        // Who binds is told that there is nothing to say, as others do.
        let is_silent = reply.notice == PasswordPolicyResponse::default() && op.kind != Kind::Bind;
        if op.asks_policy && !is_silent {
            reply.clone().with_notice().write(op.id, op.tag, out);
        } else {
            reply.write(op.id, op.tag, out);
        }
        self.finished(op, reply, None, String::new);
    }

    /// Counts and logs an operation that is over and answered. `entries` is for searches.
    fn finished(&self, op: Op, reply: &Reply, entries: Option<u64>, describe: impl FnOnce() -> String) {
        let took = op.began.elapsed();
        self.figures.end(op.kind, is_success(reply.result.code), took);
        if self.log.is_on() {
            self.log.result(op.number, op.tag, reply, took, entries);
        }
        if self.settings.log.slow.is_some_and(|limit| took >= limit) {
            self.log.slow(op.number, op.kind, took, &self.session.requester.name.written, &describe());
        }
    }
}

/// Controls of a request.
type Controls<'a> = List<'a, Control<'a>>;

/// What came of a future.
enum Outcome {
    Replied(Reply),
    Bound(Bound),
}

impl Waiting {
    fn poll(&mut self, cx: &mut Context<'_>, updates: &Waker) -> Poll<Outcome> {
        match self {
            Waiting::Update(update) => Pin::new(update).poll(&mut Context::from_waker(updates)).map(|done| {
                Outcome::Replied(match done {
                    Ok(updated) => Reply { controls: updated.controls, ..Reply::default() },
                    Err(failure) => failure.into(),
                })
            }),
            Waiting::Bind(bind) => bind.as_mut().poll(cx).map(Outcome::Bound),
            Waiting::Other(other) => other.as_mut().poll(cx).map(Outcome::Replied),
        }
    }
}

/// What kind of request has this tag; `None` for responses.
fn kind(tag: u8) -> Option<Kind> {
    Some(match tag {
        op::SEARCH_REQUEST => Kind::Search,
        op::BIND_REQUEST => Kind::Bind,
        op::UNBIND_REQUEST => Kind::Unbind,
        op::MODIFY_REQUEST => Kind::Modify,
        op::ADD_REQUEST => Kind::Add,
        op::DELETE_REQUEST => Kind::Delete,
        op::MODIFY_DN_REQUEST => Kind::ModifyDn,
        op::COMPARE_REQUEST => Kind::Compare,
        op::ABANDON_REQUEST => Kind::Abandon,
        op::EXTENDED_REQUEST => Kind::Extended,
        _ => return None,
    })
}

/// Refuses the first critical control: for operations that take none.
fn refuse_critical(controls: Controls<'_>) -> Option<Reply> {
    refuse_critical_but(controls, &[])
}

/// As [`refuse_critical`], for operations that know some.
fn refuse_critical_but(controls: Controls<'_>, known: &[&str]) -> Option<Reply> {
    let control = controls.iter().find(|control| control.critical && !known.contains(&control.oid))?;
    let diagnostic = format!("the control {} is critical, and this operation does not know it", control.oid);
    Some(Reply::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, diagnostic))
}
