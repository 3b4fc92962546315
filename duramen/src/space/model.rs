//! [`Space`] against a model that knows what each single page is.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::base::{decode_base, encode_base};
use super::choose::{Fit, RUN_WORTH, SMALL_COMMIT};
use super::log::{Delta, Replay};
use super::{Lane, Space, subtract};
use crate::error::Damage;
use crate::ids::{Extent, Pgno, Txnid};

/// Pages in the model: few, so that operations meet.
const PAGES: u64 = 160;
/// Of free runs shorter than this the shortest that fits is taken.
const SHORT: u64 = 64;
/// Transactions in the model.
const TXNS: u64 = 12;

impl Extent {
    fn start_of(self, pages: u64) -> Extent {
        Extent::new(self.start, pages.max(1))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    Used,
    Free,
    Retired { birth: Txnid, death: Txnid },
}

#[derive(Debug, Clone)]
struct Model {
    pages: Vec<Page>,
}

impl Model {
    fn new() -> Model {
        Model { pages: vec![Page::Used; PAGES as usize] }
    }

    fn slots(&mut self, extent: Extent) -> &mut [Page] {
        &mut self.pages[extent.start.0 as usize..extent.end().0 as usize]
    }

    /// Changes used pages to `to`; false, and no change, if one is not in use.
    fn give(&mut self, extent: Extent, to: Page) -> bool {
        let slots = self.slots(extent);
        let vacant = slots.iter().all(|page| *page == Page::Used);
        if vacant {
            slots.fill(to);
        }
        vacant
    }

    /// Retires used pages; false, and no change, if one is not in use, or is there twice, or was freed before it was
    /// written.
    fn retire_all(&mut self, cohort: &[(Extent, Txnid)], death: Txnid) -> bool {
        let mut next = self.clone();
        let suits =
            |&(extent, birth): &(Extent, Txnid)| birth <= death && next.give(extent, Page::Retired { birth, death });
        let all = cohort.iter().all(suits);
        if all {
            *self = next;
        }
        all
    }

    /// Uses pages; false, and no change, if one was in use.
    fn take_anywhere(&mut self, extent: Extent) -> bool {
        let slots = self.slots(extent);
        let takeable = slots.iter().all(|page| *page != Page::Used);
        if takeable {
            slots.fill(Page::Used);
        }
        takeable
    }

    /// Uses a page; false if it was not free.
    fn take_free(&mut self, page: Pgno) -> bool {
        std::mem::replace(&mut self.pages[page.0 as usize], Page::Used) == Page::Free
    }

    fn release(&mut self, live: &[Txnid]) {
        for page in &mut self.pages {
            if let Page::Retired { birth, death } = *page
                && !live.iter().any(|snapshot| birth <= *snapshot && *snapshot < death)
            {
                *page = Page::Free;
            }
        }
    }

    /// The maximal runs of pages that are `same`.
    fn runs(&self, same: impl Fn(Page) -> bool) -> Vec<Extent> {
        let mut runs: Vec<Extent> = Vec::new();
        for at in (0..PAGES).filter(|at| same(self.pages[*at as usize])) {
            match runs.last_mut() {
                Some(run) if run.end().0 == at => run.pages += 1,
                _ => runs.push(Extent::new(Pgno(at), 1)),
            }
        }
        runs
    }

    fn free(&self) -> Vec<Extent> {
        self.runs(|page| page == Page::Free)
    }

    /// Uses what was taken as one run of `wanted` pages: the front of a run that fits it as well as any. So short are
    /// all runs here that the shortest is found. Of what was set aside nothing is taken if anything else will do.
    fn take(&mut self, wanted: u64, set_aside: &[Extent], taken: Option<Extent>) -> Result<(), TestCaseError> {
        let others = subtract(&self.free(), set_aside);
        let enough = others.iter().any(|run| run.pages >= wanted);
        let free = if enough { others } else { self.free() };
        let best = free.iter().map(|run| run.pages).filter(|pages| *pages >= wanted).min();
        let from = taken.and_then(|taken| free.iter().find(|run| run.start == taken.start));
        prop_assert_eq!(from.map(|run| run.pages.min(SHORT)), best.map(|pages| pages.min(SHORT)));
        if let Some(taken) = taken {
            prop_assert_eq!(taken.pages, wanted);
            self.slots(taken).fill(Page::Used);
        }
        Ok(())
    }

    /// Uses what was taken as up to `wanted` pages. Of what was set aside nothing is taken if there is enough else.
    fn take_up_to(
        &mut self,
        wanted: u64,
        fit: Fit,
        set_aside: &[Extent],
        taken: &[Extent],
    ) -> Result<(), TestCaseError> {
        let free = self.free_but(set_aside, wanted);
        let fitting = free.iter().copied().filter(|run| run.pages >= wanted);
        let expected = match fit {
            Fit::Tight => {
                fitting.min_by_key(|run| (run.pages.min(SHORT), taken.first() != Some(&run.start_of(wanted))))
            }
            Fit::Low => fitting.min(),
        };
        match expected {
            Some(run) if wanted > 0 => prop_assert_eq!(taken, &[run.start_of(wanted)]),
            _ => {
                let all: u64 = free.iter().map(|run| run.pages).sum();
                prop_assert_eq!(taken.iter().map(|part| part.pages).sum::<u64>(), wanted.min(all));
                prop_assert!(taken.is_sorted());
                self.check_parts(fit, &free, taken)?;
            }
        }
        taken.iter().for_each(|part| self.slots(*part).fill(Page::Used));
        Ok(())
    }

    /// As [`Model::take_up_to`], where runs of `shortest` pages and more were asked for: a few pages are the lowest ones,
    /// and of many none is in a run so long while a shorter one is left.
    fn take_beside_runs(
        &mut self,
        wanted: u64,
        shortest: u64,
        set_aside: &[Extent],
        taken: &[Extent],
    ) -> Result<(), TestCaseError> {
        let free = self.free_but(set_aside, wanted);
        let from = |part: &Extent| free.iter().find(|run| run.start == part.start && run.pages >= part.pages);
        prop_assert!(taken.iter().all(|part| from(part).is_some()));
        prop_assert!(taken.iter().filter(|part| from(part) != Some(part)).count() <= 1);
        let all: u64 = free.iter().map(|run| run.pages).sum();
        prop_assert_eq!(taken.iter().map(|part| part.pages).sum::<u64>(), wanted.min(all));
        let mut left = free.iter().filter(|run| taken.iter().all(|part| part.start != run.start));
        if wanted <= SMALL_COMMIT {
            prop_assert!(left.all(|run| taken.iter().all(|part| part.start < run.start)));
        } else if taken.iter().filter_map(from).any(|run| run.pages >= shortest) {
            prop_assert!(left.all(|run| run.pages >= shortest.min(SHORT)));
        }
        taken.iter().for_each(|part| self.slots(*part).fill(Page::Used));
        Ok(())
    }

    /// What is free: without what was set aside, if that is enough.
    fn free_but(&self, set_aside: &[Extent], wanted: u64) -> Vec<Extent> {
        let others = subtract(&self.free(), set_aside);
        let enough = others.iter().map(|run| run.pages).sum::<u64>() >= wanted;
        if enough { others } else { self.free() }
    }

    /// Each part is the front of a run, and all but one are whole; of those left, none is longer, or none that was worth
    /// it lower.
    fn check_parts(&self, fit: Fit, free: &[Extent], taken: &[Extent]) -> Result<(), TestCaseError> {
        let from = |part: &Extent| free.iter().find(|run| run.start == part.start && run.pages >= part.pages);
        prop_assert!(taken.iter().all(|part| from(part).is_some()));
        prop_assert!(taken.iter().filter(|part| from(part) != Some(part)).count() <= 1);
        let left = || free.iter().filter(|run| taken.iter().all(|part| part.start != run.start));
        let passed_over = |run: &Extent| match fit {
            Fit::Tight => taken.iter().filter(|part| run.pages > part.pages).count() > 1 && run.pages < SHORT,
            Fit::Low => run.pages >= RUN_WORTH && taken.iter().any(|part| part.start > run.start),
        };
        prop_assert!(!left().any(passed_over));
        Ok(())
    }

    fn trim_end(&mut self, end: u64) -> u64 {
        let last = self.free().into_iter().rfind(|run| run.end().0 == end);
        if let Some(run) = last {
            self.slots(run).fill(Page::Used);
        }
        last.map_or(end, |run| run.start.0)
    }

    fn forget_from(&mut self, end: u64) {
        self.pages[end as usize..].fill(Page::Used);
    }

    fn blocked_by(&self, snapshot: Txnid) -> u64 {
        let sees =
            |page: &&Page| matches!(page, Page::Retired { birth, death } if *birth <= snapshot && snapshot < *death);
        self.pages.iter().filter(sees).count() as u64
    }

    /// What `space` says of each page.
    fn of(space: &Space) -> Model {
        let mut model = Model::new();
        for extent in space.extents().chain(space.lanes.iter()) {
            model.slots(extent).fill(Page::Free);
        }
        let pending =
            space.pending.iter().flat_map(|(death, cohort)| cohort.iter().map(|&(e, birth)| (e, birth, *death)));
        for (extent, birth, death) in space.retired().chain(pending) {
            model.slots(extent).fill(Page::Retired { birth, death });
        }
        model
    }

    /// Whether these snapshots see the same of both, and who begins after all that happened sees as little.
    fn is_as_seen_by(&self, other: &Model, live: &[Txnid]) -> bool {
        let sees = |page: &Page, snapshot: Txnid| matches!(page, Page::Retired { birth, death } if *birth <= snapshot && snapshot < *death);
        self.pages.iter().zip(&other.pages).all(|(a, b)| match (a, b) {
            (Page::Retired { .. }, Page::Retired { .. }) => {
                live.iter().chain([&Txnid(TXNS)]).all(|&snapshot| sees(a, snapshot) == sees(b, snapshot))
            }
            _ => a == b,
        })
    }

    /// Holds `space` against the model in all that can be asked of it.
    fn check(&self, space: &Space) -> Result<(), TestCaseError> {
        prop_assert_eq!(&Model::of(space).pages, &self.pages);
        let retired = self.pages.iter().filter(|page| matches!(page, Page::Retired { .. })).count() as u64;
        prop_assert_eq!(space.retired_pages(), retired);
        prop_assert_eq!(space.free_pages(), self.free().iter().map(|run| run.pages).sum::<u64>());
        if space.lanes.pages() == 0 {
            prop_assert_eq!(space.extents().collect::<Vec<_>>(), self.free());
            prop_assert_eq!(space.longest(), self.free().iter().map(|run| run.pages).max().unwrap_or(0));
        }
        for snapshot in (0..TXNS).map(Txnid) {
            prop_assert_eq!(space.blocked_by(snapshot), self.blocked_by(snapshot));
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
enum Op {
    AddFree(Extent),
    SetAside(Lane, Extent),
    Retire(Extent, Txnid, Txnid),
    RetireAll(Vec<(Extent, Txnid)>, Txnid),
    Settle,
    Index,
    Release(Vec<Txnid>),
    TakeOne(Lane, Fit),
    Take(u64),
    TakeUpTo(u64, Fit),
    TrimEnd(u64),
    Replay(Delta),
    Reopen(Vec<Txnid>),
}

fn extent() -> impl Strategy<Value = Extent> {
    (0..PAGES, prop_oneof![3 => 1u64..6, 1 => 1..PAGES])
        .prop_map(|(start, pages)| Extent::new(Pgno(start), pages.min(PAGES - start)))
}

fn lifetime() -> impl Strategy<Value = (Txnid, Txnid)> {
    (0..TXNS, 0..TXNS).prop_map(|(a, b)| (Txnid(a.min(b)), Txnid(a.max(b))))
}

fn snapshots() -> impl Strategy<Value = Vec<Txnid>> {
    prop::collection::btree_set((0..TXNS).prop_map(Txnid), 0..4).prop_map(|live| live.into_iter().collect())
}

fn fit() -> impl Strategy<Value = Fit> {
    prop_oneof![Just(Fit::Tight), Just(Fit::Low)]
}

/// What a commit frees: mostly disjoint extents, in any order, with births that are mostly not after its own number.
fn cohort() -> impl Strategy<Value = (Vec<(Extent, Txnid)>, Txnid)> {
    let death = prop_oneof![1 => 0..TXNS, 4 => Just(TXNS - 1)].prop_map(Txnid);
    let small = (0..PAGES - 4, 1u64..4).prop_map(|(start, pages)| Extent::new(Pgno(start), pages));
    (prop::collection::vec((small, (0..TXNS).prop_map(Txnid)), 0..5), death)
}

/// One extent in each list, which may or may not suit the space.
fn delta() -> impl Strategy<Value = Delta> {
    let end = prop_oneof![4 => Just(PAGES), 1 => PAGES / 2..PAGES];
    (lifetime(), end, extent(), extent(), extent(), any::<[bool; 3]>()).prop_map(
        |((birth, txnid), end, taken, retired, added, [take, retire, add])| Delta {
            txnid,
            end,
            taken: take.then_some(taken).into_iter().collect(),
            retired: retire.then_some((retired, birth)).into_iter().collect(),
            added: add.then_some(added).into_iter().collect(),
        },
    )
}

fn lane() -> impl Strategy<Value = Lane> {
    prop_oneof![Just(Lane::Lasting), Just(Lane::Fleeting)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => extent().prop_map(Op::AddFree),
        4 => (lane(), extent()).prop_map(|(lane, extent)| Op::SetAside(lane, extent)),
        8 => (extent(), lifetime()).prop_map(|(extent, (birth, death))| Op::Retire(extent, birth, death)),
        4 => cohort().prop_map(|(cohort, death)| Op::RetireAll(cohort, death)),
        1 => Just(Op::Settle),
        2 => Just(Op::Index),
        3 => snapshots().prop_map(Op::Release),
        6 => (lane(), fit()).prop_map(|(lane, fit)| Op::TakeOne(lane, fit)),
        2 => (1u64..12).prop_map(Op::Take),
        3 => (0u64..30, fit()).prop_map(|(pages, fit)| Op::TakeUpTo(pages, fit)),
        1 => (0..=PAGES).prop_map(Op::TrimEnd),
        3 => delta().prop_map(Op::Replay),
        1 => prop_oneof![Just((0..TXNS).map(Txnid).collect()), snapshots()].prop_map(Op::Reopen),
    ]
}

/// Through the base's bytes and back, with these live snapshots.
fn reopened(space: &mut Space, live: &[Txnid]) -> Space {
    let mut bytes = Vec::new();
    encode_base(space, live, &mut bytes);
    let mut input = &bytes[..];
    let mut again = decode_base(&mut input, 10 * PAGES).expect("what was encoded can be decoded");
    assert!(input.is_empty());
    again.set_limit(None);
    again
}

fn apply(space: &mut Space, delta: &Delta) -> Result<(), Damage> {
    let mut replay = Replay::new(space);
    replay.apply(delta)?;
    replay.finish()
}

/// Applies `delta`, through its bytes, to both. A refused one may leave a part of it behind, so it is tried on a copy.
fn replay(space: &mut Space, model: &mut Model, delta: &Delta) -> Result<(), TestCaseError> {
    let mut bytes = Vec::new();
    delta.encode(&mut bytes);
    prop_assert_eq!(&Delta::decode(&mut &bytes[..]).expect("what was encoded can be decoded"), delta);
    let mut next = model.clone();
    let death = delta.txnid;
    let suits = delta.taken.iter().all(|taken| taken.end().0 <= delta.end && next.take_anywhere(*taken))
        && delta.retired.iter().all(|&(extent, birth)| next.give(extent, Page::Retired { birth, death }))
        && delta.added.iter().all(|&extent| next.give(extent, Page::Free));
    if suits {
        next.forget_from(delta.end);
        *model = next;
        prop_assert_eq!(apply(space, delta), Ok(()));
    } else {
        space.settle();
        prop_assert!(apply(&mut reopened(space, &[]), delta).is_err());
    }
    Ok(())
}

fn step(space: &mut Space, model: &mut Model, op: &Op) -> Result<(), TestCaseError> {
    match *op {
        Op::SetAside(lane, extent) => {
            prop_assert_eq!(space.set_aside(lane, extent).is_ok(), model.give(extent, Page::Free));
        }
        Op::AddFree(extent) => prop_assert_eq!(space.add_free(extent).is_ok(), model.give(extent, Page::Free)),
        Op::Retire(extent, birth, death) => {
            let retired = Page::Retired { birth, death };
            prop_assert_eq!(space.retire(extent, birth, death).is_ok(), model.give(extent, retired));
        }
        Op::RetireAll(ref cohort, death) => {
            prop_assert_eq!(space.retire_all(cohort.clone(), death).is_ok(), model.retire_all(cohort, death));
        }
        Op::Settle => space.settle(),
        Op::Index => space.index(PAGES),
        Op::Release(ref live) => {
            space.release(live);
            model.release(live);
        }
        Op::TakeOne(lane, fit) => match space.take_one(lane, fit) {
            Some(page) => prop_assert!(model.take_free(page), "{page:?} was not free"),
            None => prop_assert_eq!(model.free(), []),
        },
        Op::Take(pages) => {
            let set_aside: Vec<Extent> = space.lanes.iter().collect();
            model.take(pages, &set_aside, space.take(pages))?
        }
        Op::TakeUpTo(pages, fit) => {
            let set_aside: Vec<Extent> = space.lanes.iter().collect();
            match (space.shortest_run, space.take_up_to(pages, fit)) {
                (Some(shortest), taken) if pages <= SMALL_COMMIT || shortest >= RUN_WORTH => {
                    model.take_beside_runs(pages, shortest, &set_aside, &taken)?;
                }
                (_, taken) => model.take_up_to(pages, fit, &set_aside, &taken)?,
            }
        }
        Op::TrimEnd(end) => {
            let cut = model.trim_end(end);
            prop_assert_eq!(space.free_at_end(Pgno(end), 1), end - cut);
            prop_assert_eq!(space.free_at_end(Pgno(end), end - cut + 1), 0);
            prop_assert_eq!(space.free_at_end(Pgno(end), (end - cut).div_ceil(2)), end - cut);
            prop_assert_eq!(space.trim_end(Pgno(end)).0, cut);
        }
        Op::Replay(ref delta) => replay(space, model, delta)?,
        Op::Reopen(ref live) => {
            *space = reopened(space, live);
            let read = Model::of(space);
            prop_assert!(read.is_as_seen_by(model, live));
            // With all snapshots alive nothing may be told otherwise.
            prop_assert!(live.len() < TXNS as usize || read.pages == model.pages);
            *model = read;
        }
    }
    Ok(())
}

/// What one commit of the replay test does.
#[derive(Debug, Clone)]
struct Commit {
    wanted: u64,
    grow: u64,
    free: Vec<usize>,
    readers_gone: Vec<bool>,
    reader_begins: bool,
}

fn commit() -> impl Strategy<Value = Commit> {
    let free = prop::collection::vec(any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20)), 0..8);
    (1u64..10, 0u64..4, free, any::<[bool; 6]>(), any::<bool>()).prop_map(
        |(wanted, grow, free, gone, reader_begins)| Commit {
            wanted,
            grow,
            free,
            readers_gone: gone.to_vec(),
            reader_begins,
        },
    )
}

/// A writer in small: pages in use with their births, readers, and a log.
#[derive(Default)]
struct ModelWriter {
    space: Space,
    end: u64,
    used: Vec<(Pgno, Txnid)>,
    live: Vec<Txnid>,
}

impl ModelWriter {
    fn commit(&mut self, txnid: Txnid, plan: &Commit) -> Delta {
        let mut gone = plan.readers_gone.iter().cycle();
        self.live.retain(|_| !gone.next().expect("it cycles"));
        // The commit before is what a crash falls back to.
        let fallback = Txnid(txnid.0 - 1);
        let live: Vec<Txnid> = self.live.iter().copied().filter(|s| *s < fallback).chain([fallback]).collect();
        self.space.release(&live);
        let taken = self.space.take_up_to(plan.wanted, Fit::Tight);
        let found: u64 = taken.iter().map(|extent| extent.pages).sum();
        let appended = (0..plan.wanted - found).map(|i| Extent::new(Pgno(self.end + i), 1));
        let written: Vec<Extent> = taken.iter().copied().chain(appended).collect();
        self.end += plan.wanted - found;
        let added = self.grow(plan.grow);
        let retired = self.retire(txnid, &plan.free);
        for extent in written {
            self.used.extend((extent.start.0..extent.end().0).map(|page| (Pgno(page), txnid)));
        }
        self.end = self.space.trim_end(Pgno(self.end)).0;
        if plan.reader_begins {
            self.live.push(txnid);
        }
        Delta { txnid, end: self.end, taken, retired, added }
    }

    fn grow(&mut self, pages: u64) -> Vec<Extent> {
        let slack = (pages > 0).then(|| Extent::new(Pgno(self.end), pages));
        self.end += pages;
        slack.into_iter().inspect(|slack| self.space.add_free(*slack).expect("it is new")).collect()
    }

    fn retire(&mut self, death: Txnid, picks: &[usize]) -> Vec<(Extent, Txnid)> {
        let mut retired = Vec::new();
        for pick in picks {
            if self.used.is_empty() {
                break;
            }
            let (page, birth) = self.used.swap_remove(pick % self.used.len());
            self.space.retire(Extent::new(page, 1), birth, death).expect("it was in use");
            retired.push((Extent::new(page, 1), birth));
        }
        retired
    }
}

proptest! {
    #[test]
    fn every_operation_agrees_with_a_vector_of_pages(ops in prop::collection::vec(op(), 0..60)) {
        let (mut space, mut model) = (Space::new(), Model::new());
        for op in &ops {
            step(&mut space, &mut model, op)?;
            model.check(&space)?;
        }
    }

    #[test]
    fn a_base_and_the_deltas_after_it_give_the_writers_space(
        commits in prop::collection::vec(commit(), 1..60),
        base_at in any::<prop::sample::Index>(),
        at_once in 1usize..20,
    ) {
        let base_at = base_at.index(commits.len());
        let mut writer = ModelWriter::default();
        let mut replayed = Space::new();
        let mut deltas = Vec::new();
        for (i, plan) in commits.iter().enumerate() {
            if i == base_at {
                // Among them the commit that the next one goes on from.
                let live: BTreeSet<Txnid> = writer.live.iter().copied().chain([Txnid(i as u64)]).collect();
                replayed = reopened(&mut writer.space, &Vec::from_iter(live));
            }
            let mut bytes = Vec::new();
            writer.commit(Txnid(i as u64 + 1), plan).encode(&mut bytes);
            if i >= base_at {
                deltas.push(Delta::decode(&mut &bytes[..]).expect("what was encoded can be decoded"));
            }
        }
        for some in deltas.chunks(at_once) {
            let mut replay = Replay::new(&mut replayed);
            some.iter().try_for_each(|delta| replay.apply(delta)).expect("a writer's commits suit its space");
            replay.finish().expect("what was freed was in use");
        }
        prop_assert!(replayed.check_within(Pgno(0), Pgno(writer.end)).is_ok());
        writer.space.release(&writer.live);
        replayed.release(&writer.live);
        writer.space.settle();
        replayed.settle();
        prop_assert_eq!(replayed.extents().collect::<Vec<_>>(), writer.space.extents().collect::<Vec<_>>());
        let free = writer.space.free_pages() + writer.space.retired_pages();
        prop_assert_eq!(free + writer.used.len() as u64, writer.end);
        prop_assert_eq!(replayed.retired_pages(), writer.space.retired_pages());
    }
}
