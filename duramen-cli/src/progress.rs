//! Progress of long work on standard error: a bar on a terminal, elsewhere a line now and then, nothing if quiet.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::bytes::{Form, Meaning, write_field};
use crate::output::remark;
use crate::units;

static QUIET: AtomicBool = AtomicBool::new(false);

/// Between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Whether to show nothing at all.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether nothing is to be shown.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// What the steps are.
#[derive(Clone, Copy)]
pub enum Unit {
    /// Bytes of a file.
    Bytes,
    /// Things with this name in the plural.
    Things(&'static str),
}

/// The progress of one piece of work. What it shows goes away when it is dropped.
pub struct Progress {
    work: &'static str,
    unit: Unit,
    total: Option<u64>,
    bar: Option<ProgressBar>,
    next_line: Instant,
}

impl Progress {
    /// Work that has just begun; `total` is `None` if nobody knows.
    pub fn new(work: &'static str, unit: Unit, total: Option<u64>) -> Progress {
        let bar = (!is_quiet() && io::stderr().is_terminal()).then(|| bar(work, unit, total));
        Progress { work, unit, total, bar, next_line: Instant::now() + LINE_EVERY }
    }

    /// Says how far the work is; `note` is called only if something is shown.
    pub fn at(&mut self, position: u64, note: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message(self.unit, &note()));
            bar.set_position(position);
        } else if !is_quiet() && Instant::now() >= self.next_line {
            self.next_line = Instant::now() + LINE_EVERY;
            remark(&self.line(position, &note()));
        }
    }

    /// Shows nothing any more.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn line(&self, position: u64, note: &str) -> String {
        let amount = |n| match self.unit {
            Unit::Bytes => units::size(n),
            Unit::Things(name) => format!("{} {name}", units::count(n)),
        };
        let mut line = format!("{}: {}", self.work, amount(position));
        if let Some(total) = self.total {
            line += &format!(" of {} ({})", amount(total), units::percent(position as f64, total as f64));
        }
        if !note.is_empty() {
            line += &format!(", {note}");
        }
        line
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// What stands beside a bar. It may quote what is in a file, which is no command to the terminal.
fn message(unit: Unit, note: &str) -> String {
    let apart = if matches!(unit, Unit::Bytes) && !note.is_empty() { ", " } else { "" };
    let mut text = apart.as_bytes().to_vec();
    // Writing into memory does not fail.
    let _ = write_field(&mut text, note.as_bytes(), Form::Text, Meaning::Bytes);
    String::from_utf8_lossy(&text).into_owned()
}

fn bar(work: &'static str, unit: Unit, total: Option<u64>) -> ProgressBar {
    let template = match (unit, total) {
        (Unit::Bytes, Some(_)) => "{prefix} {wide_bar} {bytes} of {total_bytes}{msg}, {eta} left",
        (Unit::Bytes, None) => "{prefix} {spinner} {bytes}{msg}",
        (Unit::Things(_), Some(_)) => "{prefix} {wide_bar} {human_pos} of {human_len} {msg} {eta} left",
        (Unit::Things(_), None) => "{prefix} {spinner} {human_pos} {msg}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.with_style(style).with_prefix(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_says_what_how_far_and_of_how_much() {
        let progress = |unit, total| Progress { work: "load", unit, total, bar: None, next_line: Instant::now() };
        assert_eq!(
            progress(Unit::Bytes, Some(4096)).line(1024, "7 entries"),
            "load: 1.0 KiB of 4.0 KiB (25%), 7 entries"
        );
        assert_eq!(progress(Unit::Things("pages"), None).line(1024, ""), "load: 1,024 pages");
    }

    #[test]
    fn a_note_is_no_command_to_the_terminal() {
        assert_eq!(message(Unit::Bytes, "7 entries"), ", 7 entries");
        assert_eq!(message(Unit::Bytes, ""), "");
        assert_eq!(message(Unit::Things("entries"), "\x1b]0;t\x07\u{e4}\n"), "\\1b]0;t\\07\u{e4}\\0a");
    }
}
