//! Dynamic groups and lists: entries that show what the LDAP URLs in them find, as OpenLDAP's overlay `dynlist` has it.
//!
//! Owns: what their settings mean, what a URL in an entry asks for. Must not know: how entries are found, what becomes of them.

use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::Scope;
use duramen_ldap::url::LdapUrl;

use crate::access::{Span, is_near};
use crate::config::{self, Shows};
use crate::constraint::{Reading, Region};
use crate::error::DynamicListPart;
use crate::filter::check_depth;
use crate::names;
use crate::schema::{Attribute, AttributeId, ClassId, Schema};

/// Whom the URLs of an entry are searched as, and who may be: the numbers of the types, as files may give their names to others.
const IDENTITY: &str = "1.3.6.1.4.1.4203.666.11.8.1.1";
const AUTHZ: &str = "1.3.6.1.4.1.4203.666.11.8.1.2";

/// All that is chosen.
#[derive(Debug, Default)]
pub(crate) struct DynamicLists {
    pub lists: Vec<DynamicList>,
    pub identity: Option<AttributeId>,
    pub authz: Option<AttributeId>,
}

/// Entries of a class that show what their URLs find.
#[derive(Debug)]
pub(crate) struct DynamicList {
    pub class: ClassId,
    /// The attribute that has the URLs, and its kinds.
    pub urls: Vec<AttributeId>,
    pub gives: Gives,
    /// Which of them it is about, if not about all.
    pub restrict: Option<Region>,
}

/// What is shown.
#[derive(Debug)]
pub(crate) enum Gives {
    /// The names of what is found.
    Members { attribute: AttributeId, in_member_of: bool },
    /// Attributes of what is found, some as others: what it is there, and what it is shown as.
    Attributes { renamed: Vec<(AttributeId, AttributeId)> },
}

impl DynamicLists {
    /// Of these lists, none of which has a fault.
    pub fn new(schema: &Schema, lists: Vec<DynamicList>) -> DynamicLists {
        let find = |oid: &str| schema.find(oid).map(|attribute| attribute.id);
        DynamicLists { lists, identity: find(IDENTITY), authz: find(AUTHZ) }
    }

    /// Whether there are none, so that nothing has to be asked of any entry.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Lists whose entries filters about an attribute may find by what is shown: it is that of members, or one that another is
    /// shown as. What else a list may show only its URLs say.
    pub fn sought_in(&self, id: AttributeId) -> impl Iterator<Item = &DynamicList> {
        self.lists.iter().filter(move |list| match &list.gives {
            Gives::Members { attribute, .. } => *attribute == id,
            Gives::Attributes { renamed } => renamed.iter().any(|(_, shown)| *shown == id),
        })
    }

    /// Whether there are groups that count in `memberOf`.
    pub fn are_in_member_of(&self) -> bool {
        self.lists.iter().any(|list| list.gives.are_in_member_of())
    }
}

impl Gives {
    /// Whether these are groups that count in `memberOf`.
    pub fn are_in_member_of(&self) -> bool {
        matches!(self, Gives::Members { in_member_of: true, .. })
    }
}

impl DynamicList {
    /// From what was chosen.
    ///
    /// # Errors
    /// What is wrong with it, in words, and with which part.
    pub fn parse(
        reading: &Reading<'_>,
        chosen: &config::DynamicList,
    ) -> Result<DynamicList, (DynamicListPart, String)> {
        let schema = reading.schema;
        let class = schema.find_class(&chosen.class).ok_or_else(|| {
            let why = format!(
                "the schema has no object class {:?}: correct the name, or load the file that has it",
                chosen.class
            );
            (DynamicListPart::Class, why)
        })?;
        let urls = urls(schema, &chosen.urls).map_err(|why| (DynamicListPart::Urls, why))?;
        let gives = match &chosen.shows {
            Shows::Members { attribute, in_member_of } => Gives::Members {
                attribute: members(schema, attribute).map_err(|why| (DynamicListPart::Member, why))?,
                in_member_of: *in_member_of,
            },
            Shows::Attributes { renamed } => {
                let both = |(n, (from, to)): (usize, &(String, String))| {
                    pair(schema, from, to).map_err(|why| (DynamicListPart::Renamed(n), why))
                };
                Gives::Attributes { renamed: renamed.iter().enumerate().map(both).collect::<Result<_, _>>()? }
            }
        };
        let restrict = chosen.restrict.as_deref().map(|url| reading.restriction(url)).transpose();
        let restrict = restrict.map_err(|why| (DynamicListPart::Restrict, why))?;
        Ok(DynamicList { class: class.id, urls, gives, restrict })
    }
}

/// An attribute that entries can have.
fn stored<'s>(schema: &'s Schema, name: &str) -> Result<&'s Attribute, String> {
    let attribute = schema.find(name).ok_or_else(|| {
        format!("the schema has no attribute type {name:?}: correct the name, or load the file that has it")
    })?;
    if schema.known().is_derived(attribute.id) {
        return Err(format!("the directory makes the values of {name} itself: name another attribute"));
    }
    Ok(attribute)
}

/// An attribute that has URLs, and its kinds.
fn urls(schema: &Schema, name: &str) -> Result<Vec<AttributeId>, String> {
    let attribute = stored(schema, name)?;
    has_urls(schema, attribute.id).then(|| attribute.family.clone()).ok_or_else(|| {
        format!("{name} is no kind of labeledURI, which has URLs: name one like memberURL, or labeledURI itself")
    })
}

/// Whether the values of an attribute are URLs: whether it is `labeledURI`, or a kind of it.
pub(crate) fn has_urls(schema: &Schema, id: AttributeId) -> bool {
    schema.attribute(schema.known().labeled_uri).family.contains(&id)
}

/// An attribute whose values are names.
fn members(schema: &Schema, name: &str) -> Result<AttributeId, String> {
    let attribute = stored(schema, name)?;
    if attribute.single_value || attribute.equality.is_none_or(|rule| rule.name != "distinguishedNameMatch") {
        return Err(format!("{name} does not have names of entries as its values, or one alone: name one like member"));
    }
    Ok(attribute.id)
}

/// An attribute, and another one that it is shown as.
fn pair(schema: &Schema, from: &str, to: &str) -> Result<(AttributeId, AttributeId), String> {
    let (from, to) = (stored(schema, from)?, stored(schema, to)?);
    let syntax = |attribute: &Attribute| attribute.syntax.map(|syntax| syntax.oid);
    if syntax(from) != syntax(to) {
        return Err(format!("values of {} need not be ones of {}, which has another syntax", from.name, to.name));
    }
    Ok((from.id, to.id))
}

/// A search of this directory that a URL asks for.
#[derive(Debug)]
pub(crate) struct Source {
    /// The normalized name of the base.
    pub base: String,
    pub scope: Scope,
    /// Attributes that it names.
    pub attributes: Vec<String>,
    pub filter: Option<FilterBuf>,
}

impl Source {
    /// Of a value; `None` if it asks nothing of this directory: it is no LDAP URL, or one of another server, or for something
    /// that is not known here and has to be.
    pub fn parse(schema: &Schema, depth_max: usize, value: &[u8]) -> Option<Source> {
        Source::of(schema, depth_max, &LdapUrl::parse(std::str::from_utf8(value).ok()?).ok()?)
    }

    /// As [`Source::parse`], of a URL.
    pub fn of(schema: &Schema, depth_max: usize, url: &LdapUrl) -> Option<Source> {
        let is_here = url.host.is_none() && url.port.is_none() && !url.extensions.iter().any(|one| one.critical);
        let base = names::normalize(schema, &url.dn).ok()?;
        let is_deep = url.filter.as_ref().is_some_and(|filter| check_depth(filter.as_filter(), depth_max).is_err());
        if !is_here || is_deep || base.is_empty() {
            return None;
        }
        let scope = url.scope.unwrap_or(Scope::Base);
        Some(Source { base, scope, attributes: url.attributes.clone(), filter: url.filter.clone() })
    }

    /// Whether an entry of this normalized name is where it searches.
    pub fn reaches(&self, name: &str) -> bool {
        is_near(name, &self.base, Span::of(self.scope))
    }
}
