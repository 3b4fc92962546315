//! Clients that want to hear what changes (RFC 4533 section 3.4.2).
//!
//! Owns: how far each has heard. Must not know: what is told, who wakes it.
//!
//! Between two turns nothing is kept but that, and the request: each turn asks anew who the client is and what it may see. A
//! snapshot is held while it is told of what one has, for a second at most: what it has been told of by then is remembered, and
//! the rest is told of a newer one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duramen_ldap::ber::{Element, List, Writer};
use duramen_ldap::control::SyncDone;
use duramen_ldap::message::{Control, Message, Request, ResultCode, SearchRequest};
use duramen_ldap::{Payload, oid::control as oid};
use roaring::RoaringBitmap;

use super::begin::Purpose;
use super::copying;
use super::several::{self, Known};
use super::{Done, Progress, Search};
use crate::clock::Moment;
use crate::failure::{Failure, Result};
use crate::history;
use crate::inner::Inner;
use crate::knowledge::Knowledge;
use crate::requester::Requester;
use crate::sink::Sink;
use crate::tables::{Id, Tables};
use crate::watchers::Watching;

/// So long a snapshot is held.
const HELD: Duration = Duration::from_secs(1);

/// A client that wants to hear what changes.
pub struct Standing {
    inner: Arc<Inner>,
    requester: Requester,
    /// Its request, encoded.
    message: Vec<u8>,
    base: Id,
    caller: String,
    /// It has heard of all changes up to this one.
    number: Moment,
    /// The server that makes all changes.
    server: u16,
    /// The changes that it has heard of then, where several servers make them.
    known: Option<Known>,
    /// What it knew when it asked, if not all of that is known here.
    there: Option<Knowledge>,
    /// Of these entries it has heard up to a later one.
    ahead: HashMap<Id, Moment>,
    /// What it has, if that is known.
    given: Option<RoaringBitmap>,
    /// What is being told now, and since when.
    telling: Option<(Box<Search>, Instant)>,
    entries: u64,
    /// Keeps those awake who tell of updates.
    _watching: Watching,
}

/// What came of a client's turn.
#[derive(Debug)]
pub enum News {
    /// There is nothing that it has not heard.
    Nothing,
    /// There may be more to tell.
    More,
    /// It is over.
    Ended(Done),
}

impl Search {
    /// Goes on with what changes, once all has been told that was there.
    pub fn stand(mut self) -> Option<Standing> {
        let copying = self.copying.as_mut()?;
        let (requester, message) = copying.request.take()?;
        Some(Standing {
            inner: copying.inner.clone(),
            requester,
            message,
            base: self.area.base,
            caller: copying.caller().to_string(),
            number: copying.as_of,
            server: copying.server,
            known: copying.known.take(),
            there: copying.there.take(),
            ahead: HashMap::new(),
            given: copying.take_given(),
            telling: None,
            entries: 0,
            _watching: copying.inner.watchers.watching(),
        })
    }
}

impl Standing {
    /// Tells what has changed, as far as the sink takes it.
    pub fn run(&mut self, sink: &mut dyn Sink) -> News {
        let (mut search, since) = match self.telling.take() {
            Some(telling) => telling,
            None => match self.begin() {
                Ok(Some(search)) => (Box::new(search), Instant::now()),
                Ok(None) => return News::Nothing,
                Err(failure) => return News::Ended(self.done(failure)),
            },
        };
        match search.run(sink) {
            Progress::Paused => {
                self.telling = Some((search, since));
                self.let_go();
            }
            Progress::Persists => self.heard(&mut search),
            Progress::Done(Done { failure, .. }) => return News::Ended(self.done(failure.unwrap_or_default())),
        }
        News::More
    }

    /// Whether it holds a snapshot.
    pub fn is_telling(&self) -> bool {
        self.telling.is_some()
    }

    /// Lets a snapshot go that it has held for long.
    pub fn let_go(&mut self) {
        let Some((mut search, since)) = self.telling.take() else { return };
        if since.elapsed() < HELD {
            self.telling = Some((search, since));
            return;
        }
        let Some(as_of) = search.copying.as_ref().map(|copying| copying.as_of) else { return };
        self.ahead.extend(search.told_so_far().iter().map(|told| (told.id(), as_of)));
        self.given = search.copying.as_mut().and_then(|copying| copying.take_given());
    }

    /// It has heard of all that a search told.
    fn heard(&mut self, search: &mut Search) {
        let Some(copying) = &mut search.copying else { return };
        self.number = copying.as_of;
        self.known = copying.known.take();
        self.there =
            self.there.take().filter(|there| self.known.as_ref().is_some_and(|known| !known.changes.includes(there)));
        self.given = copying.take_given();
        self.ahead = HashMap::new();
    }

    /// What there is to tell, if there is something.
    fn begin(&self) -> Result<Option<Search>> {
        let snapshot = self.inner.read_with_history()?;
        let tables = Tables::Snapshot(&snapshot);
        let span = history::span(&tables.entry()?, &tables.history()?)?;
        if span.is_some_and(|span| span.end == self.number) {
            return Ok(None);
        }
        let message = Message::<Request<'_>>::decode_again(&self.message)?;
        let Request::Search(request) = message.operation else { return Err(Failure::default()) };
        let controls: List<'_, Control<'_>> = message.controls;
        let request: SearchRequest<'_> = request;
        // Who settles it wakes those who wait.
        if copying::is_unsettled(&*self.inner.state_of(&snapshot)?, &tables, request.base)? {
            return Ok(None);
        }
        drop(snapshot);
        self.inner.begin_search(&self.requester, &request, controls, &Purpose::News(self)).map(Some)
    }

    /// The end, of which the client has to ask again: by the cookie of what it has heard.
    fn done(&self, failure: Failure) -> Done {
        let (mut value, mut controls) = (Vec::new(), Vec::new());
        let cookie = several::cookie(&self.caller, (self.number, self.server), self.known.as_ref());
        SyncDone { cookie: Some(&cookie), refresh_deletes: false }.encode(&mut value);
        let control = Control { oid: oid::SYNC_DONE, critical: false, value: Some(&value) };
        control.write(&mut Writer::new(&mut controls));
        Done { failure: Some(failure), controls, entries: self.entries }
    }

    pub(super) fn caller(&self) -> &str {
        &self.caller
    }

    pub(super) fn given(&self) -> Option<&RoaringBitmap> {
        self.given.as_ref()
    }

    /// How far it has heard.
    pub(super) fn place(&self) -> (Moment, &HashMap<Id, Moment>) {
        (self.number, &self.ahead)
    }

    /// That what has changed is all that it may have missed. It may know of changes of which nothing was known here, as it comes
    /// from another copy, and of which all that is heard here is what was left of them later.
    pub(super) fn check_whole(&self, tables: &Tables<'_>) -> Result<()> {
        if let (Some(known), Some(there)) = (&self.known, &self.there)
            && known.skips(tables, self.number, there)?
        {
            let text = "something has come and gone that this server has not had: ask again with the last cookie";
            return Err(Failure::new(ResultCode::SYNC_REFRESH_REQUIRED, text));
        }
        Ok(())
    }

    /// RFC 4533 section 3.5.1: what it has asked about is where it was.
    pub(super) fn check_base(&self, base: Id) -> Result<()> {
        if base == self.base {
            return Ok(());
        }
        let text = "another entry has the name of the base now: ask again, without a cookie";
        Err(Failure::new(ResultCode::SYNC_REFRESH_REQUIRED, text))
    }
}
