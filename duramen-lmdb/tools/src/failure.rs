//! What goes wrong, in the words of LMDB's tools.

use std::ffi::CStr;
use std::fmt::Display;

use crate::lmdb::{Code, describe};

/// Result of a tool, or of a part of it.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// What standard error is to say. The exit code is 1.
#[derive(Debug)]
pub struct Failure(Vec<u8>);

impl Failure {
    /// A line that begins with the tool's name.
    pub fn of(tool: &CStr, what: impl Display) -> Failure {
        Failure([tool.to_bytes(), format!(": {what}\n").as_bytes()].concat())
    }

    /// How the tool is called.
    pub fn usage(tool: &CStr, synopsis: &str) -> Failure {
        Failure([b"usage: ", tool.to_bytes(), format!(" {synopsis}\n").as_bytes()].concat())
    }

    /// One more line.
    pub fn and(self, more: Failure) -> Failure {
        Failure([self.0, more.0].concat())
    }

    /// What has been said already.
    pub fn said() -> Failure {
        Failure(Vec::new())
    }

    /// The text, with its line break.
    pub fn text(&self) -> &[u8] {
        &self.0
    }
}

/// Names the function that failed.
pub trait Failed<T> {
    /// As LMDB's tools say it: the function, the code and what that means.
    fn or_failed(self, function: &str) -> Result<T>;
}

impl<T> Failed<T> for Result<T, Code> {
    fn or_failed(self, function: &str) -> Result<T> {
        self.map_err(|code| Failure(format!("{function} failed, error {} {}\n", code.0, describe(code)).into_bytes()))
    }
}
