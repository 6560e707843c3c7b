//! The signal with which threads wake the driver.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A signal that one thread waits for and other threads give. It stays given until a wait takes it.
#[derive(Clone, Debug, Default)]
pub struct Signal(Arc<(Mutex<bool>, Condvar)>);

impl Signal {
    /// Gives the signal: wakes the thread that is waiting, or the next one that waits.
    pub fn give(&self) {
        let (given, condition) = &*self.0;
        *given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_one();
    }

    /// Waits until the signal is given, for at most `limit`, and takes it. Returns true if it was given.
    pub fn wait(&self, limit: Option<Duration>) -> bool {
        let (given, condition) = &*self.0;
        let mut given = given.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = |given: &mut bool| !*given;
        given = match limit {
            Some(limit) => condition.wait_timeout_while(given, limit, absent).unwrap_or_else(PoisonError::into_inner).0,
            None => condition.wait_while(given, absent).unwrap_or_else(PoisonError::into_inner),
        };
        std::mem::take(&mut given)
    }
}
