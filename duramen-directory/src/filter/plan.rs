//! Which entries can match a test, by the indices.
//!
//! Owns: the order in which the parts of a test are looked at, and when to stop. Invariant: every entry that matches is
//! among the candidates; if the answer is exact, every candidate matches.

use std::cell::{Cell, RefCell};

use duramen::Table;
use duramen_ldap::matching::{Place, Rule, SubstringsAssertion};

use super::{Subject, Test};
use crate::entry::Entry;
use crate::failure::Result;
use crate::index::{self, Indices, Reach, Set, Trigram, Waiting, bits};
use crate::large;
use crate::names::{self, Naming, Suffix};
use crate::schema::{Attribute, AttributeId, Schema};
use crate::tables::{Id, Tables};

/// What a test leaves: a set of entries, or all.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    /// `None` is all entries.
    pub set: Option<Set>,
    /// Whether all of them match, so that the test need not be held against them.
    pub exact: bool,
}

impl Candidates {
    const ALL: Candidates = Candidates { set: None, exact: false };

    fn exact(set: Set) -> Candidates {
        Candidates { set: Some(set), exact: true }
    }

    fn count(&self) -> u64 {
        self.set.as_ref().map_or(u64::MAX, Set::len)
    }
}

/// So few candidates are sooner looked at than narrowed down.
const FEW: u64 = 24;
/// So many keys of a range are walked at least before all entries are looked at instead.
const KEYS_MIN: u64 = 2_000;
/// So many keys are walked in the time that it takes to look at an entry, or some more.
const KEYS_AS_AN_ENTRY: u64 = 16;
/// Members of a group that are found sooner than what has parts of values.
const MEMBERS_FEW: u64 = 1_000;
/// So many members are found in the time that it takes to ask whether an entry is one.
const MEMBERS_AS_A_CANDIDATE: u64 = 4;
/// So many members are looked for together.
const MEMBERS_TOGETHER: usize = 64;
/// Sets of so many trigrams are intersected at most.
const TRIGRAMS: usize = 8;

/// What finding candidates may cost besides some keys for each entry, in keys that are walked: nothing else has its turn
/// meanwhile, while holding a test against entries can pause. It is looked at between two tests.
const COST_MIN: u64 = 4_000_000;
const KEYS_PER_ENTRY: u64 = 4;
/// What a look into the index costs, and finding the entry of a member; so many ids are taken out of an index for one.
const LOOK: u64 = 8;
const MEMBER: u64 = 32;
const IDS: u64 = 2;

/// Finds candidates in one snapshot.
pub(crate) struct Planner<'p> {
    pub schema: &'p Schema,
    pub indices: &'p Indices,
    pub suffixes: &'p [Suffix],
    pub naming: Naming,
    pub tables: Tables<'p>,
    pub index: Table<'p>,
    /// Whether members of a group's members are its members.
    pub nested_groups: bool,
    /// Entries in all.
    pub total: u64,
    /// How far candidates are looked for.
    pub reach: Reach,
    /// How many entries are wanted for the time being.
    pub wanted: u64,
    /// What was done, if somebody wants to know.
    pub notes: Option<RefCell<Vec<String>>>,
    /// What it has cost so far.
    pub spent: Cell<u64>,
}

impl Planner<'_> {
    fn note(&self, text: impl FnOnce() -> String) {
        if let Some(notes) = &self.notes {
            notes.borrow_mut().push(text());
        }
    }

    fn cost_max(&self) -> u64 {
        COST_MIN + KEYS_PER_ENTRY * self.total
    }

    fn is_spent(&self) -> bool {
        self.spent.get() > self.cost_max()
    }

    fn spend(&self, cost: u64) {
        let was_enough = self.is_spent();
        self.spent.set(self.spent.get().saturating_add(cost));
        if !was_enough && self.is_spent() {
            self.note(|| "so much was looked at that no more of the filter is looked for in indices".to_string());
        }
    }

    fn name(&self, id: AttributeId) -> &str {
        self.schema.get(id).map_or("?", |attribute| &attribute.name)
    }

    /// Whether there are indices for a test, as far as its attributes tell.
    fn is_indexed(&self, test: &Test) -> bool {
        let has = |subject: &Subject, kinds: u8| subject.types.iter().all(|id| self.indices.get(*id) & kinds != 0);
        match test {
            Test::And(parts) => parts.iter().any(|part| self.is_indexed(part)),
            Test::Or(parts) => parts.iter().all(|part| self.is_indexed(part)),
            Test::Present(subject) => has(subject, bits::PRESENCE),
            Test::Substrings { subject, .. } => has(subject, bits::SUBSTRING | bits::EQUALITY),
            Test::Equal { subject, .. }
            | Test::Among { subject, .. }
            | Test::Class { subject, .. }
            | Test::AtLeast { subject, .. }
            | Test::AtMost { subject, .. } => has(subject, bits::EQUALITY),
            Test::Made { test, .. } => self.is_indexed(test),
            Test::False | Test::Undefined | Test::Name(_) | Test::MemberOf(_) | Test::OneOf(_) => true,
            _ => false,
        }
    }

    /// Whether a test is looked up by single values in the end, so that mostly few entries are left.
    pub fn is_looked_up(&self, test: &Test) -> bool {
        match test {
            Test::Made { test, .. } => self.is_looked_up(test),
            Test::And(parts) => parts.iter().any(|part| self.is_looked_up(part)),
            Test::Or(parts) => parts.iter().all(|part| self.is_looked_up(part)),
            Test::Equal { subject, .. } | Test::Among { subject, .. } => {
                subject.types.iter().all(|id| self.indices.get(*id) & bits::EQUALITY != 0)
            }
            _ => rank(test) < RANGE,
        }
    }

    /// The candidates of a test, as far as they were looked for. If all that matters are entries of a set, others may be
    /// among them.
    pub fn candidates(&self, test: &Test, within: Option<&Set>) -> Result<Candidates> {
        if let Some(few) = within.filter(|within| within.len() <= FEW && !matches!(test, Test::True)) {
            return Ok(Candidates { set: Some(few.clone()), exact: false });
        }
        let mut found = self.candidates_within(test, within)?;
        if let (Some(set), Some(end)) = (&mut found.set, self.reach.end()) {
            set.cut(end);
        }
        Ok(found)
    }

    /// As [`Planner::candidates`], where it does not matter of entries outside of a set whether they are among them.
    fn candidates_within(&self, test: &Test, within: Option<&Set>) -> Result<Candidates> {
        if self.is_spent() {
            return Ok(Candidates::ALL);
        }
        match test {
            Test::True => Ok(Candidates { set: None, exact: true }),
            Test::False | Test::Undefined => Ok(Candidates::exact(Set::empty())),
            Test::And(parts) => self.and(parts, within),
            Test::Or(parts) => self.or(parts, within),
            Test::Present(subject) => self
                .each(subject, bits::PRESENCE, "presence", |id| index::present(&self.index, id, &self.reach).map(Some)),
            Test::Equal { subject, rule, normalized, .. } if self.all_have(subject, |own| own.equality, rule) => {
                self.equal(subject, |id| index::equal(&self.index, id, normalized, &self.reach).map(Some))
            }
            Test::Among { subject, rule, values } if self.all_have(subject, |own| own.equality, rule) => {
                self.equal(subject, |id| self.among(id, values))
            }
            Test::Class { subject, class } => self.each(subject, bits::EQUALITY, "equality", |id| {
                let oid = self.schema.class(*class).oid.as_bytes();
                index::equal(&self.index, id, oid, &self.reach).map(Some)
            }),
            Test::AtLeast { subject, rule, normalized, .. } if self.sort(subject, rule) => {
                self.range(subject, Some(normalized), None, within)
            }
            Test::AtMost { subject, rule, normalized, .. } if self.sort(subject, rule) => {
                self.range(subject, None, Some(normalized), within)
            }
            Test::Substrings { subject, rule, assertion } if self.all_have(subject, |own| own.substrings, rule) => {
                self.substrings(subject, assertion, within)
            }
            Test::Made { test, .. } => Ok(Candidates { exact: false, ..self.candidates_within(test, within)? }),
            Test::Name(name) => {
                self.spend(LOOK);
                let found = names::find_entry(&self.tables.name()?, self.suffixes, name)?;
                self.note(|| "entryDN: the entry of that name".to_string());
                Ok(Candidates::exact(found.map_or_else(Set::empty, Set::one)))
            }
            Test::MemberOf(group) => self.members(group, within),
            Test::OneOf(ids) => Ok(Candidates::exact(ids.clone())),
            _ => Ok(Candidates::ALL),
        }
    }

    /// The candidates of values themselves: the index has an entry under what its classes are kinds of, too.
    fn equal(&self, subject: &Subject, find: impl Fn(AttributeId) -> Result<Option<Set>>) -> Result<Candidates> {
        let found = self.each(subject, bits::EQUALITY, "equality", find)?;
        let is_of_classes = subject.types.contains(&self.schema.known().object_class);
        Ok(Candidates { exact: found.exact && !is_of_classes, ..found })
    }

    /// Entries that have one of some values; `None` if too much was looked at already.
    fn among(&self, id: AttributeId, values: &[Vec<u8>]) -> Result<Option<Set>> {
        let mut union = Set::empty();
        for value in values {
            if self.is_spent() {
                return Ok(None);
            }
            let found = index::equal(&self.index, id, value, &self.reach)?;
            self.spend(LOOK + found.len() / IDS);
            union = unite(union, found);
        }
        Ok(Some(union))
    }

    /// Whether a rule is that of all types, by which their index was made.
    fn all_have(&self, subject: &Subject, own: fn(&Attribute) -> Option<&'static Rule>, rule: &'static Rule) -> bool {
        let found = |id: &AttributeId| self.schema.get(*id).and_then(own);
        subject.types.iter().all(|id| found(id).is_some_and(|found| std::ptr::eq(found, rule)))
    }

    /// Whether the indices of equality of all types sort as a rule does.
    fn sort(&self, subject: &Subject, rule: &'static Rule) -> bool {
        let sorts = |id: &AttributeId| self.schema.get(*id).is_some_and(Attribute::sorts_in_index);
        subject.types.iter().all(sorts) && self.all_have(subject, |own| own.ordering, rule)
    }

    /// The candidates of one type after the other, together.
    fn each(
        &self,
        subject: &Subject,
        kind: u8,
        what: &str,
        find: impl Fn(AttributeId) -> Result<Option<Set>>,
    ) -> Result<Candidates> {
        let mut union: Option<Set> = None;
        for &id in &subject.types {
            if self.indices.get(id) & kind == 0 {
                self.note(|| format!("{}: no index of {what}, so all {} entries", self.name(id), self.total));
                return Ok(Candidates::ALL);
            }
            let found = find(id)?;
            self.spend(LOOK + found.as_ref().map_or(0, Set::len) / IDS);
            let Some(set) = found else {
                self.note(|| format!("{}: too many keys in the index of {what}", self.name(id)));
                return Ok(Candidates::ALL);
            };
            self.note(|| format!("{}: index of {what}, {}", self.name(id), counted(set.len(), "candidate")));
            union = Some(match union {
                None => set,
                Some(before) => unite(before, set),
            });
        }
        Ok(Candidates {
            set: Some(union.unwrap_or_else(Set::empty)),
            exact: !subject.checked && subject.options.is_empty(),
        })
    }

    /// So many keys are walked at most before all entries, or those that matter, are looked at instead.
    fn keys_max(&self, within: Option<&Set>) -> u64 {
        // Where k entries match, some total / k are looked at for each that is wanted: with more keys than the root of what all
        // wanted ones cost so, looking at entries is less work.
        let looked_at = self.wanted.saturating_mul(self.total).saturating_mul(KEYS_AS_AN_ENTRY).isqrt();
        let most = KEYS_MIN.max(looked_at.min(self.total / 8));
        within.map_or(most, |within| most.min(within.len().saturating_mul(KEYS_PER_ENTRY)))
    }

    fn range(
        &self,
        subject: &Subject,
        from: Option<&Vec<u8>>,
        to: Option<&Vec<u8>>,
        within: Option<&Set>,
    ) -> Result<Candidates> {
        let (from, to, most) = (from.map(Vec::as_slice), to.map(Vec::as_slice), self.keys_max(within));
        let found = self.each(subject, bits::EQUALITY, "equality (a range)", |id| {
            self.walked(index::range(&self.index, id, from, to, most)?, most)
        })?;
        let sorted = [from, to].into_iter().flatten().all(index::sorts_by_all);
        Ok(Candidates { exact: found.exact && sorted, ..found })
    }

    /// What a walk of so many keys at most has found, paid for.
    fn walked(&self, found: Option<Set>, most: u64) -> Result<Option<Set>> {
        self.spend(found.as_ref().map_or(most, Set::len));
        Ok(found)
    }

    /// The cheapest part first; the others only while there are many candidates.
    fn and(&self, parts: &[Test], within: Option<&Set>) -> Result<Candidates> {
        let mut best = Candidates { set: None, exact: true };
        let ranges = self.ranges(parts, within)?;
        let mut skipped = ranges.is_some();
        if let Some(range) = ranges {
            best = range;
        }
        let mut order = parts.iter().map(|part| Ok((self.rank(part)?, part))).collect::<Result<Vec<_>>>()?;
        order.sort_by_key(|(rank, _)| *rank);
        for (rank, part) in order {
            if best.set.is_some() && best.count() <= FEW || skipped && rank >= RANGE {
                skipped = true;
                best.exact = false;
                continue;
            }
            let found = self.candidates_within(part, best.set.as_ref().or(within))?;
            best.exact &= found.exact;
            best.set = match (best.set, found.set) {
                (None, other) | (other, None) => other,
                (Some(a), Some(b)) => Some(index::intersect(a, b)),
            };
        }
        if skipped {
            best.exact = false;
        }
        Ok(best)
    }

    /// `>=` and `<=` of one attribute with one value as one walk.
    fn ranges(&self, parts: &[Test], within: Option<&Set>) -> Result<Option<Candidates>> {
        for part in parts {
            let Test::AtLeast { subject, rule, normalized: from } = part else { continue };
            let [id] = subject.types[..] else { continue };
            let is_single = self.schema.get(id).is_some_and(|attribute| attribute.single_value);
            if !is_single || !subject.options.is_empty() || !self.sort(subject, rule) {
                continue;
            }
            let upper = parts.iter().find_map(|other| match other {
                Test::AtMost { subject: same, normalized: to, .. } if same == subject => Some(to),
                _ => None,
            });
            if let Some(to) = upper {
                let Candidates { set: Some(found), exact } = self.range(subject, Some(from), Some(to), within)? else {
                    return Ok(None);
                };
                // Of several values one may be at the one end and one at the other.
                let more = index::with_several(&self.index, id, &self.reach)?;
                let exact = exact && more.len() == 0;
                return Ok(Some(Candidates { set: Some(unite(found, more)), exact }));
            }
        }
        Ok(None)
    }

    fn or(&self, parts: &[Test], within: Option<&Set>) -> Result<Candidates> {
        let mut union = Candidates::exact(Set::empty());
        // Where one part has no index, nothing is gained by what others have.
        let mut order: Vec<&Test> = parts.iter().collect();
        order.sort_by_key(|part| self.is_indexed(part));
        for part in order {
            let found = self.candidates_within(part, within)?;
            union.exact &= found.exact;
            let (Some(before), Some(set)) = (union.set.take(), found.set) else {
                return Ok(Candidates { set: None, exact: found.exact && matches!(part, Test::True) });
            };
            union.set = Some(unite(before, set));
        }
        Ok(union)
    }

    fn substrings(
        &self,
        subject: &Subject,
        assertion: &SubstringsAssertion,
        within: Option<&Set>,
    ) -> Result<Candidates> {
        let fragments: Vec<(Place, Vec<u8>)> = assertion.fragments().collect();
        let mut found =
            self.each(subject, bits::SUBSTRING, "substrings", |id| self.trigrams(id, &fragments, within))?;
        if found.set.is_none()
            && self.begin_alike(subject)
            && let Some((_, beginning)) =
                fragments.iter().find(|(place, text)| *place == Place::Start && !text.is_empty())
        {
            let most = self.keys_max(within);
            found = self.each(subject, bits::EQUALITY, "equality (a beginning)", |id| {
                self.walked(index::starting(&self.index, id, beginning, most)?, most)
            })?;
        }
        found.exact = false;
        Ok(found)
    }

    /// Whether the index of equality of all types is of what the rules for substrings make of values.
    fn begin_alike(&self, subject: &Subject) -> bool {
        subject.types.iter().all(|id| {
            self.schema.get(*id).is_some_and(|attribute| {
                let (equality, substrings) = (attribute.equality, attribute.substrings);
                equality.zip(substrings).is_some_and(|(equality, substrings)| substrings.normalizes_as(equality))
            })
        })
    }

    /// Entries that have all trigrams of some fragments; `None` if no fragment is long enough.
    fn trigrams(&self, id: AttributeId, fragments: &[(Place, Vec<u8>)], within: Option<&Set>) -> Result<Option<Set>> {
        let mut wanted: Vec<Trigram> = Vec::new();
        for (place, text) in fragments {
            let mut marked = text.clone();
            match place {
                Place::Start => marked.insert(0, 1),
                Place::End => marked.push(2),
                Place::Anywhere => {}
            }
            wanted.extend(marked.windows(3).filter_map(|three| Trigram::try_from(three).ok()));
        }
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(None);
        }
        let step = wanted.len().div_ceil(TRIGRAMS);
        let wanted: Vec<Trigram> = wanted.into_iter().step_by(step).collect();
        self.spend(LOOK * wanted.len() as u64 * (1 + (self.total >> index::CONTAINER_BITS)));
        let waiting = self.tables.waiting()?;
        let waiting = match self.tables {
            Tables::Snapshot(_) => Waiting::of(waiting, self.naming.directory())?,
            Tables::Txn(..) => Waiting::unsettled(waiting),
        };
        index::trigrams(&self.index, &waiting, id, &wanted, within, &self.reach).map(Some)
    }

    /// As [`rank`]; but there may be very many members to find.
    fn rank(&self, test: &Test) -> Result<u8> {
        let Test::MemberOf(group) = test else { return Ok(rank(test)) };
        let found = names::find_entry(&self.tables.name()?, self.suffixes, group)?;
        let many = found.map_or(Ok(0), |id| self.members_outside(id))? > MEMBERS_FEW;
        Ok(if many { MANY_MEMBERS } else { rank(test) })
    }

    /// How many members a group has, if these are not in its entry.
    fn members_outside(&self, group: Id) -> Result<u64> {
        let (entry, kinds) = (names::entry(&self.tables.entry()?, group)?, member_types(self.schema));
        Ok(entry.large().filter(|large| kinds.contains(&large.id)).map(|large| u64::from(large.count)).sum())
    }

    /// The entries that a group's members name.
    fn members(&self, group: &str, within: Option<&Set>) -> Result<Candidates> {
        let (names, entries) = (self.tables.name()?, self.tables.entry()?);
        let Some(id) = names::find_entry(&names, self.suffixes, group)? else {
            return Ok(Candidates::exact(Set::empty()));
        };
        let count = self.members_outside(id)?;
        if within.is_some_and(|within| within.len().saturating_mul(MEMBERS_AS_A_CANDIDATE) < count) {
            self.note(|| format!("memberOf: the group has {count} members, so candidates are asked instead"));
            return Ok(Candidates::ALL);
        }
        let (mut found, mut waiting, mut members) = (roaring::RoaringBitmap::new(), vec![id], Vec::new());
        while let Some(group) = waiting.pop() {
            let entry = names::entry(&entries, group)?;
            let mut find = |members: &mut Vec<String>| -> Result<()> {
                let new = names::find_entries(self.naming, &names, self.suffixes, members)?;
                members.clear();
                waiting.extend(new.into_iter().filter(|id| found.insert(*id) && self.nested_groups));
                Ok(())
            };
            for kind in member_types(self.schema) {
                each_value(&self.tables, group, &entry, kind, |value| {
                    self.spend(MEMBER);
                    let name = std::str::from_utf8(value).ok();
                    members.extend(name.and_then(|name| names::normalize(self.schema, name).ok()));
                    if members.len() < MEMBERS_TOGETHER { Ok(()) } else { find(&mut members) }
                })?;
            }
            find(&mut members)?;
        }
        self.note(|| format!("memberOf: members of the group, {}", counted(found.len(), "candidate")));
        Ok(Candidates::exact(Set::Many(found)))
    }
}

/// Attributes that make a group's members.
pub(crate) fn member_types(schema: &Schema) -> [AttributeId; 2] {
    [schema.known().member, schema.known().unique_member]
}

/// Calls `each` with all values of an attribute, wherever they are.
pub(crate) fn each_value(
    tables: &Tables<'_>,
    id: Id,
    entry: &Entry<'_>,
    kind: AttributeId,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut result = Ok(());
    each_value_while(tables, id, entry, kind, &mut |value| {
        result = each(value);
        result.is_ok()
    })?;
    result
}

/// As [`each_value`], until `each` returns false.
pub(crate) fn each_value_while(
    tables: &Tables<'_>,
    id: Id,
    entry: &Entry<'_>,
    kind: AttributeId,
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<()> {
    if !entry.of_type(kind).flat_map(|attribute| attribute.values()).all(&mut *each) {
        return Ok(());
    }
    if entry.large().any(|large| large.id == kind) {
        for value in large::values(&tables.value()?, id, kind)? {
            if !each(value?) {
                break;
            }
        }
    }
    Ok(())
}

fn unite(a: Set, b: Set) -> Set {
    match (a, b) {
        (Set::Few(few), other) | (other, Set::Few(few)) if few.is_empty() => other,
        (Set::Many(mut many), Set::Few(few)) | (Set::Few(few), Set::Many(mut many)) => {
            many.extend(few);
            Set::Many(many)
        }
        (a, b) => Set::Many(a.into_bitmap() | b.into_bitmap()),
    }
}

const RANGE: u8 = 3;
const MANY_MEMBERS: u8 = 5;

/// How much it costs to find the candidates of a test, and how many there may be: what is least comes first.
fn rank(test: &Test) -> u8 {
    match test {
        Test::False | Test::Undefined | Test::Name(_) | Test::OneOf(_) => 0,
        Test::Made { test, .. } => rank(test),
        Test::Equal { .. } => 1,
        Test::MemberOf(_) => 2,
        Test::AtLeast { .. } | Test::AtMost { .. } => RANGE,
        Test::Substrings { .. } => 4,
        Test::Or(_) | Test::And(_) | Test::Among { .. } => 6,
        Test::Class { .. } => 7,
        Test::Present(_) => 8,
        _ => 9,
    }
}

/// So many of them, for people.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
