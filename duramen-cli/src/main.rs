//! The duramen command.
fn main() {}
