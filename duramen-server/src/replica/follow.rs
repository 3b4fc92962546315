//! Following providers: who is asked when, what comes of it, and what the log is told.
//!
//! Owns: the order of tries and the pauses between them. Must not know: sockets, entries.
//!
//! What is heard is taken on this thread, piece by piece; what comes meanwhile waits in the socket, so that pieces grow with
//! what there is to be done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duramen_directory::{Directory, Replica, ReplicaError};
use tokio::sync::watch;

use super::Source;
use super::link::Link;
use super::status::{State, Status};
use crate::config::Provider;

/// The pause behind the first try that failed; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// So long more is waited for while a provider tells what there is: each piece costs a flush, and nobody waits for it.
const GATHERING: Duration = Duration::from_millis(20);
/// So often in succession a provider is asked again at once.
const AGAIN_MAX: u32 = 3;
/// What is said of a provider that does not know the cookie.
const UNKNOWN: &str = "it does not know the change that the copy is as of";

/// Who follows the providers of a suffix.
pub struct Follower {
    directory: Directory,
    source: Arc<Source>,
    status: Arc<Status>,
    stopped: watch::Receiver<bool>,
    /// What the log was told last that is wrong.
    told: Option<String>,
}

/// Why a provider is not heard any more.
enum Trouble {
    /// Nobody wants to.
    Stop,
    /// It has to be asked again at once.
    Again(&'static str),
    /// It cannot tell what has changed, and another one may.
    Unknown,
    /// It is of no use to ask again before something is changed.
    Refused(String),
    /// It may be asked again later.
    Lost(String),
}

impl From<String> for Trouble {
    fn from(text: String) -> Trouble {
        Trouble::Lost(text)
    }
}

impl From<ReplicaError> for Trouble {
    fn from(error: ReplicaError) -> Trouble {
        match error {
            ReplicaError::Stopped => Trouble::Stop,
            ReplicaError::Again(why) => Trouble::Again(why),
            ReplicaError::Unknown => Trouble::Unknown,
            ReplicaError::Refused { .. } | ReplicaError::Twin(_) => Trouble::Refused(error.to_string()),
            other => Trouble::Lost(other.to_string()),
        }
    }
}

impl Follower {
    /// Of a suffix, which the status names.
    pub fn new(
        directory: Directory,
        source: Arc<Source>,
        status: Arc<Status>,
        stopped: watch::Receiver<bool>,
    ) -> Follower {
        Follower { directory, source, status, stopped, told: None }
    }

    /// Follows until it is stopped, or cannot go on.
    pub fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let opened = runtime.map_err(|error| format!("the system gives no runtime: {error}"));
        let opened = opened.and_then(|runtime| {
            let replica = self.directory.replica(&self.status.suffix).map_err(|failure| failure.to_string())?;
            Ok((runtime, replica))
        });
        match opened {
            Ok((runtime, mut replica)) => runtime.block_on(self.follow(&mut replica)),
            Err(error) => self.give_up(&error),
        }
    }

    async fn follow(&mut self, replica: &mut Replica) {
        let stopped = self.stopped.clone();
        if let Err(error) = replica.prepare(&move || !*stopped.borrow()) {
            self.warn(error.to_string());
        }
        self.status.note(replica, false);
        let mut pause = FIRST_PAUSE;
        loop {
            let trouble = self.try_each(replica, pause == self.source.config.retry).await;
            let was_following = self.status.change(State::Waiting) == State::Following;
            match trouble {
                Trouble::Stop => return,
                Trouble::Refused(text) => return self.give_up(&text),
                Trouble::Again(text) => self.warn(text.to_string()),
                Trouble::Unknown => self.warn(UNKNOWN.to_string()),
                Trouble::Lost(text) => self.warn(text),
            }
            if was_following {
                pause = FIRST_PAUSE;
            }
            self.status.rests(pause);
            let mut stopped = self.stopped.clone();
            let end = stopped.wait_for(|is_stopped| *is_stopped);
            if tokio::time::timeout(pause, end).await.is_ok() {
                return;
            }
            pause = (2 * pause).min(self.source.config.retry);
        }
    }

    /// Hears one provider after the other, until one was followed for a while or none is left. Who cannot tell what has changed
    /// is asked for all if nobody else can; `is_late`: nor was there anybody for long.
    async fn try_each(&mut self, replica: &mut Replica, is_late: bool) -> Trouble {
        let source = self.source.clone();
        let (mut failures, mut stranger) = (Vec::new(), None);
        for provider in &source.config.providers {
            match self.hear(replica, provider).await {
                Trouble::Lost(text) => failures.push(format!("{}: {text}", provider.url)),
                Trouble::Unknown => stranger = stranger.or(Some(provider)),
                other => return other,
            }
            if self.status.state() == State::Following {
                return Trouble::Lost(failures.join("; "));
            }
        }
        let Some(provider) = stranger else { return Trouble::Lost(failures.join("; ")) };
        if !failures.is_empty() && !is_late {
            failures.push(format!("{}: {UNKNOWN}", provider.url));
            return Trouble::Lost(failures.join("; "));
        }
        tracing::info!("the copy of {:?}: {} is asked for all: {UNKNOWN}", self.status.suffix, provider.url);
        replica.ask_for_all();
        self.hear(replica, provider).await
    }

    /// Hears a provider, as long as that goes.
    async fn hear(&mut self, replica: &mut Replica, provider: &Provider) -> Trouble {
        for _ in 0..AGAIN_MAX {
            let mut stopped = self.stopped.clone();
            let heard = tokio::select! {
                biased;
                _ = stopped.wait_for(|is_stopped| *is_stopped) => return Trouble::Stop,
                heard = self.converse(replica, provider) => heard,
            };
            match heard {
                Trouble::Again(text) => tracing::info!("the copy of {:?}: {text}", self.status.suffix),
                other => return other,
            }
        }
        Trouble::Lost("it has to be asked again and again".into())
    }

    /// As [`Follower::talk`], which does not end well.
    async fn converse(&mut self, replica: &mut Replica, provider: &Provider) -> Trouble {
        let trouble = match self.talk(replica, provider).await {
            Ok(never) => match never {},
            Err(trouble) => trouble,
        };
        match &trouble {
            Trouble::Stop => {}
            Trouble::Unknown => self.status.fails(UNKNOWN),
            Trouble::Again(text) => self.status.fails(text),
            Trouble::Refused(text) | Trouble::Lost(text) => self.status.fails(text),
        }
        trouble
    }

    async fn talk(&mut self, replica: &mut Replica, provider: &Provider) -> Result<std::convert::Infallible, Trouble> {
        let stopped = self.stopped.clone();
        let keep_on = move || !*stopped.borrow();
        let (source, began, before) = (self.source.clone(), Instant::now(), replica.counts());
        self.status.connects(&provider.url);
        let mut link = Link::open(provider, &source).await?;
        let cookie = replica.begin(&provider.url, &keep_on)?;
        link.search(replica.suffix(), &cookie, replica.shared_request().as_deref()).await?;
        self.status.change(State::Refreshing);
        loop {
            link.wait(if replica.is_following() { Duration::ZERO } else { GATHERING }).await?;
            let taken = replica.take(&link.heard()?, &keep_on);
            self.status.note(replica, taken.is_ok());
            taken?;
            link.done();
            if replica.is_following() && self.status.change(State::Following) != State::Following {
                self.tell_complete(replica, provider, (before, began));
            }
        }
    }

    fn tell_complete(
        &mut self,
        replica: &Replica,
        provider: &Provider,
        (before, began): (duramen_directory::Counts, Instant),
    ) {
        self.told = None;
        let (now, as_of) = (replica.counts(), replica.numbers().join(", "));
        tracing::info!(
            as_of,
            put = now.put - before.put,
            deleted = now.deleted - before.deleted,
            ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "the copy of {:?} has all that {} has, and follows it",
            self.status.suffix,
            provider.url,
        );
    }

    /// Tells once of what is wrong.
    fn warn(&mut self, text: String) {
        if self.told.as_ref() != Some(&text) {
            let seconds = self.source.config.retry.as_secs();
            tracing::warn!(
                "the copy of {:?} is not brought up to date at the moment, and what there is is served; it is tried again, every {seconds} s \
                 at last: {text}",
                self.status.suffix
            );
            self.told = Some(text);
        }
    }

    fn give_up(&self, text: &str) {
        self.status.change(State::Stopped);
        tracing::error!(
            "the copy of {:?} is not brought up to date any more, and what there is is served; it goes on once the configuration is \
             read again: {text}",
            self.status.suffix
        );
    }
}
