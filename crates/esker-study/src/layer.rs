//! The translation layer of a simulated design.

use esker_results::Report;
use esker_results::study::TranslationLayer;

use crate::design::Design;
use crate::run::DesignRun;

/// Returns the simulated bytes of a design's flash drives.
fn flash_bytes(run: &DesignRun, report: &Report) -> u64 {
    if report.devices.values().all(|device| device.disk.is_none()) {
        return run.simulation.device().capacity().0;
    }
    report.devices.values().filter(|device| device.flash.is_some()).map(|device| device.capacity_bytes).sum()
}

/// Returns the memory use and the counts of the translation layer of a design's drives; `None` if it has no flash.
pub(crate) fn of(
    design: &Design,
    config: &serde_json::Value,
    run: &DesignRun,
    report: &Report,
) -> Option<TranslationLayer> {
    let (sold, capacity) = (design.flash?.raw, flash_bytes(run, report));
    let layer = &config["device"]["ssd"]["ftl"];
    let flash = report.devices.values().find_map(|device| device.flash.as_ref())?;
    let page_bytes = capacity / flash.pages.host.max(1);
    let simulated = flash.pages.raw * page_bytes;
    // Tables grow in proportion to the flash that they map.
    let map_bytes = u128::from(flash.map_bytes) * u128::from(sold.0.max(simulated)) / u128::from(simulated.max(1));
    Some(TranslationLayer {
        name: layer.as_str().or_else(|| layer["kind"].as_str())?.to_string(),
        map_bytes: map_bytes as u64,
        erases: flash.erases,
        full_merges: flash.merges.full,
        hit_ratio: flash.mapping.and_then(|mapping| mapping.hit_ratio()),
    })
}
