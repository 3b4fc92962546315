//! Controls of a request, all at once.

use duramen_ldap::authz::AuthzId;
use duramen_ldap::ber::List;
use duramen_ldap::control::{MatchedValues, PagedResults, ReadEntryRequest, RequestControl, SortKeys};
use duramen_ldap::filter::Filter;
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::failure::{Failure, Result};

/// Controls that the directory knows, for the root DSE.
pub(crate) const SUPPORTED: [&str; 13] = [
    oid::PAGED_RESULTS,
    oid::SORT_REQUEST,
    oid::ASSERTION,
    oid::PRE_READ,
    oid::POST_READ,
    oid::MANAGE_DSA_IT,
    oid::PROXIED_AUTHORIZATION,
    oid::MATCHED_VALUES,
    oid::SUBENTRIES,
    oid::TREE_DELETE,
    oid::PERMISSIVE_MODIFY,
    oid::RELAX,
    oid::DONT_USE_COPY,
];

/// Controls of a request.
#[derive(Default)]
pub(crate) struct Controls<'a> {
    pub page: Option<PagedResults<'a>>,
    pub page_is_critical: bool,
    pub sort: Option<SortKeys<'a>>,
    pub sort_is_critical: bool,
    pub assertion: Option<Filter<'a>>,
    pub pre_read: Option<ReadEntryRequest<'a>>,
    pub post_read: Option<ReadEntryRequest<'a>>,
    pub manage_dsa_it: bool,
    pub proxied: Option<AuthzId<'a>>,
    pub matched_values: Option<MatchedValues<'a>>,
    /// Subentries only, or other entries only.
    pub subentries: Option<bool>,
    pub tree_delete: bool,
    pub permissive: bool,
    pub relax: bool,
}

/// Which operation controls are of: each control belongs to some (RFC 4511 section 4.1.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Search,
    Compare,
    Add,
    Delete,
    Modify,
    ModifyDn,
}

fn belongs(control: &RequestControl<'_>, of: Of) -> bool {
    match control {
        RequestControl::PagedResults(_)
        | RequestControl::Sort(_)
        | RequestControl::MatchedValues(_)
        | RequestControl::Subentries(_) => of == Of::Search,
        RequestControl::Assertion(_) => true,
        RequestControl::PreRead(_) => matches!(of, Of::Modify | Of::Delete | Of::ModifyDn),
        RequestControl::PostRead(_) => matches!(of, Of::Add | Of::Modify | Of::ModifyDn),
        RequestControl::ManageDsaIt | RequestControl::ProxiedAuthorization(_) => true,
        RequestControl::TreeDelete => of == Of::Delete,
        RequestControl::PermissiveModify => of == Of::Modify,
        RequestControl::Relax => !matches!(of, Of::Search | Of::Compare),
        RequestControl::DontUseCopy => matches!(of, Of::Search | Of::Compare),
        _ => false,
    }
}

impl<'a> Controls<'a> {
    /// Takes them apart. A critical one that is not known, or not for this operation, is refused.
    pub fn parse(list: List<'a, Control<'a>>, of: Of) -> Result<Controls<'a>> {
        let mut controls = Controls::default();
        for control in list {
            let decoded = RequestControl::decode(&control).map_err(|error| {
                let diagnostic = format!("the value of control {}: {error}", control.oid);
                Failure::new(ResultCode::PROTOCOL_ERROR, diagnostic)
            })?;
            if belongs(&decoded, of) {
                controls.take(decoded, control)?;
            } else if control.critical {
                let diagnostic = format!("control {} is not available for this operation", control.oid);
                return Err(Failure::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, diagnostic));
            }
        }
        Ok(controls)
    }

    fn take(&mut self, decoded: RequestControl<'a>, control: Control<'a>) -> Result<()> {
        let mut twice = false;
        match decoded {
            RequestControl::PagedResults(page) => {
                twice = self.page.replace(page).is_some();
                self.page_is_critical = control.critical;
            }
            RequestControl::Sort(keys) => {
                twice = self.sort.replace(keys).is_some();
                self.sort_is_critical = control.critical;
            }
            RequestControl::Assertion(filter) => twice = self.assertion.replace(filter).is_some(),
            RequestControl::PreRead(request) => twice = self.pre_read.replace(request).is_some(),
            RequestControl::PostRead(request) => twice = self.post_read.replace(request).is_some(),
            RequestControl::ManageDsaIt => self.manage_dsa_it = true,
            RequestControl::ProxiedAuthorization(id) => twice = self.proxied.replace(id).is_some(),
            RequestControl::MatchedValues(values) => twice = self.matched_values.replace(values).is_some(),
            RequestControl::Subentries(visible) => twice = self.subentries.replace(visible).is_some(),
            RequestControl::TreeDelete => self.tree_delete = true,
            RequestControl::PermissiveModify => self.permissive = true,
            RequestControl::Relax => self.relax = true,
            _ => {}
        }
        if twice {
            let diagnostic = format!("control {} is there twice", control.oid);
            return Err(Failure::new(ResultCode::PROTOCOL_ERROR, diagnostic));
        }
        Ok(())
    }
}
