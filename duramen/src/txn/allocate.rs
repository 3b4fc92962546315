//! Which pages of the file a transaction gets.
//!
//! Owns: the choice between the free space and the file's end, how much is kept free for long runs, what is given back.
//! Must not know: what the pages are for.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use super::work::Work;
use crate::error::{Error, Result};
use crate::ids::{Extent, Pgno, Txnid};
use crate::readers::unregistered;
use crate::space::{Fit, Lane, SMALL_COMMIT, Space};
use crate::store::Durability;
use crate::tree::Pages;

/// Part of the file that is kept free for the sake of long runs: while less is, a commit that finds no run long enough
/// lengthens the file rather than filling small holes. Under random updates of a file that a quarter is free of, a run is
/// 2.5 pages long on average, 1.4 with an eighth, 3.5 with a third; a disk is asked once for each run.
const SLACK: u64 = 4;
/// Durable commits count what the next checkpoint will free as well, since there is much of that while their pages wait for
/// it; but so much is free at once.
const SLACK_NOW: u64 = 32;
/// Where nothing is free small commits let the file grow by this part of its length at a time: the kernel takes longer to
/// lengthen a file that is mapped than to write a page
const GROWTH: u64 = 8;
/// and by as many pages as this: one alone would be followed by a look at what each commit retired.
const GROWTH_PAGES: RangeInclusive<u64> = 2..=64;
/// This part of the file's length is left free by transactions that write more pages than they free, so that on a full
/// disk those that do not, as most that delete, find room for their copies,
const RESERVE: u64 = 16;
/// but no more pages than this: what deleting an entry of a large directory with many indexes copies.
const RESERVE_MAX: u64 = 128;

/// Takes pages for the transaction: from the free space, then at the file's end.
pub(super) fn allocate(work: &mut Work, pages: u64, contiguous: bool) -> Result<Vec<Extent>> {
    let was_full = work.store.crowded.load(Ordering::Relaxed);
    if was_full {
        free_by_flushing(work, pages, contiguous)?;
    }
    let page_count = work.horizon.page_count;
    let (pages_wanted, durability, exact) = (work.pages_wanted, work.durability, work.exact);
    let reserve = reserve(work, pages);
    let space = space_for(work, pages + reserve)?;
    let takeable = space.free_pages().saturating_sub(reserve);
    let mut extents = if was_full && !contiguous {
        take_placed(work, pages.min(takeable))?
    } else if !contiguous {
        let may_grow = !exact && page_count + pages <= pages_wanted && is_scarce(space, page_count, durability);
        take(space, pages, takeable, page_count, may_grow)
    } else if pages <= takeable {
        space.take(pages).into_iter().collect()
    } else {
        Vec::new()
    };
    // They are the transaction's, even if the rest cannot be had.
    work.placed.extents.extend_from_slice(&extents);
    let found: u64 = extents.iter().map(|e| e.pages).sum();
    if found < pages {
        let hole = contiguous && page_count + pages > pages_wanted;
        let rest = if hole { find_hole(work, pages)? } else { lengthen(work, pages - found)? };
        note_placed(work, rest);
        extents.push(rest);
    }
    extents.sort_by_key(|e| e.start);
    Ok(extents)
}

/// Takes a page for a small commit.
pub(super) fn allocate_one(work: &mut Work, lane: Lane) -> Result<Pgno> {
    let crowded = work.store.crowded.load(Ordering::Relaxed);
    if crowded {
        free_by_flushing(work, 1, false)?;
    }
    let page_count = work.horizon.page_count;
    let step = if crowded || work.exact { 1 } else { growth(page_count, work.pages_wanted) };
    let reserve = reserve(work, step);
    // Where the file may grow by several pages that is cheaper than a look at what each commit retired.
    let space = if step == 1 { space_for(work, 1 + reserve)? } else { &mut work.ledger()?.space };
    let may_take = space.free_pages() > reserve;
    let page = match may_take {
        true if crowded => take_placed(work, 1)?.first().map(|extent| extent.start),
        true => space.take_one(lane, fit(space, page_count)),
        false => None,
    };
    let page = match page {
        Some(page) => page,
        None => lengthen_ahead(work, lane, step)?,
    };
    note_placed(work, Extent::new(page, 1));
    Ok(page)
}

/// Notes pages as the transaction's: those that follow each other, of which there may be very many, as one extent.
fn note_placed(work: &mut Work, pages: Extent) {
    match work.placed.extents.last_mut().filter(|last| last.end() == pages.start) {
        Some(last) => last.pages += pages.pages,
        None => work.placed.extents.push(pages),
    }
}

/// Takes a hole for a run where the file may not be longer: among what the last commits retired, too, or behind a wait for
/// the disk.
fn find_hole(work: &mut Work, pages: u64) -> Result<Extent> {
    release(work)?;
    if let Some(hole) = work.ledger()?.space.take(pages) {
        return Ok(hole);
    }
    let base = work.base;
    if work.writer_mut()?.meta.txnid != base {
        release_by_flushing(work)?;
    }
    let hole = work.ledger()?.space.take(pages);
    hole.ok_or(Error::NoRoom { pages, wanted: work.pages_wanted })
}

/// By how many pages a small commit lets the file grow: not beyond those that are wanted, if one is enough.
fn growth(page_count: u64, pages_wanted: u64) -> u64 {
    let step = (page_count / GROWTH).clamp(*GROWTH_PAGES.start(), *GROWTH_PAGES.end());
    step.min(pages_wanted.saturating_sub(page_count)).max(1)
}

/// Takes the places of all runs before those of single pages, which find theirs anywhere: where holes are all that is
/// left, the long ones are not for them. By length, of which the longest has the first choice. None if the file may grow by
/// all that is to be placed.
pub(super) fn allocate_runs(work: &mut Work) -> Result<BTreeMap<u64, Vec<Extent>>> {
    let mut places: BTreeMap<u64, Vec<Extent>> = BTreeMap::new();
    if work.horizon.page_count + work.dirty.pages() <= work.pages_wanted {
        return Ok(places);
    }
    let mut lengths: Vec<u64> = work.dirty.run_lengths().collect();
    lengths.sort_unstable();
    for pages in lengths.into_iter().rev() {
        places.entry(pages).or_default().extend(allocate(work, pages, true)?);
    }
    Ok(places)
}

/// Takes a page at the file's end, and sets those aside that follow it, so many in all.
fn lengthen_ahead(work: &mut Work, lane: Lane, pages: u64) -> Result<Pgno> {
    let first = lengthen(work, pages)?.start;
    if pages > 1 {
        let bytes = work.horizon.page_count * work.page_size() as u64;
        let medium = &work.store.medium;
        // Nobody writes the last ones now, and a commit needs a file as long as it says.
        if medium.len().map_err(Error::io("ask for the length of the data file"))? < bytes {
            medium.set_len(bytes).map_err(Error::io("lengthen the data file"))?;
        }
        let rest = Extent::new(Pgno(first.0 + 1), pages - 1);
        work.ledger()?.space.set_aside(lane, rest).map_err(|damage| damage.at(rest.start))?;
    }
    Ok(first)
}

/// How many free pages the transaction leaves alone when it takes so many, or lengthens the file by them.
fn reserve(work: &Work, pages: u64) -> u64 {
    let page_count = work.horizon.page_count;
    let fills_holes = work.exact || !work.grows || page_count + pages > work.pages_wanted;
    if fills_holes { 0 } else { (page_count / RESERVE).min(RESERVE_MAX) }
}

/// The free space, after a look at what the last commits retired if less than so many pages are known to be free.
fn space_for(work: &mut Work, pages: u64) -> Result<&mut Space> {
    let space = &work.ledger()?.space;
    if space.free_pages() < pages && space.has_unreleased() {
        release(work)?;
    }
    Ok(&mut work.ledger()?.space)
}

/// Takes pages at the file's end.
fn lengthen(work: &mut Work, pages: u64) -> Result<Extent> {
    let start = Pgno(work.horizon.page_count);
    if start.0 + pages > Pgno::LIMIT {
        return Err(Error::Usage { what: "the file would be larger than the format can address" });
    }
    if work.bytes_before.is_none() {
        let bytes = work.store.medium.len().map_err(Error::io("ask for the length of the data file"))?;
        work.bytes_before = Some(bytes);
    }
    work.horizon.page_count += pages;
    Ok(Extent::new(start, pages))
}

/// On a full disk: frees the pages that are kept only until the data file has been flushed, if there are not enough.
fn free_by_flushing(work: &mut Work, pages: u64, contiguous: bool) -> Result<()> {
    let (base, reserve) = (work.base, reserve(work, pages));
    let (store, writer) = work.store_and_writer()?;
    let newest = writer.meta.txnid;
    let space = &mut store.ledger(writer)?.space;
    let enough = space.free_pages() >= pages + reserve && (!contiguous || space.has_run(pages));
    if enough || base == newest { Ok(()) } else { release_by_flushing(work) }
}

/// As [`release`], after a checkpoint: frees what is kept only until the data file has been flushed.
pub(super) fn release_by_flushing(work: &mut Work) -> Result<()> {
    let (store, writer) = work.store_and_writer()?;
    let newest = writer.meta.txnid;
    store.call_off_record(writer)?;
    store.flush_data(writer)?;
    work.base = newest;
    release(work).map(drop)
}

/// Whether so little of the file is free that runs become short.
fn is_scarce(space: &Space, page_count: u64, durability: Durability) -> bool {
    let free = space.free_pages();
    let awaited = if durability == Durability::Durable { space.retired_pages() } else { 0 };
    free + awaited < page_count / SLACK || free < page_count / SLACK_NOW
}

/// Chooses free pages for a commit, at most as many as are takeable. `may_grow`: none if that is better than small holes.
fn take(space: &mut Space, pages: u64, takeable: u64, page_count: u64, may_grow: bool) -> Vec<Extent> {
    let fit = fit(space, page_count);
    let small = pages <= SMALL_COMMIT || fit == Fit::Low;
    if may_grow && !small && !space.has_run(pages) {
        return Vec::new();
    }
    space.take_up_to(pages.min(takeable), fit)
}

/// Takes so many pages on a full disk, or as many as there are: those first that have a place on it, which not all have
/// that the file grew by.
fn take_placed(work: &mut Work, pages: u64) -> Result<Vec<Extent>> {
    let (page_size, medium) = (work.page_size() as u64, work.store.medium.clone());
    let space = &mut work.ledger()?.space;
    space.settle();
    let (mut taken, mut left): (Vec<Extent>, _) = (Vec::new(), pages);
    for free in space.extents() {
        let mut at = free.start;
        while left > 0 {
            at = Pgno(medium.placed_from(at.0 * page_size).div_ceil(page_size));
            if at >= free.end() {
                break;
            }
            left -= 1;
            match taken.last_mut().filter(|last| last.end() == at) {
                Some(last) => last.pages += 1,
                None => taken.push(Extent::new(at, 1)),
            }
            at = Pgno(at.0 + 1);
        }
        if left == 0 {
            break;
        }
    }
    taken.iter().for_each(|extent| space.take_free(*extent));
    // Perhaps there is room again.
    taken.extend(space.take_up_to(left, Fit::Low));
    Ok(taken)
}

/// Where much of the file is free it is filled from the start, so that its end can be cut off.
fn fit(space: &Space, page_count: u64) -> Fit {
    if space.free_pages() > page_count / 2 { Fit::Low } else { Fit::Tight }
}

/// Whether the commit at work is one of those whose price is that of its steps, not that of its pages, which are flushed
/// with those of many others.
pub(super) fn is_small(work: &Work, logged: bool) -> bool {
    (logged || work.durability == Durability::Relaxed) && work.dirty.pages() <= SMALL_COMMIT
}

/// As [`release`], but for small commits only once for several of them, unless the disk was full.
pub(super) fn release_in_time(work: &mut Work, logged: bool) -> Result<()> {
    let crowded = work.store.crowded.load(Ordering::Relaxed);
    if !crowded && is_small(work, logged) && !work.ledger()?.space.is_release_due() {
        return Ok(());
    }
    release(work).map(drop)
}

/// Lets the free space know who is reading: the snapshots that somebody may see or go back to, ascending, but for those
/// that come after them.
pub(super) fn release(work: &mut Work) -> Result<Vec<Txnid>> {
    let (base, page_count) = (work.base, work.horizon.page_count);
    let (store, writer) = work.store_and_writer()?;
    let before = writer.meta.txnid;
    // Asked for first: who begins to read after that reads this one or a later one.
    let seen = store.shared.newest();
    let mut live = Vec::new();
    store.shared.collect_live(&mut live)?;
    match unregistered(store.file(), before)? {
        Some(held) => live.extend(held),
        // Whatever anybody may see is kept.
        None => live.extend(store.ledger(writer)?.space.deaths().map(|death| Txnid(death.0.saturating_sub(1)))),
    }
    live.push(base);
    live.push(seen);
    live.extend(store.background(writer).map(|background| background.commit));
    // The commit that this one builds on stays whole until this one is there: what is freed now may have been noted.
    live.push(before);
    live.sort_unstable();
    live.dedup();
    let space = &mut store.ledger(writer)?.space;
    space.release(&live);
    if fit(space, page_count) == Fit::Low {
        space.set_aside_only_before(Pgno(page_count / 2));
    }
    Ok(live)
}

/// The oldest snapshot that somebody read when the transaction first asked, and may still read; the newest if nobody did. Who
/// begins later reads that, or a newer one.
pub(super) fn oldest_reader(work: &mut Work) -> Result<Txnid> {
    if let Some(oldest) = work.oldest_reader {
        return Ok(oldest);
    }
    let (store, writer) = work.store_and_writer()?;
    let (seen, before) = (store.shared.newest(), writer.meta.txnid);
    let mut live = Vec::new();
    store.shared.collect_live(&mut live)?;
    // Where they cannot be told all that is freed is kept, whatever its age.
    live.extend(unregistered(store.file(), before)?.unwrap_or_default());
    let oldest = live.into_iter().fold(seen, Txnid::min);
    work.oldest_reader = Some(oldest);
    Ok(oldest)
}

/// Returns the pages that the nesting level at work placed early and has replaced since, as if it had never taken them:
/// nobody else has seen them, and the next pages may stand there.
pub(super) fn take_back_replaced(work: &mut Work) -> Result<()> {
    if work.placed.extents.is_empty() {
        return Ok(());
    }
    work.placed.extents.sort_unstable();
    let (txnid, placed) = (work.txnid, &work.placed.extents);
    // What a child has replaced of its parent's is the parent's, should the child come to nothing. And a damaged page
    // may say any birth.
    let is_ours = |extent: Extent| {
        let up_to = placed.partition_point(|other| other.start <= extent.start);
        up_to > 0 && placed[up_to - 1].end() >= extent.end()
    };
    let replaced = work.dirty.take_retired(|retired| retired.birth == txnid && is_ours(retired.extent));
    for retired in &replaced {
        work.placed.sum = work.placed.sum.wrapping_sub(retired.checksum.unwrap_or(0));
        work.placed.pages = work.placed.pages.wrapping_sub(retired.extent.pages);
    }
    let extents: Vec<Extent> = replaced.iter().map(|retired| retired.extent).collect();
    give_back(work, &extents)
}

/// Returns pages that were taken and not used.
pub(super) fn give_back(work: &mut Work, extents: &[Extent]) -> Result<()> {
    work.placed.extents = crate::space::subtract(&work.placed.extents, extents).into();
    add_free(work, extents)
}

/// Makes pages takeable that this transaction took and nobody refers to.
pub(super) fn add_free(work: &mut Work, extents: &[Extent]) -> Result<()> {
    let settled = work.settle_in(extents);
    let end = Pgno(work.horizon.page_count);
    let (store, writer) = work.store_and_writer()?;
    let old_end = Pgno(writer.meta.page_count);
    let space = &mut store.ledger(writer)?.space;
    for &extent in extents {
        space.add_free(extent).map_err(|d| d.at(extent.start))?;
    }
    // The file may not be that long yet, or be so for nothing: what it was to grow by is taken back.
    let cut = space.trim_end(end);
    if cut < old_end {
        space.add_free(Extent::new(cut, old_end.0 - cut.0)).map_err(|d| d.at(cut))?;
    }
    writer.too_long |= cut < end;
    work.horizon.page_count = cut.max(old_end).0;
    settled
}
