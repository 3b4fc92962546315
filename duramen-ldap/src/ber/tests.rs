use proptest::prelude::*;

use super::*;

#[test]
fn lengths_are_definite_rfc4511_5_1() {
    let mut reader = Reader::new(&[0x30, 0x80, 0x00, 0x00]);
    let error = reader.any("x").unwrap_err();
    assert_eq!((error.offset, error.expected), (1, "a definite length"));
}

#[test]
fn octet_strings_are_primitive_rfc4511_5_1() {
    let error = Reader::new(&[0x24, 0x02, 0x04, 0x00]).octets(tag::OCTETS, "an OCTET STRING").unwrap_err();
    assert_eq!(error.to_string(), "byte 0: expected an OCTET STRING");
}

#[test]
fn an_element_ends_within_what_encloses_it() {
    let mut reader = Reader::new(&[0x30, 0x03, 0x04, 0x02, b'a', b'b']);
    let error = reader.sequence("x").unwrap().octets(tag::OCTETS, "y").unwrap_err();
    assert_eq!(error.offset, 3);
}

#[test]
fn long_forms_of_short_lengths_are_taken() {
    let bytes = [0x04, 0x84, 0, 0, 0, 1, b'a'];
    assert_eq!(Reader::new(&bytes).octets(tag::OCTETS, "x").unwrap(), b"a");
    assert!(Reader::new(&[0x04, 0x85, 0, 0, 0, 0, 1, b'a']).any("x").is_err());
}

#[test]
fn integers_have_one_to_four_octets() {
    for bytes in [&[0x02, 0x00][..], &[0x02, 0x05, 0, 0, 0, 0, 1]] {
        assert!(Reader::new(bytes).integer(tag::INTEGER, "x").is_err());
    }
    assert_eq!(Reader::new(&[0x02, 0x04, 0, 0, 0, 1]).integer(tag::INTEGER, "x").unwrap(), 1);
}

#[test]
fn true_is_written_as_ff_rfc4511_5_1() {
    let mut out = Vec::new();
    Writer::new(&mut out).boolean(tag::BOOLEAN, true);
    assert_eq!(out, [0x01, 0x01, 0xFF]);
}

#[test]
fn a_stream_may_come_one_byte_at_a_time() {
    let mut message = Vec::new();
    Writer::new(&mut message).sequence(|w| w.octets(tag::OCTETS, &[7; 300]));
    for n in 0..message.len() {
        let Frame::Needs(needed) = frame(&message[..n], 1000).unwrap() else { panic!("complete at {n}") };
        assert!(needed > n && needed <= message.len());
    }
    assert_eq!(frame(&message, 1000).unwrap(), Frame::Complete(message.len()));
    message.extend_from_slice(&[0x30, 0x00]);
    assert_eq!(frame(&message, 1000).unwrap(), Frame::Complete(message.len() - 2), "the next one is left alone");
}

#[test]
fn too_long_a_message_is_refused_by_its_header() {
    let error = frame(&[0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF], 1 << 20).unwrap_err();
    assert_eq!(error, FrameError::TooLong { bytes: 0x7FFF_FFFF + 6, bytes_max: 1 << 20 });
    assert!(matches!(frame(b"GET / HTTP/1.1", 1 << 20), Err(FrameError::Malformed(_))));
    assert!(matches!(frame(&[0x30, 0x80], 100), Err(FrameError::Malformed(_))));
    assert!(matches!(frame(&[0x30, 0xFF], 100), Err(FrameError::Malformed(_))));
}

#[test]
fn a_trusted_list_that_lies_ends_early() {
    let list = List::<&[u8]>::trusted(&[0x04, 0x01, b'a', 0x04, 0x09]);
    assert_eq!(list.iter().collect::<Vec<_>>(), [b"a"]);
}

proptest! {
    #[test]
    fn integers_come_back(value: i32) {
        let mut out = Vec::new();
        Writer::new(&mut out).integer(tag::INTEGER, value);
        prop_assert_eq!(Reader::new(&out).integer(tag::INTEGER, "x").unwrap(), value);
        // X.690 8.3.2: the first nine bits are not all the same.
        if out.len() > 3 {
            prop_assert!(!(out[2] == 0 && out[3] < 0x80 || out[2] == 0xFF && out[3] >= 0x80));
        }
    }

    #[test]
    fn lengths_come_back(length in prop_oneof![0usize..300, 65_400..65_700usize]) {
        let mut counted = Vec::new();
        Writer::new(&mut counted).octets(tag::SEQUENCE, &vec![1; length]);
        let mut patched = Vec::new();
        Writer::new(&mut patched).sequence(|w| w.raw(&vec![1; length]));
        prop_assert_eq!(&counted, &patched);
        prop_assert_eq!(counted.len(), tlv_len(length));
        prop_assert_eq!(Reader::new(&counted).sequence("x").unwrap().rest().len(), length);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut reader = Reader::new(&bytes);
        while let Ok((_, content)) = reader.any("x") {
            prop_assert!(content.offset() <= bytes.len());
            let _ = (content.into_integer(), content.into_boolean(), content.into_text(), content.ignore_rest());
        }
        let _ = frame(&bytes, 1000);
    }
}
