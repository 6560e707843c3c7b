//! Whether a wait begins by looking again and again. A thread that sleeps takes longer to wake up than a client on
//! another processor takes to send its next request.

use esker_core::Nanos;

/// Waits up to this are short: no longer than a thread takes to fall asleep and to wake up.
pub(super) const SHORT: Nanos = Nanos::from_micros(50);
/// Short waits in a row after which the next is expected to be short, too; at first, and at most.
const NEEDED: (u32, u32) = (8, 1 << 13);

/// Expects the next wait to be as the last ones were. Each time that this was wrong it needs twice as many to expect it
/// again, so that looking in vain costs little.
pub(super) struct ShortWaits {
    in_a_row: u32,
    needed: u32,
}

impl Default for ShortWaits {
    fn default() -> Self {
        Self { in_a_row: 0, needed: NEEDED.0 }
    }
}

impl ShortWaits {
    /// Whether the next wait is expected to be short, and may look for up to [`SHORT`] before it sleeps.
    pub(super) fn are_expected(&self) -> bool {
        self.in_a_row >= self.needed
    }

    /// Notes how long a wait has taken. Returns true if it was short.
    pub(super) fn waited(&mut self, time: Nanos) -> bool {
        let (were_expected, is_short) = (self.are_expected(), time <= SHORT);
        if is_short {
            self.in_a_row = self.in_a_row.saturating_add(1);
            if were_expected && self.in_a_row.is_multiple_of(NEEDED.0) {
                self.needed = (self.needed - self.needed / 8).max(NEEDED.0);
            }
        } else {
            self.in_a_row = 0;
            if were_expected {
                self.needed = (2 * self.needed).min(NEEDED.1);
            }
        }
        is_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIEF: Nanos = Nanos::from_micros(10);
    const LONG: Nanos = Nanos::from_micros(51);

    /// Returns whether the wait was expected to be short.
    fn wait(waits: &mut ShortWaits, time: Nanos) -> bool {
        let are_expected = waits.are_expected();
        waits.waited(time);
        are_expected
    }

    #[test]
    fn short_waits_are_expected_after_short_ones() {
        let mut waits = ShortWaits::default();
        for _ in 0..NEEDED.0 {
            assert!(!wait(&mut waits, BRIEF));
        }
        assert!(wait(&mut waits, LONG));
        assert!(!wait(&mut waits, BRIEF));
    }

    #[test]
    fn looking_pays_or_becomes_rare() {
        for run in 1..300 {
            let mut waits = ShortWaits::default();
            let (mut in_time, mut in_vain) = (0u64, 0u64);
            for number in 0..100_000 {
                let is_short = number % run != run - 1;
                if wait(&mut waits, if is_short { BRIEF } else { LONG }) {
                    in_time += u64::from(is_short);
                    in_vain += u64::from(!is_short);
                }
            }
            assert!(in_vain <= in_time / 8 + 10, "each {run}th is long: {in_vain} in vain, {in_time} in time");
        }
    }

    #[test]
    fn short_waits_are_expected_again_once_there_are_no_others() {
        let mut waits = ShortWaits { needed: NEEDED.1, ..ShortWaits::default() };
        for _ in 0..2 * NEEDED.1 {
            wait(&mut waits, BRIEF);
        }
        assert!(wait(&mut waits, BRIEF) && waits.needed == NEEDED.0);
    }
}
