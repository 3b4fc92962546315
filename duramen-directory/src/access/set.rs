//! What a set in a rule is made of: OpenLDAP's `set=` expressions.
//!
//! Owns: the shape of an expression, what it needs to be known, its text. Must not know: what it comes to.

use std::fmt;

use super::template::{Reach, Template};
use crate::schema::AttributeId;

/// A set of texts, most of them names; whoever it is about is so as long as there is something in it.
#[derive(Debug)]
pub(super) struct Set {
    pub part: Part,
    /// Whether dollar signs in it are places for parts of what the rule is about.
    pub expands: bool,
    needs: Needs,
}

/// A set that others are made of.
#[derive(Debug)]
pub(super) enum Part {
    /// The name of the entry.
    This,
    /// The requester's name.
    User,
    /// What stands in brackets.
    Text(Template),
    /// The values of an attribute of all entries of these names, or of what these URLs find.
    Follow {
        of: Box<Part>,
        attribute: AttributeId,
        /// Its name, for messages.
        name: String,
        /// Whether values are followed, too, and what is found then.
        again: bool,
    },
    /// Names so many levels above these; `None`: these and all above.
    Above { of: Box<Part>, levels: Option<usize> },
    /// Two sets in one.
    Join(Box<Part>, Join, Box<Part>),
    /// What is the same for all entries, and kept in this place once it is known.
    Once { place: usize, of: Box<Part> },
}

/// How two sets become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// What is in one of them.
    Either,
    /// What is in both.
    Both,
    /// Each text of one with each of the other behind it.
    Behind,
}

/// What has to be known for it.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    entry: bool,
    user: bool,
    places: bool,
    entries: bool,
}

impl Needs {
    fn or(self, other: Needs) -> Needs {
        Needs {
            entry: self.entry || other.entry,
            user: self.user || other.user,
            places: self.places || other.places,
            entries: self.entries || other.entries,
        }
    }
}

impl Set {
    pub fn new(part: Part, expands: bool) -> Set {
        let needs = part.needs();
        Set { part, expands, needs }
    }

    /// Whether it depends on the entry that the rule is about.
    pub fn needs_entry(&self) -> bool {
        self.needs.entry || self.needs.places
    }

    /// Whether it names the requester. It is about nobody in particular then, whatever else is in it, as in slapd.
    pub fn names_user(&self) -> bool {
        self.needs.user
    }

    /// Whether parts of what the rule is about stand in it.
    pub fn has_places(&self) -> bool {
        self.needs.places
    }

    /// What is wrong with a place that no part can ever stand in, if there is one.
    pub fn unfilled(&self, reach: Reach) -> Option<String> {
        self.part.unfilled(reach)
    }

    /// Gives places from `next` on to what of it is the same for all entries, and has to be looked up.
    pub fn keep(&mut self, next: &mut usize) {
        if self.needs_entry() {
            self.part.keep(next);
        }
    }
}

impl Part {
    fn needs(&self) -> Needs {
        match self {
            Part::This => Needs { entry: true, ..Needs::default() },
            Part::User => Needs { user: true, ..Needs::default() },
            Part::Text(text) => Needs { places: text.has_places(), ..Needs::default() },
            Part::Follow { of, .. } => Needs { entries: true, ..of.needs() },
            Part::Above { of, .. } | Part::Once { of, .. } => of.needs(),
            Part::Join(one, _, other) => one.needs().or(other.needs()),
        }
    }

    fn unfilled(&self, reach: Reach) -> Option<String> {
        match self {
            Part::This | Part::User => None,
            Part::Text(text) => text.unfilled(reach),
            Part::Follow { of, .. } | Part::Above { of, .. } | Part::Once { of, .. } => of.unfilled(reach),
            Part::Join(one, _, other) => one.unfilled(reach).or_else(|| other.unfilled(reach)),
        }
    }

    fn keep(&mut self, next: &mut usize) {
        let needs = self.needs();
        if !needs.entries {
            return;
        }
        if !needs.entry && !needs.places {
            let of = Box::new(std::mem::replace(self, Part::This));
            *self = Part::Once { place: *next, of };
            *next += 1;
            return;
        }
        match self {
            Part::Follow { of, .. } | Part::Above { of, .. } => of.keep(next),
            Part::Join(one, _, other) => {
                one.keep(next);
                other.keep(next);
            }
            Part::This | Part::User | Part::Text(_) | Part::Once { .. } => {}
        }
    }

    fn write(&self, expands: bool, text: &mut String) {
        match self {
            Part::This => text.push_str("this"),
            Part::User => text.push_str("user"),
            Part::Text(literal) => {
                let literal =
                    if expands { literal.to_string() } else { literal.expand(&Default::default(), str::to_owned) };
                *text += &format!("[{literal}]");
            }
            Part::Follow { of, name, again, .. } => {
                of.write_closed(expands, text);
                *text += &format!("/{name}{}", if *again { "*" } else { "" });
            }
            Part::Above { of, levels } => {
                of.write_closed(expands, text);
                *text += &levels.map_or("/-*".to_owned(), |levels| format!("/-{levels}"));
            }
            Part::Join(one, join, other) => {
                one.write(expands, text);
                *text += match join {
                    Join::Either => " | ",
                    Join::Both => " & ",
                    Join::Behind => " + ",
                };
                other.write_closed(expands, text);
            }
            Part::Once { of, .. } => of.write(expands, text),
        }
    }

    /// As a part of another one.
    fn write_closed(&self, expands: bool, text: &mut String) {
        let is_join = match self {
            Part::Once { of, .. } => matches!(**of, Part::Join(..)),
            part => matches!(part, Part::Join(..)),
        };
        if is_join {
            text.push('(');
        }
        self.write(expands, text);
        if is_join {
            text.push(')');
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.part.write(self.expands, &mut text);
        f.write_str(&text)
    }
}
