//! Descriptions from their text.

use std::borrow::Cow;

use super::description::*;
use super::fields::{Fields, Macros, Word};
use crate::error::TextError;
use crate::oid::{is_numeric, of_name};

/// What descriptions of all kinds can do. They are printed by `Display`.
pub trait Description: Sized + std::fmt::Display {
    /// Parses a description, `macros` standing for OIDs.
    fn parse_with(text: &str, macros: &Macros) -> Result<Self, TextError>;

    /// Parses a description as servers publish it.
    fn parse(text: &str) -> Result<Self, TextError> {
        Self::parse_with(text, &Macros::default())
    }

    /// Its number, names and so on.
    fn definition(&self) -> &Definition;
}

/// Reads what all descriptions have; the fields of the kind have been taken out before.
fn definition(mut fields: Fields, macros: &Macros, expected: &'static str) -> Result<Definition, TextError> {
    let number = &fields.number;
    let oid = macros.expand(&number.text).or_else(|| of_name(&number.text).map(Cow::Owned));
    let oid = oid.ok_or(TextError::new(number.at, "an OID, or a defined name of one"))?;
    Ok(Definition {
        oid: oid.into_owned(),
        names: fields.strings("NAME"),
        description: fields.word("DESC")?.map(|word| word.text),
        obsolete: fields.flag("OBSOLETE"),
        extensions: fields.extensions(expected)?,
    })
}

/// An OID with a length behind it: `1.2.3{64}`.
fn syntax(word: Option<Word>, macros: &Macros) -> Result<(Option<String>, Option<u32>), TextError> {
    let Some(word) = word else { return Ok((None, None)) };
    let fail = TextError::new(word.at, "the OID of a syntax, '{length}' behind it or not");
    let (oid, length) = match word.text.split_once('{') {
        Some((oid, length)) => {
            let length = length.strip_suffix('}').and_then(|length| length.parse().ok()).ok_or(fail)?;
            (oid, Some(length))
        }
        None => (&word.text[..], None),
    };
    Ok((Some(macros.expand(oid).ok_or(fail)?.into_owned()), length))
}

fn usage(word: Option<Word>) -> Result<AttributeUsage, TextError> {
    let Some(word) = word else { return Ok(AttributeUsage::default()) };
    let usages = [
        AttributeUsage::UserApplications,
        AttributeUsage::DirectoryOperation,
        AttributeUsage::DistributedOperation,
        AttributeUsage::DsaOperation,
    ];
    let found = usages.into_iter().find(|usage| usage.name().eq_ignore_ascii_case(&word.text));
    let expected = "userApplications, directoryOperation, distributedOperation or dSAOperation";
    found.ok_or(TextError::new(word.at, expected))
}

impl AttributeUsage {
    /// As descriptions write it.
    pub fn name(self) -> &'static str {
        match self {
            AttributeUsage::UserApplications => "userApplications",
            AttributeUsage::DirectoryOperation => "directoryOperation",
            AttributeUsage::DistributedOperation => "distributedOperation",
            AttributeUsage::DsaOperation => "dSAOperation",
        }
    }
}

impl ClassKind {
    /// As descriptions write it.
    pub fn name(self) -> &'static str {
        match self {
            ClassKind::Abstract => "ABSTRACT",
            ClassKind::Structural => "STRUCTURAL",
            ClassKind::Auxiliary => "AUXILIARY",
        }
    }
}

macro_rules! description {
    ($kind:ident, $expected:literal, |$fields:ident, $macros:ident| { $($field:ident: $value:expr,)* }) => {
        impl Description for $kind {
            fn parse_with(text: &str, $macros: &Macros) -> Result<$kind, TextError> {
                #[allow(unused_mut, reason = "syntaxes have no fields of their own")]
                let mut $fields = Fields::parse(text)?;
                $(let $field = $value;)*
                let definition = definition($fields, $macros, $expected)?;
                Ok($kind { definition, $($field,)* })
            }

            fn definition(&self) -> &Definition {
                &self.definition
            }
        }
    };
}

impl Description for AttributeType {
    fn parse_with(text: &str, macros: &Macros) -> Result<AttributeType, TextError> {
        let mut fields = Fields::parse(text)?;
        let (syntax, length_max) = syntax(fields.word("SYNTAX")?, macros)?;
        let number = fields.number.at;
        let attribute = AttributeType {
            superior: fields.name("SUP")?,
            equality: fields.name("EQUALITY")?,
            ordering: fields.name("ORDERING")?,
            substrings: fields.name("SUBSTR")?,
            syntax,
            length_max,
            single_value: fields.flag("SINGLE-VALUE"),
            collective: fields.flag("COLLECTIVE"),
            no_user_modification: fields.flag("NO-USER-MODIFICATION"),
            usage: usage(fields.word("USAGE")?)?,
            definition: definition(fields, macros, "a keyword that attribute types have")?,
        };
        // RFC 4512 section 4.1.2: one of the two has to be there.
        if attribute.superior.is_none() && attribute.syntax.is_none() {
            return Err(TextError::new(number, "SUP or SYNTAX in the attribute type"));
        }
        Ok(attribute)
    }

    fn definition(&self) -> &Definition {
        &self.definition
    }
}

description!(ObjectClass, "a keyword that object classes have", |fields, macros| {
    superiors: fields.words("SUP")?,
    kind: kind(&mut fields)?,
    must: fields.words("MUST")?,
    may: fields.words("MAY")?,
});

fn kind(fields: &mut Fields) -> Result<ClassKind, TextError> {
    let at = fields.number.at;
    let mut kinds = [ClassKind::Abstract, ClassKind::Structural, ClassKind::Auxiliary].into_iter();
    let mut given = kinds.by_ref().filter(|kind| fields.flag(kind.name()));
    match (given.next(), given.next()) {
        (kind, None) => Ok(kind.unwrap_or_default()),
        _ => Err(TextError::new(at, "one of ABSTRACT, STRUCTURAL and AUXILIARY in the object class")),
    }
}

description!(MatchingRule, "a keyword that matching rules have", |fields, macros| {
    syntax: {
        let word = fields.required("SYNTAX", "SYNTAX in the matching rule")?;
        syntax(Some(word), macros)?.0.unwrap_or_default()
    },
});

description!(MatchingRuleUse, "a keyword that uses of matching rules have", |fields, macros| {
    applies: {
        fields.words("APPLIES")?
    },
});

description!(LdapSyntax, "a keyword that syntaxes have", |fields, macros| {});

description!(DitContentRule, "a keyword that DIT content rules have", |fields, macros| {
    auxiliary: fields.words("AUX")?,
    must: fields.words("MUST")?,
    may: fields.words("MAY")?,
    not: fields.words("NOT")?,
});

description!(NameForm, "a keyword that name forms have", |fields, macros| {
    class: fields.required("OC", "OC in the name form")?.text,
    must: fields.words("MUST")?,
    may: fields.words("MAY")?,
});

description!(DitStructureRule, "a keyword that DIT structure rules have", |fields, macros| {
    form: {
        if fields.number.text.contains('.') || !is_numeric(&fields.number.text) {
            return Err(TextError::new(fields.number.at, "the number of the rule"));
        }
        fields.required("FORM", "FORM in the DIT structure rule")?.text
    },
    superiors: fields.words("SUP")?,
});
