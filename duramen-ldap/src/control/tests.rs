use super::*;
use crate::authz::AuthzId;
use crate::ber::List;
use crate::filter::FilterBuf;
use crate::message::{Attribute, Control, ResultCode, SearchEntry};
use crate::oid::control as oid;
use crate::payload::Payload;

fn encoded<'a>(payload: &impl Payload<'a>) -> Vec<u8> {
    let mut out = Vec::new();
    payload.encode(&mut out);
    out
}

fn decoded<'a>(oid: &'a str, value: impl Into<Option<&'a [u8]>>) -> Result<RequestControl<'a>, crate::DecodeError> {
    RequestControl::decode(&Control { oid, critical: true, value: value.into() })
}

#[test]
fn pages_come_back_rfc2696_2() {
    let page = PagedResults { size: 500, cookie: b"abc" };
    let value = encoded(&page);
    assert_eq!(value, b"\x30\x09\x02\x02\x01\xF4\x04\x03abc");
    assert_eq!(decoded(oid::PAGED_RESULTS, &value[..]), Ok(RequestControl::PagedResults(page)));
    assert!(decoded(oid::PAGED_RESULTS, None).is_err(), "a value is needed");
    assert!(decoded(oid::PAGED_RESULTS, &b"\x30\x05\x02\x01\xFF\x04\x00"[..]).is_err(), "no negative size");
}

#[test]
fn sort_keys_come_back_rfc2891_1_1() {
    let mut buffer = Vec::new();
    let keys = [
        SortKey { description: "sn", rule: None, reverse: false },
        SortKey { description: "cn", rule: Some("caseExactOrderingMatch"), reverse: true },
    ];
    let keys = SortKeys(List::build(&mut buffer, keys));
    let value = encoded(&keys);
    assert!(value.starts_with(b"\x30\x27\x30\x04\x04\x02sn\x30\x1F\x04\x02cn\x80\x16case"), "{value:x?}");
    assert!(value.ends_with(b"\x81\x01\xFF"));
    assert_eq!(decoded(oid::SORT_REQUEST, &value[..]), Ok(RequestControl::Sort(keys)));
    assert!(decoded(oid::SORT_REQUEST, &b"\x30\x00"[..]).is_err());
}

#[test]
fn mozillas_sdk_for_java_writes_a_boolean_of_two_octets() {
    let value = b"\x30\x11\x30\x0F\x04\x09uidNumber\x81\x02\x00\x81";
    let Ok(RequestControl::Sort(SortKeys(keys))) = decoded(oid::SORT_REQUEST, &value[..]) else { panic!() };
    let key = SortKey { description: "uidNumber", rule: None, reverse: true };
    assert_eq!(keys.iter().collect::<Vec<_>>(), [key]);
    for (octets, reverse) in
        [(&b"\x81\x02\x00\x00"[..], Some(false)), (b"\x81\x00", None), (b"\x81\x05\x00\x00\x00\x00\x01", None)]
    {
        let pair = [b"\x04\x01a", octets].concat();
        let value = [&[0x30, pair.len() as u8 + 2, 0x30, pair.len() as u8], &pair[..]].concat();
        let found = match decoded(oid::SORT_REQUEST, &value[..]) {
            Ok(RequestControl::Sort(SortKeys(keys))) => keys.iter().next().map(|key| key.reverse),
            _ => None,
        };
        assert_eq!(found, reverse, "{octets:?}");
    }
}

#[test]
fn a_sort_result_comes_back_rfc2891_1_2() {
    let response = SortResponse { code: ResultCode::NO_SUCH_ATTRIBUTE, description: Some("x") };
    let value = encoded(&response);
    assert_eq!(value, b"\x30\x06\x0A\x01\x10\x80\x01x");
    assert_eq!(SortResponse::decode(&value).unwrap(), response);
}

#[test]
fn a_list_view_comes_back_draft_vlv_09_5() {
    let target = ListViewTarget::Offset { offset: 300, count: 1000 };
    let request = ListViewRequest { before: 1, after: 9, target, context: None };
    let value = encoded(&request);
    assert_eq!(value, b"\x30\x10\x02\x01\x01\x02\x01\x09\xA0\x08\x02\x02\x01\x2C\x02\x02\x03\xE8");
    assert_eq!(decoded(oid::LIST_VIEW_REQUEST, &value[..]), Ok(RequestControl::ListView(request)));
    let request = ListViewRequest { target: ListViewTarget::AtLeast(b"jen"), context: Some(b"list"), ..request };
    let value = encoded(&request);
    assert_eq!(value, b"\x30\x11\x02\x01\x01\x02\x01\x09\x81\x03jen\x04\x04list");
    assert_eq!(decoded(oid::LIST_VIEW_REQUEST, &value[..]), Ok(RequestControl::ListView(request)));
    let wrong: [&[u8]; 4] = [
        b"\x30\x06\x02\x01\x01\x02\x01\x09",
        b"\x30\x0B\x02\x01\x01\x02\x01\x09\xA0\x03\x02\x01\x01",
        b"\x30\x0B\x02\x01\xFF\x02\x01\x09\x81\x03jen",
        b"\x30\x0B\x02\x01\x01\x02\x01\x09\x82\x03jen",
    ];
    for value in wrong {
        assert!(decoded(oid::LIST_VIEW_REQUEST, value).is_err(), "{value:x?}");
    }
    assert!(decoded(oid::LIST_VIEW_REQUEST, None).is_err());
}

#[test]
fn the_place_of_a_list_view_comes_back_draft_vlv_09_5() {
    let code = ResultCode::OFFSET_RANGE_ERROR;
    let response = ListViewResponse { position: 0, count: 20, code, context: Some(b"x") };
    let value = encoded(&response);
    assert_eq!(value, b"\x30\x0C\x02\x01\x00\x02\x01\x14\x0A\x01\x3D\x04\x01x");
    assert_eq!(ListViewResponse::decode(&value).unwrap(), response);
}

#[test]
fn an_assertion_is_a_filter_rfc4528_3() {
    let filter = FilterBuf::parse("(a=b)").unwrap();
    let value = filter.as_filter().encoded();
    assert_eq!(decoded(oid::ASSERTION, value), Ok(RequestControl::Assertion(filter.as_filter())));
    assert!(decoded(oid::ASSERTION, &b"\x30\x00"[..]).is_err());
}

#[test]
fn entries_are_read_before_and_after_rfc4527_3() {
    let mut buffer = Vec::new();
    let request = ReadEntryRequest(List::build(&mut buffer, ["cn", "+"]));
    let value = encoded(&request);
    assert_eq!(decoded(oid::PRE_READ, &value[..]), Ok(RequestControl::PreRead(request)));
    assert_eq!(decoded(oid::POST_READ, &value[..]), Ok(RequestControl::PostRead(request)));

    let (mut values, mut attributes) = (Vec::new(), Vec::new());
    let attribute = Attribute { description: "cn", values: List::build(&mut values, [&b"x"[..]]) };
    let entry = SearchEntry { name: "cn=x", attributes: List::build(&mut attributes, [attribute]) };
    let mut value = encoded(&ReadEntryResponse(entry));
    assert_eq!(value[0], 0x64);
    assert_eq!(ReadEntryResponse::decode(&value).unwrap().0, entry);
    value[0] = 0x30;
    assert_eq!(ReadEntryResponse::decode(&value).unwrap().0, entry);
}

#[test]
fn matched_values_are_simple_filters_rfc3876_2() {
    let values = |texts: &[&str]| {
        let filters: Vec<_> = texts.iter().map(|text| FilterBuf::parse(text).unwrap()).collect();
        let mut buffer = Vec::new();
        encoded(&MatchedValues(List::build(&mut buffer, filters.iter().map(FilterBuf::as_filter))))
    };
    let value = values(&["(a=b)", "(a=*)", "(a:1.2.3:=c)"]);
    let RequestControl::MatchedValues(filters) = decoded(oid::MATCHED_VALUES, &value[..]).unwrap() else { panic!() };
    assert_eq!(filters.0.iter().map(|f| f.to_string()).collect::<String>(), "(a=b)(a=*)(a:1.2.3:=c)");
    for refused in [&[][..], &["(a=b)", "(!(a=b))"], &["(a:dn:=b)"]] {
        assert!(decoded(oid::MATCHED_VALUES, &values(refused)[..]).is_err(), "{refused:?}");
    }
}

#[test]
fn identities_have_three_forms_rfc4513_5_2_1_8() {
    for (text, id) in [("", AuthzId::Anonymous), ("dn:cn=x", AuthzId::Dn("cn=x")), ("u:x:y", AuthzId::User("x:y"))] {
        let control = decoded(oid::PROXIED_AUTHORIZATION, text.as_bytes());
        assert_eq!(control, Ok(RequestControl::ProxiedAuthorization(id)));
        assert_eq!(id.to_string(), text);
    }
    assert!(AuthzId::decode(b"cn=x").is_err() && AuthzId::decode(b"u:\xFF").is_err());
}

#[test]
fn subentries_are_a_boolean_rfc3672_3() {
    assert_eq!(decoded(oid::SUBENTRIES, &b"\x01\x01\xFF"[..]), Ok(RequestControl::Subentries(true)));
    assert!(decoded(oid::SUBENTRIES, &b"\x01\x01\xFF\x00"[..]).is_err());
}

#[test]
fn controls_without_a_value_have_none_rfc3296_3() {
    for (oid, control) in [
        (oid::MANAGE_DSA_IT, RequestControl::ManageDsaIt),
        (oid::TREE_DELETE, RequestControl::TreeDelete),
        (oid::PERMISSIVE_MODIFY, RequestControl::PermissiveModify),
        (oid::RELAX, RequestControl::Relax),
        (oid::NO_OP, RequestControl::NoOp),
        (oid::NO_OP_OPENLDAP, RequestControl::NoOp),
        (oid::DONT_USE_COPY, RequestControl::DontUseCopy),
        (oid::DOMAIN_SCOPE, RequestControl::DomainScope),
    ] {
        assert_eq!(decoded(oid, None), Ok(control));
        assert_eq!(decoded(oid, &b""[..]), Ok(control));
        assert!(decoded(oid, &b"x"[..]).is_err());
    }
    assert_eq!(decoded("1.2.3", &b"x"[..]), Ok(RequestControl::Unknown));
}

#[test]
fn what_a_password_policy_says_comes_back() {
    let cases: [(PasswordPolicyResponse, &[u8]); 5] = [
        (PasswordPolicyResponse::default(), b"\x30\x00"),
        (
            PasswordPolicyResponse { warning: Some(PasswordWarning::ExpiresIn(300)), error: None },
            b"\x30\x06\xA0\x04\x80\x02\x01\x2C",
        ),
        (
            PasswordPolicyResponse { warning: Some(PasswordWarning::GraceLeft(0)), error: None },
            b"\x30\x05\xA0\x03\x81\x01\x00",
        ),
        (
            PasswordPolicyResponse { warning: None, error: Some(PasswordError::ChangeAfterReset) },
            b"\x30\x03\x81\x01\x02",
        ),
        (PasswordPolicyResponse { warning: None, error: Some(PasswordError::InHistory) }, b"\x30\x03\x81\x01\x08"),
    ];
    for (response, value) in cases {
        assert_eq!((encoded(&response).as_slice(), PasswordPolicyResponse::decode(value)), (value, Ok(response)));
    }
    for wrong in [&b"\x30\x03\x81\x01\x0A"[..], b"\x30\x03\x81\x01\xFF", b"\x30\x05\xA0\x03\x82\x01\x00", b"\x31\x00"] {
        assert!(PasswordPolicyResponse::decode(wrong).is_err(), "{wrong:x?}");
    }
    assert_eq!(decoded(oid::PASSWORD_POLICY, None), Ok(RequestControl::PasswordPolicy));
}

#[test]
fn what_is_to_be_synchronized_comes_back_rfc4533_2_2() {
    let cases: [(SyncRequest<'_>, &[u8]); 3] = [
        (SyncRequest { persists: false, cookie: None, reload_hint: false }, b"\x30\x03\x0A\x01\x01"),
        (
            SyncRequest { persists: true, cookie: Some(b"rid=1"), reload_hint: false },
            b"\x30\x0A\x0A\x01\x03\x04\x05rid=1",
        ),
        (
            SyncRequest { persists: true, cookie: Some(b""), reload_hint: true },
            b"\x30\x08\x0A\x01\x03\x04\x00\x01\x01\xFF",
        ),
    ];
    for (request, value) in cases {
        assert_eq!(
            (&*encoded(&request), decoded(oid::SYNC_REQUEST, value)),
            (value, Ok(RequestControl::Sync(request)))
        );
    }
    let wrong: [&[u8]; 6] = [
        b"",
        b"\x30\x00",
        b"\x30\x03\x0A\x01\x02",
        b"\x30\x03\x0A\x01\xFF",
        b"\x30\x05\x0A\x01\x01\x04\x05",
        b"\x30\x03\x0A\x01\x01\x00",
    ];
    for value in wrong {
        assert!(decoded(oid::SYNC_REQUEST, value).is_err(), "{value:x?}");
    }
    assert!(decoded(oid::SYNC_REQUEST, None).is_err(), "a value is needed");
}

#[test]
fn the_state_of_an_entry_comes_back_rfc4533_2_3() {
    let uuid = *b"0123456789abcdef";
    for (state, number) in
        [(SyncState::Present, 0), (SyncState::Add, 1), (SyncState::Modify, 2), (SyncState::Delete, 3)]
    {
        let value = [b"\x30\x15\x0A\x01", &[number][..], b"\x04\x10", &uuid].concat();
        let said = SyncStateValue { state, uuid, cookie: None };
        assert_eq!((encoded(&said), SyncStateValue::decode(&value)), (value.clone(), Ok(said)));
    }
    let said = SyncStateValue { state: SyncState::Add, uuid, cookie: Some(b"x") };
    assert_eq!(SyncStateValue::decode(&encoded(&said)), Ok(said));
    assert!(SyncStateValue::decode(b"\x30\x06\x0A\x01\x01\x04\x01x").is_err(), "no UUID is as short");
    assert!(SyncStateValue::decode(&[b"\x30\x15\x0A\x01\x04\x04\x10", &uuid[..]].concat()).is_err());
}

#[test]
fn the_end_of_a_synchronization_comes_back_rfc4533_2_4() {
    for (done, value) in [
        (SyncDone { cookie: None, refresh_deletes: false }, &b"\x30\x00"[..]),
        (SyncDone { cookie: Some(b"x"), refresh_deletes: true }, b"\x30\x06\x04\x01x\x01\x01\xFF"),
    ] {
        assert_eq!((&*encoded(&done), SyncDone::decode(value)), (value, Ok(done)));
    }
}

#[test]
fn what_is_said_between_entries_comes_back_rfc4533_2_5() {
    let mut buffer = Vec::new();
    let uuids = List::build(&mut buffer, [&b"0123456789abcdef"[..], b"fedcba9876543210"]);
    let none = List::default();
    let cases: [(SyncInfo<'_>, &[u8]); 6] = [
        (SyncInfo::NewCookie(b"x"), b"\x80\x01x"),
        (SyncInfo::RefreshDelete { cookie: Some(b"x"), done: true }, b"\xA1\x03\x04\x01x"),
        (SyncInfo::RefreshPresent { cookie: None, done: false }, b"\xA2\x03\x01\x01\x00"),
        (SyncInfo::RefreshPresent { cookie: None, done: true }, b"\xA2\x00"),
        (SyncInfo::IdSet { cookie: None, deletes: false, uuids: none }, b"\xA3\x02\x31\x00"),
        (
            SyncInfo::IdSet { cookie: Some(b"x"), deletes: true, uuids },
            b"\xA3\x2C\x04\x01x\x01\x01\xFF\x31\x24\x04\x100123456789abcdef\x04\x10fedcba9876543210",
        ),
    ];
    for (info, value) in cases {
        assert_eq!((&*encoded(&info), SyncInfo::decode(value)), (value, Ok(info)));
    }
    for wrong in [&b"\xA4\x00"[..], b"\xA3\x00", b"\xA3\x05\x31\x03\x04\x01x", b"\xA1\x02\x04\x05"] {
        assert!(SyncInfo::decode(wrong).is_err(), "{wrong:x?}");
    }
}

#[test]
fn what_values_name_is_asked_for_and_comes_back_draft_masarati_ldap_deref_00_2() {
    let (mut names, mut specs) = (Vec::new(), Vec::new());
    let attributes = List::build(&mut names, ["uid", "cn"]);
    let request = DereferenceRequest(List::build(&mut specs, [Dereference { description: "member", attributes }]));
    let value = encoded(&request);
    assert_eq!(value, b"\x30\x15\x30\x13\x04\x06member\x30\x09\x04\x03uid\x04\x02cn");
    assert_eq!(decoded(oid::DEREFERENCE, &value[..]), Ok(RequestControl::Dereference(request)));
    let (nothing, no_attribute) = (&b"\x30\x00"[..], &b"\x30\x0C\x30\x0A\x04\x06member\x30\x00"[..]);
    for refused in [None, Some(nothing), Some(no_attribute), Some(&value[..value.len() - 1])] {
        assert!(decoded(oid::DEREFERENCE, refused).is_err(), "{refused:?}");
    }

    let (mut values, mut found, mut list) = (Vec::new(), Vec::new(), Vec::new());
    let attribute = Attribute { description: "uid", values: List::build(&mut values, [&b"x"[..]]) };
    let there = Some(List::build(&mut found, [attribute]));
    let one = |value, attributes| Dereferenced { description: "member", value, attributes };
    let response = DereferenceResponse(List::build(&mut list, [one(b"cn=x", there), one(b"cn=y", None)]));
    let value = encoded(&response);
    assert!(
        value.starts_with(b"\x30\x2E\x30\x1C\x04\x06member\x04\x04cn=x\xA0\x0C\x30\x0A\x04\x03uid\x31"),
        "{value:x?}"
    );
    assert_eq!(DereferenceResponse::decode(&value), Ok(response));
}
