//! What can be wrong with a dump: the line, and a sentence that says what to do.

/// Something in the input that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct BadInput {
    /// The line, counted from 1.
    pub line: u64,
    /// What was being read.
    pub part: Part,
    /// What is wrong.
    pub problem: Problem,
}

/// Parts of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The lines up to `HEADER=END`.
    Header,
    /// An entry's first line.
    Key,
    /// Its second.
    Value,
}

/// What is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the sentences say what each means")]
pub enum Problem {
    #[error("cannot read on: {0}")]
    Unreadable(std::io::Error),
    #[error(
        "this is no dump, which begins with VERSION=3; make one with `mdb_dump -a` or `duramen dump` (for plain lines \
         of keys and values there is --text)"
    )]
    NoDump,
    #[error("a header's line is NAME=VALUE, and HEADER=END its last")]
    NoName,
    #[error("VERSION={0} is not supported: only up to 3 is")]
    Version(String),
    #[error("type={0} is not supported: only btree is")]
    Type(String),
    #[error("format={0} is not supported: only bytevalue and print are")]
    Format(String),
    #[error("{name}={text} is no number that makes sense here")]
    Number { name: String, text: String },
    #[error("the input ends within a header: it was cut off; dump again")]
    HeaderCutOff,
    #[error("the input ends within this line: it was cut off; dump again")]
    LineCutOff,
    #[error("this line has more than {bytes} bytes, which none has that a table could take: is it what was dumped?")]
    LongLine { bytes: u64 },
    #[error("the input ends before DATA=END: it was cut off; dump again")]
    NoEnd,
    #[error("the last key has no value: a line is missing; dump again")]
    NoValue,
    #[error("a line of data begins with a blank, and DATA=END ends them")]
    NoBlank,
    #[error("an odd number of hexadecimal digits: the line was cut off or changed; dump again")]
    OddDigits,
    #[error(
        "`{digits}` in column {column} is not hexadecimal (does the header say format=bytevalue for what is \
         format=print?)"
    )]
    NoDigits { digits: String, column: usize },
    #[error(
        "a backslash without two hexadecimal digits after it: `mdb_dump -p` before LMDB 0.9.25 writes backslashes so \
         that they cannot be told apart; dump without -p"
    )]
    Backslash,
}
