//! The rules that entries obey (RFC 4512 sections 2 to 4), each failure naming attribute, value and rule.

use duramen_ldap::matching::Rule;
use duramen_ldap::message::ResultCode;
use duramen_ldap::schema::ClassKind;

use super::draft::{Draft, DraftAttribute};
use super::shape::{self, Shape};
use crate::attribute::form;
use crate::failure::{Failure, Result};
use crate::names;
use crate::schema::{Attribute, AttributeId, Class, ClassId, ContentRule, Schema};

fn violation(code: ResultCode, text: String) -> Failure {
    Failure::new(code, text)
}

/// The classes of a draft, without those that they are kinds of. Values under options have to name classes too, and make
/// the entry none of them.
pub(crate) fn classes<'s>(schema: &'s Schema, draft: &Draft<'_>) -> Result<Vec<&'s Class>> {
    let mut found = Vec::new();
    for attribute in draft.attributes.iter().filter(|attribute| attribute.id == schema.known().object_class) {
        for (n, value) in (1..).zip(attribute.values()) {
            let class = class(schema, n, value)?;
            if attribute.options.is_empty() {
                found.push(class);
            }
        }
    }
    Ok(found)
}

/// The class that a value of objectClass names.
pub(crate) fn class<'s>(schema: &'s Schema, n: usize, value: &[u8]) -> Result<&'s Class> {
    schema.find_class(value).ok_or_else(|| {
        let name = String::from_utf8_lossy(value);
        let text = format!("objectClass, value {n}: the schema has no object class {name:?}");
        violation(ResultCode::INVALID_ATTRIBUTE_SYNTAX, text)
    })
}

/// The structural class (RFC 4512 section 2.4.2): the one that all others are above of.
pub(crate) fn structural<'s>(schema: &'s Schema, classes: &[&'s Class]) -> Result<&'s Class> {
    let fail = |text| Err(violation(ResultCode::OBJECT_CLASS_VIOLATION, text));
    if classes.is_empty() {
        return fail("the entry has no objectClass".to_string());
    }
    let mut lowest: Option<&Class> = None;
    for class in classes.iter().filter(|class| class.kind == ClassKind::Structural) {
        lowest = match lowest {
            Some(before) if before.is_a(class.id) => Some(before),
            Some(before) if !class.is_a(before.id) => {
                let text = "neither is a kind of the other, and an entry has one structural class (RFC 4512 2.4.2)";
                return fail(format!("objectClass: {} and {}: {text}", before.name, class.name));
            }
            _ => Some(class),
        };
    }
    let Some(lowest) = lowest else {
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        return fail(format!("objectClass: none of {} is structural (RFC 4512 2.4.2)", names.join(", ")));
    };
    for class in classes.iter().filter(|class| class.kind == ClassKind::Abstract) {
        let is_used = |other: &&&Class| other.kind != ClassKind::Abstract && other.is_a(class.id);
        if class.name != "top" && classes.iter().find(is_used).is_none() {
            return fail(format!("objectClass: {} is abstract, and no other class is a kind of it", class.name));
        }
    }
    Ok(schema.class(lowest.id))
}

/// That a structural class which whoever adds the entry says it has is the one that follows from its classes.
pub(crate) fn said_structural(schema: &Schema, draft: &Draft<'_>, structural: &Class) -> Result<()> {
    let is_other = |said: &&[u8]| schema.find_class(said).is_none_or(|class| class.id != structural.id);
    match draft.values(schema.known().structural_object_class).find(is_other) {
        Some(said) => Err(violation(
            ResultCode::OBJECT_CLASS_MODS_PROHIBITED,
            format!(
                "structuralObjectClass: it is {:?}, and by objectClass the entry is {}: leave it out, or correct either",
                String::from_utf8_lossy(said),
                structural.name
            ),
        )),
        None => Ok(()),
    }
}

/// All that a whole entry has to obey. `relaxed`: whatever its classes require and allow.
pub(crate) fn entry(schema: &Schema, draft: &Draft<'_>, relaxed: bool) -> Result<ClassId> {
    if let Some(shape) = shape::known(schema, draft) {
        return Ok(shape.structural);
    }
    let classes = classes(schema, draft)?;
    let structural = structural(schema, &classes)?.id;
    if !relaxed {
        content(schema, draft, structural, &classes)?;
    }
    Ok(structural)
}

/// That a draft has the attributes that its classes and their content rule require, and none that they do not allow. Its
/// shape is remembered then, with the structural class that follows from its classes.
pub(crate) fn content(schema: &Schema, draft: &Draft<'_>, structural: ClassId, classes: &[&Class]) -> Result<()> {
    required(schema, draft, classes)?;
    let rule = schema.rules().contents.get(&structural);
    if let Some(rule) = rule {
        content_rule(schema, draft, rule, classes)?;
    }
    let types = draft.attributes.iter().map(|attribute| attribute.id);
    let mut types = types.chain(draft.kept_large().map(|large| large.stored.id));
    types.try_for_each(|id| allowed(schema, classes, rule, id))?;
    shape::remember(schema, draft, Shape { structural, marks: draft.marks(schema) });
    Ok(())
}

fn content_rule(schema: &Schema, draft: &Draft<'_>, rule: &ContentRule, classes: &[&Class]) -> Result<()> {
    let fail = |what: String| {
        let text = format!("content rule {}: {what} (RFC 4512 4.1.6)", rule.name);
        Err(violation(ResultCode::OBJECT_CLASS_VIOLATION, text))
    };
    if let Some(missing) = rule.must.iter().find(|id| !draft.has(**id)) {
        return fail(format!("it requires attribute {}", schema.attribute(*missing).name));
    }
    if let Some(found) = rule.not.iter().find(|id| draft.has(**id)) {
        return fail(format!("it precludes attribute {}", schema.attribute(*found).name));
    }
    let is_allowed = |class: &Class| rule.auxiliary.iter().any(|allowed| schema.class(*allowed).is_a(class.id));
    let mut auxiliary = classes.iter().filter(|class| class.kind == ClassKind::Auxiliary);
    match auxiliary.find(|class| !is_allowed(class)) {
        Some(class) => fail(format!("objectClass: its auxiliary classes do not have {}", class.name)),
        None => Ok(()),
    }
}

/// The type itself counts, with whatever options, and none below it (RFC 4512 section 2.5.3).
fn required(schema: &Schema, draft: &Draft<'_>, classes: &[&Class]) -> Result<()> {
    for class in classes {
        if let Some(missing) = class.must.iter().find(|id| !draft.has(**id)) {
            let name = &schema.attribute(*missing).name;
            return Err(violation(
                ResultCode::OBJECT_CLASS_VIOLATION,
                format!("object class {} requires attribute {name} (RFC 4512 2.4.1)", class.name),
            ));
        }
    }
    Ok(())
}

/// That classes, or their content rule, allow an attribute: operational ones need no leave. The type itself counts, with
/// whatever options, and none above it (RFC 4512 section 2.5.3).
pub(crate) fn allowed(schema: &Schema, classes: &[&Class], rule: Option<&ContentRule>, id: AttributeId) -> Result<()> {
    let attribute = schema.attribute(id);
    // Every class is below `top`, which allows objectClass, whether its description says so or not (RFC 4512 section 2.4).
    if attribute.is_operational() || id == schema.known().object_class {
        return Ok(());
    }
    if rule.is_some_and(|rule| rule.allows(id)) || classes.iter().any(|class| class.allows(schema, id)) {
        return Ok(());
    }
    let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    let text =
        format!("{}: none of the object classes {} allows it (RFC 4512 2.4.1)", attribute.name, names.join(", "));
    Err(violation(ResultCode::OBJECT_CLASS_VIOLATION, text))
}

/// That a user may change an attribute.
pub(crate) fn modifiable(attribute: &Attribute) -> Result<()> {
    if !attribute.no_user_modification {
        return Ok(());
    }
    let text = format!("{}: NO-USER-MODIFICATION, the directory sets it itself", attribute.name);
    Err(violation(ResultCode::CONSTRAINT_VIOLATION, text))
}

/// That a value is of the attribute's syntax.
pub(crate) fn value(attribute: &Attribute, description: &str, n: usize, value: &[u8]) -> Result<()> {
    let Some(syntax) = attribute.syntax else { return Ok(()) };
    syntax.check(value).map_err(|error| {
        let text = format!("{description}, value {n}: it is not of the syntax {:?}: {error}", syntax.name);
        violation(ResultCode::INVALID_ATTRIBUTE_SYNTAX, text)
    })
}

/// As [`value`], and the form in which it is compared. Of a name with a type that the schema does not have, or with
/// a value that is none of its type, there is none, so that is no value.
pub(crate) fn compared(
    schema: &Schema,
    attribute: &Attribute,
    description: &str,
    n: usize,
    bytes: &[u8],
) -> Result<Vec<u8>> {
    value(attribute, description, n, bytes)?;
    let Some(rule) = attribute.equality.filter(|rule| rule.asks_about_names()) else {
        return Ok(form(schema, attribute.equality, bytes));
    };
    let mut normalized = Vec::with_capacity(bytes.len());
    match names::judged_value(schema, rule, bytes, &mut normalized) {
        Ok(()) => Ok(normalized),
        Err(error) => {
            let text = format!("{description}, value {n}: {error}");
            Err(violation(ResultCode::INVALID_ATTRIBUTE_SYNTAX, text))
        }
    }
}

/// That an attribute has values of its syntax, one only if that is all it may have, and none twice.
pub(crate) fn values(schema: &Schema, attribute: &DraftAttribute<'_>) -> Result<()> {
    let (kind, description) = (schema.attribute(attribute.id), attribute.description());
    let (mut values, count) = ((1..).zip(attribute.values()), attribute.count());
    // The form of one is of no use, unless to know whether there is any.
    if count == 1 && !kind.equality.is_some_and(Rule::asks_about_names) {
        return values.try_for_each(|(n, bytes)| value(kind, description, n, bytes));
    }
    let forms = values.map(|(n, bytes)| compared(schema, kind, description, n, bytes)).collect::<Result<Vec<_>>>()?;
    single(kind, count)?;
    distinct(description, forms.iter().map(Vec::as_slice))
}

/// That an attribute with one value has one.
pub(crate) fn single(kind: &Attribute, count: usize) -> Result<()> {
    if !kind.single_value || count <= 1 {
        return Ok(());
    }
    let text = format!("{}: SINGLE-VALUE, and it would have {count} values", kind.name);
    Err(violation(ResultCode::CONSTRAINT_VIOLATION, text))
}

/// That no value is there twice, given their normalized forms.
pub(crate) fn distinct<'f>(description: &str, forms: impl ExactSizeIterator<Item = &'f [u8]>) -> Result<()> {
    let mut seen = std::collections::HashMap::with_capacity(forms.len());
    for (n, form) in (1..).zip(forms) {
        if let Some(first) = seen.insert(form, n) {
            return Err(is_the_same(description, n, first));
        }
    }
    Ok(())
}

/// That a value is there twice.
pub(crate) fn is_the_same(description: &str, n: usize, first: usize) -> Failure {
    let text = format!("{description}, value {n}: it is the same as value {first}");
    violation(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, text)
}
