//! Controls that own what they say.

use duramen_ldap::Payload;
use duramen_ldap::ber::{List, Writer, tag};
use duramen_ldap::control::{
    Dereference, DereferenceRequest, ListViewRequest, ListViewTarget, MatchedValues, PagedResults, ReadEntryRequest,
    SortKey, SortKeys,
};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::oid::control as oid;

#[derive(Debug, Clone)]
pub struct Control {
    pub kind: Kind,
    pub critical: bool,
}

/// A key to sort by: description, rule, whether backwards.
pub type By = (&'static str, Option<&'static str>, bool);

#[derive(Debug, Clone)]
pub enum Kind {
    /// All pages of this size, one after the other.
    Paged(u32),
    Sort(Vec<By>),
    /// Entries before and after a target.
    ListView(u32, u32, Target),
    Assertion(String),
    PreRead(Vec<String>),
    PostRead(Vec<String>),
    ManageDsaIt,
    DomainScope,
    MatchedValues(Vec<String>),
    /// Attributes whose values are followed, and what is wanted of the entries.
    Dereference(Vec<(&'static str, Vec<String>)>),
    Subentries(bool),
    Proxied(String),
    TreeDelete,
    Permissive,
    Relax,
    PasswordPolicy,
    /// One that nobody knows.
    Unknown,
    /// A known one with a value that is none of it.
    Nonsense(&'static str),
}

#[derive(Debug, Clone)]
pub enum Target {
    /// A place in a list of a length.
    Offset(u32, u32),
    AtLeast(&'static str),
}

impl Kind {
    pub fn oid(&self) -> &'static str {
        match self {
            Kind::Paged(_) => oid::PAGED_RESULTS,
            Kind::Sort(_) => oid::SORT_REQUEST,
            Kind::ListView(..) => oid::LIST_VIEW_REQUEST,
            Kind::Assertion(_) => oid::ASSERTION,
            Kind::PreRead(_) => oid::PRE_READ,
            Kind::PostRead(_) => oid::POST_READ,
            Kind::ManageDsaIt => oid::MANAGE_DSA_IT,
            Kind::DomainScope => oid::DOMAIN_SCOPE,
            Kind::MatchedValues(_) => oid::MATCHED_VALUES,
            Kind::Dereference(_) => oid::DEREFERENCE,
            Kind::Subentries(_) => oid::SUBENTRIES,
            Kind::Proxied(_) => oid::PROXIED_AUTHORIZATION,
            Kind::TreeDelete => oid::TREE_DELETE,
            Kind::Permissive => oid::PERMISSIVE_MODIFY,
            Kind::Relax => oid::RELAX,
            Kind::PasswordPolicy => oid::PASSWORD_POLICY,
            Kind::Unknown => "1.3.6.1.4.1.99999.1",
            Kind::Nonsense(oid) => oid,
        }
    }

    pub fn critical(self) -> Control {
        Control { kind: self, critical: true }
    }
}

/// A list of words, encoded.
fn built(words: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    List::build(&mut out, words.iter().map(String::as_str));
    out
}

fn parsed(filter: &str) -> FilterBuf {
    FilterBuf::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"))
}

impl Control {
    /// Its value, if it has one.
    pub fn encode(&self, cookie: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut buffer) = (Vec::new(), Vec::new());
        match &self.kind {
            Kind::Paged(size) => PagedResults { size: *size, cookie }.encode(&mut out),
            Kind::Sort(keys) => {
                let keys = keys.iter().map(|&(description, rule, reverse)| SortKey { description, rule, reverse });
                SortKeys(List::build(&mut buffer, keys)).encode(&mut out);
            }
            Kind::ListView(before, after, target) => {
                let target = match *target {
                    Target::Offset(offset, count) => ListViewTarget::Offset { offset, count },
                    Target::AtLeast(value) => ListViewTarget::AtLeast(value.as_bytes()),
                };
                ListViewRequest { before: *before, after: *after, target, context: None }.encode(&mut out);
            }
            Kind::Assertion(filter) => out.extend_from_slice(parsed(filter).as_filter().encoded()),
            Kind::PreRead(attributes) | Kind::PostRead(attributes) => {
                ReadEntryRequest(List::build(&mut buffer, attributes.iter().map(String::as_str))).encode(&mut out);
            }
            Kind::MatchedValues(filters) => {
                let filters: Vec<_> = filters.iter().map(|filter| parsed(filter)).collect();
                MatchedValues(List::build(&mut buffer, filters.iter().map(FilterBuf::as_filter))).encode(&mut out);
            }
            Kind::Dereference(wanted) => {
                let names: Vec<Vec<u8>> = wanted.iter().map(|(_, names)| built(names)).collect();
                let specs = wanted
                    .iter()
                    .zip(&names)
                    .map(|((description, _), names)| Dereference { description, attributes: List::trusted(names) });
                DereferenceRequest(List::build(&mut buffer, specs)).encode(&mut out);
            }
            Kind::Subentries(visible) => Writer::new(&mut out).boolean(tag::BOOLEAN, *visible),
            Kind::Proxied(id) => out.extend_from_slice(id.as_bytes()),
            Kind::Nonsense(_) => out.extend_from_slice(b"nonsense"),
            Kind::ManageDsaIt
            | Kind::DomainScope
            | Kind::TreeDelete
            | Kind::Permissive
            | Kind::Relax
            | Kind::PasswordPolicy
            | Kind::Unknown => return None,
        }
        Some(out)
    }
}
