//! In which order changes are told to a client that follows them (RFC 4533), so that it can do after each what it is told.
//!
//! Owns: that order. Must not know: what is to be seen of an entry.
//!
//! Of each entry that has changed it is told once, as it is now. A client then has to find its new parent, and nothing with its
//! new name; and nothing is below what it is told is gone. Where changes stand in a circle, as when two entries have changed
//! names, one of them is first told of under a name that nobody has: a client moves it there, with all that is below it.

use std::collections::{HashMap, HashSet};

use duramen::Table;
use duramen_ldap::control::SyncState;

use crate::clock::Moment;
use crate::entry::Entry;
use crate::failure::Result;
use crate::history::{Change, Gone, What};
use crate::names::{self, child_key};
use crate::schema::Schema;
use crate::tables::{Id, Tables, read_id};

/// What is told of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// As it is; a client that has not had it hears that it has come.
    Entry(Id, SyncState),
    /// As it is, but for its name, which is one of its own for a while.
    Aside(Id),
    /// That it is gone, and by which name.
    Gone(Id, Gone),
}

impl Told {
    pub fn id(&self) -> Id {
        match self {
            Told::Entry(id, _) | Told::Aside(id) | Told::Gone(id, _) => *id,
        }
    }
}

/// What became of an entry in all.
#[derive(Default)]
struct Net {
    /// The key of the name that it had before, if it was there and has another now, or none.
    old: Option<Vec<u8>>,
    is_new: bool,
    gone: Option<Gone>,
    /// Whether its place among the names is another.
    is_moved: bool,
}

/// How far it is with an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Begun,
    Told,
}

/// Changes on their way to an order.
pub(super) struct Course<'c> {
    schema: &'c Schema,
    entries: Table<'c>,
    names: Table<'c>,
    nets: HashMap<Id, Net>,
    /// Who had a name, by its key, and has it no more.
    freed: HashMap<Vec<u8>, Id>,
    /// Who was below an entry, and is there no more.
    left: HashMap<Id, Vec<Id>>,
    stages: HashMap<Id, Stage>,
    /// What was told of under a name of its own.
    aside: HashSet<Id>,
    /// What is below these is told of behind them.
    with_below: HashSet<Id>,
    told: Vec<Told>,
}

/// The order of changes after a number. `skipped`: of which of them the client has been told. `with_below`: the place of what
/// was moved matters to what is below it, too.
pub(super) fn course(
    schema: &Schema,
    tables: &Tables<'_>,
    changes: &[Change],
    skipped: &HashMap<Id, Moment>,
    with_below: bool,
) -> Result<Vec<Told>> {
    let is_untold = |change: &&Change| skipped.get(&change.id).is_none_or(|number| *number < change.number);
    let changes: Vec<&Change> = changes.iter().filter(is_untold).collect();
    let mut course = Course::new(schema, tables)?;
    let order = course.note(&changes);
    if with_below {
        course.note_below(&changes);
    }
    let mut later = Vec::new();
    order.into_iter().try_for_each(|id| course.tell(id, &mut later))?;
    // What was put off waits for nothing that has not been told.
    while let Some(id) = later.pop() {
        course.tell(id, &mut later)?;
    }
    Ok(course.told)
}

/// The entry that a key of table `name` is below of.
fn parent_of(key: &[u8]) -> Id {
    read_id(key).unwrap_or(0)
}

impl<'c> Course<'c> {
    fn new(schema: &'c Schema, tables: &Tables<'c>) -> Result<Course<'c>> {
        let (entries, names) = (tables.entry()?, tables.name()?);
        let (nets, freed, left, stages, aside, with_below, told) = Default::default();
        Ok(Course { schema, entries, names, nets, freed, left, stages, aside, with_below, told })
    }

    /// Adds changes up; entries in the order in which they are told where nothing speaks against it.
    fn note(&mut self, changes: &[&Change]) -> Vec<Id> {
        let mut places: HashMap<Id, (usize, bool)> = HashMap::new();
        for (place, change) in changes.iter().enumerate() {
            let net = self.nets.entry(change.id).or_default();
            match &change.what {
                What::Added => net.is_new = true,
                What::Modified => {}
                What::Renamed(key) => drop(net.old.get_or_insert_with(|| key.clone())),
                What::Deleted(gone) => {
                    net.old.get_or_insert_with(|| gone.key.clone());
                    net.gone = Some(gone.clone());
                }
            }
            // By the last change of its place; that of other changes does not matter.
            let moves = change.what != What::Modified;
            net.is_moved |= moves;
            let known = places.entry(change.id).or_insert((place, moves));
            if moves {
                *known = (place, true);
            }
        }
        for (id, net) in &self.nets {
            if let Some(key) = &net.old {
                self.freed.insert(key.clone(), *id);
                self.left.entry(parent_of(key)).or_default().push(*id);
            }
        }
        let mut order: Vec<(usize, Id)> = places.into_iter().map(|(id, (place, _))| (place, id)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// What is below that was moved is told of behind it.
    fn note_below(&mut self, changes: &[&Change]) {
        let renamed = changes.iter().filter(|change| matches!(change.what, What::Renamed(_)));
        self.with_below.extend(renamed.map(|change| change.id));
    }

    /// Tells of an entry, and before of those that have to be told of before.
    fn tell(&mut self, top: Id, later: &mut Vec<Id>) -> Result<()> {
        let mut stack = vec![top];
        while let Some(&id) = stack.last() {
            match self.stage(id) {
                Stage::Told => drop(stack.pop()),
                Stage::Begun => {
                    stack.pop();
                    self.emit(id)?;
                }
                Stage::Waiting => {
                    self.stages.insert(id, Stage::Begun);
                    for before in self.before(id)? {
                        match self.stage(before) {
                            Stage::Told => {}
                            Stage::Waiting => stack.push(before),
                            Stage::Begun => {
                                if self.break_circle(before, &mut stack, later) {
                                    break;
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn stage(&self, id: Id) -> Stage {
        self.stages.get(&id).copied().unwrap_or(Stage::Waiting)
    }

    /// Which have to be told of before an entry.
    fn before(&self, id: Id) -> Result<Vec<Id>> {
        let Some(net) = self.nets.get(&id) else { return Ok(Vec::new()) };
        let mut before = Vec::new();
        if net.gone.is_some() {
            // Nothing is below it then.
            let is_there = |child: &&Id| **child != id && !self.aside.contains(child);
            before.extend(self.left.get(&id).into_iter().flatten().filter(is_there));
            return Ok(before);
        }
        let entry = names::entry(&self.entries, id)?;
        if net.is_moved {
            let is_there = |holder: &&Id| **holder != id && !self.aside.contains(holder);
            before.extend(self.freed.get(&self.key_of(&entry)?).filter(is_there));
        }
        names::climb(&self.entries, entry.parent, |above| {
            let is_moved = self.nets.get(&above).is_some_and(|net| net.is_moved);
            before.extend(is_moved.then_some(above));
            None
        })?;
        Ok(before)
    }

    fn key_of(&self, entry: &Entry<'_>) -> Result<Vec<u8>> {
        let normalized = match entry.parent {
            0 => names::normalize(self.schema, entry.rdn())?,
            _ => names::normalized_rdn(self.schema, entry.rdn())?,
        };
        Ok(child_key(entry.parent, &normalized))
    }

    /// The entry on top of the stack waits for one that waits for it. Whether the top is given up until later.
    fn break_circle(&mut self, before: Id, stack: &mut Vec<Id>, later: &mut Vec<Id>) -> bool {
        let Some(place) = stack.iter().position(|id| *id == before) else { return false };
        let is_begun = |id: &Id| self.stages.get(id) == Some(&Stage::Begun);
        let waiting: Vec<Id> = stack[place + 1..].iter().copied().filter(is_begun).collect();
        // What is there already, and stays.
        let is_in_the_way = |id: &Id| self.nets.get(id).is_some_and(|net| net.gone.is_none() && net.old.is_some());
        let moved: Vec<Id> = waiting.iter().copied().filter(is_in_the_way).collect();
        if moved.is_empty() {
            // All who wait for the one that is begun are new.
            if is_in_the_way(&before) {
                self.put_aside(before);
            }
            return false;
        }
        moved.into_iter().for_each(|id| self.put_aside(id));
        stack.truncate(place + 1);
        for id in waiting.into_iter().rev() {
            self.stages.insert(id, Stage::Waiting);
            later.push(id);
        }
        true
    }

    fn put_aside(&mut self, id: Id) {
        if self.aside.insert(id) {
            self.told.push(Told::Aside(id));
        }
    }

    /// An entry and all below it, from above.
    fn subtree(&self, top: Id) -> Result<Vec<Id>> {
        let (mut found, mut done) = (vec![top], 0);
        while let Some(&id) = found.get(done) {
            done += 1;
            found.extend(names::children_of(&self.names, id)?);
        }
        Ok(found)
    }

    fn emit(&mut self, id: Id) -> Result<()> {
        self.stages.insert(id, Stage::Told);
        let net = self.nets.get(&id);
        if let Some(gone) = net.and_then(|net| net.gone.as_ref()) {
            // Of what came and went meanwhile, too: a client that was cut off before may have it.
            self.told.push(Told::Gone(id, gone.clone()));
            return Ok(());
        }
        let is_new = net.is_some_and(|net| net.is_new);
        self.told.push(Told::Entry(id, if is_new { SyncState::Add } else { SyncState::Modify }));
        if self.with_below.contains(&id) {
            let mut below = self.subtree(id)?;
            // Others have yet to be told of.
            below.retain(|id| self.stage(*id) == Stage::Told || !self.nets.contains_key(id));
            self.told.extend(below.into_iter().skip(1).map(|id| Told::Entry(id, SyncState::Add)));
        }
        Ok(())
    }
}
