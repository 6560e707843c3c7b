//! Sizes of requests.

use std::fmt;

use esker_core::{Bytes, Rng};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// One size for all requests, or a mixture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SizePattern {
    /// All requests have this size.
    Fixed(Bytes),
    /// Each size has a probability proportional to its weight.
    Mixture(Vec<WeightedSize>),
}

/// One size of a mixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// The size, in whole sectors of 512 bytes.
    pub size: Bytes,
    /// Relative frequency of the size.
    pub weight: u32,
}

impl SizePattern {
    /// The sizes with their weights.
    pub(super) fn weighted(&self) -> Vec<WeightedSize> {
        match self {
            Self::Fixed(size) => vec![WeightedSize { size: *size, weight: 1 }],
            Self::Mixture(sizes) => sizes.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for SizePattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl<'de> Visitor<'de> for SizeVisitor {
            type Value = SizePattern;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"4KiB\", or a list of { size, weight }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<SizePattern, E> {
                text.parse().map(SizePattern::Fixed).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<SizePattern, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<SizePattern, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SizePattern, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = list.next_element()? {
                    sizes.push(size);
                }
                Ok(SizePattern::Mixture(sizes))
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// Draws sizes.
#[derive(Clone, Debug)]
pub(super) struct SizeDraw {
    /// For each size, the sum of the weights up to and including it.
    sums: Vec<(u64, u32)>,
    total: u64,
}

impl SizeDraw {
    /// Sizes have been checked to fit into 32 bits, and weights to have a sum.
    pub(super) fn new(sizes: &[WeightedSize]) -> Self {
        let mut total = 0;
        let sums = sizes
            .iter()
            .map(|size| {
                total += u64::from(size.weight);
                (total, size.size.0 as u32)
            })
            .collect();
        Self { sums, total }
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        if let [(_, only)] = self.sums[..] {
            return only;
        }
        let goal = rng.below(self.total);
        self.sums[self.sums.partition_point(|&(sum, _)| sum <= goal)].1
    }
}
