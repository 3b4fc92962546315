//! What the fuzz targets do with their input; the inputs that were kept are visited by a test too.
//!
//! Anything may be refused. What is accepted has to come back from what it is written as.

use duramen_ldap::Payload;
use duramen_ldap::ber::frame;
use duramen_ldap::certificate::{Certificate, CertificateList, Name};
use duramen_ldap::control::{
    DereferenceRequest, DereferenceResponse, RequestControl, SyncDone, SyncInfo, SyncStateValue,
};
use duramen_ldap::dn::{Dn, Rdn, write_ava};
use duramen_ldap::extended::{
    CancelRequest, PasswordModifyRequest, PasswordModifyResponse, TransactionEndRequest, TransactionEndResponse,
};
use duramen_ldap::filter::{Filter, FilterBuf};
use duramen_ldap::ldif::{Body, LdifReader, Record, write_encoded, write_unfolded};
use duramen_ldap::matching::{Rule, RuleKind, WithoutSchema};
use duramen_ldap::message::{Message, Request, Response};
use duramen_ldap::schema::{
    AttributeType, Description, DitContentRule, DitStructureRule, LdapSyntax, MatchingRule, MatchingRuleUse, NameForm,
    ObjectClass, Schema,
};
use duramen_ldap::syntax::Syntax;
use duramen_ldap::url::{LdapUrl, file_path};

/// Bytes of a client or a server. Returns whether they are a message.
pub fn message(data: &[u8]) -> bool {
    let _ = frame(data, 1 << 16);
    let mut out = Vec::new();
    if let Ok(request) = Message::<Request<'_>>::decode(data) {
        let controls = request.controls.iter().filter_map(|control| RequestControl::decode(&control).ok());
        assert!(format!("{request:?}").len() > controls.count());
        request_values(&request);
        request.encode(&mut out);
        assert_eq!(Message::<Request<'_>>::decode(&out).unwrap(), request);
        return true;
    }
    if let Ok(response) = Message::<Response<'_>>::decode(data) {
        assert!(!format!("{response:?}").is_empty());
        response_values(&response);
        response.encode(&mut out);
        assert_eq!(Message::<Response<'_>>::decode(&out).unwrap(), response);
        return true;
    }
    false
}

/// What a value says, as whatever it may be read, has to come back.
macro_rules! comes_back {
    ($value:expr, $($kind:ident),+) => {$(
        if let Ok(said) = $kind::decode($value) {
            let mut out = Vec::new();
            said.encode(&mut out);
            assert!($kind::decode(&out).is_ok_and(|again| again == said), stringify!($kind));
        }
    )+};
}

fn request_values(request: &Message<'_, Request<'_>>) {
    if let Request::Extended(extended) = &request.operation {
        let value = extended.value.unwrap_or_default();
        comes_back!(value, PasswordModifyRequest, CancelRequest, TransactionEndRequest);
    }
    for value in request.controls.iter().filter_map(|control| control.value) {
        comes_back!(value, DereferenceRequest);
    }
}

fn response_values(response: &Message<'_, Response<'_>>) {
    match &response.operation {
        Response::Intermediate(said) => comes_back!(said.value.unwrap_or_default(), SyncInfo),
        Response::Extended(said) => {
            comes_back!(said.value.unwrap_or_default(), PasswordModifyResponse, TransactionEndResponse);
        }
        _ => {}
    }
    for value in response.controls.iter().filter_map(|control| control.value) {
        comes_back!(value, SyncStateValue, DereferenceResponse, SyncDone);
    }
}

/// A filter, as an encoding or as text. Returns whether it is one.
pub fn filter(data: &[u8]) -> bool {
    if let Ok(filter) = Filter::decode(data) {
        assert!(!filter.to_string().is_empty());
        return true;
    }
    let Some(filter) = text(data).and_then(|text| FilterBuf::parse(text).ok()) else { return false };
    assert_eq!(Filter::decode(filter.as_filter().encoded()), Ok(filter.as_filter()));
    assert_eq!(FilterBuf::parse(&filter.to_string()).unwrap(), filter);
    true
}

/// A name. Returns whether it is one.
pub fn dn(data: &[u8]) -> bool {
    let Some(dn) = text(data).and_then(|text| Dn::parse(text).ok()) else { return false };
    let mut down: Vec<_> = dn.rdns().rev().map(|rdn| rdn.to_string()).collect();
    down.reverse();
    assert_eq!(dn.rdns().map(|rdn| rdn.to_string()).collect::<Vec<_>>(), down);
    let mut again = String::new();
    for (n, rdn) in dn.rdns().enumerate() {
        for (m, ava) in rdn.avas().enumerate() {
            again.push_str(if m > 0 {
                "+"
            } else if n > 0 {
                ","
            } else {
                ""
            });
            write_ava(&mut again, ava.attribute, &ava.value()).unwrap();
        }
    }
    assert_eq!(pairs(Dn::parse(&again).unwrap()), pairs(dn));
    let mut normalized = String::new();
    let is_normalized = dn.normalize(&WithoutSchema, &mut normalized).is_ok();
    assert_eq!(is_normalized, dn.rdns().all(has_types_once));
    if is_normalized {
        assert_eq!(Dn::parse(&normalized).unwrap().depth(), dn.depth());
    }
    true
}

/// RFC 4512 section 2.3.1: the values of an RDN are of different types.
fn has_types_once(rdn: Rdn<'_>) -> bool {
    let types: Vec<String> = rdn.avas().map(|ava| ava.attribute.to_ascii_lowercase()).collect();
    (1..types.len()).all(|n| !types[..n].contains(&types[n]))
}

fn pairs(dn: Dn<'_>) -> Vec<Vec<(String, Vec<u8>)>> {
    dn.rdns().map(|rdn| rdn.avas().map(|ava| (ava.attribute.to_string(), ava.value().into_owned())).collect()).collect()
}

/// A URL of a server or of a file. Returns whether it is one.
pub fn url(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    if let Ok(path) = file_path(text) {
        assert!(path.starts_with('/'), "{path}");
        return true;
    }
    let Ok(url) = LdapUrl::parse(text) else { return false };
    assert!(Dn::parse(&url.dn).is_ok() && !url.attributes.contains(&String::new()));
    let again = url.to_string();
    assert_eq!(LdapUrl::parse(&again).as_ref(), Ok(&url), "{again}");
    assert_eq!(LdapUrl::parse(&again).unwrap().to_string(), again);
    true
}

/// A certificate, a list of revoked ones, or an assertion about either. Returns whether it is one.
pub fn certificate(data: &[u8]) -> bool {
    let ways: [(&str, Assert); 2] = [("8", of_certificate), ("9", of_list)];
    ["certificateExactMatch", "certificateListExactMatch"].iter().zip(ways).fold(
        false,
        |found, (name, (number, way))| {
            let rule = Rule::find(name).unwrap();
            let (mut stored, mut asserted) = (Vec::new(), Vec::new());
            let syntax = Syntax::find(&format!("1.3.6.1.4.1.1466.115.121.1.{number}")).unwrap();
            // A name that has a type twice in an RDN has no normalized form.
            let is_matched = rule.normalize(data, &WithoutSchema, &mut stored).is_ok();
            assert!(!is_matched || syntax.check(data).is_ok());
            if is_matched {
                let text = way(data).unwrap();
                rule.normalize_assertion(text.as_bytes(), &WithoutSchema, &mut asserted).unwrap();
                assert_eq!(asserted, stored, "{text}");
            }
            let is_assertion = Syntax::find(rule.syntax).unwrap().check(data).is_ok();
            assert!(is_assertion || rule.normalize_assertion(data, &WithoutSchema, &mut asserted).is_err());
            found || is_matched || is_assertion
        },
    )
}

/// The assertion that is about a value.
type Assert = fn(&[u8]) -> Option<String>;

fn of_certificate(data: &[u8]) -> Option<String> {
    let certificate = Certificate::parse(data).ok()?;
    let (number, issuer) = (&certificate.serial_number, quoted(&certificate.issuer));
    Some(format!("{{ serialNumber {number}, issuer rdnSequence:{issuer} }}"))
}

fn of_list(data: &[u8]) -> Option<String> {
    let list = CertificateList::parse(data).ok()?;
    let (time, issuer) = (String::from_utf8(list.this_update).ok()?, quoted(&list.issuer));
    Some(format!("{{ issuer rdnSequence:{issuer}, thisUpdate generalizedTime:\"{time}\" }}"))
}

fn quoted(name: &Name<'_>) -> String {
    let mut text = String::new();
    name.write(|oid| oid, &mut text);
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A value or an assertion, behind the name of a rule and a colon. Returns whether the rule takes it.
pub fn value(data: &[u8]) -> bool {
    let Some(colon) = data.iter().position(|&byte| byte == b':') else { return false };
    let (name, data) = (&data[..colon], &data[colon + 1..]);
    let Some(rule) = text(name).and_then(Rule::find) else { return false };
    let (mut stored, mut again, mut asserted) = (Vec::new(), Vec::new(), Vec::new());
    let is_value = rule.normalize(data, &WithoutSchema, &mut stored).is_ok();
    assert_eq!(rule.normalize(data, &WithoutSchema, &mut again).is_ok(), is_value);
    let is_assertion = rule.normalize_assertion(data, &WithoutSchema, &mut asserted).is_ok();
    if is_value {
        assert_eq!(stored, again, "{}", rule.name);
    }
    // A change sequence number in the form of an older server is asserted in today's.
    let is_of_old = rule.name == "CSNMatch" && asserted.len() != data.len();
    let is_reflexive = matches!(rule.kind, RuleKind::Equality | RuleKind::Subtree) && !is_of_old;
    if is_value && is_assertion && is_reflexive {
        assert!(rule.relates(&stored, &asserted), "{}: a value is what is asserted by itself", rule.name);
    }
    is_value || is_assertion
}

/// LDIF. Returns whether it has a record.
pub fn ldif(data: &[u8]) -> bool {
    let mut reader = LdifReader::new("x", data);
    let mut records = 0;
    loop {
        match reader.next_record() {
            Ok(None) => return records > 0,
            Err(_) => {}
            Ok(Some(record)) => {
                records += 1;
                if let Body::Entry(pairs) = &record.body {
                    pairs.iter().for_each(|pair| written_for_audit(&pair.value));
                }
                let mut out = Vec::new();
                record.write(&mut out);
                let mut again = LdifReader::new("x", &out[..]);
                let again = again.next_record().unwrap().unwrap();
                assert_eq!(without_looks(again), without_looks(record));
            }
        }
    }
}

/// The other forms that the audit log has of values, each of which has to come back.
fn written_for_audit(value: &[u8]) {
    for write in [write_encoded, write_unfolded] {
        let mut out = Vec::new();
        write_unfolded(&mut out, "dn", b"cn=a");
        write(&mut out, "cn", value);
        let mut reader = LdifReader::new("x", &out[..]);
        let record = reader.next_record().unwrap().unwrap();
        let Body::Entry(pairs) = record.body else { panic!("a record of changes") };
        assert_eq!(pairs.iter().map(|pair| (pair.description, &*pair.value)).collect::<Vec<_>>(), [("cn", value)]);
    }
}

/// A record without what its text need not have again: the numbers of lines, and how a modify's values write their attribute.
fn without_looks(mut record: Record<'_>) -> Record<'_> {
    record.line = 0;
    match &mut record.body {
        Body::Entry(pairs) | Body::Add(pairs) => pairs.iter_mut().for_each(|pair| pair.line = 0),
        Body::Modify(changes) => {
            for change in changes {
                change.values.iter_mut().for_each(|pair| (pair.line, pair.description) = (0, change.description));
            }
        }
        Body::Delete | Body::ModifyDn { .. } => {}
    }
    record
}

/// A description, or a file of them. Returns whether it is one.
pub fn schema(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    let mut schema = Schema::default();
    let loaded = schema.load("x", text).is_ok() && !schema.attribute_types.is_empty();
    let descriptions = [
        comes_back::<AttributeType>(text),
        comes_back::<ObjectClass>(text),
        comes_back::<MatchingRule>(text),
        comes_back::<MatchingRuleUse>(text),
        comes_back::<LdapSyntax>(text),
        comes_back::<DitContentRule>(text),
        comes_back::<NameForm>(text),
        comes_back::<DitStructureRule>(text),
    ];
    loaded || descriptions.contains(&true)
}

fn comes_back<T: Description + PartialEq + std::fmt::Debug>(text: &str) -> bool {
    let Ok(description) = T::parse(text) else { return false };
    assert_eq!(T::parse(&description.to_string()).unwrap(), description);
    true
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
