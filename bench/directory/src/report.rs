//! The table, and the same as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::compare::Answers;

/// What one server did in one row.
#[derive(Debug, Clone, Default)]
pub struct Measure {
    /// Operations or entries in a second; of loading, seconds; of sizes, MB.
    pub figure: f64,
    /// The server's CPU time for each, in microseconds.
    pub cpu_us: Option<f64>,
    pub answers: Option<Answers>,
    pub codes: BTreeMap<u32, u64>,
}

/// A row with what every server did.
#[derive(Debug)]
pub struct Line {
    pub row: &'static str,
    pub unit: &'static str,
    /// Whether a smaller figure is better.
    pub smaller: bool,
    pub measures: Vec<(&'static str, Measure)>,
}

impl Line {
    /// What is wrong with it, if anything: answers that are not the same, results that are no success.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let [(a, first), (b, second)] = &self.measures[..]
            && let (Some(one), Some(other)) = (&first.answers, &second.answers)
            && one != other
        {
            faults.push(format!("{a} and {b} answered differently: {one:?}, {other:?}"));
        }
        // Success, compareFalse, compareTrue.
        let odd = |measure: &Measure| measure.codes.keys().any(|code| ![0, 5, 6].contains(code));
        let found = self.measures.iter().filter(|(_, measure)| odd(measure));
        faults.extend(found.map(|(server, measure)| format!("{server}: result codes {:?}", measure.codes)));
        faults
    }
}

fn ratio(line: &Line, figure: impl Fn(&Measure) -> Option<f64>, smaller: bool) -> String {
    let [(_, first), (_, second)] = &line.measures[..] else { return String::new() };
    match (figure(first), figure(second)) {
        (Some(a), Some(b)) if a > 0.0 && b > 0.0 => format!("{:.1}x", if smaller { a / b } else { b / a }),
        _ => String::new(),
    }
}

fn print(figure: f64) -> String {
    match figure {
        figure if figure >= 1000.0 => format!("{figure:.0}"),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure => format!("{figure:.2}"),
    }
}

/// The head of the table.
pub fn head(servers: &[&str]) -> String {
    let mut head = "| row | unit |".to_owned();
    servers.iter().for_each(|server| head += &format!(" {server} |"));
    head += " better |";
    servers.iter().for_each(|server| head += &format!(" {server}: CPU us |"));
    head += " less CPU |\n|---|---|";
    head += &"---|".repeat(2 * servers.len() + 2);
    head
}

/// A line of the table.
pub fn markdown(line: &Line) -> String {
    let mut text = format!("| {} | {} |", line.row, line.unit);
    line.measures.iter().for_each(|(_, measure)| text += &format!(" {} |", print(measure.figure)));
    text += &format!(" {} |", ratio(line, |measure| Some(measure.figure), line.smaller));
    let cpu = |measure: &Measure| measure.cpu_us.map_or(String::new(), print);
    line.measures.iter().for_each(|(_, measure)| text += &format!(" {} |", cpu(measure)));
    text + &format!(" {} |", ratio(line, |measure| measure.cpu_us, true))
}

/// All lines.
pub fn json(people: u64, lines: &[Line]) -> Value {
    let lines = lines.iter().map(|line| {
        let measures = line.measures.iter().map(|(server, measure)| {
            let codes = measure.codes.iter().map(|(code, count)| (code.to_string(), json!(count)));
            let codes: serde_json::Map<_, _> = codes.collect();
            (server.to_string(), json!({ "figure": measure.figure, "cpu_us": measure.cpu_us, "codes": codes }))
        });
        let measures: serde_json::Map<_, _> = measures.collect();
        json!({ "row": line.row, "unit": line.unit, "servers": measures, "faults": line.faults() })
    });
    json!({ "people": people, "rows": lines.collect::<Vec<_>>() })
}
