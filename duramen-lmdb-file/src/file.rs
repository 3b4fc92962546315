//! A data file: its newest snapshot, its tables, its pages.
//!
//! Owns: reading the file. Must not know: what is in pages.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::entries::Entries;
use crate::error::{Error, Result, damaged};
use crate::layout::{self, HEADER, Kind, META, Meta, Record, Value};
use crate::walk::Walk;

/// A data file of LMDB's, as its newest snapshot has it.
#[derive(Debug, Clone)]
pub struct DataFile(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    file: File,
    pub meta: Meta,
}

/// A table of a data file.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name; `None` is the main table.
    pub name: Option<Vec<u8>>,
    /// LMDB's flags of it: `MDB_REVERSEKEY` 0x02, `MDB_DUPSORT` 0x04, `MDB_INTEGERKEY` 0x08, `MDB_DUPFIXED` 0x10,
    /// `MDB_INTEGERDUP` 0x20, `MDB_REVERSEDUP` 0x40.
    pub flags: u16,
    pub(crate) record: Record,
    /// So many of its entries are tables.
    pub(crate) tables: u64,
}

impl Table {
    /// How many entries it says that it has, not counting tables.
    pub fn len(&self) -> u64 {
        self.record.entries.saturating_sub(self.tables)
    }

    /// Whether it has no entries but tables.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl DataFile {
    /// Whether a file, or `data.mdb` in a directory, begins as those of LMDB do, of whatever kind and version.
    pub fn is_at(path: &Path) -> bool {
        let place = place(path);
        // Opening what is no file (a pipe) may wait for ever, and reading from it takes something away.
        if !place.is_file() {
            return false;
        }
        let head = File::open(place.as_ref()).and_then(|file| read_head(&file, 0));
        head.is_ok_and(|head| !matches!(layout::kind(&head), Kind::Foreign))
    }

    /// Opens a data file, or `data.mdb` in a directory.
    ///
    /// # Errors
    /// [`Error::Foreign`] and [`Error::Unsupported`] if it is another file; [`Error::Damaged`] if its meta pages are.
    pub fn open(path: &Path) -> Result<DataFile> {
        let file = File::open(place(path).as_ref())?;
        let head = read_head(&file, 0)?;
        match layout::kind(&head) {
            Kind::Foreign => return Err(Error::Foreign),
            Kind::Other(what) => return Err(Error::Unsupported(what)),
            Kind::Readable => {}
        }
        let meta = newest(&file)?;
        Ok(DataFile(Arc::new(Inner { file, meta })))
    }

    /// Bytes of all pages in use and free.
    pub fn bytes(&self) -> u64 {
        (self.0.meta.last_page + 1) * self.0.meta.page_size as u64
    }

    /// Bytes in a page.
    pub fn page_size(&self) -> usize {
        self.0.meta.page_size
    }

    /// The main table if it has entries of its own, or there is no other; then the others by name.
    pub fn tables(&self) -> Result<Vec<Table>> {
        let mut walk = Walk::tree(&self.0.meta.main);
        let (mut named, mut budget, mut has_own) = (Vec::new(), self.budget(), false);
        while let Some((page, node)) = walk.step(&self.0, &mut budget)? {
            let Value::Table(record) = node.value else {
                has_own = true;
                continue;
            };
            let record = Record::decode(record).map_err(damaged(page))?;
            let name = node.key_of_table().map_err(damaged(page))?.to_vec();
            named.push(Table { name: Some(name), flags: record.flags, record, tables: 0 });
        }
        let (record, tables) = (self.0.meta.main, named.len() as u64);
        if record.entries < tables {
            return Err(Error::Count { said: record.entries, found: tables });
        }
        let main = Table { name: None, flags: record.flags, record, tables };
        // Where it says that it has none and has some, its entries are where that is told.
        let is_wanted = named.is_empty() || has_own || !main.is_empty();
        Ok(is_wanted.then_some(main).into_iter().chain(named).collect())
    }

    /// The entries of a table, in its order.
    pub fn entries(&self, table: &Table) -> Entries {
        Entries::new(self.0.clone(), table, self.budget())
    }

    /// As many pages as there are: a tree that has more refers to some of them twice.
    fn budget(&self) -> u64 {
        self.0.meta.last_page + 1
    }

    /// To be asked when all is read.
    ///
    /// # Errors
    /// [`Error::Changed`] if a program has committed since the file was opened: what was read may be of several commits.
    pub fn check_unchanged(&self) -> Result<()> {
        if newest(&self.0.file)? == self.0.meta { Ok(()) } else { Err(Error::Changed) }
    }
}

impl Inner {
    /// A page's bytes.
    pub(crate) fn page(&self, number: u64) -> Result<Box<[u8]>> {
        let mut page = vec![0; self.meta.page_size];
        self.read(number, 0, &mut page)?;
        if layout::u64_at(&page, 0) != number {
            return Err(damaged(number)("another page's number stands in it"));
        }
        Ok(page.into())
    }

    /// Makes `value` what stands on overflow pages.
    pub(crate) fn overflow(&self, number: u64, bytes: usize, value: &mut Vec<u8>) -> Result<u64> {
        let mut head = [0; HEADER];
        self.read(number, 0, &mut head)?;
        layout::check_overflow(&head, bytes, self.meta.page_size).map_err(damaged(number))?;
        let pages = (HEADER + bytes).div_ceil(self.meta.page_size) as u64;
        // Before memory is taken for it.
        if number.checked_add(pages).is_none_or(|end| end > self.meta.last_page + 1) {
            return Err(damaged(number)("pages that end outside the file"));
        }
        value.resize(bytes, 0);
        self.read(number, HEADER as u64, value)?;
        Ok(pages)
    }

    fn read(&self, number: u64, offset: u64, bytes: &mut [u8]) -> Result<()> {
        if number > self.meta.last_page {
            return Err(damaged(number)("it is outside the file"));
        }
        match self.file.read_exact_at(bytes, number * self.meta.page_size as u64 + offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(damaged(number)("the file ends before it"))
            }
            other => Ok(other?),
        }
    }
}

/// The file that is meant.
fn place(path: &Path) -> std::borrow::Cow<'_, Path> {
    if path.is_dir() { path.join("data.mdb").into() } else { path.into() }
}

/// As many bytes of a meta page as matter, or as there are.
fn read_head(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let (mut head, mut filled) = (vec![0; META], 0);
    while filled < META {
        match file.read_at(&mut head[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    head.truncate(filled);
    Ok(head)
}

/// The newest of the two meta pages. LMDB opens no file of which one is damaged.
fn newest(file: &File) -> Result<Meta> {
    let first = Meta::decode(&read_head(file, 0)?).map_err(damaged(0))?;
    let second = read_head(file, first.page_size as u64)?;
    let second = Meta::decode(&second).map_err(damaged(1))?;
    if second.page_size != first.page_size {
        return Err(damaged(1)("another page size than the first page has"));
    }
    Ok(if second.txnid > first.txnid { second } else { first })
}
