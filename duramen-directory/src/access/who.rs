//! Whether somebody is the one whom a clause is about.

use duramen_ldap::syntax::split_uid;

use super::What;
use super::asked::{Asked, Asker};
use super::elements::Beyond;
use super::name::{ancestor, expanded_name, normalized_name};
use super::rule::{Clause, Who};
use super::template::Parts;

/// An answer that may depend on the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    No,
    Yes,
    Depends,
    /// It cannot be found out with the work that a request may make: nothing is granted, whatever the clause is there for.
    Beyond,
}

impl Clause {
    /// Whether it applies to a requester, as far as that does not depend on the entry.
    pub fn settle(&self, asker: Asker<'_>) -> Answer {
        let nobody = asker.requester.name.is_empty();
        let mut settled = if self.own_value { Answer::Depends } else { Answer::Yes };
        if self.own_value && nobody {
            return Answer::No;
        }
        for who in &self.who {
            match who.settle(asker) {
                known @ (Answer::No | Answer::Beyond) => return known,
                Answer::Yes => {}
                Answer::Depends => settled = Answer::Depends,
            }
        }
        settled
    }

    /// Whether it applies.
    pub fn applies(&self, asked: &Asked<'_>, parts: &Parts) -> Result<bool, Beyond> {
        Ok(self.obstacle(asked, parts)?.is_none() && (!self.own_value || is_own_value(asked)))
    }

    /// The first condition that does not hold. `None`: the value is not the requester's own name.
    pub fn obstacle(&self, asked: &Asked<'_>, parts: &Parts) -> Result<Option<&Who>, Beyond> {
        // Whoever may add only the own name need not be named there yet: "dnattr=member selfwrite" lets people join.
        let counting = self.who.iter().filter(|who| !(self.own_value && matches!(who, Who::NamedIn(_))));
        for who in counting {
            if !who.holds(asked, parts)? {
                return Ok(Some(who));
            }
        }
        Ok(None)
    }
}

/// Whether the value is the requester's name.
fn is_own_value(asked: &Asked<'_>) -> bool {
    let What::Attribute(attribute, Some(value)) = asked.what else { return false };
    !asked.asker.requester.name.is_empty() && names(value, attribute, asked)
}

/// Whether a value is the requester's name, by the attribute's equality rule.
fn names(value: &[u8], attribute: crate::schema::AttributeId, asked: &Asked<'_>) -> bool {
    match asked.asker.schema.attribute(attribute).equality.map(|rule| rule.name) {
        Some("distinguishedNameMatch") => {
            normalized_name(value, asked.asker.schema).as_deref() == Some(&asked.asker.requester.name.normalized)
        }
        Some("uniqueMemberMatch") => {
            let name = std::str::from_utf8(value).map_or("", |text| split_uid(text).0);
            normalized_name(name.as_bytes(), asked.asker.schema).as_deref()
                == Some(&asked.asker.requester.name.normalized)
        }
        _ => false,
    }
}

impl Who {
    fn settle(&self, asker: Asker<'_>) -> Answer {
        let is_somebody = match self {
            Who::Itself(_) | Who::NamedIn(_) | Who::Group { .. } => true,
            Who::Set(set) => set.names_user(),
            _ => false,
        };
        if is_somebody && asker.requester.name.is_empty() {
            return Answer::No;
        }
        if self.needs_entry() {
            return Answer::Depends;
        }
        match self.holds_everywhere(asker, &Parts::default()) {
            Ok(true) => Answer::Yes,
            Ok(false) => Answer::No,
            Err(Beyond) => Answer::Beyond,
        }
    }

    fn holds(&self, asked: &Asked<'_>, parts: &Parts) -> Result<bool, Beyond> {
        let (me, entry) = (&*asked.asker.requester.name.normalized, asked.target.name());
        Ok(match self {
            Who::Itself(levels) if !me.is_empty() => {
                let up = levels.unsigned_abs() as usize;
                if *levels < 0 { ancestor(entry, up) == Some(me) } else { ancestor(me, up) == Some(entry) }
            }
            Who::NamedIn(attribute) if !me.is_empty() => {
                let mut found = false;
                asked.target.values(*attribute, &mut |value| {
                    found = names(value, *attribute, asked);
                    !found
                });
                found
            }
            Who::Set(set) => set.holds(asked.asker, Some(asked.target), parts)?,
            _ => self.holds_everywhere(asked.asker, parts)?,
        })
    }

    /// Whether it depends on the entry whom it is about.
    pub(super) fn needs_entry(&self) -> bool {
        match self {
            Who::Itself(_) | Who::NamedIn(_) => true,
            Who::Set(set) => set.needs_entry(),
            _ => self.refers(),
        }
    }

    /// Whether it refers to parts of what the rule is about.
    pub(super) fn refers(&self) -> bool {
        match self {
            Who::Name(pattern) => !pattern.is_fixed(),
            Who::Group { name, .. } => name.has_places(),
            Who::Set(set) => set.has_places(),
            _ => false,
        }
    }

    /// Of conditions that the entry itself has no part in.
    pub(super) fn holds_everywhere(&self, asker: Asker<'_>, parts: &Parts) -> Result<bool, Beyond> {
        let Asker { requester, groups, schema, .. } = asker;
        let me = &*requester.name.normalized;
        Ok(match self {
            Who::Everybody => true,
            Who::Anonymous => me.is_empty(),
            Who::Users => !me.is_empty(),
            Who::Itself(_) | Who::NamedIn(_) => false,
            Who::Name(pattern) => (!me.is_empty() || pattern.takes_nobody()) && pattern.matches(me, parts, schema),
            Who::Group { name, attribute } => {
                let is_member = |group: String| groups.has_member(&group, *attribute, me);
                !me.is_empty() && expanded_name(name, parts, schema).is_some_and(is_member)
            }
            Who::Peer(pattern) => pattern.matches(&requester.peer),
            Who::Set(set) => set.holds(asker, None, parts)?,
            Who::Strength(bits) => requester.ssf >= *bits,
        })
    }
}
