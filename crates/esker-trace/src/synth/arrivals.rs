//! Patterns of arrival times.

use esker_core::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::Rate;
use super::named::{Written, by_kind};

/// When requests arrive in open-loop replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalPattern {
    /// Independently of each other: exponentially distributed gaps.
    Poisson {
        /// Mean rate.
        rate: Rate,
    },
    /// At equal gaps.
    Fixed {
        /// Rate.
        rate: Rate,
    },
    /// Poisson arrivals while a source is on, none while it is off (an interrupted Poisson process). Both periods are
    /// exponentially distributed.
    Bursty {
        /// Mean rate over all time. While the source is on, the rate is higher by (on + off) / on.
        rate: Rate,
        /// Mean length of a burst.
        on: Nanos,
        /// Mean time between bursts.
        off: Nanos,
    },
}

impl<'de> Deserialize<'de> for ArrivalPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "ArrivalPattern")]
        enum Variants {
            Poisson { rate: Rate },
            Fixed { rate: Rate },
            Bursty { rate: Rate, on: Nanos, off: Nanos },
        }
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Table(#[serde(with = "Variants")] ArrivalPattern);
        by_kind::<Table, D>(deserializer, Written::Table, "a table with `kind`").map(|table| table.0)
    }
}

impl ArrivalPattern {
    /// The mean rate.
    pub(super) fn rate(&self) -> Rate {
        match *self {
            Self::Poisson { rate } | Self::Fixed { rate } | Self::Bursty { rate, .. } => rate,
        }
    }
}

/// Draws arrival times. They are summed in doubles relative to the last whole second, so that rounding errors do not
/// add up.
#[derive(Clone, Debug)]
pub(super) struct ArrivalDraw {
    pattern: ArrivalPattern,
    seconds: u64,
    /// Nanoseconds after the whole seconds.
    fraction: f64,
    /// Rest of the current burst.
    burst_left: f64,
    started: bool,
}

impl ArrivalDraw {
    pub(super) fn new(pattern: ArrivalPattern) -> Self {
        Self { pattern, seconds: 0, fraction: 0.0, burst_left: 0.0, started: false }
    }

    /// The next arrival time; the first one is zero.
    #[inline]
    pub(super) fn draw(&mut self, rng: &mut Rng) -> Nanos {
        let gap = if self.started { self.gap(rng) } else { 0.0 };
        self.started = true;
        self.fraction += gap;
        if self.fraction >= 1e9 {
            let whole = (self.fraction / 1e9).floor();
            self.seconds = self.seconds.saturating_add(whole as u64);
            self.fraction -= whole * 1e9;
        }
        Nanos(self.seconds.saturating_mul(1_000_000_000).saturating_add(self.fraction as u64))
    }

    fn gap(&mut self, rng: &mut Rng) -> f64 {
        let mean = self.pattern.rate().mean_gap_ns();
        match self.pattern {
            ArrivalPattern::Fixed { .. } => mean,
            ArrivalPattern::Poisson { .. } => rng.exponential(mean),
            ArrivalPattern::Bursty { on, off, .. } => {
                let (on, off) = (on.0 as f64, off.0 as f64);
                let mean_within = mean * on / (on + off);
                let mut gap = rng.exponential(mean_within);
                let mut silence = 0.0;
                while gap >= self.burst_left {
                    gap -= self.burst_left;
                    silence += self.burst_left + rng.exponential(off);
                    self.burst_left = rng.exponential(on);
                }
                self.burst_left -= gap;
                silence + gap
            }
        }
    }
}
