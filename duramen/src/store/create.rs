//! The creation of an empty database.
//!
//! Owns: its meta pages, the file's id. Must not know: how a file is found to need this.

use std::io::IoSlice;
use std::path::Path;

use super::Settings;
use crate::error::{Error, Result};
use crate::format::meta::{Meta, Proof, SLOT_BYTES, SLOTS, SpaceRoot};
use crate::ids::Txnid;
use crate::medium::Medium;
use crate::order::Order;
use crate::os::beside::linked_to;
use crate::os::{self, file};
use crate::tree::Tree;

/// Writes the meta pages of an empty database: one in each slot, so that a blank slot always means an interrupted
/// creation.
pub(super) fn create(path: &Path, settings: &Settings, medium: &dyn Medium) -> Result<()> {
    // Before there is anything to be found in it: nobody asks whether the file's name is on disk afterwards.
    file::sync_directory_of(&linked_to(path).map_err(file::failed("find the directory of", path))?)?;
    let mut id = [0; 8];
    os::random(&mut id).map_err(Error::io("get random bytes"))?;
    let mut meta = Meta {
        page_size: u32::try_from(settings.page_size).map_err(|_| Error::Usage { what: "a page size beyond 64 KiB" })?,
        file_id: u64::from_le_bytes(id),
        sequence: 0,
        txnid: Txnid(0),
        page_count: Meta::first_page(settings.page_size),
        catalog: Tree::new(&Order::Bytes),
        user: settings.user_number,
        proof: Proof::of(Txnid(0)),
        space: SpaceRoot::default(),
        committed_ns: 0,
        tail: Vec::new(),
        has_receipt: false,
    };
    for slot in 0..SLOTS {
        meta.sequence = slot as u64;
        let bytes = meta.encode_whole();
        let written = medium.write_at((slot * SLOT_BYTES) as u64, &[IoSlice::new(&bytes)]);
        written.map_err(Error::io("write the first meta pages"))?;
    }
    medium.flush().map_err(|error| {
        // What the page cache has may never reach the disk: nobody shall find it.
        let _ = medium.set_len(0);
        Error::Io { op: "flush the first meta pages", source: error }
    })
}
