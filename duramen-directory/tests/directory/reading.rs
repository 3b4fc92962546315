//! What of an entry is returned.

use duramen_directory::{Config, Peer, Requester};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Control, ResultCode, Scope};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

fn described(given: &Given) -> Vec<&str> {
    given.entries[0].1.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn without_a_selection_all_user_attributes_are_returned_rfc4511_4_5_1_8() {
    let sample = Sample::people();
    let given = sample.read("UID=BJensen , ou=people,DC=example,dc=com", &[]);
    assert_eq!(given.names(), [JENSEN]);
    let all = ["objectClass", "uid", "cn", "cn;lang-de", "sn", "mail", "telephoneNumber"];
    assert_eq!(described(&given), all);
    assert_eq!(described(&sample.read(JENSEN, &["*"])), all);
    assert_eq!(given.values("cn"), ["Barbara Jensen"]);
}

#[test]
fn a_selection_is_types_with_their_kinds_and_options_rfc4512_2_5() {
    let sample = Sample::people();
    let pick = |attributes: &[&str]| described(&sample.read(JENSEN, attributes)).join(" ");
    assert_eq!(pick(&["CN"]), "cn cn;lang-de");
    assert_eq!(pick(&["cn;lang-de"]), "cn;lang-de");
    assert_eq!(pick(&["cn;lang-"]), "cn;lang-de");
    assert_eq!(pick(&["cn;lang-de-"]), "cn;lang-de");
    assert_eq!(pick(&["cn;lang-d-"]), "");
    assert_eq!(pick(&["2.5.4.4", "nothing", "mail"]), "sn mail");
    assert_eq!(pick(&["name"]), "cn cn;lang-de sn");
    assert_eq!(pick(&["1.1"]), "");
    assert_eq!(pick(&["1.1", "sn"]), "sn");
    assert_eq!(pick(&["@person"]), "objectClass cn cn;lang-de sn telephoneNumber");
    assert_eq!(pick(&["@extensibleObject"]), pick(&["*"]), "that class allows all of them (RFC 4512 section 4.3)");
}

#[test]
fn operational_attributes_are_returned_when_they_are_asked_for_rfc3673() {
    let sample = Sample::people();
    let given = sample.read(JENSEN, &["+"]);
    for name in ["entryUUID", "entryCSN", "createTimestamp", "modifyTimestamp", "creatorsName", "modifiersName"] {
        assert_eq!(given.values(name).len(), 1, "{name}");
    }
    assert_eq!(given.values("structuralObjectClass"), ["inetOrgPerson"]);
    assert_eq!(given.values("entryDN"), [JENSEN]);
    assert_eq!(given.values("subschemaSubentry"), ["cn=Subschema"]);
    assert_eq!(given.values("hasSubordinates"), ["FALSE"]);
    assert_eq!(given.values("memberOf"), ["cn=admins,ou=Groups,dc=example,dc=com"]);
    assert!(given.values("cn").is_empty());
    let given = sample.read("ou=People,dc=example,dc=com", &["hasSubordinates", "numSubordinates", "ou"]);
    assert_eq!(described(&given), ["ou", "hasSubordinates", "numSubordinates"]);
    assert_eq!((given.values("hasSubordinates"), given.values("numSubordinates")), (vec!["TRUE"], vec!["2"]));
}

#[test]
fn types_only_returns_no_values_rfc4511_4_5_1_6() {
    let sample = Sample::people();
    let ask = Ask { scope: Scope::Base, types_only: true, attributes: &["sn", "entryDN"], ..Ask::default() };
    let given = sample.search(JENSEN, "(sn=*)", &ask).unwrap();
    assert_eq!(given.entries[0].1, [("sn".to_string(), vec![]), ("entryDN".to_string(), vec![])]);
}

#[test]
fn the_root_dse_says_what_there_is_rfc4512_5_1() {
    let sample = Sample::people();
    sample.directory.set_root_dse(vec![("supportedSASLMechanisms".into(), vec!["EXTERNAL".into()])]);
    let given = sample.read("", &["+", "*"]);
    assert_eq!(given.names(), [""]);
    assert_eq!(given.values("namingContexts"), [BASE]);
    assert_eq!(given.values("subschemaSubentry"), ["cn=Subschema"]);
    assert_eq!(given.values("supportedLDAPVersion"), ["3"]);
    assert_eq!(given.values("supportedSASLMechanisms"), ["EXTERNAL"]);
    assert!(given.values("supportedControl").contains(&"1.2.840.113556.1.4.319"));
    let ask = Ask { scope: Scope::Subtree, ..Ask::default() };
    assert_eq!(code(sample.search("", "(objectClass=*)", &ask)), ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn the_subschema_subentry_describes_the_schema_rfc4512_4_2() {
    let sample = Sample::people();
    let given = sample.read("cn=subschema", &["objectClasses", "attributeTypes", "matchingRules", "ldapSyntaxes"]);
    assert!(given.values("objectClasses").iter().any(|text| text.contains("'inetOrgPerson'")));
    assert!(given.values("attributeTypes").len() > 100);
    assert!(!given.values("matchingRules").is_empty() && !given.values("ldapSyntaxes").is_empty());
    let ask = Ask { scope: Scope::Base, ..Ask::default() };
    let times = sample.read("cn=subschema", &["createTimestamp", "modifyTimestamp"]);
    assert_eq!((times.values("createTimestamp").len(), times.values("modifyTimestamp").len()), (1, 1));
    assert_eq!(sample.search("cn=Subschema", "(objectClass=subschema)", &ask).unwrap().names(), ["cn=Subschema"]);
    assert_eq!(sample.search("cn=Subschema", "(objectClass=person)", &ask).unwrap().names().len(), 0);
}

#[test]
fn the_monitor_shows_what_the_server_gives() {
    let sample = Sample::people();
    let attribute = |name: &str, value: &str| (name.to_string(), vec![value.to_string()]);
    sample.directory.set_monitor(std::sync::Arc::new(move || {
        let entry = |front: &str, counter| {
            (
                front.to_string(),
                vec![attribute("objectClass", "monitorCounterObject"), attribute("monitorCounter", counter)],
            )
        };
        vec![entry("", "0"), entry("cn=Connections", "1"), entry("cn=Total,cn=Connections", "7")]
    }));
    let given = sample.search("cn=monitor", "(&(objectClass=monitorCounterObject)(monitorCounter=7))", &Ask::default());
    assert_eq!(given.unwrap().names(), ["cn=Total,cn=Connections,cn=Monitor"]);
    let given = sample.search("cn=Monitor", "(hasSubordinates=TRUE)", &Ask::default()).unwrap();
    assert_eq!(given.names(), ["cn=Monitor", "cn=Connections,cn=Monitor"]);
    assert_eq!(sample.read("cn=monitor", &["numSubordinates"]).values("numSubordinates"), ["1"]);
    let ask = Ask { scope: Scope::One, ..Ask::default() };
    assert_eq!(sample.search("cn=monitor", "(objectClass=*)", &ask).unwrap().names(), ["cn=Connections,cn=Monitor"]);
    assert_eq!(sample.read("", &["monitorContext"]).values("monitorContext"), ["cn=Monitor"]);
}

#[test]
fn passwords_are_not_shown_to_others() {
    let sample = Sample::people();
    sample.modify(JENSEN, &[(duramen_ldap::message::ChangeKind::Add, "userPassword", &["secret"])]).unwrap();
    let peer = std::sync::Arc::new(Peer::Internal);
    let anonymous = Requester::anonymous(peer, 0);
    let ask = Ask { scope: Scope::Base, requester: anonymous.clone(), ..Ask::default() };
    let given = sample.search(JENSEN, "(objectClass=*)", &ask).unwrap();
    assert_eq!((given.values("sn"), given.values("userPassword").len()), (vec!["Jensen"], 0));
    let given = sample.search(JENSEN, "(userPassword=secret)", &ask).unwrap();
    assert_eq!(given.names().len(), 0, "nor to be guessed by filters");
    let credentials = sample.directory.credentials(&anonymous, "uid=BJENSEN,ou=people,dc=example,dc=com").unwrap();
    assert_eq!(credentials.stored, [b"secret"]);
    assert_eq!(&*credentials.name.written, JENSEN, "as the entry has it");
    assert_eq!(&*credentials.name.normalized, "uid=bjensen,ou=people,dc=example,dc=com");
    assert!(!format!("{credentials:?}").contains("secret"));
}

#[test]
fn who_has_no_entry_is_called_by_the_schemas_names_rfc4514_2_3() {
    let sample = Sample::people();
    let written = |name: &str| sample.directory.credentials(&Requester::internal(), name).unwrap().name.written;
    let subject = "cn=q, 2.5.4.43=I,2.5.4.15=b,2.5.4.17=12\\33,c=DE";
    assert_eq!(&*written(subject), "cn=q,initials=I,businessCategory=b,postalCode=123,c=DE");
}

#[test]
fn nobody_is_authenticated_by_the_password_of_an_account_that_somebody_locked() {
    use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
    let sample = Sample::people();
    let stored = || sample.directory.credentials(&Requester::internal(), JENSEN).unwrap().stored;
    sample.modify(JENSEN, &[(Add, "userPassword", &["secret"])]).unwrap();
    sample.modify(JENSEN, &[(Add, "pwdAccountLockedTime", &["000001010000Z"])]).unwrap();
    assert!(stored().is_empty());
    // Who was locked out by another server for a while may come in: how long is a matter of policies.
    sample.modify(JENSEN, &[(Replace, "pwdAccountLockedTime", &["20260101000000Z"])]).unwrap();
    assert_eq!(stored(), [b"secret"]);
    sample.modify(JENSEN, &[(Replace, "pwdAccountLockedTime", &["000001010000Z"])]).unwrap();
    assert!(stored().is_empty());
    sample.modify(JENSEN, &[(Delete, "pwdAccountLockedTime", &[])]).unwrap();
    assert_eq!(stored(), [b"secret"]);
}

#[test]
fn nobody_is_authenticated_by_the_password_of_an_account_that_has_not_begun_or_has_ended() {
    use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
    let sample = Sample::people();
    let stored = || sample.directory.credentials(&Requester::internal(), JENSEN).unwrap().stored;
    sample.modify(JENSEN, &[(Add, "userPassword", &["secret"])]).unwrap();
    let (past, future) = ("19991231230000-0100", "99990101000000.5Z");
    for (attribute, time, is_open) in [
        ("pwdStartTime", past, true),
        ("pwdStartTime", future, false),
        ("pwdEndTime", past, false),
        ("pwdEndTime", future, true),
    ] {
        sample.modify(JENSEN, &[(Replace, attribute, &[time])]).unwrap();
        assert_eq!(!stored().is_empty(), is_open, "{attribute}: {time}");
        sample.modify(JENSEN, &[(Delete, attribute, &[])]).unwrap();
    }
    assert_eq!(stored(), [b"secret"]);
}

#[test]
fn a_directory_that_was_closed_is_opened_as_it_was() {
    let sample = Sample::people();
    let before = sample.read(JENSEN, &["*", "+"]).entries;
    let Sample { directory, folder } = sample;
    drop(directory);
    let directory = duramen_directory::Directory::open(folder.path(), Config::default()).unwrap();
    let sample = Sample { directory, folder };
    assert_eq!(sample.read(JENSEN, &["*", "+"]).entries, before);
    assert_eq!(sample.directory.suffixes(), [BASE]);
}

#[test]
fn a_new_directory_needs_a_suffix() {
    let folder = tempfile::tempdir().unwrap();
    let error = duramen_directory::Directory::open(folder.path(), Config::default()).unwrap_err();
    assert!(error.to_string().contains("--suffix"), "{error}");
}

#[test]
fn what_is_asserted_of_an_entry_that_is_made_up_holds_or_it_is_not_searched_rfc4528_3() {
    let sample = Sample::people();
    for (filter, code) in [("(cn=nosuch)", ResultCode::ASSERTION_FAILED), ("(objectClass=*)", ResultCode::SUCCESS)] {
        let filter = FilterBuf::parse(filter).unwrap();
        let asserted = Control { oid: oid::ASSERTION, critical: true, value: Some(filter.as_filter().encoded()) };
        for base in ["", "cn=Subschema"] {
            let ask = Ask { scope: Scope::Base, controls: vec![asserted], ..Ask::default() };
            let outcome = sample.search(base, "(objectClass=*)", &ask);
            assert_eq!(outcome.map_or_else(|failure| failure.code, |given| given.code()), code, "{base}");
        }
    }
}
