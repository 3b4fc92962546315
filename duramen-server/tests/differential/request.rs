//! Requests that own what they say, so that they can be sent twice and printed.

use std::fmt;

use duramen_ldap::Payload;
use duramen_ldap::attribute::{Assertion, Attribute};
use duramen_ldap::ber::List;
use duramen_ldap::extended::PasswordModifyRequest;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{
    AddRequest, Authentication, BindRequest, Change, ChangeKind, CompareRequest, Control as EncodedControl, Deref,
    ExtendedRequest, Message, ModifyDnRequest, ModifyRequest, Request as Encoded, Scope, SearchRequest,
};
use duramen_ldap::oid;

use crate::controls::Control;

/// A value. Shown as text if it is one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(&self.0) {
            Ok(text) => fmt::Debug::fmt(text, f),
            Err(_) => write!(f, "b\"{}\"", self.0.escape_ascii()),
        }
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Bytes {
        Bytes(text.as_bytes().to_vec())
    }
}

/// An attribute and its values.
pub type Values = (String, Vec<Bytes>);

#[derive(Debug, Clone)]
pub struct Request {
    pub operation: Operation,
    pub controls: Vec<Control>,
}

#[derive(Debug, Clone)]
pub struct Search {
    pub base: String,
    pub scope: Scope,
    pub deref: Deref,
    pub filter: String,
    pub attributes: Vec<String>,
    pub size_limit: u32,
    pub types_only: bool,
}

#[derive(Debug, Clone)]
pub enum Operation {
    Bind { name: String, password: String },
    Search(Search),
    Compare { name: String, attribute: String, value: Bytes },
    Add { name: String, attributes: Vec<Values> },
    Delete { name: String },
    Modify { name: String, changes: Vec<(ChangeKind, Values)> },
    ModifyDn { name: String, rdn: String, delete_old: bool, superior: Option<String> },
    WhoAmI,
    PasswordModify { user: Option<String>, old: Option<String>, new: Option<String> },
    Extended { name: &'static str },
}

impl Operation {
    /// What it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Operation::Bind { .. } => "bind",
            Operation::Search(_) => "search",
            Operation::Compare { .. } => "compare",
            Operation::Add { .. } => "add",
            Operation::Delete { .. } => "delete",
            Operation::Modify { .. } => "modify",
            Operation::ModifyDn { .. } => "rename",
            Operation::WhoAmI | Operation::PasswordModify { .. } | Operation::Extended { .. } => "extended",
        }
    }
}

impl From<Operation> for Request {
    fn from(operation: Operation) -> Request {
        Request { operation, controls: Vec::new() }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.operation, f)?;
        if self.controls.is_empty() { Ok(()) } else { write!(f, " with {:?}", self.controls) }
    }
}

/// The attribute as it stands in messages.
fn encoded<'a>((description, values): &'a Values, buffer: &'a mut Vec<u8>) -> Attribute<'a> {
    Attribute { description, values: List::build(buffer, values.iter().map(|value| value.0.as_slice())) }
}

impl Request {
    pub fn with(mut self, control: Control) -> Request {
        self.controls.push(control);
        self
    }

    /// The update's entry, if it is an update.
    pub fn updated(&self) -> Option<&str> {
        match &self.operation {
            Operation::Add { name, .. }
            | Operation::Delete { name }
            | Operation::Modify { name, .. }
            | Operation::ModifyDn { name, .. } => Some(name),
            Operation::PasswordModify { user, .. } => Some(user.as_deref().unwrap_or_default()),
            _ => None,
        }
    }

    /// Appends the message with this number. `cookie` is that of a paged search.
    pub fn encode(&self, id: u32, cookie: &[u8], out: &mut Vec<u8>) {
        let owned: Vec<_> = self.controls.iter().map(|control| control.encode(cookie)).collect();
        let listed = self.controls.iter().zip(&owned).map(|(control, value)| EncodedControl {
            oid: control.kind.oid(),
            critical: control.critical,
            value: value.as_deref(),
        });
        let mut buffer = Vec::new();
        let controls = List::build(&mut buffer, listed);
        self.operation.encode(|operation| Message { id, operation, controls }.encode(out));
    }
}

impl Operation {
    fn encode(&self, send: impl FnOnce(Encoded<'_>)) {
        match self {
            Operation::Bind { name, password } => {
                let authentication = Authentication::Simple(password.as_bytes());
                send(Encoded::Bind(BindRequest { version: 3, name, authentication }));
            }
            Operation::Search(search) => search.encode(send),
            Operation::Compare { name, attribute, value } => {
                let assertion = Assertion { description: attribute, value: &value.0 };
                send(Encoded::Compare(CompareRequest { name, assertion }));
            }
            Operation::Add { name, attributes } => {
                let mut buffers = vec![Vec::new(); attributes.len()];
                let listed = attributes.iter().zip(&mut buffers).map(|(values, buffer)| encoded(values, buffer));
                let mut buffer = Vec::new();
                send(Encoded::Add(AddRequest { name, attributes: List::build(&mut buffer, listed) }));
            }
            Operation::Delete { name } => send(Encoded::Delete(name)),
            Operation::Modify { name, changes } => {
                let mut buffers = vec![Vec::new(); changes.len()];
                let listed = changes
                    .iter()
                    .zip(&mut buffers)
                    .map(|((kind, values), buffer)| Change { kind: *kind, attribute: encoded(values, buffer) });
                let mut buffer = Vec::new();
                send(Encoded::Modify(ModifyRequest { name, changes: List::build(&mut buffer, listed) }));
            }
            Operation::ModifyDn { name, rdn, delete_old, superior } => {
                let new_superior = superior.as_deref();
                let delete_old_rdn = *delete_old;
                send(Encoded::ModifyDn(ModifyDnRequest { name, new_rdn: rdn, delete_old_rdn, new_superior }));
            }
            Operation::WhoAmI => {
                send(Encoded::Extended(ExtendedRequest { name: oid::extended::WHO_AM_I, value: None }))
            }
            Operation::PasswordModify { user, old, new } => {
                let bytes = |field: &'_ Option<String>| field.as_ref().map(|text| text.clone().into_bytes());
                let (user, old, new) = (bytes(user), bytes(old), bytes(new));
                let mut value = Vec::new();
                PasswordModifyRequest {
                    user: user.as_deref(),
                    old_password: old.as_deref(),
                    new_password: new.as_deref(),
                }
                .encode(&mut value);
                let name = oid::extended::PASSWORD_MODIFY;
                send(Encoded::Extended(ExtendedRequest { name, value: Some(&value) }));
            }
            Operation::Extended { name } => send(Encoded::Extended(ExtendedRequest { name, value: None })),
        }
    }
}

impl Search {
    fn encode(&self, send: impl FnOnce(Encoded<'_>)) {
        let filter = FilterBuf::parse(&self.filter).unwrap_or_else(|error| panic!("{}: {error}", self.filter));
        let mut buffer = Vec::new();
        send(Encoded::Search(SearchRequest {
            base: &self.base,
            scope: self.scope,
            deref: self.deref,
            size_limit: self.size_limit,
            time_limit: 0,
            types_only: self.types_only,
            filter: filter.as_filter(),
            attributes: List::build(&mut buffer, self.attributes.iter().map(String::as_str)),
        }));
    }
}
