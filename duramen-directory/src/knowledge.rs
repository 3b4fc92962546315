//! Which changes are known of a suffix that several servers change: for each of them, by its number, up to which of its own.
//!
//! Owns: what that is in cookies and in `contextCSN`, and what follows from it. Must not know: where it is kept.
//!
//! A change sequence number (`20260101000000.000000Z#000000#001#000000`) has the number of its server, in hexadecimal digits,
//! as its third part. They are compared as text: by the time, then by what tells those of one moment apart. A cookie has one of
//! each server: `rid=001,sid=002,csn=...;...`. Whoever knows a change knows all changes that its server made before.

use std::collections::BTreeMap;

use crate::clock::Moment;

/// Up to which change of each server all are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge(BTreeMap<u16, String>);

/// The number of the server that made a change.
pub(crate) fn server_of(number: &[u8]) -> Option<u16> {
    let part = number.split(|byte| *byte == b'#').nth(2)?;
    u16::from_str_radix(std::str::from_utf8(part).ok()?, 16).ok()
}

/// The change sequence numbers that a provider's cookie names, as OpenLDAP and this server write them.
pub(crate) fn numbers_of(cookie: &[u8]) -> impl Iterator<Item = &str> {
    let text = std::str::from_utf8(cookie).unwrap_or_default();
    let numbers = text.split(',').find_map(|field| field.strip_prefix("csn=")).unwrap_or_default();
    numbers.split(';').filter(|number| Moment::of_csn(number.as_bytes()).is_some())
}

impl Knowledge {
    /// What a cookie says.
    pub fn of_cookie(cookie: &[u8]) -> Knowledge {
        let mut known = Knowledge::default();
        numbers_of(cookie).for_each(|number| known.add(number));
        known
    }

    /// Takes note of a change, and of all that its server made before.
    pub fn add(&mut self, number: &str) {
        let Some(server) = server_of(number.as_bytes()) else { return };
        let known = self.0.entry(server).or_default();
        if known.as_str() < number {
            *known = number.to_string();
        }
    }

    /// Takes note of all that is known elsewhere.
    pub fn merge(&mut self, other: &Knowledge) {
        other.numbers().for_each(|number| self.add(number));
    }

    /// Whether a change is known.
    pub fn covers(&self, number: &[u8]) -> bool {
        let known = server_of(number).and_then(|server| self.0.get(&server));
        known.is_some_and(|known| known.as_bytes() >= number)
    }

    /// Whether all is known that is known elsewhere.
    pub fn includes(&self, other: &Knowledge) -> bool {
        other.numbers().all(|number| self.covers(number.as_bytes()))
    }

    /// Whether several servers have made changes.
    pub fn is_of_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The newest change of each server.
    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    /// As it stands in cookies.
    pub fn text(&self) -> String {
        self.numbers().collect::<Vec<_>>().join(";")
    }

    /// When the newest change was made.
    pub fn moment(&self) -> Option<Moment> {
        self.numbers().filter_map(|number| Moment::of_csn(number.as_bytes())).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(second: u8, server: u16) -> String {
        format!("197001010000{second:02}.000000Z#000000#{server:03x}#000000")
    }

    fn known(numbers: &[(u8, u16)]) -> Knowledge {
        let numbers: Vec<String> = numbers.iter().map(|(second, server)| number(*second, *server)).collect();
        Knowledge::of_cookie(format!("rid=001,sid=003,csn={}", numbers.join(";")).as_bytes())
    }

    #[test]
    fn of_each_server_the_newest_change_counts() {
        let mut all = known(&[(3, 2), (5, 1), (4, 1)]);
        assert_eq!(all.numbers().collect::<Vec<_>>(), [number(5, 1), number(3, 2)]);
        all.merge(&known(&[(4, 2), (4, 1), (1, 0x10)]));
        assert_eq!(all, known(&[(5, 1), (4, 2), (1, 0x10)]));
        assert_eq!((all.moment(), all.is_of_several()), (Some(Moment(5_000_000)), true));
        assert_eq!(all.text(), [number(5, 1), number(4, 2), number(1, 0x10)].join(";"));
    }

    #[test]
    fn a_change_is_known_with_those_that_its_server_made_before_and_none_of_others() {
        let all = known(&[(5, 1), (3, 2)]);
        for (second, server, is_known) in [(5, 1, true), (4, 1, true), (6, 1, false), (4, 2, false), (1, 3, false)] {
            assert_eq!(all.covers(number(second, server).as_bytes()), is_known, "{second} of {server}");
        }
        assert!(all.includes(&known(&[(4, 1)])) && all.includes(&Knowledge::default()));
        assert!(!all.includes(&known(&[(4, 1), (1, 3)])));
    }

    #[test]
    fn of_cookies_of_others_nothing_is_known() {
        for cookie in [&b""[..], b"rid=001", b"csn=2026", b"\xFF", b"whatever", b"csn=20260101000000.000000Z#0#x#0"] {
            assert_eq!(Knowledge::of_cookie(cookie), Knowledge::default());
        }
    }
}
