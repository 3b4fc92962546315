//! Rules as they stand in slapd.conf: in front of the first line that begins with `database` those of the frontend, behind each
//! such line those of that database.
//!
//! Owns: whose rules stand where. Must not know: rules.

use std::ops::Range;

use super::super::words::Place;
use super::entry::Others;
use super::{Wrong, is};

const DATABASE: &str = "database";

/// The rules of the database with the entries, and the others; `None` if no line says of which database rules are.
pub(super) fn sections(text: &str) -> Result<Option<(String, Others)>, Wrong> {
    let (mut own, mut frontend, mut monitor) = (None, String::new(), None);
    let sections = split(text);
    if sections.len() == 1 {
        return Ok(None);
    }
    for (kind, lines) in sections {
        let (rules, place) = (only(text, &lines), Place { line: lines.start, column: 1 });
        match kind.to_ascii_lowercase().as_str() {
            "" => frontend.insert_str(0, &rules),
            "frontend" if rules.trim().is_empty() => {}
            "frontend" => {
                let problem = "rules of the frontend stand in front of the first database: move them there";
                return Err((place, problem.to_owned()));
            }
            "monitor" if monitor.is_none() => monitor = Some(rules),
            "config" => {}
            "monitor" => return Err((place, "there is one database monitor at most: leave one of them".to_owned())),
            _ if own.is_none() => own = Some(rules),
            _ => {
                let problem = "rules of several databases stand here, and one has what is served: leave only that";
                return Err((place, problem.to_owned()));
            }
        }
    }
    Ok(Some((own.unwrap_or_default(), Others { frontend, monitor })))
}

/// The kinds of the databases, and the numbers of the lines with their rules; that in front of the first has none.
fn split(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut sections = vec![("", 1..1)];
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        // A line that begins with a space goes on with the one before.
        let begins = line.starts_with(|first: char| !first.is_whitespace());
        if begins && words.next().is_some_and(|word| is(word, DATABASE)) {
            sections.push((words.next().unwrap_or(DATABASE), number + 1..number + 1));
        }
        if let Some((_, lines)) = sections.last_mut() {
            lines.end = lines.start.max(number + 1);
        }
    }
    sections
}

/// Some lines of a text, each with the number that it had.
fn only(text: &str, lines: &Range<usize>) -> String {
    let numbered = (1..).zip(text.lines()).take_while(|(number, _)| *number < lines.end);
    numbered
        .map(|(number, line)| if lines.contains(&number) { [line, "\n"].concat() } else { "\n".to_owned() })
        .collect()
}
