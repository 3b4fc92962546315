//! TLS: certificates from files, who a client's certificate speaks for, how strong a connection is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use duramen_ldap::certificate::Certificate;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{CertificateError, ClientConfig, RootCertStore, ServerConfig, ServerConnection};
use x509_parser::asn1_rs::{Any, Tag};
use x509_parser::prelude::{ASN1Time, FromDer, SubjectPublicKeyInfo, Validity, X509Certificate};
use x509_parser::public_key::PublicKey;

use crate::config::{Fault, ReplicaTls, Tls};

/// What keys can sign.
const SIGNING_KEYS: &str = "RSA of 2048 to 4096 bits, ECDSA with P-256 or P-384 and Ed25519";
/// What keys signatures can be verified by.
const VERIFYING_KEYS: &str = "RSA of 2048 to 8192 bits, ECDSA with P-256 or P-384 and Ed25519";

/// How long before its end a certificate is warned of.
const ENDS_SOON: Duration = Duration::from_secs(14 * 24 * 3600);

/// Reads certificate, key and roots.
pub fn load(tls: &Tls) -> Result<Arc<ServerConfig>, Fault> {
    let chain = certificates(&tls.certificate)?;
    let key = private_key(&tls.key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certified = certified(tls, &provider, chain, key)?;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::command(format!("TLS cannot be used: {error}"), ""))?;
    let builder = match &tls.client_roots {
        None => builder.with_no_client_auth(),
        Some(path) => builder.with_client_cert_verifier(verifier(path, tls)?),
    };
    let config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    Ok(Arc::new(config))
}

/// Reads roots, and perhaps a certificate with its key, for connections to other servers.
pub fn load_replica(tls: &ReplicaTls) -> Result<Arc<ClientConfig>, Fault> {
    let roots = roots(&tls.roots, "it has to hold the roots of providers' certificates")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::command(format!("TLS cannot be used: {error}"), ""))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &tls.own else { return Ok(Arc::new(builder.with_no_client_auth())) };
    let chain = certificates(certificate)?;
    let config = builder.with_client_auth_cert(chain, private_key(key)?).map_err(|error| {
        let what = format!("certificate and key {} cannot be used together: {error}", key.display());
        Fault::file(
            certificate,
            what,
            "the own certificate has to come first in the file, and the key has to be its own",
        )
    })?;
    Ok(Arc::new(config))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Fault> {
    pem(path).and_then(|text| PrivateKeyDer::from_pem_slice(&text)).map_err(|error| {
        let cure = "it has to be a key in PEM, not encrypted";
        Fault::file(path, format!("no private key can be read here: {}", in_words(error)), cure)
    })
}

/// That certificate and key are of each other. The certificate need not be one that this server's own library would
/// accept from others: many that people make themselves are of X.509's first version, and clients take them.
fn certified(
    tls: &Tls,
    provider: &CryptoProvider,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, Fault> {
    let key = provider.key_provider.load_private_key(key).map_err(|error| {
        let cure = format!("{SIGNING_KEYS} can be used");
        Fault::file(&tls.key, format!("this private key cannot be used: {error}"), cure)
    })?;
    let cure = "the server's own certificate has to come first in the file";
    let fail = |what: String| Fault::file(&tls.certificate, what, cure);
    let first = chain.first().map_or(&[][..], |first| first);
    let (_, first) = X509Certificate::from_der(first)
        .map_err(|error| fail(format!("the first certificate in it cannot be read: {error}")))?;
    if key.public_key().is_some_and(|key| *key != *first.public_key().raw) {
        return Err(fail(format!("the key {} is not that of the first certificate in it", tls.key.display())));
    }
    Ok(CertifiedKey::new(chain, key))
}

/// The text of a file, without the mark that some editors put in front of it.
fn pem(path: &Path) -> Result<Vec<u8>, pem::Error> {
    let mut text = std::fs::read(path).map_err(pem::Error::Io)?;
    if text.starts_with("\u{FEFF}".as_bytes()) {
        text.drain(.."\u{FEFF}".len());
    }
    Ok(text)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let fail = |what: String| Fault::file(path, what, "it has to hold certificates in PEM");
    let certificates = pem(path)
        .and_then(|text| CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>())
        .map_err(|error| fail(format!("no certificate can be read here: {}", in_words(error))))?;
    if certificates.is_empty() { Err(fail("there is no certificate in it".into())) } else { Ok(certificates) }
}

/// The library's own words show lines as lists of numbers.
fn in_words(error: pem::Error) -> String {
    let line = |line: &[u8]| String::from_utf8_lossy(line).trim_end().to_string();
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            format!("the file is cut off, there is no line -----END {}-----", line(&end_marker))
        }
        pem::Error::IllegalSectionStart { line: begin } => format!("the line {:?} begins nothing", line(&begin)),
        pem::Error::Base64Decode(_) => "what stands between BEGIN and END is no base64".into(),
        pem::Error::NoItemsFound => "there is none in the file".into(),
        other => other.to_string(),
    }
}

/// For which time the certificates of the server that are in use hold, whatever is in their file by now.
#[derive(Clone, Debug)]
pub struct Lifetimes {
    file: PathBuf,
    /// Subjects, and their times.
    each: Vec<(String, Validity)>,
}

impl Lifetimes {
    /// Those of the certificates that are in the file now.
    pub fn read(tls: &Tls) -> Option<Lifetimes> {
        let of = |certificate: &CertificateDer<'_>| {
            let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
            Some((certificate.subject().to_string(), certificate.validity().clone()))
        };
        let each = certificates(&tls.certificate).ok()?.iter().filter_map(of).collect();
        Some(Lifetimes { file: tls.certificate.clone(), each })
    }

    /// What there is to say of them: outside of their time clients refuse them, and the server would serve on without a word.
    pub fn warning(&self, now: SystemTime) -> Option<Fault> {
        self.each.iter().find_map(|(subject, validity)| {
            let what = format!("the certificate of {subject:?} in it {}", out_of_time(validity, now)?);
            Some(Fault::file(&self.file, what, "put another in its place; SIGHUP has it used"))
        })
    }

    /// When the first of them ends, in seconds since 1970.
    pub fn end(&self) -> Option<i64> {
        self.each.iter().map(|(_, validity)| validity.not_after.timestamp()).min()
    }
}

fn out_of_time(validity: &Validity, now: SystemTime) -> Option<String> {
    let now = now.duration_since(UNIX_EPOCH).ok()?.as_secs().cast_signed();
    let date = |time: ASN1Time| {
        let time = time.to_datetime();
        format!("{} {:02}:{:02} UTC", time.date(), time.hour(), time.minute())
    };
    let (begin, end) = (validity.not_before, validity.not_after);
    if now < begin.timestamp() {
        Some(format!("is not valid before {}: until then clients refuse it", date(begin)))
    } else if now > end.timestamp() {
        Some(format!("has expired on {}: clients refuse it", date(end)))
    } else {
        let is_soon = now + ENDS_SOON.as_secs().cast_signed() > end.timestamp();
        is_soon.then(|| format!("expires on {}: from then on clients refuse it", date(end)))
    }
}

/// The roots in a file. It is a fault if none of them is of use.
fn roots(path: &Path, cure: &str) -> Result<RootCertStore, Fault> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| Fault::file(path, format!("a certificate in it is no root: {error}"), cure))?;
    }
    let mut useless = useless_roots(path);
    if useless.len() == roots.len() { Err(useless.swap_remove(0)) } else { Ok(roots) }
}

/// Which roots in a file are of no use: nothing can be verified by keys of their kinds. There may be others beside them.
pub fn useless_roots(path: &Path) -> Vec<Fault> {
    let useless = |certificate: &CertificateDer<'_>| {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let subject = (!can_verify(certificate.public_key())).then(|| certificate.subject().to_string())?;
        let what = format!("no certificate that {subject:?} in it has issued can be verified by its key");
        Some(Fault::file(path, what, format!("for roots {VERIFYING_KEYS} can be used")))
    };
    certificates(path).unwrap_or_default().iter().filter_map(useless).collect()
}

/// Whether what was signed by the key's other half can be verified.
fn can_verify(key: &SubjectPublicKeyInfo<'_>) -> bool {
    let known = rustls::crypto::ring::default_provider().signature_verification_algorithms.all;
    let identifier = sequence(key.raw).and_then(sequence);
    let is_known = known.iter().any(|known| identifier == Some(known.public_key_alg_id().as_ref()));
    let fits = |key: PublicKey<'_>| match key {
        PublicKey::RSA(key) => (2048..=8192).contains(&key.key_size()),
        _ => true,
    };
    is_known && key.parsed().is_ok_and(fits)
}

/// What is in the sequence that these bytes of DER begin with.
fn sequence(der: &[u8]) -> Option<&[u8]> {
    let (_, sequence) = Any::from_der(der).ok()?;
    (sequence.tag() == Tag::Sequence).then_some(sequence.data)
}

fn verifier(path: &Path, tls: &Tls) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, Fault> {
    let cure = "it has to hold the roots of clients' certificates in PEM";
    let fail = |what: String| Fault::file(path, what, cure);
    let roots = roots(path, cure)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if tls.client_required { builder } else { builder.allow_unauthenticated() };
    let builder = match &tls.client_revoked {
        None => builder,
        // Of who has no list, or an old one, nobody knows.
        Some(path) => {
            builder.with_crls(revocations(path)?).only_check_end_entity_revocation().enforce_revocation_expiration()
        }
    };
    builder.build().map_err(|error| fail(format!("clients cannot be verified by it: {error}")))
}

/// Lists of revoked certificates.
fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, Fault> {
    let fail = |what: String| Fault::file(path, what, "it has to hold lists of revoked certificates in PEM (X509 CRL)");
    let lists = pem(path)
        .and_then(|text| CertificateRevocationListDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>())
        .map_err(|error| fail(format!("no list of revoked certificates can be read here: {}", in_words(error))))?;
    if lists.is_empty() { Err(fail("there is no list of revoked certificates in it".into())) } else { Ok(lists) }
}

/// Why a handshake failed, if that is the client's certificate.
pub fn refused_certificate(error: &std::io::Error) -> Option<String> {
    let Some(rustls::Error::InvalidCertificate(why)) = error.get_ref()?.downcast_ref() else { return None };
    let told = why.to_string();
    let kind = format!("its key, or that of who has issued it, cannot be used: {VERIFYING_KEYS} can");
    let why = match why {
        CertificateError::UnknownIssuer => "none of client_roots has issued it",
        CertificateError::Revoked => "it is among those of client_revoked",
        CertificateError::UnknownRevocationStatus => "client_revoked has no list of who has issued it",
        CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
            "the list of its issuer in client_revoked is out of date: put a newer one in its place, and reload"
        }
        _ if format!("{why:?}").starts_with("UnsupportedSignatureAlgorithm") => &kind,
        _ if told.contains("UnsupportedCertVersion") => {
            "it is of X.509's version 1: issue it with extensions (openssl x509 -extfile FILE)"
        }
        _ if told.contains("CaUsedAsEndEntity") => {
            "it is one of a certification authority: issue one to the client (basicConstraints = CA:FALSE)"
        }
        _ => &told,
    };
    Some(format!("its certificate is refused: {why}"))
}

/// What TLS says of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    /// Strength of the cipher in bits.
    pub ssf: u32,
    /// The protocol's version, as OpenSSL calls it.
    pub protocol: &'static str,
    /// The cipher, as OpenSSL calls it.
    pub cipher: String,
    /// Subject of the client's certificate, as a name.
    pub subject: Option<String>,
}

/// What TLS says of `connection`, whose handshake is done.
pub fn secured(connection: &ServerConnection) -> Secured {
    let suite = connection.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite())).unwrap_or_default();
    let ssf = if suite.contains("128") { 128 } else { 256 };
    let protocol = match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "TLSv1.3",
    };
    let subject = connection.peer_certificates().and_then(<[_]>::first).and_then(|certificate| subject(certificate));
    Secured { ssf, protocol, cipher: cipher(&suite), subject }
}

/// What OpenSSL calls a cipher suite of the library's.
fn cipher(suite: &str) -> String {
    if let Some(of_1_3) = suite.strip_prefix("TLS13_") {
        return format!("TLS_{of_1_3}");
    }
    let name = suite.trim_start_matches("TLS_").replace("_WITH_", "-").replace("AES_", "AES").replace('_', "-");
    match name.strip_suffix("-POLY1305-SHA256") {
        Some(beginning) => format!("{beginning}-POLY1305"),
        None => name,
    }
}

/// The subject of a certificate as RFC 4514 writes names: last RDN first.
fn subject(certificate: &[u8]) -> Option<String> {
    let certificate = Certificate::parse(certificate).ok()?;
    let mut name = String::new();
    certificate.subject.write(attribute_name, &mut name);
    (!name.is_empty()).then_some(name)
}

/// The name of an attribute type in RFC 4514 and 4519; its OID if it has none there.
fn attribute_name(oid: &str) -> &str {
    match oid {
        "2.5.4.3" => "cn",
        "2.5.4.4" => "sn",
        "2.5.4.5" => "serialNumber",
        "2.5.4.6" => "c",
        "2.5.4.7" => "l",
        "2.5.4.8" => "st",
        "2.5.4.9" => "street",
        "2.5.4.10" => "o",
        "2.5.4.11" => "ou",
        "2.5.4.12" => "title",
        "2.5.4.42" => "givenName",
        "0.9.2342.19200300.100.1.1" => "uid",
        "0.9.2342.19200300.100.1.25" => "dc",
        "1.2.840.113549.1.9.1" => "email",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_of_a_certificate_is_a_name_with_the_last_rdn_first_rfc4514_2_1() {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        let name = &mut parameters.distinguished_name;
        *name = rcgen::DistinguishedName::new();
        name.push(rcgen::DnType::OrganizationName, "Example, Inc.");
        name.push(rcgen::DnType::CommonName, "bjensen");
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        assert_eq!(subject(certificate.der()).unwrap(), "cn=bjensen,o=Example\\, Inc.");
        assert_eq!(subject(b"no certificate"), None);
    }

    #[test]
    fn ciphers_are_called_as_openssl_calls_them() {
        for (suite, name) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS13_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ] {
            assert_eq!(cipher(suite), name);
        }
    }

    #[test]
    fn what_is_said_of_a_certificates_time_names_the_day() {
        let dir = tempfile::tempdir().unwrap();
        let [certificate, key] = ["server.pem", "server.key"].map(|name| dir.path().join(name));
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2020, 2, 1);
        parameters.not_after = rcgen::date_time_ymd(2021, 2, 1);
        let signed = parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        std::fs::write(&certificate, signed.pem()).unwrap();
        let tls = Tls { certificate, key, client_roots: None, client_revoked: None, client_required: false };
        let lifetimes = Lifetimes::read(&tls).unwrap();
        // What is in use holds no longer for that.
        std::fs::write(&tls.certificate, "").unwrap();
        let said = |year, month, day| {
            lifetimes.warning(rcgen::date_time_ymd(year, month, day).into()).map(|warning| warning.to_string())
        };
        assert_eq!((said(2020, 2, 2), said(2021, 1, 17)), (None, None));
        for (said, wanted) in [
            (said(2020, 1, 31), "is not valid before 2020-02-01 00:00 UTC"),
            (said(2021, 1, 19), "expires on 2021-02-01 00:00 UTC"),
            (said(2021, 2, 2), "has expired on 2021-02-01 00:00 UTC"),
        ] {
            assert!(said.as_ref().is_some_and(|said| said.contains(wanted)), "{wanted}: {said:?}");
        }
    }

    #[test]
    fn files_may_begin_with_a_byte_order_mark() {
        let dir = tempfile::tempdir().unwrap();
        let [certificate, key] = ["server.pem", "server.key"].map(|name| dir.path().join(name));
        let of = rcgen::KeyPair::generate().unwrap();
        let signed = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&of).unwrap();
        std::fs::write(&certificate, format!("\u{FEFF}{}", signed.pem())).unwrap();
        std::fs::write(&key, format!("\u{FEFF}{}", of.serialize_pem())).unwrap();
        load(&Tls { certificate, key, client_roots: None, client_revoked: None, client_required: false }).unwrap();
    }

    #[test]
    fn characters_of_two_bytes_in_a_certificate_are_not_taken_for_two_others() {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        let value = rcgen::DnValue::BmpString("\u{6164}\u{6D69}".try_into().unwrap());
        parameters.distinguished_name.push(rcgen::DnType::CommonName, value);
        let certificate = parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        assert_eq!(subject(certificate.der()).unwrap(), "cn=\u{6164}\u{6D69}", "not admi");
    }
}
