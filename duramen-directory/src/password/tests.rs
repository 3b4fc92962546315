//! What other programs made of one password is verified as theirs. The values are the programs' output.

use proptest::prelude::*;

use super::*;

const PASSWORD: &str = "correct horse Ü";

/// `slappasswd` of OpenLDAP 2.5, with its modules argon2, pw-sha2 and pw-pbkdf2.
const SLAPPASSWD: [&str; 21] = [
    "{SSHA}nzcfTzpUzvU8CWRUxcrbPJU/2vc28Ozl",
    "{SHA}YCaZvc57iuYGPIZONYDYEHFWDyQ=",
    "{SMD5}PHEeWJ7aFWDSyQoCO3ea4MNYuAo=",
    "{MD5}pk2yooU8sa5sgeJMpJNZ9w==",
    "{ARGON2}$argon2i$v=19$m=4096,t=3,p=1$bS11q0j0umW3tSGycQ47Cw$XBOb2oN7aRXUxpnXNEz6+jBabpHUm4M+c4vaB3TUT4k",
    "{SHA256}ZzFBNWytm7d3Wa3JyBkJMxeuaMuIQRjWHXK8iJsD0JY=",
    "{SSHA256}Mb2oWJDSshA7t1+fYjnkgWZkoF+/65sAjEffngaCfDVcZqbZK5s0tA==",
    "{SHA384}O14cgiUH57LC1j9gS9fKy62wKwpZy8U5FDA8tYxDQVp/orxxcUYC0+u3cgP4I8KM",
    "{SSHA384}dV+TUA+eYRVYSO5Rba7lYN+aK1hT2y488XsyHgcLVTsOb2cfYIq67cHku4f8Qe+oQqqGD+gpIXA=",
    "{SHA512}y9o8QGDLMVXsQJto58o+MP7aCoq+KQLtOZeeDuzul6uHPIdMaWKRX07EvjBENeJdfYJvjKo+QmiyWYyhPpmRMQ==",
    "{SSHA512}Akq8cwz+6th+WgJ6/lTvtTojkyyaIjF6QQcxk9XiqsgXrsHaHAJqdRnIexFxsXUaUIqh/hY09QnhzU0jPZirkouFamJIxyZx",
    "{PBKDF2}10000$0EGK4AYD08lr0SqwchGpew$gtA4uud1AoU8hdQgsHZhfEC0z9U",
    "{PBKDF2-SHA1}10000$Da/apDDXQxrdfZXPx31x2w$Ao5UF1u0dPhSui.yE6hxbJPJYnQ",
    "{PBKDF2-SHA256}10000$rSn2eckJSiytgO4moalGrw$Fo4X0KTcLyjkPczsG3.4z1QrbsJMmIiEdORvCdnneqg",
    "{PBKDF2-SHA512}10000$9wD10rohtMLvS3LqHiuYnA$vwiwDvCyLTH.XF32Hb7CQTNZJydKd9yZxZVMvgTFQrpw.BMGJYgF3vzbD3vT235RBu7G38qvk9DVZagrc5baxQ",
    "{CRYPT}$1$SrEvLeJ9$jztOLahrZxl7eA6IITXBc1",
    "{CRYPT}$5$rounds=2000$UeBkmaAUbQavYIq/$bblp4BC9JJZ8ijUznLK2H4JfH4TcsCrUDAW1mRIdjO9",
    "{CRYPT}$6$rounds=1500$MDybMJ2F$PQDNlMtIX/EomEvkTjSpg9y4edbs1xXdd0x4qzN8j63DisEc3aZC61AzNr44B4vTwLeJ/IbLKZR8tD2s0DykQ0",
    "{CRYPT}$2a$06$M67k512gsBZWcA/DPQTBoeMA34a0SEF7Bo0V8YOegZt3PS0idiWJe",
    "{CRYPT}$2y$06$0mOBXpealLJ4T/W41jY7A.kubHGRBDOk2YowbFIHQkmvskme9ocNW",
    "{CRYPT}$2b$06$1j.krC8YvG3c9jPke.jdpOb2KsLrWe6CGrGnKZlXaQ6EGZ3/7DjH6",
];

/// `openssl passwd -1`, `-5` and `-6`, and libxcrypt, of the same password.
const CRYPT: [&str; 7] = [
    "$1$lgCJPrgB$fIXIgEojaHhwLteeCuUd8/",
    "$5$T/s49m3WS.tBUcKG$JagrAF4EbqsiEqpoSJLpbgR0xwhmgVWWH7PqRDOxHx0",
    "$6$75eZ6d/uD5J5yqQL$Gw41ztrIolfHWOGy5XqNQ0lJk6BiYITacjftGs5fZvbD7qaC4.B1kk3cyDZJiVQwH12VeWUNIy/GImAkCNsFQ.",
    "$1$abcdefgh$7GvhsrdJ7FhtKf/8ATt4W/",
    "$5$rounds=1000$ab$.i25S86tvp5PFNm1Q0qfeM07zR14fms5psgohw1DytB",
    "$2a$05$abcdefghijklmnopqrstuu2zNJlcOOn4xahDXEM6b0NsUe3rm.AbC",
    "$y$j9T$aUtFXF1uOMCIK8nxWKp8G0$h0rZ09T79LgPSyttkXoZc2HWP8XhjYyNq740aJQjvO1",
];

/// libxcrypt, of passwords of this many letters x: lengths around the functions' blocks.
const LENGTHS: [(usize, &str); 19] = [
    (1, "$1$abcdefgh$znAnv9M.XU2pRYfmSs46h/"),
    (15, "$1$abcdefgh$lWEkGY3giPEmXRlho4/HN1"),
    (16, "$1$abcdefgh$rLNv7fBM/CccD3X.WJtxl0"),
    (17, "$1$abcdefgh$.9JMu59E71m0Oy.MJm9H71"),
    (64, "$1$abcdefgh$O0X86kK5uBMSkmJGvfUOj."),
    (200, "$1$abcdefgh$z6x8uc2YR4Iwn7XrK8ZMY/"),
    (1, "$5$saltsalt$hcyDOxdIg0p3xyqtpHh/v8Ph.am06tQaovp1KpEklb7"),
    (64, "$5$saltsalt$m/PwYwSKhXHnnF5ieqKGuRN3frnWUjLC/lbcEqQxvB0"),
    (65, "$5$saltsalt$YozIgwSVowIpd9sIzdd.BcK6cjS1MU.GdG8iD8U6oY7"),
    (200, "$5$saltsalt$iQiojUOKkJLempkZzl7PeP58fU8nNk0BHOxTjjzegS5"),
    (1, "$6$saltsalt$8RWsOfwR6M6PpnoeQiEiWzNTPo1f0HjVYjDnLZhGx16aBFRkeqiHAzfXP/LgrOWMBMXqiU2pLrXsSOHNUyUm91"),
    (65, "$6$saltsalt$xYtjX5chkHzQE4H5NNOJGZOup/8WWMu4DAbh0yJlqZHiNhP4VIJKzfJJsHqHPaxwIgxrAm2MvFqJ9WwKDFOnf/"),
    (200, "$6$saltsalt$W90KfnZDYZcPsGdi731h2UBWmplSflE78wuG5G5iBp4WQ9EpM6hCRhJ466Vv5mdpYE67aY0/qLij9kcIgyoQC/"),
    (1, "$y$j75$abc1$oVKY0uBqLwAxiB/dWbQ1XRbxThUnOs/lTeLDSN5ZXg9"),
    (64, "$y$j75$saltsalt$XKgfmqmdComS2nFBmkvuB8lXll919XwOPAtL4Gvqnb9"),
    (511, "$y$j85$aUtFXF1uOMCIK8nxWKp8G0$sWeX0UWB3QIbOJutMJSuj0Knbnwr928mkthJMC45uu8"),
    (71, "$2b$04$abcdefghijklmnopqrstuu.gc7UY/21CSNJGJg21jJzx9QiOpJ9bO"),
    (72, "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i"),
    (100, "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i"),
];

/// libxcrypt's oldest form. Only the first eight bytes count.
const DES: [(&str, &str); 7] = [
    ("secret", "abNANd1rDfiNc"),
    ("a", "./xT2u5QYaHcU"),
    ("passw", "9ZxSL.J4Sirdg"),
    ("12345678", "QxAdkdajBfdCc"),
    ("123456789abc", "QxAdkdajBfdCc"),
    ("äöü€", "mN9ObA9BNt3bI"),
    ("correct horse", "Ky1UmcrdiIr6A"),
];

/// What a shell leaves behind `slappasswd -s ... | base64`.
#[test]
fn white_space_in_digests_does_not_count() {
    for stored in SLAPPASSWD.iter().filter(|stored| stored.starts_with("{S") || stored.starts_with("{MD5")) {
        let (scheme, text) = stored.split_once('}').unwrap();
        let (front, back) = text.split_at(9);
        for spaced in [format!("{text}\n"), format!("{text}\r\n"), format!(" {text} "), format!("{front}\n {back}")] {
            assert!(verify(format!("{scheme}}}{spaced}").as_bytes(), PASSWORD.as_bytes()), "{stored}");
        }
    }
}

#[test]
fn the_oldest_form_of_crypt_is_verified() {
    for (password, stored) in DES {
        let stored = format!("{{CRYPT}}{stored}");
        assert!(verify(stored.as_bytes(), password.as_bytes()), "{password}");
        assert!(!verify(stored.as_bytes(), b"secreT"), "{stored}");
        assert!(!verify(&stored.as_bytes()[..stored.len() - 1], password.as_bytes()), "{stored}");
    }
    assert!(!verify(b"{CRYPT}ab!ANd1rDfiNc", b"secret"));
    assert!(!verify(b"{CRYPT}zz6dpSdr.LHZw", b""), "the empty password matches nothing");
}

#[test]
fn what_no_password_can_match_is_told_by_its_scheme() {
    let unusable = [
        ("{SASL}jensen@EXAMPLE.COM", "{SASL}"),
        ("{KERBEROS}jensen", "{KERBEROS}"),
        ("{CRYPT}$7$CU..../....2Q9obwLhin8qvQl6sisAO/$sc", "{CRYPT}"),
        ("{CRYPT}_J9..K0AyUubDrfOgO4s", "{CRYPT}"),
        ("{SSHA}xxx", "{SSHA}"),
        ("{ssha}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "{SSHA}"),
        ("{PBKDF2-SHA256}0$c2FsdA$c2FsdA", "{PBKDF2-SHA256}"),
        ("{ARGON2}$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ", "{ARGON2}"),
        ("{ARGON2}$argon2x$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "{ARGON2}"),
        ("{ARGON2}$argon2id$v=20$m=19456,t=2,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "{ARGON2}"),
        ("{ARGON2}$argon2id$v=19$m=19456,t=2,p=1$c2FsdHM$AAAAAAAAAAAAAAAAAAAAAA", "{ARGON2}"),
        ("{ARGON2}$argon2id$v=19$m=9999999,t=2,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "{ARGON2}"),
        ("{SCRAM-SHA-256}4096", "{SCRAM-SHA-256}"),
    ];
    for (stored, scheme) in unusable {
        assert_eq!(unmatchable(stored.as_bytes()).as_deref(), Some(scheme), "{stored}");
    }
    let locked = ["{CRYPT}*", "{CRYPT}!", "{CRYPT}!!", "{CRYPT}x", "{CRYPT}"];
    let argon2 = "{ARGON2}$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA";
    let others = ["secret", "{", "{}x", "{CRYPT}abNANd1rDfiNc", "{cleartext}x", argon2];
    for stored in SLAPPASSWD.into_iter().chain(locked).chain(others) {
        assert_eq!(unmatchable(stored.as_bytes()), None, "{stored}");
    }
    for stored in CRYPT {
        assert_eq!(unmatchable(format!("{{CRYPT}}{stored}").as_bytes()), None, "{stored}");
    }
}

#[test]
fn what_slappasswd_made_is_verified() {
    for stored in SLAPPASSWD {
        assert!(verify(stored.as_bytes(), PASSWORD.as_bytes()), "{stored}");
        assert!(!verify(stored.as_bytes(), b"correct horse U"), "{stored}");
    }
}

#[test]
fn what_openssl_and_libxcrypt_made_is_verified() {
    for stored in CRYPT {
        assert!(verify(format!("{{crypt}}{stored}").as_bytes(), PASSWORD.as_bytes()), "{stored}");
    }
    for (length, stored) in LENGTHS {
        let stored = format!("{{CRYPT}}{stored}");
        assert!(verify(stored.as_bytes(), "x".repeat(length).as_bytes()), "{length}: {stored}");
        assert!(!verify(stored.as_bytes(), b"xy"), "{stored}");
    }
}

#[test]
fn the_salt_of_shas_forms_is_of_any_characters_or_none() {
    for stored in [
        "$6$my_salt$ErehmeNDVzHsPq/1stRnP5ODbL/ctrh5bF9EetnJ1UPI34i4C6miTVH6N7Kkx6dx9NflZQbY7CQ2HoF3RgsF.0",
        "$5$a b:c$B6cYoqWTQLBtT5duVXx3n2obWXogGPBdAJ6tl6E860/",
        "$6$$2M9DchxW4txWyTYoZrH9D3VvAAQxBpEezYsLY6Cao.jwzEXpyL9xwip9hiUZX7GqTqe/E/z6iKvZqXUuqniQH.",
        "$5$rounds=1000$my_salt$otgHUkS/aRhwwsIUy9HVKqWY73M8sAb/F7TEyB.EOR1",
    ] {
        let stored = format!("{{CRYPT}}{stored}");
        assert!(verify(stored.as_bytes(), b"secret") && !verify(stored.as_bytes(), b"Secret"), "{stored}");
        // Rounds are written in one way.
        let refused = stored.replace("rounds=", "rounds=0");
        assert_eq!(verify(refused.as_bytes(), b"secret"), refused == stored, "{refused}");
    }
}

#[test]
fn what_is_made_is_verified_and_salted() {
    for scheme in Scheme::all() {
        let [first, second] = [hash(scheme, PASSWORD.as_bytes()).unwrap(), hash(scheme, PASSWORD.as_bytes()).unwrap()];
        let salted = !matches!(scheme, Scheme::Clear | Scheme::Digest(scheme::Digest { salted: false, .. }));
        assert_eq!(first != second, salted, "{scheme}");
        assert!(verify(&first, PASSWORD.as_bytes()), "{scheme}");
        assert!(!verify(&first, b"wrong"), "{scheme}");
        assert!(!verify(&first, b""), "{scheme}");
        assert_eq!(is_costly(&first), scheme.is_costly(), "{scheme}");
    }
    assert!(hash(Scheme::default(), b"x").unwrap().starts_with(b"{ARGON2}$argon2id$v=19$m=19456,t=2,p=1$"));
}

#[test]
fn a_password_that_a_scheme_would_confuse_with_another_is_refused() {
    assert_eq!(hash(Scheme::Crypt, b"a\0b"), Err(HashError::Unfit(Scheme::Crypt)));
    assert_eq!(hash(Scheme::Crypt, &[b'x'; 600]), Err(HashError::Unfit(Scheme::Crypt)));
    assert_eq!(hash(Scheme::Argon2, b""), Err(HashError::Empty));
}

#[test]
fn clear_text_is_compared_as_it_is_and_an_unknown_scheme_matches_nothing() {
    assert!(verify(b"secret", b"secret"));
    assert!(verify(b"{secret", b"{secret"));
    assert!(verify(b"{CLEARTEXT}secret", b"secret"));
    assert!(verify(b"{}secret", b"{}secret"));
    assert!(!verify(b"{X-UNKNOWN}secret", b"{X-UNKNOWN}secret"));
    assert!(!verify(b"", b""));
    for odd in [&b"{SSHA}x"[..], b"{clear}x", b"{", b"\xFF{"] {
        assert!(verify(&hash(Scheme::Clear, odd).unwrap(), odd), "{odd:?}");
    }
}

#[test]
fn the_cost_that_a_stored_value_may_ask_for_is_limited() {
    for stored in [
        "{ARGON2}$argon2id$v=19$m=4294967295,t=1,p=1$bS11q0j0umW3tSGycQ47Cw$XBOb2oN7aRXUxpnXNEz6+jBabpHUm4M+c4vaB3TUT4k",
        "{ARGON2}$argon2id$v=19$m=65536,t=4294967295,p=1$bS11q0j0umW3tSGycQ47Cw$XBOb2oN7aRXUxpnXNEz6+jBabpHUm4M+c4vaB3TUT4k",
        "{PBKDF2}4294967295$0EGK4AYD08lr0SqwchGpew$gtA4uud1AoU8hdQgsHZhfEC0z9U",
        "{CRYPT}$5$rounds=999999999$ab$.i25S86tvp5PFNm1Q0qfeM07zR14fms5psgohw1DytB",
        "{CRYPT}$2b$31$abcdefghijklmnopqrstuu.gc7UY/21CSNJGJg21jJzx9QiOpJ9bO",
        "{CRYPT}$y$jFT$saltsalt$IFUVMd9IZg.1qt0VDKUmwCd8zfLLrtDA9mffjiD5skD",
        "{CRYPT}$y$jzT$saltsalt$IFUVMd9IZg.1qt0VDKUmwCd8zfLLrtDA9mffjiD5skD",
        "{CRYPT}$y$j/./zzzz$saltsalt$IFUVMd9IZg.1qt0VDKUmwCd8zfLLrtDA9mffjiD5skD",
        "{SCRAM-SHA-256}4294967295:AAAA$AAAA:AAAA",
    ] {
        assert!(!verify(stored.as_bytes(), PASSWORD.as_bytes()), "{stored}");
    }
}

#[test]
fn a_stored_digest_of_no_bytes_matches_nothing() {
    for stored in ["$y$j75$saltsalt$", "$y$j75$saltsalt", "$1$abcdefgh$", "$5$saltsalt$", "$6$saltsalt$"] {
        assert!(!verify(format!("{{CRYPT}}{stored}").as_bytes(), PASSWORD.as_bytes()), "{stored}");
    }
}

#[test]
fn schemes_have_names_in_any_case() {
    for scheme in Scheme::all() {
        assert_eq!(scheme.name().to_lowercase().parse(), Ok(scheme));
        assert_eq!(format!("{{{scheme}}}").parse(), Ok(scheme));
    }
    let error = "ROT13".parse::<Scheme>().unwrap_err().to_string();
    assert!(error.starts_with("'ROT13' is no scheme of passwords: expected ARGON2, SSHA,"), "{error}");
}

#[test]
fn plain_has_three_parts_rfc4616_2() {
    let plain = Plain { authorization: "", user: "tim", password: "tanstaaftanstaaf" };
    assert_eq!(Plain::parse(b"\0tim\0tanstaaftanstaaf"), Some(plain));
    let plain = Plain { authorization: "Ursel", user: "Kurt", password: "xipj3plmq" };
    assert_eq!(Plain::parse(b"Ursel\0Kurt\0xipj3plmq"), Some(plain));
    for wrong in [&b""[..], b"\0", b"\0tim", b"\0\0x", b"\0tim\0", b"\0a\0b\0c", b"\0tim\0\xFF"] {
        assert_eq!(Plain::parse(wrong), None, "{wrong:?}");
    }
}

/// Stored values: of the right kind at their beginning, and cheap where they are right.
fn stored() -> impl Strategy<Value = Vec<u8>> {
    let prefix = prop::sample::select(vec![
        "{SSHA}",
        "{MD5}",
        "{SSHA512}",
        "{CRYPT}$1$",
        "{CRYPT}$1$ab$",
        "{CRYPT}$5$",
        "{CRYPT}$6$rounds=1000$",
        "{CRYPT}$2b$04$",
        "{CRYPT}$2y$",
        "{CRYPT}$y$j75$",
        "{CRYPT}$y$",
        "{PBKDF2}1$",
        "{PBKDF2-SHA512}2$AA$",
        "{ARGON2}$argon2id$v=19$m=8,t=1,p=1$",
        "{ARGON2}$argon2",
        "{SCRAM-SHA-256}1:",
        "{SCRAM-SHA-256}1:AAAA$",
        "{",
        "",
    ]);
    let rest =
        prop_oneof!["[./A-Za-z0-9$=,:+]{0,70}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..30)];
    (prefix, rest).prop_map(|(prefix, rest)| [prefix.as_bytes(), &rest].concat())
}

proptest! {
    #[test]
    fn nothing_stored_makes_verifying_panic(stored in stored(), password in prop::collection::vec(any::<u8>(), 1..40)) {
        let clear = Scheme::split(&stored).is_some_and(|(scheme, rest)| scheme == Scheme::Clear && rest == password);
        prop_assert_eq!(verify(&stored, &password), clear);
    }

    #[test]
    fn a_digest_with_one_bit_changed_matches_nothing(at in 0usize..28, bit in 0u8..8) {
        let mut bytes = base64::decode(&SLAPPASSWD[0]["{SSHA}".len()..]).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let stored = format!("{{SSHA}}{}", base64::encode(&bytes));
        prop_assert!(!verify(stored.as_bytes(), PASSWORD.as_bytes()));
    }
}
