//! `esker volume check`.

use std::process::ExitCode;

use esker_core::words;
use esker_volume::{Presence, VolumeState, check};

use super::file::{Places, open_to_look};
use super::session::{Serving, Session};
use crate::args::{Common, VolumeCheckArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::output;
use crate::table::Table;

/// Says what the volume is, and repairs it if asked to.
pub(super) fn run(arguments: &VolumeCheckArguments, common: &Common) -> Result<ExitCode, Failure> {
    let places = Places::read(&arguments.volume)?;
    let mut opened = open_to_look(&places, common)?;
    let found = check(&mut opened.devices);
    opened.away.say(found.as_ref().ok(), common);
    drop(opened);
    let mut state = found?;
    let mut repaired = false;
    if arguments.repair && state.was_damaged {
        if state.missing().next().is_some() {
            output::print(&describe(&state))?;
            return Err(Failure::work("nothing was repaired: a device is missing")
                .with_hint("bring it back: it may have what the others lack"));
        }
        // What moves in the background goes on when the volume is used again.
        Session::open(&places, Serving::without_map(), common)?.end();
        if cancel::requested() {
            return Err(Failure::cancelled());
        }
        state = check(&mut open_to_look(&places, common)?.devices)?;
        repaired = true;
    }
    output::print(&describe(&state))?;
    output::print(match (state.is_whole(), repaired) {
        (true, false) => "everything is there and whole\n",
        (true, true) => {
            "it was repaired: superblocks, map and journal are whole now. No data were read: what a device has lost, \
             such as behind a cut, may read as zeroes\n"
        }
        (false, _) if state.missing().next().is_some() => "",
        (false, _) if state.failed().next().is_some() => {
            "a device has failed, and others make up for it; `esker volume remove-device` takes it out\n"
        }
        (false, true) => "something is still damaged on one device: it may not keep what is written to it\n",
        (false, false) => {
            "something is damaged on one device, and was read from another one; --repair writes it again\n"
        }
    })?;
    Ok(if state.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What the volume is, in a few lines.
pub(super) fn describe(state: &VolumeState) -> String {
    let mut table = Table::new(&["device", "data", "state", "keeps the map", "identity"]);
    for device in &state.devices {
        let presence = match device.presence {
            Presence::Present if device.has_failed => "failed",
            Presence::Present => "there",
            Presence::Missing => "missing",
            Presence::Removed => "removed",
        };
        let keeps = if device.keeps_map { "yes" } else { "no" };
        let data = words::bytes(device.data.0 as f64);
        table.row([device.name.clone(), data, presence.to_string(), keeps.to_string(), device.identity.to_string()]);
    }
    let read_only = if state.missing().next().is_some() { ", only to be read" } else { "" };
    format!(
        "volume {}: {} of {}{read_only}\n\n{}\ncheckpoint {} of the map, and {} records of the journal behind it\n",
        state.volume,
        state.settings.kind,
        words::bytes(state.capacity.0 as f64),
        table.render(),
        state.checkpoint,
        words::count(state.journal_records),
    )
}
