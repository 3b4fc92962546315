//! Trigrams that have come or gone, and are not in table `index` yet: table `waiting`.
//!
//! Owns: what a record says, and when records are merged into the index. Must not know: what trigrams are of.
//!
//! An entry has some eighty trigrams, each in a container of its own, and most of them are those of its neighbours too. So
//! an update notes them in one record, and those of hundreds of entries are written together later. A search looks at the
//! records too, of which there are few.
//!
//! A record's key is an id. Its value: a byte that is 1 if the record is *whole*, and sorted changes of 6 bytes each.
//!
//! | bytes of a change | |
//! |---|---|
//! | 2 | the attribute's number |
//! | 3 | the trigram |
//! | 1 | 1 if it comes, 0 if it goes |
//!
//! Invariant: what comes the entry has, and the index does not; what goes the index has, and the entry does not; whatever
//! else it has is in the index. Of a whole record's entry the index has only what the record names.

use duramen::{Edit, Error, Result, Table, WriteTxn};
use smallvec::SmallVec;

use super::copied::{Waiting, each_record};
use super::key::{Trigram, trigram_of};
use super::write::{Change, change_trigrams};
use crate::schema::AttributeId;
use crate::tables::{Id, Ids, read_id};

/// From so many records on they are merged.
pub(crate) const MERGED_FROM: u64 = 512;
/// So many are merged at once.
const MERGED_AT_ONCE: usize = 4096;
/// An entry with more changes does not wait: a search looks at all records.
const CHANGES_MAX: usize = 1000;

/// A trigram of an attribute; and whether it comes.
pub(super) type Step = [u8; 6];

const COMES: u8 = 1;

fn step(attribute: AttributeId, trigram: Trigram, comes: bool) -> Step {
    let ([a, b], [c, d, e]) = (attribute.number().to_be_bytes(), trigram);
    [a, b, c, d, e, u8::from(comes)]
}

/// What a step is about, as a number: records are in its order.
fn subject(&[a, b, c, d, e, _]: &Step) -> u64 {
    u64::from(u32::from_be_bytes([a, b, c, d])) << 8 | u64::from(e)
}

/// A record.
#[derive(Clone, Copy)]
pub(crate) struct Record<'r> {
    pub(super) is_whole: bool,
    pub(super) steps: &'r [Step],
}

impl<'r> Record<'r> {
    fn read(bytes: &'r [u8]) -> Record<'r> {
        let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
        Record { is_whole: *first == 1, steps: rest.as_chunks().0 }
    }

    /// Whether the subject of a step comes or goes, if the record says.
    fn comes(&self, wanted: u64) -> Option<bool> {
        let found = self.steps.binary_search_by_key(&wanted, subject);
        found.ok().map(|place| self.steps[place][5] == COMES)
    }

    /// Whether the entry comes into question for all of these subjects. `is_in_index`: it does by the index.
    fn may_have(&self, wanted: &[u64], is_in_index: bool) -> bool {
        if self.is_whole {
            return wanted.iter().all(|wanted| self.comes(*wanted) == Some(true));
        }
        let mut may = is_in_index;
        for wanted in wanted {
            match self.comes(*wanted) {
                Some(false) => return false,
                Some(true) => may = true,
                None => {}
            }
        }
        may
    }

    /// What it changes of the containers of an entry.
    pub fn changes(self, id: Id) -> impl Iterator<Item = Change> + use<'r> {
        self.steps.iter().map(move |&[a, b, c, d, e, comes]| {
            Change::new(AttributeId(u16::from_be_bytes([a, b])), id, [c, d, e], comes == COMES)
        })
    }
}

/// All records, by id.
pub(crate) fn records<'t>(waiting: &Table<'t>) -> impl Iterator<Item = Result<(Id, Record<'t>)>> + use<'t> {
    waiting.iter().map(|item| {
        let (key, bytes) = item?;
        let id = read_id(key).ok_or(Error::Usage { what: "a record of waiting trigrams has an id" })?;
        Ok((id, Record::read(bytes)))
    })
}

/// What is waiting of one entry.
pub(crate) fn waiting_changes(waiting: &Table<'_>, id: Id) -> Result<Vec<Change>> {
    let record = waiting.get(id.to_be_bytes())?.map(Record::read);
    Ok(record.map_or_else(Vec::new, |record| record.changes(id).collect()))
}

/// What the index found for trigrams, in the light of the records.
pub(super) fn correct(
    waiting: &Waiting<'_>,
    attribute: AttributeId,
    wanted: &[Trigram],
    found: Vec<Id>,
) -> Result<Vec<Id>> {
    if waiting.table.is_empty() {
        return Ok(found);
    }
    let wanted: SmallVec<[u64; 8]> = wanted.iter().map(|trigram| subject(&step(attribute, *trigram, false))).collect();
    let (mut right, mut rest) = (Vec::with_capacity(found.len()), found.as_slice());
    each_record(waiting, |id, record| {
        // Most records are between two of what was found.
        if rest.first().is_some_and(|found| *found < id) {
            let (before, behind) = rest.split_at(rest.partition_point(|found| *found < id));
            right.extend_from_slice(before);
            rest = behind;
        }
        let is_in_index = rest.first() == Some(&id);
        rest = &rest[usize::from(is_in_index)..];
        if record.may_have(&wanted, is_in_index) {
            right.push(id);
        }
    })?;
    right.extend_from_slice(rest);
    Ok(right)
}

/// Trigrams that an update changes of an entry.
pub(super) struct Noted {
    /// The entry was not there before.
    is_new: bool,
    /// It is not there any more.
    is_gone: bool,
    steps: Vec<Step>,
}

impl Noted {
    /// Nothing yet, of an entry that is new, or gone, or neither.
    pub fn new(is_new: bool, is_gone: bool) -> Noted {
        Noted { is_new, is_gone, steps: Vec::new() }
    }

    /// Takes note of the key of a trigram, without its window. Keys ascend.
    pub fn push(&mut self, key: &[u8], comes: bool) {
        let (attribute, trigram) = trigram_of(key);
        self.steps.push(step(attribute, trigram, comes));
    }

    /// Adds what was noted to the entry's record.
    pub fn write(&self, txn: &mut WriteTxn<'_>, ids: Ids, id: Id) -> Result<()> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let mut at_once = None;
        txn.table_by_id(ids.waiting)?.edit(id.to_be_bytes(), |before| {
            let record = self.onto(before);
            match record.len() / size_of::<Step>() {
                0 => return Edit::Delete,
                1..=CHANGES_MAX => return Edit::Put(record.into()),
                _ => at_once = Some(record),
            }
            Edit::Delete
        })?;
        match at_once {
            Some(record) => {
                let mut changes: Vec<_> = Record::read(&record).changes(id).collect();
                change_trigrams(&mut txn.table_by_id(ids.index)?, &mut changes)
            }
            None => Ok(()),
        }
    }

    /// The record that there is to be: what comes and goes again, or the other way round, need not be written.
    fn onto(&self, before: Option<&[u8]>) -> Vec<u8> {
        let before = before.map_or(Record { is_whole: self.is_new, steps: &[] }, Record::read);
        let mut record = Vec::with_capacity(1 + size_of_val(before.steps) + size_of_val(&self.steps[..]));
        record.push(0);
        // What went and comes back is in the index, and not in the record any more.
        let mut came_back = false;
        let (mut old, mut new) = (before.steps, self.steps.as_slice());
        while let (Some((a, behind_a)), Some((b, behind_b))) = (old.split_first(), new.split_first()) {
            let order = subject(a).cmp(&subject(b));
            if order.is_eq() && a != b {
                came_back |= a[5] != COMES;
            } else {
                record.extend_from_slice(if order.is_le() { a } else { b });
            }
            old = if order.is_le() { behind_a } else { old };
            new = if order.is_ge() { behind_b } else { new };
        }
        [old, new].into_iter().flatten().for_each(|step| record.extend_from_slice(step));
        record[0] = u8::from(self.is_gone || before.is_whole && !came_back);
        record
    }
}

/// Merges records into the index, the first ones if they are very many.
pub(crate) fn merge(txn: &mut WriteTxn<'_>, ids: Ids) -> Result<()> {
    let (mut changes, mut last) = (Vec::new(), None);
    for record in records(&txn.view(ids.waiting)?).take(MERGED_AT_ONCE) {
        let (id, record) = record?;
        changes.extend(record.changes(id));
        last = Some(id.to_be_bytes());
    }
    let Some(last) = last else { return Ok(()) };
    change_trigrams(&mut txn.table_by_id(ids.index)?, &mut changes)?;
    txn.table_by_id(ids.waiting)?.delete_range(..=last).map(drop)
}

/// Merges all records.
pub(crate) fn merge_all(txn: &mut WriteTxn<'_>) -> Result<()> {
    let ids = Ids::open(txn)?;
    while !txn.view(ids.waiting)?.is_empty() {
        merge(txn, ids)?;
    }
    Ok(())
}
