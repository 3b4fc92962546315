//! How often the log tells of what clients can cause as often as they like: some at once, and of the rest how many there were.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long it is counted.
const WINDOW: Duration = Duration::from_secs(10);

/// Of one kind of event.
pub struct Seldom {
    /// How many are told of in a window.
    most: u64,
    window: Mutex<Option<Window>>,
}

struct Window {
    began: Instant,
    events: u64,
}

impl Seldom {
    /// `most` of these events are told of in ten seconds.
    pub const fn new(most: u64) -> Seldom {
        Seldom { most, window: Mutex::new(None) }
    }

    /// Notes an event. Whether it is to be told of; and how many were not, up to it.
    pub fn note(&self) -> Option<u64> {
        self.note_at(Instant::now())
    }

    fn note_at(&self, now: Instant) -> Option<u64> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *window {
            Some(window) if now.duration_since(window.began) < WINDOW => {
                window.events += 1;
                (window.events <= self.most).then_some(0)
            }
            before => {
                let untold = before.as_ref().map_or(0, |window| window.events.saturating_sub(self.most));
                *before = Some(Window { began: now, events: 1 });
                Some(untold)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_told_of_at_once_and_of_the_rest_how_many_there_were() {
        let (seldom, began) = (Seldom::new(2), Instant::now());
        let told = |seconds| seldom.note_at(began + Duration::from_secs(seconds));
        assert_eq!([0, 1, 2, 9].map(told), [Some(0), Some(0), None, None]);
        assert_eq!([10, 19, 19, 20].map(told), [Some(2), Some(0), None, Some(1)]);
        assert_eq!(told(40), Some(0));
    }
}
