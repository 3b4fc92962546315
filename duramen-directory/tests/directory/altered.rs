//! A schema that takes the place of another, in a directory that has entries.

use duramen_directory::{Config, Directory, Index, IndexKinds, SchemaFile};
use duramen_ldap::message::Scope;

use crate::sample::*;

const TEXT: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15";
const HELLO: &str = "cn=hello,dc=example,dc=com";

/// With these schema files, and an index of `own`.
fn with(files: &[(&str, &str)]) -> Config {
    let file = |(name, text): &(&str, &str)| SchemaFile { name: name.to_string(), text: text.to_string() };
    let kinds = IndexKinds { presence: true, equality: true, substring: true };
    let index = Index { attribute: "own".into(), kinds };
    Config { schema: files.iter().map(file).collect(), indices: Some(vec![index]), ..Config::default() }
}

/// A type `own`, by a rule for equality and the one for substrings that goes with it, and what may have it.
fn own(rule: &str) -> String {
    format!(
        "attributetype ( 1.1.1 NAME 'own' EQUALITY {rule}Match SUBSTR {rule}SubstringsMatch {TEXT} )\n\
         objectclass ( 1.1.2 NAME 'ownClass' SUP top AUXILIARY MAY own )"
    )
}

fn again(sample: Sample, config: Config) -> Sample {
    let Sample { directory, folder } = sample;
    drop(directory);
    Sample { directory: Directory::open(folder.path(), config).unwrap(), folder }
}

fn add(sample: &Sample, name: &str, more: &[(&str, Vec<&[u8]>)]) {
    let classes: (&str, Vec<&[u8]>) = ("objectClass", vec![b"device", b"ownClass"]);
    sample.add(name, &[&[classes], more].concat()).unwrap();
}

fn hello(rule: &str) -> Sample {
    let sample = Sample::with(with(&[("own.schema", &own(rule))]));
    sample.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    add(&sample, HELLO, &[("own", vec![b"Hello World"])]);
    sample
}

#[test]
fn who_is_not_told_of_schema_files_reads_them_in_the_order_in_which_they_were_given() {
    let files = [
        ("z.schema", "objectidentifier our 1.1\nattributetype ( our:1 NAME 'own' SUP name )"),
        ("a.schema", "attributetype ( our:2 NAME 'other' SUP name )"),
    ];
    let sample = again(Sample::with(with(&files)), Config::default());
    assert_eq!(sample.directory.schema().find("other").unwrap().oid, "1.1.2");
    // One that is gone from the configuration, and one that is new in it.
    let sample = again(sample, with(&[("b.schema", "attributetype ( our:3 NAME 'third' SUP name )")]));
    assert_eq!(again(sample, Config::default()).directory.schema().find("third").unwrap().oid, "1.1.3");
}

#[test]
fn an_index_whose_values_match_by_another_rule_now_has_to_be_completed() {
    let sample = hello("caseIgnore");
    assert_eq!(sample.found("(own=hello world)"), [HELLO]);
    sample.directory.reconfigure(with(&[("own.schema", &own("caseExact"))])).unwrap();
    for incomplete in [true, false] {
        assert_eq!(sample.directory.incomplete_indices(), ["own"; 1][..usize::from(incomplete)]);
        for (filter, count) in
            [("(own=hello world)", 0), ("(own=Hello World)", 1), ("(own=*hello*)", 0), ("(own=H*)", 1)]
        {
            assert_eq!(sample.found(filter).len(), count, "{filter}, {incomplete}");
        }
        sample.directory.reindex(&mut |_, _| true).unwrap();
    }
    let plan = sample.search(BASE, "(own=Hello World)", &Ask::default()).unwrap().plan;
    assert!(plan.contains("1 candidate"), "{plan}");
    assert_eq!(problems(&sample), Vec::<String>::new());
    sample.directory.reconfigure(with(&[("own.schema", &own("caseExact")), ("more.schema", "# nothing")])).unwrap();
    assert_eq!(sample.directory.incomplete_indices(), [""; 0], "nothing is different");
}

#[test]
fn a_range_is_met_by_two_values_of_what_may_have_but_one_now() {
    let number = |single: &str| {
        let text = "attributetype ( 1.1.1 NAME 'own' EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX \
                    1.3.6.1.4.1.1466.115.121.1.27 "
            .to_string();
        text + single + ")\nobjectclass ( 1.1.2 NAME 'ownClass' SUP top AUXILIARY MAY own )"
    };
    let config = |single: &str| {
        let Config { indices, .. } = with(&[]);
        let kinds = IndexKinds { presence: true, equality: true, substring: false };
        let indices = indices.map(|_| vec![Index { attribute: "own".into(), kinds }]);
        Config { indices, ..with(&[("own.schema", &number(single))]) }
    };
    let sample = Sample::with(config(""));
    sample.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    add(&sample, HELLO, &[("own", vec![b"1", b"20"])]);
    for single in ["", "SINGLE-VALUE ", ""] {
        sample.directory.reconfigure(config(single)).unwrap();
        for _ in 0..2 {
            assert_eq!(sample.found("(&(own>=5)(own<=10))"), [HELLO], "{single}");
            assert_eq!(sample.found("(&(own>=21)(own<=30))"), [""; 0], "{single}");
            sample.directory.reindex(&mut |_, _| true).unwrap();
        }
        assert_eq!(problems(&sample), Vec::<String>::new());
    }
}

#[test]
fn classes_that_are_kinds_of_others_now_are_found_by_these() {
    let text = "objectclass ( 1.1.4 NAME 'above' SUP top AUXILIARY )\n";
    let sample = hello("caseIgnore");
    sample.directory.reconfigure(with(&[("above.schema", text), ("own.schema", &own("caseIgnore"))])).unwrap();
    assert_eq!(sample.directory.incomplete_indices(), [""; 0]);
    let below = own("caseIgnore").replace("SUP top", "SUP above");
    sample.directory.reconfigure(with(&[("above.schema", text), ("own.schema", &below)])).unwrap();
    assert_eq!(sample.directory.incomplete_indices(), ["objectClass"]);
    for _ in 0..2 {
        assert_eq!(sample.found("(objectClass=above)"), [HELLO]);
        sample.directory.reindex(&mut |_, _| true).unwrap();
    }
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn entries_are_found_by_their_names_wherever_the_name_of_a_type_stands() {
    let sample = hello("caseIgnore");
    for names in ["( 'commonName' 'cn' )", "( 'x' 'commonName' 'CN' )"] {
        let text = format!("attributetype ( 2.5.4.3 NAME {names} SUP name )");
        sample.directory.reconfigure(with(&[("cn.schema", &text), ("own.schema", &own("caseIgnore"))])).unwrap();
        assert_eq!(sample.read(HELLO, &["own"]).values("own"), ["Hello World"], "{names}");
        assert_eq!(problems(&sample), Vec::<String>::new());
    }
}

#[test]
fn rules_and_names_that_entries_are_named_by_stay() {
    // The rule of a type that names none of its own is that of the one above it.
    let kind =
        "\nattributetype ( 1.1.3 NAME 'kind' SUP 1.1.1 )\nobjectclass ( 1.1.4 NAME 'kindClass' AUXILIARY MAY kind )";
    let renamed = own("caseIgnore").replace("'own'", "'our'").replace("MAY own", "MAY our");
    for (name, text) in [("own", own("caseExact")), ("own", renamed), ("kind", own("caseExact"))] {
        let config = |text: String| Config { indices: None, ..with(&[("own.schema", &(text + kind))]) };
        let sample = again(hello("caseIgnore"), config(own("caseIgnore")));
        let named_by = format!("cn=x+{name}=Hello,dc=example,dc=com");
        add(&sample, &named_by, &[("objectClass", vec![b"kindClass"])]);
        let told = sample.directory.reconfigure(config(text)).unwrap_err().to_string();
        let words = format!("{name}: there are entries named by it, so it keeps this name, and caseIgnoreMatch as its");
        assert!(told.starts_with(&words) && told.contains("export"), "{told}");
        let ask = Ask { scope: Scope::Base, ..Ask::default() };
        let found = sample.search(&named_by.to_lowercase(), "(objectClass=*)", &ask).unwrap();
        assert_eq!(found.names(), [named_by.as_str()]);
        assert_eq!(problems(&sample), Vec::<String>::new());
    }
}

#[test]
fn rules_by_which_very_many_values_are_told_apart_stay() {
    let own = |rule: &str| own(rule).replace(&format!("SUBSTR {rule}SubstringsMatch"), "");
    let with = |text: &str| Config { indices: None, ..with(&[("own.schema", text)]) };
    let sample = Sample::with(with(&own("caseIgnore")));
    sample.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    let values: Vec<String> = (0..300).map(|n| format!("Value {n}")).collect();
    add(&sample, HELLO, &[("own", values.iter().map(|value| value.as_bytes()).collect())]);
    let told = sample.directory.reconfigure(with(&own("caseExact"))).unwrap_err().to_string();
    assert!(told.starts_with("own: there are entries with very many values of it"), "{told}");
    let told = sample.directory.reconfigure(with(&self::own("caseIgnore"))).unwrap_err().to_string();
    assert!(told.contains("so it stays a user attribute without a rule for substrings: export"), "{told}");
    assert_eq!(sample.compare(HELLO, "own", "value 7"), Ok(true));
}
