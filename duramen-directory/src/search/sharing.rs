//! Telling what changes to a server that takes changes together with this one.
//!
//! Owns: what such a one says of itself and is told beside entries: below which UUID an entry stands, by which number it was deleted,
//! how far the history was told. Must not know: what is told of each entry.

use duramen_ldap::ber::{Element, Writer};
use duramen_ldap::message::{Control, ResultCode, SearchRequest};
use duramen_ldap::oid::control as oid;

use crate::clock::Moment;
use crate::controls::Controls;
use crate::failure::{Failure, Result};
use crate::history::{self, Gone, Span, uuid_of};
use crate::knowledge::{Knowledge, server_of};
use crate::membership::{self, Member};
use crate::names;
use crate::state::State;
use crate::tables::Tables;
use crate::view::View;

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    server: u16,
    /// What it has changed since then it knows.
    since: Vec<u8>,
    /// This server.
    own: Member,
}

/// What is told of an entry.
pub(super) enum Word {
    /// It only stands for one that is to come back.
    Nothing,
    /// The asker has made it what it is.
    Own,
    /// The entry, with this beside it.
    Beside(Vec<u8>),
}

fn refuse<T>(text: String) -> Result<T> {
    Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text))
}

/// Who asks, if it takes changes together with this server.
///
/// # Errors
/// Of who cannot, and why.
pub(super) fn asker(
    (state, tables): (&State, &Tables<'_>),
    controls: &Controls<'_>,
    request: &SearchRequest<'_>,
    reads_everything: bool,
) -> Result<Option<Asker>> {
    let Some(said) = controls.shared else { return Ok(None) };
    let Some(own) = state.member else {
        return refuse(
            "this server takes no changes together with others: `takes_changes` in its section [replica]".into(),
        );
    };
    let parts = std::str::from_utf8(said).ok().and_then(|text| text.split_once(' '));
    let parsed = parts.and_then(|(server, since)| Some((server.parse().ok()?, since.as_bytes().to_vec())));
    let Some((server, since)) = parsed else {
        return Err(Failure::new(ResultCode::PROTOCOL_ERROR, "the control of who takes changes together is none"));
    };
    let base = names::normalize(&state.schema, request.base)?;
    if !state.copies.iter().any(|copy| copy.suffix.normalized == base) {
        return refuse(format!("changes of {:?} are not taken together with others here", request.base));
    }
    if !reads_everything {
        let text = "who takes changes together with this server has to be able to read everything here";
        return Err(Failure::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text));
    }
    if server == own.server {
        return Err(same_number(own, &since));
    }
    // What it knows says nothing of what it has then.
    if tables.member()?.map(|table| membership::twin(&table, &base)).transpose()?.flatten().is_some() {
        let text = "another server has the number (`server_id`) of this one, or had, and this one cannot be asked before that is \
                    made good: its log says more";
        return Err(Failure::new(ResultCode::BUSY, text));
    }
    Ok(Some(Asker { server, since, own }))
}

/// What is answered who has the number of this server: it may be this server itself.
fn same_number(own: Member, since: &[u8]) -> Failure {
    let server = own.server;
    if since == own.csn(own.since) {
        let text = "this server asks itself: take its own URL out of `providers`";
        return Failure::new(ResultCode::UNWILLING_TO_PERFORM, text);
    }
    let text = format!("both servers have the number {server} (`server_id`): give each one of its own");
    tracing::error!("changes of another server are not taken together with those of this one: {text}");
    Failure::new(ResultCode::LOOP_DETECT, text)
}

impl Asker {
    /// Whether a change, by its number, is one that the asker has made since it has begun.
    fn has_made(&self, number: &[u8]) -> bool {
        server_of(number) == Some(self.server) && number > self.since.as_slice()
    }

    /// What it is told of an entry.
    pub fn word(&self, view: &View<'_, '_>) -> Result<Word> {
        let (schema, entries) = (&view.scene.state.schema, view.scene.tables.entry()?);
        let number = view.entry.of_type(schema.known().entry_csn).flat_map(|found| found.values()).next();
        if number.is_none_or(|number| self.has_made(number)) {
            return Ok(number.map_or(Word::Nothing, |_| Word::Own));
        }
        if view.entry.parent == 0 {
            return Ok(Word::Beside(Vec::new()));
        }
        let above = names::entry(&entries, view.entry.parent)?;
        Ok(Word::Beside(uuid_of(schema, &above).map_or_else(Vec::new, |uuid| uuid.to_vec())))
    }

    /// What it is told beside that an entry is gone, which it may have taken away itself.
    pub fn beside_gone(&self, tables: &Tables<'_>, gone: &Gone) -> Result<Option<Vec<u8>>> {
        let tomb = tables.member()?.map(|table| membership::tomb(&table, &gone.uuid)).transpose()?.flatten();
        // Without one it has come back since, and is told of as an entry.
        Ok(tomb.map(|tomb| tomb.csn.into_bytes()).filter(|csn| !self.has_made(csn)))
    }

    /// The number of the history that it has heard, by its cookie, if that is known.
    pub fn heard(&self, tables: &Tables<'_>, span: Span, cookie: &[u8]) -> Result<Option<Moment>> {
        let text = std::str::from_utf8(cookie).unwrap_or_default();
        let said = text.split(',').find_map(|field| field.strip_prefix("at=")).and_then(|number| number.parse().ok());
        let Some(number) = said.map(Moment).filter(|number| (span.start..=span.end).contains(number)) else {
            return Ok(None);
        };
        let is_known = history::is_known(&tables.history()?, span, number)?;
        Ok(Some(number).filter(|_| is_known))
    }

    /// Its cookie, once it knows this, and the history up to a number.
    pub fn cookie(&self, known: &Knowledge, at: Moment) -> Vec<u8> {
        let number = self.own.server;
        format!("rid=000,sid={number:03x},csn={}{},at={}", known.text(), known.gaps(), at.0).into_bytes()
    }
}

/// The control beside an entry, encoded.
pub(super) fn control(value: &[u8]) -> Vec<u8> {
    let mut control = Vec::new();
    Control { oid: oid::SYNC_SHARED, critical: false, value: Some(value) }.write(&mut Writer::new(&mut control));
    control
}
