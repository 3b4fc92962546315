//! Why somebody may do what they may.

use std::fmt;
use std::sync::Arc;

use super::asked::Asked;
use super::elements::LOOKS_MAX;
use super::level::Privileges;
use super::rule::{Clause, Passed, Rule, Who};
use super::template::Parts;
use super::walk::Observer;
use super::{Groups, Rules, Target, What, peer};
use crate::requester::Requester;

/// What is granted, and how it came to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What is granted.
    pub privileges: Privileges,
    /// Rules and clauses in the order in which they were looked at.
    pub steps: Vec<Step>,
    /// Where the rules come from.
    pub source: String,
}

/// A rule or a clause that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its line, counted from 1; 0 where no line is there to be named.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// What came of it.
    pub outcome: String,
    /// Whether it is a clause that applied, or the end that decided.
    pub applied: bool,
}

impl Explanation {
    /// The step that decided: the last one.
    pub fn decisive(&self) -> Option<&Step> {
        self.steps.last()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            match step.line {
                0 => writeln!(f, "           {}", step.outcome)?,
                line => writeln!(f, "line {line:>4}: {}\n           {}", step.text, step.outcome)?,
            }
        }
        write!(f, "granted: {}", self.privileges)?;
        match self.steps.iter().rfind(|step| step.applied && step.line > 0) {
            Some(step) => write!(f, ", by {}, line {}", self.source, step.line),
            None => Ok(()),
        }
    }
}

impl Rules {
    /// What `requester` may do with this of an entry, and which line of the rules decides it.
    pub fn explain(
        self: &Arc<Rules>,
        requester: &Requester,
        target: &dyn Target,
        groups: &dyn Groups,
        what: What<'_>,
    ) -> Explanation {
        let mut listener = Listener { steps: Vec::new() };
        let privileges = if requester.is_administrator {
            listener.end("the administrator may do everything: no rule is asked");
            Privileges::ALL
        } else {
            let plan = self.plan(requester, groups);
            let all: Vec<usize> = (0..self.rules.len()).collect();
            plan.walk(&all, target, groups, what, None, &mut listener).unwrap_or(Privileges::NONE)
        };
        Explanation { privileges, steps: listener.steps, source: self.source.clone() }
    }
}

struct Listener {
    steps: Vec<Step>,
}

impl Listener {
    fn say(&mut self, line: usize, text: &str, outcome: String, applied: bool) {
        self.steps.push(Step { line, text: text.to_owned(), outcome, applied });
    }

    fn end(&mut self, outcome: &str) {
        self.say(0, "", outcome.to_owned(), true);
    }
}

impl Observer for Listener {
    fn rule_passed(&mut self, rule: &Rule, why: Passed) {
        let why = match why {
            Passed::Attribute => "not about this attribute",
            Passed::Name => "not about an entry of this name",
            Passed::Filter => "the entry does not match the filter",
            Passed::Value => "not about this value, or only about single values",
        };
        self.say(rule.place.line, &rule.text, format!("passed over: {why}"), false);
    }

    fn rule_selects(&mut self, rule: &Rule) {
        self.say(rule.place.line, &rule.text, "is about it".to_owned(), false);
    }

    fn clause_passed(&mut self, clause: &Clause, asked: &Asked<'_>, parts: &Parts) {
        let why = match clause.obstacle(asked, parts) {
            Ok(Some(who)) => obstacle(who, asked),
            Ok(None) if clause.own_value => "the value is not the requester's own name".to_owned(),
            _ => "a clause before it always ends the rule".to_owned(),
        };
        self.say(clause.place.line, &clause.text, format!("passed over: {why}"), false);
    }

    fn clause_applies(&mut self, clause: &Clause, after: Privileges) {
        let next = match clause.control {
            super::rule::Control::Stop => "and that is it",
            super::rule::Control::Continue => "and the next clause is looked at",
            super::rule::Control::Break => "and the next rule is looked at",
        };
        self.say(clause.place.line, &clause.text, format!("applies: {after}, {next}"), true);
    }

    fn clause_was_beyond(&mut self, clause: &Clause) {
        let outcome = format!(
            "more than {LOOKS_MAX} values and entries would have to be looked at: nothing is granted, and that is it"
        );
        self.say(clause.place.line, &clause.text, outcome, true);
    }

    fn nothing_applied(&mut self, _: &Rule) {
        self.end("no clause ended the rule: at its end stands 'by * none'");
    }

    fn no_rule_left(&mut self) {
        self.end("no rule is left: behind the last stands 'access to * by * none'");
    }
}

/// Why a condition does not hold.
fn obstacle(who: &Who, asked: &Asked<'_>) -> String {
    let Asked { asker, .. } = asked;
    let requester = match &*asker.requester.name.normalized {
        "" => "the requester is anonymous".to_owned(),
        name => format!("the requester is {name}"),
    };
    match who {
        Who::NamedIn(attribute) => {
            format!("{requester}, and {} of the entry does not name it", asker.schema.attribute(*attribute).name)
        }
        Who::Group { attribute, .. } => {
            format!("{requester}, and {} of the group does not name it", asker.schema.attribute(*attribute).name)
        }
        Who::Set(set) if !asker.requester.name.is_empty() || !set.names_user() => {
            format!("{requester}, and nothing is in the set {set}")
        }
        Who::Peer(_) => format!("the connection is from {}", peer::describe(&asker.requester.peer)),
        Who::Strength(_) => format!("the connection has a strength of {}", asker.requester.ssf),
        _ => requester,
    }
}
