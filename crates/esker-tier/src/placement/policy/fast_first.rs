//! Fills one device after the other.

use esker_core::registry::ParameterSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DeviceView, NewExtent, Placement, PlacementEntry, PlacementError, PolicySettings, check_device, schema_of,
};
use crate::extent::DeviceIndex;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "fast-first",
    summary: "Fills one device after the other: all on flash while it fits, or all on the disk; nothing ever moves",
    source: "Wu 2011, section II.B: allocation policies (a) and (b)",
    parameters: ParameterSource::Schema(schema_of::<FastFirstSettings>),
    capabilities: &[],
    build,
};

/// Settings of the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FastFirstSettings {
    /// Devices in the order in which they are filled, by their places in `children`, from 0. Those that are left out
    /// come last. (If empty: in the order of `children`.)
    order: Vec<u16>,
}

fn build(settings: &PolicySettings, devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
    let FastFirstSettings { mut order } = settings.options()?;
    for (position, &device) in order.iter().enumerate() {
        check_device("order", device, devices)?;
        if order[..position].contains(&device) {
            return Err(PlacementError::new("order", format!("device {device} is there twice")));
        }
    }
    let rest = (0..devices as u16).filter(|device| !order.contains(device));
    order.extend(rest.collect::<Vec<_>>());
    Ok(Box::new(FastFirst { order: order.into_iter().map(DeviceIndex).collect() }))
}

/// The first device in this order that has room.
#[derive(Debug)]
struct FastFirst {
    order: Vec<DeviceIndex>,
}

impl Placement for FastFirst {
    fn place(&mut self, _: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let has_room = |device: &&DeviceIndex| devices[device.0 as usize].has_room();
        *self.order.iter().find(has_room).unwrap_or(&self.order[0])
    }

    fn devices_joined(&mut self, devices: usize) {
        self.order.extend((self.order.len()..devices).map(|device| DeviceIndex(device as u16)));
    }
}
