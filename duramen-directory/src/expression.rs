//! Regular expressions as POSIX has them (extended ones), and slapd: what is written for it means the same here.
//!
//! Owns: what stands in brackets, where the two notations differ. Must not know: what expressions are for.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// An administrator writes them, so they may be longer than those of a client.
const BYTES_MAX: usize = 10 << 20;
/// Into these a client's name may have been put.
const BYTES_MAX_IN_ANY_CASE: usize = 1 << 20;

const CLASSES: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// Compiles one. Upper and lower case are different; a dot is any character, the end of a line too, and `^` and `$` are the
/// ends of the whole text.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn compile(text: &str) -> Result<Regex, String> {
    build(RegexBuilder::new(&rewrite(text)?).size_limit(BYTES_MAX))
}

/// As [`compile`], but upper and lower case are the same, as rules about names have it. That a dot is any character, too,
/// means that nobody passes by a rule with a line's end in a value.
pub(crate) fn compile_in_any_case(text: &str) -> Result<Regex, String> {
    build(RegexBuilder::new(&rewrite(text)?).case_insensitive(true).size_limit(BYTES_MAX_IN_ANY_CASE))
}

fn build(builder: &mut RegexBuilder) -> Result<Regex, String> {
    builder
        .dot_matches_new_line(true)
        .build()
        .map_err(|error| error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_string())
}

/// The expression in the notation of the library, which knows escapes and operators within brackets.
fn rewrite(text: &str) -> Result<String, String> {
    let (mut rewritten, mut chars) = (String::with_capacity(text.len()), text.chars().peekable());
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('[', _) => bracket(&mut chars, &mut rewritten)?,
            // To the one an odd way to write the letter, to the other a digit, a tabulator or whatever.
            ('\\', Some(&letter)) if letter.is_ascii_alphabetic() && !"wWsSbB".contains(letter) => {
                return Err(format!("'\\{letter}' is not supported: write '{letter}', or [[:digit:]] for a digit"));
            }
            // The beginning and the end of the whole text, by GNU's library and so by slapd.
            ('\\', Some('`')) => rewritten.push_str(anchor(&mut chars, r"\A")),
            ('\\', Some('\'')) => rewritten.push_str(anchor(&mut chars, r"\z")),
            ('\\', _) => rewritten.extend([c].into_iter().chain(chars.next())),
            ('{', Some(',')) => rewritten.push_str("{0"),
            // So often or not at all; to the library as often, but rather less so.
            ('+' | '}', Some('?')) => return Err(format!("'{c}?' is not supported: write '(...{c})?' or '*'")),
            _ => rewritten.push(c),
        }
    }
    Ok(rewritten)
}

/// An anchor in place of the letter that comes next.
fn anchor(chars: &mut Peekable<Chars<'_>>, anchor: &'static str) -> &'static str {
    chars.next();
    anchor
}

/// What stands behind `[`, up to its `]`: there a backslash is one, and so is all else but `]`, `-` and what begins with `[:`.
fn bracket(chars: &mut Peekable<Chars<'_>>, rewritten: &mut String) -> Result<(), String> {
    rewritten.push('[');
    rewritten.extend(chars.next_if_eq(&'^'));
    // As the first one `]` is a member.
    let mut is_member = true;
    while let Some(c) = chars.next() {
        match c {
            ']' if !is_member => {
                rewritten.push(']');
                return Ok(());
            }
            '[' if chars.peek() == Some(&':') => class(chars, rewritten)?,
            _ => {
                member(c, chars, rewritten)?;
                if is_range(chars) {
                    rewritten.extend(chars.next());
                    let end = chars.next().unwrap_or_default();
                    member(end, chars, rewritten)?;
                }
            }
        }
        is_member = false;
    }
    Err("a '[' has no ']'".into())
}

/// Whether a range follows: a hyphen, and what is not the closing bracket.
fn is_range(chars: &Peekable<Chars<'_>>) -> bool {
    let mut ahead = chars.clone();
    ahead.next() == Some('-') && ahead.next().is_some_and(|end| end != ']')
}

fn member(c: char, chars: &mut Peekable<Chars<'_>>, rewritten: &mut String) -> Result<(), String> {
    if c == '[' && chars.peek().is_some_and(|next| matches!(next, ':' | '.' | '=')) {
        return Err("within brackets '[.', '[=' and ranges to a class are not supported: name the characters".into());
    }
    if matches!(c, '\\' | '[' | ']' | '^' | '-' | '&' | '~') {
        rewritten.push('\\');
    }
    rewritten.push(c);
    Ok(())
}

/// `[:alnum:]` and the like, behind the first bracket: both notations have the same, and another word is letters to the library.
fn class(chars: &mut Peekable<Chars<'_>>, rewritten: &mut String) -> Result<(), String> {
    let mut name = String::new();
    chars.next();
    while let Some(c) = chars.next() {
        if c != ':' || chars.next_if_eq(&']').is_none() {
            name.push(c);
        } else if CLASSES.contains(&&*name) {
            rewritten.push_str(&format!("[:{name}:]"));
            return Ok(());
        } else {
            return Err(format!("there is no class '[:{name}:]'"));
        }
    }
    Err("a '[:' has no ':]'".into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_stands_in_brackets_stands_for_itself() {
        for (expression, matches, others) in [
            (r"^[\d]+$", r"d\d", "5"),
            (r"^[\.]$", r"\", "x"),
            ("^[]a]+$", "a]a", "b"),
            ("^[^]a]+$", "b", "a]"),
            ("^[a-c-]+$", "a-c", "d"),
            ("^[+--]+$", "+,-", "."),
            ("^[a&&b]+$", "a&b", "c"),
            ("^[a~~b]+$", "~", "c"),
            ("^[[a]+$", "[a", "]"),
            ("^[[:digit:]_]+$", "1_2", "d"),
            ("^[^[:space:]]+$", "x", " "),
            (r"^[^\]+$", "abc", r"a\c"),
            ("^[ä-ü]$", "ö", "o"),
        ] {
            let regex = compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
            assert!(regex.is_match(matches) && !regex.is_match(others), "{expression}");
        }
    }

    #[test]
    fn what_stands_outside_of_brackets_is_as_ever() {
        for (expression, matches, others) in [
            (r"^\[x\]$", "[x]", "x"),
            ("^a{2,3}$", "aaa", "a"),
            ("^a{,2}$", "aa", "aaa"),
            ("^(ann|bob)$", "bob", "Bob"),
            ("^.$", "\n", "ab"),
            ("^a$", "a", "a\n"),
            (r"\<ann\>", "an ann", "annie"),
            (r"\`ann\'", "ann", "`ann'"),
            ("(?i)^ann$", "ANN", "bob"),
        ] {
            let regex = compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
            assert!(regex.is_match(matches) && !regex.is_match(others), "{expression}");
        }
    }

    #[test]
    fn in_any_case_they_are_the_same_otherwise() {
        for (expression, matches, others) in
            [(r"^uid=[\w]+,dc=b$", r"UID=W\w,dc=B", "uid=ann,dc=b"), ("^[[:lower:]]+[^a&&b]$", "Annc", "ann&")]
        {
            let regex = compile_in_any_case(expression).unwrap();
            assert!(regex.is_match(matches) && !regex.is_match(others), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for (expression, told) in [
            ("a(", "unclosed group"),
            ("[a", "a '[' has no ']'"),
            ("[]", "a '[' has no ']'"),
            ("[[:alpha", "a '[:' has no ':]'"),
            ("[[:letter:]]", "no class '[:letter:]'"),
            ("[[:]", "a '[:' has no ':]'"),
            ("a+?", "'+?' is not supported"),
            ("[[.a.]]", "not supported"),
            ("[a-[:digit:]]", "not supported"),
            ("[z-a]", "range"),
            ("{SSHA}", "repetition"),
            (r"(a)\1", "backreference"),
            (r"\d", r"'\d' is not supported: write 'd'"),
        ] {
            let error = compile(expression).unwrap_err();
            assert!(error.contains(told), "{expression}: {error}");
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic() {
        let pieces =
            ["a", "[", "]", "[:", ":]", "[.", "-", "^", "\\", "{", "}", ",", "(", ")", "?", "+", "*", "ä", "\0", "&&"];
        let mut random = fastrand::Rng::with_seed(1);
        let mut compiled = 0;
        for _ in 0..5000 {
            let text: String = (0..random.usize(..8)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            compiled += usize::from(compile(&text).is_ok());
            let _ = compile_in_any_case(&text);
        }
        assert!((500..4500).contains(&compiled), "{compiled} of 5000 are expressions");
    }

    /// The lines of a file that an expression matches, by the system's library. `None` if it takes no such expression.
    fn lines_of_grep(expression: &str, file: &Path) -> Option<Vec<usize>> {
        let mut grep = Command::new("grep");
        let output = grep.env("LC_ALL", "C").args(["-nE", "-e", expression]).arg(file).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let number = |line: &str| line.split(':').next().and_then(|number| number.parse().ok());
        (output.status.code() != Some(2)).then(|| lines.lines().filter_map(number).collect())
    }

    #[test]
    fn random_expressions_match_what_grep_finds_by_them() {
        let seed = std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        let mut random = fastrand::Rng::with_seed(seed);
        let of = |random: &mut fastrand::Rng, list: &[&str], most: usize| -> String {
            (0..=random.usize(..most)).map(|_| list[random.usize(..list.len())]).collect()
        };
        let letters = ["a", "b", "1", "]", "-", ".", "\\", "&", "~", "[", "^", " "];
        let texts: Vec<String> = (0..200).map(|_| of(&mut random, &letters, 5)).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), texts.join("\n") + "\n").unwrap();
        let members = ["a", "b", "1", "]", "-", ".", r"\", "&", "&&", "~~", "[", "^", "a-b", "+--", "[:digit:]", r"\d"];
        let (mut matched, mut held) = (0, 0);
        for _ in 0..400 {
            let mut expression = String::new();
            for _ in 0..=random.usize(..4) {
                let bracket = format!("[{}{}]", ["", "^"][random.usize(..2)], of(&mut random, &members, 4));
                let parts = ["a", "b", ".", r"\.", r"\[", "(a|b1)", "(ab)", &bracket, &bracket, &bracket];
                expression += parts[random.usize(..parts.len())];
                expression += ["", "", "*", "+", "?", "{2}", "{1,2}", "{,2}"][random.usize(..8)];
            }
            let expression = format!("{}{expression}{}", ["", "^"][random.usize(..2)], ["", "$"][random.usize(..2)]);
            let (Some(lines), Ok(regex)) = (lines_of_grep(&expression, file.path()), compile(&expression)) else {
                continue;
            };
            let found = (1..).zip(&texts).filter(|(_, text)| regex.is_match(text)).map(|(n, _)| n).collect::<Vec<_>>();
            assert_eq!(found, lines, "seed {seed}: {expression}");
            held += 1;
            matched += usize::from((1..texts.len()).contains(&found.len()));
        }
        assert!(held > 200 && matched > 100, "{held} were held against grep, {matched} told lines apart");
    }
}
