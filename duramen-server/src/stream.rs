//! What a connection runs over: TCP, a local socket, TLS over either.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// A plain stream.
pub enum Plain {
    /// The network.
    Tcp(TcpStream),
    /// A local socket.
    Unix(UnixStream),
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

macro_rules! plain {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Plain::Tcp($inner) => $call,
            Plain::Unix($inner) => $call,
        }
    };
}

macro_rules! stream {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Plain(Plain::Tcp($inner)) => $call,
            Stream::Plain(Plain::Unix($inner)) => $call,
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
