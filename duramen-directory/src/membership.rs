//! Taking changes of a suffix together with other servers: what is kept of it.
//!
//! Owns: table `member`, which is there only where that is so, and what the own changes are to what is known of the suffix. Must not
//! know: what becomes of what others tell.
//!
//! | key | value |
//! |---|---|
//! | `j`, normalized suffix | that changes are taken together with others; what of the work at the beginning is done ([`Stage`]) |
//! | `p`, normalized suffix, 0, URL of another server | the number up to which that one's history has been heard (8 bytes) |
//! | `m`, normalized suffix, 0, URL of another server | that one is telling, and what it has told is not all that belongs to it |
//! | `h`, normalized suffix, 0, UUID of an entry | something was made here that stands for it, as it was deleted and something is below it |
//! | `t`, normalized suffix | another server has the number of this one, or had ([`Twin`]): two change sequence numbers |
//! | `g`, UUID of an entry that is gone | number of the change here (8 bytes), change sequence number of the deletion (40 bytes), name |
//!
//! What is known of a suffix stands in table `copy`, as for every copy. The own changes since the server has begun are known
//! without a gap; between these and those from before there may be one: an older state of the data may have been put in its place.

use duramen::{Result, Table, WriteTxn};

use crate::clock::Moment;
use crate::knowledge::{Knowledge, server_of};
use crate::tables::{COPY, MEMBER, Uuid, telling_key};

/// Length of a change sequence number.
const CSN: usize = 40;

/// This server, among those that take changes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its number.
    pub server: u16,
    /// Since when it knows all that it changes.
    pub since: Moment,
}

/// Another server has the number that this one has, or had when that was found. Neither is told what the other has changed with it,
/// as that seems to be its own; who knows a later change of one takes an earlier one of the other for an old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Twin {
    /// What this server has made with the number since then may not be known to others.
    since: String,
    /// The change of the other one by which it was found.
    pub heard: String,
}

impl Twin {
    /// Whether nothing was done about it yet: this server has not begun anew since it was found.
    pub fn is_there(&self, member: Member) -> bool {
        server_of(self.heard.as_bytes()) == Some(member.server) && self.heard > member.csn_text(member.since)
    }

    /// Whether a change, by its number, may be one of this server's that are not known to others.
    pub fn hides(&self, csn: &[u8]) -> bool {
        server_of(csn) == server_of(self.heard.as_bytes()) && csn > self.since.as_bytes()
    }
}

/// How far it is with a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Entries may have numbers of before.
    New,
    /// All entries have numbers of those who change them together; nobody else was heard yet.
    Founded,
    /// All is there that another one had, or that was there at first.
    Complete,
}

/// An entry that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tomb {
    /// The number of that change here.
    pub at: Moment,
    /// The change sequence number of the deletion.
    pub csn: String,
    pub name: String,
}

impl Member {
    /// The change sequence number of a change of its own.
    pub fn csn(&self, number: Moment) -> [u8; CSN] {
        number.csn_of(self.server)
    }

    /// As text.
    pub fn csn_text(&self, number: Moment) -> String {
        String::from_utf8_lossy(&self.csn(number)).into_owned()
    }

    /// The server that has the same number, if one does: by what is known elsewhere, a change that is later than all that this one
    /// knows, and than its beginning. Of such a one it would be the maker.
    pub fn twin(&self, known: &Knowledge, elsewhere: &Knowledge) -> Option<Twin> {
        let (heard, since) = (elsewhere.number_of(self.server)?, self.csn_text(self.since));
        let is_known = known.number_of(self.server).is_some_and(|own| own >= heard);
        (!is_known && heard > since.as_str()).then(|| Twin { since, heard: heard.to_string() })
    }

    /// The same, beginning behind what servers with the same number have changed: of that it is told, as of others' changes.
    pub fn behind_twins(self, table: &Table<'_>) -> Result<Member> {
        let mut since = self.since;
        for item in table.prefix(b"t")? {
            let twin = twin_of(item?.1).filter(|twin| server_of(twin.heard.as_bytes()) == Some(self.server));
            since = since.max(twin.and_then(|twin| Moment::of_csn(twin.heard.as_bytes())).unwrap_or(since));
        }
        Ok(Member { since, ..self })
    }

    /// Takes note, in what is known, of all changes of its own up to one.
    pub fn add_own(&self, known: &mut Knowledge, number: Moment) {
        let since = self.since.min(Moment(number.0.saturating_sub(1)));
        known.add_behind(&self.csn_text(since), &self.csn_text(number));
    }

    /// Takes note of changes of its own, up to one, for all suffixes.
    pub fn advance(&self, txn: &mut WriteTxn<'_>, number: Moment) -> Result<()> {
        let mut table = txn.table(COPY)?;
        let mut all = Vec::new();
        for item in table.iter() {
            let (key, cookie) = item?;
            if !key.ends_with(b"\0") {
                let mut known = Knowledge::of_cookie(cookie);
                self.add_own(&mut known, number);
                all.push((key.to_vec(), cookie_of(&known)));
            }
        }
        all.into_iter().try_for_each(|(key, cookie)| table.put(key, cookie))
    }
}

/// A number for a change behind another one. Where the clock does not tell it, as it is behind, chance does: after an older state of
/// the data was put in its place, no change has the number again that another one had.
pub(crate) fn number_behind(last: Moment, now: Moment) -> Moment {
    let by_chance = uuid::Uuid::new_v4().as_bytes()[0];
    if now.0 > last.0.saturating_add(1) { now } else { last.after(2 + u64::from(by_chance)) }
}

/// What is known, as it is kept.
pub(crate) fn cookie_of(known: &Knowledge) -> Vec<u8> {
    format!("rid=000,csn={}{}", known.text(), known.gaps()).into_bytes()
}

fn stage_key(suffix: &str) -> Vec<u8> {
    [b"j", suffix.as_bytes()].concat()
}

fn position_key(suffix: &str, url: &str) -> Vec<u8> {
    [b"p", suffix.as_bytes(), b"\0", url.as_bytes()].concat()
}

fn tomb_key(uuid: &Uuid) -> Vec<u8> {
    [&b"g"[..], uuid].concat()
}

/// Changes of these suffixes are taken together with others: of one of which that was not so nothing is known.
pub(crate) fn join(txn: &mut WriteTxn<'_>, suffixes: &[String]) -> Result<()> {
    for suffix in suffixes {
        if stage(&txn.table(MEMBER)?.view(), suffix)?.is_none() {
            put_stage(txn, suffix, Stage::New)?;
            let mut table = txn.table(COPY)?;
            table.put(suffix, cookie_of(&Knowledge::default()))?;
            table.delete(telling_key(suffix))?;
        }
    }
    Ok(())
}

/// No changes are taken together with others any more.
pub(crate) fn leave(txn: &mut WriteTxn<'_>) -> Result<()> {
    let Some(id) = txn.find_table(MEMBER, None)? else { return Ok(()) };
    let mut suffixes = Vec::new();
    for item in txn.view(id)?.prefix(b"j")? {
        suffixes.push(item?.0[1..].to_vec());
    }
    let mut table = txn.table(COPY)?;
    suffixes.into_iter().try_for_each(|suffix| table.delete(suffix).map(drop))?;
    txn.drop_table(MEMBER).map(drop)
}

/// How far it is with a suffix, if changes of it are taken together with others.
pub(crate) fn stage(table: &Table<'_>, suffix: &str) -> Result<Option<Stage>> {
    Ok(table.get(stage_key(suffix))?.map(|value| match value.first() {
        Some(b'2') => Stage::Complete,
        Some(b'1') => Stage::Founded,
        _ => Stage::New,
    }))
}

/// It is so far with a suffix.
pub(crate) fn put_stage(txn: &mut WriteTxn<'_>, suffix: &str, stage: Stage) -> Result<()> {
    let value = match stage {
        Stage::New => b"0",
        Stage::Founded => b"1",
        Stage::Complete => b"2",
    };
    txn.table(MEMBER)?.put(stage_key(suffix), value)
}

/// The number up to which the history of another server has been heard.
pub(crate) fn position(table: &Table<'_>, suffix: &str, url: &str) -> Result<Option<Moment>> {
    let value = table.get(position_key(suffix, url))?.and_then(|value| value.first_chunk().copied());
    Ok(value.map(|value| Moment(u64::from_be_bytes(value))))
}

/// So far the history of another server has been heard.
pub(crate) fn put_position(txn: &mut WriteTxn<'_>, suffix: &str, url: &str, number: Moment) -> Result<()> {
    txn.table(MEMBER)?.put(position_key(suffix, url), number.0.to_be_bytes())
}

/// Notes whether another server has told only a part of what belongs together.
pub(crate) fn put_partial(txn: &mut WriteTxn<'_>, suffix: &str, url: &str, is_partial: bool) -> Result<()> {
    let (key, mut table) = ([b"m", suffix.as_bytes(), b"\0", url.as_bytes()].concat(), txn.table(MEMBER)?);
    if is_partial { table.put(key, b"") } else { table.delete(key).map(drop) }
}

/// Whether any has told only a part of what belongs together.
pub(crate) fn is_partial(table: &Table<'_>) -> Result<bool> {
    Ok(table.prefix(b"m")?.next().transpose()?.is_some())
}

fn stand_in_key(suffix: &str, uuid: &[u8]) -> Vec<u8> {
    [b"h", suffix.as_bytes(), b"\0", uuid].concat()
}

/// Something stands for an entry that was deleted.
pub(crate) fn put_stand_in(txn: &mut WriteTxn<'_>, suffix: &str, uuid: &Uuid) -> Result<()> {
    txn.table(MEMBER)?.put(stand_in_key(suffix, uuid), b"")
}

/// Nothing stands for an entry any more.
pub(crate) fn forget_stand_in(txn: &mut WriteTxn<'_>, suffix: &str, uuid: &Uuid) -> Result<()> {
    txn.table(MEMBER)?.delete(stand_in_key(suffix, uuid)).map(drop)
}

fn twin_of(value: &[u8]) -> Option<Twin> {
    let (since, heard) = std::str::from_utf8(value).ok()?.split_at_checked(CSN)?;
    Some(Twin { since: since.to_string(), heard: heard.to_string() })
}

fn twin_key(suffix: &str) -> Vec<u8> {
    [b"t", suffix.as_bytes()].concat()
}

/// The server that has, or had, the number of this one, as far as that is to be made good yet.
pub(crate) fn twin(table: &Table<'_>, suffix: &str) -> Result<Option<Twin>> {
    Ok(table.get(twin_key(suffix))?.and_then(twin_of))
}

/// Keeps that there is a server with the number of this one.
pub(crate) fn put_twin(txn: &mut WriteTxn<'_>, suffix: &str, new: Twin) -> Result<()> {
    let mut table = txn.table(MEMBER)?;
    let before = twin(&table.view(), suffix)?.filter(|before| before.hides(new.since.as_bytes()));
    let since = before.map_or(new.since, |before| before.since);
    table.put(twin_key(suffix), [since, new.heard].concat())
}

/// All is made good.
pub(crate) fn forget_twin(txn: &mut WriteTxn<'_>, suffix: &str) -> Result<()> {
    txn.table(MEMBER)?.delete(twin_key(suffix)).map(drop)
}

/// Entries for which something stands.
pub(crate) fn stand_ins(table: &Table<'_>, suffix: &str) -> Result<Vec<Uuid>> {
    let key = stand_in_key(suffix, &[]);
    let uuids = table.prefix(&key)?.map(|item| Ok(item?.0.get(key.len()..).and_then(|uuid| Uuid::try_from(uuid).ok())));
    uuids.filter_map(Result::transpose).collect()
}

fn tomb_of(value: &[u8]) -> Option<Tomb> {
    let (at, rest) = value.split_first_chunk()?;
    let (csn, name) = rest.split_at_checked(CSN)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Tomb { at: Moment(u64::from_be_bytes(*at)), csn: text(csn), name: text(name) })
}

/// What is known of the deletion of an entry.
pub(crate) fn tomb(table: &Table<'_>, uuid: &Uuid) -> Result<Option<Tomb>> {
    Ok(table.get(tomb_key(uuid))?.and_then(tomb_of))
}

/// Deletions by changes that are meant.
pub(crate) fn tombs(table: &Table<'_>, is_meant: impl Fn(&Tomb) -> bool) -> Result<Vec<(Uuid, Tomb)>> {
    let decode = |(key, value): (&[u8], &[u8])| {
        let tomb = tomb_of(value).filter(&is_meant)?;
        Some((Uuid::try_from(key.get(1..)?).ok()?, tomb))
    };
    table.prefix(b"g")?.filter_map(|item| item.map(decode).transpose()).collect()
}

/// Keeps that an entry is gone.
pub(crate) fn put_tomb(txn: &mut WriteTxn<'_>, uuid: &Uuid, tomb: &Tomb) -> Result<()> {
    let value = [&tomb.at.0.to_be_bytes()[..], tomb.csn.as_bytes(), tomb.name.as_bytes()].concat();
    txn.table(MEMBER)?.put(tomb_key(uuid), value)
}

/// Forgets that an entry was gone; `up_to`: only if that was not later than this change here.
pub(crate) fn forget_tomb(txn: &mut WriteTxn<'_>, uuid: &Uuid, up_to: Option<Moment>) -> Result<()> {
    let mut table = txn.table(MEMBER)?;
    if up_to.is_some_and(|up_to| tomb(&table.view(), uuid).ok().flatten().is_some_and(|tomb| tomb.at > up_to)) {
        return Ok(());
    }
    table.delete(tomb_key(uuid)).map(drop)
}
