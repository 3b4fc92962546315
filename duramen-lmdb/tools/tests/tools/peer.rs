//! Both sets of tools, each in a directory of its own.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use duramen_dump::{Header, write_end, write_entry, write_header};
use tempfile::TempDir;

/// Keys and values.
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Whose tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    Lmdbs,
    Ours,
}

/// Somebody's tools, and a directory to run them in.
pub struct Peer {
    whose: Whose,
    directory: TempDir,
}

/// What a tool did.
#[derive(PartialEq, Eq, Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Said {
    /// What it wrote; it must have succeeded.
    #[track_caller]
    pub fn well(self) -> Vec<u8> {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    /// What it wrote, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

impl Peer {
    /// LMDB's tools and ours, each in a directory with these directories in it.
    pub fn both(directories: &[&str]) -> [Peer; 2] {
        [Whose::Lmdbs, Whose::Ours].map(|whose| Peer::new(whose, directories))
    }

    /// Ours.
    pub fn ours(directories: &[&str]) -> Peer {
        Peer::new(Whose::Ours, directories)
    }

    fn new(whose: Whose, directories: &[&str]) -> Peer {
        let memory = std::path::Path::new("/dev/shm");
        let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let directory = made.expect("a directory can be made");
        for name in directories {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Peer { whose, directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a tool. The words are its name and arguments, with blanks between them.
    pub fn run(&self, words: &str) -> Said {
        self.fed(words, b"")
    }

    /// As `run`, with this on its standard input.
    pub fn fed(&self, words: &str, input: &[u8]) -> Said {
        let mut words = words.split(' ');
        let tool = words.next().unwrap();
        let mut command = match self.whose {
            Whose::Lmdbs => Command::new(tool),
            Whose::Ours => Command::new(env!("CARGO_BIN_EXE_mdb_tools")),
        };
        command.arg0(tool).args(words).current_dir(self.directory.path());
        say(&mut command, input)
    }
}

/// Runs a command to its end.
pub fn say(command: &mut Command, input: &[u8]) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}; make setup"));
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // It may end before it has read all.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Said { code: output.status.code(), out: output.stdout, err }
}

/// Runs the same with both, and proves that it does the same.
#[track_caller]
pub fn assert_same(peers: &[Peer; 2], words: &str, input: &[u8]) {
    let [theirs, ours] = peers.each_ref().map(|peer| peer.fed(words, input));
    for (n, (theirs, ours)) in theirs.text().lines().zip(ours.text().lines()).enumerate() {
        assert_eq!(theirs, ours, "{words}: line {}", n + 1);
    }
    assert_eq!(theirs.out.len(), ours.out.len(), "{words}");
    assert_eq!((theirs.code, theirs.err), (ours.code, ours.err), "{words}");
}

/// A section of a dump, written byte by byte.
pub fn section(header: &Header, entries: &Entries) -> Vec<u8> {
    let mut text = Vec::new();
    write_header(&mut text, header).unwrap();
    for (key, value) in entries {
        write_entry(&mut text, header.format, key, value, &mut Vec::new()).unwrap();
    }
    write_end(&mut text).unwrap();
    text
}

/// The header of a table in an environment with room for what tests store.
pub fn header(name: Option<&str>) -> Header {
    let database = name.map(|name| name.as_bytes().to_vec());
    Header { database, map_bytes: 1 << 28, max_readers: 126, page_size: 4096, ..Header::default() }
}
