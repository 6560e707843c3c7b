//! A life that a device should reach, and what it has used up of it.

use esker_core::{Nanos, Ratio, Telemetry};

use crate::engine::LifeSpent;

/// The least life that may be asked for.
const LIFE_LEAST: Nanos = Nanos::from_secs(1);

/// How often the wear of a device should be looked at ([`Placement::telemetry_period`](super::Placement)).
pub const LIFE_PERIOD: Nanos = Nanos::from_secs(10);

/// The life that a device should have, and what it has used up of its rated one.
#[derive(Clone, Copy, Debug)]
pub struct LifeBudget {
    life: Nanos,
    /// The time of the first look at which the device knew its wear, and the share of its life that it had used up by
    /// then.
    begin: Option<(Nanos, Ratio)>,
    spent: LifeSpent,
}

impl LifeBudget {
    /// A budget that begins when the device says how worn it is. `None` if `life` is less than a second.
    pub fn new(life: Nanos) -> Option<Self> {
        (life >= LIFE_LEAST).then_some(Self { life, begin: None, spent: LifeSpent::default() })
    }

    /// Takes what the device knows of itself at `now`.
    pub fn look(&mut self, now: Nanos, device: &Telemetry) {
        if !device.knows_wear() {
            return;
        }
        let (since, before) = *self.begin.get_or_insert((now, device.life_used));
        let allowed = now.saturating_sub(since).0 as f64 / self.life.0 as f64;
        self.spent = LifeSpent { used: Some(device.life_used.as_f64() - before.as_f64()), allowed };
    }

    /// Returns what was used up to the last look.
    pub const fn spent(&self) -> LifeSpent {
        self.spent
    }

    /// Returns true if more was used up since the beginning than the time since then allows.
    pub fn is_overspent(&self) -> bool {
        self.spent.used.is_some_and(|used| used > self.spent.allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_begins_when_the_wear_is_known() {
        let mut budget = LifeBudget::new(Nanos::from_secs(1_000)).unwrap();
        let mut look = |seconds, percent| {
            let device = Telemetry { life_used: Ratio::percent(percent), ..Telemetry::default() };
            budget.look(Nanos::from_secs(seconds), &device);
            (budget.spent().used.map(|used| (used * 100.0).round()), budget.is_overspent())
        };
        assert_eq!(look(0, 0), (None, false));
        assert_eq!(look(10, 12), (Some(0.0), false));
        assert_eq!(look(20, 12), (Some(0.0), false));
        // A hundredth of the life is ten seconds.
        assert_eq!(look(21, 14), (Some(2.0), true));
        assert_eq!(look(31, 14), (Some(2.0), false));
    }

    #[test]
    fn a_new_drive_that_counts_its_erases_knows_its_wear() {
        let mut budget = LifeBudget::new(Nanos::from_secs(1_000)).unwrap();
        let mut look = |seconds, percent| {
            let life_used = Ratio::percent(percent);
            budget
                .look(Nanos::from_secs(seconds), &Telemetry { counts_erases: true, life_used, ..Telemetry::default() });
            budget.is_overspent()
        };
        assert!(!look(0, 0) && look(5, 1) && !look(20, 1));
    }
}
