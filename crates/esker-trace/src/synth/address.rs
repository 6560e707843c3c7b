//! Patterns of addresses.

use esker_core::{Ratio, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::named::{Written, by_kind};
use super::{Permutation, Zipf};

/// Where requests begin that do not continue the one before. A kind without settings may be given by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AddressPattern {
    /// Anywhere, with equal probability.
    Uniform {},
    /// Each request continues the one before; at the end of the footprint it goes back to its start.
    Sequential {},
    /// A few places are very popular: the place of rank r has a probability proportional to 1/r^exponent. Ranks are
    /// scattered over the footprint.
    Zipf {
        /// 0 is uniform, 1 the classical law.
        exponent: f64,
    },
    /// Some places are hot, the others cold. Within each group all are equally probable. Hot places are scattered over
    /// the footprint.
    HotCold {
        /// Share of the places that are hot.
        hot_share: Ratio,
        /// Share of the requests that go to hot places.
        hot_accesses: Ratio,
    },
}

impl<'de> Deserialize<'de> for AddressPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "AddressPattern")]
        enum Variants {
            Uniform {},
            Sequential {},
            Zipf { exponent: f64 },
            HotCold { hot_share: Ratio, hot_accesses: Ratio },
        }
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Table(#[serde(with = "Variants")] AddressPattern);
        let expected = "\"uniform\", \"sequential\", or a table { kind = \"zipf\" or \"hot-cold\", ... }";
        by_kind::<Table, D>(deserializer, Written::NameOrTable, expected).map(|table| table.0)
    }
}

/// Draws a place in `0..places`.
#[derive(Clone, Debug)]
pub(super) enum AddressDraw {
    Uniform,
    Zipf(Zipf, Permutation),
    HotCold { hot: u64, accesses: Ratio, scatter: Permutation },
}

impl AddressDraw {
    /// A draw from `places` places, at least one.
    pub(super) fn new(pattern: AddressPattern, places: u64, seed: u64) -> Self {
        let scatter = Permutation::new(places, seed);
        match pattern {
            AddressPattern::Uniform {} | AddressPattern::Sequential {} => Self::Uniform,
            AddressPattern::Zipf { exponent } => Self::Zipf(Zipf::new(places, exponent), scatter),
            AddressPattern::HotCold { hot_share, hot_accesses } => {
                Self::HotCold { hot: hot_share.of(places), accesses: hot_accesses, scatter }
            }
        }
    }

    #[inline]
    pub(super) fn draw(&self, places: u64, rng: &mut Rng) -> u64 {
        match self {
            Self::Uniform => rng.below(places),
            Self::Zipf(zipf, scatter) => scatter.apply(zipf.draw(rng)),
            &Self::HotCold { hot, accesses, ref scatter } => {
                let to_hot = rng.chance(accesses.as_parts_per_billion(), Ratio::ONE.as_parts_per_billion());
                // If one group has no places, all requests go to the other.
                let rank = match (to_hot && hot > 0) || hot == places {
                    true => rng.below(hot),
                    false => hot + rng.below(places - hot),
                };
                scatter.apply(rank)
            }
        }
    }
}
