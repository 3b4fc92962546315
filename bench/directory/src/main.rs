//! Compares duramend with OpenLDAP's slapd: the same data, the same requests, one machine, one run.
//!
//! Each server is loaded and started in turn on the loopback interface. What decides is the server's CPU time for each
//! operation: it is steady where the wall clock is not.

mod compare;
mod data;
mod load;
mod report;
mod rows;
mod server;

use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;

use compare::{Answers, Compared};
use load::{Amount, Outcome, Who, run};
use report::{Line, Measure};
use rows::{Per, ROWS, Row};
use server::{Duramend, Mode, Running, Server, Slapd, disk_bytes};

#[derive(Parser)]
#[command(about = "Compares duramend with OpenLDAP's slapd")]
struct Arguments {
    /// How many people the directory holds
    #[arg(long, default_value_t = 100_000)]
    people: u64,
    /// Rows whose names begin with one of these; without, all
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Which servers
    #[arg(long, value_delimiter = ',', default_value = "slapd,duramend")]
    servers: Vec<String>,
    /// How long a row runs
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Where the data goes
    #[arg(long, default_value = "/var/tmp/duramen-bench-directory")]
    dir: PathBuf,
    /// Goes on with the data of an earlier run; if it changed them, answers are not compared
    #[arg(long)]
    reuse: bool,
    /// Port on the loopback interface
    #[arg(long, default_value_t = 3890)]
    port: u16,
    /// The program duramend
    #[arg(long, default_value = "../../target/release/duramend")]
    daemon: PathBuf,
    /// The program duramen
    #[arg(long, default_value = "../../target/release/duramen")]
    tool: PathBuf,
    /// Writes the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Names the rows and ends
    #[arg(long)]
    list: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.list {
        ROWS.iter().for_each(|row| println!("{}", row.name));
        return Ok(());
    }
    let servers = arguments.servers()?;
    let names: Vec<_> = servers.iter().map(|server| server.name()).collect();
    let wanted = |row: &&Row| arguments.rows.is_empty() || arguments.rows.iter().any(|name| row.name.starts_with(name));
    let rows: Vec<_> = ROWS.iter().filter(wanted).collect();
    ensure!(!rows.is_empty() || arguments.rows.iter().any(|row| row == "load"), "no row is named so: see --list");
    let ldif = arguments.make_ldif()?;
    let mut lines = Vec::new();
    for server in &servers {
        add(&mut lines, server.name(), arguments.load(&**server, &ldif)?);
        for mode in [Mode::Durable, Mode::Relaxed] {
            let of_mode: Vec<_> = rows.iter().copied().filter(|row| row.mode == mode).collect();
            if !of_mode.is_empty() {
                add(&mut lines, server.name(), arguments.measure(&**server, mode, &of_mode)?);
            }
        }
    }
    println!(
        "{} people; rates by the wall clock, CPU time of the server.\n\n{}",
        arguments.people,
        report::head(&names)
    );
    lines.iter().for_each(|line| println!("{}", report::markdown(line)));
    if let Some(path) = &arguments.json {
        serde_json::to_writer_pretty(File::create(path)?, &report::json(arguments.people, &lines))?;
    }
    let faults: Vec<_> = lines
        .iter()
        .flat_map(|line| line.faults().into_iter().map(move |fault| format!("{}: {fault}", line.row)))
        .collect();
    ensure!(faults.is_empty(), "not the same work:\n{}", faults.join("\n"));
    Ok(())
}

/// What a row measured: name, unit, whether less is better.
type Measured = (&'static str, &'static str, bool, Measure);

fn add(lines: &mut Vec<Line>, server: &'static str, measured: Vec<Measured>) {
    for (row, unit, smaller, measure) in measured {
        match lines.iter_mut().find(|line| line.row == row) {
            Some(line) => line.measures.push((server, measure)),
            None => lines.push(Line { row, unit, smaller, measures: vec![(server, measure)] }),
        }
    }
}

impl Arguments {
    fn servers(&self) -> Result<Vec<Box<dyn Server>>> {
        let known = |name: &String| -> Result<Box<dyn Server>> {
            match name.as_str() {
                "slapd" => Ok(Box::new(Slapd)),
                "duramend" => Ok(Box::new(Duramend { daemon: self.daemon.clone(), tool: self.tool.clone() })),
                _ => anyhow::bail!("'{name}' is no server: expected slapd or duramend"),
            }
        };
        self.servers.iter().map(known).collect()
    }

    fn data(&self, server: &dyn Server) -> PathBuf {
        self.dir.join(format!("{}-{}", server.name(), self.people))
    }

    fn make_ldif(&self) -> Result<PathBuf> {
        std::fs::create_dir_all(&self.dir).with_context(|| self.dir.display().to_string())?;
        let path = self.dir.join(format!("{}.ldif", self.people));
        if !path.exists() {
            let new = path.with_extension("new");
            let mut out = BufWriter::new(File::create(&new)?);
            data::write_ldif(self.people, &mut out)?;
            out.into_inner()?.sync_all()?;
            std::fs::rename(new, &path)?;
        }
        Ok(path)
    }

    /// A file that is there if rows have changed the data since it was loaded: how much depends on how fast each server
    /// was, so answers cannot be compared any more.
    fn changed(&self, server: &dyn Server) -> PathBuf {
        self.data(server).with_extension("changed")
    }

    fn load(&self, server: &dyn Server, ldif: &Path) -> Result<Vec<Measured>> {
        let data = self.data(server);
        if self.reuse && data.exists() {
            return Ok(Vec::new());
        }
        if data.exists() {
            std::fs::remove_dir_all(&data)?;
        }
        if self.changed(server).exists() {
            std::fs::remove_file(self.changed(server))?;
        }
        std::fs::create_dir_all(&data)?;
        let begin = Instant::now();
        server.load(ldif, &data)?;
        let seconds = Measure { figure: begin.elapsed().as_secs_f64(), ..Measure::default() };
        let bytes = Measure { figure: disk_bytes(&data)? as f64 / 1e6, ..Measure::default() };
        Ok(vec![("load", "s", true, seconds), ("size", "MB", true, bytes)])
    }

    fn measure(&self, server: &dyn Server, mode: Mode, rows: &[&Row]) -> Result<Vec<Measured>> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let running = Running::start(server, &self.data(server), mode, address)?;
        let mut measured = Vec::new();
        let mut before = 0;
        let last_scan = rows.iter().rposition(|row| row.name.starts_with("scans"));
        for (n, row) in rows.iter().enumerate() {
            eprintln!("{}: {}", server.name(), row.name);
            let amount = self.amount(row, before);
            let context = || format!("{}: {}", server.name(), row.name);
            let (measure, beside) = self.row(&running, row, amount, &self.changed(server)).with_context(context)?;
            before = measure.codes.values().sum();
            let unit = if row.per == Per::Entry { "entries/s" } else { "1/s" };
            measured.push((row.name, unit, false, measure));
            measured.extend(beside.map(|(name, measure)| (name, unit, false, measure)));
            if Some(n) == last_scan {
                let figure = running.anonymous_memory()? as f64 / 1e6;
                measured.push(("memory", "MB", true, Measure { figure, ..Measure::default() }));
            }
        }
        Ok(measured)
    }

    fn amount(&self, row: &Row, before: u64) -> Amount {
        Amount {
            connections: row.connections,
            outstanding: row.outstanding,
            operations: if row.undoes { before } else { row.operations },
            time: if row.undoes { Duration::MAX } else { Duration::from_secs_f64(self.seconds) },
        }
    }

    /// What the row measured, and what was measured beside it.
    fn row(
        &self,
        running: &Running,
        row: &Row,
        amount: Amount,
        changed: &Path,
    ) -> Result<(Measure, Option<(&'static str, Measure)>)> {
        let who: Who<'_> = row.as_administrator.then_some((data::ADMINISTRATOR, data::PASSWORD));
        if row.as_administrator {
            File::create(changed)?;
        }
        let is_as_loaded = !changed.exists();
        let answers = (row.compared > 0 && is_as_loaded).then(|| self.answers(running, row, who)).transpose()?;
        let before = running.cpu()?;
        let (outcome, beside) = std::thread::scope(|scope| {
            let beside = row.beside.map(|(name, work)| {
                (name, scope.spawn(move || run(running.address, None, amount, &mut *work(self.people))))
            });
            let outcome = run(running.address, who, amount, &mut *(row.work)(self.people));
            (outcome, beside.map(|(name, thread)| (name, thread.join().expect("the load does not panic"))))
        });
        let cpu = running.cpu()?.saturating_sub(before);
        let outcome = outcome?;
        let beside = beside.map(|(name, outcome)| outcome.map(|outcome| (name, outcome))).transpose()?;
        let count = if row.per == Per::Entry { outcome.entries } else { outcome.operations };
        ensure!(count > 0, "nothing came of it: result codes {:?}", outcome.codes);
        // Nobody can say whose CPU time it was, where two things went on at once.
        let all = count + beside.as_ref().map_or(0, |(_, outcome)| outcome.operations);
        let cpu_us = Some(cpu.as_secs_f64() * 1e6 / all as f64);
        let measure = |count: u64, outcome: Outcome, answers| Measure {
            figure: count as f64 / outcome.seconds,
            cpu_us,
            answers,
            codes: outcome.codes,
        };
        let beside = beside.map(|(name, outcome)| (name, measure(outcome.operations, outcome, None)));
        Ok((measure(count, outcome, answers), beside))
    }

    /// The first few answers, added up. They warm the caches, too.
    fn answers(&self, running: &Running, row: &Row, who: Who<'_>) -> Result<Answers> {
        let amount =
            Amount { connections: 1, outstanding: 1, operations: row.compared, time: Duration::from_secs(3600) };
        let mut work = (row.work)(self.people);
        let mut compared = Compared { work: &mut *work, answers: Answers::default() };
        run(running.address, who, amount, &mut compared)?;
        Ok(compared.answers)
    }
}
