//! What a rule is about: `*`, `dn=`, `filter=`, `attrs=`, `val=`.

use duramen_ldap::filter::FilterBuf;
use duramen_ldap::matching::{Rule as MatchingRule, RuleKind};

use super::super::condition::{Condition, Test};
use super::super::name::NamePattern;
use super::super::rule::{Selection, ValuePattern, text_rule};
use super::super::template::Reach;
use super::super::words::{Place, Word};
use super::{Wrong, is, keyed, names};
use crate::expression::compile_in_any_case;
use crate::schema::{Attribute, AttributeId, Schema};

const EXPECTED: &str = "expected *, dn=, dn.regex= or another style, filter=, attrs= or val=";

/// What has been said so far.
#[derive(Default)]
pub(super) struct About {
    names: Option<NamePattern>,
    filter: Option<Condition>,
    attributes: Option<Selection>,
    /// The list as it was written, for the attribute that a value is of.
    list: String,
    value: Option<Value>,
}

/// A pattern of values, as it was written.
struct Value {
    place: Place,
    rule: Option<String>,
    style: String,
    text: String,
}

/// All that a rule is about.
pub(super) struct Finished {
    pub names: NamePattern,
    pub filter: Option<Condition>,
    pub attributes: Option<Selection>,
    pub value: Option<ValuePattern>,
}

impl Finished {
    /// Which parts clauses may refer to.
    pub fn reach(&self) -> Reach {
        let is_expression = matches!(self.value, Some(ValuePattern::Regex(..)));
        Reach { name: self.names.reach(), value: if is_expression { Reach::EXPRESSION } else { 0 } }
    }
}

impl About {
    /// Takes another word.
    pub fn take(&mut self, word: &Word, schema: &Schema) -> Result<(), Wrong> {
        if word.text == "*" {
            self.names.get_or_insert(NamePattern::Any);
            return Ok(());
        }
        self.part(&word.text, word.place, schema).map_err(|problem| (word.place, problem))
    }

    fn part(&mut self, text: &str, place: Place, schema: &Schema) -> Result<(), String> {
        let unknown = || format!("'{text}' is nothing that a rule can be about: {EXPECTED}");
        let part = keyed(text).ok_or_else(unknown)?;
        let twice = |there: bool| if there { Err(format!("'{}' stands here twice", part.key)) } else { Ok(()) };
        let (key, rule) = part.key.split_once('/').map_or((part.key, None), |(key, rule)| (key, Some(rule)));
        if is(key, "dn") {
            twice(self.names.as_ref().is_some_and(|names| !matches!(names, NamePattern::Any)))?;
            self.names = Some(names::fixed(&part.style, part.value, schema)?);
        } else if is(key, "filter") {
            twice(self.filter.is_some())?;
            let filter = FilterBuf::parse(part.value).map_err(|error| format!("the filter: {error}"))?;
            self.filter = Some(Condition::compile(filter.as_filter(), schema)?);
        } else if is(key, "attrs") || is(key, "attr") {
            twice(self.attributes.is_some())?;
            self.attributes = Some(selection(part.value, schema)?);
            self.list = part.value.to_owned();
        } else if is(key, "val") || is(key, "value") {
            twice(self.value.is_some())?;
            let (rule, text) = (rule.map(str::to_owned), part.value.to_owned());
            self.value = Some(Value { place, rule, style: part.style, text });
        } else {
            return Err(unknown());
        }
        Ok(())
    }

    /// All words have been taken.
    pub fn finish(self, _: Place, schema: &Schema) -> Result<Finished, Wrong> {
        let value = match &self.value {
            None => None,
            Some(value) => Some(value_pattern(value, &self.list, schema).map_err(|problem| (value.place, problem))?),
        };
        let names = self.names.unwrap_or(NamePattern::Any);
        Ok(Finished { names, filter: self.filter, attributes: self.attributes, value })
    }
}

/// A list of attributes, classes and the words `entry` and `children`.
fn selection(list: &str, schema: &Schema) -> Result<Selection, String> {
    let mut selection = Selection::default();
    for word in list.split(',').map(str::trim) {
        if is(word, "entry") {
            selection.entry = true;
        } else if is(word, "children") {
            selection.children = true;
        } else if let Some(class) = word.strip_prefix('@') {
            let class = allowed(class, schema)?;
            // A class that allows everything is everything.
            selection.entry |= class.is_none();
            selection.children |= class.is_none();
            add(&mut selection, schema, |id| class.as_ref().is_none_or(|ids| ids.contains(&id)));
        } else if let Some(class) = word.strip_prefix('!') {
            let class = allowed(class, schema)?;
            selection.entry |= class.is_some();
            selection.children |= class.is_some();
            add(&mut selection, schema, |id| class.as_ref().is_some_and(|ids| !ids.contains(&id)));
        } else {
            selection.attributes.extend(&attribute(word, schema)?.family);
        }
    }
    selection.attributes.sort_unstable();
    selection.attributes.dedup();
    Ok(selection)
}

fn add(selection: &mut Selection, schema: &Schema, wanted: impl Fn(AttributeId) -> bool) {
    selection.attributes.extend(schema.attributes().map(|attribute| attribute.id).filter(|id| wanted(*id)));
}

/// The attributes that a class allows, with their kinds. `None`: all.
fn allowed(name: &str, schema: &Schema) -> Result<Option<Vec<AttributeId>>, String> {
    let class = schema.find_class(name).ok_or_else(|| {
        format!("the schema has no object class '{name}': correct it, or load the schema that has it")
    })?;
    let ids = class.must.iter().chain(&class.may).flat_map(|id| &schema.attribute(*id).family);
    Ok((!class.is_extensible).then(|| ids.copied().collect()))
}

pub(super) fn attribute<'s>(name: &str, schema: &'s Schema) -> Result<&'s Attribute, String> {
    let (name, options) = name.split_once(';').unwrap_or((name, "binary"));
    // What is transferred so has no values without it.
    if !options.eq_ignore_ascii_case("binary") {
        return Err(format!("'{name};{options}': rules are about all values of an attribute: leave out ';{options}'"));
    }
    schema
        .find(name)
        .ok_or_else(|| format!("the schema has no attribute type '{name}': correct it, or load the schema that has it"))
}

/// A pattern of values of the one attribute of a list.
fn value_pattern(value: &Value, list: &str, schema: &Schema) -> Result<ValuePattern, String> {
    if list.is_empty() || list.contains([',', '@', '!']) || is(list, "entry") || is(list, "children") {
        return Err("a value needs the one attribute that it is of: write attrs=NAME in front of it".to_owned());
    }
    let attribute = attribute(list, schema)?;
    match &*value.style {
        "regex" => match compile_in_any_case(&value.text) {
            Ok(regex) => Ok(ValuePattern::Regex(regex, text_rule(attribute))),
            Err(error) => Err(format!("'{}' is not a regular expression: {error}", value.text)),
        },
        "" | "exact" => equal(value, attribute, schema),
        style if attribute.equality.is_some_and(|rule| rule.name == "distinguishedNameMatch") => {
            let span = names::span(style)?;
            Ok(ValuePattern::Near { base: names::normalize(&value.text, schema)?, span })
        }
        style => Err(format!("values of {} have no style '{style}': expected exact or regex", attribute.name)),
    }
}

fn equal(value: &Value, attribute: &Attribute, schema: &Schema) -> Result<ValuePattern, String> {
    let rule = match &value.rule {
        None => attribute.equality,
        Some(name) => {
            let known = MatchingRule::find(name).filter(|rule| rule.kind == RuleKind::Equality);
            Some(known.ok_or_else(|| format!("'{name}' is no equality rule that is known"))?)
        }
    };
    let Some(rule) = rule else { return Err(format!("{} has no equality rule", attribute.name)) };
    let mut asserted = Vec::new();
    let normalized = rule.normalize_assertion(value.text.as_bytes(), schema, &mut asserted);
    normalized.map_err(|error| format!("'{}' is no value of {}: {error}", value.text, attribute.name))?;
    Ok(ValuePattern::Equal(Test::Equal(rule, asserted)))
}
