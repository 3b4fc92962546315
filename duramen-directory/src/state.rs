//! What is made of a configuration and of what a directory keeps about itself, when it is opened or reconfigured.
//!
//! Owns: [`State`]. Must not know: entries.

use std::sync::Arc;

use duramen::{Database, Snapshot, Table, Txnid, WriteTxn};

use crate::access::{Identity, Rules, Whom};
use crate::altered;
use crate::clock::Moment;
use crate::config::{AuthzPolicy, Config, CopyOf, Index, Limits, SchemaFile, SearchLimits};
use crate::constraint::{Constraint, Rule};
use crate::dynamic::DynamicLists;
use crate::entry::Entry;
use crate::error::OpenError;
use crate::faults;
use crate::history;
use crate::index::Indices;
use crate::knowledge::Knowledge;
use crate::membership::{self, Member};
use crate::meta;
use crate::names::{self, Suffix};
use crate::policy::{InForce, Policies};
use crate::schema::{AttributeId, Schema};
use crate::settings::{self, AdministratorState, Copied, Types, config_error};
use crate::tables::{ALL, COPY, ENTRY, MEMBER, META, NAME, Tables, telling_key};

/// What holds until the next reconfiguration, or until another program changes what is kept.
#[derive(Debug)]
pub(crate) struct State {
    /// The commit that what is kept is of.
    pub as_of: Option<Txnid>,
    /// Why updates are refused: what another program has changed does not go with the configuration.
    pub unfit: Option<String>,
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
    pub authz_policy: AuthzPolicy,
    pub limits: Limits,
    /// Those of searches for some.
    pub limits_for: Vec<(Whom, SearchLimits)>,
    pub referrals: Vec<String>,
    pub nested_groups: bool,
    /// Attributes whose values follow the entries that they name.
    pub references: Vec<AttributeId>,
    /// Attributes of which no two entries have one value.
    pub unique: Vec<AttributeId>,
    /// What values have to be like, beyond the schema.
    pub constraints: Vec<Constraint>,
    /// Entries that show what their URLs find.
    pub dynamic: DynamicLists,
    /// Password policies, if they are in force.
    pub password_policies: Option<Policies>,
    /// How many changes are kept in table `history`.
    pub history: u32,
    /// Whether it is written down who changes what.
    pub is_audited: bool,
    /// Suffixes of which the directory is a copy of another server's.
    pub copies: Vec<Copied>,
    /// This server, if it takes changes of these together with others.
    pub member: Option<Member>,
}

impl State {
    /// The copy that a normalized name belongs to, if it does to one.
    pub fn copy_of(&self, name: &str) -> Option<&Copied> {
        self.copies.iter().find(|copy| names::below_suffix(name, &copy.suffix.normalized).is_some())
    }

    /// Which changes are known of what is below a normalized name, if it is a copy of which a number of this directory's own
    /// history does not tell that.
    pub fn knowledge(&self, tables: &Tables<'_>, name: &str) -> duramen::Result<Option<Knowledge>> {
        let known = self.copied(tables, name)?;
        Ok(known.filter(|known| self.numbers_apart(known) || self.member.is_some()))
    }

    /// Whether a copy of which this is known has numbers that are not those of this directory's history: where several servers make
    /// the changes, or other suffixes have theirs, which may be greater than the next one of the copy.
    pub fn numbers_apart(&self, known: &Knowledge) -> bool {
        known.is_of_several() || self.suffixes.len() > 1 && known.sole_server().is_some()
    }

    /// The number of the server that makes all changes of what is below a normalized name; 0 if it has none.
    pub fn sole_server(&self, tables: &Tables<'_>, name: &str) -> duramen::Result<u16> {
        Ok(self.copied(tables, name)?.and_then(|known| known.sole_server()).unwrap_or(0))
    }

    /// Which changes a copy of what is below a normalized name has, if it is a copy.
    fn copied(&self, tables: &Tables<'_>, name: &str) -> duramen::Result<Option<Knowledge>> {
        let (Some(copy), Some(table)) = (self.copy_of(name), tables.copy()?) else { return Ok(None) };
        Ok(Some(Knowledge::of_cookie(table.get(&copy.suffix.normalized)?.unwrap_or_default())))
    }

    /// Whether updates search for what values may be, which may take long without an index.
    pub fn has_listed_values(&self) -> bool {
        self.constraints.iter().any(|one| matches!(one.rule, Rule::Listed(_)))
    }

    /// The password policies that are in force, if any are.
    pub fn policies<'s, 't>(&'s self, tables: Tables<'t>) -> Option<InForce<'s, 't>> {
        let policies = self.password_policies.as_ref()?;
        Some(InForce { policies, schema: &self.schema, suffixes: &self.suffixes, tables })
    }
}

/// What a directory keeps about itself.
#[derive(Clone, Default)]
struct Kept {
    format: Option<String>,
    suffixes: Option<String>,
    nis: Option<String>,
    files: Vec<SchemaFile>,
    types: Types,
    indices: Vec<(String, Vec<u8>)>,
    history: u32,
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
            history: meta::text(meta, meta::HISTORY)?.and_then(|kept| kept.parse().ok()).unwrap_or(0),
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
        let kept = kept_in(&snapshot)?;
        let merged = Merged::new(kept, config)?;
        let state = merged.fitting(&snapshot.table(NAME)?, &snapshot.table(ENTRY)?, config, now)?;
        return Ok(State { as_of: snapshot.table(META)?.changed_in()?, ..state });
    }
    let mut txn = db.begin_write()?;
    let state = renew(&mut txn, config, now)?;
    txn.commit()?;
    Ok(state)
}

/// Whether a configuration goes with what is kept, but for entries.
pub(crate) fn check(db: &Database, config: &Config) -> Result<(), OpenError> {
    Merged::new(kept_in(&db.read()?)?, config).map(drop)
}

/// Whether a configuration goes with all that is kept, entries included.
pub(crate) fn check_data(db: &Database, config: &Config) -> Result<(), OpenError> {
    let snapshot = db.read()?;
    // One whose first import was cut off is made anew.
    if matches!(snapshot.table(META), Err(duramen::Error::NoSuchTable { .. })) {
        return check_new(config);
    }
    drop(snapshot);
    load(db, &Config { read_only: true, ..config.clone() }, Moment(0)).map(drop)
}

/// Whether a configuration is one that a new directory can be made by.
pub(crate) fn check_new(config: &Config) -> Result<(), OpenError> {
    Merged::new(Kept::default(), config).map(drop)
}

/// What is kept in a database that may be no directory: one whose first import was cut off before it had stored anything.
fn kept_in(snapshot: &Snapshot<'_>) -> Result<Kept, OpenError> {
    match snapshot.table(META) {
        Ok(meta) => Ok(Kept::read(&meta)?),
        Err(duramen::Error::NoSuchTable { .. }) => {
            let why = "the database in it holds no directory yet: import one, or remove the folder";
            Err(config_error("data directory", why))
        }
        Err(e) => Err(e.into()),
    }
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
    history::begin(txn, merged.history, now)?;
    if let Some(copies) = &config.copies {
        forget_copies(txn, &merged.schema, copies)?;
        share(txn, &merged.schema, (copies, config.member))?;
    }
    let (names, entries) = (txn.open_table(NAME, None)?, txn.open_table(ENTRY, None)?);
    let mut state = merged.fitting(&txn.view(names)?, &txn.view(entries)?, config, now)?;
    if let (Some(member), Some(table)) = (state.member, txn.find_table(MEMBER, None)?) {
        state.member = Some(member.behind_twins(&txn.view(table)?)?);
    }
    let as_of = txn.view(id)?.changed_in()?.unwrap_or(txn.txnid());
    Ok(State { as_of: Some(as_of), ..state })
}

/// Forgets what suffixes were a copy of that are not to be any more: from now on they change by themselves.
fn forget_copies(txn: &mut WriteTxn<'_>, schema: &Schema, copies: &[CopyOf]) -> duramen::Result<()> {
    let kept: Vec<String> = copies.iter().filter_map(|copy| names::normalize(schema, &copy.suffix).ok()).collect();
    let mut table = txn.table(COPY)?;
    let mut gone = Vec::new();
    for item in table.iter() {
        let (key, _) = item?;
        if !kept.iter().any(|suffix| suffix.as_bytes() == key || telling_key(suffix) == key) {
            gone.push(key.to_vec());
        }
    }
    gone.into_iter().try_for_each(|key| table.delete(key).map(drop))
}

/// Sees to it that these are kept as what is changed together with others, or as what is not.
fn share(txn: &mut WriteTxn<'_>, schema: &Schema, (copies, member): (&[CopyOf], Option<u16>)) -> duramen::Result<()> {
    if member.is_none() {
        return membership::leave(txn);
    }
    let suffixes: Vec<String> = copies.iter().filter_map(|copy| names::normalize(schema, &copy.suffix).ok()).collect();
    membership::join(txn, &suffixes)
}

/// Makes a state of what is kept now, which another program has changed, and of what the configuration says beside that: that
/// of the data is the newer word on schema, suffixes and indices. Writes nothing.
pub(crate) fn follow(meta: &Table<'_>, config: &Config, now: Moment) -> Result<State, OpenError> {
    // Who may not look while an import fills the directory is told so elsewhere.
    let kept = Kept { import: false, ..Kept::read(meta)? };
    let config = Config { suffixes: Vec::new(), schema: Vec::new(), indices: None, history: None, ..config.clone() };
    let (merged, config, unfit) = match Merged::new(kept.clone(), &config) {
        Err(faults @ OpenError::Settings(_)) => {
            let config = Config {
                references: Vec::new(),
                unique: Vec::new(),
                constraints: Vec::new(),
                dynamic_lists: Vec::new(),
                ..config
            };
            (Merged::new(kept, &config)?, config, Some(faults.to_string()))
        }
        merged => (merged?, config, None),
    };
    let state = merged.state(&config, now)?;
    Ok(State { as_of: meta.changed_in()?, unfit, ..state })
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
    /// How many changes are kept.
    history: u32,
}

impl Merged {
    fn new(kept: Kept, config: &Config) -> Result<Merged, OpenError> {
        check_format(kept.format.as_deref())?;
        if kept.import {
            return Err(config_error("data directory", meta::IMPORTING));
        }
        let is_new = kept.format.is_none();
        config.suffixes.iter().try_for_each(|text| settings::no_root(text))?;
        let suffixes = match (config.suffixes.is_empty(), kept.suffixes.clone()) {
            (true, None) => {
                return Err(config_error("suffixes", "a new directory needs one: --suffix dc=example,dc=com"));
            }
            (true, Some(kept)) => kept,
            (false, _) => config.suffixes.join("\n"),
        };
        let nis_bis = config.nis_bis || kept.nis_bis();
        let history = config.history.unwrap_or(kept.history);
        let mut files = kept.files.clone();
        for file in &config.schema {
            files.retain(|kept| kept.name != file.name);
            files.push(file.clone());
        }
        let before = previous(&kept, nis_bis, &files);
        let is_chosen = |file: &SchemaFile| config.schema.iter().any(|chosen| chosen.name == file.name);
        let (schema, types) = settings::bind(nis_bis, &files, is_chosen, kept.types)?;
        let schema = Arc::new(schema);
        let texts: Vec<String> = suffixes.lines().map(str::to_owned).collect();
        let mut faults = faults::of_schema(&schema, &texts, config);
        let is_right = |index: &&Index| settings::asked_index(&schema, index).is_ok();
        let asked = config.indices.as_ref().map(|all| all.iter().filter(is_right).cloned().collect());
        let is_copy = config.copies.as_ref().is_some_and(|copies| !copies.is_empty());
        let mut indices = indices(&schema, asked, &kept.indices, (is_new, is_copy))?;
        if let Some(before) = &before {
            indices.iter_mut().for_each(|(id, ready, _)| *ready &= !altered::kinds(before, &schema, *id));
        }
        faults.extend(faults::of_indices(&schema, &ready(&indices), config));
        if !faults.is_empty() {
            return Err(OpenError::Settings(faults));
        }
        Ok(Merged { suffixes, nis_bis, files, types, schema, before, indices, history })
    }

    fn write(&self, txn: &mut WriteTxn<'_>) -> duramen::Result<()> {
        meta::put(txn, meta::FORMAT, meta::FORMAT_VERSION.to_string().as_bytes())?;
        meta::put(txn, meta::SUFFIXES, self.suffixes.as_bytes())?;
        meta::put(txn, meta::NIS, if self.nis_bis { b"rfc2307bis" } else { b"nis" })?;
        match self.history {
            0 => meta::remove(txn, meta::HISTORY)?,
            kept => meta::put(txn, meta::HISTORY, kept.to_string().as_bytes())?,
        }
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
        let suffixes = settings::suffixes(&schema, &self.suffixes)?;
        let ready = ready(&self.indices);
        let (mut kept, mut wanted) = (Indices::default(), Vec::new());
        for &(id, complete, asked) in &self.indices {
            kept.set(id, asked);
            if asked & !complete != 0 {
                wanted.push((id, asked & !complete));
            }
        }
        let administrator = settings::administrator(&schema, config)?;
        let (limits, referrals) = (config.limits.clone(), config.referrals.clone());
        let rules = settings::rules(&schema, &suffixes, config)?;
        let limits_for =
            config.limits_for.iter().map(|one| settings::limits_for(&schema, one)).collect::<Result<_, _>>()?;
        let identities = config.identities.iter().map(settings::identity).collect::<Result<_, _>>()?;
        let nested_groups = config.nested_groups;
        let references = config
            .references
            .iter()
            .map(|name| settings::reference(&schema, &ready, name))
            .collect::<Result<_, _>>()?;
        let unique =
            config.unique.iter().map(|name| settings::unique(&schema, &ready, name)).collect::<Result<_, _>>()?;
        let constraint = |chosen| settings::constraint(&schema, &suffixes, config, chosen).map_err(|(_, error)| error);
        let constraints = config.constraints.iter().map(constraint).collect::<Result<_, _>>()?;
        let list = |chosen| settings::dynamic_list(&schema, &suffixes, config, chosen).map_err(|(_, error)| error);
        let lists = config.dynamic_lists.iter().map(list).collect::<Result<_, _>>()?;
        let dynamic = DynamicLists::new(&schema, lists);
        let password_policies = settings::policies(&schema, config)?;
        let copies = settings::copies(&schema, &suffixes, config)?;
        let member = settings::member(config, self.history)?;
        Ok(State {
            as_of: None,
            unfit: None,
            since,
            schema,
            suffixes,
            ready,
            kept,
            wanted,
            rules,
            administrator,
            identities,
            authz_policy: config.authz_policy,
            limits,
            limits_for,
            referrals,
            nested_groups,
            references,
            unique,
            constraints,
            dynamic,
            password_policies,
            history: self.history,
            is_audited: config.audit.is_some(),
            member: member.filter(|_| !copies.is_empty()).map(|server| Member { server, since }),
            copies,
        })
    }
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
    settings::bind(kept.nis_bis(), &kept.files, |_| true, kept.types.clone()).ok().map(|(schema, _)| schema)
}

/// Which kinds are complete and which are asked for, by attribute.
fn indices(
    schema: &Schema,
    asked: Option<Vec<Index>>,
    kept: &[(String, Vec<u8>)],
    (is_new, is_copy): (bool, bool),
) -> Result<Vec<(AttributeId, u8, u8)>, OpenError> {
    let mut all: Vec<(AttributeId, u8, u8)> = Vec::new();
    for (oid, kinds) in kept {
        let (Some(attribute), [ready, wanted]) = (schema.find(oid), kinds.as_slice()) else { continue };
        all.push((attribute.id, *ready, *wanted));
    }
    let asked = match (asked, is_new) {
        (Some(asked), _) => asked,
        (None, true) => Index::defaults(),
        (None, false) => {
            if is_copy {
                identifiers(schema, &mut all, is_new);
            }
            return Ok(all);
        }
    };
    // What is not asked for any more goes, complete or not.
    all.iter_mut().for_each(|(_, _, wanted)| *wanted = 0);
    for index in &asked {
        let (asked, kinds) = settings::asked_index(schema, index)?;
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
    if is_copy {
        identifiers(schema, &mut all, is_new);
    }
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

/// Classes are always indexed: a search has to know of referral objects and aliases. So are members of groups: who is one is
/// asked of entries, not of groups.
fn always(schema: &Schema, all: &mut Vec<(AttributeId, u8, u8)>, is_new: bool) {
    let known = schema.known();
    ask_for(&[known.object_class, known.member, known.unique_member], all, is_new);
}

/// Copies find entries by what these are called for good.
fn identifiers(schema: &Schema, all: &mut Vec<(AttributeId, u8, u8)>, is_new: bool) {
    ask_for(&[schema.known().entry_uuid], all, is_new);
}

/// Has equality of these indexed in any case.
fn ask_for(attributes: &[AttributeId], all: &mut Vec<(AttributeId, u8, u8)>, is_new: bool) {
    let kinds = crate::index::bits::EQUALITY;
    for &id in attributes {
        match all.iter_mut().find(|(found, ..)| *found == id) {
            Some((_, ready, wanted)) => {
                *wanted |= kinds;
                *ready |= if is_new { kinds } else { 0 };
            }
            None => all.push((id, if is_new { kinds } else { 0 }, kinds)),
        }
    }
}
