//! What the library that reads the file says of it, in the words of whoever writes it.
//!
//! Owns: those words. Must not know: the settings. What it does not know is left as it was said.

/// A message of the library, for people.
pub(super) fn in_words(message: &str) -> String {
    known(message).unwrap_or_else(|| message.to_string())
}

fn known(message: &str) -> Option<String> {
    match message {
        "duplicate key" => return Some("this is written twice".into()),
        "string values must be quoted, expected literal string" => {
            return Some("text has to stand in quotation marks".into());
        }
        _ => {}
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return Some(format!("{name} is missing here"));
    }
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (name, others) = rest.split_once(", expected ")?;
        return Some(format!("there is no setting {name} here, but {}", others.trim_start_matches("one of ")));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (given, choice) = rest.split_once(", expected ")?;
        return Some(format!("{given} is no choice here, but {}", choice.trim_start_matches("one of ")));
    }
    let rest = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "))?;
    let (given, wanted) = rest.rsplit_once(", expected ")?;
    Some(format!("{} is wanted here, not {}", wanted_kind(wanted)?, given_value(given)?))
}

fn wanted_kind(wanted: &str) -> Option<&str> {
    Some(match wanted {
        "usize" | "u64" => "a whole number from 0 on",
        "u32" => "a whole number from 0 to 4294967295",
        "a boolean" => "true or false",
        "a string" => "text in quotation marks",
        "path string" => "a path in quotation marks",
        "a sequence" => "a list in brackets",
        // Of a library that names types of the program.
        _ => return wanted.starts_with("struct ").then_some("a section"),
    })
}

/// A string has quotation marks, numbers and the like are within backquotes, and what is longer is called by its kind.
fn given_value(given: &str) -> Option<&str> {
    match given {
        "map" => Some("a section"),
        "sequence" => Some("a list"),
        _ => given.strip_prefix("string ").or_else(|| given.split('`').nth(1)),
    }
}
