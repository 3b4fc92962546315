//! Copies of a whole database, as it is.
//!
//! Owns: the bytes of a copy, and how they get into a file. Must not know: what is in pages.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use crate::check::HeldCommit;
use crate::error::{Error, Result};
use crate::format::meta::{Meta, SLOT_BYTES, SLOTS, bytes_needed};
use crate::os::direct::{Block, DirectFile, Until};
use crate::os::file::{check_limit, read_up_to};
use crate::readers::Stay;
use crate::store::Store;
use crate::width::to_usize;

/// Bytes read and written at once; the head of the file is among the first.
const PIECE_BYTES: usize = 1 << 20;

/// See [`crate::Database::copy_to`].
pub(crate) fn to_stream(store: &Store, out: &mut dyn Write) -> Result<()> {
    pieces(store, |_, bytes| out.write_all(bytes))?;
    out.flush().map_err(failed)
}

/// See [`crate::Database::copy_to_file`].
pub(crate) fn to_file(store: &Store, file: &File) -> Result<()> {
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() || found.len() > 0 {
        return Err(Error::Usage { what: "a copy goes into an empty file" });
    }
    let direct = DirectFile::reopen(file, Until::Transferred);
    pieces(store, |at, bytes| {
        check_limit(at + bytes.len() as u64)?;
        match &direct {
            Some(direct) => direct.write_at(at, bytes),
            None => file.write_all_at(bytes, at),
        }
    })?;
    file.sync_all().map_err(failed)
}

fn failed(source: io::Error) -> Error {
    Error::Io { op: "write the copy", source }
}

/// Gives `write` one piece of the copy after the other, and where it goes; all aligned for direct I/O.
fn pieces(store: &Store, mut write: impl FnMut(u64, &[u8]) -> io::Result<()>) -> Result<()> {
    let held = HeldCommit::newest(store, Stay::Long)?;
    let end = bytes_needed(held.meta.page_count, store.pager.page_size);
    let mut piece = Block::new(PIECE_BYTES);
    let mut at = 0;
    while at < end {
        let wanted = PIECE_BYTES.min(to_usize(end - at));
        read_or_zeros(store, &mut piece[..wanted], at)?;
        if at == 0 {
            fill_head(&mut piece, &held.meta);
        }
        write(at, &piece[..wanted]).map_err(failed)?;
        at += wanted as u64;
    }
    Ok(())
}

/// Whoever has the copy has all of it: no meta page of it needs a proof. By the time of its commit it is another history's: put
/// back in the place of what it was made of, it is not brought up to a log that was left there.
fn fill_head(piece: &mut [u8], newest: &Meta) {
    for (number, slot) in piece.chunks_mut(SLOT_BYTES).take(SLOTS).enumerate() {
        let mut meta = Meta { sequence: number as u64, committed_ns: newest.committed_ns ^ 1, ..newest.clone() };
        meta.needs_no_proof();
        slot.copy_from_slice(&meta.encode_whole());
    }
}

/// Reads a piece of the file. Where a writer has meanwhile cut off its free end: zeros.
fn read_or_zeros(store: &Store, buffer: &mut [u8], at: u64) -> Result<()> {
    let filled = read_up_to(store.file(), buffer, at).map_err(Error::io("read the data file"))?;
    buffer[filled..].fill(0);
    Ok(())
}
