//! `duramen copy`: a database as another file, while it is in use.

use std::fs::File;
use std::path::{Path, PathBuf};

use duramen::{BulkOptions, Database, Durability, Snapshot, TableOptions, TableStats, WriteTxn};
use duramen_dump::{Format, Header};

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::open::{self, Records};
use crate::progress::{Progress, Unit};

const ABOUT: &str = "\
Copy a database into a file of its own, while it is in use: a backup.

The copy is one consistent state of the database and needs no other file. It appears when it is complete and on the \
disk. Nobody waits meanwhile. As it is, it has the same pages as the original, the free ones too; with --compact it \
is made anew, table by table, without free space: shorter, and faster to read through.

To go back to a copy: stop all programs that use the database, copy or rename the copy to its name, and \
remove NAME-log, if there is one: it belongs to what was there before.";

const EXAMPLES: &str = "\
Examples:
  duramen copy people.dm backup/people-monday.dm
  duramen copy people.dm smaller.dm --compact";

/// Arguments of `duramen copy`.
#[derive(clap::Args)]
#[command(about = "Copy a database, while it is in use, into a file of its own", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// The copy; there may be no such file yet
    copy: PathBuf,
    /// Leave free space out
    #[arg(long)]
    compact: bool,
}

/// Runs `duramen copy`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_read(&args.file)?;
    if args.copy.symlink_metadata().is_ok() {
        return Err(Failure::Failed(format!("{} exists already: remove it, or choose another name", show(&args.copy))));
    }
    interrupt::listen("nothing was copied")?;
    let mut partial = args.copy.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let made = if args.compact { compact(&db, &partial) } else { copy(&db, &partial) };
    let placed = made.and_then(|()| put_in_place(&partial, &args.copy));
    if placed.is_err() {
        // The error that is told is the one that matters.
        let _ = std::fs::remove_file(&partial);
    }
    placed
}

fn show(path: &Path) -> impl std::fmt::Display + '_ {
    path.display()
}

/// The pages as they are.
fn copy(db: &Database, to: &Path) -> Result<()> {
    Ok(db.copy_to_file(&create(db, to)?)?)
}

/// A new file that the same users may read and write as the original.
fn create(db: &Database, path: &Path) -> Result<File> {
    let failed = |error: std::io::Error| Failure::Failed(format!("cannot create {}: {error}", show(path)));
    let file = File::create(path).map_err(failed)?;
    let original = std::fs::metadata(db.path()).map_err(failed)?;
    file.set_permissions(original.permissions()).map_err(failed)?;
    Ok(file)
}

/// All entries in order, in a database made anew.
fn compact(db: &Database, to: &Path) -> Result<()> {
    let (snapshot, user_number) = (db.read()?, db.user_number()?);
    drop(create(db, to)?);
    let options = Database::options().page_size(db.page_size()).durability(Durability::Relaxed).without_lock_file();
    let copy = options.open(to)?;
    let mut txn = copy.begin_write()?;
    txn.set_user_number(user_number);
    let names = snapshot.table_names()?;
    let mut total = snapshot.main_stats().entries;
    for name in &names {
        total += snapshot.table_stats(name)?.map_or(0, |stats| stats.entries);
    }
    let mut progress = Progress::new("copy", Unit::Things("entries"), Some(total));
    let mut done = 0;
    for name in std::iter::once(&Vec::new()).chain(&names) {
        fill(&snapshot, &mut txn, name, || {
            done += 1;
            progress.at(done, || String::from_utf8_lossy(name).into_owned());
            interrupt::check()
        })?;
    }
    progress.end();
    txn.commit()?;
    Ok(copy.close()?)
}

/// Fills a table of the copy; `step` is told of each entry.
fn fill(from: &Snapshot<'_>, txn: &mut WriteTxn<'_>, name: &[u8], mut step: impl FnMut() -> Result<()>) -> Result<()> {
    let (table, records) = (open::table_to_walk(from, name)?, Records::of(from, name)?);
    let options = options_of(&table.stats(), name)?;
    if records.len() > 0 {
        // The main table has the records of the others in it, and few entries beside them.
        txn.set_main_options(&options)?;
        let main = txn.main_table();
        for item in table.iter() {
            let (key, value) = item?;
            step()?;
            if !records.hide(key) {
                txn.put(main, key, value)?;
            }
        }
        return Ok(());
    }
    let mut load = txn.bulk_load(name, BulkOptions::new().table(options).sorted(true))?;
    for item in table.iter() {
        let (key, value) = item?;
        step()?;
        load.push(key, value)?;
    }
    load.finish()?;
    Ok(())
}

fn options_of(stats: &TableStats, name: &[u8]) -> Result<TableOptions> {
    if stats.order == "custom" || stats.duplicates == Some("custom") {
        let name = String::from_utf8_lossy(name);
        return Err(Failure::Failed(format!(
            "table {name:?} has an order of a program's own, by which it cannot be made anew: copy without --compact"
        )));
    }
    Ok(Header::of(stats, name, Format::ByteValue, 0).options())
}

fn put_in_place(partial: &Path, to: &Path) -> Result<()> {
    let failed = |what: &str, error: std::io::Error| Failure::Failed(format!("cannot {what} {}: {error}", show(to)));
    let flush = |path: &Path| File::open(path).and_then(|file| file.sync_all());
    flush(partial).map_err(|error| failed("flush", error))?;
    std::fs::rename(partial, to).map_err(|error| failed("make", error))?;
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    flush(directory).map_err(|error| failed("flush the directory of", error))
}
