//! How many bytes may be written in a time.

use esker_core::{Bytes, Nanos, Ratio};

const DAY: Nanos = Nanos::from_secs(24 * 60 * 60);

/// The bytes a day with which flash lasts for `life`, if it endures that `endurance` bytes are written to it in all.
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

/// A token bucket that time fills and writes empty. It counts in bytes times nanoseconds a day, so that nothing is
/// rounded.
#[derive(Debug)]
pub(super) struct Budget {
    bytes_per_day: i128,
    tokens: i128,
    tokens_most: i128,
    filled_at: Nanos,
}

impl Budget {
    /// `burst` is the share of a day's bytes that may be saved up; all of it is there at the beginning.
    pub(super) fn new(bytes_per_day: Bytes, burst: Ratio) -> Self {
        let tokens_a_day = i128::from(bytes_per_day.0) * i128::from(DAY.0);
        // At least one, else there would never be something left.
        let tokens_most = (tokens_a_day / 1_000_000_000 * i128::from(burst.as_parts_per_billion())).max(1);
        Self {
            bytes_per_day: i128::from(bytes_per_day.0),
            tokens: tokens_most,
            tokens_most,
            filled_at: Nanos::default(),
        }
    }

    /// Whether something may be written at `now`. What is larger than what is left may be written, too: the next one
    /// waits until that is paid.
    pub(super) fn allows(&mut self, now: Nanos) -> bool {
        let elapsed = now.saturating_sub(self.filled_at);
        self.filled_at = self.filled_at.max(now);
        let earned = i128::from(elapsed.0).saturating_mul(self.bytes_per_day);
        self.tokens = self.tokens.saturating_add(earned).min(self.tokens_most);
        self.tokens > 0
    }

    /// Takes `bytes` written bytes from the budget.
    pub(super) fn spend(&mut self, bytes: u32) {
        self.tokens = self.tokens.saturating_sub(i128::from(bytes) * i128::from(DAY.0));
    }
}
