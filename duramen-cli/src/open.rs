//! Opening databases, tables and write transactions the way a command needs them.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use duramen::{Database, Error, Snapshot, Table, WriteTxn};

use crate::failure::{Failure, Result};
use crate::output::remark;
use crate::progress::is_quiet;

/// How long a command waits for other writers.
#[derive(clap::Args, Clone, Copy)]
pub struct WaitArgs {
    /// Wait at most this long for other writers (default: as long as it takes)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    wait: Option<Duration>,
}

impl WaitArgs {
    /// How long at most; without end if nothing was said.
    pub fn limit(self) -> Option<Duration> {
        self.wait
    }
}

/// How the file of a database begins.
pub const BEGINNING: &[u8; 8] = b"DURAMEN\x1a";

/// What to do about having waited too long.
pub const WAIT_LONGER: &str = "wait longer with --wait, or without it for ever";

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Reads the size of a database's pages, as the engine takes them.
pub fn page_size(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes: &usize| bytes.is_power_of_two() && (4096..=65536).contains(bytes));
    bytes.ok_or_else(|| "not a power of two from 4096 to 65536".to_string())
}

/// Opens a database that exists, to read.
pub fn to_read(path: &Path) -> Result<Database> {
    Ok(Database::options().read_only(true).open(path)?)
}

/// Opens a database that exists, to change it.
pub fn to_write(path: &Path) -> Result<Database> {
    Ok(Database::options().create(false).open(path)?)
}

/// Whether a Duramen database is in a file, or in `data.mdb` in a directory.
pub fn is_database(path: &Path) -> bool {
    let within = path.join("data.mdb");
    let place = if path.is_dir() { &within } else { path };
    let mut head = [0; BEGINNING.len()];
    // Reading from what is no file takes something away.
    let read = place.is_file().then(|| File::open(place).and_then(|mut file| file.read_exact(&mut head)));
    matches!(read, Some(Ok(()))) && head == *BEGINNING
}

/// Whether a path is of a file of a database, by whatever name, or of one that it would have: its log and its lock file are
/// not always there.
pub fn is_of_database(path: &Path, database: &Path) -> bool {
    let file = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    let place = |path: &Path| {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some((file(directory)?, path.file_name()?.to_owned()))
    };
    let mut own = ["", "-log", "-lock"].map(|ending| {
        let mut name = database.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    if database.file_name().is_some_and(|name| name == "data.mdb") {
        own[2] = database.with_file_name("lock.mdb");
    }
    let is_same = |own: &PathBuf| {
        file(path).is_some_and(|found| file(own) == Some(found)) || place(path).is_some_and(|at| place(own) == Some(at))
    };
    own.iter().any(is_same)
}

/// Begins a write transaction; tells the user if that means waiting.
pub fn begin(db: &Database, args: WaitArgs) -> Result<WriteTxn<'static>> {
    match db.try_begin_write() {
        Err(Error::Busy) => {}
        other => return Ok(other?),
    }
    if !is_quiet() && args.wait != Some(Duration::ZERO) {
        remark("another writer is at work; waiting for it");
    }
    Ok(match args.wait {
        None => db.begin_write()?,
        Some(limit) => db.begin_write_within(limit)?,
    })
}

/// Opens a table to look up keys; `''` is the main table.
pub fn table<'s>(snapshot: &'s Snapshot<'_>, name: &[u8]) -> Result<Table<'s>> {
    Ok(if name.is_empty() { snapshot.main_table()? } else { snapshot.table(name)? })
}

/// The keys of the main table under which it holds the records of other tables: no entries of the user's.
pub struct Records(HashSet<Vec<u8>>);

impl Records {
    /// Those in the table of this name: none but in the main table.
    pub fn of(snapshot: &Snapshot<'_>, name: &[u8]) -> Result<Records> {
        Ok(Records(if name.is_empty() { snapshot.table_names()?.into_iter().collect() } else { HashSet::new() }))
    }

    /// Whether a key is one of them.
    pub fn hide(&self, key: &[u8]) -> bool {
        !self.0.is_empty() && self.0.contains(key)
    }

    /// How many they are.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// What the engine says about free space without a lock can be overtaken by a writer; then it is worth asking again.
pub fn unless_overtaken<R>(mut ask: impl FnMut() -> duramen::Result<R>) -> Result<R> {
    let mut attempts = 0;
    loop {
        match ask() {
            Err(Error::Corrupt { .. }) if attempts < 10 => attempts += 1,
            Err(error) => return Err(Failure::from(error)),
            Ok(answer) => return Ok(answer),
        }
    }
}
