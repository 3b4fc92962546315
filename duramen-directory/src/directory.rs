//! A directory: opening it, and the doors to what it does.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duramen::{Database, Txnid};
use duramen_ldap::ber::List;
use duramen_ldap::message::{Change, ChangeKind, CompareRequest, Control, ModifyRequest, Request, SearchRequest};
use duramen_ldap::syntax::AuthzUser;

use crate::access;
use crate::audit;
use crate::config::Config;
use crate::credentials::Credentials;
use crate::damage::{self, Damage};
use crate::error::{ConfigFault, OpenError};
use crate::failure::Result;
use crate::faults;
use crate::folder;
use crate::identity::Identity;
use crate::import::{ImportError, ImportEvent, ImportOptions, Imported};
use crate::inner::{Inner, Monitor};
use crate::judge;
use crate::names;
use crate::password::Scheme;
use crate::policy::{Judgement, Proof};
use crate::replica::Replica;
use crate::requester::{Name, Requester};
use crate::schema::Schema;
use crate::search::{Progress, Search};
use crate::settings;
use crate::sink::Nowhere;
use crate::state;
use crate::tables;
use crate::update::{PreparedUpdate, TogetherFuture, UpdateFuture, Updated};

/// The database's file in the folder of a directory.
const FILE: &str = "directory.dm";

/// An open directory. Clones share it. It can be used from any number of threads, and by several processes.
#[derive(Clone)]
pub struct Directory {
    pub(crate) inner: Arc<Inner>,
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Directory({})", self.inner.db.path().display())
    }
}

impl Directory {
    /// Whether there is one in the folder `path`, or may be, as one may not look: opening it tells why.
    pub fn is_in(path: impl AsRef<Path>) -> bool {
        path.as_ref().join(FILE).try_exists().unwrap_or(true)
    }

    /// Opens the directory whose data is in the folder `path`, or makes a new one there, unless [`Directory::check_new`] tells
    /// why that cannot be.
    pub fn open(path: impl AsRef<Path>, config: Config) -> Result<Directory, OpenError> {
        let folder = path.as_ref();
        let file = folder.join(FILE);
        let mut log = None;
        if !config.read_only {
            let is_new = !Directory::is_in(folder);
            if is_new {
                Directory::check_new(&config)?;
            }
            std::fs::create_dir_all(folder).map_err(|error| OpenError::Config {
                what: format!("data directory {}", folder.display()),
                why: format!("it cannot be made: {error}"),
            })?;
            log = audit::open(config.audit.as_ref(), &file)?;
            if is_new {
                // What there is to say of a failure the database says.
                let _ = folder::make(&file);
            }
        }
        Ok(Directory { inner: Arc::new(Inner::open(&file, config, log)?) })
    }

    /// Why `file` can be no audit log of the directory in the folder `path`, and what to do. Makes nothing.
    pub fn why_no_audit_log(path: impl AsRef<Path>, file: &Path) -> Option<(String, &'static str)> {
        audit::unfit(file, &path.as_ref().join(FILE))
    }

    /// Whether a new directory can be made by a configuration. Makes nothing.
    pub fn check_new(config: &Config) -> Result<(), OpenError> {
        state::check_new(config)
    }

    /// Finds all that is wrong with a configuration by itself, schema files and access rules included. Opens nothing.
    pub fn check_config(config: &Config) -> Vec<ConfigFault> {
        faults::find(config)
    }

    /// As [`Directory::check_config`], by what the directory in the folder `path` keeps, if there is one. It is opened for
    /// reading only.
    pub fn check_config_in(path: impl AsRef<Path>, config: &Config) -> Vec<ConfigFault> {
        let folder = path.as_ref();
        if !Directory::is_in(folder) {
            return faults::find(config);
        }
        let db = Database::options().read_only(true).create(false).open(folder.join(FILE));
        // Whatever else is wrong with it is told by who opens it.
        match db.map_err(OpenError::from).and_then(|db| state::check(&db, config)) {
            Err(OpenError::Settings(faults)) => faults,
            _ => Vec::new(),
        }
    }

    /// Whether the directory in the folder `path`, if there is one, can be opened by a configuration. It is opened for reading only,
    /// beside whoever has it open, and stays as it is.
    pub fn check_data(path: impl AsRef<Path>, config: &Config) -> Result<(), OpenError> {
        let folder = path.as_ref();
        if !Directory::is_in(folder) {
            return Ok(());
        }
        let db = Database::options().read_only(true).create(false).open(folder.join(FILE))?;
        state::check_data(&db, config)
    }

    /// The entries of slapd's configuration that a configuration's access rules are of, if there are several to choose from. Opens
    /// nothing.
    pub fn access_origins(config: &Config) -> Result<access::Origins, OpenError> {
        settings::access_origins(config)
    }

    /// Takes another configuration into use, as at a reload. Searches under way go on with the old one.
    ///
    /// Durability and reading only stay as they were when the directory was opened.
    pub fn reconfigure(&self, config: Config) -> Result<(), OpenError> {
        self.inner.reconfigure(config)
    }

    /// Has the audit log be the file that is at its path now, as somebody may have renamed the one before.
    pub fn reopen_audit_log(&self) -> Result<(), OpenError> {
        self.inner.audit.reopen()
    }

    /// Tries for the last time to write what could not be written into the audit log so far. To be called at the end.
    pub fn end_audit_log(&self) {
        self.inner.audit.end();
    }

    /// The schema in use.
    pub fn schema(&self) -> Arc<Schema> {
        self.inner.state().schema.clone()
    }

    /// The damage of what is stored that operations have met, with directories of this process.
    pub fn damage() -> Damage {
        damage::met()
    }

    /// Begins anew with [`Directory::damage`], as what is damaged may have been mended.
    pub fn forget_damage() {
        damage::forget();
    }

    /// Looks whether the database's files are still those that were opened. Where they are not, no more updates are made until they
    /// are again, as these would be lost: why, if so. To be called from time to time.
    pub fn look_for_files(&self) -> Option<String> {
        self.inner.look_for_files()
    }

    /// What [`Directory::look_for_files`] has found last.
    pub fn lost_files(&self) -> Option<String> {
        self.inner.place.lost()
    }

    /// The database below.
    pub fn database(&self) -> &Database {
        &self.inner.db
    }

    /// Suffixes, as they were written.
    pub fn suffixes(&self) -> Vec<String> {
        self.inner.state().suffixes.iter().map(|suffix| suffix.text.clone()).collect()
    }

    /// A name, and the form of it in which equal ones are the same bytes.
    ///
    /// # Errors
    /// invalidDNSyntax.
    pub fn name(&self, name: &str) -> Result<Name> {
        names::both(&self.inner.state().schema, name)
    }

    /// The number of the newest commit, of whichever process.
    pub fn commit(&self) -> Result<Txnid> {
        Ok(self.inner.db.read()?.txnid())
    }

    /// Has this one woken after updates of this process, as long as a client wants to hear of them ([`crate::Standing`]).
    pub fn watch(&self, waker: std::task::Waker) {
        self.inner.watchers.add(waker);
    }

    /// Begins a search. `controls` are those of the request; one that is not known here and critical is refused.
    pub fn search(
        &self,
        requester: &Requester,
        request: &SearchRequest<'_>,
        controls: List<'_, Control<'_>>,
    ) -> Result<Search> {
        self.inner.search(requester, request, controls, false)
    }

    /// Whether an entry has a value.
    pub fn compare(
        &self,
        requester: &Requester,
        request: &CompareRequest<'_>,
        controls: List<'_, Control<'_>>,
    ) -> Result<bool> {
        self.inner.compare(requester, request, controls)
    }

    /// Adds, deletes, modifies or renames, and waits until it is durable. Updates of many threads share a flush.
    pub fn update(
        &self,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
    ) -> Result<Updated> {
        self.inner.update(requester, request, controls)
    }

    /// As [`Directory::update`], for any asynchronous runtime. The update is queued at once, awaited or not. Who polls the
    /// future, or drops it, may find himself making a small update, and waiting for the disk, where that has taken no
    /// longer than `patience` of late.
    pub fn update_async(
        &self,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
        patience: Duration,
    ) -> UpdateFuture {
        self.inner.update_async(requester, request, controls, patience, Proof::default())
    }

    /// Finds out about the passwords of a request what their policy asks for and may take long, where stored ones are costly to
    /// verify: for [`Directory::update_proven`]. [`Directory::update`] does it by itself; [`Directory::update_async`] has
    /// other updates wait meanwhile. With a `scheme` new passwords that come in clear text in an add or a modify are hashed,
    /// eight at most: anybody else who updates stores them as they are.
    pub fn prove(&self, requester: &Requester, request: &Request<'_>, scheme: Option<Scheme>) -> Result<Proof> {
        self.inner.prove(requester, request, scheme)
    }

    /// Whether a request gives an entry a password in clear text, by an add or a modify, or is to delete one.
    pub fn names_clear_password(&self, request: &Request<'_>) -> bool {
        judge::names_clear_password(&self.inner.state().schema, request)
    }

    /// As [`Directory::prove`], about a password in clear text that an entry is to have in another form, for
    /// [`Directory::set_password`]. `has_old`: the old one was sent along, and is right.
    pub fn prove_new(&self, requester: &Requester, name: &str, clear: &[u8], has_old: bool) -> Result<Proof> {
        self.inner.prove_new(requester, name, clear, has_old)
    }

    /// As [`Directory::update_async`], with what has been found out about the request's passwords.
    pub fn update_proven(
        &self,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
        proof: Proof,
    ) -> UpdateFuture {
        self.inner.update_async(requester, request, controls, Duration::ZERO, proof)
    }

    /// An update that is to be made with others by [`Directory::update_together`], as a client's transaction demands (RFC 5805),
    /// whose control is not to be among `controls`. `proof`: see [`Directory::prove`].
    ///
    /// # Errors
    /// What is wrong with it whatever comes before it. Nothing else is looked at.
    pub fn prepare_update(
        &self,
        requester: &Requester,
        request: &Request<'_>,
        controls: List<'_, Control<'_>>,
        proof: Proof,
    ) -> Result<PreparedUpdate> {
        self.inner.prepare_update(requester, request, controls, proof)
    }

    /// Makes all of these updates, each in the state that those before it leave, or none of them. Nobody sees some of them only,
    /// and they survive a power cut together.
    pub fn update_together(&self, updates: Vec<PreparedUpdate>) -> TogetherFuture {
        self.inner.update_together(updates)
    }

    /// Whether password policies are in force.
    pub fn has_password_policies(&self) -> bool {
        self.inner.has_policies()
    }

    /// What the policy of the entry of this name says to its password, which was found right or wrong; `None` if something is to
    /// be noted down with that, which [`Directory::judge`] does. The administrator of the configuration has no policy.
    pub fn judge_now(&self, name: &Name, is_right: bool) -> Result<Option<Judgement>> {
        self.inner.judge_now(&name.normalized, is_right)
    }

    /// As [`Directory::judge_now`], and notes down what is to be noted, which takes its turn among updates and need not survive
    /// a power cut. Where it cannot be noted, or not within a second, that is logged, and the judgement holds all the same.
    pub fn judge(&self, name: &Name, is_right: bool) -> Result<Judgement> {
        self.inner.judge(&name.normalized, is_right)
    }

    /// Whether the password of the entry of this name is to be changed before anything else.
    pub fn must_change_password(&self, name: &Name) -> Result<bool> {
        self.inner.must_change(&name.normalized)
    }

    /// Who an extended operation that knows the proxied authorization control is carried out as. Any other critical control
    /// is refused.
    pub fn acting(&self, requester: &Requester, controls: List<'_, Control<'_>>) -> Result<Requester> {
        self.inner.acting(requester, controls)
    }

    /// What somebody who says to be `name` can be authenticated by: the normalized name and the stored values of
    /// `userPassword`, none if there is no such entry or it has none or `requester` may not be authenticated by it.
    /// The administrator's own password comes first.
    pub fn credentials(&self, requester: &Requester, name: &str) -> Result<Credentials> {
        self.inner.credentials(requester, name)
    }

    /// Who is known by `name` to a mechanism, such as `uid=ann,cn=plain,cn=auth`, by the rules of [`Config::identities`].
    pub fn identity(&self, name: &str) -> Result<Identity> {
        self.inner.identity(name)
    }

    /// The name of whom a mechanism calls `user`: by the first of these rules that is about him, else the one entry below the
    /// suffixes with this `uid`. `None` if there is nobody, or more than one.
    pub fn name_of_user(&self, mechanism: &str, user: &str) -> Result<Option<String>> {
        self.inner.name_of_user(AuthzUser { mechanism: Some(mechanism), realm: None, user })
    }

    /// Whether `who`, who has proved or is going to prove to be that, may act as whoever has this name, by
    /// [`Config::authz_policy`]. `asking` needs leave to be authenticated by the rules of the entries.
    pub fn may_act(&self, asking: &Requester, who: &Requester, name: &Name) -> Result<bool> {
        self.inner.may_act(&self.inner.state(), asking, who, name)
    }

    /// Sets `userPassword` of an entry to one stored form: what a password modify operation does once it has made that
    /// form. The requester has to be allowed to write it.
    pub fn set_password(&self, requester: &Requester, name: &str, stored: &[u8], proof: Proof) -> UpdateFuture {
        let (mut values, mut changes) = (Vec::new(), Vec::new());
        let values = List::build(&mut values, [stored]);
        let attribute = duramen_ldap::attribute::Attribute { description: "userPassword", values };
        let changes = List::build(&mut changes, [Change { kind: ChangeKind::Replace, attribute }]);
        self.update_proven(requester, &Request::Modify(ModifyRequest { name, changes }), List::default(), proof)
    }

    /// What `requester` may do with an attribute of an entry, or a value of it, and which line of the access rules decides
    /// it. In place of an attribute's name, `entry` is the entry itself, and `children` what is directly below it.
    pub fn explain_access(
        &self,
        requester: &Requester,
        name: &str,
        attribute: &str,
        value: Option<&[u8]>,
    ) -> Result<access::Explanation> {
        self.inner.explain_access(requester, name, attribute, value)
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.inner.db.read()?.table(tables::ENTRY)?.is_empty())
    }

    /// The copy of another server's entries below a suffix, which is one of [`Config::copies`].
    ///
    /// # Errors
    /// invalidDNSyntax, unwillingToPerform if it is none of them.
    pub fn replica(&self, suffix: &str) -> Result<Replica> {
        Replica::new(self.inner.clone(), suffix)
    }

    /// Completes the indices that the configuration asks for, while searches and updates go on, and takes away what is
    /// left of those that it does not ask for any more. `progress` is called with (entries done, entries in all) and
    /// ends the work by returning false; what was done until then is done again next time.
    pub fn reindex(&self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<()> {
        self.inner.reindex(progress)
    }

    /// Builds all indices anew, those that are complete too: all or nothing. Searches go on by what was there before, and
    /// updates wait. `progress` is as that of [`Directory::reindex`].
    pub fn rebuild_indices(&self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<()> {
        self.inner.rebuild_indices(progress)
    }

    /// Names of attributes whose indices are asked for and not complete: [`Directory::reindex`] completes them.
    pub fn incomplete_indices(&self) -> Vec<String> {
        let state = self.inner.state();
        state.wanted.iter().map(|(id, _)| state.schema.attribute(*id).name.clone()).collect()
    }

    /// Adds the entries of an LDIF file; `file` is its name, for messages. Into a directory without entries they are
    /// loaded table by table, all or nothing. Operational attributes are taken as they are, so that what `slapcat` or
    /// [`Directory::export`] wrote keeps its identifiers and times.
    ///
    /// `listener` hears what happens, and ends the import by returning false.
    pub fn import(
        &self,
        file: &str,
        text: &mut dyn std::io::BufRead,
        options: ImportOptions,
        listener: &mut dyn FnMut(ImportEvent<'_>) -> bool,
    ) -> Result<Imported, ImportError> {
        self.inner.import(file, text, options, listener)
    }

    /// Writes an entry and all below it as LDIF that [`Directory::import`] takes; all suffixes if `base` is `None`.
    /// Searches and updates go on meanwhile. Returns how many entries these were. `progress` is called with (entries
    /// written, entries in all), and ends the work by returning false.
    pub fn export(
        &self,
        base: Option<&str>,
        out: &mut dyn std::io::Write,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<u64> {
        self.inner.export(base, out, progress)
    }

    /// How a search would find its entries: a line for each step. The search is run, and what it finds is thrown away.
    pub fn explain(&self, requester: &Requester, request: &SearchRequest<'_>) -> Result<Vec<String>> {
        let mut search = self.inner.search(requester, request, List::default(), true)?;
        let ended = search.run(&mut Nowhere);
        let failed = match ended {
            Progress::Done(done) => done.failure.map(|failure| failure.to_string()),
            Progress::Paused | Progress::Persists => None,
        };
        Ok(search.plan().split("; ").map(str::to_string).chain(failed).collect())
    }

    /// Looks at every entry, name, value and index, and at whether they fit together. What does not is told to
    /// `problem`, in a sentence each. `progress` is called with (entries done, entries in all).
    pub fn check(&self, problem: &mut dyn FnMut(String), progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.inner.check(problem, progress)
    }

    /// Gives what `cn=monitor` shows: called once a search looks there.
    pub fn set_monitor(&self, monitor: Monitor) {
        self.inner.set_monitor(monitor);
    }

    /// Gives what the root DSE says about the server (RFC 4512 section 5.1): `supportedExtension`,
    /// `supportedSASLMechanisms`, `altServer`, `vendorName`... The directory adds what it knows itself: naming
    /// contexts, controls, features, the subschema subentry.
    pub fn set_root_dse(&self, attributes: Vec<(String, Vec<String>)>) {
        self.inner.set_root_dse(attributes);
    }
}
