//! Dynamic groups and lists while a request is carried out: what the URLs in entries find.
//!
//! Owns: which entries have such URLs, as whom these are searched, what they find, and when that is too much. Must not know:
//! what is made of what is found (`show`, `resolve`), requests.
//!
//! | module | owns |
//! |---|---|
//! | `find` | a URL bound to the directory: what it finds, whether an entry is among that |
//! | `show` | an entry with what its URLs find |
//! | `resolve` | filters about what is shown |
//! | `memory` | what a thread remembers of groups |

mod find;
mod memory;
mod resolve;
mod show;

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use duramen_ldap::message::ResultCode;
use roaring::RoaringBitmap;

use crate::access::Plan;
use crate::assertion;
use crate::dynamic::{DynamicList, Gives, Source};
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::filter::each_value;
use crate::index::{self, Reach, bits};
use crate::inner::Inner;
use crate::names;
use crate::requester::{Method, Name, Requester};
use crate::tables::{Id, read_id};
use crate::view::{Members, MoreGroups, Scene, View};

use find::Bound;
use memory::Occasion;

/// So many entries are looked at in one go at most, for what an entry or a filter needs: nobody else is served by the thread
/// meanwhile.
const LOOKED_AT_MAX: u64 = 4_000_000;

/// How long that takes at most: to look at one entry takes a microsecond, or milliseconds, as where the filter of a URL asks for
/// groups in thousands of groups.
const LASTS_MAX: Duration = Duration::from_secs(10);

/// How many entries are looked at between two looks at the clock.
const BETWEEN_LOOKS: u64 = 16;

/// What a request knows of dynamic groups and lists.
pub(crate) struct Lists {
    inner: Arc<Inner>,
    /// As whom URLs are searched, where an entry does not say so.
    requester: Requester,
    deadline: Option<Instant>,
    /// All groups, once somebody has asked for them.
    groups: OnceCell<Arc<Vec<Group>>>,
    /// How many entries were looked at in one go.
    looked_at: Cell<u64>,
    /// When the clock was looked at first in it.
    since: Cell<Option<Instant>>,
}

/// A dynamic group.
struct Group {
    id: Id,
    /// Of which of the configured lists it is one.
    list: usize,
    is_in_member_of: bool,
    found: Found,
}

/// What the URLs of an entry are bound to.
struct Found {
    /// What is allowed to whom they are searched as, if that is not the requester.
    plan: Option<Plan>,
    urls: Vec<Bound>,
}

impl Lists {
    /// Of a request; `None` where nothing is configured.
    pub fn of(
        inner: &Arc<Inner>,
        scene: &Scene<'_>,
        requester: &Requester,
        deadline: Option<Instant>,
    ) -> Option<Box<Lists>> {
        (!scene.state.dynamic.is_empty()).then(|| {
            let (inner, requester) = (inner.clone(), requester.clone());
            let (groups, looked_at, since) = Default::default();
            Box::new(Lists { inner, requester, deadline, groups, looked_at, since })
        })
    }

    /// Begins to count anew what is looked at in one go.
    fn begin(&self) {
        self.looked_at.set(0);
        self.since.set(None);
    }

    /// Takes note that an entry is looked at.
    ///
    /// # Errors
    /// adminLimitExceeded, where these are too many; timeLimitExceeded.
    fn look(&self) -> Result<()> {
        let seen = self.looked_at.get() + 1;
        self.looked_at.set(seen);
        if seen > LOOKED_AT_MAX {
            let text =
                format!("for the URLs of dynamic groups more than {LOOKED_AT_MAX} entries would have to be looked at");
            return Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
        if seen.is_multiple_of(BETWEEN_LOOKS) { self.look_at_clock(Instant::now()) } else { Ok(()) }
    }

    fn look_at_clock(&self, now: Instant) -> Result<()> {
        let since = self.since.get().unwrap_or(now);
        self.since.set(Some(since));
        is_in_time(now, since, self.deadline)
    }

    /// Whether an entry is one of a list.
    fn is_of(&self, list: &DynamicList, view: &View<'_, '_>) -> Result<bool> {
        let (schema, entry) = (&view.scene.state.schema, &view.entry);
        let has_urls = list.urls.iter().any(|id| entry.of_type(*id).next().is_some())
            || entry.large().any(|large| list.urls.contains(&large.id));
        let is_it = |name: &[u8]| schema.find_class(name).is_some_and(|class| class.is_a(list.class));
        let has_class = || {
            let mut stored = entry.of_type(schema.known().object_class).filter(|stored| !stored.has_options);
            stored.any(|stored| stored.values().iter().any(is_it))
        };
        Ok(has_urls
            && has_class()
            && list.restrict.as_ref().map_or(Ok(true), |region| assertion::is_within(view, region))?)
    }

    /// The URLs of an entry of a list, and as whom they are searched.
    fn found(&self, list: &DynamicList, view: &View<'_, '_>) -> Result<Found> {
        let (scene, mut urls) = (view.scene, Vec::new());
        let Some(plan) = self.searcher(view)? else { return Ok(Found { plan: None, urls }) };
        let searched = Scene { plan: plan.as_ref().unwrap_or(scene.plan), more: None, ..*scene };
        let (schema, depth_max) = (&scene.state.schema, scene.state.limits.filter_depth);
        for id in &list.urls {
            each_value(&scene.tables, view.id, &view.entry, *id, |value| {
                self.look()?;
                let source = Source::parse(schema, depth_max, value);
                // What a URL names besides makes no members.
                let source = source
                    .filter(|source| matches!(list.gives, Gives::Attributes { .. }) || source.attributes.is_empty());
                urls.extend(source.map_or(Ok(None), |source| Bound::new(&searched, list, source))?);
                Ok(())
            })?;
        }
        Ok(Found { plan, urls })
    }

    /// What is allowed to whom an entry has its URLs searched as, if not as the requester; `None` if the requester may not
    /// have them searched so.
    fn searcher(&self, view: &View<'_, '_>) -> Result<Option<Option<Plan>>> {
        let Scene { state, tables, naming, .. } = *view.scene;
        let dynamic = &state.dynamic;
        let stored = |id| view.entry.of_type(id).flat_map(|stored| stored.values());
        let Some(identity) = dynamic.identity.and_then(|id| stored(id).next()) else { return Ok(Some(None)) };
        let Ok(name) = names::both(&state.schema, &String::from_utf8_lossy(identity)) else { return Ok(None) };
        let rules: Vec<Vec<u8>> = dynamic.authz.map_or(Vec::new(), |id| stored(id).map(<[u8]>::to_vec).collect());
        let may_be = rules.is_empty()
            || name.is_empty()
            || self.requester.is_administrator
            || self.inner.name(state, &self.requester, &rules, &self.requester.name)?;
        let plan = || state.rules.plan(&self.acting_as(name, view.scene), &Members::new(state, tables, naming));
        Ok(may_be.then(|| Some(plan())))
    }

    fn acting_as(&self, name: Name, scene: &Scene<'_>) -> Requester {
        let administrator = scene.state.administrator.as_ref();
        let is_administrator = administrator.is_some_and(|it| it.name.normalized == name.normalized);
        let method = if name.is_empty() { Method::Anonymous } else { self.requester.method };
        Requester { name, method, is_administrator, ..self.requester.clone() }
    }

    /// All dynamic groups.
    fn groups(&self, scene: &Scene<'_>) -> Result<&[Group]> {
        if let Some(groups) = self.groups.get() {
            return Ok(groups);
        }
        let occasion = Occasion::of(self.inner.number, scene, &self.requester);
        if let Some(known) = occasion.as_ref().and_then(Occasion::recall) {
            return Ok(self.groups.get_or_init(|| known));
        }
        let mut groups = Vec::new();
        for (n, list) in scene.state.dynamic.lists.iter().enumerate() {
            if matches!(list.gives, Gives::Members { .. }) {
                self.each_entry(scene, list, |view| {
                    let (id, is_in_member_of) = (view.id, list.gives.are_in_member_of());
                    groups.push(Group { id, list: n, is_in_member_of, found: self.found(list, view)? });
                    Ok(())
                })?;
            }
        }
        let groups = Arc::new(groups);
        occasion.into_iter().for_each(|occasion| occasion.remember(&groups));
        Ok(self.groups.get_or_init(|| groups))
    }

    /// Calls `each` with all entries of a list.
    fn each_entry(
        &self,
        scene: &Scene<'_>,
        list: &DynamicList,
        mut each: impl FnMut(&View<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        let (entries, known) = (scene.tables.entry()?, scene.state.schema.known());
        let mut visit = |id: Id, entry: Entry<'_>| {
            self.look()?;
            let name = scene.name_of(id, &entry)?;
            let view = View::new(scene, id, entry, &name);
            if self.is_of(list, &view)? { each(&view) } else { Ok(()) }
        };
        if scene.state.ready.get(known.object_class) & bits::EQUALITY != 0 {
            let oid = scene.state.schema.class(list.class).oid.as_bytes();
            let ids = index::equal(&scene.tables.index()?, known.object_class, oid, &Reach::all())?;
            return ids.iter().try_for_each(|id| visit(id, names::entry(&entries, id)?));
        }
        for item in entries.iter() {
            let (key, bytes) = item?;
            if let (Some(id), Some(entry)) = (read_id(key), Entry::parse(bytes)) {
                visit(id, entry)?;
            }
        }
        Ok(())
    }

    /// Whether the URLs of an entry find another one, which is seen as it is stored.
    fn finds(&self, found: &Found, view: &View<'_, '_>) -> Result<bool> {
        let scene = found.seen(view.scene);
        let own = found.plan.as_ref().map(|_| View::new(&scene, view.id, view.entry, view.name));
        let view = own.as_ref().unwrap_or(view);
        for url in &found.urls {
            self.look()?;
            if url.finds(view)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls `each` with what the URLs of an entry find, of what several find again, until it returns false.
    fn each_found(
        &self,
        scene: &Scene<'_>,
        found: &Found,
        mut each: impl FnMut(&Bound, &View<'_, '_>) -> Result<bool>,
    ) -> Result<()> {
        let scene = found.seen(scene);
        for url in &found.urls {
            let goes_on = url.each(&scene, &self.inner.changes, &mut |view| each(url, view), &|| self.look())?;
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}

impl Found {
    /// A scene as whoever searches sees it. What URLs ask is asked of what is stored: groups may ask about each other.
    fn seen<'s>(&'s self, scene: &Scene<'s>) -> Scene<'s> {
        Scene { plan: self.plan.as_ref().unwrap_or(scene.plan), more: None, ..*scene }
    }
}

impl MoreGroups for Lists {
    fn add_groups(&self, view: &View<'_, '_>, found: &mut RoaringBitmap) -> Result<()> {
        let scene = Scene { more: None, ..*view.scene };
        let stored = View::new(&scene, view.id, view.entry, view.name);
        for group in self.groups(&scene)? {
            if group.is_in_member_of && !found.contains(group.id) && self.finds(&group.found, &stored)? {
                found.insert(group.id);
            }
        }
        Ok(())
    }
}

/// Whether what began in one go `since` then may go on.
fn is_in_time(now: Instant, since: Instant, deadline: Option<Instant>) -> Result<()> {
    if deadline.is_some_and(|end| now > end) {
        return Err(Failure::new(ResultCode::TIME_LIMIT_EXCEEDED, "the search takes longer than it may"));
    }
    if now.saturating_duration_since(since) > LASTS_MAX {
        let text = format!("the URLs of dynamic groups would take longer than {} s", LASTS_MAX.as_secs());
        return Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_at_in_one_go_has_a_bound_in_time_whatever_each_look_takes() {
        let (since, second) = (Instant::now(), Duration::from_secs(1));
        let code = |seconds, deadline| is_in_time(since + second * seconds, since, deadline).map_err(|it| it.code);
        assert_eq!((code(0, None), code(10, None)), (Ok(()), Ok(())));
        assert_eq!(code(11, None), Err(ResultCode::ADMIN_LIMIT_EXCEEDED));
        assert_eq!(code(2, Some(since + second)), Err(ResultCode::TIME_LIMIT_EXCEEDED));
    }
}
