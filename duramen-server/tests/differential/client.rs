//! A client that asks one thing at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use duramen_ldap::ber::{Frame, frame};
use duramen_ldap::message::{Envelope, Response};

use crate::request::Request;
use crate::servers::{ADMINISTRATOR, PASSWORD};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An entry: descriptions in lower case, values in any order.
pub type Entry = BTreeMap<String, BTreeSet<String>>;

/// How an operation ended, and what came before that.
#[derive(Debug, Clone, Default, Eq)]
pub struct Answer {
    pub code: u32,
    /// The diagnostic message; not compared.
    pub text: String,
    pub entries: BTreeMap<String, Entry>,
}

impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        self.code == other.code && self.entries == other.entries
    }
}

pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    id: u32,
}

impl Client {
    /// Bound as the administrator.
    pub fn administrator(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Client { stream, received: Vec::new(), id: 0 };
        let bind = Request::Bind { name: ADMINISTRATOR.into(), password: PASSWORD.into() };
        assert_eq!(client.ask(&bind).code, 0);
        client
    }

    pub fn ask(&mut self, request: &Request) -> Answer {
        self.id += 1;
        let mut bytes = Vec::new();
        request.encode(self.id, &mut bytes);
        self.stream.write_all(&bytes).unwrap();
        let mut answer = Answer::default();
        loop {
            let message = self.message(request);
            let response = Envelope::decode(&message).unwrap().response().unwrap();
            if let Response::SearchEntry(found) = &response {
                let entry = found.attributes.iter().map(|attribute| {
                    let values = attribute.values.iter().map(|value| String::from_utf8_lossy(value).into_owned());
                    (attribute.description.to_ascii_lowercase(), values.collect())
                });
                let twice = answer.entries.insert(found.name.to_ascii_lowercase(), entry.collect());
                assert!(twice.is_none(), "{} was found twice: {request}", found.name);
            }
            if let Some(result) = response.result() {
                answer.code = result.code.0;
                answer.text = result.diagnostic.to_owned();
                return answer;
            }
        }
    }

    fn message(&mut self, request: &Request) -> Vec<u8> {
        loop {
            if let Frame::Complete(length) = frame(&self.received, 1 << 26).unwrap() {
                return self.received.drain(..length).collect();
            }
            let mut chunk = vec![0; 1 << 16];
            let count = self.stream.read(&mut chunk).unwrap_or_else(|error| panic!("{request}: {error}"));
            assert!(count > 0, "the server hung up: {request}");
            self.received.extend_from_slice(&chunk[..count]);
        }
    }
}
