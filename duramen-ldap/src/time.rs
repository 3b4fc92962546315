//! GeneralizedTime (RFC 4517 section 3.3.13) as text of one form, in UTC, that sorts as the times do.

use crate::error::TextError;

/// Appends `YYYYMMDDhhmmss`, and `.` and a fraction without zeros at its end if there is one.
pub(crate) fn key(value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    let mut scanner = Scanner { value, at: 0 };
    let year = i64::from(scanner.two(0, 99)?) * 100 + i64::from(scanner.two(0, 99)?);
    let month = scanner.two(1, 12)?;
    let day = scanner.two(1, days_in(year, month))?;
    let hour = scanner.two(0, 23)?;
    let minute = scanner.optional_two(0, 59)?;
    // 60 is a leap second.
    let second = if minute.is_some() { scanner.optional_two(0, 60)? } else { None };
    let unit = if second.is_some() {
        1
    } else if minute.is_some() {
        60
    } else {
        3600
    };
    let (carried, fraction) = scanner.fraction(unit)?;
    let behind = scanner.zone()?;
    // A leap second stays what it is: it is taken out of the arithmetic and added to the text again.
    let leap = second == Some(60);
    // Most times are written as they are to be.
    if second.is_some() && !leap && value.get(14) == Some(&b'Z') {
        out.extend_from_slice(&value[..14]);
        return Ok(());
    }
    let seconds = if leap { 59 } else { second.unwrap_or(0) };
    let of_day = i64::from(hour) * 3600 + i64::from(minute.unwrap_or(0)) * 60 + i64::from(seconds) + i64::from(carried);
    let total = days_before(year, month, day) * 86_400 + of_day - behind;
    write(total, leap, &fraction, out).ok_or(TextError::new(0, "a time of the years 0 to 9999"))
}

struct Scanner<'v> {
    value: &'v [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.value.get(self.at).copied()
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, TextError> {
        Err(TextError::new(self.at, expected))
    }

    fn two(&mut self, min: u32, max: u32) -> Result<u32, TextError> {
        let Some(&[high @ b'0'..=b'9', low @ b'0'..=b'9']) = self.value.get(self.at..self.at + 2) else {
            return self.fail("two digits");
        };
        let number = u32::from(high - b'0') * 10 + u32::from(low - b'0');
        if !(min..=max).contains(&number) {
            return self.fail("a number that a date or time can have here");
        }
        self.at += 2;
        Ok(number)
    }

    fn optional_two(&mut self, min: u32, max: u32) -> Result<Option<u32>, TextError> {
        if self.peek().is_some_and(|byte| byte.is_ascii_digit()) { self.two(min, max).map(Some) } else { Ok(None) }
    }

    /// A fraction of a unit of so many seconds, as whole seconds and a fraction of one.
    fn fraction(&mut self, unit: u32) -> Result<(u32, Vec<u8>), TextError> {
        if !matches!(self.peek(), Some(b'.' | b',')) {
            return Ok((0, Vec::new()));
        }
        self.at += 1;
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            return self.fail("a digit");
        }
        let mut digits = self.value[start..self.at].to_vec();
        let mut carry = 0;
        for digit in digits.iter_mut().rev() {
            let product = u32::from(*digit - b'0') * unit + carry;
            *digit = b'0' + (product % 10) as u8;
            carry = product / 10;
        }
        digits.truncate(digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1));
        Ok((carry, digits))
    }

    /// `Z`, or how far local time is ahead of UTC, in seconds.
    fn zone(&mut self) -> Result<i64, TextError> {
        let sign = match self.peek() {
            Some(b'Z') => 0,
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return self.fail("'Z', '+hhmm' or '-hhmm'"),
        };
        self.at += 1;
        let mut ahead = 0;
        if sign != 0 {
            ahead = i64::from(self.two(0, 23)?) * 3600;
            ahead += i64::from(self.optional_two(0, 59)?.unwrap_or(0)) * 60;
        }
        if self.at < self.value.len() { self.fail("the end of the time") } else { Ok(sign * ahead) }
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first day of the year 0.
fn days_before(year: i64, month: u32, day: u32) -> i64 {
    let leap_years = if year == 0 { 0 } else { (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 };
    let in_year: u32 = (1..month).map(|month| days_in(year, month)).sum();
    year * 365 + leap_years + i64::from(in_year + day - 1)
}

fn write(total: i64, leap: bool, fraction: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut days, of_day) = (total.div_euclid(86_400), total.rem_euclid(86_400));
    if days < 0 {
        return None;
    }
    let mut year = days / 366;
    while days_before(year + 1, 1, 1) <= days {
        year += 1;
    }
    if year > 9999 {
        return None;
    }
    days -= days_before(year, 1, 1);
    let mut month = 1;
    while days >= i64::from(days_in(year, month)) {
        days -= i64::from(days_in(year, month));
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60 + i64::from(leap));
    out.extend_from_slice(format!("{year:04}{month:02}{:02}{hour:02}{minute:02}{second:02}", days + 1).as_bytes());
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
    Some(())
}
