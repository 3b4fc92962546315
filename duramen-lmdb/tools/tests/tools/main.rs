//! The tools as scripts meet them: the same commands with LMDB's own tools on an environment of LMDB's and with ours on
//! one of Duramen's say the same and end with the same code.
//!
//! LMDB's are those of Debian (0.9.24): `make setup` installs them. Where ours differ on purpose, a test says how.

mod copies;
mod loads;
mod names;
mod numbers;
mod peer;
mod round_trips;
