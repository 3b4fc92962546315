//! Standard output: buffered, and as JSON where that was asked for.
//!
//! Errors come back as values: a reader that goes away (`| head`) ends the command without a word.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::bytes::write_text;
use crate::failure::{Failure, Result};

/// Standard output, to be flushed at the end with [`Output::finish`].
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    /// What a write met, for who hands this to somebody that tells of it in words of his own.
    met: Option<io::Error>,
}

impl Output {
    /// Takes standard output.
    pub fn stdout() -> Output {
        Output { out: BufWriter::with_capacity(1 << 16, io::stdout().lock()), met: None }
    }

    /// Writes a value as JSON over several lines.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer_pretty(&mut self.out, value)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes a value as JSON on one line.
    pub fn json_line(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Why writing failed, if it did.
    pub fn failure(&mut self) -> Option<Failure> {
        self.met.take().map(Failure::from)
    }

    /// Hands what is left to the system.
    pub fn finish(mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|error| self.met = Some(io::Error::new(error.kind(), error.to_string())))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A remark on standard error, for people. It may quote what came in.
pub fn remark(text: &str) {
    let mut line = b"duramen: ".to_vec();
    // A lost remark is no reason to fail.
    let _ = write_text(&mut line, text.as_bytes()).and_then(|()| line.write_all(b"\n"));
    let _ = io::stderr().write_all(&line);
}
