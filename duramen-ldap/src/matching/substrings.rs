//! Substrings assertions, made ready for being held against many values.

use memchr::memmem::Finder;

use super::prepare::{Case, transcode, widen};
use super::rule::{Form, Rule, ascii, list};
use crate::ber::List;
use crate::error::TextError;
use crate::filter::Substring;
use crate::value::text;

/// A substrings assertion in normalized form. It is held against values in their normalized form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubstringsAssertion {
    initial: Option<Vec<u8>>,
    any: Vec<Piece>,
    last: Option<Vec<u8>>,
    /// Whether spaces at the ends of pieces matter, so that values have to be widened (RFC 4518 section 2.6.1).
    wide: bool,
    /// Whether values are lines between dollar signs, each with ends of its own.
    lines: bool,
}

/// A piece that may stand anywhere, made ready for being looked for.
#[derive(Debug, Clone)]
struct Piece(Finder<'static>);

impl PartialEq for Piece {
    fn eq(&self, other: &Piece) -> bool {
        self.0.needle() == other.0.needle()
    }
}

impl Eq for Piece {}

impl SubstringsAssertion {
    /// Normalizes the pieces of a filter by a substrings rule.
    pub fn new(rule: &Rule, pieces: List<'_, Substring<'_>>) -> Result<SubstringsAssertion, TextError> {
        let mut normalized = Vec::new();
        let mut wide = false;
        for piece in pieces {
            let (Substring::Initial(bytes) | Substring::Any(bytes) | Substring::Final(bytes)) = piece;
            let (text, edges) = normalize(rule, bytes)?;
            wide |= edges;
            normalized.push((piece, text));
        }
        let lines = matches!(rule.form, Form::List(_));
        // Most have one, and a piece is long: a filter may have very many.
        let inner = normalized.iter().filter(|(piece, _)| matches!(piece, Substring::Any(_))).count();
        let any = Vec::with_capacity(inner);
        let mut assertion = SubstringsAssertion { initial: None, any, last: None, wide, lines };
        for (piece, text) in normalized {
            let text = if wide { widened(text, &piece, lines) } else { text };
            match piece {
                Substring::Initial(_) => assertion.initial = Some(text),
                Substring::Any(_) => assertion.any.push(Piece(Finder::new(&text).into_owned())),
                Substring::Final(_) => assertion.last = Some(text),
            }
        }
        Ok(assertion)
    }

    /// Whether a value matches, given in the normalized form of the attribute's equality or substrings rule.
    pub fn matches(&self, normalized: &[u8]) -> bool {
        if !self.wide {
            return self.matches_form(normalized);
        }
        let mut value = Vec::with_capacity(normalized.len() + 8);
        widen_all(normalized, self.lines, &mut value);
        self.matches_form(&value)
    }

    fn matches_form(&self, mut rest: &[u8]) -> bool {
        let strip = |rest, piece: &Option<Vec<u8>>, strip: fn(&[u8], &[u8]) -> Option<usize>| match piece {
            None => Some(0),
            Some(piece) => strip(rest, piece),
        };
        let Some(skipped) = strip(rest, &self.initial, |v, p| v.starts_with(p).then_some(p.len())) else {
            return false;
        };
        rest = &rest[skipped..];
        let Some(kept) = strip(rest, &self.last, |v, p| v.ends_with(p).then_some(p.len())) else { return false };
        rest = &rest[..rest.len() - kept];
        self.any.iter().all(|Piece(piece)| match piece.find(rest) {
            Some(at) => {
                rest = &rest[at + piece.needle().len()..];
                true
            }
            None => false,
        })
    }

    /// The pieces, without spaces around them: each occurs in the normalized form of every value that matches. For
    /// finding candidates in an index. The first of each pair says where: at the beginning, anywhere, at the end.
    pub fn fragments(&self) -> impl Iterator<Item = (Place, Vec<u8>)> + '_ {
        let initial = self.initial.iter().map(|piece| (Place::Start, piece.as_slice()));
        let any = self.any.iter().map(|Piece(piece)| (Place::Anywhere, piece.needle()));
        let last = self.last.iter().map(|piece| (Place::End, piece.as_slice()));
        initial.chain(any).chain(last).map(|(place, piece)| {
            if !self.wide {
                return (place, piece.to_vec());
            }
            let mut fragment = piece.trim_ascii().to_vec();
            fragment.dedup_by(|a, b| *a == b' ' && *b == b' ');
            if self.lines {
                let lines: Vec<&[u8]> = fragment.split(|&byte| byte == b'$').map(|line| line.trim_ascii()).collect();
                fragment = lines.join(&b'$');
            }
            (place, fragment)
        })
    }
}

/// Where in a value a fragment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the beginning.
    Start,
    /// Anywhere.
    Anywhere,
    /// At the end.
    End,
}

/// A piece's text with its spaces, and whether there are any at its ends.
fn normalize(rule: &Rule, bytes: &[u8]) -> Result<(Vec<u8>, bool), TextError> {
    let mut out = Vec::new();
    let (text, case) = match rule.form {
        Form::Text(case) => (text(bytes)?, case),
        Form::Ia5(case) => (ascii(bytes)?, case),
        Form::List(case) => return Ok(normalize_lines(text(bytes)?, case)),
        _ => {
            rule.check_piece(bytes)?;
            rule.normalize_piece(bytes, &mut out)?;
            return Ok((out, false));
        }
    };
    transcode(text, case, &mut out);
    // One space for each run, at the ends too.
    out.dedup_by(|a, b| *a == b' ' && *b == b' ');
    let edges = out.first() == Some(&b' ') || out.last() == Some(&b' ');
    Ok((out, edges))
}

/// As [`normalize`], of lines between dollar signs: around those, spaces are nothing.
fn normalize_lines(text: &str, case: Case) -> (Vec<u8>, bool) {
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    transcode(text, case, &mut ends);
    list(text, case, &mut out);
    if ends.iter().all(|&byte| byte == b' ') {
        ends.truncate(1);
        let edges = !ends.is_empty();
        return (ends, edges);
    }
    let (front, back) = (ends.first() == Some(&b' '), ends.last() == Some(&b' '));
    if front {
        out.insert(0, b' ');
    }
    if back {
        out.push(b' ');
    }
    (out, front || back)
}

/// As [`widen`], of each line if there are some.
fn widen_all(prepared: &[u8], lines: bool, out: &mut Vec<u8>) {
    if !lines {
        return widen(prepared, out);
    }
    for (n, line) in prepared.split(|&byte| byte == b'$').enumerate() {
        if n > 0 {
            out.push(b'$');
        }
        widen(line, out);
    }
}

/// RFC 4518 section 2.6.1: two spaces for each run within a piece, one at its ends; also one where the value's own
/// end is asserted.
fn widened(text: Vec<u8>, piece: &Substring<'_>, lines: bool) -> Vec<u8> {
    if text == b" " {
        return text;
    }
    let (front, back) = (text.first() == Some(&b' '), text.last() == Some(&b' '));
    let mut out = Vec::with_capacity(text.len() + 4);
    widen_all(text.trim_ascii(), lines, &mut out);
    if !back && !matches!(piece, Substring::Final(_)) {
        out.pop();
    }
    if !front && !matches!(piece, Substring::Initial(_)) {
        out.remove(0);
    }
    out
}
