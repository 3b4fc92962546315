//! Password policies in sessions (draft-behera-ldap-password-policy-10). What policies themselves say is compared with slapd
//! elsewhere.

use std::process::Command;

use duramen_ldap::Payload;
use duramen_ldap::control::{PasswordError, PasswordPolicyResponse};
use duramen_ldap::extended::PasswordModifyRequest;
use duramen_ldap::message::{
    Authentication, BindRequest, Control, ExtendedRequest, Message, Request, Response, ResultCode, Scope,
};
use duramen_ldap::oid;

use crate::client::{Client, person};
use crate::process::{ADMINISTRATOR, Daemon, PLAIN, configuration};

const POLICY: &str = "cn=policy,dc=example,dc=com";

fn in_force(tell_locked: bool) -> String {
    format!("[password_policies]\ndefault = \"{POLICY}\"\ntell_locked = {tell_locked}\n")
}

/// A daemon whose people, so many, are under a policy with these rules.
fn governed(count: usize, rules: &[(&str, &str)], tell_locked: bool) -> (Daemon, Client) {
    governed_by(count, rules, &in_force(tell_locked))
}

fn governed_by(count: usize, rules: &[(&str, &str)], more: &str) -> (Daemon, Client) {
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}{more}"));
    let mut client = Client::administrator(&daemon);
    client.populate(count);
    let mut attributes: Vec<(&str, &[&str])> =
        vec![("objectClass", &["device", "pwdPolicy"]), ("cn", &["policy"]), ("pwdAttribute", &["userPassword"])];
    let values: Vec<[&str; 1]> = rules.iter().map(|(_, value)| [*value]).collect();
    attributes.extend(rules.iter().zip(&values).map(|((name, _), value)| (*name, &value[..])));
    assert_eq!(client.add(POLICY, &attributes).code, ResultCode::SUCCESS);
    (daemon, client)
}

/// How a request that asks for what the policy says is answered: the code, and that if there was any.
fn asked(client: &mut Client, request: Request<'_>) -> (ResultCode, Option<PasswordPolicyResponse>) {
    use std::io::Write;
    let control = Control { oid: oid::control::PASSWORD_POLICY, critical: true, value: None };
    let bytes = client.with_controls(request, &[control]);
    client.stream.write_all(&bytes).unwrap();
    let bytes = client.message().unwrap();
    let message = Message::<Response<'_>>::decode(&bytes).unwrap();
    let said = message.controls.iter().find(|control| control.oid == oid::control::PASSWORD_POLICY);
    let said = said.map(|control| PasswordPolicyResponse::decode(control.value.unwrap()).unwrap());
    (message.operation.result().unwrap().code, said)
}

fn bind(client: &mut Client, name: &str, password: &str) -> (ResultCode, Option<PasswordPolicyResponse>) {
    let authentication = Authentication::Simple(password.as_bytes());
    asked(client, Request::Bind(BindRequest { version: 3, name, authentication }))
}

fn sasl(client: &mut Client, mechanism: &str, said: &[u8]) -> (ResultCode, Vec<u8>) {
    let authentication = Authentication::Sasl { mechanism, credentials: Some(said) };
    client.send(Request::Bind(BindRequest { version: 3, name: "", authentication }));
    let bytes = client.message().unwrap();
    let Response::Bind(response) = Message::<Response<'_>>::decode(&bytes).unwrap().operation else { panic!() };
    (response.result.code, response.sasl_credentials.unwrap_or_default().to_vec())
}

fn set_password(client: &mut Client, user: &str, new: &str) -> (ResultCode, Option<PasswordPolicyResponse>) {
    let mut value = Vec::new();
    let (user, new_password) = (Some(user.as_bytes()), Some(new.as_bytes()));
    PasswordModifyRequest { user, old_password: None, new_password }.encode(&mut value);
    asked(client, Request::Extended(ExtendedRequest { name: oid::extended::PASSWORD_MODIFY, value: Some(&value) }))
}

fn said(error: PasswordError) -> Option<PasswordPolicyResponse> {
    Some(PasswordPolicyResponse { warning: None, error: Some(error) })
}

const NOTHING: Option<PasswordPolicyResponse> = Some(PasswordPolicyResponse { warning: None, error: None });
const WRONG: ResultCode = ResultCode::INVALID_CREDENTIALS;

#[test]
fn a_locked_account_and_a_name_that_is_not_there_are_answered_alike_unless_that_is_to_be_told() {
    for tell_locked in [false, true] {
        let (daemon, _) = governed(1, &[("pwdLockout", "TRUE"), ("pwdMaxFailure", "2")], tell_locked);
        let client = &mut Client::new(&daemon);
        assert_eq!([bind(client, &person(0), "wrong"), bind(client, &person(0), "wrong")], [(WRONG, NOTHING); 2]);
        let locked = if tell_locked { said(PasswordError::AccountLocked) } else { NOTHING };
        for password in ["secret-0", "wrong"] {
            assert_eq!(bind(client, &person(0), password), (WRONG, locked));
            assert_eq!(bind(client, &person(1), password), (WRONG, NOTHING));
        }
        // Who does not ask is told nothing.
        assert_eq!(client.bind(&person(0), "secret-0").code, WRONG);
        assert_eq!(bind(client, ADMINISTRATOR.0, ADMINISTRATOR.1), (ResultCode::SUCCESS, NOTHING));
        assert_eq!(daemon.log().matches("is locked, after too many wrong passwords").count(), 1);
    }
}

#[test]
fn how_long_a_wrong_password_takes_does_not_tell_whether_it_was_counted() {
    let (daemon, _) = governed(1, &[("pwdMaxRecordedFailure", "5")], false);
    let client = &mut Client::new(&daemon);
    // What is cheap to check, and cheap to note down.
    assert_eq!(client.bind(&person(0), "secret-0").code, ResultCode::SUCCESS);
    for name in [person(0), person(1), "cn=x,dc=elsewhere".into()] {
        let began = std::time::Instant::now();
        assert_eq!(client.bind(&name, "wrong").code, WRONG);
        assert!(began.elapsed() >= std::time::Duration::from_millis(5), "{name}");
    }
}

#[test]
fn wrong_passwords_count_whatever_mechanism_they_come_by() {
    let (daemon, mut administrator) = governed(1, &[("pwdLockout", "TRUE"), ("pwdMaxFailure", "3")], true);
    let client = &mut Client::new(&daemon);
    assert_eq!(sasl(client, "PLAIN", b"\0u0\0wrong").0, WRONG);
    let (code, challenge) = sasl(client, "SCRAM-SHA-256", b"n,,n=u0,r=abc");
    assert_eq!(code, ResultCode::SASL_BIND_IN_PROGRESS);
    let challenge = String::from_utf8(challenge).unwrap();
    let nonce = challenge.split(',').next().unwrap();
    let no_proof = format!("c=biws,{nonce},p={}=", "A".repeat(43));
    assert_eq!(sasl(client, "SCRAM-SHA-256", no_proof.as_bytes()).0, WRONG);
    assert_eq!(client.bind(&person(0), "wrong").code, WRONG);
    assert_eq!(sasl(client, "PLAIN", b"\0u0\0secret-0").0, WRONG, "it is locked");
    let locked = administrator.search(&person(0), Scope::Base, "(&(pwdAccountLockedTime=*)(pwdFailureTime=*))");
    assert_eq!(locked.names, [person(0)]);
    assert_eq!(administrator.replace(&person(0), "userPassword", "new").code, ResultCode::SUCCESS);
    assert_eq!(sasl(client, "PLAIN", b"\0u0\0new").0, ResultCode::SUCCESS);
}

#[test]
fn many_wrong_passwords_at_once_are_all_counted() {
    let (daemon, _) = governed(1, &[("pwdMaxRecordedFailure", "100")], false);
    let (people, tries) = (4, 10);
    std::thread::scope(|scope| {
        for _ in 0..people {
            scope.spawn(|| {
                let mut client = Client::new(&daemon);
                (0..tries).for_each(|_| assert_eq!(client.bind(&person(0), "wrong").code, WRONG));
            });
        }
    });
    let seen = Command::new("ldapsearch")
        .args(["-x", "-LLL", "-H", &format!("ldap://127.0.0.1:{}", daemon.ldap.port())])
        .args(["-D", ADMINISTRATOR.0, "-w", ADMINISTRATOR.1, "-b", &person(0), "-s", "base", "pwdFailureTime"])
        .output()
        .unwrap();
    let seen = String::from_utf8(seen.stdout).unwrap();
    assert_eq!(seen.matches("pwdFailureTime:").count(), people * tries, "{seen}");
}

#[test]
fn wrong_passwords_that_are_not_noted_down_yet_keep_a_right_one_of_the_same_account_waiting() {
    let (daemon, mut administrator) = governed(3, &[("pwdLockout", "TRUE"), ("pwdMaxFailure", "3")], false);
    let tries = 24;
    // As one password is costly to check, every wrong one takes as long.
    assert_eq!(set_password(&mut administrator, &person(2), "costly"), (ResultCode::SUCCESS, None));
    assert_eq!(Client::new(&daemon).bind(&person(2), "costly").code, ResultCode::SUCCESS);
    let mut clients: Vec<Client> = (0..tries).map(|_| Client::new(&daemon)).collect();
    let (name, authentication) = (person(0), Authentication::Simple(b"wrong"));
    for client in &mut clients {
        client.send(Request::Bind(BindRequest { version: 3, name: &name, authentication }));
    }
    // The server has all of them, beside the two before.
    let have_begun = format!("(monitorOpInitiated>={})", tries + 2);
    while administrator.search("cn=Bind,cn=Operations,cn=Monitor", Scope::Base, &have_begun).names.is_empty() {}
    let mut client = Client::new(&daemon);
    assert_eq!(client.bind(&person(1), "secret-1").code, ResultCode::SUCCESS, "others do not wait");
    assert_eq!(client.bind(&name, "secret-0").code, WRONG, "it is locked by then");
    assert!(clients.iter_mut().all(|client| client.answer().1.code == WRONG));
    assert_eq!(administrator.search(&name, Scope::Base, "(pwdAccountLockedTime=*)").names, [name]);
}

#[test]
fn who_has_to_change_the_password_does_nothing_before() {
    let (daemon, mut administrator) = governed(2, &[("pwdMustChange", "TRUE")], false);
    assert_eq!(set_password(&mut administrator, &person(0), "given"), (ResultCode::SUCCESS, None));
    let client = &mut Client::new(&daemon);
    let must_change = said(PasswordError::ChangeAfterReset);
    assert_eq!(bind(client, &person(0), "given"), (ResultCode::SUCCESS, must_change));
    let refused = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
    assert_eq!(client.search("dc=example,dc=com", Scope::Subtree, "(uid=u0)").code, refused);
    assert_eq!(client.replace(&person(0), "description", "x").code, refused);
    assert_eq!(client.replace(&person(1), "userPassword", "x").code, refused);
    assert_eq!(client.delete(&person(1)).code, refused);
    assert_eq!(client.replace(&person(0), "userPassword", "own").code, ResultCode::SUCCESS);
    assert_eq!(client.search("dc=example,dc=com", Scope::Subtree, "(uid=u0)").names, [person(0)]);
    assert_eq!(bind(client, &person(0), "own"), (ResultCode::SUCCESS, NOTHING));
    // By the password modify operation as well, and whoever binds as somebody else begins anew.
    assert_eq!(set_password(&mut administrator, &person(0), "again").0, ResultCode::SUCCESS);
    assert_eq!(bind(client, &person(0), "again").1, must_change);
    assert_eq!(bind(client, &person(1), "secret-1"), (ResultCode::SUCCESS, NOTHING));
    assert_eq!(client.search("dc=example,dc=com", Scope::Subtree, "(uid=u0)").code, ResultCode::SUCCESS);
    assert_eq!(bind(client, &person(0), "again").1, must_change);
    assert_eq!(set_password(client, &person(0), "mine").0, ResultCode::SUCCESS);
    assert_eq!(client.search("dc=example,dc=com", Scope::Subtree, "(uid=u0)").code, ResultCode::SUCCESS);
}

#[test]
fn who_acts_for_somebody_else_has_to_change_the_own_password_as_well() {
    let more = format!("[directory]\nauthz_policy = \"to\"\n{}", in_force(false));
    let (daemon, mut administrator) = governed_by(2, &[("pwdMustChange", "TRUE")], &more);
    assert_eq!(administrator.replace(&person(0), "authzTo", &format!("dn:{}", person(1))).code, ResultCode::SUCCESS);
    assert_eq!(set_password(&mut administrator, &person(0), "given").0, ResultCode::SUCCESS);
    let client = &mut Client::new(&daemon);
    assert_eq!(sasl(client, "PLAIN", b"u:u1\0u0\0given").0, ResultCode::SUCCESS);
    let search = |client: &mut Client| client.search("dc=example,dc=com", Scope::Subtree, "(uid=u0)").code;
    assert_eq!(search(client), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(client.replace(&person(1), "userPassword", "x").code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(bind(client, &person(0), "given").0, ResultCode::SUCCESS);
    assert_eq!(client.replace(&person(0), "userPassword", "own").code, ResultCode::SUCCESS);
    assert_eq!(sasl(client, "PLAIN", b"u:u1\0u0\0own").0, ResultCode::SUCCESS);
    assert_eq!(search(client), ResultCode::SUCCESS);
}

#[test]
fn a_new_password_is_judged_before_it_is_hashed_and_held_against_those_of_the_past() {
    let rules = [("pwdCheckQuality", "2"), ("pwdMinLength", "5"), ("pwdInHistory", "3")];
    let (daemon, _) = governed(1, &rules, false);
    let client = &mut Client::new(&daemon);
    assert_eq!(client.bind(&person(0), "secret-0").code, ResultCode::SUCCESS);
    let refused = |error| (ResultCode::CONSTRAINT_VIOLATION, said(error));
    assert_eq!(set_password(client, &person(0), "abcd"), refused(PasswordError::TooShort));
    assert_eq!(set_password(client, &person(0), "secret-0"), refused(PasswordError::InHistory));
    // As it is configured by default, new ones are hashed so that verifying takes long.
    for new in ["first", "second"] {
        assert_eq!(set_password(client, &person(0), new), (ResultCode::SUCCESS, None));
    }
    assert_eq!(set_password(client, &person(0), "first"), refused(PasswordError::InHistory));
    let code = client.replace(&person(0), "userPassword", "second").code;
    assert_eq!(code, ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(client.replace(&person(0), "userPassword", "{SSHA}abcdefgh").code, ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(client.bind(&person(0), "second").code, ResultCode::SUCCESS);
}

#[test]
fn ldap_utils_show_what_a_policy_says() {
    let rules = [("pwdMaxAge", "1000"), ("pwdExpireWarning", "1000"), ("pwdCheckQuality", "2"), ("pwdMinLength", "5")];
    let (daemon, mut administrator) = governed(1, &rules, false);
    // Of one that was set before there was a policy nobody knows how old it is.
    assert_eq!(administrator.replace(&person(0), "userPassword", "secret-0").code, ResultCode::SUCCESS);
    let tool = |name: &str, args: &[&str]| {
        let url = format!("ldap://127.0.0.1:{}", daemon.ldap.port());
        let mut command = Command::new(name);
        command.args(["-x", "-H", &url, "-D", &person(0), "-w", "secret-0", "-e", "ppolicy"]).args(args);
        let output = command.output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        (output.status.code(), out + &err)
    };
    let (code, said) = tool("ldapwhoami", &[]);
    assert!(code == Some(0) && said.contains("Password expires in"), "{said}");
    let (code, said) = tool("ldappasswd", &["-s", "abcd"]);
    assert!(code == Some(1) && said.contains("error=6 (Password is too short"), "{said}");
    let (code, said) = tool("ldapsearch", &["-b", "", "-s", "base", "supportedControl"]);
    assert!(code == Some(0) && said.contains(oid::control::PASSWORD_POLICY), "{said}");
}

#[test]
fn a_policy_that_is_not_there_is_told_of_once_and_a_name_that_is_none_is_a_fault() {
    let more = format!("{PLAIN}[password_policies]\ndefault = \"cn=nosuch,dc=example,dc=com\"\n");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &more);
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    for _ in 0..3 {
        assert_eq!(bind(&mut client, &person(0), "secret-0"), (ResultCode::SUCCESS, NOTHING));
    }
    let log = daemon.log();
    assert_eq!(log.matches("is no entry with a password policy").count(), 1, "{log}");

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("faulty.toml");
    for (name, wrong) in [("nonsense", "is not one"), ("", "the empty name")] {
        let text = format!("[password_policies]\n# a comment\ndefault = \"{name}\"\n");
        std::fs::write(&path, crate::process::configuration(&text)).unwrap();
        let (code, said) = crate::process::run(&["check-config", "--config", path.to_str().unwrap()]);
        assert!(code == Some(78) && said.contains("faulty.toml:6:11") && said.contains(wrong), "{said}");
    }
}

#[test]
fn nobody_finds_out_about_passwords_of_others_by_what_is_said_of_new_ones() {
    let rules = [("pwdLockout", "TRUE"), ("pwdMaxFailure", "3"), ("pwdInHistory", "3"), ("pwdSafeModify", "TRUE")];
    let (daemon, mut administrator) = governed(2, &rules, true);
    assert_eq!(administrator.replace(&person(0), "userPassword", "later").code, ResultCode::SUCCESS);
    let client = &mut Client::new(&daemon);
    assert_eq!(client.bind(&person(1), "secret-1").code, ResultCode::SUCCESS);
    let mut changed = |old: &str, new: &str| client.change_value(&person(0), "userPassword", old, new);
    let refused = changed("wrong", "new");
    assert_eq!(refused.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    for (old, new) in [("later", "new"), ("later", "secret-0"), ("secret-0", "later")] {
        assert_eq!(changed(old, new), refused, "{old} {new}");
    }
    // Guesses that are sent as the old one count as those of who binds.
    let mut guessed = |old: &[u8]| {
        let mut value = Vec::new();
        let user = person(0);
        let (user, new_password) = (Some(user.as_bytes()), Some(&b"new"[..]));
        PasswordModifyRequest { user, old_password: Some(old), new_password }.encode(&mut value);
        let request = ExtendedRequest { name: oid::extended::PASSWORD_MODIFY, value: Some(&value) };
        client.ask(Request::Extended(request)).code
    };
    assert_eq!([guessed(b"a"), guessed(b"b"), guessed(b"c")], [ResultCode::UNWILLING_TO_PERFORM; 3]);
    assert_eq!(guessed(b"later"), ResultCode::UNWILLING_TO_PERFORM, "it is locked now");
    assert_eq!(bind(client, &person(0), "later"), (WRONG, said(PasswordError::AccountLocked)));
    // The same of one's own, by a modify.
    assert_eq!(client.bind(&person(1), "secret-1").code, ResultCode::SUCCESS);
    for _ in 0..3 {
        let code = client.change_value(&person(1), "userPassword", "guess", "new").code;
        assert_eq!(code, ResultCode::UNWILLING_TO_PERFORM);
    }
    assert_eq!(bind(client, &person(1), "secret-1"), (WRONG, said(PasswordError::AccountLocked)));
}

#[test]
fn passwords_in_clear_text_are_hashed_as_configured_and_reloaded() {
    let hashing = format!("{PLAIN}[directory]\nhash_passwords = true\npassword_scheme = \"SSHA512\"\n");
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), &hashing);
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    // What a filter compares with is the value as it is stored.
    let is_clear = |client: &mut Client, number: usize, password: &str| {
        let mut has = |filter: &str| client.search(&person(number), Scope::Base, filter).names.len() == 1;
        assert!(has("(userPassword=*)"));
        has(&format!("(userPassword={password})"))
    };
    assert!(!is_clear(&mut client, 0, "secret-0"));
    assert_eq!(client.replace(&person(0), "userPassword", "another").code, ResultCode::SUCCESS);
    assert!(!is_clear(&mut client, 0, "another"));
    assert_eq!(Client::new(&daemon).bind(&person(0), "another").code, ResultCode::SUCCESS);
    assert_eq!(Client::new(&daemon).bind(&person(0), "secret-0").code, WRONG);

    std::fs::write(daemon.path("duramend.toml"), configuration(PLAIN)).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    let mut client = Client::administrator(&daemon);
    assert_eq!(client.add_person(1).code, ResultCode::SUCCESS);
    assert!(is_clear(&mut client, 1, "secret-1"));
}

#[test]
fn passwords_of_one_connection_are_hashed_one_request_after_the_other() {
    let hashing = format!("{PLAIN}[directory]\nhash_passwords = true\n[limits]\npassword_checks = 2\n");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &hashing);
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    // The first takes eight times as long as the second.
    let many: [String; 8] = std::array::from_fn(|n| format!("first {n}"));
    let first = client.send_replace_all(&person(0), "userPassword", &many.each_ref().map(String::as_str));
    let second = client.send_replace(&person(0), "userPassword", "second");
    let answered = [first, second].map(|_| client.answer()).map(|(id, answer)| (id, answer.code));
    assert_eq!(answered, [first, second].map(|id| (id, ResultCode::SUCCESS)));
    assert_eq!(Client::new(&daemon).bind(&person(0), "second").code, ResultCode::SUCCESS);
    assert_eq!(Client::new(&daemon).bind(&person(0), "first 0").code, WRONG);
}

#[test]
fn a_password_is_deleted_by_its_clear_text_where_such_are_hashed_with_policies_and_without() {
    let hashing = "[directory]\nhash_passwords = true\npassword_scheme = \"SSHA256\"\n";
    for more in [hashing.to_string(), format!("{hashing}{}", in_force(false))] {
        let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}{more}"));
        let mut administrator = Client::administrator(&daemon);
        administrator.populate(2);
        let (own, other, mut client) = (person(0), person(1), Client::new(&daemon));
        assert_eq!(client.bind(&own, "secret-0").code, ResultCode::SUCCESS);
        // As clients change a password: the old value goes, the new one comes.
        assert_eq!(client.change_value(&own, "userPassword", "not it", "new").code, ResultCode::NO_SUCH_ATTRIBUTE);
        assert_eq!(client.change_value(&own, "userPassword", "secret-0", "second").code, ResultCode::SUCCESS);
        assert_eq!(client.bind(&own, "second").code, ResultCode::SUCCESS);
        assert_eq!(client.bind(&own, "secret-0").code, WRONG);
        // Nobody finds out about another one's in that way.
        assert_eq!(client.bind(&own, "second").code, ResultCode::SUCCESS);
        let guesses = ["secret-1", "wrong"].map(|guess| client.change_value(&other, "userPassword", guess, "x").code);
        assert_eq!(guesses, [ResultCode::INSUFFICIENT_ACCESS_RIGHTS; 2]);
        let code = administrator.change_value(&other, "userPassword", "{CLEARTEXT}secret-1", "set by hand").code;
        assert_eq!(code, ResultCode::SUCCESS);
        assert_eq!(client.bind(&other, "set by hand").code, ResultCode::SUCCESS);
        // The value alone.
        assert_eq!(administrator.delete_value(&own, "userPassword", "wrong").code, ResultCode::NO_SUCH_ATTRIBUTE);
        assert_eq!(administrator.delete_value(&own, "userPassword", "second").code, ResultCode::SUCCESS);
        let left = administrator.search(&own, Scope::Base, "(userPassword=*)").names;
        assert!(left.is_empty(), "{left:?}");
    }
}
