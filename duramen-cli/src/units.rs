//! Numbers for people: sizes with units, thousands, times.

use std::time::Duration;

/// `12.3 MiB`
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // What would be shown as 1024.0 belongs to the next unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// `1,234,567`
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 page`, `2,000 pages`; for nouns that take an s (or `entry`).
pub fn plural(n: u64, noun: &str) -> String {
    match (n, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{} {stem}ies", count(n)),
        _ => format!("{} {noun}s", count(n)),
    }
}

/// `93%`; nothing of nothing is shown as `-`.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0}%", part / whole * 100.0) } else { "-".to_string() }
}

/// A name between quotation marks, what is not printable ASCII escaped.
pub fn escaped(name: &[u8]) -> String {
    format!("\"{}\"", name.escape_ascii())
}

/// How many a second, as `1,234,567/s`.
pub fn rate(n: u64, time: Duration) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative, and ends at the most"
    )]
    let each_second = (n as f64 / time.as_secs_f64().max(1e-9)) as u64;
    format!("{}/s", count(each_second))
}

/// `850 ms`, `12.3 s`, `4 min 5 s`, `3 h 12 min`
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// `2024-02-29 23:59:59 UTC`, of seconds since 1970.
pub fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar: years are taken to begin in
/// March, so that the leap day is their last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_change_unit_before_they_round_to_1024() {
        let shown: Vec<String> =
            [0, 1023, 1024, 1536, (1 << 20) - 1, 1 << 20, u64::MAX].into_iter().map(size).collect();
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "1.0 MiB", "16.0 EiB"]);
    }

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([plural(1, "entry"), plural(2, "entry"), plural(0, "page")], ["1 entry", "2 entries", "0 pages"]);
    }

    #[test]
    fn dates_follow_the_gregorian_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_709_251_199), "2024-02-29 23:59:59 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let shown = [1, 12_300, 245_000, 11_520_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(shown, ["1 ms", "12.3 s", "4 min 5 s", "3 h 12 min"]);
    }
}
