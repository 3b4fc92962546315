//! `duramen dump`: tables as text, in the format of mdb_dump.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use duramen::Snapshot;
use duramen_dump::{Format, Header, write_end, write_entry, write_header};

use crate::failure::{Failure, Result};
use crate::open::{self, Records};
use crate::output::{Output, remark};
use crate::partial::Partial;
use crate::progress::{Progress, Unit};
use crate::{interrupt, units};

const ABOUT: &str = "\
Write tables as text, in the format of LMDB's mdb_dump.

Writes one consistent state of the database, whatever is written meanwhile. Without -a or -s that is \
everything: the main table's own entries, if it has any, then every table by name. The format is that of \
LMDB's mdb_dump: `duramen load` and LMDB's mdb_load read it. (LMDB takes keys of 1 to 511 bytes.)";

const EXAMPLES: &str = "\
Examples:
  duramen dump people.dm | gzip > people.dump.gz
  duramen dump people.dm -f people.dump
  duramen dump people.dm -s people -p | less
  mkdir lmdb-dir; duramen dump people.dm | /usr/bin/mdb_load lmdb-dir";

/// Arguments of `duramen dump`.
#[derive(clap::Args)]
#[command(about = "Write tables as text, in the format of LMDB's mdb_dump", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// All tables with a name, and nothing of the main table, as mdb_dump -a does
    #[arg(long, short, conflicts_with = "table")]
    all: bool,
    /// Only this table ('' is the main table)
    #[arg(long, short = 's', value_name = "NAME")]
    table: Option<OsString>,
    /// Printable characters as they are, instead of hexadecimal digits only
    #[arg(long, short)]
    print: bool,
    /// Write to this file, which appears when it is complete, instead of standard output (`-`)
    #[arg(long, short, value_name = "OUTPUT")]
    file: Option<PathBuf>,
}

/// Runs `duramen dump`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_read(&args.path)?;
    let map_bytes = lmdb_map_bytes(open::unless_overtaken(|| db.stats())?.file_bytes);
    let snapshot = db.read()?;
    let format = if args.print { Format::Print } else { Format::ByteValue };
    let names = names(&snapshot, args)?;
    // Before the first byte of what would not be whole.
    names.iter().try_for_each(|name| check_name(name))?;
    let dump = Dump { snapshot: &snapshot, names, format, map_bytes };
    match args.file.as_ref().filter(|path| !STDOUT.iter().any(|name| path.as_os_str() == *name)) {
        None => {
            let mut out = Output::stdout();
            dump.write(&mut out, || Ok(()))?;
            out.finish()
        }
        Some(path) if open::is_of_database(path, db.path()) => {
            Err(Failure::Usage(format!("{} is a file of the database: a dump would replace it", path.display())))
        }
        Some(path) => dump.write_file(path),
    }
}

/// Where a file is made by whoever opens it by this path: links to it may be there before it is.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut end = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        match std::fs::read_link(&end) {
            Ok(to) => end = end.parent().unwrap_or(Path::new("")).join(to),
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(end);
            }
            Err(error) => return Err(error),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Room for LMDB to store the same: its pages are not as full, and its free ones not as few. In large steps, so that
/// the same content is nearly always the same dump.
fn lmdb_map_bytes(file_bytes: u64) -> u64 {
    file_bytes.saturating_mul(4).checked_next_power_of_two().unwrap_or(1 << 63).max(1 << 30)
}

/// The tables to dump; an empty name is the main table.
fn names(snapshot: &Snapshot<'_>, args: &Args) -> Result<Vec<Vec<u8>>> {
    if let Some(name) = &args.table {
        return Ok(vec![name.as_bytes().to_vec()]);
    }
    let mut names = snapshot.table_names()?;
    if args.all && names.is_empty() {
        return Err(Failure::No("there is no table with a name; without -a the main table is dumped".to_string()));
    }
    let main = snapshot.table_to_walk(b"")?;
    if !args.all && (names.is_empty() || main.len() > names.len() as u64) {
        // First: mdb_load takes a section without a name for the table of the section before it.
        names.insert(0, Vec::new());
    }
    Ok(names)
}

struct Dump<'s> {
    snapshot: &'s Snapshot<'s>,
    names: Vec<Vec<u8>>,
    format: Format,
    map_bytes: u64,
}

impl Dump<'_> {
    /// Writes it to what is there, if that is no file but a device or a pipe, and else makes a file.
    fn write_file(&self, path: &Path) -> Result<()> {
        interrupt::listen("nothing was dumped")?;
        match std::fs::metadata(path) {
            Ok(there) if !there.is_file() => {
                let out = File::options().write(true).open(path).map_err(|error| failed("open", path, &error))?;
                self.write_to(&out, path)
            }
            Ok(_) if open::is_database(path) => {
                let path = path.display();
                Err(Failure::Failed(format!("{path} is a database: remove it first, if a dump is to have its name")))
            }
            Ok(there) => {
                let linked = std::fs::canonicalize(path).map_err(|error| failed("find", path, &error))?;
                self.make_file(&linked, Some(&there))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let linked = end_of_links(path).map_err(|error| failed("find", path, &error))?;
                self.make_file(&linked, None)
            }
            Err(error) => Err(failed("find", path, &error)),
        }
    }

    /// Writes it beside the file and then puts it in its place, with the owner and the permissions of what it replaces.
    fn make_file(&self, path: &Path, replaced: Option<&Metadata>) -> Result<()> {
        let partial = Partial::beside(path, if replaced.is_some() { 0o600 } else { 0o666 })?;
        self.write_to(partial.file(), partial.path())?;
        if let Some(replaced) = replaced {
            partial.give(replaced)?;
        }
        partial.complete(path)
    }

    fn write_to(&self, file: &File, path: &Path) -> Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, Named { file, path });
        let named = |failure| match failure {
            Failure::Closed => Failure::Failed(format!("cannot write {}: nobody reads it", path.display())),
            other => other,
        };
        let written = self.write(&mut out, interrupt::check).and_then(|()| Ok(out.flush()?)).map_err(named);
        // What is left would be tried once more.
        drop(out.into_parts());
        written
    }

    fn write(&self, out: &mut impl Write, may_go_on: impl Fn() -> Result<()>) -> Result<()> {
        let mut total = 0;
        for name in &self.names {
            total += self.snapshot.table_to_walk(name)?.len();
        }
        let mut progress = Progress::new("dump", Unit::Things("entries"), Some(total));
        let mut done = 0;
        for name in &self.names {
            self.write_table(out, name, |n| {
                done += n;
                progress.at(done, || String::from_utf8_lossy(name).into_owned());
                may_go_on()
            })?;
        }
        Ok(())
    }

    fn write_table(&self, out: &mut impl Write, name: &[u8], mut step: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let table = self.snapshot.table_to_walk(name)?;
        let stats = table.stats();
        if stats.is_custom() {
            let name = String::from_utf8_lossy(name);
            remark(&format!(
                "table {name:?} has an order of its own, which the format has no word for: it loads bytewise"
            ));
        }
        write_header(out, &Header::of(&stats, name, self.format, self.map_bytes))?;
        let records = Records::of(self.snapshot, name)?;
        let mut line = Vec::new();
        let mut since = 0;
        for item in table.iter() {
            let (key, value) = item?;
            if !records.hide(key) {
                write_entry(out, self.format, key, value, &mut line)?;
            }
            since += 1;
            if since == STEP {
                step(STEP)?;
                since = 0;
            }
        }
        step(since)?;
        Ok(write_end(out)?)
    }
}

/// A file whose errors have its name.
struct Named<'f> {
    file: &'f File,
    path: &'f Path,
}

impl Write for Named<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file;
        file.write(bytes).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display())))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output: it may be a file that others have written to before, which is not to be replaced.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// As many links to links as the kernel follows.
const LINKS_MAX: u32 = 40;

/// Entries between two looks at the clock.
const STEP: u64 = 1024;

/// Names that the format cannot tell.
fn check_name(name: &[u8]) -> Result<()> {
    if !name.contains(&b'\n') && !name.contains(&0) {
        return Ok(());
    }
    let shown = units::escaped(name);
    Err(Failure::Failed(format!(
        "table {shown} has a line break or NUL in its name, which the format cannot hold: dump the others one by one \
         with -s, or copy the database as it is with `duramen copy`"
    )))
}

fn failed(op: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot {op} {}: {error}", path.display()))
}
