//! Binding descriptions to each other and to numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use duramen_ldap::matching::{RULES, Rule, RuleKind};
use duramen_ldap::schema::{
    self as text, AttributeType, AttributeUsage, ClassKind, Definition, DitContentRule, DitStructureRule, Located,
    NameForm, ObjectClass,
};

use super::class::GLUE;
use super::matching::Vocabulary;
use super::rules::{self, Rules};
use super::unique::make_unique;
use super::{Attribute, AttributeId, Class, ClassId, Descriptions, EARLIER_TIMES, Schema, WellKnown};

/// Why descriptions do not make a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// A description names something that is not there, or says what cannot be.
    #[error("{file}, line {line}: {name}: {what}")]
    Description {
        /// The file's name.
        file: String,
        /// The line where the description begins, counted from 1.
        line: u32,
        /// What is described.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// The program itself needs this attribute type.
    #[error("the schema has no attribute type {0}")]
    Missing(&'static str),
    /// There are too many attribute types.
    #[error("there are more than {} attribute types", AttributeId::END - 1)]
    TooMany,
}

pub(super) fn error<T>(of: &Located<T>, definition: &Definition, what: String) -> BindError {
    BindError::Description { file: of.file.to_string(), line: of.line, name: definition.name().to_string(), what }
}

/// A superior's place in a list of descriptions, behind which its own superiors stand.
fn order<T>(
    items: &[Located<T>],
    definition: impl Fn(&T) -> &Definition,
    superiors: impl Fn(&T) -> Vec<String>,
) -> Result<Vec<usize>, BindError> {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    for (place, of) in items.iter().enumerate() {
        let definition = definition(&of.item);
        for word in definition.names.iter().chain([&definition.oid]) {
            places.insert(word.to_ascii_lowercase(), place);
        }
    }
    let mut done = vec![0u8; items.len()];
    let mut sorted = Vec::with_capacity(items.len());
    // Each is taken twice from the stack: on its way to its superiors, and when they are done.
    let mut stack: Vec<usize> = (0..items.len()).rev().collect();
    while let Some(place) = stack.pop() {
        let of = &items[place];
        if done[place] == 2 {
            continue;
        }
        if done[place] == 1 {
            done[place] = 2;
            sorted.push(place);
            continue;
        }
        done[place] = 1;
        stack.push(place);
        for superior in superiors(&of.item) {
            let Some(&above) = places.get(&superior.to_ascii_lowercase()) else {
                let what = format!("its superior {superior} is not defined: load the file that has it first");
                return Err(error(of, definition(&of.item), what));
            };
            match done[above] {
                0 => stack.push(above),
                1 => {
                    let what = format!("its superior {superior} is a kind of it");
                    return Err(error(of, definition(&of.item), what));
                }
                _ => {}
            }
        }
    }
    Ok(sorted)
}

/// How many schemas were bound.
static BOUND: AtomicU64 = AtomicU64::new(0);

fn as_bytes<T>(names: FxHashMap<String, T>) -> FxHashMap<Vec<u8>, T> {
    names.into_iter().map(|(name, of)| (name.into_bytes(), of)).collect()
}

impl Schema {
    /// Binds descriptions. `number` gives each attribute type, by its OID, the number that it has for ever.
    pub(crate) fn bind(
        mut source: text::Schema,
        mut number: impl FnMut(&str) -> Option<u16>,
    ) -> Result<Schema, BindError> {
        make_unique(&mut source)?;
        let mut binder = Binder { vocabulary: Vocabulary::new(&source)?, ..Binder::default() };
        let types = order(&source.attribute_types, |a| &a.definition, |a| a.superior.iter().cloned().collect())?;
        for place in types {
            let of = &source.attribute_types[place];
            let id = number(&of.item.definition.oid).filter(|&id| id < AttributeId::END).ok_or(BindError::TooMany)?;
            binder.attribute(of, AttributeId(id))?;
        }
        for place in order(&source.object_classes, |c| &c.definition, |c| c.superiors.clone())? {
            binder.class(&source.object_classes[place])?;
        }
        for (name, id) in &binder.class_names {
            for above in binder.classes[usize::from(id.0)].lineage.clone() {
                binder.classes[usize::from(above.0)].kinds.push(name.clone());
            }
        }
        let rules = binder.rules(&source)?;
        for rule in &RULES {
            binder.oids.entry(rule.name.to_ascii_lowercase()).or_insert_with(|| rule.oid.to_string());
        }
        let known = WellKnown::find(|name| binder.attribute_names.get(&name.to_ascii_lowercase()).copied());
        let operational = binder.attributes.iter().flatten().filter(|attribute| attribute.is_operational());
        let mut schema = Schema {
            number: BOUND.fetch_add(1, Ordering::Relaxed),
            known: known.map_err(BindError::Missing)?,
            operational: operational.map(|attribute| attribute.id).collect(),
            attributes: binder.attributes,
            attribute_names: as_bytes(binder.attribute_names),
            classes: binder.classes,
            class_names: as_bytes(binder.class_names),
            oids: as_bytes(binder.oids),
            rules,
            descriptions: Descriptions::default(),
        };
        schema.descriptions = Descriptions::new(&schema, &source);
        Ok(schema)
    }
}

#[derive(Default)]
struct Binder {
    vocabulary: Vocabulary,
    attributes: Vec<Option<Attribute>>,
    attribute_names: FxHashMap<String, AttributeId>,
    classes: Vec<Class>,
    class_names: FxHashMap<String, ClassId>,
    oids: FxHashMap<String, String>,
}

impl Binder {
    fn names(&mut self, definition: &Definition, mut each: impl FnMut(&mut Binder, String)) {
        for word in definition.names.iter().chain([&definition.oid]) {
            let lower = word.to_ascii_lowercase();
            self.oids.insert(lower.clone(), definition.oid.clone());
            each(self, lower);
        }
    }

    fn attribute(&mut self, of: &Located<AttributeType>, id: AttributeId) -> Result<(), BindError> {
        let item = &of.item;
        check_names(of, &item.definition)?;
        let above = item.superior.as_ref().map(|word| self.attribute_names[&word.to_ascii_lowercase()]);
        let above_type = above.and_then(|id| self.attributes[usize::from(id.0)].as_ref());
        let syntax = match &item.syntax {
            Some(oid) => self.vocabulary.syntax(of, oid)?,
            None if above_type.is_none() => {
                return Err(error(of, &item.definition, "it has neither SYNTAX nor SUP".to_string()));
            }
            None => above_type.and_then(|above| above.syntax),
        };
        check_usage(of)?;
        let own = |word: Option<&String>, kind, inherited: fn(&Attribute) -> Option<&'static Rule>| match word {
            Some(word) => self.vocabulary.rule(of, word, kind, syntax),
            None => Ok(above_type.and_then(inherited)),
        };
        let attribute = Attribute {
            id,
            oid: item.definition.oid.clone(),
            name: item.definition.name().to_string(),
            key: item.definition.name().to_ascii_lowercase(),
            superior: above,
            family: vec![id],
            syntax,
            equality: own(item.equality.as_ref(), RuleKind::Equality, |above| above.equality)?,
            ordering: own(item.ordering.as_ref(), RuleKind::Ordering, |above| above.ordering)?,
            substrings: own(item.substrings.as_ref(), RuleKind::Substrings, |above| above.substrings)?,
            single_value: item.single_value,
            no_user_modification: item.no_user_modification,
            usage: item.usage,
        };
        let mut ancestor = above;
        while let Some(id_above) = ancestor {
            let found = self.attributes[usize::from(id_above.0)].as_mut().expect("superiors are bound first");
            found.family.push(id);
            ancestor = found.superior;
        }
        let place = usize::from(id.0);
        if self.attributes.len() <= place {
            self.attributes.resize_with(place + 1, || None);
        }
        self.attributes[place] = Some(attribute);
        self.names(&item.definition, |binder, lower| {
            binder.attribute_names.insert(lower, id);
        });
        Ok(())
    }

    fn class(&mut self, of: &Located<ObjectClass>) -> Result<(), BindError> {
        let item = &of.item;
        let id = ClassId(u16::try_from(self.classes.len()).map_err(|_| BindError::TooMany)?);
        let definition = &item.definition;
        check_names(of, definition)?;
        let (mut must, mut may) = (self.list(of, definition, &item.must)?, self.list(of, definition, &item.may)?);
        let mut lineage = vec![id];
        for superior in &item.superiors {
            let above = &self.classes[usize::from(self.class_names[&superior.to_ascii_lowercase()].0)];
            // RFC 4512 sections 2.4.1 to 2.4.3.
            if above.kind != ClassKind::Abstract && above.kind != item.kind {
                let (kind, other) = (item.kind.name(), above.kind.name());
                return Err(error(of, definition, format!("it is {kind}, and its superior {superior} is {other}")));
            }
            must.extend(&above.must);
            may.extend(&above.may);
            lineage.extend(&above.lineage);
        }
        for list in [&mut must, &mut may] {
            list.sort_unstable();
            list.dedup();
        }
        lineage.sort_unstable();
        lineage.dedup();
        let above = || lineage.iter().filter_map(|above| self.classes.get(usize::from(above.0)));
        let is_kind = |name| item.definition.name() == name || above().any(|above| above.name == name);
        let class = Class {
            id,
            oid: item.definition.oid.clone(),
            name: item.definition.name().to_string(),
            kind: item.kind,
            listed: must.iter().chain(&may).copied().collect(),
            must,
            may,
            is_extensible: item.definition.is("extensibleObject"),
            is_glue: item.definition.oid == GLUE,
            is_alias: is_kind("alias"),
            is_referral: is_kind("referral"),
            is_subentry: is_kind("subentry"),
            lineage,
            kinds: Vec::new(),
        };
        self.classes.push(class);
        self.names(&item.definition, |binder, lower| {
            binder.class_names.insert(lower, id);
        });
        Ok(())
    }

    fn list<T>(
        &self,
        of: &Located<T>,
        definition: &Definition,
        words: &[String],
    ) -> Result<Vec<AttributeId>, BindError> {
        let find = |word: &String| {
            self.attribute_names.get(&word.to_ascii_lowercase()).copied().ok_or_else(|| {
                let what = format!("its attribute type {word} is not defined: load the file that has it first");
                error(of, definition, what)
            })
        };
        words.iter().map(find).collect()
    }

    /// The rules that are in force: obsolete ones are not (RFC 4512 sections 4.1.6 and 4.1.7).
    fn rules(&self, source: &text::Schema) -> Result<Rules, BindError> {
        let mut rules = Rules::default();
        let mut of_classes: FxHashMap<ClassId, &Located<DitContentRule>> = FxHashMap::default();
        for of in source.content_rules.iter().filter(|of| !of.item.definition.obsolete) {
            let (class, rule) = self.content_rule(of)?;
            if let Some(before) = of_classes.insert(class, of) {
                let what = format!("there is a content rule for its class already: {}", before.place());
                return Err(error(of, &of.item.definition, what));
            }
            rules.contents.insert(class, rule);
        }
        let forms: Vec<_> = source.name_forms.iter().filter(|of| !of.item.definition.obsolete).collect();
        rules.forms = forms.iter().map(|of| self.name_form(of)).collect::<Result<_, _>>()?;
        let active: Vec<_> = source.structure_rules.iter().filter(|of| !of.item.definition.obsolete).collect();
        rules.structures = active.iter().map(|of| structure_rule(of, &forms, &active)).collect::<Result<_, _>>()?;
        Ok(rules)
    }

    fn content_rule(&self, of: &Located<DitContentRule>) -> Result<(ClassId, rules::ContentRule), BindError> {
        let (item, definition) = (&of.item, &of.item.definition);
        let class = self.class_of(of, definition, &definition.oid, ClassKind::Structural)?;
        let auxiliary = item.auxiliary.iter();
        let rule = rules::ContentRule {
            name: definition.name().to_string(),
            auxiliary: auxiliary
                .map(|word| self.class_of(of, definition, word, ClassKind::Auxiliary))
                .collect::<Result<_, _>>()?,
            must: self.list(of, definition, &item.must)?,
            may: self.list(of, definition, &item.may)?,
            not: self.list(of, definition, &item.not)?,
        };
        let required = self.classes[usize::from(class.0)].must.iter().chain(&rule.must);
        if let Some(both) = required.into_iter().find(|id| rule.not.contains(id)) {
            let name = self.attributes[usize::from(both.0)].as_ref().map_or("", |attribute| &attribute.name);
            return Err(error(of, definition, format!("{name} is required, so NOT cannot name it")));
        }
        Ok((class, rule))
    }

    fn name_form(&self, of: &Located<NameForm>) -> Result<rules::NameForm, BindError> {
        let (item, definition) = (&of.item, &of.item.definition);
        Ok(rules::NameForm {
            name: definition.name().to_string(),
            class: self.class_of(of, definition, &item.class, ClassKind::Structural)?,
            must: self.list(of, definition, &item.must)?,
            may: self.list(of, definition, &item.may)?,
        })
    }

    fn class_of<T>(
        &self,
        of: &Located<T>,
        definition: &Definition,
        word: &str,
        kind: ClassKind,
    ) -> Result<ClassId, BindError> {
        let Some(&id) = self.class_names.get(&word.to_ascii_lowercase()) else {
            let what = format!("its object class {word} is not defined: load the file that has it first");
            return Err(error(of, definition, what));
        };
        match self.classes[usize::from(id.0)].kind == kind {
            true => Ok(id),
            false => Err(error(of, definition, format!("its object class {word} is not {}", kind.name()))),
        }
    }
}

/// That names are such as can stand in requests (RFC 4512 section 1.4); underscores are taken too.
fn check_names<T>(of: &Located<T>, definition: &Definition) -> Result<(), BindError> {
    match definition.names.iter().find(|name| !is_name(name)) {
        Some(name) => {
            let what = format!("its name {name:?} is not a letter and then letters, digits and hyphens");
            Err(error(of, definition, what))
        }
        None => Ok(()),
    }
}

/// That flags go with what the type is for (RFC 4512 section 4.1.2, RFC 3671 section 2.1).
fn check_usage(of: &Located<AttributeType>) -> Result<(), BindError> {
    let item = &of.item;
    let is_operational = item.usage != AttributeUsage::UserApplications;
    let what = if item.no_user_modification && !is_operational {
        "it is NO-USER-MODIFICATION, and its USAGE is not operational"
    } else if item.collective && is_operational {
        "it is COLLECTIVE, and its USAGE is operational"
    } else if item.collective && item.single_value {
        "it is COLLECTIVE and SINGLE-VALUE"
    } else {
        return Ok(());
    };
    if &*of.file == EARLIER_TIMES { Ok(()) } else { Err(error(of, &item.definition, what.to_string())) }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn structure_rule(
    of: &Located<DitStructureRule>,
    forms: &[&Located<NameForm>],
    all: &[&Located<DitStructureRule>],
) -> Result<rules::StructureRule, BindError> {
    let (item, definition) = (&of.item, &of.item.definition);
    let undefined = |what: &str, word: &str| error(of, definition, format!("its {what} {word} is not defined"));
    let form = forms.iter().position(|form| form.item.definition.is(&item.form));
    let above = |word: &String| {
        let place = all.iter().position(|rule| rule.item.definition.oid == *word);
        place.ok_or_else(|| undefined("superior rule", word))
    };
    Ok(rules::StructureRule {
        name: definition.name().to_string(),
        form: form.ok_or_else(|| undefined("name form", &item.form))?,
        superiors: item.superiors.iter().map(above).collect::<Result<_, _>>()?,
    })
}
