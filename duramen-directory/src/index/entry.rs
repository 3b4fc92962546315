//! What an update of one entry changes in table `index`.

use duramen::{Result, WriteTxn};

use super::container::CONTAINER_BITS;
use super::key::{in_window, is_trigram};
use super::key_set::{KeySet, changes};
use super::waiting::Noted;
use super::write::{change_one, low_of};
use crate::tables::{Id, Ids};

/// Takes an entry out of the containers of keys that it had, and puts it into those of keys that it has; trigrams are
/// noted for later. `None`: there was no entry, or there is none from now on.
pub(crate) fn change_index(
    txn: &mut WriteTxn<'_>,
    ids: Ids,
    id: Id,
    old: Option<KeySet>,
    new: Option<KeySet>,
) -> Result<()> {
    let mut noted = Noted::new(old.is_none(), new.is_none());
    let (mut index, mut full) = (txn.table_by_id(ids.index)?, Vec::new());
    changes(old.unwrap_or_default(), new.unwrap_or_default(), |key, comes| {
        if is_trigram(key) {
            noted.push(key, comes);
            return Ok(());
        }
        in_window(&mut full, key, id >> CONTAINER_BITS);
        change_one(&mut index, &full, low_of(id), comes)
    })?;
    noted.write(txn, ids, id)
}
