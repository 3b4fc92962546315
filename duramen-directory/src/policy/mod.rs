//! Password policies (draft-behera-ldap-password-policy-10, with what OpenLDAP's `ppolicy` has beyond it): how long a password
//! is good, which new ones are taken, after how many wrong ones an account is locked.
//!
//! Owns: what policies say, what is noted down of accounts, what follows from both. Must not know: connections, how entries
//! are written.
//!
//! | module | what |
//! |---|---|
//! | `types` | the attribute types of the draft |
//! | `rules` | a policy, as its entry says it |
//! | `account` | what is noted down of an account |
//! | `judgement` | what follows for who authenticates by a password |
//! | `change` | what follows for a new password |

mod account;
mod change;
mod judgement;
mod rules;
#[cfg(test)]
mod tests;
mod types;

use std::sync::atomic::{AtomicBool, Ordering};

pub use change::Proof;
pub use judgement::Judgement;
pub(crate) use judgement::Outcome;

pub(crate) use account::{Account, Lock, moment_of};
pub(crate) use change::{Change, Given, is_of_past, judge_new, not_allowed, several, used_before, wrong_old};
pub(crate) use rules::Policy;
pub(crate) use types::{Types, is_of_draft};

use crate::attribute::form;
use crate::clock::Moment;
use crate::entry::Entry;
use crate::failure::Result;
use crate::names::{self, Suffix};
use crate::requester::Name;
use crate::schema::{AttributeId, Schema};
use crate::tables::{Id, Tables};

/// Values that attributes are to have instead of those that they have; none end an attribute.
pub(crate) type Edits = Vec<(AttributeId, Vec<Vec<u8>>)>;

/// That policies are in force, and how.
#[derive(Debug)]
pub(crate) struct Policies {
    /// The policy of entries that name none.
    pub default: Option<Name>,
    /// Whether clients are told that an account is locked.
    pub tells_locked: bool,
    pub types: Types,
    /// It has been logged that the default is not there.
    is_missed: AtomicBool,
}

impl Policies {
    pub fn new(default: Option<Name>, tells_locked: bool, types: Types) -> Policies {
        Policies { default, tells_locked, types, is_missed: AtomicBool::new(false) }
    }
}

/// Policies that are in force, and where they are looked for.
#[derive(Clone, Copy)]
pub(crate) struct InForce<'s, 't> {
    pub policies: &'s Policies,
    pub schema: &'s Schema,
    pub suffixes: &'s [Suffix],
    pub tables: Tables<'t>,
}

/// An entry, and the policy that is in force for it.
pub(crate) struct Governed<'t> {
    pub id: Id,
    pub entry: Entry<'t>,
    pub policy: Policy,
    pub account: Account,
}

impl<'t> InForce<'_, 't> {
    /// The entry of a normalized name, if there is one, and a policy in force for it.
    pub fn governed(&self, normalized: &str) -> Result<Option<Governed<'t>>> {
        let Some((id, entry)) = self.find(normalized)? else { return Ok(None) };
        let policy = self.of_entry(&entry)?;
        Ok(policy.map(|policy| Governed { id, entry, policy, account: self.account(&entry) }))
    }

    /// What is noted down of an entry.
    pub fn account(&self, entry: &Entry<'_>) -> Account {
        Account::of(self.schema, &self.policies.types, entry)
    }

    /// Whether nobody is authenticated by an entry's passwords now, by its policy.
    pub fn locks(&self, entry: &Entry<'_>, now: Moment) -> Result<bool> {
        Ok(self.of_entry(entry)?.is_some_and(|policy| policy.locks(&self.account(entry), now)))
    }

    /// The policy of an entry.
    pub fn of_entry(&self, entry: &Entry<'_>) -> Result<Option<Policy>> {
        self.of_name(entry.of_type(self.policies.types.policy).flat_map(|found| found.values()).next())
    }

    /// The policy that an entry names, if it names one that is there; else the default.
    pub fn of_name(&self, named: Option<&[u8]>) -> Result<Option<Policy>> {
        if let Some(named) = named {
            let rule = self.schema.attribute(self.policies.types.policy).equality;
            let name = String::from_utf8_lossy(&form(self.schema, rule, named)).into_owned();
            if let Some(policy) = self.read(&name)? {
                return Ok(Some(policy));
            }
        }
        let Some(default) = &self.policies.default else { return Ok(None) };
        let policy = self.read(&default.normalized)?;
        if policy.is_none() && !self.policies.is_missed.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "{:?} is no entry with a password policy: until it is one, none is in force for entries that name none",
                default.written
            );
        }
        Ok(policy)
    }

    fn read(&self, normalized: &str) -> Result<Option<Policy>> {
        let found = self.find(normalized)?;
        Ok(found.and_then(|(_, entry)| Policy::of(self.schema, &self.policies.types, &entry)))
    }

    fn find(&self, normalized: &str) -> Result<Option<(Id, Entry<'t>)>> {
        let Some(id) = names::find_entry(&self.tables.name()?, self.suffixes, normalized)? else { return Ok(None) };
        Ok(Some((id, names::entry(&self.tables.entry()?, id)?)))
    }
}
