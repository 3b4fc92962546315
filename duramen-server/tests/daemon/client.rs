//! A client that says what it is told to say, byte by byte if need be.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::{Frame, List, frame};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{
    AddRequest, Authentication, BindRequest, Change, ChangeKind, Control, Message, ModifyRequest, Request, Response,
    ResultCode, Scope, SearchRequest,
};

use crate::process::{ADMINISTRATOR, Daemon};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// See the head.
pub struct Client<S = TcpStream> {
    pub stream: S,
    received: Vec<u8>,
    id: u32,
}

/// How an operation ended, and what came before that.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub code: ResultCode,
    pub diagnostic: String,
    /// Names of entries.
    pub names: Vec<String>,
}

impl Client {
    pub fn new(daemon: &Daemon) -> Client {
        Client::over(connected(daemon.ldap))
    }

    /// Bound as the administrator.
    pub fn administrator(daemon: &Daemon) -> Client {
        let mut client = Client::new(daemon);
        assert_eq!(client.bind(ADMINISTRATOR.0, ADMINISTRATOR.1).code, ResultCode::SUCCESS);
        client
    }
}

/// A socket that is connected, and waits for answers for a while.
pub fn connected(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

impl<S: Read + Write> Client<S> {
    pub fn over(stream: S) -> Client<S> {
        Client { stream, received: Vec::new(), id: 0 }
    }

    /// The next request's bytes.
    pub fn encoded(&mut self, request: Request<'_>) -> Vec<u8> {
        self.with_controls(request, &[])
    }

    pub fn with_controls(&mut self, operation: Request<'_>, controls: &[Control<'_>]) -> Vec<u8> {
        self.id += 1;
        let (mut list, mut bytes) = (Vec::new(), Vec::new());
        let controls = List::build(&mut list, controls.iter().copied());
        Message { id: self.id, operation, controls }.encode(&mut bytes);
        bytes
    }

    /// The number of the request that was encoded last.
    pub fn last_id(&self) -> u32 {
        self.id
    }

    pub fn send(&mut self, request: Request<'_>) -> u32 {
        self.try_send(request).unwrap()
    }

    fn try_send(&mut self, request: Request<'_>) -> io::Result<u32> {
        let bytes = self.encoded(request);
        self.stream.write_all(&bytes)?;
        Ok(self.id)
    }

    /// Receives so many bytes at most, and takes no message of them yet; false at the end of the stream.
    pub fn receive(&mut self, bytes_max: usize) -> bool {
        let mut chunk = vec![0; bytes_max];
        match self.stream.read(&mut chunk) {
            Ok(0) => false,
            Ok(count) => {
                self.received.extend_from_slice(&chunk[..count]);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("no answer: {error}"),
        }
    }

    /// The next message; `None` at the end of the stream.
    pub fn message(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Frame::Complete(length) = frame(&self.received, 1 << 28).unwrap() {
                return Some(self.received.drain(..length).collect());
            }
            if !self.receive(1 << 16) {
                return None;
            }
        }
    }

    /// The next answer, and the number of its request; panics at the end of the stream.
    pub fn answer(&mut self) -> (u32, Answer) {
        self.try_answer().expect("an answer, not the end of the stream")
    }

    fn try_answer(&mut self) -> Option<(u32, Answer)> {
        let mut names = Vec::new();
        loop {
            let bytes = self.message()?;
            let message = Message::<Response<'_>>::decode(&bytes).unwrap();
            if let Response::SearchEntry(entry) = message.operation {
                names.push(entry.name.to_string());
            } else if let Some(result) = message.operation.result() {
                let answer = Answer { code: result.code, diagnostic: result.diagnostic.to_string(), names };
                return Some((message.id, answer));
            }
        }
    }

    pub fn ask(&mut self, request: Request<'_>) -> Answer {
        let id = self.send(request);
        let (answered, answer) = self.answer();
        assert_eq!(answered, id);
        answer
    }

    pub fn bind(&mut self, name: &str, password: &str) -> Answer {
        let authentication = Authentication::Simple(password.as_bytes());
        self.ask(Request::Bind(BindRequest { version: 3, name, authentication }))
    }

    pub fn search(&mut self, base: &str, scope: Scope, filter: &str) -> Answer {
        let filter = FilterBuf::parse(filter).unwrap();
        let request = search(base, scope, &filter);
        self.ask(request)
    }

    /// Adds an entry.
    pub fn add(&mut self, name: &str, attributes: &[(&str, &[&str])]) -> Answer {
        let values: Vec<Vec<u8>> = attributes.iter().map(|(_, values)| built(values)).collect();
        let attributes = attributes
            .iter()
            .zip(&values)
            .map(|((description, _), values)| Attribute { description, values: List::trusted(values) });
        let mut list = Vec::new();
        let attributes = List::build(&mut list, attributes);
        self.ask(Request::Add(AddRequest { name, attributes }))
    }

    /// Adds the suffix and `count` people below it.
    pub fn populate(&mut self, count: usize) {
        let top: [(&str, &[&str]); 3] =
            [("objectClass", &["dcObject", "organization"]), ("dc", &["example"]), ("o", &["Example"])];
        assert_eq!(self.add("dc=example,dc=com", &top).code, ResultCode::SUCCESS);
        for number in 0..count {
            let answer = self.add_person(number);
            assert_eq!(answer.code, ResultCode::SUCCESS, "{answer:?}");
        }
    }

    pub fn add_person(&mut self, number: usize) -> Answer {
        let (uid, password) = (format!("u{number}"), format!("secret-{number}"));
        let attributes: [(&str, &[&str]); 5] = [
            ("objectClass", &["inetOrgPerson"]),
            ("uid", &[&uid]),
            ("cn", &["A Person"]),
            ("sn", &["Person"]),
            ("userPassword", &[&password]),
        ];
        self.add(&person(number), &attributes)
    }

    /// Adds a person with 20,000 bytes of description.
    pub fn add_long_person(&mut self, number: usize) -> Answer {
        let (uid, password, filler) = (format!("u{number}"), format!("secret-{number}"), "x".repeat(20_000));
        let attributes: [(&str, &[&str]); 6] = [
            ("objectClass", &["inetOrgPerson"]),
            ("uid", &[&uid]),
            ("cn", &["A Person"]),
            ("sn", &["Person"]),
            ("userPassword", &[&password]),
            ("description", &[&filler]),
        ];
        self.add(&person(number), &attributes)
    }

    pub fn delete(&mut self, name: &str) -> Answer {
        self.ask(Request::Delete(name))
    }

    /// Puts a value of an attribute in the place of another one.
    pub fn change_value(&mut self, name: &str, description: &str, old: &str, new: &str) -> Answer {
        let (old, new) = (built(&[old]), built(&[new]));
        let change =
            |kind, values| Change { kind, attribute: Attribute { description, values: List::trusted(values) } };
        let mut list = Vec::new();
        let changes = List::build(&mut list, [change(ChangeKind::Delete, &old), change(ChangeKind::Add, &new)]);
        self.ask(Request::Modify(ModifyRequest { name, changes }))
    }

    /// Deletes a value of an attribute.
    pub fn delete_value(&mut self, name: &str, attribute: &str, value: &str) -> Answer {
        with_change(ChangeKind::Delete, name, attribute, &[value], |request| self.ask(request))
    }

    /// Adds values to an attribute.
    pub fn add_values(&mut self, name: &str, attribute: &str, values: &[&str]) -> Answer {
        with_change(ChangeKind::Add, name, attribute, values, |request| self.ask(request))
    }

    pub fn replace(&mut self, name: &str, attribute: &str, value: &str) -> Answer {
        self.try_replace(name, attribute, value).expect("an answer, not the end of the stream")
    }

    /// `None` if the connection is lost before there is an answer.
    pub fn try_replace(&mut self, name: &str, attribute: &str, value: &str) -> Option<Answer> {
        with_replace(name, attribute, &[value], |request| self.try_send(request)).ok()?;
        Some(self.try_answer()?.1)
    }

    pub fn send_replace(&mut self, name: &str, attribute: &str, value: &str) -> u32 {
        self.send_replace_all(name, attribute, &[value])
    }

    pub fn send_replace_all(&mut self, name: &str, attribute: &str, values: &[&str]) -> u32 {
        with_replace(name, attribute, values, |request| self.send(request))
    }
}

fn with_replace<T>(name: &str, attribute: &str, values: &[&str], give: impl FnOnce(Request<'_>) -> T) -> T {
    with_change(ChangeKind::Replace, name, attribute, values, give)
}

fn with_change<T>(
    kind: ChangeKind,
    name: &str,
    description: &str,
    values: &[&str],
    give: impl FnOnce(Request<'_>) -> T,
) -> T {
    let values = built(values);
    let attribute = Attribute { description, values: List::trusted(&values) };
    let mut list = Vec::new();
    let changes = List::build(&mut list, [Change { kind, attribute }]);
    give(Request::Modify(ModifyRequest { name, changes }))
}

/// Name of a person that [`Client::populate`] adds.
pub fn person(number: usize) -> String {
    format!("uid=u{number},dc=example,dc=com")
}

/// A search for all user attributes without limits.
pub fn search<'a>(base: &'a str, scope: Scope, filter: &'a FilterBuf) -> Request<'a> {
    Request::Search(SearchRequest::new(base, scope, filter.as_filter()))
}

fn built(values: &[&str]) -> Vec<u8> {
    let mut encoded = Vec::new();
    List::build(&mut encoded, values.iter().map(|value| value.as_bytes()));
    encoded
}
