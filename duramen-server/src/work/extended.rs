//! Extended operations: StartTLS (RFC 4511 section 4.14), Who am I? (RFC 4532), password modify (RFC 3062), cancel
//! (RFC 3909), and those of [transactions](super::transaction).

use duramen_directory::{Credentials, Failure, Proof, Requester, password};
use duramen_ldap::Payload;
use duramen_ldap::authz::AuthzId;
use duramen_ldap::extended::{CancelRequest, PasswordModifyRequest, PasswordModifyResponse};
use duramen_ldap::message::{ExtendedRequest, ResultCode};
use duramen_ldap::oid;

use super::bind::{Check, busy, on_spare_thread, wait_for_beat};
use super::{Controls, Op, Taken, Waiting, Work, refuse_critical};
use crate::reply::Reply;
use crate::server::Server;

/// Extended operations, as the root DSE lists them.
pub const OPERATIONS: [&str; 6] = [
    oid::extended::START_TLS,
    oid::extended::PASSWORD_MODIFY,
    oid::extended::WHO_AM_I,
    oid::extended::CANCEL,
    oid::extended::TRANSACTION_START,
    oid::extended::TRANSACTION_END,
];

impl Work {
    pub(super) fn extended(
        &mut self,
        op: Op,
        request: &ExtendedRequest<'_>,
        controls: Controls<'_>,
        out: &mut Vec<u8>,
    ) -> Taken {
        // RFC 4532 section 2, RFC 4370 section 2, RFC 5805 section 4.4: these may be asked for somebody else.
        let acting = match request.name {
            oid::extended::WHO_AM_I | oid::extended::PASSWORD_MODIFY | oid::extended::TRANSACTION_START => {
                self.server.directory.acting(&self.session.requester, controls)
            }
            _ => {
                refuse_critical(controls).map_or_else(|| Ok(self.session.requester.clone()), |reply| Err(reply.result))
            }
        };
        let who = match acting {
            Ok(who) => who,
            Err(refused) => {
                self.finish(op, &refused.into(), out);
                return Taken::Done;
            }
        };
        let reply = match request.name {
            oid::extended::START_TLS => match self.start_tls(request) {
                Ok(reply) => {
                    // Whoever is between could have bound as himself (RFC 4513 section 3.2 leaves what was said before to us).
                    self.log.forgotten(op.number, "AUTHZ", "starttls", &self.session.requester);
                    self.session.forget();
                    self.finish(op, &reply, out);
                    return Taken::StartTls;
                }
                Err(failure) => Some(failure.into()),
            },
            oid::extended::WHO_AM_I => Some(who_am_i(request, &who)),
            oid::extended::PASSWORD_MODIFY => self.password_modify(op, request, who).unwrap_or_else(|f| Some(f.into())),
            oid::extended::CANCEL => Some(self.cancel(request, out)),
            oid::extended::TRANSACTION_START => Some(self.start_transaction(op, request, who)),
            oid::extended::TRANSACTION_END => self.end_transaction(op, request),
            name => {
                let diagnostic = format!("the extended operation {name} is not known here");
                Some(Reply::new(ResultCode::PROTOCOL_ERROR, diagnostic))
            }
        };
        if let Some(reply) = reply {
            self.finish(op, &reply, out);
        }
        Taken::Done
    }

    fn start_tls(&self, request: &ExtendedRequest<'_>) -> Result<Reply, Failure> {
        let refuse = |code, diagnostic: &str| Err(Failure::new(code, diagnostic));
        if request.value.is_some() {
            return refuse(ResultCode::PROTOCOL_ERROR, "StartTLS has no value (RFC 4511 section 4.14.1)");
        }
        if self.session.secured.is_some() {
            return refuse(ResultCode::OPERATIONS_ERROR, "this connection has TLS already");
        }
        if self.server.settings().tls.is_none() {
            let diagnostic = "TLS is not offered: the server's configuration has no certificate";
            return refuse(ResultCode::PROTOCOL_ERROR, diagnostic);
        }
        Ok(Reply { name: Some(oid::extended::START_TLS), ..Reply::default() })
    }

    /// Cancels a search; what it waits for is answered too. Anything else cannot be taken back.
    fn cancel(&mut self, request: &ExtendedRequest<'_>, out: &mut Vec<u8>) -> Reply {
        let id = match CancelRequest::decode(request.value.unwrap_or_default()) {
            Ok(request) => request.id,
            Err(error) => return Failure::from(error).into(),
        };
        if let Some(at) = self.searches.iter().position(|running| running.op.id == id) {
            if let Some(running) = self.searches.remove(at) {
                self.finish(running.op, &Reply::code(ResultCode::CANCELED), out);
            }
            return Reply::default();
        }
        if self.cancel_listening(id, out) {
            return Reply::default();
        }
        if self.pending.iter().any(|pending| pending.op.id == id) {
            return Reply::new(ResultCode::CANNOT_CANCEL, "only searches can be cancelled; this operation goes on");
        }
        Reply::new(ResultCode::NO_SUCH_OPERATION, format!("no operation with the number {id} is under way"))
    }

    /// Sets a password. Its hash is made on a thread of its own.
    fn password_modify(
        &mut self,
        op: Op,
        request: &ExtendedRequest<'_>,
        requester: Requester,
    ) -> Result<Option<Reply>, Failure> {
        if requester.is_anonymous() {
            let diagnostic = "who changes a password has to be bound";
            return Err(Failure::new(ResultCode::STRONGER_AUTH_REQUIRED, diagnostic));
        }
        let change = match request.value {
            Some(value) => PasswordModifyRequest::decode(value)?,
            None => PasswordModifyRequest::default(),
        };
        let user = self.whose_password(&change, &requester)?;
        let known = match (change.old_password, &user.name) {
            (Some(_), Some(name)) => Some(self.server.directory.credentials(&self.session.anonymous(), name)?),
            (Some(_), None) => Some(Credentials::default()),
            (None, _) => None,
        };
        // Of who is not there, too: the time tells nothing.
        let given = change.old_password.unwrap_or_default().to_vec();
        let old = known.map(|known| Check {
            subject: self.subject(&known),
            stored: known.stored,
            given,
            requester: requester.clone(),
            proven: None,
        });
        let generated = if change.new_password.is_none() { password::scram::nonce() } else { None };
        let new = match (change.new_password, &generated) {
            (Some(new), _) => new.to_vec(),
            (None, Some(generated)) => generated.clone().into_bytes(),
            (None, None) => return Ok(Some(busy())),
        };
        let server = self.server.clone();
        let scheme = self.server.settings().password_scheme;
        let (who, name) = (requester.clone(), user.name.clone());
        let hashed = on_spare_thread(self.server.clone(), move |server| {
            let has_old = old.is_some();
            if let Some(old) = old.filter(|old| !old.is_right(server)) {
                // Nobody is to find out by this door what would lock the other.
                let noted = old.subject.map(|subject| server.directory.judge(&subject, false)).transpose();
                return Err(noted.err().unwrap_or_else(wrong_old_password));
            }
            let prove = |name: &str| server.directory.prove_new(&who, name, &new, has_old);
            let proof = name.as_deref().map(prove).transpose()?.unwrap_or_default();
            Ok((hash(scheme, &new)?, proof))
        });
        let future = async move {
            let (stored, proof) = match hashed.await {
                Some(Ok(hashed)) => hashed,
                Some(Err(failure)) => {
                    wait_for_beat(&server, op.began).await;
                    return failure.into();
                }
                None => return busy(),
            };
            match user.set_password(&server, &requester, &stored, proof).await {
                Ok(()) => Reply { value: generated.map(generated_value), ..Reply::default() },
                Err(failure) => failure.into(),
            }
        };
        self.wait(op, Waiting::Other(Box::pin(future)));
        Ok(None)
    }

    /// Whose password is to be changed.
    fn whose_password(&self, change: &PasswordModifyRequest<'_>, who: &Requester) -> Result<User, Failure> {
        let Some(user) = change.user.filter(|user| !user.is_empty()) else {
            return Ok(User { name: Some(who.name.written.to_string()), id: None });
        };
        let text = std::str::from_utf8(user)
            .map_err(|_| Failure::new(ResultCode::PROTOCOL_ERROR, "userIdentity is not UTF-8"))?;
        if self.server.directory.name(text).is_ok() {
            return Ok(User { name: Some(text.to_string()), id: None });
        }
        Ok(User { name: self.name_of_user("plain", text)?, id: Some(text.to_string()) })
    }
}

/// A user whose password is to be changed.
struct User {
    /// The entry's name; `None` if there is no such entry, or more than one.
    name: Option<String>,
    /// What the user was called, if not by the entry's name.
    id: Option<String>,
}

impl User {
    /// Sets the password. Whoever may not know of the entry is told what is told where there is none, as late.
    async fn set_password(
        self,
        server: &Server,
        requester: &Requester,
        stored: &[u8],
        proof: Proof,
    ) -> Result<(), Failure> {
        let set = match &self.name {
            Some(name) => server.directory.set_password(requester, name, stored, proof).await.map(drop),
            None => Err(Failure::new(ResultCode::NO_SUCH_OBJECT, "")),
        };
        set.map_err(|failure| match self.id {
            Some(user) if failure.code == ResultCode::NO_SUCH_OBJECT => unknown(&user),
            _ => failure,
        })
    }
}

fn unknown(user: &str) -> Failure {
    let diagnostic = format!("no entry, or more than one, belongs to the user {user:?}; give the entry's name");
    Failure::new(ResultCode::NO_SUCH_OBJECT, diagnostic)
}

fn who_am_i(request: &ExtendedRequest<'_>, who: &Requester) -> Reply {
    if request.value.is_some() {
        return Reply::new(ResultCode::PROTOCOL_ERROR, "Who am I? has no value (RFC 4532 section 2.1)");
    }
    let id = if who.name.is_empty() { AuthzId::Anonymous } else { AuthzId::Dn(&who.name.written) };
    Reply { value: Some(id.to_string().into_bytes()), ..Reply::default() }
}

fn hash(scheme: password::Scheme, new: &[u8]) -> Result<Vec<u8>, Failure> {
    password::hash(scheme, new).map_err(|error| Failure::new(ResultCode::UNWILLING_TO_PERFORM, error.to_string()))
}

fn wrong_old_password() -> Failure {
    Failure::new(ResultCode::UNWILLING_TO_PERFORM, "the old password is not right")
}

fn generated_value(generated: String) -> Vec<u8> {
    let mut value = Vec::new();
    PasswordModifyResponse { generated: Some(generated.as_bytes()) }.encode(&mut value);
    value
}
