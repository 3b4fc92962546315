//! What is known of a copy: for `/metrics`, `/healthz` and `cn=monitor`.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use duramen_directory::{Counts, Replica};

/// How it is with a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No provider tells anything now.
    #[default]
    Waiting,
    /// A provider is connected to.
    Connecting,
    /// A provider tells what there is, or has changed since.
    Refreshing,
    /// A provider tells of each change.
    Following,
    /// Something has to be changed before it goes on.
    Stopped,
}

const STATES: [(State, &str); 5] = [
    (State::Waiting, "waiting"),
    (State::Connecting, "connecting"),
    (State::Refreshing, "refreshing"),
    (State::Following, "following"),
    (State::Stopped, "stopped"),
];

/// What is known of a copy.
#[derive(Debug)]
pub struct Status {
    /// The suffix.
    pub suffix: String,
    /// The one server that is followed, where changes are taken together with others.
    peer: Option<String>,
    known: Mutex<Known>,
}

/// As it is at a moment.
#[derive(Clone, Debug, Default)]
pub struct Known {
    state: State,
    is_complete: bool,
    /// The URL of the provider that is asked, or was last.
    pub provider: Option<String>,
    /// How often one was connected to, or that was tried.
    pub connections: u64,
    /// When that was last.
    pub connected: Option<SystemTime>,
    /// When one will be connected to again.
    pub next: Option<SystemTime>,
    /// What was done since the server began to follow.
    pub counts: Counts,
    /// What the copy is as of: by the provider's words, and when that was.
    pub cookie: Option<String>,
    as_of: Option<SystemTime>,
    /// When something was told last.
    pub heard: Option<SystemTime>,
    /// How old the last change was when the copy had it.
    delay: Option<Duration>,
    /// What went wrong last, and when.
    pub error: Option<(SystemTime, String)>,
}

impl Known {
    /// The word for the state.
    pub fn state(&self) -> &'static str {
        STATES.iter().find(|(state, _)| *state == self.state).map_or("", |(_, word)| word)
    }
}

impl Status {
    /// Of a copy of which nothing is known yet.
    pub fn new(suffix: &str, peer: Option<&str>) -> Status {
        Status { suffix: suffix.to_string(), peer: peer.map(str::to_string), known: Mutex::default() }
    }

    /// What stands between the quotation marks of its label.
    fn label(&self) -> String {
        let suffix = escaped(&self.suffix);
        self.peer.as_ref().map_or_else(|| suffix.clone(), |peer| format!("{suffix}\",peer=\"{}", escaped(peer)))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it, as it is now.
    pub fn now(&self) -> Known {
        self.known().clone()
    }

    /// A provider is being connected to.
    pub fn connects(&self, provider: &str) {
        let mut known = self.known();
        (known.state, known.provider, known.next) = (State::Connecting, Some(provider.to_string()), None);
        (known.connections, known.connected) = (known.connections + 1, Some(SystemTime::now()));
    }

    /// Something has gone wrong.
    pub fn fails(&self, text: &str) {
        self.known().error = Some((SystemTime::now(), text.to_string()));
    }

    /// Nothing is done for so long.
    pub fn rests(&self, pause: Duration) {
        self.known().next = Some(SystemTime::now() + pause);
    }

    /// How it is.
    pub fn state(&self) -> State {
        self.known().state
    }

    /// It is so from now on; which it was.
    pub fn change(&self, state: State) -> State {
        std::mem::replace(&mut self.known().state, state)
    }

    /// Takes note of what the copy is now. `is_news`: it has just been told of a change.
    pub fn note(&self, replica: &Replica, is_news: bool) {
        let (now, mut known) = (SystemTime::now(), self.known());
        let as_of = replica.as_of();
        if is_news && as_of != known.as_of {
            known.delay = as_of.map(|as_of| now.duration_since(as_of).unwrap_or_default());
        }
        (known.is_complete, known.counts, known.as_of) = (replica.is_complete(), replica.counts(), as_of);
        if replica.cookie() != known.cookie.as_deref() {
            known.cookie = replica.cookie().map(str::to_string);
        }
        known.heard = Some(now).filter(|_| is_news).or(known.heard);
    }

    /// Why who asks for entries should ask another server: `None` where the copy was complete once, and goes on.
    pub fn ailment(&self) -> Option<String> {
        let known = self.known();
        match known.state {
            State::Stopped => {
                let why = known.error.as_ref().map_or("the log says why", |(_, text)| text);
                Some(format!("the copy of {} does not go on: {why}", self.suffix))
            }
            _ if !known.is_complete => Some(format!("the copy of {} is not complete yet", self.suffix)),
            _ => None,
        }
    }
}

/// Appends what is known of all copies, as Prometheus reads it; nothing if there are none.
pub fn metrics<'s>(statuses: impl Iterator<Item = &'s Status>, out: &mut String) {
    let all: Vec<(String, Known)> = statuses.map(|status| (status.label(), status.now())).collect();
    if all.is_empty() {
        return;
    }
    states(&all, out);
    providers(&all, out);
    FIGURES.iter().for_each(|figure| figure.write(&all, out));
}

fn states(all: &[(String, Known)], out: &mut String) {
    let name = "duramend_replica_state";
    let _ = writeln!(out, "# HELP {name} How it is with a copy: 1 for the state that it is in.\n# TYPE {name} gauge");
    for (suffix, known) in all {
        for (state, word) in STATES {
            let is_it = u8::from(known.state == state);
            let _ = writeln!(out, "{name}{{suffix=\"{suffix}\",state=\"{word}\"}} {is_it}");
        }
    }
}

fn providers(all: &[(String, Known)], out: &mut String) {
    let name = "duramend_replica_provider";
    let _ = writeln!(out, "# HELP {name} 1 for the provider that is asked, or was last.\n# TYPE {name} gauge");
    for (suffix, known) in all {
        for provider in known.provider.iter().map(|provider| escaped(provider)) {
            let _ = writeln!(out, "{name}{{suffix=\"{suffix}\",provider=\"{provider}\"}} 1");
        }
    }
}

/// A metric with a value for each copy of which it is known.
struct Figure {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&Known) -> Option<f64>,
}

const FIGURES: [Figure; 8] = [
    Figure {
        name: "complete",
        kind: "gauge",
        help: "1 once a copy has had all that the provider had",
        value: |known| Some(f64::from(u8::from(known.is_complete))),
    },
    Figure {
        name: "connections_total",
        kind: "counter",
        help: "How often a provider was connected to, or that was tried",
        value: |known| Some(known.connections as f64),
    },
    Figure {
        name: "entries_put_total",
        kind: "counter",
        help: "Entries of a copy that came or changed",
        value: |known| Some(known.counts.put as f64),
    },
    Figure {
        name: "entries_deleted_total",
        kind: "counter",
        help: "Entries of a copy that went",
        value: |known| Some(known.counts.deleted as f64),
    },
    Figure {
        name: "delay_seconds",
        kind: "gauge",
        help: "How old the last change was when the copy had it, by the clocks of both servers",
        value: |known| known.delay.map(|delay| delay.as_secs_f64()),
    },
    Figure {
        name: "as_of_timestamp_seconds",
        kind: "gauge",
        help: "When the newest change was made that a copy has, in seconds since 1970",
        value: |known| seconds(known.as_of),
    },
    Figure {
        name: "heard_timestamp_seconds",
        kind: "gauge",
        help: "When a provider told something last, in seconds since 1970",
        value: |known| seconds(known.heard),
    },
    Figure {
        name: "error_timestamp_seconds",
        kind: "gauge",
        help: "When something went wrong last, in seconds since 1970",
        value: |known| seconds(known.error.as_ref().map(|(when, _)| *when)),
    },
];

impl Figure {
    fn write(&self, all: &[(String, Known)], out: &mut String) {
        let Figure { name, kind, help, value } = self;
        let _ = writeln!(out, "# HELP duramend_replica_{name} {help}.\n# TYPE duramend_replica_{name} {kind}");
        for (suffix, value) in all.iter().filter_map(|(suffix, known)| Some((suffix, value(known)?))) {
            let _ = writeln!(out, "duramend_replica_{name}{{suffix=\"{suffix}\"}} {value}");
        }
    }
}

fn seconds(time: Option<SystemTime>) -> Option<f64> {
    time?.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}

/// A label's value, as it stands between quotation marks.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_not_complete_or_does_not_go_on_is_no_place_to_ask() {
        let status = Status::new("dc=a \"b\"", None);
        assert!(status.ailment().is_some_and(|why| why.contains("not complete")));
        status.known().is_complete = true;
        assert_eq!((status.ailment(), status.change(State::Stopped)), (None, State::Waiting));
        assert!(status.ailment().is_some_and(|why| why.contains("does not go on")));
        let mut out = String::new();
        metrics([&status].into_iter(), &mut out);
        assert!(out.contains("duramend_replica_state{suffix=\"dc=a \\\"b\\\"\",state=\"stopped\"} 1"), "{out}");
        assert!(out.contains("duramend_replica_complete{suffix=\"dc=a \\\"b\\\"\"} 1\n"), "{out}");
        assert!(!out.contains("as_of_timestamp_seconds{"), "of what is not known nothing is said: {out}");
    }
}
