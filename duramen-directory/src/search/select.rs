//! Which attributes of an entry are returned (RFC 4511 section 4.5.1.8), and putting them together.
//!
//! Owns: the selection, what the requester may see of it. Invariant: an entry that is asked for whole, and may be seen
//! whole, is not touched.

use std::cell::Cell;

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::ber::{List, Writer, tag, tlv_len};
use duramen_ldap::message::ResultCode;
use smallvec::SmallVec;

use crate::access::{Level, Plan};
use crate::entry::{LargeAttribute, StoredAttribute};
use crate::failure::{Failure, Result};
use crate::filter::{Test, Value, has_options, options};
use crate::schema::{AttributeId, Schema};
use crate::sink::Sink;
use crate::view::View;

/// So often values of an entry are held against items of the matched values control at most: nobody else is served by the
/// thread meanwhile.
const TRIED_MAX: usize = 10_000_000;

/// So many types with options are asked for at most: each is held against all attributes with options that an entry has, of which
/// there may be thousands.
const OPTIONED_MAX: usize = 1024;

/// What is asked for of entries.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    user: bool,
    operational: bool,
    /// Types that are named without options, and kinds of these; sorted. None is there twice, so that these are no more than
    /// the schema has, whatever the request repeats.
    named: Vec<AttributeId>,
    /// Types as they are named, with options.
    optioned: Vec<(AttributeId, Vec<String>)>,
    types_only: bool,
    /// What is made when an entry is read is not wanted, whatever is named.
    is_stored_only: bool,
    /// Values have to match one of these (RFC 3876).
    matched_values: Option<Vec<Test>>,
}

impl Selection {
    /// From what a request lists; nothing is all user attributes.
    ///
    /// # Errors
    /// adminLimitExceeded, of too many types with options.
    pub fn new(schema: &Schema, list: List<'_, &str>, types_only: bool) -> Result<Selection> {
        let mut selection = Selection { types_only, user: list.is_empty(), ..Selection::default() };
        for word in list {
            match word {
                "*" => selection.user = true,
                "+" => selection.operational = true,
                "1.1" => {}
                _ => selection.name(schema, word),
            }
            if selection.optioned.len() > OPTIONED_MAX {
                let text = format!("more than {OPTIONED_MAX} attributes with options are asked for");
                return Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
            }
        }
        Ok(selection)
    }

    /// Only values that match one of these are returned; without values it does nothing.
    pub fn with_matched_values(mut self, tests: Vec<Test>) -> Selection {
        self.matched_values = Some(tests).filter(|_| !self.types_only);
        self
    }

    /// Without what is made when an entry is read.
    pub fn stored_only(self) -> Selection {
        Selection { is_stored_only: true, ..self }
    }

    fn name(&mut self, schema: &Schema, word: &str) {
        if let Some(class) = word.strip_prefix('@').and_then(|name| schema.find_class(name)) {
            self.user |= class.is_extensible;
            class.must.iter().chain(&class.may).for_each(|id| self.name_kinds(&schema.attribute(*id).family));
        } else if let Ok(description) = AttributeDescription::parse(word)
            && let Some(attribute) = schema.find(description.kind)
        {
            let options = options(&description);
            match options.is_empty() {
                true => self.name_kinds(&attribute.family),
                false => self.optioned.push((attribute.id, options)),
            }
        }
    }

    fn name_kinds(&mut self, family: &[AttributeId]) {
        for &id in family {
            if let Err(place) = self.named.binary_search(&id) {
                self.named.insert(place, id);
            }
        }
    }

    fn names(&self, id: AttributeId) -> bool {
        self.named.binary_search(&id).is_ok()
    }

    /// Whether it is all user attributes as they are.
    fn is_plain(&self) -> bool {
        self.user && !self.operational && !self.names_any() && !self.types_only && self.matched_values.is_none()
    }

    fn names_any(&self) -> bool {
        !self.named.is_empty() || !self.optioned.is_empty()
    }

    /// Whether values of a type can be wanted, with whatever options.
    pub(super) fn may_want(&self, schema: &Schema, id: AttributeId) -> bool {
        self.wants_type(id, !schema.is_operational(id))
            || self.optioned.iter().any(|(named, _)| schema.attribute(*named).family.contains(&id))
    }

    pub(super) fn wants(&self, schema: &Schema, attribute: &StoredAttribute<'_>, is_user: bool) -> bool {
        if self.wants_type(attribute.id, is_user) {
            return true;
        }
        attribute.has_options
            && self.optioned.iter().any(|(named, options)| {
                schema.attribute(*named).family.contains(&attribute.id)
                    && has_options(attribute.decode().description, options)
            })
    }

    /// Whether a type without options is wanted.
    fn wants_type(&self, id: AttributeId, is_user: bool) -> bool {
        (if is_user { self.user } else { self.operational }) || self.names(id)
    }

    /// Whether attributes that are made when an entry is read can be wanted at all.
    fn may_want_derived(&self) -> bool {
        !self.is_stored_only && (self.operational || self.names_any())
    }
}

/// Whether a requester may see an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Visible,
    Hidden,
    /// It has to be asked of each entry, or of each value.
    Depends,
}

/// Encoded attributes that follow each other.
pub(crate) type Pieces<'p> = SmallVec<[&'p [u8]; 8]>;

/// Puts together what is selected of one entry.
pub(crate) struct Picker<'p, 'e> {
    view: &'p View<'p, 'e>,
    schema: &'p Schema,
    plan: &'p Plan,
    selection: &'p Selection,
    /// How often a value was held against an item of the matched values control.
    tried: Cell<usize>,
}

impl<'p, 'e> Picker<'p, 'e> {
    pub fn new(view: &'p View<'p, 'e>, selection: &'p Selection) -> Picker<'p, 'e> {
        let (schema, plan) = (&view.scene.state.schema, view.scene.plan);
        Picker { view, schema, plan, selection, tried: Cell::default() }
    }

    /// The encoded attributes; those that cannot stay where they are are put into `scratch`.
    pub fn pick(&self, scratch: &'e mut Vec<u8>) -> Result<Pieces<'e>> {
        self.pick_but(&[], scratch)
    }

    /// As [`Picker::pick`], without these attributes with values outside.
    fn pick_but(&self, apart: &[LargeAttribute], scratch: &'e mut Vec<u8>) -> Result<Pieces<'e>> {
        let entry = &self.view.entry;
        if self.selection.is_plain() && self.plan.reads_everything() && !entry.has_large() {
            return Ok(SmallVec::from_slice(&[entry.user_attributes()]));
        }
        scratch.clear();
        let mut pieces = Pieces::new();
        let user_end = entry.user_attributes().len();
        let (mut at, mut run) = (0, 0..0);
        let as_they_are = !self.selection.types_only && self.selection.matched_values.is_none();
        for attribute in entry.attributes() {
            let start = at;
            at += attribute.encoded.len();
            if !self.selection.wants(self.schema, &attribute, at <= user_end) {
                continue;
            }
            match self.verdict(attribute.id) {
                Verdict::Hidden => {}
                Verdict::Visible if as_they_are => {
                    if run.end != start {
                        pieces.extend(entry.all_attributes().get(run.clone()).filter(|piece| !piece.is_empty()));
                        run = start..at;
                    } else {
                        run.end = at;
                    }
                }
                verdict => self.rewrite(&attribute, verdict, scratch),
            }
        }
        pieces.extend(entry.all_attributes().get(run).filter(|piece| !piece.is_empty()));
        self.large(apart, scratch)?;
        if self.selection.may_want_derived() {
            self.derived(scratch)?;
        }
        self.check_tried()?;
        if !scratch.is_empty() {
            pieces.push(scratch);
        }
        Ok(pieces)
    }

    fn verdict(&self, id: AttributeId) -> Verdict {
        if self.plan.reads_everything() {
            return Verdict::Visible;
        }
        match self.plan.everywhere(Some(id), Level::Read) {
            Some(true) if !self.plan.is_by_value(id) => Verdict::Visible,
            Some(false) => Verdict::Hidden,
            _ => Verdict::Depends,
        }
    }

    /// Whether it has to be asked of each value of an attribute whether it may be read; `None` if none may.
    fn asks_of_values(&self, id: AttributeId) -> Option<bool> {
        match self.verdict(id) {
            Verdict::Hidden => None,
            Verdict::Depends if self.plan.is_by_value(id) => Some(true),
            Verdict::Depends => self.view.may_read(id, None).then_some(false),
            Verdict::Visible => Some(false),
        }
    }

    /// Whether a value is one of those that are asked for: none any more, once too much was tried.
    fn keeps(&self, mut value: Value<'_>) -> bool {
        let Some(tests) = &self.selection.matched_values else { return true };
        self.tried.set(self.tried.get().saturating_add(tests.len()));
        self.tried.get() <= TRIED_MAX && tests.iter().any(|test| value.matches(test, self.schema))
    }

    /// That no more was tried than may be.
    fn check_tried(&self) -> Result<()> {
        if self.tried.get() <= TRIED_MAX {
            return Ok(());
        }
        let text =
            "the matched values control has too many items for an entry with so many values: ask in several searches";
        Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text))
    }

    /// Appends what is to be seen of an attribute.
    fn rewrite(&self, attribute: &StoredAttribute<'_>, verdict: Verdict, out: &mut Vec<u8>) {
        let id = attribute.id;
        if verdict == Verdict::Depends && !self.view.may_read(id, None) && !self.plan.is_by_value(id) {
            return;
        }
        let by_value = verdict == Verdict::Depends && self.plan.is_by_value(id);
        let decoded = attribute.decode();
        let values = decoded.values.iter().filter(|bytes| {
            (!by_value || self.view.may_read(id, Some(bytes))) && self.keeps(Value::new(id, decoded.description, bytes))
        });
        self.write(decoded.description, values, out);
    }

    fn write<'v>(&self, description: &str, values: impl Iterator<Item = &'v [u8]>, out: &mut Vec<u8>) {
        let mut values = values.peekable();
        if values.peek().is_none() {
            return;
        }
        Writer::new(out).sequence(|w| {
            w.text(description);
            w.constructed(tag::SET, |w| {
                if !self.selection.types_only {
                    values.for_each(|value| w.octets(tag::OCTETS, value));
                }
            });
        });
    }

    /// Wanted attributes with values outside.
    fn outside(&self) -> impl Iterator<Item = LargeAttribute> {
        self.view.entry.large().filter(|large| self.selection.wants_type(large.id, true))
    }

    /// Whether all values of an attribute are given, and as they are.
    fn gives_all(&self, large: &LargeAttribute) -> bool {
        let as_they_are = !self.selection.types_only && self.selection.matched_values.is_none();
        as_they_are && large.count > 0 && self.asks_of_values(large.id) == Some(false)
    }

    /// Appends attributes with values outside, but for some.
    fn large(&self, apart: &[LargeAttribute], out: &mut Vec<u8>) -> Result<()> {
        if !self.view.entry.has_large() {
            return Ok(());
        }
        for large in self.outside().filter(|large| apart.iter().all(|apart| apart.id != large.id)) {
            let start = out.len();
            if let Some(forms) = self.sought(large.id) {
                let find = |each: &mut dyn FnMut(&[u8])| self.view.large_values(large.id, &forms, each);
                self.collect(large.id, &large.description, find, out)?;
            } else if !self.gives_all(&large) || !write_whole(&large, self.view, out)? {
                out.truncate(start);
                self.collect(large.id, &large.description, |each| self.view.large(large.id, each), out)?;
            }
        }
        Ok(())
    }

    /// The normalized forms of the values that are asked for, where these can be looked up: of an attribute with values outside.
    fn sought(&self, id: AttributeId) -> Option<Vec<&'p [u8]>> {
        let mut forms = Vec::new();
        for test in self.selection.matched_values.as_ref()? {
            let Test::Equal { subject, rule, normalized, .. } = test else { return None };
            if !subject.types.contains(&id) || !subject.options.is_empty() {
                continue;
            }
            if !crate::large::is_found_by(self.schema.attribute(id), rule) {
                return None;
            }
            forms.push(normalized.as_slice());
        }
        forms.sort_unstable();
        forms.dedup();
        Some(forms)
    }

    fn derived(&self, out: &mut Vec<u8>) -> Result<()> {
        let known = self.schema.known();
        let all = [
            known.entry_dn,
            known.subschema_subentry,
            known.has_subordinates,
            known.num_subordinates,
            known.member_of,
            known.context_csn,
        ];
        for id in all.into_iter().filter(|id| self.selection.wants_type(*id, false)) {
            let name = &self.schema.attribute(id).name;
            self.collect(id, name, |each| self.view.derived(id, each), out)?;
        }
        Ok(())
    }

    /// Appends an attribute of values that `find` gives one by one.
    fn collect(
        &self,
        id: AttributeId,
        description: &str,
        find: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<()>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(by_value) = self.asks_of_values(id) else { return Ok(()) };
        let start = out.len();
        let (mut count, mut found) = (0u32, Ok(()));
        Writer::new(out).sequence(|w| {
            w.text(description);
            w.constructed(tag::SET, |w| {
                found = find(&mut |bytes| {
                    let is_visible = !by_value || self.view.may_read(id, Some(bytes));
                    if is_visible && self.keeps(Value::new(id, description, bytes)) {
                        count += 1;
                        if !self.selection.types_only {
                            w.octets(tag::OCTETS, bytes);
                        }
                    }
                });
            });
        });
        if count == 0 {
            out.truncate(start);
        }
        found
    }
}

/// Gives an entry to a sink.
pub(super) fn give(
    selection: &Selection,
    view: &View<'_, '_>,
    picked: &mut Vec<u8>,
    sink: &mut dyn Sink,
) -> Result<()> {
    let picker = Picker::new(view, selection);
    if !view.entry.has_large() || !give_large(&picker, picked, sink)? {
        sink.entry(view.name, &picker.pick(picked)?, List::default());
    }
    Ok(())
}

/// Gives an entry whose values outside are written straight to where they are sent from, behind the lengths that it notes.
/// False, and nothing, if these are not theirs, or not all of them are given.
fn give_large(picker: &Picker<'_, '_>, picked: &mut Vec<u8>, sink: &mut dyn Sink) -> Result<bool> {
    let whole: Vec<LargeAttribute> = picker.outside().filter(|large| picker.gives_all(large)).collect();
    if whole.is_empty() {
        return Ok(false);
    }
    let pieces = picker.pick_but(&whole, picked)?;
    let bytes = whole.iter().map(|large| tlv_len(content_len(large))).sum();
    let mut written = Ok(true);
    sink.large_entry(picker.view.name, &pieces, bytes, &mut |out| {
        let mut large = whole.iter();
        written = large.try_fold(true, |is_right, large| Ok(is_right && write_whole(large, picker.view, out)?));
        matches!(written, Ok(true))
    });
    written
}

/// The length of an attribute, as the entry notes that of its values.
fn content_len(large: &LargeAttribute) -> usize {
    tlv_len(large.description.len()) + tlv_len(large.bytes as usize)
}

/// Appends an attribute with all of its values behind the length that the entry notes. False if that is not theirs.
fn write_whole(large: &LargeAttribute, view: &View<'_, '_>, out: &mut Vec<u8>) -> Result<bool> {
    let content = content_len(large);
    let end = out.len() + tlv_len(content);
    let mut writer = Writer::new(out);
    writer.header(tag::SEQUENCE, content);
    writer.text(&large.description);
    writer.header(tag::SET, large.bytes as usize);
    for value in crate::large::values(&view.scene.tables.value()?, view.id, large.id)? {
        writer.octets(tag::OCTETS, value?);
    }
    Ok(out.len() == end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::built_in;

    #[test]
    fn what_is_named_again_and_again_takes_memory_once() {
        let (schema, mut buffer) = (built_in("").unwrap(), Vec::new());
        let words = ["@inetOrgPerson", "name", "cn"].into_iter().cycle().take(30_000);
        let mut selection = Selection::new(&schema, List::build(&mut buffer, words), false).unwrap();
        assert!(selection.named.len() <= schema.attributes().count(), "{}", selection.named.len());
        assert!(selection.names(schema.known().object_class) && selection.names(schema.find("sn").unwrap().id));
        // A type with an option is one word, whatever kinds it has.
        selection.name(&schema, "name;lang-de");
        assert_eq!(selection.optioned.len(), 1);
    }
}
