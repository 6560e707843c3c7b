//! Solid-state drives, from `esker-flash`.

use esker_core::Hint;
use esker_core::registry::ParameterSource;
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_results::Reporting;

use super::memory::{self, Filled};
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

/// Bytes of memory for a page of flash: the page of the host that it holds, and where data of a page of the host are.
/// Measured: drives of 64 and 256 GiB of pages of 4 KiB that are full take 138 and 517 MB with `ftl = "page"`, and
/// 136 to 147 and 513 to 549 MB with the other translation layers.
const PAGE_MEMORY: u64 = 8;

/// Refuses a drive whose pages take more memory than is free. `keys` are those of its size.
pub(super) fn check_memory(settings: &SsdSettings, filled: Filled, keys: &[&str]) -> Result<(), DeviceFault> {
    let shape = &settings.geometry;
    let counts = [
        shape.channels,
        shape.packages_per_channel,
        shape.dies_per_package,
        shape.planes_per_die,
        shape.blocks_per_plane,
        shape.pages_per_block,
    ];
    let pages = counts.iter().fold(1u64, |pages, &count| pages.saturating_mul(u64::from(count)));
    // A drive cannot number more; that has an error of its own.
    if pages > u64::from(u32::MAX) {
        return Ok(());
    }
    let hint = "give it fewer `blocks_per_plane`: a part of a drive with the same shares of free space behaves alike";
    memory::check(&format!("its {pages} pages of {}", shape.page_size), pages * PAGE_MEMORY, filled, keys, hint)
}

impl DeviceSettings for SsdSettings {
    fn kind(&self) -> &'static DeviceKind {
        &KIND
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault> {
        let filled = if instance.preconditioned { Filled::AtOnce } else { Filled::AsUsed };
        check_memory(self, filled, &["geometry.blocks_per_plane", "geometry", "preset"])?;
        let ssd = Ssd::new(&instance.name, self, instance.seed)
            .map_err(|error| DeviceFault::new(error.to_string()).at(error.keys()).with_hint(error.hint()))?;
        Ok(Box::new(match instance.drives {
            Some(drives) => ssd.sharing(drives),
            None => ssd,
        }))
    }
}
