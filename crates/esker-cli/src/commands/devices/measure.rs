//! `esker devices measure`: makes a preset of a disk by reading it.

use std::path::PathBuf;

use esker_core::{Bytes, Nanos, words};
use esker_disk::measure::{MeasureStep, Measured, ProbeRead, ReadTimes, SimulatedReads, measure};
use esker_disk::{DiskSettings, Mechanics};
use esker_sim::system_of;

use super::block_device::BlockDevice;
use crate::args::{Common, MeasureArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::output::{self, Content, Output, Outputs};
use crate::progress::{Progress, Unit};

/// Number of reads between two reports of progress.
const TELL: u64 = 16;

/// Measures the disk and writes the preset. What was not found is listed on standard error.
pub(super) fn run(arguments: &MeasureArguments, common: &Common) -> Result<(), Failure> {
    // What the device's file names is read first, and so known as an input.
    let system = arguments.simulated.then(|| system_of(&arguments.device, None)).transpose()?;
    let inputs = [PathBuf::from(&arguments.device)];
    let mut outputs = Outputs::new(arguments.force, &inputs)?;
    let output = outputs.claim("-o", &arguments.output, Content::Preset)?;
    let found = if let Some(system) = system {
        let assembly = system.assemble(common.seed.unwrap_or(1))?;
        let mut disk = SimulatedReads::new(assembly.device);
        perform(disk.capacity(), Bytes::SECTOR, common, |read| Ok(disk.read(read)))?
    } else {
        let mut disk = BlockDevice::open(&inputs[0])?;
        if !common.quiet {
            output::remark("reading takes a quarter of an hour or so, and nothing is written to the disk");
            output::remark("let nothing else use the disk meanwhile; Ctrl-C ends it at any time");
        }
        perform(disk.capacity, disk.block, common, |read| disk.read(read))?
    };
    let is_printed = Output::is_standard_output(&output);
    output.write_text(&found.to_toml(&arguments.device))?;
    if !is_printed {
        output::print(&summary(&found.settings))?;
    }
    for remark in found.remarks.iter().filter(|_| !common.quiet) {
        output::remark(remark);
    }
    Ok(())
}

/// Performs the reads of a measurement until it ends.
fn perform(
    capacity: Bytes,
    block: Bytes,
    common: &Common,
    mut read: impl FnMut(ProbeRead) -> Result<ReadTimes, Failure>,
) -> Result<Measured, Failure> {
    let mut measurement = measure(capacity, block)?;
    let bar = Progress::new(common.quiet, Unit::Things("reads"));
    loop {
        match measurement.step() {
            MeasureStep::Read(asked) => {
                if cancel::requested() {
                    return Err(Failure::cancelled());
                }
                measurement.answer(read(asked)?);
            }
            MeasureStep::Ended(result) => return Ok((*result)?),
        }
        let progress = measurement.progress();
        if progress.reads.is_multiple_of(TELL) {
            bar.set_message(&format!("measuring {}", progress.stage));
            bar.set(progress.reads, progress.expected);
        }
    }
}

/// What was found, in a few lines.
fn summary(settings: &DiskSettings) -> String {
    let rate = |sectors: u32| {
        let turns_per_second = settings.rotation_speed.as_thousandths() as f64 / 60e3;
        format!("{:.1} MB/s", f64::from(sectors) * Bytes::SECTOR.0 as f64 * turns_per_second / 1e6)
    };
    let mut text =
        format!("{}, {}\n", words::bytes(settings.capacity.map_or(0, |size| size.0) as f64), settings.rotation_speed);
    if let (Some(outer), Some(inner)) = (settings.zones.first(), settings.zones.last()) {
        let (outer, inner) = (outer.sectors_per_track, inner.sectors_per_track);
        text += &format!(
            "{} zones: {outer} to {inner} sectors per track, {} to {} under the head\n",
            settings.zones.len(),
            rate(outer),
            rate(inner)
        );
    }
    if let Ok(mechanics) = Mechanics::new(settings) {
        let (curve, cylinders) = (mechanics.seek_curve(), mechanics.geometry().cylinders());
        let millis = |time: Nanos| format!("{:.2} ms", time.0 as f64 / 1e6);
        text += &format!(
            "seeks: {} to the next track, {} on the average, {} over the whole disk\n",
            millis(curve.time(1)),
            millis(curve.mean(cylinders)),
            millis(curve.time(cylinders - 1))
        );
    }
    text
}
