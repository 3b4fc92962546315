//! Runs steps on a database and on its model side by side, and compares every answer.
//!
//! Owns: transactions, child transactions, reopening. Must not know: what single operations mean (see `act`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use duramen::{Database, Durability, Error, Options, Snapshot, WriteCursor, WriteTxn};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::act;
use crate::compare::compare;
use crate::operations::Step;
use crate::reference::{Place, Table};
use crate::roles::hasty;

pub type Outcome<T = ()> = Result<T, TestCaseError>;
/// All tables by name.
pub type Tables = BTreeMap<Vec<u8>, Table>;

/// How the database of a run is opened.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub page_size: usize,
    pub memory_budget: usize,
    pub file_memory: u64,
    pub durability: Durability,
}

/// Most levels of child transactions.
const DEPTH_MAX: usize = 4;
/// Most snapshots kept at a time.
const PARKED_MAX: usize = 3;

/// A cursor with what it should be doing.
#[derive(Clone)]
pub struct Pointer {
    pub cursor: WriteCursor,
    pub place: Place,
}

/// A write transaction's model.
pub struct Session {
    pub tables: Tables,
    pub cursors: Vec<Pointer>,
}

/// What ended a level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Keep,
    Forget,
    /// The whole transaction ends so, with all levels.
    Commit,
    Abort,
}

struct Run {
    setup: Setup,
    path: PathBuf,
    db: Option<Database>,
    tables: Tables,
    parked: Vec<(Snapshot<'static>, Tables)>,
}

fn open(setup: Setup, path: &Path) -> duramen::Result<Database> {
    Options::new()
        .page_size(setup.page_size)
        .memory_budget(setup.memory_budget)
        .file_memory(setup.file_memory)
        .durability(setup.durability)
        .medium(hasty())
        .open(path)
}

/// Runs all steps on a new database.
pub fn run(setup: Setup, steps: &[Step]) -> Outcome {
    let dir = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" })?;
    let path = dir.path().join("model.dm");
    let db = Some(open(setup, &path)?);
    let mut run = Run { setup, path, db, tables: Tables::new(), parked: Vec::new() };
    let mut steps = steps.iter();
    while steps.len() > 0 {
        run.transaction(&mut steps)?;
    }
    run.reopen()
}

pub fn name_of(number: u8) -> Vec<u8> {
    // One of the names is as long as a key may be.
    if number == 3 { vec![b'n'; 1024] } else { vec![b'a' + number] }
}

impl Run {
    fn db(&self) -> &Database {
        self.db.as_ref().expect("an open database")
    }

    /// One write transaction, from here to the step that ends it.
    fn transaction(&mut self, steps: &mut std::slice::Iter<'_, Step>) -> Outcome {
        match steps.as_slice().first() {
            Some(Step::Reopen) => {
                steps.next();
                return self.reopen();
            }
            Some(Step::Park) => {
                steps.next();
                return self.park();
            }
            Some(Step::Checkpoint) => {
                steps.next();
                return Ok(self.db().checkpoint()?);
            }
            _ => {}
        }
        let mut txn = self.db().begin_write()?;
        let mut session = Session { tables: self.tables.clone(), cursors: Vec::new() };
        let end = level(&mut txn, &mut session, steps, 0)?;
        if end == End::Abort {
            txn.abort();
        } else {
            txn.commit()?;
            self.tables = session.tables;
        }
        self.verify()
    }

    /// The newest snapshot and all parked ones show what they should, and each page is accounted for.
    fn verify(&self) -> Outcome {
        let report = self.db().check(|_, _| {})?;
        prop_assert!(report.is_clean(), "{:?}", report.findings);
        prop_assert_eq!(report.tables, self.tables.len() as u64);
        prop_assert_eq!(report.entries, self.tables.values().map(Table::len).sum::<u64>());
        compare(&self.db().read()?, &self.tables)?;
        self.parked.iter().try_for_each(|(snapshot, tables)| compare(snapshot, tables))
    }

    fn park(&mut self) -> Outcome {
        if self.parked.len() == PARKED_MAX {
            self.parked.remove(0);
        }
        self.parked.push((self.db().read_owned()?, self.tables.clone()));
        Ok(())
    }

    fn reopen(&mut self) -> Outcome {
        self.parked.clear();
        self.db.take().expect("an open database").close()?;
        self.db = Some(open(self.setup, &self.path)?);
        self.verify()
    }
}

/// Runs steps on one level of a transaction, until one ends it.
fn level(
    txn: &mut WriteTxn<'_>,
    session: &mut Session,
    steps: &mut std::slice::Iter<'_, Step>,
    depth: usize,
) -> Outcome<End> {
    // What the tables were before each level begun in place.
    let mut before: Vec<Tables> = Vec::new();
    while let Some(step) = steps.next() {
        match step {
            Step::Commit | Step::Checkpoint | Step::Reopen | Step::Park => return Ok(End::Commit),
            Step::Abort => return Ok(End::Abort),
            Step::Durable(true) => txn.set_durability(Durability::Durable),
            Step::Durable(false) => txn.set_durability(Durability::Relaxed),
            Step::Child { .. } if depth + before.len() == DEPTH_MAX => {}
            Step::Child { in_place: true } => {
                txn.begin_nested()?;
                before.push(session.tables.clone());
            }
            Step::Child { in_place: false } => {
                let end = child(txn, session, steps, depth + before.len() + 1)?;
                if matches!(end, End::Commit | End::Abort) {
                    return Ok(end);
                }
            }
            Step::EndChild { keep } => match before.pop() {
                Some(_) if *keep => txn.commit_nested()?,
                Some(tables) => {
                    txn.abort_nested()?;
                    session.tables = tables;
                }
                None if depth > 0 => return Ok(if *keep { End::Keep } else { End::Forget }),
                None => {}
            },
            step => table_step(txn, session, step)?,
        }
    }
    Ok(End::Commit)
}

/// Runs steps in a child transaction of its own.
fn child(
    txn: &mut WriteTxn<'_>,
    session: &mut Session,
    steps: &mut std::slice::Iter<'_, Step>,
    depth: usize,
) -> Outcome<End> {
    let before = session.tables.clone();
    let mut child = txn.child()?;
    let end = level(&mut child, session, steps, depth)?;
    if matches!(end, End::Keep | End::Commit) {
        child.commit()?;
    } else {
        drop(child);
        session.tables = before;
    }
    Ok(end)
}

fn table_step(txn: &mut WriteTxn<'_>, session: &mut Session, step: &Step) -> Outcome {
    let tables = &mut session.tables;
    match step {
        Step::Open(name, kind) => {
            let name = name_of(*name);
            let opened = txn.open_table(&name, Some(&kind.options()));
            match tables.get(&name) {
                Some(table) if !table.kind.looks_like(*kind) => {
                    let refused = matches!(opened, Err(Error::TableOptions { .. }));
                    prop_assert!(refused, "{:?} opened as {:?}: {:?}", table.kind, kind, opened);
                }
                Some(_) => drop(opened?),
                None => {
                    opened?;
                    tables.insert(name, Table::new(*kind));
                }
            }
        }
        Step::Drop(name) => {
            let name = name_of(*name);
            prop_assert_eq!(txn.drop_table(&name)?, tables.remove(&name).is_some());
        }
        Step::Rename(from, to) => rename(txn, session, &name_of(*from), &name_of(*to))?,
        Step::List => prop_assert_eq!(txn.table_names()?, tables.keys().cloned().collect::<Vec<_>>()),
        Step::On(table, act) => {
            let Some(name) = tables.keys().cycle().nth(usize::from(*table)).cloned() else { return Ok(()) };
            act::act(txn, session, &name, act)?;
        }
        step => unreachable!("{step:?} is no step on tables"),
    }
    Ok(())
}

fn rename(txn: &mut WriteTxn<'_>, session: &mut Session, from: &[u8], to: &[u8]) -> Outcome {
    let renamed = txn.rename_table(from, to);
    if !session.tables.contains_key(from) {
        prop_assert!(!renamed?);
    } else if session.tables.contains_key(to) {
        prop_assert!(matches!(renamed, Err(Error::TableExists { .. })), "{:?}", renamed);
    } else {
        prop_assert!(renamed?);
        let table = session.tables.remove(from).expect("the table is there");
        session.tables.insert(to.to_vec(), table);
    }
    Ok(())
}
