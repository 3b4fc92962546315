//! Presentation addresses (RFC 1278): up to three selectors and some network addresses.

use crate::error::TextError;
use crate::value::text;

/// Appends the form of an address: selectors as they are written, NUL, and each network address in lower case, sorted,
/// with a NUL behind it.
pub(super) fn presentation(value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    crate::syntax::check_presentation_address(value)?;
    let text = text(value)?;
    // No network address has a slash.
    let (selectors, networks) = text.rsplit_once('/').unwrap_or(("", text));
    out.extend_from_slice(selectors.as_bytes());
    out.push(0);
    let mut networks: Vec<String> = networks.split(['|', '_']).map(str::to_ascii_lowercase).collect();
    networks.sort_unstable();
    networks.dedup();
    for network in networks.iter().filter(|network| !network.is_empty()) {
        out.extend_from_slice(network.as_bytes());
        out.push(0);
    }
    Ok(())
}
