//! The records of table `waiting` as a thread remembers them: while they stay the same, they need not be fetched again.
//!
//! Owns: how many are remembered, and when. Must not know: what records mean.

use std::cell::RefCell;

use duramen::{Result, Table, Txnid};

use super::waiting::{Record, Step, records};
use crate::tables::Id;

/// Table `waiting`, and what tells one state of it from others of the process, if that can be told.
pub(crate) struct Waiting<'t> {
    pub table: Table<'t>,
    version: Option<Version>,
}

/// The number of a directory, and the commit that changed the table last.
type Version = (u64, Txnid);

impl<'t> Waiting<'t> {
    /// Of a snapshot of the directory with this number.
    pub fn of(table: Table<'t>, directory: u64) -> Result<Waiting<'t>> {
        let version = table.changed_in()?.map(|changed| (directory, changed));
        Ok(Waiting { table, version })
    }

    /// Of what may be another one soon.
    pub fn unsettled(table: Table<'t>) -> Waiting<'t> {
        Waiting { table, version: None }
    }
}

/// So many steps are copied at most: some hundred kilobytes for each thread.
const STEPS_MAX: usize = 1 << 16;

/// What a thread has of one state.
#[derive(Clone, Copy, Default, PartialEq)]
enum Held {
    #[default]
    Nothing,
    /// It was asked for once: whoever changes it before each search need not copy it, too.
    Seen(Version),
    Copied(Version),
    TooMuch(Version),
}

#[derive(Default)]
struct Copy {
    held: Held,
    /// Of each record: its id, whether it is whole, and where its steps end.
    records: Vec<(Id, bool, usize)>,
    steps: Vec<Step>,
}

thread_local! {
    static COPY: RefCell<Copy> = RefCell::default();
}

/// Calls `each` with all records, by id.
pub(super) fn each_record(waiting: &Waiting<'_>, mut each: impl FnMut(Id, Record<'_>)) -> Result<()> {
    let Some(version) = waiting.version else { return walk(waiting, each) };
    COPY.with_borrow_mut(|copy| match copy.held {
        Held::Copied(held) if held == version => {
            copy.walk(each);
            Ok(())
        }
        Held::TooMuch(held) if held == version => walk(waiting, each),
        Held::Seen(held) if held == version => {
            copy.held = Held::Nothing;
            copy.records.clear();
            copy.steps.clear();
            walk(waiting, |id, record| {
                copy.push(id, record);
                each(id, record);
            })?;
            let fits = copy.steps.len() < STEPS_MAX;
            copy.held = if fits { Held::Copied(version) } else { Held::TooMuch(version) };
            Ok(())
        }
        _ => {
            copy.held = Held::Seen(version);
            walk(waiting, each)
        }
    })
}

fn walk(waiting: &Waiting<'_>, mut each: impl FnMut(Id, Record<'_>)) -> Result<()> {
    records(&waiting.table).try_for_each(|record| record.map(|(id, record)| each(id, record)))
}

impl Copy {
    fn push(&mut self, id: Id, record: Record<'_>) {
        if self.steps.len() < STEPS_MAX {
            self.steps.extend_from_slice(record.steps);
            self.records.push((id, record.is_whole, self.steps.len()));
        }
    }

    fn walk(&self, mut each: impl FnMut(Id, Record<'_>)) {
        let mut start = 0;
        for &(id, is_whole, end) in &self.records {
            each(id, Record { is_whole, steps: &self.steps[start..end] });
            start = end;
        }
    }
}
