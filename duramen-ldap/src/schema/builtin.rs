//! The schema of the standards, as `.schema` files: names, numbers and flags, without descriptions.

use super::file::{BUILT_IN, Schema};

/// A part of the schema that is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Builtin {
    /// Operational attributes and what all directories have (RFC 4512, 4519 and others).
    Core,
    /// COSINE (RFC 4524); needs [`Builtin::Core`].
    Cosine,
    /// inetOrgPerson (RFC 2798); needs [`Builtin::Cosine`].
    InetOrgPerson,
    /// Policies for passwords (draft-behera-ldap-password-policy); needs [`Builtin::Core`].
    PasswordPolicy,
    /// Groups of what LDAP URLs find (Netscape, OpenLDAP); needs [`Builtin::InetOrgPerson`].
    DynamicGroup,
    /// Unix users and groups (RFC 2307); needs [`Builtin::Cosine`].
    Nis,
    /// Unix users and groups, revised ("2307bis"); instead of [`Builtin::Nis`].
    NisBis,
}

impl Builtin {
    /// All parts, in the order in which they need each other. The last two exclude each other.
    pub const ALL: [Builtin; 7] = [
        Builtin::Core,
        Builtin::Cosine,
        Builtin::InetOrgPerson,
        Builtin::PasswordPolicy,
        Builtin::DynamicGroup,
        Builtin::Nis,
        Builtin::NisBis,
    ];

    /// The part's name, as OpenLDAP calls its files.
    pub fn name(self) -> &'static str {
        match self {
            Builtin::Core => "core",
            Builtin::Cosine => "cosine",
            Builtin::InetOrgPerson => "inetorgperson",
            Builtin::PasswordPolicy => "ppolicy",
            Builtin::DynamicGroup => "dyngroup",
            Builtin::Nis => "nis",
            Builtin::NisBis => "rfc2307bis",
        }
    }

    /// The part as text of a `.schema` file.
    pub fn text(self) -> &'static str {
        match self {
            Builtin::Core => include_str!("builtin/core.schema"),
            Builtin::Cosine => include_str!("builtin/cosine.schema"),
            Builtin::InetOrgPerson => include_str!("builtin/inetorgperson.schema"),
            Builtin::PasswordPolicy => include_str!("builtin/ppolicy.schema"),
            Builtin::DynamicGroup => include_str!("builtin/dyngroup.schema"),
            Builtin::Nis => concat!(include_str!("builtin/nis-common.schema"), include_str!("builtin/nis.schema")),
            Builtin::NisBis => {
                concat!(include_str!("builtin/nis-common.schema"), include_str!("builtin/nis-bis.schema"))
            }
        }
    }
}

impl Schema {
    /// Adds a part that is built in.
    pub fn load_builtin(&mut self, part: Builtin) {
        let loaded = self.load_statements(&format!("{BUILT_IN}{}", part.name()), part.text());
        loaded.expect("the built-in schema is right, as its test shows");
    }
}
