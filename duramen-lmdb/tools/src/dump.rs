//! `mdb_dump`: tables as text.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use duramen_dump::{Format, Header, write_end, write_entry, write_header};
use duramen_lmdb::abi::{db, env as flag};

use crate::failure::{Failed, Failure, Result};
use crate::lmdb::{Answer, Code, Dbi, Env, Step, Txn, describe};
use crate::options::{Options, Syntax, parse};
use crate::tables;

const SYNTAX: Syntax =
    Syntax { letters: c"af:lm:nps:vw:V", synopsis: "[-V] [-f output] [-l] [-n] [-p] [-a|-s subdb] dbpath" };

/// Runs `mdb_dump`.
pub fn run(words: &[CString]) -> Result {
    let Some(options) = parse(words, &SYNTAX)? else { return Ok(()) };
    if options.has(b's') && (options.has(b'a') || options.has(b'l')) {
        return Err(Failure::usage(options.tool, SYNTAX.synopsis));
    }
    let mut out = BufWriter::with_capacity(1 << 16, output(&options)?);
    let result = dump(&options, &mut out);
    // What was written before something failed is there, as with LMDB's.
    let flushed = out.flush().map_err(|error| unwritten(&options, &error));
    result.and(flushed)
}

fn output(options: &Options<'_>) -> Result<Box<dyn Write>> {
    let Some(name) = options.argument(b'f') else { return Ok(Box::new(io::stdout().lock())) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    if is_of_environment(path, Path::new(OsStr::from_bytes(options.path.to_bytes()))) {
        let what = format!("{}: reopen: it is the environment's own, which this would empty", name.to_string_lossy());
        return Err(Failure::of(options.tool, what));
    }
    match File::create(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(reopening(options.tool, name, &error)),
    }
}

/// Whether a file is one of an environment's.
fn is_of_environment(path: &Path, environment: &Path) -> bool {
    let file = |path: &Path| path.metadata().ok().filter(Metadata::is_file).map(|found| (found.dev(), found.ino()));
    let in_directory = ["data.mdb", "lock.mdb", "data.mdb-log"].map(|name| environment.join(name));
    let beside = ["", "-lock", "-log"].map(|ending| {
        let mut name = environment.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    file(path).is_some_and(|found| in_directory.iter().chain(&beside).any(|own| file(own) == Some(found)))
}

/// A file that was named with -f cannot be opened.
pub fn reopening(tool: &CStr, name: &CStr, error: &io::Error) -> Failure {
    let why = describe(Code(error.raw_os_error().unwrap_or(libc::EIO)));
    Failure::of(tool, format!("{}: reopen: {why}", name.to_string_lossy()))
}

fn unwritten(options: &Options<'_>, error: &io::Error) -> Failure {
    of_path(options, describe(Code(error.raw_os_error().unwrap_or(libc::EIO))))
}

fn of_path(options: &Options<'_>, what: String) -> Failure {
    Failure::of(options.tool, format!("{}: {what}", options.path.to_string_lossy()))
}

fn dump(options: &Options<'_>, out: &mut impl Write) -> Result {
    let env = Env::create(2).or_failed("mdb_env_create")?;
    env.open(&options.path, options.env_flags() | flag::RDONLY, 0o664).or_failed("mdb_env_open")?;
    let txn = env.begin(flag::RDONLY).or_failed("mdb_txn_begin")?;
    let name = options.argument(b's');
    let table = txn.open(name, 0).or_failed("mdb_open")?;
    let dump = Dump { options, env: &env, txn: &txn };
    if !(options.has(b'a') || options.has(b'l')) {
        return dump.table(name, table, out);
    }
    let keys = tables::each(&env, &txn, table, |name, table| dump.named(name, table, out))?;
    if keys == 0 {
        let path = options.path.to_string_lossy();
        return Err(Failure::of(options.tool, format!("{path} does not contain multiple databases")));
    }
    Ok(())
}

struct Dump<'a> {
    options: &'a Options<'a>,
    env: &'a Env,
    txn: &'a Txn<'a>,
}

impl Dump<'_> {
    fn named(&self, name: &CStr, table: Dbi, out: &mut impl Write) -> Result {
        if !self.options.has(b'l') {
            return self.table(Some(name), table, out);
        }
        let written = out.write_all(name.to_bytes()).and_then(|()| out.write_all(b"\n"));
        written.map_err(|error| unwritten(self.options, &error))
    }

    fn table(&self, name: Option<&CStr>, table: Dbi, out: &mut impl Write) -> Result {
        let header = self.header(name, table).map_err(|code| self.failed(code))?;
        write_header(out, &header).map_err(|error| unwritten(self.options, &error))?;
        let mut cursor = self.txn.cursor(table).map_err(|code| self.failed(code))?;
        let mut line = Vec::new();
        while let Some((key, value)) = cursor.step(Step::Next).map_err(|code| self.failed(code))? {
            let written = write_entry(out, header.format, key, value, &mut line);
            written.map_err(|error| unwritten(self.options, &error))?;
        }
        write_end(out).map_err(|error| unwritten(self.options, &error))
    }

    fn header(&self, name: Option<&CStr>, table: Dbi) -> Answer<Header> {
        let (flags, stat, info) = (self.txn.flags(table)?, self.txn.stat(table)?, self.env.info()?);
        let has = |flag| flags & flag != 0;
        Ok(Header {
            format: if self.options.has(b'p') { Format::Print } else { Format::ByteValue },
            database: name.map(|name| name.to_bytes().to_vec()),
            map_bytes: info.me_mapsize as u64,
            max_readers: info.me_maxreaders,
            page_size: stat.ms_psize as usize,
            duplicates: has(db::DUPSORT),
            dup_fixed: has(db::DUPFIXED),
            integer_key: has(db::INTEGERKEY),
            integer_dup: has(db::INTEGERDUP),
            reverse_key: has(db::REVERSEKEY),
            reverse_dup: has(db::REVERSEDUP),
            user_bits: 0,
        })
    }

    fn failed(&self, code: Code) -> Failure {
        of_path(self.options, describe(code))
    }
}
