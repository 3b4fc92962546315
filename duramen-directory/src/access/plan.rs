//! What rules come to for one requester: most questions are answered for all entries at once.
//!
//! Attributes that the same rules are about are of one class. For each class, the rules are run through once without
//! an entry: where a clause or a rule depends on the entry, both ways are followed. What is granted at the end of all
//! ways is granted for every entry; what is granted at the end of none, for none.

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::asked::Asker;
use super::elements::Kept;
use super::level::Privileges;
use super::rule::{Clause, Control, Rule};
use super::walk::Nobody;
use super::who::Answer;
use super::{Groups, Level, Rules, Target, What};
use crate::requester::Requester;
use crate::schema::AttributeId;

/// What is granted at the end of every way, and at the end of some way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    always: Privileges,
    sometimes: Privileges,
}

impl Bounds {
    const NONE: Bounds = Bounds { always: Privileges::NONE, sometimes: Privileges::NONE };

    /// Of what is known.
    fn exact(granted: Privileges) -> Bounds {
        Bounds { always: granted, sometimes: granted }
    }

    /// The answer, if it is the same at the end of all ways.
    #[inline]
    fn settle(self, level: Level) -> Option<bool> {
        match (self.always.allow(level), self.sometimes.allow(level)) {
            (true, _) => Some(true),
            (_, false) => Some(false),
            _ => None,
        }
    }

    fn after(self, clause: &Clause) -> Bounds {
        Bounds { always: clause.change.apply(self.always), sometimes: clause.change.apply(self.sometimes) }
    }

    /// Of ways that end here or there.
    fn join(self, other: Bounds) -> Bounds {
        Bounds { always: self.always.and(other.always), sometimes: self.sometimes.or(other.sometimes) }
    }
}

fn join(one: Option<Bounds>, other: Option<Bounds>) -> Option<Bounds> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.join(other)),
        (one, other) => one.or(other),
    }
}

/// What the rules come to for one requester. Good for as long as the groups that it belongs to stay as they are.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) rules: Arc<Rules>,
    pub(super) requester: Requester,
    settled: Arc<Settled>,
    /// What is kept of sets, if there are some.
    kept: Option<Arc<Kept>>,
}

/// What follows for all whose clauses have the same answers.
#[derive(Debug, Default)]
struct Settled {
    answers: Answers,
    /// Of each rule that ends all ways, what is granted there where nothing was before.
    ends: SmallVec<[Option<Bounds>; 8]>,
    /// Of each class of attributes.
    bounds: SmallVec<[Bounds; 8]>,
    reads_everything: bool,
}

/// Of each clause, in the order of the rules.
type Answers = SmallVec<[Answer; 16]>;

/// So many kinds of requesters a thread remembers.
const REMEMBERED: usize = 8;

thread_local! {
    static SETTLED: RefCell<Vec<(Arc<Rules>, Arc<Settled>)>> = const { RefCell::new(Vec::new()) };
}

impl Settled {
    /// What follows from these answers: remembered, as most requesters are alike.
    fn of(rules: &Arc<Rules>, answers: Answers) -> Arc<Settled> {
        SETTLED.with_borrow_mut(|remembered| {
            let is_same =
                |(of, settled): &&(Arc<Rules>, Arc<Settled>)| Arc::ptr_eq(of, rules) && settled.answers == answers;
            if let Some((_, settled)) = remembered.iter().find(is_same) {
                return settled.clone();
            }
            remembered.retain(|(of, _)| Arc::ptr_eq(of, rules));
            if remembered.len() == REMEMBERED {
                remembered.remove(0);
            }
            let settled = Arc::new(Settled::new(rules, answers));
            remembered.push((rules.clone(), settled.clone()));
            settled
        })
    }

    fn new(rules: &Rules, answers: Answers) -> Settled {
        let ends = rules.rules.iter().zip(&rules.first_clauses).map(|(rule, first)| {
            let clauses = rule.clauses.iter().zip(&answers[*first..]);
            let (stopped, broke) = run_through_clauses(clauses, Bounds::NONE);
            if broke.is_none() { stopped } else { None }
        });
        let bounds = rules.classes.iter().map(|class| {
            let rules = class.iter().map(|&n| (&*rules.rules[n], &answers[rules.first_clauses[n]..]));
            run_through(rules)
        });
        let (ends, bounds) = (ends.collect(), bounds.collect::<SmallVec<[Bounds; 8]>>());
        let reads_everything = bounds.iter().all(|bounds| bounds.always.allow(Level::Read));
        Settled { answers, ends, bounds, reads_everything }
    }
}

impl Plan {
    pub(super) fn new(rules: Arc<Rules>, requester: &Requester, groups: &dyn Groups) -> Plan {
        let requester = requester.clone();
        if requester.is_administrator {
            let settled = Arc::new(Settled { reads_everything: true, ..Settled::default() });
            return Plan { rules, requester, settled, kept: None };
        }
        let kept = rules.places.map(|places| Arc::new(Kept::new(places)));
        let asker = Asker { requester: &requester, groups, schema: &rules.schema, kept: kept.as_deref() };
        let mut answers = Answers::new();
        rules.rules.iter().for_each(|rule| settle(rule, asker, &mut answers));
        // What is asked about few entries takes nobody's place.
        let settled = match rules.made_up {
            Some(_) => Settled::of(&rules, answers),
            None => Arc::new(Settled::new(&rules, answers)),
        };
        Plan { rules, requester, settled, kept }
    }

    pub(super) fn asker<'a>(&'a self, groups: &'a dyn Groups) -> Asker<'a> {
        Asker { requester: &self.requester, groups, schema: &self.rules.schema, kept: self.kept.as_deref() }
    }

    /// The answers of a rule's clauses, and those of later ones.
    pub(super) fn answers(&self, rule: usize) -> &[Answer] {
        &self.settled.answers[self.rules.first_clauses[rule]..]
    }

    /// Whether every entry and all that is in it may be read.
    #[inline]
    pub fn reads_everything(&self) -> bool {
        self.settled.reads_everything
    }

    /// The answer for all entries, if it is the same for all. `None` as attribute: the entry itself.
    #[inline]
    pub fn everywhere(&self, attribute: Option<AttributeId>, level: Level) -> Option<bool> {
        if self.requester.is_administrator {
            return Some(true);
        }
        let class = attribute.map_or(self.rules.entry_class, |attribute| self.rules.class_of(attribute));
        self.settled(class, level)
    }

    fn settled(&self, class: usize, level: Level) -> Option<bool> {
        self.settled.bounds[class].settle(level)
    }

    /// Whether values of an attribute have to be asked about one by one: some may be allowed and others not.
    pub fn is_by_value(&self, attribute: AttributeId) -> bool {
        !self.requester.is_administrator && self.rules.by_value[self.rules.class_of(attribute)]
    }

    /// The answer for one entry. `known` is what was found out about it before.
    pub fn allows(
        &self,
        target: &dyn Target,
        groups: &dyn Groups,
        what: What<'_>,
        level: Level,
        known: &Known,
    ) -> bool {
        let class = self.rules.class(what);
        if self.requester.is_administrator {
            return true;
        }
        if let Some(answer) = self.settled(class, level).or_else(|| known.settle(class, level)) {
            return answer;
        }
        let found = self.walk(&self.rules.classes[class], target, groups, what, Some(level), &mut Nobody);
        let bounds = found.map_or_else(|bounds| bounds, Bounds::exact);
        if !self.rules.by_value[class] {
            known.note(class, bounds);
        }
        bounds.settle(level) == Some(true)
    }

    /// Whether rule `n`, which is about what is asked for, settles the question whatever its clauses come to: what it grants then.
    pub(super) fn at_once(&self, n: usize, level: Level) -> Option<Bounds> {
        self.settled.ends[n].filter(|bounds| bounds.settle(level).is_some())
    }
}

/// What has been found out about one entry for one requester: attributes of a class are treated alike, and most entries have
/// several of one.
#[derive(Debug, Default)]
pub struct Known(RefCell<SmallVec<[(usize, Bounds); 2]>>);

impl Known {
    fn settle(&self, class: usize, level: Level) -> Option<bool> {
        let known = self.0.borrow();
        known.iter().filter(|(of, _)| *of == class).find_map(|(_, bounds)| bounds.settle(level))
    }

    fn note(&self, class: usize, bounds: Bounds) {
        self.0.borrow_mut().push((class, bounds));
    }
}

/// Appends the answers of a rule's clauses; what stands behind one that always ends the rule is never asked.
fn settle(rule: &Rule, asker: Asker<'_>, answers: &mut Answers) {
    let mut ended = false;
    for clause in &rule.clauses {
        let answer = if ended { Answer::No } else { clause.settle(asker) };
        ended |= answer == Answer::Beyond || answer == Answer::Yes && clause.control != Control::Continue;
        answers.push(answer);
    }
}

/// Follows all ways through rules; each comes with the answers of its clauses, and those of later ones.
fn run_through<'r>(rules: impl Iterator<Item = (&'r Rule, &'r [Answer])>) -> Bounds {
    let (mut ended, mut before) = (None, Bounds::NONE);
    for (rule, answers) in rules {
        let (stopped, broke) = run_through_clauses(rule.clauses.iter().zip(answers), before);
        ended = join(ended, stopped);
        let passed = (!rule.is_certain()).then_some(before);
        match join(broke, passed) {
            Some(bounds) => before = bounds,
            None => return ended.unwrap_or(Bounds::NONE),
        }
    }
    join(ended, Some(Bounds::NONE)).unwrap_or(Bounds::NONE)
}

/// What is granted where ways stop in a rule, and where they go on behind it.
fn run_through_clauses<'r>(
    clauses: impl Iterator<Item = (&'r Clause, &'r Answer)>,
    before: Bounds,
) -> (Option<Bounds>, Option<Bounds>) {
    let (mut stopped, mut broke, mut here) = (None, None, before);
    for (clause, answer) in clauses.filter(|(_, answer)| **answer != Answer::No) {
        if *answer == Answer::Beyond {
            break;
        }
        let after = here.after(clause);
        let certain = *answer == Answer::Yes;
        match clause.control {
            Control::Stop => stopped = join(stopped, Some(after)),
            Control::Break => broke = join(broke, Some(after)),
            Control::Continue => here = if certain { after } else { here.join(after) },
        }
        if certain && clause.control != Control::Continue {
            return (stopped, broke);
        }
    }
    // Behind the last clause stands "by * none".
    (join(stopped, Some(Bounds::NONE)), broke)
}
