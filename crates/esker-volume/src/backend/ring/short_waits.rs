//! Whether a wait begins by looking again and again. A thread that sleeps takes longer to wake up than a client on
//! another processor takes to send its next request.

use esker_core::Nanos;

/// Waits up to this are short: no longer than a thread takes to fall asleep and to wake up.
pub(super) const SHORT: Nanos = Nanos::from_micros(50);
/// Short waits in a row after which the next is expected to be short, too; at first, and at most.
const NEEDED: (u32, u32) = (8, 1 << 13);

/// The most time of looking that work pays for in advance.
const CREDIT_MAX: Nanos = Nanos::from_millis(1);

/// Expects the next wait to be as the last ones were. Each time that this was wrong it needs twice as many to expect it
/// again, so that looking in vain costs little. And looking takes no more processor time than the work between waits,
/// so that a client costs at most twice what it takes to serve it.
pub(super) struct ShortWaits {
    in_a_row: u32,
    needed: u32,
    /// How long waits may look: what was worked, less what was looked.
    credit: Nanos,
    /// When the last wait ended.
    end: Nanos,
}

impl Default for ShortWaits {
    fn default() -> Self {
        Self { in_a_row: 0, needed: NEEDED.0, credit: Nanos::ZERO, end: Nanos::ZERO }
    }
}

impl ShortWaits {
    /// Whether the wait that begins at this time may look before it sleeps, for up to [`SHORT`].
    pub(super) fn may_look(&mut self, begin: Nanos) -> bool {
        self.credit = (self.credit + (begin - self.end)).min(CREDIT_MAX);
        self.are_expected() && self.credit >= SHORT
    }

    fn are_expected(&self) -> bool {
        self.in_a_row >= self.needed
    }

    /// Notes a wait, and how long it has looked. Returns how long it is since the end of the wait before.
    pub(super) fn waited(&mut self, begin: Nanos, end: Nanos, looked: Nanos) -> Nanos {
        let were_expected = self.are_expected();
        let turn = end - std::mem::replace(&mut self.end, end);
        self.credit = Nanos(self.credit.0.saturating_sub(looked.0));
        if end - begin <= SHORT {
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
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits that begin after `work` and end after `length`, one after the other.
    struct World {
        waits: ShortWaits,
        now: Nanos,
        worked: Nanos,
        looked: Nanos,
    }

    impl World {
        fn new(waits: ShortWaits) -> Self {
            Self { waits, now: Nanos::ZERO, worked: Nanos::ZERO, looked: Nanos::ZERO }
        }

        /// Returns whether the wait has looked.
        fn wait(&mut self, work: Nanos, length: Nanos) -> bool {
            let begin = self.now + work;
            let looks = self.waits.may_look(begin);
            let looked = if looks { length.min(SHORT) } else { Nanos::ZERO };
            self.now = begin + length;
            self.waits.waited(begin, self.now, looked);
            (self.worked, self.looked) = (self.worked + work, self.looked + looked);
            looks
        }
    }

    const WORK: Nanos = Nanos::from_micros(60);
    const BRIEF: Nanos = Nanos::from_micros(10);
    const LONG: Nanos = Nanos::from_micros(51);

    #[test]
    fn short_waits_are_expected_after_short_ones() {
        let mut world = World::new(ShortWaits::default());
        for _ in 0..NEEDED.0 {
            assert!(!world.wait(WORK, BRIEF));
        }
        assert!(world.wait(WORK, LONG));
        assert!(!world.wait(WORK, BRIEF));
    }

    #[test]
    fn looking_pays_or_becomes_rare() {
        for run in 1..300 {
            let mut world = World::new(ShortWaits::default());
            let (mut in_time, mut in_vain) = (0u64, 0u64);
            for number in 0..100_000 {
                let is_short = number % run != run - 1;
                if world.wait(WORK, if is_short { BRIEF } else { LONG }) {
                    in_time += u64::from(is_short);
                    in_vain += u64::from(!is_short);
                }
            }
            assert!(in_vain <= in_time / 8 + 10, "each {run}th is long: {in_vain} in vain, {in_time} in time");
        }
    }

    #[test]
    fn short_waits_are_expected_again_once_there_are_no_others() {
        let mut world = World::new(ShortWaits { needed: NEEDED.1, ..ShortWaits::default() });
        for _ in 0..2 * NEEDED.1 {
            world.wait(WORK, BRIEF);
        }
        assert!(world.wait(WORK, BRIEF) && world.waits.needed == NEEDED.0);
    }

    #[test]
    fn looking_takes_as_long_as_the_work_at_most() {
        for wait in [1, 5, 9, 10, 11, 20, 49, 50].map(Nanos::from_micros) {
            let (mut world, work) = (World::new(ShortWaits::default()), Nanos::from_micros(10));
            let looks = (0..10_000).filter(|_| world.wait(work, wait)).count();
            assert!(world.looked <= world.worked, "{wait}");
            // And not much less, if there was reason for more.
            let reason = (Nanos(wait.0 * 10_000)).min(world.worked);
            assert!(world.looked.0 * 100 >= reason.0 * 98, "{wait}: {looks} looks");
        }
    }

    #[test]
    fn long_work_does_not_pay_for_long_looking() {
        let mut world = World::new(ShortWaits::default());
        world.wait(Nanos::from_secs(10), BRIEF);
        for _ in 0..1_000 {
            world.wait(Nanos::ZERO, BRIEF);
        }
        assert!(world.looked <= CREDIT_MAX);
    }
}
