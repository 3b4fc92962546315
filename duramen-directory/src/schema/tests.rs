use duramen_ldap::schema::{self as text, Builtin};

use super::*;

/// Everything that is built in, and more.
pub(crate) fn built_in(more: &str) -> Result<Schema, BindError> {
    let mut source = built_in_source();
    source.load("more.schema", more).unwrap();
    bind(source)
}

fn built_in_source() -> text::Schema {
    let mut source = text::Schema::default();
    for part in [
        Builtin::Core,
        Builtin::Cosine,
        Builtin::InetOrgPerson,
        Builtin::PasswordPolicy,
        Builtin::DynamicGroup,
        Builtin::Nis,
    ] {
        source.load_builtin(part);
    }
    source
}

/// With numbers in the order of the descriptions.
fn bind(source: text::Schema) -> Result<Schema, BindError> {
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
        (
            "attributetype ( 1.1.1 NAME 'x' SUP name EQUALITY nosuchMatch )",
            "its rule nosuchMatch is not known: name one that cn=subschema shows, or none",
        ),
        (
            "attributetype ( 1.1.1 NAME 'x' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
            "its rule integerMatch is for INTEGER, and its syntax is Directory String: name a rule for that",
        ),
        ("attributetype ( 1.1.1 NAME 'x' SUP name ORDERING integerOrderingMatch )", "its syntax is Directory String"),
        (
            "attributetype ( 1.1.1 NAME 'x' SYNTAX 1.1.2 )",
            "its syntax 1.1.2 is not known: name another, or describe it: ldapsyntax ( 1.1.2 DESC 'any value' )",
        ),
        ("ldapsyntax ( 1.1.2 X-SUBST '1.1.3' )", "its X-SUBST \"1.1.3\" is no syntax that is known"),
        ("attributetype ( 1.1.1 NAME 'x' SUP name NO-USER-MODIFICATION )", "its USAGE is not operational"),
        ("attributetype ( 1.1.1 NAME 'x' SUP name COLLECTIVE USAGE dSAOperation )", "its USAGE is operational"),
        ("attributetype ( 1.1.1 NAME 'x' SUP name COLLECTIVE SINGLE-VALUE )", "it is COLLECTIVE and SINGLE-VALUE"),
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
    for right in ["attributetype ( 1.1.1 NAME 'x_y-1' SUP name )", "objectclass ( 1.1.1 SUP top )"] {
        assert!(built_in(right).is_ok(), "{right}");
    }
}

/// What binding says of some files, loaded in their order behind what is built in.
fn refused(files: &[&str]) -> String {
    let mut source = built_in_source();
    for (n, text) in files.iter().enumerate() {
        source.load(&format!("{n}.schema"), text).unwrap();
    }
    bind(source).map(drop).unwrap_err().to_string()
}

#[test]
fn a_number_or_a_name_of_two_descriptions_is_refused_and_both_are_named() {
    let x = "attributetype ( 1.1.1 NAME ( 'x' 'y' ) SUP name )";
    for (text, says) in [
        (
            "\nattributetype ( 1.1.1 NAME 'z' SUP name )",
            "1.schema, line 2: z: its number 1.1.1 is that of x (0.schema, line 1): give it a number of its own",
        ),
        (
            "attributetype ( 1.1.2 NAME ( 'z' 'Y' ) SUP name )",
            "1.schema, line 1: z: the name Y is that of 1.1.1 (0.schema, line 1): give it a name of its own, or that number",
        ),
        (
            "attributetype ( 1.1.2 NAME 'mail' SUP name )",
            "1.schema, line 1: mail: the name mail is that of 0.9.2342.19200300.100.1.3 (built-in core): give it",
        ),
        (
            "objectclass ( 2.5.6.6 NAME 'human' SUP top )",
            "1.schema, line 1: human: its number 2.5.6.6 is that of person (built-in core): give it",
        ),
        (
            "nameform ( 1.1.3 NAME 'f' OC person MUST cn )\nnameform ( 1.1.4 NAME 'f' OC device MUST cn )",
            "1.schema, line 2: f: the name f is that of 1.1.3 (1.schema, line 1)",
        ),
        (
            "ditcontentrule ( 2.5.6.6 NAME 'r' )\n\nditcontentrule ( 2.5.6.6 NAME 's' )",
            "1.schema, line 3: s: there is a content rule for its class already: 1.schema, line 1",
        ),
        (
            "objectclass ( 1.1.5 NAME 'c' SUP top )\nobjectclass ( 1.1.5 NAME 'c' SUP top MUST cn )",
            "1.schema, line 2: c: it is there already, and not the same (1.schema, line 1): leave one of the two out",
        ),
    ] {
        let error = refused(&[x, text]);
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn what_repeats_a_description_takes_its_place() {
    let mut source = built_in_source();
    for (file, text) in [
        ("a", "attributetype ( 2.5.4.3 NAME ( 'commonName' 'cn' ) DESC 'x' SUP name SINGLE-VALUE )"),
        ("b", "attributetype ( 1.1.1 NAME 'x' SUP name )\nobjectclass ( 1.1.1 NAME 'x' AUXILIARY )"),
        ("b", "attributetype ( 1.1.1 NAME 'x' SUP name )\nattributetype ( 1.1.2 SUP name )"),
        ("c", "attributetype ( 1.1.1 NAME ( 'z' 'X' ) SUP cn )\nattributetype ( 1.1.2 SUP cn )"),
    ] {
        source.load(file, text).unwrap();
    }
    let schema = bind(source).unwrap();
    assert!(schema.find("cn").unwrap().single_value);
    assert_eq!(schema.find("x").unwrap().name, "z");
    assert_eq!(schema.find("1.1.2").unwrap().superior, Some(schema.find("cn").unwrap().id));
    assert_eq!(schema.attributes().filter(|found| found.oid == "2.5.4.3").count(), 1);
}

#[test]
fn names_of_the_draft_about_password_policies_are_left_to_files_that_have_them_for_something_else() {
    let samba = "attributetype ( 1.3.6.1.4.1.7165.2.1.9 NAME 'pwdMustChange' EQUALITY integerMatch \
                 SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )";
    let schema = built_in(samba).unwrap();
    assert_eq!(schema.find("PwdMustChange").unwrap().oid, "1.3.6.1.4.1.7165.2.1.9");
    assert_eq!(schema.find("1.3.6.1.4.1.42.2.27.8.1.13").unwrap().name, "1.3.6.1.4.1.42.2.27.8.1.13");
    // What repeats the draft does not.
    let again = "attributetype ( 1.3.6.1.4.1.42.2.27.8.1.13 NAME 'pwdMustChange' SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 )";
    assert_eq!(built_in(again).unwrap().find("pwdMustChange").unwrap().oid, "1.3.6.1.4.1.42.2.27.8.1.13");
}

#[test]
fn a_syntax_that_a_file_describes_has_the_values_of_its_substitute() {
    let schema = built_in(
        "ldapsyntax ( 1.1.1 X-SUBST '1.3.6.1.4.1.1466.115.121.1.27' )\nldapsyntax ( 1.1.2 X-SUBST '1.1.1' )\n\
         ldapsyntax ( 1.1.3 )\nattributetype ( 1.1.4 NAME 'x' EQUALITY integerMatch SYNTAX 1.1.2 )\n\
         attributetype ( 1.1.5 NAME 'y' EQUALITY octetStringMatch SYNTAX 1.1.3 )",
    );
    let schema = schema.unwrap();
    let syntax = |name: &str| schema.find(name).unwrap().syntax;
    assert!(syntax("x").unwrap().check(b"1").is_ok() && syntax("x").unwrap().check(b"a").is_err());
    assert!(syntax("y").is_none());
    let shown = &schema.subschema().iter().find(|(name, _)| *name == "ldapSyntaxes").unwrap().1;
    let described = "( 1.1.2 DESC 'not known here' X-SUBST '1.1.1' )";
    assert!(shown.iter().any(|text| text == described), "{shown:?}");
}

#[test]
fn every_schema_file_that_slapd_ships_is_taken() {
    const NAMES: [&str; 15] = [
        "collective",
        "corba",
        "core",
        "cosine",
        "dsee",
        "duaconf",
        "dyngroup",
        "inetorgperson",
        "java",
        "misc",
        "msuser",
        "namedobject",
        "nis",
        "openldap",
        "pmi",
    ];
    for kind in ["schema", "ldif"] {
        let mut source = built_in_source();
        for name in NAMES {
            let path = format!("/etc/ldap/schema/{name}.{kind}");
            source.load(&path, &std::fs::read_to_string(&path).expect("slapd is installed")).unwrap();
        }
        bind(source).unwrap();
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
    let more = "ldapsyntax ( 1.1.2 X-SUBST '1.3.6.1.4.1.1466.115.121.1.27' )\n\
                matchingrule ( 1.1.3 NAME 'noSuchMatch' SYNTAX 1.1.2 )\n\
                attributetype ( 1.1.1 NAME 'x' EQUALITY nosuchmatch SUBSTR 1.1.3 SYNTAX 1.1.2 )";
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
