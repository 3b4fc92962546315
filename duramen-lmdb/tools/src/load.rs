//! `mdb_load`: what `mdb_dump` wrote, or pairs of lines, into tables.
//!
//! Commits once a section, and waits for the disk once, at the end. LMDB's tool commits after every hundred entries: here
//! that would leave so many pages free that a table could outgrow the limit which the dump has for it.

use std::ffi::{CStr, CString, OsStr};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;

use duramen_dump::{BadInput, Header, Line, Part, Problem, Reader};
use duramen_lmdb::abi::{db, env as flag};

use crate::dump::reopening;
use crate::failure::{Failed, Failure, Result};
use crate::lmdb::{Dbi, Env, Txn, describe};
use crate::options::{Options, Syntax, parse};
use crate::storing::{Stored, Storing};

const SYNTAX: Syntax =
    Syntax { letters: c"af:m:ns:NQTVw:", synopsis: "[-V] [-a] [-f input] [-n] [-s name] [-N] [-Q] [-T] dbpath" };

/// Runs `mdb_load`.
pub fn run(words: &[CString]) -> Result {
    let Some(options) = parse(words, &SYNTAX)? else { return Ok(()) };
    let input = input(&options)?;
    let reader = if options.has(b'T') { Reader::bare(input) } else { Reader::new(input) };
    let mut load = Load { options: &options, reader };
    // The first header has limits that must be known before the environment is opened.
    let first = load.next_section()?;
    let env = Env::create(2).or_failed("mdb_env_create")?;
    if let Some(Section { header: Some(header), .. }) = &first {
        env.set_limits(header.map_bytes, header.max_readers).or_failed("mdb_env_set_mapsize")?;
        if header.map_bytes > 0 {
            // Values of a page or two may take a page more here than where they come from.
            env.lift_limit();
        }
    }
    env.open(&options.path, options.env_flags() | flag::NOSYNC, 0o664).or_failed("mdb_env_open")?;
    let loaded = load.sections(&env, first);
    let synced = env.sync().or_failed("mdb_env_sync");
    loaded.and(synced)
}

fn input(options: &Options<'_>) -> Result<Box<dyn BufRead>> {
    let Some(name) = options.argument(b'f') else { return Ok(Box::new(io::stdin().lock())) };
    match File::open(OsStr::from_bytes(name.to_bytes())) {
        Ok(file) => Ok(Box::new(BufReader::with_capacity(1 << 16, file))),
        Err(error) => Err(reopening(options.tool, name, &error)),
    }
}

/// What is to be loaded into one table.
struct Section {
    /// Missing where the input is pairs of lines.
    header: Option<Header>,
    /// The table's name; none is the main one's.
    name: Option<CString>,
    flags: u32,
}

struct Load<'a> {
    options: &'a Options<'a>,
    reader: Reader<Box<dyn BufRead>>,
}

impl Load<'_> {
    /// The next section; none at the end of the input.
    fn next_section(&mut self) -> Result<Option<Section>> {
        let asked = self.options.argument(b's').map(CStr::to_owned);
        if self.options.has(b'T') {
            return Ok(Some(Section { header: None, name: asked, flags: 0 }));
        }
        let header = self.reader.next_header();
        let lines = self.reader.header_lines();
        let says_dupsort = lines.iter().any(|line| line.name == "dupsort");
        for line in lines.iter().filter(|line| !is_word_of_lmdb(line, says_dupsort)) {
            let what = format!("line {}: unrecognized keyword ignored: {}", line.number, line.name);
            // The load goes on whether or not somebody can read it.
            let _ = io::stderr().write_all(Failure::of(self.options.tool, what).text());
        }
        let Some(header) = header.map_err(|bad| self.bad(&bad))? else { return Ok(None) };
        let own = header.database.as_ref().map(|name| CString::new(name.as_slice()));
        let own = own.transpose().map_err(|_| self.at("the table's name has a NUL in it"))?;
        Ok(Some(Section { flags: flags_of(&header), name: own.or(asked), header: Some(header) }))
    }

    fn sections(&mut self, env: &Env, first: Option<Section>) -> Result {
        let Some(mut section) = first else { return self.nothing(env) };
        loop {
            self.section(env, &section)?;
            if self.options.has(b'T') {
                return Ok(());
            }
            match self.next_section()? {
                Some(next) => section = next,
                None => return Ok(()),
            }
        }
    }

    /// An input without anything in it still makes the table that it would have gone to.
    fn nothing(&self, env: &Env) -> Result {
        let txn = env.begin(0).or_failed("mdb_txn_begin")?;
        txn.open(self.options.argument(b's'), db::CREATE).or_failed("mdb_open")?;
        self.commit(txn)
    }

    fn section(&mut self, env: &Env, section: &Section) -> Result {
        let txn = env.begin(0).or_failed("mdb_txn_begin")?;
        let table = txn.open(section.name.as_deref(), section.flags | db::CREATE).or_failed("mdb_open")?;
        let has_duplicates = section.flags & db::DUPSORT != 0;
        let mut storing = Storing::new(self.options.has(b'N'), self.options.has(b'a'), has_duplicates);
        let end = self.entries((&txn, table), &mut storing)?;
        self.commit(txn)?;
        env.close_table(table);
        match end {
            End::Regular => Ok(()),
            End::BadKey(failure) => Err(failure),
        }
    }

    /// Stores a section's entries.
    fn entries(&mut self, (txn, table): (&Txn<'_>, Dbi), storing: &mut Storing) -> Result<End> {
        let mut cursor = txn.cursor(table).or_failed("mdb_cursor_open")?;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        loop {
            match self.reader.next_entry(&mut key, &mut value) {
                Ok(true) => {}
                Ok(false) => return Ok(End::Regular),
                Err(BadInput { problem: Problem::NoEnd, part: Part::Key, .. }) => {
                    self.warn("the input ends without DATA=END: was it cut off?");
                    return Ok(End::Regular);
                }
                Err(bad) if bad.part == Part::Key => return Ok(End::BadKey(self.bad(&bad))),
                Err(bad) => return Err(self.no_value(&bad)),
            }
            match storing.store((txn, table), &mut cursor, (&key, &value)) {
                Ok(Stored::Now | Stored::Before) => {}
                Ok(Stored::InAnotherOrder) => {
                    self.warn("not in the table's order, so it gets one that programs must give their function for");
                }
                Err(code) => {
                    let what = format!("mdb_cursor_put failed, error {} {}", code.0, describe(code));
                    return Err(self.at(what));
                }
            }
        }
    }

    fn commit(&self, txn: Txn<'_>) -> Result {
        txn.commit().map_err(|code| self.at(format!("txn_commit: {}", describe(code))))
    }

    /// A failure at the line that was read last.
    fn at(&self, what: impl Display) -> Failure {
        Failure::of(self.options.tool, format!("line {}: {what}", self.reader.line_number()))
    }

    /// A remark on the line that was read last. The load goes on whether or not somebody can read it.
    fn warn(&self, what: &str) {
        let _ = io::stderr().write_all(self.at(what).text());
    }

    /// What is wrong with a line, in the words of LMDB's tool, which has but one for all that is wrong with data.
    fn bad(&self, bad: &BadInput) -> Failure {
        self.at(match &bad.problem {
            Problem::NoDump | Problem::NoName => "unexpected format".to_string(),
            Problem::Version(text) => format!("unsupported VERSION {text}"),
            Problem::Format(text) => format!("unsupported FORMAT {text}"),
            Problem::Type(text) => format!("unsupported type {text}"),
            Problem::Number { name, text } => format!("invalid {name} {text}"),
            problem => format!("unexpected end of input ({problem})"),
        })
    }

    /// What is wrong with a value, and that its key is not stored for that.
    fn no_value(&self, bad: &BadInput) -> Failure {
        let consequence = self.at("failed to read key value");
        if matches!(bad.problem, Problem::NoValue) { consequence } else { self.bad(bad).and(consequence) }
    }
}

/// How a section ended.
enum End {
    Regular,
    /// With a key that cannot be read: none of the entries before it is the worse for that.
    BadKey(Failure),
}

/// Whether LMDB's tool knows a line's name; it passes over the others and says so. What only Duramen's dumps have is not
/// worth a word. Berkeley DB's `duplicates` is heeded where `dupsort` does not come with it.
fn is_word_of_lmdb(line: &Line, says_dupsort: bool) -> bool {
    match line.name.as_str() {
        "duplicates" => !says_dupsort,
        "db_pagesize" => false,
        _ => line.is_known,
    }
}

fn flags_of(header: &Header) -> u32 {
    let flags = [
        (header.reverse_key, db::REVERSEKEY),
        (header.duplicates, db::DUPSORT),
        (header.integer_key, db::INTEGERKEY),
        (header.dup_fixed, db::DUPFIXED),
        (header.integer_dup, db::INTEGERDUP),
        (header.reverse_dup, db::REVERSEDUP),
    ];
    flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum()
}
