//! What a power cut may leave of a file.
//!
//! Owns: which versions each sector of a file may have ([`Platter`]), the choice among them ([`Image`]), both files
//! together ([`Platters`]). Must not know: what is
//! in the sectors.
//!
//! The rule: what was written before the last completed flush is there. Of what came after, each sector has any of the
//! contents that it had since, independently of all others (so writes are lost, reordered and torn), and the file has
//! any of the lengths that it had since; sectors of a length that came without its data are zeros. After a failed
//! flush, the sectors that it should have flushed stay uncertain until they are written again and flushed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use crate::disk::{Deed, Event, Files, META_BYTES, Mark, SECTOR, Which};

/// A content that a sector was given.
#[derive(Clone)]
struct Version {
    /// The number of the write that gave it.
    write: u32,
    /// Bytes and the offset in them; none for zeros.
    bytes: Option<(Arc<[u8]>, usize)>,
    /// A flush of it failed.
    doubtful: bool,
}

/// Which states an image may hold.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    lowest: usize,
    highest: usize,
    void: BTreeSet<usize>,
}

impl Allowed {
    /// The states by number, newest first.
    pub fn states(&self) -> impl Iterator<Item = usize> + '_ {
        (self.lowest..=self.highest).rev().filter(|state| !self.void.contains(state))
    }

    /// Only one state.
    pub fn only(state: usize) -> Allowed {
        Allowed { lowest: state, highest: state, void: BTreeSet::new() }
    }

    /// Those that are not beyond this one.
    pub fn up_to(&self, last: usize) -> Allowed {
        Allowed { highest: self.highest.min(last), ..self.clone() }
    }

    /// The numbers as a range, for messages.
    pub fn range(&self) -> RangeInclusive<usize> {
        self.lowest..=self.highest
    }

    /// Follows the workload's notes.
    pub fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Begun(state) => self.highest = self.highest.max(state),
            Mark::Durable(state) => {
                self.lowest = self.lowest.max(state);
                self.highest = self.highest.max(state);
            }
            Mark::Void(state) => {
                self.void.insert(state);
            }
        }
    }
}

/// The file's certain content, and what is uncertain.
#[derive(Clone, Default)]
pub struct Platter {
    flushed: Vec<u8>,
    pending: BTreeMap<u64, Vec<Version>>,
    /// Lengths since the last flush, after the flushed one, and the numbers of the writes that gave them.
    lengths: Vec<(u32, u64)>,
    writes: u32,
    /// Flushes under way, and the last write before each.
    flushes: BTreeMap<u32, u32>,
}

/// Choices: for each uncertain sector the version (0 is what was flushed), and the file's length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    versions: Vec<u32>,
    length: u64,
}

impl Platter {
    /// A file of this content, all flushed.
    pub fn new(content: &[u8]) -> Platter {
        Platter { flushed: content.to_vec(), ..Platter::default() }
    }

    fn length(&self) -> u64 {
        self.lengths.last().map_or(self.flushed.len() as u64, |&(_, bytes)| bytes)
    }

    /// Lets one thing happen.
    pub fn apply(&mut self, deed: &Deed) {
        match deed {
            Deed::Made => *self = Platter::default(),
            Deed::Write(offset, bytes) => self.write(*offset, bytes),
            Deed::SetLen(bytes) => self.set_len(*bytes),
            Deed::Flush => self.flush(self.writes),
            Deed::FlushBegun(number) => drop(self.flushes.insert(*number, self.writes)),
            Deed::FlushEnded(number) => {
                if let Some(last) = self.flushes.remove(number) {
                    self.flush(last);
                }
            }
            Deed::FlushOf(bytes) => self.flush_of(bytes.clone()),
            Deed::FlushFailed => self.doubt(),
            // Its name is not its content.
            Deed::Removed | Deed::Unnamed | Deed::Named => {}
        }
    }

    fn write(&mut self, offset: u64, bytes: &Arc<[u8]>) {
        self.writes += 1;
        for at in (0..bytes.len()).step_by(SECTOR) {
            let version = Version { write: self.writes, bytes: Some((bytes.clone(), at)), doubtful: false };
            self.pending.entry((offset + at as u64) / SECTOR as u64).or_default().push(version);
        }
        let end = offset + bytes.len() as u64;
        if end > self.length() {
            self.lengths.push((self.writes, end));
        }
    }

    fn set_len(&mut self, bytes: u64) {
        self.writes += 1;
        // What was cut off must read as zeros should the file grow again.
        for sector in bytes.div_ceil(SECTOR as u64)..self.length().div_ceil(SECTOR as u64) {
            let version = Version { write: self.writes, bytes: None, doubtful: false };
            self.pending.entry(sector).or_default().push(version);
        }
        self.lengths.push((self.writes, bytes));
    }

    /// A flush of all up to this write.
    fn flush(&mut self, last: u32) {
        let later = self.lengths.partition_point(|&(write, _)| write <= last);
        if let Some((_, bytes)) = self.lengths.drain(..later).next_back() {
            self.flushed.resize(bytes as usize, 0);
        }
        self.settle(0..u64::MAX, last);
    }

    /// A flush of whole sectors, which are within the file whichever length it has.
    fn flush_of(&mut self, bytes: Range<u64>) {
        assert!(bytes.end <= self.lengths()[0], "the length of the file is not flushed");
        self.settle(bytes.start / SECTOR as u64..bytes.end / SECTOR as u64, self.writes);
    }

    /// The newest content of these sectors, up to this write, is certain, unless a flush of it failed.
    fn settle(&mut self, sectors: Range<u64>, last: u32) {
        let flushed = &mut self.flushed;
        self.pending.retain(|&sector, versions| {
            let done = versions.partition_point(|version| version.write <= last);
            if let Some(newest) = done.checked_sub(1).map(|newest| &versions[newest])
                && sectors.contains(&sector)
                && !newest.doubtful
            {
                put(flushed, sector, newest);
                versions.drain(..done);
            }
            !versions.is_empty()
        });
    }

    fn doubt(&mut self) {
        self.pending.values_mut().flatten().for_each(|version| version.doubtful = true);
    }

    /// How many different images there are, at most.
    pub fn count(&self) -> u128 {
        let lengths = self.lengths().len() as u128;
        let few = |n: u128, versions: &Vec<Version>| n.checked_mul(versions.len() as u128 + 1);
        self.pending.values().try_fold(lengths, few).unwrap_or(u128::MAX)
    }

    fn lengths(&self) -> Vec<u64> {
        let mut lengths: Vec<u64> = self.lengths.iter().map(|&(_, bytes)| bytes).collect();
        lengths.push(self.flushed.len() as u64);
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// The image of this number, below [`Platter::count`].
    pub fn nth(&self, mut number: u128) -> Image {
        let mut digit = |base: usize| {
            let digit = number % base as u128;
            number /= base as u128;
            digit as usize
        };
        let lengths = self.lengths();
        let length = lengths[digit(lengths.len())];
        Image { versions: self.pending.values().map(|versions| digit(versions.len() + 1) as u32).collect(), length }
    }

    /// Any image; each kind of loss is given its share.
    pub fn random(&self, rng: &mut fastrand::Rng) -> Image {
        let lengths = self.lengths();
        let length = if rng.bool() { self.length() } else { lengths[rng.usize(..lengths.len())] };
        Image { versions: self.lose(rng), length }
    }

    fn lose(&self, rng: &mut fastrand::Rng) -> Vec<u32> {
        match rng.u32(..7) {
            0 => self.scatter(rng, |_, p| p),
            // The meta pages made it, what they name did not all.
            1 => self.scatter(rng, |sector, p| if sector * (SECTOR as u64) < META_BYTES { 1.0 } else { p }),
            2 => self.keep_writes(|_, keep| keep, rng),
            3 => {
                // All up to some write.
                let last = rng.u32(self.writes.saturating_sub(20)..=self.writes);
                self.keep_writes(move |write, _| write <= last, rng)
            }
            4 => self.torn(rng),
            5 => self.all_but_one(rng),
            _ => {
                // All but one write.
                let lost = rng.u32(self.writes.saturating_sub(8)..=self.writes);
                self.keep_writes(move |write, _| write != lost, rng)
            }
        }
    }

    /// Each sector for itself: with some probability its newest content, else any.
    fn scatter(&self, rng: &mut fastrand::Rng, bias: impl Fn(u64, f64) -> f64) -> Vec<u32> {
        let p = [0.02, 0.1, 0.5, 0.9, 0.98][rng.usize(..5)];
        let choose = |(&sector, versions): (&u64, &Vec<Version>)| {
            let newest = versions.len() as u32;
            if rng.f64() < bias(sector, p) { newest } else { rng.u32(0..newest) }
        };
        self.pending.iter().map(choose).collect()
    }

    /// Each write is kept or lost as a whole.
    fn keep_writes(&self, keep: impl Fn(u32, bool) -> bool, rng: &mut fastrand::Rng) -> Vec<u32> {
        let tosses: Vec<bool> = (0..=self.writes - self.first_write()).map(|_| rng.bool()).collect();
        let first = self.first_write();
        let kept = |version: &Version| keep(version.write, tosses[(version.write - first) as usize]);
        self.pending.values().map(|v| v.iter().rposition(kept).map_or(0, |i| i as u32 + 1)).collect()
    }

    /// One write is torn, the later ones are lost.
    fn torn(&self, rng: &mut fastrand::Rng) -> Vec<u32> {
        let torn = rng.u32(self.first_write()..=self.writes);
        let mut lasts = Vec::with_capacity(self.pending.len());
        for versions in self.pending.values() {
            let limit = if rng.bool() { torn } else { torn.saturating_sub(1) };
            lasts.push(versions.iter().rposition(|v| v.write <= limit).map_or(0, |i| i as u32 + 1));
        }
        lasts
    }

    fn all_but_one(&self, rng: &mut fastrand::Rng) -> Vec<u32> {
        let mut versions: Vec<u32> = self.pending.values().map(|versions| versions.len() as u32).collect();
        if !versions.is_empty() {
            let lost = rng.usize(..versions.len());
            versions[lost] = rng.u32(0..versions[lost]);
        }
        versions
    }

    /// Nothing is lost.
    fn newest(&self) -> Image {
        Image { versions: self.pending.values().map(|versions| versions.len() as u32).collect(), length: self.length() }
    }

    fn first_write(&self) -> u32 {
        self.pending.values().flatten().map(|version| version.write).min().unwrap_or(self.writes)
    }

    /// The bytes of an image.
    pub fn bytes(&self, image: &Image) -> Vec<u8> {
        let mut bytes = self.flushed.clone();
        bytes.resize(bytes.len().max(image.length as usize), 0);
        for ((&sector, versions), &choice) in self.pending.iter().zip(&image.versions) {
            if let Some(version) = choice.checked_sub(1).and_then(|i| versions.get(i as usize)) {
                put(&mut bytes, sector, version);
            }
        }
        bytes.truncate(image.length as usize);
        bytes
    }
}

/// A data file and its log, and which states they may hold.
#[derive(Clone, Default)]
pub struct Platters {
    data: Platter,
    log: Platter,
    /// The log that there was before this one was made: until this one is flushed, its name may still lead to that.
    old_log: Option<Vec<u8>>,
    /// The log was removed, and none was made since.
    removed: bool,
    /// The log was made, and its name was not flushed since.
    unnamed: bool,
    allowed: Allowed,
}

/// Choices for both files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    data: Image,
    log: Image,
    which_log: WhichLog,
}

/// What the log's name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhichLog {
    /// The one that was made last.
    Newest,
    /// The one before.
    Older,
    /// Nothing.
    None,
}

impl Platters {
    /// Files of this content, all flushed, that may hold these states.
    pub fn new(content: &Files, allowed: Allowed) -> Platters {
        let (data, log) = (Platter::new(&content.data), Platter::new(&content.log));
        Platters { data, log, allowed, ..Platters::default() }
    }

    /// Which states a crash may leave now.
    pub fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    /// Lets one event happen. Whether it changed what a crash may leave.
    pub fn apply(&mut self, event: &Event) -> bool {
        match event {
            Event::On(Which::Data, deed) => self.data.apply(deed),
            Event::On(Which::Log, deed) => {
                match deed {
                    Deed::Made => {
                        self.old_log = Some(self.log.bytes(&self.log.newest()));
                        self.removed = false;
                    }
                    Deed::Flush | Deed::Named if !self.unnamed || matches!(deed, Deed::Named) => {
                        (self.old_log, self.unnamed) = (None, false);
                    }
                    Deed::Unnamed => self.unnamed = true,
                    Deed::Removed => self.removed = true,
                    _ => {}
                }
                self.log.apply(deed);
            }
            Event::Mark(mark) => {
                self.allowed.mark(*mark);
                return false;
            }
        }
        true
    }

    /// What the log's name may lead to.
    fn logs(&self) -> impl Iterator<Item = WhichLog> {
        let older = self.old_log.is_some().then_some(WhichLog::Older);
        let none = (self.removed || self.unnamed).then_some(WhichLog::None);
        std::iter::once(WhichLog::Newest).chain(older).chain(none)
    }

    /// How many different cuts there are, at most.
    pub fn count(&self) -> u128 {
        let logs = self.log.count().saturating_mul(self.logs().count() as u128);
        self.data.count().saturating_mul(logs)
    }

    /// The cut of this number, below [`Platters::count`].
    pub fn nth(&self, number: u128) -> Cut {
        let (of_data, of_log) = (self.data.count(), self.log.count());
        let rest = number / of_data;
        let which_log = self.logs().nth((rest / of_log) as usize).unwrap_or(WhichLog::Newest);
        Cut { data: self.data.nth(number % of_data), log: self.log.nth(rest % of_log), which_log }
    }

    /// Any cut; each kind of loss is given its share.
    pub fn random(&self, rng: &mut fastrand::Rng) -> Cut {
        let logs: Vec<WhichLog> = self.logs().collect();
        Cut { data: self.data.random(rng), log: self.log.random(rng), which_log: logs[rng.usize(..logs.len())] }
    }

    /// What the files hold after a cut.
    pub fn files(&self, cut: &Cut) -> Files {
        let log = match cut.which_log {
            WhichLog::Newest => self.log.bytes(&cut.log),
            WhichLog::Older => self.old_log.clone().unwrap_or_default(),
            WhichLog::None => Vec::new(),
        };
        Files { data: self.data.bytes(&cut.data), log }
    }
}

/// Gives a sector its content, as far as the file is long.
fn put(file: &mut [u8], sector: u64, version: &Version) {
    let at = sector as usize * SECTOR;
    let Some(room) = file.get_mut(at..) else { return };
    let bytes = SECTOR.min(room.len());
    let room = &mut room[..bytes];
    match &version.bytes {
        Some((data, from)) => room.copy_from_slice(&data[*from..*from + bytes]),
        None => room.fill(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, byte: u8, sectors: usize) -> Deed {
        Deed::Write(offset, vec![byte; sectors * SECTOR].into())
    }

    fn all(platter: &Platter) -> BTreeSet<Vec<u8>> {
        (0..platter.count()).map(|n| platter.bytes(&platter.nth(n))).collect()
    }

    #[test]
    fn what_was_flushed_is_certain() {
        let mut platter = Platter::new(&[]);
        platter.apply(&write(0, 1, 2));
        platter.apply(&Deed::Flush);
        assert_eq!(all(&platter), BTreeSet::from([vec![1; 1024]]));
    }

    #[test]
    fn a_flush_of_some_bytes_leaves_the_others_uncertain() {
        let mut platter = Platter::new(&[0; 1024]);
        platter.apply(&write(0, 1, 2));
        platter.apply(&Deed::FlushOf(512..1024));
        let mix = |a, b| [[a; 512], [b; 512]].concat();
        assert_eq!(all(&platter), BTreeSet::from([mix(0, 1), mix(1, 1)]));
    }

    #[test]
    fn what_came_while_a_flush_was_under_way_is_not_certain() {
        let mut platter = Platter::new(&[0; 512]);
        for deed in [write(0, 1, 1), Deed::FlushBegun(7), write(0, 2, 2), Deed::FlushEnded(7)] {
            platter.apply(&deed);
        }
        let longer = |a, b| [vec![a; 512], vec![b; 512]].concat();
        assert_eq!(
            all(&platter),
            BTreeSet::from([vec![1; 512], vec![2; 512], longer(1, 0), longer(1, 2), longer(2, 0), longer(2, 2)])
        );
        platter.apply(&Deed::Flush);
        assert_eq!(all(&platter), BTreeSet::from([longer(2, 2)]));
    }

    #[test]
    fn a_log_whose_name_was_not_flushed_may_not_be_there() {
        let mut platters = Platters::default();
        let log = |deed| Event::On(Which::Log, deed);
        let mut logs = |deed| {
            platters.apply(&log(deed));
            (0..platters.count()).map(|n| platters.files(&platters.nth(n)).log.len()).collect::<BTreeSet<_>>()
        };
        logs(Deed::Made);
        logs(Deed::Unnamed);
        logs(write(0, 1, 1));
        assert_eq!(logs(Deed::Flush), BTreeSet::from([0, 512]));
        assert_eq!(logs(Deed::Named), BTreeSet::from([512]));
    }

    #[test]
    fn a_write_of_two_sectors_may_be_lost_torn_or_there() {
        let mut platter = Platter::new(&[0; 1024]);
        platter.apply(&write(0, 1, 2));
        let mix = |a, b| [[a; 512], [b; 512]].concat();
        assert_eq!(all(&platter), BTreeSet::from([mix(0, 0), mix(0, 1), mix(1, 0), mix(1, 1)]));
    }

    #[test]
    fn a_longer_file_may_have_its_length_or_its_data_or_both_or_neither() {
        let mut platter = Platter::new(&[]);
        platter.apply(&write(0, 1, 1));
        assert_eq!(all(&platter), BTreeSet::from([vec![], vec![0; 512], vec![1; 512]]));
    }

    #[test]
    fn a_file_cut_off_and_grown_again_has_old_bytes_zeros_or_new_ones() {
        let mut platter = Platter::new(&[1; 512]);
        platter.apply(&Deed::SetLen(0));
        platter.apply(&write(0, 2, 1));
        assert_eq!(all(&platter), BTreeSet::from([vec![], vec![0; 512], vec![1; 512], vec![2; 512]]));
    }

    #[test]
    fn what_a_failed_flush_left_stays_uncertain_until_written_and_flushed_again() {
        let mut platter = Platter::new(&[0; 1024]);
        for deed in [write(0, 1, 2), Deed::FlushFailed, write(512, 2, 1), Deed::Flush] {
            platter.apply(&deed);
        }
        let mix = |a, b| [[a; 512], [b; 512]].concat();
        assert_eq!(all(&platter), BTreeSet::from([mix(0, 2), mix(1, 2)]));
    }

    #[test]
    fn random_images_are_images_and_reach_all_of_a_few() {
        let mut platter = Platter::new(&[0; 1024]);
        for deed in [write(0, 1, 2), write(512, 2, 2)] {
            platter.apply(&deed);
        }
        let mut rng = fastrand::Rng::with_seed(1);
        let seen: BTreeSet<Vec<u8>> = (0..5000).map(|_| platter.bytes(&platter.random(&mut rng))).collect();
        assert_eq!(seen, all(&platter));
    }
}
