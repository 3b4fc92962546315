//! String preparation (RFC 4518): how strings are made comparable.
//!
//! Two steps of the RFC are kept otherwise. Nothing is prohibited: what was unassigned in Unicode 3.2 is in use today,
//! and a value that could be stored but never be found would help nobody. And spaces are handled in a shorter form
//! than the RFC's, which stands for the same strings: none around the string, one for each run of them. The RFC's own
//! form, with a space at both ends and two for each run, is made by [`widen`] where it matters: for substrings.

use stringprep::tables::case_fold_for_nfkc;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Whether case matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Ignore,
    Exact,
}

/// Appends the prepared form of `text` to `out`.
pub(super) fn prepare(text: &str, case: Case, out: &mut Vec<u8>) {
    let start = out.len();
    transcode(text, case, out);
    squeeze(out, start);
}

/// Whether preparing a value changes nothing but case: ASCII that can be seen, and single spaces between. It may be said of
/// some of these values that it is not so.
pub fn is_plain(value: &[u8]) -> bool {
    let (Some(first), Some(last)) = (value.first(), value.last()) else { return true };
    if *first == b' ' || *last == b' ' {
        return false;
    }
    let Some(end) = value.last_chunk() else {
        return value.iter().all(|byte| matches!(byte, b' '..=b'~')) && !value.windows(2).any(|two| two == b"  ");
    };
    // Eight bytes at a time; those at the end together with some before them.
    let (words, _) = value.as_chunks();
    let mut wrong = 0;
    let mut space_before = 0;
    for word in words {
        let (strange, spaces) = look_at(*word);
        wrong |= strange | (spaces & ((spaces >> 8) | space_before));
        space_before = (spaces >> 56) & 0x80;
    }
    let (strange, spaces) = look_at(*end);
    wrong |= strange | (spaces & (spaces >> 8));
    wrong == 0
}

/// Marks, by the upper bit of each, bytes that are no ASCII or cannot be seen, and spaces. Bytes behind one that is marked may be
/// marked as well.
#[inline]
fn look_at(bytes: [u8; 8]) -> (u64, u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const UPPER: u64 = 0x80 * ONES;
    let word = u64::from_le_bytes(bytes);
    let below = |word: u64, bound: u64| word.wrapping_sub(bound * ONES) & !word & UPPER;
    let is = |byte: u64| below(word ^ (byte * ONES), 1);
    ((word & UPPER) | below(word, 0x20) | is(0x7F), is(0x20))
}

/// Appends the prepared form of a value that [`is_plain`]; false, and nothing, of others.
pub(super) fn prepare_plain(value: &[u8], case: Case, out: &mut Vec<u8>) -> bool {
    if !is_plain(value) {
        return false;
    }
    let start = out.len();
    out.extend_from_slice(value);
    if case == Case::Ignore {
        out[start..].make_ascii_lowercase();
    }
    true
}

/// Maps, normalizes and folds; spaces stay as many as they were.
pub(super) fn transcode(text: &str, case: Case, out: &mut Vec<u8>) {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        let start = out.len();
        out.extend_from_slice(text.as_bytes());
        if case == Case::Ignore {
            out[start..].make_ascii_lowercase();
        }
        return;
    }
    let mapped = text.chars().filter_map(map);
    let mut bytes = [0; 4];
    let mut push = |c: char| out.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
    match case {
        // Normalized first, as some compatibility characters stand for capital letters. The RFC's table ends with
        // Unicode 3.2; newer letters are folded as the standard library does it.
        Case::Ignore => {
            let folded = mapped.nfkc().flat_map(char::to_lowercase).flat_map(case_fold_for_nfkc);
            folded.nfkc().filter_map(map).for_each(&mut push);
        }
        Case::Exact => mapped.nfkc().filter_map(map).for_each(&mut push),
    }
}

/// RFC 4518 section 2.2, and the spaces that normalization makes.
fn map(c: char) -> Option<char> {
    match c {
        '\t'..='\r' | '\u{85}' => Some(' '),
        '\u{A0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200A}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202F}'
        | '\u{205F}'
        | '\u{3000}' => Some(' '),
        '\0'..='\x1F' | '\x7F'..='\u{9F}' | '\u{AD}' | '\u{34F}' | '\u{6DD}' | '\u{70F}' => None,
        '\u{1806}' | '\u{180B}'..='\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' => None,
        '\u{2060}'..='\u{2063}' | '\u{206A}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' => None,
        '\u{FFF9}'..='\u{FFFC}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0001}' | '\u{E0020}'..='\u{E007F}' => None,
        _ => Some(c),
    }
}

/// Takes away spaces around what `out` holds from `start` on, and all but one of each run.
fn squeeze(out: &mut Vec<u8>, start: usize) {
    let bytes = &out[start..];
    let tidy = bytes.first() != Some(&b' ') && bytes.last() != Some(&b' ') && !bytes.windows(2).any(|two| two == b"  ");
    if tidy {
        return;
    }
    let mut to = start;
    for from in start..out.len() {
        let byte = out[from];
        if byte != b' ' || (to > start && out[to - 1] != b' ') || carries_mark(&out[from + 1..]) {
            out[to] = byte;
            to += 1;
        }
    }
    if to > start && out[to - 1] == b' ' {
        to -= 1;
    }
    out.truncate(to);
}

/// Whether text begins with a combining mark: what it belongs to is then no space or hyphen (RFC 4518 section 2.6).
fn carries_mark(behind: &[u8]) -> bool {
    match behind.first() {
        None | Some(0..0x80) => false,
        Some(_) => {
            let first =
                behind[..behind.len().min(4)].utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
            first.is_some_and(is_combining_mark)
        }
    }
}

/// RFC 4518 section 2.6.1: the form of a value for substrings, from its prepared form.
pub(super) fn widen(prepared: &[u8], out: &mut Vec<u8>) {
    out.push(b' ');
    for &byte in prepared {
        out.push(byte);
        if byte == b' ' {
            out.push(b' ');
        }
    }
    out.push(b' ');
}

/// RFC 4518 section 2.6.2: without any space.
pub(super) fn prepare_numeric(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    transcode(text, Case::Exact, out);
    remove(out, start, |c| c == ' ');
}

/// RFC 4518 section 2.6.3: without any space or hyphen.
pub(super) fn prepare_telephone(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    transcode(text, Case::Ignore, out);
    remove(out, start, |c| {
        matches!(c, ' ' | '-' | '\u{58A}' | '\u{2010}' | '\u{2011}' | '\u{2212}' | '\u{FE63}' | '\u{FF0D}')
    });
}

fn remove(out: &mut Vec<u8>, start: usize, removed: impl Fn(char) -> bool) {
    if out[start..].is_ascii() {
        let mut to = start;
        for from in start..out.len() {
            out[to] = out[from];
            to += usize::from(!removed(char::from(out[from])));
        }
        return out.truncate(to);
    }
    let text = std::str::from_utf8(&out[start..]).expect("what was transcoded is UTF-8");
    if text.contains(&removed) {
        let kept =
            |(at, c): (usize, char)| (!removed(c) || carries_mark(&text.as_bytes()[at + c.len_utf8()..])).then_some(c);
        let kept: String = text.char_indices().filter_map(kept).collect();
        out.truncate(start);
        out.extend_from_slice(kept.as_bytes());
    }
}
