//! All requests.

use super::{
    AddRequest, BindRequest, CompareRequest, ExtendedRequest, MessageId, ModifyDnRequest, ModifyRequest, Operation,
    SearchRequest, op,
};
use crate::ber::{Reader, Writer};
use crate::error::DecodeError;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request<'a> {
    /// Authenticate.
    Bind(BindRequest<'a>),
    /// End the session; not answered.
    Unbind,
    /// Search.
    Search(SearchRequest<'a>),
    /// Change attributes of an entry.
    Modify(ModifyRequest<'a>),
    /// Add an entry.
    Add(AddRequest<'a>),
    /// Delete the entry of this name.
    Delete(&'a str),
    /// Rename or move an entry.
    ModifyDn(ModifyDnRequest<'a>),
    /// Ask whether an entry has a value.
    Compare(CompareRequest<'a>),
    /// Give up the operation of this number; not answered.
    Abandon(MessageId),
    /// An operation defined elsewhere.
    Extended(ExtendedRequest<'a>),
}

impl<'a> Request<'a> {
    /// `is_checked`: it was read before, so that long lists need not be gone through.
    pub(super) fn read(tag: u8, content: Reader<'a>, is_checked: bool) -> Result<Request<'a>, DecodeError> {
        Ok(match tag {
            op::BIND_REQUEST => Request::Bind(BindRequest::read(content)?),
            // Its content is NULL. Some clients send garbage there; nothing could be done about it.
            op::UNBIND_REQUEST => Request::Unbind,
            op::SEARCH_REQUEST => Request::Search(SearchRequest::read(content)?),
            op::MODIFY_REQUEST => Request::Modify(ModifyRequest::read(content, is_checked)?),
            op::ADD_REQUEST => Request::Add(AddRequest::read(content, is_checked)?),
            op::DELETE_REQUEST => Request::Delete(content.into_text()?),
            op::MODIFY_DN_REQUEST => Request::ModifyDn(ModifyDnRequest::read(content)?),
            op::COMPARE_REQUEST => Request::Compare(CompareRequest::read(content)?),
            op::ABANDON_REQUEST => Request::Abandon(read_id(content)?),
            op::EXTENDED_REQUEST => Request::Extended(ExtendedRequest::read(content)?),
            _ => return content.fail("a request, not a response"),
        })
    }
}

fn read_id(content: Reader<'_>) -> Result<MessageId, DecodeError> {
    u32::try_from(content.into_integer()?).or_else(|_| content.fail("a messageID of 0 to 2147483647"))
}

impl Operation for Request<'_> {
    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Request::Bind(bind) => bind.write(writer),
            Request::Unbind => writer.octets(op::UNBIND_REQUEST, b""),
            Request::Search(search) => search.write(writer),
            Request::Modify(modify) => modify.write(writer),
            Request::Add(add) => add.write(writer),
            Request::Delete(name) => writer.octets(op::DELETE_REQUEST, name.as_bytes()),
            Request::ModifyDn(modify_dn) => modify_dn.write(writer),
            Request::Compare(compare) => compare.write(writer),
            Request::Abandon(id) => writer.unsigned(op::ABANDON_REQUEST, *id),
            Request::Extended(extended) => extended.write(writer),
        }
    }
}
