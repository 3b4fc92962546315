//! Controls of requests, by their numbers.

use super::{
    DereferenceRequest, ListViewRequest, MatchedValues, PagedResults, ReadEntryRequest, SortKeys, SyncRequest,
};
use crate::authz::AuthzId;
use crate::ber::{Reader, tag};
use crate::error::DecodeError;
use crate::filter::Filter;
use crate::message::Control;
use crate::oid::control as oid;
use crate::payload::Payload;

/// A control of a request, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestControl<'a> {
    /// Give the results of a search in pages (RFC 2696).
    PagedResults(PagedResults<'a>),
    /// Sort the results of a search (RFC 2891).
    Sort(SortKeys<'a>),
    /// Give a window of the sorted results (draft-ietf-ldapext-ldapv3-vlv-09).
    ListView(ListViewRequest<'a>),
    /// Do it only if the entry matches (RFC 4528).
    Assertion(Filter<'a>),
    /// Return the entry as it was before (RFC 4527).
    PreRead(ReadEntryRequest<'a>),
    /// Return the entry as it is afterwards (RFC 4527).
    PostRead(ReadEntryRequest<'a>),
    /// Take referral objects for ordinary entries (RFC 3296).
    ManageDsaIt,
    /// Do it as somebody else (RFC 4370).
    ProxiedAuthorization(AuthzId<'a>),
    /// Return only values that match (RFC 3876).
    MatchedValues(MatchedValues<'a>),
    /// Show subentries only (true), or other entries only (RFC 3672).
    Subentries(bool),
    /// Delete all that is below too.
    TreeDelete,
    /// Adding what is there and deleting what is not are no errors.
    PermissiveModify,
    /// Some rules of the schema do not hold.
    Relax,
    /// Find out what would come of it, and do not do it (draft-zeilenga-ldap-noop).
    NoOp,
    /// Do not answer from a copy (RFC 6171).
    DontUseCopy,
    /// Send no references.
    DomainScope,
    /// Say what a password policy has to say (draft-behera-ldap-password-policy-10 section 6.1).
    PasswordPolicy,
    /// Return attributes of entries that values name (draft-masarati-ldap-deref-00).
    Dereference(DereferenceRequest<'a>),
    /// Bring a copy of what is found up to date (RFC 4533).
    Sync(SyncRequest<'a>),
    /// A number that is not known here.
    Unknown,
}

impl<'a> RequestControl<'a> {
    /// Decodes a control's value by its number. An error is to be answered with protocolError. Its offset counts from
    /// the start of the value.
    pub fn decode(control: &Control<'a>) -> Result<RequestControl<'a>, DecodeError> {
        let none = |decoded| no_value(control).map(|()| decoded);
        Ok(match control.oid {
            oid::PAGED_RESULTS => RequestControl::PagedResults(Payload::decode(value(control)?)?),
            oid::SORT_REQUEST => RequestControl::Sort(Payload::decode(value(control)?)?),
            oid::LIST_VIEW_REQUEST => RequestControl::ListView(Payload::decode(value(control)?)?),
            oid::ASSERTION => RequestControl::Assertion(Filter::decode(value(control)?)?),
            oid::PRE_READ => RequestControl::PreRead(Payload::decode(value(control)?)?),
            oid::POST_READ => RequestControl::PostRead(Payload::decode(value(control)?)?),
            oid::MANAGE_DSA_IT => none(RequestControl::ManageDsaIt)?,
            oid::PROXIED_AUTHORIZATION => RequestControl::ProxiedAuthorization(AuthzId::decode(value(control)?)?),
            oid::MATCHED_VALUES => RequestControl::MatchedValues(Payload::decode(value(control)?)?),
            oid::SUBENTRIES => RequestControl::Subentries(boolean(value(control)?)?),
            oid::TREE_DELETE => none(RequestControl::TreeDelete)?,
            oid::PERMISSIVE_MODIFY => none(RequestControl::PermissiveModify)?,
            oid::RELAX => none(RequestControl::Relax)?,
            oid::NO_OP | oid::NO_OP_OPENLDAP => none(RequestControl::NoOp)?,
            oid::DONT_USE_COPY => none(RequestControl::DontUseCopy)?,
            oid::DOMAIN_SCOPE => none(RequestControl::DomainScope)?,
            oid::PASSWORD_POLICY => none(RequestControl::PasswordPolicy)?,
            oid::DEREFERENCE => RequestControl::Dereference(Payload::decode(value(control)?)?),
            oid::SYNC_REQUEST => RequestControl::Sync(Payload::decode(value(control)?)?),
            _ => RequestControl::Unknown,
        })
    }
}

fn value<'a>(control: &Control<'a>) -> Result<&'a [u8], DecodeError> {
    control.value.ok_or(DecodeError { offset: 0, expected: "a control's value" })
}

/// Some clients send an empty value where there has to be none.
fn no_value(control: &Control<'_>) -> Result<(), DecodeError> {
    match control.value {
        Some([_, ..]) => Err(DecodeError { offset: 0, expected: "no value, as this control has none" }),
        _ => Ok(()),
    }
}

fn boolean(value: &[u8]) -> Result<bool, DecodeError> {
    let mut reader = Reader::new(value);
    let visible = reader.boolean(tag::BOOLEAN, "a BOOLEAN")?;
    reader.finish("the end of the value")?;
    Ok(visible)
}
