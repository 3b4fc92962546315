//! An entry in its surroundings: what filters, selections and access rules ask about it that is not stored in it.
//!
//! Owns: derived attributes, where values are that stand outside the entry. Must not know: how the entry was found, what of it
//! is wanted.

mod members;
mod part;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};

use duramen_ldap::filter::Filter;
use roaring::RoaringBitmap;

use crate::access::{Known, Level, Plan, Target, What, in_hex};
use crate::entry::Entry;
use crate::failure::{Result, damaged};
use crate::filter::{Compiler, Derived, Evaluation, Test, check_depth, each_value_while, member_types};
use crate::history;
use crate::index::{self, Reach};
use crate::knowledge::numbers_of;
use crate::names::{self, Naming};
use crate::schema::{AttributeId, Schema};
use crate::state::State;
use crate::tables::{Id, Tables, read_id};

pub(crate) use members::Members;
pub(crate) use part::Part;

/// What entries are seen in: a state of the directory, and who looks.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'v> {
    pub state: &'v State,
    pub tables: Tables<'v>,
    /// What names are remembered by; `None` where they are not.
    pub naming: Option<Naming>,
    pub plan: &'v Plan,
    /// Groups that do not name their members, if they count.
    pub more: Option<&'v dyn MoreGroups>,
}

/// Groups of which an entry is a member without being named in them.
pub(crate) trait MoreGroups {
    /// Adds those that an entry is a member of.
    fn add_groups(&self, view: &View<'_, '_>, found: &mut RoaringBitmap) -> Result<()>;
}

impl Scene<'_> {
    /// The name of an entry, as it was written.
    pub fn name_of(&self, id: Id, entry: &Entry<'_>) -> Result<String> {
        let Some(naming) = self.naming.filter(|_| entry.parent != 0) else {
            return names::name_of(&self.tables.entry()?, id);
        };
        let above = names::remembered_name(&self.tables, naming, entry.parent)?;
        Ok([entry.rdn(), ",", &above].concat())
    }

    /// What a filter asks of entries, for whoever looks.
    pub fn test(&self, filter: Filter<'_>) -> Result<Test> {
        check_depth(filter, self.state.limits.filter_depth)?;
        let (schema, fitting) = (&self.state.schema, RefCell::default());
        Ok(Compiler { schema, plan: self.plan, of_values: false, of_copies: false, fitting }.compile(filter))
    }
}

/// An entry that is seen in a scene. Entries that are made up have the id 0, and a name of their own.
pub(crate) struct View<'v, 'e> {
    pub scene: &'v Scene<'v>,
    pub id: Id,
    pub entry: Entry<'e>,
    /// Its name as it is written.
    pub name: &'e str,
    /// The name that it was asked for by: what errors tell of, which must not show how that is written that is hidden.
    pub asked: &'e str,
    /// How many entries are directly below it, if it is made up.
    children: u32,
    normalized: OnceCell<String>,
    /// The same for expressions, where it is another.
    in_hex: OnceCell<Option<String>>,
    known: Known,
}

impl<'v, 'e> View<'v, 'e> {
    pub fn new(scene: &'v Scene<'v>, id: Id, entry: Entry<'e>, name: &'e str) -> View<'v, 'e> {
        let (normalized, in_hex, known) = (OnceCell::new(), OnceCell::new(), Known::default());
        View { scene, id, entry, name, asked: name, children: 0, normalized, in_hex, known }
    }

    /// With the name that it was asked for by.
    pub fn asked_by(self, asked: &'e str) -> View<'v, 'e> {
        View { asked, ..self }
    }

    /// Of an entry that is made up.
    pub fn made_up(scene: &'v Scene<'v>, entry: Entry<'e>, name: &'e str, children: u32) -> View<'v, 'e> {
        View { children, ..View::new(scene, 0, entry, name) }
    }

    /// Whether the entry is as a test of its scene has it.
    pub fn matches(&self, test: &Test) -> Result<Option<bool>> {
        let scratch = RefCell::default();
        let evaluation = Evaluation {
            schema: &self.scene.state.schema,
            tables: self.scene.tables,
            id: self.id,
            entry: &self.entry,
            derived: self,
            scratch: &scratch,
            looked_at: Cell::default(),
        };
        evaluation.matches(test)
    }

    /// Whether the requester may do this with it.
    pub fn allows(&self, what: What<'_>, level: Level) -> bool {
        let everywhere = match what {
            What::Attribute(id, _) => self.scene.plan.everywhere(Some(id), level),
            What::Entry => self.scene.plan.everywhere(None, level),
            What::Children => None,
        };
        match everywhere {
            Some(answer) => answer,
            None => self.scene.plan.allows(self, &Members::of(self.scene), what, level, &self.known),
        }
    }

    fn normalized(&self) -> &str {
        self.normalized.get_or_init(|| names::normalize(&self.scene.state.schema, self.name).unwrap_or_default())
    }

    /// Groups that the entry is a member of: itself or, if groups are nested, through others.
    fn groups(&self, mut each: impl FnMut(Id) -> Result<()>) -> Result<()> {
        let (state, entries) = (self.scene.state, self.scene.tables.entry()?);
        let mut seen = self.own_groups()?;
        let mut waiting: Vec<Id> = seen.iter().collect();
        while let Some(group) = waiting.pop() {
            each(group)?;
            if state.nested_groups {
                let (entry, name) = (names::entry(&entries, group)?, names::name_of(&entries, group)?);
                let above = View::new(self.scene, group, entry, &name).own_groups()?;
                waiting.extend(above.iter().filter(|group| seen.insert(*group)));
            }
        }
        Ok(())
    }

    /// Groups that the entry itself is a member of.
    fn own_groups(&self) -> Result<RoaringBitmap> {
        let mut found = self.groups_of(self.normalized())?;
        if let Some(more) = self.scene.more {
            more.add_groups(self, &mut found)?;
        }
        Ok(found)
    }

    /// Whether the entry is a member of a group.
    pub fn has_group(&self, group: &str) -> Result<bool> {
        let Some(wanted) = names::find_entry(&self.scene.tables.name()?, &self.scene.state.suffixes, group)? else {
            return Ok(false);
        };
        let mut is_member = false;
        self.groups(|id| {
            is_member |= id == wanted;
            Ok(())
        })?;
        Ok(is_member)
    }

    /// Groups that have a name among their members.
    fn groups_of(&self, name: &str) -> Result<RoaringBitmap> {
        let (state, index) = (self.scene.state, self.scene.tables.index()?);
        let mut found = RoaringBitmap::new();
        for kind in member_types(&state.schema) {
            if state.ready.get(kind) & index::bits::EQUALITY != 0 {
                found |= index::equal(&index, kind, name.as_bytes(), &Reach::all())?.into_bitmap();
            } else {
                self.find_groups(kind, name, &mut found)?;
            }
        }
        Ok(found)
    }

    /// As long as the index is not complete: looks at all entries.
    fn find_groups(&self, kind: AttributeId, name: &str, found: &mut RoaringBitmap) -> Result<()> {
        let Scene { state, tables, .. } = *self.scene;
        for item in tables.entry()?.iter() {
            let (key, bytes) = item?;
            let (Some(id), Some(entry)) = (read_id(key), Entry::parse(bytes)) else { return Err(damaged("an entry")) };
            if has_value(&state.schema, &tables, (id, &entry), kind, name.as_bytes())? {
                found.insert(id);
            }
        }
        Ok(())
    }
}

/// Whether an entry has this value of an attribute, which is in normalized form.
fn has_value(
    schema: &Schema,
    tables: &Tables<'_>,
    (id, entry): (Id, &Entry<'_>),
    attribute: AttributeId,
    value: &[u8],
) -> Result<bool> {
    if entry.large().any(|large| large.id == attribute) {
        let key = crate::large::key(id, attribute, value);
        if tables.value()?.contains_key(key)? {
            return Ok(true);
        }
    }
    let Some(rule) = schema.attribute(attribute).equality else { return Ok(false) };
    let mut form = Vec::new();
    Ok(entry.of_type(attribute).flat_map(|found| found.values()).any(|found| {
        form.clear();
        rule.normalize(found, schema, &mut form).is_ok() && form == value
    }))
}

impl Target for View<'_, '_> {
    fn name(&self) -> &str {
        self.normalized()
    }

    fn name_in_hex(&self) -> Cow<'_, str> {
        let other = self.in_hex.get_or_init(|| match in_hex(self.normalized()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(text),
        });
        Cow::Borrowed(other.as_deref().unwrap_or_else(|| self.normalized()))
    }

    fn values(&self, attribute: AttributeId, each: &mut dyn FnMut(&[u8]) -> bool) {
        // A value that cannot be read is one that no rule can be about.
        let _ = if self.scene.state.schema.known().is_derived(attribute) {
            let mut more = true;
            let mut next = |value: &[u8]| more = more && each(value);
            // What rules ask about is not made of what rules allow.
            let scene = Scene { more: None, ..*self.scene };
            match self.scene.more {
                Some(_) => View::new(&scene, self.id, self.entry, self.name).derived(attribute, &mut next),
                None => self.derived(attribute, &mut next),
            }
        } else {
            each_value_while(&self.scene.tables, self.id, &self.entry, attribute, each)
        };
    }

    fn has_value(&self, attribute: AttributeId, form: &[u8]) -> bool {
        let Scene { state, tables, .. } = self.scene;
        if !state.schema.known().is_derived(attribute) {
            return has_value(&state.schema, tables, (self.id, &self.entry), attribute, form).unwrap_or(false);
        }
        let Some(rule) = state.schema.attribute(attribute).equality else { return false };
        let (mut is_there, mut normalized) = (false, Vec::new());
        self.values(attribute, &mut |value| {
            normalized.clear();
            is_there = rule.normalize(value, &*state.schema, &mut normalized).is_ok() && normalized == form;
            !is_there
        });
        is_there
    }
}

impl Derived for View<'_, '_> {
    fn may_search(&self, id: AttributeId, value: Option<&[u8]>) -> bool {
        self.allows(What::Attribute(id, value), Level::Search)
    }

    fn normalized_name(&self) -> Result<String> {
        Ok(self.normalized().to_string())
    }

    fn written_name(&self) -> &str {
        self.name
    }

    fn child_count(&self) -> Result<u32> {
        if self.id == 0 {
            return Ok(self.children);
        }
        names::child_count(&self.scene.tables.name()?, self.id)
    }

    fn is_named_in(&self, group: &str) -> Result<bool> {
        if self.scene.more.is_none() {
            return self.has_group(group);
        }
        let scene = Scene { more: None, ..*self.scene };
        View::new(&scene, self.id, self.entry, self.name).has_group(group)
    }

    fn is_named(&self) -> Result<bool> {
        Ok(!self.groups_of(self.normalized())?.is_empty())
    }

    fn made_values(&self, id: AttributeId, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.derived(id, each)
    }
}

impl View<'_, '_> {
    /// Whether the requester may read an attribute of the entry, or a value of it.
    pub fn may_read(&self, id: AttributeId, value: Option<&[u8]>) -> bool {
        self.allows(What::Attribute(id, value), Level::Read)
    }

    fn is_root_dse(&self) -> bool {
        self.id == 0 && self.name.is_empty()
    }

    /// Calls `each` with the values of an attribute that is made when the entry is read.
    pub fn derived(&self, id: AttributeId, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let known = self.scene.state.schema.known();
        if id == known.entry_dn {
            each(self.name.as_bytes());
        } else if id == known.subschema_subentry {
            each(b"cn=Subschema");
        } else if self.is_root_dse() && (id == known.has_subordinates || id == known.num_subordinates) {
            // It is above all that there is only by its name (RFC 4512 section 5.1): none of it is subordinate to it.
        } else if id == known.has_subordinates {
            each(if self.child_count()? > 0 { b"TRUE" } else { b"FALSE" });
        } else if id == known.num_subordinates {
            each(self.child_count()?.to_string().as_bytes());
        } else if id == known.context_csn && self.id != 0 && self.entry.parent == 0 {
            // What suffixes have (OpenLDAP): of which change the directory is, or of which it is a copy.
            if let Some(known) = self.scene.state.knowledge(&self.scene.tables, self.normalized())? {
                known.numbers().for_each(|number| each(number.as_bytes()));
            } else if let Some(copy) = self.scene.state.copy_of(self.normalized()) {
                if let Some(table) = self.scene.tables.copy()?
                    && let Some(cookie) = table.get(&copy.suffix.normalized)?
                {
                    numbers_of(cookie).for_each(|number| each(number.as_bytes()));
                }
            } else if self.scene.state.history > 0
                && let Some(span) = history::span(&self.scene.tables.entry()?, &self.scene.tables.history()?)?
            {
                each(&span.end.csn());
            }
        } else if id == known.member_of && self.id != 0 {
            let entries = self.scene.tables.entry()?;
            self.groups(|group| {
                each(names::name_of(&entries, group)?.as_bytes());
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Calls `each` with those values of an attribute in table `value` that have one of these normalized forms.
    pub fn large_values(&self, id: AttributeId, forms: &[&[u8]], each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let table = self.scene.tables.value()?;
        for form in forms {
            table.get(crate::large::key(self.id, id, form))?.into_iter().for_each(&mut *each);
        }
        Ok(())
    }

    /// Calls `each` with the values of an attribute that are in table `value`.
    pub fn large(&self, id: AttributeId, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        for value in crate::large::values(&self.scene.tables.value()?, self.id, id)? {
            each(value?);
        }
        Ok(())
    }
}
