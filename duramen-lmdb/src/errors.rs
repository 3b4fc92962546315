//! Return codes: what an error of the engine is called in LMDB's interface, and the texts for all codes.
//!
//! Owns: the numbers of the codes, the one match that chooses them.
//!
//! # Safety
//! `strerror` of the C library is called with a number, and its answer, a string that lives on, handed out as it is.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};

use duramen::Error;

/// A return code that is not success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(pub c_int);

/// What the functions behind the C interface return.
pub type Result<T = ()> = std::result::Result<T, Code>;

/// Names the codes.
macro_rules! codes {
    ($($name:ident = $number:expr, $text:expr;)*) => {
        $(#[allow(missing_docs, reason = "the text says what it means")]
        pub const $name: Code = Code($number);)*

        /// LMDB's own text of a code.
        fn own_text(code: c_int) -> Option<&'static CStr> {
            match code {
                $($number => Some($text),)*
                _ => None,
            }
        }
    };
}

codes! {
    KEYEXIST = -30799, c"MDB_KEYEXIST: Key/data pair already exists";
    NOTFOUND = -30798, c"MDB_NOTFOUND: No matching key/data pair found";
    PAGE_NOTFOUND = -30797, c"MDB_PAGE_NOTFOUND: Requested page not found";
    CORRUPTED = -30796, c"MDB_CORRUPTED: Located page was wrong type";
    PANIC = -30795, c"MDB_PANIC: Update of meta page failed or environment had fatal error";
    VERSION_MISMATCH = -30794, c"MDB_VERSION_MISMATCH: Database environment version mismatch";
    INVALID = -30793, c"MDB_INVALID: File is not an LMDB file";
    MAP_FULL = -30792, c"MDB_MAP_FULL: Environment mapsize limit reached";
    DBS_FULL = -30791, c"MDB_DBS_FULL: Environment maxdbs limit reached";
    READERS_FULL = -30790, c"MDB_READERS_FULL: Environment maxreaders limit reached";
    TLS_FULL = -30789, c"MDB_TLS_FULL: Thread-local storage keys full - too many environments open";
    TXN_FULL = -30788, c"MDB_TXN_FULL: Transaction has too many dirty pages - transaction too big";
    CURSOR_FULL = -30787, c"MDB_CURSOR_FULL: Internal error - cursor stack limit reached";
    PAGE_FULL = -30786, c"MDB_PAGE_FULL: Internal error - page has no more space";
    MAP_RESIZED = -30785, c"MDB_MAP_RESIZED: Database contents grew beyond environment mapsize";
    INCOMPATIBLE = -30784, c"MDB_INCOMPATIBLE: Operation and DB incompatible, or DB flags changed";
    BAD_RSLOT = -30783, c"MDB_BAD_RSLOT: Invalid reuse of reader locktable slot";
    BAD_TXN = -30782, c"MDB_BAD_TXN: Transaction must abort, has a child, or is invalid";
    BAD_VALSIZE = -30781, c"MDB_BAD_VALSIZE: Unsupported size of key/DB name/data, or wrong DUPFIXED size";
    BAD_DBI = -30780, c"MDB_BAD_DBI: The specified DBI handle was closed/changed unexpectedly";
    PROBLEM = -30779, c"MDB_PROBLEM: Unexpected problem - txn should abort";
    BAD_CHECKSUM = -30778, c"MDB_BAD_CHECKSUM: Page checksum mismatch";
    CRYPTO_FAIL = -30777, c"MDB_CRYPTO_FAIL: Page encryption or decryption failed";
    ENV_ENCRYPTION = -30776, c"MDB_ENV_ENCRYPTION: Environment encryption mismatch";
    TXN_PENDING = -30775, c"MDB_TXN_PENDING: Transaction already prepared, must abort or commit";
    CANT_ROLLBACK = -30774, c"MDB_CANT_ROLLBACK: Environment can't rollback last transaction";
    DBIS_BUSY = -30773, c"MDB_DBIS_BUSY: Can't drop main DBI while other DBIs are open";
    SHORT_WRITE = -30772, c"MDB_SHORT_WRITE: Fewer bytes were written than requested";
    ENV_BUSY = -30771, c"MDB_ENV_BUSY: Environment is busy, can't use previous snapshot";
    IS_READONLY = -30770, c"MDB_IS_READONLY: Can't write in readonly txn or environment";
    ADDR_BUSY = -30769, c"MDB_ADDR_BUSY: Requested map address is unavailable";
}

/// Errors of the system that the interface gives by itself.
pub const EINVAL: Code = Code(libc::EINVAL);
/// Writing to what may only be read.
pub const EACCES: Code = Code(libc::EACCES);
/// A path that leads to a directory.
pub const EISDIR: Code = Code(libc::EISDIR);
/// A thread would wait for itself.
pub const EDEADLK: Code = Code(libc::EDEADLK);
/// What no code says better.
pub const EIO: Code = Code(libc::EIO);
/// What cannot be done by this library.
pub const ENOTSUP: Code = Code(libc::ENOTSUP);

impl From<Error> for Code {
    fn from(error: Error) -> Code {
        match error {
            Error::Corrupt { .. } | Error::Truncated { .. } => CORRUPTED,
            Error::Io { source, .. } | Error::File { source, .. } => Code::from(source),
            Error::NotADatabase { .. } => INVALID,
            Error::OtherVersion { .. } => VERSION_MISMATCH,
            Error::NoSuchTable { .. } => NOTFOUND,
            Error::TableExists { .. } | Error::AppendOrder => KEYEXIST,
            Error::NoRoom { .. } => MAP_FULL,
            Error::TableOptions { .. } | Error::Incompatible { .. } => INCOMPATIBLE,
            Error::KeyLength { .. } | Error::NameLength { .. } | Error::ValueLength { .. } => BAD_VALSIZE,
            Error::ReadOnly => EACCES,
            Error::Busy => Code(libc::EBUSY),
            Error::Forked => BAD_RSLOT,
            Error::Poisoned { .. } => PANIC,
            Error::TxnFailed => BAD_TXN,
            Error::BadTable => BAD_DBI,
            Error::Usage { .. } => EINVAL,
            _ => EIO,
        }
    }
}

impl From<std::io::Error> for Code {
    fn from(error: std::io::Error) -> Code {
        error.raw_os_error().map_or(EIO, Code)
    }
}

/// The number that a C function returns.
pub fn number(result: Result) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Code(number)) => number,
    }
}

/// The text of a code: LMDB's for its own, the system's for others.
pub fn text(code: c_int) -> *const c_char {
    if code == 0 {
        return c"Successful return: 0".as_ptr();
    }
    match own_text(code) {
        Some(text) => text.as_ptr(),
        // SAFETY: see the module's head.
        None => unsafe { libc::strerror(code) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_lmdbs_for_its_codes_and_the_systems_for_others() {
        // SAFETY: `text` returns strings.
        let show = |code| unsafe { CStr::from_ptr(text(code)) }.to_str().unwrap().to_string();
        assert_eq!(show(0), "Successful return: 0");
        assert_eq!(show(-30798), "MDB_NOTFOUND: No matching key/data pair found");
        assert_eq!(show(2), "No such file or directory");
        assert!((-30799..=-30780).all(|code| show(code).starts_with("MDB_")));
    }

    #[test]
    fn errors_have_their_codes() {
        let full = std::io::Error::from_raw_os_error(libc::ENOSPC);
        assert_eq!(Code::from(Error::Io { op: "write", source: full }), Code(libc::ENOSPC));
        assert_eq!(Code::from(Error::AppendOrder), KEYEXIST);
        assert_eq!(Code::from(Error::TxnFailed), BAD_TXN);
    }
}
