//! Access rules about entries that are made up: the root DSE, the subschema subentry, `cn=monitor`.

use std::sync::Arc;

use duramen_directory::{Config, Directory, Method, Requester, SchemaFile};
use duramen_ldap::attribute::Assertion;
use duramen_ldap::ber::List;
use duramen_ldap::message::{CompareRequest, ResultCode, Scope};

use crate::sample::*;

const MONITOR: &str = "cn=Monitor";
const CONNECTIONS: &str = "cn=Connections,cn=Monitor";
const INCREMENT: &str = duramen_ldap::oid::feature::MODIFY_INCREMENT;
const ADMIN: &str = "uid=admin,dc=example,dc=com";

/// What `slapcat -n 0` writes, with the rules of the frontend, of the database monitor, and of the own one.
fn whole(frontend: &[&str], monitor: Option<&[&str]>, own: &[&str]) -> String {
    let entry = |name: &str, more: &str, rules: &[&str]| {
        let rules = rules.iter().enumerate().map(|(n, rule)| format!("olcAccess: {{{n}}}{rule}\n"));
        format!("dn: olcDatabase={name},cn=config\n{more}{}\n", rules.collect::<String>())
    };
    entry("{-1}frontend", "", frontend)
        + &entry("{0}config", "", &["to * by * none"])
        + &monitor.map_or(String::new(), |rules| entry("{1}Monitor", "", rules))
        + &entry("{2}mdb", "olcSuffix: dc=example,dc=com\n", own)
}

/// A directory with these rules, and something counted.
fn with(rules: &str) -> Sample {
    let access = Some(SchemaFile { name: "access.conf".into(), text: rules.into() });
    let sample = Sample::with(Config { suffixes: vec![BASE.into()], access, ..Config::default() });
    sample.load(PEOPLE);
    sample.directory.set_monitor(Arc::new(|| {
        let entry = |front: &str, class: &str| (front.into(), vec![("objectClass".into(), vec![class.into()])]);
        vec![entry("", "monitorServer"), entry("cn=Connections", "monitorContainer")]
    }));
    sample
}

fn somebody(sample: &Sample, name: &str) -> Requester {
    let name = sample.directory.name(name).unwrap();
    Requester { name, method: Method::Password, is_administrator: false, ..Requester::internal() }
}

fn search(sample: &Sample, who: &str, base: &str, filter: &str, attributes: &[&str]) -> Given {
    let ask = Ask { requester: somebody(sample, who), scope: Scope::Base, attributes, ..Ask::default() };
    sample.search(base, filter, &ask).unwrap_or_else(|failure| panic!("{base}: {failure:?}"))
}

/// Whether somebody is given an entry.
fn sees(sample: &Sample, who: &str, base: &str) -> bool {
    let ask = Ask { requester: somebody(sample, who), scope: Scope::Base, ..Ask::default() };
    sample.search(base, "(objectClass=*)", &ask).is_ok_and(|given| given.entries.len() == 1)
}

fn compare(sample: &Sample, who: &str, name: &str, description: &str, value: &str) -> Result<bool, ResultCode> {
    let assertion = Assertion { description, value: value.as_bytes() };
    let compared =
        sample.directory.compare(&somebody(sample, who), &CompareRequest { name, assertion }, List::default());
    compared.map_err(|failure| failure.code)
}

#[test]
fn the_root_dse_and_the_schema_are_read_by_everybody_whatever_is_said_of_all_entries_rfc4512_5_1() {
    for rules in [
        "access to * by users read by * none",
        "access to * by * none",
        "access to dn.subtree=\"dc=example,dc=com\" by users read by anonymous auth",
        "access to dn.subtree=\"\" by users read",
        "access to dn.regex=\".+\" by users read",
        "access to attrs=namingContexts,entry by users read",
        "dn: olcDatabase={1}mdb,cn=config\nolcSuffix: dc=example,dc=com\nolcAccess: {0}to * by users read\n",
    ] {
        let sample = with(rules);
        for who in ["", JENSEN] {
            let root = search(&sample, who, "", "(objectClass=*)", &["*", "+"]);
            assert_eq!(root.values("namingContexts"), [BASE], "{rules}");
            assert!(
                !search(&sample, who, "cn=Subschema", "(cn=subschema)", &["+"]).values("attributeTypes").is_empty()
            );
            assert_eq!(compare(&sample, who, "", "namingContexts", BASE), Ok(true), "{rules}");
            assert_eq!(compare(&sample, who, "cn=Subschema", "attributeTypes", "2.5.4.3"), Ok(true), "{rules}");
        }
        assert!(!sees(&sample, "", BASE), "{rules}");
    }
}

#[test]
fn rules_that_name_what_is_made_up_come_before_those_about_all_entries() {
    let shut = "access to * by users read by * none\n";
    for named in ["dn.exact=\"\"", "dn.base=\"\"", "dn=\"\"", "dn.regex=\"^$\""] {
        let sample = with(&format!("{shut}access to {named} by dn.exact=\"{ADMIN}\" read\n"));
        assert!(sees(&sample, ADMIN, "") && !sees(&sample, JENSEN, "") && !sees(&sample, "", ""), "{named}");
        assert!(compare(&sample, JENSEN, "", "namingContexts", BASE).is_err(), "{named}");
        assert!(sees(&sample, "", "cn=Subschema"), "{named}");
    }
    for named in ["dn.base=\"cn=SubSchema\"", "dn.subtree=\"cn=Subschema\"", "dn.regex=\"^cn=Subschema$\""] {
        let sample = with(&format!("{shut}access to {named} by users read\n"));
        assert!(sees(&sample, JENSEN, "cn=Subschema") && !sees(&sample, "", "cn=Subschema"), "{named}");
        assert!(sees(&sample, "", ""), "{named}");
    }
    // Of what a rule is not about that names it, the others hold.
    let named = "access to dn.base=\"\" attrs=entry,namingContexts by * read\n";
    let shown = |sample: &Sample, who| {
        let root = search(sample, who, "", "(objectClass=*)", &["*", "+"]);
        [root.values("namingContexts").len(), root.values("supportedFeatures").len().min(1)]
    };
    // The filter asks for a class, so that has to be found.
    let named = named.replace("entry,", "entry,objectClass,");
    let sample = with(&(shut.to_owned() + &named));
    assert_eq!((shown(&sample, ""), shown(&sample, JENSEN)), ([1, 0], [1, 1]));
    assert!(search(&sample, "", "", &format!("(supportedFeatures={INCREMENT})"), &[]).entries.is_empty());
    assert_eq!(compare(&sample, "", "", "namingContexts", BASE), Ok(true));
    assert_eq!(compare(&sample, "", "", "supportedFeatures", INCREMENT), Err(ResultCode::INSUFFICIENT_ACCESS_RIGHTS));
}

#[test]
fn of_slapds_configuration_the_frontends_rules_are_about_the_root_dse_and_the_schema() {
    let debian = ["to dn.exact=\"\" by * read", "to dn.base=\"cn=Subschema\" by * read"];
    let own = ["to attrs=userPassword by self write by anonymous auth by * none", "to * by users read"];
    let sample = with(&whole(&debian, None, &own));
    for who in ["", JENSEN] {
        assert!(sees(&sample, who, "") && sees(&sample, who, "cn=Subschema"), "{who}");
        assert_eq!(compare(&sample, who, "", "supportedFeatures", INCREMENT), Ok(true));
    }
    assert!(!sees(&sample, "", BASE));
    // Without any, everybody reads them; rules of the database that name them are about nothing.
    let sample = with(&whole(&[], None, &["to dn.base=\"\" by * none", "to * by users read"]));
    assert!(sees(&sample, "", "") && sees(&sample, "", "cn=Subschema") && !sees(&sample, "", BASE));
    let sample = with(&whole(&["to attrs=entry by users read", "to * by * read"], None, &own));
    assert!(sees(&sample, JENSEN, "") && !sees(&sample, "", "") && !sees(&sample, "", "cn=Subschema"));
}

#[test]
fn of_slapds_configuration_the_rules_of_its_database_monitor_are_about_what_is_counted() {
    let read = ["to * by * read"];
    let only_admin = format!("to dn.subtree=\"cn=Monitor\" by dn.exact=\"{ADMIN}\" read by * none");
    let sample = with(&whole(&[], Some(&[&only_admin]), &read));
    for name in [MONITOR, CONNECTIONS] {
        assert!(sees(&sample, ADMIN, name) && !sees(&sample, JENSEN, name) && !sees(&sample, "", name), "{name}");
        assert_eq!(compare(&sample, JENSEN, name, "hasSubordinates", "TRUE"), Err(ResultCode::NO_SUCH_OBJECT));
        let ask = Ask { requester: somebody(&sample, JENSEN), ..Ask::default() };
        assert_eq!(code(sample.search(name, "(objectClass=*)", &ask)), ResultCode::NO_SUCH_OBJECT);
    }
    assert!(sees(&sample, "", BASE));
    let explained = sample.directory.explain_access(&somebody(&sample, ""), CONNECTIONS, "entry", None).unwrap();
    assert!(explained.to_string().ends_with("granted: none (=0), by access.conf, line 7"), "{explained}");
    // Behind them the frontend's hold, and those alone if there are no others.
    let of_one = format!("to dn.base=\"{CONNECTIONS}\" by * none");
    let sample = with(&whole(&["to * by users read"], Some(&[&of_one]), &read));
    assert!(sees(&sample, JENSEN, MONITOR) && !sees(&sample, JENSEN, CONNECTIONS) && !sees(&sample, "", MONITOR));
    let sample = with(&whole(&["to * by users read"], Some(&[]), &read));
    assert!(sees(&sample, JENSEN, CONNECTIONS) && !sees(&sample, "", CONNECTIONS));
    // Where nothing is said of it, it is not shown to those from whom the database is hidden.
    for monitor in [None, Some(&[][..])] {
        let sample = with(&whole(&[], monitor, &["to * by users read"]));
        assert!(sees(&sample, JENSEN, MONITOR) && !sees(&sample, "", MONITOR));
    }
}

#[test]
fn rules_of_slapd_conf_are_of_the_databases_behind_whose_lines_they_stand() {
    let global = "access to dn.base=\"\" by * read\naccess to dn.base=\"cn=Subschema\" by users read\n";
    let own = "database mdb\naccess to attrs=userPassword by anonymous auth\naccess to *\n  by users read\n";
    let monitor = format!("database Monitor\naccess to * by dn.exact=\"{ADMIN}\" read by * none\n");
    let config = "database config\naccess to * by * manage\n";
    let sample = with(&[global, config, own, &monitor].concat());
    assert!(sees(&sample, "", "") && sees(&sample, JENSEN, BASE) && !sees(&sample, "", BASE));
    assert!(sees(&sample, JENSEN, "cn=Subschema") && !sees(&sample, "", "cn=Subschema"));
    assert!(sees(&sample, ADMIN, MONITOR) && !sees(&sample, JENSEN, MONITOR));
    let explained = sample.directory.explain_access(&somebody(&sample, ""), MONITOR, "entry", None).unwrap();
    assert!(explained.to_string().ends_with("granted: none (=0), by access.conf, line 10"), "{explained}");
    // As in slapd, those of the database that name the root DSE are about nothing.
    let sample = with(&(own.replace("attrs=userPassword", "dn.base=\"\"") + &monitor));
    assert!(sees(&sample, "", "") && !sees(&sample, "", BASE));
    let refused = |rules: String, problem: &str| {
        let access = Some(SchemaFile { name: "access.conf".into(), text: rules });
        let folder = tempfile::tempdir().unwrap();
        let config = Config { suffixes: vec![BASE.into()], access, ..Config::default() };
        let error = Directory::open(folder.path(), config).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("access.conf, ") && error.contains(problem), "{error}");
    };
    refused([own, own].concat(), "line 6, column 1: rules of several databases");
    refused(format!("{own}{monitor}{monitor}"), "line 8, column 1: there is one database monitor");
    refused(format!("{own}database frontend\n{global}"), "line 6, column 1: rules of the frontend");
    refused(format!("{own}suffix dc=example,dc=com\n"), "line 5, column 1: ");
}

/// RFC 4514: types by any of their names or numbers, spaces around, characters escaped.
#[test]
fn entries_that_are_made_up_are_found_by_each_form_of_their_names_rfc4514_2() {
    let sample = with("access to * by * read");
    for name in [
        "cn=subschema",
        "commonName=Subschema",
        " cn=Subschema",
        "cn = Subschema ",
        "2.5.4.3=SUBSCHEMA",
        "cn=Sub\\73chema",
        "cn=#0c09537562736368656d61",
        "commonName=monitor",
        "CommonName=Connections,cn=monitor",
        "cn=Connections , commonName=Monitor",
        " ",
    ] {
        assert!(sees(&sample, "", name), "{name:?}");
    }
    for name in ["cn=subschema,dc=example,dc=com", "uid=monitor", "commonName=schema", "cn=x,commonName=monitor"] {
        assert!(!sees(&sample, "", name), "{name:?}");
    }
}

/// What is below it by its name is not below it in the directory: suffixes have nothing above them (RFC 4512 section 5.1).
#[test]
fn the_root_dse_says_nothing_of_entries_below_it() {
    let sample = with("access to * by * read");
    for (name, is_said) in [("", 0), (MONITOR, 1), ("cn=Subschema", 1)] {
        let found = search(&sample, "", name, "(objectClass=*)", &["*", "+"]);
        for attribute in ["hasSubordinates", "numSubordinates"] {
            assert_eq!(found.values(attribute).len(), is_said, "{attribute} of {name:?}");
        }
    }
    assert_eq!(compare(&sample, "", "", "hasSubordinates", "FALSE"), Err(ResultCode::NO_SUCH_ATTRIBUTE));
}

#[test]
fn one_list_of_rules_is_about_what_is_counted_as_about_all_else() {
    let sample = with("access to * by users read");
    assert!(sees(&sample, JENSEN, CONNECTIONS) && !sees(&sample, "", MONITOR));
    assert!(!sees(&with("access to dn.subtree=\"dc=example,dc=com\" by * read"), "", MONITOR));
    let sample = with("access to dn.subtree=\"cn=Connections,cn=Monitor\" by users read\naccess to * by * read");
    assert!(sees(&sample, "", MONITOR) && !sees(&sample, "", CONNECTIONS) && sees(&sample, JENSEN, CONNECTIONS));
}
