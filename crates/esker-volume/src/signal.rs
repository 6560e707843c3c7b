//! The signal with which threads wake the driver.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fmt, io};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// A signal that one thread waits for and other threads give. It stays given until a wait takes it.
#[derive(Clone)]
pub struct Signal(Arc<State>);

struct State {
    is_given: AtomicBool,
    /// Whether somebody waits, so that giving the signal has to change `event`.
    is_awaited: AtomicBool,
    /// Becomes readable when the signal is given while somebody waits.
    event: OwnedFd,
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal(given: {})", self.0.is_given.load(Ordering::Relaxed))
    }
}

impl Signal {
    /// Creates a signal that is not given.
    ///
    /// # Errors
    /// If the process has too many files open.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(State { is_given: AtomicBool::new(false), is_awaited: AtomicBool::new(false), event })))
    }

    /// Gives the signal: wakes the thread that is waiting, or the next one that waits. Costs a system call only if a
    /// thread is waiting.
    pub fn give(&self) {
        self.0.is_given.store(true, Ordering::SeqCst);
        if self.0.is_awaited.swap(false, Ordering::SeqCst) {
            // It fails only if the count in it is at its limit, and then it is readable already.
            let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
        }
    }

    /// Waits until the signal is given, for at most `limit`, and takes it. Returns true if it was given. A wait with a
    /// limit may end early.
    pub fn wait(&self, limit: Option<Duration>) -> bool {
        loop {
            if self.begin_wait() {
                return true;
            }
            let limit = limit.map(|limit| Timespec::try_from(limit).expect("a limit of less than 2^63 seconds"));
            // An interrupted wait ends early.
            if poll(&mut [PollFd::new(&self.0.event, PollFlags::IN)], limit.as_ref()).is_ok_and(|ready| ready > 0) {
                let _ = rustix::io::read(&self.0.event, &mut [0; 8]);
            }
            let was_given = self.end_wait();
            if was_given || limit.is_some() {
                return was_given;
            }
        }
    }

    /// Takes the signal if it is given. Otherwise its descriptor becomes readable when it is.
    pub(crate) fn begin_wait(&self) -> bool {
        self.take() || {
            self.0.is_awaited.store(true, Ordering::SeqCst);
            // It may have been given just before.
            self.take()
        }
    }

    /// Takes the signal after a wait. Returns true if it was given.
    pub(crate) fn end_wait(&self) -> bool {
        self.0.is_awaited.store(false, Ordering::SeqCst);
        self.take()
    }

    fn take(&self) -> bool {
        self.0.is_given.swap(false, Ordering::SeqCst)
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn it_stays_given_until_it_is_taken() {
        let signal = Signal::new().unwrap();
        let soon = Some(Duration::from_millis(1));
        assert!(!signal.wait(soon));
        signal.give();
        signal.give();
        assert!(signal.wait(None) && !signal.wait(soon));
    }

    #[test]
    fn none_is_lost_between_threads() {
        let (there, back) = (Signal::new().unwrap(), Signal::new().unwrap());
        let other = {
            let (there, back) = (there.clone(), back.clone());
            thread::spawn(move || {
                for _ in 0..10_000 {
                    assert!(there.wait(None));
                    back.give();
                }
            })
        };
        for _ in 0..10_000 {
            there.give();
            assert!(back.wait(None));
        }
        other.join().unwrap();
    }
}
