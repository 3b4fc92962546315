//! Java: JNDI, and the tools of the UnboundID LDAP SDK from Maven Central.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{said, source, told};
use crate::process::{ADMINISTRATOR, Daemon};

const ARTIFACT: &str = "com.unboundid:unboundid-ldapsdk:7.0.3";
const PERSON: &str = "uid=bjensen,dc=example,dc=com";
const LDIF: &str = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
    dn: uid=bjensen,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: bjensen\ncn: Babs\nsn: Jensen\nuserPassword: first\n\n";

/// The SDK's archive, in `work`.
fn fetched(work: &Path) -> PathBuf {
    let mut fetch = Command::new("mvn");
    let into = format!("-DoutputDirectory={}", work.display());
    said(fetch.args(["-q", "-B", "dependency:copy", &format!("-Dartifact={ARTIFACT}"), &into]), 0);
    work.join("unboundid-ldapsdk-7.0.3.jar")
}

/// The root certificate as Java wants it.
fn trusted(daemon: &Daemon) -> PathBuf {
    let path = daemon.path("trusted.p12");
    let mut import = Command::new("keytool");
    import.args(["-importcert", "-noprompt", "-alias", "root", "-storetype", "PKCS12"]);
    import.args(["-storepass", "changeit", "-file"]);
    said(import.arg(daemon.path("root.pem")).arg("-keystore").arg(&path), 0);
    path
}

#[test]
fn the_tools_of_unboundid_live_through_their_cycle() {
    let daemon = &Daemon::with_tls();
    let archive = fetched(daemon.dir.path());
    let trusted = trusted(daemon);
    let port = daemon.ldap.port().to_string();
    let tool_as = |who: &[&str], name: &str, args: &[&str]| {
        let mut command = Command::new("java");
        command.arg("-jar").arg(&archive).arg(name);
        command.args(["--hostname", "localhost", "--port", &port, "--useStartTLS", "--trustStorePath"]);
        command.arg(&trusted).args(["--trustStoreFormat", "PKCS12", "--trustStorePassword", "changeit"]);
        command.args(who).args(args);
        said(&mut command, 0)
    };
    let administrator = ["--bindDN", ADMINISTRATOR.0, "--bindPassword", ADMINISTRATOR.1];
    let tool = |name: &str, args: &[&str]| tool_as(&administrator, name, args);
    let ldif = daemon.path("life.ldif");
    let people: String = (0..25)
        .map(|n| format!("dn: uid=u{n},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: u{n}\ncn: U {n}\nsn: U\n\n"))
        .collect();
    let changes = format!(
        "dn: {PERSON}\nchangetype: modify\nreplace: cn\ncn: Barbara\n\n\
         dn: {PERSON}\nchangetype: moddn\nnewrdn: uid=babs\ndeleteoldrdn: 1\n"
    );
    fs::write(&ldif, format!("{LDIF}{people}")).unwrap();
    let file = ldif.to_str().unwrap();
    tool("ldapmodify", &["--defaultAdd", "--ldifFile", file]);
    let found = tool(
        "ldapsearch",
        &["--baseDN", "dc=example,dc=com", "--scope", "sub", "--simplePageSize", "10", "(sn=u)", "1.1"],
    );
    assert_eq!(found.matches("dn: uid=u").count(), 25, "{found}");
    for mechanism in ["mech=SCRAM-SHA-256", "mech=PLAIN"] {
        let user = if mechanism.ends_with("PLAIN") { "authID=u:bjensen" } else { "username=bjensen" };
        let who = ["--saslOption", mechanism, "--saslOption", user, "--bindPassword", "first"];
        let found = tool_as(&who, "ldapsearch", &["--baseDN", PERSON, "--scope", "base", "(cn=babs)", "1.1"]);
        assert!(found.contains(&format!("dn: {PERSON}")), "{found}");
    }
    tool("ldappasswordmodify", &["--userIdentity", &format!("dn:{PERSON}"), "--newPassword", "second"]);
    fs::write(&ldif, changes).unwrap();
    tool("ldapmodify", &["--ldifFile", file]);
    let found = tool("ldapsearch", &["--baseDN", "dc=example,dc=com", "--scope", "sub", "(cn=barbara)", "uid"]);
    assert!(found.contains("dn: uid=babs,dc=example,dc=com") && found.contains("uid: babs"), "{found}");
    let compared = tool("ldapcompare", &["cn:barbara", "uid=babs,dc=example,dc=com"]);
    assert!(compared.to_lowercase().contains("true"), "{compared}");
    tool("ldapdelete", &["uid=babs,dc=example,dc=com"]);
    // Its own check of the schema that the server publishes.
    tool("ldapsearch", &["--baseDN", "cn=Subschema", "--scope", "base", "(objectClass=subschema)", "attributeTypes"]);
}

#[test]
fn jndi_lives_through_its_cycle() {
    let daemon = &Daemon::with_tls();
    let classes = daemon.path("classes");
    said(Command::new("javac").arg("-d").arg(&classes).arg(source("jndi").join("Life.java")), 0);
    let mut life = Command::new("java");
    life.arg(format!("-Djavax.net.ssl.trustStore={}", trusted(daemon).display()));
    life.arg("-Djavax.net.ssl.trustStorePassword=changeit").arg("-cp").arg(classes);
    told(life.arg("Life"), daemon);
}
