//! Puts a fixed share of the extents on each device.

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceView, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, schema_of};
use crate::extent::DeviceIndex;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "static-split",
    summary: "A fixed share of the extents for each device, by weight; nothing ever moves",
    source: "Wu 2011, section II: striping, as the baseline of migration",
    parameters: ParameterSource::Schema(schema_of::<StaticSplitSettings>),
    capabilities: &[],
    build,
};

/// Settings of [`StaticSplit`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StaticSplitSettings {
    /// Weights of the devices, in their order. Each device has to be large enough for its share (see `capacity`). With
    /// an empty list the devices take turns, and full ones are passed over.
    pub weights: Vec<u32>,
}

/// Limit of the sum of weights: the table of turns has one entry per unit of weight.
const WEIGHT_SUM_MAX: u64 = 65_536;

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let StaticSplitSettings { weights } = policy.options()?;
    Ok(Box::new(StaticSplit::of_weights(&weights, policy.devices)?))
}

/// Returns the weights of the key `weights` for `devices` devices; equal ones if the key is empty.
pub fn checked_weights(weights: &[u32], devices: usize) -> Result<Vec<u32>, PlacementError> {
    let error = |message: String, hint: &str| Err(PlacementError::of("weights", Problem::with_hint(message, hint)));
    if weights.is_empty() {
        return Ok(vec![1; devices]);
    }
    if weights.len() != devices {
        let message = format!("`weights` has {} entries for {devices} devices", weights.len());
        return error(message, "give each device one, or leave `weights` out for equal ones");
    }
    match weights.iter().map(|&weight| u64::from(weight)).sum() {
        0 => error("`weights` are all zero".to_string(), "give one device more, or leave `weights` out for equal ones"),
        sum if sum > WEIGHT_SUM_MAX => error(
            format!("`weights` add up to {sum}, more than {WEIGHT_SUM_MAX}"),
            "divide all of them by the same number",
        ),
        _ => Ok(weights.to_vec()),
    }
}

/// Extents go to the devices in turns. Each device has as many turns as its weight, spread evenly over the round:
/// weights 3 and 1 give 0, 0, 1, 0. The device depends only on the number of the extent, so the layout does not depend
/// on the order of first writes.
#[derive(Clone, Debug)]
pub struct StaticSplit {
    weights: Vec<u32>,
    turns: Vec<DeviceIndex>,
    /// Whether the settings ask for shares, by weights.
    asked: bool,
}

impl StaticSplit {
    /// Creates a split over `devices` devices from the key `weights`; in turns if the key is empty.
    ///
    /// # Errors
    /// As [`checked_weights`].
    pub fn of_weights(weights: &[u32], devices: usize) -> Result<Self, PlacementError> {
        Ok(Self { asked: !weights.is_empty(), ..Self::new(&checked_weights(weights, devices)?) })
    }

    /// Creates a split by these weights, at least one of which is not zero (asserted).
    pub fn new(weights: &[u32]) -> Self {
        let total: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
        assert!(total > 0, "a device takes something");
        // In each turn every device earns its weight, and the device that is owed most gets the turn and pays the sum
        // of all weights for it.
        let mut owed = vec![0i64; weights.len()];
        let turns = (0..total).map(|_| {
            owed.iter_mut().zip(weights).for_each(|(owed, &weight)| *owed += i64::from(weight));
            let most = *owed.iter().max().expect("there are devices");
            let device = owed.iter().position(|&owed| owed == most).expect("the largest is one of them");
            owed[device] -= total;
            DeviceIndex(device as u16)
        });
        Self { turns: turns.collect(), weights: weights.to_vec(), asked: true }
    }
}

impl Placement for StaticSplit {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.turns[new.extent.0 as usize % self.turns.len()]
    }

    fn shares(&self, extents: u32, _: Bytes, devices: usize) -> Option<Vec<u32>> {
        let round = self.turns.len() as u32;
        let mut shares = vec![0u32; devices];
        for (turn, device) in (0..).zip(&self.turns) {
            shares[device.0 as usize] += extents / round + u32::from(turn < extents % round);
        }
        self.asked.then_some(shares)
    }

    fn targets(&self) -> Option<Vec<f64>> {
        let total: u32 = self.weights.iter().sum();
        Some(self.weights.iter().map(|&weight| f64::from(weight) / f64::from(total)).collect())
    }

    /// New devices get the mean weight of the others. Extents that have a place stay there.
    fn devices_joined(&mut self, devices: usize) {
        let total: u32 = self.weights.iter().sum();
        let mean = (total / self.weights.len() as u32).max(1);
        let mut weights = std::mem::take(&mut self.weights);
        weights.resize(devices, mean);
        *self = Self { asked: self.asked, ..Self::new(&weights) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::LogicalExtent;

    fn turns(weights: &[u32], count: u32) -> Vec<u16> {
        let mut policy = StaticSplit::new(weights);
        let new = |extent| NewExtent { extent: LogicalExtent(extent), start: Bytes::ZERO, write: None };
        (0..count).map(|extent| policy.place(&new(extent), &[]).0).collect()
    }

    #[test]
    fn turns_follow_the_weights_and_are_spread() {
        assert_eq!(turns(&[3, 1], 8), [0, 0, 1, 0, 0, 0, 1, 0]);
        assert_eq!(turns(&[1, 1], 4), [0, 1, 0, 1]);
        assert_eq!(turns(&[0, 2, 1], 6), [1, 2, 1, 1, 2, 1]);
        let counts = |weights: &[u32]| {
            let turns = turns(weights, 1000);
            [0, 1, 2].map(|device| turns.iter().filter(|&&turn| turn == device).count())
        };
        assert_eq!(counts(&[50, 30, 20]), [500, 300, 200]);
    }
}
