//! The schema of a directory: descriptions bound to each other and to numbers.
//!
//! Owns: which attribute types and classes there are, their numbers, rules and syntaxes; what a name in a request
//! stands for. Must not know: entries, tables.

mod bind;
mod class;
mod describe;
mod judging;
mod matching;
mod options;
mod rules;
mod set;
mod unique;
mod well_known;

use std::borrow::Cow;

use duramen_ldap::dn::NamingRules;
use duramen_ldap::matching::{Names, Rule};
use duramen_ldap::schema::AttributeUsage;
use duramen_ldap::syntax::Syntax;
use rustc_hash::FxHashMap;

pub use bind::BindError;
pub use class::{Class, ClassId};
pub(crate) use describe::Descriptions;
pub(crate) use judging::Judging;
pub use rules::{ContentRule, NameForm, Rules, StructureRule};
pub(crate) use set::AttributeSet;
pub use well_known::WellKnown;

/// The name, in place of a file's, of descriptions that no file has any more. Entries may have their types: so they are
/// taken although what they name is gone.
pub(crate) const EARLIER_TIMES: &str = "the schema of earlier times";

/// What a name has to have in place of a type that nobody knows.
const UNKNOWN_TYPE: &str = "an attribute type that the schema has";

/// An attribute type by its number, which never changes while a directory lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttributeId(pub(crate) u16);

impl AttributeId {
    /// Numbers are less than this: entries keep marks in the bits above.
    pub(crate) const END: u16 = 0x4000;

    /// The number itself.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// An attribute type.
#[derive(Debug)]
pub struct Attribute {
    /// Its number.
    pub id: AttributeId,
    /// Its OID.
    pub oid: String,
    /// Its first name, or the OID.
    pub name: String,
    /// The first name in lower case, as normalized names have it.
    pub key: String,
    /// The type that it is a kind of.
    pub superior: Option<AttributeId>,
    /// The type and all types that are kinds of it: what a filter or a selection by this name means.
    pub family: Vec<AttributeId>,
    /// Syntax of its values; `None` if it is not one of those that are known, so that all values are right.
    pub syntax: Option<&'static Syntax>,
    /// Rule by which values are equal.
    pub equality: Option<&'static Rule>,
    /// Rule by which values sort.
    pub ordering: Option<&'static Rule>,
    /// Rule by which values have substrings.
    pub substrings: Option<&'static Rule>,
    /// One value at most.
    pub single_value: bool,
    /// Not to be changed by users.
    pub no_user_modification: bool,
    /// What it is for.
    pub usage: AttributeUsage,
}

impl Attribute {
    /// Whether a value can be asserted of it by a rule, as far as syntaxes say; what cannot is neither equal nor less nor greater
    /// (RFC 4511 section 4.5.1.7).
    pub fn can_be(&self, rule: &Rule, value: &[u8]) -> bool {
        let own = self.syntax.filter(|syntax| syntax.oid == rule.syntax);
        own.or_else(|| Syntax::find(rule.syntax)).is_none_or(|syntax| syntax.check(value).is_ok())
    }

    /// Whether it is returned only when it is asked for (RFC 4512 section 3.4).
    pub fn is_operational(&self) -> bool {
        self.usage != AttributeUsage::UserApplications
    }
}

impl Attribute {
    /// As [`NamingRules::normalize`], of this type.
    fn normalize_in_name(
        &self,
        value: &[u8],
        names: &dyn Names,
        out: &mut Vec<u8>,
    ) -> Result<Cow<'_, str>, &'static str> {
        match self.equality {
            Some(rule) => rule.normalize_in_name(value, names, out).map_err(|error| error.expected)?,
            None => out.extend_from_slice(value),
        }
        Ok(Cow::Borrowed(&self.key))
    }

    /// Whether normalized forms by the equality rule sort as the ordering rule says: so that an index of equality
    /// serves ranges.
    pub(crate) fn sorts_in_index(&self) -> bool {
        let stem = |rule: Option<&'static Rule>| rule.map(|rule| rule.name.trim_end_matches("Match").to_string());
        let ordering = stem(self.ordering).map(|name| name.trim_end_matches("Ordering").to_string());
        ordering.is_some() && ordering == stem(self.equality)
    }
}

/// Attribute types and classes, bound to each other.
#[derive(Debug)]
pub struct Schema {
    /// No other schema in this process has it.
    number: u64,
    attributes: Vec<Option<Attribute>>,
    /// Those that are operational.
    operational: AttributeSet,
    // Which keys there are no client decides: a fast hash does. Names are bytes here, so that nobody need ask whether a value
    // is text before it is looked up.
    attribute_names: FxHashMap<Vec<u8>, AttributeId>,
    classes: Vec<Class>,
    class_names: FxHashMap<Vec<u8>, ClassId>,
    /// Names in lower case of everything, to OIDs.
    oids: FxHashMap<Vec<u8>, String>,
    known: WellKnown,
    rules: Rules,
    descriptions: Descriptions,
}

/// Longest name that is looked up without allocating.
const SHORT: usize = 64;

/// Calls `look` with a name in lower case.
fn in_lower_case<T>(name: &[u8], look: impl FnOnce(&[u8]) -> T) -> T {
    let mut short = [0; SHORT];
    let Some(copy) = short.get_mut(..name.len()) else { return look(&name.to_ascii_lowercase()) };
    copy.copy_from_slice(name);
    copy.make_ascii_lowercase();
    look(copy)
}

impl Schema {
    /// The attribute type of this name or OID, without options.
    pub fn find(&self, name: &str) -> Option<&Attribute> {
        let id = in_lower_case(name.as_bytes(), |lower| self.attribute_names.get(lower).copied())?;
        Some(self.attribute(id))
    }

    /// The attribute type of a number.
    ///
    /// # Panics
    /// If the number is not from this schema.
    pub fn attribute(&self, id: AttributeId) -> &Attribute {
        self.get(id).expect("numbers come from the schema that they are looked up in")
    }

    /// The attribute type of a number that may come from a schema of other times.
    pub fn get(&self, id: AttributeId) -> Option<&Attribute> {
        self.attributes.get(usize::from(id.0))?.as_ref()
    }

    /// Whether the type of a number is operational: as [`Attribute::is_operational`], of which only a bit is looked at.
    pub(crate) fn is_operational(&self, id: AttributeId) -> bool {
        self.operational.contains(id)
    }

    /// What tells it from others in this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// All attribute types.
    pub fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().flatten()
    }

    /// The object class of this name or OID.
    pub fn find_class(&self, name: impl AsRef<[u8]>) -> Option<&Class> {
        let id = in_lower_case(name.as_ref(), |lower| self.class_names.get(lower).copied())?;
        Some(self.class(id))
    }

    /// The object class of a number.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[usize::from(id.0)]
    }

    /// All object classes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter()
    }

    /// Attribute types that the program itself knows.
    pub fn known(&self) -> &WellKnown {
        &self.known
    }

    /// Rules about entries as a whole.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Values of the subschema subentry's attributes (RFC 4512 section 4.2): name of the attribute, values.
    pub fn subschema(&self) -> &[(&'static str, Vec<String>)] {
        self.descriptions.subschema()
    }
}

impl NamingRules for Schema {
    fn normalize<'s>(
        &'s self,
        attribute: &'s str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Cow<'s, str>, &'static str> {
        self.find(attribute).ok_or(UNKNOWN_TYPE)?.normalize_in_name(value, self, out)
    }
}

impl Names for Schema {
    fn oid(&self, name: &str) -> Option<&str> {
        in_lower_case(name.as_bytes(), |lower| self.oids.get(lower)).map(String::as_str)
    }

    fn attribute_oid(&self, name: &str) -> Option<&str> {
        self.find(name).map(|found| found.oid.as_str())
    }

    fn class_oid(&self, name: &str) -> Option<&str> {
        self.find_class(name).map(|found| found.oid.as_str())
    }
}

#[cfg(test)]
pub(crate) mod tests;
