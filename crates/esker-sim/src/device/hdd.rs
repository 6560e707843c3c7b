//! Disks, from `esker-disk`.

use esker_core::Hint;
use esker_core::registry::ParameterSource;
use esker_disk::{DiskSettings, PRESETS, build};
use esker_results::Reporting;

use super::{DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};

/// The `hdd` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "hdd",
    summary: "A disk with a moving arm: zones, seek curve, rotation, schedulers",
    source: "docs/disk-model.md",
    parameters: ParameterSource::Schema(schema_of::<DiskSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || PRESETS,
        read: |table| read_settings::<DiskSettings>(table),
        example: "[device.example]\nkind = \"hdd\"\npreset = \"seagate-cheetah-15k5-146g\"\nscheduler = \"c-look\"\n",
    },
};

impl DeviceSettings for DiskSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        build(&instance.name, self)
            .map_err(|error| DeviceFault::new(error.to_string()).at([error.key()]).with_hint(error.hint()))
    }
}
