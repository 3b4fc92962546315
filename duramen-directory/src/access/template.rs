//! Text into which parts of the name and the value that a rule selected are put: `$1`, `${1}`, `${d1}`, `${v1}`, and
//! `$$` for a dollar sign.

use std::fmt;

/// Parts of what a rule selected: the whole, and what stood in the pattern's parentheses.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    /// Of the entry's name.
    pub name: Vec<String>,
    /// Of the value.
    pub value: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Name(usize),
    Value(usize),
}

/// How many parts there can be of a name and of a value: nothing ever stands in a place with a higher number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    pub name: usize,
    pub value: usize,
}

impl Reach {
    /// Of an expression, whatever groups it has: those that it does not have take no part, as in slapd.
    pub const EXPRESSION: usize = 100;
}

/// Text with places for parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

impl Template {
    /// Text without places.
    pub fn literal(text: String) -> Template {
        Template { pieces: vec![Piece::Text(text)] }
    }

    /// Takes text apart. A dollar sign that begins no place stands for itself.
    pub fn parse(text: &str) -> Template {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut literal = String::new();
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix('$') {
                literal.push('$');
                rest = behind;
            } else if let Some((piece, behind)) = place(rest) {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
                pieces.push(piece);
                rest = behind;
            } else {
                literal.push('$');
            }
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Template { pieces }
    }

    /// Whether there are places for parts.
    pub fn has_places(&self) -> bool {
        self.pieces.iter().any(|piece| !matches!(piece, Piece::Text(_)))
    }

    /// What stands in front of the first place.
    pub fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// What is wrong with a place that no part can ever stand in, if there is one.
    pub fn unfilled(&self, reach: Reach) -> Option<String> {
        let problem = |place: String, pattern| {
            format!(
                "nothing can stand for {place}: what the rule is about has no {pattern}= with a group in parentheses for it"
            )
        };
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Name(n) if *n >= reach.name => Some(problem(format!("${{{n}}}"), "dn.regex")),
            Piece::Value(n) if *n >= reach.value => Some(problem(format!("${{v{n}}}"), "val.regex")),
            _ => None,
        })
    }

    /// The text with its parts, each as `insert` makes it. One of a group that took no part is empty.
    pub fn expand(&self, parts: &Parts, insert: impl Fn(&str) -> String) -> String {
        let part = |parts: &[String], n: usize| parts.get(n).map_or(String::new(), |part| insert(part));
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name(n) => part(&parts.name, *n),
            Piece::Value(n) => part(&parts.value, *n),
        });
        texts.collect()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(&text.replace('$', "$$")),
            Piece::Name(n) => write!(f, "${{{n}}}"),
            Piece::Value(n) => write!(f, "${{v{n}}}"),
        })
    }
}

/// The place that text behind a dollar sign names, and what stands behind it.
fn place(text: &str) -> Option<(Piece, &str)> {
    let Some(inner) = text.strip_prefix('{') else {
        let digit = text.chars().next()?.to_digit(10)?;
        return Some((Piece::Name(digit as usize), &text[1..]));
    };
    let (inner, behind) = inner.split_once('}')?;
    let (of_value, digits) = match inner.strip_prefix('v') {
        Some(digits) => (true, digits),
        None => (false, inner.strip_prefix('d').unwrap_or(inner)),
    };
    let n = digits.parse().ok()?;
    Some((if of_value { Piece::Value(n) } else { Piece::Name(n) }, behind))
}
