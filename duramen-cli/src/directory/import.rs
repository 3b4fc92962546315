//! `duramen directory import`: LDIF into a directory.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use duramen_directory::{
    Administrator, Config, Directory, ImportError, ImportEvent, ImportOptions, Imported, Index, IndexKinds,
};

use super::{DirectoryArgs, Place, read_schema};
use crate::configured::Configured;
use crate::failure::{Failure, Result};
use crate::output::remark;
use crate::progress::{Progress, Unit, is_quiet};
use crate::{interrupt, units};

const ABOUT: &str = "\
Import LDIF into a directory.

Reads entries as ldapadd takes them and as slapcat writes them; operational attributes such as entryUUID are kept. \
Entries may stand before their parent; those wait in memory. Values and classes are checked by the schema; an error \
names file and line. Passwords are kept as they are; at the end it is said how many have a scheme that is not known here.

A directory without entries is loaded table by table, all or nothing, which is many times faster than adding entries \
one by one. Into any other, entries are added in transactions of some hundred: those before an error stay.";

const EXAMPLES: &str = "\
Examples:
  duramen directory import --data people --suffix dc=example,dc=com people.ldif
  slapcat | duramen directory import --data people --suffix dc=example,dc=com -
  duramen directory import --data people --dry-run more.ldif";

/// Arguments of `duramen directory import`.
#[derive(clap::Args)]
#[command(about = "Import LDIF", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    directory: DirectoryArgs,
    /// The LDIF; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A name under which there is data; needed for a new directory without --config, may be given several times
    #[arg(long, value_name = "DN")]
    suffix: Vec<String>,
    /// A schema file (.schema or LDIF), kept with the data; may be given several times
    #[arg(long, value_name = "FILE")]
    schema: Vec<PathBuf>,
    /// An index of a new directory instead of the usual ones: ATTRIBUTE:pres,eq,sub; may be given several times
    #[arg(long, value_name = "INDEX", value_parser = parse_index)]
    index: Vec<Index>,
    /// "2307bis" instead of RFC 2307 for users and groups of Unix
    #[arg(long)]
    rfc2307bis: bool,
    /// Check everything and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave records with problems out, and go on
    #[arg(long = "continue")]
    skip_problems: bool,
    /// Leave out attributes and classes that the schema does not have, attributes that the classes do not allow, and values
    /// that break their syntax or are there twice; take the rest of the record
    #[arg(long)]
    repair: bool,
}

/// `ATTRIBUTE:pres,eq,sub`
fn parse_index(text: &str) -> std::result::Result<Index, String> {
    let (attribute, kinds) = text.split_once(':').ok_or("an index is ATTRIBUTE:KINDS, as in cn:pres,eq,sub")?;
    let mut found = IndexKinds::default();
    for kind in kinds.split(',') {
        match kind {
            "pres" => found.presence = true,
            "eq" => found.equality = true,
            "sub" => found.substring = true,
            _ => {
                let text = "is no kind of index: pres, eq or sub. Each attribute has an --index of its own";
                return Err(format!("{kind:?} {text}"));
            }
        }
    }
    Ok(Index { attribute: attribute.to_string(), kinds: found })
}

/// Runs `duramen directory import`.
pub fn run(args: &Args) -> Result<()> {
    let place = args.directory.place()?;
    // One of a failed import is as good as new, and the command can be repeated.
    let is_there = place.is_there();
    if !args.index.is_empty() && is_there && !place.open(Config { read_only: true, ..Config::default() })?.is_empty()? {
        let data = place.folder().display();
        return Err(Failure::Usage(format!(
            "--index is for a new directory, and there is one in {data}: leave it out. What indices that has is said by \
             [[index]] in its server's configuration"
        )));
    }
    // Nothing is made where a name was mistyped.
    args.files.iter().filter(|path| !is_piped(path)).try_for_each(|path| check_readable(path))?;
    // What does not exist is not made by a try, and what does is not changed.
    let scratch = (args.dry_run && !place.is_there()).then(tempfile::tempdir).transpose()?;
    let folder = scratch.as_ref().map_or(place.folder(), |folder| folder.path());
    let read_only = args.dry_run && scratch.is_none();
    let directory = Directory::open(folder, Config { read_only, ..config(args, &place)? })?;
    if !args.index.is_empty() && is_there && !read_only {
        directory.reindex(&mut |_, _| true)?;
    }
    interrupt::listen("a directory that was empty is empty again; in any other, what was added stays")?;
    let begun = Instant::now();
    let mut all = Imported::default();
    for path in &args.files {
        let imported = import(args, &directory, path)?;
        if imported.entries == 0 && imported.problems == 0 {
            // Also to whoever wants to hear little: what should have written the LDIF may have failed.
            remark(&format!("warning: there are no entries in {}", name_of(path)));
        }
        all.entries += imported.entries;
        all.problems += imported.problems;
        all.left_out += imported.left_out;
        for (of, sums) in [(imported.unmatchable, &mut all.unmatchable), (imported.not_kept, &mut all.not_kept)] {
            of.into_iter().for_each(|(name, count)| *sums.entry(name).or_default() += count);
        }
    }
    if !is_quiet() {
        let seconds = begun.elapsed().as_secs_f64();
        let verb = if args.dry_run { "would be imported" } else { "imported" };
        remark(&format!("{} {verb} in {seconds:.1} s", units::plural(all.entries, "entry")));
    }
    tell(&all);
    match all.problems {
        0 => Ok(()),
        1 => Err(Failure::Failed("1 record was left out".into())),
        problems => Err(Failure::Failed(format!("{} records were left out", units::count(problems)))),
    }
}

/// What the directory goes by: as its server has it, where that is named and the directory is new; what is there has
/// that already.
fn config(args: &Args, place: &Place) -> Result<Config> {
    let mut config = Config {
        suffixes: args.suffix.clone(),
        schema: read_schema(&args.schema)?,
        nis_bis: args.rfc2307bis,
        indices: (!args.index.is_empty()).then(|| args.index.clone()),
        // Who adds what does not say who added it.
        administrator: place.configured().and_then(Configured::administrator).map(administrator),
        ..Config::default()
    };
    if let Some(configured) = place.configured().filter(|_| !place.is_there()) {
        if config.suffixes.is_empty() {
            config.suffixes = configured.suffixes();
        }
        config.schema.extend(read_schema(&configured.schema())?);
        config.nis_bis |= configured.nis_bis();
        config.indices = config.indices.or_else(|| configured.indices());
    }
    Ok(config)
}

fn administrator(name: &str) -> Administrator {
    Administrator { name: name.to_string(), password: None }
}

/// Tells what of the entries is not as it was in the text, or of no use.
fn tell(all: &Imported) {
    if all.left_out > 0 && !is_quiet() {
        let what = match all.left_out {
            1 => "1 attribute or value of them was".to_string(),
            many => format!("{} attributes and values of them were", units::count(many)),
        };
        remark(&format!("{what} left out"));
    }
    if !all.not_kept.is_empty() {
        let each = all.not_kept.iter().map(|(name, count)| format!("{name} of {}", units::plural(*count, "entry")));
        remark(&format!(
            "not kept: {}. What someone is a member of is found out here from member and uniqueMember of groups; the rest \
             only another server kept up to date",
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    for (scheme, count) in &all.unmatchable {
        remark(&format!(
            "{} of scheme {scheme} in a form that is not known here: nobody can bind by that until it is set anew",
            units::plural(*count, "password")
        ));
    }
}

/// Refuses what cannot be read. What is no file, as a pipe, is opened only once.
fn check_readable(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    match metadata.is_file() {
        true => File::open(path).map(drop).map_err(|error| unreadable(path, &error)),
        false if metadata.is_dir() => Err(unreadable(path, &io::ErrorKind::IsADirectory.into())),
        false => Ok(()),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", name_of(path)))
}

fn is_piped(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn name_of(path: &Path) -> String {
    if is_piped(path) { "standard input".to_string() } else { path.display().to_string() }
}

fn import(args: &Args, directory: &Directory, path: &Path) -> Result<Imported> {
    let (is_piped, name) = (is_piped(path), name_of(path));
    let (mut text, bytes): (Box<dyn BufRead>, _) = if is_piped {
        (Box::new(BufReader::with_capacity(1 << 20, io::stdin())), None)
    } else {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let bytes = file.metadata().map(|metadata| metadata.len()).ok();
        (Box::new(BufReader::with_capacity(1 << 20, file)), bytes)
    };
    let options = ImportOptions { dry_run: args.dry_run, skip_problems: args.skip_problems, repair: args.repair };
    let mut reading = Progress::new("read", Unit::Bytes, bytes);
    let mut indexing: Option<Progress> = None;
    let outcome = directory.import(&name, &mut text, options, &mut |event| {
        match event {
            ImportEvent::Problem(problem) | ImportEvent::LeftOut(problem) => remark(&problem.to_string()),
            ImportEvent::Read { bytes, entries } => {
                reading.at(bytes, || units::plural(entries, "entry"));
            }
            ImportEvent::Indexed { done, total } => {
                reading.end();
                let bar = indexing.get_or_insert_with(|| Progress::new("index", Unit::Things("entries"), Some(total)));
                bar.at(done, String::new);
            }
        }
        interrupt::check().is_ok()
    });
    outcome.map_err(|error| match error {
        ImportError::Stopped => interrupt::check().err().unwrap_or(Failure::Failed(error.to_string())),
        ImportError::Problem(problem) if args.repair => {
            Failure::Failed(format!("{problem} (--continue leaves out whole records)"))
        }
        ImportError::Problem(problem) => Failure::Failed(format!(
            "{problem} (--repair leaves out what is faulty in records, --continue whole records)"
        )),
        other => Failure::Failed(other.to_string()),
    })
}
