//! What `duramen load` takes its entries from: a dump, or a data file of LMDB's.
//!
//! Owns: which of them an input is, places in it. Must not know: where entries go.

use std::cmp::Ordering;
use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use duramen::Order;
use duramen_dump::{BadInput, Header, Reader};
use duramen_lmdb_file::{DataFile, Entries, Table};

use crate::failure::{Failure, Result};
use crate::open;
use crate::output::remark;

/// An input, by sections: [`Source::next_header`], then [`Source::next_entry`] until that says that the section is over.
pub struct Source {
    /// The input's name.
    name: String,
    /// Its length if it is a file.
    pub length: Option<u64>,
    from: From,
}

enum From {
    Dump(Reader<Box<dyn BufRead>>),
    Lmdb(Box<Lmdb>),
}

/// A data file of LMDB's.
struct Lmdb {
    file: DataFile,
    tables: std::vec::IntoIter<Table>,
    entries: Option<Entries>,
    order: InOrder,
    /// Pages read of the tables before this one.
    pages: u64,
}

/// What is wrong with an input, and where.
pub struct Bad(String);

impl Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

type Read<T> = std::result::Result<T, Bad>;

impl Source {
    /// Opens an input; standard input if it is `-` or missing. `is_bare`: a dump that is plain lines.
    pub fn open(path: Option<&Path>, is_bare: bool) -> Result<Source> {
        let reader = |input| From::Dump(if is_bare { Reader::bare(input) } else { Reader::new(input) });
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            let input: Box<dyn BufRead> = Box::new(io::stdin().lock());
            return Ok(Source { name: "standard input".to_string(), length: None, from: reader(input) });
        };
        let name = path.display().to_string();
        if !is_bare && DataFile::is_at(path) {
            let failed = |error| Failure::Failed(format!("{name}: {error}"));
            let file = DataFile::open(path).map_err(failed)?;
            let tables = file.tables().map_err(|error| failed(changed(&file).unwrap_or(error)))?.into_iter();
            let length = Some(file.bytes());
            let lmdb = Lmdb { file, tables, entries: None, order: InOrder::default(), pages: 0 };
            return Ok(Source { name, length, from: From::Lmdb(Box::new(lmdb)) });
        }
        let failed = |error| Failure::Failed(format!("cannot open {name}: {error}"));
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !is_bare && open::is_database(path) {
            return Err(Failure::Failed(format!(
                "{name} is a Duramen database: `duramen copy` copies it, and what `duramen dump` writes of it can be loaded"
            )));
        }
        if metadata.is_dir() {
            return Err(Failure::Failed(format!("{name} is a directory, and no `data.mdb` of LMDB is in it")));
        }
        let length = metadata.is_file().then_some(metadata.len());
        Ok(Source { name, length, from: reader(Box::new(BufReader::with_capacity(1 << 16, file))) })
    }

    /// The next section's header; `None` at the end.
    pub fn next_header(&mut self) -> Read<Option<Header>> {
        match &mut self.from {
            From::Dump(reader) => reader.next_header().map_err(|bad| self.bad_dump(&bad)),
            From::Lmdb(lmdb) => {
                lmdb.next_header().map_err(|what| lmdb.blame(what)).map_err(|what| self.bad_file(&what))
            }
        }
    }

    /// Makes key and value the section's next entry; false at its end.
    pub fn next_entry(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Read<bool> {
        match &mut self.from {
            From::Dump(reader) => reader.next_entry(key, value).map_err(|bad| self.bad_dump(&bad)),
            From::Lmdb(lmdb) => {
                lmdb.next_entry(key, value).map_err(|what| lmdb.blame(what)).map_err(|what| self.bad_file(&what))
            }
        }
    }

    /// Says which lines of the last header mean nothing.
    pub fn remark_on_header(&self) {
        let From::Dump(reader) = &self.from else { return };
        for line in reader.header_lines().iter().filter(|line| !line.is_known) {
            remark(&format!("{}:{}: the header says {}, which means nothing here", self.name, line.number, line.name));
        }
    }

    /// About how many bytes of its length are read.
    pub fn bytes(&self) -> u64 {
        match &self.from {
            From::Dump(reader) => reader.bytes(),
            From::Lmdb(lmdb) => lmdb.pages_read() * lmdb.file.page_size() as u64,
        }
    }

    /// The input's name and where in it the last entry is.
    pub fn place(&self) -> String {
        match &self.from {
            From::Dump(reader) => format!("{}:{}", self.name, reader.line_number()),
            From::Lmdb(lmdb) => match &lmdb.entries {
                Some(entries) => format!("{}, page {}", self.name, entries.page()),
                None => self.name.clone(),
            },
        }
    }

    /// The input's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn bad_dump(&self, bad: &BadInput) -> Bad {
        Bad(format!("{}:{}: {bad}", self.name, bad.line))
    }

    fn bad_file(&self, what: &str) -> Bad {
        Bad(format!("{}: {what}", self.name))
    }
}

impl Lmdb {
    fn next_header(&mut self) -> std::result::Result<Option<Header>, String> {
        self.pages = self.pages_read();
        self.entries = None;
        let Some(table) = self.tables.next() else {
            self.file.check_unchanged().map_err(|error| error.to_string())?;
            return Ok(None);
        };
        self.entries = Some(self.file.entries(&table));
        let has = |flag| table.flags & flag != 0;
        // As LMDB itself reads them: without MDB_DUPSORT those about duplicates mean nothing, MDB_REVERSEKEY goes before
        // MDB_INTEGERKEY, and MDB_INTEGERDUP before MDB_REVERSEDUP.
        let duplicates = has(0x04);
        let header = Header {
            page_size: self.file.page_size(),
            reverse_key: has(0x02),
            duplicates,
            integer_key: has(0x08) && !has(0x02),
            dup_fixed: duplicates && has(0x10),
            integer_dup: duplicates && has(0x20),
            reverse_dup: duplicates && has(0x40) && !has(0x20),
            database: table.name,
            ..Header::default()
        };
        self.order = InOrder::of(&header);
        Ok(Some(header))
    }

    fn next_entry(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> std::result::Result<bool, String> {
        let Some(entries) = &mut self.entries else { return Ok(false) };
        let found = entries.next_entry(key, value).map_err(|error| match error {
            duramen_lmdb_file::Error::Count { .. } => self.order.miscounted(&error),
            error => error.to_string(),
        })?;
        if found {
            let in_order = self.order.takes(key, value);
            in_order.map_err(|what| format!("page {}: {what}", entries.page()))?;
        }
        Ok(found)
    }

    /// What is wrong, or that a program has changed the file.
    fn blame(&self, what: String) -> String {
        changed(&self.file).map_or(what, |changed| changed.to_string())
    }

    fn pages_read(&self) -> u64 {
        self.pages + self.entries.as_ref().map_or(0, Entries::pages_read)
    }
}

/// Whether a program has changed a file since it was opened: then what seems to be wrong with it is not.
fn changed(file: &DataFile) -> Option<duramen_lmdb_file::Error> {
    file.check_unchanged().err().filter(|error| matches!(error, duramen_lmdb_file::Error::Changed))
}

/// Whether entries come in the order that their table's flags say. A program can give LMDB a function of its own instead,
/// of which the file tells nothing.
#[derive(Default)]
struct InOrder {
    table: String,
    has_duplicates: bool,
    keys: Order,
    values: Order,
    last: Option<(Vec<u8>, Vec<u8>)>,
}

impl InOrder {
    fn of(header: &Header) -> InOrder {
        let order = |integers, reversed| match (integers, reversed) {
            (true, _) => Order::Native,
            (false, true) => Order::Reversed,
            (false, false) => Order::Bytes,
        };
        let name = header.database.as_deref().map(|name| String::from_utf8_lossy(name));
        InOrder {
            table: name.map_or("the main table".to_string(), |name| format!("the table `{name}`")),
            has_duplicates: header.duplicates,
            keys: order(header.integer_key, header.reverse_key),
            values: order(header.integer_dup, header.reverse_dup),
            last: None,
        }
    }

    fn takes(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), String> {
        let Some((last_key, last_value)) = &mut self.last else {
            self.last = Some((key.to_vec(), value.to_vec()));
            return Ok(());
        };
        let what = match self.keys.cmp(last_key, key) {
            Ordering::Less => None,
            Ordering::Equal if self.values.cmp(last_value, value) == Ordering::Less => None,
            Ordering::Equal => Some("values"),
            Ordering::Greater => Some("keys"),
        };
        for (last, bytes) in [(last_key, key), (last_value, value)] {
            last.clear();
            last.extend_from_slice(bytes);
        }
        what.map_or(Ok(()), |what| Err(self.out_of_order(what)))
    }

    /// What to say of a table that has not as many entries as it says.
    fn miscounted(&self, error: &duramen_lmdb_file::Error) -> String {
        let mut text = format!("{}: {error}", self.table);
        if self.has_duplicates {
            // Of a damaged table nobody can tell that.
            text += ". LMDB goes on to count an empty value that it drops when its key gets a second one: if that is \
                     it, `mdb_dump -a | duramen load` carries over what there is";
        }
        text
    }

    fn out_of_order(&self, what: &str) -> String {
        format!(
            "the {what} of {} come in an order that only the program knows that made it (LMDB's `mdb_dump -a` and Duramen's \
             `mdb_load -a` carry that over), or the page is damaged",
            self.table
        )
    }
}
