//! Threads that serve connections. A connection stays on the thread that got it, so that an operation that only reads
//! never changes threads, and no lock is taken for what belongs to a connection.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use duramen_directory::Peer;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::buffer::Pool;
use crate::connection::Connection;
use crate::figures::{Figures, add};
use crate::server::Server;
use crate::session::{Process, Session};
use crate::stream::{Plain, Stream};
use crate::work::{ConnectionLog, Work};

/// How often connections are looked at that are silent.
const TICK: Duration = Duration::from_secs(1);

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

/// A socket that no runtime has yet.
pub enum Socket {
    /// The network.
    Tcp(std::net::TcpStream),
    /// A local one.
    Unix(std::os::unix::net::UnixStream),
}

/// A thread as others see it.
pub struct Handle {
    accepted: UnboundedSender<Accepted>,
    /// Connections it has.
    pub load: Arc<AtomicUsize>,
    join: JoinHandle<()>,
}

/// What the connections of a thread share.
pub struct Thread {
    /// Buffers.
    pub pool: Pool,
    /// Figures.
    pub figures: Arc<Figures>,
    server: Arc<Server>,
    load: Arc<AtomicUsize>,
    stopping: Cell<bool>,
    now: Cell<Instant>,
    watched: RefCell<HashMap<u64, Rc<Watch>>>,
}

/// When a connection was active last, and how to wake it.
pub struct Watch {
    active: Cell<Instant>,
    /// Whether being silent for long has a consequence.
    limited: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Handle {
    /// Starts a thread, the `number`-th.
    pub fn start(server: Arc<Server>, number: usize) -> io::Result<Handle> {
        let (accepted, queue) = unbounded_channel();
        let load = Arc::new(AtomicUsize::new(0));
        let share = load.clone();
        // The runtime cannot leave its thread, so it is made there.
        let (begun, begins) = std::sync::mpsc::channel();
        let run = move || match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
            Ok(runtime) => {
                let _ = begun.send(Ok(()));
                runtime.block_on(Rc::new(Thread::new(server, number, share)).run(queue));
            }
            Err(error) => drop(begun.send(Err(error))),
        };
        let join = std::thread::Builder::new().name(format!("io-{number}")).spawn(run)?;
        begins.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Handle { accepted, load, join })
    }

    /// Hands a connection over.
    pub fn give(&self, accepted: Accepted) {
        self.load.fetch_add(1, Relaxed);
        // A thread that is gone has dropped its queue: then the connection is dropped, too.
        let _ = self.accepted.send(accepted);
    }

    /// Stops: what is under way is finished, as far as the limit allows.
    pub fn stop(self) {
        drop(self.accepted);
        let _ = self.join.join();
    }
}

impl Thread {
    fn new(server: Arc<Server>, number: usize, load: Arc<AtomicUsize>) -> Thread {
        Thread {
            pool: Pool::default(),
            figures: server.figures[number].clone(),
            server,
            load,
            stopping: Cell::new(false),
            now: Cell::new(Instant::now()),
            watched: RefCell::default(),
        }
    }

    /// Whether nothing new may begin.
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    async fn run(self: Rc<Self>, mut queue: UnboundedReceiver<Accepted>) {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                accepted = queue.recv() => match accepted {
                    Some(accepted) => drop(tokio::task::spawn_local(self.clone().serve(accepted))),
                    None => break,
                },
                _ = tick.tick() => self.tick(),
            }
        }
        self.stopping.set(true);
        let limit = Instant::now() + self.server.settings().limits.stop;
        while !self.watched.borrow().is_empty() && Instant::now() < limit {
            self.wake_all();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Wakes connections that have been silent for a while, so that they look at their limits.
    fn tick(&self) {
        self.now.set(Instant::now());
        for watch in self.watched.borrow().values() {
            if watch.limited.get() && watch.silent_for(self) >= TICK {
                watch.wake();
            }
        }
    }

    fn wake_all(&self) {
        self.watched.borrow().values().for_each(|watch| watch.wake());
    }

    async fn serve(self: Rc<Self>, accepted: Accepted) {
        let number = self.server.next_number();
        let (active, limited, waker) = (Cell::new(self.now.get()), Cell::default(), RefCell::default());
        let watch = Rc::new(Watch { active, limited, waker });
        self.watched.borrow_mut().insert(number, watch.clone());
        add(&self.figures.connections, 1);
        match self.clone().connection(number, watch, accepted) {
            Ok((connection, tls)) => connection.serve(tls).await,
            Err(error) => tracing::warn!("a connection could not be taken: {error}"),
        }
        self.watched.borrow_mut().remove(&number);
        self.load.fetch_sub(1, Relaxed);
        self.server.connected.fetch_sub(1, Relaxed);
    }

    fn connection(self: Rc<Self>, number: u64, watch: Rc<Watch>, accepted: Accepted) -> io::Result<(Connection, bool)> {
        let stream = match accepted.socket {
            Socket::Tcp(socket) => Plain::Tcp(tokio::net::TcpStream::from_std(socket)?),
            Socket::Unix(socket) => Plain::Unix(tokio::net::UnixStream::from_std(socket)?),
        };
        let session = Session::new(accepted.peer, accepted.local);
        let log = ConnectionLog::new(number, self.server.settings().log.stats);
        log.accept(&session.peer_text(), &accepted.at);
        let work = Work::new(self.server.clone(), self.figures.clone(), session, log);
        Ok((Connection::new(self, watch, Stream::Plain(stream), work), accepted.tls))
    }
}

impl Watch {
    /// Takes note that the client did something.
    pub fn active(&self, thread: &Thread) {
        self.active.set(thread.now.get());
    }

    /// How long the client has done nothing, to about a second.
    pub fn silent_for(&self, thread: &Thread) -> Duration {
        thread.now.get().saturating_duration_since(self.active.get())
    }

    /// Keeps how to wake the connection; `limited`: being silent for long has a consequence.
    pub fn park(&self, waker: &Waker, limited: bool) {
        self.limited.set(limited);
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}
