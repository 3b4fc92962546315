//! Changing entries.
//!
//! Owns: the way of an update: request, decision, batch, commit. An update is decided before the first table is
//! touched; what fails for a reason of the client's leaves nothing behind. Those of many threads share a commit.

mod add;
mod audited;
mod batch;
mod brief;
mod change;
pub(crate) mod check;
mod constraints;
mod context;
mod delete;
mod draft;
mod identifier;
mod listed;
mod modify;
pub(crate) mod naming;
mod passwords;
mod references;
mod rename;
mod shape;
pub(crate) mod spelling;
pub(crate) mod structure;
mod together;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use duramen::{Error, Submitted, Txnid, WriteTxn};
use duramen_ldap::ber::List;
use duramen_ldap::dn::Dn;
use duramen_ldap::message::{AddRequest, Control, Message, ModifyDnRequest, ModifyRequest, Request, ResultCode};

use crate::attribute::form;
use crate::clock::Moment;
use crate::controls::{Controls, Of};
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::history;
use crate::index::{Extractor, KeySet, MERGED_FROM, merge};
use crate::inner::Inner;
use crate::large;
use crate::membership;
use crate::meta;
use crate::names::{self, Naming};
use crate::policy::{Edits, Proof};
use crate::referral;
use crate::requester::Requester;
use crate::state::State as DirectoryState;
use crate::tables::{Id, Ids, Tables};
use crate::view::{Members, Scene};

use brief::BRIEF_BYTES;
use context::{Context, nobody};
use references::Moved;

pub(crate) use add::{Place, operational};
pub(crate) use batch::Batch;
pub(crate) use draft::{Draft, LargeDraft};
pub use together::{NotMade, PreparedUpdate, TogetherFuture};

pub(crate) use identifier::{identifier_of, identifiers_are_indexed, is_identifier_of_another, same_identifier};

/// Most requests are shorter.
const USUAL_BYTES: usize = 512;
/// One that is longer may be too long for the engine's log, and then the whole data file is flushed.
const LOGGED_BYTES: usize = 4 << 10;

/// An update that was made.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Controls of the response, encoded as [`List::encoded`] has them.
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
    Submitted(Submitted<Result<Made>>, Arc<Inner>),
}

/// An update in a transaction that has yet to be committed.
struct Made {
    updated: Updated,
    /// The transaction, if it changes names.
    renames: Option<Txnid>,
}

impl Made {
    /// Once it is committed.
    fn done(self, inner: &Inner) -> Updated {
        self.renames.into_iter().for_each(|commit| inner.changes.confirm(commit));
        inner.watchers.wake();
        self.updated
    }
}

impl Future for UpdateFuture {
    type Output = Result<Updated>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Result<Updated>> {
        match &mut self.0 {
            State::Refused(failure) => Poll::Ready(Err(failure.take().unwrap_or_default())),
            State::Submitted(submitted, inner) => Pin::new(submitted)
                .poll(context)
                .map(|done| done.map_err(Failure::from).flatten().map(|made| made.done(inner))),
        }
    }
}

/// A request that outlives the message it came in.
struct Owned {
    inner: Arc<Inner>,
    requester: Requester,
    message: Vec<u8>,
    proof: Proof,
}

impl Inner {
    fn own(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
        proof: Proof,
    ) -> Result<Owned> {
        if self.is_read_only() {
            return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, "the directory is open for reading only"));
        }
        let mut message = Vec::with_capacity(USUAL_BYTES);
        Message { id: 1, operation: *request, controls }.encode(&mut message);
        // What else is wrong with it is looked for while other updates wait, so not in what is long and comes to nothing.
        if requester.is_anonymous() && message.len() > BRIEF_BYTES {
            return Err(nobody());
        }
        Ok(Owned { inner: self.clone(), requester: requester.clone(), message, proof })
    }

    /// Has waiting trigrams merged, in a change of its own, once there are many records. If that fails, as on a full disk,
    /// it is tried again when there are as many more: updates that make room are not to fail with it each time.
    pub(crate) fn merge_when_due(&self, records: u64) {
        let due = self.merge_due.load(Ordering::Relaxed);
        if records < MERGED_FROM {
            self.merge_due.store(MERGED_FROM, Ordering::Relaxed);
        } else if records >= due {
            self.merge_due.store(records + MERGED_FROM, Ordering::Relaxed);
            drop(self.db.submit_async(|txn| {
                let ids = Ids::open(txn)?;
                merge(txn, ids).inspect_err(|error| tracing::error!(%error, "waiting trigrams could not be merged"))
            }));
        }
    }

    pub(crate) fn update(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
    ) -> Result<Updated> {
        let proof = self.prove(requester, request, None)?;
        let owned = self.own(requester, request, controls, proof)?;
        let made = self.db.submit(move |txn| owned.run(txn))??;
        Ok(made.done(self))
    }

    pub(crate) fn update_async(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
        patience: Duration,
        proof: Proof,
    ) -> UpdateFuture {
        match self.own(requester, request, controls, proof) {
            Ok(owned) => {
                let brief = self.is_brief(request, controls, owned.message.len());
                let patience = if owned.message.len() <= LOGGED_BYTES { patience } else { Duration::ZERO };
                let run = move |txn: &mut WriteTxn<'_>| owned.run(txn);
                let submitted = if brief { self.db.submit_brief(patience, run) } else { self.db.submit_async(run) };
                UpdateFuture(State::Submitted(submitted, self.clone()))
            }
            Err(failure) => UpdateFuture(State::Refused(Some(failure))),
        }
    }
}

/// An update before it is made.
struct Decided {
    batch: Batch,
    /// Controls of the response, encoded.
    controls: Vec<u8>,
    /// The entry that they are to show as it is afterwards.
    after: Option<Id>,
    moved: Moved,
}

/// What changes of an entry of which the directory itself notes something down.
pub(crate) fn note(
    state: &DirectoryState,
    (txn, ids): (&WriteTxn<'_>, Ids),
    now: Moment,
    id: Id,
    edits: &Edits,
) -> Result<Batch> {
    let (requester, tables) = (Requester::internal(), Tables::Txn(txn, ids));
    let plan = state.rules.plan(&requester, &Members::new(state, tables, None));
    let context = Context {
        scene: Scene { state, tables, naming: None, plan: &plan, more: None },
        requester: &requester,
        asked_by: &requester,
        controls: &Controls::default(),
        now,
        number: Cell::new(number(state, tables, now)?),
        proof: &Proof::default(),
        response: RefCell::default(),
        after: Cell::default(),
    };
    modify::note(&context, id, edits)
}

/// The number of the next change.
fn number(state: &DirectoryState, tables: Tables<'_>, now: Moment) -> Result<Moment> {
    match (state.history, state.member) {
        (0, _) => Ok(now),
        (_, None) => Ok(history::next(&tables.history()?, now)?),
        (_, Some(_)) => Ok(membership::number_behind(history::last(&tables.history()?)?, now)),
    }
}

/// Where only damage can be the reason for which an update that was decided cannot be ended; it is taken back.
fn damaged() -> Error {
    Error::Usage { what: "an entry is damaged: run `duramen directory check`" }
}

/// Writes what was decided; says which transaction this is, if names change.
pub(crate) fn write(
    inner: &Inner,
    (txn, ids): (&mut WriteTxn<'_>, Ids),
    batch: Batch,
) -> duramen::Result<Option<Txnid>> {
    let placed = batch.placed();
    if placed.is_empty() {
        return batch.apply(txn, ids).map(|()| None);
    }
    let before = txn.view(ids.name)?.changed_in()?;
    batch.apply(txn, ids)?;
    inner.changes.note(before, txn.txnid(), &placed);
    Ok(Some(txn.txnid()))
}

impl Owned {
    fn run(&self, txn: &mut WriteTxn<'_>) -> duramen::Result<Result<Made>> {
        let ids = Ids::open(txn)?;
        if let Err(failure) = self.inner.audit.catch_up() {
            return Ok(Err(failure));
        }
        // If the import fails all goes again, and what was added to it, too.
        if meta::is_importing(txn)? {
            return Ok(Err(Failure::new(ResultCode::BUSY, meta::IMPORTING)));
        }
        let Decided { batch, mut controls, after, moved } = match self.decide(txn, ids) {
            Ok(decided) => decided,
            Err(failure) => return Ok(Err(failure)),
        };
        let renames = write(&self.inner, (txn, ids), batch)?;
        if !moved.is_empty() {
            let followed = self.within(txn, ids, |context, _| moved.followed(context)).map_err(|_| damaged())?;
            followed.into_iter().try_for_each(|batch| batch.apply(txn, ids))?;
        }
        self.inner.merge_when_due(txn.view(ids.waiting)?.len());
        if let Some(id) = after {
            let read = self.within(txn, ids, |context, _| context.read_after(id));
            controls.extend(read.map_err(|_| damaged())?);
        }
        Ok(Ok(Made { updated: Updated { controls }, renames }))
    }

    /// What the update does.
    fn decide(&self, txn: &WriteTxn<'_>, ids: Ids) -> Result<Decided> {
        self.within(txn, ids, |context, request| {
            refuse_made_up(context, request)?;
            refer_copied(context, request)?;
            let batch = match request {
                Request::Add(request) => add::prepare(context, request)?,
                Request::Delete(name) => delete::prepare(context, name)?,
                Request::Modify(request) => modify::prepare(context, request)?,
                Request::ModifyDn(request) => rename::prepare(context, request)?,
                _ => Batch::default(),
            };
            let moved = Moved::of(context, request)?;
            if context.controls.no_op {
                return Err(Failure { code: ResultCode::NO_OPERATION, ..Failure::default() });
            }
            Ok(Decided { batch, controls: context.response.take(), after: context.after.take(), moved })
        })
    }

    /// Does something with the request in the state that the tables have now.
    fn within<T>(
        &self,
        txn: &WriteTxn<'_>,
        ids: Ids,
        act: impl FnOnce(&Context<'_>, &Request<'_>) -> Result<T>,
    ) -> Result<T> {
        let message = Message::<Request<'_>>::decode_again(&self.message)?;
        let of = match message.operation {
            Request::Add(_) => Of::Add,
            Request::Delete(_) => Of::Delete,
            Request::Modify(_) => Of::Modify,
            Request::ModifyDn(_) => Of::ModifyDn,
            _ => return Err(Failure::new(ResultCode::PROTOCOL_ERROR, "this operation is no update")),
        };
        let controls = Controls::parse(message.controls, of)?;
        let state = self.inner.state_in(txn, ids)?;
        if let Some(why) = self.inner.why_no_updates(&state) {
            return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, why));
        }
        let proxied = self.inner.proxied(&state, &self.requester, &controls)?;
        let requester = proxied.as_ref().unwrap_or(&self.requester);
        let tables = Tables::Txn(txn, ids);
        let naming = Naming::within(self.inner.number, &state.schema, txn, ids)?;
        let plan = state.rules.plan(requester, &Members::new(&state, tables, naming));
        let now = self.inner.clock.now();
        let context = Context {
            scene: Scene { state: &state, tables, naming, plan: &plan, more: None },
            requester,
            asked_by: &self.requester,
            controls: &controls,
            now,
            number: Cell::new(number(&state, tables, now)?),
            proof: &self.proof,
            response: RefCell::default(),
            after: Cell::default(),
        };
        act(&context, &message.operation)
    }
}

/// What is no entry of the directory's, and an entry to be changed in other servers: why it is not here.
const MADE_UP: [(&str, &str); 3] = [
    ("cn=config", "the configuration is a file, and schema comes from files that it names (`schema` of `[directory]`)"),
    ("cn=subschema", "the schema comes from files that the configuration names (`schema` of `[directory]`)"),
    ("cn=monitor", "it shows what the server counts"),
];

/// Whether a name is that of the root DSE, which has no RDN.
fn is_root(name: &str) -> bool {
    name.trim_end().is_empty() && Dn::parse(name).is_ok_and(|name| name.rdn().is_none())
}

fn refuse_made_up(context: &Context<'_>, request: &Request<'_>) -> Result<()> {
    let name = match request {
        Request::Add(AddRequest { name, .. })
        | Request::Delete(name)
        | Request::Modify(ModifyRequest { name, .. })
        | Request::ModifyDn(ModifyDnRequest { name, .. }) => *name,
        _ => return Ok(()),
    };
    if is_root(name) && !matches!(request, Request::Add(_)) {
        let text = "the root DSE cannot be changed: it shows what the server can do (RFC 4512 section 5.1)";
        return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text));
    }
    // Of most names the last bytes tell.
    let ends_in = |made_up: &str| {
        let (name, made_up) = (name.trim_end().as_bytes(), made_up.as_bytes());
        name.len() >= made_up.len() && name[name.len() - made_up.len()..].eq_ignore_ascii_case(made_up)
    };
    let Some((made_up, why)) = MADE_UP.iter().find(|(made_up, _)| ends_in(made_up)) else { return Ok(()) };
    let top = Dn::parse(name).ok().and_then(|name| name.rdns().next_back());
    if !top.is_some_and(|top| top.as_str().eq_ignore_ascii_case(made_up)) {
        return Ok(());
    }
    // Of what other servers have there the schema need not know the types.
    let is_below = |name: String| names::suffix_of(&context.scene.state.suffixes, &name).is_some();
    if names::normalize(context.schema(), name).is_ok_and(is_below) {
        return Ok(());
    }
    let text = format!("{name:?} cannot be changed: {why}");
    Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text))
}

/// What is a copy of another server's is changed there.
fn refer_copied(context: &Context<'_>, request: &Request<'_>) -> Result<()> {
    let state = context.scene.state;
    if state.copies.is_empty() || state.member.is_some() {
        return Ok(());
    }
    let (name, superior) = match request {
        Request::Add(AddRequest { name, .. }) | Request::Delete(name) | Request::Modify(ModifyRequest { name, .. }) => {
            (*name, None)
        }
        Request::ModifyDn(ModifyDnRequest { name, new_superior, .. }) => (*name, *new_superior),
        _ => return Ok(()),
    };
    // A name that is none is told of as ever.
    let copy_of = |name: &str| state.copy_of(&names::normalize(context.schema(), name).ok()?);
    match copy_of(name).or_else(|| copy_of(superior?)) {
        None => Ok(()),
        Some(copy) if copy.referrals.is_empty() => {
            let text = format!("{name:?} is in a copy of another server's entries: change it there");
            Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text))
        }
        Some(copy) => Err(Failure::referral("", &referral::to_name(&copy.referrals, name))),
    }
}

/// Puts what changes of an entry's values outside into a batch, and their keys to those of before and after.
fn large_changes(
    context: &Context<'_>,
    (id, before): (Id, Option<&Entry<'_>>),
    draft: &Draft<'_>,
    (old, new): (&mut KeySet, &mut KeySet),
    batch: &mut Batch,
) -> Result<()> {
    let schema = context.schema();
    let mut extractor = Extractor::new(schema, &context.scene.state.kept);
    for large in &draft.large {
        let rule = schema.attribute(large.stored.id).equality;
        for (key, change) in &large.changes {
            let keys = if change.value.is_some() { &mut *new } else { &mut *old };
            extractor.normalized(large.stored.id, &change.normalized(schema, rule), &mut |key| keys.insert(key));
            batch.value(key.clone(), change.value.clone());
        }
        // What has gone from under an option may still be outside, where it need not change.
        for value in before.iter().flat_map(|entry| entry.of_type(large.stored.id)).flat_map(|found| found.values()) {
            let normalized = form(schema, rule, value);
            if large.has(&context.scene.tables, &large::key(id, large.stored.id, &normalized))? {
                extractor.normalized(large.stored.id, &normalized, &mut |key| new.insert(key));
            }
        }
    }
    Ok(())
}
