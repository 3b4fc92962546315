//! Searching (RFC 4511 section 4.5): plan, candidates, filter, selection.
//!
//! Owns: the run of a search from its beginning to its end, with pauses. Must not know: how any of its parts works.
//!
//! A search owns its snapshot. Between two calls of [`Search::run`] it keeps only the id to go on from.

mod begin;
mod cookie;
mod copying;
mod course;
mod dereference;
mod elsewhere;
pub(crate) mod lists;
mod members;
mod order;
mod page;
mod passing;
mod portion;
mod scope;
mod select;
mod several;
mod sharing;
mod sort;
pub(crate) mod special;
mod standing;
mod window;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

use duramen::{Snapshot, Table};
use duramen_ldap::ber::{List, Writer};
use duramen_ldap::control::{ListViewResponse, PagedResults, SortResponse};
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;
use duramen_ldap::{Payload, message::Scope};
use smallvec::SmallVec;

use crate::access::{Level, Plan, What};
use crate::entry::{Entry, mark};
use crate::failure::{Failure, Result, damaged};
use crate::filter::{Evaluation, Test, counted};
use crate::index::Set;
use crate::names::{self, Naming};
use crate::referral;
use crate::seal::Seal;
use crate::sink::Sink;
use crate::state::State;
use crate::tables::{Id, Tables, read_id};
use crate::view::{MoreGroups, Scene, View};

pub(crate) use select::{Picker, Selection};
pub use standing::{News, Standing};

use copying::Copying;
use course::Told;
use dereference::Dereferencing;
use lists::Lists;
use order::Collecting;
use page::{Page, Start};
use portion::Rest;
use scope::Area;
use select::give;
use sort::Order;
use special::Special;
use window::Window;

/// A search under way. It owns its snapshot: drop it when the client is gone, or does not read for long.
pub struct Search {
    state: Arc<State>,
    snapshot: Snapshot<'static>,
    naming: Naming,
    plan: Plan,
    job: Job,
    /// Candidates behind those of the job, which are found when it is through.
    rest: Option<Rest>,
    test: Test,
    /// Whether candidates need not be tested, but for those of `also`.
    exact: bool,
    /// Entries that are looked at whatever the filter says.
    also: Set,
    selection: Selection,
    area: Area,
    options: Options,
    page: Option<Page>,
    seal: Seal,
    sort_response: Option<(ResultCode, String)>,
    /// What entries are sorted by.
    order: Option<Order>,
    /// What of the entries in order is to be given out, if not all; or why nothing.
    window: Option<Result<Window, ResultCode>>,
    /// What the client is told of that.
    list_view: Option<ListViewResponse<'static>>,
    /// What is to be put in order before anything is given out.
    collecting: Option<Box<Collecting>>,
    /// What is known of the client's copy, if it brings one up to date.
    copying: Option<Box<Copying>>,
    /// What is given with entries of others that their values name.
    dereferencing: Option<Dereferencing>,
    /// What dynamic groups and lists show.
    lists: Option<Box<Lists>>,
    /// The id, or the place in the order, to go on from.
    next: u32,
    given: u32,
    examined: u64,
    parent: Option<(Id, Arc<str>)>,
    notes: Vec<String>,
}

/// What is walked.
#[derive(Debug)]
enum Job {
    /// Made up entries.
    Special(Vec<Special>),
    /// All entries.
    All,
    /// These.
    Ids(Set),
    /// These, in this order.
    Sorted(Arc<[Id]>),
    /// What has changed.
    Told(Vec<Told>),
}

/// What does not change while a search runs.
#[derive(Debug)]
struct Options {
    scope: Scope,
    manage: bool,
    /// References are not sent.
    domain_scope: bool,
    /// Aliases are not entries to be returned.
    follows_aliases: bool,
    /// Subentries only, other entries only, or all.
    subentries: Option<bool>,
    /// Entries to be given at most.
    entries_max: u32,
    /// Entries of a list that may be seen, those before a window of it included.
    seen_max: u32,
    /// Entries of the list before the window.
    passed: u32,
    deadline: Option<Instant>,
    examined_max: u64,
    /// Whether each entry has to be asked whether it may be seen.
    entry_checked: bool,
}

/// How far a search is.
#[derive(Debug)]
pub enum Progress {
    /// The sink is full: call [`Search::run`] again when it has room.
    Paused,
    /// All that is there was given out, and the client wants to hear what changes: [`Search::stand`] goes on.
    Persists,
    /// It is over.
    Done(Done),
}

/// How a search ended.
#[derive(Debug, Default)]
pub struct Done {
    /// What went wrong; what was found before that was given out. `None` is success.
    pub failure: Option<Failure>,
    /// Controls of the response, encoded as [`List::encoded`] has them.
    pub controls: Vec<u8>,
    /// Entries that were given out.
    pub entries: u64,
}

/// What becomes of a search at an entry.
enum Step {
    /// It goes on with the next one.
    Next,
    /// The page is full, and here is the first entry of the next one.
    PageEnd,
}

/// How many entries are looked at between two looks at the clock.
const BETWEEN_LOOKS: u64 = 128;

/// How many entries of an index are fetched together at most.
const TOGETHER: usize = 16;

impl Search {
    /// Goes on until the search is done or the sink is full.
    pub fn run(&mut self, sink: &mut dyn Sink) -> Progress {
        let state = self.state.clone();
        match self.proceed(&state, sink) {
            Ok(None) => Progress::Paused,
            Ok(Some(_)) if self.is_persistent() => {
                self.end_copying(sink);
                Progress::Persists
            }
            Ok(Some(cookie)) => {
                self.end_copying(sink);
                Progress::Done(self.done(None, &cookie))
            }
            Err(failure) => Progress::Done(self.done(Some(failure), b"")),
        }
    }

    /// `None` if the sink is full; else the cookie of the next page, empty if there is none.
    fn proceed(&mut self, state: &State, sink: &mut dyn Sink) -> Result<Option<Vec<u8>>> {
        // What comes to nothing is not put in order first.
        let is_vain = matches!(self.window, Some(Err(_)));
        if !is_vain && !self.collect(state, sink)? {
            return Ok(None);
        }
        self.cut_window(state)?;
        Ok(match self.walk(state, sink)? {
            Some(true) => Some(self.cookie(state)?),
            Some(false) => Some(Vec::new()),
            None => None,
        })
    }

    /// The cookie of the next page.
    fn cookie(&mut self, state: &State) -> Result<Vec<u8>> {
        let next = if self.order.is_some() {
            self.with_job(state, |run, job| run.end_in_order(job))?
        } else {
            Start { id: self.next, ..Start::default() }
        };
        Ok(self.page.as_ref().map_or(Vec::new(), |page| page.cookie(&self.seal, &next, self.given)))
    }

    /// Finds what is to be put in order, and does that once all is found; false if the sink is full before.
    fn collect(&mut self, state: &State, sink: &mut dyn Sink) -> Result<bool> {
        let Some(collecting) = self.collecting.take() else { return Ok(true) };
        let walked = self.with_job(state, |run, job| {
            run.to_sort = Some(collecting);
            let all = run.walk(job, sink)?.is_some();
            Ok((all, run.to_sort.take()))
        });
        // Nothing was put in order where something went wrong.
        let (all, collecting) = walked.inspect_err(|_| self.sort_response = None)?;
        self.collecting = collecting;
        if all && let Some(mut collecting) = self.collecting.take() {
            self.take_order(state, collecting.in_order())?;
        }
        Ok(all)
    }

    /// Goes on with entries in order, from the first of the page on.
    fn take_order(&mut self, state: &State, ids: Arc<[Id]>) -> Result<()> {
        (self.job, self.exact) = (Job::Sorted(ids), true);
        self.next = self.with_job(state, |run, job| run.start_in_order(job))?;
        Ok(())
    }

    /// Whether it gathers what is to be put in order: some dozens of bytes, or a kilobyte, of each entry that it finds, until all
    /// are found.
    pub fn is_gathering(&self) -> bool {
        self.collecting.is_some()
    }

    /// How the search is done, in a line: for a log of slow operations.
    pub fn plan(&self) -> String {
        let walk = match &self.job {
            Job::Special(_) => "entries that are made up".to_string(),
            Job::All => "all entries".to_string(),
            Job::Ids(set) if self.rest.is_some() => format!("{} of some windows", counted(set.len(), "candidate")),
            Job::Ids(set) => counted(set.len(), "candidate"),
            Job::Sorted(ids) => format!("{} sorted entries", ids.len()),
            Job::Told(told) => counted(told.len() as u64, "changed entry"),
        };
        let test = if self.exact { "no test needed" } else { "each tested" };
        let notes = if self.notes.is_empty() { String::new() } else { format!("{}; ", self.notes.join("; ")) };
        format!("{notes}{walk}, {test}, {} looked at, {} given", self.examined, self.given)
    }

    /// `None` if the sink is full; else whether there is another page.
    fn walk(&mut self, state: &State, sink: &mut dyn Sink) -> Result<Option<bool>> {
        loop {
            let outcome = self.with_job(state, |run, job| run.walk(job, sink))?;
            match self.rest.take() {
                Some(rest) if outcome == Some(false) => self.go_on(state, rest)?,
                rest => {
                    self.rest = rest;
                    return Ok(outcome);
                }
            }
        }
    }

    /// Takes the next candidates.
    fn go_on(&mut self, state: &State, rest: Rest) -> Result<()> {
        let tables = Tables::Snapshot(&self.snapshot);
        let scene = Scene { state, tables, naming: Some(self.naming), plan: &self.plan, more: None };
        let portion = rest.find(&scene, self.naming, &self.area, &self.test, false)?;
        (self.exact, self.rest) = (portion.exact, portion.rest);
        self.job = portion.set.map_or(Job::All, Job::Ids);
        Ok(())
    }

    /// Snapshot and plan are lent to everything below, which changes other fields only.
    fn with_job<T>(&mut self, state: &State, act: impl FnOnce(&mut Run<'_>, &Job) -> Result<T>) -> Result<T> {
        let job = std::mem::replace(&mut self.job, Job::Ids(Set::empty()));
        let result = Run::new(self, state).and_then(|mut run| act(&mut run, &job));
        self.job = job;
        result
    }

    /// The end: response controls.
    fn done(&mut self, failure: Option<Failure>, cookie: &[u8]) -> Done {
        let mut controls = Vec::new();
        let mut add = |oid: &str, value: &[u8]| {
            duramen_ldap::ber::Element::write(
                &Control { oid, critical: false, value: Some(value) },
                &mut Writer::new(&mut controls),
            );
        };
        if let Some((code, description)) = &self.sort_response {
            let mut value = Vec::new();
            let description = (*code != ResultCode::SUCCESS).then_some(description.as_str());
            SortResponse { code: *code, description }.encode(&mut value);
            add(oid::SORT_RESPONSE, &value);
        }
        if let Some(response) = &self.list_view {
            let mut value = Vec::new();
            response.encode(&mut value);
            add(oid::LIST_VIEW_RESPONSE, &value);
        }
        if let Some(copying) = self.copying.as_ref().filter(|_| failure.is_none()) {
            add(oid::SYNC_DONE, &copying.done());
        }
        if self.page.is_some() {
            let mut value = Vec::new();
            PagedResults { size: 0, cookie }.encode(&mut value);
            add(oid::PAGED_RESULTS, &value);
        }
        Done { failure, controls, entries: u64::from(self.given) }
    }
}

/// One call of [`Search::run`].
struct Run<'r> {
    scene: Scene<'r>,
    entries: Table<'r>,
    naming: Naming,
    test: &'r Test,
    exact: bool,
    also: &'r Set,
    /// The test is held against entries before anything is made of their names.
    is_of_values: bool,
    selection: &'r Selection,
    area: &'r Area,
    options: &'r Options,
    order: Option<&'r Order>,
    page: Option<&'r Page>,
    next: &'r mut u32,
    given: &'r mut u32,
    examined: &'r mut u64,
    parent: &'r mut Option<(Id, Arc<str>)>,
    name: String,
    scratch: RefCell<Vec<u8>>,
    picked: Vec<u8>,
    /// Where entries go that are to be sorted before they are given out.
    to_sort: Option<Box<Collecting>>,
    copying: Option<&'r mut Copying>,
    dereferencing: Option<&'r Dereferencing>,
    lists: Option<&'r Lists>,
}

impl<'r> Run<'r> {
    fn new(search: &'r mut Search, state: &'r State) -> Result<Run<'r>> {
        let tables = Tables::Snapshot(&search.snapshot);
        let lists = search.lists.as_deref();
        let more = lists.map(|lists| lists as &dyn MoreGroups);
        Ok(Run {
            scene: Scene { state, tables, naming: Some(search.naming), plan: &search.plan, more },
            entries: tables.entry()?,
            naming: search.naming,
            test: &search.test,
            exact: search.exact,
            also: &search.also,
            is_of_values: !search.exact && search.test.is_of_values(),
            selection: &search.selection,
            area: &search.area,
            options: &search.options,
            order: search.order.as_ref(),
            page: search.page.as_ref(),
            next: &mut search.next,
            given: &mut search.given,
            examined: &mut search.examined,
            parent: &mut search.parent,
            name: String::new(),
            scratch: RefCell::default(),
            picked: Vec::new(),
            to_sort: None,
            copying: search.copying.as_deref_mut(),
            dereferencing: search.dereferencing.as_ref(),
            lists,
        })
    }

    fn walk(&mut self, job: &Job, sink: &mut dyn Sink) -> Result<Option<bool>> {
        match job {
            Job::Special(entries) => self.special(entries, sink),
            Job::All => self.all(sink),
            Job::Ids(set) => self.ids(set, sink),
            Job::Sorted(ids) => self.sorted(ids, sink),
            Job::Told(told) => self.told(told, sink),
        }
    }

    fn special(&mut self, entries: &[Special], sink: &mut dyn Sink) -> Result<Option<bool>> {
        while let Some(special) = entries.get(*self.next as usize) {
            if sink.is_full() {
                return Ok(None);
            }
            let entry = Entry::parse(&special.bytes).ok_or_else(|| damaged(&special.name))?;
            let view = View::made_up(&self.scene, entry, &special.name, special.children);
            if self.matches(&view)? && view.allows(What::Entry, Level::Read) {
                if self.is_page_full() {
                    return Ok(Some(true));
                }
                self.check_size()?;
                give(self.selection, &view, &mut self.picked, sink)?;
                *self.given += 1;
            }
            *self.next += 1;
        }
        Ok(Some(false))
    }

    fn all(&mut self, sink: &mut dyn Sink) -> Result<Option<bool>> {
        let entries = self.entries.range(self.next.to_be_bytes()..)?;
        for item in entries {
            let (key, bytes) = item?;
            let id = read_id(key).ok_or_else(|| damaged("a key of table `entry`"))?;
            *self.next = id;
            if sink.is_full() {
                return Ok(None);
            }
            self.count()?;
            if let Step::PageEnd = self.visit_behind_parent(id, bytes, |_| true, sink)? {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    fn ids(&mut self, set: &Set, sink: &mut dyn Sink) -> Result<Option<bool>> {
        loop {
            let ids = set.some_from(*self.next, self.together());
            if ids.is_empty() {
                return Ok(Some(false));
            }
            for (&id, bytes) in ids.iter().zip(self.fetch(&ids)?) {
                *self.next = id;
                if sink.is_full() {
                    return Ok(None);
                }
                self.count()?;
                let bytes = found_bytes(id, bytes)?;
                if let Step::PageEnd = self.visit_behind_parent(id, bytes, |id| set.contains(id), sink)? {
                    return Ok(Some(true));
                }
                let Some(next) = id.checked_add(1) else { return Ok(Some(false)) };
                *self.next = next;
            }
        }
    }

    fn sorted(&mut self, ids: &[Id], sink: &mut dyn Sink) -> Result<Option<bool>> {
        while let Some(rest) = ids.get(*self.next as usize..).filter(|rest| !rest.is_empty()) {
            let ids = &rest[..rest.len().min(self.together())];
            for (&id, bytes) in ids.iter().zip(self.fetch(ids)?) {
                if sink.is_full() {
                    return Ok(None);
                }
                // It was counted when it was found.
                self.check_time()?;
                if let Step::PageEnd = self.visit(id, found_bytes(id, bytes)?, sink)? {
                    return Ok(Some(true));
                }
                *self.next += 1;
            }
        }
        Ok(Some(false))
    }

    /// How many entries are fetched together: no more than can be given.
    fn together(&self) -> usize {
        if self.to_sort.is_some() {
            return TOGETHER;
        }
        let most = self.page.map_or(u32::MAX, |page| page.size).min(self.options.entries_max);
        TOGETHER.min(most.saturating_sub(*self.given) as usize).max(1)
    }

    /// Entries of an index, which wait for memory together.
    fn fetch(&self, ids: &[Id]) -> Result<SmallVec<[Option<&'r [u8]>; TOGETHER]>> {
        Ok(match ids {
            [id] => SmallVec::from_elem(self.entries.get(id.to_be_bytes())?, 1),
            _ => {
                let keys: SmallVec<[[u8; 4]; TOGETHER]> = ids.iter().map(|id| id.to_be_bytes()).collect();
                SmallVec::from_vec(self.entries.get_many(&keys)?)
            }
        })
    }

    fn is_page_full(&self) -> bool {
        self.page.is_some_and(|page| *self.given >= page.size)
    }

    fn visit(&mut self, id: Id, bytes: &[u8], sink: &mut dyn Sink) -> Result<Step> {
        let entry = Entry::parse_nameless(bytes).ok_or_else(|| damaged(format_args!("entry {id}")))?;
        if !self.is_in_scope(id, entry.parent)? {
            return Ok(Step::Next);
        }
        // What is marked may be given for what it is, whatever the filter says.
        let is_early = self.is_of_values && entry.marks() == 0;
        if is_early && !self.matches(&View::new(&self.scene, id, entry, ""))? {
            return Ok(Step::Next);
        }
        let entry = entry.named().ok_or_else(|| damaged(format_args!("entry {id}")))?;
        let marks = entry.marks();
        if marks & mark::SUBENTRY == 0 && self.options.subentries == Some(true) {
            return Ok(Step::Next);
        }
        if marks != 0 && self.is_marked(id, &entry, marks, sink)? {
            return Ok(Step::Next);
        }
        self.set_name(id, &entry)?;
        let (name, scene) = (std::mem::take(&mut self.name), self.scene);
        let is_matching = is_early || (self.exact && !self.also.contains(id));
        let step = self.judge(&View::new(&scene, id, entry, &name), is_matching, sink);
        self.name = name;
        step
    }

    /// Holds the test against an entry, if it is not known to match, and gives it out.
    fn judge(&mut self, view: &View<'_, '_>, is_matching: bool, sink: &mut dyn Sink) -> Result<Step> {
        if !is_matching && !self.matches(view)? {
            return Ok(Step::Next);
        }
        if self.options.entry_checked && !view.allows(What::Entry, Level::Read) {
            return Ok(Step::Next);
        }
        if let (Some(to_sort), Some(order)) = (&mut self.to_sort, self.order) {
            to_sort.add(order, view)?;
            return Ok(Step::Next);
        }
        if self.is_page_full() {
            return Ok(Step::PageEnd);
        }
        self.check_size()?;
        match (&mut self.copying, self.lists) {
            (Some(copying), _) => copying.give(self.selection, view, &mut self.picked, sink)?,
            (None, None) => self.give(view, sink)?,
            (None, Some(lists)) => {
                let schema = &self.scene.state.schema;
                lists.show(view, &|id| self.selection.may_want(schema, id), |shown| self.give(shown, sink))?;
            }
        }
        *self.given += 1;
        Ok(Step::Next)
    }

    fn give(&mut self, view: &View<'_, '_>, sink: &mut dyn Sink) -> Result<()> {
        match self.dereferencing {
            Some(dereferencing) => dereferencing.give(self.selection, view, &mut self.picked, sink),
            None => give(self.selection, view, &mut self.picked, sink),
        }
    }

    /// That another entry may be given.
    fn check_size(&self) -> Result<()> {
        let Options { entries_max, seen_max, passed, .. } = *self.options;
        let before = self.page.map_or(0, |page| page.before);
        let diagnostic = if before.saturating_add(*self.given) >= entries_max {
            format!("there are more than {entries_max} entries")
        } else if passed.saturating_add(*self.given) >= seen_max {
            format!("only the first {seen_max} entries of a list may be seen")
        } else {
            return Ok(());
        };
        Err(Failure::new(ResultCode::SIZE_LIMIT_EXCEEDED, diagnostic))
    }

    fn matches(&self, view: &View<'_, '_>) -> Result<bool> {
        let evaluation = Evaluation {
            schema: &self.scene.state.schema,
            tables: self.scene.tables,
            id: view.id,
            entry: &view.entry,
            derived: view,
            scratch: &self.scratch,
            looked_at: Cell::default(),
        };
        Ok(evaluation.matches(self.test)? == Some(true))
    }

    fn count(&mut self) -> Result<()> {
        *self.examined += 1;
        if *self.examined > self.options.examined_max {
            let diagnostic = format!("more than {} entries would have to be looked at", self.options.examined_max);
            return Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, diagnostic));
        }
        if self.examined.is_multiple_of(BETWEEN_LOOKS) { self.check_time() } else { Ok(()) }
    }

    fn check_time(&self) -> Result<()> {
        if self.options.deadline.is_some_and(|end| Instant::now() > end) {
            return Err(Failure::new(ResultCode::TIME_LIMIT_EXCEEDED, "the search takes longer than it may"));
        }
        Ok(())
    }

    #[inline]
    fn is_in_scope(&self, id: Id, parent: Id) -> Result<bool> {
        self.area.has(&self.entries, id, parent)
    }

    /// Whether an entry is not returned for what it is: a referral, an alias, a subentry.
    fn is_marked(&mut self, id: Id, entry: &Entry<'_>, marks: u8, sink: &mut dyn Sink) -> Result<bool> {
        if marks & mark::REFERRAL != 0 && !self.options.manage {
            self.set_name(id, entry)?;
            let (view, reference) =
                (View::new(&self.scene, id, *entry, &self.name), self.scene.state.schema.known().reference);
            if !view.allows(What::Entry, Level::Read) || !view.allows(What::Attribute(reference, None), Level::Read) {
                return Ok(true);
            }
            // RFC 4511 section 4.5.3: what is below the base is searched as what it is in the scope.
            let scope = Some(if self.options.scope == Scope::One { Scope::Base } else { Scope::Subtree });
            let urls = referral::continued(&self.scene.state.schema, entry, &self.name, "", scope);
            // One that has lost its URLs leads nowhere, and a reference without any is none.
            if !urls.is_empty() {
                self.to_sort.iter_mut().for_each(|to_sort| to_sort.is_all = false);
                // Of what is sorted all is looked at for each page, and the first has told of it.
                let is_told = self.to_sort.is_some() && self.page.is_some_and(|page| page.start.id > 0);
                match &mut self.copying {
                    _ if self.options.domain_scope || is_told => {}
                    Some(copying) => copying.refer(&self.scene.state.schema, (id, entry), &encode_urls(&urls), sink),
                    None => sink.reference(List::trusted(&encode_urls(&urls)), List::default()),
                }
            }
            return Ok(true);
        }
        let is_hidden = match self.options.subentries {
            // RFC 3672 section 3: without the control, they are seen as the base only. But a copy has what there is.
            None => marks & mark::SUBENTRY != 0 && self.options.scope != Scope::Base && !self.is_for_replica(),
            Some(wanted) => (marks & mark::SUBENTRY != 0) != wanted,
        };
        let is_base = self.area.base == id;
        Ok(is_hidden || (marks & mark::ALIAS != 0 && self.options.follows_aliases && !is_base))
    }

    /// Whether a client keeps a copy of all entries, whatever they are.
    fn is_for_replica(&self) -> bool {
        self.copying.is_some() && self.options.manage
    }

    fn set_name(&mut self, id: Id, entry: &Entry<'_>) -> Result<()> {
        self.name.clear();
        self.name.push_str(entry.rdn());
        if entry.parent == 0 {
            return Ok(());
        }
        if self.parent.as_ref().is_none_or(|(parent, _)| *parent != entry.parent) {
            let name = names::remembered_name(&self.scene.tables, self.naming, entry.parent)?;
            *self.parent = Some((entry.parent, name));
        }
        let (_, name) = self.parent.as_ref().ok_or_else(|| damaged(format_args!("entry {id}")))?;
        self.name.push(',');
        self.name.push_str(name);
        Ok(())
    }
}

/// What is stored of an id of an index; the entry is there, or it is not an entry any more that the walk comes to.
fn found_bytes(id: Id, bytes: Option<&[u8]>) -> Result<&[u8]> {
    bytes.ok_or_else(|| damaged(format_args!("an index, which has entry {id},")))
}

fn encode_urls(urls: &[String]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut writer = Writer::new(&mut encoded);
    urls.iter().for_each(|url| writer.text(url));
    encoded
}
