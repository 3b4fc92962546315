//! Why a command ends otherwise than well, and the exit code that stands for it.
//!
//! Owns: the exit codes that `duramen --help` documents.

use std::io;

use crate::open;

/// Result of a command.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command ends otherwise than well.
#[derive(Debug)]
pub enum Failure {
    /// The answer is no: what was asked for is not there, or what was not to be there is.
    No(String),
    /// A check found something; it has been printed.
    Findings,
    /// It did not work.
    Failed(String),
    /// It did not work, for the file is damaged.
    Damaged(String),
    /// The command line asks for something that makes no sense.
    Usage(String),
    /// The user pressed Ctrl-C, or somebody told the process to end; what that means for the work under way.
    Interrupted(String),
    /// Whoever read the output went away.
    Closed,
}

impl Failure {
    /// What to tell the user, if anything.
    pub fn message(&self) -> Option<&str> {
        match self {
            Failure::No(text) | Failure::Failed(text) | Failure::Damaged(text) => Some(text),
            Failure::Usage(text) | Failure::Interrupted(text) => Some(text),
            Failure::Findings | Failure::Closed => None,
        }
    }

    /// As a check sees it: that a file is so damaged that it cannot be opened is its answer.
    pub fn of_check(self) -> Failure {
        match self {
            Failure::Damaged(text) => Failure::No(text),
            other => other,
        }
    }

    /// See `duramen --help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::No(_) | Failure::Findings => 1,
            Failure::Failed(_) | Failure::Damaged(_) | Failure::Usage(_) => 2,
            Failure::Interrupted(_) => 130,
            Failure::Closed => 141,
        }
    }
}

impl From<duramen::Error> for Failure {
    fn from(error: duramen::Error) -> Failure {
        match error {
            duramen::Error::NoSuchTable { .. } => {
                Failure::No(format!("{error} (`duramen ls` lists those that are there)"))
            }
            duramen::Error::Busy => Failure::Failed(format!("{error}: {}", open::WAIT_LONGER)),
            duramen::Error::Io { ref source, .. } | duramen::Error::File { ref source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Failure::Failed(format!("{error}; run this as the user whose files those are (`sudo -u`), or as root"))
            }
            duramen::Error::Corrupt { .. } | duramen::Error::Truncated { .. } | duramen::Error::DamagedLog { .. } => {
                Failure::Damaged(error.to_string())
            }
            _ => Failure::Failed(error.to_string()),
        }
    }
}

/// For what is written to standard output: errors of other files are named where they happen.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Failed(format!("cannot write the output: {error}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        io::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_is_told_who_may() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let failure = Failure::from(duramen::Error::File { op: "open", path: "people.dm".into(), source });
        let said = failure.message().unwrap();
        assert!(said.starts_with("cannot open people.dm: ") && said.contains("as the user whose files"), "{said}");
    }
}
