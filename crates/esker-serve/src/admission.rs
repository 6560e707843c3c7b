//! How fast clients are accepted beside others that ask. One thread accepts and serves: whoever connects over and over
//! must not hold up those who are served.

use esker_core::Nanos;

/// Clients that may come at once: as many as a server has at a time by default.
const AT_ONCE: u64 = 64;

/// The time from one client to the next after that. At a hundred a second, the time that they take is beyond the 99th
/// percentile of requests of 4 KiB, of which one client alone gets answers to tens of thousands a second.
const APART: Nanos = Nanos::from_millis(10);

/// Those who were accepted beside clients that ask.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// When the last of them would have come, had each waited for [`APART`] after the one before. That is later than
    /// now by the time that those who came too soon did not wait.
    evenly: Nanos,
}

impl Admission {
    /// When the next one may come.
    pub(crate) fn next(&self) -> Nanos {
        Nanos(self.evenly.0.saturating_sub((AT_ONCE - 1) * APART.0))
    }

    /// Notes that one has come.
    pub(crate) fn note(&mut self, now: Nanos) {
        self.evenly = self.evenly.max(now) + APART;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients that come within `time` if more want to at any time, after none has for a while.
    fn within(admission: &mut Admission, from: Nanos, time: Nanos) -> u64 {
        let steps = (0..time.0).step_by(100_000).map(|step| from + Nanos(step));
        let mut came = 0;
        for now in steps {
            while admission.next() <= now {
                admission.note(now);
                came += 1;
            }
        }
        came
    }

    #[test]
    fn some_come_at_once_and_then_a_hundred_a_second() {
        let mut admission = Admission::default();
        let from = Nanos::from_secs(100);
        assert_eq!(within(&mut admission, from, Nanos(1)), AT_ONCE);
        assert_eq!(admission.next(), from + APART);
        assert_eq!(within(&mut admission, from, Nanos::from_secs(1)), 99);
        // Half of them may come at once again after half of the time that it took.
        let later = from + Nanos::from_secs(1) + Nanos(AT_ONCE / 2 * APART.0 - APART.0);
        assert_eq!(within(&mut admission, later, Nanos(1)), AT_ONCE / 2);
    }
}
