//! The rules' language, from words to rules.
//!
//! `access to <what> [by <who> <access> <control>]...`, one after the other, or in the order of the numbers that OpenLDAP
//! writes in front of them in its configuration entries (`olcAccess: {0}to ...`). Among them may stand `add_content_acl on`.

mod conf;
mod entry;
mod ldif;
mod names;
mod set;
mod what;
mod who;

use std::sync::Arc;

use super::level::{Change, Privileges};
use super::made_up::Lists;
use super::rule::{Clause, Control, Rule, Who};
use super::template::Reach;
use super::words::{Place, Word, words};
use crate::schema::Schema;

/// What is wrong with access rules, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}, line {line}, column {column}: {problem}")]
pub struct RuleError {
    /// Where the rules come from.
    pub source_name: String,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong, and what to do about it.
    pub problem: String,
}

/// A problem and its place.
type Wrong = (Place, String);

/// The rules of a text.
pub(super) struct Parsed {
    pub lists: Lists,
    /// The names of the entries that they are of, if they were chosen among several.
    pub entries: Vec<String>,
    /// The same of those about `cn=monitor`, if that has some of its own.
    pub monitor_entries: Vec<String>,
    /// Whether they are asked about each value of a new entry.
    pub of_content: bool,
    /// How many parts of sets have a place, if there are sets.
    pub places: Option<usize>,
}

/// The rules of a text for these suffixes, normalized.
pub(super) fn rules(source: &str, text: &str, suffixes: &[String], schema: &Schema) -> Result<Parsed, RuleError> {
    let parsed = || -> Result<Parsed, Wrong> {
        let entry::Taken { own, others, entries, monitor_entries, mut of_content } =
            entry::rules(text, suffixes, schema)?;
        let mut places = Places::default();
        let mut ready = |text: &str, of_content: &mut bool| -> Result<_, Wrong> {
            Ok(places.give(list(text, schema, of_content)?))
        };
        let own = ready(&own, &mut of_content)?;
        let lists = match others {
            None => Lists::of_one(own),
            Some(entry::Others { frontend, monitor }) => {
                // What the database's entry says of new entries is about that database.
                let mut ready = |text: &str| ready(text, &mut false);
                let (frontend, monitor) = (ready(&frontend)?, monitor.as_deref().map(ready).transpose()?);
                Lists::of_databases(&own, &frontend, monitor.as_deref())
            }
        };
        Ok(Parsed { lists, entries, monitor_entries, of_content, places: places.are_there.then_some(places.next) })
    };
    parsed().map_err(|wrong| told(source, wrong))
}

/// Places for parts of sets that are the same for all entries.
#[derive(Default)]
struct Places {
    next: usize,
    are_there: bool,
}

impl Places {
    /// Gives some to the parts in rules.
    fn give(&mut self, mut rules: Vec<Rule>) -> Vec<Arc<Rule>> {
        for who in rules.iter_mut().flat_map(|rule| &mut rule.clauses).flat_map(|clause| &mut clause.who) {
            if let Who::Set(set) = who {
                set.keep(&mut self.next);
                self.are_there = true;
            }
        }
        rules.into_iter().map(Arc::new).collect()
    }
}

/// Whom a text is about, all of it: what may stand behind `by` and needs no entry.
pub(super) fn whom(source: &str, text: &str, schema: &Schema) -> Result<Vec<Who>, RuleError> {
    let parsed = || -> Result<Vec<Who>, Wrong> {
        let words = all_words(text)?;
        if words.is_empty() {
            return Err((Place::START, format!("it is about nobody: {}", who::EXPECTED)));
        }
        words.iter().map(|word| somebody(word, schema)).collect()
    };
    parsed().map_err(|wrong| told(source, wrong))
}

/// A set by itself.
#[cfg(test)]
pub(super) fn set(text: &str, expands: bool, schema: &Schema) -> Result<super::set::Set, String> {
    set::parse(text, expands, schema)
}

fn somebody(word: &Word, schema: &Schema) -> Result<Who, Wrong> {
    let wrong = |problem| Err((word.place, problem));
    match who::parse(word, schema)? {
        None => wrong(format!("'{}' is nobody: {}", word.text, who::EXPECTED)),
        Some(who) if who.needs_entry() => {
            wrong(format!("whom '{}' is about depends on an entry, and there is none", word.text))
        }
        Some(who) => Ok(who),
    }
}

fn told(source: &str, (place, problem): Wrong) -> RuleError {
    RuleError { source_name: source.to_owned(), line: place.line, column: place.column, problem }
}

fn all_words(text: &str) -> Result<Vec<Word>, Wrong> {
    words(text).map_err(|place| (place, "this quote is never closed: put another '\"' behind it".to_owned()))
}

/// The rules of one list, in the order in which they are asked.
pub(super) fn list(text: &str, schema: &Schema, of_content: &mut bool) -> Result<Vec<Rule>, Wrong> {
    let words = all_words(text)?;
    let mut parser = Parser { text, words: &words, at: 0, schema };
    let mut rules = Vec::new();
    while let Some(word) = parser.peek() {
        if is(&word.text, OF_CONTENT) {
            *of_content = parser.switch(word)?;
            continue;
        }
        let start = parser.at;
        let number = parser.introduction(word)?;
        rules.push((number, parser.rule(start)?));
    }
    ordered(rules)
}

/// Rules in the order of their numbers, wherever they stand; of one number, or of none, in that in which they stand.
fn ordered(mut rules: Vec<(Option<u64>, Rule)>) -> Result<Vec<Rule>, Wrong> {
    let is_first_numbered = rules.first().is_some_and(|(number, _)| number.is_some());
    if let Some((_, rule)) = rules.iter().find(|(number, _)| number.is_some() != is_first_numbered) {
        let problem = "some rules have a number in braces and others have none: number all of them, or none";
        return Err((rule.place, problem.to_owned()));
    }
    rules.sort_by_key(|(number, _)| *number);
    Ok(rules.into_iter().map(|(_, rule)| rule).collect())
}

/// A place in the words of a text.
struct Parser<'a> {
    text: &'a str,
    words: &'a [Word],
    at: usize,
    schema: &'a Schema,
}

/// What says in slapd.conf whether rules are asked about each value of a new entry.
const OF_CONTENT: &str = "add_content_acl";

/// Whether a word begins a rule, or stands for itself among them: `access`, `olcAccess:`, `to`, `{0}to`.
fn begins_rule(word: &str) -> bool {
    is(word, OF_CONTENT) || is(word, "access") || is(word, "olcAccess:") || is(numbered(word).1, "to")
}

/// The number in braces that a word begins with, and what stands behind it.
fn numbered(word: &str) -> (Option<u64>, &str) {
    let number_and_rest = || {
        let (digits, rest) = word.strip_prefix('{')?.split_once('}')?;
        Some((Some(digits.parse().ok()?), rest))
    };
    number_and_rest().unwrap_or((None, word))
}

fn is(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Word> {
        self.words.get(self.at)
    }

    /// The next word, unless it begins another part of a rule.
    fn next_of_part(&mut self) -> Option<&'a Word> {
        let word = self.peek().filter(|word| !is(&word.text, "by") && !begins_rule(&word.text))?;
        self.at += 1;
        Some(word)
    }

    /// The text from one word to the one before the next.
    fn text_since(&self, start: usize) -> String {
        let range = self.words[start].bytes.start..self.words[self.at.max(start + 1) - 1].bytes.end;
        self.text[range].split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What stands behind a word that is switched on or off.
    fn switch(&mut self, word: &Word) -> Result<bool, Wrong> {
        let said = self.words.get(self.at + 1);
        self.at += 2;
        said.and_then(|said| switch(&said.text)).ok_or_else(|| {
            let place = said.unwrap_or(word).place;
            (place, format!("expected 'on' or 'off' behind '{}'", word.text))
        })
    }

    /// `access to`, and the rule's number if it has one.
    fn introduction(&mut self, word: &Word) -> Result<Option<u64>, Wrong> {
        if is(&word.text, "access") || is(&word.text, "olcAccess:") {
            self.at += 1;
        }
        let Some(to) = self.peek() else {
            return Err((word.place, "expected 'to' and what the rule is about behind 'access'".to_owned()));
        };
        let (number, keyword) = numbered(&to.text);
        if !is(keyword, "to") {
            return Err((to.place, format!("expected 'access to' and what the rule is about, not '{}'", to.text)));
        }
        self.at += 1;
        Ok(number)
    }

    fn rule(&mut self, start: usize) -> Result<Rule, Wrong> {
        let place = self.words[start].place;
        let mut about = what::About::default();
        let first = self.at;
        while let Some(word) = self.next_of_part() {
            about.take(word, self.schema)?;
        }
        if self.at == first {
            return Err((place, "the rule does not say what it is about: write '*' for everything".to_owned()));
        }
        let text = self.text_since(start);
        let about = about.finish(place, self.schema)?;
        let mut clauses = Vec::new();
        while self.peek().is_some_and(|word| is(&word.text, "by")) {
            clauses.push(self.clause(about.reach())?);
        }
        if clauses.is_empty() {
            return Err((place, format!("'{text}' grants nothing to anybody: write 'by', who, and a level behind it")));
        }
        let needs_parts = clauses.iter().any(|clause| clause.who.iter().any(Who::refers));
        let what::Finished { names, filter, attributes, value } = about;
        Ok(Rule { place, text, names, filter, attributes, value, clauses, needs_parts })
    }

    /// `by <who> <access> <control>`
    fn clause(&mut self, reach: Reach) -> Result<Clause, Wrong> {
        let start = self.at;
        let place = self.words[start].place;
        self.at += 1;
        let mut found = Vec::new();
        let mut word = self.next_of_part();
        while let Some(next) = word {
            let Some(condition) = who::parse(next, self.schema)? else { break };
            if let Some(problem) = who::unfilled(&condition, reach) {
                return Err((next.place, problem));
            }
            found.push(condition);
            word = self.next_of_part();
        }
        if found.is_empty() {
            let problem = match word {
                None => "'by' has nobody behind it: write '*' for everybody".to_owned(),
                Some(word) => format!("'{}' is nobody: {}", word.text, who::EXPECTED),
            };
            return Err((word.map_or(place, |word| word.place), problem));
        }
        // What is known for less is asked first.
        found.sort_by_key(|who| matches!(who, Who::Set(_)));
        let (own_value, change) = match word.filter(|word| control(&word.text).is_none()) {
            None => (false, Change::Add(Privileges::NONE)),
            Some(access) => {
                word = self.next_of_part();
                self::access(access)?
            }
        };
        let control = match word {
            None => Control::Stop,
            Some(word) => control(&word.text).ok_or_else(|| {
                (word.place, format!("'{}' is no control: expected stop, continue or break", word.text))
            })?,
        };
        if let Some(word) = self.next_of_part() {
            let problem = format!("expected 'by' or another rule, 'access to', not '{}'", word.text);
            return Err((word.place, problem));
        }
        Ok(Clause { place, text: self.text_since(start), who: found, own_value, change, control })
    }
}

/// What is granted, and whether only on values that are the requester's own name.
fn access(word: &Word) -> Result<(bool, Change), Wrong> {
    if let Some(change) = Change::parse(&word.text) {
        return Ok((false, change));
    }
    let own = word.text.get(..4).filter(|prefix| is(prefix, "self")).and_then(|_| Change::parse(&word.text[4..]));
    own.map(|change| (true, change)).ok_or_else(|| {
        let problem = format!(
            "'{}' is neither somebody nor a level: expected none, disclose, auth, compare, search, read, add, delete, \
             write or manage, or letters of dxcsrazwm behind =, + or -; for whom, {}",
            word.text,
            who::EXPECTED
        );
        (word.place, problem)
    })
}

/// As slapd reads it.
fn switch(word: &str) -> Option<bool> {
    let words = [("on", true), ("true", true), ("yes", true), ("off", false), ("false", false), ("no", false)];
    words.into_iter().find(|(known, _)| is(word, known)).map(|(_, is_on)| is_on)
}

fn control(word: &str) -> Option<Control> {
    let controls = [("stop", Control::Stop), ("continue", Control::Continue), ("break", Control::Break)];
    controls.into_iter().find(|(name, _)| is(word, name)).map(|(_, control)| control)
}

/// A word `key.style=value` taken apart; the style may be missing.
struct Keyed<'a> {
    key: &'a str,
    style: String,
    /// Modifiers behind the style, separated by commas.
    modifiers: Vec<String>,
    value: &'a str,
}

/// Takes a word apart. `None` without an equals sign, or with one in front, as privileges have it.
fn keyed(text: &str) -> Option<Keyed<'_>> {
    let (left, value) = text.split_once('=')?;
    if !left.bytes().next()?.is_ascii_alphabetic() {
        return None;
    }
    let (key, style) = left.split_once('.').unwrap_or((left, ""));
    let mut words = style.split(',').map(str::to_ascii_lowercase);
    let style = words.next().unwrap_or_default();
    Some(Keyed { key, style, modifiers: words.collect(), value })
}
