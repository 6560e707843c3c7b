//! Keeps ranges of addresses on devices of their own.

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos, TokenCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DeviceView, Event, NewExtent, Placement, PlacementEntry, PlacementError, PolicySettings, Rewrite, Wishes,
    check_device, schema_of,
};
use crate::extent::{DeviceIndex, LogicalExtent};

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "pinned",
    summary: "Ranges of addresses stay on one device (a file system's metadata); another policy places the rest",
    source: "Wu 2011, section II.D.4: metadata on flash",
    parameters: ParameterSource::Schema(schema_of::<PinnedSettings>),
    capabilities: &[],
    build,
};

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinnedSettings {
    /// The ranges. An extent that begins in one of them belongs to the first such range.
    #[serde(default)]
    ranges: Vec<PinnedRange>,
    /// The policy for all other extents, as a table of its own. Whether its weights fit the devices is not checked:
    /// full devices are passed over. (Default: static-split, in turns.)
    #[serde(default = "in_turns")]
    rest: PolicySettings,
}

/// A range of addresses, and its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinnedRange {
    /// The first byte.
    #[serde(default)]
    start: Bytes,
    /// Bytes.
    length: Bytes,
    /// The device, by its place in `children`, from 0. When it is full, the next one with room is taken.
    device: u16,
}

fn in_turns() -> PolicySettings {
    PolicySettings { kind: "static-split".to_string(), options: serde_json::Map::new() }
}

fn build(settings: &PolicySettings, devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
    let PinnedSettings { ranges, rest } = settings.options()?;
    for (index, range) in ranges.iter().enumerate() {
        let key = format!("ranges[{index}]");
        check_device(&format!("{key}.device"), range.device, devices)?;
        if range.length == Bytes::ZERO {
            return Err(PlacementError::new(&format!("{key}.length"), "the range is empty"));
        }
    }
    if rest.kind == ENTRY.name {
        return Err(PlacementError::new("rest.kind", "ranges of ranges: give all of them in one list"));
    }
    let rest = rest.build(devices).map_err(|error| PlacementError(error.below("rest")))?;
    Ok(Box::new(Pinned { ranges, rest, pinned: Vec::new() }))
}

#[derive(Debug)]
struct Pinned {
    ranges: Vec<PinnedRange>,
    rest: Box<dyn Placement>,
    /// Whether each extent is pinned, by its number, as far as they were placed.
    pinned: Vec<bool>,
}

impl Placement for Pinned {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let holds =
            |range: &&PinnedRange| new.start.0.checked_sub(range.start.0).is_some_and(|offset| offset < range.length.0);
        let Some(range) = self.ranges.iter().find(holds) else { return self.rest.place(new, devices) };
        let extent = new.extent.0 as usize;
        if self.pinned.len() <= extent {
            self.pinned.resize(extent + 1, false);
        }
        self.pinned[extent] = true;
        DeviceIndex(range.device)
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        self.rest.observe(now, event, devices, wishes);
        let is_pinned = |extent: LogicalExtent| self.pinned.get(extent.0 as usize).copied().unwrap_or(false);
        wishes.moves.retain(|wished| !is_pinned(wished.extent));
    }

    fn observes(&self) -> bool {
        self.rest.observes()
    }

    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let is_pinned = self.pinned.get(write.extent.0 as usize).copied().unwrap_or(false);
        if is_pinned { None } else { self.rest.redirect(write, devices) }
    }

    fn redirects(&self) -> bool {
        self.rest.redirects()
    }

    fn tokens(&self) -> Option<TokenCounts> {
        self.rest.tokens()
    }

    fn devices_joined(&mut self, devices: usize) {
        self.rest.devices_joined(devices);
    }

    fn telemetry_period(&self) -> Option<Nanos> {
        self.rest.telemetry_period()
    }
}
