//! How many bytes may be written in a given time.

use esker_core::{Bytes, Nanos, Ratio};

const DAY: Nanos = Nanos::from_secs(24 * 60 * 60);

/// Returns the bytes per day with which flash lasts for `life`, if it endures `endurance` written bytes in all.
///
/// ```
/// use esker_cache::daily_budget;
/// use esker_core::{Bytes, Nanos};
///
/// let five_years = Nanos::from_secs(5 * 365 * 24 * 60 * 60);
/// assert_eq!(daily_budget(Bytes(1825), five_years), Bytes(1));
/// ```
pub fn daily_budget(endurance: Bytes, life: Nanos) -> Bytes {
    let bytes = u128::from(endurance.0) * u128::from(DAY.0) / u128::from(life.0.max(1));
    Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// A token bucket that time fills and that writes empty. It counts bytes times nanoseconds per day, so that nothing is
/// rounded.
#[derive(Debug)]
pub(super) struct Budget {
    bytes_per_day: i128,
    tokens: i128,
    tokens_most: i128,
    filled_at: Nanos,
}

impl Budget {
    /// `burst` is the share of a day's bytes that may be saved up. All of it is available at the beginning.
    pub(super) fn new(bytes_per_day: Bytes, burst: Ratio) -> Self {
        let tokens_a_day = i128::from(bytes_per_day.0) * i128::from(DAY.0);
        // At least one, since otherwise there would never be anything left.
        let tokens_most = (tokens_a_day / 1_000_000_000 * i128::from(burst.as_parts_per_billion())).max(1);
        Self {
            bytes_per_day: i128::from(bytes_per_day.0),
            tokens: tokens_most,
            tokens_most,
            filled_at: Nanos::default(),
        }
    }

    /// Returns true if something may be written at `now`. A write that exceeds the remaining budget is allowed, too;
    /// the next write waits until it is paid for.
    pub(super) fn allows(&mut self, now: Nanos) -> bool {
        let elapsed = now.saturating_sub(self.filled_at);
        self.filled_at = self.filled_at.max(now);
        let earned = i128::from(elapsed.0).saturating_mul(self.bytes_per_day);
        self.tokens = self.tokens.saturating_add(earned).min(self.tokens_most);
        self.tokens > 0
    }

    /// Takes `bytes` written bytes from the budget.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(i128::from(bytes) * i128::from(DAY.0));
    }
}
