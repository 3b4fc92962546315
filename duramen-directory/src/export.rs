//! Exporting a subtree as LDIF that an import takes: parents before what is below them, operational attributes too.

use std::io::Write;

use duramen_ldap::ldif::write_pair;
use duramen_ldap::message::ResultCode;

use crate::failure::{Failure, Result};
use crate::inner::Inner;
use crate::large;
use crate::names;
use crate::tables::{Id, Tables};

/// Bytes that are gathered before they are written.
const GATHERED: usize = 1 << 20;

impl Inner {
    /// Writes an entry and all below it; how many these were.
    pub(crate) fn export(
        &self,
        base: Option<&str>,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<u64> {
        let snapshot = self.db.read()?;
        let state = self.state_of(&snapshot)?;
        let tables = Tables::Snapshot(&snapshot);
        let (table, entries) = (tables.name()?, tables.entry()?);
        let mut waiting: Vec<Id> = Vec::new();
        let find = |name: &str| names::find_entry(&table, &state.suffixes, name);
        match base {
            Some(base) => {
                let found = find(&names::normalize(&state.schema, base)?)?;
                waiting.push(found.ok_or_else(|| names::no_such_object(String::new(), base))?);
            }
            None => {
                for suffix in state.suffixes.iter().rev() {
                    waiting.extend(find(&suffix.normalized)?);
                }
            }
        }
        let (mut text, mut done) = (Vec::with_capacity(GATHERED), 0);
        while let Some(id) = waiting.pop() {
            self.write_entry(&tables, id, &mut text)?;
            let from = waiting.len();
            waiting.extend(names::children_of(&table, id)?);
            // Entries come as they were added, which is what their ids say.
            waiting[from..].sort_unstable_by(|a, b| b.cmp(a));
            done += 1;
            if text.len() >= GATHERED {
                write(out, &mut text)?;
                if !progress(done, entries.len()) {
                    return Err(Failure::new(ResultCode::CANCELED, "stopped"));
                }
            }
        }
        write(out, &mut text)?;
        Ok(done)
    }

    fn write_entry(&self, tables: &Tables<'_>, id: Id, text: &mut Vec<u8>) -> Result<()> {
        let entries = tables.entry()?;
        let entry = names::entry(&entries, id)?;
        write_pair(text, "dn", names::name_of(&entries, id)?.as_bytes());
        for attribute in entry.attributes() {
            let decoded = attribute.decode();
            decoded.values.iter().for_each(|value| write_pair(text, decoded.description, value));
        }
        for large in entry.large() {
            // What is under options is in the entry, and written already.
            for value in large::values(&tables.value()?, id, large.id)? {
                write_pair(text, &large.description, value?);
            }
        }
        text.push(b'\n');
        Ok(())
    }
}

fn write(out: &mut dyn Write, text: &mut Vec<u8>) -> Result<()> {
    let written = out.write_all(text);
    text.clear();
    written.map_err(|error| Failure::new(ResultCode::OTHER, format!("cannot write the LDIF: {error}")))
}
