//! The examples run, and the README shows what the first of them does.

#[path = "../examples/basics.rs"]
mod basics;
#[path = "../examples/child_transactions.rs"]
mod child_transactions;
#[path = "../examples/duplicates.rs"]
mod duplicates;
#[path = "../examples/readers_and_writers.rs"]
mod readers_and_writers;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

#[test]
fn basics_run() -> Result {
    basics::main()
}

#[test]
fn duplicates_run() -> Result {
    duplicates::main()
}

#[test]
fn readers_and_writers_run() -> Result {
    readers_and_writers::main()
}

#[test]
fn child_transactions_run() -> Result {
    child_transactions::main()
}

#[test]
fn the_readme_shows_what_the_basics_do() {
    let example = include_str!("../examples/basics.rs");
    let readme = include_str!("../../README.md").split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    for line in readme.expect("a block of Rust").lines() {
        let code = line.split("//").next().unwrap_or(line).trim();
        // The path, and what is done with a range, are the example's own.
        let code = code.replace("\"people.dm\"", "&path");
        if !code.starts_with("for ") {
            assert!(example.contains(&code), "examples/basics.rs has no {code:?}");
        }
    }
}
