//! Connections that wait for updates, woken together.
//!
//! Owns: which connections of a thread wait, and how they are told. Must not know: whose updates are decided.
//!
//! One commit decides the updates of many connections. To wake a task from another thread takes a call of the system, and
//! where the processors are busy each such call is followed by a change of threads. So all updates of a thread have one waker,
//! which the engine calls once for a commit; and all connections that wait look whether it was for them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::{Wake, Waker};

use tokio::sync::Notify;

/// The connections of a thread that wait for updates.
pub struct Bell {
    rope: Arc<Rope>,
    waker: Waker,
    /// How often it rang, and once more.
    round: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

/// For which ring of the bell a connection waits, or waited.
#[derive(Default)]
pub struct Ear(Cell<u64>);

/// What rings the bell, from any thread.
struct Rope(Notify);

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify_one();
    }
}

impl Default for Bell {
    fn default() -> Bell {
        let rope = Arc::new(Rope(Notify::new()));
        Bell { waker: rope.clone().into(), rope, round: Cell::new(1), waiting: RefCell::default() }
    }
}

impl Bell {
    /// What is to be woken when an update is decided.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// How often it rang, and once more.
    pub fn rings(&self) -> u64 {
        self.round.get()
    }

    /// Whether a connection waits.
    pub fn is_waited_for(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Has the connection with this ear woken when the bell rings next.
    pub fn wait(&self, ear: &Ear, connection: &Waker) {
        if ear.0.replace(self.round.get()) != self.round.get() {
            self.waiting.borrow_mut().push(connection.clone());
        }
    }

    /// Wakes those who wait, whenever it rings.
    pub async fn serve(&self) {
        loop {
            self.rope.0.notified().await;
            self.round.update(|round| round + 1);
            self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::task::Context;

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicU32);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn whoever_waits_is_woken_once_for_each_ring() {
        let bell = Bell::default();
        let mut serving = pin!(bell.serve());
        let mut turn = || assert!(serving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let [first, second] = [(); 2].map(|()| Arc::new(Counted::default()));
        let [one, two] = [&first, &second].map(|counted| Waker::from(counted.clone()));
        let (ear, other) = (Ear::default(), Ear::default());
        let woken = || [&first, &second].map(|counted| counted.0.load(Relaxed));
        turn();
        bell.wait(&ear, &one);
        bell.wait(&ear, &one);
        bell.wait(&other, &two);
        turn();
        assert_eq!(woken(), [0, 0]);
        bell.waker().wake_by_ref();
        bell.waker().wake_by_ref();
        turn();
        assert_eq!(woken(), [1, 1]);
        bell.wait(&ear, &one);
        bell.waker().wake_by_ref();
        turn();
        assert_eq!(woken(), [2, 1]);
    }

    #[test]
    fn a_ring_that_nobody_waited_for_is_heard_by_who_waits_next() {
        let bell = Bell::default();
        let mut serving = pin!(bell.serve());
        let counted = Arc::new(Counted::default());
        bell.waker().wake_by_ref();
        bell.wait(&Ear::default(), &counted.clone().into());
        assert!(serving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(counted.0.load(Relaxed), 1);
    }
}
