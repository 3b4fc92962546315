//! Damaged files: made from whole ones by mutations, opened, read, checked, written to.
//!
//! Owns: [`exercise`], all that a program may do with a file that it opens, and [`visit`], a part of it. Must not know: what the answers should be:
//! an error or any answer will do, a panic, a signal or a hang will not.
//!
//! - [`recipe`]: mutations as data, so that a fuzzer finds its way by small inputs.
//! - [`seal`]: right checksums for wrong pages.
//! - [`seeds`]: the whole files.

pub mod recipe;
pub mod seal;
pub mod seeds;

mod exercise;

pub use exercise::{Scratch, VISITS, exercise, visit};

/// What the fuzz target `recipe` does with an input: a visit to a database mutated as the recipe says.
pub fn visit_recipe(scratch: &Scratch, seeds: &[Vec<u8>], input: &[u8]) -> u32 {
    let flags = input.get(1).copied().unwrap_or(0);
    visit(scratch, &recipe::cook(input, seeds), recipe::visit_of(flags))
}

/// What the fuzz target `file` does with an input: a visit to a file, whose last byte are the flags.
pub fn visit_file(scratch: &Scratch, input: &[u8]) -> u32 {
    let flags = input.last().copied().unwrap_or(0);
    visit(scratch, &recipe::sealed(input), recipe::visit_of(flags))
}
