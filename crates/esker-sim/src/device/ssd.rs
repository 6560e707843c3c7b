//! Solid-state drives, from `esker-flash`.

use esker_core::Hint;
use esker_core::registry::ParameterSource;
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_results::Reporting;

use super::{DeviceFault, DeviceKind, DeviceReader, DeviceSettings, Instance, read_settings, schema_of};

/// The `ssd` kind.
pub(super) const KIND: DeviceKind = DeviceKind {
    name: "ssd",
    summary: "A solid-state drive: flash dies and buses, translation layer, cleaning",
    source: "docs/flash-model.md",
    parameters: ParameterSource::Schema(schema_of::<SsdSettings>),
    capabilities: &[],
    build: DeviceReader {
        presets: || PRESETS,
        read: |table| read_settings::<SsdSettings>(table),
        example: "[device.example]\nkind = \"ssd\"\npreset = \"samsung-k9xxg08-slc-32g\"\n\
                  geometry = { blocks_per_plane = 32 }\nprecondition = \"filled\"\nutilisation = \"80%\"\n",
    },
};

impl DeviceSettings for SsdSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        let ssd = Ssd::new(&instance.name, self, instance.seed)
            .map_err(|error| DeviceFault::new(error.to_string()).at(error.keys()).with_hint(error.hint()))?;
        Ok(Box::new(ssd))
    }
}
