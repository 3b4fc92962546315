//! Sets of attribute types.

use super::AttributeId;

/// A set of attribute types: a bit for each number.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttributeSet {
    bits: Vec<u64>,
}

impl AttributeSet {
    pub fn insert(&mut self, id: AttributeId) {
        let place = usize::from(id.0 / 64);
        if self.bits.len() <= place {
            self.bits.resize(place + 1, 0);
        }
        self.bits[place] |= 1 << (id.0 % 64);
    }

    #[inline]
    pub fn contains(&self, id: AttributeId) -> bool {
        self.bits.get(usize::from(id.0 / 64)).is_some_and(|bits| bits >> (id.0 % 64) & 1 == 1)
    }

    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Whether one of them is such.
    pub fn any(&self, mut is_such: impl FnMut(AttributeId) -> bool) -> bool {
        (0..).step_by(64).zip(&self.bits).any(|(first, &bits)| {
            let mut rest = bits;
            while rest != 0 {
                #[expect(clippy::cast_possible_truncation, reason = "less than 64")]
                let id = AttributeId(first + rest.trailing_zeros() as u16);
                if is_such(id) {
                    return true;
                }
                rest &= rest - 1;
            }
            false
        })
    }
}

impl FromIterator<AttributeId> for AttributeSet {
    fn from_iter<I: IntoIterator<Item = AttributeId>>(ids: I) -> AttributeSet {
        let mut set = AttributeSet::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let ids = [AttributeId(3), AttributeId(64), AttributeId(200)];
        let set: AttributeSet = ids.into_iter().rev().collect();
        assert!(AttributeSet::default().is_empty() && !set.is_empty());
        let mut found = Vec::new();
        assert!(!set.any(|id| {
            found.push(id);
            false
        }));
        assert_eq!(found, ids);
        assert!(set.any(|id| id == ids[1]));
        assert!(!set.contains(AttributeId(4)) && !set.contains(AttributeId(AttributeId::END)));
    }
}
