//! Who may act for whom: OpenLDAP's `authz-policy`, by what entries say in `authzTo` and `authzFrom`.
//!
//! Owns: whether one of an entry's rules names somebody. Must not know: how anybody asks to act for somebody, the form of rules.

use std::sync::Arc;

use duramen_ldap::attribute::Assertion;
use duramen_ldap::filter::{FilterBuf, Node};
use duramen_ldap::message::Scope;
use duramen_ldap::syntax::{Authz, AuthzNames, parse_authz};
use duramen_ldap::url::LdapUrl;

use crate::access::{Span, in_hex, is_near};
use crate::config::AuthzPolicy;
use crate::expression::compile_in_any_case;
use crate::failure::Result;
use crate::inner::Inner;
use crate::names;
use crate::requester::{Name, Requester};
use crate::schema::{AttributeId, Schema};
use crate::state::State;

/// So many rules of an entry are tried at most, each for every operation that is carried out for somebody else: who has more
/// names a group.
const RULES_MAX: usize = 10_000;

/// What those cost in all, at most, that are more than a comparison of names: sixteen expressions, which are compiled each time,
/// or a thousand looks at an entry. Who may write the own entry cannot have the server busy with whoever wants to be him.
const COST_MAX: usize = 1024;

/// What a rule costs, in looks at an entry.
fn cost(rule: &Authz<'_>) -> usize {
    match rule {
        Authz::Names(..) => 0,
        Authz::Expression(_) => 64,
        // He is looked for in all of the directory.
        Authz::User(_) => 16,
        Authz::Group(..) | Authz::Search(_) => 1,
    }
}

impl Inner {
    /// Whether `who` may act as the one who has this name. `asking` needs leave to be authenticated by the rules that decide.
    pub fn may_act(self: &Arc<Inner>, state: &State, asking: &Requester, who: &Requester, name: &Name) -> Result<bool> {
        if who.is_administrator {
            return Ok(true);
        }
        if who.is_anonymous() {
            return Ok(false);
        }
        // Nobody in particular is what everybody can be.
        if name.is_empty() || name.normalized == who.name.normalized {
            return Ok(true);
        }
        let known = state.schema.known();
        let to = || self.names(state, (asking, who), (&who.name, known.authz_to), name);
        let from = || self.names(state, (asking, who), (name, known.authz_from), &who.name);
        Ok(match state.authz_policy {
            AuthzPolicy::None => false,
            AuthzPolicy::To => to()?,
            AuthzPolicy::From => from()?,
            AuthzPolicy::Any => to()? || from()?,
            AuthzPolicy::All => to()? && from()?,
        })
    }

    /// Whether a rule in this attribute of this entry names somebody.
    fn names(
        self: &Arc<Inner>,
        state: &State,
        (asking, who): (&Requester, &Requester),
        (holder, attribute): (&Name, AttributeId),
        somebody: &Name,
    ) -> Result<bool> {
        let rules = self.for_auth(asking, &holder.normalized, attribute, RULES_MAX)?;
        let (_, values) = rules.unwrap_or_default();
        self.name(state, who, &values, somebody)
    }

    /// Whether one of these rules names somebody.
    pub fn name(self: &Arc<Inner>, state: &State, who: &Requester, rules: &[Vec<u8>], somebody: &Name) -> Result<bool> {
        let mut costs = 0;
        for rule in rules.iter().filter_map(|value| parse_authz(value).ok()) {
            let cost = cost(&rule);
            costs += cost;
            if cost > 0 && costs > COST_MAX {
                continue;
            }
            if self.is_named(state, who, &rule, somebody)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a rule names somebody. What it searches for is searched for by `who`, who wants to act.
    fn is_named(self: &Arc<Inner>, state: &State, who: &Requester, rule: &Authz<'_>, somebody: &Name) -> Result<bool> {
        let schema = &state.schema;
        Ok(match rule {
            Authz::Names(_, "*") => true,
            Authz::Names(names, base) => is_below(schema, &somebody.normalized, base, span(*names)),
            Authz::Expression(text) => {
                compile_in_any_case(text).is_ok_and(|expression| expression.is_match(&in_hex(&somebody.normalized)))
            }
            Authz::User(user) => {
                let name = self.name_of_user(*user)?;
                name.is_some_and(|name| is_below(schema, &somebody.normalized, &name, Span::Level(0)))
            }
            Authz::Group(class, attribute, group) => {
                let has = |description: &str, value: &str| {
                    let filter = FilterBuf::new(&Node::Equality(Assertion { description, value: value.as_bytes() }));
                    self.found(who, group, Scope::Base, filter.as_filter()).map(|found| !found.is_empty())
                };
                has("objectClass", class.unwrap_or("groupOfNames"))?
                    && has(attribute.unwrap_or("member"), &somebody.written)?
            }
            Authz::Search(url) => self.is_found(schema, who, url, somebody)?,
        })
    }

    /// Whether a search finds somebody: it needs leave where it begins, and of all that it would find there is one entry to be
    /// looked at. A rule without a filter names nobody, as with slapd.
    fn is_found(self: &Arc<Inner>, schema: &Schema, who: &Requester, url: &LdapUrl, somebody: &Name) -> Result<bool> {
        let (Some(filter), any) = (&url.filter, FilterBuf::new(&Node::Present("objectClass"))) else {
            return Ok(false);
        };
        let scope = Span::of(url.scope.unwrap_or(Scope::Base));
        let find = |base: &str, filter: &FilterBuf| self.found(who, base, Scope::Base, filter.as_filter());
        Ok(is_below(schema, &somebody.normalized, &url.dn, scope)
            && !find(&url.dn, &any)?.is_empty()
            && !find(&somebody.written, filter)?.is_empty())
    }
}

fn span(names: AuthzNames) -> Span {
    match names {
        AuthzNames::Exact => Span::Level(0),
        AuthzNames::Children => Span::Children,
        AuthzNames::Subtree => Span::Subtree,
        AuthzNames::OneLevel => Span::Level(1),
    }
}

/// Whether a name stands so to another, which may be written in any way. Nobody is below the root's empty name: that everybody
/// is meant is not said.
fn is_below(schema: &Schema, name: &str, base: &str, span: Span) -> bool {
    names::normalize(schema, base).is_ok_and(|base| !base.is_empty() && is_near(name, &base, span))
}
