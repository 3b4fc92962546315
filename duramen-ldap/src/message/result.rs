//! Results of operations (RFC 4511 section 4.1.9).

use std::fmt;

use crate::ber::{List, Reader, Writer, tag};
use crate::error::DecodeError;

const REFERRAL: u8 = tag::context_constructed(3);

/// How an operation ended. Any number can be received; those of the RFCs have names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ResultCode(pub u32);

macro_rules! result_codes {
    ($($constant:ident = $number:literal $name:literal,)*) => {
        #[allow(missing_docs, reason = "the names are the RFCs'")]
        impl ResultCode {
            $(pub const $constant: ResultCode = ResultCode($number);)*

            /// The RFCs' name, if the code is one of theirs.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

result_codes! {
    SUCCESS = 0 "success",
    OPERATIONS_ERROR = 1 "operationsError",
    PROTOCOL_ERROR = 2 "protocolError",
    TIME_LIMIT_EXCEEDED = 3 "timeLimitExceeded",
    SIZE_LIMIT_EXCEEDED = 4 "sizeLimitExceeded",
    COMPARE_FALSE = 5 "compareFalse",
    COMPARE_TRUE = 6 "compareTrue",
    AUTH_METHOD_NOT_SUPPORTED = 7 "authMethodNotSupported",
    STRONGER_AUTH_REQUIRED = 8 "strongerAuthRequired",
    REFERRAL = 10 "referral",
    ADMIN_LIMIT_EXCEEDED = 11 "adminLimitExceeded",
    UNAVAILABLE_CRITICAL_EXTENSION = 12 "unavailableCriticalExtension",
    CONFIDENTIALITY_REQUIRED = 13 "confidentialityRequired",
    SASL_BIND_IN_PROGRESS = 14 "saslBindInProgress",
    NO_SUCH_ATTRIBUTE = 16 "noSuchAttribute",
    UNDEFINED_ATTRIBUTE_TYPE = 17 "undefinedAttributeType",
    INAPPROPRIATE_MATCHING = 18 "inappropriateMatching",
    CONSTRAINT_VIOLATION = 19 "constraintViolation",
    ATTRIBUTE_OR_VALUE_EXISTS = 20 "attributeOrValueExists",
    INVALID_ATTRIBUTE_SYNTAX = 21 "invalidAttributeSyntax",
    NO_SUCH_OBJECT = 32 "noSuchObject",
    ALIAS_PROBLEM = 33 "aliasProblem",
    INVALID_DN_SYNTAX = 34 "invalidDNSyntax",
    ALIAS_DEREFERENCING_PROBLEM = 36 "aliasDereferencingProblem",
    INAPPROPRIATE_AUTHENTICATION = 48 "inappropriateAuthentication",
    INVALID_CREDENTIALS = 49 "invalidCredentials",
    INSUFFICIENT_ACCESS_RIGHTS = 50 "insufficientAccessRights",
    BUSY = 51 "busy",
    UNAVAILABLE = 52 "unavailable",
    UNWILLING_TO_PERFORM = 53 "unwillingToPerform",
    LOOP_DETECT = 54 "loopDetect",
    SORT_CONTROL_MISSING = 60 "sortControlMissing",
    OFFSET_RANGE_ERROR = 61 "offsetRangeError",
    NAMING_VIOLATION = 64 "namingViolation",
    OBJECT_CLASS_VIOLATION = 65 "objectClassViolation",
    NOT_ALLOWED_ON_NON_LEAF = 66 "notAllowedOnNonLeaf",
    NOT_ALLOWED_ON_RDN = 67 "notAllowedOnRDN",
    ENTRY_ALREADY_EXISTS = 68 "entryAlreadyExists",
    OBJECT_CLASS_MODS_PROHIBITED = 69 "objectClassModsProhibited",
    AFFECTS_MULTIPLE_DSAS = 71 "affectsMultipleDSAs",
    VIRTUAL_LIST_VIEW_ERROR = 76 "virtualListViewError",
    OTHER = 80 "other",
    CANCELED = 118 "canceled",
    NO_SUCH_OPERATION = 119 "noSuchOperation",
    TOO_LATE = 120 "tooLate",
    CANNOT_CANCEL = 121 "cannotCancel",
    ASSERTION_FAILED = 122 "assertionFailed",
    AUTHORIZATION_DENIED = 123 "authorizationDenied",
    SYNC_REFRESH_REQUIRED = 4096 "e-syncRefreshRequired",
    NO_OPERATION = 16654 "noOperation",
}

impl fmt::Display for ResultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name().unwrap_or("unknown"), self.0)
    }
}

impl fmt::Debug for ResultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl DecodeError {
    /// What a server answers to a message with this error in it.
    pub fn result_code(&self) -> ResultCode {
        ResultCode::PROTOCOL_ERROR
    }
}

/// An LDAPResult.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LdapResult<'a> {
    /// How it ended.
    pub code: ResultCode,
    /// The nearest entry that exists, where `code` is about a name.
    pub matched_dn: &'a str,
    /// For people.
    pub diagnostic: &'a str,
    /// URLs of servers to be asked instead; none means that the field is absent.
    pub referral: List<'a, &'a str>,
}

impl<'a> LdapResult<'a> {
    /// A result that says nothing but how it ended.
    pub fn new(code: ResultCode) -> LdapResult<'a> {
        LdapResult { code, ..LdapResult::default() }
    }

    /// A result with a message for people.
    pub fn with_diagnostic(code: ResultCode, diagnostic: &'a str) -> LdapResult<'a> {
        LdapResult { code, diagnostic, ..LdapResult::default() }
    }

    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let result = LdapResult::read_components(&mut content)?;
        content.ignore_rest()?;
        Ok(result)
    }

    /// Reads what other responses have of it too (`COMPONENTS OF LDAPResult`).
    pub(super) fn read_components(content: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let code = ResultCode(content.unsigned(tag::ENUMERATED, "a resultCode")?);
        let matched_dn = content.text(tag::OCTETS, "a matchedDN")?;
        let diagnostic = content.text(tag::OCTETS, "a diagnosticMessage")?;
        let referral = match content.optional(REFERRAL)? {
            Some(urls) => List::decode_some(urls, "a URL")?,
            None => List::default(),
        };
        Ok(LdapResult { code, matched_dn, diagnostic, referral })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>, tag: u8) {
        writer.constructed(tag, |w| self.write_components(w));
    }

    pub(super) fn write_components(&self, writer: &mut Writer<'_>) {
        writer.unsigned(tag::ENUMERATED, self.code.0);
        writer.text(self.matched_dn);
        writer.text(self.diagnostic);
        if !self.referral.is_empty() {
            writer.octets(REFERRAL, self.referral.encoded());
        }
    }
}
