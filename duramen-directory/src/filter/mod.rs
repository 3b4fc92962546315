//! Filters bound to the schema (RFC 4511 section 4.5.1.7): compiled once for a search, then held against entries.
//!
//! Owns: three-valued logic, what each kind of item means. Must not know: how candidates are found, names of entries.

mod compile;
mod evaluate;
mod gather;
mod plan;
mod undefined;
mod value;

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::filter::Filter;
use duramen_ldap::matching::{Rule, SubstringsAssertion};
use duramen_ldap::message::ResultCode;
use smallvec::SmallVec;

use crate::failure::{Failure, Result};
use crate::index::Set;
use crate::schema::{AttributeId, ClassId};

pub(crate) use compile::Compiler;
pub(crate) use evaluate::{Derived, Evaluation, Value, fits};
pub(crate) use plan::{Candidates, Planner, counted, each_value, each_value_while, member_types};
pub(crate) use value::Quick;

/// That a filter is not nested deeper than `most`.
pub(crate) fn check_depth(filter: Filter<'_>, most: usize) -> Result<()> {
    let depth = filter.depth();
    if depth <= most {
        return Ok(());
    }
    let text = format!("the filter is nested {depth} deep, and {most} is the limit (limits.filter_depth)");
    Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text))
}

/// The attributes that an item is about: types, and options that they have to have at least (RFC 4512 section 2.5.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub types: SmallVec<[AttributeId; 2]>,
    pub options: Vec<String>,
    /// Whether access has to be looked at for each entry.
    pub checked: bool,
    /// It is one whose values are made when an entry is read.
    pub made: bool,
}

impl Subject {
    /// Whether an attribute with this description is one of those that the item is about.
    fn is_about(&self, id: AttributeId, description: &str) -> bool {
        self.types.contains(&id) && has_options(description, &self.options)
    }
}

/// The options of a description, in lower case, sorted, none twice.
pub(crate) fn options(description: &AttributeDescription<'_>) -> Vec<String> {
    let mut options: Vec<String> = description.options().map(str::to_ascii_lowercase).collect();
    options.sort_unstable();
    options.dedup();
    options
}

/// Whether a description has all of these options. A language range stands for its tag and all that begin with it, in
/// filters, selections and comparisons (RFC 3866 section 3).
pub(crate) fn has_options(description: &str, options: &[String]) -> bool {
    options.iter().all(|option| {
        let is_range = is_range(option);
        let option = option.as_bytes();
        description.as_bytes().split(|byte| *byte == b';').skip(1).any(|own| {
            let begins = |with: &[u8]| own.get(..with.len()).is_some_and(|front| front.eq_ignore_ascii_case(with));
            own.eq_ignore_ascii_case(option)
                || (is_range && (begins(option) || own.eq_ignore_ascii_case(&option[..option.len() - 1])))
        })
    })
}

/// Whether an option, in lower case, is a language range.
pub(crate) fn is_range(option: &str) -> bool {
    option.starts_with("lang-") && option.ends_with('-')
}

/// A filter bound to the schema.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    And(Vec<Test>),
    Or(Vec<Test>),
    Not(Box<Test>),
    True,
    False,
    Undefined,
    Present(Subject),
    Equal {
        subject: Subject,
        rule: &'static Rule,
        quick: Quick,
        normalized: Vec<u8>,
        /// The value as it was asserted.
        asserted: Vec<u8>,
    },
    /// Equal to one of several normalized values, which ascend: what is left of an OR of such items. Access does not depend on
    /// the entry.
    Among {
        subject: Subject,
        rule: &'static Rule,
        values: Vec<Vec<u8>>,
    },
    AtLeast {
        subject: Subject,
        rule: &'static Rule,
        normalized: Vec<u8>,
    },
    AtMost {
        subject: Subject,
        rule: &'static Rule,
        normalized: Vec<u8>,
    },
    /// Less than what is asserted: extensible matches by ordering rules (RFC 4517 section 4.2).
    Less {
        subject: Subject,
        rule: &'static Rule,
        normalized: Vec<u8>,
    },
    /// A value that stands as its rule says to what is asserted, and need not be equal ([`Rule::relates`]).
    Related {
        subject: Subject,
        rule: &'static Rule,
        normalized: Vec<u8>,
    },
    Substrings {
        subject: Subject,
        rule: &'static Rule,
        assertion: SubstringsAssertion,
    },
    /// A class or a kind of it.
    Class {
        subject: Subject,
        class: ClassId,
    },
    Bits {
        subject: Subject,
        rule: &'static Rule,
        value: Vec<u8>,
    },
    /// Values of the name count too (RFC 4511 section 4.5.1.7.7).
    WithName {
        test: Box<Test>,
        subject: Subject,
        rule: &'static Rule,
        normalized: Vec<u8>,
    },
    /// About an attribute that is made when an entry is read, where access has to be looked at for each entry.
    Made {
        id: AttributeId,
        /// The value as it was asserted.
        asserted: Vec<u8>,
        test: Box<Test>,
    },
    /// `entryDN`: the entry of this normalized name.
    Name(String),
    /// `entryDN`: an entry whose name stands so to this one.
    NameRelated {
        rule: &'static Rule,
        normalized: Vec<u8>,
    },
    /// `memberOf`: a member of the group of this normalized name, which names it.
    MemberOf(String),
    /// One of these entries, whatever is in it.
    OneOf(Set),
    HasSubordinates(bool),
    NumSubordinates(u32),
}

impl Test {
    /// The attributes that an item is about, if it is one about values.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Test::Present(subject)
            | Test::Equal { subject, .. }
            | Test::Among { subject, .. }
            | Test::AtLeast { subject, .. }
            | Test::AtMost { subject, .. }
            | Test::Less { subject, .. }
            | Test::Related { subject, .. }
            | Test::Substrings { subject, .. }
            | Test::Class { subject, .. }
            | Test::Bits { subject, .. } => Some(subject),
            _ => None,
        }
    }

    /// Whether it is only about values that are stored, so that the entry's name does not matter, nor who asks.
    pub fn is_of_values(&self) -> bool {
        match self {
            Test::True | Test::False | Test::Undefined | Test::OneOf(_) => true,
            Test::And(parts) | Test::Or(parts) => parts.iter().all(Test::is_of_values),
            Test::Not(part) => part.is_of_values(),
            Test::Present(_) => false,
            _ => self.subject().is_some_and(|subject| !subject.checked && !subject.made),
        }
    }
}
