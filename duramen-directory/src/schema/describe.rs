//! The schema as values of the subschema subentry (RFC 4512 section 4.2).

use duramen_ldap::matching::RULES;
use duramen_ldap::schema as text;
use duramen_ldap::syntax::SYNTAXES;

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
        let syntaxes = SYNTAXES.iter().map(|syntax| format!("( {} DESC '{}' )", syntax.oid, syntax.name));
        let rules = RULES.iter().map(|rule| format!("( {} NAME '{}' SYNTAX {} )", rule.oid, rule.name, rule.syntax));
        let attributes = vec![
            ("objectClasses", all(&mut source.object_classes.iter().map(|class| class.item.to_string()))),
            ("attributeTypes", all(&mut source.attribute_types.iter().map(|kind| kind.item.to_string()))),
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
