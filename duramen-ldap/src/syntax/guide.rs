//! Guides: what to search for (RFC 4517 sections 3.3.10 and 3.3.14). Letters of either case are alike in their words.

use crate::error::TextError;
use crate::value::text;

/// `class#criteria`, of which the class may be missing.
pub(super) fn guide(value: &[u8]) -> Result<(), TextError> {
    let text = text(value)?;
    match text.split_once('#') {
        Some((class, rest)) => {
            object_class(class)?;
            criteria(rest, class.len() + 1)
        }
        None => criteria(text, 0),
    }
}

/// `class#criteria#subset`.
pub(super) fn enhanced_guide(value: &[u8]) -> Result<(), TextError> {
    let text = text(value)?;
    let mut parts = text.split('#');
    let class = parts.next().unwrap_or_default();
    object_class(class)?;
    let (Some(middle), Some(subset), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(TextError::new(class.len(), "'#', criteria, '#' and how far to search"));
    };
    let start = class.len() + 1;
    let spaces = middle.len() - middle.trim_start_matches(' ').len();
    criteria(middle.trim_matches(' '), start + spaces)?;
    let subset = subset.trim_start_matches(' ');
    match ["baseobject", "oneLevel", "wholeSubtree"].iter().any(|word| word.eq_ignore_ascii_case(subset)) {
        true => Ok(()),
        false => Err(TextError::new(start + middle.len() + 1, "baseobject, oneLevel or wholeSubtree")),
    }
}

fn object_class(text: &str) -> Result<(), TextError> {
    crate::oid::check(text.trim_matches(' '))
}

const MATCHES: [&str; 5] = ["EQ", "SUBSTR", "GE", "LE", "APPROX"];

/// Terms with `|` and `&` between them. Parentheses are counted, so they may be as deep as they like.
fn criteria(text: &str, start: usize) -> Result<(), TextError> {
    let fail = |at, expected| Err(TextError::new(start + at, expected));
    let (mut at, mut open) = (0, 0);
    loop {
        let rest = &text[at..];
        if let Some(first @ ('!' | '(')) = rest.chars().next() {
            open += usize::from(first == '(');
            at += 1;
            continue;
        }
        let end = rest.find(['|', '&', ')']).unwrap_or(rest.len());
        if !is_term(&rest[..end]) {
            return fail(at, "an attribute type, '$' and EQ, SUBSTR, GE, LE or APPROX, or ?true or ?false");
        }
        at += end;
        while open > 0 && text[at..].starts_with(')') {
            (at, open) = (at + 1, open - 1);
        }
        match text[at..].chars().next() {
            Some('|' | '&') => at += 1,
            None if open == 0 => return Ok(()),
            None => return fail(at, "')'"),
            Some(_) => return fail(at, "'|', '&' or the end of the criteria"),
        }
    }
}

fn is_term(text: &str) -> bool {
    match text.split_once('$') {
        Some((kind, how)) => {
            crate::oid::check(kind).is_ok() && MATCHES.iter().any(|word| word.eq_ignore_ascii_case(how))
        }
        None => ["?true", "?false"].iter().any(|word| word.eq_ignore_ascii_case(text)),
    }
}
