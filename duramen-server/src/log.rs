//! The log: to the standard error, as lines for people or as JSON; its level can change while the server runs.

use tracing_subscriber::filter::Targets;
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

fn targets(log: &Log) -> Result<Targets, String> {
    log.level.parse().map_err(|error| format!("{:?} is no level of the log: {error}", log.level))
}
