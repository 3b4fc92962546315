//! What is logged of a connection, in the format that OpenLDAP calls `stats`, and of operations that take long.

use std::borrow::Cow;
use std::fmt::Write;
use std::os::fd::RawFd;
use std::time::Duration;

use duramen_directory::{Method, Requester};
use duramen_ldap::Payload;
use duramen_ldap::extended::{CancelRequest, PasswordModifyRequest};
use duramen_ldap::message::{Authentication, Request, SearchRequest, op};
use duramen_ldap::oid;
use tracing::{debug, info, warn};

use crate::figures::Kind;
use crate::reply::Reply;
use crate::seldom::Seldom;
use crate::session::Proven;
use crate::tls::Secured;

/// Why connections end that end as they should.
pub const UNBIND: &str = "unbind";

/// A line of a client's words is cut behind so many bytes, as slapd cuts it: whoever may ask could fill the disk with the log.
const LINE_BYTES_MAX: usize = 4096;

/// Anybody can send nonsense.
static REFUSED: Seldom = Seldom::new(20);

/// Logs of one connection.
pub struct ConnectionLog {
    number: u64,
    /// Of its socket.
    descriptor: RawFd,
    on: bool,
}

impl ConnectionLog {
    /// Of the connection with this number and socket; `on` says whether every operation is logged.
    pub fn new(number: u64, descriptor: RawFd, on: bool) -> ConnectionLog {
        ConnectionLog { number, descriptor, on }
    }

    /// The connection's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether every operation is logged.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The connection begins.
    pub fn accept(&self, from: &str, at: &str) {
        if self.on {
            info!(target: "stats", "conn={} fd={} ACCEPT from {from} ({at})", self.number, self.descriptor);
        }
    }

    /// TLS is established.
    pub fn tls(&self, secured: &Secured) {
        if self.on {
            let Secured { ssf, protocol, cipher, subject } = secured;
            let subject = subject.as_ref().map(|subject| format!(" subject={}", Quoted(subject))).unwrap_or_default();
            let (number, descriptor) = (self.number, self.descriptor);
            info!(target: "stats",
                "conn={number} fd={descriptor} TLS established tls_ssf={ssf} ssf={ssf} tls_proto={protocol} tls_cipher={cipher}{subject}");
        }
    }

    /// There will be no TLS: a certificate of the client's was refused, for example.
    pub fn tls_failed(&self, why: &std::io::Error) {
        if self.on {
            info!(target: "stats", "conn={} fd={} TLS failed: {why}", self.number, self.descriptor);
        } else {
            debug!(conn = self.number, "a TLS handshake failed: {why}");
        }
    }

    /// The connection ends.
    pub fn closed(&self, why: &str) {
        if self.on {
            let why = if why == UNBIND { String::new() } else { format!(" ({why})") };
            info!(target: "stats", "conn={} fd={} closed{why}", self.number, self.descriptor);
        }
    }

    /// The connection is ended because of what the client sent, which most clients do not tell anybody.
    pub fn refused(&self, peer: &str, why: &str) {
        match REFUSED.note() {
            Some(0) => info!(conn = self.number, peer, "a client is disconnected: {why}"),
            Some(untold) => info!(conn = self.number, peer, untold, "a client is disconnected: {why}"),
            None => {}
        }
    }

    /// An operation begins.
    pub(super) fn request(&self, operation: u64, request: &Request<'_>) {
        let text = describe(request);
        for line in text.lines() {
            info!(target: "stats", "conn={} op={operation} {}", self.number, cut(line));
        }
    }

    /// Who is bound is not any more: for a bind that begins, or for StartTLS.
    pub(super) fn forgotten(&self, operation: u64, what: &str, mechanism: &str, who: &Requester) {
        if self.on && !who.is_anonymous() {
            let bind_ssf = if what == "BIND" { "bind_ssf=0 " } else { "" };
            let (number, ssf) = (self.number, who.ssf);
            info!(target: "stats", "conn={number} op={operation} {what} anonymous mech={mechanism} {bind_ssf}ssf={ssf}");
        }
    }

    /// An operation is carried out as somebody else.
    pub(super) fn proxied(&self, operation: u64, who: &Requester) {
        if !who.name.is_empty() {
            info!(target: "stats", "conn={} op={operation} PROXYAUTHZ dn={}", self.number, Quoted(&who.name.normalized));
        }
    }

    /// Somebody is bound.
    pub(super) fn bound(&self, operation: u64, who: &Requester, proven: Option<&Proven>) {
        if self.on {
            let mechanism = match who.method {
                Method::External | Method::Owner => "EXTERNAL",
                Method::Plain => "PLAIN",
                Method::Scram => "SCRAM-SHA-256",
                _ => "SIMPLE",
            };
            let name = proven.map_or(&who.name, |proven| &proven.name);
            let (number, dn, ssf) = (self.number, Quoted(&name.written), who.ssf);
            if let Some(Proven { user, acting, .. }) = proven {
                let line = format!("BIND authcid={} authzid={}", Quoted(user), Quoted(acting));
                info!(target: "stats", "conn={number} op={operation} {}", cut(&line));
            }
            info!(target: "stats", "conn={number} op={operation} BIND dn={dn} mech={mechanism} bind_ssf=0 ssf={ssf}");
        }
    }

    /// An operation ends.
    pub(super) fn result(&self, operation: u64, tag: u8, reply: &Reply, took: Duration, entries: Option<u64>) {
        let (number, error) = (self.number, reply.result.code.0);
        let (took, text) = (took.as_secs_f64(), Quoted(&reply.result.diagnostic).bare());
        let text = cut(&text);
        match (entries, response_tag(tag)) {
            (None, op::EXTENDED_RESPONSE) => info!(target: "stats",
                "conn={number} op={operation} RESULT oid={} err={error} qtime=0.000000 etime={took:.6} text={text}",
                reply.name.unwrap_or_default()),
            (Some(entries), tag) => info!(target: "stats",
                "conn={number} op={operation} SEARCH RESULT tag={tag} err={error} qtime=0.000000 etime={took:.6} nentries={entries} text={text}"),
            (None, tag) => info!(target: "stats",
                "conn={number} op={operation} RESULT tag={tag} err={error} qtime=0.000000 etime={took:.6} text={text}"),
        }
    }

    /// An operation took long.
    pub(super) fn slow(&self, operation: u64, kind: Kind, took: Duration, who: &str, plan: &str) {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        warn!(target: "slow", conn = self.number, op = operation, kind = ?kind, ms, who, plan, "slow operation");
    }
}

fn response_tag(request: u8) -> u8 {
    match request {
        op::SEARCH_REQUEST => op::SEARCH_DONE,
        op::DELETE_REQUEST => op::DELETE_RESPONSE,
        other => other + 1,
    }
}

/// As much of a line as is logged.
fn cut(line: &str) -> Cow<'_, str> {
    if line.len() <= LINE_BYTES_MAX {
        return line.into();
    }
    format!("{}... ({} bytes)", &line[..line.floor_char_boundary(LINE_BYTES_MAX)], line.len()).into()
}

/// A request as OpenLDAP's log has it, in one line or two; no passwords in it.
fn describe(request: &Request<'_>) -> String {
    match request {
        Request::Bind(bind) => {
            let method = match bind.authentication {
                Authentication::Simple(_) => 128,
                _ => 163,
            };
            format!("BIND dn={} method={method}", Quoted(bind.name))
        }
        Request::Unbind => "UNBIND".into(),
        Request::Search(search) => describe_search(search),
        Request::Modify(modify) => {
            let attributes = modify.changes.iter().map(|change| change.attribute.description);
            format!("MOD dn={}\nMOD attr={}", Quoted(modify.name), joined(attributes))
        }
        Request::Add(add) => format!("ADD dn={}", Quoted(add.name)),
        Request::Delete(name) => format!("DEL dn={}", Quoted(name)),
        Request::ModifyDn(rename) => format!("MODRDN dn={}", Quoted(rename.name)),
        Request::Compare(compare) => {
            format!("CMP dn={} attr={}", Quoted(compare.name), Quoted(compare.assertion.description))
        }
        Request::Abandon(id) => format!("ABANDON msg={id}"),
        Request::Extended(extended) => {
            let value = extended.value.unwrap_or_default();
            let what = match extended.name {
                oid::extended::START_TLS => "\nSTARTTLS".into(),
                oid::extended::WHO_AM_I => "\nWHOAMI".into(),
                oid::extended::TRANSACTION_START => "\nTXN START".into(),
                oid::extended::TRANSACTION_END => "\nTXN END".into(),
                oid::extended::PASSWORD_MODIFY => describe_password_modify(value),
                oid::extended::CANCEL => CancelRequest::decode(value)
                    .map_or("\nCANCEL".into(), |cancel| format!("\nCANCEL msg={}", cancel.id)),
                _ => String::new(),
            };
            format!("EXT oid={}{what}", Quoted(extended.name).bare())
        }
        _ => "UNKNOWN".into(),
    }
}

/// Whose password is to be changed, and which are said, as slapd has it.
fn describe_password_modify(value: &[u8]) -> String {
    let request = PasswordModifyRequest::decode(value).unwrap_or_default();
    let mut text = String::from("\nPASSMOD");
    if let Some(user) = request.user {
        let _ = write!(text, " id={}", Quoted(&String::from_utf8_lossy(user)));
    }
    let said = [(request.old_password, " old"), (request.new_password, " new")];
    text.extend(said.iter().filter(|(password, _)| password.is_some()).map(|(_, word)| *word));
    text
}

fn describe_search(search: &SearchRequest<'_>) -> String {
    let (base, filter) = (Quoted(search.base), without_passwords(&search.filter.to_string()));
    let (scope, deref) = (search.scope as u32, search.deref as u32);
    let mut text = format!("SRCH base={base} scope={scope} deref={deref} filter={}", Quoted(&filter));
    if !search.attributes.is_empty() {
        let _ = write!(text, "\nSRCH attr={}", joined(search.attributes.iter()));
    }
    text
}

/// A filter without the passwords that programs compare by searching for them. Values have no parentheses as they are
/// written, so that every one begins an item.
fn without_passwords(filter: &str) -> String {
    let hidden = |item: &str| {
        let (description, value) = item.split_once('=')?;
        let kind = description.split([';', ':', '~', '<', '>']).next()?.to_ascii_lowercase();
        // Without a type values of every one are compared, passwords' too.
        let is_password = kind.ends_with("password") || ["", "unicodepwd", "2.5.4.35"].contains(&&*kind);
        let (value, behind) = value.split_at(value.find(')')?);
        (is_password && value != "*").then(|| format!("{description}=*****{behind}"))
    };
    let items = filter.split('(').map(|item| hidden(item).unwrap_or_else(|| item.to_string()));
    items.collect::<Vec<_>>().join("(")
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| Quoted(word).bare()).collect::<Vec<_>>().join(" ")
}

/// Text of a client in quotation marks, with nothing in it that ends the line or the quotation.
struct Quoted<'a>(&'a str);

impl Quoted<'_> {
    fn bare(&self) -> String {
        self.0.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
    }
}

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.bare().replace('"', "\\22"))
    }
}

#[cfg(test)]
mod tests {
    use duramen_ldap::message::BindRequest;

    use super::*;

    #[test]
    fn no_password_and_no_line_end_of_a_clients_comes_into_the_log() {
        let authentication = Authentication::Simple(b"secret");
        let bind = Request::Bind(BindRequest { version: 3, name: "cn=a\nconn=1 op=0 \"", authentication });
        assert_eq!(describe(&bind), r#"BIND dn="cn=a\nconn=1 op=0 \22" method=128"#);
    }

    #[test]
    fn a_line_is_as_long_as_slapds_at_most() {
        let name = "\u{1}".repeat(200_000);
        let line = cut(&describe(&Request::Delete(&name))).into_owned();
        assert!(line.starts_with(r#"DEL dn="\u{1}\u{1}"#) && line.ends_with(r"... (1000009 bytes)"), "{}", line.len());
        assert!(line.len() < LINE_BYTES_MAX + 30);
        assert_eq!(
            (cut("\u{e9}"), cut(&"\u{e9}".repeat(4096)).chars().filter(|c| *c == '\u{e9}').count()),
            ("\u{e9}".into(), 2048)
        );
    }

    #[test]
    fn no_password_that_is_searched_for_comes_into_the_log() {
        for (filter, logged) in [
            ("(&(uid=a)(userPassword=secret))", "(&(uid=a)(userPassword=*****))"),
            ("(!(|(USERPASSWORD;x-a=sec\\28ret)(cn=b*)))", "(!(|(USERPASSWORD;x-a=*****)(cn=b*)))"),
            ("(sambaNTPassword:octetStringMatch:=secret)", "(sambaNTPassword:octetStringMatch:=*****)"),
            ("(2.5.4.35>=secret)", "(2.5.4.35>=*****)"),
            (
                "(|(:caseExactMatch:=secret)(:dn:octetStringMatch:=secret))",
                "(|(:caseExactMatch:=*****)(:dn:octetStringMatch:=*****))",
            ),
            ("(unicodePwd=*sec*ret)", "(unicodePwd=*****)"),
            ("(userPassword=*)", "(userPassword=*)"),
            ("(description=userPassword=a)", "(description=userPassword=a)"),
        ] {
            let filter = duramen_ldap::filter::FilterBuf::parse(filter).unwrap();
            assert_eq!(without_passwords(&filter.to_string()), logged);
        }
    }
}
