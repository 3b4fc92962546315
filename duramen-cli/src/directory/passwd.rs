//! `duramen directory passwd`: a new password for an entry, or what would be stored for it.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use duramen_directory::password::{Scheme, hash};
use duramen_directory::{Config, Requester};
use duramen_ldap::ber::List;
use duramen_ldap::message::{Attribute, Change, ChangeKind, ModifyRequest, Request};

use super::DirectoryArgs;
use crate::failure::{Failure, Result};
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  duramen directory passwd --data people uid=ann,ou=people,dc=example,dc=com
  pwgen 20 1 | duramen directory passwd --data people --scheme SSHA512 \\
      uid=ann,ou=people,dc=example,dc=com
  duramen directory passwd      # prints the administrator's for duramend.toml";

/// Arguments of `duramen directory passwd`.
#[derive(clap::Args)]
#[command(
    about = "Set the password of an entry, while the server runs too; without an entry, print its stored form",
    after_help = EXAMPLES
)]
pub struct Args {
    /// The folder with the directory's data, as the server's --data
    #[arg(long, value_name = "DIR", requires = "dn")]
    data: Option<PathBuf>,
    /// The server's configuration, for its data and its password_scheme
    #[arg(long, value_name = "FILE", requires = "dn")]
    config: Option<PathBuf>,
    /// How it is stored: ARGON2 (unless the configuration says otherwise), SSHA, SSHA512, CRYPT, PBKDF2-SHA256, SCRAM-SHA-256...
    #[arg(long)]
    scheme: Option<Scheme>,
    /// The entry
    dn: Option<String>,
}

/// Runs `duramen directory passwd`.
pub fn run(args: &Args) -> Result<()> {
    let mut scheme = args.scheme;
    // The entry is looked for before anybody types a password.
    let target = match &args.dn {
        Some(dn) => {
            let place = DirectoryArgs { data: args.data.clone(), config: args.config.clone() }.place()?;
            if let (None, Some(configured)) = (scheme, place.configured()) {
                scheme = configured.password_scheme()?;
            }
            let directory = place.open(Config::default())?;
            directory.explain_access(&Requester::internal(), dn, "userPassword", None)?;
            Some((directory, dn))
        }
        None => None,
    };
    let stored = hash(scheme.unwrap_or_default(), new_password()?.as_bytes())
        .map_err(|error| Failure::Failed(error.to_string()))?;
    match target {
        Some((directory, dn)) => {
            let (mut values, mut changes) = (Vec::new(), Vec::new());
            let values = List::build(&mut values, [&stored[..]]);
            let attribute = Attribute { description: "userPassword", values };
            let changes = List::build(&mut changes, [Change { kind: ChangeKind::Replace, attribute }]);
            let request = Request::Modify(ModifyRequest { name: dn, changes });
            directory.update(&Requester::internal(), &request, List::default())?;
            Ok(())
        }
        None => {
            let mut out = Output::stdout();
            out.write_all(&stored)?;
            writeln!(out)?;
            out.finish()
        }
    }
}

/// From the terminal, unseen and twice; or the first line of what is piped in.
fn new_password() -> Result<String> {
    let failed = |error: io::Error| Failure::Failed(format!("the password cannot be read: {error}"));
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let mut line = String::new();
        stdin.lock().read_line(&mut line).map_err(failed)?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    let first = rpassword::prompt_password("New password: ").map_err(failed)?;
    let second = rpassword::prompt_password("Again: ").map_err(failed)?;
    if first != second {
        return Err(Failure::Failed("the two are not the same: nothing was changed".to_owned()));
    }
    Ok(first)
}
