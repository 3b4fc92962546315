//! Controls of a request, all at once.

use duramen_ldap::authz::AuthzId;
use duramen_ldap::ber::List;
use duramen_ldap::control::{
    DereferenceRequest, ListViewRequest, MatchedValues, PagedResults, ReadEntryRequest, RequestControl, SortKeys,
    SyncRequest,
};
use duramen_ldap::filter::Filter;
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::failure::{Failure, Result};

/// Controls that the directory knows, for the root DSE.
pub(crate) const SUPPORTED: [&str; 20] = [
    oid::PAGED_RESULTS,
    oid::SORT_REQUEST,
    oid::LIST_VIEW_REQUEST,
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
    oid::NO_OP,
    oid::NO_OP_OPENLDAP,
    // It is taken off before updates come here: see `Directory::update_together`.
    oid::TRANSACTION,
    oid::DONT_USE_COPY,
    oid::DOMAIN_SCOPE,
    oid::PASSWORD_POLICY,
    oid::DEREFERENCE,
];

/// What is there besides where changes are kept.
pub(crate) const SUPPORTED_WITH_HISTORY: [&str; 1] = [oid::SYNC_REQUEST];

/// Controls of a request.
#[derive(Default)]
pub(crate) struct Controls<'a> {
    pub page: Option<PagedResults<'a>>,
    pub sort: Option<SortKeys<'a>>,
    pub sort_is_critical: bool,
    pub list_view: Option<ListViewRequest<'a>>,
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
    pub no_op: bool,
    /// References are not sent.
    pub domain_scope: bool,
    pub dereference: Option<DereferenceRequest<'a>>,
    pub sync: Option<SyncRequest<'a>>,
    pub sync_is_critical: bool,
    /// Who asks takes changes together with this server: what it says of itself.
    pub shared: Option<&'a [u8]>,
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
    /// An extended operation that can be carried out for somebody else.
    Extended,
}

/// Whether a control of this number is one for an operation.
fn belongs(number: &str, of: Of) -> bool {
    match number {
        oid::PAGED_RESULTS
        | oid::SORT_REQUEST
        | oid::LIST_VIEW_REQUEST
        | oid::MATCHED_VALUES
        | oid::SUBENTRIES
        | oid::DOMAIN_SCOPE
        | oid::DEREFERENCE
        | oid::SYNC_REQUEST => of == Of::Search,
        oid::PROXIED_AUTHORIZATION => true,
        // For what changes nothing it says nothing.
        oid::NO_OP | oid::NO_OP_OPENLDAP => of != Of::Extended,
        oid::ASSERTION | oid::MANAGE_DSA_IT => of != Of::Extended,
        oid::PRE_READ => matches!(of, Of::Modify | Of::Delete | Of::ModifyDn),
        oid::POST_READ => matches!(of, Of::Add | Of::Modify | Of::ModifyDn),
        oid::TREE_DELETE => of == Of::Delete,
        oid::PERMISSIVE_MODIFY => of == Of::Modify,
        oid::RELAX => !matches!(of, Of::Search | Of::Compare | Of::Extended),
        oid::DONT_USE_COPY => matches!(of, Of::Search | Of::Compare),
        // What is said of it the server adds.
        oid::PASSWORD_POLICY => matches!(of, Of::Add | Of::Modify | Of::Extended),
        _ => false,
    }
}

impl<'a> Controls<'a> {
    /// Takes them apart. A critical one that is not known, or not for this operation, is refused.
    pub fn parse(list: List<'a, Control<'a>>, of: Of) -> Result<Controls<'a>> {
        let mut controls = Controls::default();
        for control in list {
            // One that is not critical and means nothing here is not even looked into (RFC 4511 section 4.1.11).
            if belongs(control.oid, of) {
                let decoded = RequestControl::decode(&control).map_err(|error| {
                    let diagnostic = format!("the value of control {}: {error}", control.oid);
                    Failure::new(ResultCode::PROTOCOL_ERROR, diagnostic)
                })?;
                controls.take(decoded, control)?;
            } else if control.oid == oid::SYNC_SHARED && of == Of::Search {
                controls.shared = control.value;
            } else if control.critical {
                let diagnostic = format!("control {} is not available for this operation", control.oid);
                return Err(Failure::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, diagnostic));
            }
        }
        if controls.page.is_some() && controls.list_view.is_some() {
            let text = "a search is answered in pages or by a virtual list view: send one of the two controls";
            return Err(Failure::new(ResultCode::PROTOCOL_ERROR, text));
        }
        Ok(controls)
    }

    fn take(&mut self, decoded: RequestControl<'a>, control: Control<'a>) -> Result<()> {
        let set = |flag: &mut bool| std::mem::replace(flag, true);
        let twice = match decoded {
            RequestControl::PagedResults(page) => self.page.replace(page).is_some(),
            RequestControl::Sort(keys) => {
                self.sort_is_critical = control.critical;
                self.sort.replace(keys).is_some()
            }
            RequestControl::ListView(asked) => self.list_view.replace(asked).is_some(),
            RequestControl::Assertion(filter) => self.assertion.replace(filter).is_some(),
            RequestControl::PreRead(request) => self.pre_read.replace(request).is_some(),
            RequestControl::PostRead(request) => self.post_read.replace(request).is_some(),
            RequestControl::ManageDsaIt => set(&mut self.manage_dsa_it),
            // RFC 4370 section 3: nobody is to act as somebody else for want of knowing the control.
            RequestControl::ProxiedAuthorization(_) if !control.critical => {
                let text = "proxied authorization has to be a critical control (RFC 4370 section 3)";
                return Err(Failure::new(ResultCode::PROTOCOL_ERROR, text));
            }
            RequestControl::ProxiedAuthorization(id) => self.proxied.replace(id).is_some(),
            RequestControl::MatchedValues(values) => self.matched_values.replace(values).is_some(),
            RequestControl::Subentries(visible) => self.subentries.replace(visible).is_some(),
            RequestControl::TreeDelete => set(&mut self.tree_delete),
            RequestControl::PermissiveModify => set(&mut self.permissive),
            RequestControl::Relax => set(&mut self.relax),
            RequestControl::NoOp => set(&mut self.no_op),
            RequestControl::DomainScope => set(&mut self.domain_scope),
            RequestControl::Dereference(request) => self.dereference.replace(request).is_some(),
            RequestControl::Sync(sync) => {
                self.sync_is_critical = control.critical;
                self.sync.replace(sync).is_some()
            }
            _ => false,
        };
        if twice {
            let diagnostic = format!("control {} is there twice", control.oid);
            return Err(Failure::new(ResultCode::PROTOCOL_ERROR, diagnostic));
        }
        Ok(())
    }
}
