//! Transactions (RFC 5805): updates that are kept until their client has all of them made, or none.
//!
//! Owns: what is kept, and for how long. Must not know: how updates are made together.
//!
//! A connection has one at a time, as with slapd. Nothing of an update is looked into before the end: what it comes to depends
//! on those before it.

use std::sync::Arc;

use duramen_directory::{Failure, NotMade, PreparedUpdate, Requester, Updated};
use duramen_ldap::ber::List;
use duramen_ldap::extended::{TransactionEndRequest, TransactionEndResponse, UpdateControls};
use duramen_ldap::message::{Control, ExtendedRequest, Message, MessageId, Request, ResultCode};
use duramen_ldap::{Payload, oid};

use super::passwords::{is_of_passwords, note_wrong_old, proven};
use super::{Controls, OTHERS_BYTES, Op, Waiting, Work};
use crate::reply::Reply;
use crate::server::Server;

/// What slapd answers to an identifier that is of no transaction; the RFC says no more than that it is no success.
const IDENTIFIER_INVALID: ResultCode = ResultCode(0x4121);

/// A transaction that has not come to its end.
pub struct Transaction {
    identifier: String,
    requester: Requester,
    /// As messages.
    updates: Vec<(MessageId, Vec<u8>)>,
    bytes: usize,
}

impl Work {
    pub(super) fn start_transaction(&mut self, op: Op, request: &ExtendedRequest<'_>, who: Requester) -> Reply {
        if request.value.is_some() {
            return Reply::new(
                ResultCode::PROTOCOL_ERROR,
                "the start of a transaction has no value (RFC 5805 section 2.1)",
            );
        }
        if who.is_anonymous() {
            return Reply::new(ResultCode::STRONGER_AUTH_REQUIRED, "who changes something has to be bound");
        }
        if self.transaction.is_some() {
            return Reply::new(ResultCode::BUSY, "a connection has one transaction at a time: end the other one first");
        }
        // No other operation of the connection has this number.
        let identifier = op.number.to_string();
        let value = Some(identifier.clone().into_bytes());
        self.transaction = Some(Transaction { identifier, requester: who, updates: Vec::new(), bytes: 0 });
        Reply { value, ..Reply::default() }
    }

    /// Keeps an update that belongs to a transaction: the answer to it. `None` if it belongs to none.
    pub(super) fn put_off(&mut self, op: Op, request: &Request<'_>, controls: Controls<'_>) -> Option<Reply> {
        let is_update =
            matches!(request, Request::Add(_) | Request::Delete(_) | Request::Modify(_) | Request::ModifyDn(_));
        let control = controls.iter().find(|control| is_update && control.oid == oid::control::TRANSACTION)?;
        Some(self.keep(op, request, controls, control).err().map_or_else(Reply::default, Reply::from))
    }

    fn keep(
        &mut self,
        op: Op,
        request: &Request<'_>,
        controls: Controls<'_>,
        control: Control<'_>,
    ) -> Result<(), Failure> {
        let refuse = |code, diagnostic: &str| Err(Failure::new(code, diagnostic));
        if !control.critical {
            let text = "the control of a transaction has to be critical (RFC 5805 section 2.2)";
            return refuse(ResultCode::PROTOCOL_ERROR, text);
        }
        let are_there = |oid| controls.iter().filter(move |control| control.oid == oid).count();
        if are_there(oid::control::TRANSACTION) > 1 {
            return refuse(ResultCode::PROTOCOL_ERROR, "an update belongs to one transaction");
        }
        if are_there(oid::control::PROXIED_AUTHORIZATION) > 0 {
            let text = "a transaction is started for somebody else, and not its updates made so (RFC 5805 section 4.4)";
            return refuse(ResultCode::PROTOCOL_ERROR, text);
        }
        let Some(transaction) = &mut self.transaction else { return Err(invalid()) };
        if control.value != Some(transaction.identifier.as_bytes()) {
            return Err(invalid());
        }
        if transaction.bytes + op.bytes > OTHERS_BYTES {
            let text = format!("the updates of a transaction take {} MiB at most", OTHERS_BYTES >> 20);
            return refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, &text);
        }
        let (mut memory, mut message) = (Vec::new(), Vec::with_capacity(op.bytes));
        let others = controls.iter().filter(|control| control.oid != oid::control::TRANSACTION);
        Message { id: op.id, operation: *request, controls: List::build(&mut memory, others) }.encode(&mut message);
        transaction.bytes += op.bytes;
        transaction.updates.push((op.id, message));
        Ok(())
    }

    /// Ends a transaction; the answer, if it is known at once.
    pub(super) fn end_transaction(&mut self, op: Op, request: &ExtendedRequest<'_>) -> Option<Reply> {
        let end = match TransactionEndRequest::decode(request.value.unwrap_or_default()) {
            Ok(end) => end,
            Err(error) => return Some(Failure::from(error).into()),
        };
        let is_meant = |transaction: &mut Transaction| transaction.identifier.as_bytes() == end.identifier;
        let Some(transaction) = self.transaction.take_if(is_meant) else { return Some(invalid().into()) };
        if end.commit {
            self.wait(op, Waiting::Other(Box::pin(commit(self.server.clone(), transaction))));
            return None;
        }
        Some(Reply::default())
    }
}

fn invalid() -> Failure {
    Failure::new(IDENTIFIER_INVALID, "this connection has no transaction with this identifier")
}

async fn commit(server: Arc<Server>, transaction: Transaction) -> Reply {
    let Transaction { requester, updates, .. } = transaction;
    let mut prepared = Vec::with_capacity(updates.len());
    for (id, message) in &updates {
        match prepare(&server, &requester, message).await {
            Ok(update) => prepared.push(update),
            Err(failure) => return failed(Some(*id), failure),
        }
    }
    match server.directory.update_together(prepared).await {
        Ok(made) => done(updates.iter().map(|(id, _)| *id).zip(&made)),
        Err(NotMade { which, failure }) => {
            let noted = note_wrong_old(server, requester, &failure).await;
            failed(which.map(|which| updates[which].0), noted.err().unwrap_or(failure))
        }
    }
}

async fn prepare(server: &Arc<Server>, requester: &Requester, message: &[u8]) -> Result<PreparedUpdate, Failure> {
    let is_of_passwords = is_of_passwords(server, &Message::<Request<'_>>::decode_again(message)?.operation);
    let proof = if is_of_passwords { proven(server, requester, message.to_vec()).await? } else { Default::default() };
    let message = Message::<Request<'_>>::decode_again(message)?;
    server.directory.prepare_update(requester, &message.operation, message.controls, proof)
}

/// The answer where all were made.
fn done<'u>(updates: impl Iterator<Item = (MessageId, &'u Updated)>) -> Reply {
    let mut memory = Vec::new();
    let with_controls = updates.filter(|(_, updated)| !updated.controls.is_empty());
    let controls = with_controls.map(|(id, updated)| UpdateControls { id, controls: List::trusted(&updated.controls) });
    answer(Failure::default(), TransactionEndResponse { failed: None, controls: List::build(&mut memory, controls) })
}

/// The answer where none was made, and which of them is the reason.
fn failed(id: Option<MessageId>, failure: Failure) -> Reply {
    answer(failure, TransactionEndResponse { failed: id, ..Default::default() })
}

fn answer(result: Failure, response: TransactionEndResponse<'_>) -> Reply {
    let mut value = Vec::new();
    response.encode(&mut value);
    let says_nothing = response == TransactionEndResponse::default();
    Reply { value: (!says_nothing).then_some(value), ..Reply::from(result) }
}
