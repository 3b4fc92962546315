//! The beginning of a search: who asks, where it begins, which entries come into question.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use duramen::Snapshot;
use duramen_ldap::ber::List;
use duramen_ldap::message::{Control, Deref, ResultCode, Scope, SearchRequest};

use super::copying;
use super::dereference::Dereferencing;
use super::lists::Lists;
use super::members;
use super::order::Collecting;
use super::page::Page;
use super::portion::Rest;
use super::scope::Area;
use super::select::Selection;
use super::sort::Order;
use super::special;
use super::standing::Standing;
use super::window::Window;
use super::{Job, Options, Search};
use crate::access::{Level, MadeUp, Plan, What};
use crate::base::{self, Follow};
use crate::config::SearchLimits;
use crate::controls::{Controls, Of};
use crate::entry::{Entry, mark};
use crate::failure::{Failure, Result, damaged};
use crate::filter::{Compiler, Test, check_depth};
use crate::index::{self, Reach, Set, bits};
use crate::inner::Inner;
use crate::meta;
use crate::names::{self, Base, Naming};
use crate::orders::{Orders, Question};
use crate::requester::Requester;
use crate::seal::Seal;
use crate::state::State;
use crate::tables::{Id, Tables};
use crate::view::{Members, Scene, View};

/// What a search is begun for.
pub(super) enum Purpose<'p> {
    /// What a client asks for.
    Request,
    /// As [`Purpose::Request`], with notes on how candidates are found.
    Explanation,
    /// What has changed since, for a client that waits for that.
    News(&'p Standing),
    /// What the directory itself looks for: only what is stored counts.
    Own,
}

impl Inner {
    /// Begins a search. `explain`: notes how candidates are found.
    pub(crate) fn search(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &SearchRequest<'_>,
        controls: List<'_, Control<'_>>,
        explain: bool,
    ) -> Result<Search> {
        let purpose = if explain { Purpose::Explanation } else { Purpose::Request };
        self.begin_search(requester, request, controls, &purpose)
    }

    /// As [`Inner::search`], for what the directory itself wants to know: dynamic groups and lists are what is stored of them.
    pub(crate) fn search_stored(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &SearchRequest<'_>,
    ) -> Result<Search> {
        self.begin_search(requester, request, List::default(), &Purpose::Own)
    }

    pub(super) fn begin_search(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &SearchRequest<'_>,
        list: List<'_, Control<'_>>,
        purpose: &Purpose<'_>,
    ) -> Result<Search> {
        let mut controls = Controls::parse(list, Of::Search)?;
        let snapshot = if controls.sync.is_some() { self.read_with_history()? } else { self.db.read_owned()? };
        let state = self.state_of(&snapshot)?;
        copying::check(&state, &mut controls, request)?;
        let proxied = self.proxied(&state, requester, &controls)?;
        let asking = proxied.as_ref().unwrap_or(requester);
        let tables = Tables::Snapshot(&snapshot);
        let naming = self.naming(&state, &snapshot)?;
        let made_up = made_up(&state, request.base)?;
        let rules = state.rules.about(made_up.as_ref().map(|(which, _)| *which));
        let plan = rules.plan(asking, &Members::new(&state, tables, Some(naming)));
        let explain = matches!(purpose, Purpose::Explanation);
        let begun = Beginning {
            inner: self,
            state: &state,
            scene: Scene { state: &state, tables, naming: Some(naming), plan: &plan, more: None },
            naming,
            request,
            made_up: made_up.map(|(_, name)| name),
            controls: &controls,
            explain,
        };
        let options = begun.options(asking);
        let lists = begun.lists(asking, &options, purpose);
        let found = begun.find(options, lists.as_deref());
        if !matches!(found, Ok(Found { job: Job::Special(_), .. })) {
            meta::check_whole(self.number, &snapshot)?;
        }
        let mut found = found?;
        if explain {
            found.notes.splice(..0, begun.compiler(false).undefined(request.filter));
        }
        let selection = begun.selection()?;
        let dereferencing = controls.dereference.as_ref();
        let dereferencing = dereferencing.map(|it| Dereferencing::new(&state.schema, it)).transpose()?;
        let mut copying = begun.copying(&mut found, purpose)?;
        copying.iter_mut().for_each(|copying| copying.keep_request(requester, request, list));
        let ground = (state.clone(), snapshot, naming, plan);
        let search = Search { lists, ..Search::new(ground, found, selection, self.seal.clone()) };
        let mut search = Search { copying: copying.map(Box::new), dereferencing, ..search };
        search.sort(&self.orders, &state, asking, request, &controls)?;
        search.page.as_ref().map_or(Ok(()), |page| page.check_sorted(search.order.is_some()))?;
        // RFC 2696 section 3: a page of nothing with a cookie ends a paged search.
        if controls.page.is_some_and(|page| page.size == 0 && !page.cookie.is_empty()) {
            (search.job, search.rest, search.collecting) = (Job::Ids(Set::empty()), None, None);
        }
        Ok(search)
    }
}

impl Search {
    /// A search that has found where it begins, and has nothing else to do with what it finds than to give it out.
    fn new(
        (state, snapshot, naming, plan): (Arc<State>, Snapshot<'static>, Naming, Plan),
        found: Found,
        selection: Selection,
        seal: Seal,
    ) -> Search {
        Search {
            state,
            snapshot,
            naming,
            plan,
            job: found.job,
            rest: found.rest,
            test: found.test,
            exact: found.exact,
            also: found.also,
            selection,
            area: found.area,
            options: found.options,
            next: found.page.as_ref().map_or(0, |page| page.start.id),
            page: found.page,
            seal,
            sort_response: None,
            order: None,
            window: None,
            list_view: None,
            collecting: None,
            copying: None,
            dereferencing: None,
            lists: None,
            given: 0,
            examined: 0,
            parent: None,
            notes: found.notes,
        }
    }
}

/// Nobody learns that a base is there that is not to be known of.
fn may_be_searched(base: &View<'_, '_>) -> Result<()> {
    if base.allows(What::Entry, Level::Search) {
        return Ok(());
    }
    if base.allows(What::Entry, Level::Disclose) {
        let diagnostic = "the base of the search may not be searched";
        return Err(Failure::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, diagnostic));
    }
    Err(base::hidden(base))
}

/// Which entry that is made up a search begins with, and its normalized name; `None` if it is one that is stored.
fn made_up(state: &State, base: &str) -> Result<Option<(MadeUp, String)>> {
    if !may_be_made_up(base) {
        return Ok(None);
    }
    let normalized = names::normalize(&state.schema, base)?;
    Ok(MadeUp::of(&normalized).map(|which| (which, normalized)))
}

/// Whether a name may be one of an entry that is made up, which costs less to tell than which one: of most others the last bytes
/// tell.
fn may_be_made_up(name: &str) -> bool {
    let trimmed = name.trim_end().as_bytes();
    let ends_in = |value: &str| {
        let end = trimmed.len().checked_sub(value.len()).map(|at| &trimmed[at..]);
        end.is_some_and(|end| end.eq_ignore_ascii_case(value.as_bytes()))
    };
    // By escapes, in hexadecimal digits, with characters that are prepared, the same value can be written in many ways.
    let is_odd = |byte| !matches!(byte, b' '..=b'~') || matches!(byte, b'\\' | b'#' | b'"');
    trimmed.is_empty() || ends_in("subschema") || ends_in("monitor") || name.bytes().any(is_odd)
}

/// What a search begins with.
pub(super) struct Found {
    pub job: Job,
    pub rest: Option<Rest>,
    test: Test,
    pub exact: bool,
    also: Set,
    pub area: Area,
    pub options: Options,
    page: Option<Page>,
    notes: Vec<String>,
}

impl Found {
    /// All entries, each to be tested.
    fn all(test: Test, area: Area, options: Options, page: Option<Page>) -> Found {
        let also = Set::empty();
        Found { job: Job::All, rest: None, test, exact: false, also, area, options, page, notes: vec![] }
    }
}

pub(super) struct Beginning<'b> {
    pub inner: &'b Arc<Inner>,
    pub state: &'b State,
    pub scene: Scene<'b>,
    naming: Naming,
    pub request: &'b SearchRequest<'b>,
    /// The normalized name of the base, if that is made up.
    made_up: Option<String>,
    pub controls: &'b Controls<'b>,
    explain: bool,
}

impl Beginning<'_> {
    /// Dynamic groups and lists, if they matter: not to who keeps a copy, or asks for entries as they are stored.
    fn lists(&self, requester: &Requester, options: &Options, purpose: &Purpose<'_>) -> Option<Box<Lists>> {
        let is_of_stored = options.manage || self.controls.sync.is_some() || matches!(purpose, Purpose::Own);
        if is_of_stored { None } else { Lists::of(self.inner, &self.scene, requester, options.deadline) }
    }

    fn find(&self, options: Options, lists: Option<&Lists>) -> Result<Found> {
        check_depth(self.request.filter, self.state.limits.filter_depth)?;
        let test = self.compiler(false).compile(self.request.filter);
        if let Some(entries) = self.special(self.request.scope)? {
            self.controls.sync.map_or(Ok(()), |_| Err(copying::not_here()))?;
            self.check_special_base()?;
            self.check_special_assertion()?;
            let area = Area::new(0, self.request.scope, false, &self.inner.changes);
            return Ok(Found { job: Job::Special(entries), ..Found::all(test, area, options, self.page()?) });
        }
        let base = self.base()?;
        self.check_base(base.id)?;
        self.check_assertion(base.id)?;
        let area = self.area(base)?;
        let test = if let Some(lists) = lists { lists.resolve(&self.scene, test)? } else { test };
        self.candidates(test, area, options)
    }

    fn page(&self) -> Result<Option<Page>> {
        let parse = |page| Page::parse(&self.inner.seal, page, self.request, self.controls.sort);
        self.controls.page.map(parse).transpose()
    }

    fn compiler(&self, of_values: bool) -> Compiler<'_> {
        let (of_copies, fitting) = (self.controls.sync.is_some(), RefCell::default());
        Compiler { schema: &self.state.schema, plan: self.scene.plan, of_values, of_copies, fitting }
    }

    fn selection(&self) -> Result<Selection> {
        let selection = Selection::new(&self.state.schema, self.request.attributes, self.request.types_only)?;
        let selection = if self.controls.sync.is_some() { selection.stored_only() } else { selection };
        Ok(match &self.controls.matched_values {
            None => selection,
            Some(filters) => {
                let compiler = self.compiler(true);
                selection.with_matched_values(filters.0.iter().map(|filter| compiler.compile(filter)).collect())
            }
        })
    }

    fn limits(&self, requester: &Requester) -> SearchLimits {
        if requester.is_administrator {
            return SearchLimits::default();
        }
        let groups = Members::new(self.state, self.scene.tables, Some(self.naming));
        let own = self.state.limits_for.iter().find(|(whom, _)| whom.is(requester, &groups));
        own.map_or(self.state.limits.search, |(_, limits)| *limits)
    }

    fn options(&self, requester: &Requester) -> Options {
        let (limits, request) = (self.limits(requester), self.request);
        let least = |asked: u32, most: u32| match (asked, most) {
            (0, 0) => u32::MAX,
            (0, one) | (one, 0) => one,
            (asked, most) => asked.min(most),
        };
        let entries_max = least(request.size_limit, limits.entries);
        let asked = (request.time_limit > 0).then(|| Duration::from_secs(u64::from(request.time_limit)));
        let time = asked.into_iter().chain(limits.time).min();
        Options {
            scope: request.scope,
            manage: self.controls.manage_dsa_it,
            domain_scope: self.controls.domain_scope,
            follows_aliases: matches!(request.deref, Deref::InSearching | Deref::Always),
            subentries: self.controls.subentries,
            entries_max,
            seen_max: least(0, limits.entries),
            passed: 0,
            // What is beyond all clocks never comes.
            deadline: time.and_then(|time| Instant::now().checked_add(time)),
            examined_max: if limits.examined > 0 { u64::from(limits.examined) } else { u64::MAX },
            entry_checked: self.scene.plan.everywhere(None, Level::Read) != Some(true),
        }
    }

    /// What there is in a scope of the base, if that is made up.
    fn special(&self, scope: Scope) -> Result<Option<Vec<special::Special>>> {
        let Some(normalized) = &self.made_up else { return Ok(None) };
        let found = special::find(self.inner, self.state, normalized, scope);
        found.map(Some).ok_or_else(|| names::no_such_object(String::new(), self.request.base))
    }

    fn base(&self) -> Result<Base> {
        let name = self.request.base;
        if let Some(base) = names::remembered_base(self.naming, name) {
            return Ok(base);
        }
        let aliases = matches!(self.request.deref, Deref::FindingBase | Deref::Always);
        let follow = Follow { aliases, manage: self.controls.manage_dsa_it, scope: Some(self.request.scope) };
        let id = base::find(&self.scene, name, follow).map_err(|failure| match failure.code {
            ResultCode::REFERRAL if self.controls.domain_scope => names::no_such_object(failure.matched_dn, name),
            _ => failure,
        })?;
        let entry = names::entry(&self.scene.tables.entry()?, id)?;
        let base = Base { id, is_suffix: entry.parent == 0 };
        // What is remembered has to be right whatever the next request says of aliases and referrals.
        let plain = entry.marks() & (mark::ALIAS | mark::REFERRAL) == 0;
        let none = |set: Option<Set>| set.is_some_and(|set| set.len() == 0);
        if plain && none(self.marked(mark::ALIAS)?) && none(self.marked(mark::REFERRAL)?) {
            names::remember_base(self.naming, name, base);
        }
        Ok(base)
    }

    /// Entries of a class; `None` if there is no index to tell.
    fn of_class(&self, class: &str) -> Result<Option<Set>> {
        let schema = &self.state.schema;
        let id = schema.known().object_class;
        if self.state.ready.get(id) & bits::EQUALITY == 0 {
            return Ok(None);
        }
        let Some(class) = schema.find_class(class) else { return Ok(Some(Set::empty())) };
        index::equal(&self.scene.tables.index()?, id, class.oid.as_bytes(), &Reach::all()).map(Some)
    }

    /// Aliases or referral objects; `None` if there is no index to tell. That there are none is remembered while no name
    /// changes.
    fn marked(&self, mark: u8) -> Result<Option<Set>> {
        if names::remembered_absent(self.naming, mark, 0, Scope::Subtree) {
            return Ok(Some(Set::empty()));
        }
        let found = self.of_class(if mark == mark::ALIAS { "alias" } else { "referral" })?;
        if found.as_ref().is_some_and(|set| set.len() == 0) {
            names::remember_absent(self.naming, mark, 0, Scope::Subtree);
        }
        Ok(found)
    }

    /// As [`Beginning::marked`], of those that are searched. That there are none in a scope of a base is remembered too, so
    /// that they cost only those who search where they are.
    fn marked_in(&self, mark: u8, area: &Area) -> Result<Option<Set>> {
        let is_plain = area.is_plain();
        if is_plain && names::remembered_absent(self.naming, mark, area.base, area.scope) {
            return Ok(Some(Set::empty()));
        }
        let Some(all) = self.marked(mark)?.filter(|all| all.len() > 0 && !area.whole) else { return self.marked(mark) };
        let entries = self.scene.tables.entry()?;
        let mut found = Vec::new();
        for id in all.iter() {
            if area.has(&entries, id, names::parent(&entries, id)?)? {
                found.push(id);
            }
        }
        if is_plain && found.is_empty() {
            names::remember_absent(self.naming, mark, area.base, area.scope);
        }
        Ok(Some(Set::of_sorted(found)))
    }

    /// That the base may be searched.
    fn check_base(&self, id: Id) -> Result<()> {
        if self.scene.plan.everywhere(None, Level::Search) == Some(true) {
            return Ok(());
        }
        let entries = self.scene.tables.entry()?;
        let entry = names::entry(&entries, id)?;
        let name = self.scene.name_of(id, &entry)?;
        may_be_searched(&View::new(&self.scene, id, entry, &name).asked_by(self.request.base))
    }

    /// As [`Beginning::check_base`], of one that is made up. Whoever may not read the root DSE or the schema may know that they are
    /// there.
    fn check_special_base(&self) -> Result<()> {
        let is_monitor = self.made_up.as_deref().and_then(MadeUp::of) == Some(MadeUp::Monitor);
        let is_asked = is_monitor && self.scene.plan.everywhere(None, Level::Search) != Some(true);
        let base = if is_asked { self.special(Scope::Base)?.unwrap_or_default() } else { Vec::new() };
        base.iter().try_for_each(|base| {
            let entry = Entry::parse(&base.bytes).ok_or_else(|| damaged(&base.name))?;
            let view = View::made_up(&self.scene, entry, &base.name, base.children);
            may_be_searched(&view.asked_by(self.request.base))
        })
    }

    /// RFC 4528 section 3: the assertion is about the base.
    fn check_assertion(&self, id: Id) -> Result<()> {
        let Some(filter) = self.controls.assertion else { return Ok(()) };
        let entries = self.scene.tables.entry()?;
        let entry = names::entry(&entries, id)?;
        let name = self.scene.name_of(id, &entry)?;
        let view = View::new(&self.scene, id, entry, &name).asked_by(self.request.base);
        crate::assertion::check(&view, filter)
    }

    /// As [`Beginning::check_assertion`], of a base that is made up.
    fn check_special_assertion(&self) -> Result<()> {
        let Some(filter) = self.controls.assertion else { return Ok(()) };
        let base = self.special(Scope::Base)?.unwrap_or_default();
        base.iter().try_for_each(|base| {
            let entry = Entry::parse(&base.bytes).ok_or_else(|| damaged(&base.name))?;
            crate::assertion::check(&View::made_up(&self.scene, entry, &base.name, base.children), filter)
        })
    }

    fn area(&self, base: Base) -> Result<Area> {
        let scope = self.request.scope;
        let whole = self.state.suffixes.len() == 1 && base.is_suffix;
        let mut area = Area::new(base.id, scope, whole, &self.inner.changes);
        if !matches!(self.request.deref, Deref::InSearching | Deref::Always) || scope == Scope::Base {
            return Ok(area);
        }
        match self.marked_in(mark::ALIAS, &area)? {
            Some(aliases) if aliases.len() == 0 => {}
            Some(_) => self.through_aliases(&mut area)?,
            None => {
                let diagnostic =
                    "aliases can only be followed with an index of objectClass: `duramen directory reindex`";
                return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, diagnostic));
            }
        }
        Ok(area)
    }

    /// Adds what the aliases lead to that are in what is searched (RFC 4511 section 4.5.1.3), until no more come in. Each is
    /// looked at once, when the part that it is in comes in.
    fn through_aliases(&self, area: &mut Area) -> Result<()> {
        let (entries, names_table) = (self.scene.tables.entry()?, self.scene.tables.name()?);
        let (mut aliases, mut parts, mut followed) = (self.aliases_by_part(area)?, vec![area.base], HashSet::new());
        while let Some(part) = parts.pop() {
            for alias in aliases.remove(&part).unwrap_or_default() {
                if !followed.insert(alias) {
                    continue;
                }
                let target = base::alias_target(&self.scene, alias)?;
                let Some(target) = names::find_entry(&names_table, &self.state.suffixes, &target)? else { continue };
                if !area.has(&entries, target, names::parent(&entries, target)?)? {
                    area.add(target);
                    parts.push(target);
                }
            }
        }
        Ok(())
    }

    /// Aliases by the entries that bring them into what is searched: themselves, and those above them.
    fn aliases_by_part(&self, area: &Area) -> Result<HashMap<Id, Vec<Id>>> {
        let entries = self.scene.tables.entry()?;
        let mut aliases: HashMap<Id, Vec<Id>> = HashMap::new();
        for id in self.marked(mark::ALIAS)?.iter().flat_map(Set::iter) {
            let entry = names::entry(&entries, id)?;
            // Whether the base is followed is another question (`derefFindingBaseObj`). One may have the class under an option
            // only.
            if id == area.base || entry.marks() & mark::ALIAS == 0 {
                continue;
            }
            aliases.entry(id).or_default().push(id);
            if area.scope != Scope::One || entry.parent == area.base {
                names::climb(&entries, entry.parent, |above| {
                    aliases.entry(above).or_default().push(id);
                    (area.scope == Scope::One).then_some(true)
                })?;
            }
        }
        Ok(aliases)
    }

    /// What is walked: the candidates of the filter, what is in scope, or all.
    fn candidates(&self, test: Test, area: Area, options: Options) -> Result<Found> {
        let mut found = Found::all(test, area, options, self.page()?);
        if found.area.scope == Scope::Base {
            found.job = Job::Ids(Set::one(found.area.base));
            found.exact = matches!(found.test, Test::True);
            found.notes.push("the base".to_string());
            return Ok(found);
        }
        // Referral objects are given as references, whatever the filter says.
        let also = if found.options.manage { Some(Set::empty()) } else { self.marked_in(mark::REFERRAL, &found.area)? };
        if let Some(also) = also {
            found.also = also.clone();
            let portion =
                self.first(also, &found).find(&self.scene, self.naming, &found.area, &found.test, self.explain)?;
            (found.exact, found.rest, found.notes) = (portion.exact, portion.rest, portion.notes);
            if let Some(set) = portion.set {
                found.job = Job::Ids(set);
                return Ok(found);
            }
        }
        let total = self.scene.tables.entry()?.len();
        let members = members::find(&found.area, &self.scene, members::most_of_all(total))?;
        if self.explain {
            found.notes.push(match &members {
                Some(set) => format!("{} entries in scope are walked", set.len()),
                None => format!("all {total} entries are walked"),
            });
        }
        found.job = members.map_or(Job::All, Job::Ids);
        Ok(found)
    }

    /// Who wants a page or so many entries at most may need the first candidates only; who wants them in order, or wants to
    /// know how they are found, needs all.
    fn first(&self, also: Set, found: &Found) -> Rest {
        let page = found.page.as_ref();
        let wanted = page.map_or(u32::MAX, |page| page.size).min(found.options.entries_max);
        let (is_sorted, is_short) = (self.controls.sort.is_some(), page.is_some() || wanted < u32::MAX);
        match page.map_or(0, |page| page.start.id) {
            // Whoever keeps a copy has all of it in the order in which parents come first.
            _ if is_sorted || self.controls.sync.is_some() => Rest::at_once(0, also),
            from if is_short && !self.explain => Rest::by_portions(from, wanted, also),
            from => Rest::at_once(from, also),
        }
    }
}

impl Search {
    fn sort(
        &mut self,
        orders: &Arc<Orders>,
        state: &Arc<State>,
        requester: &Requester,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
    ) -> Result<()> {
        let window = |order| controls.list_view.map(|asked| Window::new(&asked, order, &state.schema));
        let Some(keys) = controls.sort else {
            self.window = window(None);
            return Ok(());
        };
        match Order::new(&state.schema, keys) {
            Ok(order) => {
                self.sort_response = Some((ResultCode::SUCCESS, String::new()));
                self.window = window(Some(&order));
                if let Job::Special(entries) = &mut self.job {
                    let tables = Tables::Snapshot(&self.snapshot);
                    let scene = Scene { state, tables, naming: Some(self.naming), plan: &self.plan, more: None };
                    return special::put_in_order(entries, &order, &scene);
                }
                (self.order, self.next) = (Some(order), 0);
                let commit = (self.naming, self.snapshot.txnid());
                let goes_on = controls.page.is_some() || controls.list_view.is_some();
                let question = goes_on.then(|| Question::new(commit, state, requester, request, controls, keys));
                if let Some(ids) = question.as_ref().and_then(|question| orders.find(question)) {
                    return self.take_order(state, ids);
                }
                self.collecting = Some(Box::new(Collecting::new(question, orders.clone())));
                Ok(())
            }
            Err((code, description)) if controls.sort_is_critical => {
                let diagnostic = format!("entries cannot be sorted by {description}: {code}");
                Err(Failure::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, diagnostic))
            }
            Err(response) => {
                self.sort_response = Some(response);
                self.window = window(None);
                Ok(())
            }
        }
    }
}
