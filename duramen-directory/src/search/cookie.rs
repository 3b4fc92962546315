//! Cookies of content synchronization (RFC 4533), in the form that OpenLDAP gives them: its consumers look into them.
//!
//! `rid=001,csn=20260101000000.000000Z#000000#000#000000`: what the client calls itself, and the number of the last change that
//! its copy has. Of several numbers that with the id of the server counts that makes all changes: 000, or the one that this is a
//! copy of has another. But where several servers make changes there is one of each, and all count.

use crate::clock::Moment;
use crate::knowledge::{Knowledge, server_of};

/// What a client says that its copy is as of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It has none.
    Nothing,
    /// Of this change.
    Change(Moment),
    /// Of what is known to another server, or to none.
    Unknown,
}

/// What the client calls itself: it hears that again.
pub(super) fn caller(cookie: &[u8]) -> &str {
    let named = fields(cookie).find_map(|field| field.strip_prefix("rid="));
    named.filter(|name| name.len() == 3 && name.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or("000")
}

/// What a cookie says, where this server makes all changes.
pub(super) fn said(cookie: &[u8], server: u16) -> Said {
    let Some(numbers) = fields(cookie).find_map(|field| field.strip_prefix("csn=")) else {
        // One with nothing but the client's name is of a copy that is empty.
        let is_empty =
            fields(cookie).all(|field| field.is_empty() || field.starts_with("rid=") || field.starts_with("sid="));
        return if is_empty && std::str::from_utf8(cookie).is_ok() { Said::Nothing } else { Said::Unknown };
    };
    let of = |server: u16| numbers.split(';').find(|number| server_of(number.as_bytes()) == Some(server));
    let own = of(server).or_else(|| of(0)).and_then(|number| Moment::of_csn(number.as_bytes()));
    own.map_or(Said::Unknown, Said::Change)
}

/// The cookie of a copy that is as of a change of a server.
pub(super) fn cookie(caller: &str, number: Moment, server: u16) -> Vec<u8> {
    [b"rid=", caller.as_bytes(), b",csn=", &number.csn_of(server)].concat()
}

/// As [`cookie`], where several servers make changes.
pub(super) fn cookie_of_several(caller: &str, known: &Knowledge) -> Vec<u8> {
    format!("rid={caller},csn={}", known.text()).into_bytes()
}

fn fields(cookie: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(cookie).unwrap_or_default().split(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_says_again_what_it_was_made_of() {
        let number = Moment(1_000_001);
        let cookie = cookie("007", number, 0);
        assert_eq!(cookie, b"rid=007,csn=19700101000001.000001Z#000000#000#000000");
        assert_eq!((caller(&cookie), said(&cookie, 0)), ("007", Said::Change(number)));
    }

    #[test]
    fn of_a_copy_of_what_a_server_with_a_number_changes_that_counts_and_what_was_given_without_it() {
        let number = Moment(1_000_001);
        let of_server = cookie("007", number, 0xa1);
        assert_eq!(of_server, b"rid=007,csn=19700101000001.000001Z#000000#0a1#000000");
        assert_eq!(said(&of_server, 0xa1), Said::Change(number));
        assert_eq!(said(&cookie("007", number, 0), 0xa1), Said::Change(number));
        assert_eq!([said(&of_server, 0), said(&of_server, 1)], [Said::Unknown, Said::Unknown]);
    }

    #[test]
    fn cookies_of_others_say_what_they_do_or_nothing() {
        let of = |number: &str, sid: &str| format!("{number}.000001Z#000000#{sid}#000000");
        let (own, other) = (of("19700101000001", "000"), of("20260101000000", "001"));
        let number = Said::Change(Moment(1_000_001));
        for (cookie, what) in [
            (String::new(), Said::Nothing),
            ("rid=001".into(), Said::Nothing),
            ("rid=001,sid=002".into(), Said::Nothing),
            (format!("csn={own}"), number.clone()),
            (format!("rid=001,sid=001,csn={other};{own}"), number.clone()),
            (format!("rid=001,csn={own},delcsn={other}"), number),
            (format!("rid=001,csn={other}"), Said::Unknown),
            ("rid=001,csn=".into(), Said::Unknown),
            ("rid=001,csn=2026#000000#000#000000".into(), Said::Unknown),
            ("rid=001,csn=2026010100000x.000001Z#000000#000#000000".into(), Said::Unknown),
            ("whatever".into(), Said::Unknown),
        ] {
            assert_eq!(said(cookie.as_bytes(), 0), what, "{cookie}");
        }
        assert_eq!(said(b"\xFF", 0), Said::Unknown);
        assert_eq!([b"rid=1234".as_slice(), b"rid=0x1", b"\xFF", b""].map(caller), ["000"; 4]);
    }
}
