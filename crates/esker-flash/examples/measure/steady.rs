//! Preconditions a drive to the steady state: `steady PRESET [BLOCKS_PER_PLANE [FTL [VICTIM [D]]]]`. Run it under a
//! tool that measures the time and memory of the process.

use esker_core::{Control, Device, Nanos, Precondition, Ratio};
use esker_flash::{PRESETS, Ssd, SsdSettings};
use esker_ftl::{Choice, ParameterValue};
use esker_results::Report;

#[expect(clippy::print_stdout, reason = "its output is what it is for")]
pub(crate) fn run(arguments: &[String]) {
    let name = arguments.first().map_or("tlc-data-centre", String::as_str);
    let preset = PRESETS.iter().find(|preset| preset.name == name).expect("the name of a preset");
    let mut settings: SsdSettings = toml::from_str(preset.toml).expect("presets are well-formed");
    if let Some(blocks) = arguments.get(1) {
        settings.geometry.blocks_per_plane = blocks.parse().expect("a whole number");
    }
    if let Some(layer) = arguments.get(2) {
        settings.ftl = Choice::named(layer);
    }
    if let Some(victim) = arguments.get(3) {
        settings.cleaning.victim = Choice::named(victim);
    }
    if let Some(draws) = arguments.get(4) {
        let draws = ParameterValue::Integer(draws.parse().expect("a whole number"));
        settings.cleaning.victim.parameters.insert("d".to_string(), draws);
    }
    let mut ssd = Ssd::new("flash", &settings, 1).expect("the settings work");
    let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: 1 };
    ssd.control(Nanos::ZERO, Control::Precondition(steady)).expect("drives can be preconditioned");
    let report = Report::of(&ssd);
    let flash = report.devices["flash"].flash.as_ref().expect("drives report on flash");
    println!("{} pages, {:.2} bytes each: {:?}", flash.pages.raw, flash.simulator_bytes_per_page, flash.precondition);
}
