//! What a connection runs over: TCP, a local socket, TLS over either.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

use crate::queue;

/// A socket that no runtime has yet.
pub enum Socket {
    /// The network.
    Tcp(std::net::TcpStream),
    /// A local one.
    Unix(std::os::unix::net::UnixStream),
}

impl Socket {
    /// Its number, which it keeps as long as it is open.
    pub fn descriptor(&self) -> RawFd {
        match self {
            Socket::Tcp(socket) => socket.as_raw_fd(),
            Socket::Unix(socket) => socket.as_raw_fd(),
        }
    }
}

/// A plain stream.
pub enum Plain {
    /// The network.
    Tcp(TcpStream),
    /// A local socket.
    Unix(UnixStream),
    /// Between two runtimes.
    Free(Socket),
    /// None: it could not be taken from a runtime, or be given to one.
    Gone,
}

impl Plain {
    /// Takes it from the runtime that it is with.
    fn leave(&mut self) -> io::Result<()> {
        *self = match mem::replace(self, Plain::Gone) {
            Plain::Tcp(stream) => Plain::Free(Socket::Tcp(stream.into_std()?)),
            Plain::Unix(stream) => Plain::Free(Socket::Unix(stream.into_std()?)),
            other => other,
        };
        Ok(())
    }

    /// Gives it to the runtime of this thread.
    fn enter(&mut self) -> io::Result<()> {
        *self = match mem::replace(self, Plain::Gone) {
            Plain::Free(Socket::Tcp(socket)) => Plain::Tcp(TcpStream::from_std(socket)?),
            Plain::Free(Socket::Unix(socket)) => Plain::Unix(UnixStream::from_std(socket)?),
            other => other,
        };
        Ok(())
    }

    fn untaken_bytes(&self) -> u64 {
        match self {
            Plain::Tcp(stream) => queue::untaken_bytes(stream.as_fd()),
            Plain::Unix(stream) => queue::untaken_bytes(stream.as_fd()),
            Plain::Free(_) | Plain::Gone => 0,
        }
    }
}

/// A stream.
pub enum Stream {
    /// As it is.
    Plain(Plain),
    /// Within TLS.
    Tls(Box<TlsStream<Plain>>),
    /// Nothing: it is being handed over to TLS.
    Gone,
}

impl Stream {
    /// Of a socket that a runtime is still to get.
    pub fn new(socket: Socket) -> Stream {
        Stream::Plain(Plain::Free(socket))
    }

    /// Takes it from the runtime that it is with, so that it can go to another thread.
    pub fn leave(&mut self) -> io::Result<()> {
        self.plain().map_or(Ok(()), Plain::leave)
    }

    /// Gives it to the runtime of this thread.
    pub fn enter(&mut self) -> io::Result<()> {
        self.plain().map_or(Ok(()), Plain::enter)
    }

    /// How much of what the socket was given the other end has not taken; see [`queue::untaken_bytes`].
    pub fn untaken_bytes(&self) -> u64 {
        match self {
            Stream::Plain(plain) => plain.untaken_bytes(),
            Stream::Tls(tls) => tls.get_ref().0.untaken_bytes(),
            Stream::Gone => 0,
        }
    }

    fn plain(&mut self) -> Option<&mut Plain> {
        match self {
            Stream::Plain(plain) => Some(plain),
            Stream::Tls(tls) => Some(tls.get_mut().0),
            Stream::Gone => None,
        }
    }
}

macro_rules! plain {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Plain::Tcp($inner) => $call,
            Plain::Unix($inner) => $call,
            Plain::Free(_) | Plain::Gone => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    };
}

macro_rules! stream {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Plain($inner) => $call,
            Stream::Tls(tls) => {
                let $inner = &mut **tls;
                $call
            }
            Stream::Gone => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    };
}

impl AsyncRead for Plain {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        plain!(self.get_mut(), inner => Pin::new(inner).poll_read(cx, into))
    }
}

impl AsyncWrite for Plain {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        plain!(self.get_mut(), inner => Pin::new(inner).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        plain!(self.get_mut(), inner => Pin::new(inner).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        plain!(self.get_mut(), inner => Pin::new(inner).poll_shutdown(cx))
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        stream!(self.get_mut(), inner => Pin::new(inner).poll_read(cx, into))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        stream!(self.get_mut(), inner => Pin::new(inner).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        stream!(self.get_mut(), inner => Pin::new(inner).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        stream!(self.get_mut(), inner => Pin::new(inner).poll_shutdown(cx))
    }
}
