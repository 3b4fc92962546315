use duramen_ldap::schema::{self as text, Builtin};

use super::*;

/// Everything that is built in, with numbers in the order of the descriptions.
pub(crate) fn built_in(more: &str) -> Result<Schema, BindError> {
    let mut source = text::Schema::default();
    for part in [Builtin::Core, Builtin::Cosine, Builtin::InetOrgPerson, Builtin::PasswordPolicy, Builtin::Nis] {
        source.load_builtin(part);
    }
    source.load("more.schema", more).unwrap();
    let mut next = 0;
    Schema::bind(source, |_| {
        next += 1;
        Some(next)
    })
}

#[test]
fn a_type_is_found_by_every_name_and_its_number_rfc4512_2_5() {
    let schema = built_in("").unwrap();
    for name in ["cn", "CN", "commonName", "2.5.4.3"] {
        assert_eq!(schema.find(name).map(|found| found.name.as_str()), Some("cn"), "{name}");
    }
    assert!(schema.find("cn;lang-de").is_none());
    assert!(schema.find(&"x".repeat(1000)).is_none());
}

#[test]
fn a_type_stands_for_its_kinds_and_has_what_its_superior_has_rfc4512_2_5_1() {
    let schema = built_in("").unwrap();
    let (name, cn, c) = (schema.find("name").unwrap(), schema.find("cn").unwrap(), schema.find("c").unwrap());
    assert!(name.family.contains(&cn.id) && name.family.contains(&c.id) && name.family[0] == name.id);
    assert_eq!(cn.equality.unwrap().name, "caseIgnoreMatch");
    assert_eq!(c.syntax.unwrap().name, "Country String");
}

#[test]
fn a_class_has_what_its_superiors_have_rfc4512_2_4() {
    let schema = built_in("").unwrap();
    let person = schema.find_class("inetOrgPerson").unwrap();
    let has = |name: &str| person.allows(&schema, schema.find(name).unwrap().id);
    assert!(has("sn") && has("ou") && has("mail") && has("objectClass") && !has("uidNumber"));
    assert!(person.is_a(schema.find_class("top").unwrap().id));
}

#[test]
fn what_is_not_defined_is_named_with_its_line() {
    let text = "\nattributetype ( 1.1.1 NAME 'x' SUP y )";
    let error = built_in(text).unwrap_err().to_string();
    assert_eq!(error, "more.schema, line 2: x: its superior y is not defined: load the file that has it first");
    let error = built_in("objectclass ( 1.1.2 NAME 'x' MUST z )").unwrap_err().to_string();
    assert_eq!(error, "more.schema, line 1: x: its attribute type z is not defined: load the file that has it first");
    let text = "attributetype ( 1.1.1 NAME 'x' SUP y )\nattributetype ( 1.1.2 NAME 'y' SUP x )";
    assert!(built_in(text).unwrap_err().to_string().contains("is a kind of it"));
}

#[test]
fn what_cannot_be_meant_is_refused_rfc4512_2_4_and_4_1() {
    for (text, what) in [
        (
            "attributetype ( 1.1.1 NAME 'x' SUP distinguishedName EQUALITY dnSubtreeMatch )",
            "no rule that says which values are equal",
        ),
        ("attributetype ( 1.1.1 NAME 'x' SUP name ORDERING caseIgnoreMatch )", "no rule that orders values"),
        ("attributetype ( 1.1.1 NAME 'x' SUP name SUBSTR 2.5.13.2 )", "2.5.13.2 is no rule that is about substrings"),
        ("attributetype ( 1.1.1 NAME ( 'x' 'a b' ) SUP name )", "its name \"a b\" is not"),
        ("objectclass ( 1.1.1 NAME '' AUXILIARY )", "its name \"\" is not"),
        ("objectclass ( 1.1.1 NAME '1x' AUXILIARY )", "its name \"1x\" is not"),
        (
            "objectclass ( 1.1.1 NAME 'x' SUP person AUXILIARY )",
            "it is AUXILIARY, and its superior person is STRUCTURAL",
        ),
        ("objectclass ( 1.1.1 NAME 'x' SUP person ABSTRACT )", "it is ABSTRACT, and its superior person is STRUCTURAL"),
        ("objectclass ( 1.1.1 NAME 'x' SUP dcObject )", "it is STRUCTURAL, and its superior dcObject is AUXILIARY"),
    ] {
        let error = built_in(text).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("more.schema, line 1: ") && error.contains(what), "{error}");
    }
    for right in ["attributetype ( 1.1.1 NAME 'x_y-1' SUP name EQUALITY nosuchMatch )", "objectclass ( 1.1.1 SUP top )"]
    {
        assert!(built_in(right).is_ok(), "{right}");
    }
}

#[test]
fn names_are_normalized_by_the_equality_rules_of_their_types_rfc4514() {
    let schema = built_in("").unwrap();
    let mut normalized = String::new();
    let name = "CommonName=  Barbara   JENSEN + UID=B, 2.5.4.10=Ex\\2C ample";
    duramen_ldap::dn::Dn::parse(name).unwrap().normalize(&schema, &mut normalized).unwrap();
    assert_eq!(normalized, "cn=barbara jensen+uid=b,o=ex\\, ample");
    normalized.clear();
    let name = "UIDNumber=-007+gidNumber=00,cn=x";
    duramen_ldap::dn::Dn::parse(name).unwrap().normalize(&schema, &mut normalized).unwrap();
    assert_eq!(normalized, "gidnumber=0+uidnumber=-7,cn=x", "numbers as people write them");
}

#[test]
fn the_subschema_shows_every_description_rfc4512_4_2() {
    let schema = built_in("").unwrap();
    let values = |name: &str| &schema.subschema().iter().find(|(found, _)| *found == name).unwrap().1;
    assert!(values("attributeTypes").iter().any(|text| text.starts_with("( 2.5.4.3 NAME ( 'cn' 'commonName' )")));
    assert!(values("objectClasses").iter().any(|text| text.contains("'inetOrgPerson'")));
    assert!(values("matchingRuleUse").iter().any(|text| text.contains("caseIgnoreMatch")));
    let binary = "( 1.3.6.1.4.1.1466.115.121.1.8 DESC 'Certificate' X-BINARY-TRANSFER-REQUIRED 'TRUE' X-NOT-HUMAN-READABLE 'TRUE' )";
    assert!(values("ldapSyntaxes").iter().any(|text| text == binary));
}

/// Clients that load a schema look up whatever it names.
#[test]
fn the_subschema_names_nothing_that_it_does_not_show_rfc4512_4_2() {
    let more = "attributetype ( 1.1.1 NAME 'x' EQUALITY noSuchMatch SUBSTR alsoNoSuchMatch SYNTAX 1.1.2 )";
    let schema = built_in(more).unwrap();
    let values = |name: &str| &schema.subschema().iter().find(|(found, _)| *found == name).unwrap().1;
    let mut shown = text::Schema::default();
    for (name, keyword) in
        [("ldapSyntaxes", "ldapsyntax"), ("matchingRules", "matchingrule"), ("attributeTypes", "attributetype")]
    {
        for description in values(name) {
            shown.load("subschema", &format!("{keyword} {description}")).unwrap();
        }
    }
    for kind in &shown.attribute_types {
        let is_shown = |syntax: &String| shown.syntaxes.iter().any(|of| of.item.definition.oid == *syntax);
        assert!(kind.item.syntax.iter().all(is_shown), "{}", kind.item);
        let rules = [&kind.item.equality, &kind.item.ordering, &kind.item.substrings].into_iter().flatten();
        for rule in rules {
            assert!(shown.matching_rules.iter().any(|of| of.item.definition.is(rule)), "{}", kind.item);
        }
    }
}
