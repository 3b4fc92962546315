//! Rules as they stand in entries of slapd's configuration: values of `olcAccess` in LDIF.
//!
//! Owns: whose rules hold where several entries have some, making text of them, each line of which has the number it
//! had. Must not know: rules.

use std::borrow::Cow;

use super::super::name::{Span, is_near};
use super::super::words::Place;
use super::ldif::{Line, decoded, lines};
use super::{Wrong, conf, names};
use crate::schema::Schema;

const RULE: &str = "olcAccess";
const SUFFIX: &str = "olcSuffix";
const OF_CONTENT: &str = "olcAddContentAcl";
const NAME: &str = "dn";

const FRONTEND: &str = "frontend";
const MONITOR: &str = "monitor";

/// Rules that hold.
pub(super) struct Taken<'t> {
    /// The database's, or all there are.
    pub own: Cow<'t, str>,
    /// What slapd has besides; `None` if the text tells nothing of that.
    pub others: Option<Others>,
    /// The names of the entries that they are of, where others had to be left out.
    pub entries: Vec<String>,
    /// The names of those whose rules are about `cn=monitor`, if it has some of its own.
    pub monitor_entries: Vec<String>,
    /// Whether the database's entry says that rules are asked about each value of a new entry.
    pub of_content: bool,
}

/// Rules that do not belong to the database with the entries.
pub(super) struct Others {
    /// They are asked behind those of every database.
    pub frontend: String,
    /// Those of the database monitor, if there is one.
    pub monitor: Option<String>,
}

/// The rules of a text: what it is, unless there are values of `olcAccess` in it, or it is in parts as slapd.conf is. Of
/// several databases, those of the one with the suffixes that are served (normalized), those of the database monitor, and
/// behind both the frontend's, as slapd asks them.
pub(super) fn rules<'t>(text: &'t str, suffixes: &[String], schema: &Schema) -> Result<Taken<'t>, Wrong> {
    let lines = lines(text);
    let entries = entries(&lines);
    let databases: Vec<_> = entries.iter().filter(|entry| entry.has(RULE) || entry.has(SUFFIX)).copied().collect();
    let one_list =
        |own, of_content| Ok(Taken { own, others: None, entries: Vec::new(), monitor_entries: Vec::new(), of_content });
    let Some(first) = databases.iter().find(|database| database.has(RULE)) else {
        return match conf::sections(text)? {
            None => one_list(text.into(), false),
            Some((own, others)) => Ok(Taken { others: Some(others), ..one_list(own.into(), false)? }),
        };
    };
    let of_kind = |kind| entries.iter().find(|entry| entry.is_database(kind)).copied();
    let (frontend, monitor) = (of_kind(FRONTEND), of_kind(MONITOR));
    let own = match databases[..] {
        [only] if only.is_alone(&entries) => return one_list(text_of(&lines, 1).into(), only.is_on(OF_CONTENT)),
        [only] => only,
        _ => chosen(&databases, frontend, suffixes, schema).map_err(|problem| (first.place(), problem))?,
    };
    Ok(Taken {
        own: own.rules().into(),
        others: Some(Others {
            frontend: frontend.map_or(String::new(), |frontend| frontend.rules()),
            monitor: monitor.map(|monitor| monitor.rules()),
        }),
        entries: if databases.len() > 1 { names_of([Some(own), frontend]) } else { Vec::new() },
        monitor_entries: monitor.map_or(Vec::new(), |monitor| names_of([Some(monitor), frontend])),
        of_content: own.is_on(OF_CONTENT),
    })
}

/// The database whose rules hold, which are some if one counts the frontend's.
fn chosen<'l>(
    databases: &[Entry<'l>],
    frontend: Option<Entry<'l>>,
    suffixes: &[String],
    schema: &Schema,
) -> Result<Entry<'l>, String> {
    let own = of_suffixes(databases, suffixes, schema)?;
    if own.has(RULE) || frontend.is_some_and(|frontend| frontend.has(RULE)) {
        return Ok(own);
    }
    let own = own.name();
    Err(format!("{own} has no rules, and slapd lets everybody read everything then: write some"))
}

/// The names of those that have rules.
fn names_of(entries: [Option<Entry<'_>>; 2]) -> Vec<String> {
    entries.iter().flatten().filter(|entry| entry.has(RULE)).map(Entry::name).collect()
}

/// An entry, or what stands in front of the first.
#[derive(Clone, Copy)]
struct Entry<'l> {
    lines: &'l [Line],
    /// That of its first line, counted from 1.
    number: usize,
}

/// What the lines that begin with `dn:` take apart.
fn entries(lines: &[Line]) -> Vec<Entry<'_>> {
    let mut next = 1;
    let entries = lines.chunk_by(|_, line| line.value_of(NAME).is_none()).map(|lines| {
        let number = next;
        next += lines.iter().map(|line| line.height).sum::<usize>();
        Entry { lines, number }
    });
    entries.collect()
}

/// The one database that serves these suffixes. Another that has entries below them may hide there what this one's rules
/// show to everybody, so that there must be none.
fn of_suffixes<'l>(databases: &[Entry<'l>], suffixes: &[String], schema: &Schema) -> Result<Entry<'l>, String> {
    if suffixes.is_empty() {
        let problem = "rules of several databases stand here, and the suffix is not known: name it in the configuration, \
                       or leave only the entry whose rules are to hold";
        return Err(problem.to_owned());
    }
    if databases.iter().any(|database| !database.has(NAME)) {
        let problem = "whose rules stand in front of the first entry is not known: write the line that begins with dn:";
        return Err(problem.to_owned());
    }
    let is_served = |theirs: &String| suffixes.iter().any(|ours| is_near(theirs, ours, Span::Subtree));
    let mut serving = databases.iter().filter(|database| database.suffixes(schema).iter().any(is_served));
    let own = serving.next();
    if let (Some(own), Some(other)) = (own, serving.next()) {
        return Err(format!(
            "{} and {} both have what is served, for all of which the same rules hold here: write one set of rules, with \
             dn.subtree= in those for a part",
            own.name(),
            other.name()
        ));
    }
    let own_suffixes = own.map_or(Vec::new(), |own| own.suffixes(schema));
    let absent = suffixes.iter().find(|suffix| !own_suffixes.contains(suffix));
    match (own, absent) {
        (Some(own), None) => Ok(*own),
        (_, absent) => Err(format!(
            "rules of several databases stand here, and none of these has olcSuffix {} with all else that is served: \
             correct the suffixes, or leave only the entry whose rules are to hold",
            absent.map_or("", |suffix| suffix)
        )),
    }
}

impl Entry<'_> {
    fn values(&self, attribute: &str) -> impl Iterator<Item = String> {
        let values = self.lines.iter().filter_map(move |line| line.value_of(attribute));
        values.map(|value| decoded(value).unwrap_or_else(|| value.trim().to_owned()))
    }

    fn has(&self, attribute: &str) -> bool {
        self.lines.iter().any(|line| line.value_of(attribute).is_some())
    }

    fn is_on(&self, attribute: &str) -> bool {
        self.values(attribute).any(|value| value.trim().eq_ignore_ascii_case("TRUE"))
    }

    fn name(&self) -> String {
        self.values(NAME).next().unwrap_or_default()
    }

    fn rules(&self) -> String {
        text_of(self.lines, self.number)
    }

    fn place(&self) -> Place {
        Place { line: self.number, column: 1 }
    }

    /// Whether nothing is known of what slapd has besides this database, or it is itself what slapd has besides.
    fn is_alone(&self, entries: &[Entry<'_>]) -> bool {
        let is_beside = |entry: &Entry<'_>| entry.is_database(FRONTEND) || entry.is_database(MONITOR);
        is_beside(self) || !entries.iter().any(is_beside)
    }

    /// Whether it is slapd's database of this kind: `olcDatabase={-1}frontend,cn=config`.
    fn is_database(&self, kind: &str) -> bool {
        let name = self.name().to_ascii_lowercase();
        let value = name.strip_prefix("olcdatabase=").and_then(|rest| rest.split(',').next());
        value.is_some_and(|value| value.split_once('}').map_or(value, |(_, kind)| kind).trim() == kind)
    }

    /// Its suffixes, normalized.
    fn suffixes(&self, schema: &Schema) -> Vec<String> {
        self.values(SUFFIX).filter_map(|suffix| names::normalize(&suffix, schema).ok()).collect()
    }
}

/// The rules of lines, the first of which has this number. Each begins with `olcAccess:`; other attributes are left out.
fn text_of(lines: &[Line], first: usize) -> String {
    let mut text = "\n".repeat(first - 1);
    for line in lines {
        match (line.value_of(RULE), line.attribute()) {
            (Some(value), _) => match decoded(value) {
                Some(rule) => text.push_str(&format!("{RULE}: {}", rule.replace(['\r', '\n'], " "))),
                // What cannot be decoded stays as it is, and is found fault with.
                None => text.push_str(&line.text),
            },
            (None, Some(_)) => {}
            (None, None) => text.push_str(&line.text),
        }
        text.extend(std::iter::repeat_n('\n', line.height));
    }
    text
}
