//! `duramen acl`: asking a directory's access rules.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use duramen_directory::{Config, Directory, Method, Name, Peer, Requester, SchemaFile};

use crate::configured::{Configured, read_text};
use crate::failure::{Failure, Result};
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  duramen acl explain --config /etc/duramend/duramend.toml \\
      uid=ann,ou=people,dc=example,dc=com cn=team,dc=example,dc=com member
  duramen acl explain --data people --rules access.conf \\
      anonymous uid=ann,ou=people,dc=example,dc=com userPassword
  duramen acl explain --config duramend.toml --peer 10.1.2.3:5000 --ssf 256 \\
      anonymous dc=example,dc=com entry";

/// Arguments of `duramen acl`.
#[derive(clap::Args)]
#[command(about = "Ask the access rules of an LDAP directory")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The commands; what each is for stands with its arguments.
#[derive(Subcommand)]
enum Command {
    Explain(Explain),
}

/// Arguments of `duramen acl explain`.
#[derive(clap::Args)]
#[command(about = "Say what somebody may do with an attribute, and which line of the rules decides it", after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("where").required(true).multiple(true).args(["config", "data"]))]
struct Explain {
    /// The server's configuration, for its data and its rules
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with the directory's data, in place of the configuration's
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A file with access rules, in place of the configuration's
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Where the requester's connection comes from
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1389")]
    peer: SocketAddr,
    /// How many bits protect the connection: 0 without TLS
    #[arg(long, value_name = "BITS", default_value_t = 0)]
    ssf: u32,
    /// A value of the attribute, for rules about single values
    #[arg(long)]
    value: Option<String>,
    /// The requester's name, or `anonymous`
    who: String,
    /// The entry
    dn: String,
    /// The attribute; `entry` for the entry itself, `children` for adding and deleting below it
    attribute: String,
}

/// Runs `duramen acl`.
pub fn run(args: &Args) -> Result<()> {
    let Command::Explain(explain) = &args.command;
    let settings = explain.settings()?;
    let folder = settings.data;
    if !Directory::is_in(&folder) {
        return Err(Failure::Failed(format!("there is no directory in {}", folder.display())));
    }
    let nested_groups = settings.nested_groups;
    let config = Config { access: settings.rules, nested_groups, read_only: true, ..Config::default() };
    let directory = Directory::open(&folder, config)?;
    let requester = explain.requester(&directory, settings.administrator.as_deref())?;
    let value = explain.value.as_deref().map(str::as_bytes);
    let explained = directory.explain_access(&requester, &explain.dn, &explain.attribute, value)?;
    let mut out = Output::stdout();
    writeln!(out, "{explained}")?;
    out.finish()
}

/// What the command needs of a configuration.
#[derive(Default)]
struct Settings {
    data: PathBuf,
    rules: Option<SchemaFile>,
    administrator: Option<String>,
    /// Rules with filters about `memberOf` see what this makes of it.
    nested_groups: bool,
}

impl Explain {
    fn settings(&self) -> Result<Settings> {
        let mut settings = match &self.config {
            None => Settings::default(),
            Some(path) => {
                let configured = Configured::read(path)?;
                Settings {
                    data: self.data.clone().map_or_else(|| configured.data(), Ok)?,
                    rules: configured.rules()?,
                    administrator: configured.administrator().map(str::to_owned),
                    nested_groups: configured.nested_groups(),
                }
            }
        };
        if let Some(data) = &self.data {
            settings.data = data.clone();
        }
        if let Some(rules) = &self.rules {
            settings.rules = Some(read_text(rules)?);
        }
        Ok(settings)
    }

    fn requester(&self, directory: &Directory, administrator: Option<&str>) -> Result<Requester> {
        let name = match self.who.as_str() {
            "anonymous" => Name::default(),
            name => directory.name(name)?,
        };
        let administrator = administrator.map(|name| directory.name(name)).transpose()?;
        Ok(Requester {
            is_administrator: administrator.is_some_and(|it| it.normalized == name.normalized),
            method: if name.is_empty() { Method::Anonymous } else { Method::Password },
            name,
            peer: Arc::new(Peer::Network(self.peer)),
            connection: None,
            ssf: self.ssf,
        })
    }
}
