//! A life that a device should reach, and what it has used up of it.

use esker_core::{Nanos, Ratio};

use crate::engine::LifeSpent;

/// The least life that may be asked for.
const LIFE_LEAST: Nanos = Nanos::from_secs(1);

/// How often the wear of a device should be looked at ([`Placement::telemetry_period`](super::Placement)).
pub const LIFE_PERIOD: Nanos = Nanos::from_secs(10);

/// The life that a device should have, and what it has used up of its rated one.
#[derive(Clone, Copy, Debug)]
pub struct LifeBudget {
    life: Nanos,
    /// The time of the first look, and the share of its life that the device had used up by then.
    begin: Option<(Nanos, Ratio)>,
    spent: LifeSpent,
}

impl LifeBudget {
    /// A budget that begins with the first look. `None` if `life` is less than a second.
    pub fn new(life: Nanos) -> Option<Self> {
        (life >= LIFE_LEAST).then_some(Self { life, begin: None, spent: LifeSpent::default() })
    }

    /// Takes the share of its life that the device has used up by `now`.
    pub fn look(&mut self, now: Nanos, used: Ratio) {
        let (since, before) = *self.begin.get_or_insert((now, used));
        let allowed = now.saturating_sub(since).0 as f64 / self.life.0 as f64;
        self.spent = LifeSpent { used: used.as_f64() - before.as_f64(), allowed };
    }

    /// Returns what was used up to the last look.
    pub const fn spent(&self) -> LifeSpent {
        self.spent
    }

    /// Returns true if more was used up since the first look than the time since then allows.
    pub fn is_overspent(&self) -> bool {
        self.spent.used > self.spent.allowed
    }
}
