//! Places extents by the size of the write that creates them, or of each write that replaces them.

use esker_core::Bytes;
use esker_core::registry::ParameterSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DeviceView, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, Rewrite, check_device, schema_of,
};
use crate::extent::DeviceIndex;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "size-threshold",
    summary: "Extents that a small write creates go to one device, the others to another; nothing is copied",
    source: "Kim 2009, figures 5.5 to 5.7: the static partitioning, by the first write to an extent or by every write",
    parameters: ParameterSource::Schema(schema_of::<SizeThresholdSettings>),
    capabilities: &[],
    build,
};

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SizeThresholdSettings {
    /// Writes up to this size are small.
    threshold: Bytes,
    /// The device for extents that small writes create, by its place in `children`, from 0. It also takes what is there
    /// before the run.
    small: u16,
    /// The device for extents that larger writes create.
    large: u16,
    /// Whether a write that replaces all that an extent holds goes where its size says, too, and the extent with it.
    every_write: bool,
}

impl Default for SizeThresholdSettings {
    fn default() -> Self {
        Self { threshold: Bytes::kib(4), small: 0, large: 1, every_write: false }
    }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let settings: SizeThresholdSettings = policy.options()?;
    check_device("small", settings.small, policy.devices)?;
    check_device("large", settings.large, policy.devices)?;
    Ok(Box::new(SizeThreshold(settings)))
}

#[derive(Debug)]
struct SizeThreshold(SizeThresholdSettings);

impl SizeThreshold {
    /// Returns the device for writes of this size.
    fn device_for(&self, size: Bytes) -> DeviceIndex {
        let SizeThresholdSettings { threshold, small, large, .. } = self.0;
        DeviceIndex(if size > threshold { large } else { small })
    }
}

impl Placement for SizeThreshold {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.device_for(new.write.map_or(Bytes::ZERO, |write| write.length))
    }

    fn redirect(&mut self, write: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        let device = self.device_for(write.write.length);
        (device != write.from).then_some(device)
    }

    fn redirects(&self) -> bool {
        self.0.every_write
    }

    /// New devices get extents for which the others have no room.
    fn devices_joined(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use esker_core::{Lba, Request};

    use super::super::tests::chosen;
    use super::super::{PLACEMENTS, PolicySettings};
    use super::*;
    use crate::extent::LogicalExtent;

    #[test]
    fn the_size_of_the_first_write_decides() {
        let sizes = [4096, 4097, 512, 1 << 20];
        assert_eq!(chosen(r#"{"kind":"size-threshold"}"#, &[9, 9], &sizes), [0, 1, 0, 1]);
        let settings = r#"{"kind":"size-threshold","threshold":"512B","small":1,"large":0}"#;
        assert_eq!(chosen(settings, &[9, 9], &sizes), [0, 0, 1, 0]);
    }

    #[test]
    fn a_write_that_replaces_an_extent_goes_by_its_size_where_that_is_wanted() {
        let goes = |table: &str, from: u16, size: u64| {
            let settings: PolicySettings = serde_json::from_str(table).unwrap();
            let mut policy = settings.build(PLACEMENTS, 2).unwrap();
            let write = Request::write(Lba(0), Bytes(size));
            let rewrite =
                Rewrite { extent: LogicalExtent(0), from: DeviceIndex(from), write: &write, rest: Bytes::ZERO };
            policy.redirects().then(|| policy.redirect(&rewrite, &[])).flatten().map(|device| device.0)
        };
        let every = r#"{"kind":"size-threshold","every_write":true}"#;
        assert_eq!(
            [(0, 4096), (1, 4096), (0, 8192), (1, 8192)].map(|(from, size)| goes(every, from, size)),
            [None, Some(0), Some(1), None]
        );
        assert_eq!(goes(r#"{"kind":"size-threshold"}"#, 0, 8192), None);
    }
}
