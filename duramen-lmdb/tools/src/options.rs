//! Reading a command line as LMDB's tools do: with the C library's `getopt`, so that what it accepts and what it says
//! about mistakes is the same by construction.
//!
//! # Safety
//! `getopt` has its state in variables of the C library. Only this module uses them, on the one thread that there is.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::io::Write;

use crate::failure::{Failure, Result};
use crate::lmdb;

unsafe extern "C" {
    /// The argument of the option that was found last.
    static optarg: *const c_char;
    /// The next word to look at.
    static optind: c_int;
}

/// What a tool takes.
pub struct Syntax {
    /// Its options, in the words of `getopt`.
    pub letters: &'static CStr,
    /// What comes after its name in a line that tells how to call it.
    pub synopsis: &'static str,
}

/// A command line taken apart.
pub struct Options<'a> {
    /// The name that the tool was called by.
    pub tool: &'a CStr,
    /// Each option and its argument, in order.
    pub given: Vec<(u8, Option<CString>)>,
    /// The environment's path.
    pub path: CString,
}

impl Options<'_> {
    /// How many times an option was given.
    pub fn count(&self, letter: u8) -> usize {
        self.given.iter().filter(|(given, _)| *given == letter).count()
    }

    /// Whether an option was given.
    pub fn has(&self, letter: u8) -> bool {
        self.count(letter) > 0
    }

    /// The argument of an option; the last one, if it was given more than once.
    pub fn argument(&self, letter: u8) -> Option<&CStr> {
        self.given.iter().rev().find(|(given, _)| *given == letter)?.1.as_deref()
    }

    /// The flags to open the environment with.
    pub fn env_flags(&self) -> u32 {
        if self.has(b'n') { duramen_lmdb::abi::env::NOSUBDIR } else { 0 }
    }
}

/// Takes a command line apart, the tool's name first. `None`: it asked for the version, which has been printed.
///
/// # Errors
/// The line is wrong; or it wants what LMDB 1.0 has and Duramen has not.
pub fn parse<'a>(words: &'a [CString], syntax: &Syntax) -> Result<Option<Options<'a>>> {
    let [tool, arguments @ ..] = words else { return Err(Failure::said()) };
    let usage = || Failure::usage(tool, syntax.synopsis);
    if arguments.is_empty() {
        return Err(usage());
    }
    let mut pointers: Vec<*mut c_char> = words.iter().map(|word| word.as_ptr().cast_mut()).collect();
    pointers.push(std::ptr::null_mut());
    let mut given = Vec::new();
    loop {
        // SAFETY: strings and their number, with a null behind them; it changes their order only.
        let letter = unsafe { libc::getopt(words.len() as c_int, pointers.as_ptr(), syntax.letters.as_ptr()) };
        match u8::try_from(letter) {
            Err(_) => break,
            Ok(b'?') => return Err(usage()),
            Ok(b'V') => return print_version().map(|()| None),
            Ok(letter @ (b'v' | b'm' | b'w')) => return Err(unsupported(tool, letter)),
            Ok(letter) => {
                // SAFETY: null, or a string among the words.
                let argument = unsafe { optarg.as_ref().map(|_| CStr::from_ptr(optarg).to_owned()) };
                given.push((letter, argument));
            }
        }
    }
    // SAFETY: see the module's head.
    let operands = &pointers[unsafe { optind } as usize..words.len()];
    let [path] = operands else { return Err(usage()) };
    // SAFETY: one of the words.
    let path = unsafe { CStr::from_ptr(*path) }.to_owned();
    Ok(Some(Options { tool, given, path }))
}

/// Prints the version of LMDB that this stands in for.
pub fn print_version() -> Result {
    let mut out = std::io::stdout();
    // LMDB's tools do not look whether they could write it, either.
    let _ = out.write_all(lmdb::version().to_bytes()).and_then(|()| out.write_all(b"\n"));
    Ok(())
}

/// Refuses an option of LMDB 1.0.
pub fn unsupported(tool: &CStr, letter: u8) -> Failure {
    let why = match letter {
        b'v' => "-v is not supported: there is no previous snapshot to go back to",
        b'm' => "-m is not supported: there is no encryption, so no module for it",
        _ => "-w is not supported: there is no encryption, so no password",
    };
    Failure::of(tool, why)
}
