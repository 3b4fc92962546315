//! A client that asks one thing at a time.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use duramen_ldap::ber::{Frame, frame};
use duramen_ldap::message::Envelope;

use crate::answer::Answer;
use crate::controls::Kind;
use crate::request::{Operation, Request};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of what a server says unasked: that it hangs up, which slapd does not always do then (RFC 4511, 4.4.1).
const NOTICE: u32 = 0;

/// Pages of a search, at most.
const PAGES_MAX: usize = 1000;

pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    id: u32,
}

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, received: Vec::new(), id: 0 }
    }

    /// Bound as somebody.
    pub fn bound(address: SocketAddr, name: &str, password: &str) -> Client {
        let mut client = Client::new(address);
        let bind = Operation::Bind { name: name.into(), password: password.into() };
        assert_eq!(client.ask(&bind.into()).code, 0, "{name}");
        client
    }

    /// Asks, for all pages if there are some.
    pub fn ask(&mut self, request: &Request) -> Answer {
        let mut answer = Answer::default();
        let mut cookie = Vec::new();
        let is_paged = request.controls.iter().any(|control| matches!(control.kind, Kind::Paged(1..)));
        for _ in 0..PAGES_MAX {
            let Some(next) = self.once(request, &cookie, &mut answer) else {
                answer.hang_up();
                return answer;
            };
            if next.is_empty() || !is_paged {
                return answer;
            }
            cookie = next;
        }
        panic!("the pages have no end: {request}");
    }

    /// Asks for one page; the cookie of the next. `None` if the server hung up.
    fn once(&mut self, request: &Request, cookie: &[u8], answer: &mut Answer) -> Option<Vec<u8>> {
        self.id += 1;
        let mut bytes = Vec::new();
        request.encode(self.id, cookie, &mut bytes);
        self.stream.write_all(&bytes).ok()?;
        loop {
            let message = self.message()?;
            let envelope = Envelope::decode(&message).unwrap();
            if envelope.id == NOTICE {
                return None;
            }
            if envelope.id != self.id {
                // slapd's overlay for sorting may answer a request twice.
                continue;
            }
            let (response, controls) = (envelope.response().ok()?, envelope.controls().ok()?);
            if let Some(cookie) = answer.take(request, &response, controls) {
                return Some(cookie);
            }
        }
    }

    /// The next message; `None` if the server hung up.
    fn message(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Frame::Complete(length) = frame(&self.received, 1 << 26).unwrap() {
                return Some(self.received.drain(..length).collect());
            }
            let mut chunk = vec![0; 1 << 16];
            let count = self.stream.read(&mut chunk).unwrap_or(0);
            if count == 0 {
                return None;
            }
            self.received.extend_from_slice(&chunk[..count]);
        }
    }
}
