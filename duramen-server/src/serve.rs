//! The daemon's life: configuration, listening, opening, serving, reloading, stopping.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duramen_directory::access::Origins;
use duramen_directory::{Directory, OpenError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot::Receiver;
use tokio::sync::oneshot::error::RecvError;

use crate::aside;
use crate::claim::Claim;
use crate::config::{self, Config, Fault, Judge, Overrides};
use crate::crew::Crew;
use crate::failure::ServeError;
use crate::listen::{Listener, listen};
use crate::log::Logging;
use crate::server::{Server, Settings};
use crate::{http, monitor, notify};

/// Files that are no connections of clients: the database's, listeners, the runtime's, those of whoever looks at figures.
const OTHER_FILES: u64 = 64 + http::CONNECTIONS_MAX as u64;

/// Who waits for a tool that writes is told after this time.
const SILENT: Duration = Duration::from_secs(1);

const DAY: Duration = Duration::from_secs(24 * 3600);

/// So often it is looked whether the files of the data directory are where they were. What is changed in between is lost where they
/// are not.
const LOOKS_EACH: Duration = Duration::from_secs(1);

/// What the daemon is started with.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// What the command line says.
    pub overrides: Overrides,
}

/// What is right, as far as checking can tell.
pub struct Checked {
    /// The configuration.
    pub config: Config,
    /// The entries of slapd's configuration that the access rules are of, if there are several to choose from.
    pub access_origins: Origins,
    /// What is no fault, and may be trouble.
    pub warnings: Vec<Fault>,
}

/// Checks a configuration: certificates, schema files and access rules included, and whether the data goes with it that is there, if
/// that can be read. Changes nothing.
pub fn check(start: &Start) -> Result<Checked, ServeError> {
    let (config, mut faults) = config::check(start.config.as_deref(), &start.overrides, Judge::New)?;
    let mut warnings = Vec::from_iter(config.missing());
    match Settings::new(&config) {
        Ok(settings) => warnings.extend(settings.warnings()),
        Err(fault) => faults.push(fault),
    }
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let access_origins = Directory::access_origins(&config.directory).map_err(|source| refused(&config, source))?;
    match Directory::check_data(&config.data, &config.directory) {
        Ok(()) => {}
        Err(OpenError::Database(error)) => {
            let what = format!("whether the data goes with it is not known, as that cannot be read: {error}");
            warnings.push(Fault::command(what, "run this as the user of the server, or as root"));
        }
        Err(source) => return Err(misfit(start, &config, source)),
    }
    Ok(Checked { config, access_origins, warnings })
}

fn refused(config: &Config, source: OpenError) -> ServeError {
    ServeError::Directory { path: config.data.clone(), source }
}

/// What to serve by, or all that is wrong with it; but what a directory that is there finds wrong with its settings only
/// where something else is: else whoever opens it is told. Of a new one nothing is made before its settings are right.
fn settings(start: &Start) -> Result<(Config, Settings), ServeError> {
    let path = start.config.as_deref();
    let (config, faults) = config::check(path, &start.overrides, Judge::None)?;
    match Settings::new(&config) {
        Ok(settings) if faults.is_empty() => {
            if !Directory::is_in(&config.data) {
                Directory::check_new(&config.directory).map_err(|source| misfit(start, &config, source))?;
            }
            Ok((config, settings))
        }
        made => {
            let (_, mut faults) = config::check(path, &start.overrides, Judge::There)?;
            faults.extend(made.err());
            Err(faults.into())
        }
    }
}

/// What is wrong with the directory, or with settings that it does not go with.
fn misfit(start: &Start, config: &Config, source: OpenError) -> ServeError {
    match source {
        OpenError::Settings(faults) => config::placed(start.config.as_deref(), &start.overrides, faults).into(),
        source => refused(config, source),
    }
}

fn warn(warnings: impl IntoIterator<Item = Fault>) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

/// A server runs for longer than certificates hold, and nobody may look at it meanwhile.
async fn warn_each_day(server: &Server) {
    loop {
        tokio::time::sleep(DAY).await;
        warn(server.settings().warning());
    }
}

/// Notices where files of the data directory are taken away, or others put in their places, while the server runs.
async fn look_after_files(server: &Server, claim: &mut Claim) {
    let mut told = None;
    loop {
        tokio::time::sleep(LOOKS_EACH).await;
        // Where the whole directory is gone none is to be made in its place.
        if server.directory.look_for_files().is_some() {
            continue;
        }
        let rival = match claim.renew() {
            None => None,
            Some(Ok(())) => {
                tracing::warn!(
                    "{} was removed, by which no second duramend takes the data directory: it is made anew",
                    config::LOCK
                );
                None
            }
            Some(Err(error)) => Some(format!("{} was removed, and is not to be had again: {error}", config::LOCK)),
        };
        if rival != told {
            rival.iter().for_each(|why| tracing::error!("{why}"));
            server.set_rival(rival.clone());
            told = rival;
        }
    }
}

/// Serves until a signal says to stop.
pub fn serve(start: &Start) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system("runtime"))?;
    // Whoever has a server reloaded as soon as it listens would end it otherwise: its start may take longer.
    let hangup = runtime.block_on(async { signal(SignalKind::hangup()) }).map_err(system("signals"))?;
    let (config, settings) = settings(start)?;
    let logging = Logging::start(&config.log).map_err(ServeError::System)?;
    warn(settings.warnings());
    allow_files(config.limits.connections);
    let ended = runtime.block_on(run(start, config, settings, Arc::new(logging), hangup));
    // A reload may still wait for a tool that writes, and the end of the server does not.
    runtime.shutdown_background();
    ended
}

async fn run(
    start: &Start,
    config: Config,
    settings: Settings,
    logging: Arc<Logging>,
    hangup: Signal,
) -> Result<(), ServeError> {
    let mut claim = Claim::take(&config.data)?;
    let listeners = listen(&config.listen)?;
    let page = http::listen(config.http)?;
    refuse_long_files()?;
    let (started, opened) = (start.clone(), config.clone());
    let opening = aside::begin("start", move || open(&started, &opened)).map_err(system("thread"))?;
    let directory = patiently("the start", opening).await.map_err(|error| ServeError::System(error.to_string()))??;
    let urls = listeners.iter().map(Listener::url).collect();
    let server = Server::new(directory, settings, urls).map_err(|error| ServeError::System(error.to_string()))?;
    let server = Arc::new(server);
    monitor::introduce(&server);
    remind_of_indices(&config.data, &server.directory);
    let crew = Crew::start(server.clone()).map_err(system("thread"))?;
    follow(&server).map_err(system("thread"))?;
    let mut signals = Signals::new(hangup).map_err(system("signals"))?;
    for listener in &listeners {
        tracing::info!("listening at {}", listener.url());
    }
    notify::ready();
    tokio::select! {
        () = accept_all(&listeners, &crew) => {}
        () = http::serve(page, server.clone()) => {}
        () = warn_each_day(&server) => {}
        () = look_after_files(&server, &mut claim) => {}
        () = signals.obey(async || reloaded(start, &server, &logging).await) => {}
    }
    tracing::info!("stopping");
    notify::stopping();
    drop(listeners);
    server.replicas.stop();
    crew.stop();
    server.directory.end_audit_log();
    // A checkpoint would wait for a tool that writes.
    server.directory.database().sync().map_err(|error| ServeError::System(error.to_string()))?;
    tracing::info!("stopped");
    Ok(())
}

async fn accept_all(listeners: &[Listener], crew: &Crew) {
    let accepting = listeners.iter().map(|listener| Box::pin(listener.accept_all(crew)));
    let mut accepting: Vec<_> = accepting.collect();
    std::future::poll_fn(|cx| {
        for one in &mut accepting {
            let _ = one.as_mut().poll(cx);
        }
        std::task::Poll::Pending
    })
    .await
}

/// Makes a write beyond the limit of a file's length (LimitFSIZE of systemd) fail, as one to a full disk does: without a
/// handler, the signal that comes with it is the end of the process.
fn refuse_long_files() -> Result<(), ServeError> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map_err(system("signals")).map(drop)
}

/// Whoever moved the data, or mistyped its path, would find an empty directory served.
fn open(start: &Start, config: &Config) -> Result<Directory, ServeError> {
    if !Directory::is_in(&config.data) {
        let path = std::path::absolute(&config.data).unwrap_or_else(|_| config.data.clone());
        tracing::info!("there is no directory in {} yet: a new one is made", path.display());
    }
    Directory::open(&config.data, config.directory.clone()).map_err(|source| misfit(start, config, source))
}

/// As [`reload`], on a thread of its own: it may have to wait for a tool that writes, and connections are accepted here.
async fn reloaded(start: &Start, server: &Arc<Server>, logging: &Arc<Logging>) {
    let (start, server, logging) = (start.clone(), server.clone(), logging.clone());
    let reloaded = match aside::begin("reload", move || reload(&start, &server, &logging)) {
        Ok(reloading) => patiently("the reload", reloading).await.map_err(|error| error.to_string()),
        Err(error) => Err(format!("no thread for it: {error}")),
    };
    if let Err(error) = reloaded {
        tracing::error!("not reloaded: {error}");
    }
}

/// Waits for work that takes its turn among those who write, and says what it may be waiting for.
async fn patiently<T>(what: &str, mut work: Receiver<T>) -> Result<T, RecvError> {
    if let Ok(done) = tokio::time::timeout(SILENT, &mut work).await {
        return done;
    }
    tracing::info!(
        "{what} takes its time: it waits for whoever writes to the directory, as import and reindex may do for long"
    );
    work.await
}

/// Takes another configuration into use, unless it has faults: then all stays as it was.
fn reload(start: &Start, server: &Arc<Server>, logging: &Logging) {
    let attempt = || -> Result<(), ServeError> {
        let (config, settings) = settings(start)?;
        // What is copied now may not be any more.
        server.replicas.stop();
        server.directory.reconfigure(config.directory.clone()).map_err(|source| misfit(start, &config, source))?;
        logging.change(&config.log).map_err(ServeError::System)?;
        warn(settings.warnings());
        server.change_settings(settings);
        monitor::introduce(server);
        remind_of_indices(&config.data, &server.directory);
        Ok(())
    };
    notify::reloading();
    // What was mended meanwhile is not met again.
    Directory::forget_damage();
    let attempted = attempt();
    if let Err(error) = follow(server) {
        tracing::error!("no thread to follow a provider: {error}");
    }
    match attempted {
        Ok(()) => tracing::info!("reloaded: listeners, threads, data and durability stay as they were at the start"),
        Err(error) => {
            tracing::error!("not reloaded, all stays as it was: {error}");
            // Whoever has renamed that file wants another one to be written to, whatever is wrong with the configuration.
            if let Err(error) = server.directory.reopen_audit_log() {
                tracing::error!("{error}");
            }
        }
    }
    notify::ready();
}

/// Begins to follow providers, if there are some and that has not begun.
fn follow(server: &Server) -> std::io::Result<()> {
    server.replicas.start(&server.directory, server.settings().source.as_ref())
}

/// Indices that a configuration asks for later are not there by that alone, and searches without them are slow.
fn remind_of_indices(data: &Path, directory: &Directory) {
    let missing = directory.incomplete_indices();
    if !missing.is_empty() {
        tracing::warn!(
            "not used yet, as they do not have all entries: indices of {}; `duramen directory reindex --data {}` completes \
             them while the server runs, and then SIGHUP has searches use them",
            missing.join(", "),
            data.display()
        );
    }
}

struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// The others end the process by themselves until there is something to be ended in order.
    fn new(hangup: Signal) -> std::io::Result<Signals> {
        Ok(Signals { hangup, terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Returns when it is time to stop, in the midst of a reload too.
    async fn obey(&mut self, reload: impl AsyncFn()) {
        let reloads = async {
            while self.hangup.recv().await.is_some() {
                reload().await;
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = reloads => {}
        }
    }
}

/// Lets the process open as many files as the system allows it, since every connection is one.
fn allow_files(connections: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::warn!("the limit of open files stays at {}: {error}", current.unwrap_or(u64::MAX));
    }
    let wanted = (connections as u64).saturating_add(OTHER_FILES);
    if let Some(most) = maximum.filter(|&most| most < wanted) {
        tracing::warn!(
            "the system lets this process open {most} files, which is too few for {connections} connections; \
             raise the limit (LimitNOFILE of systemd, `ulimit -Hn` of the shell)"
        );
    }
}

fn system(what: &'static str) -> impl Fn(std::io::Error) -> ServeError {
    move |error| ServeError::System(format!("the system gives no {what}: {error}"))
}
