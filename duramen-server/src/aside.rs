//! Work on a thread of its own.
//!
//! Owns: how one is begun, and that nothing waits for one that could not be. Must not know: the work.
//!
//! The runtime's own threads for such work are not used: where the system gives none it panics, and what was handed to it stays
//! in its queue, with whatever permit that holds, until somebody hands it more.

use std::io;

use tokio::sync::oneshot;

/// Begins the work. What it comes to; an error there says that it panicked.
pub(crate) fn begin<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<oneshot::Receiver<T>> {
    let (sender, receiver) = oneshot::channel();
    // Nobody is there any more to be told where the connection has ended.
    std::thread::Builder::new().name(name.into()).spawn(move || drop(sender.send(work())))?;
    Ok(receiver)
}
