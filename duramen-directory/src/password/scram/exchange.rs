//! The messages of SCRAM, in the order in which they go to and fro (RFC 5802 section 5).

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::super::{base64, same};
use super::{Credentials, Key, hmac};

/// Bytes of chance in a server's part of the nonce.
const NONCE_BYTES: usize = 18;

/// Why an exchange ends. All but [`ScramError::InvalidProof`] say that the client does not keep to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScramError {
    /// A message is not as RFC 5802 has it.
    #[error("SCRAM: expected {0}")]
    Malformed(&'static str),
    /// The client asks for channel binding, which the server did not offer.
    #[error("SCRAM: channel binding is not supported: use SCRAM-SHA-256 without -PLUS")]
    ChannelBinding,
    /// The client asks for an extension.
    #[error("SCRAM: the client asks for an extension, and there is none")]
    Extension,
    /// The proof does not fit: wrong password, or no such user.
    #[error("SCRAM: the proof does not fit")]
    InvalidProof,
}

/// The server's part of a nonce: random, printable. `None` if the operating system has no random bytes.
pub fn nonce() -> Option<String> {
    let mut bytes = [0; NONCE_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(base64::encode(&bytes))
}

/// The client's first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFirst<'a> {
    /// Whom it wants to act as; empty: itself.
    pub authorization: Cow<'a, str>,
    /// Who it is. Never empty.
    pub user: Cow<'a, str>,
    nonce: &'a str,
    header: &'a str,
    bare: &'a str,
}

impl<'a> ClientFirst<'a> {
    /// Takes a message apart.
    pub fn parse(message: &'a [u8]) -> Result<ClientFirst<'a>, ScramError> {
        let text = utf8(message)?;
        let (flag, rest) = text.split_once(',').ok_or(ScramError::Malformed("'n,' or 'y,'"))?;
        match flag {
            "n" | "y" => {}
            _ if flag.starts_with("p=") => return Err(ScramError::ChannelBinding),
            _ => return Err(ScramError::Malformed("'n,' or 'y,'")),
        }
        let (authorization, bare) = rest.split_once(',').ok_or(ScramError::Malformed("'a=', or ','"))?;
        let authorization = match authorization {
            "" => Cow::Borrowed(""),
            _ => name(field(authorization, "a=", "'a=' and an authorization identity")?)?,
        };
        let header = &text[..text.len() - bare.len()];
        let mut fields = bare.split(',');
        let first = fields.next().unwrap_or("");
        if first.starts_with("m=") {
            return Err(ScramError::Extension);
        }
        let user = name(field(first, "n=", "'n=' and a user")?)?;
        let nonce = field(fields.next().unwrap_or(""), "r=", "'r=' and a nonce")?;
        if user.is_empty() || nonce.is_empty() {
            return Err(ScramError::Malformed("a user and a nonce that are not empty"));
        }
        Ok(ClientFirst { authorization, user, nonce, header, bare })
    }

    /// The server's first message, and what waits for the answer. `server_nonce` is [`nonce`]'s.
    pub fn challenge(&self, credentials: Credentials, server_nonce: &str) -> (Exchange, String) {
        let nonce = format!("{}{server_nonce}", self.nonce);
        let message = format!("r={nonce},s={},i={}", base64::encode(&credentials.salt), credentials.iterations);
        let binding = base64::encode(self.header.as_bytes());
        let said = format!("{},{message},", self.bare);
        (Exchange { nonce, binding, said, credentials }, message)
    }
}

/// A server that has sent its first message.
#[derive(Debug)]
pub struct Exchange {
    nonce: String,
    /// What the client has to repeat of its first message, in base64.
    binding: String,
    /// What both have said so far: what the proofs are of.
    said: String,
    credentials: Credentials,
}

impl Exchange {
    /// Verifies the client's final message. The server's final message proves that the server knows the user, too.
    pub fn finish(self, message: &[u8]) -> Result<String, ScramError> {
        let text = utf8(message)?;
        let (unproven, proof) = text.rsplit_once(",p=").ok_or(ScramError::Malformed("',p=' and a proof"))?;
        let mut fields = unproven.split(',');
        let binding = field(fields.next().unwrap_or(""), "c=", "'c=' and the header of the first message")?;
        let nonce = field(fields.next().unwrap_or(""), "r=", "'r=' and the nonce")?;
        if binding != self.binding {
            return Err(ScramError::Malformed("the header of the first message"));
        }
        if nonce != self.nonce {
            return Err(ScramError::Malformed("the nonce of the first message, with the server's part"));
        }
        let proof: Key = base64::decode(proof)
            .and_then(|proof| proof.try_into().ok())
            .ok_or(ScramError::Malformed("a proof of 32 bytes in base64"))?;
        let said = format!("{}{unproven}", self.said);
        if !proves(&self.credentials, said.as_bytes(), proof) {
            return Err(ScramError::InvalidProof);
        }
        Ok(format!("v={}", base64::encode(&hmac(&self.credentials.server_key, said.as_bytes()))))
    }
}

/// Whether the proof is from somebody who knows the client key, whose digest the server keeps.
fn proves(credentials: &Credentials, said: &[u8], mut proof: Key) -> bool {
    let signature = hmac(&credentials.stored_key, said);
    proof.iter_mut().zip(signature).for_each(|(byte, signed)| *byte ^= signed);
    same(&Sha256::digest(proof), &credentials.stored_key)
}

fn utf8(message: &[u8]) -> Result<&str, ScramError> {
    std::str::from_utf8(message).map_err(|_| ScramError::Malformed("UTF-8"))
}

fn field<'a>(text: &'a str, prefix: &str, expected: &'static str) -> Result<&'a str, ScramError> {
    text.strip_prefix(prefix).ok_or(ScramError::Malformed(expected))
}

/// A name in which `=2C` stands for a comma and `=3D` for an equals sign.
fn name(text: &str) -> Result<Cow<'_, str>, ScramError> {
    let right = |rest: &str| rest.starts_with("2C") || rest.starts_with("3D");
    match text.split('=').skip(1).all(right) {
        false => Err(ScramError::Malformed("'=2C' or '=3D' where a name has '='")),
        true if !text.contains('=') => Ok(Cow::Borrowed(text)),
        true => Ok(Cow::Owned(text.replace("=2C", ",").replace("=3D", "="))),
    }
}
