//! The file as it is written. A name that is not here is an error.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub data: Option<Spanned<PathBuf>>,
    pub suffixes: Vec<Spanned<String>>,
    pub listen: Option<Spanned<Listen>>,
    pub tls: Option<Tls>,
    pub administrator: Option<Administrator>,
    pub directory: Directory,
    pub index: Option<Vec<Index>>,
    pub constraint: Vec<Constraint>,
    pub dynamic_list: Vec<DynamicList>,
    pub identity: Vec<Identity>,
    pub access: Access,
    pub password_policies: Option<Spanned<PasswordPolicies>>,
    pub sync: Option<Sync>,
    pub replica: Option<Spanned<Replica>>,
    pub audit: Option<Audit>,
    pub limits: Limits,
    pub log: Log,
    pub http: Http,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Listen {
    pub ldap: Vec<Spanned<Address>>,
    pub ldaps: Vec<Spanned<Address>>,
    pub ldapi: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub certificate: Spanned<PathBuf>,
    pub key: Spanned<PathBuf>,
    pub client_roots: Option<Spanned<PathBuf>>,
    pub client_revoked: Option<Spanned<PathBuf>>,
    #[serde(default)]
    pub client_required: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Administrator {
    pub name: Spanned<String>,
    pub password: Option<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Directory {
    pub schema: Vec<Spanned<PathBuf>>,
    pub nis: Nis,
    pub nested_groups: bool,
    pub durability: Durability,
    pub password_scheme: Option<Spanned<String>>,
    pub hash_passwords: bool,
    pub referrals: Vec<Spanned<String>>,
    pub references: Vec<Spanned<String>>,
    pub unique: Vec<Spanned<String>>,
    pub authz_policy: AuthzPolicy,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum AuthzPolicy {
    #[default]
    None,
    To,
    From,
    Any,
    All,
}

#[derive(Deserialize, Default, PartialEq, Eq)]
pub(super) enum Nis {
    #[default]
    #[serde(rename = "2307")]
    Rfc2307,
    #[serde(rename = "2307bis")]
    Rfc2307Bis,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Durability {
    #[default]
    Durable,
    Relaxed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    pub attribute: Spanned<String>,
    pub kinds: Spanned<Vec<IndexKind>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Constraint {
    pub attributes: Spanned<Vec<Spanned<String>>>,
    pub regex: Option<Spanned<String>>,
    pub negregex: Option<Spanned<String>>,
    pub size: Option<Spanned<u64>>,
    pub count: Option<Spanned<u64>>,
    pub uri: Option<Spanned<String>>,
    pub restrict: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DynamicList {
    pub class: Spanned<String>,
    pub urls: Spanned<String>,
    pub member: Option<Spanned<String>>,
    pub member_of: Option<Spanned<bool>>,
    #[serde(default)]
    pub renamed: Vec<Renamed>,
    pub restrict: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Renamed {
    pub from: Spanned<String>,
    pub to: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    #[serde(rename = "match")]
    pub matches: Spanned<String>,
    pub name: Spanned<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum IndexKind {
    Presence,
    Equality,
    Substring,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Access {
    pub rules: Option<Spanned<String>>,
    pub file: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PasswordPolicies {
    pub default: Option<Spanned<String>>,
    pub tell_locked: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sync {
    pub changes: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replica {
    pub providers: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    pub starttls: bool,
    pub roots: Option<Spanned<PathBuf>>,
    pub certificate: Option<Spanned<PathBuf>>,
    pub key: Option<Spanned<PathBuf>>,
    pub bind: Option<Spanned<String>>,
    pub password_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    pub suffixes: Vec<Spanned<String>>,
    #[serde(default)]
    pub refer: Vec<Spanned<String>>,
    #[serde(default)]
    pub takes_changes: bool,
    pub server_id: Option<Spanned<usize>>,
    pub retry_seconds: Option<Spanned<usize>>,
    pub answer_seconds: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Audit {
    pub file: Spanned<PathBuf>,
    #[serde(default)]
    pub flush: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub entries: Option<u32>,
    pub search_seconds: Option<u64>,
    pub examined: Option<u32>,
    pub filter_depth: Option<Spanned<usize>>,
    pub tree_delete: Option<usize>,
    pub connections: Option<Spanned<usize>>,
    pub message_bytes: Option<Spanned<usize>>,
    pub message_bytes_anonymous: Option<Spanned<usize>>,
    pub pending: Option<Spanned<usize>>,
    pub idle_seconds: Option<u64>,
    pub handshake_seconds: Option<Spanned<usize>>,
    pub write_seconds: Option<u64>,
    pub hold_seconds: Option<u64>,
    pub stop_seconds: Option<u64>,
    pub password_checks: Option<Spanned<usize>>,
    pub threads: Option<Spanned<usize>>,
    #[serde(rename = "for")]
    pub for_some: Vec<LimitsFor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsFor {
    pub who: Spanned<String>,
    pub entries: Option<u32>,
    pub search_seconds: Option<u64>,
    pub examined: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Log {
    pub level: Option<Spanned<String>>,
    pub format: LogFormat,
    pub stats: bool,
    pub slow_ms: Option<u64>,
}

/// How lines of the log look.
#[derive(Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object a line.
    Json,
    /// The messages alone: journald and syslog add the rest.
    Bare,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Http {
    pub listen: Option<Spanned<Address>>,
}

/// An address with a port.
#[derive(Clone, Copy)]
pub(super) struct Address(pub SocketAddr);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Address).map_err(|_| {
            de::Error::custom(format!("{text:?} is no address with a port; write one like 127.0.0.1:389 or [::]:389"))
        })
    }
}
