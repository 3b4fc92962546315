//! Sets of ids out of table `index`.

use duramen::Table;
use roaring::RoaringBitmap;
use smallvec::SmallVec;

use super::container::{CONTAINER_BITS, add_to, small};
use super::key::{Kind, key, put_window, sorted_part, value_key, window_of};
use super::reach::Reach;
use crate::failure::{Result, damaged};
use crate::schema::AttributeId;
use crate::tables::Id;

/// So few ids are sooner looked through than searched.
const FEW: usize = 16;

/// Ids, ascending.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Set {
    Few(SmallVec<[Id; 4]>),
    Many(RoaringBitmap),
}

impl Set {
    pub fn empty() -> Set {
        Set::Few(SmallVec::new())
    }

    pub fn one(id: Id) -> Set {
        Set::Few(SmallVec::from_slice(&[id]))
    }

    /// Of ids that ascend.
    pub fn of_sorted(ids: Vec<Id>) -> Set {
        if ids.len() <= FEW { Set::Few(SmallVec::from_vec(ids)) } else { Set::Many(ids.into_iter().collect()) }
    }

    pub fn len(&self) -> u64 {
        match self {
            Set::Few(ids) => ids.len() as u64,
            Set::Many(ids) => ids.len(),
        }
    }

    pub fn into_bitmap(self) -> RoaringBitmap {
        match self {
            Set::Few(ids) => ids.into_iter().collect(),
            Set::Many(ids) => ids,
        }
    }

    pub fn contains(&self, id: Id) -> bool {
        match self {
            Set::Few(ids) => ids.contains(&id),
            Set::Many(ids) => ids.contains(id),
        }
    }

    /// The first ids that are `from` or greater, `most` of them.
    pub fn some_from(&self, from: Id, most: usize) -> SmallVec<[Id; FEW]> {
        match self {
            Set::Few(ids) => ids.iter().copied().filter(|id| *id >= from).take(most).collect(),
            Set::Many(ids) => ids.range(from..).take(most).collect(),
        }
    }

    /// Leaves out this id and those behind it.
    pub fn cut(&mut self, end: Id) {
        match self {
            Set::Few(ids) => ids.retain(|id| *id < end),
            Set::Many(ids) => drop(ids.remove_range(end..)),
        }
    }

    /// All ids.
    pub fn iter(&self) -> impl Iterator<Item = Id> + '_ {
        let (few, many) = match self {
            Set::Few(ids) => (ids.as_slice(), None),
            Set::Many(ids) => (&[][..], Some(ids.iter())),
        };
        few.iter().copied().chain(many.into_iter().flatten())
    }
}

/// What is in both.
pub(crate) fn intersect(a: Set, b: Set) -> Set {
    match (a, b) {
        (Set::Many(a), Set::Many(b)) => Set::Many(a & b),
        (Set::Few(mut few), other) | (other, Set::Few(mut few)) => {
            few.retain(|id| other.contains(*id));
            Set::Few(few)
        }
    }
}

/// Collects containers. The ids of small ones, of which a range has thousands in no order, are sorted once.
#[derive(Default)]
struct Collector {
    few: SmallVec<[Id; 4]>,
    many: RoaringBitmap,
    keys: u64,
}

impl Collector {
    fn add(&mut self, window: u32, container: &[u8]) {
        self.keys += 1;
        let id = |low: u16| window << CONTAINER_BITS | u32::from(low);
        if let &[low, high] = container {
            self.few.push(id(u16::from_le_bytes([low, high])));
        } else if let Some(lows) = small(container) {
            self.few.extend(lows.map(id));
        } else {
            add_to(&mut self.many, window, container);
        }
    }

    fn finish(mut self) -> Set {
        if self.few.len() > 1 {
            self.few.sort_unstable();
            self.few.dedup();
        }
        if !self.many.is_empty() {
            self.many.extend(self.few);
            return Set::Many(self.many);
        }
        if self.few.len() <= FEW { Set::Few(self.few) } else { Set::Many(self.few.into_iter().collect()) }
    }
}

/// The entries of one key.
fn of_key(index: &Table<'_>, attribute: AttributeId, kind: Kind, value: &[u8], reach: &Reach) -> Result<Set> {
    let mut start = Vec::with_capacity(value.len() + 8);
    key(&mut start, attribute, kind, value);
    let length = start.len();
    put_window(&mut start, reach.from);
    let mut collector = Collector::default();
    for item in index.range(start.as_slice()..)? {
        let (key, container) = item?;
        // Behind the 0 that ends a value there is either the window or, in a longer value, 255.
        if key.len() != start.len() || key[..length] != start[..length] {
            break;
        }
        let window = window_of(key).ok_or_else(|| damaged("a key of an index"))?;
        if collector.keys == reach.most as u64 {
            reach.ends_before(window);
            break;
        }
        collector.add(window, container);
    }
    Ok(collector.finish())
}

/// Entries with a value, given in normalized form.
pub(crate) fn equal(index: &Table<'_>, attribute: AttributeId, value: &[u8], reach: &Reach) -> Result<Set> {
    of_key(index, attribute, Kind::Equality, value, reach)
}

/// Entries with an attribute.
pub(crate) fn present(index: &Table<'_>, attribute: AttributeId, reach: &Reach) -> Result<Set> {
    of_key(index, attribute, Kind::Presence, b"", reach)
}

/// One end of a range of values in normalized form.
pub(crate) type RangeEnd<'v> = Option<&'v [u8]>;

/// Entries that may have several values of an attribute that has one.
pub(crate) fn with_several(index: &Table<'_>, attribute: AttributeId, reach: &Reach) -> Result<Set> {
    of_key(index, attribute, Kind::Several, b"", reach)
}

/// Entries with a value of a range, ends included; `None` if more keys than `keys_max` are in it. Others are among them where an
/// end is so long that its keys do not sort by all of it.
pub(crate) fn range(
    index: &Table<'_>,
    attribute: AttributeId,
    from: RangeEnd<'_>,
    to: RangeEnd<'_>,
    keys_max: u64,
) -> Result<Option<Set>> {
    let (mut start, mut end) = (Vec::new(), Vec::new());
    match from {
        Some(value) if sorts_by_all(value) => key(&mut start, attribute, Kind::Equality, value),
        beginning => value_key(&mut start, attribute, Kind::Equality, sorted_part(beginning.unwrap_or_default())),
    }
    match to {
        Some(value) if sorts_by_all(value) => {
            key(&mut end, attribute, Kind::Equality, value);
            put_window(&mut end, Id::MAX >> CONTAINER_BITS);
        }
        beginning => {
            value_key(&mut end, attribute, Kind::Equality, sorted_part(beginning.unwrap_or_default()));
            // What is behind all that begins so, be it the next kind.
            while end.pop_if(|last| *last == u8::MAX).is_some() {}
            if let Some(last) = end.last_mut() {
                *last += 1;
            }
        }
    }
    if start > end {
        return Ok(Some(Set::empty()));
    }
    collect(index.range(start..=end)?, keys_max)
}

/// Whether keys sort by all of a value.
pub(crate) fn sorts_by_all(value: &[u8]) -> bool {
    sorted_part(value).len() == value.len()
}

/// Entries with a value that begins so, and, where that is very long, some others; `None` if more keys than `keys_max` do.
pub(crate) fn starting(
    index: &Table<'_>,
    attribute: AttributeId,
    beginning: &[u8],
    keys_max: u64,
) -> Result<Option<Set>> {
    let mut prefix = Vec::new();
    value_key(&mut prefix, attribute, Kind::Equality, sorted_part(beginning));
    collect(index.prefix(prefix)?, keys_max)
}

fn collect(items: duramen::Iter<'_>, keys_max: u64) -> Result<Option<Set>> {
    let mut collector = Collector::default();
    for item in items {
        let (key, container) = item?;
        collector.add(window_of(key).ok_or_else(|| damaged("a key of an index"))?, container);
        if collector.keys > keys_max {
            return Ok(None);
        }
    }
    Ok(Some(collector.finish()))
}
