//! LDIF (RFC 2849) as `slapcat -n 0` and `ldapsearch` write it.
//!
//! Owns: unfolding lines, taking them apart. Must not know: what attributes are about.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Programs fold lines of so many bytes or more. In a shorter one the next line is a new word, whoever wrote it: people
/// put each `by` in a line of its own.
const FOLDED_BYTES: usize = 76;

/// A line without its folds.
pub(super) struct Line {
    pub text: String,
    /// How many lines it takes with them.
    pub height: usize,
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let (mut unfolded, mut lines) = (Vec::new(), text.lines().peekable());
    while let Some(first) = lines.next() {
        let (mut text, mut last, mut height) = (first.to_owned(), first, 1);
        while let Some(next) = lines.next_if(|next| next.starts_with([' ', '\t'])) {
            let is_folded = last.len() >= FOLDED_BYTES && next.starts_with(' ');
            text.push_str(if is_folded { &next[1..] } else { next });
            (last, height) = (next, height + 1);
        }
        unfolded.push(Line { text, height });
    }
    unfolded
}

impl Line {
    /// What stands behind the colon, if it is a value of this attribute.
    pub fn value_of(&self, attribute: &str) -> Option<&str> {
        self.attribute().filter(|(name, _)| name.eq_ignore_ascii_case(attribute)).map(|(_, value)| value)
    }

    /// The name of an attribute, if it begins with one, and what stands behind the colon.
    pub fn attribute(&self) -> Option<(&str, &str)> {
        let (name, value) = self.text.split_once(':')?;
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b';');
        is_name.then_some((name, value))
    }
}

/// What stands behind a colon, if it is in base64, as values with line ends are: behind a second colon. What cannot be
/// decoded is not.
pub(super) fn decoded(value: &str) -> Option<String> {
    let bytes = STANDARD.decode(value.strip_prefix(':')?.trim()).ok()?;
    String::from_utf8(bytes).ok()
}
