//! The commit, in the order of docs/durability.md.
//!
//! Owns: the steps and their order. Must not know: keys.

use std::borrow::Cow;
use std::time::{Duration, Instant, SystemTime};

use super::allocate::{allocate, is_small, release, release_in_time, take_back_replaced};
use super::ops;
use super::place::Placer;
use super::record;
use super::work::Work;
use crate::dirty::Retired;
use crate::error::{Damage, Result};
use crate::format::log::UNIT;
use crate::format::meta::{Meta, Proof, SpaceRoot, TAIL_MAX};
use crate::format::overflow;
use crate::format::page;
use crate::ids::{Extent, Pgno, Txnid};
use crate::readers::Published;
use crate::space::base::encode_base;
use crate::space::log::encode_delta;
use crate::store::landing::{Landing, OfRecord};
use crate::store::log::Mark;
use crate::store::space_log;
use crate::store::{CommitTimings, Durability, Store, Writer, blank, published, write_meta};
use crate::tree::{Pages, Tree};
use crate::width::{micros, to_u32, to_usize};

/// A durable commit of more pages than this is flushed before its meta page is written, so that opening after a power
/// cut never has more than this to prove.
const PROOF_PAGES_MAX: u64 = 4096;
/// So much of the tail stays in it beside a new base: what some twenty small commits changed.
const TAIL_KEPT: usize = TAIL_MAX / 2;
/// A chain of the space log is begun anew when it would be so many times as long as its base, or
const CHAIN_OF_BASES: u64 = 2;
/// have so many bytes for each extent that is free or retired, whichever is more: a base costs the time to look at each of
/// them. Whoever opens the database to write reads the chain, and that may be for a single commit.
const CHAIN_BYTES_EACH: u64 = 8;
/// It is begun anew before that by who opened the database, if a base would have spared him so many entries of the log
const DETOURS_MIN: u64 = 256;
/// and a part of how many the base has. An entry costs a reader some twenty times as much where it is not a base's free
/// extent.
const DETOURS_OF_RUNS: u64 = 64;

/// Makes what the transaction did the newest snapshot; or, where the log makes it durable, what becomes that when the
/// landing is done. On an error nothing of it remains.
pub(crate) fn commit(work: &mut Work) -> Result<Option<Landing>> {
    // A forked child must not come as far as the first write.
    work.store.shared.check()?;
    let mut result = work.check().and_then(|()| steps(work));
    match &mut result {
        Ok(Some(landing)) => landing.said = std::mem::take(&mut work.said),
        Ok(None) => work.store.listener.tell(&work.said),
        Err(_) => {
            if let Some(writer) = work.writer.as_deref_mut() {
                // The free space was changed in memory for a commit that did not happen.
                writer.ledger = None;
                work.store.call_off_record(writer)?;
            }
        }
    }
    result
}

fn steps(work: &mut Work) -> Result<Option<Landing>> {
    // 1. The tables' records go to the catalog: from here on the shape of every tree is final.
    super::catalog::save(work)?;
    if !work.has_changes() {
        wait_for_landing(work)?;
        return Ok(None);
    }
    let mut record = ops::take(work)?.filter(|record| record::pays(work, record.len()));
    let committed_ns = unix_ns();
    if let Some(record) = &mut record {
        record::begin(work, record, committed_ns)?;
    }
    // A look at the clock takes a hundredth of a small commit.
    let started = (!is_small(work, record.is_some())).then(Instant::now);
    // 2. Dirty pages get their places in the file and their checksums, and are written.
    release_in_time(work, record.is_some())?;
    take_back_replaced(work)?;
    let mut placer = Placer::for_commit(work, record.is_some())?;
    let catalog = place_trees(work, &mut placer)?;
    // 3. What this commit took and freed goes into the log of the free space.
    let (space, tail) = log_space(work, &mut placer)?;
    let mut meta = next_meta(work, catalog, space, tail, committed_ns)?;
    // 4. The last pages are written, and after them the meta page that names them.
    placer.output.finish(work)?;
    let written = placer.output.written;
    let placing = started.map_or(Duration::ZERO, |started| started.elapsed());
    let secured = secure(work, &mut meta, record)?;
    let timings = CommitTimings {
        place_us: micros(placing.saturating_sub(written.time)),
        write_us: micros(written.time),
        flush_us: micros(secured.flushing),
        pages: written.pages + 1,
        runs: written.runs + 1,
    };
    advance(work, meta, secured.slot, secured.mark, timings)?;
    work.dirty.keep(&placer.kept);
    show(work, secured)
}

/// A commit whose meta page is written, and what else makes it survive a power cut but the flush of the log.
struct Secured {
    slot: usize,
    mark: Mark,
    record: OfRecord,
    /// How long it waited for the commit before it,
    waited: Duration,
    /// and for the disk.
    flushing: Duration,
}

/// Writes the meta page, and flushes the data file or writes a record into the log.
fn secure(work: &mut Work, meta: &mut Meta, record: Option<Vec<u8>>) -> Result<Secured> {
    let way = choose_way(work, meta, record.as_ref().map(Vec::len))?;
    let flush = way == Way::Flush;
    let began = flush.then(Instant::now);
    if !matches!(way, Way::Log { .. }) {
        wait_for_landing(work)?;
    }
    if flush && meta.proof.pages > PROOF_PAGES_MAX {
        work.store.flush("flush the commit's pages")?;
        meta.needs_no_proof();
    }
    let (store, writer) = work.store_and_writer()?;
    let slot = store.free_slot(writer);
    write_meta(&*store.medium, meta, slot, &mut writer.meta_bytes)
        .map_err(|e| store.poison("write the meta page", e))?;
    // 5. One flush makes both survive a power cut: the meta page proves by its sum that its pages are there.
    if flush {
        let flushed = work.store.flush("flush the commit");
        flushed.inspect_err(|_| {
            if meta.is_proven() {
                blank(&*work.store.medium, slot)
            }
        })?;
    }
    let (mark, record, waited) = match (way, record) {
        (Way::Flush, _) => (Mark::START, OfRecord::Flush, Duration::ZERO),
        (Way::Begun { end }, _) => {
            work.writer_mut()?.log.hand_over_begun();
            (Mark::At { end, flushed: true }, OfRecord::Wait, Duration::ZERO)
        }
        (Way::Log { at, flush }, Some(record)) => {
            // It is on top of the commit before, which comes first.
            let waited = wait_for_landing(work)?;
            let (mark, record) = record::write(work, record, meta.committed_ns, at, flush)?;
            (mark, record, waited)
        }
        _ => (Mark::Broken, OfRecord::Flush, Duration::ZERO),
    };
    let flushing = began.map_or(Duration::ZERO, |began| began.elapsed());
    Ok(Secured { slot, mark, record, waited, flushing })
}

/// 6. Lets readers see the writer's commit: at once, or when the landing is done.
fn show(work: &mut Work, secured: Secured) -> Result<Option<Landing>> {
    let durability = work.durability;
    let (store, writer) = work.store_and_writer()?;
    if secured.mark == Mark::START {
        store.became_durable(writer)?;
        store.cut_off(writer, 0);
        return Ok(None);
    }
    let published = published(&writer.meta, secured.slot, writer.durable_slot, secured.mark);
    let ahead = store.due_ahead(writer, durability);
    if matches!(secured.mark, Mark::At { flushed: true, .. }) {
        return store.landing(writer, published, secured.record, ahead, secured.waited).map(Some);
    }
    publish(store, writer, &published)?;
    store.ask_ahead(ahead);
    if durability == Durability::Relaxed {
        store.begin_background(writer);
    }
    Ok(None)
}

fn wait_for_landing(work: &mut Work) -> Result<Duration> {
    let (store, writer) = work.store_and_writer()?;
    store.wait_for_landing(writer)
}

/// How a commit reaches the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The data file is flushed.
    Flush,
    /// A record of it goes into the log at this offset, which is flushed or will be with the next one.
    Log { at: u64, flush: bool },
    /// The disk has begun with its record, which ends there.
    Begun { end: u64 },
    /// Some time later.
    Later,
}

fn choose_way(work: &mut Work, meta: &Meta, record: Option<usize>) -> Result<Way> {
    let durability = work.durability;
    let durable = durability == Durability::Durable;
    let (store, writer) = work.store_and_writer()?;
    if let Some(end) = writer.log.begun_end() {
        return Ok(Way::Begun { end });
    }
    if store.checkpoint_is_due(writer, meta.proof.pages, meta.page_count, durability) {
        return Ok(Way::Flush);
    }
    let logged = record.filter(|_| writer.log.welcomes(durability));
    let logged = logged.and_then(|bytes| store.log_room(writer, bytes.next_multiple_of(UNIT)));
    Ok(match logged {
        Some(at) => Way::Log { at, flush: durable },
        None if durable || store.must_flush_now(writer) => Way::Flush,
        None => Way::Later,
    })
}

/// Places the main table, and with its records the tables that they are of.
fn place_trees(work: &mut Work, placer: &mut Placer) -> Result<Tree> {
    let (tree, orders) = (work.tables[0].tree, work.tables[0].orders.clone());
    work.tables[0].tree.root = placer.tree(work, &tree, &orders)?;
    Ok(work.tables[0].tree)
}

/// Records the commit's changes of the free space: in the meta page while there is room, else in a run of pages.
fn log_space(work: &mut Work, placer: &mut Placer) -> Result<(SpaceRoot, Vec<u8>)> {
    let txnid = work.txnid;
    let mut retired = retire(work)?;
    let writer = work.writer_mut()?;
    let (mut root, old_end) = (writer.meta.space, writer.meta.page_count);
    let mut records = std::mem::take(&mut writer.spare_tail);
    records.clear();
    records.extend_from_slice(&writer.meta.tail);
    let ledger = work.ledger()?;
    ledger.space.retire_all(retired.clone(), txnid).map_err(|d| d.at(Pgno(0)))?;
    trim(work)?;
    let old_records = records.len();
    delta_into(work, &retired, old_end, &mut records);
    let pages = space_log::pages_for(records.len(), work.page_size());
    let full = records.len() > TAIL_MAX;
    let is_due = is_detour_worth_a_base(work)? || keeps_the_file_long(work)?;
    if is_due || (full && root.chain_pages + pages > chain_max(work, root)?) {
        root = new_base(work, placer, &mut retired)?;
        records.truncate(old_records);
        delta_into(work, &retired, old_end, &mut records);
        records = space_log::newest_of(&records, TAIL_KEPT)?.to_vec();
    } else if full {
        let places = allocate(work, pages, false)?;
        records.truncate(old_records);
        trim(work)?;
        delta_into(work, &retired, old_end, &mut records);
        let head = lengthen_chain(work, placer, &places, root.head, &records)?;
        root = SpaceRoot { head, chain_pages: root.chain_pages + pages, ..root };
        records.clear();
    }
    let ledger = work.ledger()?;
    root.free_pages = ledger.space.free_pages() + ledger.space.retired_pages();
    Ok((root, records))
}

/// Most pages of the space log's chain. None where there is no chain yet: it begins with a base.
fn chain_max(work: &mut Work, root: SpaceRoot) -> Result<u64> {
    if root.head == Pgno(0) {
        return Ok(0);
    }
    let page_size = work.page_size() as u64;
    let space = &work.ledger()?.space;
    let extents = space.runs() + space.retired_runs_max();
    Ok((CHAIN_OF_BASES * root.base_pages).max(extents * CHAIN_BYTES_EACH / page_size))
}

/// Whether the next who opens the database to write would read much less, were a base written now. Programs that open
/// it for each entry would else all read what a long work left behind. Asked once after each reading of the log.
fn is_detour_worth_a_base(work: &mut Work) -> Result<bool> {
    let detours = std::mem::take(&mut work.ledger()?.detours);
    if detours < DETOURS_MIN {
        return Ok(false);
    }
    // What somebody still sees would stay retired in the base too.
    release(work)?;
    let space = &work.ledger()?.space;
    let spared = detours.saturating_sub(space.retired_parts());
    Ok(spared >= DETOURS_MIN.max(space.runs() / DETOURS_OF_RUNS))
}

/// Whether all that stands at the end of a file that is mostly free is the chain of the space log. A base takes the first
/// pages that are free then, and the end can be given back once nobody needs the old chain.
fn keeps_the_file_long(work: &mut Work) -> Result<bool> {
    let end = Pgno(work.horizon.page_count);
    let ledger = work.ledger()?;
    let space = &ledger.space;
    if space.free_pages() <= end.0 / 2 {
        return Ok(false);
    }
    let free_from = |end: Pgno| Pgno(end.0 - space.free_at_end(end, 1));
    let mut start = free_from(end);
    let mut is_of_chain = false;
    while let Some(&(extent, _)) = ledger.chain.iter().find(|(extent, _)| extent.end() == start) {
        is_of_chain = true;
        start = free_from(extent.start);
    }
    Ok(is_of_chain && end.0 - start.0 >= worth_giving_back(end.0))
}

/// So many pages at the end of a file of this length are worth giving back: an eighth of it, and 64 at least.
fn worth_giving_back(end: u64) -> u64 {
    64.max(end / 8)
}

/// Appends the record of what the transaction took, what the file grew by, and what was retired.
fn delta_into(work: &mut Work, retired: &[(Extent, Txnid)], old_end: u64, out: &mut Vec<u8>) {
    work.placed.extents.sort_unstable();
    let (placed, end) = (&work.placed.extents, work.horizon.page_count);
    // What is cut off at the end was perhaps taken before, and freed again: neither matters any more.
    let kept_end = old_end.min(end);
    let taken: Cow<'_, [Extent]> = match placed.last() {
        Some(last) if last.end().0 > kept_end => placed.iter().filter_map(|&extent| below(extent, kept_end)).collect(),
        _ => placed.as_slice().into(),
    };
    let added = unused(placed, old_end, end);
    encode_delta(out, work.txnid, end, &taken, retired, &added);
}

/// What the file grew by and nobody took.
fn unused(placed: &[Extent], old_end: u64, end: u64) -> Vec<Extent> {
    let mut unused = Vec::new();
    let mut next = old_end;
    for extent in placed.iter().filter(|extent| extent.end().0 > old_end) {
        if extent.start.0 > next {
            unused.push(Extent::new(Pgno(next), extent.start.0 - next));
        }
        next = extent.end().0;
    }
    if next < end {
        unused.push(Extent::new(Pgno(next), end - next));
    }
    unused.into_iter().filter_map(|extent| below(extent, end)).collect()
}

/// The part of an extent below a page number.
fn below(extent: Extent, end: u64) -> Option<Extent> {
    let pages = extent.pages.min(end.saturating_sub(extent.start.0));
    (pages > 0).then(|| Extent::new(extent.start, pages))
}

/// What the transaction freed, which others may see.
fn retire(work: &Work) -> Result<Vec<(Extent, Txnid)>> {
    let freed = work.dirty.retired.iter();
    // Most were never read: a damaged page can refer to any.
    if let Some(outside) = freed.clone().find(|freed| freed.extent.end().0 > work.horizon.page_count) {
        return Err(Damage("a page outside the file was freed").at(outside.extent.start));
    }
    let mut freed: Vec<(Extent, Txnid)> = freed.map(|freed| (freed.extent, freed.birth)).collect();
    freed.sort_unstable();
    // Who empties a table frees pages by the thousand, most of them side by side.
    freed.dedup_by(|(next, birth), (run, of)| {
        let follows = run.end() == next.start && *of == *birth;
        run.pages += if follows { next.pages } else { 0 };
        follows
    });
    Ok(freed)
}

/// Writes all of the free space into runs that begin the chain anew. What was the chain is added to the retired.
fn new_base(work: &mut Work, placer: &mut Placer, retired: &mut Vec<(Extent, Txnid)>) -> Result<SpaceRoot> {
    let txnid = work.txnid;
    let old = std::mem::take(chain_mut(work)?);
    let ledger = work.ledger()?;
    for &(extent, birth) in &old {
        ledger.space.retire(extent, birth, txnid).map_err(|d| d.at(extent.start))?;
    }
    retired.extend(&old);
    // Else whoever opens the database next would read what nobody keeps any more, and release it, page by page.
    let live = release(work)?;
    let (mut records, mut places, mut pages) = (Vec::new(), Vec::new(), 0);
    loop {
        encode(work, &live, &mut records)?;
        let more = space_log::pages_for(records.len(), work.page_size()).saturating_sub(pages);
        if more == 0 {
            break;
        }
        // What is free afterwards is noted a little otherwise: a full disk may even have been flushed to find them.
        places.extend(allocate(work, more, false)?);
        trim(work)?;
        pages += more;
    }
    let head = lengthen_chain(work, placer, &places, Pgno(0), &records)?;
    // Runs of the chain count in the proof like every other page.
    for (extent, birth) in old.into_iter().filter(|(_, birth)| *birth > work.base) {
        let checksum = Some(page::checksum(work.store.pager.unverified_page(extent.start, work.horizon)?));
        work.unchained.push(Retired { extent, birth, checksum });
    }
    Ok(SpaceRoot { head, chain_pages: pages, base_pages: pages, free_pages: 0 })
}

/// All of the free space as a base's records.
fn encode(work: &mut Work, live: &[Txnid], records: &mut Vec<u8>) -> Result<()> {
    records.clear();
    encode_base(&mut work.ledger()?.space, live, records);
    Ok(())
}

/// Adds records to the chain with this head, in runs at these places; a base where there is no chain. The new head.
fn lengthen_chain(work: &mut Work, placer: &mut Placer, places: &[Extent], head: Pgno, records: &[u8]) -> Result<Pgno> {
    let payloads = space_log::payloads(places, head, head.0 == 0, records, work.page_size());
    for (&extent, payload) in places.iter().zip(payloads) {
        placer.add_run(work, space_run(work, extent, &payload), extent)?;
    }
    let txnid = work.txnid;
    chain_mut(work)?.extend(places.iter().map(|&extent| (extent, txnid)));
    Ok(places.last().map_or(head, |last| last.start))
}

fn chain_mut(work: &mut Work) -> Result<&mut Vec<(Extent, Txnid)>> {
    Ok(&mut work.ledger()?.chain)
}

/// The bytes of a run of the space log.
fn space_run(work: &Work, extent: Extent, payload: &[u8]) -> Vec<u8> {
    let pages = to_usize(extent.pages);
    let mut run = vec![0; pages * work.page_size()];
    overflow::init_space(&mut run, to_u32(pages), to_u32(payload.len())).copy_from_slice(payload);
    run
}

/// Gives back the free end of the file if it is worth it.
fn trim(work: &mut Work) -> Result<()> {
    let end = work.horizon.page_count;
    let ledger = work.ledger()?;
    if ledger.space.free_at_end(Pgno(end), worth_giving_back(end)) > 0 {
        work.horizon.page_count = ledger.space.trim_end(Pgno(end)).0;
    }
    Ok(())
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

fn next_meta(work: &mut Work, catalog: Tree, space: SpaceRoot, tail: Vec<u8>, committed_ns: u64) -> Result<Meta> {
    let (base, txnid, page_count, user) = (work.base, work.txnid, work.horizon.page_count, work.user);
    let last = &work.writer_mut()?.meta;
    // While no checkpoint came between, what the commits since the last one wrote is still to be proven.
    let proof = if base == last.txnid { Proof::of(base) } else { last.proof };
    debug_assert!(proof.base == base, "{proof:?} is not from {base:?}");
    let proof = proof_with(work, proof);
    let last = &work.writer_mut()?.meta;
    Ok(Meta {
        sequence: Meta::sequence_after(last.sequence)?,
        txnid,
        page_count,
        catalog,
        user,
        proof,
        space,
        committed_ns,
        tail,
        page_size: last.page_size,
        file_id: last.file_id,
        has_receipt: false,
    })
}

/// A proof with what the transaction wrote, and without what it freed.
fn proof_with(work: &Work, mut proof: Proof) -> Proof {
    proof.sum = proof.sum.wrapping_add(work.placed.sum);
    proof.pages = proof.pages.wrapping_add(work.placed.pages);
    let freed = work.dirty.retired.iter().chain(&work.unchained);
    for freed in freed.filter(|freed| freed.birth > proof.base) {
        proof.sum = proof.sum.wrapping_sub(freed.checksum.unwrap_or(0));
        proof.pages = proof.pages.wrapping_sub(freed.extent.pages);
    }
    proof
}

/// The writer goes on from this commit.
fn advance(work: &mut Work, meta: Meta, slot: usize, mark: Mark, timings: CommitTimings) -> Result<()> {
    let durability = work.durability;
    let (store, writer) = work.store_and_writer()?;
    let before = writer.meta.txnid;
    let beside = store.background(writer).map(|background| background.proof);
    let (beside, alone) = (beside.map(|proof| proof_with(work, proof)), proof_with(work, Proof::of(before)));
    let (store, writer) = work.store_and_writer()?;
    store.count_for_background(writer, meta.txnid, beside, alone);
    writer.log.weigh(durability);
    writer.too_long |= meta.page_count < writer.meta.page_count;
    writer.spare_tail = std::mem::replace(&mut writer.meta, meta).tail;
    writer.slot = slot;
    writer.mark = mark;
    writer.last_commit = timings;
    let txnid = writer.meta.txnid;
    writer.made = Some(txnid);
    if let Some(ledger) = &mut writer.ledger {
        ledger.is_of(&writer.meta);
    }
    // Nothing has been lost: the pages are the file's now.
    work.placed.extents.clear();
    work.bytes_before = None;
    tracing::trace!(txnid = txnid.0, pages = timings.pages, "written");
    Ok(())
}

/// Lets readers see the writer's commit.
fn publish(store: &Store, writer: &mut Writer, published: &Published) -> Result<()> {
    writer.seen_slot = writer.slot;
    store.length_is_known(published.txnid);
    store.shared.publish(published)
}
