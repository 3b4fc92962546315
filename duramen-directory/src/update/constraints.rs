//! Constraints on values, beyond the schema: what a request brings is judged, and what was there before is not.
//!
//! Owns: which values are judged, which entries a constraint is about. Must not know: what a constraint says of a value.
//!
//! As slapd's overlay has it: an entry that is changed is one of those that a constraint is about if it was one before.

use duramen_ldap::message::{ChangeKind, ResultCode};

use super::change::Checked;
use super::context::Context;
use super::draft::{Draft, LargeDraft};
use super::listed::is_listed;
use crate::assertion;
use crate::constraint::{Constraint, Rule};
use crate::failure::{Failure, Result};
use crate::schema::{Attribute, AttributeId};
use crate::view::View;

/// An attribute that is judged.
struct Judged<'j> {
    id: AttributeId,
    options: &'j [String],
    description: &'j str,
    /// What the request brings.
    values: Vec<&'j [u8]>,
}

/// That a new entry is as it has to be.
pub(super) fn added(context: &Context<'_>, view: &View<'_, '_>, draft: &Draft<'_>) -> Result<()> {
    let Some(judge) = Judge::new(context, view) else { return Ok(()) };
    draft.attributes.iter().try_for_each(|attribute| {
        judge.judge(
            draft,
            &Judged {
                id: attribute.id,
                options: &attribute.options,
                description: attribute.description(),
                values: attribute.values().collect(),
            },
        )
    })
}

/// That what changes bring is as it has to be. Values that are taken away are not judged, nor how many are left then.
pub(super) fn modified(
    context: &Context<'_>,
    view: &View<'_, '_>,
    changes: &[Checked<'_>],
    draft: &Draft<'_>,
) -> Result<()> {
    let Some(judge) = Judge::new(context, view) else { return Ok(()) };
    for change in changes.iter().filter(|change| change.kind != ChangeKind::Delete) {
        let (id, options) = (change.described.attribute.id, &*change.described.options);
        let values = match change.kind {
            // What comes out is new.
            ChangeKind::Increment => values_of(draft, id, options),
            _ => change.values.iter().map(|(value, _)| &**value).collect(),
        };
        judge.judge(draft, &Judged { id, options, description: &change.described.description, values })?;
    }
    Ok(())
}

/// That those values of a new name which the entry does not have are as they have to be.
pub(super) fn renamed(
    context: &Context<'_>,
    view: &View<'_, '_>,
    new: &[(&Attribute, Vec<u8>)],
    draft: &Draft<'_>,
) -> Result<()> {
    let Some(judge) = Judge::new(context, view) else { return Ok(()) };
    let has = |attribute: &Attribute, value: &[u8]| {
        let mut values = view.entry.of_type(attribute.id).flat_map(|found| found.values());
        values.any(|found| found == value)
    };
    new.iter().filter(|(attribute, value)| !has(attribute, value)).try_for_each(|(attribute, value)| {
        judge
            .judge(draft, &Judged { id: attribute.id, options: &[], description: &attribute.name, values: vec![value] })
    })
}

/// All values that an attribute has now, but for those in table `value` that stay.
fn values_of<'d>(draft: &'d Draft<'_>, id: AttributeId, options: &[String]) -> Vec<&'d [u8]> {
    let plain = draft.attributes.iter().find(|attribute| attribute.id == id && attribute.options == options);
    let changes = large(draft, id, options).into_iter().flat_map(|large| large.changes.values());
    let outside = changes.filter_map(|change| change.value.as_deref());
    plain.into_iter().flat_map(|attribute| attribute.values()).chain(outside).collect()
}

/// How many values an attribute has now.
fn count(draft: &Draft<'_>, id: AttributeId, options: &[String]) -> u64 {
    let plain = draft.attributes.iter().find(|attribute| attribute.id == id && attribute.options == options);
    let outside = large(draft, id, options).map_or(0, |large| u64::from(large.stored.count));
    plain.map_or(0, |attribute| attribute.count() as u64) + outside
}

/// An attribute whose values are in table `value`: those have no options.
fn large<'d>(draft: &'d Draft<'_>, id: AttributeId, options: &[String]) -> Option<&'d LargeDraft> {
    draft.large.iter().find(|large| large.stored.id == id && options.is_empty())
}

/// Judges what a request brings to an entry.
struct Judge<'j> {
    context: &'j Context<'j>,
    /// The entry that restrictions are about.
    view: &'j View<'j, 'j>,
}

impl<'j> Judge<'j> {
    /// Nothing where nothing is judged.
    fn new(context: &'j Context<'j>, view: &'j View<'j, 'j>) -> Option<Judge<'j>> {
        let is_judged = !context.scene.state.constraints.is_empty() && !context.is_relaxed();
        is_judged.then_some(Judge { context, view })
    }

    fn judge(&self, draft: &Draft<'_>, judged: &Judged<'_>) -> Result<()> {
        let state = self.context.scene.state;
        for constraint in state.constraints.iter().filter(|one| one.is_about(judged.id, judged.options)) {
            if self.is_meant(constraint)? {
                self.judge_by(constraint, draft, judged)?;
            }
        }
        Ok(())
    }

    fn judge_by(&self, constraint: &Constraint, draft: &Draft<'_>, judged: &Judged<'_>) -> Result<()> {
        let broken = |n: usize, what: String| {
            Err(violation(format!("{}, value {n}: {what}, by a constraint of the directory", judged.description)))
        };
        match &constraint.rule {
            Rule::Count(most) => {
                let (name, count) = (judged.description, count(draft, judged.id, judged.options));
                if count > *most {
                    let what = format!("it would have {count} values, and {most} are allowed");
                    return Err(violation(format!("{name}: {what} by a constraint of the directory")));
                }
            }
            Rule::Value(rule) => {
                for (n, value) in (1..).zip(&judged.values) {
                    rule.broken_by(value).map_or(Ok(()), |what| broken(n, what))?;
                }
            }
            Rule::Listed(listing) => {
                for (n, value) in (1..).zip(&judged.values) {
                    if !is_listed(&self.context.scene, listing, value)? {
                        broken(n, listing.broken())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a constraint is about the entry.
    fn is_meant(&self, constraint: &Constraint) -> Result<bool> {
        constraint.restrict.as_ref().map_or(Ok(true), |region| assertion::is_within(self.view, region))
    }
}

fn violation(text: String) -> Failure {
    Failure::new(ResultCode::CONSTRAINT_VIOLATION, text)
}
