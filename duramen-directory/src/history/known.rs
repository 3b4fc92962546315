//! Which changes a directory has had, at which of its own numbers, of a copy of what several servers change.
//!
//! Owns: how that stands in table `history`. A pair of it says so from its number on, for all suffixes that are copies: `k`, and of
//! each the name and the numbers of the last changes, with 0 behind either. The first pair of the table says it, too, where the
//! pair that did was taken away. Must not know: what clients are told of it.

use duramen::{Result, Table, WriteTxn};

use super::{HEAD, number};
use crate::clock::Moment;
use crate::knowledge::Knowledge;
use crate::tables::{COPY, Ids};

/// The kind of a pair that says what is known.
pub(super) const KNOWN: u8 = b'k';
/// Where that stands in such a pair, behind what would be an id, and in the first pair.
const IN_PAIR: usize = 5;
pub(super) const IN_HEAD: usize = 16;

/// What is known of all suffixes that are copies, as it is written down.
fn now(txn: &mut WriteTxn<'_>) -> Result<Vec<u8>> {
    let (table, mut text) = (txn.table(COPY)?, Vec::new());
    for item in table.iter() {
        let (key, cookie) = item?;
        // The other pair of a suffix ends with 0.
        if !key.ends_with(b"\0") {
            let known = Knowledge::of_cookie(cookie).text();
            [key, b"\0", known.as_bytes(), b"\0"].iter().for_each(|part| text.extend_from_slice(part));
        }
    }
    Ok(text)
}

/// What a text says of a suffix.
fn of_suffix(text: &[u8], suffix: &str) -> Option<Knowledge> {
    let parts: Vec<&[u8]> = text.split(|byte| *byte == 0).collect();
    let pair = parts.chunks_exact(2).find(|pair| pair[0] == suffix.as_bytes())?;
    let mut known = Knowledge::default();
    std::str::from_utf8(pair[1]).ok()?.split(';').for_each(|number| known.add(number));
    Some(known)
}

/// Writes down what is known now, behind all changes that have this number.
pub(crate) fn note_known(txn: &mut WriteTxn<'_>, ids: Ids, at: Moment) -> Result<()> {
    let key = [&at.0.to_be_bytes()[..], &u32::MAX.to_be_bytes()].concat();
    let value = [&[KNOWN; 1][..], &[0; IN_PAIR - 1], &now(txn)?].concat();
    txn.put(ids.history, key, value)
}

/// The newest number up to which all is known elsewhere, where this is known of a suffix; `None` where that is before the first.
pub(crate) fn common(history: &Table<'_>, suffix: &str, there: &Knowledge) -> Result<Option<Moment>> {
    let mut common = None;
    for item in history.iter() {
        let (key, value) = item?;
        match pair(key, value, suffix) {
            None => {}
            Some((at, known)) if there.includes(&known) => common = Some(at),
            Some(_) => break,
        }
    }
    Ok(common)
}

/// Whether something may be elsewhere, where this is known, that came and went behind a number without having been here. `own`: the
/// number of this server, if it makes changes itself.
pub(crate) fn skips(
    history: &Table<'_>,
    (suffix, own): (&str, Option<u16>),
    number: Moment,
    there: &Knowledge,
) -> Result<bool> {
    let mut before = of_suffix(&known_at(history, number)?, suffix).unwrap_or_default();
    for item in history.range(number.0.saturating_add(1).to_be_bytes()..)? {
        let (key, value) = item?;
        let Some((_, known)) = pair(key, value, suffix) else { continue };
        if known.skips(&before, there, own) {
            return Ok(true);
        }
        before = known;
    }
    Ok(false)
}

/// What a pair of the table says of a suffix, and from which number on, if it does.
fn pair(key: &[u8], value: &[u8], suffix: &str) -> Option<(Moment, Knowledge)> {
    let (at, from) = match value.first()? {
        _ if key == HEAD => (number(value), IN_HEAD),
        &KNOWN => (number(key), IN_PAIR),
        _ => return None,
    };
    Some((Moment(at), of_suffix(value.get(from..)?, suffix)?))
}

/// What is known behind the first pairs of the table, up to a number, as it is written down.
pub(super) fn known_at(history: &Table<'_>, up_to: Moment) -> Result<Vec<u8>> {
    let mut known = history.get(HEAD)?.and_then(|head| head.get(IN_HEAD..)).unwrap_or_default();
    for item in history.range(1u64.to_be_bytes()..up_to.0.saturating_add(1).to_be_bytes())? {
        let (_, value) = item?;
        if value.first() == Some(&KNOWN) {
            known = value.get(IN_PAIR..).unwrap_or_default();
        }
    }
    Ok(known.to_vec())
}
