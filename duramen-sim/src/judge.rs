//! The judge of images: does it open, is it whole, does it hold the state of a commit that it may hold, can it be
//! written to, and is all that still so when the power is cut once more meanwhile?
//!
//! Owns: those questions. Must not know: how an image came to be.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen::{Database, Durability};

use crate::disk::{Disk, Files, Mark};
use crate::model::{self, Digests, Kind, TableModel};
use crate::platter::{Allowed, Platters};

/// Entries of a table.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The table that the judge writes to see whether the database can be written to.
const TABLE: &[u8] = b"written by the judge";

/// Judges the images of one workload.
pub struct Judge {
    directory: tempfile::TempDir,
    states: Vec<Arc<Digests>>,
    page_size: usize,
    /// Images judged, those of recoveries included.
    pub images: u64,
}

/// How deep to look into one image.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Write to it, close it, open it again.
    pub write: bool,
    /// Images of what opening and writing did, and how many times this is repeated on their own.
    pub again: (u32, u32),
}

impl Judge {
    /// A judge who knows the states of a workload.
    pub fn new(states: Vec<Arc<Digests>>, page_size: usize) -> Judge {
        Judge { directory: crate::scratch(), states, page_size, images: 0 }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("image.dm")
    }

    /// Judges one image; the state that it holds.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn judge(
        &mut self,
        image: &Files,
        allowed: &Allowed,
        depth: Depth,
        rng: &mut fastrand::Rng,
    ) -> Result<usize, String> {
        self.images += 1;
        let path = self.path();
        let _ = std::fs::remove_file(path.with_extension("dm-lock"));
        write(&path, image).map_err(|e| format!("the image cannot be written: {e}"))?;
        let disk = Disk::holding(if depth.again.0 > 0 { image.clone() } else { Files::default() });
        let (state, judged) = self.recover(&path, &disk, allowed, depth)?;
        if depth.again.0 > 0 {
            self.again(&disk, allowed.clone(), state, judged, depth, rng)?;
        }
        Ok(state)
    }

    fn open(&self, path: &Path, disk: &Arc<Disk>) -> Result<Database, String> {
        let options = Database::options().page_size(self.page_size).durability(Durability::Durable);
        disk.under(options).open(path).map_err(|e| format!("it does not open: {e}"))
    }

    /// Opens an image, recognizes its state, writes to it. The state that it had, and the one that it was given.
    fn recover(
        &mut self,
        path: &Path,
        disk: &Arc<Disk>,
        allowed: &Allowed,
        depth: Depth,
    ) -> Result<(usize, Option<usize>), String> {
        let db = self.open(path, disk)?;
        let found = whole(&db, "after opening")?;
        let recognized = allowed.states().find(|&state| *self.states[state] == found);
        let state = recognized.ok_or_else(|| self.unknown(&found, allowed))?;
        disk.mark(Mark::Durable(state));
        if !depth.write {
            return Ok((state, None));
        }
        let (after, written) = self.written(&found);
        disk.mark(Mark::Begun(after));
        db.update(|txn| {
            let mut table = txn.table(TABLE)?;
            written.iter().try_for_each(|(key, value)| table.put(key, value))
        })
        .map_err(|e| format!("it cannot be written to: {e}"))?;
        disk.mark(Mark::Durable(after));
        self.same(&whole(&db, "after writing to it")?, after, "after writing to it")?;
        db.close().map_err(|e| format!("it cannot be closed: {e}"))?;
        let db = self.open(path, disk)?;
        self.same(&whole(&db, "after opening it again")?, after, "after opening it again")?;
        Ok((state, Some(after)))
    }

    /// The state after the judge's own commit, and what it writes: enough to fill what free space there is.
    fn written(&mut self, before: &Digests) -> (usize, Pairs) {
        let mut table = TableModel::new(Kind::Plain);
        let entries: Vec<(Vec<u8>, Vec<u8>)> =
            (0..60u8).map(|i| (vec![i; 9], vec![i ^ 0xa5; [30, 700, 9000][usize::from(i) % 3]])).collect();
        entries.iter().for_each(|(key, value)| assert!(table.put(key, value)));
        let mut model = model::Model::default();
        model.tables.insert(TABLE.to_vec(), table);
        let mut after = before.clone();
        after.extend(model.digests());
        let known = self.states.iter().position(|state| **state == after);
        let state = known.unwrap_or_else(|| {
            self.states.push(Arc::new(after));
            self.states.len() - 1
        });
        (state, entries)
    }

    fn same(&self, found: &Digests, wanted: usize, when: &str) -> Result<(), String> {
        if *found == *self.states[wanted] {
            return Ok(());
        }
        Err(format!("{when}: {}", model::difference(found, &self.states[wanted])))
    }

    fn unknown(&self, found: &Digests, allowed: &Allowed) -> String {
        let range = allowed.range();
        let elsewhere = self.states.iter().rposition(|state| **state == *found);
        let newest = model::difference(found, &self.states[*range.end()]);
        match elsewhere {
            Some(state) => format!("it holds state {state}, which is not one of {range:?}"),
            None => format!("it holds no state of {range:?}; compared with the newest: {newest}"),
        }
    }

    /// Cuts the power again during what was just done.
    fn again(
        &mut self,
        disk: &Arc<Disk>,
        allowed: Allowed,
        state: usize,
        after: Option<usize>,
        depth: Depth,
        rng: &mut fastrand::Rng,
    ) -> Result<(), String> {
        let mut platters = Platters::new(disk.start(), allowed);
        let events = disk.events();
        let deeper = Depth {
            write: depth.write,
            again: (if depth.again.1 > 0 { 1 } else { 0 }, depth.again.1.saturating_sub(1)),
        };
        let chance = f64::from(depth.again.0) / events.len().max(1) as f64;
        for (i, event) in events.iter().enumerate() {
            if !platters.apply(event) || rng.f64() >= chance {
                continue;
            }
            let image = platters.files(&platters.random(rng));
            self.judge(&image, &platters.allowed().clone(), deeper, rng).map_err(|finding| {
                format!("recovered to state {state} (then {after:?}), and again after its event {i}: {finding}")
            })?;
        }
        Ok(())
    }
}

/// Puts an image where it can be opened.
pub(crate) fn write(path: &Path, image: &Files) -> std::io::Result<()> {
    std::fs::write(path, &image.data)?;
    let log = path.with_extension("dm-log");
    // The zeros at the end take no time this way. They are there: a record may end with some.
    match image.log.iter().rposition(|&byte| byte != 0) {
        Some(last) => {
            std::fs::write(&log, &image.log[..=last])?;
            File::options().write(true).open(&log)?.set_len(image.log.len() as u64)
        }
        None => std::fs::remove_file(log).or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) }),
    }
}

/// The content of a database whose every page is right and accounted for.
fn whole(db: &Database, when: &str) -> Result<Digests, String> {
    let report = db.check(|_, _| {}).map_err(|e| format!("{when} it cannot be checked: {e}"))?;
    if let Some(finding) = report.findings.first() {
        return Err(format!("{when} the check finds: {finding}"));
    }
    let snapshot = db.read().map_err(|e| format!("{when} it cannot be read: {e}"))?;
    model::digests(&snapshot).map_err(|e| format!("{when}: {e}"))
}
