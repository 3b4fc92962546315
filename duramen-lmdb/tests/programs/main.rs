//! Programs that were built for LMDB, on LMDB's own library and on this one: Debian's binaries as they are, and the test
//! programs that come with LMDB.
//!
//! Each does its work on both, with the same result. On ours it is killed in between and started again, has this
//! library in its memory, and leaves files in which `duramen check` finds nothing.
//!
//! What they need, `make setup` installs; a program that is missing fails its test. Servers listen on free ports of the
//! loopback device, keep everything in temporary directories and are ended by their own process numbers.

mod bind;
#[path = "../building/mod.rs"]
mod building;
mod dns;
mod icestorm;
mod knot;
mod kresd;
mod ldb;
mod library;
mod mtest;
mod postfix;
mod powerdns;
mod python;
mod scripts;
mod server;
mod slapd;
