//! What tools need of the server's configuration.
//!
//! Owns: where in `duramend.toml` that stands. Must not know: what else is in the file, which is the server's affair; what
//! tools do with it.

use std::path::{Path, PathBuf};

use duramen_directory::{Index, IndexKinds, SchemaFile};
use toml::{Table, Value};

use crate::failure::{Failure, Result};

/// A server's configuration.
pub struct Configured {
    path: PathBuf,
    table: Table,
}

impl Configured {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Configured> {
        let file = read_text(path)?;
        let table = file.text.parse().map_err(|error| Failure::Failed(format!("{}: {error}", file.name)))?;
        Ok(Configured { path: path.to_owned(), table })
    }

    /// The folder with the data.
    ///
    /// # Errors
    /// The file does not say.
    pub fn data(&self) -> Result<PathBuf> {
        let none = || Failure::Usage(format!("{} names no data: give --data DIR", self.path.display()));
        Ok(self.beside(self.text(None, "data").ok_or_else(none)?))
    }

    /// Names below which there is data.
    pub fn suffixes(&self) -> Vec<String> {
        texts(self.value(None, "suffixes"))
    }

    /// Files of schema.
    pub fn schema(&self) -> Vec<PathBuf> {
        texts(self.value(Some("directory"), "schema")).into_iter().map(|path| self.beside(path)).collect()
    }

    /// Whether users and groups of Unix have the schema of 2307bis.
    pub fn nis_bis(&self) -> bool {
        self.text(Some("directory"), "nis").is_some_and(|nis| nis == "2307bis")
    }

    /// Whether members of groups in groups count.
    pub fn nested_groups(&self) -> bool {
        self.value(Some("directory"), "nested_groups").and_then(Value::as_bool).unwrap_or_default()
    }

    /// Indices, if any are named.
    pub fn indices(&self) -> Option<Vec<Index>> {
        let indices = self.value(None, "index")?.as_array()?;
        Some(indices.iter().filter_map(|index| index.as_table().map(index_of)).collect())
    }

    /// Access rules, if there are any.
    pub fn rules(&self) -> Result<Option<SchemaFile>> {
        match (self.text(Some("access"), "rules"), self.text(Some("access"), "file")) {
            (Some(text), _) => {
                let name = format!("access.rules of {}", self.path.display());
                Ok(Some(SchemaFile { name, text: text.to_owned() }))
            }
            (None, Some(name)) => read_text(&self.beside(name)).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The administrator's name.
    pub fn administrator(&self) -> Option<&str> {
        self.text(Some("administrator"), "name")
    }

    fn value(&self, section: Option<&str>, key: &str) -> Option<&Value> {
        section.map_or(Some(&self.table), |name| self.table.get(name)?.as_table())?.get(key)
    }

    fn text(&self, section: Option<&str>, key: &str) -> Option<&str> {
        self.value(section, key)?.as_str()
    }

    /// Paths in the file are relative to its directory.
    fn beside(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }
}

/// Reads a file of text, with its name in what goes wrong.
pub fn read_text(path: &Path) -> Result<SchemaFile> {
    SchemaFile::read(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn index_of(table: &Table) -> Index {
    let kinds = texts(table.get("kinds"));
    let has = |kind: &str| kinds.iter().any(|named| named == kind);
    let attribute = table.get("attribute").and_then(Value::as_str).unwrap_or_default().to_owned();
    Index {
        attribute,
        kinds: IndexKinds { presence: has("presence"), equality: has("equality"), substring: has("substring") },
    }
}
