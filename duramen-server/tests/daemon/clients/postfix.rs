//! Postfix's tables of type `ldap`, as `postmap -q` looks into them.

use std::fs;
use std::process::Command;

use super::said;
use crate::process::{ADMINISTRATOR, Daemon};

const PEOPLE: &str = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
    dn: uid=bjensen,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: bjensen\ncn: Babs\nsn: Jensen\n\
    mail: bjensen@example.com\n\n\
    dn: uid=jsmith,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: jsmith\ncn: John\nsn: Smith\n\
    mail: jsmith@example.com\n\n\
    dn: cn=team,dc=example,dc=com\nobjectClass: groupOfNames\ncn: team\nmember: uid=bjensen,dc=example,dc=com\n\
    member: uid=jsmith,dc=example,dc=com\n";

#[test]
fn postfix_finds_people_and_members_of_groups() {
    let daemon = Daemon::with_tls();
    let (name, password) = ADMINISTRATOR;
    let people = daemon.path("people.ldif");
    fs::write(&people, PEOPLE).unwrap();
    let url = format!("ldap://127.0.0.1:{}", daemon.ldap.port());
    said(Command::new("ldapadd").args(["-x", "-H", &url, "-D", name, "-w", password, "-f"]).arg(people), 0);
    // Postfix wants a configuration of its own, and takes an empty one.
    fs::write(daemon.path("main.cf"), "").unwrap();
    let table = |file: &str, query: &str| {
        let path = daemon.path(file);
        let root = daemon.path("root.pem");
        let common = format!(
            "server_host = {url}\nversion = 3\nsearch_base = dc=example,dc=com\nbind = yes\nbind_dn = {name}\n\
             bind_pw = {password}\nstart_tls = yes\ntls_require_cert = yes\ntls_ca_cert_file = {}\n",
            root.display()
        );
        fs::write(&path, format!("{common}{query}")).unwrap();
        format!("ldap:{}", path.display())
    };
    let looked_up = |table: &str, key: &str, code| {
        said(Command::new("/usr/sbin/postmap").arg("-c").arg(daemon.dir.path()).args(["-q", key, table]), code)
    };
    let person = table("person.cf", "query_filter = (mail=%s)\nresult_attribute = uid\n");
    assert_eq!(looked_up(&person, "BJENSEN@example.com", 0), "bjensen\n");
    looked_up(&person, "*)(uid=bjensen@example.com", 1);
    let group =
        table("group.cf", "query_filter = (cn=%s)\nspecial_result_attribute = member\nresult_attribute = mail\n");
    let members = looked_up(&group, "team", 0);
    let mut members: Vec<&str> = members.trim().split(',').collect();
    members.sort_unstable();
    assert_eq!(members, ["bjensen@example.com", "jsmith@example.com"]);
}
