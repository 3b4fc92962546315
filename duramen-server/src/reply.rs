//! Answers: what an operation came to, and how that is written.

use duramen_directory::Failure;
use duramen_ldap::ber::{Element, List, Writer};
use duramen_ldap::control::PasswordPolicyResponse;
use duramen_ldap::message::{
    BindResponse, Control, ExtendedResponse, LdapResult, Message, MessageId, Response, ResultCode, op,
};
use duramen_ldap::{Payload, oid};

/// What an operation came to.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The result; success by default.
    pub result: Failure,
    /// Controls, encoded.
    pub controls: Vec<u8>,
    /// What else belongs to it: of a bind, what the server says in this step; of an extended operation, its value.
    pub value: Option<Vec<u8>>,
    /// Name of an extended response.
    pub name: Option<&'static str>,
    /// What a password policy has to say, for who asks.
    pub notice: PasswordPolicyResponse,
}

impl Reply {
    /// A result that says nothing but how it ended.
    pub fn code(code: ResultCode) -> Reply {
        Reply { result: Failure { code, ..Failure::default() }, ..Reply::default() }
    }

    /// A result with a message for people.
    pub fn new(code: ResultCode, diagnostic: impl Into<String>) -> Reply {
        Failure::new(code, diagnostic).into()
    }

    /// With what a password policy has to say, as a control.
    pub fn with_notice(self) -> Reply {
        let (mut controls, mut value) = (self.controls, Vec::new());
        self.notice.encode(&mut value);
        let control = Control { oid: oid::control::PASSWORD_POLICY, critical: false, value: Some(&value) };
        control.write(&mut Writer::new(&mut controls));
        Reply { controls, ..self }
    }

    /// Appends it, as the answer to the request with this number and tag.
    pub fn write(&self, id: MessageId, tag: u8, out: &mut Vec<u8>) {
        let result = self.result.as_result();
        let operation = match tag {
            op::BIND_REQUEST => Response::Bind(BindResponse { result, sasl_credentials: self.value.as_deref() }),
            op::EXTENDED_REQUEST => {
                Response::Extended(ExtendedResponse { result, name: self.name, value: self.value.as_deref() })
            }
            other => match plain(other, result) {
                Some(response) => response,
                None => return,
            },
        };
        Message { id, operation, controls: List::trusted(&self.controls) }.encode(out);
    }
}

/// The answer that has nothing but a result; `None` for what is never answered.
fn plain(tag: u8, result: LdapResult<'_>) -> Option<Response<'_>> {
    Some(match tag {
        op::SEARCH_REQUEST => Response::SearchDone(result),
        op::MODIFY_REQUEST => Response::Modify(result),
        op::ADD_REQUEST => Response::Add(result),
        op::DELETE_REQUEST => Response::Delete(result),
        op::MODIFY_DN_REQUEST => Response::ModifyDn(result),
        op::COMPARE_REQUEST => Response::Compare(result),
        _ => return None,
    })
}

/// Whether a code says that the operation did what was asked, for figures.
pub fn is_success(code: ResultCode) -> bool {
    use ResultCode as R;
    let fine = [R::SUCCESS, R::COMPARE_TRUE, R::COMPARE_FALSE, R::REFERRAL, R::SASL_BIND_IN_PROGRESS];
    fine.contains(&code)
}

impl From<Failure> for Reply {
    fn from(result: Failure) -> Reply {
        let notice = PasswordPolicyResponse { warning: None, error: result.policy };
        Reply { result, notice, ..Reply::default() }
    }
}
