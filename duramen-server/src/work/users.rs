//! Users' names: from what SASL calls a user to the name of an entry.

use duramen_directory::{Entries, Failure, Method, Progress, Requester};
use duramen_ldap::authz::AuthzId;
use duramen_ldap::ber::{List, Writer, tag};
use duramen_ldap::filter::Filter;
use duramen_ldap::message::{Deref, Scope, SearchRequest};

use super::Work;

/// `(attribute=value)` in a message: context tag 3, constructed.
const EQUALITY: u8 = tag::context_constructed(3);

impl Work {
    /// The name of the one entry below the suffixes with this `uid`; `dn:NAME` is a name already. `None` if there is no
    /// such entry, or more than one.
    pub(super) fn name_of_user(&self, user: &str) -> Result<Option<String>, Failure> {
        match AuthzId::decode(user.as_bytes()) {
            Ok(AuthzId::Dn(name)) => return Ok(Some(name.to_string())),
            Ok(AuthzId::User(user)) => return self.name_of_uid(user),
            Ok(AuthzId::Anonymous) | Err(_) => {}
        }
        self.name_of_uid(user)
    }

    fn name_of_uid(&self, uid: &str) -> Result<Option<String>, Failure> {
        let mut encoded = Vec::new();
        Writer::new(&mut encoded).constructed(EQUALITY, |writer| {
            writer.text("uid");
            writer.text(uid);
        });
        let mut attributes = Vec::new();
        let attributes = List::build(&mut attributes, ["1.1"]);
        let mut found = Entries::default();
        for suffix in self.server.directory.suffixes() {
            let request = SearchRequest {
                base: &suffix,
                scope: Scope::Subtree,
                deref: Deref::Never,
                size_limit: 2,
                time_limit: 0,
                types_only: false,
                filter: Filter::trusted(&encoded),
                attributes,
            };
            let mut search = self.server.directory.search(&Requester::internal(), &request, List::default())?;
            while let Progress::Paused = search.run(&mut found) {}
        }
        let one = found.entries.len() == 1;
        Ok(found.entries.pop().filter(|_| one).map(|(name, _)| name))
    }

    /// Who the session is if `who` has proved a name and asks to act as `authorization`; `None` if it may not.
    pub(super) fn authorized(&self, who: Requester, authorization: &str) -> Result<Option<Requester>, Failure> {
        if authorization.is_empty() {
            return Ok(Some(who));
        }
        let Some(name) = self.name_of_user(authorization)? else { return Ok(None) };
        let name = self.server.directory.name(&name)?;
        if name.normalized == who.name.normalized {
            return Ok(Some(who));
        }
        if !who.is_administrator {
            return Ok(None);
        }
        Ok(Some(self.session.somebody(name, who.method, false)))
    }

    /// Who has this name, which the transport has proved.
    pub(super) fn external(&self, name: &str) -> Result<Requester, Failure> {
        let known = self.server.directory.credentials(&self.session.anonymous(), name)?;
        Ok(self.session.somebody(known.name, Method::External, known.is_administrator))
    }
}
