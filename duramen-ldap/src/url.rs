//! LDAP URLs (RFC 4516): `ldap://host:port/dn?attributes?scope?filter?extensions`.

use std::fmt::{self, Write};
use std::str::FromStr;

use crate::dn::Dn;
use crate::error::TextError;
use crate::filter::FilterBuf;
use crate::message::Scope;

/// A URL taken apart and decoded. What is absent is `None` or empty; the RFC says what that means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LdapUrl {
    /// `ldap`, `ldaps` or `ldapi`.
    pub scheme: Scheme,
    /// The server's name or address, an IPv6 address without its brackets; of `ldapi`, the socket's path.
    pub host: Option<String>,
    /// The port, if it is given.
    pub port: Option<u16>,
    /// The base of the search; it is a name by the grammar.
    pub dn: String,
    /// What is asked for.
    pub attributes: Vec<String>,
    /// How far the search goes; the base alone if it is not given.
    pub scope: Option<Scope>,
    /// What entries have to match; `(objectClass=*)` if it is not given.
    pub filter: Option<FilterBuf>,
    /// What the URL demands besides.
    pub extensions: Vec<Extension>,
}

/// How to reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// By TCP.
    Ldap,
    /// By TLS from the start.
    Ldaps,
    /// By a local socket.
    Ldapi,
}

/// An extension of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Whether the URL is useless to those who do not know it.
    pub critical: bool,
    /// Its name or number.
    pub kind: String,
    /// Its value.
    pub value: Option<String>,
}

impl Scheme {
    const ALL: [Scheme; 3] = [Scheme::Ldap, Scheme::Ldaps, Scheme::Ldapi];

    /// As URLs write it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Ldap => "ldap",
            Scheme::Ldaps => "ldaps",
            Scheme::Ldapi => "ldapi",
        }
    }
}

impl FromStr for LdapUrl {
    type Err = TextError;

    fn from_str(text: &str) -> Result<LdapUrl, TextError> {
        LdapUrl::parse(text)
    }
}

impl LdapUrl {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<LdapUrl, TextError> {
        let scheme = Scheme::ALL.into_iter().find(|scheme| {
            let start = text.get(..scheme.name().len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.name()));
            start && text[scheme.name().len()..].starts_with("://")
        });
        let scheme = scheme.ok_or(TextError::new(0, "ldap://, ldaps:// or ldapi://"))?;
        let start = scheme.name().len() + 3;
        let end = text[start..].find(['/', '?']).map_or(text.len(), |at| start + at);
        let (host, port) = authority(&text[start..end], scheme).map_err(|error| error.after(start))?;
        let path = text[end..].strip_prefix('/').unwrap_or(&text[end..]);
        let mut fields = Fields { text, rest: Some(path) };
        let url = LdapUrl {
            scheme,
            host,
            port,
            dn: fields.next(|dn| Dn::parse(&dn).map(|name| name.as_str().to_string()))?.unwrap_or_default(),
            attributes: fields.raw().map_or(Ok(Vec::new()), |(at, raw)| attributes(raw).map_err(|e| e.after(at)))?,
            scope: fields.next(|word| scope(&word))?,
            filter: fields.next(|filter| FilterBuf::parse(&filter))?,
            extensions: fields.raw().map_or(Ok(Vec::new()), |(at, raw)| extensions(raw).map_err(|e| e.after(at)))?,
        };
        match fields.rest {
            None => Ok(url),
            Some(rest) => Err(TextError::new(text.len() - rest.len(), "the end of the URL")),
        }
    }
}

/// What stands between question marks.
struct Fields<'t> {
    text: &'t str,
    rest: Option<&'t str>,
}

impl<'t> Fields<'t> {
    /// The next field and where it begins, if there is one that is not empty.
    fn raw(&mut self) -> Option<(usize, &'t str)> {
        let rest = self.rest?;
        let at = self.text.len() - rest.len();
        let (field, behind) = rest.split_once('?').map_or((rest, None), |(field, behind)| (field, Some(behind)));
        self.rest = behind;
        Some((at, field)).filter(|(_, field)| !field.is_empty())
    }

    /// The next field decoded; errors in it are said of its beginning, as decoding moves what is behind.
    fn next<T>(&mut self, parse: impl FnOnce(String) -> Result<T, TextError>) -> Result<Option<T>, TextError> {
        let Some((at, field)) = self.raw() else { return Ok(None) };
        let decoded = decode(field).map_err(|error| error.after(at))?;
        let offset =
            |error: TextError| if decoded == field { error.after(at) } else { TextError { offset: at, ..error } };
        parse(decoded.clone()).map(Some).map_err(offset)
    }
}

fn authority(text: &str, scheme: Scheme) -> Result<(Option<String>, Option<u16>), TextError> {
    if scheme == Scheme::Ldapi {
        return Ok((some(decode(text)?), None));
    }
    let (host, behind) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or(TextError::new(0, "']' behind an IPv6 address"))?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let at = text.len() - behind.len();
    let port = match behind.strip_prefix(':') {
        Some("") => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse().map_err(|_| TextError::new(at + 1, "a port of 0 to 65535"))?)
        }
        Some(_) => return Err(TextError::new(at + 1, "a port of 0 to 65535")),
        None if behind.is_empty() => None,
        None => return Err(TextError::new(at, "':' and a port, '/' or the end of the URL")),
    };
    Ok((some(decode(host)?), port))
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn attributes(raw: &str) -> Result<Vec<String>, TextError> {
    let decoded = |(at, word): (usize, &str)| match decode(word).map_err(|error| error.after(at))? {
        word if word.is_empty() => Err(TextError::new(at, "an attribute description")),
        word => Ok(word),
    };
    with_offsets(raw).map(decoded).collect()
}

fn extensions(raw: &str) -> Result<Vec<Extension>, TextError> {
    with_offsets(raw)
        .map(|(at, text)| {
            let (critical, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
            let (kind, value) = rest.split_once('=').map_or((rest, None), |(kind, value)| (kind, Some(value)));
            if kind.is_empty() {
                return Err(TextError::new(at, "an extension"));
            }
            let decoded = |text| decode(text).map_err(|error| error.after(at));
            Ok(Extension { critical, kind: decoded(kind)?, value: value.map(decoded).transpose()? })
        })
        .collect()
}

/// What stands between commas, and where it begins.
fn with_offsets(raw: &str) -> impl Iterator<Item = (usize, &str)> {
    raw.split(',').scan(0, |at, word| {
        let start = *at;
        *at += word.len() + 1;
        Some((start, word))
    })
}

/// Those of RFC 4516 section 2, and what OpenLDAP takes besides.
const SCOPES: [(&str, Scope); 7] = [
    ("base", Scope::Base),
    ("one", Scope::One),
    ("onelevel", Scope::One),
    ("sub", Scope::Subtree),
    ("subtree", Scope::Subtree),
    ("subordinate", Scope::Subordinates),
    ("children", Scope::Subordinates),
];

fn scope(word: &str) -> Result<Scope, TextError> {
    let found = SCOPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    found.map(|(_, scope)| *scope).ok_or(TextError::new(0, "base, one, sub or subordinate"))
}

/// The path that a `file` URL of this machine (RFC 8089) stands for: `file:///path`, `file://localhost/path` or
/// `file:/path`.
///
/// # Errors
/// Where the text is no such URL, and what should be there.
pub fn file_path(url: &str) -> Result<String, TextError> {
    let expected = |at, what| TextError::new(at, what);
    let scheme = url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let behind = scheme.and_then(|_| url.get(5..)).ok_or(expected(0, "file:///, and a path"))?;
    let path = match behind.strip_prefix("//") {
        None => behind,
        Some(rest) => {
            let host = rest.find('/').map_or(rest, |end| &rest[..end]);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(expected(7, "no host, or localhost: files of other machines are not read"));
            }
            &rest[host.len()..]
        }
    };
    let start = url.len() - path.len();
    if !path.starts_with('/') {
        return Err(expected(start, "'/' and the rest of an absolute path"));
    }
    decode(path).map_err(|error| expected(start + error.offset, error.expected))
}

/// Replaces each percent sign and two hex digits by the byte they stand for.
pub fn decode(text: &str) -> Result<String, TextError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        if byte == b'%' {
            let digits = text.as_bytes().get(at + 1..at + 3).and_then(crate::hex::byte);
            bytes.push(digits.ok_or(TextError::new(at, "two hex digits behind the percent sign"))?);
            at += 3;
        } else {
            bytes.push(byte);
            at += 1;
        }
    }
    String::from_utf8(bytes).map_err(|_| TextError::new(0, "UTF-8 behind percent signs"))
}

/// Writes text with a percent sign and two hex digits for all but what is safe in every part of a URL.
fn encode(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    encode_but(f, text, b"-._~!$&'()*+;=:@")
}

/// As [`encode`], of an extension's name: a mark in front of it and an equals sign behind it have a meaning.
fn encode_kind(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    encode_but(f, text, b"-._~$&'()*+;:@")
}

/// Writes letters, digits and what is `safe` as they are.
fn encode_but(f: &mut fmt::Formatter<'_>, text: &str, safe: &[u8]) -> fmt::Result {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || safe.contains(&byte) {
            f.write_char(char::from(byte))?;
        } else {
            write!(f, "%{byte:02X}")?;
        }
    }
    Ok(())
}

/// As [`encode`], of what may have commas.
fn encode_with_commas(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for (n, part) in text.split(',').enumerate() {
        if n > 0 {
            f.write_char(',')?;
        }
        encode(f, part)?;
    }
    Ok(())
}

impl LdapUrl {
    fn write_authority(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) if self.scheme != Scheme::Ldapi && host.contains(':') => {
                f.write_str("[")?;
                encode(f, host)?;
                f.write_str("]")?;
            }
            Some(host) => encode(f, host)?,
            None => {}
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }

    fn write_extensions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, extension) in self.extensions.iter().enumerate() {
            f.write_str(if n > 0 { "," } else { "" })?;
            f.write_str(if extension.critical { "!" } else { "" })?;
            encode_kind(f, &extension.kind)?;
            if let Some(value) = &extension.value {
                f.write_str("=")?;
                encode(f, value)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for LdapUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.name())?;
        self.write_authority(f)?;
        let given =
            [!self.attributes.is_empty(), self.scope.is_some(), self.filter.is_some(), !self.extensions.is_empty()];
        let fields = given.iter().rposition(|given| *given).map_or(0, |last| last + 1);
        if fields > 0 || !self.dn.is_empty() {
            f.write_str("/")?;
            encode_with_commas(f, &self.dn)?;
        }
        for field in 0..fields {
            f.write_str("?")?;
            match field {
                0 => {
                    for (n, attribute) in self.attributes.iter().enumerate() {
                        f.write_str(if n > 0 { "," } else { "" })?;
                        encode(f, attribute)?;
                    }
                }
                1 => {
                    let name = SCOPES.iter().find(|(_, scope)| Some(*scope) == self.scope);
                    f.write_str(name.map_or("", |(name, _)| name))?;
                }
                2 => self.filter.as_ref().map_or(Ok(()), |filter| encode_with_commas(f, &filter.to_string()))?,
                _ => self.write_extensions(f)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
