//! What the other end has not taken of what a socket was given.
//!
//! # Safety
//!
//! One call of `ioctl`, which rustix does not offer by this name. The kernel writes an `int` for it, or fails: the type of the
//! value that it is given is that.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// `SIOCOUTQ`, as nearly all processors have it. Where it is another number it is refused.
const OUTPUT_QUEUE: Opcode = 0x5411;

/// How many bytes there are that the other end's system has not taken; of a local socket, how much memory they are in. 0 where
/// that is not known.
pub fn untaken_bytes(socket: BorrowedFd<'_>) -> u64 {
    // SAFETY: the kernel writes an `int`.
    let asked = unsafe { ioctl(socket, Getter::<OUTPUT_QUEUE, c_int>::new()) };
    asked.ok().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn of_a_local_socket_what_is_not_read_is_told() {
        let (mut own, mut other) = UnixStream::pair().unwrap();
        assert_eq!(untaken_bytes(own.as_fd()), 0);
        own.write_all(&[0; 1000]).unwrap();
        assert!(untaken_bytes(own.as_fd()) >= 1000);
        other.read_exact(&mut [0; 1000]).unwrap();
        assert_eq!(untaken_bytes(own.as_fd()), 0);
    }

    #[test]
    fn of_tcp_what_the_other_system_has_no_room_for_is_told() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _other = listener.accept().unwrap();
        own.set_nonblocking(true).unwrap();
        while own.write(&[0; 1 << 16]).is_ok() {}
        assert!(untaken_bytes(own.as_fd()) > 0);
    }
}
