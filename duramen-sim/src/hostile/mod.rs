//! Damaged files: made from whole ones by mutations, opened, read, checked, written to.
//!
//! Owns: [`exercise`], all that a program may do with a file that it opens. Must not know: what the answers should be:
//! an error or any answer will do, a panic, a signal or a hang will not.
//!
//! - [`recipe`]: mutations as data, so that a fuzzer finds its way by small inputs.
//! - [`seal`]: right checksums for wrong pages.
//! - [`seeds`]: the whole files.

pub mod recipe;
pub mod seal;
pub mod seeds;

mod exercise;

pub use exercise::{Scratch, exercise};
