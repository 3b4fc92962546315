//! The command `duramend`: arguments, and what is said of failures.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use duramen_server::config::{Listen, Overrides};
use duramen_server::serve::{Start, check, serve};

/// Updates allocate and free by the hundred. What this saves of their time, and costs of memory: docs/measurements.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An LDAP directory server.
///
/// Without a configuration, `duramend serve --data DIRECTORY --suffix dc=example,dc=com` serves at 127.0.0.1:1389 and
/// at the local socket DIRECTORY/ldapi, over which the user who runs it is the administrator.
#[derive(Parser)]
#[command(name = "duramend", version)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Serve until a signal says to stop; SIGHUP reads the configuration again.
    Serve(Options),
    /// Check a configuration, and say all that is wrong with it.
    CheckConfig(Options),
}

#[derive(Args)]
struct Options {
    /// The configuration: see the sample duramend.toml.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the data is; made if it is not there.
    #[arg(short, long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// A name below which there is data, such as dc=example,dc=com. Needed once: the data directory keeps it.
    #[arg(short, long, value_name = "NAME")]
    suffix: Vec<String>,
    /// Where to listen for LDAP, in place of what the configuration says; may be given several times.
    #[arg(short, long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Vec<SocketAddr>,
    /// Path of the local socket; without --listen, DIRECTORY/ldapi.
    #[arg(long, value_name = "PATH", requires = "listen")]
    ldapi: Option<PathBuf>,
    /// Name of the administrator, who may do everything.
    #[arg(long, value_name = "NAME", requires = "password_file")]
    administrator: Option<String>,
    /// File whose first line is the administrator's password, or a hash of it.
    #[arg(long, value_name = "FILE", requires = "administrator")]
    password_file: Option<PathBuf>,
    /// Where to serve /metrics and /healthz by HTTP.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    http: Option<SocketAddr>,
    /// Log every connection and operation.
    #[arg(long)]
    stats: bool,
}

fn main() -> ExitCode {
    let result = match Command::parse().action {
        Action::Serve(options) => serve(&options.start()),
        Action::CheckConfig(options) => check(&options.start()).map(|checked| {
            for warning in checked.warnings {
                eprintln!("duramend: warning: {warning}");
            }
            println!("The configuration is right. Data: {}", checked.config.data.display());
            let origins = checked.access_origins;
            let those = |entries: Vec<String>| entries.join(", and behind them those of ");
            if !origins.stored.is_empty() {
                println!("The access rules are those of {}.", those(origins.stored));
            }
            if !origins.monitor.is_empty() {
                println!("About cn=monitor they are those of {}.", those(origins.monitor));
            }
        }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duramend: {error}");
            error.exit_code()
        }
    }
}

impl Options {
    fn start(self) -> Start {
        let listen = Listen { ldap: self.listen, ldaps: Vec::new(), ldapi: self.ldapi };
        let overrides = Overrides {
            data: self.data,
            suffixes: self.suffix,
            listen: (!listen.ldap.is_empty()).then_some(listen),
            administrator: self.administrator.zip(self.password_file),
            http: self.http,
            stats: self.stats,
        };
        Start { config: self.config, overrides }
    }
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "that is no address with a port; write one like 127.0.0.1:389 or [::]:389")
}
