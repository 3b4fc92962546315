//! SASL: EXTERNAL (RFC 4422), PLAIN (RFC 4616), SCRAM-SHA-256 (RFC 7677).

use duramen_directory::password::scram::{self, ClientFirst, Credentials, ScramError};
use duramen_directory::password::{Plain, Scheme};
use duramen_directory::{Failure, Method, Requester};
use duramen_ldap::message::ResultCode;

use super::Work;
use super::bind::{Binding, Bound, Check, busy, conclude, hidden, invalid_credentials, not_supported, on_spare_thread};
use crate::reply::Reply;
use crate::session::{Begun, Proven};

/// Mechanisms, as the root DSE lists them.
pub const MECHANISMS: [&str; 3] = ["EXTERNAL", "PLAIN", "SCRAM-SHA-256"];

impl Work {
    /// A step of a mechanism: `said` by the client, if anything; `exchange` is what the step before left.
    pub(super) fn sasl(&self, mechanism: &str, said: Option<&[u8]>, exchange: Option<Box<Begun>>) -> Binding {
        let is = |name: &str| mechanism.eq_ignore_ascii_case(name);
        let (is_silent, said) = (said.is_none(), said.unwrap_or_default());
        let binding = match exchange {
            _ if is("EXTERNAL") => self.sasl_external(said),
            _ if is_silent && is("PLAIN") => Ok(go_ahead().into()),
            None if is_silent && is("SCRAM-SHA-256") => Ok(go_ahead().into()),
            _ if is("PLAIN") => self.sasl_plain(said),
            Some(begun) if is("SCRAM-SHA-256") => Ok(self.scram_end(*begun, said)),
            None if is("SCRAM-SHA-256") => self.scram_begin(said),
            _ => Ok(not_supported(&format!("the mechanisms here are {}", MECHANISMS.join(", "))).into()),
        };
        binding.unwrap_or_else(|failure| hidden(failure).into())
    }

    fn sasl_external(&self, said: &[u8]) -> Result<Binding, Failure> {
        let subject = self.session.secured.as_ref().and_then(|secured| secured.subject.as_deref());
        let own_name =
            subject.map_or_else(|| self.session.local.map(|process| process.name()), |name| Some(name.into()));
        let who = match (subject, self.session.local) {
            (Some(subject), _) => self.of_certificate(subject)?,
            (None, Some(process)) => self.of_process(process)?,
            (None, None) => {
                let diagnostic =
                    "EXTERNAL needs a local socket (ldapi) or a client's certificate (RFC 4513 section 5.2.3)";
                return Ok(Reply::new(ResultCode::INAPPROPRIATE_AUTHENTICATION, diagnostic).into());
            }
        };
        let Ok(authorization) = std::str::from_utf8(said) else { return Ok(invalid_credentials().into()) };
        let proven = self.proven(&own_name.unwrap_or_default(), authorization, &who);
        let requester = self.authorized("external", who, authorization)?;
        let reply = if requester.is_some() { Reply::default() } else { invalid_credentials() };
        Ok(Binding::Now(Bound { reply, requester, proven, ..Bound::default() }))
    }

    fn sasl_plain(&self, said: &[u8]) -> Result<Binding, Failure> {
        let Some(plain) = Plain::parse(said) else {
            let diagnostic =
                "PLAIN: expected whom to act as or nothing, a user and a password, zero bytes between them";
            return Ok(Reply::new(ResultCode::PROTOCOL_ERROR, diagnostic).into());
        };
        let mut check = Check {
            stored: Vec::new(),
            given: plain.password.as_bytes().to_vec(),
            subject: None,
            requester: self.session.anonymous(),
            proven: None,
        };
        if let Some(name) = self.name_of_user("plain", plain.user)? {
            let credentials = self.server.directory.credentials(&self.session.anonymous(), &name)?;
            check.subject = self.subject(&credentials);
            let who = self.session.somebody(credentials.name, Method::Plain, credentials.is_administrator);
            check.proven = self.proven(plain.user, plain.authorization, &who);
            if let Some(requester) = self.authorized("plain", who, plain.authorization)? {
                (check.stored, check.requester) = (credentials.stored, requester);
            }
        }
        Ok(Binding::Check(check))
    }

    /// The client's first message: answered by a challenge, for those who do not exist too.
    fn scram_begin(&self, said: &[u8]) -> Result<Binding, Failure> {
        let first = match ClientFirst::parse(said) {
            Ok(first) => first,
            Err(error) => return Ok(Reply::new(ResultCode::PROTOCOL_ERROR, error.to_string()).into()),
        };
        let (mut requester, mut stored, mut subject, mut proven) = (None, Vec::new(), None, None);
        if let Some(name) = self.name_of_user("scram-sha-256", &first.user)? {
            let credentials = self.server.directory.credentials(&self.session.anonymous(), &name)?;
            subject = self.subject(&credentials);
            let who = self.session.somebody(credentials.name, Method::Scram, credentials.is_administrator);
            proven = self.proven(&first.user, &first.authorization, &who);
            (requester, stored) = (self.authorized("scram-sha-256", who, &first.authorization)?, credentials.stored);
        }
        let said = said.to_vec();
        let work = on_spare_thread(self.server.clone(), move |server| {
            let first = ClientFirst::parse(&said).ok()?;
            let user = of_one_spelling(&first.user);
            let known = stored.iter().find_map(|stored| scram_credentials(stored, &server.secret, &user));
            let credentials = known.unwrap_or_else(|| Credentials::pretend(&server.secret, &user));
            let (exchange, message) = first.challenge(credentials, &scram::nonce()?);
            let reply = Reply::code(ResultCode::SASL_BIND_IN_PROGRESS);
            let reply = Reply { value: Some(message.into_bytes()), ..reply };
            let begun = Box::new(Begun { exchange, subject, requester, proven });
            Some(Bound { reply, exchange: Some(begun), ..Bound::default() })
        });
        Ok(Binding::Later(Box::pin(async { work.await.flatten().unwrap_or_else(|| busy().into()) })))
    }

    /// What the log is to have of `who`, whom a mechanism calls `user`, once that is proved.
    fn proven(&self, user: &str, authorization: &str, who: &Requester) -> Option<Box<Proven>> {
        let acting = if authorization.is_empty() { user } else { authorization };
        let proven = || Proven { user: user.into(), acting: acting.into(), name: who.name.clone() };
        self.log.is_on().then(|| Box::new(proven()))
    }

    /// The client's proof.
    fn scram_end(&self, begun: Begun, said: &[u8]) -> Binding {
        let Begun { exchange, subject, requester, proven } = begun;
        let (right, value) = match exchange.finish(said) {
            Ok(message) => (true, Some(message.into_bytes())),
            Err(ScramError::InvalidProof) => (false, None),
            Err(error) => return Reply::new(ResultCode::PROTOCOL_ERROR, error.to_string()).into(),
        };
        let bound = Bound { reply: Reply { value, ..Reply::default() }, requester, proven, ..Bound::default() };
        if !self.server.directory.has_password_policies() {
            return Binding::Now(conclude(&self.server, None, right, bound));
        }
        let guess = subject.as_ref().filter(|_| !right).map(|subject| self.server.guesses.begin(&subject.normalized));
        Binding::Later(self.at_leisure(move |server| {
            let bound = conclude(server, subject.as_ref(), right, bound);
            drop(guess);
            bound
        }))
    }
}

/// The empty challenge for a client that has to speak first, and has only named the mechanism (RFC 4422 section 5).
fn go_ahead() -> Reply {
    Reply { value: Some(Vec::new()), ..Reply::code(ResultCode::SASL_BIND_IN_PROGRESS) }
}

/// A user's name as all spellings of it have it, or nearly: who is not there has one salt, as who is there does.
fn of_one_spelling(user: &str) -> String {
    user.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// What SCRAM needs to know of a stored password: the scheme of that name has it, clear text gives it.
fn scram_credentials(stored: &[u8], secret: &[u8], user: &str) -> Option<Credentials> {
    match Scheme::split(stored)? {
        (Scheme::ScramSha256, text) => Credentials::parse(std::str::from_utf8(text).ok()?),
        // An empty password is none, as with a simple bind.
        (Scheme::Clear, password) if !password.is_empty() => {
            Some(Credentials::derive(password, &Credentials::salt_for(secret, user), scram::ITERATIONS))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scram_knows_its_own_scheme_and_clear_text_that_is_not_empty() {
        let credentials = |stored: &[u8]| scram_credentials(stored, b"secret", "user");
        let scram = duramen_directory::password::hash(Scheme::ScramSha256, b"password").unwrap();
        assert!(credentials(&scram).is_some() && credentials(b"password").is_some());
        for stored in [&b""[..], b"{CLEARTEXT}", b"{SHA}SBgazSKz7a68ikR4aKfffOYpkgo="] {
            assert!(credentials(stored).is_none(), "{}", String::from_utf8_lossy(stored));
        }
    }
}
