//! Fills one device after the other.

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::room::{RoomMaker, RoomSettings};
use super::{
    DeviceView, Event, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, Wishes, check_device, schema_of,
};
use crate::extent::{DeviceIndex, LogicalExtent};

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "fast-first",
    summary: "Fills one device after the other: all on flash while it fits, or all on the disk",
    source: "Wu 2011, section II.B: allocation policies (a) and (b); section III.B: cold data make room",
    parameters: ParameterSource::Schema(schema_of::<FastFirstSettings>),
    capabilities: &[],
    build,
};

/// Settings of the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FastFirstSettings {
    /// Devices in the order in which they are filled, by their places in `children`, from 0. Those that are left out
    /// come last. (If empty: in the order of `children`.)
    order: Vec<u16>,
    /// Whether and when the coldest extents of a device that fills up move to later ones in idle moments (`{}`: as the
    /// defaults say). If left out, nothing ever moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    make_room: Option<RoomSettings>,
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let FastFirstSettings { mut order, make_room } = policy.options()?;
    make_room.as_ref().map_or(Ok(()), |room| room.check("make_room"))?;
    for (position, &device) in order.iter().enumerate() {
        check_device("order", device, policy.devices)?;
        if order[..position].contains(&device) {
            return Err(PlacementError::new("order", format!("device {device} is there twice")));
        }
    }
    let rest = (0..policy.devices as u16).filter(|device| !order.contains(device));
    order.extend(rest.collect::<Vec<_>>());
    let room = make_room.map(|settings| RoomMaker::new(settings, policy.devices));
    Ok(Box::new(FastFirst { order: order.into_iter().map(DeviceIndex).collect(), room }))
}

/// Chooses the first device in this order that has room.
#[derive(Debug)]
struct FastFirst {
    order: Vec<DeviceIndex>,
    room: Option<RoomMaker>,
}

impl Placement for FastFirst {
    fn place(&mut self, _: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let has_room = |device: &&DeviceIndex| devices[device.0 as usize].has_room();
        *self.order.iter().find(has_room).unwrap_or(&self.order[0])
    }

    fn placed(&mut self, extent: LogicalExtent, _: Bytes, device: Option<DeviceIndex>) {
        if let Some(room) = &mut self.room {
            room.placed(extent, device);
        }
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        if let Some(room) = &mut self.room {
            let place = |device: usize| self.order.iter().position(|other| usize::from(other.0) == device);
            room.observe(now, event, devices, |from, to| place(from) < place(to), wishes);
        }
    }

    fn observes(&self) -> bool {
        self.room.is_some()
    }

    /// Nothing moves to a device that is filled earlier.
    fn needs_free_extents(&self) -> bool {
        false
    }

    fn devices_joined(&mut self, devices: usize) {
        self.room.iter_mut().for_each(|room| room.devices_joined(devices));
        self.order.extend((self.order.len()..devices).map(|device| DeviceIndex(device as u16)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::chosen;

    #[test]
    fn fast_first_fills_one_device_after_the_other() {
        assert_eq!(chosen(r#"{"kind":"fast-first"}"#, &[2, 1, 9], &[1; 5]), [0, 0, 1, 2, 2]);
        assert_eq!(chosen(r#"{"kind":"fast-first","order":[2]}"#, &[2, 1, 1], &[1; 4]), [2, 0, 0, 1]);
    }
}
