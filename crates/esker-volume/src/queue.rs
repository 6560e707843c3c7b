//! A queue between threads that allocates nothing once it has been as long before.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

struct State<T> {
    waiting: VecDeque<T>,
    is_closed: bool,
}

/// One end of a queue; the other one is a clone.
pub(crate) struct Queue<T>(Arc<(Mutex<State<T>>, Condvar)>);

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self(Arc::new((Mutex::new(State { waiting: VecDeque::new(), is_closed: false }), Condvar::new())))
    }
}

impl<T> std::fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({} waiting)", self.state().waiting.len())
    }
}

impl<T> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, item: T) {
        self.state().waiting.push_back(item);
        self.0.1.notify_one();
    }

    /// Takes the first item, and waits for one if there is none. `None` once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<T> {
        let waits = |state: &mut State<T>| state.waiting.is_empty() && !state.is_closed;
        let mut state = self.0.1.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner);
        state.waiting.pop_front()
    }

    /// Appends all items, without waiting.
    pub(crate) fn take_all(&self, into: &mut Vec<T>) {
        into.extend(self.state().waiting.drain(..));
    }

    /// Nothing is pushed any more.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.0.1.notify_all();
    }
}
