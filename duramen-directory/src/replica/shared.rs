//! Following a server that takes changes together with this one.
//!
//! Owns: how it is asked, what of a conversation is one transaction, what is known behind it. Must not know: what becomes of an entry.
//!
//! It is asked for what has come into its history behind a number of that, which it has told last; where it does not know that
//! number, or none was heard, for all. So what it tells does not depend on what each of the servers knows, and one that was given
//! back an older state of its data hears again of what it has lost.

use std::time::{Duration, Instant};

use super::merge::{Merge, Waiting};
use super::phase::{Act, Phase};
use super::tree::Unsettled;
use super::writer::{Writer, number_of_sent};
use super::{KeepOn, Replica, ReplicaError};
use crate::clock::Moment;
use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::history;
use crate::knowledge::Knowledge;
use crate::membership::{self, Member, Stage, Twin, cookie_of};
use crate::meta;
use crate::names::{self, Suffix};
use crate::state::State;
use crate::tables::{COPY, ENTRY, Id, Ids, MEMBER, Tables, read_id};
use duramen::WriteTxn;
use duramen_ldap::message::ResultCode;

/// A change that is so much later than the clock was made by a clock that is wrong, or this one is.
const AHEAD_MAX: Duration = Duration::from_secs(3600);
/// So often at most it is written down how far another server was heard, where nothing else is to be written.
const POSITION_EACH: Duration = Duration::from_secs(10);

/// How it is with a server that takes changes together with this one.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// This server, if one was asked as such.
    member: Option<Member>,
    stage: Option<Stage>,
    waiting: Waiting,
    /// How far it has been heard, and since when that is not written down.
    position: Option<(Moment, Instant)>,
    /// How far it had been heard when it was asked first, or where all was told then: from there on it may have changed what seemed to
    /// be this server's own changes.
    first: Option<Option<Moment>>,
    /// What was told is not all that belongs together.
    is_partial: bool,
    /// It was said that a change comes from the future.
    has_warned: bool,
}

impl Shared {
    pub fn is_asked(&self) -> bool {
        self.member.is_some()
    }

    /// Whether all is there that another one had, or that was there at first.
    pub fn is_complete(&self) -> bool {
        self.stage.is_none_or(|stage| stage == Stage::Complete)
    }
}

/// The number of its history that a cookie of a server that takes changes together with this one says.
fn position_of(cookie: &[u8]) -> Option<Moment> {
    let text = std::str::from_utf8(cookie).ok()?;
    text.split(',').find_map(|field| field.strip_prefix("at="))?.parse().ok().map(Moment)
}

/// What is known there, if that is told.
fn told_by(act: &Act<'_>) -> Knowledge {
    match act {
        Act::AsOf(cookie) | Act::Prune(cookie) => Knowledge::of_cookie(cookie),
        _ => Knowledge::default(),
    }
}

/// The greatest number that is told.
fn newest(acts: &[Act<'_>]) -> Moment {
    let each = acts.iter().filter_map(|act| match act {
        Act::Shared(entry, ..) => number_of_sent(entry).and_then(Moment::of_csn),
        Act::Gone(_, number, _) => Moment::of_csn(number),
        act => told_by(act).moment(),
    });
    each.max().unwrap_or(Moment(0))
}

impl Replica {
    /// What is told a provider that takes changes together with this server, beside the request; `None` if this one does not.
    pub fn shared_request(&self) -> Option<Vec<u8>> {
        let member = self.shared.member?;
        Some(format!("{} {}", member.server, member.csn_text(member.since)).into_bytes())
    }

    /// How it is before anybody was asked.
    pub(super) fn shared_at_first(&self) -> Result<Shared> {
        let snapshot = self.inner.db.read()?;
        let stage = |table| membership::stage(&table, &self.normalized);
        let stage = Tables::Snapshot(&snapshot).member()?.map(stage).transpose()?.flatten();
        Ok(Shared { stage, ..Shared::default() })
    }

    /// As [`Replica::begin`].
    pub(super) fn begin_shared(&mut self, member: Member, keep_on: KeepOn<'_>) -> Result<Vec<u8>, ReplicaError> {
        self.found(member, keep_on)?;
        let snapshot = self.inner.db.read()?;
        let tables = Tables::Snapshot(&snapshot);
        let table = tables.member()?.ok_or_else(|| damaged("table `member`"))?;
        let has_warned = self.shared.has_warned;
        let stage = membership::stage(&table, &self.normalized)?;
        let position = membership::position(&table, &self.normalized, &self.provider)?;
        let first = self.shared.first.or(Some(position));
        self.shared = Shared { member: Some(member), stage, has_warned, first, ..Shared::default() };
        if let Some(twin) = membership::twin(&table, &self.normalized)? {
            self.refuse(member, &twin)?;
        }
        self.as_of =
            tables.copy()?.and_then(|table| table.get(&self.normalized).transpose()).transpose()?.map(<[u8]>::to_vec);
        let known = self.as_of.clone().unwrap_or_default();
        let cookie = match position.filter(|_| !self.is_from_scratch) {
            Some(position) => [known.as_slice(), format!(",at={}", position.0).as_bytes()].concat(),
            None => Vec::new(),
        };
        self.asks_for_all = cookie.is_empty();
        self.is_from_scratch = false;
        self.phase = Phase::new(&cookie);
        self.unsettled = Unsettled::default();
        Ok(cookie)
    }

    /// Gives all entries numbers of this server, where changes were not taken together with others before: numbers of before say
    /// nothing of which is newer, and of whom all is known.
    pub(super) fn found(&mut self, member: Member, keep_on: KeepOn<'_>) -> Result<(), ReplicaError> {
        let is_new = |table| -> Result<bool> { Ok(membership::stage(&table, &self.normalized)? == Some(Stage::New)) };
        if !Tables::Snapshot(&self.inner.db.read()?).member()?.map(is_new).transpose()?.unwrap_or(false) {
            return Ok(());
        }
        let mut txn = self.begin_write(keep_on)?;
        let (ids, state, base) = self.opened(&mut txn)?;
        let number = next_number((&mut txn, ids), &state, Moment(0), self.inner.clock.now())?;
        let all = entries_below(&txn, ids, &state, &base)?;
        let mut writer = Writer::new(&self.inner, (&mut txn, ids), &state, (&base, &mut self.unsettled), Some(number));
        let csn = member.csn(number);
        all.iter().try_for_each(|id| writer.rewrite(*id, None, Some(&csn)))?;
        writer.finish()?;
        // What others have heard before this says nothing of it any more.
        history::restart(&mut txn, ids, number)?;
        let mut known = kept(&mut txn, &self.normalized)?;
        let stage = if all.is_empty() { Stage::Founded } else { Stage::Complete };
        if !all.is_empty() {
            member.add_own(&mut known, number);
            tracing::info!(
                "the {} entries of {:?} have numbers of this server now, {}",
                all.len(),
                self.text,
                member.server
            );
        }
        txn.table(COPY)?.put(&self.normalized, cookie_of(&known))?;
        membership::put_stage(&mut txn, &self.normalized, stage)?;
        txn.commit()?;
        self.inner.watchers.wake();
        Ok(())
    }

    /// What a transaction is made in.
    fn opened(&self, txn: &mut WriteTxn<'_>) -> Result<(Ids, std::sync::Arc<State>, Suffix), ReplicaError> {
        let ids = Ids::open(txn)?;
        if meta::is_importing(txn)? {
            return Err(Failure::new(ResultCode::BUSY, meta::IMPORTING).into());
        }
        let state = self.inner.state_in(txn, ids)?;
        let base = self.check(&state)?;
        Ok((ids, state, base))
    }

    /// Makes here what was told, in one transaction.
    pub(super) fn transact_shared(&mut self, acts: &[Act<'_>], keep_on: KeepOn<'_>) -> Result<(), ReplicaError> {
        if acts.is_empty() || self.says_nothing_new(acts)? {
            return Ok(());
        }
        let mut txn = self.begin_write(keep_on)?;
        let (ids, state, base) = self.opened(&mut txn)?;
        let Some(member) = state.member else {
            let text = "the configuration does not say any more that changes are taken together with others";
            return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text).into());
        };
        let (before, table) = (kept(&mut txn, &self.normalized)?, txn.open_table(MEMBER, None)?);
        if let Some(twin) = acts.iter().filter_map(|act| member.twin(&before, &told_by(act))).next_back() {
            membership::put_twin(&mut txn, &self.normalized, twin)?;
        }
        let twin = membership::twin(&txn.view(table)?, &self.normalized)?;
        if let Some(Err(refused)) = twin.as_ref().map(|twin| self.refuse(member, twin)) {
            // It is to be told all of that once more.
            let first = self.shared.first.flatten().unwrap_or(Moment(0));
            membership::put_position(&mut txn, &self.normalized, &self.provider, first)?;
            txn.commit()?;
            return Err(refused);
        }
        let seen = newest(acts);
        self.warn_of_future(seen);
        let number = next_number((&mut txn, ids), &state, seen, self.inner.clock.now())?;
        let (mut known, mut position) = (before.clone(), None);
        let mut writer = Writer::new(&self.inner, (&mut txn, ids), &state, (&base, &mut self.unsettled), Some(number));
        let waiting = &mut self.shared.waiting;
        let mut merge =
            Merge { writer: &mut writer, table, member, number, known: &before, waiting, twin, has_changed: false };
        for act in acts {
            make(&mut merge, act)?;
            if let Act::AsOf(cookie) = act {
                known.merge(&Knowledge::of_cookie(cookie));
                position = position_of(cookie).or(position);
            }
        }
        if merge.has_changed {
            member.add_own(&mut known, number);
        }
        let made = writer.finish()?;
        if known != before {
            txn.table(COPY)?.put(&self.normalized, cookie_of(&known))?;
        }
        let has_changed = made.counts.put + made.counts.deleted > 0;
        let is_end = matches!(acts.last(), Some(Act::AsOf(_)));
        membership::put_partial(&mut txn, &self.normalized, &self.provider, !is_end)?;
        self.shared.is_partial = !is_end;
        // Who knows what is known here has all that is here, unless somebody is telling.
        if is_end && (has_changed || known != before) && !membership::is_partial(&txn.view(table)?)? {
            history::note_known(&mut txn, ids, number)?;
        }
        if let Some(position) = position {
            membership::put_position(&mut txn, &self.normalized, &self.provider, position)?;
            membership::put_stage(&mut txn, &self.normalized, Stage::Complete)?;
            (self.shared.stage, self.shared.position) = (Some(Stage::Complete), Some((position, Instant::now())));
            self.shared.first = self.shared.first.map(|first| first.or(Some(position)));
        }
        txn.commit()?;
        made.renames.into_iter().for_each(|commit| self.inner.changes.confirm(commit));
        self.inner.watchers.wake();
        self.counts.add(made.counts);
        self.as_of = Some(cookie_of(&known));
        Ok(())
    }

    /// Whether all that is told is that there is nothing that is not known: how far that was need not be written down each time.
    fn says_nothing_new(&mut self, acts: &[Act<'_>]) -> Result<bool> {
        let Some((_, written)) = self.shared.position.filter(|_| !self.shared.is_partial) else {
            return Ok(false);
        };
        if written.elapsed() > POSITION_EACH {
            return Ok(false);
        }
        let snapshot = self.inner.db.read()?;
        let stand_ins =
            Tables::Snapshot(&snapshot).member()?.map(|table| membership::stand_ins(&table, &self.normalized));
        if stand_ins.transpose()?.is_some_and(|all| !all.is_empty()) {
            return Ok(false);
        }
        let known = Tables::Snapshot(&snapshot).copy()?.and_then(|table| table.get(&self.normalized).transpose());
        let known = Knowledge::of_cookie(known.transpose()?.unwrap_or_default());
        Ok(acts.iter().all(|act| match act {
            Act::AsOf(cookie) => {
                let mut more = known.clone();
                more.merge(&Knowledge::of_cookie(cookie));
                more == known
            }
            _ => false,
        }))
    }

    /// Goes no further while another server has the number of this one.
    fn refuse(&self, member: Member, twin: &Twin) -> Result<(), ReplicaError> {
        if !twin.is_there(member) {
            return Ok(());
        }
        let (number, heard, provider) = (member.server, &twin.heard, &self.provider);
        let text = format!(
            "another server has the number {number} (`server_id`) of this one: {provider} tells of a change {heard}, which was not \
             made here. Give one of the two a number of its own, and have both read their configuration again: then all hear what \
             either has changed"
        );
        Err(ReplicaError::Twin(text))
    }

    fn warn_of_future(&mut self, seen: Moment) {
        let now = self.inner.clock.now();
        if seen > now.after(AHEAD_MAX.as_micros().try_into().unwrap_or(u64::MAX)) && !self.shared.has_warned {
            self.shared.has_warned = true;
            let (seen, now) = (seen.timestamp(), now.timestamp());
            tracing::warn!(
                "{} tells of a change of {seen}, and it is {now}: a clock is wrong; until then changes are numbered behind that one",
                self.provider
            );
        }
    }
}

/// Makes something that was told.
fn make(merge: &mut Merge<'_, '_, '_>, act: &Act<'_>) -> Result<(), ReplicaError> {
    match act {
        Act::Shared(entry, uuid, parent) => merge.receive(entry, *uuid, parent)?,
        Act::Gone(uuid, csn, name) => merge.receive_gone(*uuid, csn, name)?,
        Act::Prune(cookie) => {
            merge.settle()?;
            merge.prune(&Knowledge::of_cookie(cookie))?;
        }
        Act::AsOf(_) => {
            merge.settle()?;
            merge.reclaim()?;
        }
        Act::Keep(uuid) => drop(merge.writer.keep(uuid)?),
        Act::Put(..) | Act::News(..) | Act::Delete(_) => return Err(stranger()),
    }
    Ok(())
}

/// What one says that does not take changes together with this server.
pub(super) fn stranger() -> ReplicaError {
    let text = "the provider does not take changes together with this server: it has to be a duramend with `takes_changes` too";
    Failure::new(ResultCode::PROTOCOL_ERROR, text).into()
}

/// What is known of a suffix.
fn kept(txn: &mut WriteTxn<'_>, suffix: &str) -> Result<Knowledge> {
    Ok(Knowledge::of_cookie(txn.table(COPY)?.get(suffix)?.unwrap_or_default()))
}

/// The number of what is changed in a transaction: greater than all that were seen, so that later changes of this server are newer.
fn next_number((txn, ids): (&mut WriteTxn<'_>, Ids), state: &State, seen: Moment, now: Moment) -> Result<Moment> {
    history::begin(txn, state.history, now)?;
    let span = history::span(&txn.view(ids.entry)?, &txn.view(ids.history)?)?;
    let span = span.ok_or_else(|| damaged("table `history`"))?;
    Ok(membership::number_behind(span.end.max(seen), now))
}

/// All entries of a suffix that have numbers.
fn entries_below(txn: &WriteTxn<'_>, ids: Ids, state: &State, base: &Suffix) -> Result<Vec<Id>> {
    let tables = Tables::Txn(txn, ids);
    let Some(top) = names::find_entry(&tables.name()?, &state.suffixes, &base.normalized)? else {
        return Ok(Vec::new());
    };
    let (entries, mut all) = (tables.entry()?, Vec::new());
    for item in entries.iter() {
        let (key, bytes) = item?;
        let (Some(id), Some(_)) = (read_id(key), Entry::parse(bytes)) else { return Err(damaged(ENTRY)) };
        if names::is_within(&entries, id, top)? {
            all.push(id);
        }
    }
    Ok(all)
}
