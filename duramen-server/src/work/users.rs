//! Users' names: from what SASL calls a user to the name of an entry.

use duramen_directory::{Failure, Identity, Method, Requester};
use duramen_ldap::authz::AuthzId;

use super::Work;
use crate::session::Process;

impl Work {
    /// The name of whom this mechanism calls `user`: by the first rule of the configuration that is about him, else the one
    /// entry below the suffixes with this `uid`. `dn:NAME` is a name already. `None` if there is nobody, or more than one.
    pub(super) fn name_of_user(&self, mechanism: &str, user: &str) -> Result<Option<String>, Failure> {
        let user = match AuthzId::decode(user.as_bytes()) {
            Ok(AuthzId::Dn(name)) => return Ok(Some(name.to_string())),
            Ok(AuthzId::User(user)) => user,
            Ok(AuthzId::Anonymous) | Err(_) => user,
        };
        self.server.directory.name_of_user(mechanism, user)
    }

    /// Who the session is if `who` has proved a name by this mechanism and asks to act as `authorization`; `None` if it may
    /// not.
    pub(super) fn authorized(
        &self,
        mechanism: &str,
        who: Requester,
        authorization: &str,
    ) -> Result<Option<Requester>, Failure> {
        if authorization.is_empty() {
            return Ok(Some(who));
        }
        let Some(name) = self.name_of_user(mechanism, authorization)? else { return Ok(None) };
        let name = self.server.directory.name(&name)?;
        if name.normalized == who.name.normalized {
            return Ok(Some(who));
        }
        if !self.server.directory.may_act(&self.session.anonymous(), &who, &name)? {
            return Ok(None);
        }
        let known = self.server.directory.credentials(&self.session.anonymous(), &name.written)?;
        // Somebody else has a name, and nothing by being the one who asks.
        let method = if who.method == Method::Owner { Method::External } else { who.method };
        Ok(Some(self.session.somebody(known.name, method, known.is_administrator)))
    }

    /// Who has the certificate of this subject, which the transport has proved.
    pub(super) fn of_certificate(&self, subject: &str) -> Result<Requester, Failure> {
        self.renamed(subject)?.map_or_else(|| self.external(subject), Ok)
    }

    /// Who is at the other end of a local socket. The user who runs the server, and root, stay administrators whatever name
    /// they have.
    pub(super) fn of_process(&self, process: Process) -> Result<Requester, Failure> {
        let own_name = process.name();
        let is_own = process.user == self.server.user || process.user == 0;
        let who = match self.renamed(&own_name)? {
            Some(who) => who,
            None => self.session.somebody(self.server.directory.name(&own_name)?, Method::External, false),
        };
        Ok(if is_own { Requester { method: Method::Owner, is_administrator: true, ..who } } else { who })
    }

    /// Who has the name that the configuration gives to whom the transport calls `name`. `None` if it gives none, or what is
    /// no name: a mistake there keeps nobody out.
    fn renamed(&self, name: &str) -> Result<Option<Requester>, Failure> {
        match self.server.directory.identity(name)? {
            Identity::Name(name) if self.server.directory.name(&name).is_ok() => self.external(&name).map(Some),
            Identity::Name(_) | Identity::Own | Identity::Nobody => Ok(None),
        }
    }

    fn external(&self, name: &str) -> Result<Requester, Failure> {
        let known = self.server.directory.credentials(&self.session.anonymous(), name)?;
        Ok(self.session.somebody(known.name, Method::External, known.is_administrator))
    }
}
