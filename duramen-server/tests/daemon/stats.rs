//! The lines of `log.stats` are those that slapd 2.5 writes at `loglevel stats` for the same requests.

use std::io::{Read, Write};

use duramen_ldap::Payload;
use duramen_ldap::extended::{CancelRequest, PasswordModifyRequest};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Authentication, BindRequest, Control, ExtendedRequest, Request, ResultCode, Scope};
use duramen_ldap::oid;

use crate::client::{Client, person, search};
use crate::process::{ADMINISTRATOR, Daemon, PLAIN, TLS, certificates};
use crate::threads::within_tls;

/// What is logged of an operation of the first connection, without the times.
fn logged(daemon: &mut Daemon, operation: u32) -> Vec<String> {
    daemon.wait_for(&format!("conn=1000 op={} ", operation + 1));
    let log = daemon.log();
    let begin = format!("conn=1000 op={operation} ");
    let lines = log.lines().filter_map(|line| Some(line.split_once(&begin)?.1));
    let without_times = |line: &str| match line.split_once(" qtime=") {
        Some((before, times)) => format!("{before} {}", times.split(' ').skip(2).collect::<Vec<_>>().join(" ")),
        None => line.to_string(),
    };
    lines.map(without_times).collect()
}

fn extended<S: Read + Write>(client: &mut Client<S>, name: &str, value: Option<&[u8]>) -> ResultCode {
    client.ask(Request::Extended(ExtendedRequest { name, value })).code
}

fn logging(listeners: &str) -> String {
    format!("{listeners}[log]\nstats = true\n[directory]\npassword_scheme = \"CLEARTEXT\"\n")
}

#[test]
fn extended_operations_are_logged_with_what_they_are_about() {
    let daemon = &mut Daemon::start(tempfile::tempdir().unwrap(), &logging(PLAIN));
    let mut client = Client::administrator(daemon);
    client.populate(1);
    let user = person(0);
    let set = |user: Option<&str>, old: Option<&str>, new: Option<&str>| {
        let [user, old_password, new_password] = [user, old, new].map(|value| value.map(str::as_bytes));
        let mut value = Vec::new();
        PasswordModifyRequest { user, old_password, new_password }.encode(&mut value);
        value
    };
    let modify = oid::extended::PASSWORD_MODIFY;
    for value in [
        set(Some(&user), None, Some("secret \"1")),
        set(Some(&user), Some("secret \"1"), Some("secret-0")),
        set(Some(&user), None, None),
    ] {
        assert_eq!(extended(&mut client, modify, Some(&value)), ResultCode::SUCCESS);
    }
    assert_eq!(extended(&mut client, modify, Some(&set(None, Some("x"), Some("y")))), ResultCode::UNWILLING_TO_PERFORM);
    let mut cancelled = Vec::new();
    CancelRequest { id: 1 }.encode(&mut cancelled);
    assert_eq!(extended(&mut client, oid::extended::CANCEL, Some(&cancelled)), ResultCode::NO_SUCH_OPERATION);
    assert_eq!(extended(&mut client, oid::extended::WHO_AM_I, None), ResultCode::SUCCESS);
    client.send(Request::Unbind);
    let of_modify =
        |said: &str| vec![format!("EXT oid={modify}"), format!("PASSMOD{said}"), "RESULT oid= err=0 text=".into()];
    let id = format!(" id=\"{user}\"");
    // A bind and two additions come before.
    assert_eq!(logged(daemon, 3), of_modify(&format!("{id} new")));
    assert_eq!(logged(daemon, 4), of_modify(&format!("{id} old new")));
    assert_eq!(logged(daemon, 5), of_modify(&id));
    assert_eq!(logged(daemon, 6)[1], "PASSMOD old new");
    assert_eq!(logged(daemon, 7)[..2], ["EXT oid=1.3.6.1.1.8", "CANCEL msg=1"]);
    assert!(logged(daemon, 7)[2].starts_with("RESULT oid= err=119 text="), "{}", daemon.log());
    assert_eq!(logged(daemon, 8)[1..], ["WHOAMI", "RESULT oid= err=0 text="]);
}

#[test]
fn who_is_acted_for_is_logged() {
    let daemon = &mut Daemon::start(tempfile::tempdir().unwrap(), &logging(PLAIN));
    let mut client = Client::administrator(daemon);
    client.populate(1);
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    for identity in ["dn:uid=U0, dc=Example,dc=com", "dn:uid=nobody,dc=example,dc=com", ""] {
        let oid = oid::control::PROXIED_AUTHORIZATION;
        let control = Control { oid, critical: true, value: Some(identity.as_bytes()) };
        let bytes = client.with_controls(search("", Scope::Base, &filter), &[control]);
        client.stream.write_all(&bytes).unwrap();
        client.answer();
    }
    client.send(Request::Unbind);
    let asked = "SRCH base=\"\" scope=0 deref=0 filter=\"(objectClass=*)\"";
    assert_eq!(logged(daemon, 3)[..2], [&format!("PROXYAUTHZ dn=\"{}\"", person(0)), asked]);
    assert_eq!(logged(daemon, 4)[0], "PROXYAUTHZ dn=\"uid=nobody,dc=example,dc=com\"");
    assert_eq!(logged(daemon, 5)[0], asked);
}

#[test]
fn who_binds_is_logged_as_the_mechanism_has_it_and_so_is_that_somebody_is_bound_no_more() {
    let daemon = &mut Daemon::start(tempfile::tempdir().unwrap(), &logging(PLAIN));
    let mut client = Client::administrator(daemon);
    client.populate(1);
    let (name, password) = ADMINISTRATOR;
    let identity = format!("dn:{}", person(0));
    let said = format!("\0u0\0secret-0;{identity}\0dn:{name}\0{password};\0u0\0wrong");
    for credentials in said.split(';') {
        let authentication = Authentication::Sasl { mechanism: "PLAIN", credentials: Some(credentials.as_bytes()) };
        client.ask(Request::Bind(BindRequest { version: 3, name: "", authentication }));
    }
    client.send(Request::Unbind);
    let implicit = "BIND anonymous mech=implicit bind_ssf=0 ssf=0";
    let asked = "BIND dn=\"\" method=163";
    let bound = |dn: &str| format!("BIND dn=\"{dn}\" mech=PLAIN bind_ssf=0 ssf=0");
    let done = "RESULT tag=97 err=0 text=";
    let own = "BIND authcid=\"u0\" authzid=\"u0\"";
    assert_eq!(logged(daemon, 3), [implicit, asked, own, &bound(&person(0)), done]);
    let other = format!("BIND authcid=\"dn:{name}\" authzid=\"{identity}\"");
    assert_eq!(logged(daemon, 4), [implicit, asked, &other, &bound(name), done]);
    assert_eq!(logged(daemon, 5), [implicit, asked, "RESULT tag=97 err=49 text="]);
}

#[test]
fn protocol_and_cipher_are_logged_and_that_starttls_ends_who_is_bound() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let daemon = &mut Daemon::start(dir, &logging(TLS));
    let mut client = Client::administrator(daemon);
    assert_eq!(extended(&mut client, oid::extended::START_TLS, None), ResultCode::SUCCESS);
    let mut client = Client::over(within_tls(daemon, client.stream));
    client.bind(ADMINISTRATOR.0, ADMINISTRATOR.1);
    client.send(Request::Unbind);
    assert_eq!(logged(daemon, 1)[1..3], ["STARTTLS", "AUTHZ anonymous mech=starttls ssf=0"]);
    let bound = format!("BIND dn=\"{}\" mech=SIMPLE bind_ssf=0 ssf=256", ADMINISTRATOR.0);
    assert_eq!(logged(daemon, 2)[1], bound);
    let line = " TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=TLS_AES_256_GCM_SHA384\n";
    assert!(daemon.log().contains(line), "{}", daemon.log());
}
