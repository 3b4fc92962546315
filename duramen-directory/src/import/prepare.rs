//! From a record to an entry that lacks only its id and that of its parent.

use duramen_ldap::dn::Dn;
use duramen_ldap::ldif::{Body, LdifControl, LdifError, LdifReader, Pair, Record};
use duramen_ldap::message::ResultCode;
use duramen_ldap::oid::control as oid;
use uuid::Uuid;

use super::pieces::Piece;
use super::{ImportOptions, ImportProblem, outside, repair};
use crate::attribute::describe_stored;
use crate::clock::Clock;
use crate::failure::{Failure, Result, bad_name};
use crate::names::{self, Suffix};
use crate::password;
use crate::policy::is_of_draft;
use crate::schema::{Attribute, AttributeId, WellKnown};
use crate::state::State;
use crate::update::structure::{self, Governing};
use crate::update::{Draft, check, identifier_of, naming, operational, spelling};

/// An entry that lacks only ids.
pub(super) struct Prepared {
    /// The line where its record begins.
    pub line: u64,
    /// Normalized name, and how many bytes of it are the RDN; all of a suffix.
    pub name: String,
    pub rdn_len: usize,
    /// The entry, with 0 as its parent.
    pub bytes: Vec<u8>,
    /// Keys in table `value` with 0 as the entry's id, and values.
    pub values: Vec<(Vec<u8>, Vec<u8>)>,
    pub marks: u8,
    /// Structure rules that the entry can be governed by.
    pub rules: Governing,
    /// Its entryUUID, if the record has one: those that are made here differ from all others.
    pub identifier: Option<Uuid>,
    /// What there is to be said of it; most often nothing.
    pub remarks: Option<Box<Remarks>>,
}

/// What whoever imports should know of an entry.
#[derive(Default)]
pub(super) struct Remarks {
    /// What of the record was left out, and why.
    pub left_out: Vec<String>,
    /// Schemes of its passwords that no password matches.
    pub unmatchable: Vec<String>,
    /// Attributes of it that are not kept, but for those that each entry has here too.
    pub not_kept: Vec<AttributeId>,
}

impl Remarks {
    fn any(self) -> Option<Box<Remarks>> {
        let is_empty = self.left_out.is_empty() && self.unmatchable.is_empty() && self.not_kept.is_empty();
        (!is_empty).then(|| Box::new(self))
    }
}

impl Prepared {
    /// The normalized RDN; of a suffix the whole name.
    pub fn rdn(&self) -> &str {
        &self.name[..self.rdn_len]
    }

    /// The normalized name of the parent; `None` of a suffix.
    pub fn parent(&self) -> Option<&str> {
        self.name.get(self.rdn_len + 1..)
    }
}

/// The entries of some records.
pub(super) fn piece(
    state: &State,
    clock: &Clock,
    file: &str,
    options: ImportOptions,
    piece: &Piece,
) -> Vec<Result<Prepared, ImportProblem>> {
    let mut reader = LdifReader::new(file, piece.text.as_slice()).with_urls(outside::value);
    let mut outcomes = Vec::new();
    loop {
        let problem =
            |line: u64, what: String| ImportProblem { file: file.to_string(), line: line + piece.lines_before, what };
        match reader.next_record() {
            Ok(None) => return outcomes,
            Ok(Some(record)) => {
                let line = record.line;
                let prepared = prepare(state, clock, options, &record);
                outcomes.push(match prepared {
                    Ok(prepared) => Ok(Prepared { line: line + piece.lines_before, ..prepared }),
                    Err(failure) => Err(problem(line, format!("{}: {}", record.dn, failure.diagnostic))),
                });
            }
            Err(LdifError::Malformed { line, expected, .. }) => {
                outcomes.push(Err(problem(line, format!("expected {expected}"))));
            }
            Err(LdifError::Url { line, url, source, .. }) => {
                outcomes.push(Err(problem(line, format!("cannot read {url}: {source}"))));
            }
            // Text in memory cannot fail to be read.
            Err(LdifError::Io { line, source, .. }) => {
                outcomes.push(Err(problem(line, source.to_string())));
                return outcomes;
            }
        }
    }
}

fn prepare(state: &State, clock: &Clock, options: ImportOptions, record: &Record<'_>) -> Result<Prepared> {
    let (Body::Entry(pairs) | Body::Add(pairs)) = &record.body else {
        let text = "this is a change, not an entry: changes are made by ldapmodify";
        return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text));
    };
    // Referral objects are taken as what they are in any case.
    let is_heeded = |control: &&LdifControl<'_>| !control.critical || control.oid == oid::MANAGE_DSA_IT;
    if let Some(control) = record.controls.iter().find(|control| !is_heeded(control)) {
        let what = "is critical, and an import heeds no controls: leave it out, or send the record with ldapmodify";
        let text = format!("control {} {what}", control.oid);
        return Err(Failure::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, text));
    }
    let schema = &state.schema;
    let name = names::judged(schema, &record.dn)?;
    let (rdn, rdn_len) = split(&state.suffixes, &record.dn, &name)?;
    let mut remarks = Remarks::default();
    let mut draft = draft(state, pairs, options.repair, &mut remarks)?;
    if options.repair {
        remarks.left_out.extend(repair::classes(schema, &mut draft));
        remarks.left_out.extend(repair::values(schema, &mut draft));
        remarks.left_out.extend(repair::attributes(schema, &mut draft));
    }
    naming::complete(schema, &mut draft, None, naming::first_rdn(rdn))?;
    draft.attributes.iter().try_for_each(|attribute| check::values(schema, attribute))?;
    let structural = check::entry(schema, &draft, false)?;
    let rules = structure::named(schema, structural, naming::first_rdn(rdn))?;
    let identifier = identifier_of(schema, &draft);
    remarks.unmatchable.extend(draft.values(schema.known().user_password).filter_map(password::unmatchable));
    let who = state.administrator.as_ref().map_or("", |administrator| &administrator.name.written);
    let now = clock.now();
    operational(schema, &mut draft, schema.class(structural), who, now, now)?;
    draft.move_out(schema, 0);
    let values = draft.large.iter_mut().flat_map(|large| std::mem::take(&mut large.changes));
    let values = values.filter_map(|(key, change)| Some((key, change.value?))).collect();
    let written = names::strict(schema, rdn);
    let marks = draft.marks(schema);
    let bytes = draft.build(schema, 0, written.as_deref().unwrap_or(rdn), marks)?;
    Ok(Prepared { line: 0, rdn_len, bytes, values, marks, name, rules, identifier, remarks: remarks.any() })
}

/// The RDN as it is written, and the length of the normalized one; of a suffix the whole names.
fn split<'n>(suffixes: &[Suffix], written: &'n str, normalized: &str) -> Result<(&'n str, usize)> {
    if suffixes.iter().any(|suffix| suffix.normalized == normalized) {
        return Ok((written, normalized.len()));
    }
    if names::suffix_of(suffixes, normalized).is_none() {
        let text = "the name is below no suffix of this directory: --suffix says what they are";
        return Err(Failure::new(ResultCode::NO_SUCH_OBJECT, text));
    }
    let first = |text: &'n str| Dn::parse(text).ok().and_then(|name| name.rdn()).map(|rdn| rdn.as_str());
    let rdn = first(written).unwrap_or(written);
    let parsed = Dn::parse(normalized).map_err(|error| bad_name(normalized, error))?;
    let parent = parsed.parent().unwrap_or(Dn::ROOT);
    Ok((rdn, normalized.len() - parent.as_str().len() - 1))
}

/// Whether another server noted it down, and nobody would here: it would be wrong as soon as the entry changes.
fn is_kept_by_others(attribute: &Attribute, known: &WellKnown) -> bool {
    let is_noted_here = known.is_maintained(attribute.id) || is_of_draft(attribute);
    attribute.is_operational() && attribute.no_user_modification && !is_noted_here
}

/// The attributes of a record. What the directory derives is left out, and so is what only another
/// server kept up to date; what it maintains is taken. `repair`: what the schema does not have is left out, too.
fn draft<'e>(state: &'e State, pairs: &'e [Pair<'e>], repair: bool, remarks: &mut Remarks) -> Result<Draft<'e>> {
    let mut draft = Draft::default();
    let known = state.schema.known();
    // Values of one attribute mostly follow each other.
    let mut last: Option<(&str, usize)> = None;
    for pair in pairs {
        let place = match last {
            Some((description, place)) if description == pair.description => place,
            _ => {
                let described = match describe_stored(&state.schema, pair.description) {
                    Err(failure) if repair && failure.code == ResultCode::UNDEFINED_ATTRIBUTE_TYPE => {
                        remarks.left_out.push(failure.diagnostic);
                        continue;
                    }
                    described => described?,
                };
                let (id, is_others) = (described.attribute.id, is_kept_by_others(described.attribute, known));
                if (is_others || id == known.member_of) && !remarks.not_kept.contains(&id) {
                    remarks.not_kept.push(id);
                }
                if is_others || known.is_derived(id) {
                    continue;
                }
                draft.place(&described)?
            }
        };
        let attribute = &mut draft.attributes[place];
        let value = spelling::value(&state.schema, state.schema.attribute(attribute.id), &pair.value);
        attribute.values_mut().push(value);
        last = Some((pair.description, place));
    }
    Ok(draft)
}
