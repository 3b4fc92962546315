use proptest::prelude::*;

use super::random::any_messages;
use super::*;
use crate::ber::{Element, Frame, List, frame};
use crate::filter::FilterBuf;

fn request(bytes: &[u8]) -> Message<'_, Request<'_>> {
    Message::<Request<'_>>::decode(bytes).unwrap()
}

fn encoded<T: Operation>(message: &Message<'_, T>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    out
}

#[test]
fn an_anonymous_bind_as_ldapsearch_sends_it() {
    let bytes = b"\x30\x0C\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00";
    let message = request(bytes);
    let Request::Bind(bind) = message.operation else { panic!() };
    assert_eq!(bind, BindRequest { version: 3, name: "", authentication: Authentication::Simple(b"") });
    assert_eq!(encoded(&message), bytes);
}

#[test]
fn the_root_dse_search_as_ldapsearch_sends_it() {
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    let mut buffer = Vec::new();
    let message = Message::new(
        2,
        Request::Search(SearchRequest {
            base: "",
            scope: Scope::Base,
            deref: Deref::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: filter.as_filter(),
            attributes: List::build(&mut buffer, ["+"]),
        }),
    );
    let bytes = b"\x30\x28\x02\x01\x02\x63\x23\x04\x00\x0A\x01\x00\x0A\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\
        \x87\x0BobjectClass\x30\x03\x04\x01+";
    assert_eq!(encoded(&message), bytes);
    assert_eq!(request(bytes), message);
}

#[test]
fn unknown_fields_at_the_end_are_ignored_rfc4511_4() {
    let bytes = b"\x30\x13\x02\x01\x01\x60\x09\x02\x01\x03\x04\x00\x80\x00\x9E\x00\xA7\x03\x04\x01x";
    assert!(matches!(request(bytes).operation, Request::Bind(_)));
    let bytes = b"\x30\x0E\x02\x01\x01\x60\x09\x02\x01\x03\x04\x00\x80\x00\x9E\x07";
    assert!(Message::<Request<'_>>::decode(bytes).is_err(), "but not if they are garbage");
}

#[test]
fn an_unknown_way_to_authenticate_is_not_an_error_rfc4511_4_2() {
    let bytes = b"\x30\x0C\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x8A\x00";
    let Request::Bind(bind) = request(bytes).operation else { panic!() };
    assert_eq!(bind.authentication, Authentication::Unknown(0x8A));
}

#[test]
fn passwords_do_not_show_in_debug_output() {
    let bind = BindRequest { version: 3, name: "cn=a", authentication: Authentication::Simple(b"secret") };
    let change = Request::Extended(ExtendedRequest { name: "1.3.6.1.4.1.4203.1.11.1", value: Some(b"secret") });
    let shown =
        format!("{:?} {change:?} {:?}", Request::Bind(bind), Envelope::decode(&encoded(&Message::new(1, change))));
    assert!(!shown.contains("secret") && !shown.contains("115, 101"), "{shown}");
}

#[test]
fn a_fault_in_the_envelope_ends_the_session_and_one_in_the_operation_does_not_rfc4511_4_1_1() {
    // An unknown protocolOp.
    assert_eq!(
        Envelope::decode(b"\x30\x05\x02\x01\x01\x7E\x00").unwrap_err().expected,
        "the tag of a known protocolOp"
    );
    // A search with scope 9.
    let bytes = b"\x30\x0D\x02\x01\x07\x63\x08\x04\x00\x0A\x01\x09\x0A\x01\x00";
    let envelope = Envelope::decode(bytes).unwrap();
    let error = envelope.request().unwrap_err();
    assert_eq!((error.offset, error.expected), (9, "a scope of 0 to 3"));
    assert_eq!(error.result_code(), ResultCode::PROTOCOL_ERROR);
    let result = LdapResult::new(error.result_code());
    assert_eq!(envelope.answer(result), Some(Response::SearchDone(result)));
}

#[test]
fn a_request_has_a_number_rfc4511_4_1_1_1_which_may_be_0() {
    let request = Message::<Request<'_>>::decode(b"\x30\x05\x02\x01\x00\x42\x00").unwrap();
    assert_eq!((request.id, request.operation), (0, Request::Unbind));
    assert!(Envelope::decode(b"\x30\x05\x02\x01\xFF\x42\x00").is_err());
}

#[test]
fn an_added_attribute_has_a_value_rfc4511_4_7() {
    let bytes = b"\x30\x15\x02\x01\x01\x68\x10\x04\x04cn=a\x30\x08\x30\x06\x04\x02cn\x31\x00";
    assert_eq!(Message::<Request<'_>>::decode(bytes).unwrap_err().expected, "a value at least in each attribute");
}

#[test]
fn names_are_utf8_rfc4511_4_1_2() {
    let error = Message::<Request<'_>>::decode(b"\x30\x08\x02\x01\x01\x4A\x03c\xFF=").unwrap_err();
    assert_eq!((error.offset, error.expected), (8, "UTF-8"));
}

#[test]
fn a_response_is_not_a_request() {
    let bytes = encoded(&Message::new(1, Response::Delete(LdapResult::new(ResultCode::SUCCESS))));
    assert!(Message::<Request<'_>>::decode(&bytes).is_err());
    assert!(Message::<Response<'_>>::decode(&bytes).is_ok());
}

#[test]
fn controls_come_back_and_default_criticality_is_left_out_rfc4511_4_1_11() {
    let mut buffer = Vec::new();
    let controls = [
        Control { oid: "1.2.840.113556.1.4.319", critical: true, value: Some(b"\x30\x05\x02\x01\x05\x04\x00") },
        Control { oid: "2.16.840.1.113730.3.4.2", critical: false, value: None },
    ];
    let message = Message { id: 5, operation: Request::Unbind, controls: List::build(&mut buffer, controls) };
    let bytes = encoded(&message);
    assert_eq!(request(&bytes).controls.iter().collect::<Vec<_>>(), controls);
    assert!(!bytes.windows(3).any(|w| w == b"\x01\x01\x00"));
}

#[test]
fn the_notice_of_disconnection_rfc4511_4_4_1() {
    let notice = notice_of_disconnection(LdapResult::with_diagnostic(ResultCode::UNAVAILABLE, "going down"));
    let bytes = encoded(&notice);
    assert_eq!(Message::<Response<'_>>::decode(&bytes).unwrap(), notice);
    assert_eq!(notice.id, 0);
    assert!(bytes.ends_with(b"\x8A\x161.3.6.1.4.1.1466.20036"));
}

#[test]
fn a_referral_holds_a_url_rfc4511_4_1_10() {
    let mut buffer = Vec::new();
    let referral = List::build(&mut buffer, ["ldap://a/", "ldap://b/"]);
    let result = LdapResult { code: ResultCode::REFERRAL, referral, ..LdapResult::default() };
    let bytes = encoded(&Message::new(1, Response::Modify(result)));
    assert_eq!(Message::<Response<'_>>::decode(&bytes).unwrap().operation.result(), Some(&result));
    assert!(
        Message::<Response<'_>>::decode(b"\x30\x0E\x02\x01\x01\x67\x09\x0A\x01\x0A\x04\x00\x04\x00\xA3\x00").is_err()
    );
}

#[test]
fn an_entry_in_pieces_is_the_same_message_as_an_entry_in_one() {
    let mut buffer = Vec::new();
    let long = vec![b'x'; 70_000];
    for (id, value) in [(1, &long[..3]), (128, &long[..120]), (70_000, &long[..200]), (1 << 30, &long[..])] {
        let mut values = Vec::new();
        let values = List::build(&mut values, [value]);
        let attributes = ["cn", "sn", "description"].map(|description| Attribute { description, values });
        buffer.clear();
        let list = List::build(&mut buffer, attributes);
        let entry = SearchEntry { name: "cn=x,dc=example", attributes: list };
        let whole = encoded(&Message::new(id, Response::SearchEntry(entry)));
        let mut pieces = Vec::new();
        let halves = list.encoded().split_at(list.encoded().len() / 2);
        write_search_entry(&mut pieces, id, entry.name, [halves.0, halves.1].into_iter(), List::default());
        assert_eq!(pieces, whole);
        assert_eq!(pieces.capacity(), pieces.len(), "room was made once, and for exactly that");
    }
}

#[test]
fn result_codes_say_their_names() {
    assert_eq!(ResultCode::NO_SUCH_OBJECT.to_string(), "noSuchObject (32)");
    assert_eq!(ResultCode(4711).to_string(), "unknown (4711)");
}

#[test]
fn a_change_may_increment_rfc4525() {
    let mut bytes = Vec::new();
    let attribute = Attribute { description: "uidNumber", values: List::default() };
    Change { kind: ChangeKind::Increment, attribute }.write(&mut crate::ber::Writer::new(&mut bytes));
    assert_eq!(bytes[4], 3);
    bytes[4] = 4;
    assert!(Change::read(&mut crate::ber::Reader::new(&bytes)).is_err());
}

proptest! {
    #[test]
    fn what_is_encoded_comes_back_and_is_encoded_the_same(request in any_messages(true), response in any_messages(false)) {
        prop_assert_eq!(encoded(&Message::<Request<'_>>::decode(&request).unwrap()), &request[..]);
        prop_assert_eq!(encoded(&Message::<Response<'_>>::decode(&response).unwrap()), &response[..]);
        prop_assert_eq!(frame(&request, 1 << 20).unwrap(), Frame::Complete(request.len()));
        prop_assert_eq!(Message::<Request<'_>>::decode_again(&request).unwrap(), Message::<Request<'_>>::decode(&request).unwrap());
    }

    /// A byte changed, or the end cut off: an answer, never a panic, and a place in the message.
    #[test]
    fn damaged_messages_give_errors_with_a_place(request in any_messages(true), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut request = request;
        let at = at.index(request.len());
        if cut { request.truncate(at) } else { request[at] = byte }
        if let Err(error) = Message::<Request<'_>>::decode(&request) {
            prop_assert!(error.offset <= request.len());
        }
        let _ = Message::<Response<'_>>::decode(&request);
    }
}
