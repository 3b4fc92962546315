//! Acting for others (RFC 4370).

use std::sync::Arc;

use duramen_ldap::authz::AuthzId;
use duramen_ldap::ber::List;
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::syntax::AuthzUser;

use crate::controls::{Controls, Of};
use crate::failure::{Failure, Result};
use crate::inner::Inner;
use crate::names;
use crate::requester::{Method, Name, Requester};
use crate::state::State;

fn denied(text: impl Into<String>) -> Failure {
    Failure::new(ResultCode::AUTHORIZATION_DENIED, text)
}

impl Inner {
    /// Whom the proxied authorization control makes of a requester (RFC 4370), or the configuration: sessions last, and the
    /// administrator's name may have become another meanwhile. `None` if he is who he was.
    pub fn proxied(
        self: &Arc<Inner>,
        state: &State,
        requester: &Requester,
        controls: &Controls<'_>,
    ) -> Result<Option<Requester>> {
        let is_no_more = requester.is_administrator_by_name() && !is_administrator(state, &requester.name);
        let demoted = is_no_more.then(|| Requester { is_administrator: false, ..requester.clone() });
        let requester = demoted.as_ref().unwrap_or(requester);
        let Some(identity) = controls.proxied else { return Ok(demoted) };
        // What is no name is no identity that could be known.
        let name = |name: &str| names::both(&state.schema, name).map_err(|failure| denied(failure.diagnostic));
        let name = match identity {
            AuthzId::Anonymous => Name::default(),
            AuthzId::Dn(text) => name(text)?,
            AuthzId::User(user) => {
                let mechanism = mechanism(requester.method);
                match self.name_of_user(AuthzUser { mechanism, realm: None, user })? {
                    Some(found) => name(&found)?,
                    None => return Err(denied(NOT_ALLOWED)),
                }
            }
        };
        if !self.may_act(state, requester, requester, &name)? {
            return Err(denied(NOT_ALLOWED));
        }
        let is_administrator = is_administrator(state, &name);
        let method = if name.is_empty() { Method::Anonymous } else { requester.method };
        Ok(Some(Requester { name, method, is_administrator, ..requester.clone() }))
    }

    /// Who an extended operation is carried out as.
    pub fn acting(self: &Arc<Inner>, requester: &Requester, controls: List<'_, Control<'_>>) -> Result<Requester> {
        let controls = Controls::parse(controls, Of::Extended)?;
        let proxied = self.proxied(&self.state(), requester, &controls)?;
        Ok(proxied.unwrap_or_else(|| requester.clone()))
    }
}

fn is_administrator(state: &State, name: &Name) -> bool {
    state.administrator.as_ref().is_some_and(|it| it.name.normalized == name.normalized)
}

/// What is told, whether there is such an identity or not.
const NOT_ALLOWED: &str = "not allowed to act as that: only the administrator may, and whom authzTo and authzFrom let, where directory.authz_policy says so";

/// The mechanism by which somebody was authenticated, if it was one of SASL.
fn mechanism(method: Method) -> Option<&'static str> {
    match method {
        Method::Plain => Some("plain"),
        Method::Scram => Some("scram-sha-256"),
        Method::External | Method::Owner => Some("external"),
        Method::Anonymous | Method::Password | Method::Internal => None,
    }
}
