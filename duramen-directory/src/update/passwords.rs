//! What password policies make of changed and new passwords.
//!
//! Owns: which passwords a request gives, and whose they are. Must not know: what policies say.

use std::borrow::Cow;

use duramen_ldap::message::{ChangeKind, ResultCode};

use super::change::Checked;
use super::context::Context;
use super::draft::Draft;
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::names;
use crate::policy::{
    Change, Edits, Given, InForce, Policy, is_of_past, judge_new, not_allowed, several, used_before, wrong_old,
};
use crate::schema::AttributeSet;

/// A password in clear text that is to be deleted stands for the form in which the entry has it.
pub(super) fn as_stored<'e>(context: &Context<'e>, changes: &mut [Checked<'e>]) {
    let Some((given, stored)) = &context.proof.stored else { return };
    let password = context.schema().known().user_password;
    let deletes =
        |change: &&mut Checked<'_>| change.kind == ChangeKind::Delete && change.described.attribute.id == password;
    for (value, form) in changes.iter_mut().filter(deletes).flat_map(|change| &mut change.values) {
        if **value == **given {
            (*value, *form) = (Cow::Borrowed(stored.as_slice()), stored.clone());
        }
    }
}

/// New passwords in clear text stand for the forms that were made of them.
pub(super) fn as_hashed<'e>(context: &Context<'e>, changes: &mut [Checked<'e>]) {
    let password = context.schema().known().user_password;
    let gives =
        |change: &&mut Checked<'_>| change.kind != ChangeKind::Delete && change.described.attribute.id == password;
    for (value, form) in changes.iter_mut().filter(gives).flat_map(|change| &mut change.values) {
        if let Some(stored) = context.proof.stored_for(value) {
            (*value, *form) = (Cow::Borrowed(stored), stored.to_vec());
        }
    }
}

/// As [`as_hashed`], of a new entry.
pub(super) fn hashed<'e>(context: &Context<'e>, draft: &mut Draft<'e>) {
    let password = context.schema().known().user_password;
    for attribute in draft.attributes.iter_mut().filter(|attribute| attribute.id == password) {
        for value in attribute.values_mut() {
            if let Some(stored) = context.proof.stored_for(value) {
                *value = Cow::Borrowed(stored);
            }
        }
    }
}

/// The policies that are in force, and that of an entry.
fn policy_of<'c>(context: &Context<'c>, entry: &Entry<'_>) -> Result<Option<(InForce<'c, 'c>, Policy)>> {
    let Some(policies) = context.scene.state.policies(context.scene.tables) else { return Ok(None) };
    Ok(policies.of_entry(entry)?.map(|policy| (policies, policy)))
}

/// Passwords that changes of some kinds name.
fn named<'r>(
    context: &Context<'_>,
    changes: &'r [Checked<'_>],
    is_meant: impl Fn(ChangeKind) -> bool,
) -> Vec<&'r [u8]> {
    let password = context.schema().known().user_password;
    let meant = changes.iter().filter(|change| change.described.attribute.id == password && is_meant(change.kind));
    meant.flat_map(|change| change.values.iter().map(|(value, _)| &**value)).collect()
}

/// Why a change of passwords fails that would delete one which is not there: where another is added, it is not the old one.
pub(super) fn failed(
    context: &Context<'_>,
    (entry, name): (&Entry<'_>, &str),
    changes: &[Checked<'_>],
    failure: Failure,
) -> Failure {
    let deletes = !named(context, changes, |kind| kind == ChangeKind::Delete).is_empty();
    let adds = !named(context, changes, |kind| kind != ChangeKind::Delete).is_empty();
    let may_be = deletes && adds && failure.code == ResultCode::NO_SUCH_ATTRIBUTE;
    if !may_be || context.requester.is_administrator {
        return failure;
    }
    match policy_of(context, entry) {
        Ok(Some((_, policy))) if !policy.allow_user_change && is_own(context, name).unwrap_or(false) => not_allowed(),
        Ok(Some(_)) => wrong_old(),
        Ok(None) => failure,
        Err(other) => other,
    }
}

/// Whether an entry is that of who asks.
fn is_own(context: &Context<'_>, name: &str) -> Result<bool> {
    let who = &context.requester.name.normalized;
    Ok(!who.is_empty() && **who == *names::normalize(context.schema(), name)?)
}

/// Holds the passwords of a changed entry against its policy: what is to be noted down.
pub(super) fn changed(
    context: &Context<'_>,
    (entry, name): (&Entry<'_>, &str),
    changes: &[Checked<'_>],
    draft: &Draft<'_>,
    touched: &AttributeSet,
) -> Result<Edits> {
    let (schema, password) = (context.schema(), context.schema().known().user_password);
    if !touched.contains(password) {
        return Ok(Edits::new());
    }
    let Some((policies, policy)) = policy_of(context, entry)? else { return Ok(Edits::new()) };
    let given = named(context, changes, |kind| kind != ChangeKind::Delete);
    let old: Vec<&[u8]> = entry.of_type(password).flat_map(|found| found.values()).collect();
    let new: Vec<&[u8]> = draft.values(password).collect();
    let account = policies.account(entry);
    let change = Change {
        policy: &policy,
        account: &account,
        by_owner: is_own(context, name)?,
        by_administrator: context.requester.is_administrator,
        proof: context.proof,
        deleted: &named(context, changes, |kind| kind == ChangeKind::Delete),
        old: &old,
        new: &new,
        touched,
    };
    change.check(context.now)?;
    // One at most: see above.
    for value in new.iter().filter(|value| given.contains(value) && !change.by_administrator) {
        let sent = context.proof.sent_as(value);
        let given = context.proof.clear.as_deref().map_or_else(|| Given::of(sent), Given::Clear);
        judge_new(&policy, given)?;
        let is_used = match &context.proof.looked_at {
            Some((looked_at, is_used)) if context.proof.clear.is_some() || looked_at == sent => *is_used,
            Some(_) => return Err(several()),
            None => is_of_past(schema, (&policy, entry), given),
        };
        if is_used {
            return Err(used_before());
        }
    }
    Ok(change.edits(schema, &policies.policies.types, entry, context.now))
}

/// Holds the password of a new entry against its policy, and notes down when it was set.
pub(super) fn added<'e>(context: &Context<'e>, draft: &mut Draft<'e>) -> Result<()> {
    let schema = context.schema();
    let Some(policies) = context.scene.state.policies(context.scene.tables) else { return Ok(()) };
    let types = &policies.policies.types;
    let password = schema.known().user_password;
    if !draft.has(password) {
        return Ok(());
    }
    let named = draft.values(types.policy).next();
    let Some(policy) = policies.of_name(named)? else { return Ok(()) };
    if !context.requester.is_administrator {
        if draft.values(password).count() > 1 {
            return Err(several());
        }
        draft.values(password).try_for_each(|value| judge_new(&policy, Given::of(context.proof.sent_as(value))))?;
    }
    if !draft.has(types.changed_time) {
        draft.set(schema.attribute(types.changed_time), context.now.timestamp_bytes().to_vec());
    }
    Ok(())
}
