//! A connection to a provider: from the look-up of its name to what it tells.
//!
//! Owns: sockets, TLS, the bind, the search, where messages end. Must not know: what becomes of what is told.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use duramen_directory::Heard;
use duramen_ldap::Payload;
use duramen_ldap::ber::{Frame, List, frame};
use duramen_ldap::control::{SyncDone, SyncInfo, SyncRequest, SyncStateValue};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{
    Authentication as Proof, BindRequest, Control, Deref, ExtendedRequest, LdapResult, Message, Request, Response,
    ResultCode, Scope, SearchRequest,
};
use duramen_ldap::oid;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Source;
use crate::aside;
use crate::config::{Authentication, Provider, Security};

/// So much is made in one transaction, unless one message is longer: others who write wait meanwhile.
const TOGETHER_BYTES: usize = 2 << 20;
/// No message is longer.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// Asks for none (RFC 4511 section 4.5.1.8).
const NO_ATTRIBUTES: &str = "1.1";
/// What is read at once.
const READ_BYTES: usize = 256 << 10;

/// What bytes go over.
trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection to a provider.
pub struct Link {
    stream: Box<dyn Wire>,
    received: Vec<u8>,
    /// Where each message ends that has come as a whole.
    ends: Vec<usize>,
    /// Why nothing more can be read; told once all has been that came before.
    broken: Option<io::Error>,
    /// The number of the last request, and that of the search.
    id: u32,
    search: u32,
    /// So long the provider may take for an answer.
    patience: Duration,
}

fn fail<T>(text: impl Into<String>) -> Result<T, String> {
    Err(text.into())
}

/// A step that takes its time, but not for ever.
async fn patiently<T>(what: &str, patience: Duration, step: impl Future<Output = io::Result<T>>) -> Result<T, String> {
    match timeout(patience, step).await {
        Ok(done) => done.map_err(|error| format!("{what}: {error}")),
        Err(_) => fail(format!("{what}: no answer within {} seconds", patience.as_secs())),
    }
}

fn lost(error: io::Error) -> String {
    format!("the connection is lost: {error}")
}

impl Link {
    /// Connects, and binds.
    pub async fn open(provider: &Provider, source: &Source) -> Result<Link, String> {
        let patience = source.config.answer;
        let stream = connect(provider, patience).await?;
        let mut link = Link::over(Box::new(stream), patience);
        if provider.security == Security::StartTls {
            link.start_tls().await?;
        }
        if provider.security != Security::None {
            link = link.secured(provider, source).await?;
        }
        link.bind(&source.config.authentication).await?;
        Ok(link)
    }

    fn over(stream: Box<dyn Wire>, patience: Duration) -> Link {
        Link { stream, received: Vec::new(), ends: Vec::new(), broken: None, id: 0, search: 0, patience }
    }

    async fn start_tls(&mut self) -> Result<(), String> {
        let request = ExtendedRequest { name: oid::extended::START_TLS, value: None };
        self.ask("StartTLS", Request::Extended(request)).await?;
        // What came with it would pass for what came through TLS.
        if self.received.is_empty() {
            Ok(())
        } else {
            fail("StartTLS: the provider sends more in clear text behind it")
        }
    }

    async fn secured(self, provider: &Provider, source: &Source) -> Result<Link, String> {
        let Some(tls) = &source.tls else { return fail("TLS: it is not set up") };
        let name = ServerName::try_from(provider.host.clone()).map_err(|error| format!("TLS: {error}"))?;
        let stream = patiently("TLS", self.patience, tls.connect(name, self.stream)).await?;
        Ok(Link { id: self.id, ..Link::over(Box::new(stream), self.patience) })
    }

    async fn bind(&mut self, authentication: &Authentication) -> Result<(), String> {
        let (name, proof) = match authentication {
            Authentication::Anonymous => return Ok(()),
            Authentication::Simple(name, password) => (name.as_str(), Proof::Simple(password.as_bytes())),
            Authentication::Certificate => ("", Proof::Sasl { mechanism: "EXTERNAL", credentials: Some(b"") }),
        };
        self.ask("bind", Request::Bind(BindRequest { version: 3, name, authentication: proof })).await
    }

    /// Asks for something that ends with success.
    async fn ask(&mut self, what: &str, request: Request<'_>) -> Result<(), String> {
        self.send(what, request, &[]).await?;
        while self.ends.is_empty() {
            patiently(what, self.patience, self.read()).await?;
        }
        let message: Vec<u8> = self.received.drain(..self.ends[0]).collect();
        self.ends.clear();
        let message = Message::<Response<'_>>::decode(&message).map_err(|error| format!("{what}: {error}"))?;
        let Some(result) = message.operation.result() else { return fail(format!("{what}: another answer came")) };
        match result.code {
            ResultCode::SUCCESS => Ok(()),
            _ => fail(format!("{what}: {}", in_words(result))),
        }
    }

    async fn send(&mut self, what: &str, operation: Request<'_>, controls: &[Control<'_>]) -> Result<(), String> {
        self.id += 1;
        let (mut list, mut bytes) = (Vec::new(), Vec::new());
        let controls = List::build(&mut list, controls.iter().copied());
        Message { id: self.id, operation, controls }.encode(&mut bytes);
        patiently(what, self.patience, async {
            self.stream.write_all(&bytes).await?;
            self.stream.flush().await
        })
        .await
    }

    /// Asks for all that is below a suffix, or what of it has changed since a cookie, and for what will; and says that this server
    /// takes changes together with the provider, if so.
    pub async fn search(&mut self, suffix: &str, cookie: &[u8], shared: Option<&[u8]>) -> Result<(), String> {
        let filter = FilterBuf::parse("(objectClass=*)").map_err(|error| error.to_string())?;
        let (mut attributes, mut value) = (Vec::new(), Vec::new());
        let request = SearchRequest {
            deref: Deref::Never,
            attributes: List::build(&mut attributes, ["*", "+"]),
            ..SearchRequest::new(suffix, Scope::Subtree, filter.as_filter())
        };
        let cookie = Some(cookie).filter(|cookie| !cookie.is_empty());
        SyncRequest { persists: true, cookie, reload_hint: false }.encode(&mut value);
        let sync = Control { oid: oid::control::SYNC_REQUEST, critical: true, value: Some(&value) };
        let manage = Control { oid: oid::control::MANAGE_DSA_IT, critical: true, value: None };
        let shared = shared.map(|value| Control { oid: oid::control::SYNC_SHARED, critical: true, value: Some(value) });
        let controls: Vec<Control<'_>> = [sync, manage].into_iter().chain(shared).collect();
        self.send("search", Request::Search(request), &controls).await?;
        self.search = self.id;
        Ok(())
    }

    /// Asks for something that any provider answers (RFC 4512 section 5.1), with nothing in the answer. Its kernel might
    /// answer for one that does nothing any more, and so might something on the way.
    async fn ask_whether_it_is_there(&mut self) -> Result<(), String> {
        let filter = FilterBuf::parse("(objectClass=*)").map_err(|error| error.to_string())?;
        let mut attributes = Vec::new();
        let request = SearchRequest {
            attributes: List::build(&mut attributes, [NO_ATTRIBUTES]),
            ..SearchRequest::new("", Scope::Base, filter.as_filter())
        };
        self.send("question whether it is there", Request::Search(request), &[]).await
    }

    /// Waits for messages: all that have come, as far as they go together, and come within `gathering` each. They stay until
    /// [`Link::done`].
    pub async fn wait(&mut self, gathering: Duration) -> Result<(), String> {
        if let Some(error) = self.broken.take() {
            return Err(lost(error));
        }
        while self.ends.is_empty() {
            self.listen().await?;
        }
        while self.received.len() < TOGETHER_BYTES {
            match timeout(gathering, self.read()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    self.broken = Some(error);
                    break;
                }
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// What the messages say.
    pub fn heard(&self) -> Result<Vec<Heard<'_>>, String> {
        let mut heard = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for &end in &self.ends {
            heard.extend(decode(&self.received[start..end], self.search)?);
            start = end;
        }
        Ok(heard)
    }

    /// The messages are dealt with.
    pub fn done(&mut self) {
        if let Some(end) = self.ends.last().copied() {
            self.received.drain(..end);
        }
        self.ends.clear();
        self.received.shrink_to(2 * TOGETHER_BYTES);
    }

    /// Reads what comes. Nothing need come for long; but then the provider is asked whether it is there.
    async fn listen(&mut self) -> Result<(), String> {
        if let Ok(read) = timeout(self.patience, self.read()).await {
            return read.map_err(lost);
        }
        self.ask_whether_it_is_there().await?;
        match timeout(self.patience, self.read()).await {
            Ok(read) => read.map_err(lost),
            Err(_) => {
                let seconds = self.patience.as_secs();
                fail(format!(
                    "the provider is silent, and has not answered within {seconds} seconds whether it is there"
                ))
            }
        }
    }

    async fn read(&mut self) -> io::Result<()> {
        self.received.reserve(READ_BYTES);
        let mut some = (&mut self.stream).take(READ_BYTES as u64);
        if some.read_buf(&mut self.received).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the provider has closed it"));
        }
        let mut start = self.ends.last().copied().unwrap_or(0);
        loop {
            match frame(&self.received[start..], MESSAGE_BYTES_MAX) {
                Ok(Frame::Complete(length)) => {
                    start += length;
                    self.ends.push(start);
                }
                Ok(_) => return Ok(()),
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
            }
        }
    }
}

/// What a message says of the copy, if it does.
fn decode(bytes: &[u8], id: u32) -> Result<Option<Heard<'_>>, String> {
    let wrong = |error| format!("the provider sends what is no message: {error}");
    let message = Message::<Response<'_>>::decode(bytes).map_err(wrong)?;
    let control = |number: &str| message.controls.iter().find(|control| control.oid == number);
    let value = |number: &str| control(number).and_then(|control| control.value);
    if message.id == 0 {
        let text = message.operation.result().map_or(String::new(), |result| in_words(result));
        return fail(format!("the provider ends the connection: {text}"));
    }
    if message.id != id {
        return Ok(None);
    }
    Ok(match message.operation {
        Response::SearchEntry(entry) => {
            let Some(state) = value(oid::control::SYNC_STATE) else {
                return fail("the provider sends entries without a word on what they are to a copy (RFC 4533)");
            };
            let state = SyncStateValue::decode(state).map_err(wrong)?;
            Some(match value(oid::control::SYNC_SHARED) {
                Some(beside) => Heard::Shared(entry, state, beside),
                None => Heard::Entry(entry, state),
            })
        }
        Response::SearchReference(_) => return fail("the provider refers to other servers in spite of ManageDsaIT"),
        Response::Intermediate(said) if said.name == Some(oid::intermediate::SYNC_INFO) => {
            Some(Heard::Info(SyncInfo::decode(said.value.unwrap_or_default()).map_err(wrong)?))
        }
        Response::SearchDone(LdapResult { code, diagnostic, .. }) => {
            let sync = value(oid::control::SYNC_DONE).map(SyncDone::decode).transpose().map_err(wrong)?;
            Some(Heard::Done { code, diagnostic, sync })
        }
        _ => None,
    })
}

fn in_words(result: &LdapResult<'_>) -> String {
    match result.diagnostic {
        "" => result.code.to_string(),
        text => format!("{}: {text}", result.code),
    }
}

/// Connects to the first of a host's addresses that answers.
async fn connect(provider: &Provider, patience: Duration) -> Result<TcpStream, String> {
    let mut failure = "the host has no address".to_string();
    for address in addresses(provider, patience).await? {
        match patiently(&format!("connection to {address}"), patience, TcpStream::connect(address)).await {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(|error| format!("the connection cannot be set up: {error}"))?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    fail(failure)
}

/// Looking a name up may take long, and cannot be given up.
async fn addresses(provider: &Provider, patience: Duration) -> Result<Vec<SocketAddr>, String> {
    let (host, port) = (provider.host.clone(), provider.port);
    let look_up = move || (host.as_str(), port).to_socket_addrs().map(Vec::from_iter);
    let looking = aside::begin("look-up", look_up).map_err(|error| format!("no thread to look a name up: {error}"))?;
    let found = async { looking.await.map_err(io::Error::other)? };
    patiently(&format!("look-up of {}", provider.host), patience, found).await
}

#[cfg(test)]
mod tests {
    use duramen_ldap::attribute::Attribute;
    use duramen_ldap::control::SyncState;
    use duramen_ldap::message::{IntermediateResponse, SearchEntry, notice_of_disconnection};
    use tokio::io::DuplexStream;

    use super::*;

    /// A link whose search has the number 1, and the provider's end of it.
    fn link() -> (Link, DuplexStream) {
        let (own, other) = tokio::io::duplex(1 << 20);
        (Link { id: 1, search: 1, ..Link::over(Box::new(own), Duration::from_secs(30)) }, other)
    }

    fn message(id: u32, operation: Response<'_>, control: Option<(&str, &[u8])>) -> Vec<u8> {
        let (mut list, mut bytes) = (Vec::new(), Vec::new());
        let control = control.map(|(oid, value)| Control { oid, critical: false, value: Some(value) });
        let controls = List::build(&mut list, control);
        Message { id, operation, controls }.encode(&mut bytes);
        bytes
    }

    fn entry(id: u32) -> Vec<u8> {
        let mut value = Vec::new();
        SyncStateValue { state: SyncState::Add, uuid: [7; 16], cookie: None }.encode(&mut value);
        let attributes: List<'_, Attribute<'_>> = List::default();
        let entry = SearchEntry { name: "dc=x", attributes };
        message(id, Response::SearchEntry(entry), Some((oid::control::SYNC_STATE, &value)))
    }

    #[tokio::test]
    async fn what_has_come_is_heard_together_and_then_why_nothing_more_comes() {
        let (mut link, mut provider) = link();
        let mut value = Vec::new();
        SyncInfo::NewCookie(b"1").encode(&mut value);
        let info = IntermediateResponse { name: Some(oid::intermediate::SYNC_INFO), value: Some(&value) };
        let all = [entry(1), entry(9), message(1, Response::Intermediate(info), None), entry(1)].concat();
        // The last one is cut in two.
        let (front, back) = all.split_at(all.len() - 5);
        provider.write_all(front).await.unwrap();
        link.wait(Duration::ZERO).await.unwrap();
        let heard = link.heard().unwrap();
        assert!(matches!(heard[..], [Heard::Entry(..), Heard::Info(SyncInfo::NewCookie(b"1"))]), "{heard:?}");
        link.done();
        provider.write_all(back).await.unwrap();
        provider.write_all(b"\x30\x81").await.unwrap();
        drop(provider);
        link.wait(Duration::ZERO).await.unwrap();
        assert_eq!(link.heard().unwrap().len(), 1);
        link.done();
        assert!(link.wait(Duration::ZERO).await.unwrap_err().contains("the provider has closed it"));
    }

    #[tokio::test]
    async fn what_is_no_message_ends_it() {
        for wrong in [&b"\x31\x05hello"[..], b"\x30\x05\x02\x01\x01\x42\x00", b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
            let (mut link, mut provider) = link();
            provider.write_all(&entry(1)).await.unwrap();
            provider.write_all(wrong).await.unwrap();
            let outcome = async {
                loop {
                    link.wait(Duration::ZERO).await?;
                    link.heard()?;
                    link.done();
                }
                #[allow(unreachable_code, reason = "what ends it is an error")]
                Ok::<(), String>(())
            };
            let error = outcome.await.unwrap_err();
            assert!(error.contains("lost") || error.contains("no message"), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn entries_without_a_state_references_and_notices_are_told_as_what_they_are() {
        let told = |bytes: &[u8]| decode(bytes, 1).unwrap_err();
        let attributes: List<'_, Attribute<'_>> = List::default();
        let plain = message(1, Response::SearchEntry(SearchEntry { name: "dc=x", attributes }), None);
        assert!(told(&plain).contains("without a word"), "{}", told(&plain));
        let mut urls = Vec::new();
        let urls = List::build(&mut urls, ["ldap://other"]);
        assert!(told(&message(1, Response::SearchReference(urls), None)).contains("in spite of ManageDsaIT"));
        let mut notice = Vec::new();
        notice_of_disconnection(LdapResult::with_diagnostic(ResultCode::UNAVAILABLE, "going home")).encode(&mut notice);
        assert!(told(&notice).contains("ends the connection: unavailable (52): going home"), "{}", told(&notice));
    }
}
