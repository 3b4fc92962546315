//! Object classes.

use duramen_ldap::schema::ClassKind;

use super::{AttributeId, AttributeSet, Schema};

/// OpenLDAP's class `glue`.
pub(super) const GLUE: &str = "1.3.6.1.4.1.4203.666.3.4";

/// An object class of one opened schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub(super) u16);

/// An object class.
#[derive(Debug)]
pub struct Class {
    /// Its place in the schema.
    pub id: ClassId,
    /// Its OID.
    pub oid: String,
    /// Its first name, or the OID.
    pub name: String,
    /// Its kind.
    pub kind: ClassKind,
    /// The class and all that it is a kind of.
    pub lineage: Vec<ClassId>,
    /// All names, in lower case, and numbers of the class and of those that are kinds of it.
    pub kinds: Vec<String>,
    /// Attributes that entries have to have, inherited ones too; sorted.
    pub must: Vec<AttributeId>,
    /// Attributes that they may have, inherited ones too; sorted.
    pub may: Vec<AttributeId>,
    /// Those of both lists.
    pub(super) listed: AttributeSet,
    /// Whether entries may have any user attribute (RFC 4512 section 4.3).
    pub is_extensible: bool,
    /// Whether entries stand only for names that others are below, as OpenLDAP's replicas of a part have them: they lack even
    /// the values of their own names.
    pub is_glue: bool,
    /// Whether it is `alias` or a kind of it.
    pub is_alias: bool,
    /// Whether it is `referral` or a kind of it.
    pub is_referral: bool,
    /// Whether it is `subentry` or a kind of it.
    pub is_subentry: bool,
}

impl Class {
    /// Whether it is the other one or a kind of it.
    pub fn is_a(&self, other: ClassId) -> bool {
        self.lineage.contains(&other)
    }

    /// Whether a value of objectClass names it or a kind of it.
    #[inline]
    pub fn has_kind(&self, value: &[u8]) -> bool {
        self.kinds.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(value))
    }

    /// Whether it allows an attribute.
    pub fn allows(&self, schema: &Schema, id: AttributeId) -> bool {
        self.listed.contains(id) || (self.is_extensible && !schema.is_operational(id))
    }
}
