//! Bind: simple passwords, and where they are checked (RFC 4513).
//!
//! The session is anonymous from the moment a bind begins until it succeeds. What a client is told of a failure is the
//! same for a wrong password and for a name that is not there, and takes as long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duramen_directory::{Credentials, Failure, Judgement, Method, Name, Requester, password};
use duramen_ldap::control::PasswordError;
use duramen_ldap::message::{Authentication, BindRequest, ResultCode};
use duramen_ldap::oid;

use super::{Boxed, Controls, Op, Waiting, Work, refuse_critical_but};
use crate::aside;
use crate::costs::Costs;
use crate::reply::Reply;
use crate::server::Server;
use crate::session::{Begun, Proven};

/// So long at least are the moments at which wrong passwords are answered after each other where policies are in force: to note
/// one down takes far less.
const BEAT: Duration = Duration::from_millis(5);

/// What a bind came to.
#[derive(Default)]
pub(crate) struct Bound {
    pub(super) reply: Reply,
    /// Who the session is; anonymous if nobody.
    pub(super) requester: Option<Requester>,
    /// A SCRAM exchange that waits for the client's proof.
    pub(super) exchange: Option<Box<Begun>>,
    /// What the log is to have of it.
    pub(super) proven: Option<Box<Proven>>,
    /// Whose password is to be changed before anything else is done.
    pub(super) must_change: Option<Name>,
}

/// A bind that is decided, or how it will be.
pub(super) enum Binding {
    /// Decided.
    Now(Bound),
    /// By a password.
    Check(Check),
    /// By something that takes its time.
    Later(Boxed<Bound>),
}

/// A password to be checked, and who the session is if it is right.
pub(super) struct Check {
    pub(super) stored: Vec<Vec<u8>>,
    pub(super) given: Vec<u8>,
    /// Whose policy has a say in it.
    pub(super) subject: Option<Name>,
    pub(super) requester: Requester,
    /// What the log is to have of it.
    pub(super) proven: Option<Box<Proven>>,
}

impl Work {
    pub(super) fn bind(&mut self, op: Op, request: &BindRequest<'_>, controls: Controls<'_>, out: &mut Vec<u8>) {
        let exchange = self.session.scram.take();
        self.session.forget();
        let refused = refuse_critical_but(controls, &[oid::control::PASSWORD_POLICY]);
        let binding = match (request.authentication, refused) {
            (_, Some(refused)) => refused.into(),
            _ if request.version != 3 => only_version_3(request.version).into(),
            (Authentication::Simple(given), None) => self.simple(request.name, given),
            (Authentication::Sasl { mechanism, credentials }, None) => self.sasl(mechanism, credentials, exchange),
            (_, None) => not_supported("this way to authenticate is not known here").into(),
        };
        match binding {
            Binding::Now(bound) => self.bound(op, bound, out),
            Binding::Check(check) => self.check(op, check, out),
            Binding::Later(future) => self.wait(op, Waiting::Bind(future)),
        }
    }

    fn simple(&self, name: &str, given: &[u8]) -> Binding {
        match (name.is_empty(), given.is_empty()) {
            (true, true) => Reply::default().into(),
            (true, false) => invalid_credentials().into(),
            (false, true) => {
                let diagnostic = "a name without a password is no authentication (RFC 4513 section 5.1.2); \
                    send the password, or no name to be anonymous";
                Reply::new(ResultCode::UNWILLING_TO_PERFORM, diagnostic).into()
            }
            (false, false) => self.by_password(name, given),
        }
    }

    /// Binds as the entry of this name, if `given` is its password.
    pub(super) fn by_password(&self, name: &str, given: &[u8]) -> Binding {
        // Nobody, since the bind began.
        match self.server.directory.credentials(&self.session.requester, name) {
            Ok(credentials) => {
                let subject = self.subject(&credentials);
                let who = self.session.somebody(credentials.name, Method::Password, credentials.is_administrator);
                let (stored, given) = (credentials.stored, given.to_vec());
                Binding::Check(Check { stored, given, subject, requester: who, proven: None })
            }
            Err(failure) => hidden(failure).into(),
        }
    }

    /// Whose policy has a say: not of the administrator, whom the configuration names, nor of anybody where none is in force.
    pub(super) fn subject(&self, credentials: &Credentials) -> Option<Name> {
        let has_policies = self.server.directory.has_password_policies();
        (has_policies && !credentials.is_administrator).then(|| credentials.name.clone())
    }

    /// Checks a password: here if that is cheap and nothing is to be noted down, else on a thread that nobody waits for.
    fn check(&mut self, op: Op, mut check: Check, out: &mut Vec<u8>) {
        let known = check.at_once(&self.server.costs);
        if let Some(bound) = known.and_then(|right| check.bound_now(&self.server, right)) {
            return self.bound(op, bound, out);
        }
        // One that is not known to be right counts from now on: those that come behind it wait for what is noted down of it.
        let guess = check.subject.as_ref().filter(|_| known != Some(true));
        let guess = guess.map(|subject| self.server.guesses.begin(&subject.normalized));
        let bound = self.at_leisure(move |server| {
            let right = known.unwrap_or_else(|| check.at_leisure(server));
            let bound = check.bound(server, right);
            drop(guess);
            bound
        });
        self.wait(op, Waiting::Bind(bound));
    }

    /// Ends a bind on a thread that nobody waits for. How long it takes to check a wrong password, and to note it down, is not
    /// to tell who is there.
    pub(super) fn at_leisure(&self, end: impl FnOnce(&Server) -> Bound + Send + 'static) -> Boxed<Bound> {
        let server = self.server.clone();
        Box::pin(async move {
            // How long it had to wait before tells nothing of it.
            let timed = |server: &Server| (Instant::now(), end(server));
            let (began, bound) =
                on_spare_thread(server.clone(), timed).await.unwrap_or_else(|| (Instant::now(), busy().into()));
            if bound.reply.result.code == ResultCode::INVALID_CREDENTIALS {
                wait_for_beat(&server, began).await;
            }
            bound
        })
    }

    /// Ends a bind.
    pub(super) fn bound(&mut self, op: Op, bound: Bound, out: &mut Vec<u8>) {
        self.session.scram = bound.exchange;
        self.session.must_change = bound.must_change;
        if let Some(requester) = bound.requester {
            self.log.bound(op.number, &requester, bound.proven.as_deref());
            self.session.requester = requester;
        }
        self.finish(op, &bound.reply, out);
    }
}

impl Check {
    /// Whether the password is right, if that can be said cheaply.
    fn at_once(&self, costs: &Costs) -> Option<bool> {
        let is_cheap = |stored: &&Vec<u8>| !password::is_costly(stored);
        let all_are_cheap = self.stored.iter().all(|stored| is_cheap(&stored));
        if !all_are_cheap {
            costs.note_costly();
        }
        if self.stored.iter().filter(is_cheap).any(|stored| password::verify(stored, &self.given)) {
            costs.note_cheap();
            return Some(true);
        }
        (all_are_cheap && !costs.all_wait()).then_some(false)
    }

    /// Whether the password is right, whatever that takes. Those that are cheap to check were found wrong.
    fn at_leisure(&self, server: &Server) -> bool {
        server.costs.measured(|| self.is_costly_right(&server.decoy))
    }

    fn is_costly_right(&self, decoy: &[u8]) -> bool {
        let mut costly = self.stored.iter().filter(|stored| password::is_costly(stored)).peekable();
        if costly.peek().is_none() {
            password::verify(decoy, &self.given);
        }
        costly.any(|stored| password::verify(stored, &self.given))
    }

    /// Whether the password is right. To be asked on a thread that nobody waits for.
    pub(super) fn is_right(&self, server: &Server) -> bool {
        self.at_once(&server.costs).unwrap_or_else(|| self.at_leisure(server))
    }

    /// What comes of it, if that can be said at once: of a wrong password only where no policy is in force for anybody, since
    /// what is noted down takes its time, and nobody is to learn from that who is there; of a right one not while others of the
    /// same account are not judged, as these may lock it.
    fn bound_now(&mut self, server: &Server, right: bool) -> Option<Bound> {
        let judgement = match &self.subject {
            _ if !right && server.directory.has_password_policies() => return None,
            None => Ok(Some(Judgement::default())),
            Some(subject) if server.guesses.are_there(&subject.normalized) => return None,
            Some(subject) => server.directory.judge_now(subject, right),
        };
        match judgement {
            Ok(judgement) => {
                let judgement = judgement?;
                let subject = self.subject.take();
                Some(concluded(subject.as_ref(), right, self.wanted(), judgement))
            }
            Err(failure) => Some(hidden(failure).into()),
        }
    }

    fn bound(mut self, server: &Server, right: bool) -> Bound {
        let subject = self.subject.take();
        conclude(server, subject.as_ref(), right, self.wanted())
    }

    /// What the bind comes to if all is well.
    fn wanted(&mut self) -> Bound {
        Bound { requester: Some(self.requester.clone()), proven: self.proven.take(), ..Bound::default() }
    }
}

/// What comes of a password that was found right or wrong, by what its policy says; that is noted down. `bound`: what
/// the bind comes to if all is well.
pub(super) fn conclude(server: &Server, subject: Option<&Name>, right: bool, bound: Bound) -> Bound {
    let judgement = subject.map_or_else(|| Ok(Judgement::default()), |subject| server.directory.judge(subject, right));
    match judgement {
        Ok(judgement) => concluded(subject, right, bound, judgement),
        Err(failure) => hidden(failure).into(),
    }
}

fn concluded(subject: Option<&Name>, right: bool, bound: Bound, judgement: Judgement) -> Bound {
    let notice = judgement.notice;
    if !right || bound.requester.is_none() || judgement.is_refused {
        return Reply { notice, ..invalid_credentials() }.into();
    }
    let must_change = subject.filter(|_| notice.error == Some(PasswordError::ChangeAfterReset)).cloned();
    Bound { reply: Reply { notice, ..bound.reply }, must_change, ..bound }
}

/// Waits until a wrong password is answered that began to be checked then.
pub(super) async fn wait_for_beat(server: &Server, began: Instant) {
    let of_policies = if server.directory.has_password_policies() { BEAT } else { Duration::ZERO };
    let beat = server.costs.beat().max(of_policies);
    if let Some(over) = began.elapsed().as_nanos().checked_rem(beat.as_nanos()) {
        tokio::time::sleep(beat.saturating_sub(Duration::from_nanos(over.try_into().unwrap_or(0)))).await;
    }
}

/// Runs costly work on a thread of its own, as soon as there is a permit. `None` if it could not be run.
pub(super) async fn on_spare_thread<T: Send + 'static>(
    server: Arc<Server>,
    work: impl FnOnce(&Server) -> T + Send + 'static,
) -> Option<T> {
    let permit = server.checks().acquire_owned().await.ok()?;
    let run = move || {
        let result = work(&server);
        drop(permit);
        result
    };
    let begun = aside::begin("password", run);
    begun.inspect_err(|error| tracing::warn!("a password is not checked: no thread for it: {error}")).ok()?.await.ok()
}

/// What a wrong password is told, and a name that is not there.
pub(super) fn invalid_credentials() -> Reply {
    Reply::code(ResultCode::INVALID_CREDENTIALS)
}

/// What cannot be carried out for a reason that is the server's.
pub(super) fn busy() -> Reply {
    Reply::new(ResultCode::BUSY, "the server could not carry this out now; try again later")
}

pub(super) fn not_supported(diagnostic: &str) -> Reply {
    Reply::new(ResultCode::AUTH_METHOD_NOT_SUPPORTED, diagnostic)
}

/// A failure of a bind without what it tells of the directory's entries.
pub(super) fn hidden(failure: Failure) -> Reply {
    match failure.code {
        ResultCode::NO_SUCH_OBJECT | ResultCode::INSUFFICIENT_ACCESS_RIGHTS | ResultCode::NO_SUCH_ATTRIBUTE => {
            invalid_credentials()
        }
        _ => failure.into(),
    }
}

fn only_version_3(version: u32) -> Reply {
    Reply::new(ResultCode::PROTOCOL_ERROR, format!("LDAP version {version} is not spoken here; use version 3"))
}

impl From<Reply> for Bound {
    fn from(reply: Reply) -> Bound {
        Bound { reply, ..Bound::default() }
    }
}

impl From<Reply> for Binding {
    fn from(reply: Reply) -> Binding {
        Binding::Now(reply.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use duramen_directory::Peer;
    use duramen_directory::password::{Scheme, hash};

    use super::*;

    fn check(stored: &[Scheme], given: &str) -> Check {
        Check {
            stored: stored.iter().map(|&scheme| hash(scheme, b"right").unwrap()).collect(),
            given: given.into(),
            subject: None,
            requester: Requester::anonymous(Arc::new(Peer::Internal), 0),
            proven: None,
        }
    }

    #[test]
    fn wrong_passwords_are_answered_alike_whoever_they_are_for_rfc4513_6_3_1() {
        let (cheap, costly) = ([Scheme::Clear], [Scheme::Argon2]);
        let costs = Costs::default();
        let wrong = |stored: &[Scheme]| check(stored, "wrong").at_once(&costs);
        // As long as nothing is known.
        assert_eq!((wrong(&[]), wrong(&cheap)), (None, None));
        // All passwords are cheap.
        assert_eq!(check(&cheap, "right").at_once(&costs), Some(true));
        assert_eq!((wrong(&[]), wrong(&cheap)), (Some(false), Some(false)));
        // One is not.
        assert_eq!(wrong(&costly), None);
        assert_eq!((wrong(&[]), wrong(&cheap)), (None, None));
        assert_eq!(check(&cheap, "right").at_once(&costs), Some(true));
        assert_eq!((wrong(&[]), wrong(&cheap)), (None, None), "for good");
    }

    #[test]
    fn what_is_checked_at_leisure_is_right_or_wrong() {
        let decoy = hash(Scheme::Argon2, b"right").unwrap();
        let stored = [Scheme::Clear, Scheme::Argon2];
        assert!(check(&stored, "right").is_costly_right(&decoy));
        assert!(!check(&stored, "wrong").is_costly_right(&decoy));
        assert!(!check(&[], "right").is_costly_right(&decoy), "the decoy is nobody's password");
        assert!(!check(&[Scheme::Clear], "wrong").is_costly_right(&decoy));
    }
}
