//! Filters about what dynamic groups and lists show: which entries these are is found out once, before the search walks.
//!
//! Invariant: what was asked of values that are stored is asked still; entries that show what is asked for come beside it. So an
//! item about `member` becomes (item OR one of these entries), and one about `memberOf` (item OR what the group's URLs ask).

use roaring::RoaringBitmap;

use super::{Group, Lists};
use crate::access::{Level, What};
use crate::dynamic::{DynamicList, Gives};
use crate::failure::Result;
use crate::filter::{Subject, Test, each_value, member_types};
use crate::index::Set;
use crate::names;
use crate::schema::AttributeId;
use crate::tables::Id;
use crate::view::{Members, Scene, View};

impl Lists {
    /// What a filter asks, also of what is shown. It is the requester's.
    pub fn resolve(&self, scene: &Scene<'_>, test: Test) -> Result<Test> {
        self.begin();
        self.resolved(scene, test)
    }

    fn resolved(&self, scene: &Scene<'_>, test: Test) -> Result<Test> {
        let all =
            |parts: Vec<Test>| parts.into_iter().map(|part| self.resolved(scene, part)).collect::<Result<Vec<_>>>();
        let boxed = |part: Box<Test>| self.resolved(scene, *part).map(Box::new);
        Ok(match test {
            Test::And(parts) => Test::And(all(parts)?),
            Test::Or(parts) => Test::Or(all(parts)?),
            Test::Not(part) => Test::Not(boxed(part)?),
            Test::Made { id, asserted, test } => Test::Made { id, asserted, test: boxed(test)? },
            Test::WithName { test, subject, rule, normalized } => {
                Test::WithName { test: boxed(test)?, subject, rule, normalized }
            }
            Test::MemberOf(group) if scene.state.dynamic.are_in_member_of() => self.members_of(scene, group)?,
            Test::Present(subject) if self.is_member_of(scene, &subject) => self.members_of_any(scene, subject)?,
            test => match test.subject().map(|subject| self.showing(scene, &test, subject)).transpose()?.flatten() {
                Some(found) => Test::Or(vec![test, Test::OneOf(Set::Many(found))]),
                None => test,
            },
        })
    }

    /// The entries that show what an item asks for; `None` if nothing that it is about is shown by any.
    fn showing(&self, scene: &Scene<'_>, test: &Test, subject: &Subject) -> Result<Option<RoaringBitmap>> {
        let lists = &scene.state.dynamic;
        if !subject.options.is_empty() || subject.types.iter().all(|id| lists.sought_in(*id).next().is_none()) {
            return Ok(None);
        }
        let mut found = RoaringBitmap::new();
        for (n, list) in lists.lists.iter().enumerate() {
            let is_sought = subject.types.iter().any(|id| lists.sought_in(*id).any(|other| std::ptr::eq(other, list)));
            match (&list.gives, test) {
                _ if !is_sought => {}
                (Gives::Members { attribute, .. }, Test::Equal { normalized, asserted, .. }) => {
                    self.groups_of(scene, n, (*attribute, subject.checked), (normalized, asserted), &mut found)?;
                }
                // None of these is asked for of each entry by itself, as access rules have it.
                (Gives::Members { attribute, .. }, Test::Among { values, .. }) => {
                    for value in values {
                        self.groups_of(scene, n, (*attribute, false), (value, value), &mut found)?;
                    }
                }
                _ => self.shown_in(scene, list, test, subject, &mut found)?,
            }
        }
        Ok(Some(found))
    }

    /// Whether an entry is a dynamic group that has the one of a normalized name as a member; `None` if it is no such group of
    /// this attribute.
    pub fn is_member(&self, view: &View<'_, '_>, attribute: AttributeId, member: &[u8]) -> Result<Option<bool>> {
        self.begin();
        let mut is_group = false;
        for list in view.scene.state.dynamic.sought_in(attribute) {
            if !matches!(list.gives, Gives::Members { .. }) || !self.is_of(list, view)? {
                continue;
            }
            is_group = true;
            let found = self.found(list, view)?;
            if with_entry(view.scene, member, |member| self.finds(&found, member))? == Some(true) {
                return Ok(Some(true));
            }
        }
        Ok(is_group.then_some(false))
    }

    /// Adds groups of a list that have somebody as a member: each URL is asked about the one entry.
    fn groups_of(
        &self,
        scene: &Scene<'_>,
        list: usize,
        (attribute, is_checked): (AttributeId, bool),
        (member, asserted): (&[u8], &[u8]),
        found: &mut RoaringBitmap,
    ) -> Result<()> {
        with_entry(scene, member, |member| {
            for group in self.groups(scene)?.iter().filter(|group| group.list == list) {
                if self.finds(&group.found, member)?
                    && (!is_checked || may_search(scene, group.id, attribute, asserted)?)
                {
                    found.insert(group.id);
                }
            }
            Ok(())
        })
        .map(|_| ())
    }

    /// Adds entries of a list that an item is true of as they are shown.
    fn shown_in(
        &self,
        scene: &Scene<'_>,
        list: &DynamicList,
        test: &Test,
        subject: &Subject,
        found: &mut RoaringBitmap,
    ) -> Result<()> {
        self.each_entry(scene, list, |view| {
            let wants = |id| subject.types.contains(&id);
            if self.show_also(view, &wants, |shown| shown.matches(test))? == Some(true) {
                found.insert(view.id);
            }
            Ok(())
        })
    }

    /// Whether an entry is a member of a group: by being named in it, by being found by its URLs and, where groups are nested, by
    /// being a member of a group that is one.
    fn members_of(&self, scene: &Scene<'_>, name: String) -> Result<Test> {
        let Some(first) = Members::of(scene).find(&name)? else { return Ok(Test::MemberOf(name)) };
        let (mut parts, mut seen, mut waiting) = (Vec::new(), RoaringBitmap::from([first]), vec![first]);
        while let Some(id) = waiting.pop() {
            self.look()?;
            let mut found_groups = RoaringBitmap::new();
            let mut own = self.groups(scene)?.iter().filter(|group| group.id == id && group.is_in_member_of);
            own.try_for_each(|group| self.parts_of(scene, group, &mut parts, &mut found_groups))?;
            if scene.state.nested_groups {
                self.named_groups(scene, id, &mut found_groups)?;
                waiting.extend(found_groups.iter().filter(|group| seen.insert(*group)));
            }
            if id != first {
                let name = names::name_of(&scene.tables.entry()?, id)?;
                parts.push(Test::MemberOf(names::normalize(&scene.state.schema, &name)?));
            }
        }
        parts.push(Test::MemberOf(name));
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Test::Or(parts) })
    }

    /// Whether an item is about `memberOf`, and there are groups that count in it.
    fn is_member_of(&self, scene: &Scene<'_>, subject: &Subject) -> bool {
        let state = scene.state;
        let is_it = subject.types[..] == [state.schema.known().member_of] && subject.options.is_empty();
        is_it && state.dynamic.are_in_member_of()
    }

    /// Whether an entry is a member of some group.
    fn members_of_any(&self, scene: &Scene<'_>, subject: Subject) -> Result<Test> {
        let (mut parts, mut unused) = (Vec::new(), RoaringBitmap::new());
        let mut groups = self.groups(scene)?.iter().filter(|group| group.is_in_member_of);
        groups.try_for_each(|group| self.parts_of(scene, group, &mut parts, &mut unused))?;
        let (id, found) = (scene.state.schema.known().member_of, Box::new(Test::Or(parts)));
        let found = if subject.checked { Test::Made { id, asserted: Vec::new(), test: found } } else { *found };
        Ok(Test::Or(vec![Test::Present(subject), found]))
    }

    /// Adds what the URLs of a group ask, and the groups that they find.
    fn parts_of(
        &self,
        scene: &Scene<'_>,
        group: &Group,
        parts: &mut Vec<Test>,
        groups: &mut RoaringBitmap,
    ) -> Result<()> {
        // What somebody else searches for is no part of the requester's filter.
        let is_other = group.found.plan.is_some();
        let mut members = RoaringBitmap::new();
        if is_other || scene.state.nested_groups {
            self.each_found(scene, &group.found, |_, view| {
                members.insert(view.id);
                if scene.state.nested_groups && is_group(scene, view) {
                    groups.insert(view.id);
                }
                Ok(true)
            })?;
        }
        if is_other {
            parts.push(Test::OneOf(Set::Many(members)));
            return Ok(());
        }
        for url in &group.found.urls {
            if url.is_open(scene)? {
                parts.extend(url.test());
            }
        }
        Ok(())
    }

    /// Adds the groups among those that a group names.
    fn named_groups(&self, scene: &Scene<'_>, group: Id, groups: &mut RoaringBitmap) -> Result<()> {
        let (entries, members) = (scene.tables.entry()?, Members::of(scene));
        let entry = names::entry(&entries, group)?;
        for kind in member_types(&scene.state.schema) {
            each_value(&scene.tables, group, &entry, kind, |value| {
                self.look()?;
                let name = std::str::from_utf8(value).ok();
                let name = name.and_then(|name| names::normalize(&scene.state.schema, name).ok());
                let Some(id) = name.map_or(Ok(None), |name| members.find(&name))? else { return Ok(()) };
                if is_group(scene, &View::new(scene, id, names::entry(&entries, id)?, "")) {
                    groups.insert(id);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Asks something of the entry of a normalized name, if there is one.
fn with_entry<T>(scene: &Scene<'_>, name: &[u8], ask: impl FnOnce(&View<'_, '_>) -> Result<T>) -> Result<Option<T>> {
    let scene = &Scene { more: None, ..*scene };
    let Ok(name) = std::str::from_utf8(name) else { return Ok(None) };
    let Some(id) = Members::of(scene).find(name)? else { return Ok(None) };
    let entry = names::entry(&scene.tables.entry()?, id)?;
    let name = scene.name_of(id, &entry)?;
    ask(&View::new(scene, id, entry, &name)).map(Some)
}

/// Whether an entry may have members: it names some, or has URLs.
fn is_group(scene: &Scene<'_>, view: &View<'_, '_>) -> bool {
    let lists = scene.state.dynamic.lists.iter().filter(|list| list.gives.are_in_member_of());
    let urls = lists.flat_map(|list| &list.urls).copied();
    let mut kinds = member_types(&scene.state.schema).into_iter().chain(urls);
    view.entry.has_large() || kinds.any(|id| view.entry.of_type(id).next().is_some())
}

/// Whether the requester may search an entry for a value.
fn may_search(scene: &Scene<'_>, id: Id, attribute: AttributeId, value: &[u8]) -> Result<bool> {
    let entry = names::entry(&scene.tables.entry()?, id)?;
    let name = scene.name_of(id, &entry)?;
    Ok(View::new(scene, id, entry, &name).allows(What::Attribute(attribute, Some(value)), Level::Search))
}
