//! yescrypt, in the form of libxcrypt: `$y$PARAMETERS$SALT$DIGEST`. It is what Debian's `crypt` makes by default.

use yescrypt::{Params, PasswordVerifier, Yescrypt};

/// Flavour, cost and block size. The others, which `crypt` never writes, would multiply memory and time.
const PARAMETERS_CHARS: usize = 3;
/// 256 bits.
const DIGEST_CHARS: usize = 43;
/// More memory than this is taken for no password. Time goes with it: some seconds.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

pub(super) fn verify(text: &str, password: &[u8]) -> bool {
    let fields: Vec<&str> = text.split('$').collect();
    let ["", "y", parameters, _, digest] = fields[..] else { return false };
    // As many bytes are compared as are stored: of none, all would be the same.
    if parameters.len() != PARAMETERS_CHARS || digest.len() != DIGEST_CHARS {
        return false;
    }
    let Ok(params) = parameters.parse::<Params>() else { return false };
    let memory = params.n().checked_mul(u64::from(params.r()) * 128);
    memory.is_some_and(|bytes| bytes <= MEMORY_BYTES_MAX) && Yescrypt::default().verify_password(password, text).is_ok()
}
