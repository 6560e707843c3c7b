//! Cloud volumes, from `esker-cloud`.

use esker_cloud::{CloudVolume, CloudVolumeSettings, PRESETS};
use esker_core::Hint;
use esker_core::registry::ParameterSource;
use esker_results::Reporting;

use super::{DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};

/// The `cloud-volume` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "cloud-volume",
    summary: "A block volume of a cloud provider: limits by size and order, burst credits, latency",
    source: "docs/cloud-volumes.md",
    parameters: ParameterSource::Schema(schema_of::<CloudVolumeSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || PRESETS,
        read: |table| read_settings::<CloudVolumeSettings>(table),
        example: "[device.example]\nkind = \"cloud-volume\"\npreset = \"aws-ebs-gp3\"\nsize = \"500GiB\"\n\
                  provisioned = { operations = \"6000/s\", throughput = \"250MiB/s\" }\n",
    },
};

impl DeviceSettings for CloudVolumeSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn resolved(&self) -> serde_json::Value {
        let resolved = Self { size: Some(self.size()), ..self.clone() };
        serde_json::to_value(resolved).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        let volume = CloudVolume::new(&instance.name, self, instance.seed)
            .map_err(|error| DeviceFault::new(error.to_string()).at([error.key()]).with_hint(error.hint()))?;
        Ok(Box::new(volume))
    }
}
