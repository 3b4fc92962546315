//! Subtree specifications (RFC 3672 section 2.1 and appendix A): where a subtree begins, ends, and what of it counts.

use crate::dn::Dn;
use crate::error::TextError;
use crate::gser::Scanner;

/// Refinements are not nested deeper than this.
const DEPTH_MAX: usize = 64;

/// The fields, in the order that they have to have.
const FIELDS: [&str; 5] = ["base", "specificExclusions", "minimum", "maximum", "specificationFilter"];

/// `{ base "ou=people", minimum 1, specificationFilter item:person }`: each of the fields may be missing.
pub(super) fn specification(value: &[u8]) -> Result<(), TextError> {
    let mut scanner = Scanner::new(value)?;
    let mut next = 0;
    scanner.fields(|scanner, name| {
        let Some(place) = FIELDS[next..].iter().position(|field| *field == name) else { return Ok(false) };
        next += place + 1;
        match name {
            "base" => local_name(scanner)?,
            "specificExclusions" => drop(scanner.list(exclusion)?),
            "minimum" | "maximum" => distance(scanner)?,
            _ => refinement(scanner, DEPTH_MAX)?,
        }
        Ok(true)
    })?;
    scanner.finish()
}

fn local_name(scanner: &mut Scanner<'_>) -> Result<(), TextError> {
    let offset = scanner.offset();
    // What a quote that is written twice does to the place is not worth the trouble.
    Dn::parse(&scanner.quoted()?).map(drop).map_err(|error| error.after(offset + 1))
}

fn exclusion(scanner: &mut Scanner<'_>) -> Result<(), TextError> {
    match scanner.choice(&["chopBefore", "chopAfter"])? {
        Some(_) => local_name(scanner),
        None => scanner.fail("chopBefore: or chopAfter:"),
    }
}

fn distance(scanner: &mut Scanner<'_>) -> Result<(), TextError> {
    let offset = scanner.offset();
    let number = scanner.word()?;
    crate::value::check_integer(number.as_bytes()).map_err(|error| error.after(offset))?;
    if number.starts_with('-') { Err(TextError::new(offset, "a distance that is not negative")) } else { Ok(()) }
}

fn refinement(scanner: &mut Scanner<'_>, depth: usize) -> Result<(), TextError> {
    if depth == 0 {
        return scanner.fail("refinements that are nested less deep");
    }
    match scanner.choice(&["item", "and", "or", "not"])? {
        Some("item") => {
            let offset = scanner.offset();
            crate::oid::check(scanner.word()?).map_err(|error| error.after(offset))
        }
        Some("not") => refinement(scanner, depth - 1),
        Some(_) => scanner.list(|scanner| refinement(scanner, depth - 1)).map(drop),
        None => scanner.fail("item:, and:, or: or not:"),
    }
}
