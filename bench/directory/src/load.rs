//! The load: one thread that keeps requests outstanding on many connections, and counts what comes back.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use duramen_ldap::ber::{Frame, frame};
use duramen_ldap::message::{Authentication, BindRequest, Envelope, Message, MessageId, Request, Response, op};
use rustix::event::{PollFd, PollFlags, poll};

const READ_BYTES: usize = 256 << 10;
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// What is asked for.
pub trait Work {
    /// Appends the request of this number; false if there is none left.
    fn request(&mut self, connection: usize, n: u64, id: MessageId, out: &mut Vec<u8>) -> bool;

    /// Is given every response.
    fn response(&mut self, _connection: usize, _response: &Envelope<'_>) -> Result<()> {
        Ok(())
    }
}

/// Requests that do not depend on responses.
impl<F: FnMut(u64, MessageId, &mut Vec<u8>)> Work for F {
    fn request(&mut self, _: usize, n: u64, id: MessageId, out: &mut Vec<u8>) -> bool {
        self(n, id, out);
        true
    }
}

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    pub connections: usize,
    /// Requests on each connection that wait for their responses.
    pub outstanding: u64,
    /// It ends when so many have been asked for, or
    pub operations: u64,
    /// when so much time is over.
    pub time: Duration,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub operations: u64,
    pub entries: u64,
    pub bytes: u64,
    pub seconds: f64,
    /// How many operations ended with which result code.
    pub codes: BTreeMap<u32, u64>,
}

struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    in_flight: u64,
}

/// Who the connections belong to: name and password, or nobody.
pub type Who<'a> = Option<(&'a str, &'a str)>;

/// Connects, asks, counts.
pub fn run(address: SocketAddr, who: Who<'_>, amount: Amount, work: &mut dyn Work) -> Result<Outcome> {
    let connect = |_| Connection::open(address, who);
    let mut connections = (0..amount.connections).map(connect).collect::<Result<Vec<_>>>()?;
    let (mut outcome, mut room) = (Outcome::default(), vec![0; READ_BYTES]);
    let begin = Instant::now();
    let mut issued = 0;
    let mut dry = false;
    loop {
        dry = dry || issued >= amount.operations || begin.elapsed() >= amount.time;
        for (number, connection) in connections.iter_mut().enumerate() {
            while !dry && connection.in_flight < amount.outstanding && issued < amount.operations {
                if !work.request(number, issued, (issued % 0x7FFF_FFFE) as MessageId + 1, &mut connection.out) {
                    dry = true;
                    break;
                }
                issued += 1;
                connection.in_flight += 1;
            }
            connection.send()?;
        }
        if connections.iter().all(|connection| connection.in_flight == 0) {
            break;
        }
        for number in ready(&connections)? {
            connections[number].receive(number, work, &mut room, &mut outcome)?;
        }
    }
    outcome.seconds = begin.elapsed().as_secs_f64();
    Ok(outcome)
}

/// Waits; the connections that have something to be received.
fn ready(connections: &[Connection]) -> Result<Vec<usize>> {
    let interest = |connection: &Connection| match connection.sent < connection.out.len() {
        true => PollFlags::IN | PollFlags::OUT,
        false => PollFlags::IN,
    };
    let busy = connections.iter().enumerate().filter(|(_, connection)| connection.in_flight > 0);
    let (numbers, mut polled): (Vec<_>, Vec<_>) =
        busy.map(|(number, connection)| (number, PollFd::new(&connection.stream, interest(connection)))).unzip();
    poll(&mut polled, None)?;
    let is_ready = |polled: &PollFd<'_>| !polled.revents().difference(PollFlags::OUT).is_empty();
    Ok(numbers.into_iter().zip(&polled).filter(|(_, polled)| is_ready(polled)).map(|(number, _)| number).collect())
}

impl Connection {
    fn open(address: SocketAddr, who: Who<'_>) -> Result<Connection> {
        let stream = TcpStream::connect(address).context("connecting")?;
        stream.set_nodelay(true)?;
        let mut connection = Connection { stream, out: Vec::new(), sent: 0, input: Vec::new(), in_flight: 0 };
        if let Some((name, password)) = who {
            connection.bind(name, password)?;
        }
        connection.stream.set_nonblocking(true)?;
        Ok(connection)
    }

    fn bind(&mut self, name: &str, password: &str) -> Result<()> {
        let mut request = Vec::new();
        bind_request(name, password, 1, &mut request);
        self.stream.write_all(&request)?;
        let mut answer = vec![0; 4096];
        let received = self.stream.read(&mut answer)?;
        let message = Message::<Response<'_>>::decode(&answer[..received]).context("the answer to a bind")?;
        match message.operation.result() {
            Some(result) if result.code.0 == 0 => Ok(()),
            other => bail!("bind as {name}: {other:?}"),
        }
    }

    fn send(&mut self) -> Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("sending"),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Takes what there is, at most as much as there is `room`.
    fn receive(&mut self, number: usize, work: &mut dyn Work, room: &mut [u8], outcome: &mut Outcome) -> Result<()> {
        let received = match self.stream.read(room) {
            Ok(0) => bail!("the server closed the connection with {} operations under way", self.in_flight),
            Ok(bytes) => &room[..bytes],
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error).context("receiving"),
        };
        if self.input.is_empty() {
            let taken = self.take(number, work, received, outcome)?;
            self.input.extend_from_slice(&received[taken..]);
        } else {
            let mut input = std::mem::take(&mut self.input);
            input.extend_from_slice(received);
            let taken = self.take(number, work, &input, outcome)?;
            input.drain(..taken);
            self.input = input;
        }
        Ok(())
    }

    /// Takes the whole messages; how many bytes they have.
    fn take(&mut self, number: usize, work: &mut dyn Work, input: &[u8], outcome: &mut Outcome) -> Result<usize> {
        let mut at = 0;
        while let Frame::Complete(bytes) = frame(&input[at..], MESSAGE_BYTES_MAX)? {
            let envelope = Envelope::decode(&input[at..at + bytes])?;
            at += bytes;
            work.response(number, &envelope)?;
            outcome.bytes += bytes as u64;
            match envelope.tag {
                op::SEARCH_ENTRY => outcome.entries += 1,
                op::SEARCH_REFERENCE | op::INTERMEDIATE_RESPONSE => {}
                _ => {
                    let response = envelope.response()?;
                    let code = response.result().map_or(u32::MAX, |result| result.code.0);
                    *outcome.codes.entry(code).or_default() += 1;
                    outcome.operations += 1;
                    self.in_flight = self.in_flight.saturating_sub(1);
                }
            }
        }
        Ok(at)
    }
}

/// Appends a simple bind.
pub fn bind_request(name: &str, password: &str, id: MessageId, out: &mut Vec<u8>) {
    let authentication = Authentication::Simple(password.as_bytes());
    Message::new(id, Request::Bind(BindRequest { version: 3, name, authentication })).encode(out);
}
