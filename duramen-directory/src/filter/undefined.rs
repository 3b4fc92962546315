//! Which parts of a filter are Undefined for every entry (RFC 4511 section 4.5.1.7), for whoever asks how a search is done.

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::filter::{Filter, Node};

use super::{Compiler, Test};

impl Compiler<'_> {
    /// Tells of each of them, in a sentence.
    pub fn undefined(&self, filter: Filter<'_>) -> Vec<String> {
        let mut told = Vec::new();
        self.tell_undefined(filter, &mut told);
        told
    }

    fn tell_undefined(&self, filter: Filter<'_>, told: &mut Vec<String>) {
        let description = match filter.node() {
            Node::And(parts) | Node::Or(parts) => {
                return parts.iter().for_each(|part| self.tell_undefined(part, told));
            }
            Node::Not(part) => return self.tell_undefined(part, told),
            Node::Present(description) => Some(description),
            Node::Equality(of) | Node::Approx(of) | Node::GreaterOrEqual(of) | Node::LessOrEqual(of) => {
                Some(of.description)
            }
            Node::Substrings(of) => Some(of.description),
            Node::Extensible(of) => of.description,
            _ => None,
        };
        let kind = description.and_then(|text| AttributeDescription::parse(text).ok()).map(|parsed| parsed.kind);
        let why = match kind {
            Some(kind) if self.schema.find(kind).is_none() => "the schema has no such attribute type",
            _ if matches!(self.compile(filter), Test::Undefined) => "no rule of it takes what is asked for",
            _ => return,
        };
        told.push(format!(
            "{}: {why}, so that is neither true nor false of any entry",
            description.unwrap_or("a part")
        ));
    }
}
