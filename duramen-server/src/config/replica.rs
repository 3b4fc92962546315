//! The section `[replica]`: whose copy the directory is, and how that one is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use duramen_directory::{Config as Directory, CopyOf, SchemaFile};
use duramen_ldap::url::{LdapUrl, Scheme};
use toml::Spanned;

use super::file::{self, File};
use super::resolve::{Checker, Overrides, texts};

/// Seconds between two tries at most, if nobody says so.
const RETRY_SECONDS: usize = 60;
/// Seconds that an answer of a provider may take, if nobody says so.
const ANSWER_SECONDS: usize = 30;
/// Numbers that servers may have, as with OpenLDAP.
const SERVERS: std::ops::RangeInclusive<u16> = 1..=4095;
/// A day.
const SECONDS_MAX: usize = 24 * 3600;

/// Whose copy the directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Servers that have what is copied: each is tried in its turn.
    pub providers: Vec<Provider>,
    /// What they are known by, where TLS is used.
    pub tls: Option<ReplicaTls>,
    /// As whom it is asked.
    pub authentication: Authentication,
    /// What is copied.
    pub suffixes: Vec<String>,
    /// The number of this server, where it takes changes together with all providers, each of which it follows.
    pub member: Option<u16>,
    /// The longest pause between two tries.
    pub retry: Duration,
    /// How long a provider may take to answer; one that is silent for as long is asked whether it is there.
    pub answer: Duration,
}

/// A server that has what is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its URL, as it was written.
    pub url: String,
    /// Its host, a name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is protected.
    pub security: Security,
}

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Not at all.
    None,
    /// By TLS, from StartTLS on; without, there is no connection.
    StartTls,
    /// By TLS, from the start.
    Ldaps,
}

/// What a provider is known by, and who it is told that this one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaTls {
    /// Roots of providers' certificates, as PEM.
    pub roots: PathBuf,
    /// An own certificate, and its key, as PEM.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// As whom a provider is asked.
#[derive(Clone, PartialEq, Eq)]
pub enum Authentication {
    /// As nobody.
    Anonymous,
    /// By a name and a password.
    Simple(String, String),
    /// By the own certificate (SASL EXTERNAL).
    Certificate,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Authentication::Anonymous => write!(f, "Anonymous"),
            Authentication::Simple(name, _) => write!(f, "Simple({name:?}, ...)"),
            Authentication::Certificate => write!(f, "Certificate"),
        }
    }
}

/// What the directory is to know of it.
pub(super) fn copies(file: &File, overrides: &Overrides) -> Vec<CopyOf> {
    let Some(replica) = file.replica.as_ref().map(Spanned::get_ref) else { return Vec::new() };
    let suffixes = match replica.suffixes.as_slice() {
        [] if overrides.suffixes.is_empty() => texts(&file.suffixes),
        [] => overrides.suffixes.clone(),
        chosen => texts(chosen),
    };
    let referrals = if replica.refer.is_empty() { texts(replica.providers.get_ref()) } else { texts(&replica.refer) };
    suffixes.into_iter().map(|suffix| CopyOf { suffix, referrals: referrals.clone() }).collect()
}

/// The number of the server, where it takes changes together with others: what a section says, whether that is right or not.
pub(super) fn number(file: &File) -> Option<u16> {
    let replica = file.replica.as_ref().map(Spanned::get_ref).filter(|replica| replica.takes_changes)?;
    u16::try_from(*replica.server_id.as_ref()?.get_ref()).ok().filter(|number| SERVERS.contains(number))
}

impl Checker<'_> {
    /// The number of the server, where it takes changes together with others.
    fn member(&mut self, replica: &file::Replica, directory: &Directory) -> Option<u16> {
        let span = replica.providers.span();
        match &replica.server_id {
            None if replica.takes_changes => {
                let cure = "write server_id = 1, and another number at each of the other servers";
                self.at(span, "who takes changes together with others needs a number of its own", cure);
            }
            Some(number) if !replica.takes_changes => {
                let cure = "write takes_changes = true beside it, or leave it out";
                self.at(
                    number.span(),
                    "a number of its own is for who takes changes together with the providers",
                    cure,
                );
            }
            Some(number) => {
                self.within(&replica.server_id, usize::from(*SERVERS.start())..=usize::from(*SERVERS.end()), 1);
                if let Some(refer) = replica.refer.first() {
                    self.at(refer.span(), "nobody is referred who can change things here", "leave refer out");
                }
                if directory.history == Some(0) {
                    let cure = "write a section [sync]";
                    self.at(number.span(), "the other servers hear of changes here by content synchronization", cure);
                }
            }
            None => {}
        }
        directory.member
    }

    /// Nothing where there is a fault.
    pub(super) fn replica(&mut self, replica: &Spanned<file::Replica>, directory: &Directory) -> Option<Replica> {
        let (span, replica, before) = (replica.span(), replica.get_ref(), self.faults.len());
        let providers: Vec<Provider> =
            replica.providers.get_ref().iter().filter_map(|url| self.provider(url, replica.starttls)).collect();
        if replica.providers.get_ref().is_empty() {
            let cure = "write providers = [\"ldap://ldap.example.com\"], or leave the section away";
            self.at(replica.providers.span(), "there is no server to copy from", cure);
        }
        replica.suffixes.iter().for_each(|suffix| drop(self.name(suffix)));
        self.referrals(&replica.refer);
        let suffixes: Vec<String> = directory.copies.iter().flatten().map(|copy| copy.suffix.clone()).collect();
        if suffixes.is_empty() {
            let cure = "name the suffixes here, or at the top of the file";
            self.at(span, "it is not said what is copied", cure);
        }
        let uses_tls = providers.iter().any(|provider| provider.security != Security::None);
        let tls = self.replica_tls(replica, uses_tls);
        let authentication = self.authentication(replica, uses_tls);
        let member = self.member(replica, directory);
        let mut seconds = |said, default| Duration::from_secs(self.within(said, 1..=SECONDS_MAX, default) as u64);
        let retry = seconds(&replica.retry_seconds, RETRY_SECONDS);
        let answer = seconds(&replica.answer_seconds, ANSWER_SECONDS);
        (self.faults.len() == before).then_some(Replica {
            providers,
            tls,
            authentication,
            suffixes,
            member,
            retry,
            answer,
        })
    }

    fn provider(&mut self, url: &Spanned<String>, starttls: bool) -> Option<Provider> {
        const CURE: &str = "write one like ldap://ldap.example.com or ldaps://ldap.example.com:636";
        let (span, text) = (url.span(), url.get_ref());
        let parsed = match LdapUrl::parse(text) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.at(span, format!("{text:?} is no LDAP URL: {error}"), CURE);
                return None;
            }
        };
        let (security, default) = match parsed.scheme {
            Scheme::Ldap if starttls => (Security::StartTls, 389),
            Scheme::Ldap => (Security::None, 389),
            Scheme::Ldaps => (Security::Ldaps, 636),
            Scheme::Ldapi => {
                self.at(span, format!("{text:?} is a local socket, and providers are asked over the network"), CURE);
                return None;
            }
        };
        let has_more = !parsed.dn.is_empty() || parsed.scope.is_some() || parsed.filter.is_some();
        match parsed.host {
            Some(host) if !has_more => {
                let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
                Some(Provider { url: text.clone(), host, port: parsed.port.unwrap_or(default), security })
            }
            _ => {
                self.at(span, format!("{text:?} is not the URL of a server, and of nothing else"), CURE);
                None
            }
        }
    }

    fn replica_tls(&mut self, replica: &file::Replica, uses_tls: bool) -> Option<ReplicaTls> {
        let own = match (&replica.certificate, &replica.key) {
            (Some(certificate), Some(key)) => {
                Some((self.readable(certificate, "the certificate"), self.readable(key, "the key")))
            }
            (Some(one), None) | (None, Some(one)) => {
                self.at(one.span(), "of certificate and key one is not there", "name both, or neither");
                None
            }
            (None, None) => None,
        };
        match &replica.roots {
            Some(roots) => {
                let roots = self.readable(roots, "the file of roots");
                uses_tls.then_some(ReplicaTls { roots, own })
            }
            None if uses_tls => {
                let cure = "name in roots the file, in PEM, of what has signed the providers' certificates";
                self.at(replica.providers.span(), "nothing says which certificate of a provider is right", cure);
                None
            }
            None => None,
        }
    }

    fn authentication(&mut self, replica: &file::Replica, uses_tls: bool) -> Authentication {
        match (&replica.bind, &replica.password_file) {
            (Some(name), Some(file)) => {
                let name = self.name(name);
                let Some(SchemaFile { text, .. }) = self.contents(file, "the password", SchemaFile::read) else {
                    return Authentication::Anonymous;
                };
                match text.lines().next() {
                    Some(password) if !password.is_empty() => Authentication::Simple(name, password.to_string()),
                    _ => {
                        let cure = "write the password, as it is sent, into its first line";
                        self.at(file.span(), "there is no password in this file", cure);
                        Authentication::Anonymous
                    }
                }
            }
            (Some(name), None) => {
                let cure = "name in password_file the file whose first line is the password";
                self.at(name.span(), "a name without a password binds as nobody (RFC 4513 section 5.1.2)", cure);
                Authentication::Anonymous
            }
            (None, Some(file)) => {
                self.at(file.span(), "it is not said whose password this is", "name in bind who binds");
                Authentication::Anonymous
            }
            (None, None) if uses_tls && replica.certificate.is_some() => Authentication::Certificate,
            (None, None) => Authentication::Anonymous,
        }
    }
}
