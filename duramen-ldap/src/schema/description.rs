//! What descriptions consist of.

/// What all descriptions have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// Its number: a dotted OID; of a DIT structure rule, a plain number.
    pub oid: String,
    /// Its names; the first is the one to show.
    pub names: Vec<String>,
    /// For people.
    pub description: Option<String>,
    /// Not to be used any more.
    pub obsolete: bool,
    /// What begins with `X-`, and its values.
    pub extensions: Vec<(String, Vec<String>)>,
}

impl Definition {
    /// The first name, or the number if there is none.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }

    /// Whether `word` is one of its names, in any case, or its number.
    pub fn is(&self, word: &str) -> bool {
        self.oid == word || self.names.iter().any(|name| name.eq_ignore_ascii_case(word))
    }
}

/// An attribute type (RFC 4512 section 4.1.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttributeType {
    /// What all descriptions have.
    pub definition: Definition,
    /// The type that it is a kind of.
    pub superior: Option<String>,
    /// Rule by which values are equal.
    pub equality: Option<String>,
    /// Rule by which values sort.
    pub ordering: Option<String>,
    /// Rule by which values have substrings.
    pub substrings: Option<String>,
    /// Syntax of values: an OID.
    pub syntax: Option<String>,
    /// How long values may be, as a hint.
    pub length_max: Option<u32>,
    /// One value at most.
    pub single_value: bool,
    /// Shared by the entries of a subtree.
    pub collective: bool,
    /// Not to be changed by users.
    pub no_user_modification: bool,
    /// What it is for.
    pub usage: AttributeUsage,
}

/// What an attribute type is for. All but user applications are operational.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AttributeUsage {
    /// Users' data.
    #[default]
    UserApplications,
    /// The directory's own, the same on all servers.
    DirectoryOperation,
    /// Shared by servers.
    DistributedOperation,
    /// This server's.
    DsaOperation,
}

/// An object class (RFC 4512 section 4.1.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectClass {
    /// What all descriptions have.
    pub definition: Definition,
    /// The classes that it is a kind of.
    pub superiors: Vec<String>,
    /// Its kind.
    pub kind: ClassKind,
    /// Attributes that entries have to have.
    pub must: Vec<String>,
    /// Attributes that they may have.
    pub may: Vec<String>,
}

/// Kinds of object classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClassKind {
    /// Others are kinds of it; no entry is of it alone.
    Abstract,
    /// What an entry is.
    #[default]
    Structural,
    /// What an entry is besides.
    Auxiliary,
}

/// A matching rule (RFC 4512 section 4.1.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchingRule {
    /// What all descriptions have.
    pub definition: Definition,
    /// Syntax of what is asserted: an OID.
    pub syntax: String,
}

/// To which attributes a matching rule applies (RFC 4512 section 4.1.4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchingRuleUse {
    /// What all descriptions have; the number is the rule's.
    pub definition: Definition,
    /// The attributes.
    pub applies: Vec<String>,
}

/// A syntax (RFC 4512 section 4.1.5). It has no names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LdapSyntax {
    /// What all descriptions have.
    pub definition: Definition,
}

/// What entries of a structural class may be and have besides (RFC 4512 section 4.1.6).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DitContentRule {
    /// What all descriptions have; the number is the structural class's.
    pub definition: Definition,
    /// Auxiliary classes allowed.
    pub auxiliary: Vec<String>,
    /// Attributes that they have to have.
    pub must: Vec<String>,
    /// Attributes that they may have.
    pub may: Vec<String>,
    /// Attributes that they must not have.
    pub not: Vec<String>,
}

/// What RDNs of a class consist of (RFC 4512 section 4.1.7.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameForm {
    /// What all descriptions have.
    pub definition: Definition,
    /// The structural class.
    pub class: String,
    /// Attributes that the RDN has to have.
    pub must: Vec<String>,
    /// Attributes that it may have.
    pub may: Vec<String>,
}

/// Below which entries a name form may be used (RFC 4512 section 4.1.7.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DitStructureRule {
    /// What all descriptions have.
    pub definition: Definition,
    /// The name form.
    pub form: String,
    /// Numbers of the rules of the entries above.
    pub superiors: Vec<String>,
}
