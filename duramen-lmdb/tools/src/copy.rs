//! `mdb_copy`: an environment to a path, or to standard output.

use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;

use duramen_lmdb::abi::{CP_COMPACT, env as flag};

use crate::failure::{Failure, Result};
use crate::lmdb::{Answer, Env, describe};
use crate::options::{print_version, unsupported};

const SYNOPSIS: &str = "[-V] [-c] [-n] srcpath [dstpath]";

/// Runs `mdb_copy`. Unlike the other tools it takes options only before paths, and one a word.
pub fn run(words: &[CString]) -> Result {
    let [tool, words @ ..] = words else { return Err(Failure::said()) };
    let count = words.iter().take_while(|word| word.to_bytes().first() == Some(&b'-')).count();
    let (options, paths) = words.split_at(count);
    let (mut env_flags, mut copy_flags) = (flag::RDONLY, 0);
    for option in options {
        match option.to_bytes() {
            b"-n" => env_flags |= flag::NOSUBDIR,
            b"-c" => copy_flags |= CP_COMPACT,
            b"-V" => return print_version(),
            [b'-', letter @ (b'v' | b'm' | b'w')] => return Err(unsupported(tool, *letter)),
            _ => return Err(Failure::usage(tool, SYNOPSIS)),
        }
    }
    let (source, target) = match paths {
        [source] => (source, None),
        [source, target] => (source, Some(target)),
        _ => return Err(Failure::usage(tool, SYNOPSIS)),
    };
    let opened = Env::create(0).and_then(|env| env.open(source, env_flags, 0o600).map(|()| env));
    let env = said(tool, "opening environment", opened)?;
    said(
        tool,
        "copying",
        match target {
            None => env.copy_to_descriptor(std::io::stdout().as_raw_fd(), copy_flags),
            Some(target) => env.copy_to(target, copy_flags),
        },
    )
}

fn said<T>(tool: &CStr, act: &str, answer: Answer<T>) -> Result<T> {
    answer.map_err(|code| Failure::of(tool, format!("{act} failed, error {} ({})", code.0, describe(code))))
}
