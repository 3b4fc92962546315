//! `duramen readers`: who reads which state, and what it costs.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::columns::Columns;
use crate::failure::Result;
use crate::open;
use crate::output::Output;
use crate::units;

const ABOUT: &str = "\
Show who reads, in all processes.

Lists the read transactions of all processes, the oldest state first, and the space that the file cannot \
reuse because of each. What dead processes left is cleared by writers without being asked; --clear does it \
now.";

const EXAMPLES: &str = "\
Examples:
  duramen readers people.dm
  duramen readers people.dm --clear
  duramen readers people.dm --json | jq '.[] | select(.bytes_held > 1e9) | .pid'";

/// Arguments of `duramen readers`.
#[derive(clap::Args)]
#[command(about = "Show who reads, in all processes", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// Clear what dead processes left
    #[arg(long)]
    clear: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `duramen readers`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_read(&args.file)?;
    let cleared = if args.clear { Some(db.clear_dead_readers()? as u64) } else { None };
    let readers = open::unless_overtaken(|| db.readers())?;
    let page_size = open::unless_overtaken(|| db.stats())?.page_size as u64;
    let mut out = Output::stdout();
    if args.json {
        let readers = readers.iter().map(|reader| {
            json!({ "pid": reader.pid, "txnid": reader.txnid.0, "since_ms": reader.since_ms,
                    "bytes_held": reader.pages_held * page_size })
        });
        let readers: Vec<_> = readers.collect();
        match cleared {
            Some(cleared) => out.json(&json!({ "cleared": cleared, "readers": readers }))?,
            None => out.json(&readers)?,
        }
        return out.finish();
    }
    use std::io::Write;
    if let Some(cleared) = cleared {
        writeln!(out, "cleared {} of dead processes", units::plural(cleared, "reader"))?;
    }
    if readers.is_empty() {
        writeln!(out, "nobody reads")?;
    } else {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut table = Columns::new(&[">process", ">commit", ">for", ">holds"]);
        for reader in &readers {
            let age = now.saturating_sub(Duration::from_millis(reader.since_ms));
            let held = units::size(reader.pages_held * page_size);
            table.row([reader.pid.to_string(), reader.txnid.to_string(), units::duration(age), held]);
        }
        table.write(&mut out)?;
    }
    out.finish()
}
