//! `duramen stat`: a database and its tables in numbers.

use std::io::Write;
use std::path::PathBuf;

use duramen::{CheckReport, Snapshot, Stats};
use serde_json::{Value, json};

use crate::columns::Columns;
use crate::failure::Result;
use crate::ls::{self, Row};
use crate::open::{self, Records};
use crate::output::{Output, remark};
use crate::progress::{Progress, Unit};
use crate::{check, units};

const ABOUT: &str = "\
Show a database and its tables in numbers.

Answers at once, whatever the size of the file, and waits for nobody. --full reads every page: it counts all \
pages by kind (those of the trees in which keys with very many values keep them included, which the table by table figures leave \
out) and says how full they are. Nobody waits meanwhile.

Free pages can be reused by the next commit. Retired ones are kept because a reader still sees them, or \
until the commit that freed them is safe; `duramen readers` shows who holds how much.";

const EXAMPLES: &str = "\
Examples:
  duramen stat people.dm
  duramen stat people.dm --full
  duramen stat people.dm --json | jq .free_bytes";

/// Arguments of `duramen stat`.
#[derive(clap::Args)]
#[command(about = "Show a database and its tables in numbers", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// Read every page, for pages by kind and fill
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All that is shown.
struct Numbers {
    stats: Stats,
    readers: usize,
    rows: Vec<Row>,
    full: Option<Full>,
}

/// What only a look at every page tells.
struct Full {
    report: CheckReport,
    /// Bytes of keys and values of each table.
    payload: Vec<u64>,
}

/// Runs `duramen stat`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_read(&args.file)?;
    let report = if args.full { Some(check::report(&db)?) } else { None };
    let snapshot = db.read()?;
    let rows = ls::rows(&snapshot)?;
    let full = report.map(|report| Ok::<_, crate::failure::Failure>(Full { report, payload: payload(&snapshot)? }));
    let full = full.transpose()?;
    drop(snapshot);
    let stats = open::unless_overtaken(|| db.stats())?;
    let readers = open::unless_overtaken(|| db.readers())?.len();
    let numbers = Numbers { stats, readers, rows, full };
    let mut out = Output::stdout();
    if args.json {
        out.json(&numbers.to_json())?;
    } else {
        numbers.write_database(&mut out, args)?;
        numbers.write_pages(&mut out)?;
        writeln!(out)?;
        numbers.tables().write(&mut out)?;
    }
    out.finish()?;
    if let Some(full) = numbers.full.filter(|full| !full.report.is_clean()) {
        remark(&format!(
            "{} are wrong: run `duramen check`",
            units::plural(full.report.findings.len() as u64, "thing")
        ));
    }
    Ok(())
}

/// Bytes of keys and values of each table, in the order of [`ls::rows`].
fn payload(snapshot: &Snapshot<'_>) -> Result<Vec<u64>> {
    let mut names = vec![Vec::new()];
    names.extend(snapshot.table_names()?);
    let mut sums = Vec::new();
    let mut progress = Progress::new("measure", Unit::Things("tables"), Some(names.len() as u64));
    for (i, name) in names.iter().enumerate() {
        progress.at(i as u64, String::new);
        let records = Records::of(snapshot, name)?;
        let table = snapshot.table_to_walk(name)?;
        let mut sum = 0;
        let mut own = 0u64;
        for item in table.iter() {
            let (key, value) = item?;
            if !records.hide(key) {
                sum += (key.len() + value.len()) as u64;
                own += 1;
            }
        }
        if !name.is_empty() || own > 0 {
            sums.push(sum);
        }
    }
    Ok(sums)
}

impl Full {
    /// Which part of the branch and leaf pages holds something.
    fn fill(&self, page_size: usize) -> (f64, f64) {
        let bytes = (self.report.branch_pages + self.report.leaf_pages) as f64 * page_size as f64;
        (bytes - self.report.unused_bytes as f64, bytes)
    }
}

impl Numbers {
    fn bytes(&self, pages: u64) -> u64 {
        pages * self.stats.page_size as u64
    }

    fn pages_line(&self, pages: u64) -> String {
        format!("{}, {}", units::plural(pages, "page"), units::size(self.bytes(pages)))
    }

    fn write_database(&self, out: &mut Output, args: &Args) -> Result<()> {
        let stats = &self.stats;
        writeln!(out, "{}", args.file.display())?;
        let page = units::size(stats.page_size as u64);
        writeln!(
            out,
            "  file       {}, {} of {page}",
            units::size(stats.file_bytes),
            units::plural(stats.pages, "page")
        )?;
        let when = match stats.committed_ns {
            0 => String::new(),
            ns => format!(" of {}", units::utc(ns / 1_000_000_000)),
        };
        writeln!(out, "  commit     {}{when}", stats.txnid)?;
        if stats.durable_txnid != stats.txnid {
            writeln!(out, "  durable    {} (a power cut may take the newer commits)", stats.durable_txnid)?;
        }
        writeln!(
            out,
            "  free       {} (longest run {})",
            self.pages_line(stats.free_pages),
            units::count(stats.longest_free_run)
        )?;
        writeln!(out, "  retired    {}", self.pages_line(stats.retired_pages))?;
        writeln!(out, "  readers    {}", units::count(self.readers as u64))?;
        Ok(writeln!(out, "  tables     {}", units::count(self.rows.len() as u64))?)
    }

    fn write_pages(&self, out: &mut Output) -> Result<()> {
        let Some(full) = &self.full else {
            return Ok(());
        };
        let report = &full.report;
        writeln!(out, "  branch     {}", self.pages_line(report.branch_pages))?;
        writeln!(out, "  leaf       {}", self.pages_line(report.leaf_pages))?;
        writeln!(out, "  overflow   {}", self.pages_line(report.overflow_pages))?;
        writeln!(out, "  space log  {}", self.pages_line(report.space_pages))?;
        let (used, bytes) = full.fill(self.stats.page_size);
        Ok(writeln!(out, "  fill       {} of branch and leaf pages", units::percent(used, bytes))?)
    }

    fn tables(&self) -> Columns {
        let mut headings =
            vec!["table", ">entries", ">depth", ">branch", ">leaf", ">overflow", ">size", "keys", "duplicates"];
        if self.full.is_some() {
            headings.push(">payload");
        }
        let mut table = Columns::new(&headings);
        for (i, row) in self.rows.iter().enumerate() {
            let count = units::count;
            let mut cells = vec![row.name.shown(), count(row.entries), row.depth.to_string()];
            cells.extend([count(row.branch_pages), count(row.leaf_pages), count(row.overflow_pages)]);
            cells.extend([units::size(row.bytes), row.keys.clone()]);
            cells.push(row.duplicates.clone().unwrap_or_else(|| "-".to_string()));
            cells.extend(self.full.iter().filter_map(|full| full.payload.get(i)).map(|&bytes| units::size(bytes)));
            table.row(cells);
        }
        table
    }

    fn to_json(&self) -> Value {
        let stats = &self.stats;
        let mut value = json!({
            "page_size": stats.page_size, "pages": stats.pages, "file_bytes": stats.file_bytes,
            "txnid": stats.txnid.0, "durable_txnid": stats.durable_txnid.0, "committed_ns": stats.committed_ns,
            "free_pages": stats.free_pages, "free_bytes": self.bytes(stats.free_pages),
            "retired_pages": stats.retired_pages, "retired_bytes": self.bytes(stats.retired_pages),
            "longest_free_run": stats.longest_free_run, "readers": self.readers, "tables": self.rows,
        });
        if let Some(full) = &self.full {
            let (used, bytes) = full.fill(stats.page_size);
            value["check"] = check::to_json(&full.report);
            value["fill"] = if bytes > 0.0 { Value::from(used / bytes) } else { Value::Null };
            for (table, bytes) in value["tables"].as_array_mut().into_iter().flatten().zip(&full.payload) {
                table["payload_bytes"] = Value::from(*bytes);
            }
        }
        value
    }
}
