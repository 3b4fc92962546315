//! What a modify asks for, judged as far as that can be without the entry.
//!
//! It comes before the entry is looked for: of several errors, a client is told the one that no entry would make right.

use duramen_ldap::message::{Change, ChangeKind, ModifyRequest, ResultCode};

use smallvec::SmallVec;

use super::check;
use super::context::Context;
use super::draft::Value;
use super::spelling;
use crate::attribute::{Described, describe_stored};
use crate::failure::{Failure, Result};

/// A change of one attribute.
pub(crate) struct Checked<'s> {
    pub kind: ChangeKind,
    pub described: Described<'s>,
    /// Values, and the form of each in which they are compared.
    pub values: Vec<(Value<'s>, Vec<u8>)>,
}

impl Checked<'_> {
    /// Whether both are one change: values that are added one by one are held against those that are there once for all.
    fn goes_on_with(&self, next: &Checked<'_>) -> bool {
        let (one, other) = (&self.described, &next.described);
        // Without a rule, what is added second is refused.
        (self.kind, next.kind) == (ChangeKind::Add, ChangeKind::Add)
            && one.attribute.equality.is_some()
            && (one.attribute.id, &one.options) == (other.attribute.id, &other.options)
    }
}

/// The changes of a request.
///
/// # Errors
/// protocolError, undefinedAttributeType, constraintViolation, invalidAttributeSyntax, attributeOrValueExists.
pub(crate) fn checked<'s>(context: &Context<'s>, request: &ModifyRequest<'s>) -> Result<Vec<Checked<'s>>> {
    let asked: SmallVec<[Change<'s>; 4]> = request.changes.iter().collect();
    asked.iter().try_for_each(count)?;
    let mut changes: Vec<Checked<'s>> = Vec::new();
    for change in &asked {
        let change = one(context, change)?;
        match changes.last_mut() {
            Some(last) if last.goes_on_with(&change) => last.values.extend(change.values),
            _ => changes.push(change),
        }
    }
    for change in &changes {
        let known = context.schema().known();
        if known.is_derived(change.described.attribute.id) || !context.is_relaxed() {
            check::modifiable(change.described.attribute)?;
        }
    }
    Ok(changes)
}

/// That there are as many values as this kind of change has.
fn count(change: &Change<'_>) -> Result<()> {
    let description = change.attribute.description;
    let problem = match change.kind {
        ChangeKind::Add if change.attribute.values.is_empty() => "there is no value to add",
        ChangeKind::Increment if change.attribute.values.count() != 1 => "an increment has one value",
        ChangeKind::Add | ChangeKind::Delete | ChangeKind::Replace | ChangeKind::Increment => return Ok(()),
        _ => "a kind of change that is not known",
    };
    Err(Failure::new(ResultCode::PROTOCOL_ERROR, format!("{description}: {problem}")))
}

fn one<'s>(context: &Context<'s>, change: &Change<'s>) -> Result<Checked<'s>> {
    let schema = context.schema();
    let described = describe_stored(schema, change.attribute.description)?;
    let attribute = described.attribute;
    if change.kind != ChangeKind::Delete {
        check::single(attribute, change.attribute.values.count())?;
    }
    if change.kind == ChangeKind::Increment && attribute.syntax.is_none_or(|syntax| syntax.name != "INTEGER") {
        let text = format!("{}: only integers can be incremented", described.description);
        return Err(Failure::new(ResultCode::CONSTRAINT_VIOLATION, text));
    }
    let mut values = Vec::new();
    for (n, value) in (1..).zip(change.attribute.values) {
        let form = check::compared(schema, attribute, &described.description, n, value)?;
        if attribute.id == schema.known().object_class {
            check::class(schema, n, value)?;
        }
        values.push((spelling::value(schema, attribute, value), form));
    }
    // A value can be deleted by naming it twice, and cannot be there twice.
    if values.len() > 1 && change.kind != ChangeKind::Delete {
        check::distinct(&described.description, values.iter().map(|(_, form)| form.as_slice()))?;
    }
    Ok(Checked { kind: change.kind, described, values })
}
