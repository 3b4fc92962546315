//! The section `[audit]`.

use std::path::{Path, PathBuf};

use duramen_directory::AuditLog;

use super::file;
use super::paths;
use super::resolve::{Checker, has_nul};

impl Checker<'_> {
    /// The file, which is looked at in any case: whatever else is at its path would be written to.
    pub(super) fn audit(&mut self, audit: &file::Audit, data: &Path) -> AuditLog {
        let (span, written) = (audit.file.span(), audit.file.get_ref());
        let wrong = if written.as_os_str().is_empty() {
            Some("is empty")
        } else if has_nul(written) {
            Some("has a NUL in it")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let cure = "write one like /var/log/duramend/audit.ldif, or leave the section away";
            self.at(span, format!("the path of the audit log {wrong}"), cure);
            return AuditLog { file: PathBuf::new(), flush: audit.flush };
        }
        let file = self.beside(written);
        if let Some((why, cure)) = paths::audit(&file, data) {
            self.at(span, format!("the audit log {}: {why}", file.display()), cure);
        }
        AuditLog { file, flush: audit.flush }
    }
}
