//! Server-side sorting (RFC 2891), by any attribute.

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::control::{SortKey, SortKeys};
use duramen_ldap::matching::Rule;
use duramen_ldap::message::ResultCode;

use crate::access::{Level, What};
use crate::failure::Result;
use crate::filter::{fits, options};
use crate::schema::{AttributeId, Schema};
use crate::view::View;

/// So many keys are sorted by at most: each entry's values for all of them are kept until all is found.
const KEYS_MAX: usize = 16;

/// So many values in table `value` are looked at for one entry, which cannot pause. One that has more is sorted as if it had
/// none.
const LARGE_VALUES_MAX: u32 = 100_000;

/// Bytes that an entry is sorted by at most, of all keys together: cookies hold them, and all that are found are kept at
/// once. Entries that have all of these in common are in the order of their ids.
const RANK_BYTES_MAX: usize = 1024;

/// What entries are sorted by.
#[derive(Debug)]
pub(crate) struct Order {
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Key {
    types: Vec<AttributeId>,
    /// What a value stands under, in lower case.
    options: Vec<String>,
    rule: Option<&'static Rule>,
    reverse: bool,
}

/// What an entry is sorted by, of all keys: bytes in whose order the entries come. It is never empty.
pub(crate) type Rank = Vec<u8>;

impl Order {
    /// From the control; or the code of the response control, and the attribute.
    pub fn new(schema: &Schema, keys: SortKeys<'_>) -> std::result::Result<Order, (ResultCode, String)> {
        if let Some(key) = keys.0.iter().nth(KEYS_MAX) {
            return Err((ResultCode::UNWILLING_TO_PERFORM, key.description.to_string()));
        }
        let keys = keys.0.iter().map(|key| Key::new(schema, &key).map_err(|code| (code, key.description.to_string())));
        Ok(Order { keys: keys.collect::<std::result::Result<_, _>>()? })
    }

    /// What an entry is sorted by. Values that may not be searched for are as if they were missing: the order would tell
    /// of them.
    pub fn rank(&self, view: &View<'_, '_>) -> Result<Rank> {
        let (mut left, mut rank) = (LARGE_VALUES_MAX, Rank::new());
        for key in &self.keys {
            key.write_rank(key.value(view, &mut left)?.as_deref(), &mut rank);
        }
        Ok(rank)
    }

    /// What entries can be held against by the first key; `None` if that has no such value.
    pub fn bound(&self, schema: &Schema, value: &[u8]) -> Option<Bound> {
        let (key, mut form) = (self.keys.first()?.clone(), Vec::new());
        let is_one = match key.rule {
            Some(rule) => rule.normalize_assertion(value, schema, &mut form).is_ok(),
            None => key.normalize(schema, value, &mut form),
        };
        is_one.then(|| Bound { rank: key.rank(Some(&form)), key })
    }
}

/// A value of an order's first key.
#[derive(Debug)]
pub(crate) struct Bound {
    key: Key,
    rank: Rank,
}

impl Bound {
    /// Whether an entry comes before it.
    pub fn is_behind(&self, view: &View<'_, '_>) -> Result<bool> {
        let value = self.key.value(view, &mut { LARGE_VALUES_MAX })?;
        Ok(self.key.rank(value.as_deref()) < self.rank)
    }
}

impl Key {
    fn new(schema: &Schema, key: &SortKey<'_>) -> std::result::Result<Key, ResultCode> {
        let description = AttributeDescription::parse(key.description).map_err(|_| ResultCode::NO_SUCH_ATTRIBUTE)?;
        let attribute = schema.find(description.kind).ok_or(ResultCode::NO_SUCH_ATTRIBUTE)?;
        let rule = match key.rule {
            Some(rule) => Some(Rule::find(rule).ok_or(ResultCode::INAPPROPRIATE_MATCHING)?),
            None => attribute.ordering.or(attribute.equality),
        };
        let (types, options) = (attribute.family.clone(), options(&description));
        Ok(Key { types, options, rule, reverse: key.reverse })
    }

    fn rank(&self, value: Option<&[u8]>) -> Rank {
        let mut rank = Rank::new();
        self.write_rank(value, &mut rank);
        rank
    }

    /// Appends to the rank by the keys before this one. Each value ends with two zeros, of which there is no other pair, so
    /// that one comes before those that it is the beginning of. None comes behind all.
    fn write_rank(&self, value: Option<&[u8]>, rank: &mut Rank) {
        let begin = rank.len();
        rank.push(u8::from(value.is_none()));
        // No byte of these is written as none, so what is behind is cut.
        for &byte in value.unwrap_or_default().iter().take(RANK_BYTES_MAX.saturating_sub(begin)) {
            rank.push(byte);
            rank.extend((byte == 0).then_some(0xFF));
        }
        rank.extend([0, 0]);
        if self.reverse {
            rank[begin..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        rank.truncate(RANK_BYTES_MAX);
    }

    /// The least value; none if there are more outside of the entry than may be looked at.
    fn value(&self, view: &View<'_, '_>, left: &mut u32) -> Result<Option<Vec<u8>>> {
        let (mut least, mut form): (Option<Vec<u8>>, _) = (None, Vec::new());
        let mut consider = |id, value: &[u8]| {
            form.clear();
            let may = view.allows(What::Attribute(id, Some(value)), Level::Search);
            if may && self.normalize(&view.scene.state.schema, value, &mut form) {
                match &mut least {
                    Some(least) if form >= *least => {}
                    Some(least) => std::mem::swap(least, &mut form),
                    None => least = Some(std::mem::take(&mut form)),
                }
            }
        };
        for &id in &self.types {
            let stored = view.entry.of_type(id).filter(|attribute| fits(attribute, &self.options));
            stored.flat_map(|attribute| attribute.values()).for_each(|value| consider(id, value));
        }
        // Those have no options.
        let is_sought = |id| self.options.is_empty() && self.types.contains(&id);
        for large in view.entry.large().filter(|large| is_sought(large.id)) {
            let Some(rest) = left.checked_sub(large.count) else { return Ok(None) };
            *left = rest;
            view.large(large.id, &mut |value| consider(large.id, value))?;
        }
        Ok(least)
    }

    /// Whether a value can be sorted by; its form.
    fn normalize(&self, schema: &Schema, value: &[u8], form: &mut Vec<u8>) -> bool {
        match self.rule {
            Some(rule) => rule.normalize(value, schema, form).is_ok(),
            None => {
                form.extend(value.iter().map(u8::to_ascii_lowercase));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    const VALUES: [Option<&[u8]>; 9] = [
        Some(b""),
        Some(b"\0"),
        Some(b"\0\0"),
        Some(b"\0\x01"),
        Some(b"\0\xFF"),
        Some(b"a"),
        Some(b"a\0"),
        Some(b"\xFF\xFF"),
        None,
    ];

    fn key(reverse: bool) -> Key {
        Key { types: Vec::new(), options: Vec::new(), rule: None, reverse }
    }

    #[test]
    fn ranks_compare_as_the_values_of_all_keys_one_after_another() {
        let places = || (0..VALUES.len()).flat_map(|a| (0..VALUES.len()).map(move |b| (a, b)));
        for reverse in [(false, false), (false, true), (true, false), (true, true)] {
            let rank = |(a, b): (usize, usize)| {
                let mut rank = key(reverse.0).rank(VALUES[a]);
                key(reverse.1).write_rank(VALUES[b], &mut rank);
                rank
            };
            let turn = |order: Ordering, is_turned| if is_turned { order.reverse() } else { order };
            for (one, other) in places().flat_map(|one| places().map(move |other| (one, other))) {
                let expected = turn(one.0.cmp(&other.0), reverse.0).then(turn(one.1.cmp(&other.1), reverse.1));
                assert_eq!(rank(one).cmp(&rank(other)), expected, "{one:?} and {other:?}, {reverse:?}");
            }
        }
    }

    #[test]
    fn ranks_of_long_values_are_cut() {
        for reverse in [false, true] {
            let rank = |end: &[u8]| key(reverse).rank(Some(&[&[7; RANK_BYTES_MAX][..], end].concat()));
            assert_eq!((rank(b"a").len(), rank(b"a")), (RANK_BYTES_MAX, rank(b"b")));
            let mut both = rank(b"");
            key(reverse).write_rank(Some(b"a"), &mut both);
            assert_eq!(both, rank(b""));
        }
    }
}
