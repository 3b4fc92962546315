//! Who a connection is: the requester, and what the transport knows.

use std::sync::Arc;

use duramen_directory::password::scram;
use duramen_directory::{Method, Name, Peer, Requester};

use crate::tls::Secured;

/// Strength of a local socket, as other servers count it.
const LOCAL_SSF: u32 = 71;

/// A connection's state of authentication.
pub struct Session {
    /// Who asks now.
    pub requester: Requester,
    /// The process at the other end of a local socket.
    pub local: Option<Process>,
    /// What TLS says.
    pub secured: Option<Secured>,
    /// A SCRAM exchange that waits for the client's proof, and whom it is about.
    pub scram: Option<Box<Begun>>,
    /// Whose password it was authenticated by, if that is to be changed before anything else is done: who acts for somebody else
    /// is another one.
    pub must_change: Option<Name>,
    peer: Arc<Peer>,
    number: u64,
}

/// A SCRAM exchange that waits for the client's proof.
pub struct Begun {
    /// The exchange.
    pub exchange: scram::Exchange,
    /// Whose policy has a say in it.
    pub subject: Option<Name>,
    /// Who the session is if the proof is right; `None` if nobody may be.
    pub requester: Option<Requester>,
    /// What the log is to have of it.
    pub proven: Option<Box<Proven>>,
}

/// Who is authenticated by SASL, and wants to act as whom, for the log.
pub struct Proven {
    /// The user, as the mechanism has it.
    pub user: String,
    /// As whom the user wants to act, as the client says it; the user, if it says nothing.
    pub acting: String,
    /// The user's own name.
    pub name: Name,
}

/// A process at the other end of a local socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its user.
    pub user: u32,
    /// Its group.
    pub group: u32,
}

impl Process {
    /// The name of its user, as other servers have it.
    pub fn name(&self) -> String {
        format!("gidNumber={}+uidNumber={},cn=peercred,cn=external,cn=auth", self.group, self.user)
    }
}

impl Session {
    /// A session that begins, of the connection with this number.
    pub fn new(number: u64, peer: Peer, local: Option<Process>) -> Session {
        let peer = Arc::new(peer);
        let ssf = if local.is_some() { LOCAL_SSF } else { 0 };
        let requester = Requester { connection: Some(number), ..Requester::anonymous(peer.clone(), ssf) };
        Session { requester, local, secured: None, scram: None, must_change: None, peer, number }
    }

    /// Takes note of TLS.
    pub fn secure(&mut self, secured: Secured) {
        self.requester.ssf = secured.ssf;
        self.secured = Some(secured);
    }

    /// Forgets who it is: nobody has authenticated from now on.
    pub fn forget(&mut self) {
        self.requester = self.anonymous();
        self.scram = None;
        self.must_change = None;
    }

    /// Nobody, over this connection.
    pub fn anonymous(&self) -> Requester {
        let nobody = Requester::anonymous(self.peer.clone(), self.requester.ssf);
        Requester { connection: Some(self.number), ..nobody }
    }

    /// Somebody, over this connection.
    pub fn somebody(&self, name: Name, method: Method, is_administrator: bool) -> Requester {
        Requester { name, method, is_administrator, ..self.anonymous() }
    }

    /// Whether anybody between the client and here could read what they say.
    pub fn is_confidential(&self) -> bool {
        self.requester.ssf > 0
    }

    /// Where the connection comes from, as the log has it.
    pub fn peer_text(&self) -> String {
        self.peer.to_string()
    }
}
