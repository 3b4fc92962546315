//! Patterns of where connections come from.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use regex::Regex;

use crate::expression::compile_in_any_case;
use crate::requester::Peer;

/// A pattern of where a connection comes from.
#[derive(Debug)]
pub(super) enum PeerPattern {
    /// An address, of which only the bits of the mask count, and a port.
    Address { address: u128, mask: u128, is_v6: bool, port: Option<u16> },
    /// A local socket.
    Path(PathBuf),
    /// The text `IP=address:port`, `IP=[address]:port` or `PATH=path`.
    Text(String),
    /// An expression over that text.
    Regex(Regex),
}

impl PeerPattern {
    /// From the style and the text of a rule. The error says what was expected.
    pub fn parse(style: &str, text: &str) -> Result<PeerPattern, String> {
        match style {
            "" | "exact" | "base" => Ok(PeerPattern::Text(text.to_owned())),
            "path" => Ok(PeerPattern::Path(PathBuf::from(text))),
            "regex" => Ok(PeerPattern::Regex(compile_in_any_case(text)?)),
            "ip" | "ipv6" => address(text).ok_or_else(|| {
                format!("'{text}' is not an address: expected 10.1.2.3, 10.1.2.0%255.255.255.0, 10.1.2.0/24, 2001:db8::/32, with {{port}} behind it or not")
            }),
            _ => Err(format!("peername has no style '{style}': expected exact, regex, ip, ipv6 or path")),
        }
    }

    pub fn matches(&self, peer: &Peer) -> bool {
        match (self, peer) {
            (PeerPattern::Address { address, mask, is_v6, port }, Peer::Network(from)) => {
                let (bits, from_v6) = bits(from.ip());
                from_v6 == *is_v6 && bits & mask == address & mask && port.is_none_or(|port| port == from.port())
            }
            (PeerPattern::Path(path), Peer::Local(from)) => path == from,
            (PeerPattern::Text(text), peer) => *text == describe(peer),
            (PeerPattern::Regex(regex), peer) => regex.is_match(&describe(peer)),
            (PeerPattern::Address { .. } | PeerPattern::Path(_), _) => false,
        }
    }
}

/// Where a connection comes from, as rules have it.
pub(super) fn describe(peer: &Peer) -> String {
    match peer {
        Peer::Network(address) => {
            // Both forms of the same address read the same.
            format!("IP={}", SocketAddr::new(address.ip().to_canonical(), address.port()))
        }
        Peer::Local(path) => format!("PATH={}", path.display()),
        Peer::Internal => "this process".to_owned(),
    }
}

fn bits(address: IpAddr) -> (u128, bool) {
    match address.to_canonical() {
        IpAddr::V4(address) => (u128::from(address.to_bits()), false),
        IpAddr::V6(address) => (address.to_bits(), true),
    }
}

fn address(text: &str) -> Option<PeerPattern> {
    let (text, port) = match text.strip_suffix('}').map(|text| text.split_once('{')) {
        Some(Some((text, port))) => (text, Some(port.parse().ok()?)),
        Some(None) => return None,
        None => (text, None),
    };
    let (text, mask) = match (text.split_once('%'), text.split_once('/')) {
        (Some((text, mask)), _) => (text, Some(mask)),
        (None, Some((text, length))) => {
            let (address, is_v6) = parse_bits(text)?;
            let mask = prefix(length.parse().ok()?, is_v6)?;
            return Some(PeerPattern::Address { address, mask, is_v6, port });
        }
        (None, None) => (text, None),
    };
    let (address, is_v6) = parse_bits(text)?;
    let mask = match mask.map(parse_bits) {
        None => u128::MAX,
        Some(Some((mask, mask_is_v6))) if mask_is_v6 == is_v6 => mask,
        Some(_) => return None,
    };
    Some(PeerPattern::Address { address, mask, is_v6, port })
}

fn parse_bits(text: &str) -> Option<(u128, bool)> {
    match text.parse().ok()? {
        IpAddr::V4(address) => Some((u128::from(address.to_bits()), false)),
        IpAddr::V6(address) => Some((address.to_bits(), true)),
    }
}

/// The mask whose first `length` bits are set.
fn prefix(length: u32, is_v6: bool) -> Option<u128> {
    let width = if is_v6 { 128 } else { 32 };
    let unset = u32::checked_sub(width, length)?;
    Some(u128::MAX.checked_shl(unset).unwrap_or(0))
}
