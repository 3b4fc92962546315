//! Being a replica of other servers (RFC 4533): a thread for each suffix that is copied, and where changes are taken together with
//! others, for each of these.
//!
//! Owns: when these threads begin and end. Must not know: how a server is asked, what becomes of entries.
//!
//! | module | owns |
//! |---|---|
//! | [`link`] | a connection to a provider, from the look-up of its name to what it tells |
//! | [`follow`] | who is asked when, and what the log is told of it |
//! | [`status`] | what is known of a copy, for people and programs |

pub mod follow;
pub mod link;
pub mod status;

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use duramen_directory::Directory;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;

use crate::config;
use follow::Follower;
use status::Status;

/// What providers are asked by.
pub struct Source {
    /// The configuration.
    pub config: config::Replica,
    /// TLS, where it is used.
    pub tls: Option<TlsConnector>,
}

impl Source {
    /// Whom alone it is of, where changes are taken together with that one and others.
    fn peer(&self) -> Option<&str> {
        self.config.member.and(self.config.providers.first()).map(|provider| provider.url.as_str())
    }
}

/// What is followed: each suffix, by whichever of the providers; but where changes are taken together, by each of them.
fn each(source: &Arc<Source>) -> Vec<(String, Arc<Source>)> {
    let of = |provider: &config::Provider| {
        let config = config::Replica { providers: vec![provider.clone()], ..source.config.clone() };
        Arc::new(Source { config, tls: source.tls.clone() })
    };
    let sources = match source.config.member {
        None => vec![source.clone()],
        Some(_) => source.config.providers.iter().map(of).collect(),
    };
    let suffixes = source.config.suffixes.iter();
    suffixes.flat_map(|suffix| sources.iter().map(|source| (suffix.clone(), source.clone()))).collect()
}

/// The threads.
#[derive(Default)]
pub struct Replicas {
    threads: Mutex<Vec<Thread>>,
    statuses: RwLock<Vec<Arc<Status>>>,
}

struct Thread {
    stop: watch::Sender<bool>,
    handle: JoinHandle<()>,
}

impl Replicas {
    /// Begins to follow, if there is somebody to be followed, and nobody does.
    pub fn start(&self, directory: &Directory, source: Option<&Arc<Source>>) -> std::io::Result<()> {
        let mut running = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.is_empty() {
            return Ok(());
        }
        let (mut threads, mut statuses) = (Vec::new(), Vec::new());
        for (suffix, source) in source.into_iter().flat_map(each) {
            let status = Arc::new(Status::new(&suffix, source.peer()));
            let (stop, stopped) = watch::channel(false);
            let follower = Follower::new(directory.clone(), source, status.clone(), stopped);
            let run = move || follower.run();
            let handle = std::thread::Builder::new().name("replica".into()).spawn(run)?;
            threads.push(Thread { stop, handle });
            statuses.push(status);
        }
        *self.statuses.write().unwrap_or_else(PoisonError::into_inner) = statuses;
        *running = threads;
        Ok(())
    }

    /// Ends what is under way, each at the next entry or commit, and waits for that.
    pub fn stop(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in &threads {
            // Who has given up hears nothing any more.
            let _ = thread.stop.send(true);
        }
        for thread in threads {
            if thread.handle.join().is_err() {
                tracing::error!("a thread that followed a provider has failed");
            }
        }
    }

    /// What is known of each copy.
    pub fn statuses(&self) -> Vec<Arc<Status>> {
        self.statuses.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
