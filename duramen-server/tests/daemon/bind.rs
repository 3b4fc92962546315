//! Who a session is (RFC 4513).

use std::io::{Read, Write};
use std::path::Path;
use std::thread;

use duramen_directory::password;
use duramen_ldap::Payload;
use duramen_ldap::extended::PasswordModifyRequest;
use duramen_ldap::message::{
    Authentication, BindRequest, Control, ExtendedRequest, Message, Request, Response, ResultCode, Scope,
};
use duramen_ldap::oid;

use crate::client::{Client, person};
use crate::process::{ADMINISTRATOR, Daemon, PLAIN, configuration};
use crate::threads::within_tls;

/// What Who am I? says.
fn who<S: Read + Write>(client: &mut Client<S>) -> String {
    client.send(Request::Extended(ExtendedRequest { name: oid::extended::WHO_AM_I, value: None }));
    let bytes = client.message().unwrap();
    let Response::Extended(response) = Message::<Response<'_>>::decode(&bytes).unwrap().operation else { panic!() };
    String::from_utf8(response.value.unwrap_or_default().to_vec()).unwrap()
}

#[test]
fn as_many_costly_passwords_are_checked_at_once_as_is_configured_and_reloaded() {
    let checks = |count: usize| format!("{PLAIN}[limits]\npassword_checks = {count}\n");
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), &checks(1));
    let mut administrator = Client::administrator(&daemon);
    administrator.populate(1);
    let costly = String::from_utf8(password::hash(password::Scheme::Argon2, b"right").unwrap()).unwrap();
    assert_eq!(administrator.replace(&person(0), "userPassword", &costly).code, ResultCode::SUCCESS);
    // A thread is there for a moment yet when the next one has begun.
    assert!(most_at_once(&daemon) < 4);
    std::fs::write(daemon.path("duramend.toml"), configuration(&checks(8))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert!(most_at_once(&daemon) >= 4);
}

#[test]
fn how_long_a_wrong_password_takes_does_not_tell_of_which_scheme_the_right_one_is() {
    let daemon = Daemon::plain();
    let mut administrator = Client::administrator(&daemon);
    administrator.populate(2);
    // `password`, by crypt's MD5, which takes a hundredth of what new passwords do.
    let stored = "{CRYPT}$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/";
    assert_eq!(administrator.replace(&person(0), "userPassword", stored).code, ResultCode::SUCCESS);
    let client = &mut Client::new(&daemon);
    assert_eq!(client.bind(&person(0), "password").code, ResultCode::SUCCESS);
    let mut took = |name: &str| {
        let began = std::time::Instant::now();
        assert_eq!(client.bind(name, "wrong").code, ResultCode::INVALID_CREDENTIALS);
        began.elapsed()
    };
    // The machine may have more to do meanwhile.
    let nobody = (0..5).map(|_| took(&person(7))).min().unwrap();
    let somebody = took(&person(0));
    // What one waits for the other has to wait for too.
    assert!(somebody * 10 >= nobody, "{somebody:?}, and who is not there {nobody:?}");
}

/// How many passwords are seen to be checked at the same time while there are many to check.
fn most_at_once(daemon: &Daemon) -> usize {
    let mut clients: Vec<Client> = (0..30).map(|_| Client::new(daemon)).collect();
    let (name, authentication) = (person(0), Authentication::Simple(b"wrong"));
    for client in &mut clients {
        client.send(Request::Bind(BindRequest { version: 3, name: &name, authentication }));
    }
    let waiting = thread::spawn(move || clients.iter_mut().for_each(|client| drop(client.answer())));
    let mut most = 0;
    while !waiting.is_finished() {
        most = most.max(daemon.threads("password"));
    }
    most
}

#[test]
fn a_session_is_anonymous_after_a_bind_that_failed_rfc4513_4() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    assert_eq!(who(&mut client), format!("dn:{}", ADMINISTRATOR.0));
    assert_eq!(client.bind(ADMINISTRATOR.0, "wrong").code, ResultCode::INVALID_CREDENTIALS);
    assert_eq!(who(&mut client), "");
}

#[test]
fn a_session_is_anonymous_after_starttls_whoever_bound_before_rfc4513_3_2() {
    let daemon = Daemon::with_tls();
    let mut client = Client::administrator(&daemon);
    client.populate(0);
    let start = ExtendedRequest { name: oid::extended::START_TLS, value: None };
    assert_eq!(client.ask(Request::Extended(start)).code, ResultCode::SUCCESS);
    let mut client = Client::over(within_tls(&daemon, client.stream));
    assert_eq!(who(&mut client), "");
    assert_eq!(client.add_person(0).code, ResultCode::STRONGER_AUTH_REQUIRED);
    assert_eq!(client.bind(ADMINISTRATOR.0, ADMINISTRATOR.1).code, ResultCode::SUCCESS);
    assert_eq!(client.add_person(0).code, ResultCode::SUCCESS);
}

#[test]
fn nobody_is_authenticated_by_an_empty_password_rfc4513_5_1_2() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    let answer = client.bind(ADMINISTRATOR.0, "");
    assert_eq!(answer.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(answer.diagnostic.contains("send the password"), "{answer:?}");
    assert_eq!(who(&mut client), "");
    assert_eq!(client.bind("", "").code, ResultCode::SUCCESS);
    assert_eq!(client.bind("", "password").code, ResultCode::INVALID_CREDENTIALS);
}

#[test]
fn a_wrong_password_and_a_name_that_is_not_there_are_answered_alike_rfc4513_6_3_1() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let wrong = client.bind(&person(0), "wrong");
    let absent = client.bind(&person(1), "wrong");
    let elsewhere = client.bind("cn=x,dc=elsewhere", "wrong");
    assert_eq!(wrong.code, ResultCode::INVALID_CREDENTIALS);
    assert_eq!((&wrong, &wrong), (&absent, &elsewhere));
    assert_eq!(client.bind(&person(0), "secret-0").code, ResultCode::SUCCESS);
    assert_eq!(who(&mut client), format!("dn:{}", person(0)));
    assert_eq!(client.bind("no name", "wrong").code, ResultCode::INVALID_DN_SYNTAX);
}

#[test]
fn version_2_is_refused_rfc4511_4_2() {
    let daemon = Daemon::plain();
    let authentication = Authentication::Simple(b"");
    let answer = Client::new(&daemon).ask(Request::Bind(BindRequest { version: 2, name: "", authentication }));
    assert_eq!(answer.code, ResultCode::PROTOCOL_ERROR);
    assert!(answer.diagnostic.contains("use version 3"), "{answer:?}");
}

#[test]
fn an_unknown_mechanism_is_told_those_there_are_rfc4513_5_2_1_6() {
    let daemon = Daemon::plain();
    let authentication = Authentication::Sasl { mechanism: "KERBEROS_V4", credentials: None };
    let answer = Client::new(&daemon).ask(Request::Bind(BindRequest { version: 3, name: "", authentication }));
    assert_eq!(answer.code, ResultCode::AUTH_METHOD_NOT_SUPPORTED);
    assert!(answer.diagnostic.contains("EXTERNAL, PLAIN, SCRAM-SHA-256"), "{answer:?}");
}

#[test]
fn external_needs_something_that_proves_a_name_rfc4513_5_2_3() {
    let daemon = Daemon::plain();
    let authentication = Authentication::Sasl { mechanism: "EXTERNAL", credentials: None };
    let answer = Client::new(&daemon).ask(Request::Bind(BindRequest { version: 3, name: "", authentication }));
    assert_eq!(answer.code, ResultCode::INAPPROPRIATE_AUTHENTICATION);
}

#[test]
fn plain_finds_people_by_their_uid_and_refuses_to_act_as_others_rfc4616_2() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(2);
    let mut plain = |said: &[u8]| {
        let authentication = Authentication::Sasl { mechanism: "PLAIN", credentials: Some(said) };
        let code = client.ask(Request::Bind(BindRequest { version: 3, name: "", authentication })).code;
        (code, who(&mut client))
    };
    let bound = (ResultCode::SUCCESS, format!("dn:{}", person(1)));
    let refused = (ResultCode::INVALID_CREDENTIALS, String::new());
    assert_eq!(plain(b"\0u1\0secret-1"), bound);
    assert_eq!(plain(b"u:u1\0u1\0secret-1"), bound);
    assert_eq!(plain(format!("\0dn:{}\0secret-1", person(1)).as_bytes()), bound);
    assert_eq!(plain(b"\0u1\0secret-0"), refused);
    assert_eq!(plain(b"\0nobody\0secret-0"), refused);
    assert_eq!(plain(b"u:u0\0u1\0secret-1"), refused);
    assert_eq!(
        plain(format!("u:u0\0dn:{}\0{}", ADMINISTRATOR.0, ADMINISTRATOR.1).as_bytes()).1,
        format!("dn:{}", person(0))
    );
    assert_eq!(plain(b"nonsense").0, ResultCode::PROTOCOL_ERROR);
}

#[test]
fn sasl_lets_act_for_others_as_entries_say_rfc4422_3_4_1() {
    let more = format!("{PLAIN}[directory]\nauthz_policy = \"to\"\n");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &more);
    let mut client = Client::administrator(&daemon);
    client.populate(3);
    let to = format!("dn:{}", person(1));
    assert_eq!(client.replace(&person(0), "authzTo", &to).code, ResultCode::SUCCESS);
    let mut plain = |said: &str| {
        let authentication = Authentication::Sasl { mechanism: "PLAIN", credentials: Some(said.as_bytes()) };
        let answer = client.ask(Request::Bind(BindRequest { version: 3, name: "", authentication }));
        (answer.code, who(&mut client))
    };
    let refused = (ResultCode::INVALID_CREDENTIALS, String::new());
    assert_eq!(plain("u:u1\0u0\0secret-0"), (ResultCode::SUCCESS, to.clone()));
    assert_eq!(plain(&format!("{to}\0u0\0secret-0")), (ResultCode::SUCCESS, to));
    assert_eq!(plain("u:u1\0u0\0wrong"), refused);
    assert_eq!(plain("u:u2\0u0\0secret-0"), refused);
    assert_eq!(plain("u:u0\0u1\0secret-1"), refused);
    assert_eq!(plain(&format!("dn:{}\0u0\0secret-0", ADMINISTRATOR.0)), refused);
}

/// What is told of setting a user's password to `new`.
fn set_password(client: &mut Client, user: &str, old_password: Option<&[u8]>) -> (ResultCode, String) {
    let mut value = Vec::new();
    let new_password = Some(&b"new"[..]);
    PasswordModifyRequest { user: Some(user.as_bytes()), old_password, new_password }.encode(&mut value);
    let name = oid::extended::PASSWORD_MODIFY;
    let answer = client.ask(Request::Extended(ExtendedRequest { name, value: Some(&value) }));
    (answer.code, answer.diagnostic.replace(user, ""))
}

#[test]
fn a_bind_that_no_thread_can_be_made_for_is_refused_and_holds_up_no_later_one() {
    // No stack of a thread that has ended is there for the next one,
    let tunables = ("GLIBC_TUNABLES", Path::new("glibc.pthread.stack_cache_size=0"));
    let daemon = Daemon::start_with(tempfile::tempdir().unwrap(), PLAIN, &[tunables]);
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let stored = password::hash(password::Scheme::default(), b"new").unwrap();
    let stored = String::from_utf8(stored).unwrap();
    assert_eq!(client.replace(&person(0), "userPassword", &stored).code, ResultCode::SUCCESS);
    // and there is no room for another.
    daemon.limit_memory(Some(1 << 20));
    for _ in 0..2 * thread::available_parallelism().unwrap().get() + 1 {
        let answer = client.bind(&person(0), "new");
        assert_eq!(answer.code, ResultCode::BUSY, "{answer:?}");
    }
    daemon.limit_memory(None);
    assert_eq!(client.bind(&person(0), "new").code, ResultCode::SUCCESS);
}

#[test]
fn a_changed_password_does_not_tell_whether_there_is_a_user_who_may_not_be_known_of() {
    let rules = format!("access to dn={:?} by * none\naccess to * by self write by * read", person(1));
    let more = format!("{PLAIN}[directory]\npassword_scheme = \"SSHA\"\n[access]\nrules = '''{rules}'''\n");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &more);
    let mut client = Client::administrator(&daemon);
    client.populate(2);
    assert_eq!(set_password(&mut client, "u0", None).0, ResultCode::SUCCESS);
    assert_eq!(set_password(&mut client, "u0", Some(b"new")).0, ResultCode::SUCCESS);
    assert_eq!(client.bind(&person(0), "new").code, ResultCode::SUCCESS);
    for old in [None, Some(&b"wrong"[..])] {
        assert_eq!(set_password(&mut client, "u1", old), set_password(&mut client, "u2", old));
    }
    assert_eq!(set_password(&mut client, "u1", None).0, ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn who_only_names_a_mechanism_is_asked_to_go_ahead_rfc4422_5() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let mut step = |mechanism, credentials| {
        let authentication = Authentication::Sasl { mechanism, credentials };
        client.send(Request::Bind(BindRequest { version: 3, name: "", authentication }));
        let bytes = client.message().unwrap();
        let Response::Bind(response) = Message::<Response<'_>>::decode(&bytes).unwrap().operation else { panic!() };
        (response.result.code, response.sasl_credentials.map(<[u8]>::to_vec))
    };
    let challenge = (ResultCode::SASL_BIND_IN_PROGRESS, Some(Vec::new()));
    assert_eq!(step("SCRAM-SHA-256", None), challenge);
    let first = step("SCRAM-SHA-256", Some(b"n,,n=u0,r=abc"));
    assert!(first.1.unwrap().starts_with(b"r=abc"));
    assert_eq!(step("PLAIN", None), challenge);
    assert_eq!(step("PLAIN", Some(b"\0u0\0secret-0")), (ResultCode::SUCCESS, None));
    assert_eq!(step("PLAIN", Some(b"")).0, ResultCode::PROTOCOL_ERROR);
}

#[test]
fn an_unknown_critical_control_is_refused_by_every_operation_rfc4511_4_1_11() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let filter = duramen_ldap::filter::FilterBuf::parse("(objectClass=*)").unwrap();
    let authentication = Authentication::Simple(b"");
    let name = person(0);
    let requests = [
        Request::Bind(BindRequest { version: 3, name: "", authentication }),
        crate::client::search("dc=example,dc=com", Scope::Subtree, &filter),
        Request::Delete(&name),
        Request::Extended(ExtendedRequest { name: oid::extended::WHO_AM_I, value: None }),
    ];
    for request in requests {
        for (critical, code) in [(true, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION), (false, ResultCode::SUCCESS)] {
            if !critical && matches!(request, Request::Delete(_)) {
                continue;
            }
            let bytes = client.with_controls(request, &[Control { oid: "1.2.3.4", critical, value: None }]);
            std::io::Write::write_all(&mut client.stream, &bytes).unwrap();
            let answer = client.answer().1;
            assert_eq!(answer.code, code, "{request:?} {answer:?}");
        }
    }
}
