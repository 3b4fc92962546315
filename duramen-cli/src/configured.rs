//! What tools need of the server's configuration.
//!
//! Owns: where in `duramend.toml` that stands. Must not know: what else is in the file, which is the server's affair; what
//! tools do with it.

use std::path::{Path, PathBuf};

use duramen_directory::password::Scheme;
use duramen_directory::{Index, IndexKinds, SchemaFile};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::failure::{Failure, Result};

/// A server's configuration.
pub struct Configured {
    path: PathBuf,
    file: File,
}

/// The file. What tools do not need of it is not looked into; a name that no server knows is an error here too.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct File {
    data: Option<PathBuf>,
    suffixes: Vec<String>,
    directory: Directory,
    index: Option<Vec<IndexOf>>,
    access: Access,
    administrator: Option<Administrator>,
    #[serde(rename = "listen")]
    _listen: Option<IgnoredAny>,
    #[serde(rename = "tls")]
    _tls: Option<IgnoredAny>,
    #[serde(rename = "constraint")]
    _constraint: Option<IgnoredAny>,
    #[serde(rename = "dynamic_list")]
    _dynamic_list: Option<IgnoredAny>,
    #[serde(rename = "identity")]
    _identity: Option<IgnoredAny>,
    #[serde(rename = "password_policies")]
    _password_policies: Option<IgnoredAny>,
    #[serde(rename = "sync")]
    _sync: Option<IgnoredAny>,
    #[serde(rename = "replica")]
    _replica: Option<IgnoredAny>,
    #[serde(rename = "audit")]
    _audit: Option<IgnoredAny>,
    #[serde(rename = "limits")]
    _limits: Option<IgnoredAny>,
    #[serde(rename = "log")]
    _log: Option<IgnoredAny>,
    #[serde(rename = "http")]
    _http: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Directory {
    schema: Vec<PathBuf>,
    nis: Nis,
    nested_groups: bool,
    password_scheme: Option<String>,
    #[serde(rename = "hash_passwords")]
    _hash_passwords: Option<IgnoredAny>,
    #[serde(rename = "durability")]
    _durability: Option<IgnoredAny>,
    #[serde(rename = "referrals")]
    _referrals: Option<IgnoredAny>,
    #[serde(rename = "references")]
    _references: Option<IgnoredAny>,
    #[serde(rename = "unique")]
    _unique: Option<IgnoredAny>,
    #[serde(rename = "authz_policy")]
    _authz_policy: Option<IgnoredAny>,
}

#[derive(Deserialize, Default, PartialEq)]
enum Nis {
    #[default]
    #[serde(rename = "2307")]
    Rfc2307,
    #[serde(rename = "2307bis")]
    Bis,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexOf {
    attribute: String,
    kinds: Vec<Kind>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Presence,
    Equality,
    Substring,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Access {
    rules: Option<String>,
    file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Administrator {
    name: String,
    #[serde(rename = "password")]
    _password: Option<IgnoredAny>,
}

impl Configured {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Configured> {
        let text = read_text(path)?.text;
        let file = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let name = path.display();
            Failure::Failed(format!(
                "{name}, line {line}: {} (`duramend check-config --config {name}` tells all)",
                error.message()
            ))
        })?;
        let configured = Configured { path: path.to_owned(), file };
        match configured.file.index.iter().flatten().find(|index| index.kinds.is_empty()) {
            None => Ok(configured),
            Some(index) => {
                let (name, attribute) = (path.display(), &index.attribute);
                Err(Failure::Failed(format!(
                    "{name}: the index of {attribute:?} has no kinds: name some, or leave it out"
                )))
            }
        }
    }

    /// The folder with the data.
    ///
    /// # Errors
    /// The file does not say.
    pub fn data(&self) -> Result<PathBuf> {
        let none = || Failure::Usage(format!("{} names no data: give --data DIR", self.path.display()));
        Ok(self.beside(self.file.data.as_ref().ok_or_else(none)?))
    }

    /// Names below which there is data.
    pub fn suffixes(&self) -> Vec<String> {
        self.file.suffixes.clone()
    }

    /// Files of schema.
    pub fn schema(&self) -> Vec<PathBuf> {
        self.file.directory.schema.iter().map(|path| self.beside(path)).collect()
    }

    /// Whether users and groups of Unix have the schema of 2307bis.
    pub fn nis_bis(&self) -> bool {
        self.file.directory.nis == Nis::Bis
    }

    /// Whether members of groups in groups count.
    pub fn nested_groups(&self) -> bool {
        self.file.directory.nested_groups
    }

    /// How new passwords are kept, if it says so.
    pub fn password_scheme(&self) -> Result<Option<Scheme>> {
        let Some(name) = &self.file.directory.password_scheme else { return Ok(None) };
        let refused = |error| Failure::Failed(format!("{}: password_scheme {name:?}: {error}", self.path.display()));
        name.parse().map(Some).map_err(refused)
    }

    /// Indices, if any are named.
    pub fn indices(&self) -> Option<Vec<Index>> {
        Some(self.file.index.as_ref()?.iter().map(index_of).collect())
    }

    /// Access rules, if there are any.
    pub fn rules(&self) -> Result<Option<SchemaFile>> {
        match (&self.file.access.rules, &self.file.access.file) {
            (Some(text), _) => {
                let name = format!("access.rules of {}", self.path.display());
                Ok(Some(SchemaFile { name, text: text.clone() }))
            }
            (None, Some(name)) => read_text(&self.beside(name)).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The administrator's name.
    pub fn administrator(&self) -> Option<&str> {
        self.file.administrator.as_ref().map(|administrator| &*administrator.name)
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

fn index_of(index: &IndexOf) -> Index {
    let has = |kind| index.kinds.contains(&kind);
    let kinds =
        IndexKinds { presence: has(Kind::Presence), equality: has(Kind::Equality), substring: has(Kind::Substring) };
    Index { attribute: index.attribute.clone(), kinds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Configured> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Configured::read(file.path())
    }

    #[test]
    fn all_settings_that_a_server_has_are_known() {
        // In the commented file settings stand behind "# ", and what is said of them behind a second one.
        let commented = include_str!("../../duramen-server/duramend.toml");
        let is_setting = |line: &&str| {
            let line = line.trim_start_matches("# ");
            let name = line.split(['=', ' ']).next().unwrap_or_default();
            // The rules take several lines.
            line.starts_with('[')
                || line.contains(" = ")
                    && !line.contains("\"\"\"")
                    && name.chars().all(|c| c == '_' || c.is_ascii_lowercase())
        };
        let text: String =
            commented.lines().filter(is_setting).map(|line| line.trim_start_matches("# ").to_owned() + "\n").collect();
        let configured = read(&text).unwrap_or_else(|failure| panic!("{failure:?} in:\n{text}"));
        assert!(text.contains("[[index]]") && text.contains("[limits]") && configured.data().is_ok());
    }

    #[test]
    fn what_no_server_takes_is_refused_with_its_line() {
        for (text, what) in [
            ("data = \"d\"\n[[index]]\nattribute = \"cn\"\nkinds = [\"eq\"]\n", "line 4: unknown variant `eq`"),
            ("[[index]]\nattribute = \"cn\"\nkinds = \"equality\"\n", "line 3: "),
            ("[[index]]\nattribute = \"cn\"\nkinds = []\n", "the index of \"cn\" has no kinds"),
            ("[[indx]]\nattribute = \"cn\"\n", "line 1: unknown field `indx`"),
            ("[directory]\nnis = \"foo\"\n", "line 2: unknown variant `foo`"),
            ("[directory]\nschema = \"x\"\n", "line 2: "),
            ("data = 5\n", "line 1: "),
        ] {
            let failure = read(text).map(drop).unwrap_err();
            assert!(failure.message().unwrap().contains(what), "{text}: {failure:?}");
        }
        let scheme =
            |name: &str| read(&format!("[directory]\npassword_scheme = \"{name}\"\n")).unwrap().password_scheme();
        assert_eq!(scheme("SSHA512").unwrap().unwrap().to_string(), "SSHA512");
        assert!(scheme("ROT13").is_err());
        // What other parts say is the server's affair, however large its numbers are.
        assert!(read("[limits]\nconnections = 18446744073709551615\n").is_ok());
    }
}
