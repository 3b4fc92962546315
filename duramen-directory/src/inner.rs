//! What the clones of an opened directory share, and what all of its work stands on.
//!
//! Owns: the database, the state in use, what the server has told. Must not know: any of the work; each kind is an
//! `impl Inner` of its own, beside what it needs.
//!
//! No lock of these is held while another one is taken, nor while anything else is done.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use duramen::{Database, Snapshot, Table, WriteTxn};

use crate::audit::{self, Audit, AuditFile};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::OpenError;
use crate::failure;
use crate::folder;
use crate::index::MERGED_FROM;
use crate::meta;
use crate::names::{Changes, Naming};
use crate::orders::Orders;
use crate::place::Place;
use crate::seal::Seal;
use crate::state::{self, State};
use crate::tables::{Ids, META};
use crate::watchers::Watchers;

/// What clones of a directory share.
pub(crate) struct Inner {
    pub db: Database,
    /// One of its own for each opened directory of the process.
    pub number: u64,
    pub clock: Clock,
    /// How many records of waiting trigrams are merged.
    pub merge_due: AtomicU64,
    pub seal: Seal,
    /// What updates have done to the tree of names.
    pub changes: Arc<Changes>,
    /// What sorted searches have put in order.
    pub orders: Arc<Orders>,
    /// Who is to hear of updates.
    pub watchers: Arc<Watchers>,
    /// Where it is written down who changed what.
    pub audit: Arc<Audit>,
    /// Whether the database's files are still where they were.
    pub place: Place,
    read_only: bool,
    config: RwLock<Config>,
    state: RwLock<Arc<State>>,
    root_dse: RwLock<RootDse>,
    monitor: RwLock<Option<Monitor>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Inner({})", self.db.path().display())
    }
}

/// Attributes of the root DSE that the server gives.
type RootDse = Arc<Vec<(String, Vec<String>)>>;

static OPENED: AtomicU64 = AtomicU64::new(0);

impl Inner {
    /// Opens the database `file`, or makes it. What is changed is written down in `log`.
    pub fn open(file: &Path, config: Config, log: Option<AuditFile>) -> Result<Inner, OpenError> {
        let options = Database::options().durability(config.durability).mode(folder::MODE);
        let options = options.read_only(config.read_only).create(!config.read_only);
        let db = options.open(file)?;
        let seal = Seal::new().map_err(|_| OpenError::NoRandom)?;
        let clock = Clock::after(db.committed_ns()?);
        let state = state::load(&db, &config, clock.now())?;
        let audit = Arc::new(Audit::default());
        drop(audit.change(log));
        let hears = audit.clone();
        db.listen(move |records| hears.write(records));
        Ok(Inner {
            number: OPENED.fetch_add(1, Ordering::Relaxed),
            clock,
            merge_due: AtomicU64::new(MERGED_FROM),
            seal,
            changes: Arc::default(),
            orders: Arc::default(),
            watchers: Arc::default(),
            audit,
            place: Place::of(file),
            read_only: config.read_only,
            state: RwLock::new(Arc::new(state)),
            config: RwLock::new(config),
            root_dse: RwLock::default(),
            monitor: RwLock::default(),
            db,
        })
    }

    /// See [`Place`]; tells the log once.
    pub fn look_for_files(&self) -> Option<String> {
        let (lost, is_news) = self.place.look();
        match &lost {
            Some(why) if is_news => tracing::error!(
                "{why}. What was there when the server began is served, and no update is made, as it would be lost: put the file \
                 back, or start the server anew, which takes what stands there then"
            ),
            None if is_news => tracing::info!("the files of the database are in their places again: updates are made"),
            _ => {}
        }
        lost
    }

    /// Why no updates are made, if there is a reason that is not theirs.
    pub fn why_no_updates(&self, state: &State) -> Option<String> {
        let lost = self.place.lost().map(|why| {
            format!("no update is made, as it would be lost: {why}; put the file back, or start the server anew")
        });
        lost.or_else(|| {
            let why = state.unfit.as_ref()?;
            Some(format!(
                "another program has changed the directory, and no update is made until that is mended: {why}"
            ))
        })
    }

    /// The state in use, which a reload replaces as a whole.
    pub fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The state that goes with a snapshot: schema and indices are as the data has them there, whoever has changed them.
    pub fn state_of(&self, snapshot: &Snapshot<'_>) -> failure::Result<Arc<State>> {
        let changed_in = meta::look(self.number, snapshot)?.changed_in;
        let state = self.state();
        if changed_in.is_some() && changed_in == state.as_of {
            return Ok(state);
        }
        self.follow(&snapshot.table(META)?)
    }

    /// As [`Inner::state_of`], for a transaction.
    pub fn state_in(&self, txn: &WriteTxn<'_>, ids: Ids) -> failure::Result<Arc<State>> {
        let (meta, state) = (txn.view(ids.meta)?, self.state());
        let changed_in = meta.changed_in()?;
        if changed_in.is_some() && changed_in == state.as_of { Ok(state) } else { self.follow(&meta) }
    }

    #[cold]
    fn follow(&self, meta: &Table<'_>) -> failure::Result<Arc<State>> {
        let state = state::follow(meta, &self.config(), self.clock.now());
        let state = Arc::new(state.map_err(failure::unusable)?);
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // What has not been committed yet is for this transaction alone, and what is older for this snapshot.
        if current.as_of < state.as_of {
            match &state.unfit {
                Some(why) => {
                    tracing::error!("updates are refused, since another program has changed the directory: {why}")
                }
                None => tracing::info!(
                    "what the directory keeps about itself (schema, indices, imports) has changed: taken up"
                ),
            }
            *current = state.clone();
        }
        Ok(state)
    }

    /// The state of the names that a snapshot shows.
    pub fn naming(&self, state: &State, snapshot: &Snapshot<'_>) -> failure::Result<Naming> {
        Naming::of(self.number, &state.schema, snapshot)
    }

    /// Takes what is kept about the directory, and the configuration, into use anew.
    pub fn reload(&self) -> Result<(), OpenError> {
        self.reload_with(&mut || {})
    }

    /// As [`Inner::reload`]. `exchange` is called when nothing is changed before the new state is in use, and all that was has
    /// been told of; and once more to undo it if that comes to nothing.
    fn reload_with(&self, exchange: &mut dyn FnMut()) -> Result<(), OpenError> {
        if self.read_only {
            let state = state::load(&self.db, &self.config(), self.clock.now())?;
            self.change_state(Arc::new(state));
            return Ok(());
        }
        let mut txn = self.db.begin_write()?;
        let state = self.renewed(&mut txn)?;
        // Updates wait for the transaction, so that none is made by what was before it and does not hold any more.
        let before = self.change_state(Arc::new(state));
        exchange();
        txn.commit().inspect_err(|_| {
            self.change_state(before);
            exchange();
        })?;
        Ok(())
    }

    /// Takes another configuration into use. How the directory was opened stays as it is.
    pub fn reconfigure(&self, config: Config) -> Result<(), OpenError> {
        let config = Config { read_only: self.read_only, ..config };
        let audit = config.audit.as_ref().filter(|_| !self.read_only);
        let mut log = audit::open(audit, self.db.path())?;
        let before = self.change_config(config);
        let mut exchange = || log = self.audit.change(log.take());
        self.reload_with(&mut exchange).inspect_err(|_| drop(self.change_config(before)))
    }

    /// What a reload in this transaction makes of what is kept about the directory, and of the configuration.
    pub fn renewed(&self, txn: &mut WriteTxn<'_>) -> Result<State, OpenError> {
        state::renew(txn, &self.config(), self.clock.now())
    }

    fn config(&self) -> Config {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change_config(&self, config: Config) -> Config {
        std::mem::replace(&mut *self.config.write().unwrap_or_else(PoisonError::into_inner), config)
    }

    fn change_state(&self, state: Arc<State>) -> Arc<State> {
        std::mem::replace(&mut *self.state.write().unwrap_or_else(PoisonError::into_inner), state)
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// What the server says of itself in the root DSE.
    pub fn root_dse(&self) -> RootDse {
        self.root_dse.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_root_dse(&self, attributes: Vec<(String, Vec<String>)>) {
        *self.root_dse.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(attributes);
    }

    pub fn monitor(&self) -> Option<Monitor> {
        self.monitor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_monitor(&self, monitor: Monitor) {
        *self.monitor.write().unwrap_or_else(PoisonError::into_inner) = Some(monitor);
    }
}

/// Gives the entries of `cn=monitor`.
pub type Monitor = Arc<dyn Fn() -> Vec<MonitorEntry> + Send + Sync>;

/// An entry of `cn=monitor`: its name without that (`cn=Total,cn=Connections`; empty for the top), and attributes with
/// values, classes included.
pub type MonitorEntry = (String, Vec<(String, Vec<String>)>);
