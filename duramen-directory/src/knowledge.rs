//! Which changes are known of a suffix that several servers change: for each of them, by its number, up to which of its own.
//!
//! Owns: what that is in cookies and in `contextCSN`, and what follows from it. Must not know: where it is kept.
//!
//! A change sequence number (`20260101000000.000000Z#000000#001#000000`) has the number of its server, in hexadecimal digits,
//! as its third part. They are compared as text: by the time, then by what tells those of one moment apart. A cookie has one of
//! each server: `rid=001,sid=002,csn=...;...`. Whoever knows a change knows all changes that its server made before: but for gaps,
//! which only servers that take changes together tell (`gap=AFTER~UP_TO;...`). Within one a server has lost what it had made, if it
//! was given back an older state of its data, and others may have it yet.

use std::collections::BTreeMap;

use crate::clock::Moment;

/// Changes of a server that are known: those whose numbers are greater than one, up to another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    after: String,
    up_to: String,
}

/// Which changes of each server are known: rising spans that do not touch each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge(BTreeMap<u16, Vec<Span>>);

/// So many spans of one server are kept apart: each time that it starts there may be another one.
const SPANS_MAX: usize = 16;

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
        let text = std::str::from_utf8(cookie).unwrap_or_default();
        let gaps = text.split(',').find_map(|field| field.strip_prefix("gap=")).unwrap_or_default();
        gaps.split(';').filter_map(|gap| gap.split_once('~')).for_each(|(after, up_to)| known.lose(after, up_to));
        known
    }

    /// Takes note of a change, and of all that its server made before.
    pub fn add(&mut self, number: &str) {
        self.add_behind("", number);
    }

    /// Takes note of changes of a server: of all whose numbers are greater than one, up to another.
    pub fn add_behind(&mut self, after: &str, up_to: &str) {
        let Some(server) = server_of(up_to.as_bytes()) else { return };
        if after < up_to {
            insert(self.0.entry(server).or_default(), Span { after: after.to_string(), up_to: up_to.to_string() });
        }
    }

    /// Of changes of a server with numbers greater than one, up to another, nothing is known.
    fn lose(&mut self, after: &str, up_to: &str) {
        let Some(spans) = server_of(up_to.as_bytes()).and_then(|server| self.0.get_mut(&server)) else { return };
        let parts = |span: &Span| {
            let before = Span { after: span.after.clone(), up_to: span.up_to.as_str().min(after).to_string() };
            let behind = Span { after: span.after.as_str().max(up_to).to_string(), up_to: span.up_to.clone() };
            [before, behind]
        };
        *spans = spans.iter().flat_map(parts).filter(|span| span.after < span.up_to).collect();
    }

    /// Takes note of all that is known elsewhere.
    pub fn merge(&mut self, other: &Knowledge) {
        for (server, spans) in &other.0 {
            let own = self.0.entry(*server).or_default();
            spans.iter().for_each(|span| insert(own, span.clone()));
        }
    }

    /// Whether a change is known.
    pub fn covers(&self, number: &[u8]) -> bool {
        let spans = server_of(number).and_then(|server| self.0.get(&server));
        let has = |span: &Span| span.after.as_bytes() < number && span.up_to.as_bytes() >= number;
        spans.is_some_and(|spans| spans.iter().any(has))
    }

    /// Whether all is known that is known elsewhere.
    pub fn includes(&self, other: &Knowledge) -> bool {
        other.numbers().all(|number| self.covers(number.as_bytes()))
    }

    /// Whether an entry may have come and gone on the way from `before` to this without having been there, and still be there for
    /// who knows of `there`: by a change that he knows of it came, and by one that he does not know it went, and neither was known
    /// before. Both are of other servers than this one, if it has a number.
    pub fn skips(&self, before: &Knowledge, there: &Knowledge, own: Option<u16>) -> bool {
        let others = || self.0.keys().copied().filter(|server| Some(*server) != own);
        let comes = |server: u16| self.number_of(server).min(there.number_of(server)) > before.number_of(server);
        let goes = |server: u16| self.number_of(server) > before.number_of(server).max(there.number_of(server));
        others().any(comes) && others().any(goes)
    }

    /// Whether several servers have made changes.
    pub fn is_of_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The server that has made all changes, if that is one.
    pub fn sole_server(&self) -> Option<u16> {
        Some(*self.0.keys().next()?).filter(|_| self.0.len() == 1)
    }

    /// The newest change of each server.
    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|spans| Some(spans.last()?.up_to.as_str()))
    }

    /// The newest change of a server.
    pub fn number_of(&self, server: u16) -> Option<&str> {
        Some(self.0.get(&server)?.last()?.up_to.as_str())
    }

    /// As it stands in cookies.
    pub fn text(&self) -> String {
        self.numbers().collect::<Vec<_>>().join(";")
    }

    /// What is not known before the newest change of each server, as it stands in cookies of servers that take changes together;
    /// nothing where all is.
    pub fn gaps(&self) -> String {
        let mut gaps = Vec::new();
        for spans in self.0.values() {
            let mut before = "";
            for span in spans {
                if !span.after.is_empty() {
                    gaps.push(format!("{before}~{}", span.after));
                }
                before = &span.up_to;
            }
        }
        if gaps.is_empty() { String::new() } else { format!(",gap={}", gaps.join(";")) }
    }

    /// When the newest change was made.
    pub fn moment(&self) -> Option<Moment> {
        self.numbers().filter_map(|number| Moment::of_csn(number.as_bytes())).max()
    }
}

/// Adds a span, together with those that it touches.
fn insert(spans: &mut Vec<Span>, mut new: Span) {
    spans.retain(|span| {
        let touches = span.after <= new.up_to && new.after <= span.up_to;
        if touches {
            new.after = new.after.as_str().min(&span.after).to_string();
            new.up_to = new.up_to.as_str().max(&span.up_to).to_string();
        }
        !touches
    });
    let place = spans.partition_point(|span| span.after < new.after);
    spans.insert(place, new);
    while spans.len() > SPANS_MAX {
        let first = spans.remove(0);
        spans[0].after = first.after;
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
    fn what_came_and_went_is_skipped_where_two_changes_are_heard_of_at_once_of_which_one_is_known_elsewhere() {
        let before = known(&[(2, 1), (3, 2)]);
        for (there, after, skips) in [
            // It came with 4 and went with 6, or with a change of the other server.
            ([(2, 1), (5, 2)], [(2, 1), (6, 2)], true),
            ([(2, 1), (5, 2)], [(4, 1), (5, 2)], true),
            // What is known there is all that has come, or nothing of it, or was known before.
            ([(2, 1), (5, 2)], [(2, 1), (5, 2)], false),
            ([(2, 1), (5, 2)], [(2, 1), (4, 2)], false),
            ([(2, 1), (5, 2)], [(4, 1), (3, 2)], false),
            ([(2, 1), (3, 2)], [(4, 1), (6, 2)], false),
        ] {
            assert_eq!(known(&after).skips(&before, &known(&there), None), skips, "{there:?} {after:?}");
        }
        // What a server has changed itself was there.
        assert!(!known(&[(2, 1), (6, 2)]).skips(&before, &known(&[(2, 1), (5, 2)]), Some(2)));
    }

    #[test]
    fn what_a_server_may_have_lost_is_a_gap_that_who_has_it_fills() {
        let mut all = known(&[(2, 1)]);
        all.add_behind(&number(5, 1), &number(6, 1));
        all.add_behind(&number(3, 2), &number(3, 2));
        all.add_behind(&number(3, 2), &number(4, 2));
        let cookie = format!("rid=000,csn={}{}", all.text(), all.gaps());
        assert_eq!(
            cookie,
            format!(
                "rid=000,csn={};{},gap={}~{};~{}",
                number(6, 1),
                number(4, 2),
                number(2, 1),
                number(5, 1),
                number(3, 2)
            )
        );
        assert_eq!(Knowledge::of_cookie(cookie.as_bytes()), all);
        for (second, server, is_known) in
            [(2, 1, true), (3, 1, false), (5, 1, false), (6, 1, true), (3, 2, false), (4, 2, true)]
        {
            assert_eq!(all.covers(number(second, server).as_bytes()), is_known, "{second} of {server}");
        }
        all.merge(&known(&[(4, 1)]));
        assert_eq!((all.covers(number(4, 1).as_bytes()), all.covers(number(5, 1).as_bytes())), (true, false));
        all.merge(&known(&[(5, 1)]));
        assert_eq!(all.gaps(), format!(",gap=~{}", number(3, 2)));
    }

    #[test]
    fn of_cookies_of_others_nothing_is_known() {
        for cookie in [&b""[..], b"rid=001", b"csn=2026", b"\xFF", b"whatever", b"csn=20260101000000.000000Z#0#x#0"] {
            assert_eq!(Knowledge::of_cookie(cookie), Knowledge::default());
        }
    }
}
