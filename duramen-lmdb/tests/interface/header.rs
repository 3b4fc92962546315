//! What the header declares: the same as LMDB's own, proven by the C compiler.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::built::{compiler, root, run, text};

/// LMDB's own header.
const STOCK: &str = "/usr/include/lmdb.h";

/// A header, and what is defined before it is read.
pub struct Header {
    path: PathBuf,
    define: &'static str,
}

/// LMDB's own.
pub fn stock() -> Header {
    Header { path: STOCK.into(), define: "-DSTOCK" }
}

/// Ours, for the interface of LMDB 0.9 or 1.0.
pub fn ours(interface: usize) -> Header {
    let path = root().join("duramen-lmdb/include/lmdb.h");
    Header { path, define: ["-DMDB_INTERFACE=0", "-DMDB_INTERFACE=1"][interface] }
}

impl Header {
    /// A compiler that has read the header before what it is given.
    fn compiler(&self) -> Command {
        let mut compiler = compiler();
        compiler.arg(self.define).arg("-include").arg(&self.path).args(["-x", "c"]);
        compiler
    }

    pub fn preprocessed(&self, option: &str) -> String {
        text(&run(self.compiler().args(["-E", "-P", option, "/dev/null"])))
    }

    /// Its own declarations, one in each string, without what it includes.
    pub fn declarations(&self) -> Vec<String> {
        let all = self.preprocessed("-P");
        let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
        let statements = flat.split(';').map(|statement| format!("{};", statement.trim()));
        statements.filter(|statement| statement.contains("mdb_") || statement.contains("MDB_")).collect()
    }

    /// Its macros: names, and whether they take arguments.
    pub fn macros(&self) -> Vec<(String, bool)> {
        let all = self.preprocessed("-dM");
        let names = all.lines().filter_map(|line| line.strip_prefix("#define "));
        let names = names
            .filter_map(|rest| rest.split([' ', '(']).next().map(|name| (name, rest.contains(&format!("{name}(")))));
        names.filter(|(name, _)| is_of_lmdb(name)).map(|(name, takes)| (name.to_string(), takes)).collect()
    }

    /// The movements of a cursor.
    pub fn movements(&self) -> Vec<String> {
        let all = self.preprocessed("-P");
        let list = all.split_once("typedef enum MDB_cursor_op").and_then(|(_, rest)| rest.split(['{', '}']).nth(1));
        list.expect("an enumeration")
            .split(',')
            .map(|name| name.trim().to_string())
            .filter(|name| !name.is_empty())
            .collect()
    }
}

fn is_of_lmdb(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("mdb_")
}

/// The function that a declaration is of; none if it declares something else.
pub fn function(declaration: &str) -> Option<&str> {
    if declaration.starts_with("typedef") || !declaration.ends_with(");") {
        return None;
    }
    declaration.split('(').next()?.split([' ', '*']).next_back().filter(|name| name.starts_with("mdb_"))
}

/// The functions that a header declares, sorted.
pub fn functions(header: &Header) -> Vec<String> {
    let names: BTreeSet<String> =
        header.declarations().iter().filter_map(|declaration| function(declaration)).map(str::to_string).collect();
    names.into_iter().collect()
}

/// A name that is declared twice must be declared the same way: the compiler sees our functions and their types of functions
/// behind LMDB's.
#[test]
fn every_function_and_type_of_function_is_declared_as_lmdb_declares_it() -> Result {
    assert_eq!(functions(&stock()), functions(&ours(0)));
    let is_one_line =
        |text: &&String| function(text).is_some() || text.starts_with("typedef") && !text.contains(['{', '}']);
    let lines: Vec<String> = ours(0).declarations().iter().filter(is_one_line).cloned().collect();
    assert!(lines.len() > 56 + 5, "{lines:#?}");
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("both.c");
    std::fs::write(&file, lines.join("\n"))?;
    run(stock().compiler().args(["-fsyntax-only"]).arg(&file));
    // And it would have said so.
    let wrong = lines
        .join("\n")
        .replace("int mdb_env_sync(MDB_env *env, int force)", "int mdb_env_sync(MDB_env *env, long force)");
    std::fs::write(&file, wrong)?;
    assert!(!stock().compiler().args(["-fsyntax-only"]).arg(&file).output()?.status.success());
    Ok(())
}

/// As scripts find it that build programs, by a search for such lines.
#[test]
fn the_version_is_told_once_to_who_reads_the_header_as_text() -> Result {
    let found = |path: &Path| -> Result<String> {
        let header = std::fs::read_to_string(path)?;
        let lines = header.lines().filter_map(|line| line.strip_prefix("#define"));
        let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let told = words.filter(|words| {
            matches!(words[..], [name, number, ..]
            if ["MDB_VERSION_MAJOR", "MDB_VERSION_MINOR", "MDB_VERSION_PATCH"].contains(&name)
                && number.parse::<u32>().is_ok())
        });
        Ok(told.map(|words| words[1].to_string()).collect::<Vec<_>>().join("."))
    };
    assert_eq!((found(&ours(0).path)?, found(&stock().path)?), ("0.9.24".into(), "0.9.24".into()));
    Ok(())
}

/// The values that differ: they name the library.
const OWN_VALUES: [&str; 2] = ["MDB_VERSION_DATE", "MDB_VERSION_STRING"];

#[test]
fn every_constant_has_lmdbs_value_and_every_structure_its_layout() -> Result {
    let names = |header: Header| header.macros().into_iter().collect::<BTreeSet<_>>();
    let mut own = names(ours(0));
    let theirs = names(stock());
    assert!(theirs.len() > 50 && theirs.is_subset(&own), "{:?}", theirs.difference(&own));
    own.retain(|name| !theirs.contains(name));
    let later: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(later, ["MDB_INTERFACE"]);
    assert_eq!(stock().movements(), ours(0).movements());

    let constants = theirs.iter().filter(|(name, takes)| !takes && !OWN_VALUES.contains(&name.as_str()));
    let constants = constants.map(|(name, _)| name.clone()).chain(stock().movements());
    let layouts = [
        ("MDB_val", &["mv_size", "mv_data"][..]),
        ("MDB_stat", &["ms_psize", "ms_depth", "ms_branch_pages", "ms_leaf_pages", "ms_overflow_pages", "ms_entries"]),
        (
            "MDB_envinfo",
            &["me_mapaddr", "me_mapsize", "me_last_pgno", "me_last_txnid", "me_maxreaders", "me_numreaders"],
        ),
    ];
    let mut expressions: Vec<String> = constants.collect();
    for (structure, fields) in layouts {
        expressions.push(format!("sizeof({structure})"));
        expressions.push(format!("_Alignof({structure})"));
        for field in fields {
            expressions.push(format!("offsetof({structure}, {field})"));
            expressions.push(format!("sizeof((({structure} *)0)->{field})"));
        }
    }
    for of_type in ["MDB_dbi", "mdb_mode_t", "mdb_filehandle_t", "MDB_cursor_op"] {
        expressions.push(format!("sizeof({of_type})"));
    }
    let (stock, own) = (values(&stock(), &expressions)?, values(&ours(0), &expressions)?);
    assert!(stock.lines().count() > 100);
    for (stock, own) in stock.lines().zip(own.lines()) {
        assert_eq!(stock, own);
    }
    Ok(())
}

/// A line for each expression, with its value.
fn values(header: &Header, expressions: &[String]) -> Result<String> {
    let directory = tempfile::tempdir()?;
    let (file, program) = (directory.path().join("values.c"), directory.path().join("values"));
    let lines = expressions.iter().map(|text| format!("printf(\"%s = %lld\\n\", \"{text}\", (long long)({text}));\n"));
    let body: String = lines.collect();
    std::fs::write(&file, format!("#include <stdio.h>\n#include <stddef.h>\nint main(void) {{\n{body}return 0; }}\n"))?;
    run(header.compiler().arg(&file).arg("-o").arg(&program));
    Ok(text(&run(&mut Command::new(program))))
}

#[test]
fn the_header_is_for_cplusplus_too() -> Result {
    for interface in 0..2 {
        let header = ours(interface);
        let declared = header.preprocessed("-P");
        assert!(declared.contains("mdb_env_open"));
        run(Command::new("c++")
            .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", header.define, "-x", "c++"])
            .arg(&header.path));
    }
    Ok(())
}
