//! Telling systemd what the daemon does (`Type=notify-reload`). Without systemd, nothing happens.

use sd_notify::NotifyState;

/// It serves.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// It reads its configuration again; [`ready`] says that this is over.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!("there is no monotonic clock for systemd: {error}"),
    }
}

/// It stops.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("systemd could not be told: {error}");
    }
}
