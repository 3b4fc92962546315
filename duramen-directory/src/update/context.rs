//! What every kind of update needs: who asks, the state of the tables, the time.

use std::borrow::Cow;
use std::collections::HashSet;

use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::{Element, List, Writer};
use duramen_ldap::control::{ReadEntryRequest, ReadEntryResponse};
use duramen_ldap::message::{Control, ResultCode, SearchEntry};
use duramen_ldap::{Payload, oid::control as oid};

use super::batch::Batch;
use super::draft::Draft;
use super::identifier::{identifier_of, is_identifier_of_another, same_identifier};
use crate::access::{Level, What};
use crate::attribute::form;
use crate::base::{self, Follow};
use crate::clock::Moment;
use crate::controls::Controls;
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::history::{self, Change};
use crate::index::{Extractor, KeySet, Reach, equal};
use crate::names;
use crate::policy::Proof;
use crate::requester::Requester;
use crate::schema::{AttributeId, AttributeSet, Schema};
use crate::search::{Picker, Selection};
use crate::tables::Id;
use crate::view::{Scene, View};

/// What an update is made in.
pub(crate) struct Context<'c> {
    pub scene: Scene<'c>,
    pub requester: &'c Requester,
    /// Who acts for the requester, or the same one.
    pub asked_by: &'c Requester,
    pub controls: &'c Controls<'c>,
    pub now: Moment,
    /// The number of the next change.
    pub number: std::cell::Cell<Moment>,
    /// What is known of the request's passwords beside what it says.
    pub proof: &'c Proof,
    /// Encoded controls of the response.
    pub response: std::cell::RefCell<Vec<u8>>,
    /// The entry that the response is to show as it is after the update.
    pub after: std::cell::Cell<Option<Id>>,
}

/// The number that a change got.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    pub number: Moment,
    /// The entry has another one, which the request says.
    is_foreign: bool,
}

/// What nobody in particular is told who would change something.
pub(super) fn nobody() -> Failure {
    let text = "who changes the directory has to be bound, whatever the access rules say";
    Failure::new(ResultCode::STRONGER_AUTH_REQUIRED, text)
}

impl<'c> Context<'c> {
    pub fn schema(&self) -> &'c Schema {
        &self.scene.state.schema
    }

    /// That somebody is bound: nobody in particular changes anything, whatever the access rules say.
    pub fn require_somebody(&self) -> Result<()> {
        if !self.requester.is_anonymous() {
            return Ok(());
        }
        Err(nobody())
    }

    /// The entry of a name that is to be changed.
    pub fn find(&self, name: &str) -> Result<Id> {
        if self.requester.is_anonymous() {
            names::normalize(self.schema(), name)?;
            self.require_somebody()?;
        }
        let follow = Follow { aliases: false, manage: self.controls.manage_dsa_it, scope: None };
        base::find(&self.scene, name, follow)
    }

    /// Whether rules of the schema may be broken: the control is there, and the requester may.
    pub fn is_relaxed(&self) -> bool {
        self.controls.relax && self.requester.is_administrator
    }

    /// That no entry but `own` has the identifier that a draft has.
    pub fn check_identifier(&self, draft: &Draft<'_>, own: Option<Id>, name: &str) -> Result<()> {
        let Some(given) = identifier_of(self.schema(), draft) else { return Ok(()) };
        match is_identifier_of_another(self.scene.state, &self.scene.tables, given, own)? {
            true => Err(same_identifier(name, given)),
            false => Ok(()),
        }
    }

    /// That no other entry has a value that a draft has and the entry did not have `before`, of those attributes that were
    /// changed and of which no two entries may have one.
    pub fn check_unique(
        &self,
        draft: &Draft<'_>,
        before: Option<(Id, &Entry<'_>)>,
        is_changed: impl Fn(AttributeId) -> bool,
    ) -> Result<()> {
        for &id in self.scene.state.unique.iter().filter(|id| is_changed(**id)) {
            let (attribute, index) = (self.schema().attribute(id), self.scene.tables.index()?);
            let form = |value: &[u8]| form(self.schema(), attribute.equality, value);
            let stored = before.iter().flat_map(|(_, entry)| entry.of_type(id)).flat_map(|found| found.values());
            let stored: HashSet<Vec<u8>> = stored.map(form).collect();
            for value in draft.values(id) {
                let form = form(value);
                let is_own = |other: Id| before.is_some_and(|(own, _)| own == other);
                if !stored.contains(&form)
                    && equal(&index, id, &form, &Reach::all())?.iter().any(|other| !is_own(other))
                {
                    let value = String::from_utf8_lossy(value);
                    let text =
                        format!("{}: another entry has the value {value:?}, and each is of one only", attribute.name);
                    return Err(Failure::new(ResultCode::CONSTRAINT_VIOLATION, text));
                }
            }
        }
        Ok(())
    }

    /// That the requester may do something with an entry. Who sends the relax control has to manage what is added, deleted
    /// or renamed: the control is there to be heeded, and whoever may not have it so is told.
    ///
    /// # Errors
    /// insufficientAccessRights; noSuchObject if it is not to be known of.
    pub fn require(&self, view: &View<'_, '_>, what: What<'_>, level: Level) -> Result<()> {
        let is_managed = self.controls.relax && what == What::Entry && level >= Level::Add;
        if view.allows(what, if is_managed { Level::Manage } else { level }) {
            return Ok(());
        }
        if !view.allows(What::Entry, Level::Disclose) {
            return Err(base::hidden(view));
        }
        let of = match what {
            What::Entry => "the entry".to_string(),
            What::Children => "what is below the entry".to_string(),
            What::Attribute(id, _) => format!("attribute {}", self.schema().attribute(id).name),
        };
        let text =
            format!("the access rules do not let you {} {of}", if level >= Level::Add { "change" } else { "use" });
        Err(Failure::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text))
    }

    /// That the entry is as the assertion control says.
    pub fn check_assertion(&self, view: &View<'_, '_>) -> Result<()> {
        self.controls.assertion.map_or(Ok(()), |filter| crate::assertion::check(view, filter))
    }

    /// The keys of an entry's attributes of some types in the index.
    pub fn keys(&self, entry: &Entry<'_>, wanted: impl Fn(AttributeId) -> bool) -> KeySet {
        let mut keys = KeySet::default();
        let mut extractor = Extractor::new(self.schema(), &self.scene.state.kept);
        extractor.entry(entry, wanted, &mut |key| keys.insert(key));
        keys
    }

    /// The keys in the index that a change of some types takes from an entry, and those that it brings; others may be in both.
    pub fn changed_keys(&self, before: &Entry<'_>, after: &Entry<'_>, touched: &AttributeSet) -> (KeySet, KeySet) {
        let (mut old, mut new) = (KeySet::default(), KeySet::default());
        let kept = &self.scene.state.kept;
        // Most of what is changed has no index, and the attributes of the entry need not be gone through.
        if touched.any(|id| kept.get(id) != 0) {
            let mut extractor = Extractor::new(self.schema(), kept);
            extractor.change((before, after), |id| touched.contains(id), &mut old, &mut new);
        }
        (old, new)
    }

    /// Notes a change down in a batch, if such is kept.
    pub fn note(&self, batch: &mut Batch, id: Id, what: history::What, stamp: Stamp) {
        let kept = self.scene.state.history;
        if kept > 0 {
            batch.notes.kept = kept;
            (batch.notes.member, batch.notes.is_own) = (self.scene.state.member, true);
            batch.notes.changes.push(Change { number: stamp.number, nth: 0, id, what });
            batch.notes.foreign = Some(stamp.number).filter(|_| stamp.is_foreign).or(batch.notes.foreign);
        }
    }

    /// The change sequence number of a change.
    pub fn csn(&self, number: Moment) -> [u8; 40] {
        self.scene.state.member.map_or_else(|| number.csn(), |member| member.csn(number))
    }

    /// Whether requests may say which number a change has: not where several servers go by it which one is newer.
    pub fn takes_numbers(&self) -> bool {
        self.scene.state.member.is_none()
    }

    /// Whether an entry keeps the number that a request has given it: if nobody is told of changes, or none was told of that is not
    /// before that number. Others who keep a copy would pass over the entry (slapd does).
    pub fn keeps_number(&self, draft: &Draft<'_>) -> bool {
        let is_later = |said: &[u8]| self.scene.state.history == 0 || said > &self.csn(self.number.get())[..];
        self.takes_numbers() && draft.plain_values(self.schema().known().entry_csn).next().is_some_and(is_later)
    }

    /// The number of a change: another one each time.
    fn next_number(&self) -> Moment {
        self.number.replace(Moment(self.number.get().0 + 1))
    }

    /// A number for an entry that is added, which may have one of its own, or deleted.
    pub fn stamp_of(&self, is_foreign: bool) -> Stamp {
        Stamp { number: self.next_number(), is_foreign }
    }

    /// Gives an entry that is changed the number of the change, which is greater than that it has.
    pub fn renumber<'e>(&self, draft: &mut Draft<'e>) -> Stamp
    where
        'c: 'e,
    {
        let known = self.schema().known();
        let before = draft.plain_values(known.entry_csn).next();
        if let Some(before) = before.filter(|before| *before >= &self.csn(self.number.get())[..])
            && let Some(before) = Moment::of_csn(before)
        {
            self.number.set(self.number.get().max(before.after(1)));
        }
        let number = self.next_number();
        draft.set(self.schema().attribute(known.entry_csn), self.csn(number).to_vec());
        Stamp { number, is_foreign: false }
    }

    /// Sets who changed an entry, and when; not what the change itself says of these, with the relax control.
    pub fn stamp<'e>(&self, draft: &mut Draft<'e>, touched: &AttributeSet) -> Stamp
    where
        'c: 'e,
    {
        let (schema, known) = (self.schema(), self.schema().known());
        let is_said = |draft: &Draft<'_>, id: AttributeId| touched.contains(id) && draft.has(id);
        let mut set = |id: AttributeId, value: Cow<'e, [u8]>| {
            if !is_said(draft, id) {
                draft.set(schema.attribute(id), value);
            }
        };
        set(known.modifiers_name, self.requester_name().as_bytes().into());
        set(known.modify_timestamp, self.now.timestamp_bytes().to_vec().into());
        if is_said(draft, known.entry_csn) && self.keeps_number(draft) {
            self.stamp_of(true)
        } else {
            self.renumber(draft)
        }
    }

    /// The name that changes are written down under.
    pub fn requester_name(&self) -> &'c str {
        match (&self.scene.state.administrator, self.requester.name.is_empty()) {
            (Some(administrator), true) if self.requester.is_administrator => &administrator.name.written,
            _ => &self.requester.name.written,
        }
    }

    /// Adds the pre-read control of the response, if it was asked for.
    pub fn pre_read(&self, view: &View<'_, '_>) -> Result<()> {
        self.controls.pre_read.map_or(Ok(()), |request| self.read(oid::PRE_READ, request, view))
    }

    /// Takes note of the entry that the post-read control asks for, if it was sent. What is wrong with the control is told now,
    /// before anything is written.
    pub fn post_read(&self, id: Id) -> Result<()> {
        let selected = self.controls.post_read.map(|request| self.selection(request)).transpose()?;
        self.after.set(selected.map(|_| id));
        Ok(())
    }

    fn selection(&self, request: ReadEntryRequest<'_>) -> Result<Selection> {
        Selection::new(self.schema(), request.0, false)
    }

    /// The post-read control of the response, once the update is made: what is derived depends on all of it.
    pub fn read_after(&self, id: Id) -> Result<Vec<u8>> {
        let Some(request) = self.controls.post_read else { return Ok(Vec::new()) };
        let entries = self.scene.tables.entry()?;
        let (entry, name) = (names::entry(&entries, id)?, names::name_of(&entries, id)?);
        self.read(oid::POST_READ, request, &View::new(&self.scene, id, entry, &name))?;
        Ok(self.response.take())
    }

    fn read(&self, oid: &str, request: ReadEntryRequest<'_>, view: &View<'_, '_>) -> Result<()> {
        // Who may change an entry and not see it is told that it was changed.
        if !view.allows(What::Entry, Level::Read) {
            return Ok(());
        }
        let selection = self.selection(request)?;
        let mut scratch = Vec::new();
        let picked = Picker::new(view, &selection).pick(&mut scratch)?.concat();
        let attributes: List<'_, Attribute<'_>> = List::trusted(&picked);
        let mut value = Vec::new();
        ReadEntryResponse(SearchEntry { name: view.name, attributes }).encode(&mut value);
        let mut response = self.response.borrow_mut();
        Control { oid, critical: false, value: Some(&value) }.write(&mut Writer::new(&mut response));
        Ok(())
    }
}
