//! `duramen directory`: tools for the data of an LDAP directory, whether its server runs or not.
//!
//! Owns: the list of these commands, and opening a directory for them. Each command stands in its own file.

mod check;
mod explain;
mod export;
mod import;
mod passwd;
mod reindex;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use duramen_directory::{Config, Directory, OpenError, SchemaFile};

use crate::configured::Configured;
use crate::failure::{Failure, Result};

const EXAMPLES: &str = "\
Examples:
  duramen directory import --data people --suffix dc=example,dc=com people.ldif
  slapcat | duramen directory import --data people --suffix dc=example,dc=com -
  duramen directory export --data people > backup.ldif
  duramen directory explain --data people '(&(objectClass=person)(sn=jen*))'";

/// Arguments of `duramen directory`.
#[derive(clap::Args)]
#[command(about = "Import, export, check and reindex an LDAP directory", after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The commands; what each is for stands with its arguments.
#[derive(Subcommand)]
enum Command {
    Import(import::Args),
    Export(export::Args),
    Reindex(reindex::Args),
    Check(check::Args),
    Explain(explain::Args),
    Passwd(passwd::Args),
}

/// Which directory.
#[derive(clap::Args)]
#[group(required = true, multiple = true)]
pub struct DirectoryArgs {
    /// The folder with the directory's data, as the server's --data
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The server's configuration, for its data and what else of it is needed
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Where a directory is, and the configuration of its server, if that was named.
pub struct Place {
    folder: PathBuf,
    configured: Option<Configured>,
}

impl DirectoryArgs {
    /// Looks where the directory is.
    pub fn place(&self) -> Result<Place> {
        let configured = self.config.as_deref().map(Configured::read).transpose()?;
        let folder = match (&self.data, &configured) {
            (Some(data), _) => data.clone(),
            (None, Some(configured)) => configured.data()?,
            (None, None) => return Err(Failure::Usage("give --data DIR or --config FILE".to_owned())),
        };
        Ok(Place { folder, configured })
    }

    /// Opens a directory that is there.
    pub fn open(&self, read_only: bool) -> Result<Directory> {
        self.place()?.open(Config { read_only, ..Config::default() })
    }
}

impl Place {
    /// Opens a directory that is there.
    pub fn open(&self, config: Config) -> Result<Directory> {
        if !self.is_there() {
            let data = self.folder.display();
            return Err(Failure::Failed(format!(
                "there is no directory in {data}: `duramen directory import` makes one"
            )));
        }
        Ok(Directory::open(&self.folder, config)?)
    }

    /// Whether there is a directory.
    pub fn is_there(&self) -> bool {
        Directory::is_in(&self.folder)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The configuration of its server, if that was named.
    pub fn configured(&self) -> Option<&Configured> {
        self.configured.as_ref()
    }
}

/// Schema files as text.
pub fn read_schema(paths: &[PathBuf]) -> Result<Vec<SchemaFile>> {
    let read = |path: &PathBuf| {
        SchemaFile::read_schema(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
    };
    paths.iter().map(read).collect()
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        match error {
            OpenError::Database(error) => error.into(),
            other => Failure::Failed(other.to_string()),
        }
    }
}

impl From<duramen_directory::Failure> for Failure {
    fn from(failure: duramen_directory::Failure) -> Failure {
        Failure::Failed(failure.to_string())
    }
}

/// Runs `duramen directory`.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Import(args) => import::run(args),
        Command::Export(args) => export::run(args),
        Command::Reindex(args) => reindex::run(args),
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Passwd(args) => passwd::run(args),
    }
}
