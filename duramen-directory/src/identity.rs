//! Who somebody is whom a mechanism knows by a name of its own.
//!
//! Owns: the name that rules see, which of them decides, and that a search finds one entry or nobody. Must not know: how
//! anybody proves to be somebody, the form of rules.

use std::sync::Arc;

use duramen_ldap::attribute::Assertion;
use duramen_ldap::ber::List;
use duramen_ldap::dn;
use duramen_ldap::filter::{Filter, FilterBuf, Node};
use duramen_ldap::message::{Deref, ResultCode, Scope, SearchRequest};
use duramen_ldap::syntax::AuthzUser;

use crate::access::Stands;
use crate::failure::Result;
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

    /// The name of this user: by the first rule that is about him, else that of the one entry below the suffixes that has him
    /// as its `uid`. `None` if there is nobody, or more than one.
    pub fn name_of_user(self: &Arc<Inner>, user: AuthzUser<'_>) -> Result<Option<String>> {
        match self.identity(&sasl_name(user))? {
            Identity::Own => {
                let uid = Assertion { description: "uid", value: user.user.as_bytes() };
                let uid = FilterBuf::new(&Node::Equality(uid));
                let state = self.state();
                self.only_entry(state.suffixes.iter().map(|suffix| &*suffix.text), Scope::Subtree, uid.as_filter())
            }
            Identity::Name(name) => Ok(Some(name)),
            Identity::Nobody => Ok(None),
        }
    }

    /// The name of the one entry that a search from these bases finds; `None` if there is none, or more than one.
    fn only_entry<'b>(
        self: &Arc<Inner>,
        bases: impl IntoIterator<Item = &'b str>,
        scope: Scope,
        filter: Filter<'_>,
    ) -> Result<Option<String>> {
        let mut found = Vec::new();
        for base in bases {
            found.extend(self.found(&Requester::internal(), base, scope, filter)?);
        }
        let one = found.len() == 1;
        Ok(found.pop().filter(|_| one))
    }

    /// Names of entries that somebody finds from here, two at most. Where there is nothing, there are none.
    pub fn found(
        self: &Arc<Inner>,
        requester: &Requester,
        base: &str,
        scope: Scope,
        filter: Filter<'_>,
    ) -> Result<Vec<String>> {
        let mut attributes = Vec::new();
        let request = SearchRequest {
            base,
            scope,
            deref: Deref::Never,
            size_limit: 2,
            time_limit: 0,
            types_only: false,
            filter,
            attributes: List::build(&mut attributes, ["1.1"]),
        };
        let mut found = Entries::default();
        match self.search_stored(requester, &request) {
            Ok(mut search) => while let Progress::Paused = search.run(&mut found) {},
            Err(failure) if NOTHING_THERE.contains(&failure.code) => {}
            Err(failure) => return Err(failure),
        }
        Ok(found.entries.into_iter().map(|(name, _)| name).collect())
    }
}

/// How searches end where there is nothing, or nothing for whoever asks.
const NOTHING_THERE: [ResultCode; 4] = [
    ResultCode::NO_SUCH_OBJECT,
    ResultCode::INVALID_DN_SYNTAX,
    ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
    ResultCode::REFERRAL,
];

/// The name that other servers make of a user whom a mechanism knows, and that rules are written for.
fn sasl_name(AuthzUser { mechanism, realm, user }: AuthzUser<'_>) -> String {
    let mechanism = mechanism.map(str::to_lowercase);
    let mut name = String::new();
    for (kind, part) in [("uid", Some(user)), ("cn", realm), ("cn", mechanism.as_deref())] {
        if let Some(part) = part {
            // Text takes it.
            let _ = dn::write_ava(&mut name, kind, part.as_bytes());
            name.push(',');
        }
    }
    name + "cn=auth"
}
