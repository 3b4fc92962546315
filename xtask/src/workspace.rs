//! Where the workspace lies, and where cargo puts what it builds of it.

use std::path::{Path, PathBuf};

/// The workspace's directory.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The target directory of a cargo that runs in the workspace's.
pub fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}
