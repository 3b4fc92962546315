//! What operators are told of certificates and handshakes.

use std::fs;
use std::path::Path;

use crate::process::{Daemon, TLS, certificates, configuration, run};

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
