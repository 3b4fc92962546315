//! Debian's ldap-utils, every tool.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use super::said;
use crate::process::{ADMINISTRATOR, Daemon, TLS, certificates};

const TOP: &str = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
    dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n\n";
const PERSON: &str = "uid=bjensen,ou=people,dc=example,dc=com";

/// A tool of ldap-utils, bound as the administrator over StartTLS.
fn tool(daemon: &Daemon, name: &str, args: &[&str]) -> Command {
    let mut command = anonymous(daemon, name);
    command.args(["-x", "-ZZ", "-D", ADMINISTRATOR.0, "-w", ADMINISTRATOR.1]).args(args);
    command
}

fn anonymous(daemon: &Daemon, name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("LDAPTLS_CACERT", daemon.path("root.pem"));
    command.args(["-H", &format!("ldap://127.0.0.1:{}", daemon.ldap.port())]);
    command
}

fn populate(daemon: &Daemon) {
    let people: String = (0..25)
        .map(|n| {
            format!(
                "dn: uid=u{n},ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: u{n}\ncn: U {n}\nsn: U\n\n"
            )
        })
        .collect();
    let person =
        format!("dn: {PERSON}\nobjectClass: inetOrgPerson\nuid: bjensen\ncn: Babs\nsn: Jensen\nuserPassword: first\n");
    let path = daemon.path("top.ldif");
    fs::write(&path, format!("{TOP}{people}{person}")).unwrap();
    said(tool(daemon, "ldapadd", &["-f"]).arg(&path), 0);
}

#[test]
fn every_tool_of_ldap_utils_does_its_work_over_starttls() {
    let daemon = &Daemon::with_tls();
    populate(daemon);
    let search =
        |args: &[&str]| said(&mut tool(daemon, "ldapsearch", &[&["-LLL", "-o", "ldif-wrap=no"], args].concat()), 0);

    let found = search(&["-b", "dc=example,dc=com", "(sn=jensen)", "cn", "uid"]);
    assert_eq!(found, format!("dn: {PERSON}\nuid: bjensen\ncn: Babs\n\n"));
    let paged = search(&["-b", "dc=example,dc=com", "-E", "pr=10/noprompt", "(uid=u*)", "1.1"]);
    assert_eq!(paged.matches("dn: uid=u").count(), 25, "{paged}");
    let sorted = search(&["-b", "dc=example,dc=com", "-E", "sss=-uid", "(uid=u1*)", "uid"]);
    let uids: Vec<_> = sorted.lines().filter_map(|line| line.strip_prefix("uid: ")).collect();
    assert_eq!(uids, ["u19", "u18", "u17", "u16", "u15", "u14", "u13", "u12", "u11", "u10", "u1"]);

    // Without anybody to ask it goes on from window to window, until it asks for one behind the end.
    let window = ["-LL", "-b", "dc=example,dc=com", "-E", "sss=uid", "-E", "vlv=1/2:u15", "(uid=u1*)", "uid"];
    let window = said(&mut tool(daemon, "ldapsearch", &window), 76);
    let first = window.split("Press").next().unwrap();
    let uids: Vec<_> = first.lines().filter_map(|line| line.strip_prefix("uid: ")).collect();
    assert_eq!(uids, ["u14", "u15", "u16", "u17"], "{window}");
    assert!(first.contains("pos=7 count=11"), "{window}");

    let change = daemon.path("change.ldif");
    fs::write(
        &change,
        format!(
            "dn: {PERSON}\nchangetype: modify\nreplace: cn\ncn: Barbara Jensen\n-\nadd: mail\nmail: b@example.com\n"
        ),
    )
    .unwrap();
    said(tool(daemon, "ldapmodify", &["-f"]).arg(&change), 0);
    assert!(search(&["-b", PERSON, "-s", "base", "(mail=B@EXAMPLE.COM)", "cn"]).contains("cn: Barbara Jensen"));

    said(&mut tool(daemon, "ldapcompare", &[PERSON, "cn:barbara  jensen"]), 6);
    said(&mut tool(daemon, "ldapcompare", &[PERSON, "cn:somebody else"]), 5);
    said(&mut tool(daemon, "ldappasswd", &["-a", "first", "-s", "second", PERSON]), 0);
    let mut own = anonymous(daemon, "ldapwhoami");
    assert_eq!(said(own.args(["-x", "-D", PERSON, "-w", "second"]), 0), format!("dn:{PERSON}\n"));
    let mut wrong = anonymous(daemon, "ldapwhoami");
    said(wrong.args(["-x", "-D", PERSON, "-w", "first"]), 49);
    let generated = said(&mut tool(daemon, "ldappasswd", &[PERSON]), 0);
    let generated = generated.strip_prefix("New password: ").expect("a password").trim();
    said(anonymous(daemon, "ldapwhoami").args(["-x", "-D", PERSON, "-w", generated]), 0);

    assert!(said(&mut tool(daemon, "ldapexop", &["whoami"]), 0).contains(&format!("dn:{}", ADMINISTRATOR.0)));
    said(&mut tool(daemon, "ldapmodrdn", &["-r", PERSON, "uid=babs"]), 0);
    assert!(search(&["-b", "dc=example,dc=com", "(uid=babs)", "1.1"]).contains("dn: uid=babs,ou=people"));
    said(&mut tool(daemon, "ldapdelete", &["uid=babs,ou=people,dc=example,dc=com"]), 0);
    said(&mut tool(daemon, "ldapdelete", &["-r", "ou=people,dc=example,dc=com"]), 0);
    assert_eq!(search(&["-b", "dc=example,dc=com", "-s", "sub", "(ou=people)", "1.1"]), "");
}

#[test]
fn ldapmodify_changes_all_in_a_transaction_or_nothing_and_nothing_without_operation() {
    let daemon = &Daemon::with_tls();
    populate(daemon);
    let (good, bad) = (daemon.path("good.ldif"), daemon.path("bad.ldif"));
    let changes = format!(
        "dn: {PERSON}\nchangetype: modify\nreplace: sn\nsn: Miller\n\n\
         dn: {PERSON}\nchangetype: modrdn\nnewrdn: uid=bmiller\ndeleteoldrdn: 1\n\n\
         dn: uid=bmiller,ou=people,dc=example,dc=com\nchangetype: modify\nadd: title\ntitle: new\n\n"
    );
    fs::write(&good, &changes).unwrap();
    fs::write(&bad, format!("{changes}dn: uid=nobody,dc=example,dc=com\nchangetype: delete\n")).unwrap();
    let modify = |options: &[&str], file: &Path, code| {
        said(&mut tool(daemon, "ldapmodify", &[options, &["-f", file.to_str().unwrap()]].concat()), code)
    };
    let found = |filter| {
        let args = ["-LLL", "-b", "dc=example,dc=com", filter, "sn", "title"];
        said(&mut tool(daemon, "ldapsearch", &args), 0)
    };
    modify(&["-e", "noop"], &good, 14);
    modify(&["-E", "!txn=commit"], &bad, 32);
    modify(&["-E", "txn=abort"], &good, 0);
    assert_eq!((found("(uid=bjensen)"), found("(sn=miller)")), (format!("dn: {PERSON}\nsn: Jensen\n\n"), "".into()));
    modify(&["-E", "txn=commit"], &good, 0);
    let changed = "dn: uid=bmiller,ou=people,dc=example,dc=com\nsn: Miller\ntitle: new\n\n";
    assert_eq!(found("(|(uid=bjensen)(sn=miller))"), changed);
}

#[test]
fn the_root_dse_and_the_schema_are_found_as_tools_look_for_them() {
    let daemon = &Daemon::with_tls();
    let dse = said(anonymous(daemon, "ldapsearch").args(["-x", "-LLL", "-s", "base", "-b", "", "+"]), 0);
    for line in [
        "namingContexts: dc=example,dc=com",
        "subschemaSubentry: cn=Subschema",
        "supportedLDAPVersion: 3",
        "supportedExtension: 1.3.6.1.4.1.1466.20037",
        "supportedControl: 1.2.840.113556.1.4.319",
        "supportedSASLMechanisms: SCRAM-SHA-256",
    ] {
        assert_eq!(dse.lines().filter(|found| *found == line).count(), 1, "{line:?} in\n{dse}");
    }
    let schema = said(
        anonymous(daemon, "ldapsearch")
            .args(["-x", "-LLL", "-o", "ldif-wrap=no", "-s", "base", "-b", "cn=Subschema"])
            .args(["(objectClass=subschema)", "attributeTypes", "objectClasses"]),
        0,
    );
    assert!(schema.contains("NAME 'inetOrgPerson'") && schema.contains("NAME 'memberOf'"), "{schema}");
}

#[test]
fn who_runs_the_daemon_is_the_administrator_over_the_local_socket() {
    let daemon = Daemon::plain();
    let mut command = Command::new("ldapwhoami");
    let who = said(command.args(["-Q", "-Y", "EXTERNAL", "-H", &daemon.local_url()]), 0);
    let own = fs::metadata(daemon.dir.path()).unwrap();
    let name = format!("gidNumber={}+uidNumber={},cn=peercred,cn=external,cn=auth", own.gid(), own.uid());
    assert_eq!(who, format!("dn:{name}\n"));
    let path = daemon.path("top.ldif");
    fs::write(&path, TOP).unwrap();
    said(Command::new("ldapadd").args(["-Q", "-Y", "EXTERNAL", "-H", &daemon.local_url(), "-f"]).arg(&path), 0);
}

#[test]
fn a_clients_certificate_says_who_it_is_rfc4513_5_2_3() {
    let daemon = &Daemon::with_tls();
    let mut command = anonymous(daemon, "ldapwhoami");
    command.env("LDAPTLS_CERT", daemon.path("client.pem")).env("LDAPTLS_KEY", daemon.path("client.key"));
    let who = said(command.args(["-Q", "-ZZ", "-Y", "EXTERNAL"]), 0);
    assert_eq!(who, "dn:cn=a client\n");
    let mut within = Command::new("ldapwhoami");
    within.env("LDAPTLS_CACERT", daemon.path("root.pem"));
    let port = daemon.ldaps.unwrap().port();
    said(within.args(["-x", "-H", &format!("ldaps://127.0.0.1:{port}")]), 0);
}

#[test]
fn who_is_named_by_a_number_is_called_by_it_and_changes_the_own_password() {
    let daemon = &Daemon::with_tls();
    let person = "uidNumber=5001,dc=example,dc=com";
    let ldif = format!(
        "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
         dn: {person}\nobjectClass: account\nobjectClass: posixAccount\nuid: bjensen\ncn: Babs\nuidNumber: 5001\n\
         gidNumber: 5000\nhomeDirectory: /home/bjensen\nuserPassword: first\n"
    );
    let path = daemon.path("number.ldif");
    fs::write(&path, ldif).unwrap();
    said(tool(daemon, "ldapadd", &["-f"]).arg(&path), 0);
    let own = |name: &str, password: &str, args: &[&str]| {
        said(
            anonymous(daemon, name).args(["-x", "-D", "UIDNUMBER=05001,DC=example,dc=com", "-w", password]).args(args),
            0,
        )
    };
    assert_eq!(own("ldapwhoami", "first", &[]), format!("dn:{person}\n"));
    own("ldappasswd", "first", &["-s", "second"]);
    assert_eq!(own("ldapwhoami", "second", &[]), format!("dn:{person}\n"));
    let who = ["-LLL", "-b", person, "modifiersName"];
    assert!(own("ldapsearch", "second", &who).ends_with(&format!("\nmodifiersName: {person}\n\n")));
}

/// A certificate as many make it for themselves, which is of X.509's first version.
fn certificate_of_version_1(dir: &Path) {
    let openssl = |args: &[&str]| said(Command::new("openssl").current_dir(dir).args(args), 0);
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout"];
    openssl(&[&["req", "-x509"], &key[..], &["root.key", "-out", "root.pem", "-subj", "/CN=root of a test"]].concat());
    openssl(&[&["req"], &key[..], &["server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1"]].concat());
    let sign = ["-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-out", "server.pem"];
    openssl(&[&["x509", "-req", "-in", "server.csr"], &sign[..]].concat());
    let text = openssl(&["x509", "-in", "server.pem", "-noout", "-text"]);
    assert!(text.contains("Version: 1 "), "{text}");
}

#[test]
fn a_certificate_of_x509s_first_version_serves() {
    let dir = tempfile::tempdir().unwrap();
    certificate_of_version_1(dir.path());
    let daemon = Daemon::start(dir, TLS);
    let mut command = anonymous(&daemon, "ldapwhoami");
    command.args(["-x", "-ZZ"]);
    assert_eq!(said(&mut command, 0), "anonymous\n");
}

#[test]
fn names_of_sasl_become_those_of_entries_as_slapds_authz_regexp_has_them() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let owner = fs::metadata(dir.path()).unwrap();
    let process = format!(r"^gidNumber={}\+uidNumber={},cn=peercred,cn=external,cn=auth$", owner.gid(), owner.uid());
    let rules = format!(
        "[[identity]]\nmatch = '{process}'\nname = 'uid=runner,ou=people,dc=example,dc=com'\n\
         [[identity]]\nmatch = '^cn=a client$'\nname = 'ldap:///dc=example,dc=com??sub?(cn=babs)'\n\
         [[identity]]\nmatch = 'uid=([^,]+)@example.com,cn=plain,cn=auth'\nname = 'uid=$1,ou=people,dc=example,dc=com'\n\
         [[identity]]\nmatch = 'uid=([^,]+),cn=scram-sha-256,cn=auth'\nname = 'ldap:///dc=example,dc=com??sub?(cn=$1)'\n"
    );
    let daemon = &mut Daemon::start(dir, &format!("{TLS}{rules}[log]\nstats = true\n"));
    populate(daemon);
    let local = |more: &[&str]| {
        let mut command = Command::new("ldapwhoami");
        command.args(["-Q", "-Y", "EXTERNAL", "-H", &daemon.local_url()]).args(more);
        said(&mut command, 0)
    };
    assert_eq!(local(&[]), "dn:uid=runner,ou=people,dc=example,dc=com\n");
    assert_eq!(local(&["-X", &format!("dn:{PERSON}")]), format!("dn:{PERSON}\n"), "still an administrator");
    let sasl = |mechanism: &str, user: &str, code: i32| {
        let mut command = anonymous(daemon, "ldapwhoami");
        said(command.args(["-ZZ", "-Q", "-Y", mechanism, "-U", user, "-w", "first"]), code)
    };
    let person = format!("dn:{PERSON}\n");
    assert_eq!(sasl("PLAIN", "bjensen@example.com", 0), person);
    assert_eq!(sasl("PLAIN", "bjensen", 0), person, "no rule is about it");
    assert!(daemon.log().contains(&format!("BIND dn=\"{PERSON}\" mech=PLAIN bind_ssf=0")), "{}", daemon.log());
    sasl("PLAIN", "nobody@example.com", 49);
    assert_eq!(sasl("SCRAM-SHA-256", "Babs", 0), person);
    sasl("SCRAM-SHA-256", "bjensen", 49);
    sasl("SCRAM-SHA-256", "U*", 49);
    let certificate = |daemon: &Daemon| {
        let mut command = anonymous(daemon, "ldapwhoami");
        command.env("LDAPTLS_CERT", daemon.path("client.pem")).env("LDAPTLS_KEY", daemon.path("client.key"));
        said(command.args(["-ZZ", "-Q", "-Y", "EXTERNAL"]), 0)
    };
    assert_eq!(certificate(daemon), person);
    let path = daemon.path("duramend.toml");
    let changed = fs::read_to_string(&path).unwrap().replace("(cn=babs)", "(cn=*)").replace("uid=runner", "nosuch=x");
    fs::write(&path, changed).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(certificate(daemon), "dn:cn=a client\n", "of many it is none");
    let mut command = Command::new("ldapwhoami");
    let who = said(command.args(["-Q", "-Y", "EXTERNAL", "-H", &daemon.local_url()]), 0);
    assert!(who.ends_with(",cn=peercred,cn=external,cn=auth\n"), "{who}");
}
