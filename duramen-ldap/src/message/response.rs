//! All responses.

use super::{
    BindResponse, ExtendedResponse, IntermediateResponse, LdapResult, Message, NOTICE_OF_DISCONNECTION, Operation,
    SearchEntry, op,
};
use crate::ber::{List, Reader, Writer};
use crate::error::DecodeError;

/// What a server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Response<'a> {
    /// The end of a bind, or of a step of it.
    Bind(BindResponse<'a>),
    /// An entry found.
    SearchEntry(SearchEntry<'a>),
    /// Other servers to be asked: their URLs.
    SearchReference(List<'a, &'a str>),
    /// The end of a search.
    SearchDone(LdapResult<'a>),
    /// The end of a modify.
    Modify(LdapResult<'a>),
    /// The end of an add.
    Add(LdapResult<'a>),
    /// The end of a delete.
    Delete(LdapResult<'a>),
    /// The end of a modify DN.
    ModifyDn(LdapResult<'a>),
    /// The end of a compare: compareTrue, compareFalse, or an error.
    Compare(LdapResult<'a>),
    /// The end of an extended operation, or an unsolicited notification.
    Extended(ExtendedResponse<'a>),
    /// Something before the end.
    Intermediate(IntermediateResponse<'a>),
}

impl<'a> Response<'a> {
    pub(super) fn read(tag: u8, content: Reader<'a>) -> Result<Response<'a>, DecodeError> {
        Ok(match tag {
            op::BIND_RESPONSE => Response::Bind(BindResponse::read(content)?),
            op::SEARCH_ENTRY => Response::SearchEntry(SearchEntry::read(content)?),
            op::SEARCH_REFERENCE => Response::SearchReference(List::decode_some(content, "a URL")?),
            op::SEARCH_DONE => Response::SearchDone(LdapResult::read(content)?),
            op::MODIFY_RESPONSE => Response::Modify(LdapResult::read(content)?),
            op::ADD_RESPONSE => Response::Add(LdapResult::read(content)?),
            op::DELETE_RESPONSE => Response::Delete(LdapResult::read(content)?),
            op::MODIFY_DN_RESPONSE => Response::ModifyDn(LdapResult::read(content)?),
            op::COMPARE_RESPONSE => Response::Compare(LdapResult::read(content)?),
            op::EXTENDED_RESPONSE => Response::Extended(ExtendedResponse::read(content)?),
            op::INTERMEDIATE_RESPONSE => Response::Intermediate(IntermediateResponse::read(content)?),
            _ => return content.fail("a response, not a request"),
        })
    }

    /// The result, of a response that ends an operation.
    pub fn result(&self) -> Option<&LdapResult<'a>> {
        match self {
            Response::Bind(bind) => Some(&bind.result),
            Response::Extended(extended) => Some(&extended.result),
            Response::SearchDone(result)
            | Response::Modify(result)
            | Response::Add(result)
            | Response::Delete(result)
            | Response::ModifyDn(result)
            | Response::Compare(result) => Some(result),
            Response::SearchEntry(_) | Response::SearchReference(_) | Response::Intermediate(_) => None,
        }
    }
}

impl Operation for Response<'_> {
    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Response::Bind(bind) => bind.write(writer),
            Response::SearchEntry(entry) => entry.write(writer),
            Response::SearchReference(urls) => writer.octets(op::SEARCH_REFERENCE, urls.encoded()),
            Response::SearchDone(result) => result.write(writer, op::SEARCH_DONE),
            Response::Modify(result) => result.write(writer, op::MODIFY_RESPONSE),
            Response::Add(result) => result.write(writer, op::ADD_RESPONSE),
            Response::Delete(result) => result.write(writer, op::DELETE_RESPONSE),
            Response::ModifyDn(result) => result.write(writer, op::MODIFY_DN_RESPONSE),
            Response::Compare(result) => result.write(writer, op::COMPARE_RESPONSE),
            Response::Extended(extended) => extended.write(writer),
            Response::Intermediate(intermediate) => intermediate.write(writer),
        }
    }
}

/// What a server sends before it closes a session of its own accord (RFC 4511 section 4.4.1).
pub fn notice_of_disconnection(result: LdapResult<'_>) -> Message<'_, Response<'_>> {
    let name = Some(NOTICE_OF_DISCONNECTION);
    Message::new(0, Response::Extended(ExtendedResponse { result, name, value: None }))
}
