//! Numbers of controls, extended operations and features; what numbers and names look like.

use crate::error::TextError;

/// That a word is a name or a dotted OID (RFC 4512 section 1.4). Underscores are taken too, which some schemas have.
pub(crate) fn check(word: &str) -> Result<(), TextError> {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && word.bytes().all(name);
    if is_name || is_numeric(word) { Ok(()) } else { Err(TextError::new(0, "a name or a dotted OID")) }
}

/// Whether a word is a dotted OID, or one number of it.
pub(crate) fn is_numeric(word: &str) -> bool {
    let number = |arc: &str| {
        !arc.is_empty() && arc.bytes().all(|byte| byte.is_ascii_digit()) && (arc == "0" || !arc.starts_with('0'))
    };
    word.split('.').all(number)
}

/// A number for `NAME-oid`, which Netscape's servers and those that came of them take in place of one: always the same, of
/// the arc where numbers are UUIDs (ITU-T X.667), and this one is made of the name (RFC 9562 section 5.8).
pub(crate) fn of_name(word: &str) -> Option<String> {
    let word = word.to_ascii_lowercase();
    let name = word.strip_suffix("-oid").filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    // FNV-1a of 128 bits.
    let hash = word.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    let (places, version_8) = ((0xf_u128 << 76) | (0x3_u128 << 62), (0x8_u128 << 76) | (0x2_u128 << 62));
    Some(format!("2.25.{}", (hash & !places) | version_8))
}

/// Controls of requests; responses use the same number unless there is another.
pub mod control {
    /// Paged results (RFC 2696).
    pub const PAGED_RESULTS: &str = "1.2.840.113556.1.4.319";
    /// Server-side sorting, request (RFC 2891).
    pub const SORT_REQUEST: &str = "1.2.840.113556.1.4.473";
    /// Server-side sorting, response (RFC 2891).
    pub const SORT_RESPONSE: &str = "1.2.840.113556.1.4.474";
    /// Virtual list view, request (draft-ietf-ldapext-ldapv3-vlv-09).
    pub const LIST_VIEW_REQUEST: &str = "2.16.840.1.113730.3.4.9";
    /// Virtual list view, response (draft-ietf-ldapext-ldapv3-vlv-09).
    pub const LIST_VIEW_RESPONSE: &str = "2.16.840.1.113730.3.4.10";
    /// Assertion (RFC 4528).
    pub const ASSERTION: &str = "1.3.6.1.1.12";
    /// Pre-read (RFC 4527).
    pub const PRE_READ: &str = "1.3.6.1.1.13.1";
    /// Post-read (RFC 4527).
    pub const POST_READ: &str = "1.3.6.1.1.13.2";
    /// ManageDsaIT (RFC 3296).
    pub const MANAGE_DSA_IT: &str = "2.16.840.1.113730.3.4.2";
    /// Proxied authorization, version 2 (RFC 4370).
    pub const PROXIED_AUTHORIZATION: &str = "2.16.840.1.113730.3.4.18";
    /// Matched values (RFC 3876).
    pub const MATCHED_VALUES: &str = "1.2.826.0.1.3344810.2.3";
    /// Subentries (RFC 3672).
    pub const SUBENTRIES: &str = "1.3.6.1.4.1.4203.1.10.1";
    /// Tree delete.
    pub const TREE_DELETE: &str = "1.2.840.113556.1.4.805";
    /// Permissive modify.
    pub const PERMISSIVE_MODIFY: &str = "1.2.840.113556.1.4.1413";
    /// No-Op: find out what would come of an update (draft-zeilenga-ldap-noop).
    pub const NO_OP: &str = "1.3.6.1.4.1.4203.1.10.2";
    /// The same, as OpenLDAP's programs ask for it.
    pub const NO_OP_OPENLDAP: &str = "1.3.6.1.4.1.4203.666.5.2";
    /// Transaction specification (RFC 5805 section 2.2).
    pub const TRANSACTION: &str = "1.3.6.1.1.21.2";
    /// Relax rules.
    pub const RELAX: &str = "1.3.6.1.4.1.4203.666.5.12";
    /// Don't use copy (RFC 6171).
    pub const DONT_USE_COPY: &str = "1.3.6.1.1.22";
    /// Domain scope: no references (MS-ADTS section 3.1.1.3.4.1.4).
    pub const DOMAIN_SCOPE: &str = "1.2.840.113556.1.4.1339";
    /// Password policy (draft-behera-ldap-password-policy-10).
    pub const PASSWORD_POLICY: &str = "1.3.6.1.4.1.42.2.27.8.5.1";
    /// Dereference, of a request and of an entry (draft-masarati-ldap-deref-00).
    pub const DEREFERENCE: &str = "1.3.6.1.4.1.4203.666.5.16";
    /// Content synchronization, request (RFC 4533).
    pub const SYNC_REQUEST: &str = "1.3.6.1.4.1.4203.1.9.1.1";
    /// Content synchronization, of an entry (RFC 4533).
    pub const SYNC_STATE: &str = "1.3.6.1.4.1.4203.1.9.1.2";
    /// Content synchronization among servers that take changes together, of this project: of a request, and of an entry.
    pub const SYNC_SHARED: &str = "2.25.121061489752375850592080705778640324258";
    /// Content synchronization, at the end (RFC 4533).
    pub const SYNC_DONE: &str = "1.3.6.1.4.1.4203.1.9.1.3";
}

/// Intermediate responses.
pub mod intermediate {
    /// Content synchronization, between entries (RFC 4533).
    pub const SYNC_INFO: &str = "1.3.6.1.4.1.4203.1.9.1.4";
}

/// Extended operations.
pub mod extended {
    /// StartTLS (RFC 4511 section 4.14).
    pub const START_TLS: &str = "1.3.6.1.4.1.1466.20037";
    /// Who am I? (RFC 4532)
    pub const WHO_AM_I: &str = "1.3.6.1.4.1.4203.1.11.3";
    /// Password modify (RFC 3062).
    pub const PASSWORD_MODIFY: &str = "1.3.6.1.4.1.4203.1.11.1";
    /// Cancel (RFC 3909).
    pub const CANCEL: &str = "1.3.6.1.1.8";
    /// Start transaction (RFC 5805 section 2.1).
    pub const TRANSACTION_START: &str = "1.3.6.1.1.21.1";
    /// End transaction (RFC 5805 section 2.3).
    pub const TRANSACTION_END: &str = "1.3.6.1.1.21.3";
}

/// Features, as the root DSE lists them.
pub mod feature {
    /// All operational attributes by `+` (RFC 3673).
    pub const ALL_OPERATIONAL_ATTRIBUTES: &str = "1.3.6.1.4.1.4203.1.5.1";
    /// Attributes of an object class by `@class` (RFC 4529).
    pub const OBJECT_CLASS_ATTRIBUTES: &str = "1.3.6.1.4.1.4203.1.5.2";
    /// Empty AND and OR in filters (RFC 4526).
    pub const TRUE_FALSE_FILTERS: &str = "1.3.6.1.4.1.4203.1.5.3";
    /// Language tags (RFC 3866).
    pub const LANGUAGE_TAGS: &str = "1.3.6.1.4.1.4203.1.5.4";
    /// Language ranges (RFC 3866).
    pub const LANGUAGE_RANGES: &str = "1.3.6.1.4.1.4203.1.5.5";
    /// Modify-increment (RFC 4525).
    pub const MODIFY_INCREMENT: &str = "1.3.6.1.1.14";
}
