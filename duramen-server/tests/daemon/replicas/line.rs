//! A line between a replica and its provider, as bad as lines are: connections that are cut at any byte, in order or not, that
//! are slow, on which nothing comes any more though they stand, and that are refused.
//!
//! Both ends see what they would see of a network: only that here somebody acknowledges what is lost, as a relay on the way does.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duramen_sim::port::{free_port, listen_again};
use rustix::net::sockopt::set_socket_linger;

/// So often it is looked whether something has to be done besides waiting.
const TICK: Duration = Duration::from_millis(5);

/// How a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// All goes through.
    Fair,
    /// Each connection has an end of its own, or is slow.
    Foul,
    /// Nothing comes through any more, on connections there are and new ones, and nobody is told.
    Silent,
    /// There is nobody to connect to, and connections there are end.
    Closed,
}

/// See the head. It ends with the process.
pub struct Line {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    to: u16,
    weather: Mutex<Weather>,
    random: Mutex<fastrand::Rng>,
    made: AtomicU64,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// In order, for both.
    Fin,
    /// Both are told that it is not there.
    Reset,
    /// Nobody is told anything.
    Silence,
}

/// What becomes of a connection in foul weather.
#[derive(Clone, Copy, Debug)]
struct Fate {
    end: End,
    /// How it ends, after so many bytes to the replica or from there.
    after: u64,
    is_of_answers: bool,
    /// How long so many bytes take.
    pause: Duration,
    piece: usize,
}

/// A connection on its way.
struct Wire {
    fate: Fate,
    ended: AtomicBool,
    silent: AtomicBool,
}

impl Line {
    /// To a port, with what happens by this seed.
    pub fn to(port: u16, seed: u64) -> Line {
        let random = Mutex::new(fastrand::Rng::with_seed(seed));
        let shared = Shared { to: port, weather: Mutex::new(Weather::Fair), random, made: AtomicU64::new(0) };
        let line = Line { port: free_port(), shared: Arc::new(shared) };
        let (port, shared, listener) = (line.port, line.shared.clone(), listen(line.port));
        std::thread::spawn(move || shared.serve(port, listener));
        line
    }

    pub fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }

    /// It is so from now on. In fair weather connections that were to end go on; those on which nothing comes stay as they are.
    pub fn turn(&self, weather: Weather) {
        *self.shared.weather.lock().unwrap() = weather;
    }

    /// How many connections there have been.
    pub fn made(&self) -> u64 {
        self.shared.made.load(Relaxed)
    }
}

impl Shared {
    fn weather(&self) -> Weather {
        *self.weather.lock().unwrap()
    }

    fn serve(self: Arc<Shared>, port: u16, listener: TcpListener) {
        let mut listener = Some(listener);
        loop {
            if self.weather() == Weather::Closed {
                listener = None;
                std::thread::sleep(TICK);
                continue;
            }
            match listener.get_or_insert_with(|| listen(port)).accept() {
                Ok((replica, _)) => self.carry(replica),
                Err(_) => std::thread::sleep(TICK),
            }
        }
    }

    fn carry(self: &Arc<Shared>, replica: TcpStream) {
        self.made.fetch_add(1, Relaxed);
        // Without a provider the replica is turned away.
        let Ok(provider) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.to)) else { return };
        let fate = Fate::by(&mut self.random.lock().unwrap());
        let wire = Arc::new(Wire { fate, ended: AtomicBool::new(false), silent: AtomicBool::new(false) });
        for stream in [&replica, &provider] {
            stream.set_nonblocking(false).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(TICK)).unwrap();
        }
        let back = (provider.try_clone().unwrap(), replica.try_clone().unwrap());
        for ((from, to), is_of_answers) in [(back, true), ((replica, provider), false)] {
            let (shared, wire) = (self.clone(), wire.clone());
            std::thread::spawn(move || shared.pump(&wire, (from, to), is_of_answers));
        }
    }

    /// Carries what comes from one to the other, as long as that goes.
    fn pump(&self, wire: &Wire, (mut from, mut to): (TcpStream, TcpStream), is_of_answers: bool) {
        let (fate, mut carried, mut buffer) = (wire.fate, 0, vec![0; 64 << 10]);
        loop {
            let is_foul = self.weather() == Weather::Foul;
            if is_foul && is_of_answers == fate.is_of_answers && carried >= fate.after {
                wire.end(fate.end, &from, &to);
            }
            let most = if is_foul { fate.most(carried) } else { buffer.len() };
            let read = from.read(&mut buffer[..most]);
            match self.weather() {
                Weather::Silent => wire.end(End::Silence, &from, &to),
                Weather::Closed => wire.end(End::Reset, &from, &to),
                _ => {}
            }
            if wire.ended.load(Relaxed) {
                return;
            }
            let is_silent = wire.silent.load(Relaxed);
            let count = match read {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Ok(0) | Err(_) if is_silent => return,
                Ok(0) => return wire.end(End::Fin, &from, &to),
                Err(_) => return wire.end(End::Reset, &from, &to),
                Ok(_) if is_silent => continue,
                Ok(count) => count,
            };
            if to.write_all(&buffer[..count]).is_err() {
                return wire.end(End::Reset, &from, &to);
            }
            carried += count as u64;
            if is_foul {
                std::thread::sleep(fate.pause);
            }
        }
    }
}

fn listen(port: u16) -> TcpListener {
    let listener = listen_again(port);
    listener.set_nonblocking(true).unwrap();
    listener
}

impl Wire {
    fn end(&self, end: End, from: &TcpStream, to: &TcpStream) {
        match end {
            End::Silence => return self.silent.store(true, Relaxed),
            End::Fin => {}
            // Of a silent one nobody is told.
            End::Reset if self.silent.load(Relaxed) => return,
            // What is closed without waiting for anything is reset.
            End::Reset => {
                for stream in [from, to] {
                    set_socket_linger(stream, Some(Duration::ZERO)).unwrap();
                }
            }
        }
        self.ended.store(true, Relaxed);
    }
}

impl Fate {
    fn by(random: &mut fastrand::Rng) -> Fate {
        let end = [End::Fin, End::Reset, End::Silence][random.usize(..3)];
        let (is_slow, magnitude) = (random.bool(), random.u8(4..20));
        Fate {
            end,
            // Few as often as many.
            after: random.u64(..1 << magnitude),
            // What is asked is short.
            is_of_answers: random.u8(..8) > 0,
            pause: Duration::from_millis(if is_slow { random.u64(..40) } else { 0 }),
            piece: if is_slow { random.usize(100..10_000) } else { 64 << 10 },
        }
    }

    /// How much is carried at once; not beyond the end.
    fn most(&self, carried: u64) -> usize {
        let left = usize::try_from(self.after.saturating_sub(carried)).unwrap_or(usize::MAX);
        if left == 0 { self.piece } else { left.min(self.piece) }
    }
}
