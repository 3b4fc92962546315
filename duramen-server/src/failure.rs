//! Why the daemon ends, and the exit code that says so.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use duramen_directory::OpenError;

use crate::config::Fault;
use crate::listen::ListenError;

/// Why the daemon ends. Exit codes are those of `sysexits.h`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The configuration has faults (78).
    #[error("{}", lines(.0))]
    Config(Vec<Fault>),
    /// An address cannot be listened at (69; 77 where that is for want of permission).
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Another server has the data directory (75).
    #[error("the data directory {} is in use by process {process}: stop that duramend, or name another directory",
        path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The other's number.
        process: String,
    },
    /// The data directory cannot be opened (74; 75 if it is busy, 77 for want of permission, 78 if what was
    /// configured does not fit it).
    #[error("{}", refusal(path, source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        r#source: OpenError,
    },
    /// The system refuses something (71).
    #[error("{0}")]
    System(String),
}

impl ServeError {
    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        let denied = |error: &std::io::Error| error.kind() == ErrorKind::PermissionDenied;
        ExitCode::from(match self {
            ServeError::Config(_) => 78,
            ServeError::Listen(error) => {
                if denied(&error.source) {
                    77
                } else {
                    69
                }
            }
            ServeError::InUse { .. } => 75,
            ServeError::Directory { source: OpenError::Database(error), .. } => match error {
                duramen::Error::Busy => 75,
                duramen::Error::Io { source, .. } | duramen::Error::File { source, .. } if denied(source) => 77,
                _ => 74,
            },
            ServeError::Directory { source: OpenError::NoRandom, .. } | ServeError::System(_) => 71,
            ServeError::Directory { .. } => 78,
        })
    }
}

impl From<Vec<Fault>> for ServeError {
    fn from(faults: Vec<Fault>) -> ServeError {
        ServeError::Config(faults)
    }
}

impl From<Fault> for ServeError {
    fn from(fault: Fault) -> ServeError {
        ServeError::Config(vec![fault])
    }
}

/// Faults of schema, rules and settings name their own place.
fn refusal(path: &Path, source: &OpenError) -> String {
    match source {
        OpenError::Database(error) => {
            let cure = cure(error).map(|cure| format!("; {cure}")).unwrap_or_default();
            format!("the data directory {}: {error}{cure}", path.display())
        }
        other => other.to_string(),
    }
}

/// What to do about it, where the database's message does not say.
fn cure(error: &duramen::Error) -> Option<&'static str> {
    let (duramen::Error::Io { source, .. } | duramen::Error::File { source, .. }) = error else {
        let is_other = matches!(error, duramen::Error::NotADatabase { .. });
        return is_other.then_some("name the directory that duramend or `duramen directory import` made");
    };
    match source.kind() {
        ErrorKind::PermissionDenied => Some(
            "the user who runs duramend has to own it with all that is in it (`chown -R`), and be let through to it",
        ),
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            Some("name a directory, or a path where there is nothing yet")
        }
        ErrorKind::ReadOnlyFilesystem => Some("mount it for writing, or name another directory"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("make room there"),
        _ => None,
    }
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}
