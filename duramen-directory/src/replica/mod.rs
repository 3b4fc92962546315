//! Being a copy of what another server has below a suffix (RFC 4533): what that one tells is made here.
//!
//! Owns: what the copy is as of, which is kept with the entries of the same transaction and never ahead of them; when what was
//! not told of is gone. Must not know: connections, messages.
//!
//! | module | owns |
//! |---|---|
//! | [`phase`] | what a provider tells, as what is to be done |
//! | [`content`] | an entry as it was sent, as it is stored |
//! | [`tree`] | where entries stand, while names are not free and parents not there |
//! | [`writer`] | a transaction: entries, index, what clients with copies of this one are told |
//! | [`shared`] | what a server tells that takes changes together with this one |
//! | [`merge`], [`conflict`] | which of two states of an entry counts then; what cannot all be so |
//! | [`cookie`] | what cookies say of which change that is |
//!
//! Whatever a provider tells again changes nothing. So a copy that was cut off, at any moment, goes on from the last cookie.

mod conflict;
mod content;
mod cookie;
mod merge;
mod phase;
mod shared;
mod tree;
mod writer;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use duramen::WriteTxn;
use duramen_ldap::message::ResultCode;

use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::history::{self, Uuid, uuid_of};
use crate::inner::Inner;
use crate::knowledge::{Knowledge, numbers_of};
use crate::meta;
use crate::names;
use crate::state::State;
use crate::tables::{COPY, Id, Ids, NAME, Tables, read_id, telling_key};
use crate::update::identifiers_are_indexed;

use phase::{Act, End, Phase};
use tree::Unsettled;
use writer::{Made, Numbered, Writer};

pub use phase::Heard;

/// So long at a time is another writer waited for, before it is asked whether to go on.
const TURN: Duration = Duration::from_millis(100);
/// Entries that are taken away in one transaction.
const PRUNED_AT_ONCE: usize = 1000;

/// Whether to go on; asked from time to time.
pub type KeepOn<'k> = &'k dyn Fn() -> bool;

/// Why a copy is not brought further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// Whoever has begun it does not want to go on.
    #[error("stopped")]
    Stopped,
    /// The provider has to be asked again at once, by the cookie that [`Replica::begin`] then gives.
    #[error("{0}")]
    Again(&'static str),
    /// The provider does not know the cookie any more, or not yet; another one may. It can be asked for all
    /// ([`Replica::ask_for_all`]).
    #[error("the provider does not know the last cookie")]
    Unknown,
    /// An entry cannot be taken before something is changed: here or at the provider. Nothing that came with it was.
    #[error("{entry:?} cannot be taken: {failure}")]
    Refused {
        /// Its name.
        entry: String,
        /// What is wrong with it, and what to do.
        failure: Failure,
    },
    /// The provider does not show what a copy could be made of.
    #[error(
        "the provider shows no entry {0:?}: whoever binds there has to be able to read everything, and it has to be there"
    )]
    Empty(String),
    /// The provider has ended the search.
    #[error("the provider has ended it with {code}{}", said(diagnostic))]
    Ended {
        /// How.
        code: ResultCode,
        /// What it says to that.
        diagnostic: String,
    },
    /// Another server has the number that this one has: the configuration of one of them has to be changed.
    #[error("{0}")]
    Twin(String),
    /// The directory cannot be changed now.
    #[error("{0}")]
    Failed(#[from] Failure),
}

fn said(diagnostic: &str) -> String {
    if diagnostic.is_empty() { String::new() } else { format!(": {diagnostic}") }
}

impl From<duramen::Error> for ReplicaError {
    fn from(error: duramen::Error) -> ReplicaError {
        ReplicaError::Failed(error.into())
    }
}

/// What was done to a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries that came, or are others than they were.
    pub put: u64,
    /// Entries that were sent and are as they were.
    pub unchanged: u64,
    /// Entries that went.
    pub deleted: u64,
}

impl Counts {
    fn add(&mut self, more: Counts) {
        self.put += more.put;
        self.unchanged += more.unchanged;
        self.deleted += more.deleted;
    }
}

/// The copy of another server's entries below a suffix, which is brought further by what that one tells.
///
/// [`Replica::begin`] gives the cookie to ask by: a search from the suffix for all entries with all attributes, user and
/// operational ones, ManageDsaIT, and the control of content synchronization. What comes is given to [`Replica::take`], in its
/// order, in any pieces. Only one of a suffix may be at work at a time.
#[derive(Debug)]
pub struct Replica {
    inner: Arc<Inner>,
    /// The suffix, as it is written and normalized.
    text: String,
    normalized: String,
    /// Who is heard.
    provider: String,
    phase: Phase,
    unsettled: Unsettled,
    /// The provider is asked for all, whatever the copy is as of.
    is_from_scratch: bool,
    /// The provider was asked for all.
    asks_for_all: bool,
    /// The provider says that something is there which is not.
    lacks_some: bool,
    /// All stands where it belongs: what the provider tells has come to an end once.
    is_settled: bool,
    /// What the copy is as of; `None` as long as it was never complete.
    as_of: Option<Vec<u8>>,
    /// Which changes the copy has had since before this provider was asked.
    asked: Knowledge,
    /// Which ones the provider has said that it has had, once it has told what there is.
    said: Option<Knowledge>,
    counts: Counts,
    /// Where this server takes changes together with others.
    shared: shared::Shared,
}

impl Replica {
    pub(crate) fn new(inner: Arc<Inner>, suffix: &str) -> Result<Replica> {
        let state = inner.state();
        let normalized = names::normalize(&state.schema, suffix)?;
        let Some(copy) = state.copies.iter().find(|copy| copy.suffix.normalized == normalized) else {
            return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, no_copy(suffix)));
        };
        let text = copy.suffix.text.clone();
        let mut replica = Replica {
            inner,
            text,
            normalized,
            provider: String::new(),
            phase: Phase::default(),
            unsettled: Unsettled::default(),
            is_from_scratch: false,
            asks_for_all: false,
            lacks_some: false,
            is_settled: false,
            as_of: None,
            asked: Knowledge::default(),
            said: None,
            counts: Counts::default(),
            shared: shared::Shared::default(),
        };
        replica.as_of = replica.kept()?;
        replica.shared = replica.shared_at_first()?;
        Ok(replica)
    }

    /// The suffix, as it is written.
    pub fn suffix(&self) -> &str {
        &self.text
    }

    /// Whether all that the provider had has been told, since [`Replica::begin`].
    pub fn is_following(&self) -> bool {
        self.phase.is_following
    }

    /// Whether it was ever complete: then it is what the provider had at some time, or is on its way from there.
    pub fn is_complete(&self) -> bool {
        self.as_of.is_some() && self.shared.is_complete()
    }

    /// The numbers of the changes that the copy is as of, where the provider's cookies tell them.
    pub fn numbers(&self) -> Vec<String> {
        self.as_of.iter().flat_map(|cookie| numbers_of(cookie)).map(str::to_string).collect()
    }

    /// When the newest change was made that the copy has, where the provider's cookies tell that.
    pub fn as_of(&self) -> Option<SystemTime> {
        let moment = cookie::moment_of(self.as_of.as_ref()?)?;
        Some(UNIX_EPOCH + Duration::from_micros(moment.0))
    }

    /// What was done to it so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the copy is as of, as the provider has called it, if that is text.
    pub fn cookie(&self) -> Option<&str> {
        self.as_of.as_ref().and_then(|cookie| std::str::from_utf8(cookie).ok())
    }

    /// Has the next provider asked for all, whatever the copy is as of.
    pub fn ask_for_all(&mut self) {
        self.is_from_scratch = true;
    }

    /// Does what is to be done before anybody is asked: where changes are taken together with others, entries get numbers of this
    /// server, once.
    pub fn prepare(&mut self, keep_on: KeepOn<'_>) -> Result<(), ReplicaError> {
        if let Some(member) = self.inner.state().member {
            self.found(member, keep_on)?;
            (self.as_of, self.shared) = (self.kept()?, self.shared_at_first()?);
        }
        Ok(())
    }

    /// Begins to hear a provider, by whatever name: the cookie to ask it by; an empty one to ask for all.
    pub fn begin(&mut self, provider: &str, keep_on: KeepOn<'_>) -> Result<Vec<u8>, ReplicaError> {
        if !identifiers_are_indexed(&self.inner.state()) {
            tracing::info!("the index of entryUUID is built, by which entries of copies are found");
            self.inner.reindex(&mut |_, _| keep_on())?;
        }
        self.as_of = self.kept()?;
        self.provider = provider.to_string();
        if let Some(member) = self.inner.state().member {
            return self.begin_shared(member, keep_on);
        }
        self.shared = shared::Shared::default();
        self.is_from_scratch |= self.has_lost_its_way()?;
        let cookie = self.as_of.clone().filter(|_| !self.is_from_scratch).unwrap_or_default();
        self.asks_for_all = cookie.is_empty();
        self.asked = Knowledge::of_cookie(&cookie);
        self.said = None;
        self.phase = Phase::new(&cookie);
        self.unsettled = Unsettled::default();
        self.lacks_some = false;
        self.is_settled = false;
        Ok(cookie::to_ask(&cookie))
    }

    /// Brings the copy further by what was heard, which is there once this returns, together with the cookie that stands for
    /// it. Readers go on meanwhile, other writers wait; where very much is gone, they come in between.
    ///
    /// # Errors
    /// Behind any of them nothing more of this conversation can be taken: the next one starts with [`Replica::begin`].
    pub fn take(&mut self, heard: &[Heard<'_>], keep_on: KeepOn<'_>) -> Result<(), ReplicaError> {
        let mut acts = Vec::new();
        let end = heard.iter().find_map(|heard| self.phase.hear(heard, &mut acts));
        if self.shared.is_asked() {
            self.transact_shared(&acts, keep_on)?;
            return self.ended(end);
        }
        self.check_skipped(&acts)?;
        let (mut gone, mut acts) = (Vec::new(), acts.as_slice());
        let prune = |(place, act): (usize, &Act<'_>)| {
            if let Act::Prune(cookie) = act { Some((place, Knowledge::of_cookie(cookie))) } else { None }
        };
        while let Some((place, known)) = acts.iter().enumerate().find_map(prune) {
            self.transact(&gone, &acts[..place], keep_on)?;
            acts = &acts[place + 1..];
            gone = self.absent(&known)?;
            while gone.len() > PRUNED_AT_ONCE {
                let rest = gone.split_off(PRUNED_AT_ONCE);
                self.transact(&gone, &[], keep_on)?;
                gone = rest;
            }
        }
        self.transact(&gone, acts, keep_on)?;
        self.ended(end)
    }

    /// That whatever the copy has got from another provider, and this one has not heard of yet, is still there once it has: it
    /// tells of no entry that came and went before that.
    fn check_skipped(&mut self, acts: &[Act<'_>]) -> Result<(), ReplicaError> {
        if !self.asked.is_of_several() {
            return Ok(());
        }
        for act in acts {
            let Act::AsOf(cookie) = act else { continue };
            let mut now = Knowledge::of_cookie(cookie);
            if let Some(before) = &self.said {
                now.merge(before);
                if now.skips(before, &self.asked, None) {
                    self.is_from_scratch = true;
                    return Err(ReplicaError::Again(
                        "the provider was behind the copy and has heard of several changes at once: it is asked for all",
                    ));
                }
            }
            self.said = Some(now);
        }
        Ok(())
    }

    /// What becomes of it as the provider tells no more, if so.
    fn ended(&self, end: Option<End>) -> Result<(), ReplicaError> {
        match end {
            None => Ok(()),
            Some(End::Unknown) => {
                if self.asks_for_all {
                    let code = ResultCode::SYNC_REFRESH_REQUIRED;
                    return Err(ReplicaError::Ended { code, diagnostic: "though it was asked for all".into() });
                }
                Err(ReplicaError::Unknown)
            }
            Some(End::Ended(ResultCode::SYNC_REFRESH_REQUIRED, _)) => {
                Err(ReplicaError::Again("the provider cannot tell only what has changed any more"))
            }
            Some(End::Ended(ResultCode::NO_SUCH_OBJECT, _)) => Err(ReplicaError::Empty(self.text.clone())),
            Some(End::Ended(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, _)) if self.shared.is_asked() => {
                Err(shared::stranger())
            }
            Some(End::Ended(ResultCode::LOOP_DETECT, diagnostic)) if self.shared.is_asked() => {
                Err(ReplicaError::Twin(format!("{}: {diagnostic}", self.provider)))
            }
            Some(End::Ended(code, diagnostic)) => Err(ReplicaError::Ended { code, diagnostic }),
        }
    }

    /// What the copy is as of, as it is kept.
    fn kept(&self) -> Result<Option<Vec<u8>>> {
        let snapshot = self.inner.db.read()?;
        let Some(table) = Tables::Snapshot(&snapshot).copy()? else { return Ok(None) };
        Ok(table.get(&self.normalized)?.map(<[u8]>::to_vec))
    }

    /// Takes entries away and does more, in one transaction.
    fn transact(&mut self, gone: &[Uuid], acts: &[Act<'_>], keep_on: KeepOn<'_>) -> Result<(), ReplicaError> {
        let reads_only = |act: &Act<'_>| matches!(act, Act::Keep(_));
        if gone.is_empty() && acts.iter().all(reads_only) {
            return Ok(self.keep_all(acts)?);
        }
        let mut txn = self.begin_write(keep_on)?;
        let ids = Ids::open(&mut txn)?;
        if meta::is_importing(&mut txn)? {
            return Err(Failure::new(ResultCode::BUSY, meta::IMPORTING).into());
        }
        let state = self.inner.state_in(&txn, ids)?;
        let base = self.check(&state)?;
        let cookie = self.as_of_behind(acts);
        let (now, as_of) = (self.inner.clock.now(), cookie.as_deref().and_then(cookie::moment_of));
        let numbered = writer::number_of((&mut txn, ids), &state, now, as_of, self.asks_for_all)?;
        let made = self.make((&mut txn, ids), (&state, &base), numbered, (gone, acts))?;
        let cookie = cookie.or_else(|| self.overtakes().then(Vec::new));
        let is_settled = self.is_settled || acts.iter().any(|act| matches!(act, Act::AsOf(_)));
        self.keep_as_of(&mut txn, cookie.as_deref(), is_settled)?;
        self.note_known((&mut txn, ids), &state, (cookie.as_deref(), made.counts), numbered)?;
        txn.commit()?;
        self.is_settled = is_settled;
        made.renames.into_iter().for_each(|commit| self.inner.changes.confirm(commit));
        self.inner.watchers.wake();
        self.counts.add(made.counts);
        self.is_from_scratch &= cookie.as_ref().is_none_or(Vec::is_empty);
        self.as_of = cookie.or(self.as_of.take());
        Ok(())
    }

    /// Writes down what the copy is as of, if that is another, and whether all stands where it belongs: until then nobody is told
    /// who has a copy of this one, as entries may move that have not changed.
    fn keep_as_of(&self, txn: &mut WriteTxn<'_>, cookie: Option<&[u8]>, is_settled: bool) -> Result<()> {
        let mut table = txn.table(COPY)?;
        if let Some(cookie) = cookie {
            table.put(&self.normalized, cookie)?;
        }
        let (key, telling) = (telling_key(&self.normalized), (!is_settled).then_some(self.provider.as_bytes()));
        let known = table.get(&key)?;
        match telling {
            _ if telling == known => {}
            Some(provider) => table.put(key, provider)?,
            None => drop(table.delete(key)?),
        }
        Ok(())
    }

    /// What the copy is as of behind these, if they say so. Where several servers change what is copied, each cookie behind a
    /// refresh says what is known of one of them.
    fn as_of_behind(&self, acts: &[Act<'_>]) -> Option<Vec<u8>> {
        let told = acts.iter().filter_map(|act| if let Act::AsOf(cookie) = act { Some(cookie) } else { None });
        let is_begun_anew = self.asks_for_all && !self.is_settled;
        let before = self.as_of.clone().filter(|_| !is_begun_anew);
        told.fold(None, |behind, told| match behind.as_ref().or(before.as_ref()) {
            Some(before) => Some(cookie::merged(before, told)),
            None => Some(told.clone()),
        })
    }

    /// Notes what is known now, where clients that are told of what is changed here have cookies that say that.
    fn note_known(
        &self,
        (txn, ids): (&mut WriteTxn<'_>, Ids),
        state: &State,
        (cookie, counts): (Option<&[u8]>, Counts),
        numbered: Numbered,
    ) -> Result<()> {
        let (Numbered::By(number) | Numbered::Anew(number), Some(cookie)) = (numbered, cookie) else { return Ok(()) };
        let (before, now) = (self.as_of.as_deref().unwrap_or_default(), Knowledge::of_cookie(cookie));
        let is_news = counts.put + counts.deleted > 0 || Knowledge::of_cookie(before) != now;
        if state.numbers_apart(&now) && is_news {
            history::note_known(txn, ids, number)?;
        }
        Ok(())
    }

    /// Writes it all, but for the cookie.
    fn make(
        &mut self,
        (txn, ids): (&mut WriteTxn<'_>, Ids),
        (state, base): (&State, &names::Suffix),
        numbered: Numbered,
        (gone, acts): (&[Uuid], &[Act<'_>]),
    ) -> Result<Made, ReplicaError> {
        let number = if let Numbered::By(number) = numbered { Some(number) } else { None };
        let mut writer = Writer::new(&self.inner, (txn, ids), state, (base, &mut self.unsettled), number);
        gone.iter().try_for_each(|uuid| writer.delete(uuid))?;
        let goes_on = self.asked.is_of_several();
        let mut is_end = false;
        for act in acts {
            match act {
                Act::Put(entry, uuid) | Act::News(entry, uuid)
                    if goes_on && let Some(is_there) = writer.outdated(entry, *uuid, &self.asked)? =>
                {
                    self.lacks_some |= !is_there;
                }
                Act::Put(entry, uuid) => writer.put(entry, *uuid)?,
                Act::News(entry, uuid) => writer.put_newer(entry, *uuid)?,
                Act::Keep(uuid) => self.lacks_some |= !writer.keep(uuid)?,
                Act::Delete(uuid) => writer.delete(uuid)?,
                // What follows may have other names already.
                Act::AsOf(_) if !writer.settle()? => return Err(self.contradiction()),
                Act::AsOf(_) => is_end = true,
                Act::Prune(_) | Act::Shared(..) | Act::Gone(..) => {}
            }
        }
        let made = writer.finish()?;
        match numbered {
            Numbered::Anew(number) => history::restart(txn, ids, number)?,
            // What came without a cookie belongs to this one.
            Numbered::By(number) if is_end => history::advance(txn, ids, number)?,
            _ => {}
        }
        Ok(made)
    }

    /// Whether what is written overtakes the cookie that is kept: of who is told all, entries move that nobody will tell of
    /// who goes by that one.
    fn overtakes(&self) -> bool {
        self.asks_for_all && self.as_of.as_ref().is_some_and(|kept| !kept.is_empty())
    }

    /// Whether a refresh has broken off of which this provider does not tell the rest: another one was telling, and may have been
    /// ahead of this one, or somebody was to go back where he came from, and nobody knows of that any more.
    fn has_lost_its_way(&self) -> Result<bool> {
        let snapshot = self.inner.db.read()?;
        let telling = Tables::Snapshot(&snapshot).telling(&self.normalized)?;
        if telling.is_some_and(|telling| telling != self.provider.as_bytes()) {
            return Ok(true);
        }
        let (state, names) = (self.inner.state_of(&snapshot)?, snapshot.table(NAME)?);
        match names::find_entry(&names, &state.suffixes, &self.normalized)? {
            Some(base) => tree::has_aside(&names, base),
            None => Ok(false),
        }
    }

    /// What was told cannot all be so.
    fn contradiction(&mut self) -> ReplicaError {
        self.is_from_scratch = true;
        if self.asks_for_all {
            let text = "the provider tells of entries with one name, or of one that is below itself";
            return Failure::new(ResultCode::OTHER, text).into();
        }
        ReplicaError::Again("the provider has told of too little to find out where entries belong: it is asked for all")
    }

    fn begin_write(&self, keep_on: KeepOn<'_>) -> Result<WriteTxn<'static>, ReplicaError> {
        while keep_on() {
            match self.inner.db.begin_write_within(TURN) {
                Err(duramen::Error::Busy) => {}
                begun => return Ok(begun?),
            }
        }
        Err(ReplicaError::Stopped)
    }

    /// That the directory is what the copy was begun in; the suffix.
    fn check(&self, state: &State) -> Result<names::Suffix, ReplicaError> {
        if let Some(why) = self.inner.why_no_updates(state) {
            return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, why).into());
        }
        if !identifiers_are_indexed(state) {
            return Err(ReplicaError::Again("another program has taken the index of entryUUID away"));
        }
        let copy = state.copies.iter().find(|copy| copy.suffix.normalized == self.normalized);
        let refuse = || Failure::new(ResultCode::UNWILLING_TO_PERFORM, no_copy(&self.text));
        Ok(copy.map(|copy| copy.suffix.clone()).ok_or_else(refuse)?)
    }

    /// Takes note of entries that are as they were.
    fn keep_all(&mut self, acts: &[Act<'_>]) -> Result<()> {
        if acts.is_empty() {
            return Ok(());
        }
        let snapshot = self.inner.db.read()?;
        let (state, tables) = (self.inner.state_of(&snapshot)?, Tables::Snapshot(&snapshot));
        let base = names::Suffix { text: self.text.clone(), normalized: self.normalized.clone() };
        for act in acts {
            let Act::Keep(uuid) = act else { continue };
            let found = writer::find(&state, &tables, &base, uuid)?;
            self.lacks_some |= found.is_none();
            self.unsettled.present.extend(found);
        }
        Ok(())
    }

    /// The entries of the copy that have neither been put nor kept. Where several servers make changes, only those of which the
    /// provider knows: others have not come to it yet.
    fn absent(&mut self, known: &Knowledge) -> Result<Vec<Uuid>, ReplicaError> {
        let snapshot = self.inner.db.read()?;
        let (state, tables) = (self.inner.state_of(&snapshot)?, Tables::Snapshot(&snapshot));
        let base = names::find_entry(&tables.name()?, &state.suffixes, &self.normalized)?;
        // Who sees nothing would have everything deleted here.
        let Some(base) = base.filter(|base| self.unsettled.present.contains(*base)) else {
            return Err(ReplicaError::Empty(self.text.clone()));
        };
        // Who has not heard of all that the copy has may have what is gone.
        let may_know = !self.asked.is_of_several() || known.includes(&self.asked);
        if std::mem::take(&mut self.lacks_some) && may_know {
            if !self.asks_for_all {
                self.is_from_scratch = true;
                return Err(ReplicaError::Again(
                    "the copy lacks entries that the provider says it has: it is asked for all",
                ));
            }
            tracing::warn!(
                "the provider says of entries of {:?} that they are there, and has not sent them",
                self.text
            );
        }
        let number = state.schema.known().entry_csn;
        let is_known = |entry: &Entry<'_>| {
            let number = entry.of_type(number).flat_map(|found| found.values()).next();
            number.is_none_or(|number| known.covers(number))
        };
        let entries = tables.entry()?;
        let (mut absent, is_alone) = (Vec::new(), state.suffixes.len() == 1);
        for item in entries.iter() {
            let (key, bytes) = item?;
            let (Some(id), Some(entry)) = (read_id(key), Entry::parse(bytes)) else {
                return Err(damaged("an entry").into());
            };
            if !self.unsettled.present.contains(id)
                && (!self.asked.is_of_several() || is_known(&entry))
                && let Some(uuid) = uuid_of(&state.schema, &entry)
                && (is_alone || names::is_within(&entries, id, base)?)
            {
                absent.push((id, uuid));
            }
        }
        // What is below mostly came later.
        absent.sort_unstable_by_key(|(id, _): &(Id, Uuid)| std::cmp::Reverse(*id));
        Ok(absent.into_iter().map(|(_, uuid)| uuid).collect())
    }
}

fn no_copy(suffix: &str) -> String {
    format!("{suffix:?} is no copy of another server's entries, by the configuration")
}
