//! Holding a test against an entry.

use std::cell::{Cell, RefCell};

use duramen_ldap::matching::{Rule, RuleKind};
use duramen_ldap::message::ResultCode;

use super::{Quick, Subject, Test, has_options};
use crate::entry::{Entry, LargeAttribute, StoredAttribute};
use crate::failure::{Failure, Result};
use crate::large;
use crate::names;
use crate::schema::{AttributeId, Schema};
use crate::tables::{Id, Tables};

/// So many bytes of values are looked at in an entry at most, again for each item of the filter: nobody else is served by the
/// thread meanwhile.
const LOOKED_AT_MAX: usize = 256 << 20;

/// What it takes to hold an option against those of an attribute, and to take a byte of a name apart, in bytes of values.
const OPTION_BYTES: usize = 64;
const NAME_BYTES: usize = 8;

/// The types of an item are looked for in an entry one by one, if they are so many at most.
const TYPES_ONE_BY_ONE: usize = 8;

/// True, false or undefined.
pub(crate) type Matched = Option<bool>;

/// What a test asks of an entry that is not stored in it.
pub(crate) trait Derived {
    /// Whether the requester may search values of an attribute of the entry.
    fn may_search(&self, id: AttributeId, value: Option<&[u8]>) -> bool;
    /// Its normalized name.
    fn normalized_name(&self) -> Result<String>;
    /// Its name as it is written.
    fn written_name(&self) -> &str;
    /// Entries directly below it.
    fn child_count(&self) -> Result<u32>;
    /// Whether it is a member of a group that names it.
    fn is_named_in(&self, group: &str) -> Result<bool>;
    /// Whether it is a member of any that names it.
    fn is_named(&self) -> Result<bool>;
    /// Calls `each` with the values of an attribute that is made when the entry is read.
    fn made_values(&self, id: AttributeId, each: &mut dyn FnMut(&[u8])) -> Result<()>;
}

/// An entry that tests are held against.
pub(crate) struct Evaluation<'e, 't> {
    pub schema: &'e Schema,
    pub tables: Tables<'t>,
    pub id: Id,
    pub entry: &'e Entry<'e>,
    pub derived: &'e dyn Derived,
    pub scratch: &'e RefCell<Vec<u8>>,
    /// Bytes of values that were looked at, and what else takes as long.
    pub looked_at: Cell<usize>,
}

impl Evaluation<'_, '_> {
    /// RFC 4511 section 4.5.1.7: AND is false if one part is, OR is true if one is, else undefined if one is.
    pub fn matches(&self, test: &Test) -> Result<Matched> {
        Ok(match test {
            Test::True => Some(true),
            Test::False => Some(false),
            Test::Undefined => None,
            Test::And(parts) => return self.all(parts, false),
            Test::Or(parts) => return self.all(parts, true),
            Test::Not(part) => self.matches(part)?.map(|matched| !matched),
            Test::Present(subject) => return self.present(subject),
            Test::Equal { subject, rule, quick, normalized, asserted } => {
                let mut scratch = self.scratch.borrow_mut();
                let mut equal = |value: &[u8]| quick.equal(rule, self.schema, value, normalized, &mut scratch);
                if self.equal_outside(subject, rule, normalized, &mut equal)? || self.has(subject, equal)? {
                    return Ok(Some(true));
                }
                // Who may ask for this very value may learn that it is not there.
                self.none_of(subject, Some(asserted))
            }
            Test::Among { subject, rule, values } => return self.among(subject, rule, values),
            Test::AtLeast { subject, rule, normalized } => {
                return self.any_normalized(subject, rule, |value| value >= normalized.as_slice());
            }
            Test::AtMost { subject, rule, normalized } => {
                return self.any_normalized(subject, rule, |value| value <= normalized.as_slice());
            }
            Test::Less { subject, rule, normalized } => {
                return self.any_normalized(subject, rule, |value| value < normalized.as_slice());
            }
            Test::Related { subject, rule, normalized } => {
                return self.any_normalized(subject, rule, |value| rule.relates(value, normalized));
            }
            Test::Substrings { subject, rule, assertion } => {
                return self.any_normalized(subject, rule, |value| assertion.matches(value));
            }
            Test::Class { subject, class } => {
                return self.any(subject, |value| self.schema.class(*class).has_kind(value));
            }
            Test::Bits { subject, rule, value: mask } => {
                return self.any(subject, |value| rule.bits_match(value, mask) == Some(true));
            }
            Test::WithName { test, subject, rule, normalized } => match self.matches(test)? {
                Some(true) => Some(true),
                _ if self.name_has(subject, rule, normalized)? => Some(true),
                matched => matched,
            },
            Test::Made { id, asserted, .. } if !self.derived.may_search(*id, Some(asserted)) => None,
            Test::Made { test, .. } => return self.matches(test),
            Test::Name(name) => Some(self.derived.normalized_name()? == *name),
            Test::NameRelated { rule, normalized } => {
                Some(rule.relates(self.derived.normalized_name()?.as_bytes(), normalized))
            }
            Test::MemberOf(group) => Some(self.derived.is_named_in(group)?),
            Test::OneOf(ids) => Some(ids.contains(self.id)),
            Test::HasSubordinates(wanted) => Some((self.derived.child_count()? > 0) == *wanted),
            Test::NumSubordinates(wanted) => Some(self.derived.child_count()? == *wanted),
        })
    }

    /// AND, or OR if `decisive` is true: whether one part is decisive.
    fn all(&self, parts: &[Test], decisive: bool) -> Result<Matched> {
        let mut undefined = false;
        for part in parts {
            match self.matches(part)? {
                Some(matched) if matched == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => undefined = true,
            }
        }
        Ok(if undefined { None } else { Some(!decisive) })
    }

    fn present(&self, subject: &Subject) -> Result<Matched> {
        let known = self.schema.known();
        for &id in &subject.types {
            if subject.checked && !self.derived.may_search(id, None) {
                continue;
            }
            let stored = self.is_stored(id, subject)?;
            let outside = self.large(subject).any(|large| large.id == id);
            let derived = known.is_derived(id) && (id != known.member_of || self.derived.is_named()?);
            if stored || outside || derived {
                return Ok(Some(true));
            }
        }
        Ok(self.none_of(subject, None))
    }

    /// Whether there is an attribute of a type, with the options of an item.
    fn is_stored(&self, id: AttributeId, subject: &Subject) -> Result<bool> {
        self.look_at(self.entry.numbers_len())?;
        for attribute in self.entry.of_type(id) {
            if self.has_options(&attribute, subject)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an attribute has the options of an item.
    #[inline]
    fn has_options(&self, attribute: &StoredAttribute<'_>, subject: &Subject) -> Result<bool> {
        self.look_at(OPTION_BYTES * subject.options.len())?;
        Ok(fits(attribute, &subject.options))
    }

    /// What an item is that nothing was found for: undefined if nothing may be looked for, else false. `asserted`: the value
    /// that was looked for, if it was one.
    fn none_of(&self, subject: &Subject, asserted: Option<&[u8]>) -> Matched {
        let hidden = |id: &AttributeId| !self.derived.may_search(*id, asserted);
        if subject.checked && subject.types.iter().all(hidden) { None } else { Some(false) }
    }

    /// Whether a value passes. Without any value the item is false.
    fn any(&self, subject: &Subject, mut passes: impl FnMut(&[u8]) -> bool) -> Result<Matched> {
        let is_there = self.has(subject, &mut passes)? || self.has_outside(subject, passes)?;
        Ok(if is_there { Some(true) } else { self.none_of(subject, None) })
    }

    /// Whether a value that is stored in the entry, or made when it is read, passes, and may be looked for.
    fn has(&self, subject: &Subject, mut passes: impl FnMut(&[u8]) -> bool) -> Result<bool> {
        // An item that names no type is about hundreds, and the entry has few of them.
        if subject.types.len() > TYPES_ONE_BY_ONE {
            self.look_at(self.entry.numbers_len() * subject.types.len())?;
            let wanted = self.entry.attributes().filter(|attribute| subject.types.contains(&attribute.id));
            for attribute in wanted {
                if self.has_in(subject, &attribute, &mut passes)? {
                    return Ok(true);
                }
            }
        } else {
            for &id in &subject.types {
                self.look_at(self.entry.numbers_len())?;
                for attribute in self.entry.of_type(id) {
                    if self.has_in(subject, &attribute, &mut passes)? {
                        return Ok(true);
                    }
                }
            }
        }
        if subject.made { self.has_made(subject, passes) } else { Ok(false) }
    }

    /// Whether a value of an attribute passes, and may be looked for.
    #[inline]
    fn has_in(
        &self,
        subject: &Subject,
        attribute: &StoredAttribute<'_>,
        passes: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool> {
        if !self.has_options(attribute, subject)? {
            return Ok(false);
        }
        self.look_at(attribute.encoded.len())?;
        let may_be_sought = |value| !subject.checked || self.derived.may_search(attribute.id, Some(value));
        Ok(attribute.values().iter().any(|value| passes(value) && may_be_sought(value)))
    }

    fn has_made(&self, subject: &Subject, mut passes: impl FnMut(&[u8]) -> bool) -> Result<bool> {
        let mut found = false;
        for &id in &subject.types {
            self.derived.made_values(id, &mut |value| {
                found |= passes(value) && (!subject.checked || self.derived.may_search(id, Some(value)));
            })?;
        }
        Ok(found)
    }

    /// Takes note that so many bytes of values are looked at.
    ///
    /// # Errors
    /// adminLimitExceeded, where these are too many in all.
    #[inline]
    fn look_at(&self, bytes: usize) -> Result<()> {
        self.looked_at.set(self.looked_at.get().saturating_add(bytes));
        if self.looked_at.get() <= LOOKED_AT_MAX {
            return Ok(());
        }
        let text = "the filter has too many items for an entry with so many values: ask in several searches";
        Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text))
    }

    fn any_normalized(&self, subject: &Subject, rule: &Rule, mut passes: impl FnMut(&[u8]) -> bool) -> Result<Matched> {
        let mut scratch = self.scratch.borrow_mut();
        let mut test = |value: &[u8]| {
            scratch.clear();
            names::normalize_value(self.schema, rule, value, &mut scratch).is_ok() && passes(&scratch)
        };
        let is_there = self.has(subject, &mut test)? || self.has_outside(subject, test)?;
        Ok(if is_there { Some(true) } else { self.none_of(subject, None) })
    }

    /// Whether the entry has one of several normalized values.
    fn among(&self, subject: &Subject, rule: &Rule, values: &[Vec<u8>]) -> Result<Matched> {
        let mut scratch = self.scratch.borrow_mut();
        let mut test = |value: &[u8]| {
            scratch.clear();
            let is_valid = names::normalize_value(self.schema, rule, value, &mut scratch).is_ok();
            is_valid && values.binary_search_by(|one| one.as_slice().cmp(&scratch)).is_ok()
        };
        if self.has(subject, &mut test)? {
            return Ok(Some(true));
        }
        for large in self.large(subject) {
            if !large::is_found_by(self.schema.attribute(large.id), rule) {
                if self.is_among(subject, large.id, &mut test)? {
                    return Ok(Some(true));
                }
                continue;
            }
            let table = self.tables.value()?;
            for one in values {
                if table.get(large::key(self.id, large.id, one))?.is_some() {
                    return Ok(Some(true));
                }
            }
        }
        Ok(Some(false))
    }

    /// Whether a value outside the entry passes, and may be looked for.
    fn has_outside(&self, subject: &Subject, mut passes: impl FnMut(&[u8]) -> bool) -> Result<bool> {
        for large in self.large(subject) {
            if self.is_among(subject, large.id, &mut passes)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_among(&self, subject: &Subject, id: AttributeId, mut passes: impl FnMut(&[u8]) -> bool) -> Result<bool> {
        for value in large::values(&self.tables.value()?, self.id, id)? {
            let value = value?;
            self.look_at(value.len())?;
            if passes(value) && (!subject.checked || self.derived.may_search(id, Some(value))) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a value outside the entry is equal to a normalized one: one search, where the attribute's own rule makes the same
    /// of values, as keys are made by that.
    fn equal_outside(
        &self,
        subject: &Subject,
        rule: &Rule,
        normalized: &[u8],
        mut equal: impl FnMut(&[u8]) -> bool,
    ) -> Result<bool> {
        if !self.entry.has_large() {
            return Ok(false);
        }
        for large in self.large(subject) {
            let is_there = if large::is_found_by(self.schema.attribute(large.id), rule) {
                let found = self.tables.value()?.get(large::key(self.id, large.id, normalized))?;
                found.is_some_and(|value| !subject.checked || self.derived.may_search(large.id, Some(value)))
            } else {
                self.is_among(subject, large.id, &mut equal)?
            };
            if is_there {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The attributes with values outside the entry that an item is about; they have no options.
    fn large<'s>(&'s self, subject: &'s Subject) -> impl Iterator<Item = LargeAttribute> + 's {
        let some = self.entry.has_large() && subject.options.is_empty();
        let all = some.then(|| self.entry.large()).into_iter().flatten();
        all.filter(|large| subject.types.contains(&large.id))
    }

    fn name_has(&self, subject: &Subject, rule: &Rule, normalized: &[u8]) -> Result<bool> {
        let written = self.derived.written_name();
        self.look_at(NAME_BYTES * written.len())?;
        // What a value's own rule makes equal, another one may tell apart.
        let Ok(name) = duramen_ldap::dn::Dn::parse(written) else { return Ok(false) };
        let mut form = Vec::new();
        let passes = |form: &Vec<u8>| match rule.kind {
            RuleKind::Ordering => form.as_slice() < normalized,
            RuleKind::Substrings | RuleKind::BitAnd | RuleKind::BitOr => false,
            _ => rule.relates(form, normalized),
        };
        Ok(name.rdns().flat_map(|rdn| rdn.avas()).any(|ava| {
            let Some(attribute) = self.schema.find(ava.attribute) else { return false };
            let value = ava.value();
            form.clear();
            subject.types.contains(&attribute.id)
                && rule.normalize(&value, self.schema, &mut form).is_ok()
                && passes(&form)
                && (!subject.checked || self.derived.may_search(attribute.id, Some(&value)))
        }))
    }
}

/// Whether an attribute has all the options that a filter names, or a key to sort by.
pub(crate) fn fits(attribute: &StoredAttribute<'_>, options: &[String]) -> bool {
    options.is_empty() || attribute.has_options && has_options(attribute.decode().description, options)
}

/// A value that items of a matched values filter are held against (RFC 3876 section 3).
pub(crate) struct Value<'v> {
    pub id: AttributeId,
    /// Of its attribute, with options.
    pub description: &'v str,
    pub bytes: &'v [u8],
    /// The rule by which it was normalized last, and the form if there is one: items that follow each other share it.
    form: Option<(&'static Rule, Option<Vec<u8>>)>,
}

impl<'v> Value<'v> {
    pub fn new(id: AttributeId, description: &'v str, bytes: &'v [u8]) -> Value<'v> {
        Value { id, description, bytes, form: None }
    }

    /// Whether it matches an item, compiled for values.
    pub fn matches(&mut self, test: &Test, schema: &Schema) -> bool {
        match test {
            Test::Present(subject) => self.is_of(subject),
            Test::Class { subject, class } => self.is_of(subject) && schema.class(*class).has_kind(self.bytes),
            Test::Bits { subject, rule, value: mask } => {
                self.is_of(subject) && rule.bits_match(self.bytes, mask) == Some(true)
            }
            Test::Equal { subject, rule, quick: Quick::Other, normalized, .. } => {
                self.is_of(subject) && self.passes(rule, schema, |form| form == normalized)
            }
            Test::Equal { subject, rule, quick, normalized, .. } => {
                self.is_of(subject) && quick.equal(rule, schema, self.bytes, normalized, &mut Vec::new())
            }
            Test::AtLeast { subject, rule, normalized: least } => {
                self.is_of(subject) && self.passes(rule, schema, |form| form >= least)
            }
            Test::AtMost { subject, rule, normalized: most } => {
                self.is_of(subject) && self.passes(rule, schema, |form| form <= most)
            }
            Test::Less { subject, rule, normalized: end } => {
                self.is_of(subject) && self.passes(rule, schema, |form| form < end)
            }
            Test::Related { subject, rule, normalized } => {
                self.is_of(subject) && self.passes(rule, schema, |form| rule.relates(form, normalized))
            }
            Test::Substrings { subject, rule, assertion } => {
                self.is_of(subject) && self.passes(rule, schema, |form| assertion.matches(form))
            }
            _ => false,
        }
    }

    fn is_of(&self, subject: &Subject) -> bool {
        subject.is_about(self.id, self.description)
    }

    /// Whether it has a normalized form by a rule, and that passes.
    fn passes(&mut self, rule: &'static Rule, schema: &Schema, test: impl FnOnce(&Vec<u8>) -> bool) -> bool {
        if self.form.as_ref().is_none_or(|(last, _)| !last.normalizes_as(rule)) {
            let mut form = Vec::new();
            let is_valid = names::normalize_value(schema, rule, self.bytes, &mut form).is_ok();
            self.form = Some((rule, is_valid.then_some(form)));
        }
        self.form.as_ref().and_then(|(_, form)| form.as_ref()).is_some_and(test)
    }
}
