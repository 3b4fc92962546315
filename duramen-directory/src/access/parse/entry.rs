//! Rules as they stand in an entry of slapd's configuration: values of `olcAccess` in LDIF (RFC 2849), as `slapcat -n 0`
//! and `ldapsearch` write them.
//!
//! Owns: making text of rules of it, each line of which has the number it had. Must not know: rules.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const NAME: &str = "olcaccess";
/// Programs fold lines of so many bytes or more. In a shorter one the next line is a new word, whoever wrote it: people
/// put each `by` in a line of its own.
const FOLDED_BYTES: usize = 76;

/// The rules of a text: what it is, unless there are values of `olcAccess` in it.
pub(super) fn rules(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|line| attribute(line).is_some_and(|(name, _)| name.eq_ignore_ascii_case(NAME))) {
        return text.into();
    }
    let (mut rules, mut lines) = (String::with_capacity(text.len()), text.lines().peekable());
    while let Some(first) = lines.next() {
        let (mut logical, mut last, mut folds) = (first.to_string(), first, 0);
        while let Some(next) = lines.next_if(|next| next.starts_with([' ', '\t'])) {
            let is_folded = last.len() >= FOLDED_BYTES && next.starts_with(' ');
            logical.push_str(if is_folded { &next[1..] } else { next });
            (last, folds) = (next, folds + 1);
        }
        match attribute(&logical) {
            Some((name, value)) if name.eq_ignore_ascii_case(NAME) => rules.push_str(&decoded(value)),
            // Another attribute of the entry, or its name.
            Some(_) => {}
            None => rules.push_str(&logical),
        }
        rules.extend(std::iter::repeat_n('\n', folds + 1));
    }
    rules.into()
}

/// The name of an attribute, if a line begins with one, and what stands behind the colon.
fn attribute(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b';');
    is_name.then_some((name, value))
}

/// A value, of which `olcAccess:` is kept: it begins a rule. In base64, as values with line ends are, if there is a second
/// colon; what cannot be decoded stays as it is, and is found fault with.
fn decoded(value: &str) -> String {
    let bytes = value.strip_prefix(':').and_then(|encoded| STANDARD.decode(encoded.trim()).ok());
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    match text {
        Some(text) => format!("olcAccess: {}", text.replace(['\r', '\n'], " ")),
        None => format!("olcAccess:{value}"),
    }
}
