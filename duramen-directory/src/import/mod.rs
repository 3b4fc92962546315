//! Importing LDIF: into an empty directory table by table, each loaded as a whole; into any other entry by entry.
//!
//! Owns: the order of the work, and what is left if it fails: nothing of it in a directory that was empty.
//!
//! Text is cut into pieces between records. Threads make entries of pieces; the caller's thread puts them in order,
//! gives them ids, and fills the tables. Indices are made of the entries that are stored, window by window. An entry that
//! stands before its parent (a dump has one wherever something was moved below what is newer) waits for it in memory.

mod bulk;
mod lines;
mod online;
mod outside;
mod pieces;
mod prepare;
mod repair;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, ErrorKind};
use std::sync::Arc;

use duramen_ldap::message::ResultCode;
use uuid::Uuid;

use crate::failure::{Failure, Result};
use crate::history;
use crate::inner::Inner;
use crate::names::{self, Suffix};
use crate::schema::Schema;
use crate::tables::{ENTRY, INDEX, NAME, VALUE, WAITING};
use crate::update::same_identifier;
use crate::{meta, tables};

use pieces::Pieces;
use prepare::Prepared;

/// How to import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Everything is checked, and nothing is written.
    pub dry_run: bool,
    /// Records with problems are left out instead of ending the import.
    pub skip_problems: bool,
    /// Of records with attributes that the schema does not have or their classes do not allow, with values that are not of
    /// their syntax or there twice, these are left out, and the rest is taken.
    pub repair: bool,
}

/// What happens while an import runs.
#[derive(Debug)]
pub enum ImportEvent<'e> {
    /// A record has a problem.
    Problem(&'e ImportProblem),
    /// A part of a record was left out.
    LeftOut(&'e ImportProblem),
    /// So many bytes of the text are read, and so many entries were taken.
    Read {
        /// Bytes.
        bytes: u64,
        /// Entries.
        entries: u64,
    },
    /// Indices of so many entries, of so many in all, are made.
    Indexed {
        /// Entries done.
        done: u64,
        /// Entries in all.
        total: u64,
    },
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct ImportProblem {
    /// The file's name, as it was given.
    pub file: String,
    /// The line where the record, or what is wrong in it, begins; counted from 1.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

/// Why an import ended.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A record has a problem.
    #[error(transparent)]
    Problem(#[from] ImportProblem),
    /// The text cannot be read.
    #[error("{file}: {source}")]
    Io {
        /// The file's name, as it was given.
        file: String,
        /// The system's answer.
        r#source: std::io::Error,
    },
    /// The directory says no.
    #[error(transparent)]
    Directory(#[from] Failure),
    /// The database fails: nothing that another record would make right.
    #[error("{}", Failure::of_database(.0).diagnostic)]
    Database(duramen::Error),
    /// What was loaded before an error is still there.
    #[error(
        "{source}; what was loaded until then could not be taken away ({left}): remove the folder, and import again"
    )]
    Left {
        /// The error.
        r#source: Box<ImportError>,
        /// Why it is still there.
        left: duramen::Error,
    },
    /// The listener of events said so.
    #[error("stopped")]
    Stopped,
}

// Its message has the database's, which is no source beside that.
impl From<duramen::Error> for ImportError {
    fn from(error: duramen::Error) -> ImportError {
        ImportError::Database(error)
    }
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Entries that are in the directory now, or would be.
    pub entries: u64,
    /// Records that were left out.
    pub problems: u64,
    /// Attributes and values that were left out of records that were taken.
    pub left_out: u64,
    /// How many stored passwords have a form that no password matches here, by scheme: `{SASL}` for example.
    pub unmatchable: BTreeMap<String, u64>,
    /// How many entries had attributes that are not kept: those that are made of others here, and those that only another
    /// server keeps up to date.
    pub not_kept: BTreeMap<String, u64>,
}

/// Hears what happens; false ends the import.
pub(crate) type Listener<'l> = &'l mut dyn FnMut(ImportEvent<'_>) -> bool;

impl Inner {
    pub(crate) fn import(
        self: &Arc<Inner>,
        file: &str,
        text: &mut dyn BufRead,
        options: ImportOptions,
        listener: Listener<'_>,
    ) -> Result<Imported, ImportError> {
        if self.is_read_only() && !options.dry_run {
            let text = "the directory is open for reading only";
            return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text).into());
        }
        await_text(file, text)?;
        let is_empty = !options.dry_run
            && self.db.update(|txn| {
                // It takes everything away if it fails, of whomever it is.
                if meta::is_importing(txn)? {
                    return Ok(Err(Failure::new(ResultCode::BUSY, meta::IMPORTING)));
                }
                let is_empty = txn.table(ENTRY)?.is_empty();
                if is_empty {
                    // What entries that are gone have left, as in indices that are not kept any more.
                    [NAME, INDEX, WAITING, VALUE]
                        .into_iter()
                        .try_for_each(|name| txn.table(name)?.clear().map(drop))?;
                    meta::put(txn, meta::IMPORT, b"running")?;
                }
                Ok(Ok(is_empty))
            })??;
        if !is_empty {
            return online::run(self, file, text, options, listener);
        }
        // Nobody changes schema or indices until the end.
        let current = self.db.read().map_err(ImportError::from).and_then(|snapshot| Ok(self.state_of(&snapshot)?));
        let outcome = current.and_then(|_| bulk::run(self, file, text, options, listener));
        let ended = self.db.update(|txn| {
            if outcome.is_err() {
                for name in [ENTRY, NAME, INDEX, WAITING, VALUE] {
                    txn.table(name)?.clear()?;
                }
            }
            history::begin(txn, self.state().history, self.clock.now())?;
            meta::remove(txn, meta::IMPORT)
        });
        match (outcome, ended) {
            (Err(source), Err(left)) => Err(ImportError::Left { source: Box::new(source), left }),
            (outcome, ended) => outcome.and_then(|imported| ended.map(|()| imported).map_err(ImportError::from)),
        }
    }
}

/// Whether it is the record that is at fault, and the next one may be taken.
fn is_of_record(failure: &Failure) -> bool {
    !matches!(failure.code, ResultCode::OTHER | ResultCode::BUSY)
}

/// Waits for the first of the text: nobody else has to wait for it, and a directory stays open to updates until then.
fn await_text(file: &str, text: &mut dyn BufRead) -> Result<(), ImportError> {
    loop {
        match text.fill_buf() {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(ImportError::Io { file: file.to_string(), source }),
        }
    }
}

/// What becomes of an entry that is given to be taken.
enum Taken {
    Yes,
    /// Its parent is not there.
    Early(Prepared),
}

/// Takes entries.
trait Taker {
    /// Takes one.
    fn take(&mut self, entry: Prepared) -> Result<Taken, ImportError>;

    /// More text is read before there is another: whoever it comes from may be slow, or silent.
    fn pause(&mut self) -> Result<(), ImportError> {
        Ok(())
    }
}

impl<F: FnMut(Prepared) -> Result<Taken, ImportError>> Taker for F {
    fn take(&mut self, entry: Prepared) -> Result<Taken, ImportError> {
        self(entry)
    }
}

/// Who sees to it that no two entries of the text below one suffix have one entryUUID.
enum Identifiers {
    /// Whoever takes them.
    Taker,
    /// Those that entries had in the text are remembered, with which of the suffixes they were below: some dozen bytes each.
    Memory(HashSet<(Uuid, usize)>),
}

/// Reads text and makes entries of it, on as many threads as pay; gives them in the order of the text, but none before
/// its parent was taken.
fn prepared(
    inner: &Inner,
    (file, text): (&str, &mut dyn BufRead),
    options: ImportOptions,
    identifiers: Identifiers,
    listener: Listener<'_>,
    taker: &mut dyn Taker,
) -> Result<Imported, ImportError> {
    let state = inner.state();
    let mut run = Run {
        file,
        schema: &state.schema,
        suffixes: &state.suffixes,
        options,
        imported: Imported::default(),
        early: HashMap::new(),
        identifiers,
        untold: Vec::new(),
    };
    let made = |piece: &pieces::Piece| prepare::piece(&state, &inner.clock, file, options, piece);
    Pieces::new(file, text).for_each(made, &mut |bytes, outcomes| {
        let taken = outcomes.into_iter().try_for_each(|outcome| match outcome {
            Ok(prepared) => run.take(prepared, taker),
            Err(problem) => run.note(problem),
        });
        // Whoever is told may be slow, or not listen: nobody has to wait for that.
        taker.pause()?;
        run.tell(listener)?;
        taken?;
        let entries = run.imported.entries;
        if listener(ImportEvent::Read { bytes, entries }) { Ok(()) } else { Err(ImportError::Stopped) }
    })?;
    run.finish(listener)
}

impl Identifiers {
    fn memory() -> Identifiers {
        Identifiers::Memory(HashSet::new())
    }

    /// That no entry that was taken has the same one; what is to be remembered once this one was.
    fn check(&self, suffixes: &[Suffix], entry: &Prepared) -> Result<Option<(Uuid, usize)>, ImportError> {
        let (Identifiers::Memory(all), Some(identifier)) = (self, entry.identifier) else { return Ok(None) };
        let is_above = |suffix: &Suffix| names::below_suffix(&entry.name, &suffix.normalized).is_some();
        let one = (identifier, suffixes.iter().position(is_above).unwrap_or(0));
        if all.contains(&one) { Err(same_identifier(&entry.name, identifier).into()) } else { Ok(Some(one)) }
    }

    fn note(&mut self, one: Option<(Uuid, usize)>) {
        if let Identifiers::Memory(all) = self {
            all.extend(one);
        }
    }
}

/// An import under way.
struct Run<'r> {
    file: &'r str,
    schema: &'r Schema,
    suffixes: &'r [Suffix],
    options: ImportOptions,
    imported: Imported,
    /// Entries that came before their parent, by its name.
    early: HashMap<String, Vec<Prepared>>,
    identifiers: Identifiers,
    /// What is to be told.
    untold: Vec<Remark>,
}

/// What is told of a record.
enum Remark {
    Problem(ImportProblem),
    LeftOut(ImportProblem),
}

impl Run<'_> {
    /// Gives an entry to be taken, and those that have waited for it.
    fn take(&mut self, mut entry: Prepared, taker: &mut dyn Taker) -> Result<(), ImportError> {
        self.remark(&mut entry);
        let mut ready = vec![entry];
        while let Some(entry) = ready.pop() {
            let (line, children) = (entry.line, self.early.remove(&entry.name));
            let checked = self.identifiers.check(self.suffixes, &entry);
            match checked.and_then(|one| Ok((taker.take(entry)?, one))) {
                Ok((Taken::Yes, one)) => {
                    self.identifiers.note(one);
                    self.imported.entries += 1;
                    ready.extend(children.into_iter().flatten().rev());
                }
                Ok((Taken::Early(entry), _)) => self.wait(entry, children),
                Err(ImportError::Directory(failure)) if is_of_record(&failure) => {
                    children.into_iter().flatten().for_each(|child| self.wait(child, None));
                    self.note(self.problem(line, failure.to_string()))?;
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// Notes what was left out of an entry, and what will be of no use.
    fn remark(&mut self, entry: &mut Prepared) {
        let Some(remarks) = entry.remarks.take() else { return };
        for what in remarks.left_out {
            self.imported.left_out += 1;
            let problem = self.problem(entry.line, format!("{}: left out: {what}", entry.name));
            self.untold.push(Remark::LeftOut(problem));
        }
        for scheme in remarks.unmatchable {
            *self.imported.unmatchable.entry(scheme).or_default() += 1;
        }
        for id in remarks.not_kept {
            *self.imported.not_kept.entry(self.schema.attribute(id).name.clone()).or_default() += 1;
        }
    }

    /// Keeps an entry, and what waits for it, until its parent comes.
    fn wait(&mut self, entry: Prepared, children: Option<Vec<Prepared>>) {
        if let Some(children) = children {
            self.early.insert(entry.name.clone(), children);
        }
        let parent = entry.parent().unwrap_or_default().to_string();
        self.early.entry(parent).or_default().push(entry);
    }

    fn problem(&self, line: u64, what: String) -> ImportProblem {
        ImportProblem { file: self.file.to_string(), line, what }
    }

    /// A record with a problem is left out, or is the end.
    fn note(&mut self, problem: ImportProblem) -> Result<(), ImportError> {
        if !self.options.skip_problems {
            return Err(ImportError::Problem(problem));
        }
        self.imported.problems += 1;
        self.untold.push(Remark::Problem(problem));
        Ok(())
    }

    /// Tells what has been noted.
    fn tell(&mut self, listener: Listener<'_>) -> Result<(), ImportError> {
        let goes_on = self.untold.drain(..).all(|remark| match &remark {
            Remark::Problem(problem) => listener(ImportEvent::Problem(problem)),
            Remark::LeftOut(problem) => listener(ImportEvent::LeftOut(problem)),
        });
        if goes_on { Ok(()) } else { Err(ImportError::Stopped) }
    }

    /// The text is at its end: nobody's parent comes any more.
    fn finish(mut self, listener: Listener<'_>) -> Result<Imported, ImportError> {
        let mut left: Vec<Prepared> = std::mem::take(&mut self.early).into_values().flatten().collect();
        left.sort_unstable_by_key(|entry| entry.line);
        let mut below = counted_below(&left);
        for entry in &left {
            let Some(count) = below.remove(&*entry.name) else { continue };
            let (name, parent) = (&entry.name, entry.parent().unwrap_or_default());
            let others = if count == 0 { String::new() } else { format!("; left out with it are {count} below it") };
            let what = format!("{name}: there is no entry {parent:?} above it, here or in the directory{others}");
            self.note(self.problem(entry.line, what))?;
            self.imported.problems += count;
        }
        self.tell(listener)?;
        Ok(self.imported)
    }
}

/// Entries whose parents are not among the others, each with how many of the others are below it at any distance.
fn counted_below(entries: &[Prepared]) -> HashMap<&str, u64> {
    let parents: HashMap<&str, &str> =
        entries.iter().filter_map(|entry| Some((&*entry.name, entry.parent()?))).collect();
    let mut below = HashMap::new();
    for entry in entries {
        let (mut top, mut is_below) = (&*entry.name, 0);
        while let Some((&above, _)) = parents.get(top).and_then(|parent| parents.get_key_value(parent)) {
            (top, is_below) = (above, 1);
        }
        *below.entry(top).or_default() += is_below;
    }
    below
}

/// Where in the stored bytes of an entry the id of its parent stands.
fn set_parent(bytes: &mut [u8], parent: tables::Id) {
    if let Some(place) = bytes.get_mut(8..12) {
        place.copy_from_slice(&parent.to_le_bytes());
    }
}
