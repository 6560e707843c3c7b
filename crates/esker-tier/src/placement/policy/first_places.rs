//! First places of extents, and settings, of policies that go by what requests cost.

use esker_core::{Nanos, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::costs::DeviceCosts;
use super::life_budget::LifeBudget;
use super::static_split::StaticSplit;
use super::{DeviceView, NewExtent, Placement, PlacementError, Rewrite};
use crate::extent::DeviceIndex;

/// Settings of policies that go by costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CostSettings {
    /// Weights of the devices for data from before the first request, as of `static-split`. With an empty list, these
    /// leave the same share of each device free.
    weights: Vec<u32>,
    /// How long each device should last. While more of its rated life is used up than the time since the start allows,
    /// what is written there becomes dearer, copies included. If left out, writes have no price; nor can they have one
    /// on a device that counts no erases.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1s"))]
    life: Option<Nanos>,
}

impl CostSettings {
    /// Checks the settings for `devices` devices.
    pub(super) fn check(self, devices: usize) -> Result<(FirstPlaces, Option<LifeBudget>), PlacementError> {
        let Self { weights, life } = self;
        let life = life.map(LifeBudget::new);
        if life.is_some_and(|life| life.is_none()) {
            return Err(PlacementError::new("life", "`life` is less than a second; flash lasts for years"));
        }
        let split = (!weights.is_empty()).then(|| StaticSplit::of_weights(&weights, devices)).transpose()?;
        Ok((FirstPlaces { split }, life.flatten()))
    }
}

/// Chooses the first place of each extent: for a write where it costs least now, for data from before the first request
/// by weights, or where the largest share is free.
#[derive(Debug, Default)]
pub(super) struct FirstPlaces {
    /// If the settings give weights.
    split: Option<StaticSplit>,
}

impl FirstPlaces {
    pub(super) fn place(&mut self, new: &NewExtent<'_>, costs: &[DeviceCosts], views: &[DeviceView]) -> DeviceIndex {
        let has_room = |device: usize| views[device].has_room();
        let cheapest = new.write.and_then(|write| cheapest_now(write, costs, views));
        let split = self.split.as_mut().filter(|_| new.write.is_none());
        let by_weight = split.map(|split| usize::from(split.place(new, views).0)).filter(|&device| has_room(device));
        let free = |device: &usize| f64::from(views[*device].free_extents) / f64::from(views[*device].extents.max(1));
        let emptiest =
            || (0..views.len()).filter(|&device| has_room(device)).max_by(|a, b| free(a).total_cmp(&free(b)));
        DeviceIndex(cheapest.or(by_weight).or_else(emptiest).unwrap_or(0) as u16)
    }

    pub(super) fn devices_joined(&mut self, devices: usize) {
        if let Some(split) = &mut self.split {
            split.devices_joined(devices);
        }
    }
}

/// Returns the device where a write that replaces its extent costs least now, if that is another one, and what the
/// write costs where the extent is and there.
pub(super) fn cheaper_place(
    rewrite: &Rewrite<'_>,
    costs: &[DeviceCosts],
    views: &[DeviceView],
) -> Option<(usize, [f64; 2])> {
    let from = usize::from(rewrite.from.0);
    let to = cheapest_now(rewrite.write, costs, views).filter(|&to| to != from)?;
    Some((to, [from, to].map(|device| costs[device].now(rewrite.write, &views[device]))))
}

/// Returns the device with room on which `write` costs least now. A write that chooses its device makes the next one
/// see it there, so it goes by what is under way, while moves go by averages.
fn cheapest_now(write: &Request, costs: &[DeviceCosts], views: &[DeviceView]) -> Option<usize> {
    let devices = (0..costs.len()).filter(|&device| views[device].has_room());
    let now = |device: usize| costs[device].now(write, &views[device]);
    devices.min_by(|&one, &other| now(one).total_cmp(&now(other)))
}
