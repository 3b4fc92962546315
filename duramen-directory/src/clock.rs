//! Times and change numbers as operational attributes have them.

use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// By how much the system's clock may be behind the last change before that is taken for one that was made when the clock
/// was wrong, in microseconds. Without such a limit, one change of the year 2099 would have all later ones be of that year.
const BEHIND_MAX: u64 = 24 * 3600 * 1_000_000;

/// Gives times that do not go backwards and do not come twice, unless the system's clock was put back by more than a day.
#[derive(Debug)]
pub(crate) struct Clock {
    last: Mutex<u64>,
}

/// A moment, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub u64);

/// Lengths of times as they are written.
const TIMESTAMP: usize = "YYYYMMDDhhmmssZ".len();
const PRECISE: usize = "YYYYMMDDhhmmss.uuuuuuZ".len();
const CSN: usize = "YYYYMMDDhhmmss.uuuuuuZ#000000#000#000000".len();

/// A time as GeneralizedTime in whole seconds (RFC 4517 section 3.3.13).
pub fn timestamp(time: SystemTime) -> String {
    Moment(time.duration_since(UNIX_EPOCH).map_or(0, micros)).timestamp()
}

/// A time in whole microseconds; the longest that there is if it is longer.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What the system's clock says, in microseconds since 1970.
fn system() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, micros)
}

impl Clock {
    /// Goes on after a moment, in nanoseconds since 1970: that of the last commit.
    pub fn after(nanoseconds: u64) -> Clock {
        Clock { last: Mutex::new(nanoseconds / 1000) }
    }

    pub fn now(&self) -> Moment {
        let now = system();
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *last = if *last > now + BEHIND_MAX {
            let [before, after] = [*last, now].map(|moment| Moment(moment).timestamp());
            tracing::warn!(
                "the last change was made at {before}, and it is {after}: the clock was wrong then, or is now; times go by the clock"
            );
            now
        } else {
            now.max(*last + 1)
        };
        Moment(*last)
    }
}

impl Moment {
    /// Year, month, day, hour, minute, second.
    fn civil(self) -> (u64, u64, u64, u64, u64, u64) {
        let seconds = self.0 / 1_000_000;
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        // Years that begin in March have their leap day last; eras of 400 years have as many days each.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        (year, month, day, of_day / 3600, of_day / 60 % 60, of_day % 60)
    }

    /// GeneralizedTime in whole seconds (RFC 4517 section 3.3.13).
    pub fn timestamp(self) -> String {
        String::from_utf8_lossy(&self.timestamp_bytes()).into_owned()
    }

    /// As [`Moment::timestamp`], in bytes: every changed entry has one.
    pub fn timestamp_bytes(self) -> [u8; TIMESTAMP] {
        let mut text = *b"YYYYMMDDhhmmssZ";
        let (year, month, day, hour, minute, second) = self.civil();
        digits(year, &mut text[..4]);
        digits(month, &mut text[4..6]);
        digits(day, &mut text[6..8]);
        digits(hour, &mut text[8..10]);
        digits(minute, &mut text[10..12]);
        digits(second, &mut text[12..14]);
        text
    }

    /// As [`Moment::timestamp`], with microseconds.
    pub fn precise(self) -> String {
        let csn = self.csn();
        String::from_utf8_lossy(&csn[..PRECISE]).into_owned()
    }

    /// The moment of a time in the form in which times are sorted: `YYYYMMDDhhmmss`, and a fraction behind a dot. The first one
    /// of 1970 for all before.
    pub fn of_sortable(time: &[u8]) -> Option<Moment> {
        let number = |range: std::ops::Range<usize>| std::str::from_utf8(time.get(range)?).ok()?.parse::<u64>().ok();
        let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
        let fraction = time.get(15..).unwrap_or_default().iter().map(|digit| u64::from(digit.wrapping_sub(b'0')));
        let micros = fraction.chain(std::iter::repeat(0)).take(6).fold(0, |sum, digit| sum * 10 + digit.min(9));
        // As in `civil`: the year begins in March.
        let shifted = if year < 1970 { return Some(Moment(0)) } else { year - u64::from(month <= 2) };
        let (era, of_era) = (shifted / 400, shifted % 400);
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        let seconds = number(8..10)? * 3600 + number(10..12)? * 60 + number(12..14)?;
        Some(Moment(((days - 719_468) * 86_400 + seconds) * 1_000_000 + micros))
    }

    /// The moment of a change sequence number.
    pub fn of_csn(csn: &[u8]) -> Option<Moment> {
        let (time, rest) = csn.split_at_checked(PRECISE - 1)?;
        let digits = |range: std::ops::Range<usize>| time[range].iter().all(u8::is_ascii_digit);
        let is_right = digits(0..14) && time[14] == b'.' && digits(15..21) && rest.starts_with(b"Z#");
        if is_right { Moment::of_sortable(time) } else { None }
    }

    /// So many microseconds later.
    pub fn after(self, micros: u64) -> Moment {
        Moment(self.0.saturating_add(micros))
    }

    /// How many microseconds it is later than another, if it is.
    pub fn since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// A change sequence number of a server, as `entryCSN` has them.
    pub fn csn_of(self, server: u16) -> [u8; CSN] {
        let mut csn = self.csn();
        let digit = |place: u16| b"0123456789abcdef"[usize::from(server >> place & 15)];
        csn[30..33].copy_from_slice(&[digit(8), digit(4), digit(0)]);
        csn
    }

    /// As [`Moment::csn_of`] a server without a number.
    pub fn csn(self) -> [u8; CSN] {
        let mut text = *b"YYYYMMDDhhmmss.uuuuuuZ#000000#000#000000";
        text[..14].copy_from_slice(&self.timestamp_bytes()[..14]);
        digits(self.0 % 1_000_000, &mut text[15..21]);
        text
    }
}

/// Writes the last digits of a number into a place: formatting takes longer.
fn digits(mut number: u64, place: &mut [u8]) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_generalized_time_rfc4517_3_3_13() {
        for (seconds, text) in [
            (0, "19700101000000Z"),
            (951_782_399, "20000228235959Z"),
            (951_782_400, "20000229000000Z"),
            (1_735_689_599, "20241231235959Z"),
            (4_107_542_400, "21000301000000Z"),
        ] {
            assert_eq!(Moment(seconds * 1_000_000).timestamp(), text);
            assert_eq!(Moment::of_sortable(&text.as_bytes()[..14]), Some(Moment(seconds * 1_000_000)));
        }
        assert_eq!(Moment(1_000_001).precise(), "19700101000001.000001Z");
        assert_eq!(Moment::of_sortable(b"19700101000001.5"), Some(Moment(1_500_000)));
        assert_eq!(Moment::of_sortable(b"19700101000001.0000019"), Some(Moment(1_000_001)));
        assert_eq!([b"00000101000000", b"19691231235959"].map(|time| Moment::of_sortable(time)), [Some(Moment(0)); 2]);
        assert_eq!(&Moment(1_000_000).csn(), b"19700101000001.000000Z#000000#000#000000");
    }

    #[test]
    fn a_clock_that_is_a_little_behind_goes_on_after_the_last_moment() {
        let last = system() + BEHIND_MAX / 2;
        let clock = Clock::after(last * 1000);
        assert_eq!((clock.now().0, clock.now().0), (last + 1, last + 2));
    }

    /// A machine whose battery is empty, one change, and a clock that is right again.
    #[test]
    fn one_change_of_the_year_2099_does_not_take_all_others_there() {
        let before = system();
        let clock = Clock::after(4_070_908_800_000_000_000);
        let (first, second) = (clock.now().0, clock.now().0);
        assert!(before <= first && first < second && second <= system() + 2, "{before} {first} {second}");
    }
}
