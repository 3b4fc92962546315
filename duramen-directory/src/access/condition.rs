//! Filters in rules, made ready for being held against entries (RFC 4511 section 4.5.1.7).

use duramen_ldap::attribute::Assertion;
use duramen_ldap::filter::{Filter, Node, Substrings};
use duramen_ldap::matching::{Rule, SubstringsAssertion};

use super::Target;
use crate::schema::{Attribute, AttributeId, ClassId, Schema};

/// A filter, its assertions normalized.
#[derive(Debug)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    /// One of the values of these attributes, if there is one that can be tested.
    Value {
        attributes: Vec<AttributeId>,
        test: Test,
    },
}

/// What is asked of a value.
#[derive(Debug)]
pub(super) enum Test {
    Present,
    /// An object class or a kind of it.
    Class(ClassId),
    Equal(&'static Rule, Vec<u8>),
    AtLeast(&'static Rule, Vec<u8>),
    AtMost(&'static Rule, Vec<u8>),
    Substrings(&'static Rule, SubstringsAssertion),
}

impl Condition {
    /// The error says what is wrong with the filter.
    pub fn compile(filter: Filter<'_>, schema: &Schema) -> Result<Condition, String> {
        let all = |filters: &mut dyn Iterator<Item = Filter<'_>>| {
            filters.map(|filter| Condition::compile(filter, schema)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match filter.node() {
            Node::And(filters) => Condition::All(all(&mut filters.iter())?),
            Node::Or(filters) => Condition::Any(all(&mut filters.iter())?),
            Node::Not(filter) => Condition::Not(Box::new(Condition::compile(filter, schema)?)),
            Node::Present(name) => value(find(name, schema)?, Test::Present),
            Node::Equality(assertion) | Node::Approx(assertion) if is_class(&assertion, schema) => {
                class(&assertion, schema)?
            }
            Node::Equality(assertion) | Node::Approx(assertion) => {
                compare(&assertion, schema, |attribute| attribute.equality, Test::Equal)?
            }
            Node::GreaterOrEqual(assertion) => {
                compare(&assertion, schema, |attribute| attribute.ordering, Test::AtLeast)?
            }
            Node::LessOrEqual(assertion) => compare(&assertion, schema, |attribute| attribute.ordering, Test::AtMost)?,
            Node::Substrings(substrings) => pieces(&substrings, schema)?,
            _ => return Err("extensible matches are not possible in access rules".to_owned()),
        })
    }

    /// `None` is Undefined: nobody can say.
    pub fn matches(&self, target: &dyn Target, schema: &Schema) -> Option<bool> {
        match self {
            Condition::All(conditions) => {
                join(conditions.iter().map(|condition| condition.matches(target, schema)), false)
            }
            Condition::Any(conditions) => {
                join(conditions.iter().map(|condition| condition.matches(target, schema)), true)
            }
            Condition::Not(condition) => condition.matches(target, schema).map(|matches| !matches),
            Condition::Value { attributes, test } => {
                let tested = attributes.iter().map(|attribute| any_value(*attribute, test, target, schema));
                join(tested, true)
            }
        }
    }
}

/// `decisive` if one is, otherwise Undefined if one is, otherwise the opposite.
fn join(answers: impl Iterator<Item = Option<bool>>, decisive: bool) -> Option<bool> {
    let mut joined = Some(!decisive);
    for answer in answers {
        match answer {
            Some(answer) if answer == decisive => return Some(decisive),
            Some(_) => {}
            None => joined = None,
        }
    }
    joined
}

fn any_value(attribute: AttributeId, test: &Test, target: &dyn Target, schema: &Schema) -> Option<bool> {
    let mut found = Some(false);
    let mut normalized = Vec::new();
    target.values(attribute, &mut |value| {
        normalized.clear();
        match test.passes(value, schema, &mut normalized) {
            Some(false) => {}
            Some(true) => found = Some(true),
            None => found = found.filter(|found| *found),
        }
        found != Some(true)
    });
    found
}

impl Test {
    /// `normalized` is an empty buffer. `None`: the value cannot be tested.
    pub fn passes(&self, value: &[u8], schema: &Schema, normalized: &mut Vec<u8>) -> Option<bool> {
        if let Test::Class(class) = self {
            return Some(schema.class(*class).has_kind(value));
        }
        let (Test::Equal(rule, _) | Test::AtLeast(rule, _) | Test::AtMost(rule, _) | Test::Substrings(rule, _)) = self
        else {
            return Some(true);
        };
        rule.normalize(value, schema, normalized).ok()?;
        Some(match self {
            Test::Present | Test::Class(_) => true,
            Test::Equal(_, asserted) => *normalized == *asserted,
            Test::AtLeast(_, asserted) => *normalized >= *asserted,
            Test::AtMost(_, asserted) => *normalized <= *asserted,
            Test::Substrings(_, asserted) => asserted.matches(normalized),
        })
    }
}

fn find<'s>(description: &str, schema: &'s Schema) -> Result<&'s Attribute, String> {
    schema.find(description).ok_or_else(|| format!("the schema has no attribute type '{description}'"))
}

fn value(attribute: &Attribute, test: Test) -> Condition {
    Condition::Value { attributes: attribute.family.clone(), test }
}

fn is_class(assertion: &Assertion<'_>, schema: &Schema) -> bool {
    schema.find(assertion.description).is_some_and(|attribute| attribute.id == schema.known().object_class)
}

/// Entries are of the classes that their classes are kinds of, too (RFC 4512 section 2.4).
fn class(assertion: &Assertion<'_>, schema: &Schema) -> Result<Condition, String> {
    let found = schema.find_class(assertion.value);
    let name = String::from_utf8_lossy(assertion.value);
    let class = found.ok_or_else(|| format!("the schema has no object class '{name}'"))?;
    Ok(value(find(assertion.description, schema)?, Test::Class(class.id)))
}

fn compare(
    assertion: &Assertion<'_>,
    schema: &Schema,
    rule: impl Fn(&Attribute) -> Option<&'static Rule>,
    test: fn(&'static Rule, Vec<u8>) -> Test,
) -> Result<Condition, String> {
    let attribute = find(assertion.description, schema)?;
    let Some(rule) = rule(attribute) else {
        return Err(format!("{} has no matching rule for this comparison", attribute.name));
    };
    let mut asserted = Vec::new();
    rule.normalize_assertion(assertion.value, schema, &mut asserted)
        .map_err(|error| format!("the value of {} is wrong: {error}", attribute.name))?;
    Ok(value(attribute, test(rule, asserted)))
}

fn pieces(substrings: &Substrings<'_>, schema: &Schema) -> Result<Condition, String> {
    let attribute = find(substrings.description, schema)?;
    let Some(rule) = attribute.substrings else {
        return Err(format!("{} has no matching rule for substrings", attribute.name));
    };
    let asserted = SubstringsAssertion::new(rule, substrings.pieces)
        .map_err(|error| format!("a substring of {} is wrong: {error}", attribute.name))?;
    Ok(value(attribute, Test::Substrings(attribute.equality.unwrap_or(rule), asserted)))
}
