use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> FilterBuf {
    FilterBuf::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fails(text: &str) -> (usize, &'static str) {
    let error = FilterBuf::parse(text).expect_err(text);
    (error.offset, error.expected)
}

#[test]
fn the_examples_of_rfc4515_4_come_back() {
    for text in [
        "(cn=Babs Jensen)",
        "(!(cn=Tim Howes))",
        "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))",
        "(o=univ*of*mich*)",
        "(seeAlso=)",
        "(cn:caseExactMatch:=Fred Flintstone)",
        "(cn:=Betty Rubble)",
        "(sn:dn:2.4.6.8.10:=Barney Rubble)",
        "(o:dn:=Ace Industry)",
        "(:1.2.3:=Wilma Flintstone)",
        "(:dn:2.4.6.8.10:=Dino)",
        "(o=Parens R Us \\28for all your parenthetical needs\\29)",
        "(cn=*\\2a*)",
        "(filename=C:\\5cMyFile)",
        "(bin=\\00\\00\\00\\04)",
        "(sn=Lučić)",
        "(a>=1)",
        "(a<=1)",
        "(a~=1)",
        "(cn;lang-de=*)",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
    assert_eq!(parsed("(sn=Lu\\c4\\8di\\c4\\87)").to_string(), "(sn=Lučić)");
    assert_eq!(parsed("(1.3.6.1.4.1.1466.0=\\04\\02\\48\\69)").to_string(), "(1.3.6.1.4.1.1466.0=\\04\\02Hi)");
}

#[test]
fn empty_and_or_are_true_and_false_rfc4526_2() {
    assert_eq!(parsed("(&)").as_filter().node(), Node::And(List::default()));
    assert_eq!(parsed("(|)").as_filter().node(), Node::Or(List::default()));
}

#[test]
fn the_encoding_of_a_substrings_filter_rfc4511_4_5_1_7_2() {
    let filter = parsed("(cn=a*b*c)");
    let expected = b"\xA4\x0F\x04\x02cn\x30\x09\x80\x01a\x81\x01b\x82\x01c";
    assert_eq!(filter.as_filter().encoded(), expected);
    let Node::Substrings(substrings) = filter.as_filter().node() else { panic!() };
    let pieces: Vec<_> = substrings.pieces.iter().collect();
    assert_eq!(pieces, [Substring::Initial(b"a"), Substring::Any(b"b"), Substring::Final(b"c")]);
}

#[test]
fn presence_is_an_asterisk_alone() {
    assert_eq!(parsed("(cn=*)").as_filter().node(), Node::Present("cn"));
    assert_eq!(fails("(cn=**)"), (4, "a substring beside '*'"));
}

#[test]
fn parentheses_around_all_and_spaces_between_may_vary() {
    assert_eq!(parsed("cn=Babs").to_string(), "(cn=Babs)");
    assert_eq!(parsed(" (& (a=b)\n (!  (c= d )) ) ").to_string(), "(&(a=b)(!(c= d )))");
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(fails("(cn=a"), (5, "')'"));
    assert_eq!(fails("(cn)"), (3, "'=', '>=', '<=', '~=' or ':='"));
    assert_eq!(fails("(cn=a\\2)"), (5, "two hex digits behind the backslash"));
    assert_eq!(fails("(&(a=b)c=d)"), (7, "'(' or ')'"));
    assert_eq!(fails("(!(a=b)(c=d))"), (7, "'(' or ')'"));
    assert_eq!(fails("(=a)"), (1, "an attribute description"));
    assert_eq!(fails("(:dn:=a)"), (1, "an attribute description or a matching rule"));
    assert_eq!(fails("(a>=b*)"), (5, "'\\2a' for an asterisk in a value"));
    assert_eq!(fails("(a=b))"), (5, "the end of the filter"));
    assert_eq!(fails(""), (0, "an attribute description"));
}

#[test]
fn nesting_is_limited_in_text_and_in_messages() {
    let nested = |depth: usize| format!("{}(a=b){}", "(!".repeat(depth - 1), ")".repeat(depth - 1));
    let deepest = parsed(&nested(DEPTH_MAX));
    assert_eq!(deepest.as_filter().depth(), DEPTH_MAX);
    assert_eq!(parsed("(&(a=b)(|(c=d)(!(e=f)))(g=h))").as_filter().depth(), 4);
    assert_eq!(Filter::decode(deepest.as_filter().encoded()).unwrap(), deepest.as_filter());
    assert_eq!(fails(&nested(DEPTH_MAX + 1)).1, "a filter nested less deeply");
    let deeper = FilterBuf::new(&Node::Not(deepest.as_filter()));
    let error = Filter::decode(deeper.as_filter().encoded()).unwrap_err();
    assert_eq!(error.expected, "a filter nested less deeply");
}

#[test]
fn what_is_no_filter_is_refused_with_its_place() {
    let error = |bytes: &[u8]| {
        let error = Filter::decode(bytes).unwrap_err();
        (error.offset, error.expected)
    };
    assert_eq!(error(b"\x04\x00"), (0, "a filter, with a tag of its own"));
    assert_eq!(error(b"\xA0\x02\x83\x00"), (2, "a filter, with a tag of its own"));
    assert_eq!(error(b"\xBF\x00").1, "a tag of one byte");
    assert_eq!(error(b"\xA2\x04\x87\x00\x87\x00"), (4, "one filter within NOT"));
    assert_eq!(error(b"\xA4\x06\x04\x02cn\x30\x00"), (8, "a substring"));
    assert_eq!(error(b"\xA4\x0A\x04\x02cn\x30\x04\x82\x00\x81\x00").1, "a final substring in the last place only");
    assert_eq!(error(b"\xA9\x03\x83\x01a"), (2, "a matching rule or an attribute description"));
}

#[test]
fn filters_of_unknown_kinds_are_taken_as_they_are_rfc4511_4_5_1_7() {
    for bytes in [&b"\xAA\x00"[..], b"\x8A\x03abc", b"\xBE\x02\x04\x00"] {
        let filter = Filter::decode(bytes).unwrap();
        assert_eq!(filter.node(), Node::Unknown(bytes[0], &bytes[2..]));
        assert_eq!((filter.to_string().as_str(), filter.depth()), ("(?=undefined)", 1));
        assert_eq!(FilterBuf::new(&filter.node()).as_filter(), filter);
    }
    let within = Filter::decode(b"\xA0\x07\x87\x02cn\xAB\x01x").unwrap();
    assert_eq!(within.to_string(), "(&(cn=*)(?=undefined))");
}

#[test]
fn of_trusted_garbage_nothing_matches() {
    assert_eq!(Filter::trusted(b"\x30\x05x").node(), Node::Or(List::default()));
}

/// Filters of any shape, as encodings.
pub(crate) fn any_filter() -> impl Strategy<Value = FilterBuf> {
    let description = "[a-z][a-zA-Z0-9-]{0,6}(;lang-[a-z]{2})?";
    let value = || prop::collection::vec(any::<u8>(), 0..8);
    let leaf = (0..7u8, description, value(), prop::collection::vec(any::<u8>(), 1..4), any::<[bool; 3]>()).prop_map(
        |(kind, description, value, piece, flags)| {
            let description = description.as_str();
            let assertion = Assertion { description, value: &value };
            let mut buffer = Vec::new();
            FilterBuf::new(&match kind {
                0 => Node::Equality(assertion),
                1 => Node::GreaterOrEqual(assertion),
                2 => Node::LessOrEqual(assertion),
                3 => Node::Approx(assertion),
                4 => Node::Present(description),
                5 => {
                    let all = [Substring::Initial(&piece), Substring::Any(&piece), Substring::Final(&piece)];
                    let chosen = all.into_iter().zip(flags).filter(|(_, chosen)| *chosen).map(|(piece, _)| piece);
                    let mut pieces: Vec<_> = chosen.collect();
                    if pieces.is_empty() {
                        pieces.push(Substring::Any(&piece));
                    }
                    Node::Substrings(Substrings { description, pieces: List::build(&mut buffer, pieces) })
                }
                _ => Node::Extensible(Extensible {
                    rule: flags[0].then_some("caseIgnoreMatch"),
                    description: (flags[1] || !flags[0]).then_some(description),
                    value: &value,
                    dn_attributes: flags[2],
                }),
            })
        },
    );
    leaf.prop_recursive(5, 24, 4, |inner| {
        (0..3u8, prop::collection::vec(inner, 0..4)).prop_map(|(kind, filters)| {
            let mut buffer = Vec::new();
            let list = List::build(&mut buffer, filters.iter().map(FilterBuf::as_filter));
            FilterBuf::new(&match (kind, filters.first()) {
                (0, _) => Node::And(list),
                (1, Some(first)) => Node::Not(first.as_filter()),
                _ => Node::Or(list),
            })
        })
    })
}

proptest! {
    #[test]
    fn filters_come_back_from_text_and_from_bytes(filter in any_filter()) {
        prop_assert_eq!(Filter::decode(filter.as_filter().encoded()).unwrap(), filter.as_filter());
        let text = filter.to_string();
        prop_assert_eq!(FilterBuf::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?, filter);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[ -~(&|!)=*:\\\\é\u{0}]{0,40}") {
        if let Ok(filter) = FilterBuf::parse(&text) {
            prop_assert_eq!(Filter::decode(filter.as_filter().encoded()).unwrap(), filter.as_filter());
        }
    }

    #[test]
    fn no_bytes_make_the_check_panic(bytes in prop::collection::vec(prop_oneof![0xA0..0xABu8, any::<u8>(), 0..9u8], 0..40)) {
        if let Ok(filter) = Filter::decode(&bytes) {
            let _ = filter.to_string();
        }
    }
}
