//! Where the files of an opened database are: somebody may move or replace them, and what is written then is in no file any more that
//! has a name.
//!
//! Owns: whether they are still where they were opened. Must not know: what is in them, what follows from it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file of the database.
#[derive(Debug)]
struct Known {
    path: PathBuf,
    what: &'static str,
    /// Device and inode.
    id: (u64, u64),
}

/// See the head.
#[derive(Debug, Default)]
pub(crate) struct Place {
    files: Vec<Known>,
    lost: Mutex<Option<String>>,
}

fn id(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Place {
    /// Of a database that has just been opened by this path: of its data file, and of the file by which all who have it open know of
    /// each other.
    pub fn of(data: &Path) -> Place {
        // It stands beside what links lead to.
        let data = std::fs::canonicalize(data).unwrap_or_else(|_| data.to_path_buf());
        let mut lock = data.clone().into_os_string();
        lock.push("-lock");
        let files = [(data, "the data file"), (lock.into(), "the lock file of the database")];
        let known = files.into_iter().filter_map(|(path, what)| Some(Known { id: id(&path)?, path, what }));
        Place { files: known.collect(), lost: Mutex::default() }
    }

    /// Looks again; the answer, and whether it is another than before.
    pub fn look(&self) -> (Option<String>, bool) {
        let now = self.files.iter().find_map(Known::lost);
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *lost != now;
        lost.clone_from(&now);
        (now, is_news)
    }

    /// What was found last.
    pub fn lost(&self) -> Option<String> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Known {
    /// What has become of it.
    fn lost(&self) -> Option<String> {
        let what = match std::fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == self.id => return None,
            Ok(_) => "another file stands in its place",
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "it was moved or removed",
            // What cannot be seen now may be there.
            Err(_) => return None,
        };
        Some(format!("{} {} is not the one that was opened: {what}", self.what, self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_go_are_lost_until_they_are_back() {
        let folder = tempfile::tempdir().unwrap();
        let [data, lock, aside] = ["d", "d-lock", "aside"].map(|name| folder.path().join(name));
        std::fs::write(&data, "").unwrap();
        std::fs::write(&lock, "").unwrap();
        let place = Place::of(&data);
        assert_eq!(place.look(), (None, false));
        for file in [&data, &lock] {
            std::fs::rename(file, &aside).unwrap();
            let (lost, is_news) = place.look();
            assert!(is_news && lost.as_ref().is_some_and(|why| why.contains("moved or removed")), "{lost:?}");
            assert_eq!(place.look(), (lost, false));
            std::fs::write(file, "").unwrap();
            assert!(place.look().0.is_some_and(|why| why.contains("another file stands in its place")));
            std::fs::rename(&aside, file).unwrap();
            assert_eq!(place.look(), (None, true));
        }
    }
}
