//! What is made of a configuration and of what a directory keeps about itself, when it is opened or reconfigured.
//!
//! Owns: [`State`]. Must not know: entries.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use duramen::{Database, Table, WriteTxn};
use duramen_ldap::matching::Rule;
use duramen_ldap::schema::{self as text, AttributeType, Builtin, Definition, Description, Located};

use crate::access::{Identity, Rules, Whom};
use crate::altered;
use crate::clock::Moment;
use crate::config::{Config, IdentityRule, Index, Limits, LimitsFor, SchemaFile, SearchLimits};
use crate::entry::Entry;
use crate::error::OpenError;
use crate::faults;
use crate::index::{Indices, Kind};
use crate::meta;
use crate::names::{self, Suffix};
use crate::requester::Name;
use crate::schema::{Attribute, AttributeId, EARLIER_TIMES, Schema};
use crate::tables::{ALL, ENTRY, META, NAME};

/// What holds until the next reconfiguration.
#[derive(Debug)]
pub(crate) struct State {
    /// When it was made: the schema is not older.
    pub since: Moment,
    pub schema: Arc<Schema>,
    pub suffixes: Vec<Suffix>,
    /// Indices that are complete: searches use them.
    pub ready: Indices,
    /// Indices that updates keep: complete ones, and those that are being built.
    pub kept: Indices,
    /// Indices that were asked for and are not complete.
    pub wanted: Vec<(AttributeId, u8)>,
    pub rules: Arc<Rules>,
    pub administrator: Option<AdministratorState>,
    pub identities: Vec<Identity>,
    pub limits: Limits,
    /// Those of searches for some.
    pub limits_for: Vec<(Whom, SearchLimits)>,
    pub referrals: Vec<String>,
    pub nested_groups: bool,
    /// Attributes whose values follow the entries that they name.
    pub references: Vec<AttributeId>,
    /// Attributes of which no two entries have one value.
    pub unique: Vec<AttributeId>,
}

#[derive(Debug)]
pub(crate) struct AdministratorState {
    pub name: Name,
    pub password: Option<String>,
}

/// Number and description of each attribute type that there ever was, by its OID.
type Types = HashMap<String, (u16, String)>;

/// What a directory keeps about itself.
#[derive(Default)]
struct Kept {
    format: Option<String>,
    suffixes: Option<String>,
    nis: Option<String>,
    files: Vec<SchemaFile>,
    types: Types,
    indices: Vec<(String, Vec<u8>)>,
    import: bool,
}

impl Kept {
    fn read(meta: &Table<'_>) -> duramen::Result<Kept> {
        let known = |bytes: &[u8]| {
            let (number, description) = bytes.split_first_chunk::<2>()?;
            Some((u16::from_be_bytes(*number), String::from_utf8_lossy(description).into_owned()))
        };
        let types = meta::all(meta, meta::TYPE)?;
        Ok(Kept {
            format: meta::text(meta, meta::FORMAT)?,
            suffixes: meta::text(meta, meta::SUFFIXES)?,
            nis: meta::text(meta, meta::NIS)?,
            files: meta::schema_files(meta)?,
            types: types.into_iter().filter_map(|(oid, bytes)| Some((oid, known(&bytes)?))).collect(),
            indices: meta::all(meta, meta::INDEX)?,
            import: meta.contains_key(meta::IMPORT)?,
        })
    }

    fn nis_bis(&self) -> bool {
        self.nis.as_deref() == Some("rfc2307bis")
    }
}

/// Reads what is kept, brings it to what the configuration says, and makes a state of both.
pub(crate) fn load(db: &Database, config: &Config, now: Moment) -> Result<State, OpenError> {
    if config.read_only {
        let snapshot = db.read()?;
        let kept = Kept::read(&snapshot.table(META)?)?;
        return Merged::new(kept, config)?.fitting(&snapshot.table(NAME)?, &snapshot.table(ENTRY)?, config, now);
    }
    let mut txn = db.begin_write()?;
    let state = renew(&mut txn, config, now)?;
    txn.commit()?;
    Ok(state)
}

/// Whether a configuration goes with what is kept, but for entries.
pub(crate) fn check(db: &Database, config: &Config) -> Result<(), OpenError> {
    Merged::new(Kept::read(&db.read()?.table(META)?)?, config).map(drop)
}

/// As [`load`], as a part of a transaction.
pub(crate) fn renew(txn: &mut WriteTxn<'_>, config: &Config, now: Moment) -> Result<State, OpenError> {
    for name in ALL {
        txn.table(name)?;
    }
    let id = txn.open_table(META, None)?;
    let kept = Kept::read(&txn.view(id)?)?;
    let merged = Merged::new(kept, config)?;
    // Nothing of it is kept if it has faults: tools take it as it is, and so does who opens it without a configuration.
    merged.write(txn)?;
    let (names, entries) = (txn.open_table(NAME, None)?, txn.open_table(ENTRY, None)?);
    merged.fitting(&txn.view(names)?, &txn.view(entries)?, config, now)
}

/// What was kept and what was asked for, together.
struct Merged {
    suffixes: String,
    nis_bis: bool,
    files: Vec<SchemaFile>,
    types: Types,
    schema: Arc<Schema>,
    /// What held until now, if `schema` takes its place.
    before: Option<Schema>,
    /// Complete kinds, and kinds wanted, by attribute.
    indices: Vec<(AttributeId, u8, u8)>,
}

fn config_error(what: impl Into<String>, why: impl ToString) -> OpenError {
    OpenError::Config { what: what.into(), why: why.to_string() }
}

impl Merged {
    fn new(kept: Kept, config: &Config) -> Result<Merged, OpenError> {
        check_format(kept.format.as_deref())?;
        if kept.import {
            let why = "an import into it did not end: remove the folder, and import again";
            return Err(config_error("data directory", why));
        }
        let is_new = kept.format.is_none();
        config.suffixes.iter().try_for_each(|text| no_root(text))?;
        let suffixes = match (config.suffixes.is_empty(), kept.suffixes.clone()) {
            (true, None) => {
                return Err(config_error("suffixes", "a new directory needs one: --suffix dc=example,dc=com"));
            }
            (true, Some(kept)) => kept,
            (false, _) => config.suffixes.join("\n"),
        };
        let nis_bis = config.nis_bis || kept.nis_bis();
        let mut files = kept.files.clone();
        for file in &config.schema {
            files.retain(|kept| kept.name != file.name);
            files.push(file.clone());
        }
        let before = previous(&kept, nis_bis, &files);
        let is_chosen = |file: &SchemaFile| config.schema.iter().any(|chosen| chosen.name == file.name);
        let (schema, types) = bind(nis_bis, &files, is_chosen, kept.types)?;
        let schema = Arc::new(schema);
        let texts: Vec<String> = suffixes.lines().map(str::to_owned).collect();
        let mut faults = faults::of_schema(&schema, &texts, config);
        let is_right = |index: &&Index| asked_index(&schema, index).is_ok();
        let asked = config.indices.as_ref().map(|all| all.iter().filter(is_right).cloned().collect());
        let mut indices = indices(&schema, asked, &kept.indices, is_new)?;
        if let Some(before) = &before {
            indices.iter_mut().for_each(|(id, ready, _)| *ready &= !altered::kinds(before, &schema, *id));
        }
        faults.extend(faults::of_indices(&schema, &ready(&indices), config));
        if !faults.is_empty() {
            return Err(OpenError::Settings(faults));
        }
        Ok(Merged { suffixes, nis_bis, files, types, schema, before, indices })
    }

    fn write(&self, txn: &mut WriteTxn<'_>) -> duramen::Result<()> {
        meta::put(txn, meta::FORMAT, meta::FORMAT_VERSION.to_string().as_bytes())?;
        meta::put(txn, meta::SUFFIXES, self.suffixes.as_bytes())?;
        meta::put(txn, meta::NIS, if self.nis_bis { b"rfc2307bis" } else { b"nis" })?;
        let order: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        meta::put(txn, meta::ORDER, order.join("\n").as_bytes())?;
        for file in &self.files {
            meta::put(txn, &format!("{}{}", meta::SCHEMA, file.name), file.text.as_bytes())?;
        }
        for (oid, (number, description)) in &self.types {
            let value = [&number.to_be_bytes()[..], description.as_bytes()].concat();
            meta::put(txn, &format!("{}{oid}", meta::TYPE), &value)?;
        }
        for &(id, ready, wanted) in &self.indices {
            write_index(txn, &self.schema, id, ready, wanted)?;
        }
        Ok(())
    }

    /// The state, if it goes with what is stored.
    fn fitting(
        self,
        names: &Table<'_>,
        entries: &Table<'_>,
        config: &Config,
        since: Moment,
    ) -> Result<State, OpenError> {
        if let Some(before) = &self.before {
            altered::check(before, &self.schema, entries)?;
        }
        let state = self.state(config, since)?;
        if !config.suffixes.is_empty() {
            keep_suffixes(&state.suffixes, names, entries)?;
        }
        Ok(state)
    }

    fn state(self, config: &Config, since: Moment) -> Result<State, OpenError> {
        let schema = self.schema;
        let suffixes = suffixes(&schema, &self.suffixes)?;
        let ready = ready(&self.indices);
        let (mut kept, mut wanted) = (Indices::default(), Vec::new());
        for &(id, complete, asked) in &self.indices {
            kept.set(id, asked);
            if asked & !complete != 0 {
                wanted.push((id, asked & !complete));
            }
        }
        let administrator = administrator(&schema, config)?;
        let (limits, referrals) = (config.limits.clone(), config.referrals.clone());
        let rules = rules(&schema, &suffixes, config)?;
        let limits_for = config.limits_for.iter().map(|one| limits_for(&schema, one)).collect::<Result<_, _>>()?;
        let identities = config.identities.iter().map(identity).collect::<Result<_, _>>()?;
        let nested_groups = config.nested_groups;
        let references =
            config.references.iter().map(|name| reference(&schema, &ready, name)).collect::<Result<_, _>>()?;
        let unique = config.unique.iter().map(|name| unique(&schema, &ready, name)).collect::<Result<_, _>>()?;
        Ok(State {
            since,
            schema,
            suffixes,
            ready,
            kept,
            wanted,
            rules,
            administrator,
            identities,
            limits,
            limits_for,
            referrals,
            nested_groups,
            references,
            unique,
        })
    }
}

/// The schema that a new directory would have.
pub(crate) fn chosen_schema(config: &Config) -> Result<Arc<Schema>, OpenError> {
    bind(config.nis_bis, &config.schema, |_| true, Types::new()).map(|(schema, _)| Arc::new(schema))
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

/// The access rules that are chosen, or the standard ones.
pub(crate) fn rules(schema: &Arc<Schema>, suffixes: &[Suffix], config: &Config) -> Result<Arc<Rules>, OpenError> {
    let Some(file) = &config.access else { return Ok(Rules::standard(schema)) };
    let names: Vec<String> = suffixes.iter().map(|suffix| suffix.normalized.clone()).collect();
    let parsed = Rules::parse(&file.name, &file.text, &names, schema);
    parsed.map(Arc::new).map_err(|error| OpenError::Access(error.to_string()))
}

/// Whom a name of a mechanism stands for.
pub(crate) fn identity(rule: &IdentityRule) -> Result<Identity, OpenError> {
    Identity::parse(&rule.matches, &rule.name).map_err(|error| config_error("identity", error))
}

/// Limits of searches, and whom they are for.
pub(crate) fn limits_for(schema: &Arc<Schema>, chosen: &LimitsFor) -> Result<(Whom, SearchLimits), OpenError> {
    let whom = Whom::parse("who", &chosen.who, schema).map_err(|error| config_error("limits.for", error))?;
    Ok((whom, chosen.search))
}

/// The entries that the access rules are of, if there are several to choose from.
pub(crate) fn access_entries(config: &Config) -> Result<Vec<String>, OpenError> {
    let schema = chosen_schema(config)?;
    let suffixes = suffixes(&schema, &config.suffixes.join("\n"))?;
    Ok(rules(&schema, &suffixes, config)?.entries().to_vec())
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

const NO_SUCH_TYPE: &str = "the schema has no such attribute type: correct the name, or load the file that has it";

/// The suffixes of a text with one in each line.
fn suffixes(schema: &Schema, text: &str) -> Result<Vec<Suffix>, OpenError> {
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
    if let Some(made_up) = [names::SUBSCHEMA, names::MONITOR].iter().find(|made_up| is_below(&normalized, made_up)) {
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

fn no_root(suffix: &str) -> Result<(), OpenError> {
    if !suffix.is_empty() {
        return Ok(());
    }
    Err(config_error("suffixes", "the empty name is the root's: give names below it, like dc=com"))
}

/// Sees to it that a suffix stays as long as it has entries: nobody would find them, nor would they be exported.
fn keep_suffixes(suffixes: &[Suffix], names: &Table<'_>, entries: &Table<'_>) -> Result<(), OpenError> {
    let keys: Vec<Vec<u8>> = suffixes.iter().map(|suffix| names::child_key(0, &suffix.normalized)).collect();
    for item in names.prefix(0u32.to_be_bytes())? {
        let (key, value) = item?;
        let is_count = key.len() == 4;
        if is_count || keys.iter().any(|kept| kept == key) {
            continue;
        }
        let bytes = entries.get(value.get(..4).unwrap_or_default())?;
        // The tables are not damaged, or else `check` says so.
        let Some(entry) = bytes.and_then(Entry::parse) else { continue };
        let why = format!("{:?} has entries: leave it among them, or delete these first", entry.rdn());
        return Err(config_error("suffixes", why));
    }
    Ok(())
}

/// That the tables are laid out as this program has them.
fn check_format(kept: Option<&str>) -> Result<(), OpenError> {
    let (Some(kept), own) = (kept, meta::FORMAT_VERSION) else { return Ok(()) };
    match kept.parse::<u32>() {
        Ok(format) if format == own => Ok(()),
        Ok(format) if format < own => Err(config_error(
            "data directory",
            format!(
                "it has format {format}, and this program needs {own}: `duramen directory export` it with the program \
                 that made it, and `duramen directory import` that into a new folder"
            ),
        )),
        _ => Err(config_error("data directory", format!("it has format {kept}: use a newer program"))),
    }
}

/// Keeps which kinds of an attribute's index are complete, and which are asked for.
pub(crate) fn write_index(
    txn: &mut WriteTxn<'_>,
    schema: &Schema,
    id: AttributeId,
    ready: u8,
    wanted: u8,
) -> duramen::Result<()> {
    let key = index_key(schema, id);
    if ready | wanted == 0 { meta::remove(txn, &key) } else { meta::put(txn, &key, &[ready, wanted]) }
}

/// What [`write_index`] keeps.
pub(crate) fn read_index(txn: &mut WriteTxn<'_>, schema: &Schema, id: AttributeId) -> duramen::Result<(u8, u8)> {
    let meta = txn.table(META)?;
    let kept = meta.get(index_key(schema, id))?.and_then(|kinds| kinds.first_chunk::<2>().copied());
    Ok(kept.map_or((0, 0), |[ready, wanted]| (ready, wanted)))
}

fn index_key(schema: &Schema, id: AttributeId) -> String {
    format!("{}{}", meta::INDEX, schema.attribute(id).oid)
}

/// The schema that has been in use, if what is chosen now makes another. None if it would be refused now.
fn previous(kept: &Kept, nis_bis: bool, files: &[SchemaFile]) -> Option<Schema> {
    let is_same = (nis_bis, files) == (kept.nis_bis(), kept.files.as_slice());
    if kept.format.is_none() || is_same {
        return None;
    }
    bind(kept.nis_bis(), &kept.files, |_| true, kept.types.clone()).ok().map(|(schema, _)| schema)
}

/// Binds the schema that is built in and the files; numbers of types that are new follow those that are there. Types
/// that are in neither any more stay as they were, as entries may have them. Files that are not chosen now, but were once,
/// are told from the others in messages.
fn bind(
    nis_bis: bool,
    files: &[SchemaFile],
    is_chosen: impl Fn(&SchemaFile) -> bool,
    mut types: Types,
) -> Result<(Schema, Types), OpenError> {
    let mut source = text::Schema::default();
    let nis = if nis_bis { Builtin::NisBis } else { Builtin::Nis };
    for part in [Builtin::Core, Builtin::Cosine, Builtin::InetOrgPerson, Builtin::PasswordPolicy, nis] {
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

/// Which kinds are complete and which are asked for, by attribute.
fn indices(
    schema: &Schema,
    asked: Option<Vec<Index>>,
    kept: &[(String, Vec<u8>)],
    is_new: bool,
) -> Result<Vec<(AttributeId, u8, u8)>, OpenError> {
    let mut all: Vec<(AttributeId, u8, u8)> = Vec::new();
    for (oid, kinds) in kept {
        let (Some(attribute), [ready, wanted]) = (schema.find(oid), kinds.as_slice()) else { continue };
        all.push((attribute.id, *ready, *wanted));
    }
    let asked = match (asked, is_new) {
        (Some(asked), _) => asked,
        (None, true) => Index::defaults(),
        (None, false) => return Ok(all),
    };
    // What is not asked for any more goes, complete or not.
    all.iter_mut().for_each(|(_, _, wanted)| *wanted = 0);
    for index in &asked {
        let (asked, kinds) = asked_index(schema, index)?;
        match all.iter_mut().find(|(id, ..)| *id == asked) {
            Some((_, ready, wanted)) => {
                *wanted |= kinds;
                *ready |= if is_new { kinds } else { 0 };
            }
            // A new directory is empty, so all its indices are complete.
            None => all.push((asked, if is_new { kinds } else { 0 }, kinds)),
        }
    }
    always(schema, &mut all, is_new);
    // An index that updates do not keep any more is not complete any more.
    all.iter_mut().for_each(|(_, ready, wanted)| *ready &= *wanted);
    Ok(all)
}

/// Those of them that are complete.
fn ready(indices: &[(AttributeId, u8, u8)]) -> Indices {
    let mut ready = Indices::default();
    indices.iter().for_each(|&(id, complete, _)| ready.set(id, complete));
    ready
}

/// The attribute and the kinds of an index that is asked for.
pub(crate) fn asked_index(schema: &Schema, index: &Index) -> Result<(AttributeId, u8), OpenError> {
    let fault = |why| config_error(format!("index of {}", index.attribute), why);
    let attribute = schema.find(&index.attribute).ok_or_else(|| fault(NO_SUCH_TYPE))?;
    Ok((attribute.id, fitting(schema, attribute, index.kinds.to_bits()).map_err(fault)?))
}

/// Classes are always indexed: a search has to know of referral objects and aliases.
fn always(schema: &Schema, all: &mut Vec<(AttributeId, u8, u8)>, is_new: bool) {
    let (id, kinds) = (schema.known().object_class, crate::index::bits::EQUALITY);
    match all.iter_mut().find(|(found, ..)| *found == id) {
        Some((_, ready, wanted)) => {
            *wanted |= kinds;
            *ready |= if is_new { kinds } else { 0 };
        }
        None => all.push((id, if is_new { kinds } else { 0 }, kinds)),
    }
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
