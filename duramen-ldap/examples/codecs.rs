//! How long a search request takes to decode and a found entry to encode, beside two other implementations.
//!
//! `cargo run --release -p duramen-ldap --example codecs`

use std::hint::black_box;
use std::time::Instant;

use bytes::BytesMut;
use duramen_ldap::ber::List;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{
    Attribute, Deref, Message, Request, Response, Scope, SearchEntry, SearchRequest, write_search_entry,
};
use ldap3_proto::LdapCodec;
use tokio_util::codec::{Decoder, Encoder};

const TIMES: u32 = 200_000;

/// Prints nanoseconds for each call, the least of some runs.
fn time(name: &str, mut call: impl FnMut()) {
    let run = |call: &mut dyn FnMut()| {
        let begin = Instant::now();
        (0..TIMES).for_each(|_| call());
        begin.elapsed() / TIMES
    };
    let least = (0..5).map(|_| run(&mut call)).min().expect("there are five runs");
    println!("{name:<32}{:>8} ns", least.as_nanos());
}

fn main() {
    let filter = FilterBuf::parse("(&(objectClass=inetOrgPerson)(|(uid=bjensen)(mail=bjensen@example.com)))").unwrap();
    let mut names = Vec::new();
    let search = Request::Search(SearchRequest {
        base: "ou=people,dc=example,dc=com",
        scope: Scope::Subtree,
        deref: Deref::Never,
        size_limit: 1,
        time_limit: 0,
        types_only: false,
        filter: filter.as_filter(),
        attributes: List::build(&mut names, ["cn", "sn", "mail"]),
    });
    let mut request = Vec::new();
    Message::new(2, search).encode(&mut request);

    let mut values = Vec::new();
    let values = List::build(&mut values, [&b"bjensen@example.com"[..]]);
    let described = |description| Attribute { description, values };
    let mut attributes = Vec::new();
    let attributes =
        List::build(&mut attributes, ["objectClass", "cn", "sn", "uid", "mail", "description"].map(described));
    let entry = SearchEntry { name: "uid=bjensen,ou=people,dc=example,dc=com", attributes };
    let mut response = Vec::new();
    Message::new(2, Response::SearchEntry(entry)).encode(&mut response);

    time("decode a search, duramen-ldap", || {
        let _ = black_box(Message::<Request<'_>>::decode(black_box(&request)));
    });
    time("decode a search, ldap3_proto", || {
        drop(black_box(LdapCodec::default().decode(&mut BytesMut::from(black_box(&request[..])))));
    });
    time("decode a search, rasn-ldap", || {
        drop(black_box(rasn::ber::decode::<rasn_ldap::LdapMessage>(black_box(&request))));
    });

    let mut out = Vec::new();
    time("encode an entry, duramen-ldap", || {
        out.clear();
        write_search_entry(&mut out, 2, entry.name, [black_box(attributes.encoded())].into_iter(), List::default());
        black_box(&out);
    });
    let proto = LdapCodec::default().decode(&mut BytesMut::from(&response[..])).unwrap().unwrap();
    let mut out = BytesMut::new();
    time("encode an entry, ldap3_proto", || {
        out.clear();
        // It takes the message by value.
        LdapCodec::default().encode(black_box(&proto).clone(), &mut out).unwrap();
    });
    let rasn: rasn_ldap::LdapMessage = rasn::ber::decode(&response).unwrap();
    time("encode an entry, rasn-ldap", || drop(black_box(rasn::ber::encode(black_box(&rasn)))));
}
