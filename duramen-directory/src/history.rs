//! What updates have changed, in the order of their commits: what clients need that bring a copy up to date (RFC 4533).
//!
//! Owns: table `history`, change numbers. Must not know: what is made of it.
//!
//! | key | value |
//! |---|---|
//! | 0 (8 bytes) | the number from which on no change is missing; the number up to which entries came with numbers of their own; what was known then of copies of what [several servers change](known.rs) |
//! | a number, and the greatest of 4 bytes | from then on this is known of such copies |
//! | the change's number: microseconds since 1970 (8 bytes); of those behind the first that have one number, which (4 bytes) | kind, id of the entry; of one that was renamed the key of its name until then, of one that was deleted its UUID, that key and its name |
//!
//! Invariants: numbers grow in the order of commits, whatever the clock says and whichever process writes. Each change of table
//! `entry` is noted in its own transaction: where that table was changed later than this one, by a program that knows nothing
//! of it, it is begun anew, and clients have to ask for all content.

mod known;

use duramen::{Result, Table, WriteTxn};

use crate::clock::Moment;
use crate::entry::Entry;
use crate::failure::{self, damaged};
use crate::membership::{self, Member, Tomb};
use crate::schema::Schema;
use crate::tables::{ENTRY, HISTORY, Id, Ids, read_id};

pub(crate) use crate::tables::Uuid;

use known::{IN_HEAD, KNOWN, known_at};

pub(crate) use known::{common, note_known, skips};

/// The key under which it says since when nothing is missing.
const HEAD: [u8; 8] = [0; 8];
/// So many changes more than are kept are taken away together.
const TRIMMED: usize = 1024;

/// The UUID that an entry has.
pub(crate) fn uuid_of(schema: &Schema, entry: &Entry<'_>) -> Option<Uuid> {
    let found = entry.of_type(schema.known().entry_uuid).next()?.values().iter().next()?;
    uuid::Uuid::try_parse_ascii(found).ok().map(uuid::Uuid::into_bytes)
}

/// A change of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub number: Moment,
    /// Which it is of those of one transaction that have this number, from 0: what is copied from another server has the number
    /// that the copy is as of.
    pub nth: u32,
    pub id: Id,
    pub what: What,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Added,
    Modified,
    /// It had the name with this key.
    Renamed(Vec<u8>),
    Deleted(Gone),
}

/// An entry that is there no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub uuid: Uuid,
    /// The key of its name.
    pub key: Vec<u8>,
    pub name: String,
}

/// From where to where changes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Of what came later none is missing.
    pub start: Moment,
    /// Until then entries have come with numbers of their own, which do not tell when they came.
    pub foreign: Moment,
    /// The newest change.
    pub end: Moment,
}

/// The newest number that there is; 0 if there is none.
pub(crate) fn last(history: &Table<'_>) -> Result<Moment> {
    Ok(Moment(history.last()?.map_or(0, |(key, value)| newest(key, value))))
}

/// The number of the next change. The one before it stays free, to begin anew from.
pub(crate) fn next(history: &Table<'_>, now: Moment) -> Result<Moment> {
    let last = history.last()?.map_or(0, |(key, value)| newest(key, value));
    Ok(Moment(now.0.max(last.saturating_add(2))))
}

/// The newest number, as the last pair of the table tells it.
fn newest(key: &[u8], value: &[u8]) -> u64 {
    if key == HEAD { number(value) } else { number(key) }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Whether entries have changed since the last change that is noted.
pub(crate) fn has_gap(entries: &Table<'_>, history: &Table<'_>) -> Result<bool> {
    if history.is_empty() {
        return Ok(true);
    }
    // None: there are none, or this transaction has changed them, and has been asked then.
    let (Some(entries), Some(history)) = (entries.changed_in()?, history.changed_in()?) else { return Ok(false) };
    Ok(entries > history)
}

/// From where to where changes are known. `None` where not all are.
pub(crate) fn span(entries: &Table<'_>, history: &Table<'_>) -> Result<Option<Span>> {
    if has_gap(entries, history)? {
        return Ok(None);
    }
    let (Some(head), Some((key, value))) = (history.get(HEAD)?, history.last()?) else { return Ok(None) };
    let foreign = number(head.get(8..).unwrap_or_default());
    Ok(Some(Span { start: Moment(number(head)), foreign: Moment(foreign), end: Moment(newest(key, value)) }))
}

/// Whether the directory was ever as of this number. A copy of another server is not as of each of that one's: what came and
/// went between two of which it was told it never had.
pub(crate) fn is_known(history: &Table<'_>, span: Span, number: Moment) -> Result<bool> {
    let has = || Ok(history.prefix(number.0.to_be_bytes())?.next().transpose()?.is_some());
    if number == span.start || number == span.end { Ok(true) } else { has() }
}

/// Changes after one, in their order.
pub(crate) fn after<'t>(
    history: &Table<'t>,
    number: Moment,
) -> Result<impl Iterator<Item = failure::Result<Change>> + use<'t>> {
    let from = number.0.saturating_add(1).to_be_bytes();
    Ok(history.range(from..)?.filter_map(|item| match item {
        Ok((_, value)) if value.first() == Some(&KNOWN) => None,
        Ok((key, value)) => Some(decode(key, value).ok_or_else(|| damaged("table `history`"))),
        Err(error) => Some(Err(error.into())),
    }))
}

fn decode(key: &[u8], value: &[u8]) -> Option<Change> {
    let (kind, rest) = value.split_first()?;
    let (id, rest) = (read_id(rest)?, rest.get(4..)?);
    let what = match kind {
        b'a' => What::Added,
        b'm' => What::Modified,
        b'r' => What::Renamed(rest.to_vec()),
        b'd' => {
            let (uuid, rest) = rest.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let (key, name) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            What::Deleted(Gone { uuid: *uuid, key: key.to_vec(), name: String::from_utf8_lossy(name).into_owned() })
        }
        _ => return None,
    };
    let nth = key.get(8..).and_then(read_id).unwrap_or(0);
    Some(Change { number: Moment(number(key)), nth, id, what })
}

/// The key of a change.
fn key_of(change: &Change) -> Vec<u8> {
    let number = change.number.0.to_be_bytes();
    match change.nth {
        0 => number.to_vec(),
        nth => [&number[..], &nth.to_be_bytes()].concat(),
    }
}

fn encode(change: &Change) -> Vec<u8> {
    let id = change.id.to_be_bytes();
    match &change.what {
        What::Added => [b"a", &id[..]].concat(),
        What::Modified => [b"m", &id[..]].concat(),
        What::Renamed(key) => [b"r", &id[..], key].concat(),
        What::Deleted(gone) => {
            let length = u16::try_from(gone.key.len()).unwrap_or(u16::MAX).to_be_bytes();
            [b"d", &id[..], &gone.uuid, &length, &gone.key, gone.name.as_bytes()].concat()
        }
    }
}

/// Begins it anew, if something is missing in it, or ends it if nothing is to be `kept`.
pub(crate) fn begin(txn: &mut WriteTxn<'_>, kept: u32, now: Moment) -> Result<()> {
    let (entries, history) = (txn.open_table(ENTRY, None)?, txn.open_table(HISTORY, None)?);
    if kept == 0 {
        return if txn.view(history)?.is_empty() { Ok(()) } else { txn.table_by_id(history)?.clear().map(drop) };
    }
    if !has_gap(&txn.view(entries)?, &txn.view(history)?)? {
        return Ok(());
    }
    let start = next(&txn.view(history)?, now)?;
    txn.table_by_id(history)?.clear()?;
    put_head(txn, history, (start, start), &[])
}

/// Writes from where on no change is missing, up to where entries have come with numbers of their own, and what was known then.
fn put_head(
    txn: &mut WriteTxn<'_>,
    history: duramen::TableId,
    (start, foreign): (Moment, Moment),
    known: &[u8],
) -> Result<()> {
    txn.put(history, HEAD, [&start.0.to_be_bytes()[..], &foreign.0.to_be_bytes(), known].concat())
}

/// As [`put_head`], of what was known as it is written there.
fn move_head(txn: &mut WriteTxn<'_>, ids: Ids, (start, foreign): (Option<Moment>, Moment)) -> Result<()> {
    let head = txn.view(ids.history)?.get(HEAD)?.unwrap_or_default().to_vec();
    let start = start.unwrap_or(Moment(number(&head)));
    put_head(txn, ids.history, (start, foreign), head.get(IN_HEAD..).unwrap_or_default())
}

/// Begins it anew from a change that another server has made, as of which the directory is a copy of that one.
pub(crate) fn restart(txn: &mut WriteTxn<'_>, ids: Ids, number: Moment) -> Result<()> {
    txn.table_by_id(ids.history)?.clear()?;
    put_head(txn, ids.history, (number, number), &[])
}

/// Has the newest change be one of another number, which is greater: whoever knows of it already is told again, and knows then
/// that there is nothing else up to there. Where no change is noted all stays as it is.
pub(crate) fn advance(txn: &mut WriteTxn<'_>, ids: Ids, to: Moment) -> Result<()> {
    let history = txn.view(ids.history)?;
    let Some((key, value)) = history.last()?.map(|(key, value)| (key.to_vec(), value.to_vec())) else { return Ok(()) };
    if key == HEAD || number(&key) >= to.0 {
        return Ok(());
    }
    txn.table_by_id(ids.history)?.delete(&key)?;
    txn.put(ids.history, to.0.to_be_bytes(), value)?;
    let foreign = txn.view(ids.history)?.get(HEAD)?.map_or(0, |head| number(head.get(8..).unwrap_or_default()));
    move_head(txn, ids, (None, Moment(foreign.max(to.0))))
}

/// Has this table change with that of entries, where nobody is told of what changes: else it would seem to be missing.
fn pass_over(txn: &mut WriteTxn<'_>, ids: Ids) -> Result<()> {
    if has_gap(&txn.view(ids.entry)?, &txn.view(ids.history)?)? {
        return Ok(());
    }
    let Some(head) = txn.view(ids.history)?.get(HEAD)?.map(<[u8]>::to_vec) else { return Ok(()) };
    txn.put(ids.history, HEAD, head)
}

/// What an update does to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// How many changes are kept.
    pub kept: u32,
    /// In the order of their numbers.
    pub changes: smallvec::SmallVec<[Change; 1]>,
    /// The last change of an entry that came with a number of its own.
    pub foreign: Option<Moment>,
    /// Something changes that is nobody's but this server's, and nobody is told of it.
    pub is_private: bool,
    /// This server, where it takes changes together with others; and whether these are changes of its own.
    pub member: Option<Member>,
    pub is_own: bool,
}

impl Notes {
    /// Writes them. Nothing else of the update is written before.
    pub fn write(&self, txn: &mut WriteTxn<'_>, ids: Ids) -> Result<()> {
        let Some(first) = self.changes.first() else {
            return if self.is_private { pass_over(txn, ids) } else { Ok(()) };
        };
        if has_gap(&txn.view(ids.entry)?, &txn.view(ids.history)?)? {
            // The number before stayed free.
            let start = Moment(first.number.0 - 1);
            txn.table_by_id(ids.history)?.clear()?;
            put_head(txn, ids.history, (start, start), &[])?;
        }
        for change in &self.changes {
            txn.put(ids.history, key_of(change), encode(change))?;
        }
        if let Some(foreign) = self.foreign {
            move_head(txn, ids, (None, foreign))?;
        }
        if let Some(member) = self.member.filter(|_| self.is_own) {
            self.write_own(txn, member)?;
        }
        self.trim(txn, ids)
    }

    /// What those are to know who take changes together with this server.
    fn write_own(&self, txn: &mut WriteTxn<'_>, member: Member) -> Result<()> {
        for change in &self.changes {
            if let What::Deleted(gone) = &change.what {
                let (at, csn) = (change.number, member.csn_text(change.number));
                membership::put_tomb(txn, &gone.uuid, &Tomb { at, csn, name: gone.name.clone() })?;
            }
        }
        let last = self.changes.iter().map(|change| change.number).max();
        last.map_or(Ok(()), |last| member.advance(txn, last))
    }

    /// Forgets of entries whose deletion is not kept any more that they are gone.
    fn forget_tombs(&self, txn: &mut WriteTxn<'_>, ids: Ids, last: Moment) -> Result<()> {
        if self.member.is_none() {
            return Ok(());
        }
        let history = txn.view(ids.history)?;
        let mut gone = Vec::new();
        for item in history.range(1u64.to_be_bytes()..last.0.saturating_add(1).to_be_bytes())? {
            let (key, value) = item?;
            if let Some(Change { what: What::Deleted(one), .. }) = decode(key, value) {
                gone.push(one.uuid);
            }
        }
        gone.iter().try_for_each(|uuid| membership::forget_tomb(txn, uuid, Some(last)))
    }

    /// Takes the oldest away, once there are many more than are kept.
    fn trim(&self, txn: &mut WriteTxn<'_>, ids: Ids) -> Result<()> {
        let history = txn.view(ids.history)?;
        let most = u64::from(self.kept);
        if history.len() <= most + TRIMMED as u64 {
            return Ok(());
        }
        // Another number may be in force than before.
        let surplus = usize::try_from(history.len() - 1 - most).unwrap_or(usize::MAX);
        let mut rest = history.range(1u64.to_be_bytes()..)?;
        let Some(last) = rest.nth(surplus - 1).transpose()?.map(|(key, _)| number(key)) else { return Ok(()) };
        let foreign = history.get(HEAD)?.map_or(0, |head| number(head.get(8..).unwrap_or_default()));
        drop(rest);
        let known = known_at(&history, Moment(last))?;
        self.forget_tombs(txn, ids, Moment(last))?;
        // With all that have this number.
        txn.table_by_id(ids.history)?.delete_range(1u64.to_be_bytes()..last.saturating_add(1).to_be_bytes())?;
        put_head(txn, ids.history, (Moment(last), Moment(foreign)), &known)
    }
}
