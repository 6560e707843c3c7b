//! Places extents by the size of the write that creates them.

use esker_core::Bytes;
use esker_core::registry::ParameterSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceView, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, check_device, schema_of};
use crate::extent::DeviceIndex;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "size-threshold",
    summary: "Extents that a small write creates go to one device, the others to another; nothing ever moves",
    source: "Kim 2009, figures 5.5 and 5.6: the static partitioning, here by the first write to an extent",
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
}

impl Default for SizeThresholdSettings {
    fn default() -> Self {
        Self { threshold: Bytes::kib(4), small: 0, large: 1 }
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

impl Placement for SizeThreshold {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        let SizeThresholdSettings { threshold, small, large } = self.0;
        let is_large = new.write.is_some_and(|write| write.length > threshold);
        DeviceIndex(if is_large { large } else { small })
    }

    /// New devices get extents for which the others have no room.
    fn devices_joined(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::super::tests::chosen;

    #[test]
    fn the_size_of_the_first_write_decides() {
        let sizes = [4096, 4097, 512, 1 << 20];
        assert_eq!(chosen(r#"{"kind":"size-threshold"}"#, &[9, 9], &sizes), [0, 1, 0, 1]);
        let settings = r#"{"kind":"size-threshold","threshold":"512B","small":1,"large":0}"#;
        assert_eq!(chosen(settings, &[9, 9], &sizes), [0, 0, 1, 0]);
    }
}
