use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> LdapUrl {
    LdapUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fails(text: &str) -> (usize, &'static str) {
    let error = LdapUrl::parse(text).expect_err(text);
    (error.offset, error.expected)
}

#[test]
fn the_examples_of_rfc4516_4_are_taken_apart() {
    let url = parsed("ldap://ldap1.example.net/o=University%20of%20Michigan,c=US?postalAddress");
    assert_eq!((url.host.as_deref(), &url.dn[..]), (Some("ldap1.example.net"), "o=University of Michigan,c=US"));
    assert_eq!(url.attributes, ["postalAddress"]);
    let url = parsed("ldap://ldap1.example.net:6666/o=University%20of%20Michigan,c=US??sub?(cn=Babs%20Jensen)");
    assert_eq!((url.port, url.scope, url.attributes.len()), (Some(6666), Some(Scope::Subtree), 0));
    assert_eq!(url.filter.unwrap().to_string(), "(cn=Babs Jensen)");
    assert_eq!(parsed("LDAP://ldap1.example.com/c=GB?objectClass?ONE").scope, Some(Scope::One));
    assert_eq!(parsed("ldap://ldap2.example.com/o=Question%3f,c=US?mail").dn, "o=Question?,c=US");
    let url = parsed("ldap://ldap3.example.com/o=Babsco,c=US???(four-octet=%5c00%5c00%5c00%5c04)");
    assert_eq!(url.filter.unwrap().to_string(), "(four-octet=\\00\\00\\00\\04)");
    assert_eq!(parsed("ldap://ldap.example.com/o=An%20Example%5C2C%20Inc.,c=US").dn, "o=An Example\\2C Inc.,c=US");
    let url = parsed("ldap:///??sub??!e-bindname=cn=Manager%2cdc=example%2cdc=com");
    let [extension] = &url.extensions[..] else { panic!() };
    assert_eq!((extension.critical, &extension.kind[..]), (true, "e-bindname"));
    assert_eq!(extension.value.as_deref(), Some("cn=Manager,dc=example,dc=com"));
}

#[test]
fn hosts_have_many_forms_rfc3986_3_2_2() {
    assert_eq!(parsed("ldap://").host, None);
    assert_eq!(parsed("ldap://[::1]:389/").host.as_deref(), Some("::1"));
    assert_eq!(parsed("ldaps://a").scheme, Scheme::Ldaps);
    assert_eq!(parsed("ldapi://%2Fvar%2Frun%2Fldapi/dc=x").host.as_deref(), Some("/var/run/ldapi"));
    assert_eq!(parsed("ldap://a:").port, None);
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(fails("http://a"), (0, "ldap://, ldaps:// or ldapi://"));
    assert_eq!(fails("ldap:/a").0, 0);
    assert_eq!(fails("ldap://a:70000/"), (9, "a port of 0 to 65535"));
    assert_eq!(fails("ldap://[::1/"), (7, "']' behind an IPv6 address"));
    assert_eq!(fails("ldap://a/cn"), (11, "'='"));
    for (word, scope) in [("ONELEVEL", Scope::One), ("subtree", Scope::Subtree), ("children", Scope::Subordinates)] {
        assert_eq!(parsed(&format!("ldap:///dc=a??{word}")).scope, Some(scope));
    }
    assert_eq!(fails("ldap://a/??all"), (11, "base, one, sub or subordinate"));
    assert_eq!(fails("ldap://a/???(cn=a"), (17, "')'"));
    assert_eq!(fails("ldap://a/?a,,b"), (12, "an attribute description"));
    assert_eq!(fails("ldap://a/????x?y"), (15, "the end of the URL"));
    assert_eq!(fails("ldap://a/dc=%4"), (12, "two hex digits behind the percent sign"));
    assert_eq!(fails("ldap://a/????!=b"), (13, "an extension"));
}

#[test]
fn files_of_this_machine_have_a_path_rfc8089_2() {
    for url in ["file:///etc/a%20b", "file://localhost/etc/a%20b", "FILE:/etc/a%20b"] {
        assert_eq!(file_path(url).as_deref(), Ok("/etc/a b"), "{url}");
    }
    let fails = |url| file_path(url).map_err(|error| (error.offset, error.expected)).unwrap_err();
    assert_eq!(fails("http://a/b"), (0, "file:///, and a path"));
    assert_eq!(fails("file"), (0, "file:///, and a path"));
    assert_eq!(fails("file://far.example/b").0, 7);
    assert_eq!(fails("file://").0, 7);
    assert_eq!(fails("file:b"), (5, "'/' and the rest of an absolute path"));
    assert_eq!(fails("file:///a%4"), (9, "two hex digits behind the percent sign"));
}

#[test]
fn what_was_written_with_percent_signs_is_written_so_again() {
    for url in ["ldap://[fe80::1%25eth0]:389", "ldap://[a:%5D]", "ldap:///????%21a=b,a%3Db=c"] {
        assert_eq!(parsed(url).to_string(), url);
    }
}

proptest! {
    #[test]
    fn urls_come_back(
        host in prop::option::of("[a-z.]{1,5}|::[0-9a-f]{1,4}"),
        port: Option<u16>,
        value in "[ -~é]{0,8}",
        attributes in prop::collection::vec("[a-z;?,%é]{1,4}", 0..3),
        scope in prop::option::of(prop_oneof![Just(Scope::Base), Just(Scope::One), Just(Scope::Subtree), Just(Scope::Subordinates)]),
        filter in prop::option::of(crate::filter::tests::any_filter()),
        extension in prop::option::of((any::<bool>(), "[a-z,=?]{1,4}", prop::option::of("[ -~]{0,5}"))),
    ) {
        let mut dn = String::new();
        crate::dn::write_ava(&mut dn, "cn", value.as_bytes()).unwrap();
        // An equals sign ends the extension's name.
        let extensions = extension.into_iter().map(|(critical, kind, value)| Extension { critical, kind: kind.replace('=', ""), value })
            .filter(|extension| !extension.kind.is_empty()).collect();
        let url = LdapUrl { scheme: Scheme::Ldap, host, port, dn, attributes, scope, filter, extensions };
        let text = url.to_string();
        prop_assert_eq!(LdapUrl::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?, url);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "ldap(s|i)?://[a\\[\\]:1/?%2é,=()!*]{0,20}") {
        let _ = LdapUrl::parse(&text);
    }
}
