//! What access rules ask about entries other than the one they are about, before there is a plan.

use std::cell::{Cell, RefCell};

use duramen_ldap::message::Scope;
use duramen_ldap::url::LdapUrl;

use super::{Part, Scene, View};
use crate::access::{Groups, Target};
use crate::dynamic::{self, Source};
use crate::entry::mark;
use crate::failure::Result;
use crate::filter::{Planner, Test, each_value};
use crate::index::{self, Reach, Set};
use crate::names::{self, Found, Naming};
use crate::requester::Requester;
use crate::schema::AttributeId;
use crate::state::State;
use crate::tables::{Id, Tables};

/// Groups as access rules ask about them, before there is a plan.
pub(crate) struct Members<'v> {
    state: &'v State,
    tables: Tables<'v>,
    naming: Option<Naming>,
    /// Which entries have a value, as the index knows: rules ask about one requester again and again.
    found: RefCell<Option<Having>>,
}

/// The entries that have a value of an attribute.
struct Having {
    attribute: AttributeId,
    value: Vec<u8>,
    ids: Set,
}

// What cannot be read is nothing that a rule can be about.
impl Groups for Members<'_> {
    fn has_member(&self, group: &str, attribute: AttributeId, member: &str) -> bool {
        self.find_member(group, attribute, member).unwrap_or(false)
    }

    fn values(&self, name: &str, attribute: AttributeId, each: &mut dyn FnMut(&[u8]) -> bool) {
        let _ = self.look_at(name, |view| view.values(attribute, each));
    }

    fn has_value(&self, name: &str, attribute: AttributeId, form: &[u8]) -> bool {
        let found = if self.is_indexed(attribute) {
            self.is_among(name, attribute, form)
        } else {
            self.look_at(name, |view| view.has_value(attribute, form)).map(|found| found == Some(true))
        };
        found.unwrap_or(false)
    }

    fn holders(&self, attribute: AttributeId, form: &[u8], each: &mut dyn FnMut(&str) -> bool) -> bool {
        self.is_indexed(attribute) && self.each_holder(attribute, form, each).is_ok()
    }

    fn find(&self, url: &LdapUrl, each: &mut dyn FnMut(Option<&dyn Target>) -> bool) {
        let _ = self.search(url, each);
    }
}

impl<'v> Members<'v> {
    /// `naming`: what names are remembered by, if they are.
    pub fn new(state: &'v State, tables: Tables<'v>, naming: Option<Naming>) -> Members<'v> {
        Members { state, tables, naming, found: RefCell::default() }
    }

    pub fn of(scene: &Scene<'v>) -> Members<'v> {
        Members::new(scene.state, scene.tables, scene.naming)
    }

    fn find_member(&self, group: &str, attribute: AttributeId, member: &str) -> Result<bool> {
        if dynamic::has_urls(&self.state.schema, attribute) {
            return self.is_found_by(group, attribute, member);
        }
        Ok(self.has_value(group, attribute, member.as_bytes()))
    }

    fn is_indexed(&self, attribute: AttributeId) -> bool {
        self.state.ready.get(attribute) & index::bits::EQUALITY != 0
    }

    /// Does something in a scene that is seen as whoever may see everything.
    fn within<T>(&self, work: impl FnOnce(&Scene<'_>) -> Result<T>) -> Result<T> {
        let plan = self.state.rules.plan(&Requester::internal(), self);
        work(&Scene { state: self.state, tables: self.tables, naming: self.naming, plan: &plan, more: None })
    }

    /// Asks something of the entry of a normalized name, if there is one.
    fn look_at<T>(&self, name: &str, question: impl FnOnce(&View<'_, '_>) -> T) -> Result<Option<T>> {
        let Some(id) = self.find(name)? else { return Ok(None) };
        self.within(|scene| {
            let entry = names::entry(&scene.tables.entry()?, id)?;
            let name = scene.name_of(id, &entry)?;
            Ok(Some(question(&View::new(scene, id, entry, &name))))
        })
    }

    fn each_holder(&self, attribute: AttributeId, form: &[u8], each: &mut dyn FnMut(&str) -> bool) -> Result<()> {
        let entries = self.tables.entry()?;
        for id in index::equal(&self.tables.index()?, attribute, form, &Reach::all())?.iter() {
            let name = match self.naming {
                Some(naming) => names::remembered_name(&self.tables, naming, id)?,
                None => names::name_of(&entries, id)?.into(),
            };
            if !each(&names::normalize(&self.state.schema, &name)?) {
                break;
            }
        }
        Ok(())
    }

    /// What a search for a URL looks at, and whether it finds that. Referral objects and subentries are none that it finds
    /// below its base, and it finds nothing at one that is a referral object.
    fn search(&self, url: &LdapUrl, each: &mut dyn FnMut(Option<&dyn Target>) -> bool) -> Result<()> {
        let source = Source::of(&self.state.schema, self.state.limits.filter_depth, url);
        let Some(source) = source.filter(|_| url.extensions.is_empty()) else { return Ok(()) };
        let Some(base) = self.find(&source.base)? else { return Ok(()) };
        self.within(|scene| {
            let entries = scene.tables.entry()?;
            if names::entry(&entries, base)?.marks() & mark::REFERRAL != 0 {
                return Ok(());
            }
            let test = source.filter.as_ref().map(|filter| scene.test(filter.as_filter())).transpose()?;
            let part = Part { scene, base, scope: source.scope };
            let mut visit = |id: Id, is_within: bool| {
                let entry = names::entry(&entries, id)?;
                let is_hidden = entry.marks() & mark::REFERRAL != 0
                    || entry.marks() & mark::SUBENTRY != 0 && source.scope != Scope::Base;
                if is_hidden || !is_within {
                    return Ok(!each(None));
                }
                let name = scene.name_of(id, &entry)?;
                let view = View::new(scene, id, entry, &name);
                let is_found = match &test {
                    Some(test) => view.matches(test)? == Some(true),
                    None => true,
                };
                Ok(!each(is_found.then_some(&view)))
            };
            let Some(ids) = self.candidates(scene, test.as_ref())? else {
                return part.walk(|id| visit(id, true)).map(drop);
            };
            for id in ids.iter() {
                if visit(id, part.contains(id)?)? {
                    break;
                }
            }
            Ok(())
        })
    }

    /// The entries that may be as a test says, if indices tell.
    fn candidates(&self, scene: &Scene<'_>, test: Option<&Test>) -> Result<Option<Set>> {
        let (Some(naming), Some(test)) = (self.naming, test) else { return Ok(None) };
        let planner = Planner {
            schema: &self.state.schema,
            indices: &self.state.ready,
            suffixes: &self.state.suffixes,
            naming,
            tables: scene.tables,
            index: scene.tables.index()?,
            nested_groups: self.state.nested_groups,
            total: scene.tables.entry()?.len(),
            reach: Reach::all(),
            wanted: u64::MAX,
            notes: None,
            spent: Cell::new(0),
        };
        Ok(planner.candidates(test, None)?.set)
    }

    /// The entry of a normalized name.
    pub fn find(&self, group: &str) -> Result<Option<Id>> {
        let (table, suffixes) = (self.tables.name()?, &self.state.suffixes);
        let Some(naming) = self.naming else { return names::find_entry(&table, suffixes, group) };
        Ok(match names::find_in(naming, &table, suffixes, group, 0)? {
            Found::Entry(id) => Some(id),
            _ => None,
        })
    }

    /// Whether a URL in an attribute of a group finds a member, whoever may see what it asks. One without a filter finds
    /// nobody, as with OpenLDAP: all that is below a name is somebody by the name alone.
    fn is_found_by(&self, group: &str, attribute: AttributeId, member: &str) -> Result<bool> {
        let (Some(group), Some(id)) = (self.find(group)?, self.find(member)?) else { return Ok(false) };
        let (schema, entries) = (&self.state.schema, self.tables.entry()?);
        let (entry, group_entry) = (names::entry(&entries, id)?, names::entry(&entries, group)?);
        self.within(|scene| {
            let name = scene.name_of(id, &entry)?;
            let view = View::new(scene, id, entry, &name);
            let mut is_found = false;
            for kind in &schema.attribute(attribute).family {
                each_value(&self.tables, group, &group_entry, *kind, |value| {
                    let source = Source::parse(schema, self.state.limits.filter_depth, value);
                    let source =
                        source.filter(|source| source.attributes.is_empty() && source.reaches(view.normalized()));
                    if let Some(filter) =
                        source.as_ref().and_then(|source| source.filter.as_ref()).filter(|_| !is_found)
                    {
                        is_found = view.matches(&scene.test(filter.as_filter())?)? == Some(true);
                    }
                    Ok(())
                })?;
            }
            Ok(is_found)
        })
    }

    /// Whether a group is among the entries that the index has for a member.
    fn is_among(&self, group: &str, attribute: AttributeId, member: &[u8]) -> Result<bool> {
        let mut found = self.found.borrow_mut();
        let having = match found.take().filter(|found| found.attribute == attribute && found.value == member) {
            Some(having) => having,
            None => {
                let ids = index::equal(&self.tables.index()?, attribute, member, &Reach::all())?;
                Having { attribute, value: member.to_vec(), ids }
            }
        };
        let ids = &found.insert(having).ids;
        Ok(ids.len() > 0 && self.find(group)?.is_some_and(|id| ids.contains(id)))
    }
}
