//! The interface from outside: C programs run on both libraries, what the libraries export, what the header declares, what
//! the documentation says about each name, and what `make install` installs.
//!
//! LMDB's own library and header are Debian's (0.9.24): `make setup` installs them.

mod abi;
#[path = "../building/mod.rs"]
mod building;
mod built;
mod document;
mod exports;
mod header;
mod install;
mod memcheck;
mod programs;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
