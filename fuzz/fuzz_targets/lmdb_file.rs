//! Data files of LMDB's, as they are.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use duramen_lmdb_file::DataFile;
use libfuzzer_sys::fuzz_target;

static PLACE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("duramen-fuzz-lmdb-{}.mdb", std::process::id())));

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*PLACE, data).expect("a temporary file");
    let _ = read();
});

fn read() -> Result<(), duramen_lmdb_file::Error> {
    let file = DataFile::open(&PLACE)?;
    for table in file.tables()? {
        let (mut entries, mut key, mut value) = (file.entries(&table), Vec::new(), Vec::new());
        while entries.next_entry(&mut key, &mut value)? {}
        assert!(entries.pages_read() * file.page_size() as u64 <= file.bytes());
    }
    file.check_unchanged()
}
