//! What a power cut, a failing disk and a hostile file may do to a database, and whether it is whole afterwards.
//!
//! - [`disk`]: a medium that records every call to the disk, and fails or dies at a chosen one.
//! - [`platter`]: what a power cut may leave of a recorded history.
//! - [`model`]: the content that a database ought to have.
//! - [`workload`]: seeded random work on a database and its model.
//! - [`judge`]: whether an image opens, is whole, holds the state of some commit, and can be written to.
//! - [`crash`]: all of them together: a workload, its images, the verdicts.
//! - [`crowd`]: many processes and threads that change one database at the same time.
//! - [`recording`]: what processes did to its files, recorded by strace.
//! - [`mount`]: small filesystems, to be filled.
//! - [`port`]: ports for servers that tests start.
//! - [`hostile`]: damaged files, with and without checksums that hide the damage.
//!
//! Everything is decided by seeds: a failure names its own, and runs again.
//!
//! ```
//! // A workload of random transactions, and 40 of the images that a power cut may leave at any time of it.
//! let tally = duramen_sim::crash::workload(7, 40).unwrap_or_else(|finding| panic!("{finding}"));
//! assert!(tally.images >= 40, "each was whole, and held the state of a commit");
//! ```

pub mod crash;
pub mod crowd;
pub mod disk;
pub mod hostile;
pub mod judge;
pub mod model;
pub mod mount;
pub mod platter;
pub mod port;
pub mod recording;
pub mod workload;

/// A directory that is as fast as this machine has one, removed when dropped.
///
/// # Panics
/// If no temporary directory can be made.
pub fn scratch() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary directory")
}

/// What a panic said.
pub fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of an unknown kind".into())
}
