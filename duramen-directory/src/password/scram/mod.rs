//! SCRAM-SHA-256 (RFC 5802, RFC 7677): what is kept for it, and the server's side of the exchange, which is a pure
//! state machine.
//!
//! ```
//! use duramen_directory::password::scram::{ClientFirst, Credentials};
//!
//! // From RFC 7677 section 3.
//! let first = ClientFirst::parse(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")?;
//! let credentials = Credentials::derive(b"pencil", &salt(), 4096);            // of first.user
//! let (exchange, challenge) = first.challenge(credentials, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0");
//! # assert!(challenge.ends_with(",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"));
//! let answer = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
//! assert_eq!(exchange.finish(answer)?, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
//! # fn salt() -> [u8; 16] { [0x5B, 0x6D, 0x99, 0x68, 0x9D, 0x12, 0x35, 0x8E, 0xEC, 0xA0, 0x4B, 0x14, 0x12, 0x36, 0xFA, 0x81] }
//! # Ok::<(), duramen_directory::password::scram::ScramError>(())
//! ```

mod credentials;
mod exchange;

pub use credentials::{Credentials, ITERATIONS};
pub use exchange::{ClientFirst, Exchange, ScramError, nonce};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of every key of this mechanism.
const KEY_BYTES: usize = 32;

type Key = [u8; KEY_BYTES];

fn hmac(key: &[u8], message: &[u8]) -> Key {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests;
