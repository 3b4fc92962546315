//! `duramen load`: what `duramen dump` or mdb_dump wrote, or a data file of LMDB's, into tables.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Instant;

use duramen::{BulkOptions, BulkProgress, Database, Error, Put, TableId, WriteTxn};
use duramen_dump::Header;
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::open::{self, WaitArgs};
use crate::output::{Output, remark};
use crate::progress::{Progress, Unit, is_quiet};
use crate::shape::ShapeArgs;
use crate::source::{Bad, Source};
use crate::target::Target;
use crate::{interrupt, units};

const ABOUT: &str = "\
Load what `duramen dump` or LMDB's mdb_dump wrote, or a data file of LMDB's.

Reads the text format of LMDB's mdb_dump, in one section or many: each goes to the table that it names, or \
to the main table if it names none. Tables that are not there are created, of the kind that the section \
says (with --text, that --order and --duplicates say). An entry replaces what its key has, or goes beside its other values in a table with duplicates.

A data file of LMDB 0.9, or the directory that its data.mdb is in, is read as it is, each of its tables as a section. No \
program may write to it meanwhile.

All is loaded in one transaction: everything, or nothing if something is wrong or Ctrl-C is pressed; a new database \
appears when it is complete. An error names the line, or the page. (With --commit-every what was committed before the \
error stays; a new database appears with the first commit.)

With --bulk each table is sorted and built as a whole, which is many times faster for large input, above all in \
random order. The tables must be new or empty. Sorting takes a temporary file as large as the input if memory is not \
enough.";

const EXAMPLES: &str = "\
Examples:
  duramen load new.dm lmdb-dir                       all of an LMDB database
  mdb_dump -a lmdb-dir | duramen load new.dm         the same by way of text
  duramen load new.dm people.dump
  mdb_dump lmdb-dir | duramen load new.dm -s people  the main one, as a table
  zcat people.dump.gz | duramen load new.dm
  duramen load --bulk new.dm huge.dump
  printf 'key one\\nvalue one\\n' | duramen load new.dm -T -s people";

/// Arguments of `duramen load`.
#[derive(clap::Args)]
#[command(about = "Load what `duramen dump` or LMDB's mdb_dump wrote, or LMDB's data files", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database; it is created if it is not there
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// The dump, or a data file of LMDB's or its directory; standard input if it is `-` or missing
    input: Option<PathBuf>,
    /// Load the one section into this table, whatever it names
    #[arg(long, short = 's', value_name = "NAME")]
    table: Option<OsString>,
    /// The input is plain lines, a key and its value in turn, `\` escaped as in `mdb_dump -p`
    #[arg(long, short = 'T')]
    text: bool,
    /// Leave entries alone whose keys are there already
    #[arg(long, short = 'N')]
    no_overwrite: bool,
    /// Commit after every so many entries, instead of once at the end
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    commit_every: Option<u64>,
    /// Sort and build each table as a whole: for large input into new or empty tables
    #[arg(long, conflicts_with_all = ["no_overwrite", "commit_every"])]
    bulk: bool,
    /// Where --bulk puts its temporary file, if not beside the database
    #[arg(long, value_name = "DIR", requires = "bulk")]
    temp_dir: Option<PathBuf>,
    /// Memory that --bulk sorts in, in MiB (256 unless given, less where there is little)
    #[arg(long, value_name = "MIB", requires = "bulk")]
    memory: Option<usize>,
    /// Page size of a database that is created: a power of two from 4096 to 65536
    #[arg(long, value_name = "BYTES", value_parser = open::page_size)]
    page_size: Option<usize>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `duramen load`.
pub fn run(args: &Args) -> Result<()> {
    if !args.text && args.shape.options().is_some() {
        return Err(Failure::Usage(
            "--order and --duplicates are for --text: other input says itself of what kind its tables are".to_string(),
        ));
    }
    let source = Source::open(args.input.as_deref(), args.text)?;
    let mut options = Database::options();
    if let Some(bytes) = args.page_size {
        options = options.page_size(bytes);
    }
    interrupt::listen(NOTHING)?;
    let target = Target::open(&args.path, options, args.wait)?;
    let begun = Instant::now();
    let mut load = Load {
        args,
        place: Some(Place { txn: target.begin(args.wait)?, target }),
        progress: reading(source.length),
        source,
        entries: 0,
        tables: 0,
        skipped: 0,
        committed: 0,
    };
    load.sections()?;
    let Load { place, entries, tables, skipped, committed, progress, .. } = load;
    if let Some(Place { txn, target }) = place {
        interrupt::set_consequence(UNKNOWN);
        txn.commit().map_err(|error| failed(error, committed))?;
        drop(progress);
        target.complete()?;
    }
    let time = begun.elapsed();
    if args.json {
        let mut out = Output::stdout();
        out.json(&json!({ "entries": entries, "tables": tables, "skipped": skipped, "seconds": time.as_secs_f64() }))?;
        return out.finish();
    }
    if !is_quiet() {
        let (tables, rate) = (units::plural(tables, "table"), units::rate(entries, time));
        remark(&format!("loaded {} into {tables}, {rate}", units::plural(entries, "entry")));
        if skipped > 0 {
            remark(&format!("left {} alone that had their keys there already", units::plural(skipped, "entry")));
        }
    }
    Ok(())
}

/// The progress of reading the input.
fn reading(bytes: Option<u64>) -> Progress {
    Progress::new("load", Unit::Bytes, bytes)
}

/// What ends a load.
enum Trouble {
    Input(Bad),
    Engine(Error),
    Other(Failure),
}

/// Where entries go.
struct Place {
    // Goes before the database that it is of.
    txn: WriteTxn<'static>,
    target: Target,
}

/// A load under way.
struct Load<'a> {
    args: &'a Args,
    /// Missing only from the end of one transaction to the beginning of the next.
    place: Option<Place>,
    source: Source,
    progress: Progress,
    entries: u64,
    tables: u64,
    skipped: u64,
    /// Entries that are committed already.
    committed: u64,
}

const PLACE: &str = "a transaction from one commit to the next";

const NOTHING: &str = "nothing was loaded";

/// Of a commit that is not finished: the file itself is whole either way.
const UNKNOWN: &str = "it was being committed: look whether it is there";

/// Entries between two looks at the clock and at Ctrl-C.
const STEP: u64 = 256;

/// What stays of a load of which so many entries are committed.
fn remains(committed: u64) -> String {
    match committed {
        0 => NOTHING.to_string(),
        1 => "the first entry was loaded and committed".to_string(),
        n => format!("the first {} were loaded and committed", units::plural(n, "entry")),
    }
}

/// What has failed that is no fault of the input: a commit, of which nothing stays then.
fn failed(failure: impl Into<Failure>, committed: u64) -> Failure {
    match failure.into() {
        Failure::Failed(what) | Failure::Damaged(what) => Failure::Failed(format!("{what}; {}", remains(committed))),
        other => other,
    }
}

impl Load<'_> {
    fn sections(&mut self) -> Result<()> {
        if self.args.text {
            let target = self.args.table.as_ref().map(|name| name.as_bytes().to_vec());
            return self.section(target.as_deref(), None);
        }
        while let Some(header) = self.source.next_header().map_err(|bad| self.bad(&bad))? {
            let target = self.target(&header)?;
            self.section(target.as_deref(), Some(&header))?;
        }
        if self.tables == 0 {
            return Err(Failure::Failed(format!("{}: there is nothing in it", self.source.name())));
        }
        Ok(())
    }

    /// The table that a section goes to; `None` is the main table.
    fn target(&self, header: &Header) -> Result<Option<Vec<u8>>> {
        self.source.remark_on_header();
        if let Some(what) = header.contradiction() {
            return Err(self.wrong(&format!("in the header that ends here {what}; correct it")));
        }
        let Some(name) = &self.args.table else {
            return Ok(header.database.clone());
        };
        if self.tables > 0 {
            return Err(self.wrong("this is a second section, and -s takes one only: load without -s"));
        }
        Ok(Some(name.as_bytes().to_vec()))
    }

    fn section(&mut self, name: Option<&[u8]>, header: Option<&Header>) -> Result<()> {
        if self.args.bulk && self.can_be_whole(name)? {
            return self.whole_section(name.unwrap_or_default(), header);
        }
        let mut id = self.open_table(name, header)?;
        self.tables += 1;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while self.source.next_entry(&mut key, &mut value).map_err(|bad| self.bad(&bad))? {
            self.store(id, &key, &value)?;
            if self.entries.is_multiple_of(STEP) {
                self.step()?;
            }
            if self.args.commit_every.is_some_and(|every| self.entries.is_multiple_of(every)) {
                self.commit()?;
                id = self.open_table(name, header)?;
            }
        }
        Ok(())
    }

    /// Whether a table can be built as a whole: the main table cannot once it has others in it.
    fn can_be_whole(&mut self, name: Option<&[u8]>) -> Result<bool> {
        Ok(name.is_some_and(|name| !name.is_empty()) || self.txn().table_names()?.is_empty())
    }

    /// Loads a section as a whole.
    fn whole_section(&mut self, name: &[u8], header: Option<&Header>) -> Result<()> {
        self.tables += 1;
        self.progress = reading(self.source.length);
        let options = self.bulk_options(header);
        let txn = &mut self.place.as_mut().expect(PLACE).txn;
        let (source, progress, entries) = (&mut self.source, &mut self.progress, &mut self.entries);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let loaded = txn.bulk_load(name, options).map_err(Trouble::Engine).and_then(|mut load| {
            while source.next_entry(&mut key, &mut value).map_err(Trouble::Input)? {
                load.push(&key, &value).map_err(Trouble::Engine)?;
                *entries += 1;
                if entries.is_multiple_of(STEP) {
                    progress.at(source.bytes(), || units::plural(*entries, "entry"));
                    interrupt::check().map_err(Trouble::Other)?;
                }
            }
            progress.end();
            load.finish().map_err(Trouble::Engine)
        });
        match loaded {
            Ok(_) => interrupt::check(),
            Err(Trouble::Input(bad)) => Err(self.bad(&bad)),
            Err(Trouble::Other(failure)) => Err(failure),
            Err(Trouble::Engine(Error::Stopped)) => interrupt::check(),
            // The line says which record it is.
            Err(Trouble::Engine(Error::Record { source, .. })) => Err(self.refused(&source)),
            Err(Trouble::Engine(error @ Error::Incompatible { .. })) => {
                let table = match name {
                    b"" => "the main table".to_string(),
                    name => format!("the table `{}`", String::from_utf8_lossy(name)),
                };
                let what = format!("{table}: {error}: load without --bulk");
                // At the beginning of the load: no line is to blame.
                Err(Failure::Failed(format!("{what}; {}", self.remains())))
            }
            Err(Trouble::Engine(error)) => Err(self.refused(&error)),
        }
    }

    fn bulk_options(&self, header: Option<&Header>) -> BulkOptions {
        let mut storing = None;
        let mut options = BulkOptions::new().on_progress(move |progress: BulkProgress| {
            if progress.stored > 0 {
                let begin = || Progress::new("store", Unit::Things("entries"), Some(progress.pushed));
                storing.get_or_insert_with(begin).at(progress.stored, String::new);
            }
            if interrupt::check().is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(table) = header.map(Header::options).or_else(|| self.args.shape.options()) {
            options = options.table(table);
        }
        if let Some(directory) = &self.args.temp_dir {
            options = options.temp_dir(directory);
        }
        if let Some(mebibytes) = self.args.memory {
            options = options.memory_budget(mebibytes.saturating_mul(1 << 20));
        }
        options
    }

    /// The table of a section, of the kind that its header says, or the arguments if there is none.
    fn open_table(&mut self, name: Option<&[u8]>, header: Option<&Header>) -> Result<TableId> {
        let options = header.map(Header::options).or_else(|| self.args.shape.options());
        let txn = self.txn();
        let opened = match (name.unwrap_or_default(), &options) {
            (b"", None) => Ok(txn.main_table()),
            (b"", Some(options)) => txn.set_main_options(options).map(|()| txn.main_table()),
            (name, options) => txn.open_table(name, options.as_ref()),
        };
        opened.map_err(|error| self.refused(&error))
    }

    /// What the engine says against a table or an entry, and what to do.
    fn refused(&self, error: &Error) -> Failure {
        match error {
            // Of the database or the disk: no fault of the input's.
            Error::Corrupt { .. } | Error::Io { .. } | Error::File { .. } => {
                Failure::Failed(format!("{error}; {}", self.remains()))
            }
            Error::TableOptions { .. } => self.wrong(&format!("{error}: load into another table with -s")),
            // Of integers, and of values of one size, no page holds other ones.
            Error::KeyLength { bytes, max, .. }
            | Error::NameLength { bytes, max }
            | Error::ValueLength { bytes, max, .. }
                if bytes > max && *max > 1000 =>
            {
                self.wrong(&format!("{error} (a database with a larger --page-size takes longer ones)"))
            }
            error => self.wrong(&error.to_string()),
        }
    }

    fn store(&mut self, id: TableId, key: &[u8], value: &[u8]) -> Result<()> {
        let stored = if self.args.no_overwrite {
            self.txn().table_by_id(id).and_then(|mut table| table.insert(key, value))
        } else {
            self.txn().put(id, key, value).map(|()| Put::Stored)
        };
        match stored {
            Ok(Put::Stored) => self.entries += 1,
            Ok(Put::Exists) => self.skipped += 1,
            Err(error) => return Err(self.refused(&error)),
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        let entries = self.entries;
        self.progress.at(self.source.bytes(), || units::plural(entries, "entry"));
        interrupt::check()
    }

    fn commit(&mut self) -> Result<()> {
        let Place { txn, target } = self.place.take().expect(PLACE);
        interrupt::set_consequence(UNKNOWN);
        txn.commit().map_err(|error| failed(error, self.committed))?;
        let target = target.appear().map_err(|failure| failed(failure, self.committed))?;
        self.committed = self.entries;
        interrupt::set_consequence(&self.remains());
        let txn = target.begin(self.args.wait).map_err(|failure| failed(failure, self.committed))?;
        self.place = Some(Place { txn, target });
        Ok(())
    }

    fn txn(&mut self) -> &mut WriteTxn<'static> {
        &mut self.place.as_mut().expect(PLACE).txn
    }

    /// What stays of the load when it fails now.
    fn remains(&self) -> String {
        remains(self.committed)
    }

    fn at(&self, what: &str) -> String {
        format!("{}: {what}", self.source.place())
    }

    fn wrong(&self, what: &str) -> Failure {
        Failure::Failed(format!("{}; {}", self.at(what), self.remains()))
    }

    fn bad(&self, bad: &Bad) -> Failure {
        Failure::Failed(format!("{bad}; {}", self.remains()))
    }
}
