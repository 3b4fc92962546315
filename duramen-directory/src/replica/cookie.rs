//! What a provider's cookies say of which change a copy is as of, and what becomes of them.
//!
//! Cookies are the provider's, and go back to it as they came. Those of OpenLDAP and of this server name change sequence
//! numbers: `rid=001,csn=20260101000000.000000Z#000000#000#000000`, several with `;` between them. Of others nothing is known.
//!
//! Where several servers change what is copied, a provider says of a change the number of that one alone; the copy is as of it,
//! and of what it was as of before. And the provider's own number (`sid=`) does not go back: the next one would take the copy for
//! the one before, and not tell of what that one changes.

use crate::clock::Moment;
use crate::knowledge::Knowledge;

/// When the newest change was made that a cookie names.
pub(super) fn moment_of(cookie: &[u8]) -> Option<Moment> {
    Knowledge::of_cookie(cookie).moment()
}

/// What is kept of a copy that is as of a cookie, and of another one that was told behind it.
pub(super) fn merged(before: &[u8], told: &[u8]) -> Vec<u8> {
    let mut known = Knowledge::of_cookie(before);
    known.merge(&Knowledge::of_cookie(told));
    if !known.is_of_several() {
        return told.to_vec();
    }
    let name = fields(told).find(|field| field.starts_with("rid=")).unwrap_or("rid=000");
    format!("{name},csn={}", known.text()).into_bytes()
}

/// What a provider is asked by whose cookie this is.
pub(super) fn to_ask(cookie: &[u8]) -> Vec<u8> {
    if Knowledge::of_cookie(cookie) == Knowledge::default() {
        return cookie.to_vec();
    }
    let kept: Vec<&str> = fields(cookie).filter(|field| !field.starts_with("sid=")).collect();
    kept.join(",").into_bytes()
}

fn fields(cookie: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(cookie).unwrap_or_default().split(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLY: &str = "19700101000001.000000Z#000000#001#000000";
    const LATE: &str = "19700101000002.000000Z#000000#002#000000";

    #[test]
    fn cookies_name_numbers_or_nothing() {
        let cookie = format!("rid=001,sid=003,csn={LATE};{EARLY}");
        assert_eq!(moment_of(cookie.as_bytes()), Some(Moment(2_000_000)));
        for other in [&b""[..], b"rid=001", b"csn=2026", b"\xFF", b"whatever"] {
            assert_eq!(moment_of(other), None);
        }
    }

    #[test]
    fn what_is_told_of_one_server_says_nothing_of_others() {
        let of = |numbers: &str| format!("rid=001,sid=001,csn={numbers}").into_bytes();
        let both = format!("rid=001,csn={EARLY};{LATE}").into_bytes();
        assert_eq!(merged(&of(LATE), &of(EARLY)), both);
        assert_eq!(merged(&both, &of(EARLY)), both);
        // Of one server alone the last word counts, whichever that is.
        assert_eq!(merged(&of(LATE), &of(LATE)), of(LATE));
        assert_eq!(merged(&of(EARLY), b"whatever"), b"whatever");
        assert_eq!(merged(b"whatever", &of(EARLY)), of(EARLY));
    }

    #[test]
    fn no_provider_is_told_that_it_asks_itself() {
        let cookie = format!("rid=001,sid=002,csn={EARLY}");
        assert_eq!(to_ask(cookie.as_bytes()), format!("rid=001,csn={EARLY}").as_bytes());
        assert_eq!(to_ask(b"a,sid=b"), b"a,sid=b");
    }
}
