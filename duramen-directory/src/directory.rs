//! A directory: opening it, and the doors to what it does.

use std::path::Path;

use duramen_ldap::ber::List;
use duramen_ldap::message::{CompareRequest, Control, Request, SearchRequest};

use crate::config::Config;
use crate::failure::Result;
use crate::requester::Requester;
use crate::schema::Schema;
use crate::search::Search;
use crate::update::{UpdateFuture, Updated};
use std::sync::Arc;

/// An open directory. Clones share it. It can be used from any number of threads, and by several processes.
#[derive(Clone, Debug)]
pub struct Directory {}

/// Why a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The database cannot.
    #[error(transparent)]
    Database(#[from] duramen::Error),
    /// The schema is not one.
    #[error("{0}")]
    Schema(String),
    /// The access rules are none.
    #[error("{0}")]
    Access(String),
    /// Something else that was chosen makes no sense.
    #[error("{what}: {why}")]
    Config {
        /// The setting.
        what: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Directory {
    /// Opens the directory whose data is in the folder `path`, or makes a new one there.
    pub fn open(_path: impl AsRef<Path>, _config: Config) -> Result<Directory, OpenError> {
        todo!()
    }

    /// Takes another configuration into use, as at a reload. Searches under way go on with the old one.
    ///
    /// Durability and reading only stay as they were when the directory was opened.
    pub fn reconfigure(&self, _config: Config) -> Result<(), OpenError> {
        todo!()
    }

    /// The schema in use.
    pub fn schema(&self) -> Arc<Schema> {
        todo!()
    }

    /// The database below.
    pub fn database(&self) -> &duramen::Database {
        todo!()
    }

    /// Suffixes, as they were written.
    pub fn suffixes(&self) -> Vec<String> {
        todo!()
    }

    /// A name in the form in which equal ones are the same bytes.
    ///
    /// # Errors
    /// invalidDNSyntax.
    pub fn normalize(&self, _name: &str) -> Result<String> {
        todo!()
    }

    /// Begins a search. `controls` are those of the request; one that is not known here and critical is refused.
    pub fn search(
        &self,
        _requester: &Requester,
        _request: &SearchRequest<'_>,
        _controls: List<'_, Control<'_>>,
    ) -> Result<Search> {
        todo!()
    }

    /// Whether an entry has a value.
    pub fn compare(
        &self,
        _requester: &Requester,
        _request: &CompareRequest<'_>,
        _controls: List<'_, Control<'_>>,
    ) -> Result<bool> {
        todo!()
    }

    /// Adds, deletes, modifies or renames, and waits until it is durable. Updates of many threads share a flush.
    ///
    /// # Panics
    /// If the request is none of these.
    pub fn update(
        &self,
        _requester: &Requester,
        _request: &Request<'_>,
        _controls: List<'_, Control<'_>>,
    ) -> Result<Updated> {
        todo!()
    }

    /// As [`Directory::update`], for any asynchronous runtime. The update is queued at once, awaited or not.
    pub fn update_async(
        &self,
        _requester: &Requester,
        _request: &Request<'_>,
        _controls: List<'_, Control<'_>>,
    ) -> UpdateFuture {
        todo!()
    }

    /// What somebody who says to be `name` can be authenticated by: the normalized name and the stored values of
    /// `userPassword`, none if there is no such entry or it has none or `requester` may not be authenticated by it.
    /// The administrator's own password comes first.
    pub fn credentials(&self, _requester: &Requester, _name: &str) -> Result<Credentials> {
        todo!()
    }

    /// Sets `userPassword` of an entry to one stored form: what a password modify operation does once it has made that
    /// form. The requester has to be allowed to write it.
    pub fn set_password(&self, _requester: &Requester, _name: &str, _stored: &[u8]) -> UpdateFuture {
        todo!()
    }

    /// Gives what `cn=monitor` shows below it: called once a search looks there. Each: a name below `cn=monitor` in its
    /// RDN form (`cn=Connections`), and attributes with values.
    pub fn set_monitor(&self, _monitor: Monitor) {
        todo!()
    }

    /// Gives what the root DSE says about the server (RFC 4512 section 5.1): `supportedExtension`,
    /// `supportedSASLMechanisms`, `altServer`, `vendorName`... The directory adds what it knows itself: naming
    /// contexts, controls, features, the subschema subentry.
    pub fn set_root_dse(&self, _attributes: Vec<(String, Vec<String>)>) {
        todo!()
    }
}

/// Gives entries below `cn=monitor`: RDN, and attributes with values.
pub type Monitor = Arc<dyn Fn() -> Vec<MonitorEntry> + Send + Sync>;

/// An entry below `cn=monitor`: its RDN, and attributes with values.
pub type MonitorEntry = (String, Vec<(String, Vec<String>)>);

/// What somebody can be authenticated by.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Normalized name.
    pub name: String,
    /// Stored passwords, in the form of RFC 2307.
    pub stored: Vec<Vec<u8>>,
    /// Whether it is the administrator's name.
    pub is_administrator: bool,
}

impl std::fmt::Debug for Credentials {
    // Hashes do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({}, {} stored)", self.name, self.stored.len())
    }
}
