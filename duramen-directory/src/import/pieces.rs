//! Text cut into pieces between records, worked on by several threads, given back in order.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use super::ImportError;

/// Bytes of a piece, about.
const PIECE: usize = 256 << 10;
/// Pieces that are under way at a time, by thread.
const UNDER_WAY: usize = 4;

/// Some records.
pub(super) struct Piece {
    /// Lines before it.
    pub lines_before: u64,
    /// Bytes up to its end.
    end: u64,
    pub text: Vec<u8>,
}

/// A text in pieces.
pub(super) struct Pieces<'t> {
    file: String,
    text: &'t mut dyn BufRead,
    lines: u64,
    bytes: u64,
}

impl<'t> Pieces<'t> {
    pub fn new(file: &str, text: &'t mut dyn BufRead) -> Pieces<'t> {
        Pieces { file: file.to_string(), text, lines: 0, bytes: 0 }
    }

    /// The next piece: it ends with an empty line, or with the text.
    fn next(&mut self) -> Result<Option<Piece>, ImportError> {
        let lines_before = self.lines;
        let mut text = Vec::with_capacity(PIECE + (PIECE >> 3));
        loop {
            let start = text.len();
            let read = self.text.read_until(b'\n', &mut text);
            let read = read.map_err(|source| ImportError::Io { file: self.file.clone(), source })?;
            if read == 0 {
                break;
            }
            self.lines += 1;
            let is_empty = text[start..].iter().all(|byte| matches!(byte, b'\r' | b'\n'));
            if is_empty && text.len() >= PIECE {
                break;
            }
        }
        self.bytes += text.len() as u64;
        Ok((!text.is_empty()).then_some(Piece { lines_before, end: self.bytes, text }))
    }

    /// Works on all pieces with `work`, on several threads, and gives what comes out to `take` in the order of the
    /// text, with the bytes that were read up to there.
    pub fn for_each<T: Send>(
        mut self,
        work: impl Fn(&Piece) -> T + Sync,
        take: &mut dyn FnMut(u64, T) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let (give, given) = sync_channel::<(u64, Piece)>(threads * UNDER_WAY);
        let (done, results) = sync_channel::<(u64, u64, T)>(threads * UNDER_WAY);
        let given = Mutex::new(given);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (done, given, work) = (done.clone(), &given, &work);
                scope.spawn(move || worker(given, &done, work));
            }
            drop(done);
            let outcome = self.drive(give, &results, threads * UNDER_WAY, take);
            // Threads that still have something to give must not wait for somebody to take it.
            drop(results);
            outcome
        })
    }

    /// Hands out pieces, and takes what comes back.
    fn drive<T>(
        &mut self,
        give: SyncSender<(u64, Piece)>,
        results: &Receiver<(u64, u64, T)>,
        under_way_max: usize,
        take: &mut dyn FnMut(u64, T) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let (mut given, mut taken) = (0, 0);
        let mut early = BTreeMap::new();
        let mut give = Some(give);
        loop {
            while let Some(sender) = give.as_ref().filter(|_| given - taken < under_way_max as u64) {
                match self.next()? {
                    // The threads end only after their sender.
                    Some(piece) => sender.send((given, piece)).map_err(|_| ImportError::Stopped)?,
                    None => {
                        give = None;
                        break;
                    }
                }
                given += 1;
            }
            if given == taken {
                return Ok(());
            }
            let (number, end, result) = results.recv().map_err(|_| ImportError::Stopped)?;
            early.insert(number, (end, result));
            while let Some((end, result)) = early.remove(&taken) {
                taken += 1;
                take(end, result)?;
            }
        }
    }
}

fn worker<T>(given: &Mutex<Receiver<(u64, Piece)>>, done: &SyncSender<(u64, u64, T)>, work: &impl Fn(&Piece) -> T) {
    loop {
        let next = given.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, piece)) = next else { return };
        if done.send((number, piece.end, work(&piece))).is_err() {
            return;
        }
    }
}
