//! Open files that a forked child has no part in.
//!
//! Owns: which descriptors those are, what a child has in their place; the handler that the system calls in a child. Must not
//! know: what their locks are for.
//!
//! The locks of an open file last for as long as anybody has that open. A child that lives on would keep those of its parent,
//! which may be killed: the lock of a writer, which everybody else then waits for. So in the child, before `fork`
//! returns, these descriptors lead to nothing. They are not closed there: whoever owns them still will. A mapping is another
//! way to have a file open; so nothing is mapped by these descriptors.
//!
//! Not reached are children that are made without the C library's knowledge, and those of another thread at the very moment when a
//! file is opened here.
//!
//! # Safety
//! The handler is called in a child that has one thread, in the midst of whatever the others were doing. It looks at atomics only, and
//! makes system calls. It replaces descriptors that lead to the file that was noted for them, and no others.
#![allow(unsafe_code)]

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use super::common;

/// No descriptor, and one that is yet to be noted.
const FREE: RawFd = -1;
const TAKEN: RawFd = -2;

/// Where a descriptor is noted, and which file it leads to: a program may have closed it, and have another file there.
struct Place {
    fd: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
}

impl Place {
    const fn new() -> Place {
        Place { fd: AtomicI32::new(FREE), device: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }
}

/// Some places, and where to find more. They are never given back.
struct Places {
    places: [Place; 64],
    more: OnceLock<Box<Places>>,
}

static PLACES: Places = Places::new();

impl Places {
    const fn new() -> Places {
        Places { places: [const { Place::new() }; 64], more: OnceLock::new() }
    }

    /// All that there are.
    fn each(&self) -> impl Iterator<Item = &Place> {
        std::iter::successors(Some(self), |places| places.more.get().map(|more| &**more)).flat_map(|them| &them.places)
    }

    /// One that was free.
    fn take(&self) -> &Place {
        let is_free =
            |place: &&Place| place.fd.compare_exchange(FREE, TAKEN, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        let mut them = self;
        loop {
            match them.places.iter().find(is_free) {
                Some(place) => return place,
                None => them = them.more.get_or_init(|| Box::new(Places::new())),
            }
        }
    }
}

/// From now on forked children are seen to. That this is done twice does no harm; a child that is forked in the midst of
/// what may be done once only would wait for its end for ever.
pub(super) fn watch() {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    if !IS_WATCHED.load(Ordering::Acquire) {
        // SAFETY: see the module's head; who unloads the library takes its handlers away.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        IS_WATCHED.store(true, Ordering::Release);
    }
}

/// While it lives, the file's descriptor leads to nothing in children. It goes before the file is closed.
pub(crate) struct Parted(Option<(&'static Place, RawFd)>);

impl Parted {
    pub(crate) fn new(file: &File) -> Parted {
        watch();
        let fd = file.as_raw_fd();
        let Some((device, inode)) = identity(fd) else { return Parted(None) };
        let place = PLACES.take();
        place.device.store(device, Ordering::Relaxed);
        place.inode.store(inode, Ordering::Relaxed);
        place.fd.store(fd, Ordering::Release);
        Parted(Some((place, fd)))
    }
}

impl Drop for Parted {
    fn drop(&mut self) {
        if let Some((place, fd)) = self.0 {
            // In a child the place may have been given to another file already.
            let _ = place.fd.compare_exchange(fd, FREE, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Which file a descriptor leads to.
fn identity(fd: RawFd) -> Option<(u64, u64)> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call fills the structure when it succeeds.
    let found = unsafe { (libc::fstat(fd, found.as_mut_ptr()) == 0).then(|| found.assume_init())? };
    Some((found.st_dev, found.st_ino))
}

unsafe extern "C" fn in_child() {
    // SAFETY: this is the child's only thread, and `fork` has not returned yet.
    unsafe { common::begin_anew() };
    let mut nothing = None;
    for place in PLACES.each() {
        let fd = place.fd.swap(FREE, Ordering::Acquire);
        let known = (place.device.load(Ordering::Relaxed), place.inode.load(Ordering::Relaxed));
        if fd < 0 || identity(fd) != Some(known) {
            continue;
        }
        let nothing = *nothing.get_or_insert_with(open_nothing);
        if nothing >= 0 {
            // SAFETY: see the module's head.
            unsafe { libc::dup3(nothing, fd, libc::O_CLOEXEC) };
        }
    }
    if let Some(nothing @ 0..) = nothing {
        // SAFETY: it has just been opened here.
        unsafe { libc::close(nothing) };
    }
}

/// A descriptor that has no locks, or a negative number.
fn open_nothing() -> RawFd {
    // SAFETY: the path is a string; the other call takes numbers only.
    unsafe {
        match libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) {
            fd @ 0.. => fd,
            _ => libc::eventfd(0, libc::EFD_CLOEXEC),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fork::in_forked_child;

    /// Whether a descriptor leads to this file.
    fn leads_to(fd: RawFd, file: &File) -> bool {
        identity(fd) == identity(file.as_raw_fd())
    }

    #[test]
    fn a_child_has_nothing_where_its_parent_has_the_file() {
        let files: Vec<File> = (0..200).map(|_| tempfile::tempfile().unwrap()).collect();
        let twins: Vec<File> = files.iter().map(|file| file.try_clone().unwrap()).collect();
        let parted: Vec<Parted> = files.iter().map(Parted::new).collect();
        let all = || files.iter().zip(&twins);
        assert!(in_forked_child(
            || all().all(|(file, twin)| !leads_to(file.as_raw_fd(), twin) && file.metadata().is_ok())
        ));
        assert!(all().all(|(file, twin)| leads_to(file.as_raw_fd(), twin)));
        drop(parted);
        assert!(in_forked_child(|| all().all(|(file, twin)| leads_to(file.as_raw_fd(), twin))));
    }

    #[test]
    fn what_a_child_opens_itself_its_own_child_has_nothing_of() {
        let file = tempfile::tempfile().unwrap();
        let inherited = Parted::new(&file);
        assert!(in_forked_child(|| {
            let own = tempfile::tempfile().unwrap();
            let twin = own.try_clone().unwrap();
            let _parted = Parted::new(&own);
            drop(inherited);
            in_forked_child(|| !leads_to(own.as_raw_fd(), &twin))
        }));
    }

    #[test]
    fn another_file_of_that_number_is_left_alone() {
        let (file, others) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let _parted = Parted::new(&file);
        // SAFETY: both are open; what the number led to before is of no more use to anybody.
        assert!(unsafe { libc::dup2(others.as_raw_fd(), file.as_raw_fd()) } >= 0);
        assert!(in_forked_child(|| leads_to(file.as_raw_fd(), &others)));
    }
}
