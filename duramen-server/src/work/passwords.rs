//! What password policies ask of a session, and passwords that come with an add or a modify.

use std::sync::Arc;

use duramen_directory::{Failure, Name, Proof, Requester};
use duramen_ldap::control::{PasswordError, PasswordPolicyResponse};
use duramen_ldap::message::{Message, ModifyRequest, Request, ResultCode};
use duramen_ldap::oid;

use super::bind::{busy, on_spare_thread};
use super::{Controls, Op, Waiting, Work};
use crate::reply::Reply;
use crate::server::Server;

/// Whether a request is one with whose answer a policy may have something to say, and the client wants to know that.
pub(super) fn asks_policy(request: &Request<'_>, controls: Controls<'_>) -> bool {
    let may_be = match request {
        Request::Bind(_) | Request::Add(_) | Request::Modify(_) => true,
        Request::Extended(extended) => extended.name == oid::extended::PASSWORD_MODIFY,
        _ => false,
    };
    may_be && controls.iter().any(|control| control.oid == oid::control::PASSWORD_POLICY)
}

impl Work {
    /// Whether the password is to be changed before this is done (draft-behera-ldap-password-policy-10 section 8.1.2.2): what
    /// is answered then.
    pub(super) fn must_change_first(&mut self, request: &Request<'_>) -> Option<Reply> {
        let whose = self.session.must_change.clone()?;
        let goes_on = match request {
            Request::Bind(_) | Request::Unbind | Request::Abandon(_) | Request::Extended(_) => true,
            Request::Modify(modify) => self.is_password_of(&whose, modify),
            _ => false,
        };
        if goes_on {
            return None;
        }
        match self.server.directory.must_change_password(&whose) {
            Ok(false) => {
                self.session.must_change = None;
                None
            }
            Ok(true) => {
                let text = "somebody else has set the password: before anything else is done it is to be changed";
                let notice = PasswordPolicyResponse { warning: None, error: Some(PasswordError::ChangeAfterReset) };
                Some(Reply { notice, ..Reply::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text) })
            }
            Err(failure) => Some(failure.into()),
        }
    }

    /// Whether nothing but somebody's password is to be changed.
    fn is_password_of(&self, whose: &Name, modify: &ModifyRequest<'_>) -> bool {
        let is_theirs = self.server.directory.name(modify.name).is_ok_and(|name| name.normalized == whose.normalized);
        let mut types = modify.changes.iter().map(|change| change.attribute.description);
        is_theirs && types.all(|name| is_password(&self.server, name))
    }

    /// Carries out an update of passwords, which are judged, and hashed, on a thread that nobody waits for.
    pub(super) fn update_passwords(&mut self, op: Op, request: &Request<'_>, controls: Controls<'_>) {
        let (server, requester) = (self.server.clone(), self.session.requester.clone());
        let mut message = Vec::with_capacity(op.bytes);
        Message { id: op.id, operation: *request, controls }.encode(&mut message);
        let future = async move {
            match changed(server, requester, message).await {
                Ok(reply) => reply,
                Err(failure) => failure.into(),
            }
        };
        self.wait(op, Waiting::Other(Box::pin(future)));
    }
}

fn is_password(server: &Server, name: &str) -> bool {
    let schema = server.directory.schema();
    schema.find(name).is_some_and(|found| found.id == schema.known().user_password)
}

/// Whether an update is of passwords that policies may have something to say to, or that are to be hashed.
pub(super) fn is_of_passwords(server: &Server, request: &Request<'_>) -> bool {
    let directory = &server.directory;
    let is_judged = match request {
        Request::Modify(modify) => {
            directory.has_password_policies()
                && modify.changes.iter().any(|change| is_password(server, change.attribute.description))
        }
        _ => false,
    };
    is_judged || server.settings().hash_passwords && directory.names_clear_password(request)
}

/// Whether what was sent as the old password is none.
fn is_wrong_old(failure: &Failure) -> bool {
    (failure.code, failure.policy) == (ResultCode::UNWILLING_TO_PERFORM, Some(PasswordError::MustSupplyOld))
}

async fn changed(server: Arc<Server>, requester: Requester, message: Vec<u8>) -> Result<Reply, Failure> {
    let proof = proven(&server, &requester, message.clone()).await?;
    let message = Message::<Request<'_>>::decode_again(&message)?;
    let updated = server.directory.update_proven(&requester, &message.operation, message.controls, proof).await;
    if let Err(failure) = &updated {
        note_wrong_old(server, requester, failure).await?;
    }
    Ok(Reply { controls: updated?.controls, ..Reply::default() })
}

/// What is found out about the passwords of an update, on a thread that nobody waits for.
pub(super) async fn proven(server: &Arc<Server>, requester: &Requester, message: Vec<u8>) -> Result<Proof, Failure> {
    let settings = server.settings();
    let scheme = settings.hash_passwords.then_some(settings.password_scheme);
    let requester = requester.clone();
    let proof = on_spare_thread(server.clone(), move |server| {
        let message = Message::<Request<'_>>::decode_again(&message)?;
        server.directory.prove(&requester, &message.operation, scheme)
    });
    proof.await.unwrap_or_else(|| Err(busy().result))
}

/// Nobody is to find out by an update what would lock the door by which one binds.
pub(super) async fn note_wrong_old(
    server: Arc<Server>,
    requester: Requester,
    failure: &Failure,
) -> Result<(), Failure> {
    if is_wrong_old(failure) {
        on_spare_thread(server, move |server| server.directory.judge(&requester.name, false)).await.transpose()?;
    }
    Ok(())
}
