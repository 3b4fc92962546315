//! Random messages against other implementations: what we encode, they decode and encode again, and what they encode
//! we decode as what it was. They may order sets otherwise, and use other forms of lengths.

use bytes::BytesMut;
use ldap3_proto::LdapCodec;
use proptest::prelude::*;
use tokio_util::codec::{Decoder, Encoder};

use super::random::{any_messages, plain_messages};
use super::*;
use crate::ber::{Reader, Writer};

/// Decodes and encodes again, by us, and puts in order what has none.
fn ours(bytes: &[u8], requests: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if requests {
        Message::<Request<'_>>::decode(bytes).unwrap().encode(&mut out);
    } else {
        Message::<Response<'_>>::decode(bytes).unwrap().encode(&mut out);
    }
    let mut ordered = Vec::new();
    order(Reader::new(&out), &mut Writer::new(&mut ordered));
    ordered
}

/// Copies elements; those in SETs, in AND and in OR (which have the tag of controls too) sorted.
fn order(mut elements: Reader<'_>, writer: &mut Writer<'_>) {
    while !elements.is_empty() {
        let (tag, content) = elements.any("an element").unwrap();
        if tag & 0x20 == 0 {
            writer.octets(tag, content.rest());
            continue;
        }
        let mut within = Vec::new();
        order(content, &mut Writer::new(&mut within));
        let mut children = Vec::new();
        let mut reader = Reader::new(&within);
        while !reader.is_empty() {
            let before = reader;
            reader.any("an element").unwrap();
            children.push(&before.rest()[..reader.offset() - before.offset()]);
        }
        if matches!(tag, 0x31 | 0xA0 | 0xA1) {
            children.sort_unstable();
            children.dedup();
        }
        writer.constructed(tag, |w| children.iter().for_each(|child| w.raw(child)));
    }
}

/// Decodes and encodes again, by rasn-ldap.
fn rasn_ldap(bytes: &[u8]) -> Vec<u8> {
    let message: rasn_ldap::LdapMessage = rasn::ber::decode(bytes).expect("rasn-ldap decodes what we encode");
    rasn::ber::encode(&message).expect("rasn-ldap encodes it again")
}

/// Decodes and encodes again, by ldap3_proto.
fn ldap3_proto(bytes: &[u8]) -> Vec<u8> {
    let mut codec = LdapCodec::default();
    let message = codec.decode(&mut BytesMut::from(bytes)).expect("ldap3_proto decodes what we encode");
    let mut out = BytesMut::new();
    codec.encode(message.expect("a whole message"), &mut out).expect("ldap3_proto encodes it again");
    out.to_vec()
}

proptest! {
    #[test]
    fn requests_survive_rasn_ldap(bytes in any_messages(true)) {
        prop_assert_eq!(ours(&rasn_ldap(&bytes), true), ours(&bytes, true));
    }

    #[test]
    fn responses_survive_rasn_ldap(bytes in any_messages(false)) {
        prop_assert_eq!(ours(&rasn_ldap(&bytes), false), ours(&bytes, false));
    }

    #[test]
    fn requests_survive_ldap3_proto(bytes in plain_messages(true)) {
        prop_assert_eq!(ours(&ldap3_proto(&bytes), true), ours(&bytes, true));
    }

    #[test]
    fn responses_survive_ldap3_proto(bytes in plain_messages(false)) {
        prop_assert_eq!(ours(&ldap3_proto(&bytes), false), ours(&bytes, false));
    }
}
