//! Referrals: what a referral object's URLs become for a client (RFC 3296, RFC 4511 sections 4.1.10 and 4.5.3).
//!
//! Must not know: when a client is referred elsewhere.

use duramen_ldap::message::Scope;
use duramen_ldap::url::LdapUrl;

use crate::entry::Entry;
use crate::schema::Schema;

/// The URLs of a referral object, without their labels.
fn urls<'e>(schema: &Schema, entry: &Entry<'e>) -> Vec<&'e str> {
    let values = entry.of_type(schema.known().reference).flat_map(|attribute| attribute.values());
    let texts = values.filter_map(|value| std::str::from_utf8(value).ok());
    texts.filter_map(|text| text.split(' ').next()).collect()
}

/// URLs of servers, that lead to this name there; those that name something themselves stay as they are.
pub(crate) fn to_name(urls: &[String], name: &str) -> Vec<String> {
    let rewrite = |text: &String| match LdapUrl::parse(text) {
        Ok(url) if url.dn.is_empty() => LdapUrl { dn: name.to_string(), ..url }.to_string(),
        _ => text.clone(),
    };
    urls.iter().map(rewrite).collect()
}

/// URLs that lead on from the entry `name` to `below` (RDNs with no comma behind them, or nothing); `scope` for the
/// continuation of a search.
pub(crate) fn continued(
    schema: &Schema,
    entry: &Entry<'_>,
    name: &str,
    below: &str,
    scope: Option<Scope>,
) -> Vec<String> {
    let rewrite = |text: &str| {
        // What is no LDAP URL is given as it is (RFC 4511 section 4.1.10).
        let Ok(mut url) = LdapUrl::parse(text) else { return text.to_string() };
        if url.dn.is_empty() {
            url.dn = name.to_string();
        }
        if !below.is_empty() {
            url.dn = if url.dn.is_empty() { below.to_string() } else { format!("{below},{}", url.dn) };
        }
        url.scope = scope;
        url.to_string()
    };
    urls(schema, entry).into_iter().map(rewrite).collect()
}
