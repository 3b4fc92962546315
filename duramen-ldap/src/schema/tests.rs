use proptest::prelude::*;

use super::*;

fn parse<T: Description>(text: &str) -> T {
    T::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn comes_back<T: Description>(text: &str) {
    assert_eq!(parse::<T>(text).to_string(), text);
}

fn fails<T: Description + std::fmt::Debug>(text: &str) -> (usize, &'static str) {
    let error = T::parse(text).expect_err(text);
    (error.offset, error.expected)
}

/// What [`Schema::load`] says against a file called "x".
fn refused(text: &str) -> String {
    Schema::default().load("x", text).expect_err(text).to_string()
}

#[test]
fn descriptions_of_all_kinds_come_back_rfc4512_4_1() {
    comes_back::<ObjectClass>(
        "( 2.5.6.6 NAME 'person' SUP top STRUCTURAL MUST ( sn $ cn ) MAY ( userPassword $ seeAlso ) )",
    );
    comes_back::<AttributeType>(
        "( 2.5.4.3 NAME ( 'cn' 'commonName' ) DESC 'it\\27s \\5C' SUP name X-ORIGIN ( 'a' 'b' ) )",
    );
    comes_back::<AttributeType>(
        "( 1.2.3 NAME 'x' OBSOLETE EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch SUBSTR caseIgnoreSubstringsMatch \
         SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{64} SINGLE-VALUE COLLECTIVE NO-USER-MODIFICATION USAGE dSAOperation )",
    );
    comes_back::<MatchingRule>("( 2.5.13.2 NAME 'caseIgnoreMatch' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )");
    comes_back::<MatchingRuleUse>("( 2.5.13.16 NAME 'bitStringMatch' APPLIES ( givenName $ surname ) )");
    comes_back::<LdapSyntax>("( 1.3.6.1.4.1.1466.115.121.1.15 DESC 'Directory String' )");
    comes_back::<DitContentRule>("( 2.5.6.4 DESC 'x' AUX ( a $ b ) MUST c MAY ( d $ e ) NOT f )");
    comes_back::<NameForm>("( 1.2.3 NAME 'x' OC person MUST cn MAY sn )");
    comes_back::<DitStructureRule>("( 2 DESC 'x' FORM y SUP ( 1 2 ) )");
}

#[test]
fn what_files_in_use_have_is_taken() {
    let attribute: AttributeType = parse("(1.2.3 syntax '1.2.4' NAME x sup name)");
    assert_eq!(attribute.to_string(), "( 1.2.3 NAME 'x' SUP name SYNTAX 1.2.4 )");
    let class: ObjectClass = parse("( 1.2 NAME 'x' MUST ( a b$c ) DESC 'C:\\dir' )");
    assert_eq!(class.must, ["a", "b", "c"]);
    assert_eq!(class.definition.description.as_deref(), Some("C:\\dir"));
    assert_eq!(class.kind, ClassKind::Structural);
    assert!(class.definition.is("X") && class.definition.is("1.2") && !class.definition.is("y"));
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(fails::<ObjectClass>("( top NAME 'x' )"), (2, "an OID, or a defined name of one"));
    assert_eq!(fails::<ObjectClass>("( 1.2 NAME 'x )"), (11, "a closing quote"));
    assert_eq!(fails::<ObjectClass>("( 1.2 NAME 'x' "), (15, "')'"));
    assert_eq!(fails::<ObjectClass>("( 1.2 MUST a MUST b )"), (13, "each keyword once"));
    assert_eq!(fails::<ObjectClass>("( 1.2 SYNTAX 1.2 )"), (6, "a keyword that object classes have"));
    assert_eq!(
        fails::<ObjectClass>("( 1.2 ABSTRACT AUXILIARY )").1,
        "one of ABSTRACT, STRUCTURAL and AUXILIARY in the object class"
    );
    assert_eq!(fails::<AttributeType>("( 1.2 NAME 'x' )"), (2, "SUP or SYNTAX in the attribute type"));
    assert_eq!(fails::<AttributeType>("( 1.2 SYNTAX 1.2{x} )").0, 13);
    assert_eq!(fails::<AttributeType>("( 1.2 SUP a USAGE user )").0, 18);
    assert_eq!(fails::<AttributeType>("( 1.2 SUP ( a b ) )"), (6, "one value of this keyword"));
    assert_eq!(fails::<MatchingRule>("( 1.2 )"), (6, "SYNTAX in the matching rule"));
    assert_eq!(fails::<DitStructureRule>("( 1.2 FORM x )"), (2, "the number of the rule"));
    assert_eq!(fails::<LdapSyntax>("( 1.2 ) x"), (8, "the end of the description"));
    assert_eq!(fails::<LdapSyntax>("( 01.2 )").0, 2);
    assert_eq!(fails::<ObjectClass>("( 1.2 MUST ( a $ 'b c' ) )"), (17, "a name or an OID"));
}

#[test]
fn names_in_place_of_numbers_as_netscapes_servers_have_them_are_numbers_made_of_them() {
    let oid = |text: &str| AttributeType::parse(text).unwrap().definition.oid;
    let made = oid("( nsCertfile-oid NAME 'nsCertfile' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )");
    // A UUID of version 8.
    let number: u128 = made.strip_prefix("2.25.").unwrap().parse().unwrap();
    assert_eq!(((number >> 76) & 0xf, (number >> 62) & 0x3), (8, 2));
    assert_eq!(made, "2.25.53161152696522502446805795558858763383", "always this one");
    assert_eq!(oid("( NSCERTFILE-OID NAME 'nsCertfile' SUP name )"), made);
    assert_ne!(oid("( nsKeyfile-oid NAME 'nsKeyfile' SUP name )"), made);
    for word in ["-oid", "1a-oid", "a_b-oid", "a-oid2", "oid"] {
        assert_eq!(fails::<AttributeType>(&format!("( {word} NAME 'x' SUP name )")).0, 2, "{word}");
    }
}

#[test]
fn schema_files_have_macros_comments_and_continued_lines() {
    let text = "# comment\n that goes on\nobjectIdentifier Base 1.2.3\nobjectidentifier AT Base:1\r\n\n\
                attributetype ( AT:7\n\tNAME 'a'\n# in between\n\n  SUP name )\nobjectclass(Base:2.1 NAME 'c'\n MAY a )\n\
                ldapsyntax ( 1.9 )\nattributetype ( AT NAME 'b' SYNTAX Base:5{9} )";
    let mut schema = Schema::default();
    schema.load("x", text).unwrap();
    let attributes: Vec<_> = schema.attribute_types.iter().map(|a| (a.item.to_string(), a.line)).collect();
    assert_eq!(attributes[0], ("( 1.2.3.1.7 NAME 'a' SUP name )".to_string(), 6));
    assert_eq!(attributes[1], ("( 1.2.3.1 NAME 'b' SYNTAX 1.2.3.5{9} )".to_string(), 14));
    assert_eq!(schema.object_classes[0].item.definition.oid, "1.2.3.2.1");
    assert_eq!(schema.syntaxes.len(), 1);
    schema.load("y", "\u{FEFF}attributetype ( Base:8 NAME 'd' SUP name )").unwrap();
    assert_eq!(&*schema.attribute_types[2].file, "y");
    schema.load("dsee.schema", "attributeype ( 1.5\n\tNAME 'e' SUP name )").unwrap();
    assert_eq!(schema.attribute_types[3].item.definition.names, ["e"]);
}

#[test]
fn errors_in_files_say_file_and_line() {
    assert_eq!(
        refused("\n\nattributetype ( 1.2\n  NAME 'x'\n  SUPER y )"),
        "x, line 5: expected a keyword that attribute types have"
    );
    assert_eq!(refused("attributetype ( 1.2\n  NAME 'x'\n\n\nobjectclass ( 1.3 )"), "x, line 2: expected ')'");
    assert_eq!(refused("# a\nfoo ( 1.2 )").split(": ").next(), Some("x, line 2"));
    assert_eq!(refused("objectidentifier a b").split(": ").next(), Some("x, line 1"));
    assert_eq!(refused("( 1.2 )"), "x, line 1: expected a statement");
    let says = "x, line 2: expected LF or CR LF at the end of the line: a CR alone ends none";
    assert_eq!(refused("\n# a comment\rattributetype ( 1.2 NAME 'x' SUP y )\r"), says);
}

#[test]
fn schema_of_a_server_configuration_is_read_from_ldif() {
    let text = "# AUTO-GENERATED\ndn: cn={4}x\nobjectClass: olcSchemaConfig\nolcObjectIdentifier: {0}B 1.2.3\n\
                olcAttributeTypes: {0}( B:1 NAME 'a' SU\n P name )\nolcObjectClasses: {0}( 1.5 NAME 'c' )\n\n\
                dn: cn=schema\nattributeTypes: ( 1.6 SUP name )\n";
    let mut schema = Schema::default();
    schema.load("x.ldif", text).unwrap();
    assert_eq!(schema.attribute_types[0].item.to_string(), "( 1.2.3.1 NAME 'a' SUP name )");
    assert_eq!(schema.attribute_types.len() + schema.object_classes.len(), 3);
    // What slapd has compiled into it are its own affairs, but for short forms of numbers.
    let compiled = "dn: cn=Schema,cn=config\nolcObjectIdentifier: O 1.2.9\nolcAttributeTypes: ( 1.7 NAME 'own' EQUALITY no )\n\n\
                    dn: cn={0}x,cn=schema,cn=config\nolcAttributeTypes: {0}( O:1 NAME 'b' SUP name )\n";
    let mut schema = Schema::default();
    schema.load("x.ldif", compiled).unwrap();
    let types: Vec<String> = schema.attribute_types.iter().map(|kind| kind.item.to_string()).collect();
    assert_eq!(types, ["( 1.2.9.1 NAME 'b' SUP name )"]);
    assert_eq!(refused("dn: cn=x\nolcObjectClasses: ( 1.2 FOO )"), "x, line 2: at byte 10: expected a value");
    assert_eq!(refused("dn: cn=x\nfoo"), "x, line 2: expected an attribute description and a colon");
}

/// MIT's kerberos.ldif is one, and so are those that Samba and FreeRADIUS have for other servers.
#[test]
fn schema_of_changes_is_read_from_ldif() {
    let text = "dn: cn=schema\nchangetype: modify\nadd: attributetypes\nattributetypes: ( 1.2 NAME 'a'\n  SUP name )\n\
                attributeTypes: ( 1.3 SUP name )\n-\nadd: objectClasses\nobjectClasses: ( 1.4 NAME 'c' )\n-\n\
                delete: objectClasses\nobjectClasses: ( 1.5 NAME 'd' )\n\n\
                dn: cn=schema\nchangetype: modify\nadd: objectclasses\nobjectClasses: ( 1.6 NAME 'e' )\n";
    let mut schema = Schema::default();
    schema.load("x.ldif", text).unwrap();
    let classes: Vec<_> = schema.object_classes.iter().map(|class| (class.item.to_string(), class.line)).collect();
    assert_eq!(
        classes,
        [("( 1.4 NAME 'c' STRUCTURAL )".to_string(), 9), ("( 1.6 NAME 'e' STRUCTURAL )".to_string(), 17)]
    );
    assert_eq!(schema.attribute_types.iter().map(|kind| kind.line).collect::<Vec<_>>(), [4, 6]);
    assert_eq!(refused(&text.replace("NAME 'c'", "FOO")), "x, line 9: at byte 10: expected a value");
}

#[test]
fn ldif_about_something_else_is_no_schema() {
    let says = |text| assert!(refused(text).starts_with("x, line 2: no record describes schema"), "{}", refused(text));
    says("\ndn: dc=example,dc=com\nobjectClass: domain\n");
    says("version: 1\ndn: cn=x\nchangetype: add\nattributeID: 1.2\n");
}

/// Every name that a description uses is defined, and nothing is defined twice.
#[test]
fn the_built_in_schema_is_complete() {
    for parts in [&[0, 1, 2, 3, 4, 5][..], &[0, 1, 2, 3, 4, 6]] {
        let mut schema = Schema::default();
        for &part in parts {
            schema.load_builtin(Builtin::ALL[part]);
        }
        let definitions = schema.attribute_types.iter().map(|a| &a.item.definition);
        let definitions = definitions.chain(schema.object_classes.iter().map(|c| &c.item.definition));
        let mut words: Vec<String> = Vec::new();
        for definition in definitions {
            words.push(definition.oid.clone());
            words.extend(definition.names.iter().map(|name| name.to_ascii_lowercase()));
        }
        let count = words.len();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), count, "something is defined twice");

        let attribute = |name: &String| schema.attribute_types.iter().any(|a| a.item.definition.is(name));
        let class = |name: &String| schema.object_classes.iter().any(|c| c.item.definition.is(name));
        for a in &schema.attribute_types {
            assert!(a.item.superior.iter().all(attribute), "{}", a.item);
        }
        for c in &schema.object_classes {
            assert!(c.item.superiors.iter().all(class), "{}", c.item);
            assert!(c.item.must.iter().chain(&c.item.may).all(attribute), "{}", c.item);
            // Strict clients refuse a class that says both of an attribute.
            assert!(c.item.must.iter().all(|name| !c.item.may.contains(name)), "{}", c.item);
        }
    }
}

#[test]
fn the_built_in_schema_says_what_the_rfcs_say() {
    let mut schema = Schema::default();
    for part in [Builtin::Core, Builtin::Cosine, Builtin::InetOrgPerson, Builtin::NisBis] {
        schema.load_builtin(part);
    }
    let attribute = |name: &str| {
        let found = schema.attribute_types.iter().find(|a| a.item.definition.is(name));
        found.unwrap_or_else(|| panic!("{name}")).item.to_string()
    };
    // RFC 4519 sections 2.2, 2.39; RFC 4524 section 2.16; RFC 2798 section 2.5; RFC 4530 section 2.4.
    assert_eq!(
        attribute("c"),
        "( 2.5.4.6 NAME ( 'c' 'countryName' ) SUP name SYNTAX 1.3.6.1.4.1.1466.115.121.1.11 SINGLE-VALUE )"
    );
    assert!(
        attribute("uid").starts_with("( 0.9.2342.19200300.100.1.1 NAME ( 'uid' 'userid' ) EQUALITY caseIgnoreMatch")
    );
    assert!(
        attribute("mail")
            .contains("caseIgnoreIA5Match SUBSTR caseIgnoreIA5SubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.26")
    );
    assert!(attribute("preferredLanguage").ends_with("SINGLE-VALUE )"));
    assert!(
        attribute("entryUUID").contains("UUIDMatch") && attribute("entryUUID").ends_with("USAGE directoryOperation )")
    );
    let group = schema.object_classes.iter().find(|c| c.item.definition.is("posixGroup")).unwrap();
    assert_eq!((group.item.kind, group.item.must.len()), (ClassKind::Auxiliary, 1));
}

/// If each were held against all before it, this would take minutes.
#[test]
fn a_description_may_have_very_many_extensions_each_once() {
    let extensions: String = (0..300_000).map(|n| format!(" X-{n} 'a'")).collect();
    let syntax = parse::<LdapSyntax>(&format!("( 1.2.3{extensions} )"));
    assert_eq!(syntax.definition.extensions.len(), 300_000);
    assert_eq!(fails::<LdapSyntax>("( 1.2.3 X-1 'a' x-1 'b' )"), (16, "each keyword once"));
}

proptest! {
    #[test]
    fn attribute_types_come_back(
        names in prop::collection::vec("[a-zA-Z][a-zA-Z0-9-]{0,8}", 0..3),
        description in prop::option::of("[ -~é]{0,12}"),
        flags: [bool; 4],
        length in prop::option::of(any::<u32>()),
        values in prop::collection::vec("[ -~]{0,6}", 0..3),
    ) {
        let definition = Definition {
            oid: "1.2.3".to_string(), names, description, obsolete: flags[3], extensions: vec![("X-A".to_string(), values)],
        };
        let attribute = AttributeType {
            definition, syntax: Some("1.3".to_string()), length_max: length, single_value: flags[0], collective: flags[1],
            no_user_modification: flags[2], ..AttributeType::default()
        };
        prop_assert_eq!(AttributeType::parse(&attribute.to_string()).unwrap(), attribute);
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "([ '()$:{}#\n\t]|1\\.2|NAME|SUP|SYNTAX|DESC|attributetype|objectclass|\\\\27|é){0,24}") {
        if let Ok(class) = ObjectClass::parse(&text) {
            prop_assert_eq!(ObjectClass::parse(&class.to_string()).unwrap(), class);
        }
        let _ = Schema::default().load("x", &text);
    }
}
