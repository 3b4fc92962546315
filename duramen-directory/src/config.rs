//! What can be chosen about a directory. Nothing but the suffixes has to be, and those only in a new one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use duramen::Durability;
use duramen_ldap::filter::DEPTH_MAX;

/// What can be chosen.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Names under which there is data. None: those that the directory has had so far.
    pub suffixes: Vec<String>,
    /// Schema beyond what is built in. The directory keeps it, so that tools need not be told of it again.
    pub schema: Vec<SchemaFile>,
    /// "2307bis" instead of RFC 2307 for users and groups of Unix.
    pub nis_bis: bool,
    /// Indices. `None`: those that the directory has; in a new one [`Index::defaults`].
    pub indices: Option<Vec<Index>>,
    /// Access rules, as text: a name for messages, and `access to ...` statements. `None`: the safe default.
    pub access: Option<SchemaFile>,
    /// Who may do everything.
    pub administrator: Option<Administrator>,
    /// How long searches may take and what they may return.
    pub limits: Limits,
    /// The same for some: the first holds whose `who` somebody is.
    pub limits_for: Vec<LimitsFor>,
    /// `memberOf` counts groups that a group is a member of, at any distance, for all of its members.
    pub nested_groups: bool,
    /// Attributes whose values are names, and follow the entries of these names: they go when the entry is deleted, and are
    /// changed when it is renamed. Each needs an index of equality.
    pub references: Vec<String>,
    /// Attributes of which no two entries have one value. Each needs an index of equality.
    pub unique: Vec<String>,
    /// What values of some attributes have to be like, beyond the schema.
    pub constraints: Vec<Constraint>,
    /// Attributes that are made of what the LDAP URLs in an entry find.
    pub dynamic_lists: Vec<DynamicList>,
    /// Who somebody is whom a mechanism knows by a name of its own: the first that matches says so.
    pub identities: Vec<IdentityRule>,
    /// Whose word lets somebody act for others.
    pub authz_policy: AuthzPolicy,
    /// Whether password policies are in force, and how.
    pub password_policies: Option<PasswordPolicies>,
    /// How many changes are kept, so that clients can bring copies up to date (RFC 4533). `None`: as many as the directory has
    /// kept so far, in a new one none. 0: none, and there is no such service.
    pub history: Option<u32>,
    /// The suffixes of which the directory is a copy of another server's ([`crate::Replica`]): nobody else changes what they
    /// have. `None`: whoever opens it has no say in that. Of suffixes that are left out it is forgotten what they were a copy of.
    pub copies: Option<Vec<CopyOf>>,
    /// The number of this server among several that each take changes of `copies`, and follow each other; 1 to 4095. `None`: they
    /// are changed elsewhere alone.
    pub member: Option<u16>,
    /// Where it is written down who changed what, if it is.
    pub audit: Option<AuditLog>,
    /// Whether updates wait for the disk.
    pub durability: Durability,
    /// Opens for reading only.
    pub read_only: bool,
    /// URLs of servers that know about names that are not here.
    pub referrals: Vec<String>,
}

/// A suffix of which the directory is a copy of another server's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyOf {
    /// The suffix.
    pub suffix: String,
    /// URLs of servers that take changes of it.
    pub referrals: Vec<String>,
}

/// A file that it is written to who changed what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLog {
    /// Its path. Made if nothing is there; opened again whenever a configuration is taken into use.
    pub file: PathBuf,
    /// Whether updates that wait for the disk wait for this file, too.
    pub flush: bool,
}

/// A text and the file it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFile {
    /// The file's name, for messages.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl SchemaFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The system's; that it is not UTF-8 says with which line that begins.
    pub fn read(path: &Path) -> io::Result<SchemaFile> {
        let text = String::from_utf8(std::fs::read(path)?).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8"))
        })?;
        Ok(SchemaFile { name: path.display().to_string(), text })
    }

    /// Reads a file of schema. In old ones comments and descriptions are in Latin-1, and other servers take them: so are lines
    /// here that are not UTF-8.
    ///
    /// # Errors
    /// The system's.
    pub fn read_schema(path: &Path) -> io::Result<SchemaFile> {
        let latin = |line: &[u8]| line.iter().map(|byte| char::from(*byte)).collect();
        let line = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap_or_else(|_| latin(line));
        let text = std::fs::read(path)?.split_inclusive(|byte| *byte == b'\n').map(line).collect();
        Ok(SchemaFile { name: path.display().to_string(), text })
    }
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Name or OID of the attribute type.
    pub attribute: String,
    /// What it serves.
    pub kinds: IndexKinds,
}

/// What an index serves. Equality serves `>=` and `<=` too where the attribute has an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct IndexKinds {
    /// `(a=*)`
    pub presence: bool,
    /// `(a=value)`, `(a>=value)`, `(a<=value)`, `(a=initial*)`
    pub equality: bool,
    /// `(a=*any*)` of three bytes and more
    pub substring: bool,
}

/// Who may do everything, whether there is an entry for it or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Administrator {
    /// Its name.
    pub name: String,
    /// Its password as it would be stored in `userPassword`; without one, that of its entry.
    pub password: Option<String>,
}

/// Who somebody is whom a mechanism knows by a name of its own: OpenLDAP's `authz-regexp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityRule {
    /// A regular expression about the normalized name of the mechanism.
    pub matches: String,
    /// The name of the entry, or the URL of a search that finds it, with `$1` and so on for what stood in parentheses.
    pub name: String,
}

/// What values of some attributes have to be like, beyond the schema: OpenLDAP's overlay `constraint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The attributes, with their options; each is judged by itself.
    pub attributes: Vec<String>,
    /// What is demanded.
    pub demand: Demand,
    /// URL without attributes of the entries that it is about. `None`: of all.
    pub restrict: Option<String>,
}

/// What a constraint demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Each value matches this regular expression, an extended one of POSIX.
    Matches(String),
    /// None does.
    MatchesNot(String),
    /// Each value has so many bytes at most.
    SizeMax(u64),
    /// There are so many values at most.
    CountMax(u64),
    /// Each value is one that the search of this URL finds, of the attributes that it names.
    Listed(String),
}

/// Entries that show what the LDAP URLs in them find, when they are read: OpenLDAP's overlay `dynlist`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicList {
    /// The object class that they have.
    pub class: String,
    /// The attribute that has the URLs: `labeledURI`, or a kind of it.
    pub urls: String,
    /// What is shown.
    pub shows: Shows,
    /// URL without attributes of the entries that it is about. `None`: of all that have the class.
    pub restrict: Option<String>,
}

/// What a dynamic list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shows {
    /// It is a group: the names of the entries that are found, as members.
    Members {
        /// The attribute that has them.
        attribute: String,
        /// Whether the group counts in `memberOf` of these entries.
        in_member_of: bool,
    },
    /// Attributes of the entries that are found: those that the URL names.
    Attributes {
        /// Attributes that are shown as others: what it is in the entries, and in the list.
        renamed: Vec<(String, String)>,
    },
}

/// Whose word lets somebody who is not the administrator act for others: OpenLDAP's `authz-policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthzPolicy {
    /// Nobody's.
    #[default]
    None,
    /// What `authzTo` of the own entry says.
    To,
    /// What `authzFrom` of the other's entry says.
    From,
    /// Either.
    Any,
    /// Both.
    All,
}

/// How the password policies that there are entries of (`pwdPolicy`) are in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordPolicies {
    /// The name of the policy of entries that name none by `pwdPolicySubentry`.
    pub default: Option<String>,
    /// Whether clients are told that an account is locked, which tells that there is one.
    pub tells_locked: bool,
}

/// Limits of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Those of searches.
    pub search: SearchLimits,
    /// How deep filters may be nested: [`duramen_ldap::filter::DEPTH_MAX`] at most.
    pub filter_depth: usize,
    /// Entries that one delete with the tree delete control takes, as it is one transaction; 0 is no limit.
    pub tree_delete: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { search: SearchLimits::default(), filter_depth: DEPTH_MAX, tree_delete: 100_000 }
    }
}

/// Limits of searches. The administrator has none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchLimits {
    /// Entries that a search returns; 0 is no limit.
    pub entries: u32,
    /// How long it runs; `None` is no limit.
    pub time: Option<Duration>,
    /// Entries that a search without a fitting index looks at; 0 is no limit.
    pub examined: u32,
}

/// Limits of searches for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsFor {
    /// For whom, as access rules say it behind `by`, without what depends on an entry.
    pub who: String,
    /// The limits.
    pub search: SearchLimits,
}
