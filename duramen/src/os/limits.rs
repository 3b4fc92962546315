//! What the system lets the process have.
//!
//! Owns: the question ([`soft`]). Must not know: what is done about the answer.
//!
//! # Safety
//! `getrlimit` is given a pointer to a `rlimit` on the stack, which it does not keep.
#![allow(unsafe_code)]

/// What there may be a limit to, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// Address space.
    AddressSpace,
    /// Memory of the process's own.
    Data,
    /// The length of a file that it writes.
    FileLength,
}

/// The limit that holds now; none where there is none, nor where a sandbox does not let the process ask.
pub(crate) fn soft(of: Limit) -> Option<u64> {
    let resource = match of {
        Limit::AddressSpace => libc::RLIMIT_AS,
        Limit::Data => libc::RLIMIT_DATA,
        Limit::FileLength => libc::RLIMIT_FSIZE,
    };
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the answer goes to the stack. After a failure there is what stood there.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_that_were_set() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        assert!(crate::os::fork::in_forked_child(|| {
            let before = getrlimit(Resource::Fsize);
            let set = setrlimit(Resource::Fsize, Rlimit { current: Some(1 << 20), ..before });
            set.is_err() || soft(Limit::FileLength) == Some(1 << 20)
        }));
    }
}
