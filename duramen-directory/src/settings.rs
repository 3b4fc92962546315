//! What the settings of a configuration mean, each by itself.
//!
//! Owns: which of their values make no sense, and why. Must not know: what a directory keeps, which setting a fault is of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use duramen_ldap::matching::Rule;
use duramen_ldap::schema::{self as text, AttributeType, Builtin, Definition, Description, Located};

use crate::access::{Identity, MONITOR, Origins, Rules, SUBSCHEMA, Whom};
use crate::config::{self, Config, CopyOf, IdentityRule, Index, LimitsFor, SchemaFile, SearchLimits};
use crate::constraint::{Constraint, Reading};
use crate::dynamic::DynamicList;
use crate::error::{ConstraintPart, DynamicListPart, OpenError};
use crate::index::{Indices, Kind};
use crate::names::{self, Suffix};
use crate::policy::{self, Policies};
use crate::requester::Name;
use crate::schema::{Attribute, AttributeId, EARLIER_TIMES, Schema};

const NO_SUCH_TYPE: &str = "the schema has no such attribute type: correct the name, or load the file that has it";

#[derive(Debug)]
pub(crate) struct AdministratorState {
    pub name: Name,
    pub password: Option<String>,
}

/// Number and description of each attribute type that there ever was, by its OID.
pub(crate) type Types = HashMap<String, (u16, String)>;

pub(crate) fn config_error(what: impl Into<String>, why: impl ToString) -> OpenError {
    OpenError::Config { what: what.into(), why: why.to_string() }
}

/// The schema that a new directory would have.
pub(crate) fn chosen_schema(config: &Config) -> Result<Arc<Schema>, OpenError> {
    bind(config.nis_bis, &config.schema, |_| true, Types::new()).map(|(schema, _)| Arc::new(schema))
}

/// Binds the schema that is built in and the files; numbers of types that are new follow those that are there. Types
/// that are in neither any more stay as they were, as entries may have them. Files that are not chosen now, but were once,
/// are told from the others in messages.
pub(crate) fn bind(
    nis_bis: bool,
    files: &[SchemaFile],
    is_chosen: impl Fn(&SchemaFile) -> bool,
    mut types: Types,
) -> Result<(Schema, Types), OpenError> {
    let mut source = text::Schema::default();
    let nis = if nis_bis { Builtin::NisBis } else { Builtin::Nis };
    let always =
        [Builtin::Core, Builtin::Cosine, Builtin::InetOrgPerson, Builtin::PasswordPolicy, Builtin::DynamicGroup];
    for part in always.into_iter().chain([nis]) {
        source.load_builtin(part);
    }
    for file in files {
        let name = if is_chosen(file) { file.name.clone() } else { format!("{} as the directory keeps it", file.name) };
        load_schema(&mut source, &name, &file.text)?;
    }
    // What is new and does not go with them is at fault: so they come first.
    source.attribute_types.splice(0..0, of_earlier_times(&types, &source)?);
    source.attribute_types.iter_mut().for_each(|of| keep_first_name(&types, &mut of.item.definition));
    let mut next = types.values().map(|(number, _)| number + 1).max().unwrap_or(1);
    for of in &source.attribute_types {
        let description = of.item.to_string();
        let entry = types.entry(of.item.definition.oid.clone()).or_insert_with(|| {
            next += 1;
            (next - 1, String::new())
        });
        entry.1 = description;
    }
    let number = |oid: &str| types.get(oid).map(|(number, _)| *number);
    let schema = Schema::bind(source, number).map_err(|error| OpenError::Schema(error.to_string()))?;
    Ok((schema, types))
}

/// Leaves first the name that came first when the type was described before, wherever it stands now: names of entries are
/// kept with it.
fn keep_first_name(types: &Types, definition: &mut Definition) {
    let Some((_, description)) = types.get(&definition.oid) else { return };
    let Ok(before) = AttributeType::parse(description) else { return };
    let first = before.definition.name();
    if let Some(place) = definition.names.iter().position(|name| name.eq_ignore_ascii_case(first)) {
        definition.names[..=place].rotate_right(1);
    }
}

fn load_schema(source: &mut text::Schema, name: &str, text: &str) -> Result<(), OpenError> {
    source.load(name, text).map_err(|error| OpenError::Schema(error.to_string()))
}

/// Types that nothing describes any more.
fn of_earlier_times(types: &Types, now: &text::Schema) -> Result<Vec<Located<AttributeType>>, OpenError> {
    let described: HashSet<&str> = now.attribute_types.iter().map(|of| of.item.definition.oid.as_str()).collect();
    let mut gone: Vec<&(u16, String)> =
        types.iter().filter(|(oid, _)| !described.contains(oid.as_str())).map(|(_, kept)| kept).collect();
    gone.sort();
    let mut earlier = text::Schema::default();
    for (_, description) in gone {
        load_schema(&mut earlier, EARLIER_TIMES, &format!("attributetype {description}"))?;
    }
    Ok(earlier.attribute_types)
}

/// A suffix of which the directory is a copy.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    pub suffix: Suffix,
    /// URLs of servers that take changes of it.
    pub referrals: Vec<String>,
}

/// A copy of one of these suffixes, beside other copies.
///
/// # Errors
/// One of something else, as what is above a part, and beside it, would be nobody's; one of what another is of.
pub(crate) fn copy(
    schema: &Schema,
    (suffixes, others): (&[Suffix], &[Copied]),
    copy: &CopyOf,
) -> Result<Copied, OpenError> {
    let fault = |why: String| config_error(format!("copy of {:?}", copy.suffix), why);
    let normalized = names::normalize(schema, &copy.suffix).map_err(|failure| fault(failure.diagnostic))?;
    let suffix = suffixes.iter().find(|suffix| suffix.normalized == normalized).cloned();
    let suffix = suffix.ok_or_else(|| fault("it is none of the suffixes, and only a whole one is copied".into()))?;
    if others.iter().any(|other| other.suffix == suffix) {
        return Err(fault("it is named twice: leave one out".into()));
    }
    Ok(Copied { suffix, referrals: copy.referrals.clone() })
}

/// The number of this server among those that change copies together.
///
/// # Errors
/// One that is none, or where it is not kept what has changed.
pub(crate) fn member(config: &Config, history: u32) -> Result<Option<u16>, OpenError> {
    let fault = |why: &str| Err(config_error("number of this server", why));
    match config.member {
        None => Ok(None),
        Some(1..=4095) if history > 0 => Ok(config.member),
        Some(1..=4095) => fault("who takes changes together with others has to keep what has changed, and keeps none"),
        Some(_) => fault("it is 1 to 4095"),
    }
}

/// All copies, none of which has a fault.
pub(crate) fn copies(schema: &Schema, suffixes: &[Suffix], config: &Config) -> Result<Vec<Copied>, OpenError> {
    config.copies.iter().flatten().try_fold(Vec::new(), |mut copies, one| {
        copies.push(copy(schema, (suffixes, &copies), one)?);
        Ok(copies)
    })
}

/// The suffixes of a text with one in each line.
pub(crate) fn suffixes(schema: &Schema, text: &str) -> Result<Vec<Suffix>, OpenError> {
    let mut suffixes: Vec<Suffix> = Vec::new();
    for text in text.lines() {
        let suffix = suffix(schema, &suffixes, text)?;
        suffixes.push(suffix);
    }
    Ok(suffixes)
}

/// A suffix beside others.
///
/// # Errors
/// One that is no name, or below another: nobody who looks for what the latter has would find what is there.
pub(crate) fn suffix(schema: &Schema, others: &[Suffix], text: &str) -> Result<Suffix, OpenError> {
    no_root(text)?;
    let fault = |text: &str, why: String| Err(config_error(format!("suffix {text:?}"), why));
    let normalized = match names::normalize(schema, text) {
        Ok(normalized) => normalized,
        Err(failure) => return fault(text, format!("{}: write one like dc=example,dc=com", failure.diagnostic)),
    };
    let is_below = |below: &str, above: &str| names::below_suffix(below, above).is_some();
    if let Some(made_up) = [SUBSCHEMA, MONITOR].iter().find(|made_up| is_below(&normalized, made_up)) {
        return fault(
            text,
            format!("{made_up} is made up by the directory, and searches find nothing else there: choose another"),
        );
    }
    for other in others {
        if is_below(&normalized, &other.normalized) {
            return fault(text, format!("{:?} has it already: leave it out", other.text));
        } else if is_below(&other.normalized, &normalized) {
            return fault(&other.text, format!("{text:?} has it already: leave it out"));
        }
    }
    Ok(Suffix { text: text.to_string(), normalized })
}

pub(crate) fn no_root(suffix: &str) -> Result<(), OpenError> {
    if !suffix.is_empty() {
        return Ok(());
    }
    Err(config_error("suffixes", "the empty name is the root's: give names below it, like dc=com"))
}

/// The attribute and the kinds of an index that is asked for.
pub(crate) fn asked_index(schema: &Schema, index: &Index) -> Result<(AttributeId, u8), OpenError> {
    let fault = |why| config_error(format!("index of {}", index.attribute), why);
    let attribute = schema.find(&index.attribute).ok_or_else(|| fault(NO_SUCH_TYPE))?;
    Ok((attribute.id, fitting(schema, attribute, index.kinds.to_bits()).map_err(fault)?))
}

/// The kinds that are asked for, if the attribute can have them by its rules. What is made when an entry is read has none,
/// whatever is asked for: other indices serve it.
fn fitting(schema: &Schema, attribute: &Attribute, kinds: u8) -> Result<u8, &'static str> {
    use crate::index::bits;
    if schema.known().is_derived(attribute.id) {
        return Ok(0);
    }
    if kinds & bits::EQUALITY != 0 && attribute.equality.is_none() {
        return Err("the type has no rule for equality: leave \"equality\" out");
    }
    if kinds & bits::SUBSTRING != 0 && attribute.substrings.is_none() {
        return Err("the type has no rule for substrings: leave \"substring\" out");
    }
    if kinds & bits::SUBSTRING != 0 && crate::large::may_be(attribute) {
        return Err("groups may have very many values of it, so there is none of substrings: leave \"substring\" out");
    }
    Ok(kinds)
}

/// The administrator, if there is one.
pub(crate) fn administrator(schema: &Schema, config: &Config) -> Result<Option<AdministratorState>, OpenError> {
    let Some(chosen) = &config.administrator else { return Ok(None) };
    match names::both(schema, &chosen.name) {
        // As nobody everybody can act.
        Ok(name) if name.is_empty() => {
            let why = "the empty name is nobody's: write one like cn=admin,dc=example,dc=com";
            Err(config_error("administrator", why))
        }
        Ok(name) => Ok(Some(AdministratorState { name, password: chosen.password.clone() })),
        Err(failure) => {
            let why = format!("{}: write one like cn=admin,dc=example,dc=com", failure.diagnostic);
            Err(config_error("administrator", why))
        }
    }
}

/// The password policies that are in force.
pub(crate) fn policies(schema: &Schema, config: &Config) -> Result<Option<Policies>, OpenError> {
    let Some(chosen) = &config.password_policies else { return Ok(None) };
    let fault = |why: &str| config_error("password_policies", why);
    let default = chosen.default.as_deref().map(|name| match names::both(schema, name) {
        Ok(name) if name.is_empty() => {
            Err(fault("the empty name is no entry's: write one like cn=default,ou=policies,dc=example,dc=com"))
        }
        Ok(name) => Ok(name),
        Err(failure) => Err(fault(&failure.diagnostic)),
    });
    let types =
        policy::Types::of(schema).ok_or_else(|| fault("the schema does not have the attribute types of policies"))?;
    Ok(Some(Policies::new(default.transpose()?, chosen.tells_locked, types)))
}

/// The access rules that are chosen, or the standard ones.
pub(crate) fn rules(schema: &Arc<Schema>, suffixes: &[Suffix], config: &Config) -> Result<Arc<Rules>, OpenError> {
    let Some(file) = &config.access else { return Ok(Rules::standard(schema)) };
    let names: Vec<String> = suffixes.iter().map(|suffix| suffix.normalized.clone()).collect();
    let parsed = Rules::parse(&file.name, &file.text, &names, schema);
    let rules = parsed.map_err(|error| OpenError::Access(error.to_string()))?;
    if rules.is_empty() {
        // They would hide everything from everybody but the administrator.
        let cure = "write one like 'access to * by * read', or choose none, so that the standard ones hold";
        return Err(OpenError::Access(format!("{}: there is no access rule in it: {cure}", file.name)));
    }
    Ok(Arc::new(rules))
}

/// The entries that the access rules are of, if there are several to choose from.
pub(crate) fn access_origins(config: &Config) -> Result<Origins, OpenError> {
    let schema = chosen_schema(config)?;
    let suffixes = suffixes(&schema, &config.suffixes.join("\n"))?;
    Ok(rules(&schema, &suffixes, config)?.origins())
}

/// Whom a name of a mechanism stands for.
pub(crate) fn identity(rule: &IdentityRule) -> Result<Identity, OpenError> {
    Identity::parse(&rule.matches, &rule.name).map_err(|error| config_error("identity", error))
}

/// What values of some attributes have to be like; a fault comes with the part that has it.
pub(crate) fn constraint(
    schema: &Arc<Schema>,
    suffixes: &[Suffix],
    config: &Config,
    chosen: &config::Constraint,
) -> Result<Constraint, (ConstraintPart, OpenError)> {
    let fault = |(part, why)| (part, config_error(format!("constraint of {}", chosen.attributes.join(", ")), why));
    Constraint::parse(schema, suffixes, chosen, config.limits.filter_depth).map_err(fault)
}

/// Entries that show what their URLs find; a fault comes with the part that has it.
pub(crate) fn dynamic_list(
    schema: &Arc<Schema>,
    suffixes: &[Suffix],
    config: &Config,
    chosen: &config::DynamicList,
) -> Result<DynamicList, (DynamicListPart, OpenError)> {
    let fault = |(part, why)| (part, config_error(format!("dynamic list of {}", chosen.class), why));
    let reading = Reading { schema, suffixes, depth_max: config.limits.filter_depth };
    DynamicList::parse(&reading, chosen).map_err(fault)
}

/// Limits of searches, and whom they are for.
pub(crate) fn limits_for(schema: &Arc<Schema>, chosen: &LimitsFor) -> Result<(Whom, SearchLimits), OpenError> {
    let whom = Whom::parse("who", &chosen.who, schema).map_err(|error| config_error("limits.for", error))?;
    Ok((whom, chosen.search))
}

/// An attribute whose values follow the entries that they name: these are found by its index.
pub(crate) fn reference(schema: &Schema, ready: &Indices, name: &str) -> Result<AttributeId, OpenError> {
    let are_names = |attribute: &Attribute| attribute.equality.is_some_and(Rule::asks_about_names);
    found_by_index(schema, ready, name, "references", |attribute| {
        if are_names(attribute) { Ok(()) } else { Err("its values are not names of entries: leave it out") }
    })
}

/// An attribute of which no two entries have one value: whether one has it already, its index says.
pub(crate) fn unique(schema: &Schema, ready: &Indices, name: &str) -> Result<AttributeId, OpenError> {
    found_by_index(schema, ready, name, "unique", |attribute| {
        if attribute.equality.is_none() {
            Err("it has no rule for equality: leave it out")
        } else if crate::large::may_be(attribute) {
            Err("groups may have very many values of it: leave it out")
        } else {
            Ok(())
        }
    })
}

/// An attribute that a setting names, and whose index tells which entries have a value.
fn found_by_index(
    schema: &Schema,
    ready: &Indices,
    name: &str,
    setting: &str,
    suits: impl Fn(&Attribute) -> Result<(), &'static str>,
) -> Result<AttributeId, OpenError> {
    let fault = |why: &str| config_error(format!("{setting}: {name:?}"), why);
    let attribute = schema.find(name).ok_or_else(|| fault(NO_SUCH_TYPE))?;
    suits(attribute).map_err(fault)?;
    if schema.known().is_derived(attribute.id) {
        return Err(fault("the directory makes its values itself: leave it out"));
    }
    if !ready.has_kind(attribute.id, Kind::Equality as u8) {
        let why = "it has no index of equality that is complete: add one, build it by `duramen directory reindex`, and then name it";
        return Err(fault(why));
    }
    Ok(attribute.id)
}
