//! What a provider's cookies say of which change a copy is as of.
//!
//! Cookies are the provider's, and go back to it as they came. Those of OpenLDAP and of this server name change sequence
//! numbers: `rid=001,csn=20260101000000.000000Z#000000#000#000000`, several with `;` between them. Of others nothing is known.

use crate::clock::Moment;
use crate::history::numbers_of;

/// When the newest change was made that a cookie names.
pub(super) fn moment_of(cookie: &[u8]) -> Option<Moment> {
    numbers_of(cookie).filter_map(|number| Moment::of_csn(number.as_bytes())).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_name_numbers_or_nothing() {
        let (early, late) = ("19700101000001.000000Z#000000#001#000000", "19700101000002.000000Z#000000#002#000000");
        let cookie = format!("rid=001,sid=003,csn={late};{early}");
        assert_eq!(numbers_of(cookie.as_bytes()).collect::<Vec<_>>(), [late, early]);
        assert_eq!(moment_of(cookie.as_bytes()), Some(Moment(2_000_000)));
        for other in [&b""[..], b"rid=001", b"csn=2026", b"\xFF", b"whatever"] {
            assert_eq!((numbers_of(other).count(), moment_of(other)), (0, None));
        }
    }
}
