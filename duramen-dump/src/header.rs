//! What a section's header says about its table.
//!
//! Owns: the meaning of LMDB's flags for a table of ours, both directions.

use duramen::{Duplicates, Order, TableOptions, TableStats};

use crate::Format;
use crate::problem::Problem;

/// Readers that LMDB has room for unless told otherwise. We have no such limit; mdb_load wants a number.
const MAX_READERS: u32 = 126;

/// LMDB's `MDB_INTEGERDUP`. A table that was `integerdup` without being `dupfixed` has exactly this in its user bits,
/// because its own options do not tell these two apart.
const LOOSE_INTEGERS: u16 = 0x20;

/// A section's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// How entries are written.
    pub format: Format,
    /// The table's name; `None` is the main table.
    pub database: Option<Vec<u8>>,
    /// LMDB's `mapsize`: the most that its file may grow to.
    pub map_bytes: u64,
    /// LMDB's `maxreaders`.
    pub max_readers: u32,
    /// Bytes in a page.
    pub page_size: usize,
    /// A key may have several values.
    pub duplicates: bool,
    /// They all have one size.
    pub dup_fixed: bool,
    /// Keys are integers.
    pub integer_key: bool,
    /// Duplicates are integers.
    pub integer_dup: bool,
    /// Keys sort from their last byte.
    pub reverse_key: bool,
    /// Duplicates sort from their last byte.
    pub reverse_dup: bool,
    /// Bits of the program's own; LMDB has no such thing.
    pub user_bits: u16,
}

impl Header {
    /// The header of one of our tables. A custom order has no word in the format, and is passed over.
    pub fn of(stats: &TableStats, name: &[u8], format: Format, map_bytes: u64) -> Header {
        let integer_dup = stats.duplicates == Some("native");
        let is_loose = integer_dup && stats.user_bits == LOOSE_INTEGERS;
        Header {
            format,
            database: (!name.is_empty()).then(|| name.to_vec()),
            map_bytes,
            max_readers: MAX_READERS,
            page_size: stats.page_size,
            duplicates: stats.duplicates.is_some(),
            dup_fixed: stats.fixed_size && !is_loose,
            integer_key: stats.order == "native",
            integer_dup,
            reverse_key: stats.order == "reversed",
            reverse_dup: stats.duplicates == Some("reversed"),
            user_bits: if is_loose { 0 } else { stats.user_bits },
        }
    }

    /// The options of a table that is to take the section's entries.
    pub fn options(&self) -> TableOptions {
        let order = match (self.integer_key, self.reverse_key) {
            (true, _) => Order::Native,
            (false, true) => Order::Reversed,
            (false, false) => Order::Bytes,
        };
        let options = TableOptions::new().order(order).user_bits(self.user_bits);
        if !self.duplicates {
            return options;
        }
        let duplicates = match (self.integer_dup, self.reverse_dup) {
            (true, _) => Duplicates::integers(),
            (false, true) => Duplicates::reversed(),
            (false, false) => Duplicates::sorted(),
        };
        let options = options.duplicates(if self.dup_fixed { duplicates.fixed_size() } else { duplicates });
        if self.integer_dup && !self.dup_fixed { options.user_bits(LOOSE_INTEGERS) } else { options }
    }

    /// Takes what a line says; false if its name means nothing to us.
    pub(crate) fn set(&mut self, name: &str, value: &[u8]) -> Result<bool, Problem> {
        let text = String::from_utf8_lossy(value).into_owned();
        let flag = text != "0";
        match name {
            "VERSION" if matches!(text.as_str(), "1" | "2" | "3") => {}
            "VERSION" => return Err(Problem::Version(text)),
            "format" if text == "print" => self.format = Format::Print,
            "format" if text == "bytevalue" => self.format = Format::ByteValue,
            "format" => return Err(Problem::Format(text)),
            "type" if text == "btree" => {}
            "type" => return Err(Problem::Type(text)),
            "database" => self.database = Some(value.to_vec()),
            "mapsize" => self.map_bytes = number(name, text)?,
            "maxreaders" => self.max_readers = number(name, text)?,
            "db_pagesize" => self.page_size = number(name, text)?,
            "user_bits" => self.user_bits = number(name, text)?,
            "mapaddr" => {}
            "duplicates" | "dupsort" => self.duplicates |= flag,
            "dupfixed" => self.dup_fixed = flag,
            "integerkey" => self.integer_key = flag,
            "integerdup" => self.integer_dup = flag,
            "reversekey" => self.reverse_key = flag,
            "reversedup" => self.reverse_dup = flag,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What contradicts itself, if anything does.
    pub fn contradiction(&self) -> Option<&'static str> {
        if (self.dup_fixed || self.integer_dup || self.reverse_dup) && !self.duplicates {
            return Some("dupfixed=1, integerdup=1 and reversedup=1 need dupsort=1");
        }
        if self.integer_key && self.reverse_key {
            return Some("integerkey=1 and reversekey=1 exclude each other");
        }
        if self.integer_dup && self.reverse_dup {
            return Some("integerdup=1 and reversedup=1 exclude each other");
        }
        None
    }
}

fn number<N: std::str::FromStr>(name: &str, text: String) -> Result<N, Problem> {
    text.parse().map_err(|_| Problem::Number { name: name.to_string(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_found() {
        let contradicts = |names: &[&str]| {
            let mut header = Header::default();
            assert!(names.iter().all(|name| header.set(name, b"1").unwrap()));
            header.contradiction().is_some()
        };
        assert!(contradicts(&["dupfixed"]));
        assert!(contradicts(&["integerkey", "reversekey"]));
        assert!(contradicts(&["dupsort", "integerdup", "reversedup"]));
        assert!(!contradicts(&["dupsort", "dupfixed", "integerdup", "reversekey"]));
    }
}
