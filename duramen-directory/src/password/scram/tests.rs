//! The exchange as RFC 7677 shows it, with a client of our own, and with what no client says.

use super::super::{base64, verify};
use super::*;
use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

const FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const SERVER_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const FINAL: &str =
    "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

/// Of the password "pencil", as RFC 7677 section 3 has it.
fn credentials() -> Credentials {
    Credentials::derive(b"pencil", &base64::decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap(), 4096)
}

fn answered(credentials: Credentials, answer: &str) -> Result<String, ScramError> {
    ClientFirst::parse(FIRST)?.challenge(credentials, SERVER_NONCE).0.finish(answer.as_bytes())
}

#[test]
fn the_exchange_of_rfc7677_3_ends_as_it_says() {
    let (_, challenge) = ClientFirst::parse(FIRST).unwrap().challenge(credentials(), SERVER_NONCE);
    assert_eq!(challenge, format!("r=rOprNGfwEbeRWgbNEkqO{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"));
    assert_eq!(answered(credentials(), FINAL).unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn a_proof_of_another_password_or_for_nobody_is_refused() {
    let other = Credentials::derive(b"pen", &base64::decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap(), 4096);
    assert_eq!(answered(other, FINAL), Err(ScramError::InvalidProof));
    let nobody = Credentials::pretend(b"secret", "user");
    assert_eq!(nobody, Credentials::pretend(b"secret", "user"));
    assert_ne!(nobody, Credentials::pretend(b"secret", "other"));
    assert_eq!(answered(nobody, FINAL), Err(ScramError::InvalidProof));
}

#[test]
fn messages_that_do_not_keep_to_rfc5802_7_are_refused() {
    let first = |text: &str| ClientFirst::parse(text.as_bytes()).map(|_| ()).unwrap_err();
    assert_eq!(first("p=tls-unique,,n=user,r=x"), ScramError::ChannelBinding);
    assert_eq!(first("n,,m=x,n=user,r=x"), ScramError::Extension);
    for wrong in [
        "",
        "n",
        "n,",
        "n,,",
        "x,,n=u,r=x",
        "n,b=x,n=u,r=x",
        "n,,n=,r=x",
        "n,,n=u,r=",
        "n,,n=u=,r=x",
        "n,,n=u=2c,r=x",
        "n,,r=x,n=u",
    ] {
        assert!(matches!(first(wrong), ScramError::Malformed(_)), "{wrong:?}");
    }
    for (from, to) in [("c=biws", "c=eSws"), ("EkqO%", "EkqP%"), (",p=", ",q="), ("p=dH", "p="), ("r=", "x=")] {
        let refused = answered(credentials(), &FINAL.replacen(from, to, 1));
        assert!(matches!(refused, Err(ScramError::Malformed(_))), "{from} {to}");
    }
}

#[test]
fn names_have_escaped_commas_rfc5802_5_1() {
    let first = ClientFirst::parse(b"y,a=dn:cn=3Da=2Cc=3Dx,n=a=2Cb=3Dc,r=x").unwrap();
    assert_eq!((&*first.authorization, &*first.user), ("dn:cn=a,c=x", "a,b=c"));
}

#[test]
fn kept_credentials_verify_the_password_too_rfc5803() {
    let text = credentials().to_string();
    assert_eq!(Credentials::parse(&text), Some(credentials()));
    let stored = format!("{{SCRAM-SHA-256}}{text}");
    assert!(verify(stored.as_bytes(), b"pencil"));
    assert!(!verify(stored.as_bytes(), b"pencils"));
    let commas = text.replace([':', '$'], ",");
    assert_eq!(Credentials::parse(&commas), Some(credentials()));
}

fn mac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// A client, written from RFC 5802 section 3.
fn proof(password: &str, first_bare: &str, challenge: &str, without_proof: &str) -> String {
    let field = |prefix| challenge.split(',').find_map(|part| part.strip_prefix(prefix)).unwrap();
    let mut salted = [0; 32];
    let salt = base64::decode(field("s=")).unwrap();
    ::pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), &salt, field("i=").parse().unwrap(), &mut salted);
    let client_key = mac(&salted, b"Client Key");
    let said = format!("{first_bare},{challenge},{without_proof}");
    let signature = mac(&Sha256::digest(client_key), said.as_bytes());
    base64::encode(&client_key.iter().zip(signature).map(|(a, b)| a ^ b).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn a_client_that_knows_the_password_is_let_in_and_no_other(password in "[ -~]{1,20}", wrong in "[ -~]{1,20}") {
        let kept = Credentials::derive(password.as_bytes(), b"salt", 2);
        let first = ClientFirst::parse(b"n,,n=u,r=abc").unwrap();
        for tried in [&password, &wrong] {
            let (exchange, challenge) = first.challenge(kept.clone(), "def");
            let answer = format!("c=biws,{}", challenge.split(',').next().unwrap());
            let proof = proof(tried, "n=u,r=abc", &challenge, &answer);
            prop_assert_eq!(exchange.finish(format!("{answer},p={proof}").as_bytes()).is_ok(), *tried == password);
        }
    }

    #[test]
    fn no_messages_make_the_exchange_panic(first in ".{0,40}", second in ".{0,60}") {
        if let Ok(first) = ClientFirst::parse(format!("n,,n=u,r={first}").as_bytes()) {
            let (exchange, _) = first.challenge(Credentials::pretend(b"s", "u"), "x");
            prop_assert!(exchange.finish(second.as_bytes()).is_err());
        }
        prop_assert!(ClientFirst::parse(second.as_bytes()).is_err() || second.starts_with(['n', 'y']));
    }
}
