//! Bringing a client's copy up to date (RFC 4533): the content of a search, or what of it has changed.
//!
//! Owns: which of the two, and what is said of each entry. Must not know: how entries are found, connections.
//!
//! Whose copy is of a change that is known hears what has changed since, and what is gone (the RFC's delete phase). Else all is
//! told, and gone is what was not (the present phase); of entries that are as they were at the client's change only the UUID.
//! That needs their own numbers to tell it: none came with one of its own later, none came into sight by another's change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use duramen::Snapshot;
use duramen_ldap::Payload;
use duramen_ldap::ber::{Element, List, Writer};
use duramen_ldap::control::{SyncDone, SyncInfo, SyncRequest, SyncState, SyncStateValue};
use duramen_ldap::filter::{Filter, Node};
use duramen_ldap::message::{Control, Deref, Message, Request, ResultCode, SearchRequest};
use duramen_ldap::oid::control as oid;
use roaring::RoaringBitmap;

use super::begin::{Beginning, Found, Purpose};
use super::cookie::{self, Said};
use super::course::{self, Departure, Told};
use super::elsewhere;
use super::passing;
use super::select::{Picker, Selection};
use super::several::{self, Had, Known};
use super::sharing::{self, Asker, Word};
use super::{Job, Run, Search, Step};
use crate::clock::Moment;
use crate::controls::Controls;
use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::history::{self, Change, Gone, Span, Uuid, What, uuid_of};
use crate::inner::Inner;
use crate::knowledge::Knowledge;
use crate::names;
use crate::requester::Requester;
use crate::schema::Schema;
use crate::sink::Sink;
use crate::state::State;
use crate::tables::{Id, Tables};
use crate::view::View;

/// UUIDs that are told together.
const TOGETHER: usize = 1000;
/// So long at most is another writer waited for where what has changed is not known.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);

/// What is known of a client's copy, and what of it is told.
pub(super) struct Copying {
    pub inner: Arc<Inner>,
    /// Who asks for it, and the request, encoded: of a client that wants to hear what changes, until it has heard what there is.
    pub request: Option<(Requester, Vec<u8>)>,
    /// The client wants to hear what changes, too.
    pub persists: bool,
    /// It has heard of all that was there, and this is new.
    is_news: bool,
    /// What the client calls itself.
    caller: String,
    /// The change that the copy is as of afterwards.
    pub as_of: Moment,
    /// The server that makes all changes, if one does.
    pub server: u16,
    /// The changes that it has had then, where several servers make them.
    pub known: Option<Known>,
    /// What it had when it asked, if there is something in it that is not known here.
    pub there: Option<Knowledge>,
    /// Who asks, if that one takes changes together with this server.
    asker: Option<Asker>,
    phase: Phase,
    /// UUIDs that have yet to be told, one after the other: of what is there in the present phase, of what is gone in the other.
    ids: Vec<Uuid>,
    /// What all of the gone ones were below.
    ids_below: Option<Id>,
    /// Entries that were visited before their turn.
    early: RoaringBitmap,
    /// What the client has, if that is known.
    pub given: Option<RoaringBitmap>,
    /// What it is told of an entry if that is not known.
    state: SyncState,
    /// Entries and references that were given.
    count: u64,
    /// Entries that are not there for the client any more, from above: it is told of them from below, before anything else.
    leaving: Vec<(Id, Uuid, Option<String>)>,
    /// Below which an entry has a name of its own for a while.
    aside: Option<String>,
    /// It has had another name, or place.
    is_renamed: bool,
    /// Whether the cookie has been sent with an entry.
    is_said: bool,
    /// What follows has nothing behind it.
    is_last: bool,
    /// The UUIDs that have yet to be told are told with the cookie, before its time.
    is_early: bool,
}

/// What the client is told.
enum Phase {
    /// All there is; of entries whose last change the client has had, only that they are there.
    Present(Option<Had>),
    /// What has changed, and what is gone.
    Delete,
}

/// What made up entries are not.
pub(super) fn not_here() -> Failure {
    Failure::new(
        ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
        "of entries that are made up no copies are kept up to date",
    )
}

fn refresh_required(text: &str) -> Failure {
    Failure::new(ResultCode::SYNC_REFRESH_REQUIRED, text)
}

/// That what is asked for can be, if a copy is to be brought up to date; takes the control away that means nothing here.
pub(super) fn check(state: &State, controls: &mut Controls<'_>, request: &SearchRequest<'_>) -> Result<()> {
    if controls.sync.is_none() {
        return Ok(());
    }
    let refuse = |text: &str| Err(Failure::new(ResultCode::PROTOCOL_ERROR, text));
    if state.history == 0 {
        controls.sync = None;
        let text = "what changes is not kept here: content synchronization needs a section [sync] in the configuration";
        let failure = Failure::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, text);
        return if controls.sync_is_critical { Err(failure) } else { Ok(()) };
    }
    if controls.page.is_some() || controls.sort.is_some() || controls.list_view.is_some() {
        return refuse("content synchronization has no pages, no order and no list views");
    }
    match request.deref {
        Deref::InSearching | Deref::Always => {
            refuse("no alias is followed in what is synchronized (RFC 4533 section 3.5.2)")
        }
        _ => Ok(()),
    }
}

/// Whether what is below a base is a copy of which not all stands where it belongs: what is told of it now may be wrong soon, and
/// nobody would tell that.
pub(super) fn is_unsettled(state: &State, tables: &Tables<'_>, base: &str) -> Result<bool> {
    if state.copies.is_empty() {
        return Ok(false);
    }
    let base = names::normalize(&state.schema, base)?;
    let copy = state.copy_of(&base);
    Ok(copy.map(|copy| tables.telling(&copy.suffix.normalized)).transpose()?.flatten().is_some())
}

/// Whether a filter is about names: entries match it, or do not any more, when what is above them is renamed.
fn is_about_names(filter: Filter<'_>) -> bool {
    match filter.node() {
        Node::And(list) | Node::Or(list) => list.iter().any(is_about_names),
        Node::Not(part) => is_about_names(part),
        Node::Extensible(extensible) => extensible.dn_attributes,
        _ => false,
    }
}

impl Inner {
    /// A snapshot in which what has changed is known. Where a program has written that knows nothing of it, it is known from now
    /// on.
    pub(super) fn read_with_history(&self) -> Result<Snapshot<'static>> {
        let snapshot = self.db.read_owned()?;
        let kept = self.state_of(&snapshot)?.history;
        let is_known = |snapshot: &Snapshot<'_>| -> Result<bool> {
            let tables = Tables::Snapshot(snapshot);
            Ok(history::span(&tables.entry()?, &tables.history()?)?.is_some())
        };
        if kept == 0 || self.is_read_only() || is_known(&snapshot)? {
            return Ok(snapshot);
        }
        drop(snapshot);
        let mut txn = self.db.begin_write_within(BEGUN_WITHIN)?;
        history::begin(&mut txn, kept, self.clock.now())?;
        txn.commit()?;
        Ok(self.db.read_owned()?)
    }
}

impl Beginning<'_> {
    /// Finds out what the client is to be told, if it brings a copy up to date: all that was found, or in its place what has
    /// changed.
    pub(super) fn copying(&self, found: &mut Found, purpose: &Purpose<'_>) -> Result<Option<Copying>> {
        let Some(sync) = self.controls.sync else { return Ok(None) };
        let span = history::span(&self.scene.tables.entry()?, &self.scene.tables.history()?)?;
        let Some(span) = span else {
            return Err(Failure::new(
                ResultCode::UNAVAILABLE,
                "what has changed is not known: another program is writing",
            ));
        };
        if is_unsettled(self.state, &self.scene.tables, self.request.base)? {
            let text = "this is a copy that its provider is bringing up to date: ask again later";
            return Err(Failure::new(ResultCode::BUSY, text));
        }
        let mut copying = Copying::new(self.inner.clone(), sync, span);
        copying.known = several::known(self.state, &self.scene.tables, self.request.base)?;
        copying.server = several::sole_server(self.state, &self.scene.tables, self.request.base)?;
        let (here, reads_everything) = ((self.state, &self.scene.tables), self.scene.plan.reads_everything());
        copying.asker = sharing::asker(here, self.controls, self.request, reads_everything)?;
        if copying.asker.is_some() {
            // Each has heard of others, too, what is gone.
            copying.given = None;
        }
        match purpose {
            Purpose::News(standing) => {
                copying.is_news = true;
                copying.caller = standing.caller().to_string();
                copying.given = standing.given().cloned().filter(|_| copying.asker.is_none());
                standing.check_base(found.area.base)?;
                let (number, skipped) = standing.place();
                // What another server is a copy of may have begun anew, from a change that was made before.
                if number < span.start || number > span.end {
                    return Err(refresh_required("more has changed than is kept: ask again with the last cookie"));
                }
                standing.check_whole(&self.scene.tables)?;
                let changes = self.changes(number)?;
                self.tell_changes(found, &mut copying, changes, skipped)?;
                // The limits of searches are about what was there.
                found.options.entries_max = u32::MAX;
                found.options.examined_max = u64::MAX;
                found.options.deadline = None;
            }
            _ => self.choose(found, &mut copying, sync, span)?,
        }
        Ok(Some(copying))
    }

    /// What a client with this cookie is told.
    fn choose(&self, found: &mut Found, copying: &mut Copying, sync: SyncRequest<'_>, span: Span) -> Result<()> {
        if let Some(asker) = &copying.asker {
            let heard = asker.heard(&self.scene.tables, span, sync.cookie.unwrap_or_default())?;
            return heard.map_or(Ok(()), |number| self.tell_after(found, copying, number));
        }
        if let Some(known) = &copying.known {
            let number = known.common(&self.scene.tables, span, sync)?;
            let there = Knowledge::of_cookie(sync.cookie.unwrap_or_default());
            copying.there = Some(there.clone()).filter(|there| !known.changes.includes(there));
            let Some(number) = number else { return Ok(()) };
            if !known.skips(&self.scene.tables, number, &there)? {
                return self.tell_after(found, copying, number);
            }
            if self.is_plain(found) {
                copying.phase = Phase::Present(Some(Had::Changes(there)));
            }
            return Ok(());
        }
        let number = match cookie::said(sync.cookie.unwrap_or_default(), copying.server) {
            Said::Nothing => return Ok(()),
            Said::Change(number) if number <= span.end => number,
            _ if sync.reload_hint => return Ok(()),
            _ => {
                return Err(several::strange());
            }
        };
        if number >= span.start && history::is_known(&self.scene.tables.history()?, span, number)? {
            return self.tell_after(found, copying, number);
        }
        if number >= span.foreign && self.is_plain(found) {
            copying.phase = Phase::Present(Some(Had::UpTo(number.csn_of(copying.server).to_vec())));
        }
        Ok(())
    }

    /// What has changed after a number, unless all is told.
    fn tell_after(&self, found: &mut Found, copying: &mut Copying, number: Moment) -> Result<()> {
        let changes = self.changes(number)?;
        if self.moves_base(found.area.base, &changes)? {
            return Ok(());
        }
        self.tell_changes(found, copying, changes, &HashMap::new())
    }

    /// Whether entries come into sight, or go, by their own changes only.
    fn is_plain(&self, found: &Found) -> bool {
        found.area.whole && self.scene.plan.reads_everything() && !is_about_names(self.request.filter)
    }

    fn changes(&self, number: Moment) -> Result<Vec<Change>> {
        history::after(&self.scene.tables.history()?, number)?.collect()
    }

    /// Whether the base, or what is above it, has come to its name among these changes.
    fn moves_base(&self, base: Id, changes: &[Change]) -> Result<bool> {
        let mut above = Vec::new();
        names::climb(&self.scene.tables.entry()?, base, |id| {
            above.push(id);
            None
        })?;
        Ok(changes.iter().any(|change| change.what != What::Modified && above.contains(&change.id)))
    }

    fn tell_changes(
        &self,
        found: &mut Found,
        copying: &mut Copying,
        changes: Vec<Change>,
        skipped: &HashMap<Id, Moment>,
    ) -> Result<()> {
        copying.phase = Phase::Delete;
        let with_below = !self.is_plain(found);
        let changes = elsewhere::left_out(self.state, &self.scene.tables, found.area.base, changes)?;
        let told = course::course(&self.state.schema, &self.scene.tables, &changes, skipped, with_below)?;
        (found.job, found.rest, found.exact) = (Job::Told(told), None, false);
        Ok(())
    }
}

impl Copying {
    /// Of a client that is told all there is.
    fn new(inner: Arc<Inner>, sync: SyncRequest<'_>, span: Span) -> Copying {
        Copying {
            inner,
            request: None,
            persists: sync.persists,
            is_news: false,
            caller: cookie::caller(sync.cookie.unwrap_or_default()).to_string(),
            as_of: span.end,
            server: 0,
            known: None,
            there: None,
            asker: None,
            phase: Phase::Present(None),
            ids: Vec::new(),
            ids_below: None,
            early: RoaringBitmap::new(),
            given: sync.persists.then(RoaringBitmap::new),
            state: SyncState::Add,
            count: 0,
            leaving: Vec::new(),
            aside: None,
            is_renamed: false,
            is_said: false,
            is_last: false,
            is_early: false,
        }
    }

    /// Keeps what a client asks that wants to hear what changes, for its turns to come.
    pub fn keep_request(
        &mut self,
        requester: &Requester,
        request: &SearchRequest<'_>,
        controls: List<'_, Control<'_>>,
    ) {
        if self.persists && self.is_request() {
            let mut message = Vec::new();
            Message { id: 1, operation: Request::Search(*request), controls }.encode(&mut message);
            self.request = Some((requester.clone(), message));
        }
    }

    pub fn caller(&self) -> &str {
        &self.caller
    }

    /// Whether a client has asked for it just now.
    pub fn is_request(&self) -> bool {
        !self.is_news
    }

    pub fn cookie(&self) -> Vec<u8> {
        match (&self.asker, &self.known) {
            (Some(asker), Some(known)) => asker.cookie(&known.changes, self.as_of),
            (_, known) => several::cookie(&self.caller, (self.as_of, self.server), known.as_ref()),
        }
    }

    /// What the client has, if that is known once it was told all this.
    pub fn take_given(&mut self) -> Option<RoaringBitmap> {
        self.given.take().filter(|_| self.is_news || matches!(self.phase, Phase::Present(_)))
    }

    fn is_present_phase(&self) -> bool {
        matches!(self.phase, Phase::Present(_))
    }

    /// Whether an entry is as it was in the client's copy.
    fn is_unchanged(&self, schema: &Schema, entry: &Entry<'_>) -> bool {
        let Phase::Present(Some(had)) = &self.phase else { return false };
        let number = entry.of_type(schema.known().entry_csn).flat_map(|found| found.values()).next();
        number.is_some_and(|number| had.covers(number))
    }

    /// Gives an entry out, or says that it is there.
    pub fn give(
        &mut self,
        selection: &Selection,
        view: &View<'_, '_>,
        picked: &mut Vec<u8>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let schema = &view.scene.state.schema;
        // No client could tell it from others.
        let Some(uuid) = uuid_of(schema, &view.entry) else { return Ok(()) };
        if self.is_unchanged(schema, &view.entry) {
            if let Some(given) = &mut self.given {
                given.insert(view.id);
            }
            self.name(uuid, sink);
            return Ok(());
        }
        let word = self.asker.as_ref().map(|asker| asker.word(view)).transpose()?;
        if matches!(word, Some(Word::Nothing | Word::Own)) {
            self.count += 1;
            // What is not told of would be gone.
            if self.is_present_phase() && matches!(word, Some(Word::Own)) {
                self.name(uuid, sink);
            }
            return Ok(());
        }
        let pieces = Picker::new(view, selection).pick(picked)?;
        if self.may_lose_values(view) {
            let is_last = std::mem::take(&mut self.is_last);
            let control = self.control_of(view.id, uuid, sink);
            sink.entry(view.name, &[&passing::before(schema, &pieces.concat())], List::trusted(&control));
            self.is_last = is_last;
        }
        let mut control = self.control_of(view.id, uuid, sink);
        if let Some(Word::Beside(value)) = &word {
            control.extend(sharing::control(value));
        }
        match &self.aside {
            None => sink.entry(view.name, &pieces, List::trusted(&control)),
            Some(above) => {
                let name = format!("moving {}", uuid::Uuid::from_bytes(uuid));
                let attributes = passing::named(schema, &pieces.concat(), &name);
                sink.entry(&format!("cn={name},{above}"), &[&attributes], List::trusted(&control));
            }
        }
        Ok(())
    }

    /// Whether a client may lose a value that an entry has kept from an earlier name. slapd takes that for deleted with the name where
    /// the attribute stands in another place than in its copy, whatever is said of it; if it hears of the entry again, it has it.
    fn may_lose_values(&self, view: &View<'_, '_>) -> bool {
        let may_be_renamed = self.is_renamed || matches!(self.phase, Phase::Present(Some(_)));
        may_be_renamed && self.asker.is_none() && self.aside.is_none() && passing::has_kept_values(view)
    }

    /// Gives a reference out.
    pub fn refer(&mut self, schema: &Schema, (id, entry): (Id, &Entry<'_>), urls: &[u8], sink: &mut dyn Sink) {
        if let Some(uuid) = uuid_of(schema, entry) {
            let control = self.control_of(id, uuid, sink);
            sink.reference(List::trusted(urls), List::trusted(&control));
        }
    }

    /// The control of an entry that is given out, encoded.
    fn control_of(&mut self, id: Id, uuid: Uuid, sink: &mut dyn Sink) -> Vec<u8> {
        if !self.is_present_phase() {
            self.leave(sink);
            self.flush(sink);
        }
        self.count += 1;
        let is_known = self.given.as_mut().map(|given| !given.insert(id));
        let state = match is_known {
            // RFC 4533 section 3.3.2: until the client has heard of all, what has changed is added.
            _ if !self.is_news => SyncState::Add,
            Some(true) => SyncState::Modify,
            Some(false) => SyncState::Add,
            None => self.state,
        };
        self.control(state, uuid)
    }

    fn control(&mut self, state: SyncState, uuid: Uuid) -> Vec<u8> {
        // slapd passes over an entry with a cookie whose first number it knows.
        let is_said = self.is_news && self.is_last && self.known.is_none();
        let cookie = is_said.then(|| self.cookie());
        self.is_said |= cookie.is_some();
        let (mut value, mut control) = (Vec::new(), Vec::new());
        SyncStateValue { state, uuid, cookie: cookie.as_deref() }.encode(&mut value);
        Control { oid: oid::SYNC_STATE, critical: false, value: Some(&value) }.write(&mut Writer::new(&mut control));
        control
    }

    /// Tells that an entry is gone. `name`: what it may be called. `below`: what it was below all the time, if that is known.
    fn gone(&mut self, id: Id, uuid: Uuid, (name, below): (Option<&str>, Option<Id>), sink: &mut dyn Sink) {
        if self.given.as_mut().filter(|_| self.is_news).is_some_and(|given| !given.remove(id)) {
            return;
        }
        match name {
            Some(name) => {
                self.flush(sink);
                let control = self.control(SyncState::Delete, uuid);
                sink.entry(name, &[], List::trusted(&control));
            }
            None => {
                // A list has no order, and slapd goes from its end: what has something below it that is in the list, too, it keeps
                // as glue for ever.
                if below.is_none() || below != self.ids_below {
                    self.flush(sink);
                }
                self.ids_below = below;
                self.name(uuid, sink);
            }
        }
    }

    /// Tells a server that takes changes together with this one that an entry is gone.
    fn gone_shared(&mut self, tables: &Tables<'_>, gone: &Gone, sink: &mut dyn Sink) -> Result<()> {
        let Some(asker) = &self.asker else { return Ok(()) };
        if let Some(value) = asker.beside_gone(tables, gone)? {
            let mut control = self.control(SyncState::Delete, gone.uuid);
            control.extend(sharing::control(&value));
            sink.entry(&gone.name, &[], List::trusted(&control));
        }
        Ok(())
    }

    /// Tells of those that leave.
    fn leave(&mut self, sink: &mut dyn Sink) {
        // Something follows, or the cookie by itself.
        let is_last = std::mem::take(&mut self.is_last);
        for (id, uuid, name) in std::mem::take(&mut self.leaving).into_iter().rev() {
            self.gone(id, uuid, (name.as_deref().filter(|_| self.is_news), None), sink);
        }
        self.is_last = is_last;
    }

    fn name(&mut self, uuid: Uuid, sink: &mut dyn Sink) {
        self.ids.push(uuid);
        if self.ids.len() >= TOGETHER {
            self.flush(sink);
        }
    }

    /// Tells of what is there, or gone, as far as it has not been told.
    fn flush(&mut self, sink: &mut dyn Sink) {
        if self.ids.is_empty() {
            return;
        }
        let (mut buffer, mut value) = (Vec::new(), Vec::new());
        let cookie = std::mem::take(&mut self.is_early).then(|| self.cookie());
        let uuids = List::build(&mut buffer, self.ids.iter().map(|uuid| &uuid[..]));
        SyncInfo::IdSet { cookie: cookie.as_deref(), deletes: !self.is_present_phase(), uuids }.encode(&mut value);
        sink.info(&value);
        self.ids.clear();
    }

    /// Ends what is told: with the cookie, if the search goes on.
    fn end(&mut self, sink: &mut dyn Sink) {
        self.leave(sink);
        self.flush(sink);
        if !self.persists || self.is_said {
            return;
        }
        let (cookie, mut value) = (self.cookie(), Vec::new());
        let info = match self.phase {
            _ if self.is_news => SyncInfo::NewCookie(&cookie),
            Phase::Present(_) => SyncInfo::RefreshPresent { cookie: Some(&cookie), done: true },
            Phase::Delete => SyncInfo::RefreshDelete { cookie: Some(&cookie), done: true },
        };
        info.encode(&mut value);
        sink.info(&value);
    }

    /// What is said at the end of a search that does not go on.
    pub fn done(&self) -> Vec<u8> {
        let (cookie, mut value) = (self.cookie(), Vec::new());
        SyncDone { cookie: Some(&cookie), refresh_deletes: !self.is_present_phase() }.encode(&mut value);
        value
    }
}

impl Search {
    /// Whether the client wants to hear what changes once it has been told all there is.
    pub fn is_persistent(&self) -> bool {
        self.copying.as_ref().is_some_and(|copying| copying.persists)
    }

    pub(super) fn end_copying(&mut self, sink: &mut dyn Sink) {
        self.copying.iter_mut().for_each(|copying| copying.end(sink));
    }

    /// Entries whose changes have been told.
    pub(super) fn told_so_far(&self) -> &[Told] {
        match &self.job {
            Job::Told(told) => &told[..told.len().min(self.next as usize)],
            _ => &[],
        }
    }
}

impl<'r> Run<'r> {
    /// Tells what has changed.
    pub(super) fn told(&mut self, told: &[Told], sink: &mut dyn Sink) -> Result<Option<bool>> {
        while let Some(one) = told.get(*self.next as usize) {
            let is_anothers = self.is_anothers(one)?;
            let Some(copying) = &mut self.copying else { return Ok(Some(false)) };
            // Who leaves does so together, as far as that is not too much.
            if sink.is_full() && (copying.leaving.is_empty() || copying.leaving.len() >= TOGETHER) {
                copying.leave(sink);
                return Ok(None);
            }
            copying.is_last = *self.next as usize + 1 == told.len();
            match one {
                Told::Gone(_, departure) if copying.asker.is_some() => {
                    copying.gone_shared(&self.scene.tables, &departure.gone, sink)?;
                }
                Told::Aside(_) if copying.asker.is_some() => {}
                Told::Gone(..) if is_anothers => {}
                Told::Gone(id, Departure { gone, below, is_young, is_bare }) => {
                    copying.leave(sink);
                    // slapd takes no entry of a list away that is newer than what its copy is as of, but for a list with a cookie;
                    // and goes no further where something is below what is not in a list.
                    let (sees_all, is_news) = (self.scene.plan.reads_everything(), copying.is_news);
                    let is_named = sees_all && (is_news || *is_young && *is_bare);
                    if sees_all && !is_news && *is_young && !*is_bare {
                        copying.flush(sink);
                        copying.is_early = true;
                    }
                    let name = Some(gone.name.as_str()).filter(|_| is_named);
                    copying.gone(*id, gone.uuid, (name, *below), sink);
                }
                Told::Aside(id) => {
                    copying.aside = Some(names::name_of(&self.entries, self.area.base)?);
                    let bytes = names::entry_bytes(&self.entries, *id)?;
                    self.visit(*id, bytes, sink)?;
                    self.copying.iter_mut().for_each(|copying| copying.aside = None);
                }
                Told::Entry(id, state) => {
                    copying.state = *state;
                    self.changed(*id, sink)?;
                }
                Told::Renamed(id) => {
                    (copying.state, copying.is_renamed) = (SyncState::Modify, true);
                    self.changed(*id, sink)?;
                    self.copying.iter_mut().for_each(|copying| copying.is_renamed = false);
                }
            }
            *self.next += 1;
        }
        Ok(Some(false))
    }

    /// Gives an entry that has changed, or tells that it is not there for the client.
    fn changed(&mut self, id: Id, sink: &mut dyn Sink) -> Result<()> {
        let bytes = names::entry_bytes(&self.entries, id)?;
        let count = |run: &Run<'_>| run.copying.as_ref().map_or(0, |copying| copying.count);
        let before = count(self);
        self.visit(id, bytes, sink)?;
        // Who takes changes together with this server is told of all that is below the base, and of nothing else: what is below
        // other suffixes is none of what it asks for.
        if count(self) > before || self.copying.as_ref().is_some_and(|copying| copying.asker.is_some()) {
            return Ok(());
        }
        let entry = Entry::parse(bytes).ok_or_else(|| damaged(format_args!("entry {id}")))?;
        let Some(uuid) = uuid_of(&self.scene.state.schema, &entry) else { return Ok(()) };
        if self.has_another(&uuid, Some(id))? {
            return Ok(());
        }
        let name = match self.scene.plan.reads_everything() {
            true => Some(self.scene.name_of(id, &entry)?),
            false => None,
        };
        self.copying.iter_mut().for_each(|copying| copying.leaving.push((id, uuid, name.clone())));
        Ok(())
    }

    /// Visits an entry of a walk in the order of ids. Where a copy is brought up to date what is above it comes first, if it
    /// `is_meant`: an entry may have been moved below one that came later.
    pub(super) fn visit_behind_parent(
        &mut self,
        id: Id,
        bytes: &[u8],
        is_meant: impl Fn(Id) -> bool,
        sink: &mut dyn Sink,
    ) -> Result<Step> {
        let Some(copying) = &mut self.copying else { return self.visit(id, bytes, sink) };
        if copying.early.remove(id) {
            return Ok(Step::Next);
        }
        let mut above: Vec<(Id, &'r [u8])> = Vec::new();
        let mut parent = Entry::parent_of(bytes).unwrap_or(0);
        // What has a lesser id had its turn.
        while parent > id && !copying.early.contains(parent) && above.iter().all(|(seen, _)| *seen != parent) {
            let bytes = names::entry_bytes(&self.entries, parent)?;
            above.push((parent, bytes));
            parent = Entry::parent_of(bytes).unwrap_or(0);
        }
        for (id, bytes) in above.into_iter().rev() {
            if let Some(copying) = &mut self.copying {
                copying.early.insert(id);
            }
            if is_meant(id) {
                self.visit(id, bytes, sink)?;
            }
        }
        self.visit(id, bytes, sink)
    }
}
