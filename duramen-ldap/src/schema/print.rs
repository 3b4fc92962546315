//! Descriptions as text, in RFC 4512's order.

use std::fmt::{self, Display, Formatter, Write};

use super::description::*;

/// Writes ` KEYWORD 'value'`, the value with its escapes.
fn quoted(f: &mut Formatter<'_>, value: &str) -> fmt::Result {
    f.write_str(" '")?;
    for c in value.chars() {
        match c {
            '\'' => f.write_str("\\27")?,
            '\\' => f.write_str("\\5C")?,
            _ => f.write_char(c)?,
        }
    }
    f.write_str("'")
}

fn quoted_list(f: &mut Formatter<'_>, keyword: &str, values: &[String]) -> fmt::Result {
    match values {
        [] => Ok(()),
        [one] => {
            write!(f, " {keyword}")?;
            quoted(f, one)
        }
        many => {
            write!(f, " {keyword} (")?;
            many.iter().try_for_each(|value| quoted(f, value))?;
            f.write_str(" )")
        }
    }
}

fn words(f: &mut Formatter<'_>, keyword: &str, separator: &str, values: &[String]) -> fmt::Result {
    match values {
        [] => Ok(()),
        [one] => write!(f, " {keyword} {one}"),
        many => write!(f, " {keyword} ( {} )", many.join(separator)),
    }
}

fn word(f: &mut Formatter<'_>, keyword: &str, value: Option<&String>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {keyword} {value}"))
}

fn flag(f: &mut Formatter<'_>, keyword: &str, set: bool) -> fmt::Result {
    if set { write!(f, " {keyword}") } else { Ok(()) }
}

impl Definition {
    /// Writes what all have in front, then what `middle` writes, then the extensions.
    fn write(&self, f: &mut Formatter<'_>, middle: impl FnOnce(&mut Formatter<'_>) -> fmt::Result) -> fmt::Result {
        write!(f, "( {}", self.oid)?;
        quoted_list(f, "NAME", &self.names)?;
        quoted_list(f, "DESC", self.description.as_slice())?;
        flag(f, "OBSOLETE", self.obsolete)?;
        middle(f)?;
        for (keyword, values) in &self.extensions {
            if values.is_empty() {
                write!(f, " {keyword} ( )")?;
            }
            quoted_list(f, keyword, values)?;
        }
        f.write_str(" )")
    }
}

impl Display for AttributeType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |f| {
            word(f, "SUP", self.superior.as_ref())?;
            word(f, "EQUALITY", self.equality.as_ref())?;
            word(f, "ORDERING", self.ordering.as_ref())?;
            word(f, "SUBSTR", self.substrings.as_ref())?;
            word(f, "SYNTAX", self.syntax.as_ref())?;
            self.length_max.map_or(Ok(()), |length| write!(f, "{{{length}}}"))?;
            flag(f, "SINGLE-VALUE", self.single_value)?;
            flag(f, "COLLECTIVE", self.collective)?;
            flag(f, "NO-USER-MODIFICATION", self.no_user_modification)?;
            let usage = Some(self.usage).filter(|usage| *usage != AttributeUsage::default());
            usage.map_or(Ok(()), |usage| write!(f, " USAGE {}", usage.name()))
        })
    }
}

impl Display for ObjectClass {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |f| {
            words(f, "SUP", " $ ", &self.superiors)?;
            flag(f, self.kind.name(), true)?;
            words(f, "MUST", " $ ", &self.must)?;
            words(f, "MAY", " $ ", &self.may)
        })
    }
}

impl Display for MatchingRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |f| write!(f, " SYNTAX {}", self.syntax))
    }
}

impl Display for MatchingRuleUse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |f| words(f, "APPLIES", " $ ", &self.applies))
    }
}

impl Display for LdapSyntax {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |_| Ok(()))
    }
}

impl Display for DitContentRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |f| {
            words(f, "AUX", " $ ", &self.auxiliary)?;
            words(f, "MUST", " $ ", &self.must)?;
            words(f, "MAY", " $ ", &self.may)?;
            words(f, "NOT", " $ ", &self.not)
        })
    }
}

impl Display for NameForm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |f| {
            write!(f, " OC {}", self.class)?;
            words(f, "MUST", " $ ", &self.must)?;
            words(f, "MAY", " $ ", &self.may)
        })
    }
}

impl Display for DitStructureRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.definition.write(f, |f| {
            write!(f, " FORM {}", self.form)?;
            words(f, "SUP", " ", &self.superiors)
        })
    }
}
