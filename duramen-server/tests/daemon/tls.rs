//! What operators are told of certificates and handshakes.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use duramen_ldap::Payload;
use duramen_ldap::extended::PasswordModifyRequest;
use duramen_ldap::message::{ExtendedRequest, Request, ResultCode, Scope};
use duramen_ldap::oid;
use duramen_sim::port::free_port;

use crate::client::{Client, person};
use crate::life::get;
use crate::process::{Daemon, PLAIN, TLS, certificates, configuration, run};

/// What openssl says; it has to succeed.
fn openssl(dir: &Path, args: &[&str]) {
    let output = Command::new("openssl").current_dir(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What `check-config` says of the configuration with TLS in a directory.
fn checked(dir: &Path) -> (Option<i32>, String) {
    let path = dir.join("duramend.toml");
    fs::write(&path, configuration(TLS)).unwrap();
    run(&["check-config", "--config", path.to_str().unwrap()])
}

#[test]
fn a_certificate_that_has_expired_is_warned_of_and_served() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let key = rcgen::KeyPair::from_pem(&fs::read_to_string(dir.path().join("server.key")).unwrap()).unwrap();
    let mut parameters = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(2001, 9, 9);
    fs::write(dir.path().join("server.pem"), parameters.self_signed(&key).unwrap().pem()).unwrap();
    let (code, said) = checked(dir.path());
    let wanted = "has expired on 2001-09-09 00:00 UTC: clients refuse it; put another in its place";
    assert!(code == Some(0) && said.contains("warning: ") && said.contains(wanted), "{said}");
    let mut daemon = Daemon::start(dir, TLS);
    daemon.wait_for(wanted);
}

#[test]
fn metrics_say_when_the_certificate_in_use_ends() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let key = rcgen::KeyPair::from_pem(&fs::read_to_string(dir.path().join("server.key")).unwrap()).unwrap();
    let until = |year, path: &Path| {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
        fs::write(path, parameters.self_signed(&key).unwrap().pem()).unwrap();
    };
    until(2096, &dir.path().join("server.pem"));
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let mut daemon = Daemon::start(dir, &format!("{TLS}[http]\nlisten = \"{port}\"\n"));
    daemon.wait_for("figures at http://");
    let told = || {
        let metrics = get(port, "/metrics");
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("duramend_certificate_not_after_timestamp_seconds "));
        line.map(str::to_string)
    };
    assert_eq!(told().as_deref(), Some("3976214400"));
    until(2097, &daemon.path("server.pem"));
    assert_eq!(told().as_deref(), Some("3976214400"), "the one in use, not that in the file");
    daemon.signal("HUP");
    daemon.wait_for("reloaded");
    assert_eq!(told().as_deref(), Some("4007836800"));
}

#[test]
fn who_is_connected_gets_the_tls_and_the_form_of_passwords_that_a_reload_brings() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let scheme = |scheme: &str| format!("{PLAIN}[directory]\npassword_scheme = \"{scheme}\"\n");
    let mut daemon = Daemon::start(dir, &scheme("SSHA"));
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let start_tls = Request::Extended(ExtendedRequest { name: oid::extended::START_TLS, value: None });
    assert_eq!(client.ask(start_tls).code, ResultCode::PROTOCOL_ERROR);
    let tls = "[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n";
    fs::write(daemon.path("duramend.toml"), configuration(&format!("{}{tls}", scheme("CLEARTEXT")))).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded");
    let (user, mut value) = (person(0), Vec::new());
    PasswordModifyRequest { user: Some(user.as_bytes()), new_password: Some(b"as it is"), ..Default::default() }
        .encode(&mut value);
    let set = Request::Extended(ExtendedRequest { name: oid::extended::PASSWORD_MODIFY, value: Some(&value) });
    assert_eq!(client.ask(set).code, ResultCode::SUCCESS);
    assert_eq!(client.search(&user, Scope::Base, "(userPassword=as it is)").names, [user.as_str()]);
    assert_eq!(client.ask(start_tls).code, ResultCode::SUCCESS);
}

#[test]
fn a_file_that_is_cut_off_is_said_to_be_in_words() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    for (name, what) in [("server.key", "PRIVATE KEY"), ("server.pem", "CERTIFICATE")] {
        let path = dir.path().join(name);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 40]).unwrap();
        let (code, said) = checked(dir.path());
        let wanted = format!("{name}: no {} can be read here: the file is cut off", what.to_lowercase());
        assert!(code == Some(78) && said.contains(&wanted), "{said}");
        assert!(said.contains(&format!("there is no line -----END {what}-----")), "{said}");
    }
}

#[test]
fn the_log_says_why_a_clients_certificate_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    certificates(path);
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout"];
    openssl(path, &[&["req", "-x509"], &key[..], &["own.key", "-out", "root.pem", "-subj", "/CN=root"]].concat());
    openssl(path, &[&["req"], &key[..], &["old.key", "-out", "old.csr", "-subj", "/CN=a client"]].concat());
    let sign = ["-CA", "root.pem", "-CAkey", "own.key", "-CAcreateserial", "-out", "old.pem"];
    openssl(path, &[&["x509", "-req", "-in", "old.csr"], &sign[..]].concat());
    fs::write(path.join("client"), "basicConstraints = CA:FALSE\n").unwrap();
    let own = ["-signkey", "old.key", "-extfile", "client", "-out", "alien.pem"];
    openssl(path, &[&["x509", "-req", "-in", "old.csr"], &own[..]].concat());
    let mut daemon = Daemon::start(dir, &format!("{TLS}[log]\nstats = true\n"));
    let ldaps = daemon.ldaps.unwrap().to_string();
    let mut present = |certificate: &str, key: &str, why: &str| {
        let mut client = Command::new("openssl");
        client.current_dir(daemon.dir.path());
        client.args(["s_client", "-connect", &ldaps, "-cert", certificate, "-key", key]);
        client.stdin(Stdio::null()).output().unwrap();
        daemon.wait_for(&format!("a client is disconnected: its certificate is refused: {why}"));
        daemon.log()
    };
    let log = present("old.pem", "old.key", "it is of X.509's version 1");
    let line = log.lines().find(|line| line.contains("TLS failed: ")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("stats: conn=1000 fd=") && line.contains("UnsupportedCertVersion"), "{line}");
    present("root.pem", "own.key", "it is one of a certification authority");
    present("alien.pem", "old.key", "none of client_roots has issued it");
}

#[test]
fn roots_that_nothing_can_be_verified_by_are_told_of_and_refused_where_there_is_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    certificates(path);
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-521", "-nodes", "-keyout"];
    openssl(path, &[&["req", "-x509"], &key[..], &["own.key", "-out", "large.pem", "-subj", "/CN=large"]].concat());
    openssl(path, &["req", "-new", "-key", "client.key", "-out", "client.csr", "-subj", "/CN=a client"]);
    fs::write(path.join("client"), "basicConstraints = CA:FALSE\n").unwrap();
    let sign =
        ["-CA", "large.pem", "-CAkey", "own.key", "-CAcreateserial", "-extfile", "client", "-out", "of_large.pem"];
    openssl(path, &[&["x509", "-req", "-in", "client.csr"], &sign[..]].concat());
    let [usable, large] = ["root.pem", "large.pem"].map(|name| fs::read_to_string(path.join(name)).unwrap());
    fs::write(path.join("root.pem"), &large).unwrap();
    let (code, said) = checked(path);
    let told = "root.pem: no certificate that \"CN=large\" in it has issued can be verified by its key; \
        for roots RSA of 2048 to 8192 bits, ECDSA with P-256 or P-384 and Ed25519 can be used";
    assert!(code == Some(78) && said.contains(told), "{said}");
    fs::write(path.join("root.pem"), usable + &large).unwrap();
    let (code, said) = checked(path);
    assert!(code == Some(0) && said.contains("warning: ") && said.contains(told), "{said}");

    let mut daemon = Daemon::start(dir, TLS);
    daemon.wait_for(told);
    let mut client = Command::new("openssl");
    client.current_dir(daemon.dir.path()).args(["s_client", "-connect", &daemon.ldaps.unwrap().to_string()]);
    client.args(["-cert", "of_large.pem", "-key", "client.key"]).stdin(Stdio::null()).output().unwrap();
    daemon.wait_for(
        "a client is disconnected: its certificate is refused: its key, or that of who has issued it, cannot be used",
    );
}

#[test]
fn clients_that_ask_to_renegotiate_are_told_of_by_a_part_of_the_log_that_is_off_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let mut daemon = Daemon::start(dir, &format!("{TLS}[log]\nlevel = \"info,rustls=warn\"\n"));
    let mut command = Command::new("openssl");
    command.args(["s_client", "-tls1_2", "-connect", &daemon.ldaps.unwrap().to_string()]);
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    client.stdin.as_mut().unwrap().write_all(b"R\n").unwrap();
    daemon.wait_for("WARN rustls::");
    client.kill().unwrap();
    client.wait().unwrap();
}

/// A root named so, with a client's certificate of it (`NAME.pem`, `NAME.key`); what it says of the client's in `NAME.crl`: whether
/// it is revoked, and until when that holds.
fn issued(dir: &Path, name: &str, list: Option<(bool, i32)>) -> String {
    use rcgen::{
        BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod,
        KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
    };
    let key = KeyPair::generate().unwrap();
    let mut root = CertificateParams::new(Vec::new()).unwrap();
    root.distinguished_name.push(DnType::CommonName, name);
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let root_pem = root.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(root, key);
    let mut client = CertificateParams::new(Vec::new()).unwrap();
    client.distinguished_name.push(DnType::CommonName, "a client");
    client.serial_number = Some(SerialNumber::from(7));
    let own = KeyPair::generate().unwrap();
    fs::write(dir.join(format!("{name}.pem")), client.signed_by(&own, &issuer).unwrap().pem()).unwrap();
    fs::write(dir.join(format!("{name}.key")), own.serialize_pem()).unwrap();
    if let Some((is_revoked, until)) = list {
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(if is_revoked { 7 } else { 8 }),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(until, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        fs::write(dir.join(format!("{name}.crl")), list.signed_by(&issuer).unwrap().pem().unwrap()).unwrap();
    }
    root_pem
}

#[test]
fn revoked_certificates_of_clients_are_refused_and_those_of_which_nobody_knows_and_a_reload_knows_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    certificates(path);
    let roots = [
        issued(path, "good", Some((false, 2100))),
        issued(path, "bad", Some((true, 2100))),
        issued(path, "old", Some((false, 2021))),
        issued(path, "unknown", None),
    ];
    fs::write(path.join("root.pem"), roots.concat()).unwrap();
    let list = |names: &[&str]| {
        names.iter().map(|name| fs::read_to_string(path.join(format!("{name}.crl"))).unwrap()).collect::<String>()
    };
    let all = list(&["good", "bad", "old"]);
    fs::write(path.join("revoked.pem"), &all).unwrap();
    let now_unknown = list(&["bad", "old"]);
    let configured = TLS.replace("client_roots", "client_revoked = \"revoked.pem\"\nclient_roots");
    let mut daemon = Daemon::start(dir, &format!("{configured}[log]\nstats = true\n"));
    let ldaps = daemon.ldaps.unwrap().to_string();
    let connect = |dir: &Path, name: &str| {
        let mut client = Command::new("openssl");
        client.current_dir(dir).args(["s_client", "-connect", &ldaps, "-quiet", "-no_ign_eof"]);
        client.args(["-cert", &format!("{name}.pem"), "-key", &format!("{name}.key")]);
        client.stdin(Stdio::null()).output().unwrap();
    };
    let whose = |daemon: &Daemon| daemon.log().matches("a client is disconnected: its certificate is refused").count();
    connect(daemon.dir.path(), "good");
    for (name, why) in [
        ("bad", "it is among those of client_revoked"),
        ("old", "the list of its issuer in client_revoked is out of date"),
        ("unknown", "client_revoked has no list of who has issued it"),
    ] {
        connect(daemon.dir.path(), name);
        daemon.wait_for(&format!("a client is disconnected: its certificate is refused: {why}"));
    }
    assert_eq!(whose(&daemon), 3, "{}", daemon.log());
    fs::write(daemon.path("revoked.pem"), now_unknown).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded");
    connect(daemon.dir.path(), "good");
    let begin = Instant::now();
    while whose(&daemon) < 4 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{}", daemon.log());
        std::thread::sleep(Duration::from_millis(10));
    }

    fs::write(daemon.path("revoked.pem"), "nothing").unwrap();
    let (code, said) = run(&["check-config", "--config", daemon.path("duramend.toml").to_str().unwrap()]);
    assert!(code == Some(78) && said.contains("revoked.pem: there is no list of revoked certificates in it"), "{said}");
}
