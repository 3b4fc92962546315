//! The threads that serve connections: started, given connections that were accepted or that change threads, stopped.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use duramen_directory::Peer;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::balance::{Gauge, Loads};
use crate::connection::{Connection, Left};
use crate::figures::add;
use crate::seldom::Seldom;
use crate::server::Server;
use crate::session::{Process, Session};
use crate::stream::{Socket, Stream};
use crate::thread::{TICK, Thread, Watch};
use crate::work::{ConnectionLog, Resting, Work};

/// Whoever has as many connections as there may be could fill the log with more.
static TURNED_AWAY: Seldom = Seldom::new(1);

/// A connection that was accepted.
pub struct Accepted {
    /// Its socket.
    pub socket: Socket,
    /// Where it comes from.
    pub peer: Peer,
    /// Who is at the other end of a local socket.
    pub local: Option<Process>,
    /// Where it was accepted, for the log.
    pub at: Arc<str>,
    /// Whether TLS comes before anything else.
    pub tls: bool,
}

/// All threads.
pub struct Crew {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    joins: Vec<JoinHandle<()>>,
}

/// What the threads know of each other.
struct Shared {
    server: Arc<Server>,
    loads: Arc<Loads>,
    queues: Vec<UnboundedSender<Guest>>,
}

/// A connection that comes to a thread.
struct Guest {
    stream: Stream,
    resting: Resting,
    /// Whether TLS comes before anything else.
    tls: bool,
    /// Whether another thread had it before.
    moved: bool,
}

/// A thread, in itself.
struct Member {
    number: usize,
    shared: Arc<Shared>,
    thread: Rc<Thread>,
}

impl Crew {
    /// Starts as many threads as there are figures for.
    pub fn start(server: Arc<Server>) -> io::Result<Crew> {
        let loads = Arc::new(Loads::new(server.figures.len()));
        let (queues, guests): (Vec<_>, Vec<_>) = server.figures.iter().map(|_| unbounded_channel()).unzip();
        let shared = Arc::new(Shared { server, loads, queues });
        let stop = watch::Sender::new(false);
        let start = |(number, guests)| start(number, shared.clone(), guests, stop.subscribe());
        let joins = guests.into_iter().enumerate().map(start).collect::<io::Result<_>>()?;
        Ok(Crew { shared, stop, joins })
    }

    /// Gives a connection to a thread, unless there are too many in all.
    pub fn admit(&self, accepted: Accepted) {
        let server = &self.shared.server;
        if server.connected.load(Relaxed) >= server.settings().limits.connections {
            if let Some(untold) = TURNED_AWAY.note() {
                tracing::warn!(untold, "a connection is turned away: there are as many as limits.connections allows");
            }
            return;
        }
        server.connected.fetch_add(1, Relaxed);
        let number = server.next_number();
        let session = Session::new(number, accepted.peer, accepted.local);
        let log = ConnectionLog::new(number, accepted.socket.descriptor(), server.settings().log.stats);
        log.accept(&session.peer_text(), &accepted.at);
        let resting = Resting::new(server, session, log);
        let guest = Guest { stream: Stream::new(accepted.socket), resting, tls: accepted.tls, moved: false };
        // A thread that is gone takes nobody: then the connection is dropped, too.
        drop(self.shared.give(guest, self.shared.loads.for_new()));
    }

    /// Stops: what is under way is finished, as far as the limit allows.
    pub fn stop(self) {
        self.stop.send_replace(true);
        for join in self.joins {
            let _ = join.join();
        }
    }
}

impl Shared {
    /// Hands a connection to a thread; it comes back if that takes no more.
    fn give(&self, guest: Guest, thread: usize) -> Option<Guest> {
        self.loads.given(thread);
        let refused = self.queues[thread].send(guest).err()?;
        self.loads.begun(thread);
        self.loads.left(thread);
        Some(refused.0)
    }
}

fn start(
    number: usize,
    shared: Arc<Shared>,
    guests: UnboundedReceiver<Guest>,
    stop: watch::Receiver<bool>,
) -> io::Result<JoinHandle<()>> {
    // The runtime cannot leave its thread, so it is made there.
    let (begun, begins) = mpsc::channel();
    let run = move || match runtime(number, &shared.loads) {
        Ok(runtime) => {
            let _ = begun.send(Ok(()));
            runtime.block_on(Rc::new(Member::new(number, shared)).run(guests, stop));
        }
        Err(error) => drop(begun.send(Err(error))),
    };
    let join = std::thread::Builder::new().name(format!("io-{number}")).spawn(run)?;
    begins.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
    Ok(join)
}

fn runtime(number: usize, loads: &Arc<Loads>) -> io::Result<LocalRuntime> {
    let [parking, unparking] = [loads.clone(), loads.clone()];
    Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || parking.sleeps(number))
        .on_thread_unpark(move || unparking.wakes(number))
        .build_local(LocalOptions::default())
}

impl Member {
    fn new(number: usize, shared: Arc<Shared>) -> Member {
        let gauge = Gauge::new(shared.loads.clone(), number);
        let thread = Rc::new(Thread::new(shared.server.figures[number].clone(), gauge));
        Member { number, shared, thread }
    }

    async fn run(self: Rc<Self>, mut guests: UnboundedReceiver<Guest>, mut stop: watch::Receiver<bool>) {
        let thread = self.thread.clone();
        drop(tokio::task::spawn_local(async move { thread.updates.serve().await }));
        let serving = self.thread.clone();
        drop(tokio::task::spawn_local(async move { serving.news.serve().await }));
        let directory = &self.shared.server.directory;
        directory.watch(self.thread.news.waker().clone());
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                Some(guest) = guests.recv() => self.take(guest),
                _ = stop.changed() => break,
                _ = tick.tick() => {
                    self.thread.tick();
                    self.thread.look_for_news(|| directory.commit().ok());
                }
            }
        }
        self.thread.stop();
        // Who comes from another thread just now is told, too.
        guests.close();
        while let Some(guest) = guests.recv().await {
            self.take(guest);
        }
        let (began, limit) = (Instant::now(), self.shared.server.settings().limits.stop);
        while !self.thread.is_empty() && began.elapsed() < limit {
            self.thread.wake_all();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn take(self: &Rc<Self>, guest: Guest) {
        add(&self.thread.figures.connections, u64::from(!guest.moved));
        let watch = self.thread.watch(guest.resting.log.number());
        drop(tokio::task::spawn_local(self.clone().serve(guest, watch)));
    }

    async fn serve(self: Rc<Self>, guest: Guest, watch: Rc<Watch>) {
        let shared = &self.shared;
        shared.loads.begun(self.number);
        let number = guest.resting.log.number();
        let left = match self.connection(guest, watch) {
            Ok((connection, tls)) => connection.serve(tls).await,
            Err(error) => {
                tracing::warn!("a connection could not be taken: {error}");
                None
            }
        };
        self.thread.forget(number);
        shared.loads.left(self.number);
        match left {
            Some(left) => self.hand_over(left),
            None => drop(shared.server.connected.fetch_sub(1, Relaxed)),
        }
    }

    fn connection(&self, guest: Guest, watch: Rc<Watch>) -> io::Result<(Connection, bool)> {
        let Guest { mut stream, resting, tls, .. } = guest;
        stream.enter()?;
        let work = Work::new(self.shared.server.clone(), self.thread.figures.clone(), resting);
        Ok((Connection::new(self.thread.clone(), watch, stream, work), tls))
    }

    /// Gives a connection to another thread; if that takes no more, the server is stopping, and it ends here.
    fn hand_over(self: &Rc<Self>, Left { stream, resting, to }: Left) {
        if let Some(guest) = self.shared.give(Guest { stream, resting, tls: false, moved: true }, to) {
            self.shared.loads.given(self.number);
            self.take(guest);
        }
    }
}
