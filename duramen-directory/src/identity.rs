//! Who somebody is whom a mechanism knows by a name of its own.
//!
//! Owns: which rule decides, and that a search finds one entry or nobody. Must not know: mechanisms, the form of rules.

use std::sync::Arc;

use duramen_ldap::ber::List;
use duramen_ldap::filter::Filter;
use duramen_ldap::message::{Deref, ResultCode, Scope, SearchRequest};

use crate::access::Stands;
use crate::failure::{Failure, Result};
use crate::inner::Inner;
use crate::names;
use crate::requester::Requester;
use crate::search::Progress;
use crate::sink::Entries;

/// Who somebody is by the rules of [`Config::identities`](crate::Config::identities).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// No rule is about the name.
    Own,
    /// Who has this name, whether there is such an entry or not.
    Name(String),
    /// Whoever a search would have found: there is none, or more than one.
    Nobody,
}

impl Inner {
    /// Who is known by `name`, such as `uid=ann,cn=plain,cn=auth`: the first rule that matches it says so.
    pub fn identity(self: &Arc<Inner>, name: &str) -> Result<Identity> {
        let state = self.state();
        if state.identities.is_empty() {
            return Ok(Identity::Own);
        }
        // A certificate may have types that the schema does not have.
        let name = names::normalize(&state.schema, name).unwrap_or_else(|_| name.to_lowercase());
        match state.identities.iter().find_map(|rule| rule.apply(&name)) {
            None => Ok(Identity::Own),
            Some(Ok(Stands::Name(name))) => Ok(Identity::Name(name)),
            Some(Ok(Stands::Search { base, scope, filter })) => {
                let found = self.only_entry([base.as_str()], scope, filter.as_filter())?;
                Ok(found.map_or(Identity::Nobody, Identity::Name))
            }
            Some(Err(_)) => Ok(Identity::Nobody),
        }
    }

    /// The name of the one entry that a search from these bases finds; `None` if there is none, or more than one.
    pub fn only_entry<'b>(
        self: &Arc<Inner>,
        bases: impl IntoIterator<Item = &'b str>,
        scope: Scope,
        filter: Filter<'_>,
    ) -> Result<Option<String>> {
        let mut attributes = Vec::new();
        let attributes = List::build(&mut attributes, ["1.1"]);
        let mut found = Entries::default();
        for base in bases {
            let request = SearchRequest {
                base,
                scope,
                deref: Deref::Never,
                size_limit: 2,
                time_limit: 0,
                types_only: false,
                filter,
                attributes,
            };
            match self.search(&Requester::internal(), &request, List::default(), false) {
                Ok(mut search) => while let Progress::Paused = search.run(&mut found) {},
                Err(Failure { code: ResultCode::NO_SUCH_OBJECT | ResultCode::INVALID_DN_SYNTAX, .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        let one = found.entries.len() == 1;
        Ok(found.entries.pop().filter(|_| one).map(|(name, _)| name))
    }
}
