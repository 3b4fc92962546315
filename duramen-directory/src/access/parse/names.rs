//! Patterns of names in rules.

use duramen_ldap::dn::Dn;

use super::super::name::{NamePattern, Span};
use super::super::template::Template;
use crate::expression::compile_in_any_case;
use crate::schema::Schema;

/// What stands behind `dn` and its style: a fixed pattern.
pub(super) fn fixed(style: &str, text: &str, schema: &Schema) -> Result<NamePattern, String> {
    if style == "regex" {
        return match text {
            "" | "*" | ".*" | "^.*" | ".*$" | "^.*$" | "^.*$$" | ".*$$" => Ok(NamePattern::Any),
            _ => Ok(NamePattern::Regex(
                compile_in_any_case(&expression(text)).map_err(|error| wrong_expression(text, &error))?,
            )),
        };
    }
    let span = span(style)?;
    if text == "*" && span == Span::Level(0) {
        return Ok(NamePattern::Any);
    }
    Ok(NamePattern::Near { base: normalize(text, schema)?, span })
}

/// As [`fixed`], with places for parts of what the rule is about.
pub(super) fn expanded(style: &str, text: &str, schema: &Schema) -> Result<NamePattern, String> {
    let template = Template::parse(if style == "regex" { text } else { "" });
    if style == "regex" {
        if !template.has_places() {
            return fixed(style, &text.replace("$$", "$"), schema);
        }
        // With something in its places, so that a wrong expression is found now.
        let sample = template.expand(&Default::default(), str::to_owned);
        compile_in_any_case(&sample).map_err(|error| wrong_expression(text, &error))?;
        return Ok(NamePattern::RegexExpanded(Template::parse(&expression(text))));
    }
    let span = span(style)?;
    Ok(NamePattern::NearExpanded { base: base(text, schema)?, span })
}

/// The template of a name. Without places it is normalized now, otherwise with what is put into them.
pub(super) fn base(text: &str, schema: &Schema) -> Result<Template, String> {
    let template = Template::parse(text);
    if template.has_places() {
        return Ok(template);
    }
    normalize(&template.expand(&Default::default(), str::to_owned), schema).map(Template::literal)
}

/// A name in its normalized form.
pub(super) fn normalize(text: &str, schema: &Schema) -> Result<String, String> {
    let mut normalized = String::with_capacity(text.len());
    let parsed = Dn::parse(text).and_then(|name| name.normalize(schema, &mut normalized));
    parsed.map_err(|error| format!("'{text}' is not a name: {error}"))?;
    Ok(normalized)
}

/// The span of a style.
pub(super) fn span(style: &str) -> Result<Span, String> {
    Ok(match style {
        "" | "exact" | "base" | "baseobject" => Span::Level(0),
        "one" | "onelevel" => Span::Level(1),
        "sub" | "subtree" => Span::Subtree,
        "children" => Span::Children,
        _ => match level(style) {
            Some(levels) => Span::Level(levels as usize),
            None => {
                let expected = "expected exact, one, subtree, children, level{n} or regex";
                return Err(format!("names have no style '{style}': {expected}"));
            }
        },
    })
}

/// The number of `level{n}`.
pub(super) fn level(style: &str) -> Option<u32> {
    style.strip_prefix("level{")?.strip_suffix('}')?.parse().ok()
}

/// An expression over normalized names, which have no spaces behind separators.
fn expression(text: &str) -> String {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |found, part| found + "," + part.trim_start_matches(' '))
}

fn wrong_expression(text: &str, error: &str) -> String {
    format!("'{text}' is not a regular expression: {error}")
}
