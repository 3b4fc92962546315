//! Constraints: what values of an attribute have to be like beyond the schema, as OpenLDAP's overlay `constraint` has it.
//!
//! Owns: what their settings mean, what a value or a number of values by itself breaks. Must not know: which values are judged
//! and when, how entries are found.

use std::cell::RefCell;
use std::sync::Arc;

use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::Scope;
use duramen_ldap::url::LdapUrl;
use regex::Regex;

use crate::access::{Groups, Rules, Target};
use crate::attribute::describe_stored;
use crate::config::{self, Demand};
use crate::error::ConstraintPart;
use crate::expression;
use crate::filter::{Compiler, check_depth};
use crate::names::{self, Suffix};
use crate::requester::Requester;
use crate::schema::{AttributeId, Schema};

/// A constraint.
#[derive(Debug)]
pub(crate) struct Constraint {
    /// Types, and the options of each: with other options an attribute is another one.
    attributes: Vec<(AttributeId, Vec<String>)>,
    pub rule: Rule,
    /// Which entries it is about, if not about all.
    pub restrict: Option<Region>,
}

/// What is demanded.
#[derive(Debug)]
pub(crate) enum Rule {
    /// Of each value, by itself.
    Value(ValueRule),
    /// So many values at most.
    Count(u64),
    /// Each value is one that a search finds.
    Listed(Listing),
}

/// What is demanded of a value by itself.
#[derive(Debug)]
pub(crate) enum ValueRule {
    Matches(Regex, String),
    MatchesNot(Regex, String),
    /// So many bytes at most.
    Size(u64),
}

/// Entries, as a URL says which.
#[derive(Debug)]
pub(crate) struct Region {
    /// The normalized name of the base, and how far below it; `None` is everywhere.
    pub base: Option<(String, Scope)>,
    pub filter: Option<FilterBuf>,
}

/// Where values are listed.
#[derive(Debug)]
pub(crate) struct Listing {
    pub region: Region,
    /// Descriptions of the attributes whose values they are.
    pub attributes: Vec<String>,
    /// The types that these mean.
    pub types: Vec<AttributeId>,
    /// The URL as it was written.
    url: String,
}

/// What URLs are read by.
pub(crate) struct Reading<'r> {
    pub schema: &'r Arc<Schema>,
    pub suffixes: &'r [Suffix],
    pub depth_max: usize,
}

impl Constraint {
    /// From what was chosen.
    ///
    /// # Errors
    /// What is wrong with it, in words, and with which part.
    pub fn parse(
        schema: &Arc<Schema>,
        suffixes: &[Suffix],
        chosen: &config::Constraint,
        depth_max: usize,
    ) -> Result<Constraint, (ConstraintPart, String)> {
        let reading = Reading { schema, suffixes, depth_max };
        if chosen.attributes.is_empty() {
            return Err((
                ConstraintPart::Attribute(0),
                "it names no attribute: name those whose values it is about".into(),
            ));
        }
        let named = chosen.attributes.iter().enumerate();
        let attributes = named
            .map(|(n, text)| constrained(schema, text).map_err(|why| (ConstraintPart::Attribute(n), why)))
            .collect::<Result<_, _>>()?;
        let rule = reading.rule(&chosen.demand).map_err(|why| (ConstraintPart::Demand, why))?;
        let restrict = chosen.restrict.as_deref().map(|url| reading.restriction(url)).transpose();
        Ok(Constraint { attributes, rule, restrict: restrict.map_err(|why| (ConstraintPart::Restrict, why))? })
    }

    /// Whether it is about an attribute with exactly these options.
    pub fn is_about(&self, id: AttributeId, options: &[String]) -> bool {
        self.attributes.iter().any(|(own, with)| *own == id && with == options)
    }
}

/// An attribute that can be constrained.
fn constrained(schema: &Schema, text: &str) -> Result<(AttributeId, Vec<String>), String> {
    let described = describe_stored(schema, text).map_err(|failure| failure.diagnostic)?;
    if described.attribute.is_operational() {
        return Err(format!("{text}: it is operational, and slapd does not constrain these either: leave it out"));
    }
    Ok((described.attribute.id, described.options))
}

impl ValueRule {
    /// What a value breaks, if it does.
    pub fn broken_by(&self, value: &[u8]) -> Option<String> {
        // What is no text has a character for each part that is none: a dot is about these, too.
        let matches = |regex: &Regex| regex.is_match(&String::from_utf8_lossy(value));
        match self {
            ValueRule::Matches(regex, text) if !matches(regex) => Some(format!("it has to match '{text}'")),
            ValueRule::MatchesNot(regex, text) if matches(regex) => Some(format!("it must not match '{text}'")),
            ValueRule::Size(most) if u64::try_from(value.len()).is_ok_and(|size| size > *most) => {
                Some(format!("it has {} bytes, and {most} are allowed", value.len()))
            }
            _ => None,
        }
    }
}

impl Listing {
    /// What a value breaks that is not listed.
    pub fn broken(&self) -> String {
        format!("it is none that can be found by {}", self.url)
    }
}

impl Reading<'_> {
    fn rule(&self, demand: &Demand) -> Result<Rule, String> {
        let compiled = |key: &str, text: &str| {
            expression::compile(text).map_err(|error| format!("{key} '{text}' is not a regular expression: {error}"))
        };
        Ok(match demand {
            Demand::Matches(text) => Rule::Value(ValueRule::Matches(compiled("regex", text)?, text.clone())),
            Demand::MatchesNot(text) => Rule::Value(ValueRule::MatchesNot(compiled("negregex", text)?, text.clone())),
            Demand::SizeMax(most) => Rule::Value(ValueRule::Size(*most)),
            Demand::CountMax(most) => Rule::Count(*most),
            Demand::Listed(url) => Rule::Listed(self.listing(url)?),
        })
    }

    fn listing(&self, url: &str) -> Result<Listing, String> {
        let wrong =
            |why: &str| format!("uri '{url}': {why}: write one like ldap:///ou=titles,dc=example,dc=com?cn?sub");
        let parsed = parse(url).map_err(|why| wrong(&why))?;
        if parsed.attributes.is_empty() {
            return Err(wrong("it names no attribute, whose values would be those that are allowed"));
        }
        let mut types = Vec::new();
        for name in &parsed.attributes {
            let described = describe_stored(self.schema, name).map_err(|failure| wrong(&failure.diagnostic))?;
            if described.attribute.equality.is_none() {
                return Err(wrong(&format!("{name} has no rule for equality")));
            }
            types.extend(described.attribute.family.iter().copied());
        }
        let attributes = parsed.attributes.clone();
        let region = self.region(parsed).map_err(|why| wrong(&why))?;
        if region.base.is_none() {
            return Err(wrong("it says nowhere to search"));
        }
        Ok(Listing { region, attributes, types, url: url.to_string() })
    }

    /// The entries that something is about.
    pub fn restriction(&self, url: &str) -> Result<Region, String> {
        let wrong = |why: &str| {
            format!(
                "restrict '{url}': {why}: write one like ldap:///ou=people,dc=example,dc=com??sub?(objectClass=person)"
            )
        };
        let parsed = parse(url).map_err(|why| wrong(&why))?;
        if !parsed.attributes.is_empty() {
            return Err(wrong("it names attributes, which say nothing about which entries are meant"));
        }
        self.region(parsed).map_err(|why| wrong(&why))
    }

    fn region(&self, url: LdapUrl) -> Result<Region, String> {
        let normalized = names::normalize(self.schema, &url.dn).map_err(|failure| failure.diagnostic)?;
        if !normalized.is_empty() && names::suffix_of(self.suffixes, &normalized).is_none() {
            return Err(format!("{:?} is below none of the suffixes", url.dn));
        }
        if let Some(filter) = &url.filter {
            self.check_filter(filter)?;
        }
        // Without a base slapd does not look at the scope.
        let base = (!normalized.is_empty()).then(|| (normalized, url.scope.unwrap_or(Scope::Base)));
        Ok(Region { base, filter: url.filter })
    }

    /// That each part of a filter can be true of something: else nothing would be constrained, or all refused, without a word.
    fn check_filter(&self, filter: &FilterBuf) -> Result<(), String> {
        let filter = filter.as_filter();
        check_depth(filter, self.depth_max).map_err(|failure| failure.diagnostic)?;
        let plan = Rules::standard(self.schema).plan(&Requester::internal(), &NoGroups);
        let (schema, fitting) = (self.schema, RefCell::default());
        let compiler = Compiler { schema, plan: &plan, of_values: false, of_copies: false, fitting };
        compiler.undefined(filter).into_iter().next().map_or(Ok(()), Err)
    }
}

/// A URL that asks this directory and demands nothing besides.
fn parse(url: &str) -> Result<LdapUrl, String> {
    let parsed = LdapUrl::parse(url).map_err(|error| error.to_string())?;
    if parsed.host.is_some() || parsed.port.is_some() {
        return Err("it names a server, and no other is asked".into());
    }
    if !parsed.extensions.is_empty() {
        return Err("it has an extension, and none is known".into());
    }
    Ok(parsed)
}

/// To know what a filter means takes no groups.
struct NoGroups;

impl Groups for NoGroups {
    fn has_member(&self, _: &str, _: AttributeId, _: &str) -> bool {
        false
    }

    fn values(&self, _: &str, _: AttributeId, _: &mut dyn FnMut(&[u8]) -> bool) {}

    fn has_value(&self, _: &str, _: AttributeId, _: &[u8]) -> bool {
        false
    }

    fn holders(&self, _: AttributeId, _: &[u8], _: &mut dyn FnMut(&str) -> bool) -> bool {
        true
    }

    fn find(&self, _: &LdapUrl, _: &mut dyn FnMut(Option<&dyn Target>) -> bool) {}
}
