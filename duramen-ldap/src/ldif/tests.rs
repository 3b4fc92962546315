use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::message::ChangeKind;

/// What all records of a text are written as again, or the first error.
fn again(text: &str) -> Result<String, String> {
    let mut reader = LdifReader::new("x", text.as_bytes());
    let mut out = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some(record)) => record.write(&mut out),
            Ok(None) => return Ok(String::from_utf8(out).unwrap()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[test]
fn entries_as_slapcat_writes_them_come_back() {
    let text = "dn: uid=bjensen,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn:: THXEjWnEhw==\nuserPassword:: e1N\
                TSEF9eA==\nentryCSN: 20260101000000.000000Z#000000#000#000000\nentryUUID: 597ae2f6-16a6-1027-98f4-d28b5365dc14\n\n";
    let plain = text.replace("userPassword:: e1NTSEF9eA==", "userPassword: {SSHA}x");
    assert_eq!(again(text).unwrap(), plain, "what is safe needs no base64");
}

#[test]
fn lines_are_unfolded_and_comments_left_out_rfc2849_notes_2_and_5() {
    let text = "version: 1\r\n\r\n# a comment\r\n  that goes on\r\ndn: cn=a,\r\n dc=b\r\n# within\r\n folded\r\ncn: a\r\n b\r\n  c\r\n\r\n\r\n\r\ndn: dc=b";
    assert_eq!(again(text).unwrap(), "dn: cn=a,dc=b\ncn: ab c\n\ndn: dc=b\n\n");
    assert_eq!(again("version: 1\ndn: dc=b\n").unwrap(), "dn: dc=b\n\n");
    assert_eq!(again("\u{FEFF}version: 1\ndn: dc=b\n").unwrap(), "dn: dc=b\n\n");
    assert_eq!(again("dn: dc=b\r\r\ndc: b\r\r\n\r\r\ndn: dc=c\r\r\n").unwrap(), "dn: dc=b\ndc: b\n\ndn: dc=c\n\n");
    assert_eq!(again("").unwrap(), "");
    assert_eq!(again("# nothing\n\n").unwrap(), "");
}

/// `cat *.ldif` makes such a file, and ldapadd takes it.
#[test]
fn files_that_are_put_into_one_keep_their_versions() {
    let text = "version: 1\ndn: dc=b\n\nversion: 1\n\ndn: dc=c\n\n# more\nversion: 1\ndn: dc=d\n\nversion: 1\n";
    assert_eq!(again(text).unwrap(), "dn: dc=b\n\ndn: dc=c\n\ndn: dc=d\n\n");
    assert!(again("dn: dc=b\n\nversion: 2\ndn: dc=c\n").is_err());
}

/// Else two entries would be one.
#[test]
fn a_record_that_begins_within_another_is_told_of() {
    let says = "x, line 3: expected an empty line, without spaces, before dn: and the next record";
    for text in ["dn: dc=b\ndc: b\ndn: dc=c\ndc: c\n", "dn: dc=b\nchangetype: add\nDN: dc=c\n"] {
        assert_eq!(again(text).unwrap_err(), says, "{text:?}");
    }
    // A line of spaces goes on with the one before.
    assert_eq!(again("dn: dc=b\ndc: b\n  \ndn: dc=c\n").unwrap_err(), says.replace("line 3", "line 4"));
}

#[test]
fn what_ldapsearch_says_at_its_end_is_no_entry() {
    let told = again("# extended LDIF\n\ndn: dc=b\n\n# search result\nsearch: 2\nresult: 0 Success\n").unwrap_err();
    assert!(told.starts_with("x, line 6: expected dn: and the name of an entry, and not how a search ended"), "{told}");
    assert!(told.contains("`ldapsearch -LLL`"), "{told}");
}

#[test]
fn files_in_utf_16_and_compressed_ones_are_said_to_be() {
    let told = |text: &[u8]| LdifReader::new("x", text).next_record().unwrap_err().to_string();
    assert!(told(b"\xFF\xFEd\0n\0:\0\r\0\n\0").starts_with("x, line 1: expected UTF-8, and the file begins as UTF-16"));
    assert!(told(b"\xFE\xFF\0d\0n\0:\0\n").starts_with("x, line 1: expected UTF-8, and the file begins as UTF-16"));
    assert!(told(b"\x1F\x8B\x08\0\r\n").starts_with("x, line 1: expected text, and the file is compressed: `zcat`"));
}

#[test]
fn a_cr_alone_ends_no_line_and_is_in_no_value_rfc2849() {
    let says = ": expected LF or CR LF at the end of the line: a CR alone ends none, and a value with one is in base64";
    for (text, line) in
        [("dn: dc=b\rdc: b\r\r", 1), ("# a comment\rdn: dc=b\r", 1), ("dn: dc=b\n\ndn: dc=c\na:\n b\rc\nd: e", 5)]
    {
        assert_eq!(again(text).unwrap_err(), format!("x, line {line}{says}"), "{text:?}");
    }
    let mut reader = LdifReader::new("x", &b"dn: dc=a\ndc: \ra\no: a\n\ndn: dc=b\ndc:: DQ==\n"[..]);
    assert!(reader.next_record().is_err());
    assert_eq!(reader.next_record().unwrap().unwrap().dn, "dc=b", "the record after it");
}

#[test]
fn values_are_written_in_base64_where_they_have_to_be_rfc2849_notes_4_and_8() {
    let written = |value: &[u8]| {
        let mut out = Vec::new();
        write_pair(&mut out, "a", value);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(written(b"x: <y"), "a: x: <y\n");
    assert_eq!(written(b""), "a:\n");
    for (value, encoded) in [(&b" x"[..], "IHg="), (b"x ", "eCA="), (b":x", "Ong="), (b"<x", "PHg="), (b"\n", "Cg==")] {
        assert_eq!(written(value), format!("a:: {encoded}\n"));
    }
    let long = written(&[b'x'; 200]);
    assert!(long.lines().all(|line| line.len() <= 76) && long.lines().skip(1).all(|line| line.starts_with(' ')));
}

#[test]
fn the_changes_of_rfc2849_example_6_and_7_come_back() {
    let text = "dn: cn=a,dc=b\nchangetype: add\nobjectClass: top\n\n\
                dn: cn=a,dc=b\ncontrol: 1.2.840.113556.1.4.805 true\nchangetype: delete\n\n\
                dn: cn=a,dc=b\nchangetype: modrdn\nnewrdn: cn=c\ndeleteoldrdn: 1\n\n\
                dn: cn=a,dc=b\nchangetype: modrdn\nnewrdn: cn=c\ndeleteoldrdn: 0\nnewsuperior: dc=d\n\n\
                dn: cn=a,dc=b\ncontrol: 1.2.3 false: x\nchangetype: modify\nadd: postaladdress\npostaladdress: 123\n-\ndelete: \
                description\n-\nreplace: sn\nsn: x\nsn: y\n-\nincrement: uidNumber\nuidNumber: 1\n-\n\n";
    assert_eq!(again(text).unwrap(), text);
    let without_end = "dn: a=b\nchangetype: modify\nadd: c\nc: d";
    assert_eq!(again(without_end).unwrap(), format!("{without_end}\n-\n\n"), "the last dash may be missing");
}

#[test]
fn values_of_urls_are_fetched_only_when_told_to_rfc2849_note_6() {
    let text = "dn: a=b\njpegPhoto:< file:///photo.jpg\n";
    assert_eq!(
        again(text).unwrap_err(),
        "x, line 2: cannot read file:///photo.jpg: values from URLs are not allowed here"
    );
    let mut reader = LdifReader::new("x", text.as_bytes()).with_urls(|url| Ok(url.to_uppercase().into_bytes()));
    let record = reader.next_record().unwrap().unwrap();
    let Body::Entry(pairs) = &record.body else { panic!() };
    assert_eq!(&*pairs[0].value, b"FILE:///PHOTO.JPG");
}

#[test]
fn errors_say_file_and_line() {
    let expected = |text: &str, line: u64, what: &str| {
        assert_eq!(again(text).unwrap_err(), format!("x, line {line}: expected {what}"), "{text}");
    };
    expected("version: 2\n\ndn: a=b", 1, "version 1 of LDIF");
    expected(" a\n", 1, "the beginning of a record, not a continued line");
    expected("\ncn: a\n", 2, "dn: and the name of an entry");
    expected("dn: a=b\ncn a\n", 2, "an attribute description and a colon");
    expected("dn: a=b\n# x\nc n: a\n", 3, "an attribute description before the colon");
    expected("dn: a=b\ncn:: !\n", 2, "base64 behind two colons");
    expected("dn:: /w==\ncn: a\n", 1, "UTF-8");
    expected("dn: a=b\nchangetype: foo\n", 2, "add, delete, modify, modrdn or moddn behind changetype:");
    expected("dn: a=b\nchangetype: delete\ncn: a\n", 3, "an empty line before the next record");
    expected("dn: a=b\nchangetype: modify\n", 2, "a change behind changetype: modify");
    expected("dn: a=b\nchangetype: modify\nadd: c\nd: e\n-\n", 4, "the attribute with a value, or '-'");
    expected("dn: a=b\nchangetype: modify\nput: c\n", 3, "add:, delete:, replace: or increment:");
    expected("dn: a=b\nchangetype: modrdn\nnewrdn: c=d\n", 2, "deleteoldrdn: 0 or 1");
    expected(
        "dn: a=b\ncontrol: 1.2.3 perhaps\n",
        2,
        "control: an OID, 'true' or 'false' or nothing, and a value or nothing",
    );
    expected("dn: a=b\ncontrol: 1.2.3\n", 1, "changetype: behind the controls");
}

#[test]
fn reading_goes_on_behind_a_bad_record() {
    let mut reader = LdifReader::new("x", &b"dn: a=b\nfoo\n\ndn: c=d\n"[..]);
    assert!(reader.next_record().is_err());
    assert_eq!(reader.next_record().unwrap().unwrap().dn, "c=d");
    assert!(reader.next_record().unwrap().is_none());
    assert_eq!(reader.line(), 4);
}

#[test]
fn comments_are_folded_too() {
    let mut out = Vec::new();
    write_comment(&mut out, &"x".repeat(100));
    assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 2);
    out.extend(b"dn: a=b\n");
    assert_eq!(again(std::str::from_utf8(&out).unwrap()).unwrap(), "dn: a=b\n\n");
}

proptest! {
    #[test]
    fn any_entry_comes_back(
        dn in "[ -~é]{0,90}",
        values in prop::collection::vec(("[abe-z][a-z;-]{0,9}", prop::collection::vec(any::<u8>(), 0..120)), 0..6),
    ) {
        let pair = |(description, value): &'_ (String, Vec<u8>)| (description.clone(), value.clone());
        let mut out = Vec::new();
        write_pair(&mut out, "dn", dn.as_bytes());
        values.iter().for_each(|(description, value)| write_pair(&mut out, description, value));
        let mut reader = LdifReader::new("x", &out[..]);
        let record = reader.next_record().unwrap().unwrap();
        prop_assert_eq!(&record.dn, &Cow::Borrowed(dn.as_str()));
        let Body::Entry(pairs) = &record.body else { panic!() };
        let found: Vec<_> = pairs.iter().map(|p| (p.description.to_string(), p.value.to_vec())).collect();
        prop_assert_eq!(found, values.iter().map(pair).collect::<Vec<_>>());
    }

    #[test]
    fn any_change_comes_back(changes in prop::collection::vec((0..4usize, "[a-z]{1,4}", prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..3)), 1..4)) {
        let kinds = [ChangeKind::Add, ChangeKind::Delete, ChangeKind::Replace, ChangeKind::Increment];
        // Behind the name and the kind of change.
        let mut line = 3;
        let modification = |change| {
            let (kind, description, values): &(usize, String, Vec<Vec<u8>>) = change;
            let first = line + 1;
            line += values.len() as u64 + 2;
            let pair = |(line, value): (u64, &'_ Vec<u8>)| Pair { description, value: Cow::Owned(value.clone()), line };
            Modification { kind: kinds[*kind], description, values: (first..).zip(values).map(pair).collect() }
        };
        let body = Body::Modify(changes.iter().map(modification).collect());
        let record = Record { dn: Cow::Borrowed("cn=x"), controls: Vec::new(), body, line: 1 };
        let mut out = Vec::new();
        record.write(&mut out);
        let mut reader = LdifReader::new("x", &out[..]);
        prop_assert_eq!(reader.next_record().unwrap().unwrap(), record);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(dn|cn|add|changetype|modify|modrdn|control|newrdn|version|[:< \n#-]|1|é|=){0,40}") {
        let mut reader = LdifReader::new("x", text.as_bytes());
        for _ in 0..text.len() + 1 {
            match reader.next_record() {
                Ok(None) => return Ok(()),
                Ok(Some(record)) => record.write(&mut Vec::new()),
                Err(_) => {}
            }
        }
        prop_assert!(false, "the end is never reached");
    }
}

#[test]
fn what_is_written_in_one_line_or_in_base64_is_read_as_what_it_is() {
    let (long, mut out) = ("x".repeat(200), b"dn: dc=b\n".to_vec());
    for value in ["", "a", " a", long.as_str()] {
        write_unfolded(&mut out, "cn", value.as_bytes());
        write_encoded(&mut out, "sn", value.as_bytes());
    }
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains(&format!("cn: {long}\n")) && text.contains("sn:: YQ==\n") && !text.contains("sn: "),
        "{text}"
    );
    let mut reader = LdifReader::new("x", text.as_bytes());
    let Body::Entry(pairs) = reader.next_record().unwrap().unwrap().body else { panic!("{text}") };
    let values: Vec<&[u8]> = pairs.iter().map(|pair| &*pair.value).collect();
    assert_eq!(values, ["", "", "a", "a", " a", " a", &long, &long].map(str::as_bytes));
}
