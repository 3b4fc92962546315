//! Checks of what has a grammar.

use super::check::{all, directory_string, is_printable, printable_string, split_uid};
use crate::dn::Dn;
use crate::error::TextError;
use crate::schema::{
    AttributeType, Description, DitContentRule, DitStructureRule, LdapSyntax, MatchingRule, MatchingRuleUse, NameForm,
    ObjectClass,
};
use crate::value::text;

fn fail<T>(offset: usize, expected: &'static str) -> Result<T, TextError> {
    Err(TextError::new(offset, expected))
}

macro_rules! descriptions {
    ($($name:ident = $kind:ident,)*) => {
        $(pub(super) fn $name(value: &[u8]) -> Result<(), TextError> {
            $kind::parse(text(value)?).map(drop)
        })*
    };
}

descriptions! {
    attribute_type = AttributeType,
    object_class = ObjectClass,
    matching_rule = MatchingRule,
    matching_rule_use = MatchingRuleUse,
    ldap_syntax = LdapSyntax,
    content_rule = DitContentRule,
    structure_rule = DitStructureRule,
    name_form = NameForm,
}

pub(super) fn dn(value: &[u8]) -> Result<(), TextError> {
    Dn::parse(text(value)?).map(drop)
}

/// One RDN, or none.
pub(super) fn rdn(value: &[u8]) -> Result<(), TextError> {
    match Dn::parse(text(value)?)?.rdns().nth(1) {
        Some(second) => fail(second.avas().next().map_or(0, |ava| ava.offset()), "the end of the RDN"),
        None => Ok(()),
    }
}

/// RFC 4517 section 3.3.21.
pub(super) fn name_and_uid(value: &[u8]) -> Result<(), TextError> {
    Dn::parse(split_uid(text(value)?).0).map(drop)
}

pub(super) fn generalized_time(value: &[u8]) -> Result<(), TextError> {
    crate::time::key(value, &mut Vec::new())
}

/// RFC 4517 section 3.3.34: `YYMMDDhhmm[ss](Z|+hhmm|-hhmm)`. The century is guessed: only the form counts here.
pub(super) fn utc_time(value: &[u8]) -> Result<(), TextError> {
    let mut full = b"20".to_vec();
    full.extend_from_slice(value);
    if value.iter().any(|byte| matches!(byte, b'.' | b',')) {
        return fail(0, "a time without fractions");
    }
    generalized_time(&full).map_err(|error| TextError::new(error.offset.saturating_sub(2), error.expected))
}

/// The words of a value between dollar signs, with the offset of each.
fn parts(value: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    value.split(|&byte| byte == b'$').scan(0, |at, part| {
        let start = *at;
        *at += part.len() + 1;
        Some((start, part))
    })
}

/// RFC 4517 section 3.3.28: lines, `\24` for a dollar sign, `\5C` for a backslash. Its lines have one character at least; empty
/// ones are taken too, since address books write them, and other servers have them.
pub(super) fn postal_address(value: &[u8]) -> Result<(), TextError> {
    parts(value).filter(|(_, line)| !line.is_empty()).try_for_each(|(start, line)| {
        directory_string(line).map_err(|error| error.after(start))?;
        match line.iter().enumerate().find(|(at, byte)| **byte == b'\\' && !is_escape(&line[at + 1..])) {
            Some((at, _)) => fail(start + at, "'\\24' or '\\5C'"),
            None => Ok(()),
        }
    })
}

fn is_escape(behind: &[u8]) -> bool {
    matches!(behind.get(..2), Some(b"24" | b"5C" | b"5c"))
}

const DELIVERY_METHODS: [&str; 10] =
    ["any", "mhs", "physical", "telex", "teletex", "g3fax", "g4fax", "ia5", "videotex", "telephone"];

/// RFC 4517 section 3.3.5; words of a grammar may be in letters of either case (RFC 5234 section 2.3).
pub(super) fn delivery_method(value: &[u8]) -> Result<(), TextError> {
    parts(value).try_for_each(|(start, word)| {
        let known = DELIVERY_METHODS.iter().any(|method| method.as_bytes().eq_ignore_ascii_case(word.trim_ascii()));
        if known { Ok(()) } else { fail(start, "a delivery method, as any, mhs, physical or telephone") }
    })
}

const DSA_QUALITIES: [&str; 5] = ["DEFUNCT", "EXPERIMENTAL", "BEST-EFFORT", "PILOT-SERVICE", "FULL-SERVICE"];

/// RFC 1778: a quality, and a description behind `#`.
pub(super) fn dsa_quality(value: &[u8]) -> Result<(), TextError> {
    let end = value.iter().position(|&byte| byte == b'#').unwrap_or(value.len());
    if !DSA_QUALITIES.iter().any(|quality| quality.as_bytes().eq_ignore_ascii_case(value[..end].trim_ascii())) {
        return fail(0, "a quality, as EXPERIMENTAL, BEST-EFFORT or FULL-SERVICE");
    }
    match value.get(end + 1..) {
        Some(description) => directory_string(description).map_err(|error| error.after(end + 1)),
        None => Ok(()),
    }
}

/// RFC 1278: up to three selectors, each with a slash behind it, and network addresses between `|` or `_`.
pub(crate) fn presentation_address(value: &[u8]) -> Result<(), TextError> {
    all(value, |byte| byte.is_ascii_graphic() || byte == b' ', "a character of ASCII that can be seen")?;
    let mut parts: Vec<&[u8]> = value.split(|&byte| byte == b'/').collect();
    let networks = parts.pop().unwrap_or_default();
    if parts.len() > 3 {
        return fail(0, "no more than three selectors");
    }
    let mut at = 0;
    for selector in parts {
        if !is_selector(selector) {
            return fail(at, "a selector: text in quotes, '#' and a number, or hex digits as '0F'H");
        }
        at += selector.len() + 1;
    }
    let all_there = networks.is_empty() || networks.split(|byte| b"|_".contains(byte)).all(|one| !one.is_empty());
    if all_there { Ok(()) } else { fail(at, "a network address between two separators") }
}

/// Nothing, too: then there is no such selector.
fn is_selector(selector: &[u8]) -> bool {
    match selector {
        [] => true,
        [b'"', inner @ .., b'"'] => !inner.contains(&b'"'),
        [b'#', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        [b'\'', digits @ .., b'\'', b'H' | b'h'] => digits.len() % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    }
}

const FAX_PARAMETERS: [&str; 7] =
    ["twoDimensional", "fineResolution", "unlimitedLength", "b4Length", "a3Width", "b4Width", "uncompressed"];

/// RFC 4517 section 3.3.11.
pub(super) fn facsimile(value: &[u8]) -> Result<(), TextError> {
    parts(value).enumerate().try_for_each(|(n, (start, part))| {
        if n == 0 {
            return printable_string(part);
        }
        let known = FAX_PARAMETERS.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(part));
        if known { Ok(()) } else { fail(start, "a parameter of fax machines, as fineResolution") }
    })
}

/// RFC 4517 section 3.3.27: a kind of mailbox, and an address.
pub(super) fn other_mailbox(value: &[u8]) -> Result<(), TextError> {
    let Some(at) = value.iter().position(|&byte| byte == b'$') else { return fail(value.len(), "'$' and a mailbox") };
    printable_string(&value[..at])?;
    all(&value[at + 1..], |byte| byte.is_ascii(), "a character of ASCII").map_err(|error| error.after(at + 1))
}

/// RFC 4517 section 3.3.33: number, country code and answerback.
pub(super) fn telex(value: &[u8]) -> Result<(), TextError> {
    let mut count = 0;
    parts(value).try_for_each(|(start, part)| {
        count += 1;
        printable_string(part).map_err(|error| error.after(start))
    })?;
    if count == 3 { Ok(()) } else { fail(0, "a number, a country code and an answerback between dollar signs") }
}

const TELETEX_PARAMETERS: [&str; 5] = ["graphic:", "control:", "misc:", "page:", "private:"];

/// RFC 4517 section 3.3.32.
pub(super) fn teletex_terminal(value: &[u8]) -> Result<(), TextError> {
    parts(value).enumerate().try_for_each(|(n, (start, part))| {
        if n == 0 {
            return printable_string(part);
        }
        let begins =
            |name: &str| part.get(..name.len()).is_some_and(|front| front.eq_ignore_ascii_case(name.as_bytes()));
        let known = TELETEX_PARAMETERS.iter().any(|name| begins(name));
        if known { Ok(()) } else { fail(start, "graphic:, control:, misc:, page: or private:") }
    })
}

/// RFC 4517 section 3.3.30: an asterisk at least; `\2A` for one in a piece, `\5C` for a backslash.
pub(super) fn substring_assertion(value: &[u8]) -> Result<(), TextError> {
    text(value)?;
    if !value.contains(&b'*') {
        return fail(value.len(), "'*'");
    }
    let escaped = |at: usize| matches!(value.get(at + 1..at + 3), Some(b"2A" | b"2a" | b"5C" | b"5c"));
    match (0..value.len()).find(|&at| value[at] == b'\\' && !escaped(at)) {
        Some(at) => fail(at, "'\\2A' or '\\5C'"),
        None => Ok(()),
    }
}

/// RFC 2307 section 2.4: `(host,user,domain)`, each of which may be missing or `-`.
pub(super) fn netgroup_triple(value: &[u8]) -> Result<(), TextError> {
    let inner = value.trim_ascii().strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")"));
    let Some(inner) = inner else { return fail(0, "(host,user,domain)") };
    let fields: Vec<&[u8]> = inner.split(|&byte| byte == b',').collect();
    let right = |field: &&[u8]| field.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._@ *".contains(byte));
    if fields.len() == 3 && fields.iter().all(right) { Ok(()) } else { fail(0, "(host,user,domain)") }
}

/// RFC 2307 section 2.4: `key=server:path`.
pub(super) fn boot_parameter(value: &[u8]) -> Result<(), TextError> {
    let Some((key, rest)) = split_at(value, b'=') else { return fail(0, "key=server:path") };
    let Some((server, path)) = split_at(rest, b':') else { return fail(key.len() + 1, "server:path") };
    all(key, is_printable, "a key")?;
    all(server, is_printable, "a server").map_err(|error| error.after(key.len() + 1))?;
    all(path, |byte| byte.is_ascii_graphic(), "a path").map_err(|error| error.after(key.len() + server.len() + 2))
}

fn split_at(value: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = value.iter().position(|&byte| byte == separator)?;
    Some((&value[..at], &value[at + 1..]))
}
