//! Who may see and do what.
//!
//! The rest of the crate asks through [`Rules`], [`Plan`] and [`Target`] only.

use crate::requester::Requester;
use crate::schema::{AttributeId, Schema};

/// How much somebody may do with something; each includes those before it.
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
    /// Change it.
    Write,
    /// Change what only the directory itself changes.
    Manage,
}

/// What of an entry is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// The entry itself: that it is there, adding, deleting, renaming it.
    Entry,
    /// Entries directly below it being added or deleted.
    Children,
    /// An attribute; a value of it, or all of them.
    Attribute(AttributeId, Option<&'a [u8]>),
}

/// An entry as rules see it.
pub trait Target {
    /// Its normalized name.
    fn name(&self) -> &str;
    /// Calls `each` with every value of an attribute, until it returns false.
    fn values(&self, attribute: AttributeId, each: &mut dyn FnMut(&[u8]) -> bool);
}

/// What rules ask about other entries.
pub trait Groups {
    /// Whether the entry `group` (a normalized name) has this value of an attribute; `member` is a normalized name.
    fn has_member(&self, group: &str, attribute: AttributeId, member: &str) -> bool;
}

/// Rules.
#[derive(Debug, Default)]
pub struct Rules;

impl Rules {
    /// What holds without any configuration: everybody reads all but passwords, everybody may be authenticated by them,
    /// and only the administrator writes.
    pub fn standard(_schema: &Schema) -> Rules {
        Rules
    }

    /// What the rules come to for one requester.
    pub fn plan<'r>(&'r self, requester: &'r Requester, schema: &'r Schema) -> Plan<'r> {
        Plan { requester, password: schema.known().user_password }
    }
}

/// What the rules come to for one requester.
pub struct Plan<'r> {
    requester: &'r Requester,
    password: AttributeId,
}

impl Plan<'_> {
    /// The answer for all entries, if it is the same for all. `None` as attribute: the entry itself.
    pub fn everywhere(&self, attribute: Option<AttributeId>, level: Level) -> Option<bool> {
        let most = if attribute == Some(self.password) { Level::Auth } else { Level::Read };
        Some(self.requester.is_administrator || level <= most)
    }

    /// The answer for one entry.
    pub fn allows(&self, _target: &dyn Target, _groups: &dyn Groups, what: What<'_>, level: Level) -> bool {
        let attribute = match what {
            What::Attribute(id, _) => Some(id),
            What::Entry | What::Children => None,
        };
        self.everywhere(attribute, level).unwrap_or(false)
    }
}
