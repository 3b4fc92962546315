//! Schema descriptions (RFC 4512 section 4.1): parsed, printed, read from files, and those of the standards built in.
//!
//! Owns: what descriptions say. Must not know: whether what they name exists, what a rule or syntax does.

mod builtin;
mod description;
mod fields;
mod file;
mod ldif;
mod parse;
mod print;

pub use builtin::Builtin;
pub use description::{
    AttributeType, AttributeUsage, ClassKind, Definition, DitContentRule, DitStructureRule, LdapSyntax, MatchingRule,
    MatchingRuleUse, NameForm, ObjectClass,
};
pub use fields::Macros;
pub use file::{BUILT_IN, Located, Schema, SchemaError};
pub use parse::Description;

#[cfg(test)]
mod tests;
