//! One operation on one table, on the engine and on the model.
//!
//! Owns: what each operation of the engine means in terms of the model. Must not know: transactions.

use std::ops::Bound;

use duramen::{Error, Put, TableId, WriteTxn};
use proptest::prelude::*;

use crate::compare::{self, Several, go, go_several, is_lost, moved, same, several};
use crate::kinds::{KeySpec, ValueSpec};
use crate::operations::{Act, Edge, Pick, Touch};
use crate::reference::{Movement, Place, Table};
use crate::run::{Outcome, Pointer, Session};

/// A table of the transaction with its model.
struct Both<'t, 'p> {
    txn: &'t mut WriteTxn<'p>,
    id: TableId,
    table: &'t mut Table,
    page_size: usize,
}

pub fn act(txn: &mut WriteTxn<'_>, session: &mut Session, name: &[u8], act: &Act) -> Outcome {
    let table = session.tables.get_mut(name).expect("a table of this name");
    let id = txn.open_table(name, Some(&table.kind.options()))?;
    let page_size = txn.view(id)?.stats().page_size;
    let mut both = Both { txn, id, table, page_size };
    if let Act::Cursor(which, touch) = act {
        return both.cursor(&mut session.cursors, usize::from(*which), touch);
    }
    both.act(act)?;
    let Both { txn, id, table, .. } = both;
    prop_assert_eq!(txn.view(id)?.len(), table.len());
    Ok(())
}

/// A bound that the engine's ranges take.
fn bounds(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    (low.clone(), high.clone())
}

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

fn is_incompatible<T>(result: &duramen::Result<T>) -> bool {
    matches!(result, Err(Error::Incompatible { .. }))
}

impl Both<'_, '_> {
    fn key(&self, pick: Pick) -> Vec<u8> {
        match pick {
            Pick::New(spec) => self.table.kind.key(spec, self.page_size),
            Pick::Nth(n) => match self.table.nth(n) {
                Some((key, _)) => key.to_vec(),
                None => self.table.kind.key(KeySpec { shape: 0, number: n % 7 }, self.page_size),
            },
        }
    }

    fn pair(&self, pick: Pick, spec: ValueSpec) -> (Vec<u8>, Vec<u8>) {
        let key = self.key(pick);
        let value = self.table.kind.value(spec, key.len(), self.page_size);
        (key, value)
    }

    fn bound(&self, edge: Edge) -> Bound<Vec<u8>> {
        match edge {
            Edge::None => Bound::Unbounded,
            Edge::Included(pick) => Bound::Included(self.key(pick)),
            Edge::Excluded(pick) => Bound::Excluded(self.key(pick)),
        }
    }

    fn act(&mut self, act: &Act) -> Outcome {
        match *act {
            Act::Put(pick, spec) => self.put(pick, spec),
            Act::PutDuplicate(pick, spec) => self.put_duplicate(pick, spec),
            Act::Insert(pick, spec) => self.insert(pick, spec),
            Act::Replace(pick, spec) => self.replace(pick, spec),
            Act::Append(pick, spec) => self.append(pick, spec, false),
            Act::AppendDuplicate(pick, spec) => self.append(pick, spec, true),
            Act::Reserve(pick, spec) => self.reserve(pick, spec),
            Act::Swap(pick, right, spec) => self.swap(pick, right, spec),
            Act::Delete(pick) => self.delete(pick),
            Act::DeleteDuplicate(n) => self.delete_duplicate(n),
            Act::Pop(first) => self.pop(first),
            Act::DeleteRange(low, high) => self.delete_range(low, high),
            Act::Clear => self.clear(),
            Act::Fill(first, count, spec) => self.fill(first, count, spec),
            Act::Crowd(pick, first, count) => self.crowd(pick, first, count),
            Act::Thin(first, gap, count) => self.thin(first, gap, count),
            _ => self.read(act),
        }
    }

    fn read(&mut self, act: &Act) -> Outcome {
        let found = self.txn.view(self.id)?;
        match act {
            Act::Get(pick) => {
                let key = self.key(*pick);
                prop_assert_eq!(found.get(&key)?, self.table.get(&key));
                prop_assert_eq!(self.txn.get(self.id, &key)?, self.table.get(&key));
                prop_assert_eq!(found.contains_key(&key)?, self.table.get(&key).is_some());
            }
            Act::Iterate(low, high, bits) => {
                compare::range(&found, self.table, (self.bound(*low), self.bound(*high)), *bits)?;
            }
            Act::Prefix(pick, bytes, bits) => self.prefix(*pick, usize::from(*bytes), *bits)?,
            Act::ValuesOf(pick, bits) => {
                let key = self.key(*pick);
                compare::iterate(found.values_of(&key)?, self.table.values_of(&key), *bits)?;
            }
            Act::Keys => compare::whole(&found, self.table)?,
            Act::Read(moves) => {
                let moves: Vec<_> = moves
                    .iter()
                    .map(|(movement, pick, spec)| {
                        let (key, value) = self.pair(*pick, *spec);
                        (*movement, key, value)
                    })
                    .collect();
                compare::walk(&found, self.table, &moves)?;
            }
            _ => unreachable!("not a read"),
        }
        Ok(())
    }

    fn prefix(&self, pick: Pick, bytes: usize, bits: u64) -> Outcome {
        if self.table.kind.keys != crate::kinds::Sorting::Bytes {
            return Ok(());
        }
        let mut prefix = self.key(pick);
        prefix.truncate(bytes);
        let expected = self.table.pairs().filter(|(key, _)| key.starts_with(&prefix)).cloned().collect();
        compare::iterate(self.txn.view(self.id)?.prefix(&prefix)?, expected, bits)
    }

    fn put(&mut self, pick: Pick, spec: ValueSpec) -> Outcome {
        let (key, value) = self.pair(pick, spec);
        self.txn.put(self.id, &key, &value)?;
        self.table.put(&key, &value);
        prop_assert!(self.txn.view(self.id)?.contains(&key, &value)?);
        Ok(())
    }

    fn put_duplicate(&mut self, pick: Pick, spec: ValueSpec) -> Outcome {
        let (key, value) = self.pair(pick, spec);
        let stored = self.txn.table_by_id(self.id)?.put_duplicate(&key, &value)?;
        let is_new = self.table.put(&key, &value) || !self.table.kind.has_duplicates();
        prop_assert_eq!(stored, if is_new { Put::Stored } else { Put::Exists });
        Ok(())
    }

    fn insert(&mut self, pick: Pick, spec: ValueSpec) -> Outcome {
        let (key, value) = self.pair(pick, spec);
        let stored = self.txn.table_by_id(self.id)?.insert(&key, &value)?;
        if self.table.get(&key).is_some() {
            prop_assert_eq!(stored, Put::Exists);
        } else {
            prop_assert_eq!(stored, Put::Stored);
            self.table.put(&key, &value);
        }
        Ok(())
    }

    fn replace(&mut self, pick: Pick, spec: ValueSpec) -> Outcome {
        let (key, value) = self.pair(pick, spec);
        let old = self.txn.table_by_id(self.id)?.replace(&key, &value)?;
        prop_assert_eq!(old.as_deref(), self.table.get(&key));
        self.table.put(&key, &value);
        Ok(())
    }

    fn append(&mut self, pick: Pick, spec: ValueSpec, duplicate: bool) -> Outcome {
        let (key, value) = self.pair(pick, spec);
        let duplicate_counts = duplicate && self.table.kind.has_duplicates();
        let mut table = self.txn.table_by_id(self.id)?;
        let done = if duplicate { table.append_duplicate(&key, &value) } else { table.append(&key, &value) };
        if self.table.may_append(&key, &value, duplicate_counts) {
            done?;
            self.table.put(&key, &value);
        } else {
            prop_assert!(matches!(done, Err(Error::AppendOrder)), "{:?}", done);
        }
        Ok(())
    }

    fn reserve(&mut self, pick: Pick, spec: ValueSpec) -> Outcome {
        let (key, value) = self.pair(pick, spec);
        let mut table = self.txn.table_by_id(self.id)?;
        if self.table.kind.has_duplicates() {
            prop_assert!(is_incompatible(&table.reserve(&key, value.len())));
            prop_assert!(is_incompatible(&table.append_reserved(&key, value.len())));
            return Ok(());
        }
        let room = if self.table.may_append(&key, &value, false) {
            table.append_reserved(&key, value.len())?
        } else {
            prop_assert!(matches!(table.append_reserved(&key, value.len()), Err(Error::AppendOrder)));
            table.reserve(&key, value.len())?
        };
        prop_assert!(room.len() == value.len() && room.iter().all(|&byte| byte == 0));
        room.copy_from_slice(&value);
        self.table.put(&key, &value);
        Ok(())
    }

    fn swap(&mut self, pick: Pick, right: bool, spec: Option<ValueSpec>) -> Outcome {
        let key = self.key(pick);
        let new = spec.map(|spec| self.table.kind.value(spec, key.len(), self.page_size));
        let current = self.table.get(&key);
        let wrong = [current.unwrap_or(b""), b"!"].concat();
        let old = if right { current } else { Some(&wrong[..]) };
        let swapped = self.txn.table_by_id(self.id)?.compare_and_swap(&key, old, new.as_deref());
        if self.table.kind.has_duplicates() {
            prop_assert!(is_incompatible(&swapped));
            return Ok(());
        }
        prop_assert_eq!(swapped?, right);
        match new {
            _ if !right => {}
            Some(new) => drop(self.table.put(&key, &new)),
            None => drop(self.table.delete(&key)),
        }
        Ok(())
    }

    fn delete(&mut self, pick: Pick) -> Outcome {
        let key = self.key(pick);
        prop_assert_eq!(self.txn.table_by_id(self.id)?.delete(&key)?, self.table.delete(&key));
        prop_assert_eq!(self.txn.get(self.id, &key)?, None);
        Ok(())
    }

    fn delete_duplicate(&mut self, n: u16) -> Outcome {
        let Some((key, value)) = self.table.nth(n).cloned() else { return Ok(()) };
        let deleted = self.txn.table_by_id(self.id)?.delete_duplicate(&key, &value);
        if !self.table.kind.has_duplicates() {
            prop_assert!(is_incompatible(&deleted));
            return Ok(());
        }
        prop_assert!(deleted?);
        self.table.delete_duplicate(&key, &value);
        prop_assert!(!self.txn.table_by_id(self.id)?.delete_duplicate(&key, &value)?);
        Ok(())
    }

    fn pop(&mut self, first: bool) -> Outcome {
        let mut table = self.txn.table_by_id(self.id)?;
        let popped = if first { table.pop_first() } else { table.pop_last() }?;
        let pair = if first { self.table.pairs().next() } else { self.table.pairs().next_back() }.cloned();
        let popped = popped.as_ref().map(|(key, value)| (&key[..], &value[..]));
        prop_assert_eq!(popped, pair.as_ref().map(|(key, value)| (&key[..], &value[..])));
        if let Some((key, value)) = pair {
            self.table.delete_duplicate(&key, &value);
        }
        Ok(())
    }

    fn delete_range(&mut self, low: Edge, high: Edge) -> Outcome {
        let (low, high) = (self.bound(low), self.bound(high));
        let deleted = self.txn.table_by_id(self.id)?.delete_range(bounds(&low, &high))?;
        prop_assert_eq!(deleted, self.table.delete_range(slice(&low), slice(&high)));
        Ok(())
    }

    fn clear(&mut self) -> Outcome {
        prop_assert_eq!(self.txn.table_by_id(self.id)?.clear()?, self.table.len());
        self.table.delete_range(Bound::Unbounded, Bound::Unbounded);
        Ok(())
    }

    fn fill(&mut self, first: KeySpec, count: u16, spec: ValueSpec) -> Outcome {
        // Many long values would only make the run slow.
        let spec = if count > 20 { ValueSpec { shape: spec.shape % 3, ..spec } } else { spec };
        for i in 0..count {
            let key = KeySpec { number: first.number.wrapping_add(i), ..first };
            let (key, value) = self.pair(Pick::New(key), ValueSpec { length: spec.length.wrapping_add(i), ..spec });
            self.txn.put(self.id, &key, &value)?;
            self.table.put(&key, &value);
        }
        Ok(())
    }

    fn crowd(&mut self, pick: Pick, first: KeySpec, count: u16) -> Outcome {
        let key = self.key(pick);
        for i in 0..count {
            let length = first.number.wrapping_add(i);
            let spec = ValueSpec { shape: first.shape, length, seed: i as u8 };
            let spec = if self.table.kind.has_duplicates() { spec } else { ValueSpec { shape: i as u8 % 3, ..spec } };
            let value = self.table.kind.value(spec, key.len(), self.page_size);
            self.txn.put(self.id, &key, &value)?;
            self.table.put(&key, &value);
        }
        Ok(())
    }

    fn thin(&mut self, first: u16, gap: u16, count: u16) -> Outcome {
        let gone: Vec<_> = self
            .table
            .pairs()
            .skip(usize::from(first) % (self.table.len().max(1) as usize))
            .step_by(usize::from(gap))
            .take(usize::from(count))
            .cloned()
            .collect();
        for (key, value) in gone {
            let mut table = self.txn.table_by_id(self.id)?;
            let deleted = match self.table.kind.has_duplicates() {
                true => table.delete_duplicate(&key, &value)?,
                false => table.delete(&key)?,
            };
            prop_assert!(deleted);
            self.table.delete_duplicate(&key, &value);
        }
        Ok(())
    }

    fn cursor(&mut self, cursors: &mut Vec<Pointer>, which: usize, touch: &Touch) -> Outcome {
        let id = self.id;
        let mine: Vec<usize> = (0..cursors.len()).filter(|&i| cursors[i].cursor.table() == id).collect();
        let i = match mine.get(which) {
            Some(&i) => i,
            None => {
                let cursor = self.txn.cursor(self.id)?;
                cursors.push(Pointer { cursor, place: Place::Unset });
                cursors.len() - 1
            }
        };
        if matches!(touch, Touch::Clone) && cursors.len() < 8 {
            cursors.push(cursors[i].clone());
        }
        self.touch(&mut cursors[i], touch)?;
        for pointer in cursors.iter_mut().filter(|pointer| pointer.cursor.table() == id) {
            same(pointer.cursor.current(self.txn)?, self.table.at(&pointer.place))?;
        }
        Ok(())
    }

    fn touch(&mut self, pointer: &mut Pointer, touch: &Touch) -> Outcome {
        let Pointer { cursor, place, .. } = &mut *pointer;
        let here = self.table.at(place).cloned();
        match *touch {
            Touch::Go(movement, pick, spec) => {
                let (key, value) = self.pair(pick, spec);
                let found = go!(cursor, movement, &key, &value, self.txn)?;
                let there = found.is_some();
                moved(found, self.table, place, movement, &key, &value)?;
                if is_lost(self.table, place, movement, there) {
                    cursor.first(self.txn)?;
                    self.table.go(place, Movement::First, &key, &value);
                }
            }
            Touch::Walk(movement, pick, spec, times) => {
                for _ in 0..times {
                    self.touch(pointer, &Touch::Go(movement, pick, spec))?;
                }
            }
            Touch::Put(pick, spec) => {
                let (key, value) = self.pair(pick, spec);
                cursor.put(self.txn, &key, &value)?;
                self.table.put(&key, &value);
                *place = Place::At(self.table.rank(&key, &value));
            }
            Touch::Replace(spec) => self.replace_at(cursor, here, spec)?,
            Touch::Delete | Touch::DeleteKey => {
                self.delete_at(cursor, place, here, matches!(touch, Touch::DeleteKey))?
            }
            Touch::Count => match (cursor.count(self.txn), here) {
                (Ok(count), Some((key, _))) => prop_assert_eq!(count, self.table.values_of(&key).len() as u64),
                (counted, here) => prop_assert!(counted.is_err() && here.is_none(), "{:?}", counted),
            },
            Touch::Several(which) => {
                several(go_several!(cursor, which, self.txn), self.table, place, which)?;
            }
            Touch::Clone => {}
        }
        Ok(())
    }

    fn replace_at(
        &mut self,
        cursor: &mut duramen::WriteCursor,
        here: Option<crate::reference::Pair>,
        spec: ValueSpec,
    ) -> Outcome {
        let Some((key, old)) = here else {
            let replaced = cursor.replace(self.txn, b"x");
            prop_assert!(matches!(replaced, Err(Error::Usage { .. })), "{:?}", replaced);
            return Ok(());
        };
        let value = self.table.kind.value(spec, key.len(), self.page_size);
        let replaced = cursor.replace(self.txn, &value);
        if self.table.kind.has_duplicates() && *value != *old {
            prop_assert!(matches!(replaced, Err(Error::Incompatible { .. })), "{:?}", replaced);
            return Ok(());
        }
        replaced?;
        self.table.put(&key, &value);
        Ok(())
    }

    fn delete_at(
        &mut self,
        cursor: &mut duramen::WriteCursor,
        place: &mut Place,
        here: Option<crate::reference::Pair>,
        whole_key: bool,
    ) -> Outcome {
        let deleted = if whole_key { cursor.delete_key(self.txn).map(|()| true) } else { cursor.delete(self.txn) };
        let Some((key, value)) = here else {
            prop_assert!(matches!(deleted, Err(Error::Usage { .. })), "{:?}", deleted);
            return Ok(());
        };
        if whole_key {
            self.table.delete(&key);
            *place = Place::At((self.table.kind.key_rank(&key), None));
        } else {
            self.table.delete_duplicate(&key, &value);
        }
        let is_gone = self.table.get(&key).is_none();
        prop_assert_eq!(deleted?, is_gone);
        Ok(())
    }
}
