//! What all threads share: the directory, the settings in force, figures, the bound on costly work.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use duramen_directory::{Directory, password};
use tokio::sync::Semaphore;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::config::{Config, Fault, Limits, Log};
use crate::costs::Costs;
use crate::figures::Figures;
use crate::guesses::Guesses;
use crate::replica::{Replicas, Source};
use crate::tls::{self, Lifetimes};

/// What all threads share.
pub struct Server {
    /// The directory.
    pub directory: Directory,
    /// Figures of each thread.
    pub figures: Vec<Arc<Figures>>,
    /// Connections there are.
    pub connected: AtomicUsize,
    /// When it started.
    pub started: SystemTime,
    /// What SCRAM makes pretended credentials of.
    pub secret: Vec<u8>,
    /// A stored password that none fits, as costly as those that are made: checked where there is none, or none that is
    /// costly, so that the time tells nothing.
    pub decoy: Vec<u8>,
    /// Whether it has to be.
    pub costs: Costs,
    /// Whose passwords are being tried.
    pub guesses: Arc<Guesses>,
    /// The user who runs the server.
    pub user: u32,
    /// URLs of the listeners.
    pub urls: Vec<String>,
    /// Who follows other servers.
    pub replicas: Replicas,
    checks: RwLock<Checks>,
    numbers: AtomicU64,
    rival: RwLock<Option<String>>,
    settings: RwLock<Arc<Settings>>,
}

/// Permits for costly password checks.
struct Checks {
    permits: usize,
    free: Arc<Semaphore>,
}

impl Checks {
    fn new(permits: usize) -> Checks {
        Checks { permits, free: Arc::new(Semaphore::new(permits)) }
    }
}

/// Settings in force. A connection keeps the limits that it began with, and what is logged of it.
pub struct Settings {
    /// Limits of connections.
    pub limits: Limits,
    /// What is logged.
    pub log: Log,
    /// How new passwords are kept.
    pub password_scheme: password::Scheme,
    /// Passwords that come in clear text in an add or a modify are kept so, too.
    pub hash_passwords: bool,
    /// Of whom it is a replica, if it is one.
    pub source: Option<Arc<Source>>,
    /// TLS, if it is offered.
    pub tls: Option<TlsAcceptor>,
    /// For which time its certificates hold.
    pub lifetimes: Option<Lifetimes>,
    /// Which roots by which others are to be verified are of no use.
    pub useless_roots: Vec<Fault>,
}

impl Settings {
    /// From a configuration: reads certificates.
    pub fn new(config: &Config) -> Result<Settings, Fault> {
        let tls = config.tls.as_ref().map(tls::load).transpose()?.map(TlsAcceptor::from);
        let source = config.replica.as_ref().map(|replica| {
            let tls = replica.tls.as_ref().map(tls::load_replica).transpose()?.map(TlsConnector::from);
            Ok(Arc::new(Source { config: replica.clone(), tls }))
        });
        let of_clients = config.tls.as_ref().and_then(|tls| tls.client_roots.as_ref());
        let of_providers = config.replica.as_ref().and_then(|replica| replica.tls.as_ref()).map(|tls| &tls.roots);
        let roots = of_clients.into_iter().chain(of_providers);
        Ok(Settings {
            source: source.transpose()?,
            limits: config.limits.clone(),
            log: config.log.clone(),
            password_scheme: config.password_scheme,
            hash_passwords: config.hash_passwords,
            tls,
            lifetimes: config.tls.as_ref().and_then(Lifetimes::read),
            useless_roots: roots.flat_map(|path| tls::useless_roots(path)).collect(),
        })
    }

    /// What operators are told of the certificates in use, once.
    pub fn warnings(&self) -> impl Iterator<Item = Fault> {
        self.useless_roots.iter().cloned().chain(self.warning())
    }

    /// What they are told again each day: it comes while the server runs.
    pub fn warning(&self) -> Option<Fault> {
        self.lifetimes.as_ref()?.warning(SystemTime::now())
    }
}

impl Server {
    /// Around an open directory; `urls` are those of its listeners.
    pub fn new(directory: Directory, settings: Settings, urls: Vec<String>) -> Result<Server, password::HashError> {
        let limits = &settings.limits;
        let costs = Costs::default();
        let made = b"a password that is compared and never right";
        let decoy = costs.measured(|| password::hash(password::Scheme::Argon2, made))?;
        Ok(Server {
            directory,
            figures: (0..limits.threads).map(|_| Arc::default()).collect(),
            connected: AtomicUsize::new(0),
            checks: RwLock::new(Checks::new(limits.password_checks)),
            started: SystemTime::now(),
            secret: decoy.clone(),
            decoy,
            costs,
            guesses: Arc::default(),
            user: rustix::process::geteuid().as_raw(),
            urls,
            replicas: Replicas::default(),
            numbers: AtomicU64::new(1000),
            rival: RwLock::default(),
            settings: RwLock::new(Arc::new(settings)),
        })
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Permits for costly password checks, as many as the settings say.
    pub fn checks(&self) -> Arc<Semaphore> {
        self.checks.read().unwrap_or_else(PoisonError::into_inner).free.clone()
    }

    /// Puts other settings in force: limits, and what is logged, for connections to come.
    pub fn change_settings(&self, settings: Settings) {
        let permits = settings.limits.password_checks;
        let mut checks = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        if checks.permits != permits {
            // Who has one of before, or waits for one, goes on by those.
            *checks = Checks::new(permits);
        }
        drop(checks);
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Why another server may have the data directory, if it may.
    pub fn rival(&self) -> Option<String> {
        self.rival.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another server may have the data directory, or not any more.
    pub fn set_rival(&self, rival: Option<String>) {
        *self.rival.write().unwrap_or_else(PoisonError::into_inner) = rival;
    }

    /// A number for a connection.
    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed)
    }
}
