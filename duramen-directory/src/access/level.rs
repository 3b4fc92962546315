//! Levels and privileges: how much somebody may do with something.

use std::fmt;

/// What somebody wants to do with something. As what a rule grants, each includes those before it, except that
/// `Delete` does not include `Add`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// Learn of its being there, in errors.
    Disclose,
    /// Be authenticated by it.
    Auth,
    /// Compare.
    Compare,
    /// Use it in filters.
    Search,
    /// See it.
    Read,
    /// Add it, or values to it.
    Add,
    /// Delete it, or values of it.
    Delete,
    /// Change it in any way: add and delete.
    Write,
    /// Change what only the directory itself changes.
    Manage,
}

/// A set of things that somebody may do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Privileges(u8);

/// Letters of privileges, from the least bit up.
const LETTERS: [(char, u8); 8] =
    [('d', 1), ('x', 1 << 1), ('c', 1 << 2), ('s', 1 << 3), ('r', 1 << 4), ('a', ADD), ('z', DELETE), ('m', 1 << 7)];
const ADD: u8 = 1 << 5;
const DELETE: u8 = 1 << 6;

/// Names of levels, and the privileges that they stand for.
const LEVELS: [(&str, Level, u8); 10] = [
    ("none", Level::None, 0),
    ("disclose", Level::Disclose, 0b1),
    ("auth", Level::Auth, 0b11),
    ("compare", Level::Compare, 0b111),
    ("search", Level::Search, 0b1111),
    ("read", Level::Read, 0b1_1111),
    ("add", Level::Add, 0b1_1111 | ADD),
    ("delete", Level::Delete, 0b1_1111 | DELETE),
    ("write", Level::Write, 0b0111_1111),
    ("manage", Level::Manage, 0b1111_1111),
];

impl Level {
    /// The level of this name, in any case.
    pub fn find(name: &str) -> Option<Level> {
        LEVELS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)).map(|(_, level, _)| *level)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        LEVELS[self as usize].0
    }

    /// The privileges without which it cannot be done.
    fn needs(self) -> u8 {
        match self {
            Level::None => 0,
            Level::Disclose => 1,
            Level::Auth => 1 << 1,
            Level::Compare => 1 << 2,
            Level::Search => 1 << 3,
            Level::Read => 1 << 4,
            Level::Add => ADD,
            Level::Delete => DELETE,
            Level::Write => ADD | DELETE,
            Level::Manage => 1 << 7,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);
    /// All.
    pub const ALL: Privileges = Privileges(0xFF);

    /// Those that a level grants.
    pub fn of(level: Level) -> Privileges {
        Privileges(LEVELS[level as usize].2)
    }

    /// From letters; `0` stands for none. `None` if a letter is not one, or there are none.
    pub fn from_letters(letters: &str) -> Option<Privileges> {
        if letters.is_empty() {
            return None;
        }
        letters.chars().try_fold(Privileges::NONE, |found, letter| {
            let bits = match letter.to_ascii_lowercase() {
                '0' => 0,
                'w' => ADD | DELETE,
                letter => LETTERS.iter().find(|(known, _)| *known == letter)?.1,
            };
            Some(Privileges(found.0 | bits))
        })
    }

    /// Whether they suffice for a level.
    #[inline]
    pub fn allow(self, level: Level) -> bool {
        self.0 & level.needs() == level.needs()
    }

    /// Those of both.
    pub(super) fn and(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }

    /// Those of either.
    pub(super) fn or(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    /// Those that the other lacks.
    pub(super) fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// The greatest level that they suffice for in every respect.
    fn level(self) -> Level {
        let granted = LEVELS.iter().rev().find(|(.., bits)| self.0 & bits == *bits);
        granted.map_or(Level::None, |(_, level, _)| *level)
    }
}

/// A level and letters, `read (=rscxd)`; letters alone of what is no level, `=wx`.
impl fmt::Display for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.level();
        let is_level = Privileges::of(level) == *self;
        if is_level {
            write!(f, "{level} (")?;
        }
        f.write_str("=")?;
        if *self == Privileges::NONE {
            f.write_str("0")?;
        }
        let both = self.0 & (ADD | DELETE) == ADD | DELETE;
        for (letter, bit) in LETTERS.iter().rev().filter(|(_, bit)| self.0 & bit != 0) {
            match (*bit, both) {
                (DELETE, true) => f.write_str("w")?,
                (ADD, true) => {}
                _ => write!(f, "{letter}")?,
            }
        }
        f.write_str(if is_level { ")" } else { "" })
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a clause does to the privileges that earlier clauses gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Assign(Privileges),
    Add(Privileges),
    Remove(Privileges),
}

impl Change {
    /// From the text of a rule: a level, or letters behind `=`, `+` or `-`.
    pub fn parse(text: &str) -> Option<Change> {
        if let Some(level) = Level::find(text) {
            return Some(Change::Assign(Privileges::of(level)));
        }
        let (sign, letters) = text.split_at_checked(1)?;
        let privileges = Privileges::from_letters(letters)?;
        match sign {
            "=" => Some(Change::Assign(privileges)),
            "+" => Some(Change::Add(privileges)),
            "-" => Some(Change::Remove(privileges)),
            _ => None,
        }
    }

    pub fn apply(self, before: Privileges) -> Privileges {
        match self {
            Change::Assign(privileges) => privileges,
            Change::Add(privileges) => before.or(privileges),
            Change::Remove(privileges) => before.without(privileges),
        }
    }
}
