//! How threads tell the driver that there is something for it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Something that one side waits for and others give. It stays given until it was waited for.
#[derive(Clone, Debug, Default)]
pub struct Signal(Arc<(Mutex<bool>, Condvar)>);

impl Signal {
    /// Wakes who waits, or who will.
    pub fn give(&self) {
        let (given, condition) = &*self.0;
        *given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_one();
    }

    /// Waits until it is given, `limit` at most; takes it back. Returns whether it was given.
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
