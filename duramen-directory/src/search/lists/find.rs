//! A URL of an entry, bound to the directory: what it finds.
//!
//! Invariant: to be found takes what it would take a client: leave to search at the base, for what the filter asks, and to read
//! the entry. Referral objects are entries like others, and aliases are not followed.

use std::sync::{Arc, OnceLock};

use duramen_ldap::filter::FilterBuf;
use duramen_ldap::matching::Rule;
use duramen_ldap::message::Scope;

use crate::access::{Level, Target, What};
use crate::dynamic::{DynamicList, Source};
use crate::entry::{Entry, mark};
use crate::failure::{Result, damaged};
use crate::filter::Test;
use crate::index::Set;
use crate::names::{self, Changes};
use crate::search::members;
use crate::search::portion::Rest;
use crate::search::scope::Area;
use crate::tables::{Id, read_id};
use crate::view::{Members, Scene, View};

/// So many entries are fetched together at most.
const TOGETHER: usize = 16;

/// What a URL searches for.
pub(super) struct Bound {
    source: Source,
    base: Id,
    /// Whether all there is lies in its scope.
    is_whole: bool,
    test: Test,
    /// Whether the base may be searched, once that was asked.
    is_open: OnceLock<bool>,
}

impl Bound {
    /// In a scene that is seen as whoever searches; `None` where there is nothing to search. What shows what it finds itself is
    /// not found by URLs that name attributes, or have no filter: lists in lists would have no end.
    pub fn new(scene: &Scene<'_>, list: &DynamicList, source: Source) -> Result<Option<Bound>> {
        let Some(base) = Members::of(scene).find(&source.base)? else { return Ok(None) };
        let class = &scene.state.schema.class(list.class).oid;
        let own = (source.filter.is_none() || !source.attributes.is_empty())
            .then(|| FilterBuf::parse(&format!("(!(objectClass={class}))")).ok())
            .flatten();
        let mut parts = Vec::new();
        for filter in own.iter().chain(&source.filter) {
            parts.push(scene.test(filter.as_filter())?);
        }
        let test = if parts.len() == 1 { parts.swap_remove(0) } else { Test::And(parts) };
        let is_suffix = names::parent(&scene.tables.entry()?, base)? == 0;
        let is_whole = is_suffix && scene.state.suffixes.len() == 1 && source.scope == Scope::Subtree;
        Ok(Some(Bound { source, base, is_whole, test, is_open: OnceLock::new() }))
    }

    /// Attributes that the URL names.
    pub fn attributes(&self) -> &[String] {
        &self.source.attributes
    }

    /// What it asks of entries, wherever they are: as a part of a filter of the same requester.
    pub fn test(&self) -> Option<Test> {
        let name = &self.source.base;
        let related = |rule: &str| {
            let rule = Rule::find(rule)?;
            Some(Test::NameRelated { rule, normalized: name.clone().into_bytes() })
        };
        let within = match self.source.scope {
            _ if self.is_whole => return Some(self.test.clone()),
            Scope::One => related("dnOneLevelMatch")?,
            Scope::Subtree => related("dnSubtreeMatch")?,
            Scope::Subordinates => related("dnSubordinateMatch")?,
            _ => Test::Name(name.clone()),
        };
        Some(Test::And(vec![within, self.test.clone()]))
    }

    /// Whether the base may be searched.
    pub fn is_open(&self, scene: &Scene<'_>) -> Result<bool> {
        if let Some(known) = self.is_open.get() {
            return Ok(*known);
        }
        let entry = names::entry(&scene.tables.entry()?, self.base)?;
        let name = scene.name_of(self.base, &entry)?;
        let is_open = View::new(scene, self.base, entry, &name).allows(What::Entry, Level::Search);
        Ok(*self.is_open.get_or_init(|| is_open))
    }

    /// Whether it finds an entry, which is seen as whoever searches sees it.
    pub fn finds(&self, view: &View<'_, '_>) -> Result<bool> {
        Ok(self.source.reaches(view.name()) && self.is_open(view.scene)? && self.takes(view, false)?)
    }

    /// Whether an entry in its scope is found.
    fn takes(&self, view: &View<'_, '_>, is_matching: bool) -> Result<bool> {
        // RFC 3672 section 3, as for clients.
        let is_hidden = view.entry.marks() & mark::SUBENTRY != 0 && self.source.scope != Scope::Base;
        Ok(!is_hidden
            && (is_matching || view.matches(&self.test)? == Some(true))
            && view.allows(What::Entry, Level::Read))
    }

    /// Calls `each` with all that it finds, until that returns false, which is returned then; `look` with each entry that is
    /// looked at.
    pub fn each(
        &self,
        scene: &Scene<'_>,
        changes: &Arc<Changes>,
        each: &mut dyn FnMut(&View<'_, '_>) -> Result<bool>,
        look: &dyn Fn() -> Result<()>,
    ) -> Result<bool> {
        let entries = scene.tables.entry()?;
        let Some(naming) = scene.naming.filter(|_| !matches!(self.test, Test::False | Test::Undefined)) else {
            return Ok(true);
        };
        if !self.is_open(scene)? {
            return Ok(true);
        }
        let area = Area::new(self.base, self.source.scope, self.is_whole, changes);
        let mut visit = |id: Id, bytes: &[u8], is_matching: bool| {
            look()?;
            let entry = Entry::parse(bytes).ok_or_else(|| damaged(format_args!("entry {id}")))?;
            if !area.has(&entries, id, entry.parent)? {
                return Ok(true);
            }
            let name = scene.name_of(id, &entry)?;
            let view = View::new(scene, id, entry, &name);
            if self.takes(&view, is_matching)? { each(&view) } else { Ok(true) }
        };
        let (ids, is_exact) = match self.source.scope {
            Scope::Base => (Some(Set::one(self.base)), false),
            _ => {
                let found = Rest::at_once(0, Set::empty()).find(scene, naming, &area, &self.test, false)?;
                let all = || members::find(&area, scene, members::most_of_all(entries.len()));
                (found.set.map_or_else(all, |set| Ok(Some(set)))?, found.exact)
            }
        };
        let Some(ids) = ids else {
            for item in entries.iter() {
                let (key, bytes) = item?;
                let id = read_id(key).ok_or_else(|| damaged("a key of table `entry`"))?;
                if !visit(id, bytes, is_exact)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        };
        let mut from = 0;
        loop {
            let some = ids.some_from(from, TOGETHER);
            let keys: Vec<[u8; 4]> = some.iter().map(|id| id.to_be_bytes()).collect();
            for (id, bytes) in some.iter().zip(entries.get_many(&keys)?) {
                let bytes = bytes.ok_or_else(|| damaged(format_args!("an index, which has entry {id},")))?;
                if !visit(*id, bytes, is_exact)? {
                    return Ok(false);
                }
            }
            match some.last().and_then(|last| last.checked_add(1)) {
                Some(next) => from = next,
                None => return Ok(true),
            }
        }
    }
}
