//! Acting for others (RFC 4370).

use duramen_ldap::authz::AuthzId;
use duramen_ldap::ber::List;
use duramen_ldap::message::{Control, ResultCode};

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
    /// Whom the proxied authorization control makes of a requester (RFC 4370): only the administrator may be others.
    pub fn proxied(&self, state: &State, requester: &Requester, controls: &Controls<'_>) -> Result<Option<Requester>> {
        let Some(identity) = controls.proxied else { return Ok(None) };
        let name = match identity {
            AuthzId::Anonymous => Name::default(),
            // What is no name is no identity that could be known.
            AuthzId::Dn(name) => names::both(&state.schema, name).map_err(|failure| denied(failure.diagnostic))?,
            AuthzId::User(_) => return Err(denied("an identity of the form u: is not known here: use dn: and a name")),
        };
        // Nobody in particular is what everybody can be.
        let is_harmless =
            !requester.is_anonymous() && (name.is_empty() || name.normalized == requester.name.normalized);
        if !requester.is_administrator && !is_harmless {
            return Err(denied("only the administrator may act for others"));
        }
        let is_administrator = state.administrator.as_ref().is_some_and(|it| it.name.normalized == name.normalized);
        let method = if name.is_empty() { Method::Anonymous } else { requester.method };
        Ok(Some(Requester { name, method, is_administrator, ..requester.clone() }))
    }

    /// Who an extended operation is carried out as.
    pub fn acting(&self, requester: &Requester, controls: List<'_, Control<'_>>) -> Result<Requester> {
        let controls = Controls::parse(controls, Of::Extended)?;
        let proxied = self.proxied(&self.state(), requester, &controls)?;
        Ok(proxied.unwrap_or_else(|| requester.clone()))
    }
}
