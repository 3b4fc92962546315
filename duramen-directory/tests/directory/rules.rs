//! The schema, enforced: each message names the attribute, the value and the rule.

use duramen_directory::{Config, Directory, Requester, SchemaFile};
use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
use duramen_ldap::message::{Deref, ResultCode};

use crate::sample::*;

fn refused(attributes: &[(&str, Vec<&[u8]>)]) -> (ResultCode, String) {
    let failure = Sample::people().add("cn=x,dc=example,dc=com", attributes).unwrap_err();
    (failure.code, failure.diagnostic)
}

#[test]
fn entries_have_one_structural_class_and_what_it_requires_rfc4512_2_4() {
    let (code, text) = refused(&[("cn", vec![b"x"])]);
    assert_eq!((code, text.as_str()), (ResultCode::OBJECT_CLASS_VIOLATION, "the entry has no objectClass"));
    let (code, text) = refused(&[("objectClass", vec![b"posixAccount"])]);
    assert_eq!(code, ResultCode::OBJECT_CLASS_VIOLATION);
    assert!(text.contains("none of posixAccount is structural"), "{text}");
    let (code, text) = refused(&[("objectClass", vec![b"person", b"device"]), ("sn", vec![b"x"])]);
    assert_eq!(code, ResultCode::OBJECT_CLASS_VIOLATION);
    assert!(text.contains("person and device"), "{text}");
    let (code, text) = refused(&[("objectClass", vec![b"person"])]);
    assert_eq!(code, ResultCode::OBJECT_CLASS_VIOLATION);
    assert!(text.contains("person requires attribute sn"), "{text}");
    let (code, text) = refused(&[("objectClass", vec![b"person"]), ("sn", vec![b"x"]), ("mail", vec![b"x"])]);
    assert_eq!(code, ResultCode::OBJECT_CLASS_VIOLATION);
    assert!(text.contains("mail: none of the object classes person allows it"), "{text}");
    let (code, text) = refused(&[("objectClass", vec![b"person", b"nonsense"]), ("sn", vec![b"x"])]);
    assert_eq!(code, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert!(text.contains("objectClass, value 2") && text.contains("nonsense"), "{text}");
}

#[test]
fn values_are_of_their_syntax_and_as_many_as_may_be_rfc4512_2_5() {
    let person = |more: (&'static str, Vec<&'static [u8]>)| {
        refused(&[("objectClass", vec![b"inetOrgPerson"]), ("sn", vec![b"x"]), more])
    };
    let (code, text) = person(("manager", vec![b"cn=a", b"not a name"]));
    assert_eq!(code, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert!(text.contains("manager, value 2") && text.contains("\"DN\""), "{text}");
    let (code, text) = person(("preferredLanguage", vec![b"de", b"en"]));
    assert_eq!(code, ResultCode::CONSTRAINT_VIOLATION);
    assert!(text.contains("preferredLanguage: SINGLE-VALUE"), "{text}");
    let (code, text) = person(("mail", vec![b"a@b", b"c@d", b"A@B"]));
    assert_eq!(code, ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    assert!(text.contains("mail, value 3: it is the same as value 1"), "{text}");
    let (code, text) = person(("entryUUID", vec![b"597ae2f6-16a6-1027-98f4-d28b5365dc14"]));
    assert_eq!(code, ResultCode::CONSTRAINT_VIOLATION);
    assert!(text.contains("NO-USER-MODIFICATION"), "{text}");
    let (code, text) = person(("nonsense", vec![b"x"]));
    assert_eq!(code, ResultCode::UNDEFINED_ATTRIBUTE_TYPE);
    assert!(text.contains("nonsense"), "{text}");
}

#[test]
fn options_stand_behind_types_that_can_have_them_rfc4512_2_5_rfc4522_3() {
    let sample = Sample::people();
    let undefined = ResultCode::UNDEFINED_ATTRIBUTE_TYPE;
    for description in ["description;binary", "CN;lang-de;Binary", "userPassword;binary", "jpegPhoto;binary"] {
        assert_eq!(code(sample.modify(JENSEN, &[(Add, description, &["x"])])), undefined, "{description}");
        assert_eq!(code(sample.compare(JENSEN, description, "x")), undefined, "{description}");
        assert_eq!(sample.found(&format!("(!({description}=x))")), [""; 0], "it is undefined");
    }
    for description in ["ref;lang-de", "authzTo;x-a", "createTimestamp;lang-de", "ref;binary"] {
        assert_eq!(refused(&[("objectClass", vec![b"device"]), (description, vec![b"ldap:///"])]).0, undefined);
        assert_eq!(code(sample.compare(JENSEN, description, "x")), undefined, "{description}");
    }
    sample.modify(JENSEN, &[(Add, "userSMIMECertificate;binary", &["0"]), (Add, "cn;lang-fr;x-a", &["b"])]).unwrap();
    // As many as slapd takes: they are looked for one by one.
    let with = |count: usize| (0..count).fold("description".to_owned(), |text, n| format!("{text};x-{n}"));
    assert_eq!(code(sample.modify(JENSEN, &[(Add, &with(129), &["x"])])), undefined);
    sample.modify(JENSEN, &[(Add, &with(128), &["x"])]).unwrap();
    assert_eq!(sample.found(&format!("({}=x)", with(128))), [JENSEN]);
}

/// As slapd has it.
#[test]
fn what_stands_under_an_option_makes_an_entry_nothing() {
    let text = refused(&[("objectClass;lang-de", vec![b"person"]), ("sn", vec![b"x"])]);
    assert_eq!(text, (ResultCode::OBJECT_CLASS_VIOLATION, "the entry has no objectClass".to_string()));
    let sample = Sample::people();
    let violation = ResultCode::OBJECT_CLASS_VIOLATION;
    let moved: &[(_, &str, &[&str])] = &[(Add, "objectClass;x-a", &["inetOrgPerson"]), (Delete, "objectClass", &[])];
    assert_eq!(code(sample.modify(JENSEN, moved)), violation);
    let wrong = sample.modify(JENSEN, &[(Add, "objectClass;x-a", &["nonsense"])]);
    assert_eq!(code(wrong), ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    let others = ["device", "posixAccount", "alias", "referral"];
    sample.modify(JENSEN, &[(Add, "objectClass;x-a", &others)]).unwrap();
    assert_eq!(code(sample.modify(JENSEN, &[(Add, "uidNumber", &["1"])])), violation);
    let ask = Ask { deref: Deref::Always, ..Ask::default() };
    let given = sample.search(BASE, "(uid=bjensen)", &ask).unwrap();
    assert_eq!((given.names(), given.references.len()), (vec![JENSEN], 0));
    assert_eq!(problems(&sample), Vec::<String>::new());
    sample.modify(JENSEN, &[(Add, "userPassword;x-a", &["q"]), (Add, "userPassword", &["p"])]).unwrap();
    assert_eq!(sample.directory.credentials(&Requester::internal(), JENSEN).unwrap().stored, [b"p"]);
}

#[test]
fn a_changed_entry_obeys_the_same_rules_rfc4511_4_6() {
    let sample = Sample::people();
    let modify = |changes: &[(_, &str, &[&str])]| code(sample.modify(JENSEN, changes));
    assert_eq!(modify(&[(Delete, "sn", &[])]), ResultCode::OBJECT_CLASS_VIOLATION);
    assert_eq!(modify(&[(Add, "uidNumber", &["1"])]), ResultCode::OBJECT_CLASS_VIOLATION);
    assert_eq!(modify(&[(Add, "manager", &["nonsense"])]), ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert_eq!(modify(&[(Add, "preferredLanguage", &["a", "b"])]), ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(
        modify(&[(Replace, "entryUUID", &["597ae2f6-16a6-1027-98f4-d28b5365dc14"])]),
        ResultCode::CONSTRAINT_VIOLATION
    );
    assert_eq!(modify(&[(Replace, "objectClass", &["person"])]), ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
    let changes: &[(_, &str, &[&str])] =
        &[(Replace, "objectClass", &["person"]), (Delete, "mail", &[]), (Delete, "uid", &[])];
    assert_eq!(modify(changes), ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
    sample.modify(JENSEN, &[(Add, "objectClass", &["extensibleObject"]), (Add, "uidNumber", &["1"])]).unwrap();
}

#[test]
fn a_name_keeps_its_number_as_long_as_the_directory_lives() {
    let file = |name: &str, text: &str| Config {
        schema: vec![SchemaFile { name: name.into(), text: text.into() }],
        ..Config::default()
    };
    let sample = Sample::with(file("own.schema", "attributetype ( 1.1.1 NAME 'own' SUP name )"));
    let Sample { directory, folder } = sample;
    drop(directory);
    let refused = |config: Config| Directory::open(folder.path(), config).unwrap_err().to_string();
    let renumbered = "attributetype ( 1.1.2 NAME 'own' SUP name )";
    assert_eq!(
        refused(file("own.schema", renumbered)),
        "own.schema, line 1: own: the name own is that of 1.1.1 (the schema of earlier times, line 1): give it a name of \
         its own, or that number"
    );
    assert_eq!(
        refused(file("other.schema", renumbered)),
        "other.schema, line 1: own: the name own is that of 1.1.1 (own.schema as the directory keeps it, line 1): give it a \
         name of its own, or that number"
    );
    let repeated = file("other.schema", "attributetype ( 1.1.1 NAME ( 'own' 'ours' ) SUP name )");
    Directory::open(folder.path(), repeated).unwrap();
}

#[test]
fn a_name_with_a_type_that_the_schema_lacks_is_no_value_rfc4517_3_3_9() {
    let sample = Sample::people();
    let unknown = |kind, name: &str, value: &str| {
        let failure = sample.modify(JENSEN, &[(kind, name, &[value])]).unwrap_err();
        assert_eq!(failure.code, ResultCode::INVALID_ATTRIBUTE_SYNTAX, "{failure:?}");
        assert!(failure.diagnostic.starts_with(&format!("{name}, value 1: ")), "{failure:?}");
    };
    for kind in [Add, Replace, Delete] {
        unknown(kind, "seeAlso", "cn=x,nosuch=1");
    }
    let (code, text) =
        refused(&[("objectClass", vec![b"groupOfNames"]), ("cn", vec![b"x"]), ("member", vec![b"cn=y", b"1.2.3.4=x"])]);
    assert_eq!(code, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert!(text.starts_with("member, value 2: "), "{text}");
}

#[test]
fn whom_one_may_act_as_is_a_group_of_a_class_and_an_attribute_that_the_schema_has() {
    let text = "attributetype ( 1.1.1 NAME 'ourTo' EQUALITY authzMatch SYNTAX 1.3.6.1.4.1.4203.666.2.7 )\n\
                objectclass ( 1.1.2 NAME 'ours' SUP top AUXILIARY MAY ourTo )";
    let sample = Sample::with(Config {
        schema: vec![SchemaFile { name: "own.schema".into(), text: text.into() }],
        ..Config::default()
    });
    sample.load(PEOPLE);
    let put = |value: &str| {
        let changes: [(_, _, &[&str]); 2] =
            [(Replace, "objectClass", &["inetOrgPerson", "ours"]), (Replace, "ourTo", &[value])];
        sample.modify(JENSEN, &changes).map_or_else(|failure| failure.code, |_| ResultCode::SUCCESS)
    };
    for right in ["group:cn=x", "group/groupOfNames:cn=x", "{1}GROUP/2.5.6.9/member:cn=x", "ldap:///dc=com??sub?(cn=x)"]
    {
        assert_eq!(put(right), ResultCode::SUCCESS, "{right}");
    }
    for wrong in [
        "group/nosuch:cn=x",
        "group/groupOfNames/nosuch:cn=x",
        "group/member/groupOfNames:cn=x",
        "group/:cn=x",
        "dn.children:nosuch=x",
        "ldap:///dc=com??sub?(nosuch=x)",
    ] {
        assert_eq!(put(wrong), ResultCode::INVALID_ATTRIBUTE_SYNTAX, "{wrong}");
    }
}

#[test]
fn a_type_that_is_gone_from_the_schema_files_stays() {
    let schema = |text: &str| vec![SchemaFile { name: "own.schema".into(), text: text.into() }];
    let own = "attributetype ( 1.1.1 NAME 'ownA' SUP ownB )\nattributetype ( 1.1.2 NAME 'ownB' SUP name )\n";
    let sample = Sample::with(Config { schema: schema(own), ..Config::default() });
    sample.load(PEOPLE);
    sample.modify(JENSEN, &[(Add, "objectClass", &["extensibleObject"]), (Add, "ownA", &["x"])]).unwrap();
    let Sample { directory, folder } = sample;
    drop(directory);
    let emptied = Config { schema: schema("# nothing"), ..Config::default() };
    let sample = Sample { directory: Directory::open(folder.path(), emptied).unwrap(), folder };
    assert_eq!(sample.found("(ownB=X)"), [JENSEN]);
    sample.modify(JENSEN, &[(Replace, "ownA", &["y"])]).unwrap();
    assert_eq!(sample.read(JENSEN, &[]).values("ownA"), ["y"]);
}
