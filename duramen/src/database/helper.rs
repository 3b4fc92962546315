//! A thread for those who have none to wait with.
//!
//! Owns: when it begins, and how long it stays for more. Must not know: what it does.
//!
//! It holds nothing of who sent for it while it waits: a database that is dropped meanwhile is closed at once.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread without work stays. Beginning one takes longer than many a piece of work.
const STAY: Duration = Duration::from_secs(1);

/// Work, which threads wait for.
pub(super) struct Helper<W> {
    desk: Mutex<Desk<W>>,
    called: Condvar,
    done: Condvar,
}

struct Desk<W> {
    work: Option<W>,
    /// How much of it was given away and is not done yet.
    under_way: usize,
    /// Threads that wait for some.
    waiting: usize,
    /// The process that they are of: a forked child has none of them.
    process: u32,
}

impl<W> Default for Helper<W> {
    fn default() -> Helper<W> {
        let desk = Desk { work: None, under_way: 0, waiting: 0, process: std::process::id() };
        Helper { desk: Mutex::new(desk), called: Condvar::new(), done: Condvar::new() }
    }
}

impl<W: Send + 'static> Helper<W> {
    /// Has `work` done by a thread that waits, or by a new one.
    pub fn call(self: &Arc<Helper<W>>, work: W, run: fn(W)) -> io::Result<()> {
        let Some(work) = self.hand_over(work) else { return Ok(()) };
        let helper = self.clone();
        let serve = move || {
            let mut next = Some(work);
            while let Some(work) = next {
                run(work);
                next = helper.wait();
            }
        };
        let begun = std::thread::Builder::new().name("duramen-group".to_string()).spawn(serve);
        begun.map(drop).inspect_err(|_| self.is_done(&mut self.desk()))
    }

    /// Waits until all that was given away is done, and what it held is let go of; no longer than this.
    pub fn wait_until_done(&self, limit: Duration) {
        drop(self.done.wait_timeout_while(self.desk(), limit, |desk| desk.under_way > 0));
    }

    fn is_done(&self, desk: &mut Desk<W>) {
        desk.under_way -= 1;
        if desk.under_way == 0 {
            self.done.notify_all();
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk<W>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives work to a thread that waits; back if there is none.
    fn hand_over(&self, work: W) -> Option<W> {
        let mut desk = self.desk();
        desk.under_way += 1;
        if desk.waiting == 0 || desk.work.is_some() || desk.process != std::process::id() {
            return Some(work);
        }
        desk.work = Some(work);
        self.called.notify_one();
        None
    }

    /// Waits for more work, for a while.
    fn wait(&self) -> Option<W> {
        let mut desk = self.desk();
        self.is_done(&mut desk);
        desk.waiting += 1;
        let waited = self.called.wait_timeout_while(desk, STAY, |desk| desk.work.is_none());
        desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        desk.waiting -= 1;
        desk.work.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{self, ThreadId};

    type Errand = (u32, Sender<(u32, ThreadId)>);

    fn run((number, told): Errand) {
        told.send((number, thread::current().id())).unwrap();
    }

    /// Calls once nobody is on the way any more: who waits, waits.
    fn settled(helper: &Helper<Errand>) {
        while helper.desk().waiting == 0 {
            thread::yield_now();
        }
    }

    #[test]
    fn one_thread_does_what_comes_one_after_the_other() {
        let helper = Arc::new(Helper::default());
        let (tell, told) = channel();
        helper.call((1, tell.clone()), run).unwrap();
        let (number, first) = told.recv().unwrap();
        assert_eq!(number, 1);
        for number in 2..20 {
            settled(&helper);
            helper.call((number, tell.clone()), run).unwrap();
            assert_eq!(told.recv().unwrap(), (number, first));
        }
    }

    #[test]
    fn a_forked_child_waits_for_none_of_its_parents_threads() {
        let helper = Arc::new(Helper::default());
        let (tell, told) = channel();
        helper.call((1, tell.clone()), run).unwrap();
        let (_, first) = told.recv().unwrap();
        settled(&helper);
        // What the child would see: the same desk, and another process.
        helper.desk().process += 1;
        helper.call((2, tell), run).unwrap();
        let (number, second) = told.recv().unwrap();
        assert_eq!(number, 2);
        assert_ne!(second, first);
    }
}
