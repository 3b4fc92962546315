//! Requests that own what they say, so that they can be sent twice and printed.

use std::fmt;

use duramen_ldap::attribute::{Assertion, Attribute};
use duramen_ldap::ber::List;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{
    AddRequest, Authentication, BindRequest, Change, ChangeKind, CompareRequest, Deref, Message, ModifyDnRequest,
    ModifyRequest, Request as Encoded, Scope, SearchRequest,
};

/// An attribute and its values.
pub type Values = (String, Vec<String>);

#[derive(Debug, Clone)]
pub enum Request {
    Bind { name: String, password: String },
    Search { base: String, scope: Scope, filter: String, attributes: Vec<String>, size_limit: u32, types_only: bool },
    Compare { name: String, attribute: String, value: String },
    Add { name: String, attributes: Vec<Values> },
    Delete { name: String },
    Modify { name: String, changes: Vec<(ChangeKind, Values)> },
    ModifyDn { name: String, rdn: String, delete_old: bool, superior: Option<String> },
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The attribute as it stands in messages.
fn encoded<'a>((description, values): &'a Values, buffer: &'a mut Vec<u8>) -> Attribute<'a> {
    Attribute { description, values: List::build(buffer, values.iter().map(|value| value.as_bytes())) }
}

impl Request {
    pub fn encode(&self, id: u32, out: &mut Vec<u8>) {
        let mut send = |request: Encoded<'_>| Message::new(id, request).encode(out);
        match self {
            Request::Bind { name, password } => {
                let authentication = Authentication::Simple(password.as_bytes());
                send(Encoded::Bind(BindRequest { version: 3, name, authentication }));
            }
            Request::Search { base, scope, filter, attributes, size_limit, types_only } => {
                let filter = FilterBuf::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
                let mut buffer = Vec::new();
                send(Encoded::Search(SearchRequest {
                    base,
                    scope: *scope,
                    deref: Deref::Never,
                    size_limit: *size_limit,
                    time_limit: 0,
                    types_only: *types_only,
                    filter: filter.as_filter(),
                    attributes: List::build(&mut buffer, attributes.iter().map(String::as_str)),
                }));
            }
            Request::Compare { name, attribute, value } => {
                let assertion = Assertion { description: attribute, value: value.as_bytes() };
                send(Encoded::Compare(CompareRequest { name, assertion }));
            }
            Request::Add { name, attributes } => {
                let mut buffers = vec![Vec::new(); attributes.len()];
                let listed = attributes.iter().zip(&mut buffers).map(|(values, buffer)| encoded(values, buffer));
                let mut buffer = Vec::new();
                send(Encoded::Add(AddRequest { name, attributes: List::build(&mut buffer, listed) }));
            }
            Request::Delete { name } => send(Encoded::Delete(name)),
            Request::Modify { name, changes } => {
                let mut buffers = vec![Vec::new(); changes.len()];
                let listed = changes
                    .iter()
                    .zip(&mut buffers)
                    .map(|((kind, values), buffer)| Change { kind: *kind, attribute: encoded(values, buffer) });
                let mut buffer = Vec::new();
                send(Encoded::Modify(ModifyRequest { name, changes: List::build(&mut buffer, listed) }));
            }
            Request::ModifyDn { name, rdn, delete_old, superior } => {
                send(Encoded::ModifyDn(ModifyDnRequest {
                    name,
                    new_rdn: rdn,
                    delete_old_rdn: *delete_old,
                    new_superior: superior.as_deref(),
                }));
            }
        }
    }
}
