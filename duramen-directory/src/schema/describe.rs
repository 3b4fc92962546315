//! The schema as values of the subschema subentry (RFC 4512 section 4.2).

use std::collections::BTreeSet;

use duramen_ldap::matching::{RULES, Rule};
use duramen_ldap::schema as text;
use duramen_ldap::syntax::{SYNTAXES, Syntax};

use super::Schema;

/// Descriptions as text, made once.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    attributes: Vec<(&'static str, Vec<String>)>,
}

impl Descriptions {
    /// Of a schema that is bound, and the texts that it was bound from.
    pub fn new(schema: &Schema, source: &text::Schema) -> Descriptions {
        let all = |list: &mut dyn Iterator<Item = String>| list.collect::<Vec<_>>();
        let syntaxes = SYNTAXES.iter().map(syntax).chain(unknown_syntaxes(source));
        let rules = RULES.iter().map(|rule| format!("( {} NAME '{}' SYNTAX {} )", rule.oid, rule.name, rule.syntax));
        let attributes = vec![
            ("objectClasses", all(&mut source.object_classes.iter().map(|class| class.item.to_string()))),
            ("attributeTypes", all(&mut source.attribute_types.iter().map(|kind| attribute_type(&kind.item)))),
            ("ldapSyntaxes", all(&mut { syntaxes })),
            ("matchingRules", all(&mut { rules })),
            ("matchingRuleUse", uses(schema)),
            ("dITContentRules", all(&mut source.content_rules.iter().map(|rule| rule.item.to_string()))),
            ("nameForms", all(&mut source.name_forms.iter().map(|form| form.item.to_string()))),
            ("dITStructureRules", all(&mut source.structure_rules.iter().map(|rule| rule.item.to_string()))),
        ];
        Descriptions { attributes: attributes.into_iter().filter(|(_, values)| !values.is_empty()).collect() }
    }

    pub fn subschema(&self) -> &[(&'static str, Vec<String>)] {
        &self.attributes
    }
}

/// A syntax, with what it is marked by where values are not for people to read, or are transferred as they are
/// (RFC 4522).
fn syntax(syntax: &Syntax) -> String {
    let binary = if syntax.is_binary() { " X-BINARY-TRANSFER-REQUIRED 'TRUE'" } else { "" };
    let unreadable = if syntax.readable { "" } else { " X-NOT-HUMAN-READABLE 'TRUE'" };
    format!("( {} DESC '{}'{binary}{unreadable} )", syntax.oid, syntax.name)
}

/// Syntaxes that files describe or attribute types have, and nobody here knows: clients look up each that is named. Some
/// do not find those without a description.
fn unknown_syntaxes(source: &text::Schema) -> impl Iterator<Item = String> {
    let named = source.attribute_types.iter().filter_map(|kind| kind.item.syntax.as_deref());
    let described = source.syntaxes.iter().map(|of| of.item.definition.oid.as_str());
    let unknown: BTreeSet<&str> = named.chain(described).filter(|oid| Syntax::find(oid).is_none()).collect();
    unknown.into_iter().map(|oid| {
        let described = source.syntaxes.iter().rev().find(|of| of.item.definition.oid == oid);
        let mut syntax = described.map_or_else(text::LdapSyntax::default, |of| of.item.clone());
        syntax.definition.oid = oid.to_string();
        syntax.definition.description.get_or_insert_with(|| "not known here".to_string());
        syntax.to_string()
    })
}

/// An attribute type without the matching rules that are not known here: it is not matched by them.
fn attribute_type(described: &text::AttributeType) -> String {
    let known = |rule: &Option<String>| rule.clone().filter(|rule| Rule::find(rule).is_some());
    let (equality, ordering) = (known(&described.equality), known(&described.ordering));
    let substrings = known(&described.substrings);
    text::AttributeType { equality, ordering, substrings, ..described.clone() }.to_string()
}

/// To which attribute types each rule applies: those whose values have the syntax of what the rule asserts.
fn uses(schema: &Schema) -> Vec<String> {
    let of_rule = |rule: &&'static duramen_ldap::matching::Rule| {
        let applies: Vec<&str> = schema
            .attributes()
            .filter(|kind| {
                let own = [kind.equality, kind.ordering, kind.substrings];
                own.iter().flatten().any(|known| std::ptr::eq(*known, *rule))
                    || kind.syntax.is_some_and(|syntax| syntax.oid == rule.syntax)
            })
            .map(|kind| kind.name.as_str())
            .collect();
        (!applies.is_empty())
            .then(|| format!("( {} NAME '{}' APPLIES ( {} ) )", rule.oid, rule.name, applies.join(" $ ")))
    };
    RULES.iter().filter_map(|rule| of_rule(&rule)).collect()
}
