//! Access rules as words, each with its place.
//!
//! Words are separated by spaces and line ends. Quotes may stand anywhere in a word and keep spaces in it; a backslash
//! makes a quote or a backslash behind it an ordinary character, and is one itself before anything else. A line that
//! begins with `#` is a comment.

/// Where something stands in a text, counted from 1; columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    pub const START: Place = Place { line: 1, column: 1 };
}

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    pub place: Place,
    /// Where its text stands in the source.
    pub bytes: std::ops::Range<usize>,
}

/// Takes a text apart. The error is the place of a quote that is never closed.
pub(super) fn words(source: &str) -> Result<Vec<Word>, Place> {
    let mut words = Vec::new();
    let mut at = 0;
    let mut place = Place::START;
    while let Some(c) = source[at..].chars().next() {
        if c.is_whitespace() {
            step(&mut at, &mut place, c);
        } else if c == '#' && place.column == 1 + indent(source, at) {
            let end = source[at..].find('\n').map_or(source.len(), |end| at + end);
            source[at..end].chars().for_each(|c| step(&mut at, &mut place, c));
        } else {
            words.push(word(source, &mut at, &mut place)?);
        }
    }
    Ok(words)
}

/// How many characters of space the line of `at` begins with.
fn indent(source: &str, at: usize) -> usize {
    let line = &source[source[..at].rfind('\n').map_or(0, |end| end + 1)..];
    line.chars().take_while(|c| c.is_whitespace()).count()
}

fn step(at: &mut usize, place: &mut Place, c: char) {
    *at += c.len_utf8();
    if c == '\n' {
        *place = Place { line: place.line + 1, column: 1 };
    } else {
        place.column += 1;
    }
}

fn word(source: &str, at: &mut usize, place: &mut Place) -> Result<Word, Place> {
    let (start, begin) = (*at, *place);
    let mut text = String::new();
    let mut quote = None;
    while let Some(c) = source[*at..].chars().next() {
        if c.is_whitespace() && quote.is_none() {
            break;
        }
        let here = *place;
        step(at, place, c);
        match c {
            '"' => quote = if quote.is_some() { None } else { Some(here) },
            '\\' => {
                let escaped = source[*at..].chars().next().filter(|c| matches!(c, '"' | '\\'));
                text.push(escaped.unwrap_or('\\'));
                escaped.into_iter().for_each(|c| step(at, place, c));
            }
            _ => text.push(c),
        }
    }
    quote.map_or(Ok(Word { text, place: begin, bytes: start..*at }), Err)
}
