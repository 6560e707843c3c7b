//! The bytes that copies have written in the last day.

use esker_core::{Bytes, Nanos};

use crate::engine::HeldReason;

/// The last day is known in slots of this length.
const SLOT: Nanos = Nanos::from_secs(5 * 60);

/// The length of the window.
const DAY: Nanos = Nanos::from_secs(24 * 60 * 60);

/// Slots of the window: those of a whole day, and the one that has not ended.
const SLOTS: usize = (DAY.0 / SLOT.0) as usize + 1;

/// Counts written bytes over a window that slides with time. It reaches back a day, and at most one slot longer: so in
/// any 24 hours no more than a budget is written, wherever these begin.
#[derive(Debug)]
pub struct WrittenInDay {
    /// When counting began; `None` before the first event.
    began: Option<Nanos>,
    /// Bytes written in each slot of the window: slot `n` since time zero is at `n % SLOTS`.
    slots: [u64; SLOTS],
    /// The slot that has not ended.
    newest: u64,
    in_window: u64,
    total: u64,
}

impl Default for WrittenInDay {
    fn default() -> Self {
        Self::new()
    }
}

impl WrittenInDay {
    /// Nothing was written yet.
    pub fn new() -> Self {
        Self { began: None, slots: [0; SLOTS], newest: 0, in_window: 0, total: 0 }
    }

    /// Lets time pass until `now`: slots that a day has passed since no longer count.
    pub fn pass_time(&mut self, now: Nanos) {
        self.began.get_or_insert(now);
        let newest = now.0 / SLOT.0;
        if newest <= self.newest {
            return;
        }
        let first = (self.newest + 1).max((newest + 1).saturating_sub(SLOTS as u64));
        for slot in first..=newest {
            self.in_window -= std::mem::take(&mut self.slots[(slot % SLOTS as u64) as usize]);
        }
        self.newest = newest;
    }

    /// Counts bytes that are written now.
    pub fn write(&mut self, now: Nanos, bytes: Bytes) {
        self.pass_time(now);
        self.slots[(self.newest % SLOTS as u64) as usize] += bytes.0;
        self.in_window += bytes.0;
        self.total += bytes.0;
    }

    /// Returns how many bytes a budget of `budget` per day leaves at `now`. What was written before counting began is
    /// unknown: as if the budget had been spent evenly then, the first day earns it little by little. So an engine that
    /// is restored often does not get a new budget each time.
    pub fn left_of(&self, budget: Bytes, now: Nanos) -> Bytes {
        let known = now.saturating_sub(self.began.unwrap_or(now)).min(DAY);
        let earned = (u128::from(budget.0) * u128::from(known.0) / u128::from(DAY.0)) as u64;
        Bytes(earned.saturating_sub(self.in_window))
    }

    /// Returns why a budget of `budget` per day does not allow `bytes` more at `now`, or `None`.
    pub fn held(&self, budget: Bytes, bytes: Bytes, now: Nanos) -> Option<HeldReason> {
        let is_spent = self.in_window() + bytes > budget;
        let reason = if is_spent { HeldReason::Budget } else { HeldReason::BudgetGrows };
        (self.left_of(budget, now) < bytes).then_some(reason)
    }

    /// Bytes written in the window.
    pub const fn in_window(&self) -> Bytes {
        Bytes(self.in_window)
    }

    /// Bytes that were ever written.
    pub const fn total(&self) -> Bytes {
        Bytes(self.total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUDGET: Bytes = Bytes(1_000_000);

    /// Whoever writes all that is left, whenever they look, writes no more than the budget in any 24 hours, and nearly
    /// all of it.
    #[test]
    fn a_budget_that_is_used_up_is_kept_in_any_day_and_used_within_a_hundredth() {
        let mut written = WrittenInDay::new();
        let mut log: Vec<(Nanos, u64)> = Vec::new();
        for look in 0..5 * 24 * 360 {
            let now = Nanos::from_secs(1_000_000 + 10 * look);
            written.pass_time(now);
            let left = written.left_of(BUDGET, now);
            written.write(now, left);
            log.push((now, left.0));
        }
        let total: u64 = log.iter().map(|(_, bytes)| bytes).sum();
        assert!((4_950_000..=5_000_000).contains(&total), "{total}");
        assert_eq!(written.total(), Bytes(total));
        for start in log.iter().step_by(97).map(|(at, _)| *at) {
            let day = log.iter().filter(|(at, _)| (start..start + DAY).contains(at));
            let bytes: u64 = day.map(|(_, bytes)| bytes).sum();
            assert!(bytes <= BUDGET.0, "{bytes} bytes in the day from {start:?} on");
        }
    }

    /// An engine that is restored often gets no new budget each time.
    #[test]
    fn the_first_day_earns_the_budget_evenly() {
        let (mut written, began) = (WrittenInDay::new(), Nanos::from_secs(1_000_000));
        written.pass_time(began);
        for (since, left) in [(0, 0), (DAY.0 / 4, 250_000), (DAY.0, BUDGET.0), (2 * DAY.0, BUDGET.0)] {
            assert_eq!(written.left_of(BUDGET, began + Nanos(since)), Bytes(left), "{since} ns later");
        }
    }

    proptest! {
        /// However long the gaps are, and whatever is written without asking, no day that was asked for has more.
        #[test]
        fn no_day_has_more_than_the_budget(
            steps in prop::collection::vec((0u64..40_000, 0u64..400_000), 1..200),
        ) {
            let (mut written, mut now) = (WrittenInDay::new(), Nanos::ZERO);
            let mut log: Vec<(Nanos, u64)> = Vec::new();
            for (gap, wanted) in steps {
                now += Nanos::from_secs(gap);
                written.pass_time(now);
                let bytes = wanted.min(written.left_of(BUDGET, now).0);
                written.write(now, Bytes(bytes));
                log.push((now, bytes));
                let day = log.iter().filter(|(at, _)| *at + DAY > now);
                prop_assert!(day.map(|(_, bytes)| bytes).sum::<u64>() <= BUDGET.0);
            }
        }
    }
}
