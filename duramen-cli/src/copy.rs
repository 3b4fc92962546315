//! `duramen copy`: a database as another file, while it is in use.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use duramen::Database;

use crate::check;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::open;
use crate::output::Output;
use crate::partial::Partial;
use crate::progress::{Progress, Unit};

/// Between two looks at how far a copy is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

const ABOUT: &str = "\
Copy a database into a file of its own, while it is in use: a backup.

The copy is one consistent state of the database and needs no other file. It appears when it is complete and on the \
disk, with the permissions of the original, and its owner if root copies. Nobody waits meanwhile. As it is, it has the same pages as the original, the free ones too; with --compact it \
is made anew, table by table, without free space: shorter, and faster to read through.

Pages are copied without a look at what is in them, damaged ones too. With --check the copy is read through when it is complete, as \
`duramen check` does; the exit code is 1 if anything is found. The copy stays then, and earlier ones should: they may be whole. \
With --compact, nothing that is damaged is copied: such a copy is not made at all, and the exit code is 2.

A copy that is called - goes to standard output, page after page: through a pipe to another machine, or \
to what packs it. Who keeps it there should see that the exit code is 0: else it is not whole.

To go back to a copy: stop all programs that use the database, copy or rename the copy to its name, and \
remove NAME-log, if there is one: it belongs to what was there before.";

const EXAMPLES: &str = "\
Examples:
  duramen copy people.dm backup/people-monday.dm --check
  duramen copy people.dm smaller.dm --compact
  duramen copy people.dm - | gzip > people-monday.dm.gz";

/// Arguments of `duramen copy`.
#[derive(clap::Args)]
#[command(about = "Copy a database, while it is in use, into a file of its own", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// The copy; there may be no such file yet. - is standard output
    copy: PathBuf,
    /// Leave free space out
    #[arg(long)]
    compact: bool,
    /// Verify the copy when it is complete, as `duramen check` does; exit code 1 if there are any findings
    #[arg(long)]
    check: bool,
}

/// Runs `duramen copy`.
pub fn run(args: &Args) -> Result<()> {
    let is_stream = args.copy == Path::new("-");
    if is_stream {
        check_stream(args)?;
    }
    let db = open::to_read(&args.file)?;
    if is_stream {
        return to_stdout(&db);
    }
    if open::is_of_database(&args.copy, db.path()) {
        return Err(Failure::Usage(format!("{} is the name of a file of the database", show(&args.copy))));
    }
    if args.copy.symlink_metadata().is_ok() {
        return Err(Failure::Failed(format!("{} exists already: remove it, or choose another name", show(&args.copy))));
    }
    interrupt::listen("nothing was copied")?;
    // In the end the same users may read and write it as the original; until then nobody else.
    let partial = Partial::beside(&args.copy, 0o600)?;
    if args.compact {
        compact(&db, partial.path())?;
    } else {
        as_it_is(&db, partial.file())?;
    }
    let original = std::fs::metadata(db.path());
    partial.give(&original.map_err(|error| Failure::Failed(format!("cannot find {}: {error}", show(db.path()))))?)?;
    partial.complete_new(&args.copy)?;
    if args.check { verify(args) } else { Ok(()) }
}

/// What there is only for files, and who would only look at it.
fn check_stream(args: &Args) -> Result<()> {
    let wrong = match args {
        Args { check: true, .. } => {
            "--check reads the copy, and cannot from standard output: copy to a file, or check it where it arrives"
        }
        Args { compact: true, .. } => "--compact builds the copy in a file: copy to a file first",
        _ if io::stdout().is_terminal() => {
            "standard output is a terminal, and a copy is no text: use a pipe, or name a file"
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(wrong.into()))
}

/// The pages as they are, one after the other.
fn to_stdout(db: &Database) -> Result<()> {
    let total = open::unless_overtaken(|| db.stats())?.file_bytes;
    let progress = Progress::new("copy", Unit::Bytes, Some(total));
    let mut counted = Counted { out: Output::stdout(), done: 0, progress };
    let copied = db.copy_to(&mut counted);
    if let Some(failure) = counted.out.failure() {
        return Err(failure);
    }
    copied?;
    counted.out.finish()
}

/// Tells of what goes through it.
struct Counted {
    out: Output,
    done: u64,
    progress: Progress,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.done += written as u64;
        self.progress.at(self.done, String::new);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What a check finds in the copy, which stays: it may be all that there is to save anything from.
fn verify(args: &Args) -> Result<()> {
    interrupt::set_consequence("the copy is made, and was not checked");
    // Beside a backup no lock file is left: nobody changes what has only just been made.
    let opened = Database::options().read_only(true).without_lock_file().open(&args.copy).map_err(Failure::from);
    let findings = match opened.and_then(|db| check::report(&db)) {
        Ok(report) => report.findings,
        Err(Failure::Damaged(what)) => vec![what],
        Err(failure) => return Err(failure),
    };
    if findings.is_empty() {
        return Ok(());
    }
    let mut out = Output::stdout();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    out.finish()?;
    Err(Failure::No(format!(
        "{} is made, but is the copy of a damaged database: keep earlier ones, and see what `duramen check {}` says",
        show(&args.copy),
        show(&args.file)
    )))
}

fn show(path: &Path) -> impl std::fmt::Display + '_ {
    path.display()
}

/// The pages as they are, of which more and more are in the file.
fn as_it_is(db: &Database, to: &File) -> Result<()> {
    let total = open::unless_overtaken(|| db.stats())?.file_bytes;
    let (copying, ended) = mpsc::channel::<()>();
    let watch = move || {
        let mut progress = Progress::new("copy", Unit::Bytes, Some(total));
        while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            progress.at(to.metadata().map_or(0, |copy| copy.len()).min(total), String::new);
        }
    };
    let copied = std::thread::scope(|scope| {
        scope.spawn(watch);
        let copied = db.copy_to_file(to);
        drop(copying);
        copied
    });
    Ok(copied?)
}

/// All entries in order, in a database made anew.
fn compact(db: &Database, to: &Path) -> Result<()> {
    let mut progress: Option<Progress> = None;
    let mut interrupted = Ok(());
    let copied = db.copy_compact(to, |done, total| {
        let progress = progress.get_or_insert_with(|| Progress::new("copy", Unit::Things("entries"), Some(total)));
        progress.at(done, String::new);
        interrupted = interrupt::check();
        if interrupted.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    interrupted?;
    Ok(copied?)
}
