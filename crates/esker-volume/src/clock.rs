//! Clocks for the driver.

use std::time::Instant;

use esker_core::Nanos;

/// A clock that never goes back.
pub trait Clock {
    /// Returns the time since the clock's start.
    fn now(&self) -> Nanos;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Nanos {
        (**self).now()
    }
}

/// The system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Creates a clock that starts now.
    #[expect(clippy::disallowed_methods, reason = "the real driver's one source of time")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).expect("a process does not live for 584 years"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_goes_back() {
        let clock = SystemClock::start();
        let times: Vec<Nanos> = (0..1000).map(|_| clock.now()).collect();
        assert!(times.is_sorted());
    }
}
