//! In which order changes are told to a client that follows them (RFC 4533), so that it can do after each what it is told.
//!
//! An id is given again once its entry is gone: of each the entries that have had it are told apart, and the last one is there.
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
use crate::failure::Result;
use crate::history::{Change, Gone, What};
use crate::names;
use crate::schema::Schema;
use crate::tables::{Id, Tables, read_id};

/// What is told of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// As it is; a client that has not had it hears that it has come.
    Entry(Id, SyncState),
    /// The same of one that has come to another name, or another place.
    Renamed(Id),
    /// As it is, but for its name, which is one of its own for a while.
    Aside(Id),
    /// That it is gone.
    Gone(Id, Departure),
}

/// How an entry went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub gone: Gone,
    /// Below what it was all the time, if that was one.
    pub below: Option<Id>,
    /// It has come, or changed, among the changes that are told: a client has that only if it was cut off in the midst.
    pub is_young: bool,
    /// Nothing is below it then.
    pub is_bare: bool,
}

impl Told {
    pub fn id(&self) -> Id {
        match self {
            Told::Entry(id, _) | Told::Renamed(id) | Told::Aside(id) | Told::Gone(id, ..) => *id,
        }
    }
}

/// An entry: its id, and how many have had that before, as far as the changes tell.
type Who = (Id, u32);

/// What became of an entry in all.
#[derive(Default)]
struct Net {
    changes: usize,
    is_new: bool,
    gone: Option<Gone>,
    /// Whether its place among the names is another,
    is_moved: bool,
    /// since it was given another name.
    is_renamed: bool,
    /// Whether it has left the place that it had before.
    has_left: bool,
}

/// What an entry waits for of another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bond {
    /// That it is told of.
    Told,
    /// That it leaves the place that it had.
    Left,
    /// As `Left`, of a place that it has had in between: a client has it there only if it was cut off in the midst.
    Passed,
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
    nets: HashMap<Who, Net>,
    /// The newest of those that have had an id.
    newest: HashMap<Id, u32>,
    /// Who had a name, by its key, and has it no more.
    freed: HashMap<Vec<u8>, Vec<(Who, Bond)>>,
    /// Who was below an entry, and is there no more.
    left: HashMap<Who, Vec<(Who, Bond)>>,
    stages: HashMap<Who, Stage>,
    /// What was told of under a name of its own.
    aside: HashSet<Who>,
    /// Who waits no more for whom to leave a place that he has passed.
    waived: HashSet<(Who, Who)>,
    /// They are gone, and something may be below them yet.
    filled: HashSet<Who>,
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
    order.into_iter().try_for_each(|who| course.tell(who, &mut later))?;
    // What was put off waits for nothing that has not been told.
    while let Some(who) = later.pop() {
        course.tell(who, &mut later)?;
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
        let (nets, newest, freed, left) = Default::default();
        let (stages, aside, waived, filled, with_below, told) = Default::default();
        Ok(Course {
            schema,
            entries,
            names,
            nets,
            newest,
            freed,
            left,
            stages,
            aside,
            waived,
            filled,
            with_below,
            told,
        })
    }

    /// Adds changes up; entries in the order in which they are told where nothing speaks against it.
    fn note(&mut self, changes: &[&Change]) -> Vec<Who> {
        let mut places: HashMap<Who, (usize, bool)> = HashMap::new();
        for (place, change) in changes.iter().enumerate() {
            let who = self.who(change);
            // By the last change of its place; that of other changes does not matter.
            let moves = change.what != What::Modified;
            let known = places.entry(who).or_insert((place, moves));
            if moves {
                *known = (place, true);
            }
            self.add(who, &change.what);
        }
        let mut order: Vec<(usize, Who)> = places.into_iter().map(|(who, (place, _))| (place, who)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, who)| who).collect()
    }

    /// Which entry a change is of.
    fn who(&mut self, change: &Change) -> Who {
        let newest = self.newest.entry(change.id).or_default();
        let is_gone = self.nets.get(&(change.id, *newest)).is_some_and(|net| net.gone.is_some());
        *newest += u32::from(is_gone && change.what == What::Added);
        (change.id, *newest)
    }

    fn add(&mut self, who: Who, what: &What) {
        let net = self.nets.entry(who).or_default();
        net.changes += 1;
        net.is_moved |= *what != What::Modified;
        net.is_renamed |= matches!(what, What::Renamed(_));
        let old = match what {
            What::Added => {
                net.is_new = true;
                return;
            }
            What::Modified => return,
            What::Renamed(key) => key,
            What::Deleted(gone) => {
                net.gone = Some(gone.clone());
                &gone.key
            }
        };
        // Each name that it has had: a client that was cut off in the midst may have it by any of them.
        let bond = if net.is_new || std::mem::replace(&mut net.has_left, true) { Bond::Passed } else { Bond::Left };
        let above = parent_of(old);
        let above = (above, self.newest.get(&above).copied().unwrap_or(0));
        self.freed.entry(old.clone()).or_default().push((who, bond));
        self.left.entry(above).or_default().push((who, bond));
    }

    /// What is below that was moved is told of behind it.
    fn note_below(&mut self, changes: &[&Change]) {
        let renamed = changes.iter().filter(|change| matches!(change.what, What::Renamed(_)));
        self.with_below.extend(renamed.map(|change| change.id));
    }

    /// Tells of an entry, and before of those that have to be told of before.
    fn tell(&mut self, top: Who, later: &mut Vec<Who>) -> Result<()> {
        let mut stack = vec![top];
        while let Some(&who) = stack.last() {
            if self.stage(who) == Stage::Told {
                stack.pop();
                continue;
            }
            self.stages.insert(who, Stage::Begun);
            let before: Vec<Who> = self.before(who)?.into_iter().map(|(before, _)| before).collect();
            let depth = stack.len();
            stack.extend(before.iter().copied().filter(|before| self.stage(*before) == Stage::Waiting));
            // All that it waits for waits for it.
            let mut is_ready = stack.len() == depth;
            for before in before {
                if is_ready && self.stage(before) == Stage::Begun {
                    is_ready = !self.break_circle(before, &mut stack, later)?;
                }
            }
            if is_ready {
                stack.pop();
                self.emit(who)?;
            }
        }
        Ok(())
    }

    fn stage(&self, who: Who) -> Stage {
        self.stages.get(&who).copied().unwrap_or(Stage::Waiting)
    }

    /// Who has an id now.
    fn now(&self, id: Id) -> Who {
        (id, self.newest.get(&id).copied().unwrap_or(0))
    }

    /// For which an entry waits yet, and for what of each.
    fn before(&self, who: Who) -> Result<Vec<(Who, Bond)>> {
        let Some(net) = self.nets.get(&who) else { return Ok(Vec::new()) };
        let mut before: Vec<(Who, Bond)> = Vec::new();
        let mut add = |other: Who, bond: Bond| {
            let is_out = match bond {
                Bond::Told => false,
                Bond::Left => self.aside.contains(&other),
                Bond::Passed => self.aside.contains(&other) || self.waived.contains(&(who, other)),
            };
            if other != who && !is_out && self.stage(other) != Stage::Told {
                before.push((other, bond));
            }
        };
        // Who had the id before.
        who.1.checked_sub(1).into_iter().for_each(|earlier| add((who.0, earlier), Bond::Told));
        if net.gone.is_some() {
            // Nothing is below it then.
            self.left.get(&who).into_iter().flatten().for_each(|(child, bond)| add(*child, *bond));
            return Ok(before);
        }
        let entry = names::entry(&self.entries, who.0)?;
        if net.is_moved {
            self.freed
                .get(&names::key_of(self.schema, &entry)?)
                .into_iter()
                .flatten()
                .for_each(|(holder, bond)| add(*holder, *bond));
        }
        names::climb(&self.entries, entry.parent, |above| {
            let above = self.now(above);
            if self.nets.get(&above).is_some_and(|net| net.is_moved) {
                add(above, Bond::Told);
            }
            None
        })?;
        Ok(before)
    }

    /// The entry on top of the stack waits for one that waits for it: has one of the circle wait for another no more. Whether
    /// there is one that need not.
    fn break_circle(&mut self, before: Who, stack: &mut Vec<Who>, later: &mut Vec<Who>) -> Result<bool> {
        let Some(place) = stack.iter().rposition(|who| *who == before) else { return Ok(false) };
        let is_begun = |place: &usize| self.stages.get(&stack[*place]) == Some(&Stage::Begun);
        let circle: Vec<usize> = (place..stack.len()).filter(is_begun).collect();
        // Who waits, and for whom; the top waits for the first.
        let next = circle.iter().skip(1).chain(&circle[..1]);
        let pairs: Vec<(usize, usize)> = circle.iter().copied().zip(next.copied()).collect();
        let Some(waits) = self.loosen(stack, &pairs)? else { return Ok(false) };
        for who in stack.drain(waits + 1..).rev() {
            if self.stages.get(&who) == Some(&Stage::Begun) {
                self.stages.insert(who, Stage::Waiting);
                later.push(who);
            }
        }
        Ok(true)
    }

    /// Of places on the stack, each with that of the entry that is waited for there: the first that need not wait.
    fn loosen(&mut self, stack: &[Who], pairs: &[(usize, usize)]) -> Result<Option<usize>> {
        // One leaves its place that stays.
        for &(waits, leaves) in pairs.iter().rev() {
            let (bonds, other) = (self.bonds(stack[waits], stack[leaves])?, stack[leaves]);
            if bonds.is_empty() {
                return Ok(Some(waits));
            }
            let stays = self.nets.get(&other).is_some_and(|net| net.gone.is_none());
            if stays && !bonds.contains(&Bond::Told) {
                self.put_aside(other);
                return Ok(Some(waits));
            }
        }
        // All are gone. Only a client that was cut off has one of them where it was in between.
        for &(waits, leaves) in pairs.iter().rev() {
            let (one, other) = (stack[waits], stack[leaves]);
            if self.bonds(one, other)?.iter().all(|bond| *bond == Bond::Passed) {
                self.waived.insert((one, other));
                return Ok(Some(waits));
            }
        }
        Ok(None)
    }

    /// For what an entry waits yet of another.
    fn bonds(&self, one: Who, other: Who) -> Result<Vec<Bond>> {
        let before = self.before(one)?.into_iter();
        Ok(before.filter(|(waited_for, _)| *waited_for == other).map(|(_, bond)| bond).collect())
    }

    /// Whether nothing can be below an entry that is gone, once all has been told that was told before it. Below what went in a
    /// circle something may be, for a client that was cut off.
    fn is_bare(&self, who: Who) -> bool {
        let mut below = self.left.get(&who).into_iter().flatten();
        !self.waived.iter().any(|(one, _)| *one == who) && !below.any(|(child, _)| self.filled.contains(child))
    }

    fn put_aside(&mut self, who: Who) {
        if self.aside.insert(who) {
            self.told.push(Told::Aside(who.0));
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

    fn emit(&mut self, who: Who) -> Result<()> {
        self.stages.insert(who, Stage::Told);
        let (id, net) = (who.0, self.nets.get(&who));
        if let Some(net) = net
            && let Some(gone) = &net.gone
        {
            // Of what came and went meanwhile, too: a client that was cut off before may have it.
            let below = (!net.is_renamed).then(|| parent_of(&gone.key));
            let (is_young, is_bare) = (net.changes > 1, self.is_bare(who));
            self.told.push(Told::Gone(id, Departure { gone: gone.clone(), below, is_young, is_bare }));
            if is_young && !is_bare {
                self.filled.insert(who);
            }
            return Ok(());
        }
        self.told.push(match net {
            Some(net) if net.is_new => Told::Entry(id, SyncState::Add),
            Some(net) if net.is_renamed => Told::Renamed(id),
            _ => Told::Entry(id, SyncState::Modify),
        });
        if self.with_below.contains(&id) {
            let mut below = self.subtree(id)?;
            // Others have yet to be told of.
            below.retain(|id| {
                let who = self.now(*id);
                self.stage(who) == Stage::Told || !self.nets.contains_key(&who)
            });
            self.told.extend(below.into_iter().skip(1).map(|id| Told::Entry(id, SyncState::Add)));
        }
        Ok(())
    }
}
