//! The log: to the standard error, as lines for people or as JSON; its level can change while the server runs.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

use crate::config::{Log, LogFormat};

/// The log's settings, to change them.
pub struct Logging {
    level: reload::Handle<Targets, Registry>,
}

impl Logging {
    /// Starts logging; once in a process.
    pub fn start(log: &Log) -> Result<Logging, String> {
        let (filter, level) = reload::Layer::new(targets(log)?);
        let lines = fmt::layer().with_writer(std::io::stderr);
        let lines = match log.format {
            LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).boxed(),
            LogFormat::Json => lines.json().boxed(),
            LogFormat::Bare => lines.without_time().with_level(false).with_target(false).with_ansi(false).boxed(),
        };
        let registry = tracing_subscriber::registry().with(lines.with_filter(filter));
        registry.try_init().map_err(|error| format!("logging cannot begin: {error}"))?;
        Ok(Logging { level })
    }

    /// Changes the level.
    pub fn change(&self, log: &Log) -> Result<(), String> {
        self.level.reload(targets(log)?).map_err(|error| format!("the level of the log cannot be changed: {error}"))
    }
}

/// What the library of TLS warns of, clients cause as often as they like, by asking to renegotiate for example: who wants to
/// see that names it in the level, or takes debug.
fn targets(log: &Log) -> Result<Targets, String> {
    let targets = log.level.parse::<Targets>();
    let targets = targets.map_err(|error| format!("{:?} is no level of the log: {error}", log.level))?;
    let is_named = targets.iter().any(|(target, _)| target.starts_with("rustls"));
    let is_quiet = targets.default_level().is_none_or(|level| level <= LevelFilter::INFO);
    Ok(if is_quiet && !is_named { targets.with_target("rustls", LevelFilter::ERROR) } else { targets })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn what_clients_can_make_the_library_of_tls_say_is_logged_for_those_who_ask_for_it() {
        let told = |level: &str, target| {
            let log = Log { level: level.into(), ..Log::default() };
            targets(&log).unwrap().would_enable(target, &Level::WARN)
        };
        for level in ["error", "warn", "info", "info,duramen_server=debug"] {
            assert!(!told(level, "rustls::common_state"), "{level}");
        }
        for level in ["debug", "trace", "info,rustls=warn", "error,rustls::common_state=info"] {
            assert!(told(level, "rustls::common_state"), "{level}");
        }
        assert!(told("info", "duramen_server::listen"));
    }
}
