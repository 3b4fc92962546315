//! Whether passwords are costly to check here, so that the time which an answer takes tells nothing.
//!
//! Owns: what was seen of the passwords that were checked, and how long that took. Must not know: passwords.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// No wrong password waits for one that takes longer than this: who may write the own password does not decide how long all
/// others wait.
const LONGEST: Duration = Duration::from_millis(500);

/// What was seen since the server started.
#[derive(Debug, Default)]
pub struct Costs {
    cheap: AtomicBool,
    costly: AtomicBool,
    longest_us: AtomicU64,
}

impl Costs {
    /// Somebody's right password was cheap to check.
    pub fn note_cheap(&self) {
        self.cheap.store(true, Relaxed);
    }

    /// Somebody has a password that is costly to check.
    pub fn note_costly(&self) {
        self.costly.store(true, Relaxed);
    }

    /// Makes a costly check, and notes how long it takes: what the thread works, however busy others keep the machine.
    pub fn measured<T>(&self, check: impl FnOnce() -> T) -> T {
        let began = worked();
        let checked = check();
        self.note(worked().saturating_sub(began));
        checked
    }

    fn note(&self, took: Duration) {
        let micros = took.min(LONGEST).as_micros().try_into().unwrap_or(u64::MAX);
        self.longest_us.fetch_max(micros, Relaxed);
    }

    /// So long after each other are the moments at which wrong passwords are answered: some schemes are checked a hundred times
    /// as fast as others, and how long one took would tell whether there is such a name, and of which scheme its password is.
    pub fn beat(&self) -> Duration {
        // The rest is for what else is done, and for the noise of the machine.
        let longest = Duration::from_micros(self.longest_us.load(Relaxed)) * 5 / 4;
        if self.all_wait() { longest } else { Duration::ZERO }
    }

    /// Whether every wrong password has to take as long as one that is costly to check: unless all that were seen are
    /// cheap. Once one was costly it stays so, or who is there could be told from who is not.
    pub fn all_wait(&self) -> bool {
        self.costly.load(Relaxed) || !self.cheap.load(Relaxed)
    }
}

/// How long this thread has been at work.
fn worked() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_passwords_wait_for_the_longest_check_that_was_seen_unless_all_are_cheap() {
        let costs = Costs::default();
        costs.measured(|| std::hint::black_box((0..100_000_u64).fold(1, |sum, n| sum ^ (n << 3))));
        assert!(costs.beat() > Duration::ZERO);
        costs.note(Duration::from_millis(40));
        costs.note(Duration::from_millis(20));
        assert_eq!(costs.beat(), Duration::from_millis(50));
        costs.note_cheap();
        assert_eq!(costs.beat(), Duration::ZERO);
        costs.note_costly();
        costs.note(Duration::from_secs(60));
        assert_eq!(costs.beat(), LONGEST * 5 / 4, "nobody has all others wait longer");
    }
}
