//! Running through rules with an entry at hand.

use super::asked::Asked;
use super::elements::Beyond;
use super::level::Privileges;
use super::plan::{Bounds, Plan};
use super::rule::{Clause, Control, Passed, Rule};
use super::template::Parts;
use super::who::Answer;
use super::{Groups, Level, Target, What};

/// Is told what happens. Nobody listens but those who want it explained.
pub(super) trait Observer {
    fn rule_passed(&mut self, _rule: &Rule, _why: Passed) {}
    fn rule_selects(&mut self, _rule: &Rule) {}
    fn clause_passed(&mut self, _clause: &Clause, _asked: &Asked<'_>, _parts: &Parts) {}
    fn clause_applies(&mut self, _clause: &Clause, _after: Privileges) {}
    fn clause_was_beyond(&mut self, _clause: &Clause) {}
    fn nothing_applied(&mut self, _rule: &Rule) {}
    fn no_rule_left(&mut self) {}
}

/// Listens to nothing.
pub(super) struct Nobody;

impl Observer for Nobody {}

/// How a rule ended.
enum Ended {
    Stopped(Privileges),
    Broke(Privileges),
}

impl Plan {
    /// Runs through the rules of these numbers. The error is what one of them comes to for whomever, where that is all that
    /// somebody who asks for `level` has to know.
    pub(super) fn walk(
        &self,
        numbers: &[usize],
        target: &dyn Target,
        groups: &dyn Groups,
        what: What<'_>,
        level: Option<Level>,
        observer: &mut impl Observer,
    ) -> Result<Privileges, Bounds> {
        let asked = Asked { asker: self.asker(groups), target, what };
        let mut granted = Privileges::NONE;
        for &n in numbers {
            let rule = &self.rules.rules[n];
            let selected = if rule.selects_part(what) { rule.select(&asked) } else { Err(Passed::Attribute) };
            match selected {
                Err(why) => observer.rule_passed(rule, why),
                Ok(parts) => {
                    observer.rule_selects(rule);
                    if granted == Privileges::NONE
                        && let Some(bounds) = level.and_then(|level| self.at_once(n, level))
                    {
                        return Err(bounds);
                    }
                    match self.walk_clauses(n, granted, &asked, &parts, observer) {
                        Ended::Stopped(granted) => return Ok(granted),
                        Ended::Broke(so_far) => granted = so_far,
                    }
                }
            }
        }
        observer.no_rule_left();
        Ok(Privileges::NONE)
    }

    /// Goes through the clauses of rule `n`.
    fn walk_clauses(
        &self,
        n: usize,
        mut granted: Privileges,
        asked: &Asked<'_>,
        parts: &Parts,
        observer: &mut impl Observer,
    ) -> Ended {
        let (rule, answers) = (&self.rules.rules[n], self.answers(n));
        for (clause, answer) in rule.clauses.iter().zip(answers) {
            let applies = match answer {
                Answer::Yes => Ok(true),
                Answer::No => Ok(false),
                Answer::Beyond => Err(Beyond),
                Answer::Depends => clause.applies(asked, parts),
            };
            let Ok(applies) = applies else {
                observer.clause_was_beyond(clause);
                return Ended::Stopped(Privileges::NONE);
            };
            if !applies {
                observer.clause_passed(clause, asked, parts);
                continue;
            }
            granted = clause.change.apply(granted);
            observer.clause_applies(clause, granted);
            match clause.control {
                Control::Stop => return Ended::Stopped(granted),
                Control::Break => return Ended::Broke(granted),
                Control::Continue => {}
            }
        }
        observer.nothing_applied(rule);
        Ended::Stopped(Privileges::NONE)
    }
}
